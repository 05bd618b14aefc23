"""Tests of Scouts on board, screens and pads: what hands make, signs, plays to tap, clock and keys.

They use states without a table. `make_state` takes the squares of white's scouts and of black's,
and white is on turn. `c9-c10` is a dash, and `.` ends the turn.
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
    """Return the layout that hands leave after an action of the seat on turn."""
    action = GAME.parse(text)
    step: Step[State] = GAME.apply(state, {state.seat: action}, RNG)
    return GAME.layouts_by_hand(state, state.seat, action, step)[0]


def faces_by_name(layout: Layout | None) -> dict[str, tuple[str, ...]]:
    """Return the stack on each square, by the square's name."""
    assert layout is not None
    return {str(square): stack for square, stack in layout.items()}


def some_states(seed: int) -> list[State]:
    """Return every ninth state of a random game, from one of the first nine that the seed chooses.

    The set-up belongs to the game.
    """
    rng = Random(seed)
    states = [start()]
    while len(states) < 140 and not states[-1].outcome:
        text = str(GAME.random_action(states[-1], states[-1].seat, rng))
        states.append(state_after(states[-1], text))
    return [state for state in states[seed % 9 :: 9] if not state.outcome]


RANDOM_STATES = [state for seed in range(4) for state in some_states(seed)]

# ---- plays made by hand --------------------------------------------------------------------------


def test_a_scout_moves_before_it_turns_over() -> None:
    # A white scout dashes onto a black one on the far rank, and so gathers intel there.
    state = make_state("c9 h1", "c10")
    step = carry_out(state, "c9-c10")
    assert faces_by_name(layout_after(state, "c9-c10"))["c10"] == ("black scout", "white scout")
    # The first stage is what hands leave. In the second one they turn the scout over.
    assert faces_by_name(step.stages[0].expected) == faces_by_name(layout_after(state, "c9-c10"))
    assert faces_by_name(step.stages[1].expected)["c10"] == (
        "black scout",
        "white scout with intel",
    )
    assert [event.kind for event in step.stages[1].events] == ["intel"]
    with_intel = carry_out(make_state("c9 h1", intel="c9"), "c9-c10")
    assert len(with_intel.stages) == 1, "a scout that has intel must not be turned over again"


def test_ending_a_turn_moves_no_piece() -> None:
    state = make_state("c4", due=0)
    assert [play.text for play in GAME.plays(state, Seat.SOUTH) if not play.is_by_hand] == ["."]
    assert carry_out(state, ".").stages == ()


TWO_SCOUTS = make_state("c4 f4", "h9")
# Each case: the state, the faces that hands have changed (None: the square is empty), and the
# sentence that explains what is wrong. It is empty where the table cannot know what was meant.
HAND_CHANGES: list[tuple[State, dict[str, str | None], str]] = [
    # Nothing has changed.
    (TWO_SCOUTS, {}, ""),
    # A scout is in somebody's hand.
    (TWO_SCOUTS, {"c4": None}, ""),
    # Two scouts have moved.
    (TWO_SCOUTS, hand_moves("c4", "c5") | hand_moves("f4", "f5"), ""),
    # A scout has come from nowhere.
    (TWO_SCOUTS, {"h5": "black scout"}, ""),
    # A white scout is gone, and a black one has come.
    (TWO_SCOUTS, {"c4": None, "d8": "black scout"}, ""),
    # Only half of a boulder is seen.
    (TWO_SCOUTS, {"d5": "white boulder", "d6": "white boulder"}, ""),
    # A white scout has come from nowhere, while another one lies on a black scout.
    (make_state("c4 h1", "h9", black_low="c4"), {"f4": "white scout"}, ""),
    # The upper scout of a stack is gone, and the lower one shows.
    (
        make_state("c4 h1", "h9", white_low="c4", lower_intel="c4"),
        {"c4": "white scout with intel"},
        "",
    ),
    # A scout has been turned over during the set-up.
    (state_after(start(), "@c1", "@c10"), {"c1": "white scout with intel"}, ""),
    # White has laid the rock of black.
    (TWO_SCOUTS, {"d5": "black rock", "d6": "black rock"}, ""),
    # A rock that was laid before has been moved.
    (
        make_state("c4", rocks={"white rock": "e7 f7"}),
        {"e7": None, "g7": "white rock"},
        "",
    ),
    # A scout has jumped diagonally, which the table can explain.
    (
        make_state("c3 h2", "c2 d1", intel="c3"),
        {"c3": None, "e1": "white scout with intel"},
        "A jump goes along a file or a rank, never diagonally.",
    ),
]


@pytest.mark.parametrize(
    ("state", "changes", "message"), HAND_CHANGES, ids=range(len(HAND_CHANGES))
)
def test_wrong_moves_by_hand_are_explained(
    state: State, changes: dict[str, str | None], message: str
) -> None:
    refusal = GAME.why_not(state, Seat.SOUTH, faces_after_hands(state, changes))
    assert (refusal.message if refusal else "") == message


def test_only_the_seat_on_turn_gets_explanations() -> None:
    # White is on turn, and a scout of white has been moved too far.
    assert (
        GAME.why_not(TWO_SCOUTS, Seat.NORTH, faces_after_hands(TWO_SCOUTS, hand_moves("c4", "c8")))
        is None
    )
    # After the end of the game nobody is on turn.
    won = state_after(make_state("c2 f4", intel="c2"), "c2-c1")
    assert GAME.why_not(won, Seat.SOUTH, faces_after_hands(won, hand_moves("f4", "f8"))) is None


