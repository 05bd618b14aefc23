"""Helpers: rendered tables, and a board reader that looks at them.

`BoardRig` reads frames of one board, `WatchedTable` runs the watcher's whole round, and
`read_bench_scenes` reads pictures of the bench. In all of them the camera is the rendered one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from bench.reading.pictures import Tally
from bench.reading.scenery import change_view
from bench.reading.scenes import make_scene
from internals import share_bare_table
from table_pictures import rendered_table

from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from companion.core.ports import Reading, WorldPiece
from companion.games import GAMES
from vision.cameras.camera_link import Cameras
from vision.diagnosis import BoardEye
from vision.reading.board_reader import make_board_reader
from vision.simulation.table import RenderedCamera, SimulatedTable
from vision.simulation.view import CameraView, default_view
from vision.watcher import Watcher, WatchListeners

# The kit of each game without any option, by the game's name.
KITS: dict[str, Kit] = {name: game.kit(game.options({})) for name, game in GAMES.items()}


def render_table(kit: Kit, view: CameraView | None = None) -> SimulatedTable:
    """Return a rendered table on which this kit lies as it is printed.

    Its picture without pieces is taken from an earlier table with the same kit and view, because
    rendering one is slow.
    """
    return share_bare_table(rendered_table(kit, view))


class BoardRig:
    """A rendered table with a camera above it, and a reader that is set to its board.

    `kits` are the kits that the reader knows, by game. Without them it knows only `kit`. Further
    arguments are fields of `CameraView` or of `HardScenery`, such as `tilt_deg=45.0`.
    """

    def __init__(
        self, kit: Kit, layout: Layout, kits: Mapping[str, Kit] | None = None, **view: Any
    ) -> None:
        self.kit = kit
        self.table = render_table(kit, change_view(CameraView(), view))
        self.table.set_up(layout)
        self.camera = RenderedCamera(self.table, FakeClock())
        self.reader = make_board_reader(kits or {kit.game: kit})
        self.reader.use(kit)

    def read(self, frames: int = 1) -> Reading:
        """Read this number of frames, and return the last reading."""
        for _ in range(frames - 1):
            self.reader.read(self.camera.frame())
        return self.reader.read(self.camera.frame())

    def piece(self, face: str) -> WorldPiece:
        return next(piece for piece in self.table.pieces() if piece.face == face)

    def clear(self) -> None:
        """Push all pieces off the table, three metres away, so that the camera sees none."""
        self.table.set_up({})
        for piece in self.table.pieces():
            self.table.nudge(piece.id, 3000.0, 0.0)


class WatchedTable:
    """A rendered table at the start of a game, its watcher, and the eye that gets each frame.

    The camera has the game's default view. Further arguments are fields of `CameraView` that
    replace those of it.
    """

    def __init__(self, game_name: str, **view: Any) -> None:
        game = GAMES[game_name]
        kit = KITS[game_name]
        self.clock = FakeClock()
        self.table = render_table(kit, replace(default_view(kit), **view))
        self.table.set_up(game.expected(game.setup(game.options({}), Random(0))) or {})
        reader = make_board_reader(KITS)
        reader.use(kit)
        self.eye = BoardEye(reader, "auto", lambda: ())
        cameras = Cameras(lambda _: RenderedCamera(self.table, self.clock))
        self.watcher = Watcher(
            cameras, reader, self.clock, WatchListeners(on_frame=self.eye.record)
        )
        self.eye.link = self.watcher.link

    def watch(self, frames: int = 5) -> BoardEye:
        """Let the watcher read this number of frames, ten a second, and return the eye.

        Five are enough to settle the reading of a board at rest.
        """
        for _ in range(frames):
            self.clock.advance(0.1)
            self.watcher.step()
        return self.eye


def lay(**squares: str) -> Layout:
    """Return a layout from faces by square, for example `lay(c1="white scout")`.

    `+` joins the faces of a stack from the bottom to the top. Squares that are joined by `_`, as in
    `a1_a2="black rock"`, are those of one piece that covers all of them.
    """
    return {
        Square.parse(square): tuple(faces.split("+"))
        for key, faces in squares.items()
        for square in key.split("_")
    }


def faces_on_top(layout: Layout) -> dict[Square, str]:
    return {square: faces[-1] for square, faces in layout.items()}


def assert_nothing_wrong(reading: Reading, layout: Layout) -> None:
    """Check that each square is read as `layout` says, or is unknown.

    No face may be on a wrong square, and no occupied square may be called empty. A square that is
    neither seen nor unknown counts as empty.
    """
    truth = faces_on_top(layout)
    wrong = {square: face for square, face in reading.seen.items() if truth.get(square) != face}
    assert wrong == {}
    assert truth.keys() <= reading.seen.keys() | reading.unknown, "an occupied square is empty"


def read_bench_scenes(*names: str) -> Tally:
    """Read these scenes of `bench.reading.scenes`, and return the tally of right and wrong.

    A name is a condition, its severity from 1 to 4, and the number of the scene, such as
    `low light-2-3`.
    """
    tally = Tally()
    for scene in map(make_scene, names):
        luma, prints = scene.picture()
        reader = make_board_reader({**KITS, scene.kit.game: scene.kit})
        tally.add(reader.read_picture(luma), prints, scene.kit)
    return tally
