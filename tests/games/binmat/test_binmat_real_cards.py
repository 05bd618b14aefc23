"""Tests of BINMAT with real cards, on its states: counting turns, declaring combats, reading cards
that are laid open, and the keys of pads and screens.

South is the defender and has the first turn, North is the attacker. In the notation `.` says that a
turn, a combat or the drawing of cards is done, `--` is a pass, `c3` declares combat in lane 3, `!`
says that the attacker has won, and `3: 5& 3% / 4^ 2#` gives the cards of a combat: the attacker
stack, a slash, the defender stack. The head of `real_cards.py` explains the rest.

The camera sees the cards of lane 3 on `Square(3, 0)` (defender) and `Square(3, 1)` (attacker).
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from companion.core.errors import Illegal, Malformed
from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games import game_named
from companion.games.base import Step
from companion.games.binmat.real_cards import RealCardsState, parse_action
from companion.games.screen import CardUi

GAME = game_named("binmat")
SOUTH = Seat.SOUTH
NORTH = Seat.NORTH


def start(**options: Any) -> RealCardsState:
    """Return the first state: 110 turns, of which the defender has the first one."""
    state: RealCardsState = GAME.setup(GAME.options({"way": "referee", **options}), Random(0))
    return state


def carry_out(state: RealCardsState, text: str) -> Step[RealCardsState]:
    """Carry out one action of the seat that is to act."""
    (seat,) = GAME.to_act(state)
    action = GAME.parse(text)
    GAME.check(state, seat, action)
    return GAME.apply(state, {seat: action}, Random(0))


def state_after(state: RealCardsState, *texts: str) -> RealCardsState:
    """Return the state after some actions, each given by the seat that must act."""
    for text in texts:
        state = carry_out(state, text).state
    return state


def result_of(state: RealCardsState) -> tuple[frozenset[Seat], str]:
    """Return the winners of a game that is over, and the reason."""
    outcome = GAME.outcome(state)
    assert outcome is not None
    return outcome.winners, str(outcome.reason)


def card_ui(state: RealCardsState, viewer: Seat | None = None) -> CardUi:
    ui = GAME.card_ui(state, viewer)
    assert ui is not None
    return ui


def test_the_defender_wins_after_all_turns() -> None:
    state = state_after(start(), *["."] * 109)
    assert GAME.outcome(state) is None
    # A pass counts as a turn, like any other turn.
    over = state_after(state, "--")
    assert result_of(over) == ({SOUTH}, "All 110 turns are over.")
    assert GAME.to_act(over) == set()


def test_a_combat_stops_the_clock() -> None:
    """A declared combat has no time limit. When it is over, the next turn has one again."""
    assert GAME.time_limit(start(seconds=0)) is None
    # The attacker declares a combat in the second turn, which is still to be counted.
    state = state_after(start(), ".", "c")
    assert (GAME.time_limit(state), GAME.to_act(state), state.turns_left) == (None, {NORTH}, 109)
    # People resolve the combat by hand. Now the turn is counted, and the defender has the next one.
    state = state_after(state, ".")
    assert (GAME.time_limit(state), GAME.to_act(state), state.turns_left) == (5, {SOUTH}, 108)


def test_the_former_clock_option_means_real_cards() -> None:
    assert GAME.options({"way": "clock", "seconds": 9}) == start(seconds=9).options


@pytest.mark.parametrize(
    ("action", "lane", "sign"),
    [("c", None, "Both: fan your cards face up"), ("c3", 3, "Both: fan your cards of lane 3")],
)
def test_a_declared_combat_asks_for_its_cards(action: str, lane: int | None, sign: str) -> None:
    state = state_after(start(), action)
    assert GAME.dump(state)["combat"] == {"lane": lane}
    assert card_ui(state).sign == sign


def test_the_attacker_wins_only_by_a_combat() -> None:
    state = start()
    with pytest.raises(Illegal, match="declare it first"):
        carry_out(state, "!")
    won = state_after(state, "c", "!")
    assert result_of(won)[0] == {NORTH}
    assert won.turns_left == 109, "the turn that ended the game is not counted"


def test_players_of_one_side_act_in_rotation() -> None:
    state = start(defenders=2, attackers=3)
    names = []
    for _ in range(8):
        names.append(card_ui(state).acting)
        state = state_after(state, ".")
    assert names == [
        "defender 1", "attacker 1", "defender 2", "attacker 2",
        "defender 1", "attacker 3", "defender 2", "attacker 1",
    ]  # fmt: skip


def test_actions_of_the_full_game_are_refused() -> None:
    for text in ("p8&3", "d0", "x8&3"):
        with pytest.raises(Illegal, match="played on the table"):
            carry_out(start(), text)
    with pytest.raises(Illegal, match="Declare combat first"):
        carry_out(start(), "5& / 4^")


def test_worked_example_of_a_combat() -> None:
    state = state_after(start(), ".", "c3")
    # 5 and 3 make 8, which has power 3. A BREAK makes the whole power the damage. 4 and 2 make 6,
    # which has no power.
    combat = carry_out(state, "3: 5& 3% >+ / 4^ 2#")
    (stage,) = combat.stages
    assert (stage.title, stage.headlines[0].text) == (
        "Lane 3",
        "8 beats 6. Defender loses the stack.",
    )
    assert stage.expected == {Square(3, 1): (), Square(3, 0): ()}
    assert stage.todo == ((NORTH, "Attacker: discard 2# 4^ 5& 3% >+"),)

    # The defender stack has lost its 2 cards. The lane deck owes the third, so the attacker acts
    # once more before the turn is over.
    after = combat.state
    assert (after.cards_owed, GAME.to_act(after), GAME.time_limit(after)) == (1, {NORTH}, None)
    assert card_ui(after).sign == "Attacker: draw 1 card from lane deck 3"

    # Either the attacker has drawn the card, or the deck has none and the attacker wins.
    assert state_after(after, ".").turns_left == 108
    won = state_after(after, "!")
    assert won.turns_left == 108
    assert result_of(won) == ({NORTH}, "The lane deck owes a card and has none.")


def test_a_stack_that_remains_is_expected() -> None:
    # An attack of power 1 is repelled by power 2. The turn ends, because no card is owed.
    combat = carry_out(state_after(start(), ".", "c2"), "2& / 4^")
    assert combat.stages[-1].expected == {Square(2, 1): (), Square(2, 0): ("4^",)}
    assert combat.stages[-1].todo == ((SOUTH, "Defender: 2& to the lane discard"),)
    assert combat.state.turns_left == 108


def test_hackmud_allows_open_cards_and_empty_stacks() -> None:
    hackmud = state_after(start(edition="hackmud"), ".", "c2")
    # A TRAP that lay face up before (`u`) does nothing.
    with_open_trap = carry_out(hackmud, "@&u 8& / 4^").stages
    assert [headline.text for headline in with_open_trap[0].headlines] == [
        "Attacker’s @& does nothing."
    ]
    # Without an attacker stack the BOUNCE of the defender still goes to the attacker discard.
    with_empty_stack = carry_out(hackmud, "2: / 4^ ?^")
    assert with_empty_stack.stages[-1].expected == {Square(2, 1): (), Square(2, 0): ("4^",)}
    # The rulebook edition refuses such a combat.
    with pytest.raises(Illegal, match="at least one card in the attacker stack"):
        carry_out(state_after(start(), ".", "c2"), "2: / 4^ ?^")


def test_combat_is_in_the_lane_that_changed() -> None:
    """Single attacker cards of the hackmud edition may lie face up before a combat is declared.

    If they lie in several lanes, the lane whose cards change after the declaration has the combat.
    """
    state = state_after(start(edition="hackmud"), ".", "c")
    before = {Square(1, 1): ("9&",), Square(3, 1): ("5&",)}
    assert GAME.laid_open(state, before, before) is None, (
        "cards that already lay face up must not count as those of a combat"
    )
    # The attacker's stack in lane 3 is turned face up. One of its cards lay face up before.
    fans = {**before, Square(3, 1): ("5&", "3%"), Square(3, 0): ("4^",)}
    assert GAME.laid_open(state, fans, before) == "3: 5&u 3% / 4^"
    # The defender's stack in lane 1 is turned face up. The only attacker card there lay face up.
    fans = {**before, Square(1, 0): ("4^",)}
    assert GAME.laid_open(state, fans, before) == "1: 9&u / 4^"


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("5& / ", "5& /"),
        ("2: / ?^", "2: / ?^"),
        # All cards of a defender stack show the same side, so one open card proves the others open.
        ("0: 5& a% / 4^u 2#", "0: 5& a% / 4^u 2#u"),
        # But a BREAK may have been played face up onto a closed stack, so it proves nothing.
        ("0: 5& / 4^ >#u", "0: 5& / 4^ >#"),
        ("c5", "c5"),
    ],
)
def test_notation_is_brought_to_one_spelling(text: str, normal: str) -> None:
    assert parse_action(text) == normal
    assert parse_action(normal) == normal


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/", "one of the two stacks"),
        ("4^", "An action is"),
        ("6: 5& / 4^", "“6:” is not a card"),
        ("5& 5& / 4^", "named twice"),
        ("5& / 5&", "appears twice"),
        ("c6", "c needs a lane"),
    ],
)
def test_wrong_notation_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        GAME.parse(text)


def test_one_lane_of_open_cards_means_combat() -> None:
    """`laid_open` gets the fans that the camera reads now, and those before the combat.

    Nobody has named the lane, but only in lane 3 do cards of the attacker lie face up.
    """
    state = state_after(start(), ".", "c")
    fans = {Square(3, 1): ("5&", "3%"), Square(3, 0): ("4^", "2#"), Square(1, 0): ("9&",)}
    assert GAME.laid_open(state, fans, {Square(1, 0): ("9&",)}) == "3: 5& 3% / 4^ 2#"
    # The defender's stack lay face up before, so its cards get a `u`.
    assert GAME.laid_open(state, fans, {Square(3, 0): ("4^", "2#")}) == "3: 5& 3% / 4^u 2#u"

    # No action as long as the cards are not certain.
    assert GAME.laid_open(state, {Square(3, 1): ("5&", "X")}, {}) is None, (
        "a card that the camera could not read must not be left out"
    )
    same_card_twice = {Square(3, 1): ("5&",), Square(3, 0): ("5&",)}
    assert GAME.laid_open(state, same_card_twice, {}) is None
    two_lanes = {Square(3, 1): ("5&",), Square(2, 1): ("6&",)}
    assert GAME.laid_open(state, two_lanes, {}) is None
    assert GAME.laid_open(state_after(state, "."), fans, {}) is None, (
        "without a declaration, open cards must not begin a combat"
    )


def test_a_key_press_is_reported() -> None:
    # After this combat the lane deck owes a card.
    owing = state_after(start(), ".", "c3", "3: 5& 3% >+ / 4^ 2#")
    assert owing.cards_owed
    sentences = [
        carry_out(state, text).events[0].text
        for state, text in ((start(), "."), (start(), "--"), (owing, "."))
    ]
    assert sentences == ["Defender is done.", "Defender passes.", "Attacker has drawn."]


def test_only_the_side_to_act_has_keys() -> None:
    """Screens of the table (None) have them as well: anybody there may act for the side on turn."""
    declared = state_after(start(), "c")
    for viewer, has_keys in ((SOUTH, True), (None, True), (NORTH, False)):
        assert bool(card_ui(start(), viewer).choices) is has_keys
        assert bool(card_ui(declared, viewer).entry) is has_keys


def test_pads_have_keys_for_turn_combat_win() -> None:
    """In a turn, ready ends it, and `a` or a long press of ready declares a combat at once.

    In a combat, ready alone says that it is over. `b` and then ready say that the attacker has won.
    """
    turn = GAME.pad(start(), SOUTH)
    combat = GAME.pad(state_after(start(), "c"), SOUTH)
    assert turn is not None
    assert combat is not None
    assert (turn.text(()), turn.text(("a",)), turn.is_at_once(("a",)), turn.held_ready) == (
        ".",
        "c",
        True,
        "c",
    )
    assert not turn.accepts((), "b")
    assert (combat.text(()), combat.text(("b",)), combat.is_at_once(("b",)), combat.held_ready) == (
        ".",
        "!",
        False,
        "",
    )
