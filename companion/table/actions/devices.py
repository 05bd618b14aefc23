"""What cameras, keys and the panel tell the table: queued, never waited for."""

from __future__ import annotations

from companion.core.kit import RowsSeen
from companion.core.ports import CameraStatus, Press, Reading
from companion.table.actions.tile_orders import TileOrders
from companion.table.board_follower import BoardFollower
from companion.table.mailbox import Mailbox
from companion.table.seats.pad_input import PadInput


class Devices:
    """Every method may be called from any thread, and returns at once."""

    def __init__(self, owner: Mailbox, board: BoardFollower, tiles: TileOrders, pads: PadInput) -> None:
        self._owner = owner
        self._board = board
        self._tiles = tiles
        self._pads = pads

    def saw(self, reading: Reading) -> None:
        """The board as the camera reads it now."""
        self._owner.tell(lambda: self._board.saw(reading))

    def saw_rows(self, rows: RowsSeen) -> None:
        """Rows of order tiles as the camera reads them."""
        self._owner.tell(lambda: self._tiles.seen(rows))

    def camera_is(self, status: CameraStatus) -> None:
        """How the camera is."""
        self._owner.tell(lambda: self._board.camera_is(status))

    def pressed(self, press: Press) -> None:
        """A key of a pad, or the table's button."""
        self._owner.tell(lambda: self._pads.pressed(press))

    def released(self, press: Press) -> None:
        """The key of a press was let go."""
        self._owner.tell(lambda: self._pads.released(press))
