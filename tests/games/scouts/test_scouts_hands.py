"""Scouts: what hands make on the board, what screens show and how it is tapped, clock, pad, kit and
options.
"""

from __future__ import annotations

from random import Random

import pytest
from scouts_tools import (
    GAME,
    RNG,
    SET_UP,
    carry_out,
    faces_after_hands,
    hand_moves,
    legal_texts,
    make_state,
    start,
    state_after,
)

from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import Step
from companion.games.scouts.state import State
from companion.games.screen import ChessClock, ChoiceKey


def layout_after(state: State, text: str) -> Layout | None:
    action = GAME.parse(text)
    step: Step[State] = GAME.apply(state, {state.seat: action}, RNG)
    return GAME.layouts_by_hand(state, state.seat, action, step)[0]


def faces(layout: Layout | None) -> dict[str, tuple[str, ...]]:
    assert layout is not None
    return {str(square): stack for square, stack in layout.items()}


def some_states(seed: int) -> list[State]:
    """Return every ninth state of a random game, set-up included."""
    rng, states = Random(seed), [start()]
    while len(states) < 140 and not states[-1].outcome:
        text = str(GAME.random_action(states[-1], states[-1].seat, rng))
        states.append(state_after(states[-1], text))
    return [state for state in states[seed % 9 :: 9] if not state.outcome]


STATES = [state for seed in range(4) for state in some_states(seed)]

# ---- plays made by hand --------------------------------------------------------------------------


def test_a_scout_moves_before_it_turns_over() -> None:
    state = make_state("c9 h1", "c10")
    step = carry_out(state, "c9-c10")
    assert faces(layout_after(state, "c9-c10"))["c10"] == ("black scout", "white scout")
    assert faces(step.stages[0].expected) == faces(layout_after(state, "c9-c10"))
    assert faces(step.stages[1].expected)["c10"] == ("black scout", "white scout with intel")
    assert [event.kind for event in step.stages[1].events] == ["intel"]
    again = carry_out(make_state("c9 h1", intel="c9"), "c9-c10")
    assert len(again.stages) == 1, "it has been turned over before"


def test_no_hand_ends_a_turn() -> None:
    state = make_state("c4", due=0)
    assert [play.text for play in GAME.plays(state, Seat.SOUTH) if not play.is_by_hand] == ["."]
    assert carry_out(state, ".").stages == ()


PLAIN = make_state("c4 f4", "h9")
CASES: list[tuple[State, dict[str, str | None], str]] = [
    # what is no single thing is left to the table: nothing, a scout in a hand, two plays, one from
    # nowhere, one of the other side, half of a boulder
    (PLAIN, {}, ""),
    (PLAIN, {"c4": None}, ""),
    (PLAIN, hand_moves("c4", "c5") | hand_moves("f4", "f5"), ""),
    (PLAIN, {"h5": "black scout"}, ""),
    (PLAIN, {"c4": None, "d8": "black scout"}, ""),
    (PLAIN, {"d5": "white boulder", "d6": "white boulder"}, ""),
    # what may have lain beneath is told from what cannot have come from anywhere
    (make_state("c4 h1", "h9", black_low="c4"), {"f4": "white scout"}, ""),
    (
        make_state("c4 h1", "h9", white_low="c4", lower_intel="c4"),
        {"c4": "white scout with intel"},
        "",
    ),
    # other sides up, a rock of the other side, one that was laid before
    (state_after(start(), "@c1", "@c10"), {"c1": "white scout with intel"}, ""),
    (PLAIN, {"d5": "black rock", "d6": "black rock"}, ""),
    (
        make_state("c4", rocks={"white rock": "e7 f7"}),
        {"e7": None, "g7": "white rock"},
        "",
    ),
    (
        make_state("c3 h2", "c2 d1", intel="c3"),
        {"c3": None, "e1": "white scout with intel"},
        "A jump goes along a file or a rank, never diagonally.",
    ),
]


@pytest.mark.parametrize(("state", "changes", "message"), CASES, ids=range(len(CASES)))
def test_hands_are_explained_or_left_alone(
    state: State, changes: dict[str, str | None], message: str
) -> None:
    refusal = GAME.why_not(state, Seat.SOUTH, faces_after_hands(state, changes))
    assert (refusal.message if refusal else "") == message


def test_only_hands_on_turn_are_explained() -> None:
    assert GAME.why_not(PLAIN, Seat.NORTH, faces_after_hands(PLAIN, hand_moves("c4", "c8"))) is None
    won = state_after(make_state("c2 f4", intel="c2"), "c2-c1")
    assert GAME.why_not(won, Seat.SOUTH, faces_after_hands(won, hand_moves("f4", "f8"))) is None


# ---- screens -------------------------------------------------------------------------------------


