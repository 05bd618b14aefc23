"""The eye: pictures, what is read and how surely, weak places with what to do about them, settled
frames.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import cv2
import numpy as np
import pytest
from reading_tools import KITS, render_table

from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.ports import Weakness
from companion.games import GAMES
from vision.cameras.camera_link import Cameras
from vision.diagnosis import MAX_SETTLED, BoardEye
from vision.reading.board_reader import board_reader
from vision.simulation.table import RenderedCamera
from vision.simulation.view import Glare, default_view
from vision.watcher import Watcher, WatchListeners


class WatchedTable:
    """A rendered table of a game as set up, a watcher, and the eye on its frames."""

    def __init__(self, name: str, **view: Any) -> None:
        game, kit = GAMES[name], KITS[name]
        self.clock = FakeClock()
        self.table = render_table(kit, replace(default_view(kit), **view))
        self.table.set_up(game.expected(game.setup(game.options({}), Random(0))) or {})
        reader = board_reader(KITS)
        reader.use(kit)
        self.eye = BoardEye(reader, "auto", lambda: ())
        cameras = Cameras(lambda _: RenderedCamera(self.table, self.clock))
        self.watcher = Watcher(
            cameras, reader, self.clock, WatchListeners(on_frame=self.eye.record)
        )
        self.eye.link = self.watcher.link

    def look(self, frames: int = 5) -> BoardEye:
        for _ in range(frames):
            self.clock.advance(0.1)
            self.watcher.step()
        return self.eye


@cache
def calm_view(name: str) -> BoardEye:
    """Return the eye on a good view of a game's board."""
    return WatchedTable(name).look()


def advice_of(name: str, **view: Any) -> list[tuple[str, str]]:
    board = WatchedTable(name, **view).look().board()
    assert board is not None
    return [(advice.text, advice.why) for advice in board.advice]


def size_of(picture: bytes | None) -> tuple[int, int]:
    decoded = cv2.imdecode(np.frombuffer(picture or b"", np.uint8), cv2.IMREAD_UNCHANGED)
    assert decoded is not None
    assert decoded.ndim == 3, "people see colours"
    return decoded.shape[1], decoded.shape[0]


@pytest.mark.parametrize("name", sorted(KITS))
def test_a_good_view_needs_no_advice(name: str) -> None:
    board = calm_view(name).board()
    assert board is not None
    assert board.advice == ()


def test_pieces_are_outlined_above_their_squares() -> None:
    """The camera stands before South: what is higher lies farther up in its picture."""
    board = calm_view("outbuffered").board()
    assert board is not None
    assert board.size_px[0] > board.size_px[1]
    seen = {str(each.square): np.mean(each.corners_px, axis=0) for each in board.squares}
    assert seen["a1"][1] < seen["c1"][1] - 3, "a robot on a1, nothing on c1"
    assert {str(each.square): each.faces for each in board.squares if each.faces} == {
        "a1": ("purple robot",),
        "b1": ("purple flag",),
        "c4": ("lime robot",),
        "b4": ("lime flag",),
    }


