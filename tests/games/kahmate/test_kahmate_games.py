"""Kahmate in random games: the slow reading of the rulings, properties of every position, actions drawn and listed."""

from __future__ import annotations

from collections import Counter
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kahmate_tools import GAME, SOUTH, Slow, at, placed

from companion.core.errors import Illegal
from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.games.kahmate.actions import Run, Tackle
from companion.games.kahmate.state import State

# ---- the slow reading ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_legal_actions_are_what_a_slow_reading_of_the_rulings_finds(seed: int) -> None:
    """In random positions, face-offs and turned-over pieces included; `check` says the same of each of them."""
    rng, compared = Random(seed), 0
    state = placed(starter=rng.choice(("south", "north")))
    while (due := GAME.to_act(state)) and compared < 40:
        if len(due) == 1 and rng.random() < 0.3:
            (seat,) = due
            actions = list(GAME.legal_actions(state, seat))
            assert len(actions) == len(set(actions))
            assert {GAME.format(action) for action in actions} == Slow(GAME.dump(state)).texts()
            for action in actions:
                GAME.check(state, seat, action)
            compared += 1
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state


@pytest.mark.parametrize("seed", range(6))
def test_runs_end_as_a_slow_reading_of_the_rulings_finds(seed: int) -> None:
    """Every run of some random positions, each face-off won or lost at random: runner, ball and who is turned over."""
    rng, compared, met = Random(seed), 0, 0
    state = placed()
    while compared < 1200:
        due = sorted(GAME.to_act(state))
        if not due:
            state = placed()
            continue
        if len(due) == 1:
            slow, lying = Slow(GAME.dump(state)), lying_on(state)
            for action in GAME.legal_actions(state, due[0]):
                text = GAME.format(action)
                if not isinstance(action, Run) or rng.random() > 0.1:
                    continue
                results: list[bool] = []
                after = decided(
                    GAME.apply(state, {due[0]: action}, rng).state, due[0], rng, results
                )
                met += len(results)
                expected = slow.after_run(text, iter(results))
                piece = state.board[action.path[0]]
                plain = GAME.dump(after)
                assert plain["pieces"][piece]["square"] == expected["runner"]
                assert plain["ball"]["square"] == expected["ball"]
                assert lying_on(after) - lying == expected["down"]
                compared += 1
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state
    assert met > 20


def lying_on(state: State) -> set[str]:
    """The squares of the pieces that are turned over."""
    return {piece["square"] for piece in GAME.dump(state)["pieces"] if piece["rounds_down"]}


def decided(state: State, seat: Seat, rng: Random, results: list[bool]) -> State:
    """Every face-off decided by random cards; whether the seat on turn won each of them is added to `results`."""
    while len(GAME.to_act(state)) == 2:
        cards = {each: GAME.random_action(state, each, rng) for each in SEATS}
        step = GAME.apply(state, cards, rng)
        own, other = (
            next(t for t in step.stages[0].tallies if t.seat is each) for each in (seat, seat.other)
        )
        if own.total != other.total:
            results.append(int(own.total) > int(other.total))
        state = step.state
    return state


# ---- properties of random games -----------------------------------------------------------------------------------------


def pieces_of(state: State) -> Counter[str]:
    """The physical pieces on the board, whichever face they show."""
    layout = GAME.expected(state)
    assert layout is not None
    return Counter(face.removesuffix(" turned over") for faces in layout.values() for face in faces)


ALL_PIECES = Counter(piece[0] for piece in GAME.kit(GAME.options({})).pieces)


@pytest.mark.parametrize("seed", range(12))
def test_random_games_keep_every_property(seed: int) -> None:
    """Nothing is lost, nobody shares a square, stages lead to the layout, and the game ends by itself."""
    rng = Random(seed)
    state = GAME.setup(GAME.options({}), rng)
    for _ in range(2000):
        due = sorted(GAME.to_act(state))
        if not due:
            break
        actions = {seat: GAME.random_action(state, seat, rng) for seat in due}
        step = GAME.apply(state, actions, rng)
        assert {event.rule for event in step.events} <= RULE_IDS
        for stage in step.stages:
            assert stage.events or stage.title == "Turn over"
        if step.stages:
            assert [e for stage in step.stages for e in stage.events] == list(step.events), (
                "every sentence is shown"
            )
        state = step.state
        _check_position(state)
    assert state.outcome is not None, "random games end"