FULL = state_after(start(), *SET_UP)
MOVED = state_after(FULL, "c1-c2")
STUCK = make_state("a1", "a2 h10", white_low="a2", rocks={"white boulder": "b1 c1 b2 c2"})
ROCKS = state_after(MOVED, "B@d5", "R@a7-b7", ".", "c10-c9", "R@g4-g5")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (start(), "White: place a scout"),
        (state_after(start(), "@c1"), "Black: place a scout"),
        (FULL, "White: one scout to move"),
        (MOVED, "White: press your clock"),
        (state_after(start(seconds=0), *SET_UP, "c1-c2"), "White: end the turn"),
        (state_after(MOVED, "."), "Black: two scouts to move"),
        (state_after(MOVED, ".", "c10-c9"), "Black: one more scout"),
        (ROCKS, "Black: one more scout"),
        (state_after(make_state("c2", "h9", intel="c2"), "c2-c1"), ""),
        (STUCK, "White: press your clock"),
    ],
    ids=range(10),
)
def test_a_sign_says_what_is_awaited(state: State, words: str) -> None:
    shown = GAME.board_ui(state, None)
    assert shown.sign == words
    assert (shown.hint == "No scout can move.") is (state is STUCK)


def test_keys_belong_to_the_seat_on_turn() -> None:
    state = state_after(start(), *SET_UP, "R@a7-b7")
    assert GAME.board_ui(state, Seat.SOUTH).keys == (
        ChoiceKey("end", "Press your clock", is_main=True),
        ChoiceKey("boulder", "Boulder"),
    )
    assert GAME.board_ui(state, Seat.NORTH).keys == GAME.board_ui(state, None).keys == ()
    assert {GAME.board_ui(state, viewer).open_action for viewer in (None, *SEATS)} == {"."}
    assert GAME.board_ui(start(), None).open_action == ""


def test_a_key_and_squares_make_a_play() -> None:
    state = make_state("c1 h1", "c2 c4 d5")
    plays = {play.text: play for play in GAME.plays(state, Seat.SOUTH)}
    assert list(GAME.plays(state, Seat.NORTH)) == []
    labels = {text: (play.key, play.label) for text, play in plays.items()}
    assert labels["c1-d2"] == ("", "Dash c1 to d2")
    assert labels["c1^c3^c5"] == ("", "Jump c1 to c5")
    assert labels["B@a7"] == ("boulder", "Boulder on a7 to b8")
    assert labels["R@a7-a8"] == ("rock", "Rock on a7 and a8")
    assert plays["B@a7"].touches == plays["B@a7"].squares[:1], "one tap lays it"
    done = {play.text: play for play in GAME.plays(make_state("c4", due=0), Seat.SOUTH)}
    assert (done["."].squares, done["."].key, done["."].label) == ((), "end", "End turn")


def test_the_shortest_chain_is_offered_then_the_first() -> None:
    state = make_state("c4 h1", "c5 d6 e5 d4")
    assert {"c4^c6^e6", "c4^e4^e6", "c4^e4", "c4^c6^e6^e4"} <= legal_texts(state), (
        "each may be said"
    )
    offered = {play.text for play in GAME.plays(state, Seat.SOUTH) if "^" in play.text}
    assert offered == {"c4^c6", "c4^e4", "c4^c6^e6"}


def test_plays_lead_to_every_position_once() -> None:
    """Whether a scout that reaches the other home rank has been turned over yet or not."""
    for state in STATES:
        positions = []
        for play in GAME.plays(state, state.seat):
            assert play.text in legal_texts(state)
            assert len(play.label) <= 40
            then = state_after(state, play.text)
            positions.append(then.position)
            layout = layout_after(state, play.text)
            if layout is None or not play.is_by_hand:
                continue
            for board in (layout, GAME.expected(then)):
                tops = {square: stack[-1] for square, stack in board.items()}
                assert GAME.why_not(state, state.seat, tops) is None, play.text
        assert len(positions) == len(set(positions))
        assert set(positions) == {state_after(state, text).position for text in legal_texts(state)}
        assert len(GAME.board_ui(state, None).sign) <= 40


# ---- clock, pad, taking back, kit, options -------------------------------------------------------


def test_the_clock_runs_between_setup_and_end() -> None:
    assert GAME.chess_clock(state_after(start(), *SET_UP[:9])) is None
    assert GAME.chess_clock(state_after(start(), *SET_UP)) == ChessClock(600, 0)
    assert GAME.chess_clock(make_state("c4", seconds=0, increment=2)) is None
    assert GAME.chess_clock(state_after(make_state("c2", intel="c2"), "c2-c1")) is None


def test_ready_on_the_pad_ends_the_turn() -> None:
    state = make_state("c4", due=0)
    pad = GAME.pad(state, Seat.SOUTH)
    assert pad is not None
    assert pad.text(()) == "."
    assert not pad.accepts((), "up")
    assert pad.text(("up",)) is None
    assert GAME.pad(state, Seat.NORTH) is None
    assert GAME.pad(start(), Seat.SOUTH) is None


def test_all_decisions_but_winning_ones_are_reversible() -> None:
    state = make_state("c2 f4", intel="c2")
    assert GAME.is_reversible(state, Seat.SOUTH, GAME.parse("f4-f5"))
    assert GAME.is_reversible(state, Seat.SOUTH, GAME.parse("B@g8"))
    assert not GAME.is_reversible(state, Seat.SOUTH, GAME.parse("c2-c1"))