@pytest.mark.parametrize(
    ("name", "view", "text", "why"),
    [
        ("scouts", {"glare": Glare(60.0, 60.0, 30.0)}, "Move the lamp", "too bright on a2, a3"),
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
def test_each_trouble_gives_its_advice(
    name: str, view: dict[str, Any], text: str, why: str
) -> None:
    first = advice_of(name, **view)[0]
    assert first[0].startswith(text)
    assert why in first[1]
    assert len(first[0]) <= 40


def test_weak_places_are_where_the_trouble_is() -> None:
    board = WatchedTable("scouts", glare=Glare(60.0, 60.0, 30.0)).look().board()
    assert board is not None
    glaring = {each.square for each in board.squares if Weakness.GLARE in each.weak}
    assert Square(2, 2) in glaring
    centres = [KITS["scouts"].board.centre_mm(square) for square in glaring]
    assert all(np.hypot(x - 60, y - 60) < 55 for x, y in centres)


def test_without_a_board_the_picture_itself_is_judged() -> None:
    scene = WatchedTable("kahmate", defocus_px=9.0)
    scene.table.set_view(replace(scene.table.view, shift_mm=(5000.0, 0.0)))
    eye = scene.look()
    assert eye.board() is None
    assert eye.advice_without_board()[0].text == "Turn the lens, or unlock the focus"
    scene.table.set_view(replace(scene.table.view, light=0.2, defocus_px=0.0))
    assert scene.look().advice_without_board()[0].text == "Switch on a lamp"


def test_a_frame_is_kept_when_movement_ends() -> None:
    scene = WatchedTable("outbuffered")
    first = scene.look(12).settled_frames()
    assert len(first) == 1, "a board that goes on lying still is no news"
    piece = next(each for each in scene.table.pieces() if each.face == "purple robot")
    scene.table.move_to(piece.id, Square(1, 1))
    scene.table.hold_hand(Square(0, 2))
    assert scene.look(1).photograph() is None, "something moves"
    scene.table.hold_hand(None)
    settled = scene.look(8).settled_frames()
    assert [frame.reading.seen.get(Square(1, 1)) for frame in settled] == [None, "purple robot"]
    assert size_of(scene.eye.picture()) == (960, 540), "pictures are small"


def test_only_the_last_settled_frames_are_kept() -> None:
    scene = WatchedTable("outbuffered", width=640, height=360)
    (shown,) = scene.look(6).settled_frames()
    for number in range(MAX_SETTLED + 2):
        face = {Square(0, 0): f"robot {number}"}
        scene.eye.record(shown.frame, replace(shown.reading, seen=face))
    kept = [frame.reading.seen[Square(0, 0)] for frame in scene.eye.settled_frames()]
    assert kept == [f"robot {number}" for number in range(2, MAX_SETTLED + 2)]
    scene.eye.record(shown.frame, replace(shown.reading, game="arena"))
    assert len(scene.eye.settled_frames()) == 1, "they go with their board"


@pytest.mark.parametrize("name", sorted(KITS))
def test_a_photograph_shows_the_board_alone(name: str) -> None:
    picture = calm_view(name).photograph()
    assert picture is not None
    assert 8_000 < len(picture) <= 64_000
    board, (width, height) = KITS[name].board, size_of(picture)
    deep = board.height_mm + (0 if KITS[name].deck else 2 * board.strip_mm)
    assert width / height == pytest.approx(board.width_mm / deep, abs=0.01)


@pytest.mark.parametrize("name", ["binmat", "outbuffered"])
def test_a_photograph_covers_squares_that_are_unknown(name: str) -> None:
    """A hand of cards may be held over them, or a phone lie there."""
    scene, kit = WatchedTable(name), KITS[name]
    scene.look()
    scene.table.hold_hand(Square(2, 0))
    eye = scene.look(10)
    board = eye.board()
    assert board is not None
    hidden = {each.square for each in board.squares if not each.is_known}
    assert Square(2, 0) in hidden
    picture = cv2.imdecode(np.frombuffer(eye.photograph() or b"", np.uint8), cv2.IMREAD_UNCHANGED)
    scale = picture.shape[1] / kit.board.width_mm
    top = kit.board.height_mm + (0 if kit.deck else kit.board.strip_mm)
    half, deep = 0.45 * kit.board.square_mm, 0.45 * (kit.board.depth_mm or kit.board.square_mm)
    for square in hidden:
        x, y = kit.board.centre_mm(square)
        rows = slice(int((top - y - deep) * scale), int((top - y + deep) * scale))
        cell = picture[rows, int((x - half) * scale) : int((x + half) * scale)]
        assert np.abs(cell.astype(int) - 128).mean() < 6, str(square)
    assert np.abs(picture.astype(int) - 128).mean() > 40, "what is read is there"
