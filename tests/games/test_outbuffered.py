"""Tests of Outbuffered on its states, without a table.

They follow the worked examples of the rulings, bounces, ends, refusals, counts of positions, and a
golden game.

An action is three orders: `U D L R` move up, down, left and right, `S` shoots, and `I` waits.
Purple is South and lime is North, whose directions are turned round: its up is down the board. On
the standard board of 3 x 4 tiles purple starts on a1 with its base and flag on b1, and lime on c4
with its base and flag on b4.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.i18n import in_language, translate
from companion.core.kit import Seat
from companion.games.action_words import spell_action
from companion.games.base import Step
from companion.games.outbuffered import Outbuffered
from companion.games.outbuffered.turn import State

GAME = Outbuffered()
RNG = Random(0)
# A board in which robots start (s, n) away from the edges. S and N are the bases.
OPEN_MAP = ".....\nN...n\n.....\ns...S\n....."


def start(**options: object) -> State:
    return GAME.setup(GAME.options(options), RNG)


def play(state: State, south: str, north: str) -> Step[State]:
    return GAME.apply(state, {Seat.SOUTH: south, Seat.NORTH: north}, RNG)


def with_pieces(
    state: State, purple: str, lime: str, purple_flag: str | None = "", lime_flag: str | None = ""
) -> State:
    """Return the state with the robots on these squares.

    A flag lies on the square that is given, or is carried if that is None. If it is empty, the flag
    lies where it was.
    """
    flags = [
        None if text is None else Square.parse(text) if text else flag
        for text, flag in zip((purple_flag, lime_flag), state.flags, strict=True)
    ]
    robots = (Square.parse(purple), Square.parse(lime))
    return State(state.options, state.terrain, robots, (flags[0], flags[1]))


def kinds(step: Step[State]) -> list[str]:
    return [event.kind for event in step.events]


def robot_squares(step: Step[State]) -> tuple[str, str]:
    return str(step.state.robots[0]), str(step.state.robots[1])


# ---- the worked examples -------------------------------------------------------------------------


def test_first_worked_example() -> None:
    # Both robots go two tiles ahead, and both shoot without hitting the other one.
    step = play(start(), "UUS", "UUS")
    squares = [sorted(map(str, stage.expected)) for stage in step.stages if stage.expected]
    assert squares[0] == ["a2", "b1", "b4", "c3"]
    assert squares[1] == ["a3", "b1", "b4", "c2"]
    assert squares[2] == squares[1]
    assert kinds(step)[-2:] == ["miss", "miss"]
    # Lime's left hand points to the right edge of the board.
    after = play(step.state, "RII", "LII")
    assert robot_squares(after) == ("b3", "c2")
    bounce = after.events[1]
    assert bounce.text == "Lime bounces and stays on c2."
    assert bounce.why == "Left leads off the board: North’s left hand is South’s right."
    assert bounce.edge == (1, 0)


def test_second_worked_example_drops_the_flag() -> None:
    # Purple takes lime's flag on b4 and is hit in the same step. It drops the flag there and
    # returns to its start tile.
    step = play(with_pieces(start(), "b3", "b2"), "UII", "SII")
    assert robot_squares(step) == ("a1", "b2")
    assert str(step.state.flags[1]) == "b4"
    assert kinds(step)[:5] == ["move", "flag_taken", "shot", "flag_dropped", "sent_back"]


# ---- moves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("purple", "lime", "south", "north", "after", "why"),
    [
        ("a1", "c4", "L", "I", ("a1", "c4"), "Left leads off the board."),
        ("a1", "c4", "R", "I", ("a1", "c4"), "Purple’s own flag lies on b1."),
        ("a2", "c2", "R", "R", ("a2", "c2"), "Both robots try to enter b2."),
        ("a2", "b2", "R", "I", ("a2", "b2"), "Lime does not leave b2."),
        ("b2", "c2", "R", "L", ("b2", "c2"), "Lime does not leave c2."),
    ],
)
def test_a_bounce_says_why(
    purple: str, lime: str, south: str, north: str, after: tuple[str, str], why: str
) -> None:
    step = play(with_pieces(start(), purple, lime), f"{south}II", f"{north}II")
    assert robot_squares(step) == after
    assert step.events[0].why == why


def test_walls_stop_moves_and_shots() -> None:
    walled = start(board="N.n\n.#.\ns.S")
    bounce = play(with_pieces(walled, "a2", "c2"), "RII", "III").events[0]
    assert bounce.why == "Right leads into the wall on b2."
    # The wall is between the robots on rank 2, and there is none on rank 3.
    assert "miss" in kinds(play(with_pieces(walled, "a2", "c2"), "SII", "III"))
    assert "shot" in kinds(play(with_pieces(walled, "a3", "c3"), "SII", "III"))


def test_both_sides_share_the_boards_directions() -> None:
    # With this option lime's down is down the board, too.
    step = play(start(directions="board"), "UII", "DII")
    assert robot_squares(step) == ("a2", "c3")
    bounce = play(start(directions="board"), "III", "LII").events[1]
    assert bounce.why == "Lime’s own flag lies on b4."


# ---- flags, shots and ends -----------------------------------------------------------------------


# Each side's own flag lies on its start tile, so that a robot that is hit cannot return there.
SHUT_OUT = with_pieces(start(board=OPEN_MAP), "c3", "c5", purple_flag="a2", lime_flag="e4")
# Each case: the state, the actions of South and North, the winners, and how the game ended.
ENDS: list[tuple[State, str, str, set[Seat], str]] = [
    # Purple carries lime's flag to its own base, then the same in the last turn of a limit.
    (
        with_pieces(start(), "b2", "c4", lime_flag=None),
        "DII",
        "III",
        {Seat.SOUTH},
        "Home with lime’s flag.",
    ),
    (
        with_pieces(start(turn_limit=1), "b2", "c4", lime_flag=None),
        "DII",
        "III",
        {Seat.SOUTH},
        "Home with lime’s flag.",
    ),
    # Both carry the other flag to their bases in one step.
    (
        with_pieces(start(), "b2", "b3", purple_flag=None, lime_flag=None),
        "DII",
        "DII",
        set(),
        "Both flags came home.",
    ),
    # Lime stands on purple's start tile and hits purple. Then both hit each other, but neither
    # start tile is free.
    (with_pieces(start(), "a3", "a1"), "III", "SII", {Seat.NORTH}, "Purple is shut out."),
    (SHUT_OUT, "SII", "SII", set(), "Neither can start again."),
    # The limits of turns and of quiet turns.
    (start(turn_limit=1), "III", "III", set(), "Turn 1 was the last."),
    (replace(start(quiet_limit=2), turn=2), "III", "UUS", set(), "2 quiet turns."),
]


@pytest.mark.parametrize(("state", "south", "north", "winners", "how"), ENDS, ids=range(len(ENDS)))
def test_an_end_says_who_won_and_how(
    state: State, south: str, north: str, winners: set[Seat], how: str
) -> None:
    end = play(state, south, north).state
    assert end.outcome is not None
    assert (end.outcome.winners, GAME.how_it_ended(end)) == (winners, how)
    # A robot that cannot return to its start tile has no place on the board, so that the board is
    # no longer checked. The sentences for such an end contain one of these words.
    assert (GAME.expected(end) is None) is ("out" in how or "again" in how)


def test_limits_do_not_end_a_game_early() -> None:
    assert play(start(turn_limit=2), "III", "III").state.outcome is None
    # A hit and a flag that is taken restart the count of quiet turns.
    after_a_hit = play(with_pieces(start(quiet_limit=1), "c3", "c4"), "SII", "III")
    assert after_a_hit.state.outcome is None
    after_a_capture = play(with_pieces(start(quiet_limit=2), "b3", "c1"), "UII", "III").state
    assert after_a_capture.outcome is None
    assert (after_a_capture.last_eventful_turn, after_a_capture.quiet_turns) == (1, 0)


# ---- boards and notation -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board", "message"),
    [
        ("", "The board is empty"),
        ("sS", "“n” 0 times"),
        ("sSnNn", "“n” 2 times"),
        ("sSx\nnN.", "“x” in line 1"),
    ],
)
def test_a_bad_board_is_refused_with_its_place(board: str, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        GAME.options({"board": board})


@pytest.mark.parametrize("text", ["", "UUUU", "uus", " UUS", "UUS\n"])
def test_anything_but_three_letters_is_malformed(text: str) -> None:
    with pytest.raises(Malformed, match="exactly three of U D L R I S"):
        GAME.parse(text)


# ---- counts, a golden game, properties -----------------------------------------------------------


# Numbers of positions after one turn, and after a second turn in the sample.
GOLDEN_COUNTS = (45, 265)


def test_positions_are_counted_to_depth_two() -> None:
    """Count distinct positions after one turn, and after a second one from a sample of them.

    In one turn each robot reaches 7 tiles with its three steps, because its own flag bars the way
    past its base. It shares 4 of the tiles with the other robot: 7 * 7 - 4 = 45. The second number
    is this engine's own count, which shows whether the rules have changed.
    """
    buffers = list(GAME.legal_actions(start(), Seat.SOUTH))
    assert len(buffers) == 216

    def key(state: State) -> tuple[object, ...]:
        return (state.robots, state.flags, state.outcome is not None)

    after_one = {
        key(step.state): step.state
        for south in buffers
        for north in buffers
        if (step := play(start(), south, north))
    }
    assert len(after_one) == GOLDEN_COUNTS[0]
    sample = Random(7).sample(sorted(after_one), 12)
    after_two = {
        key(play(after_one[position], south, north).state)
        for position in sample
        for south in buffers[::5]
        for north in buffers[::7]
    }
    assert len(after_two) == GOLDEN_COUNTS[1]


# South's and North's action in each turn.
GOLDEN_GAME = [
    ("UUU", "ULU"),
    ("RIS", "UUI"),
    ("DDS", "IIU"),
    ("UUL", "SLD"),
    ("RUR", "DDD"),
    ("UDD", "RRS"),
    ("DDD", "LLU"),
    ("URD", "III"),
]
# Sentences of all events except moves, waits and shots that miss.
GOLDEN_EVENTS = [
    "Lime bounces and stays on c3.",
    "Purple takes lime’s flag on b4.",
    "Lime bounces and stays on c1.",
    "Lime bounces and stays on c1.",
    "Lime bounces and stays on c1.",
    "Purple bounces and stays on b4.",
    "Purple bounces and stays on b4.",
    "Lime bounces and stays on c4.",
    "Purple bounces and stays on b4.",
    "Lime bounces and stays on c4.",
    "Lime shoots and hits purple on b2.",
    "Purple drops lime’s flag on b2.",
    "Purple returns to its start tile a1.",
    "Purple bounces and stays on a1.",
    "Purple bounces and stays on a1.",
    "Lime bounces and stays on c4.",
    "Purple bounces and stays on a1.",
    "Purple takes lime’s flag on b2.",
    "Purple brings lime’s flag home to b1.",
]


def test_golden_game() -> None:
    """Play a whole game, and compare what happens with what happened when it was recorded."""
    state = start()
    sentences = []
    for south, north in GOLDEN_GAME:
        step = play(state, south, north)
        sentences += [
            event.text for event in step.events if event.kind not in ("idle", "move", "miss")
        ]
        state = step.state
    assert sentences == GOLDEN_EVENTS
    assert state.outcome is not None
    assert state.outcome.winners == {Seat.SOUTH}


def test_order_initials_follow_the_readers_language() -> None:
    # In Spanish: arriba, derecha, tirar.
    orders = spell_action(GAME, start(), Seat.SOUTH, "URS")
    with in_language("es"):
        assert [translate(order.label) for order in orders] == ["A", "D", "T"]


def test_a_wait_is_reported() -> None:
    assert "Purple waits on a1." in [event.text for event in play(start(), "III", "UUU").events]


def test_possible_orders_say_what_they_would_do() -> None:
    # Before the first order: what each order would do, and the tile on which it would end.
    results = {
        order.word: (order.result, [*map(str, order.squares)])
        for order in GAME.possible(start(), Seat.SOUTH, "")
    }
    assert results == {
        "shoot": ("hits your row and column", []),
        "up": ("to a2", ["a2"]),
        "wait": ("you stay on a1", []),
        **dict.fromkeys(("left", "down", "right"), ("you bounce and stay", [])),
    }
    # After an order up, the others begin on a2.
    after_up = GAME.possible(start(), Seat.SOUTH, "U")
    assert {order.result for order in after_up if order.word == "wait"} == {"you stay on a2"}
