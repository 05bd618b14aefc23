"""Scouts: random games beside the slow rules, what never changes, and every text against the list of legal actions."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scouts_tools import GAME, SlowScouts, after, legal, pushing, start

from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS, Seat
from companion.games.base import plain_layout
from companion.games.scouts.board import NAMES
from companion.games.scouts.notation import read
from companion.games.scouts.state import State

SQUARE = st.sampled_from(NAMES)
TEXTS = st.one_of(
    st.just("."),
    SQUARE.map("@{}".format),
    SQUARE.map("B@{}".format),
    st.tuples(SQUARE, st.sampled_from([(1, 0), (0, 1)])).map(lambda pair: rock_text(*pair)),
    st.tuples(SQUARE, SQUARE).map("-".join),
    st.lists(SQUARE, min_size=2, max_size=5).map("^".join),
)


def rock_text(name: str, step: tuple[int, int]) -> str:
    """A rock from this square across or along, turned back where it would leave the board."""
    file, rank = "abcdefgh".index(name[0]), int(name[1:])
    to_file, to_rank = min(file + step[0], 7), min(rank + step[1], 10)
    file, rank = (to_file - step[0], to_rank - step[1])
    return f"R@{'abcdefgh'[file]}{rank}-{'abcdefgh'[to_file]}{to_rank}"


def random_line(seed: int, cap: int, stacking: bool = True) -> list[State]:
    """The states of a random game that gets somewhere."""
    rng, game = Random(seed), SlowScouts(stacking)
    states = [start(stacking="on" if stacking else "off")]
    while len(states) < cap and not states[-1].outcome:
        text = pushing(game, legal(states[-1]), rng)
        game.do(text)
        states.append(after(states[-1], text))
    return states


def is_legal(state: State, text: str) -> bool:
    try:
        GAME.check(state, state.seat, text)
    except Illegal:
        return False
    return True


def by_rank(layout: dict[str, list[str]]) -> dict[str, list[str]]:
    return dict(sorted(layout.items(), key=lambda item: (item[0][0], int(item[0][1:]))))


@pytest.mark.parametrize("stacking", [True, False])
def test_random_games_agree_with_the_slow_rules(stacking: bool) -> None:
    for seed in range(12):
        rng, slow = Random(seed), SlowScouts(stacking)
        state = start(stacking="on" if stacking else "off")
        for _ in range(170):
            texts = legal(state)
            assert texts == slow.legal()
            if not texts:
                break
            text = pushing(slow, texts, rng)
            state = after(state, text)
            slow.do(text)
            assert plain_layout(GAME.expected(state)) == by_rank(slow.layout())
            assert (state.outcome is not None) == (slow.winner is not None)


def test_random_games_are_won_and_have_seen_everything() -> None:
    """The games above are worth something: they end by wins of both sides, and meet stacks, intel, rocks and chains."""
    winners, met = set(), set()
    for seed in range(40):
        states = random_line(seed, 300)
        last = states[-1]
        winners |= last.outcome.winners if last.outcome else set()
        position = last.position
        met |= {"rock"} if position.stone else set()
        met |= {"stack" for state in states if state.position.own_low | state.position.foe_low}
        met |= {"covered intel" for state in states if state.position.low_intel}
        met |= {
            "chain" for state in states[::7] if any(text.count("^") > 1 for text in legal(state))
        }
    assert winners == set(SEATS)
    assert met == {"rock", "stack", "covered intel", "chain"}


@pytest.mark.parametrize("seed", range(4))
def test_pieces_are_conserved_and_every_legal_action_can_be_made(seed: int) -> None:
    for state in random_line(seed, 160, stacking=seed % 2 == 0)[seed % 3 :: 3]:
        placed = 10 - state.position.to_place
        for text in legal(state):
            GAME.check(state, state.seat, text)
            step = GAME.apply(state, {state.seat: text}, Random(0))
            faces = [face for stack in GAME.expected(step.state).values() for face in stack]
            scouts = [face for face in faces if "scout" in face]
            assert len(scouts) == placed + (text[0] == "@")
            for name in ("white", "black"):
                assert sum(face.startswith(name) for face in scouts) <= 5
                assert faces.count(f"{name} boulder") in (0, 4)
                assert faces.count(f"{name} rock") in (0, 2)
            assert [event for stage in step.stages for event in stage.events] == list(
                step.events
            ) or text == "."


@pytest.mark.parametrize("seed", range(4))
def test_every_short_text_is_legal_exactly_when_it_is_listed(seed: int) -> None:
    """All dashes, single jumps, placements, boulders and rocks there are, in some positions of a game."""
    texts = [".", *(f"{kind}@{name}" for kind in ("", "B") for name in NAMES)]
    texts += [f"{one}{sign}{other}" for sign in "-^" for one in NAMES for other in NAMES]
    texts += {rock_text(name, step) for name in NAMES for step in ((1, 0), (0, 1))}
    for state in random_line(seed, 90, stacking=seed % 2 == 0)[5 + seed :: 29]:
        allowed = legal(state)
        assert {text for text in texts if is_legal(state, text)} == {
            text for text in allowed if text.count("^") < 2
        }


LINES = [state for seed in (3, 4, 5) for state in random_line(seed, 120)[::4]]


@settings(max_examples=150)
@given(st.sampled_from(LINES), TEXTS)
def test_any_text_is_legal_exactly_when_it_is_listed(state: State, text: str) -> None:
    assert GAME.parse(text) == text
    assert is_legal(state, text) == (text in legal(state))


@given(st.text(alphabet="abch12340@BR-^. ", max_size=12))
def test_whatever_parses_comes_back_as_it_was(text: str) -> None:
    try:
        action = GAME.parse(text)
    except Malformed:
        return
    assert GAME.format(action) == text


def test_nothing_is_hidden() -> None:
    for state in random_line(7, 60)[::10]:
        assert (
            GAME.view(state, None)
            == GAME.view(state, Seat.SOUTH)
            == GAME.view(state, Seat.NORTH)
            == GAME.dump(state)
        )


def test_reading_a_notation_twice_gives_the_same() -> None:
    assert read("c1^c3^e3") is read("c1^c3^e3")
