"""A game of cards at two tables: a dealer keeps the cards, and neither table has more than its seat may know."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import pytest
from remote_tools import GAME, SECRET, DealtLine, HalfTable, dealt, looks, play_roughly, same

from companion.core.errors import Illegal, Malformed, Stale
from companion.core.kit import SEATS, Seat
from companion.table.remote.dealer import dealer_of
from companion.table.remote.messages import (
    CardsDealt,
    CardsOpened,
    ChanceGiven,
    ClockHeld,
    GameLeft,
    OrderOpened,
    StepShown,
)
from companion.table.session import Phase, receipt


@pytest.mark.parametrize("edition", ["rulebook", "hackmud"])
def test_a_rough_game_is_the_same_at_both_tables_once_the_cards_are_opened(tmp_path: Path, edition: str) -> None:
    with dealt(tmp_path, {"edition": edition}) as line:
        play_roughly(line, Random(edition))
        same(line)
        assert not line.south.session.is_covered


@pytest.mark.parametrize("seed", range(6))
def test_both_end_a_game_of_cards_in_the_same_way_whatever_they_ask_at_once(tmp_path: Path, seed: int) -> None:
    with dealt(tmp_path, {"seconds": 5 * (seed % 2), "timeout": ("pass", "alarm")[seed // 2 % 2]}) as line:
        play_roughly(line, Random(seed), ends=0.01)
        same(line)


# ---- secrets -----------------------------------------------------------------------------------------------------


@pytest.fixture
def same_gifts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tables give the same to chance in every run."""
    monkeypatch.setattr("companion.table.remote.remote_table.secrets.token_hex", lambda length: "ab" * length)


def _begin(line: DealtLine) -> None:
    line.flush()
    assert {half.session.phase for half in line.tables} == {Phase.ORDERS}
    line.south.table.resume(Seat.SOUTH)
    line.flush()


def _take(line: DealtLine, *actions: str) -> None:
    """Turns, from South's first one on."""
    for action in actions:
        (seat,) = line.south.session.playing.to_act(line.south.session.state)
        half = next(half for half in line.tables if half.seat is seat)
        half.table.hand_in(seat, half.session.moment, action, f"{len(line.kept[seat]):04d}")
        line.flush()
        assert line.south.session.tick == line.north.session.tick


def _everything_at(line: DealtLine, half: HalfTable) -> list[str]:
    """Every byte that this table was told, and what its journal, pages and public records have."""
    told = [payload.decode() for payload in line.told(half)]
    return [re.sub(r"[0-9a-f]{64}", "RECEIPT", text) for text in (*told, *looks(half))]


def _names(line: DealtLine, half: HalfTable, cards: tuple[str, ...]) -> bool:
    """Is any of these cards in what this table was told, or in its journal?"""
    texts = [payload.decode() for payload in line.told(half)]
    texts += [repr(entry.record) for entry in half.journal.entries()]
    return any(card in text for card in cards for text in texts)


def test_a_card_face_down_and_a_hand_are_nowhere_at_the_other_table(tmp_path: Path, same_gifts: None) -> None:
    seen = []
    for number in (0, 1):
        with dealt(tmp_path / str(number)) as line:
            _begin(line)
            _take(line, "d0", "d0", "d1", "d0")
            hand = line.south.session.state.hands[0]
            assert "X" not in hand
            _take(line, f"p{hand[number]}3", "--")
            assert line.south.session.state.defence[3] == (hand[number],)
            assert line.north.session.state.defence[3] == ("X",)
            seen.append(_everything_at(line, line.north))
            assert not _names(line, line.north, hand)
    assert seen[0] == seen[1]


def test_nothing_at_either_table_depends_on_the_order_of_a_stack(tmp_path: Path, same_gifts: None) -> None:
    seen = []
    for swaps in (False, True):
        with dealt(tmp_path / str(swaps)) as line:
            _begin(line)
            if swaps:  # every stack as it is below its top card, the other way round
                state = line.dealer.state
                decks = tuple((deck[0], *deck[:0:-1]) for deck in state.decks)
                line.dealer = replace(line.dealer, state=replace(state, decks=decks))
            _take(line, "d0", "d1", "d2", "--")
            seen.append([*_everything_at(line, line.south), *_everything_at(line, line.north)])
    assert seen[0] == seen[1]


