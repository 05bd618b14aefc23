"""Outbuffered: the worked examples of the rulings, every refusal of a move, counts, a golden game,
properties.
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
OPEN_MAP = ".....\nN...n\n.....\ns...S\n....."


def start(**options: object) -> State:
    return GAME.setup(GAME.options(options), RNG)


def play(state: State, south: str, north: str) -> Step[State]:
    return GAME.apply(state, {Seat.SOUTH: south, Seat.NORTH: north}, RNG)


def at(
    state: State, purple: str, lime: str, purple_flag: str | None = "", lime_flag: str | None = ""
) -> State:
    """Return the state with robots there. For a flag, None means carried, and "" unchanged."""
    flags = [
        None if text is None else Square.parse(text) if text else old
        for text, old in zip((purple_flag, lime_flag), state.flags, strict=True)
    ]
    robots = (Square.parse(purple), Square.parse(lime))
    return State(state.options, state.terrain, robots, (flags[0], flags[1]))


def kinds(step: Step[State]) -> list[str]:
    return [event.kind for event in step.events]


def robots(step: Step[State]) -> tuple[str, str]:
    return str(step.state.robots[0]), str(step.state.robots[1])


# ---- the worked examples -------------------------------------------------------------------------


def test_first_worked_example() -> None:
    step = play(start(), "UUS", "UUS")
    places = [sorted(map(str, stage.expected)) for stage in step.stages if stage.expected]
    assert places[0] == ["a2", "b1", "b4", "c3"]
    assert places[1] == ["a3", "b1", "b4", "c2"]
    assert places[2] == places[1]
    assert kinds(step)[-2:] == ["miss", "miss"]
    after = play(step.state, "RII", "LII")
    assert robots(after) == ("b3", "c2")
    bounce = after.events[1]
    assert bounce.text == "Lime bounces and stays on c2."
    assert bounce.why == "Left leads off the board: North’s left hand is South’s right."
    assert bounce.edge == (1, 0)


def test_second_worked_example_drops_the_flag() -> None:
    step = play(at(start(), "b3", "b2"), "UII", "SII")
    assert robots(step) == ("a1", "b2")
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
def test_a_move_bounces(
    purple: str, lime: str, south: str, north: str, after: tuple[str, str], why: str
) -> None:
    step = play(at(start(), purple, lime), f"{south}II", f"{north}II")
    assert robots(step) == after
    assert step.events[0].why == why


def test_walls_stop_moves_and_shots() -> None:
    walled = start(board="N.n\n.#.\ns.S")
    assert (
        play(at(walled, "a2", "c2"), "RII", "III").events[0].why
        == "Right leads into the wall on b2."
    )
    assert "miss" in kinds(play(at(walled, "a2", "c2"), "SII", "III"))
    assert "shot" in kinds(play(at(walled, "a3", "c3"), "SII", "III"))


def test_both_sides_share_the_boards_directions() -> None:
    step = play(start(directions="board"), "UII", "DII")
    assert robots(step) == ("a2", "c3")
    assert (
        play(start(directions="board"), "III", "LII").events[1].why == "Lime’s own flag lies on b4."
    )


# ---- flags, shots and ends -----------------------------------------------------------------------


SHUT_OUT = at(start(board=OPEN_MAP), "c3", "c5", purple_flag="a2", lime_flag="e4")
ENDS: list[tuple[State, str, str, set[Seat], str]] = [
    (at(start(), "b2", "c4", lime_flag=None), "DII", "III", {Seat.SOUTH}, "Home with lime’s flag."),
    (
        at(start(turn_limit=1), "b2", "c4", lime_flag=None),
        "DII",
        "III",
        {Seat.SOUTH},
        "Home with lime’s flag.",
    ),
    (
        at(start(), "b2", "b3", purple_flag=None, lime_flag=None),
        "DII",
        "DII",
        set(),
        "Both flags came home.",
    ),
    (at(start(), "a3", "a1"), "III", "SII", {Seat.NORTH}, "Purple is shut out."),
    (SHUT_OUT, "SII", "SII", set(), "Neither can start again."),
    (start(turn_limit=1), "III", "III", set(), "Turn 1 was the last."),
    (replace(start(quiet_limit=2), turn=2), "III", "UUS", set(), "2 quiet turns."),
]


@pytest.mark.parametrize(("state", "south", "north", "winners", "how"), ENDS, ids=range(len(ENDS)))
def test_a_game_ends(state: State, south: str, north: str, winners: set[Seat], how: str) -> None:
    end = play(state, south, north).state
    assert end.outcome is not None
    assert (end.outcome.winners, GAME.how_it_ended(end)) == (winners, how)
    assert (GAME.expected(end) is None) is ("out" in how or "again" in how)


def test_a_game_goes_on_before_its_limits() -> None:
    assert play(start(turn_limit=2), "III", "III").state.outcome is None
    hit = play(at(start(quiet_limit=1), "c3", "c4"), "SII", "III")
    assert hit.state.outcome is None
    taken = play(at(start(quiet_limit=2), "b3", "c1"), "UII", "III").state
    assert (taken.outcome, taken.last_eventful_turn, taken.quiet_turns) == (None, 1, 0)


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


def test_positions_counted_to_depth_two() -> None:
    """Distinct positions after every pair of buffers.

    One turn: each robot reaches 7 tiles in three steps (its own flag bars the way past its base), 4
    of which it shares with the other: 7 x 7 - 4 = 45. The second number is this engine's own count,
    to catch a change.
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
    rng = Random(7)
    sample = rng.sample(sorted(after_one), 12)
    after_two = {
        key(play(after_one[position], south, north).state)
        for position in sample
        for south in buffers[::5]
        for north in buffers[::7]
    }
    assert len(after_two) == GOLDEN_COUNTS[1]


GOLDEN_COUNTS = (45, 265)

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
    state, told = start(), []
    for south, north in GOLDEN_GAME:
        step = play(state, south, north)
        told += [event.text for event in step.events if event.kind not in ("idle", "move", "miss")]
        state = step.state
    assert told == GOLDEN_EVENTS
    assert state.outcome is not None
    assert state.outcome.winners == {Seat.SOUTH}


def test_orders_have_letters_of_the_readers_language() -> None:
    orders = spell_action(GAME, start(), Seat.SOUTH, "URS")
    with in_language("es"):
        assert [translate(order.label) for order in orders] == ["A", "D", "T"]


def test_who_waits_is_told() -> None:
    assert "Purple waits on a1." in [event.text for event in play(start(), "III", "UUU").events]


def test_each_order_says_what_it_does_now() -> None:
    said = {
        each.word: (each.result, [*map(str, each.squares)])
        for each in GAME.possible(start(), Seat.SOUTH, "")
    }
    assert said == {
        "shoot": ("hits your row and column", []),
        "up": ("to a2", ["a2"]),
        "wait": ("you stay on a1", []),
        **dict.fromkeys(("left", "down", "right"), ("you bounce and stay", [])),
    }
    assert {
        each.result for each in GAME.possible(start(), Seat.SOUTH, "U") if each.word == "wait"
    } == {"you stay on a2"}
