"""Test `BoardEye`, which shows people what the camera sees and advises them on a better view.

It keeps the live picture, photographs and settled frames, and judges each square of the board.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import cv2
import numpy as np
import pytest
from reading_tools import KITS, WatchedTable

from companion.core.grid import Square
from companion.core.ports import Weakness
from vision.diagnosis import MAX_SETTLED, BoardEye
from vision.simulation.view import Glare


@cache
def eye_on_good_view(name: str) -> BoardEye:
    """Return an eye that has a good view of a game's board."""
    return WatchedTable(name).watch()


def size_of(picture: bytes | None) -> tuple[int, int]:
    """Return the width and height of a picture that has colours."""
    decoded = cv2.imdecode(np.frombuffer(picture or b"", np.uint8), cv2.IMREAD_UNCHANGED)
    assert decoded is not None
    assert decoded.ndim == 3, "the picture has no colours"
    return decoded.shape[1], decoded.shape[0]


@pytest.mark.parametrize("name", sorted(KITS))
def test_a_good_view_needs_no_advice(name: str) -> None:
    board = eye_on_good_view(name).board()
    assert board is not None
    assert board.advice == ()


def test_outlines_of_pieces_are_above_their_squares() -> None:
    """The camera is on South's side, so the top of a piece is farther up in the picture."""
    board = eye_on_good_view("outbuffered").board()
    assert board is not None
    assert board.size_px[0] > board.size_px[1]
    y_px = {str(view.square): np.mean(view.corners_px, axis=0)[1] for view in board.squares}
    # a robot is on a1, and nothing on c1
    assert y_px["a1"] < y_px["c1"] - 3
    assert {str(view.square): view.faces for view in board.squares if view.faces} == {
        "a1": ("purple robot",),
        "b1": ("purple flag",),
        "c4": ("lime robot",),
        "b4": ("lime flag",),
    }


# A fault of the view, the beginning of the most important advice, and a part of its explanation.
@pytest.mark.parametrize(
    ("name", "view", "text", "why"),
    [
        (
            "scouts",
            {"glare": Glare(x_mm=60.0, y_mm=60.0, radius_mm=30.0)},
            "Move the lamp",
            "too bright on a2, a3",
        ),
        ("kahmate", {"light": 0.3}, "Switch on a lamp", "It is dark on the whole board."),
        ("arena", {"light": 1.5}, "Move the lamp", "too bright on the whole board"),
        (
            "arena",
            {"defocus_px": 3.5},
            "Turn the lens, or unlock the focus",
            "The picture is not sharp on",
        ),
        ("kahmate", {"fill": 0.5}, "Move the camera closer", "Markers on"),
        ("scouts", {"shift_mm": (120.0, 0.0)}, "Turn the camera a little", "A corner of the"),
    ],
)
def test_each_fault_of_a_view_has_its_advice(
    name: str, view: dict[str, Any], text: str, why: str
) -> None:
    board = WatchedTable(name, **view).watch().board()
    assert board is not None
    first = board.advice[0]
    assert first.text.startswith(text)
    assert why in first.why
    # the advice itself is short, while its reason may be longer
    assert len(first.text) <= 40


def test_only_squares_near_the_glare_are_weak() -> None:
    board = (
        WatchedTable("scouts", glare=Glare(x_mm=60.0, y_mm=60.0, radius_mm=30.0)).watch().board()
    )
    assert board is not None
    weak = {view.square for view in board.squares if Weakness.GLARE in view.weak}
    assert Square(2, 2) in weak
    centres_mm = [KITS["scouts"].board.centre_mm(square) for square in weak]
    assert all(np.hypot(x - 60, y - 60) < 55 for x, y in centres_mm)


def test_without_a_board_the_picture_itself_is_judged() -> None:
    watched = WatchedTable("kahmate", defocus_px=9.0)
    # a picture out of focus, 5 m away from the board
    watched.table.set_view(replace(watched.table.view, shift_mm=(5000.0, 0.0)))
    eye = watched.watch()
    assert eye.board() is None
    assert eye.advice_without_board()[0].text == "Turn the lens, or unlock the focus"
    watched.table.set_view(replace(watched.table.view, light=0.2, defocus_px=0.0))
    assert watched.watch().advice_without_board()[0].text == "Switch on a lamp"