def test_the_order_of_no_stack_is_kept_before_the_game_is_over(tmp_path: Path) -> None:
    with dealt(tmp_path) as line:
        _begin(line)
        line.south.reopen()
        deck = line.dealer.state.decks[0]
        for half in line.tables:
            assert half.session.state.decks[0] == ("X",) * 13
            assert not _names(line, half, deck)
        line.south.table.resign(Seat.SOUTH)
        line.flush()
        same(line)
        assert [half.session.state.decks[0] for half in line.tables] == [deck] * 2
        assert line.south.session.chance
        assert not list(line.south.session.chance.faults(line.south.session.seed))


# ---- who does not keep to it --------------------------------------------------------------------------------------


def test_a_dealer_that_changes_a_card_is_found_out(tmp_path: Path) -> None:
    with dealt(tmp_path) as line:
        _begin(line)
        _take(line, "d0")
        first, *rest = line.dealer.state.decks
        changed = replace(line.dealer.state, decks=((*first[1:], first[0]), *rest))
        line.dealer = replace(line.dealer, state=changed)
        _take(line, "d0", "--", "--")
        line.south.table.resign(Seat.SOUTH)
        line.flush()
        for half in line.tables:
            assert half.session.phase is Phase.OVER
            chance = half.table.view().fairness.chance
            assert chance
            assert ("are not the ones it dealt" in chance.words) == half.session.is_covered
        assert line.north.session.is_covered


@pytest.mark.parametrize("opened", ["", "nonsense", "p??9", "d0"])
def test_an_order_that_is_opened_as_another_one_is_found_out(tmp_path: Path, same_gifts: None, opened: str) -> None:
    with dealt(tmp_path) as line:
        _begin(line)
        _take(line, "d0", "--")
        _take(line, f"p{line.dealer.state.hands[0][0]}0")
        line.south.table.resign(Seat.SOUTH)
        line.send(line.south)
        line.deliver(line.north)
        line.send(line.north)
        *told, last = line.dealer.sent[Seat.NORTH]
        assert isinstance(last, CardsOpened)
        (order,) = last.orders
        false = msgspec.structs.replace(last, orders=(msgspec.structs.replace(order, action=opened),))
        line.dealer = replace(line.dealer, sent={**line.dealer.sent, Seat.NORTH: (*told, false)})
        line.flush()
        chance = line.north.table.view().fairness.chance
        assert chance
        assert "are not the ones it dealt" in chance.words
        assert line.north.session.is_covered


def test_a_table_that_plays_a_card_that_it_does_not_hold_has_left_the_game(tmp_path: Path) -> None:
    with dealt(tmp_path) as line:
        _begin(line)
        forged = OrderOpened(1, "p2&0", "ab")
        line.dealer = line.dealer.hear(Seat.SOUTH, forged)
        assert [type(message) for message in line.dealer.sent[Seat.NORTH]] == [
            CardsDealt,
            ClockHeld,
            GameLeft,
            CardsOpened,
        ]
        line.flush()
        assert line.north.session.phase is Phase.OVER


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with dealt(tmp_path) as line:
        with pytest.raises(Illegal, match="has not dealt"):
            line.south.table.confirm("host", "1.0", 0)
        assert "shuffles and deals" in line.south.table.view().sign.text
        _begin(line)
        for half in line.tables:  # a back is nobody's card to play
            with pytest.raises(Illegal, match=r"X is not in your hand|cannot act now"):
                half.table.hand_in(half.seat, "1.1", "pX3", "ab")
        line.south.table.hand_in(Seat.SOUTH, "1.1", "d0", "ab")
        assert line.south.table.view().sign.text == "The turn is on its way"
        with pytest.raises(Stale, match="on its way from the hub"):
            line.south.table.hand_in(Seat.SOUTH, "1.1", "d1", "ab")
        line.send(line.south)
        before, number = line.north.session, line.north.progress.heard + 1
        good = msgspec.to_builtins(line.dealer.sent[Seat.NORTH][-1])
        for wrong in (
            {"tick": 2},
            {"seat": "north"},
            {"action": "d1"},
            {"receipt": "00" * 32},
            {"before": {}},
            {"after": {**good["after"], "hands": [["2&"] * 80, []]}},
            {"before": good["after"]},
            {"is": "opened"},
        ):
            payload = msgspec.json.encode({"game": GAME, "number": number, "message": {**good, **wrong}})
            with pytest.raises(Malformed):
                line.north.table.remote.hear(GAME, number, payload)
        assert line.north.session == before
        line.flush()
        assert line.north.session.tick == 2


