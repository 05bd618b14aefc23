"""Robot Arena at its doors: standings, order sheets, pads, plans, all orders lazily, secrecy, properties of every game."""

from __future__ import annotations

import itertools
from collections import Counter
from random import Random

import pytest
from arena_tools import GAME, NORTH, RNG, SOUTH, at, play, start
from hypothesis import given
from hypothesis import strategies as st

from companion.core import drawings
from companion.core.errors import Illegal, Malformed
from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.games.arena.orders import CODES, Orders, all_orders, orders_at
from companion.games.arena.pad import OrdersPad
from companion.games.arena.state import State
from companion.games.screen import Badge

KEYS = ("up", "down", "left", "right", "a", "b", "ready")
TURNED = {"N": "S", "S": "N", "E": "E", "W": "W"}


def pad(state: State, seat: Seat) -> OrdersPad:
    grammar = GAME.pad(state, seat)
    assert isinstance(grammar, OrdersPad)
    return grammar


# ---- standings and sheets -----------------------------------------------------------------------------------------------


def test_a_standing_tells_points_and_sums() -> None:
    state = at({1: ("b3", 18), 4: "c1"}, {2: ("e5", 1)}, turn=12)
    standing = GAME.standing(state, None)
    assert standing.sign == "Both: orders for your robots"
    assert standing.hint == "Turn 12 of 30. New robots appear in turn 15."
    assert standing.facts == {SOUTH: "2 robots, 48 points", NORTH: "1 robot, 1 point"}
    assert standing.badges == {
        Square.parse("b3"): Badge("18", 0.6),
        Square.parse("c1"): Badge("30", 1.0),
        Square.parse("e5"): Badge("1", 1 / 30),
    }
    assert standing.sheet is None


@pytest.mark.parametrize(
    ("turn", "options", "hint"),
    [
        (1, {}, "Turn 1 of 30. New robots appear in turn 5."),
        (5, {}, "Turn 5 of 30. New robots appear in this turn."),
        (30, {}, "Turn 30 of 30. New robots appear in this turn."),
        (6, {"turns": 8}, "Turn 6 of 8."),
        (1, {"spawn_every": 0}, "Turn 1 of 30."),
        (1, {"board": "n\ns"}, "Turn 1 of 30."),
    ],
)
def test_the_hint_says_when_robots_appear(turn: int, options: dict[str, object], hint: str) -> None:
    state = start(**options)
    assert GAME.standing(State(state.options, state.terrain, state.robots, turn), None).hint == hint


def test_each_seat_has_the_sheet_of_its_own_robots() -> None:
    state = at({1: ("b3", 18), 4: "c1"}, {2: ("e5", 1)})
    mine, theirs = GAME.standing(state, SOUTH).sheet, GAME.standing(state, NORTH).sheet
    assert mine is not None
    assert theirs is not None
    assert [(unit.name, str(unit.square), unit.note) for unit in mine.units] == [
        ("1", "b3", "18 points"),
        ("4", "c1", "30 points"),
    ]
    assert [(unit.name, str(unit.square), unit.note) for unit in theirs.units] == [
        ("2", "e5", "1 point")
    ]
    assert [(kind.letter, kind.label, kind.has_direction) for kind in mine.kinds] == [
        ("", "Move", True),
        ("a", "Attack", True),
        ("D", "Defend", False),
        ("X", "Self-destruct", False),
    ]
    assert [(each.letter, each.step) for each in mine.directions] == [
        ("N", (0, 1)),
        ("E", (1, 0)),
        ("S", (0, -1)),
        ("W", (-1, 0)),
    ]
    drawn = {kind.drawing for kind in mine.kinds} | {each.drawing for each in mine.directions}
    assert drawn <= set(drawings.DRAWINGS)
    assert GAME.standing(state, SOUTH).sign == "Petrol: orders for your robots"
    assert GAME.standing(state, NORTH).sign == "Coral: orders for your robots"


def test_what_a_sheet_spells_is_legal() -> None:
    """Every kind and direction on a sheet gives an order that the game reads."""
    sheet = GAME.standing(start(), SOUTH).sheet
    assert sheet is not None
    spell_action = {
        f"{kind.letter}{letter}"
        for kind in sheet.kinds
        for letter in ([each.letter for each in sheet.directions] if kind.has_direction else [""])
    }
    assert spell_action | {sheet.nothing} == set(CODES)
    for code in spell_action:
        GAME.check(
            start(), SOUTH, GAME.parse(" ".join(f"{unit.name}:{code}" for unit in sheet.units))
        )


