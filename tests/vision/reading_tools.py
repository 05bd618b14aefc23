"""Rendered tables as a reader sees them."""

from __future__ import annotations

from collections.abc import Mapping
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
from vision.reading.board_reader import board_reader
from vision.simulation.table import RenderedCamera, SimulatedTable
from vision.simulation.view import CameraView

KITS: dict[str, Kit] = {name: game.kit(game.options({})) for name, game in GAMES.items()}


def render_table(kit: Kit, view: CameraView | None = None) -> SimulatedTable:
    """Render a printed table. Bare ones that look alike are rendered once."""
    return share_bare_table(rendered_table(kit, view))


class ReadTable:
    """A rendered table, its camera, and a reader of these boards that prefers this one."""

    def __init__(
        self, kit: Kit, layout: Layout, kits: Mapping[str, Kit] | None = None, **view: Any
    ) -> None:
        self.kit = kit
        self.table = render_table(kit, change_view(CameraView(), view))
        self.table.set_up(layout)
        self.camera = RenderedCamera(self.table, FakeClock())
        self.reader = board_reader(kits or {kit.game: kit})
        self.reader.use(kit)

    def read(self, frames: int = 1) -> Reading:
        """Read so many frames, and return what is known after the last one."""
        for _ in range(frames - 1):
            self.reader.read(self.camera.frame())
        return self.reader.read(self.camera.frame())

    def piece(self, face: str) -> WorldPiece:
        return next(piece for piece in self.table.pieces() if piece.face == face)

    def clear(self) -> None:
        """Push all pieces off the table."""
        self.table.set_up({})
        for piece in self.table.pieces():
            self.table.nudge(piece.id, 3000.0, 0.0)


def lay(**squares: str) -> Layout:
    """Make a layout from `c1="white scout"`. `+` joins a stack's faces, `a1_a2` several squares."""
    return {
        Square.parse(square): tuple(faces.split("+"))
        for key, faces in squares.items()
        for square in key.split("_")
    }


def tops(layout: Layout) -> dict[Square, str]:
    return {square: faces[-1] for square, faces in layout.items()}


def assert_nothing_wrong(reading: Reading, layout: Layout) -> None:
    """Check that no face is on a wrong square, and no occupied square is called empty."""
    truth = tops(layout)
    assert {s: f for s, f in reading.seen.items() if truth.get(s) != f} == {}
    assert truth.keys() <= reading.seen.keys() | reading.unknown


def tally_of(*names: str) -> Tally:
    """Read these scenes of the bench, and return the tally."""
    tally = Tally()
    for wanted in map(make_scene, names):
        luma, prints = wanted.picture()
        reader = board_reader({**KITS, wanted.kit.game: wanted.kit})
        tally.add(reader.read_picture(luma), prints, wanted.kit)
    return tally
