"""Order tiles beside the board. They are read on request, and hidden in every picture."""

from __future__ import annotations

from companion.core.kit import Kit, RowsSeen
from companion.core.ports import Frame, Reading
from vision.reading.board_reader import BoardReader
from vision.tiles.board_only import black_out
from vision.tiles.tile_reader import TileWatch


class TilesBeside:
    """The tiles of one kit in the frames that the board's reader has just read.

    The watcher makes one while a game with order tiles is played.
    """

    def __init__(self, kit: Kit, reader: BoardReader) -> None:
        self.watch = TileWatch(kit)
        """Reads the rows that are requested of it."""
        self._reader = reader

    def process_frame(self, frame: Frame, reading: Reading) -> tuple[Frame, RowsSeen | None]:
        """Return the frame without what lies beside the board, and the requested rows of tiles.

        The rows are None until they are read.
        """
        kit = self.watch.kit
        pose = self._reader.pose if reading.game == kit.game else None
        as_read = self._reader.mirror.flip_back(frame)
        rows = self.watch.read_picture(as_read.luma, frame.at_s, pose)
        shown = black_out(as_read, kit.board, pose)
        # Flipping again gives the frame as the camera has taken it.
        return self._reader.mirror.flip_back(shown), rows