def test_an_ended_game_has_no_sheet_and_no_pad() -> None:
    for orders, sign in ((("1:aN", "1:-"), "Petrol wins"), (("1:X", "1:X"), "A draw")):
        state = play(at({1: "c3"}, {1: ("c4", 5)}), *orders).state
        standing = GAME.standing(state, SOUTH)
        assert state.outcome is not None
        assert (standing.sheet, standing.sign, standing.hint) == (None, sign, state.outcome.reason)
        assert GAME.pad(state, SOUTH) is None
    assert list(GAME.plays(start(), SOUTH)) == []


def test_orders_open_robot_by_robot_with_the_stage_that_carries_them_out() -> None:
    state = at({1: "b3", 2: "a1", 4: "e5"}, {2: "h6"})
    actions = {SOUTH: GAME.parse("1:N 4:D"), NORTH: GAME.parse("2:aE")}
    stages = play(state, "1:N 4:D", "2:aE").stages
    assert [stage.title for stage in stages] == ["Defend", "Moves", "Attacks"]
    shown = [GAME.opened(state, actions, stages, number) for number in range(3)]
    assert [[each.order for each in opened[SOUTH]] for opened in shown] == [
        [None, None, "D"],
        ["N", None, "D"],
        ["N", "-", "D"],
    ]
    assert [opened[NORTH][0].order for opened in shown] == [None, None, "aE"]
    assert [(each.unit, each.drawing, each.degrees) for each in shown[2][SOUTH]] == [
        ("1", "order-up", 0),
        ("2", "", 0),
        ("4", "shield", 0),
    ]
    assert (shown[2][NORTH][0].drawing, shown[2][NORTH][0].degrees) == ("blade", 0)
    assert [each.words for each in (*shown[2][SOUTH], *shown[2][NORTH])] == [
        "Move north",
        "no order",
        "Defend",
        "Attack east",
    ]
    others = {**actions, SOUTH: GAME.parse("1:N 2:S 4:D")}
    assert GAME.opened(state, others, stages, 0) == shown[0], "what is closed tells nothing"


def test_a_plan_names_the_square_of_each_order() -> None:
    state = at({1: "b3", 2: "a1", 4: "e5"}, {2: "e6"})
    squares = GAME.plan(state, SOUTH, "1:N 2:aW 4:D")
    assert [None if square is None else str(square) for square in squares] == ["b4", None, "e5"]
    assert GAME.plan(state, SOUTH, "4:aE") == (Square.parse("f5"),)
    assert GAME.plan(state, NORTH, "1:N 2:S") == (None, Square.parse("e5"))
    assert GAME.plan(state, SOUTH, "") == ()


# ---- pads ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seat", "draft", "count", "text"),
    [
        (SOUTH, "", 0, "1:-"),
        (SOUTH, "up", 1, "1:N"),
        (SOUTH, "left right down", 3, "1:W 3:E 4:S"),
        (NORTH, "left right down", 3, "1:E 3:W 4:N"),
        (NORTH, "up", 1, "1:S"),
        (SOUTH, "a", 0, "1:-"),
        (SOUTH, "a up", 1, "1:aN"),
        (NORTH, "a up a left", 2, "1:aS 3:aE"),
        (SOUTH, "a a b", 2, "1:X 3:D"),
        (SOUTH, "a a a", 1, "1:X"),
        (SOUTH, "a a a a", 2, "1:X 3:X"),
        (SOUTH, "ready b", 2, "3:D"),
        (SOUTH, "up ready right", 3, "1:N 4:E"),
        (SOUTH, "ready ready ready", 3, "1:-"),
        (SOUTH, "a b", 1, "1:D"),
        (SOUTH, "a ready up", 2, "3:N"),
    ],
)
def test_keys_spell_orders_robot_by_robot(seat: Seat, draft: str, count: int, text: str) -> None:
    grammar = pad(at({1: "b1", 3: "e1", 4: "h1"}, {1: "b9", 3: "e9", 4: "h9"}), seat)
    keys = tuple(draft.split())
    assert (grammar.count(keys), grammar.text(keys), grammar.length) == (count, text, 3)
    for done, key in enumerate(keys):
        assert grammar.accepts(keys[:done], key)


def test_ready_is_a_key_until_all_robots_are_done() -> None:
    grammar = pad(start(), SOUTH)
    assert grammar.ready_is_key
    assert grammar.accepts(("up", "a"), "ready")
    assert not grammar.accepts(("up", "b", "ready"), "ready"), "now it hands in"
    assert not grammar.accepts((), "back")
    assert not grammar.is_at_once(("up", "b", "ready"))


