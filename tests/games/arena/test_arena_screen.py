"""Tests of what screens and pads show of Robot Arena, on its states.

They cover standings, order sheets, opened orders, the keys of pads, and arrows. `make_state` takes
the squares of petrol's robots (South) and of coral's (North) by their numbers, with their hit
points if they have lost some. `1:N 3:aE 4:D` are orders for three robots: move north, attack east,
defend.
"""

from __future__ import annotations

from random import Random

import pytest
from arena_tools import GAME, NORTH, SOUTH, carry_out, make_state, start

from companion.core.grid import Square
from companion.core.kit import Seat
from companion.games.action_words import build_arrows
from companion.games.arena.orders import ORDER_CODES
from companion.games.arena.screen import OrdersPad
from companion.games.arena.state import State
from companion.games.screen import Badge

PAD_KEYS = ("up", "down", "left", "right", "a", "b", "ready")


def pad_grammar(state: State, seat: Seat) -> OrdersPad:
    grammar = GAME.pad(state, seat)
    assert isinstance(grammar, OrdersPad)
    return grammar


# ---- standings and sheets ------------------------------------------------------------------------


def test_screens_show_points_of_robots_and_sides() -> None:
    state = make_state({1: ("b3", 18), 4: "c1"}, {2: ("e5", 1)}, turn=12)
    board_ui = GAME.board_ui(state, None)
    assert board_ui.sign == "Both: orders for your robots"
    assert board_ui.hint == "Turn 12 of 30. New robots appear in turn 15."
    assert board_ui.facts == {SOUTH: "2 robots, 48 points", NORTH: "1 robot, 1 point"}
    assert board_ui.badges == {
        Square.parse("b3"): Badge("18", 0.6),
        Square.parse("c1"): Badge("30", 1.0),
        Square.parse("e5"): Badge("1", 1 / 30),
    }
    assert board_ui.sheet is None
    # Each seat has a sheet with a row for each of its own robots.
    for seat, sign, rows in (
        (SOUTH, "Petrol: orders for your robots", ["1 b3 18 points", "4 c1 30 points"]),
        (NORTH, "Coral: orders for your robots", ["2 e5 1 point"]),
    ):
        own = GAME.board_ui(state, seat)
        assert own.sign == sign
        assert own.sheet is not None
        assert [f"{unit.name} {unit.square} {unit.note}" for unit in own.sheet.units] == rows


@pytest.mark.parametrize(
    ("turn", "options", "hint"),
    [
        (5, {}, "Turn 5 of 30. New robots appear in this turn."),
        (6, {"turns": 8}, "Turn 6 of 8."),
        (1, {"spawn_every": 0}, "Turn 1 of 30."),
        (1, {"board": "n\ns"}, "Turn 1 of 30."),
    ],
)
def test_the_hint_says_when_robots_appear(turn: int, options: dict[str, object], hint: str) -> None:
    state = start(**options)
    assert GAME.board_ui(State(state.options, state.terrain, state.robots, turn), None).hint == hint


def test_order_sheets_spell_all_orders() -> None:
    """Every kind and direction on a sheet makes a legal order, and no order is missing."""
    sheet = GAME.board_ui(start(), SOUTH).sheet
    assert sheet is not None
    letters = [direction.letter for direction in sheet.directions]
    codes = {
        f"{kind.letter}{letter}"
        for kind in sheet.kinds
        for letter in (letters if kind.has_direction else [""])
    }
    assert codes | {sheet.nothing} == set(ORDER_CODES)
    for code in codes:
        text = " ".join(f"{unit.name}:{code}" for unit in sheet.units)
        GAME.check(start(), SOUTH, GAME.parse(text))


def test_an_ended_game_has_no_sheet() -> None:
    # In the first game petrol wins, in the second one both sides lose their last robot.
    for orders in (("1:aN", "1:-"), ("1:X", "1:X")):
        state = carry_out(make_state({1: "c3"}, {1: ("c4", 5)}), *orders).state
        board_ui = GAME.board_ui(state, SOUTH)
        assert state.outcome is not None
        assert (board_ui.sheet, board_ui.sign, board_ui.hint) == (None, "", "")
        assert GAME.pad(state, SOUTH) is None
    assert list(GAME.plays(start(), SOUTH)) == []


