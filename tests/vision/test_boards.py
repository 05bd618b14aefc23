"""Test the board reader with the kinds of pieces that only large boards have.

Pieces may have two faces, cover several squares or lie on another piece.
"""

from __future__ import annotations

import math
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from reading_tools import KITS, BoardRig, faces_on_top, lay, read_bench_scenes

from companion.core.grid import Square
from companion.core.kit import Layout
from companion.games import GAMES
from companion.games.arena.board import WALLS_MAP
from vision.reading.look import PlacedPiece
from vision.reading.place import faces_on_squares

LARGE_BOARDS = ("scouts", "arena", "kahmate")
WHITE = "white scout"
BLACK = "black scout"
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


def rig_of(game: str, layout: Layout, **view: Any) -> BoardRig:
    return BoardRig(KITS[game], layout, {name: KITS[name] for name in LARGE_BOARDS}, **view)


# ---- the rendered table --------------------------------------------------------------------------


def test_big_pieces_have_a_square_when_turned() -> None:
    """A piece that covers several squares counts as standing on the lower left one of them."""
    rig = rig_of("scouts", LAYOUTS["scouts"])
    pitch = rig.kit.board.pitch_mm
    rock = rig.piece("white rock").id

    # the rock has a single face, so a flip turns it by 90 degrees, and another one turns it back
    for turn_deg in (90.0, 0.0):
        rig.table.flip(rock)
        piece = rig.piece("white rock")
        assert (str(piece.square), piece.turn_deg) == ("e2", turn_deg)

    # Turned by 128 degrees it counts as upright, so on h9 it covers h9 and h10. Their common middle
    # is 7.5 squares from the left edge of the board, and 9 from the lower one.
    rig.table.turn(rock, 128.0)
    rig.table.move_to(rock, Square.parse("h9"))
    piece = rig.piece("white rock")
    assert (piece.x_mm / pitch, piece.y_mm / pitch) == (7.5, 9.0)

    # beside the board it has no square
    rig.table.take_off(rock)
    assert rig.piece("white rock").square is None


@pytest.mark.parametrize("game", LARGE_BOARDS)
def test_pieces_beside_the_board_lie_apart(game: str) -> None:
    rig = rig_of(game, {})
    pieces = rig.table.pieces()

    # at 1.4 sides from each other, no marker covers another one, however they are turned
    places_mm = [(piece.x_mm, piece.y_mm) for piece in pieces]
    min_distance_mm = min(math.dist(*pair) for pair in combinations(places_mm, 2))
    assert min_distance_mm > rig.kit.tag_mm * 1.4

    # all of them are in the picture, and all are read
    corners = np.array([corner for piece in pieces for corner in piece.outline_px])
    assert ((corners >= 0) & (corners <= rig.table.size_px())).all()
    assert sorted(rig.read(3).beside) == sorted(piece.face for piece in pieces)


# ---- the reader ----------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [{}, {"tilt_deg": 45.0, "turn_deg": 180.0}])
@pytest.mark.parametrize("game", LARGE_BOARDS)
def test_every_kind_of_piece_is_read(game: str, view: dict[str, Any]) -> None:
    rig = rig_of(game, LAYOUTS[game], **view)
    reading = rig.read(3)
    assert (reading.game, reading.quiet) == (game, True)
    assert dict(reading.seen) == faces_on_top(LAYOUTS[game])
    # the camera may not see a square behind a tall piece
    assert len(reading.unknown) <= 2


@pytest.mark.parametrize(
    ("lower", "upper", "is_certain"), [("blue big", "ball", True), ("blue big", "pink big", False)]
)
def test_only_the_ball_shares_a_players_square(lower: str, upper: str, is_certain: bool) -> None:
    """Place two markers on one square.

    A player with the ball is read as the player. With two players on it, the square is doubtful.
    """
    kit = KITS["kahmate"]
    square = Square.parse("b5")

    # both pieces as the reader places them, with only the fields that matter here
    placed = []
    for name in (lower, upper):
        face = kit.face(name)
        sighting: Any = SimpleNamespace(marker=face.markers[0])
        piece = PlacedPiece(
            face,
            hidden_face=None,
            sighting=sighting,
            centre_mm=(0, 0),
            turn_deg=0,
            squares=frozenset({square}),
            has_certain_squares=True,
            is_plausible=True,
            stacked_centre_mm=(0, 0),
            size_ratio=1.0,
        )
        placed.append(piece)

    seen, _, doubtful = faces_on_squares(placed)
    assert (seen, doubtful) == (({square: lower}, set()) if is_certain else ({}, {square}))