def test_keys_are_seen_from_the_seat() -> None:
    for seat, letters in ((SOUTH, "NSWE"), (NORTH, "SNEW")):
        grammar = pad(start(), seat)
        assert [key.pad for key in grammar.keys] == ["up", "down", "left", "right", "a", "b"]
        assert "".join(key.letter for key in grammar.keys[:4]) == letters
        assert [key.drawing for key in grammar.keys[:4]] == [
            "order-up",
            "order-down",
            "order-left",
            "order-right",
        ]
        assert grammar.keys[0].label == ("move north" if seat is SOUTH else "move south")


@given(
    st.lists(st.sampled_from(KEYS), max_size=16), st.sets(st.integers(1, 8), min_size=1, max_size=8)
)
def test_a_refused_key_says_only_that_the_draft_is_full(keys: list[str], numbers: set[int]) -> None:
    """Lamps and refusals hold no secret: all keys are taken alike, and only the number of robots done decides."""
    state = at({number: f"{'abcdefgh'[number - 1]}2" for number in sorted(numbers)}, {1: "i9"})
    grammar = pad(state, SOUTH)
    draft: tuple[str, ...] = ()
    for key in keys:
        assert {grammar.accepts(draft, each) for each in KEYS} == {
            grammar.count(draft) < len(numbers)
        }
        assert not grammar.accepts(draft, "nonsense")
        if grammar.accepts(draft, key):
            draft = (*draft, key)
        action = GAME.parse(grammar.text(draft))
        if grammar.accepts(draft, "ready"):
            assert grammar.text((*draft, "ready")) == grammar.text(draft), (
                "holding ready may begin as a press of it"
            )
        GAME.check(state, SOUTH, action)
        assert 0 <= grammar.count(draft) <= len(numbers)


@given(
    st.lists(
        st.sampled_from(["", *(code for code in CODES if code != "-")]), min_size=3, max_size=3
    )
)
def test_every_order_can_be_spelt_at_both_pads(codes: list[str]) -> None:
    text = (
        " ".join(f"{number}:{code}" for number, code in enumerate(codes, start=1) if code) or "1:-"
    )
    for seat, away in ((SOUTH, "NSWE"), (NORTH, "SNEW")):
        pads = dict(zip(away, KEYS, strict=False))
        spell_action = {"": ["ready"], "D": ["b"], "X": ["a", "a"]}
        keys = [
            key
            for code in codes
            for key in (spell_action.get(code) or [*"a" * (len(code) - 1), pads[code[-1]]])
        ]
        assert pad(start(), seat).text(tuple(keys)) == text
        assert pad(start(), seat).count(tuple(keys)) == 3


# ---- all orders, lazily -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("numbers", [(3,), (1, 2), (2, 5, 8)])
def test_all_orders_come_once_each(numbers: tuple[int, ...]) -> None:
    every = {
        Orders(tuple((number, code) for number, code in zip(numbers, codes, strict=True) if code))
        for codes in itertools.product(("", *CODES), repeat=len(numbers))
    } - {Orders(())}
    listed = list(all_orders(numbers))
    assert len(listed) == len(every) == 12 ** len(numbers) - 1
    assert set(listed) == every
    assert {orders_at(index, numbers) for index in range(1, 12 ** len(numbers))} == every


def test_the_beginning_of_the_row_is_a_fair_cross_section() -> None:
    """Eight robots: among the first 1200 of 430 million every robot has every order, none much more often."""
    drawn = Counter(
        (number, dict(orders.given).get(number, ""))
        for orders in itertools.islice(all_orders(range(1, 9)), 1200)
        for number in range(1, 9)
    )
    assert len(drawn) == 8 * 12
    assert min(drawn.values()) >= 80
    assert max(drawn.values()) <= 120


def test_random_orders_are_drawn_alike() -> None:
    state, rng = at({2: "b1"}, {1: "i9", 3: "a9"}), Random(3)
    drawn = Counter(str(GAME.random_action(state, SOUTH, rng)) for _ in range(2200))
    assert set(drawn) == {f"2:{code}" for code in CODES}
    assert min(drawn.values()) > 140
    pairs = {GAME.random_action(state, NORTH, rng) for _ in range(2000)}
    assert pairs == set(GAME.legal_actions(state, NORTH))


TEXTS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(CODES)), min_size=1, max_size=4)


