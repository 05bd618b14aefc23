"""Processes frames of a game with order tiles: reads them on request, and hides them always."""

from __future__ import annotations

from companion.core.kit import Kit, RowsSeen
from companion.core.ports import Frame, Reading
from vision.reading.board_reader import BoardReader
from vision.tiles.board_only import black_out
from vision.tiles.tile_reader import TileWatch


class TileProcessor:
    """Reads and hides the order tiles of one kit in frames that the board's reader has just read.

    The watcher makes one while a game with order tiles is played.
    """

    def __init__(self, kit: Kit, reader: BoardReader) -> None:
        self.watch = TileWatch(kit)
        """Reads the rows that are requested."""
        self._reader = reader

    def process_frame(self, frame: Frame, reading: Reading) -> tuple[Frame, RowsSeen | None]:
        """Return the frame with everything beside the board blacked out, and the requested rows.

        The rows are None until they are read, and if none are requested.
        """
        kit = self.watch.kit
        pose = self._reader.pose if reading.game == kit.game else None
        # If the camera mirrors its pictures, the pose belongs to the picture that was flipped back.
        unmirrored = self._reader.mirror.flip_back(frame)
        rows = self.watch.read_picture(unmirrored.luma, frame.at_s, pose)
        board_only = black_out(unmirrored, kit.board, pose)
        # Flipping again gives the frame as the camera has taken it.
        return self._reader.mirror.flip_back(board_only), rows