def test_a_card_face_down_is_told_without_its_name_or_with_its_salt(tmp_path: Path) -> None:
    """A card that is named, but does not open what was sealed, may be any card."""
    with dealt(tmp_path) as line:
        _begin(line)
        card = None
        for lane in range(6):  # until one has come that needs none below it
            _take(line, f"d{lane}", "--")
            card = card or next((each for each in line.south.session.state.hands[0] if each[0] not in "?>"), None)
        assert card
        line.south.table.hand_in(Seat.SOUTH, line.south.session.moment, f"p{card}0")
        line.send(line.south)
        before, number = line.north.session, line.north.progress.heard + 1
        told = msgspec.to_builtins(line.dealer.sent[Seat.NORTH][-1])
        assert told["action"] == "pX0"
        for wrong in ({"action": "p2&0"}, {"action": "p2&0", "salt": "ab"}, {"salt": "ab"}):
            payload = msgspec.json.encode({"game": GAME, "number": number, "message": {**told, **wrong}})
            with pytest.raises(Malformed):
                line.north.table.remote.hear(GAME, number, payload)
        assert line.north.session == before
        line.flush()
        assert line.north.session.tick == before.tick + 1


@pytest.mark.parametrize("by_time", [False, True])
def test_an_order_of_a_seat_that_is_not_to_act_is_refused(tmp_path: Path, by_time: bool) -> None:
    """Also one that fits everything else: the table itself knows whose turn it is."""
    with dealt(tmp_path) as line:
        _begin(line)
        line.south.table.hand_in(Seat.SOUTH, "1.1", "--", "ab")
        line.send(line.south)
        told = msgspec.to_builtins(line.dealer.sent[Seat.NORTH][-1])
        line.flush()
        before, number = line.north.session, line.north.progress.heard + 1
        assert before.awaited == {Seat.NORTH}
        again = receipt(before.moment, Seat.SOUTH, "--", "cd")
        forged = {**told, "tick": before.tick, "receipt": again, "salt": "cd", "before": told["after"]}
        message = {**forged, "by_time": by_time}
        with pytest.raises(Malformed):
            line.north.table.remote.hear(
                GAME, number, msgspec.json.encode({"game": GAME, "number": number, "message": message})
            )
        assert line.north.session == before


def test_the_cards_are_opened_once_both_tables_have_shown_all_of_the_last_turn() -> None:
    dealer = dealer_of("binmat", {"turns": 6}, 7, SECRET)
    for seat in SEATS:
        dealer = dealer.hear(seat, ChanceGiven("ab" * 32))
    for tick, wanted in enumerate("-d-p-c", start=1):
        (seat,) = dealer.game.to_act(dealer.state)
        legal = [
            text for text in map(dealer.game.format, dealer.game.legal_actions(dealer.state, seat)) if text[0] == wanted
        ]
        dealer = dealer.hear(seat, OrderOpened(tick, legal[0], f"{tick:04d}"))
    assert dealer.game.outcome(dealer.state)
    shown = 0
    while not isinstance(dealer.sent[Seat.NORTH][-1], CardsOpened):
        dealer, shown = dealer.hear(SEATS[shown % 2], StepShown(6, shown // 2)), shown + 1
    assert shown == 2 * 3