@given(TEXTS)
def test_legal_actions_are_exactly_those_that_pass_the_check(parts: list[tuple[int, str]]) -> None:
    state = at({1: "b1", 3: "e1", 8: "h1"}, {1: "b9"})
    try:
        action = GAME.parse(" ".join(f"{number}:{code}" for number, code in parts))
    except Malformed:
        numbers = [number for number, _ in parts]
        assert numbers != sorted(set(numbers)) or not {0, 9}.isdisjoint(numbers)
        return
    try:
        GAME.check(state, SOUTH, action)
    except Illegal:
        assert action not in LEGAL
        assert {number for number, _ in parts} - {1, 3, 8}
    else:
        assert action in LEGAL


LEGAL = frozenset(GAME.legal_actions(at({1: "b1", 3: "e1", 8: "h1"}, {1: "b9"}), SOUTH))


# ---- whole games --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_properties_of_random_games(seed: int) -> None:
    rng = Random(f"properties/{seed}")
    options = (
        {}
        if seed % 2
        else {"board": "nN.n\n.#..\n....\n..#.\ns.Ss", "spawn_every": 2, "max_robots": 4}
    )
    state = start(**options)
    faces = {face.name for face in GAME.kit(state.options).faces}
    while not state.outcome:
        actions = {seat: GAME.random_action(state, seat, rng) for seat in SEATS}
        step = GAME.apply(state, actions, RNG)
        assert 1 <= len(step.stages) <= 7
        assert step.events == tuple(event for stage in step.stages for event in stage.events)
        assert all(stage.events for stage in step.stages)
        layout = GAME.expected(step.state)
        on_board = [face for stack in layout.values() for face in stack]
        assert len(on_board) == len(set(on_board)) == len(layout)
        assert set(on_board) <= faces
        assert set(layout).isdisjoint(state.terrain.walls)
        kinds = Counter(event.kind for event in step.events)
        before = sum(map(len, state.robots))
        assert sum(map(len, step.state.robots)) == before + kinds["spawn"] - kinds["leave"]
        for side in (0, 1):
            numbers = list(step.state.numbers(side))
            assert numbers == sorted(set(numbers))
            assert len(numbers) <= state.options.max_robots
            assert all(
                0 < robot.points <= state.options.hit_points for robot in step.state.robots[side]
            )
        state = step.state
        assert state.turn <= state.options.turns + 1


@pytest.mark.parametrize("seed", range(6))
def test_the_arena_is_fair(seed: int) -> None:
    """Turning the board over along its middle rank and swapping the seats turns the whole game over."""
    rng = Random(f"fair/{seed}")
    one = other = start()
    while not one.outcome:
        south, north = (GAME.random_action(one, seat, rng) for seat in SEATS)
        one = GAME.apply(one, {SOUTH: south, NORTH: north}, rng).state
        other = GAME.apply(other, {SOUTH: turned(north), NORTH: turned(south)}, rng).state
        places = [
            [str(one.terrain.squares[robot.place]) for robot in robots] for robots in one.robots
        ]
        opposite = [
            [
                str(Square(square.file, 8 - square.rank))
                for square in (other.terrain.squares[r.place] for r in robots)
            ]
            for robots in other.robots
        ]
        assert places == opposite[::-1]
    assert other.outcome is not None
    assert {seat.other for seat in other.outcome.winners} == one.outcome.winners


def turned(orders: Orders) -> Orders:
    return Orders(
        tuple(
            (number, "".join(TURNED.get(letter, letter) for letter in code))
            for number, code in orders.given
        )
    )


# ---- secrecy ------------------------------------------------------------------------------------------------------------


def test_a_state_holds_no_orders() -> None:
    """Orders that lead to the same position leave no trace: whoever asks afterwards learns nothing of them."""
    state = at({1: "a1", 2: "e5"}, {1: "i9"})
    one, other = play(state, "1:W 2:aN", "1:N"), play(state, "1:aW 2:D", "1:-")
    assert one.state == other.state
    for viewer in (None, *SEATS):
        assert (
            GAME.view(one.state, viewer) == GAME.view(other.state, viewer) == GAME.dump(one.state)
        )
        assert GAME.standing(one.state, viewer) == GAME.standing(other.state, viewer)


def test_what_seats_see_differs_only_in_the_sheet_and_its_sign() -> None:
    state = at({1: "a1", 2: ("e5", 7)}, {1: "i9"})
    mine, everybody = GAME.standing(state, SOUTH), GAME.standing(state, None)
    assert (mine.hint, mine.facts, mine.badges) == (
        everybody.hint,
        everybody.facts,
        everybody.badges,
    )
    assert GAME.view(state, SOUTH) == GAME.view(state, NORTH) == GAME.view(state, None)