# ---- screens -------------------------------------------------------------------------------------


SET_UP_COMPLETE = state_after(start(), *SET_UP)
AFTER_FIRST_MOVE = state_after(SET_UP_COMPLETE, "c1-c2")
NO_MOVE_LEFT = make_state("a1", "a2 h10", white_low="a2", rocks={"white boulder": "b1 c1 b2 c2"})
AFTER_ROCKS = state_after(AFTER_FIRST_MOVE, "B@d5", "R@a7-b7", ".", "c10-c9", "R@g4-g5")


@pytest.mark.parametrize(
    ("state", "sign"),
    [
        (start(), "White: place a scout"),
        (state_after(start(), "@c1"), "Black: place a scout"),
        (SET_UP_COMPLETE, "White: one scout to move"),
        (AFTER_FIRST_MOVE, "White: press your clock"),
        (state_after(start(seconds=0), *SET_UP, "c1-c2"), "White: end the turn"),
        (state_after(AFTER_FIRST_MOVE, "."), "Black: two scouts to move"),
        (state_after(AFTER_FIRST_MOVE, ".", "c10-c9"), "Black: one more scout"),
        (AFTER_ROCKS, "Black: one more scout"),
        (state_after(make_state("c2", "h9", intel="c2"), "c2-c1"), ""),
        (NO_MOVE_LEFT, "White: press your clock"),
    ],
    ids=range(10),
)
def test_the_sign_says_what_is_awaited(state: State, sign: str) -> None:
    board_ui = GAME.board_ui(state, None)
    assert board_ui.sign == sign
    assert (board_ui.hint == "No scout can move.") is (state is NO_MOVE_LEFT)


def test_keys_belong_to_the_seat_on_turn() -> None:
    state = state_after(start(), *SET_UP, "R@a7-b7")
    assert GAME.board_ui(state, Seat.SOUTH).keys == (
        ChoiceKey("end", "Press your clock", is_main=True),
        ChoiceKey("boulder", "Boulder"),
    )
    assert GAME.board_ui(state, Seat.NORTH).keys == GAME.board_ui(state, None).keys == ()
    assert {GAME.board_ui(state, viewer).open_action for viewer in (None, *SEATS)} == {"."}
    assert GAME.board_ui(start(), None).open_action == ""


def test_a_play_has_a_key_and_squares() -> None:
    state = make_state("c1 h1", "c2 c4 d5")
    plays = {play.text: play for play in GAME.plays(state, Seat.SOUTH)}
    assert list(GAME.plays(state, Seat.NORTH)) == []
    labels = {text: (play.key, play.label) for text, play in plays.items()}
    assert labels["c1-d2"] == ("", "Dash c1 to d2")
    assert labels["c1^c3^c5"] == ("", "Jump c1 to c5")
    assert labels["B@a7"] == ("boulder", "Boulder on a7 to b8")
    assert labels["R@a7-a8"] == ("rock", "Rock on a7 and a8")
    assert plays["B@a7"].touches == plays["B@a7"].squares[:1]  # one tap lays it
    last_plays = {play.text: play for play in GAME.plays(make_state("c4", due=0), Seat.SOUTH)}
    end = last_plays["."]
    assert (end.squares, end.key, end.label) == ((), "end", "End turn")


def test_only_one_shortest_chain_is_offered() -> None:
    state = make_state("c4 h1", "c5 d6 e5 d4")
    # Two chains lead to e6 and two to e4.
    assert {"c4^c6^e6", "c4^e4^e6", "c4^e4", "c4^c6^e6^e4"} <= legal_texts(state)
    offered = {play.text for play in GAME.plays(state, Seat.SOUTH) if "^" in play.text}
    assert offered == {"c4^c6", "c4^e4", "c4^c6^e6"}


def test_plays_lead_to_every_position_once() -> None:
    """Hands that make a play break no rule, whether or not they have turned over a scout that has
    reached the other home rank.
    """
    for state in RANDOM_STATES:
        positions = []
        # Each play is legal, and hands that make it break no rule.
        for play in GAME.plays(state, state.seat):
            assert play.text in legal_texts(state)
            assert len(play.label) <= 40
            after = state_after(state, play.text)
            positions.append(after.position)
            layout = layout_after(state, play.text)
            if layout is None or not play.is_by_hand:
                continue
            for board in (layout, GAME.expected(after)):
                tops = {square: stack[-1] for square, stack in board.items()}
                assert GAME.why_not(state, state.seat, tops) is None, play.text
        # No two plays lead to the same position, and together they reach all that are legal.
        assert len(positions) == len(set(positions))
        assert set(positions) == {state_after(state, text).position for text in legal_texts(state)}
        assert len(GAME.board_ui(state, None).sign) <= 40


# ---- clock, pad, taking back ---------------------------------------------------------------------


def test_the_clock_runs_from_set_up_to_end() -> None:
    # The clock does not run before the last of the ten placements, in a game without a clock, and
    # after the end.
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


def test_only_a_winning_move_is_not_reversible() -> None:
    state = make_state("c2 f4", intel="c2")
    assert GAME.is_reversible(state, Seat.SOUTH, GAME.parse("f4-f5"))
    assert GAME.is_reversible(state, Seat.SOUTH, GAME.parse("B@g8"))
    assert not GAME.is_reversible(state, Seat.SOUTH, GAME.parse("c2-c1"))