RULE_IDS = {rule.id for rule in GAME.rules}


def _check_position(state: State) -> None:
    in_goal = ALL_PIECES - pieces_of(state)
    assert (sum(in_goal.values()), in_goal["ball"]) == ((2, 1) if state.outcome else (0, 0))
    assert not pieces_of(state) - ALL_PIECES
    assert len(set(state.places)) == len(state.places)
    assert all(0 <= rounds <= 2 for rounds in state.down)
    assert state.hands[0] or state.hands[1]
    assert len(state.hands[0]) == len(state.hands[1]) > 0
    layout = GAME.expected(state)
    assert layout is not None
    assert all(faces[-1] == "ball" for faces in layout.values() if "ball" in faces)


SQUARE = st.builds(
    lambda file, rank: f"{file}{rank}", st.sampled_from("abcdefgh"), st.integers(1, 11)
)


@st.composite
def walks(draw: st.DrawFn, start: str | None = None) -> str:
    """A path of steps, often a legal one."""
    square = Square.parse(start or draw(SQUARE))
    names = [str(square)]
    for _ in range(draw(st.integers(0, 5))):
        step = draw(st.sampled_from(((0, 1), (1, 0), (0, -1), (-1, 0))))
        square = square.shifted(*step)
        if not (0 <= square.file < 8 and 0 <= square.rank < 11):
            break
        names.append(str(square))
    return "-".join(names)


@settings(max_examples=150)
@given(st.data(), st.integers(0, 11))
def test_any_text_is_legal_exactly_when_it_is_listed(data: st.DataObject, seed: int) -> None:
    state = position(seed)
    (seat,) = GAME.to_act(state)
    starts = st.sampled_from([piece["square"] for piece in GAME.dump(state)["pieces"]])
    ball = GAME.dump(state)["ball"]["square"]
    walk = starts.flatmap(walks)
    text = data.draw(
        st.one_of(
            walk.filter(lambda path: "-" in path),
            walk.map(lambda path: f"{path}-goal"),
            st.builds("{}*{}".format, st.just(ball), starts),
            st.builds("{}!{}".format, st.just(ball), SQUARE),
            walk.map(lambda path: f"{path}x{ball}"),
            st.builds("{}&{}x{}".format, walk, walk, st.just(ball)),
        )
    )
    if text in listed(seed):
        GAME.check(state, seat, GAME.parse(text))
        return
    with pytest.raises(Illegal) as refused:
        GAME.check(state, seat, GAME.parse(text))
    assert refused.value.rule in RULE_IDS


@cache
def position(seed: int) -> State:
    """A position in the middle of a random game, in which one seat is on turn."""
    rng, state, decisions = Random(seed), placed(), 0
    while decisions < 25 or len(GAME.to_act(state)) != 1:
        due = sorted(GAME.to_act(state))
        state = GAME.apply(
            state, {seat: GAME.random_action(state, seat, rng) for seat in due}, rng
        ).state
        decisions += 1
        if state.outcome:
            state, decisions = placed(), 0
    return state


@cache
def listed(seed: int) -> set[str]:
    """The notations of all legal actions of that position."""
    state = position(seed)
    (seat,) = GAME.to_act(state)
    return {GAME.format(action) for action in GAME.legal_actions(state, seat)}


@pytest.mark.parametrize("seed", range(2))
def test_every_kind_of_action_can_be_drawn(seed: int) -> None:
    """Of the actions of a small position each is drawn sooner or later, and only legal ones."""
    state = at("B@d5 S@a5", "T@d6 S@e6", "d5", ran="a5")
    every = {GAME.format(action) for action in GAME.legal_actions(state, SOUTH)}
    rng = Random(seed)
    drawn = {GAME.format(GAME.random_action(state, SOUTH, rng)) for _ in range(4000)}
    assert drawn <= every
    for sign in "*!.":
        assert {text for text in drawn if sign in text} == {text for text in every if sign in text}
    assert {text for text in drawn if text.startswith("d5-")} == {
        text for text in every if text.startswith("d5-")
    }
    state = at("B@d5 T@c6", "T@d6 S@e6", "d6")
    tackles = {
        GAME.format(action)
        for action in GAME.legal_actions(state, SOUTH)
        if isinstance(action, Tackle)
    }
    drawn = {GAME.format(GAME.random_action(state, SOUTH, rng)) for _ in range(9000)}
    assert tackles <= drawn