def test_a_settled_frame_is_kept_after_movement() -> None:
    """Settled frames show the board without hands, once for each position of the pieces."""
    watched = WatchedTable("outbuffered")
    first_frames = watched.watch(12).settled_frames()
    assert len(first_frames) == 1, "a board that does not change is kept more than once"

    # a robot is moved, and the hand is still there
    piece = next(piece for piece in watched.table.pieces() if piece.face == "purple robot")
    watched.table.move_to(piece.id, Square(1, 1))
    watched.table.hold_hand(Square(0, 2))
    assert watched.watch(1).photograph() is None, "a photograph was taken during movement"

    # after the hand has left, there are two settled frames: before and after the move
    watched.table.hold_hand(None)
    settled = watched.watch(8).settled_frames()
    assert [frame.reading.seen.get(Square(1, 1)) for frame in settled] == [None, "purple robot"]
    assert size_of(watched.eye.picture()) == (960, 540), "the live picture is not reduced"


def test_only_the_last_settled_frames_are_kept() -> None:
    watched = WatchedTable("outbuffered", width=640, height=360)
    (settled,) = watched.watch(6).settled_frames()

    # two more frames than are kept, each with another face on a1
    for number in range(MAX_SETTLED + 2):
        face = {Square(0, 0): f"robot {number}"}
        watched.eye.record(settled.frame, replace(settled.reading, seen=face))
    faces = [frame.reading.seen[Square(0, 0)] for frame in watched.eye.settled_frames()]
    assert faces == [f"robot {number}" for number in range(2, MAX_SETTLED + 2)]

    # the first frame of another game replaces all of them
    watched.eye.record(settled.frame, replace(settled.reading, game="arena"))
    assert len(watched.eye.settled_frames()) == 1, "frames of another board are kept"


@pytest.mark.parametrize("name", sorted(KITS))
def test_a_photograph_shows_the_board_alone(name: str) -> None:
    picture = eye_on_good_view(name).photograph()
    assert picture is not None
    assert 8_000 < len(picture) <= 64_000
    board = KITS[name].board
    width, height = size_of(picture)
    # strips are shown, but not on a board of cards
    shown_mm = board.height_mm + (0 if KITS[name].deck else 2 * board.strip_mm)
    assert width / height == pytest.approx(board.width_mm / shown_mm, abs=0.01)


@pytest.mark.parametrize("name", ["binmat", "outbuffered"])
def test_a_photograph_blanks_out_unknown_squares(name: str) -> None:
    """Somebody may hold a hand of cards over them, or have put a phone there.

    In the photograph they are plain grey (128), while the rest of the board has contrast.
    """
    watched = WatchedTable(name)
    kit = KITS[name]
    watched.watch()
    watched.table.hold_hand(Square(2, 0))
    eye = watched.watch(10)
    board = eye.board()
    assert board is not None
    unknown = {view.square for view in board.squares if not view.is_known}
    assert Square(2, 0) in unknown
    picture = cv2.imdecode(np.frombuffer(eye.photograph() or b"", np.uint8), cv2.IMREAD_UNCHANGED)

    # the scale of the photograph, and the y of its upper edge on the board
    px_per_mm = picture.shape[1] / kit.board.width_mm
    top_mm = kit.board.height_mm + (0 if kit.deck else kit.board.strip_mm)

    # nine tenths of each square are examined
    half_width_mm = 0.45 * kit.board.square_mm
    half_depth_mm = 0.45 * (kit.board.depth_mm or kit.board.square_mm)
    for square in unknown:
        x_mm, y_mm = kit.board.centre_mm(square)
        y_mm = top_mm - y_mm
        rows = slice(
            int((y_mm - half_depth_mm) * px_per_mm), int((y_mm + half_depth_mm) * px_per_mm)
        )
        columns = slice(
            int((x_mm - half_width_mm) * px_per_mm), int((x_mm + half_width_mm) * px_per_mm)
        )
        assert np.abs(picture[rows, columns].astype(int) - 128).mean() < 6, str(square)
    assert np.abs(picture.astype(int) - 128).mean() > 40, "known squares are blanked out"
