"""The lens of the camera that is watched: the reader is told of it, and what it learns is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from companion.core.ports import Camera
from vision.cameras.lenses import LensShelf
from vision.cameras.source import Device

if TYPE_CHECKING:
    from vision.reading.board_reader import BoardReader


class LensKeeper:
    """Carries lenses between the `shelf` and the `reader`.

    Without a shelf nothing is known or kept.
    """

    def __init__(self, shelf: LensShelf | None, reader: BoardReader) -> None:
        self._shelf, self._reader = shelf, reader
        self._which: tuple[str, float] | None = None

    def begin(self, camera: Camera) -> None:
        """Use the lens of a camera that was opened.

        The same one goes on with what it has learned.
        """
        which = (camera.identity, camera.zoom) if isinstance(camera, Device) else (camera.name, 1.0)
        if self._shelf and which != self._which:
            self._reader.use_lens(*self._shelf.lens_of(camera))
        self._which = which

    def learn(self, camera: Camera, now_s: float) -> None:
        """See `LensShelf.learn`."""
        if self._shelf:
            self._shelf.learn(camera, self._reader.learned, self._reader.pose, now_s)

    def note(self, camera: Camera) -> None:
        """See `LensShelf.note`."""
        if self._shelf:
            self._shelf.note(camera, self._reader.learned, self._reader.pose)

    def save(self) -> None:
        """Write down what is known."""
        if self._shelf:
            self._shelf.save()