@pytest.mark.slow
def test_no_piece_of_hard_scenes_is_wrong() -> None:
    """Read one scene of the bench in each of seven conditions, with severity 2.

    At least 97 % of the pieces that the bench calls readable have to be read. There are more than
    60 of them, so that this share means something.
    """
    conditions = "low light", "jpeg", "tilt", "glare", "hand", "worn", "mixed"
    tally = read_bench_scenes(*(f"{condition}-2-3" for condition in conditions))
    assert tally.wrong == []
    assert tally.right >= 0.97 * tally.pieces
    assert tally.pieces > 60


@pytest.mark.parametrize("name", ["defocus-3-2", "motion-3-3"])
def test_a_second_search_reads_what_the_first_misses(name: str) -> None:
    """Squares in which no marker is found are searched again, as seen from straight above.

    In the second scene some of their markers do not even decode then, and are recognised by
    likeness.
    """
    tally = read_bench_scenes(name)
    assert tally.right == tally.pieces
    assert not tally.wrong


@pytest.mark.parametrize(
    ("face", "x_mm", "y_mm", "turn_deg"),
    [
        ("white rock", 16.0, 0.0, 0.0),
        ("white boulder", 0.0, 15.0, 0.0),
        ("black rock", 0.0, 0.0, 135.0),
    ],
)
def test_a_misplaced_big_piece_is_never_guessed(
    face: str, x_mm: float, y_mm: float, turn_deg: float
) -> None:
    layout = {square: faces for square, faces in LAYOUTS["scouts"].items() if faces == (face,)}
    rig = rig_of("scouts", layout)
    piece = rig.piece(face).id
    rig.table.nudge(piece, x_mm, y_mm)
    rig.table.turn(piece, turn_deg)
    reading = rig.read(4)
    assert reading.seen == {}
    assert layout.keys() <= reading.unknown


def test_a_boulder_across_the_edge_has_no_square() -> None:
    """Push a boulder off the board in two steps."""
    rig = rig_of("scouts", lay(a5_b5_a6_b6="white boulder"))
    boulder = rig.piece("white boulder").id

    # across the edge, it is neither on squares of the board nor beside it
    rig.table.nudge(boulder, -35.0, 0.0)
    reading = rig.read(3)
    assert reading.seen == {}
    assert {Square.parse("a5"), Square.parse("a6")} <= reading.unknown
    assert "white boulder" not in reading.beside

    # off the board, it is beside it
    rig.table.nudge(boulder, -40.0, 15.0)
    assert "white boulder" in rig.read(3).beside


def test_a_covered_rock_leaves_no_empty_square() -> None:
    """A scout hides the marker of a rock on two squares, so nobody sees what lies on the second."""
    rig = rig_of("scouts", lay(e2_f2="white rock"))
    scout = rig.piece(BLACK).id
    rig.table.move_to(scout, Square.parse("e2"))
    rig.table.nudge(scout, -4.0, 0.0)
    reading = rig.read(3)
    assert "white rock" not in reading.seen.values()
    assert Square.parse("f2") in reading.unknown


def test_markers_tell_equal_scouts_apart() -> None:
    rig = rig_of("scouts", lay(c1=WHITE, d1=WHITE))
    c1 = Square.parse("c1")
    d1 = Square.parse("d1")
    markers = rig.read(3).markers
    assert len(set(markers.values())) == 2
    # the scout of c1 moves onto the scout of d1, and the marker shows which of the two is on top
    mover = next(piece for piece in rig.table.pieces() if piece.square == c1)
    rig.table.move_to(mover.id, d1)
    after = rig.read(3)
    assert (after.seen, after.markers) == ({d1: WHITE}, {d1: markers[c1]})


def test_pieces_that_hide_corner_markers_are_read() -> None:
    layout = lay(a11="pink big", h11="blue big", a1="pink smart")
    rig = rig_of("kahmate", layout, tilt_deg=45.0)
    assert dict(rig.read(3).seen) == faces_on_top(layout)
    assert rig.reader.pose is not None
    assert rig.reader.pose.markers < 4, "no corner marker is hidden"


def test_squares_next_to_walls_can_be_empty() -> None:
    """No line is printed between a square and a wall, so a square beside one shows fewer lines.

    That must not make it unknown. Under a hand it is unknown at once, like any other square.
    """
    game = GAMES["arena"]
    kit = game.kit(game.options({"board": WALLS_MAP}))
    rig = BoardRig(kit, lay(b1="petrol robot 1", d4="coral robot 2"))
    for hand in map(Square.parse, ("d3", "e5", "c2", "b7")):
        rig.table.hold_hand(None)
        reading = rig.read(4)
        assert (reading.unknown, len(reading.seen)) == (frozenset(), 2)
        rig.table.hold_hand(hand)
        assert all(hand in rig.read().unknown for _ in range(3))
