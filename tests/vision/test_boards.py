"""Boards of many squares: pieces with two faces, letters, several squares or another piece on
top.
"""

from __future__ import annotations

import math
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reading_tools import KITS, ReadTable, lay, tally_of, tops

from companion.core.grid import Square
from companion.core.kit import Layout
from companion.games import GAMES
from companion.games.arena.board import WALLS_MAP
from vision.reading.look import PlacedPiece
from vision.reading.place import faces_on_squares

NAMES = ("scouts", "arena", "kahmate")
WHITE, BLACK = "white scout", "black scout"
LAYOUTS: dict[str, Layout] = {
    "scouts": lay(
        c1=WHITE,
        d4=f"{WHITE}+{BLACK}",
        f6=f"{WHITE} with intel",
        h4=f"{BLACK} with intel",
        b6_b7_c6_c7="white boulder",
        g9_g10_h9_h10="black boulder",
        e8_e9="black rock",
        e2_f2="white rock",
    ),
    "arena": lay(
        b1="petrol robot 1",
        g1="petrol robot 8",
        i5="petrol robot 3",
        h9="coral robot 3",
        c9="coral robot 5",
    ),
    "kahmate": lay(
        b1="blue regular+ball",
        d2="blue big",
        c2="blue tough turned over",
        f10="pink fast turned over",
        a11="pink smart",
        e6="pink regular",
    ),
}


def on_board(name: str, layout: Layout, **view: Any) -> ReadTable:
    return ReadTable(KITS[name], layout, {game: KITS[game] for game in NAMES}, **view)


# ---- the rendered table --------------------------------------------------------------------------


def test_big_pieces_lie_on_their_squares_when_turned() -> None:
    seen = on_board("scouts", LAYOUTS["scouts"])
    pitch = seen.kit.board.pitch_mm
    rock = seen.piece("white rock").id
    for turn in (90.0, 0.0):
        seen.table.flip(rock)
        piece = seen.piece("white rock")
        assert (str(piece.square), piece.turn_deg) == ("e2", turn), "it is turned by a right angle"
    seen.table.turn(rock, 128.0)
    seen.table.move_to(rock, Square.parse("h9"))
    piece = seen.piece("white rock")
    assert (piece.x_mm / pitch, piece.y_mm / pitch) == (7.5, 9.0)
    seen.table.take_off(rock)
    assert seen.piece("white rock").square is None


@pytest.mark.parametrize("name", NAMES)
def test_pieces_beside_the_board_lie_apart(name: str) -> None:
    seen = on_board(name, {})
    pieces = seen.table.pieces()
    places = [(piece.x_mm, piece.y_mm) for piece in pieces]
    apart = min(math.dist(*pair) for pair in combinations(places, 2))
    assert apart > seen.kit.tag_mm * 1.4
    corners = np.array([corner for piece in pieces for corner in piece.outline_px])
    assert ((corners >= 0) & (corners <= seen.table.size_px())).all()
    assert sorted(seen.read(3).beside) == sorted(piece.face for piece in pieces)


# ---- the reader ----------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [{}, {"tilt_deg": 45.0, "turn_deg": 180.0}])
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_piece_is_read(name: str, view: dict[str, Any]) -> None:
    seen = on_board(name, LAYOUTS[name], **view)
    reading = seen.read(3)
    assert (reading.game, reading.quiet) == (name, True)
    assert dict(reading.seen) == tops(LAYOUTS[name])
    assert len(reading.unknown) <= 2, "behind tall pieces a square may be out of sight"


@pytest.mark.parametrize(
    ("one", "other", "is_told"), [("blue big", "ball", True), ("blue big", "pink big", False)]
)
def test_a_player_holds_the_ball_on_its_square(one: str, other: str, is_told: bool) -> None:
    kit, square = KITS["kahmate"], Square.parse("b5")
    placed = []
    for name in (one, other):
        face = kit.face(name)
        mark: Any = SimpleNamespace(marker=face.markers[0])
        lies = frozenset({square}), True, True, (0, 0), 1.0
        placed.append(PlacedPiece(face, None, mark, (0, 0), 0, *lies))
    seen, _, doubtful = faces_on_squares(placed)
    assert (seen, doubtful) == (({square: one}, set()) if is_told else ({}, {square}))


