"""Boards of many squares: pieces with two faces, letters, several squares or another piece on top, on the rendered
table and as the reader sees them."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from companion.core.ports import Reading, WorldPiece
from companion.games import GAMES
from companion.games.arena.board import WALLS_MAP
from companion.printing.printed_kit import printed_table
from vision.pose.pose import rectangle_corners_mm
from vision.reading.board_reader import board_reader
from vision.reading.look import Placed
from vision.reading.place import faces_on_squares
from vision.simulation.table import RenderedCamera
from vision.simulation.view import View

NAMES = ("scouts", "arena", "kahmate")
KITS: dict[str, Kit] = {name: GAMES[name].kit(GAMES[name].options({})) for name in NAMES}
WHITE, BLACK = "white scout", "black scout"


def lay(**squares: str) -> Layout:
    """A layout from `c1="white scout"`; `+` between the faces of a stack, `a1_a2` for several squares."""
    return {
        Square.parse(square): tuple(faces.split("+"))
        for key, faces in squares.items()
        for square in key.split("_")
    }


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


class Seen:
    """A rendered table, its camera and a reader."""

    def __init__(self, name: str, layout: Layout | None = None, **view: Any) -> None:
        self.kit = KITS[name]
        self.table = printed_table(self.kit, View(**view))
        self.table.set_up(LAYOUTS[name] if layout is None else layout)
        self.camera = RenderedCamera(self.table, FakeClock())
        self.reader = board_reader(KITS)
        self.reader.use(self.kit)

    def read(self, frames: int = 3) -> Reading:
        for _ in range(frames - 1):
            self.reader.read(self.camera.frame())
        return self.reader.read(self.camera.frame())

    def piece(self, face: str) -> WorldPiece:
        return next(p for p in self.table.pieces() if p.face == face)


def tops(layout: Layout) -> dict[Square, str]:
    return {square: faces[-1] for square, faces in layout.items()}


def squares_of(text: str) -> set[Square]:
    return {Square.parse(square) for square in text.split()}


# ---- the rendered table ------------------------------------------------------------------------------------------


def test_a_big_piece_lies_over_all_squares_of_the_layout() -> None:
    seen = Seen("scouts")
    board = seen.kit.board
    boulder, across, along = (
        seen.piece(face) for face in ("white boulder", "white rock", "black rock")
    )
    assert [str(piece.square) for piece in (boulder, across, along)] == ["b6", "e2", "e8"]
    assert (across.turn_deg, along.turn_deg) == (0.0, 90.0)
    assert (boulder.x_mm, boulder.y_mm) == (2 * board.pitch_mm, 6 * board.pitch_mm)
    assert (along.x_mm, along.y_mm) == (4.5 * board.pitch_mm, 8 * board.pitch_mm)
    assert len([p for p in seen.table.pieces() if p.face == "white boulder"]) == 1


def test_hands_lay_a_rock_either_way() -> None:
    seen = Seen("scouts", {})
    rock = seen.piece("white rock").id
    for turn, square, middle in (
        (0.0, "c3", (3.0, 2.5)),
        (90.0, "c3", (2.5, 3.0)),
        (128.0, "h9", (7.5, 9.0)),
    ):
        seen.table.turn(rock, turn)
        seen.table.move_to(rock, Square.parse(square))
        piece = seen.piece("white rock")
        assert str(piece.square) == square
        assert (piece.x_mm / 35, piece.y_mm / 35) == middle
    seen.table.take_off(rock)
    assert seen.piece("white rock").square is None


def test_turning_over_a_rock_turns_it_by_a_right_angle_on_its_first_square() -> None:
    seen = Seen("scouts")
    for turn in (90.0, 0.0):
        seen.table.flip(seen.piece("white rock").id)
        rock = seen.piece("white rock")
        assert (str(rock.square), rock.turn_deg) == ("e2", turn)
    seen.table.flip(seen.piece("white boulder").id)
    assert seen.piece("white boulder").turn_deg == 0.0


@pytest.mark.parametrize(
    ("faces", "seen"), [("blue regular+ball", "ball"), ("ball+blue regular", "blue regular")]
)
def test_a_ball_is_read_above_and_below_its_player(faces: str, seen: str) -> None:
    assert Seen("kahmate", lay(b5=faces)).read().seen == {Square.parse("b5"): seen}


@pytest.mark.parametrize(
    ("one", "other", "is_told"), [("blue big", "ball", True), ("blue big", "pink big", False)]
)
def test_a_ball_beside_its_player_on_a_square_is_no_riddle(
    one: str, other: str, is_told: bool
) -> None:
    kit, square = KITS["kahmate"], Square.parse("b5")
    marks: list[Any] = [SimpleNamespace(marker=kit.face(face).markers[0]) for face in (one, other)]
    placed = [
        Placed(kit.face(face), None, mark, (0, 0), 0, frozenset({square}), True, True, (0, 0), 1.0)
        for face, mark in zip((one, other), marks, strict=True)
    ]
    seen, _, doubtful = faces_on_squares(placed)
    assert (seen, doubtful) == (({square: one}, set()) if is_told else ({}, {square}))


def test_a_flipped_scout_shows_its_own_other_marker() -> None:
    seen = Seen("scouts", lay(c1=WHITE))
    (marker,) = seen.read().markers.values()
    seen.table.flip(next(p.id for p in seen.table.pieces() if p.square))
    reading = seen.read()
    assert reading.seen == {Square(2, 0): f"{WHITE} with intel"}
    pairs = {tag[0][1]: tag[1][1] for tag in seen.kit.tags if len(tag) == 2}
    assert reading.markers == {Square(2, 0): pairs[marker]}


@pytest.mark.parametrize("name", NAMES)
def test_pieces_beside_the_board_lie_apart_and_in_the_picture(name: str) -> None:
    seen = Seen(name, {})
    pieces = seen.table.pieces()
    places = {piece.id: (piece.x_mm, piece.y_mm) for piece in pieces}
    assert (
        min(math.dist(a, b) for i, a in places.items() for j, b in places.items() if i < j)
        > seen.kit.tag_mm * 1.4
    )
    corners = np.array([corner for piece in pieces for corner in piece.outline_px])
    assert (corners >= 0).all()
    assert (corners <= seen.table.size_px()).all()
    seen.table.move_to(pieces[0].id, Square(3, 3))
    seen.table.take_off(pieces[0].id)
    assert {piece.id: (piece.x_mm, piece.y_mm) for piece in seen.table.pieces()} == places
    assert sorted(seen.read().beside) == sorted(piece.face for piece in pieces)


def test_a_set_up_turns_the_pieces_beside_the_board_back() -> None:
    seen = Seen("kahmate")
    seen.table.set_up({})
    assert not [piece for piece in seen.table.pieces() if "turned over" in piece.face]


# ---- the reader --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [{}, {"tilt_deg": 45.0, "turn_deg": 180.0}])
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_piece_is_read(name: str, view: dict[str, Any]) -> None:
    seen = Seen(name, **view)
    reading = seen.read()
    assert reading.game == name
    assert dict(reading.seen) == tops(LAYOUTS[name])
    assert reading.quiet
    assert len(reading.unknown) <= 2, "behind tall pieces a square may be out of sight"
    assert set(reading.markers) == set(reading.seen)
    for square, marker in reading.markers.items():
        face = seen.kit.face_of_marker(marker)
        assert face is not None
        assert face.name == reading.seen[square]


def random_layout(kit: Kit, rng: Random) -> Layout:
    """Every face of two-faced pieces, big pieces either way, and now and then one piece on another."""
    layout: dict[Square, tuple[str, ...]] = {}
    free = [square for square in kit.board.squares if square not in kit.board.holes]
    for names in kit.pieces:
        face = rng.choice(names)
        size = kit.face(face).turned_size(rng.choice((0.0, 90.0)))
        single = [
            square
            for square, faces in layout.items()
            if len(faces) == 1 and kit.face(faces[0]).size == (1, 1)
        ]
        if size == (1, 1) and single and (rng.random() < 0.1 or kit.face(face).carried):
            square = rng.choice(single)
            layout[square] = (*layout[square], face)
            continue
        fits = [square for square in free if all(each in free for each in square.area(size))]
        for square in rng.choice(fits).area(size):
            layout[square] = (face,)
            free.remove(square)
    return layout


def put_askew(seen: Seen, rng: Random) -> None:
    """Push pieces by up to 8 mm and turn them by up to 40 degrees, as far as their neighbours leave room."""

    def foot(piece: WorldPiece, x_mm: float, y_mm: float, turn_deg: float) -> Any:
        size = seen.kit.tops_mm[seen.kit.face(piece.face).name]
        return rectangle_corners_mm(x_mm, y_mm, *size, math.radians(turn_deg)).astype(np.float32)

    pieces = [piece for piece in seen.table.pieces() if piece.square]
    feet = {p.id: foot(p, p.x_mm, p.y_mm, p.turn_deg) for p in pieces}
    for piece in pieces:
        stacked = [
            p.id for p in pieces if math.dist((p.x_mm, p.y_mm), (piece.x_mm, piece.y_mm)) < 1
        ]
        x, y, turn = rng.uniform(-8, 8), rng.uniform(-8, 8), rng.uniform(-40, 40)
        if len(stacked) > 1:
            x, y = x / 4, y / 4
        new = foot(piece, piece.x_mm + x, piece.y_mm + y, piece.turn_deg + turn)
        others = (other for number, other in feet.items() if number not in stacked)
        if all(cv2.intersectConvexConvex(new, other)[0] < 20 for other in others):
            feet[piece.id] = new
            seen.table.nudge(piece.id, x, y)
            seen.table.turn(piece.id, piece.turn_deg + turn)


@pytest.mark.slow
def test_random_boards_are_read_and_never_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    rng, counts = Random(7), Counter[str]()
    for number in range(15):
        name = NAMES[number % 3]
        layout = random_layout(KITS[name], rng)
        view = {
            "tilt_deg": rng.uniform(0, 45),
            "turn_deg": rng.choice((0.0, 180.0, rng.uniform(-40, 40))),
            "focal_ratio": rng.uniform(0.65, 0.95),
            "light": rng.choice((1.0, 0.6, 1.1)),
            "gradient": rng.choice((0.1, 0.4)),
            "noise": rng.choice((1.0, 3.0)),
            "defocus_px": rng.choice((0.0, 0.8)),
        }
        seen = Seen(name, layout, **view)
        put_askew(seen, rng)
        truth = tops(layout)
        first = seen.read(1)
        hand = rng.choice((None, rng.choice(KITS[name].board.squares)))
        readings = [first, seen.read(4)]
        counts["pieces"] += len(truth)
        counts["read"] += sum(
            readings[1].seen.get(square) == face for square, face in truth.items()
        )
        if hand is not None:
            seen.table.hold_hand(hand)
            readings += [seen.read(1), seen.read(3)]
        for reading in readings:
            wrong = {str(s): face for s, face in reading.seen.items() if truth.get(s) != face}
            assert not wrong, f"scene {number} {name} hand {hand}: {wrong} {view}"
            lost = [str(s) for s in truth if s not in reading.seen and s not in reading.unknown]
            assert not lost, f"scene {number} {name} hand {hand}: {lost} called empty {view}"
    recall = counts["read"] / counts["pieces"]
    with capsys.disabled():
        print(
            f"\nrandom boards: {counts['read']} of {counts['pieces']} squares read ({recall:.1%}), none wrong"
        )
    assert recall >= 0.97


@pytest.mark.parametrize(
    ("face", "x_mm", "y_mm", "turn"),
    [
        ("white rock", 16.0, 0.0, 0.0),
        ("white boulder", 0.0, 15.0, 0.0),
        ("black rock", 0.0, 0.0, 135.0),
    ],
)
def test_a_big_piece_that_is_not_on_its_squares_is_told_and_not_guessed(
    face: str, x_mm: float, y_mm: float, turn: float
) -> None:
    seen = Seen(
        "scouts", {square: faces for square, faces in LAYOUTS["scouts"].items() if faces == (face,)}
    )
    piece = seen.piece(face)
    seen.table.nudge(piece.id, x_mm, y_mm)
    seen.table.turn(piece.id, turn)
    reading = seen.read(4)
    assert reading.seen == {}
    under = {square for square, faces in LAYOUTS["scouts"].items() if faces == (face,)}
    assert under <= reading.unknown


def test_a_boulder_over_the_edge_is_on_no_square_and_one_beside_is_beside() -> None:
    seen = Seen("scouts", lay(a5_b5_a6_b6="white boulder"))
    boulder = seen.piece("white boulder").id
    seen.table.nudge(boulder, -35.0, 0.0)
    reading = seen.read()
    assert reading.seen == {}
    assert squares_of("a5 a6") <= reading.unknown
    assert "white boulder" not in reading.beside
    seen.table.nudge(boulder, -40.0, 15.0)
    reading = seen.read()
    assert (reading.seen, "white boulder" in reading.beside) == ({}, True)


def test_a_rock_whose_marker_is_covered_leaves_no_empty_square() -> None:
    seen = Seen("scouts", lay(e2_f2="white rock"))
    scout = seen.piece(BLACK).id
    seen.table.move_to(scout, Square.parse("e2"))
    seen.table.nudge(scout, -4.0, 0.0)
    reading = seen.read()
    assert "white rock" not in reading.seen.values()
    assert Square.parse("f2") in reading.unknown


def test_the_marker_tells_which_of_two_equal_scouts_lies_on_top() -> None:
    seen = Seen("scouts", lay(c1=WHITE, d1=WHITE))
    before = seen.read()
    markers = {str(square): marker for square, marker in before.markers.items()}
    assert len(set(markers.values())) == 2
    assert all(seen.read(1).markers == before.markers for _ in range(3))
    mover = next(p for p in seen.table.pieces() if p.square == Square.parse("c1"))
    seen.table.move_to(mover.id, Square.parse("d1"))
    after = seen.read()
    assert after.seen == {Square.parse("d1"): WHITE}
    assert after.markers == {Square.parse("d1"): markers["c1"]}


def test_a_ball_that_may_lie_lower_or_on_a_hidden_piece_is_not_guessed() -> None:
    """Near the edge of its square the height decides on which square it is; the piece beneath is not seen."""
    seen = Seen("kahmate", lay(d9="blue big+ball"), tilt_deg=45.0)
    ball, carrier = (seen.piece(face) for face in ("ball", "blue big"))
    for piece in (ball, carrier):
        seen.table.nudge(piece.id, 0.0, 12.0)
    reading = seen.read()
    assert reading.seen.get(Square.parse("d10")) is None
    assert Square.parse("d9") in reading.unknown or reading.seen.get(Square.parse("d9")) == "ball"


def test_a_piece_that_hides_a_corner_marker_leaves_its_own_square_readable() -> None:
    seen = Seen("kahmate", lay(a11="pink smart", h11="pink fast", a1="blue big"))
    reading = seen.read()
    assert seen.reader.pose is not None
    assert dict(reading.seen) == tops(lay(a11="pink smart", h11="pink fast", a1="blue big"))


def test_squares_next_to_walls_are_told_to_be_empty_and_a_hand_there_is_not() -> None:
    """Without a gap there is no line between a square and a wall."""
    game = GAMES["arena"]
    kit = game.kit(game.options({"board": WALLS_MAP}))
    table = printed_table(kit)
    table.set_up(lay(b1="petrol robot 1", d4="coral robot 2"))
    for learned in (False, True):
        reader, camera = board_reader({"arena": kit}), RenderedCamera(table, FakeClock())
        for hand in ("d3", "e5", "c2", "b7"):
            if learned:
                table.hold_hand(None)
                readings = [reader.read(camera.frame()) for _ in range(4)]
                assert (readings[-1].unknown, len(readings[-1].seen)) == (frozenset(), 2)
            table.hold_hand(Square.parse(hand))
            readings = [reader.read(camera.frame()) for _ in range(3)]
            assert all(Square.parse(hand) in reading.unknown for reading in readings), hand
        table.hold_hand(None)