def test_orders_are_opened_stage_by_stage() -> None:
    state = make_state({1: "b3", 2: "a1", 4: "e5"}, {2: "h6"})
    actions = {SOUTH: GAME.parse("1:N 4:D"), NORTH: GAME.parse("2:aE")}
    stages = carry_out(state, "1:N 4:D", "2:aE").stages
    assert [stage.title for stage in stages] == ["Defend", "Moves", "Attacks"]

    # Robot 4 defends in the first stage, robot 1 moves in the second. Robot 2 has no order, which
    # only the last stage shows.
    by_stage = [GAME.opened(state, actions, stages, number) for number in range(3)]
    assert [[row.order for row in opened[SOUTH]] for opened in by_stage] == [
        [None, None, "D"],
        ["N", None, "D"],
        ["N", "-", "D"],
    ]
    assert [opened[NORTH][0].order for opened in by_stage] == [None, None, "aE"]
    assert [row.words for row in (*by_stage[2][SOUTH], *by_stage[2][NORTH])] == [
        "Move north",
        "no order",
        "Defend",
        "Attack east",
    ]

    # An order that is still closed makes no difference.
    other_actions = {**actions, SOUTH: GAME.parse("1:N 2:S 4:D")}
    assert GAME.opened(state, other_actions, stages, 0) == by_stage[0]


# ---- pads ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seat", "draft", "count", "text"),
    [
        # Direction keys are moves, seen from the seat.
        (SOUTH, "", 0, "1:-"),
        (SOUTH, "left right down", 3, "1:W 3:E 4:S"),
        (NORTH, "left right down", 3, "1:E 3:W 4:N"),
        # `a` and a direction are an attack, `a` twice is a self-destruct, and `b` a defence.
        (NORTH, "a up a left", 2, "1:aS 3:aE"),
        (SOUTH, "a a b", 2, "1:X 3:D"),
        (SOUTH, "a a a a", 2, "1:X 3:X"),
        # Ready lets a robot do nothing, and cancels an `a` before it.
        (SOUTH, "ready b", 2, "3:D"),
        (SOUTH, "ready ready ready", 3, "1:-"),
        (SOUTH, "a ready up", 2, "3:N"),
    ],
)
def test_keys_spell_orders_robot_by_robot(seat: Seat, draft: str, count: int, text: str) -> None:
    grammar = pad_grammar(
        make_state({1: "b1", 3: "e1", 4: "h1"}, {1: "b9", 3: "e9", 4: "h9"}), seat
    )
    keys = tuple(draft.split())
    assert (grammar.count(keys), grammar.text(keys), grammar.length) == (count, text, 3)
    for index, key in enumerate(keys):
        assert grammar.accepts(keys[:index], key)


def test_a_refused_key_means_only_a_full_draft() -> None:
    """Everybody sees whether a key is refused. So a pad accepts all keys until every robot has an
    order, and none after that.
    """
    rng = Random(1)
    grammar = pad_grammar(start(), SOUTH)
    for _ in range(200):
        draft: tuple[str, ...] = ()
        while any(grammar.accepts(draft, key) for key in PAD_KEYS):
            assert all(grammar.accepts(draft, key) for key in PAD_KEYS)
            assert not grammar.accepts(draft, "nonsense")
            assert grammar.count(draft) < 3
            draft = (*draft, rng.choice(PAD_KEYS))
            GAME.check(start(), SOUTH, GAME.parse(grammar.text(draft)))
        assert grammar.count(draft) == 3


def test_arrows_leave_out_robots_without_an_order() -> None:
    state = make_state({1: "b1", 2: "e1", 3: "h1"}, {1: "e9"})
    arrows = [tuple(map(str, arrow)) for arrow in build_arrows(GAME, state, SOUTH, "1:N 3:W")]
    assert arrows == [("b1", "b2"), ("h1", "g1")]
