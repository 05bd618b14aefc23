"""Robot Arena: maps, options, what is printed, notation, and every refusal."""

from __future__ import annotations

from typing import Any

import pytest
from arena_tools import GAME, NORTH, SOUTH, at, play, points, start, winners

from companion.core.errors import Illegal, Malformed
from companion.core.kit import SEATS
from companion.games.arena.board import WALLS_MAP
from companion.games.arena.state import Reason

# ---- boards, options, what is printed -----------------------------------------------------------------------------------


def test_the_standard_arena() -> None:
    dumped: Any = GAME.dump(start())
    places = {
        seat: [robot["square"] for robot in dumped["robots"][seat].values()] for seat in SEATS
    }
    assert places == {SOUTH: ["b1", "e1", "h1"], NORTH: ["b9", "e9", "h9"]}
    assert (dumped["turn"], dumped["turns"], dumped["outcome"]) == (1, 30, None)
    terrain = start().terrain
    assert [[terrain.texts[place] for place in spawns] for spawns in terrain.spawns] == [
        ["c1", "g1"],
        ["c9", "g9"],
    ]
    assert (terrain.files, terrain.ranks, terrain.walls) == (9, 9, frozenset())


def test_starts_are_numbered_and_spawn_points_listed_by_file_then_rank() -> None:
    state = start(board="nN.\n.Ss\nS.s\ns..")
    assert [state.terrain.texts[robot.place] for robot in state.robots[0]] == ["a1", "c2", "c3"]
    assert [state.terrain.texts[place] for place in state.terrain.spawns[0]] == ["a2", "b3"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"board": ""}, "The board is empty"),
        ({"board": "n..\nS.."}, "no start for South: mark at least one square with “s”"),
        ({"board": "N..\ns.."}, "no start for North: mark at least one square with “n”"),
        ({"board": "n..\ns."}, "Line 2 of the board has 2 tiles"),
        ({"board": "n.x\ns.."}, "“x” in line 1"),
        ({"board": "n" + "." * 12 + "\ns" + "." * 12}, "at most 12 x 12"),
        ({"board": "n........\nsssssssss"}, "9 starts of South, but a side has at most 8"),
        ({"max_robots": 2}, "3 starts of South, but a side has at most 2 robots: take starts away"),
        ({"max_robots": 9}, "max_robots"),
        ({"hit_points": 0}, "hit_points"),
        ({"turns": 0}, "turns"),
        ({"spawn_every": -1}, "spawn_every"),
        ({"attack": -1}, "attack"),
        ({"friendly": "8"}, "friendly"),
        ({"blast": 1000}, "blast"),
    ],
)
def test_bad_options_are_refused_with_their_place(options: dict[str, object], message: str) -> None:
    with pytest.raises(Malformed, match=message):
        GAME.options(options)


def test_damages_points_and_turns_are_options() -> None:
    state = at(
        {1: "e5", 2: "e4"},
        {1: "e6"},
        hit_points=20,
        attack=3,
        friendly=2,
        blast=1,
        turns=1,
        spawn_every=0,
    )
    step = play(state, "1:aN 2:aN", "1:X")
    assert points(step, SOUTH) == {1: 20 - 2 - 1, 2: 20}
    assert winners(step) == {SOUTH}
    assert points(play(at({1: "e5"}, {1: "e6"}, attack=3), "1:aN", "1:-"), NORTH) == {1: 27}


def test_every_house_default_is_an_option_row() -> None:
    rows = {row.name for row in GAME.option_rows}
    assert rows == set(GAME.options_type.__struct_fields__) - {"start"}, (
        "a chosen start is the lesson's alone"
    )
    assert next(row for row in GAME.option_rows if row.name == "board").free_text
    assert [row.name for row in GAME.option_rows if not row.house_rule] == ["board", "turns"]


