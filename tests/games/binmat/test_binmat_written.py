"""Round trips: full games written as logs of hackmud are read without a difference, and changed ones are found out."""

from __future__ import annotations

from random import Random

from binmat_tools import GAME
from hypothesis import given, settings
from hypothesis import strategies as st

from companion.core.kit import Seat
from companion.games.base import Step
from companion.games.binmat.combat import Edition
from companion.games.binmat.logs.ledger import Ledger
from companion.games.binmat.logs.log import FindingKind, read_log
from companion.games.binmat.logs.notation import Result, log_of, parse_line
from companion.games.binmat.state import LANES, State


def random_game(seed: int, edition: str) -> tuple[State, list[tuple[Seat, str, Step[State]]]]:
    """A full game of random actions, kinds of actions equally often, passes less."""
    rng = Random(seed)
    first = state = GAME.setup(GAME.options({"edition": edition}), rng)
    plays = []
    while state.outcome is None:
        kinds: dict[str, list[str]] = {}
        for action in GAME.legal_actions(state, state.seat):
            kinds.setdefault(action[0], []).append(action)
        if len(kinds) > 1 and rng.random() < 0.7:
            kinds.pop("-")
        action = rng.choice(kinds[rng.choice(list(kinds))])
        step = GAME.apply(state, {state.seat: action}, rng)
        plays.append((state.seat, action, step))
        state = step.state
    return first, plays


def test_games_written_here_are_read_without_a_difference() -> None:
    kinds, combats = set(), 0
    for seed in range(40):
        for edition in Edition:
            first, plays = random_game(seed, edition)
            last = plays[-1][2].state
            for is_open in (True, False):
                reading = read_log(log_of(first, plays, is_open), edition)
                assert reading.findings == (), (seed, edition, is_open)
                assert reading.outcome == last.outcome
                assert reading.ledger
                assert_same_cards(reading.ledger, last, is_open)
                combats += reading.agree
            kinds |= {action[0] for _, action, _ in plays}
    assert kinds == set("dpucx-")
    assert combats > 800


def assert_same_cards(ledger: Ledger, state: State, is_open: bool) -> None:
    """The reader's cards are the game's: everywhere their number, and all that he can know."""
    piles = {f"{kind}{lane}": row[lane] for kind, row in
             (("l", state.decks), ("x", state.discards), ("d", state.defence), ("a", state.attack))
             for lane in LANES}  # fmt: skip
    piles |= {"la": state.attacker_deck, "xa": state.attacker_discard, "hd0": state.hands[0], "ha0": state.hands[1]}
    for place, cards in piles.items():
        known = ledger.cards(place)
        assert len(known) == len(cards), place
        assert set(known) <= {*cards, "X"}, place
        if is_open and place[0] in "da":
            assert known == cards
    assert list(state.is_up) == ledger.is_up


def test_a_written_log_looks_as_in_hackmud() -> None:
    first, plays = random_game(3, "hackmud")
    lines = list(log_of(first, plays, is_open=False))
    assert lines[0] == "`V000` `n------`"
    assert any(line.endswith(" ha0 ") for line in lines), "the game writes a blank after a hand"
    assert not any(line[3:4] == "p" and line[4] != "X" for line in lines), "a card played face down stays hidden"
    assert any(line[3:4] == "p" and line[4] != "X" for line in log_of(first, plays))


@settings(max_examples=60)
@given(st.integers(0, 30), st.data())
def test_any_changed_result_of_a_written_log_is_found(seed: int, data: st.DataObject) -> None:
    first, plays = random_game(seed, "hackmud")
    lines = list(log_of(first, plays))
    results = [at for at, line in enumerate(lines) if isinstance(parse_line(line), Result)]
    if not results:
        return
    at = data.draw(st.sampled_from(results))
    head, *rest = lines[at].split(" / ")
    numbers = head.split()
    place = data.draw(st.sampled_from((1, 2, 3)))
    was = 0 if numbers[place] == "-" else int(numbers[place])
    numbers[place] = str(was + data.draw(st.integers(1, 3)))
    lines[at] = " / ".join([" ".join(numbers), *rest])
    reading = read_log(lines)
    assert any(finding.kind is FindingKind.DIFFERS and finding.line <= at for finding in reading.findings), lines[at]