@pytest.mark.slow
def test_scenes_of_the_bench_are_never_read_wrongly() -> None:
    conditions = "low light", "jpeg", "tilt", "glare", "hand", "worn", "mixed"
    tally = tally_of(*(f"{condition}-2-3" for condition in conditions))
    assert tally.wrong == []
    assert tally.right >= 0.97 * tally.pieces
    assert tally.pieces > 60


@pytest.mark.parametrize("name", ["defocus-3-2", "motion-3-3"])
def test_a_second_search_reads_what_the_first_misses(name: str) -> None:
    """In the first scene markers are found from above, in the second they are also guessed."""
    tally = tally_of(name)
    assert tally.right == tally.pieces
    assert not tally.wrong


@pytest.mark.parametrize(
    ("face", "x_mm", "y_mm", "turn"),
    [
        ("white rock", 16.0, 0.0, 0.0),
        ("white boulder", 0.0, 15.0, 0.0),
        ("black rock", 0.0, 0.0, 135.0),
    ],
)
def test_a_misplaced_big_piece_is_never_guessed(
    face: str, x_mm: float, y_mm: float, turn: float
) -> None:
    layout = {square: faces for square, faces in LAYOUTS["scouts"].items() if faces == (face,)}
    seen = on_board("scouts", layout)
    piece = seen.piece(face).id
    seen.table.nudge(piece, x_mm, y_mm)
    seen.table.turn(piece, turn)
    reading = seen.read(4)
    assert reading.seen == {}
    assert layout.keys() <= reading.unknown


def test_a_boulder_over_the_edge_has_no_square() -> None:
    seen = on_board("scouts", lay(a5_b5_a6_b6="white boulder"))
    boulder = seen.piece("white boulder").id
    seen.table.nudge(boulder, -35.0, 0.0)
    reading = seen.read(3)
    assert reading.seen == {}
    assert {Square.parse("a5"), Square.parse("a6")} <= reading.unknown
    assert "white boulder" not in reading.beside
    seen.table.nudge(boulder, -40.0, 15.0)
    assert "white boulder" in seen.read(3).beside


def test_a_covered_rock_leaves_no_empty_square() -> None:
    seen = on_board("scouts", lay(e2_f2="white rock"))
    scout = seen.piece(BLACK).id
    seen.table.move_to(scout, Square.parse("e2"))
    seen.table.nudge(scout, -4.0, 0.0)
    reading = seen.read(3)
    assert "white rock" not in reading.seen.values()
    assert Square.parse("f2") in reading.unknown


def test_markers_tell_equal_scouts_apart() -> None:
    seen, c1, d1 = on_board("scouts", lay(c1=WHITE, d1=WHITE)), *map(Square.parse, ("c1", "d1"))
    markers = seen.read(3).markers
    assert len(set(markers.values())) == 2
    mover = next(piece for piece in seen.table.pieces() if piece.square == c1)
    seen.table.move_to(mover.id, d1)
    after = seen.read(3)
    assert (after.seen, after.markers) == ({d1: WHITE}, {d1: markers[c1]})


def test_a_piece_before_a_corner_marker_is_read() -> None:
    layout = lay(a11="pink big", h11="blue big", a1="pink smart")
    seen = on_board("kahmate", layout, tilt_deg=45.0)
    assert dict(seen.read(3).seen) == tops(layout)
    assert seen.reader.pose is not None
    assert seen.reader.pose.markers < 4, "tall pieces of the far rank hide them"


def test_squares_next_to_walls_can_be_empty() -> None:
    """Without a gap there is no line between a square and a wall."""
    game = GAMES["arena"]
    kit = game.kit(game.options({"board": WALLS_MAP}))
    seen = ReadTable(kit, lay(b1="petrol robot 1", d4="coral robot 2"))
    for hand in map(Square.parse, ("d3", "e5", "c2", "b7")):
        seen.table.hold_hand(None)
        reading = seen.read(4)
        assert (reading.unknown, len(reading.seen)) == (frozenset(), 2)
        seen.table.hold_hand(hand)
        assert all(hand in seen.read().unknown for _ in range(3))