def test_the_kit_has_sixteen_robots_and_the_map() -> None:
    kit = GAME.kit(GAME.options({}))
    assert [face.markers for face in kit.faces] == [(marker,) for marker in range(54, 70)]
    assert [face.name for face in kit.faces][7:9] == ["petrol robot 8", "coral robot 1"]
    assert {(face.seat, face.drawing) for face in kit.faces} == {
        (SOUTH, "disc"),
        (NORTH, "diamond"),
    }
    assert (kit.face("coral robot 5").letter, kit.face("coral robot 5").height_mm) == ("5", 6.0)
    board = kit.board
    assert (board.corners, board.square_mm, board.gap_mm, board.tones, kit.tag_mm) == (
        (8, 9, 10, 11),
        30,
        0,
        2,
        17,
    )
    assert {(str(mark.square), mark.drawing) for mark in board.marks} == {
        ("c1", "spawn-s"),
        ("g1", "spawn-s"),
        ("c9", "spawn-n"),
        ("g9", "spawn-n"),
    }
    walls = GAME.kit(GAME.options({"board": WALLS_MAP})).board
    assert {str(mark.square) for mark in walls.marks if mark.drawing == "wall"} == set(
        map(str, walls.holes)
    )
    assert sorted(map(str, walls.holes)) == ["c3", "c7", "d5", "f5", "g3", "g7"]


# ---- notation and refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1:N", "1:aN 2:aE 3:aS 4:aW 5:D 6:X 7:- 8:E", "2:S 8:W", "5:-"])
def test_notation_is_read_and_written_alike(text: str) -> None:
    assert GAME.format(GAME.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "“” is not an order: write a robot from 1 to 8, a colon, and one of N E S W aN aE aS aW D X -",
        ),
        ("1:Q", "“1:Q” is not an order"),
        ("1N", "“1N” is not an order"),
        ("0:N", "“0:N” is not an order"),
        ("9:N", "“9:N” is not an order"),
        ("10:N", "“10:N” is not an order"),
        ("1:n", "“1:n” is not an order"),
        ("1:a", "“1:a” is not an order"),
        ("1:aD", "“1:aD” is not an order"),
        ("1:N  2:N", "“” is not an order"),
        (" 1:N", "“” is not an order"),
        ("1:N ", "“” is not an order"),
        ("1:N\n", "“1:N\n” is not an order"),
        ("1:N\t2:N", "is not an order"),
        ("1:N,2:N", "is not an order"),
        ("١:N", "is not an order"),
        ("1:N" * 9, "“1:N1:N1:N1:N…” is not an order"),
        ("2:N 1:N", "Robot 1 comes after robot 2: list the robots in rising order, each once"),
        ("1:N 1:S", "Robot 1 comes after robot 1: list the robots in rising order, each once"),
    ],
)
def test_anything_else_is_malformed_and_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        GAME.parse(text)
    assert message in refused.value.message


def provoke_not_on_board() -> None:
    GAME.check(start(), SOUTH, GAME.parse("1:N 4:N"))


def provoke_game_over() -> None:
    ended = play(at({1: "c3"}, {1: ("c4", 5)}), "1:aN", "1:-").state
    GAME.check(ended, SOUTH, GAME.parse("1:N"))


REFUSALS = {
    Reason.NOT_ON_BOARD: (
        provoke_not_on_board,
        "Petrol robot 4 is not on the board: give orders to robots that are (1, 2, 3)",
    ),
    Reason.GAME_OVER: (provoke_game_over, "The game is over: no more orders are accepted"),
}


@pytest.mark.parametrize("reason", Reason)
def test_every_refusal_has_a_sentence_and_a_rule(reason: Reason) -> None:
    provoke, sentence = REFUSALS[reason]
    with pytest.raises(Illegal) as refused:
        provoke()
    assert refused.value.reason is reason
    assert refused.value.message == sentence
    assert refused.value.rule in {rule.id for rule in GAME.rules}


def test_left_out_and_a_dash_mean_the_same_and_stay_different_texts() -> None:
    one, other = play(start(), "1:N", "1:-"), play(start(), "1:N 2:- 3:-", "2:-")
    assert (one.state, one.events) == (other.state, other.events)
    assert GAME.parse("1:N") != GAME.parse("1:N 2:-")
