"""Helpers: the rig of a table, which is a table on a fake clock with short ways to play on it.

Tests put readings of the camera and presses of keys into the table themselves, so they need
neither a camera nor pads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from companion.core.clock import FakeClock
from companion.core.config import TableSettings
from companion.core.grid import Square
from companion.core.kit import SEATS, Layout, Seat
from companion.core.ports import CameraState, CameraStatus, PadKey, Press, Reading, Signal
from companion.storage.journal import Journal
from companion.table.board_check import top_faces
from companion.table.listeners import TableListener
from companion.table.session import Phase
from companion.table.table import Table
from companion.table.table_view import TableView

# Keys of a pad by the letters of Outbuffered's orders: up, down, left, right, shoot and wait (`I`).
KEYS = {"U": "up", "D": "down", "L": "left", "R": "right", "S": "a", "I": "b"}


class TableRig:
    """A table on a fake clock and without threads, with short ways to play Outbuffered on it.

    `signals` has all signals for lamps and buzzers so far.
    """

    def __init__(self, journal: Journal, clock: FakeClock) -> None:
        self.clock = clock
        self.table = Table(journal, clock, TableSettings(reading_time_s=3.0))
        self.signals: list[Signal] = []
        self.table.connect(TableListener(on_signal=self.signals.append))

    @property
    def view(self) -> TableView:
        """What everybody may see of the table now."""
        return self.table.view()

    @property
    def cues(self) -> list[str]:
        """The cues that the table has signalled so far."""
        return [str(signal.cue) for signal in self.signals]

    def begin(self, **options: object) -> None:
        """Begin a game of Outbuffered, and confirm that its board is set up."""
        self.table.new_game("outbuffered", options, seed=1)
        self.confirm()

    def hand_in(self, seat: Seat, action: str, salt: str = "", at_s: float | None = None) -> str:
        """Hand in a seat's action for the decision that is due. Return its receipt.

        `at_s` is the time at which the action arrived, by default now.
        """
        return self.table.hand_in(seat, self.view.moment, action, salt, at_s)

    def confirm(self, by: str = "host", force: bool = False) -> None:
        """Confirm that the pieces lie as the set-up or the stage asks.

        `by` is `south`, `north` or `host`. With `force`, the camera is overruled.
        """
        view = self.view
        self.table.confirm(by, view.moment, view.turn.stage, force)

    def hand_in_both(self, south: str, north: str) -> None:
        """Hand in the actions of both seats. The table then reveals them and begins the stages."""
        moment = self.view.moment
        self.table.hand_in(Seat.SOUTH, moment, south)
        self.table.hand_in(Seat.NORTH, moment, north)

    def finish_stages(self) -> None:
        """Confirm all stages of the turn that are left, as South's phone does."""
        while self.view.phase is Phase.STAGES:
            self.confirm("south")

    def show_reading(
        self,
        layout: Layout,
        unknown: str = "",
        quiet: bool = True,
        game: str | None = "outbuffered",
    ) -> None:
        """Give the table a reading of the camera, in which it sees these pieces.

        `unknown` are squares that the camera cannot read, such as `c4 d4`. A reading that is not
        `quiet` comes from a picture in which something moves. `game` is the game whose board is
        seen, or None if there is no board.
        """
        self.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
        hidden = frozenset(map(Square.parse, unknown.split()))
        visible = {
            square: face for square, face in top_faces(layout).items() if square not in hidden
        }
        self.table.handle_reading(
            Reading(visible, hidden, quiet=quiet, game=game, at_s=self.clock.monotonic_s())
        )
        self.table.step()

    def wait(self, seconds: float) -> None:
        """Let time pass on the fake clock, and do what is due."""
        self.clock.advance(seconds)
        self.table.step()

    def press(self, seat: Seat | None, *keys: str, held: bool = False) -> None:
        """Press keys of a pad, given by letters of `KEYS` or by their own names.

        The seat None stands for the table's own button. With `held`, a key stays down for a second.
        """
        for key in keys:
            self.table.press(
                Press(seat, PadKey(KEYS.get(key, key)), self.clock.monotonic_s(), held)
            )
        self.table.step()


@contextmanager
def open_table_rig(folder: Path, clock: FakeClock | None = None) -> Iterator[TableRig]:
    """Open a table with its journal in a folder. To restart it, open another one in that folder."""
    with Journal(folder / "journal.sqlite") as journal:
        rig = TableRig(journal, clock or FakeClock())
        with rig.table:
            yield rig


def follow_instructions(table: Table) -> None:
    """Confirm the set-up or all stages, whatever the camera sees, until the next decision."""
    while (view := table.view()).phase in (Phase.SETUP, Phase.STAGES):
        table.confirm("host", view.moment, view.turn.stage, force=True)


def seat_both(rig: TableRig) -> None:
    """Let people with phones take both seats. Their names are South and North."""
    for seat in SEATS:
        rig.table.take_seat(seat, seat.title())
