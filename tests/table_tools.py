"""A table on a fake clock for tests, and short ways to play on it."""

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

KEYS = {"U": "up", "D": "down", "L": "left", "R": "right", "S": "a", "I": "b"}


class Played:
    """A table whose thread is the test itself."""

    def __init__(self, journal: Journal, clock: FakeClock) -> None:
        self.clock = clock
        self.table = Table(journal, clock, TableSettings(reading_time_s=3.0))
        self.signals: list[Signal] = []
        self.table.connect(TableListener(on_signal=self.signals.append))

    @property
    def view(self) -> TableView:
        """What everybody may know now."""
        return self.table.view()

    @property
    def cues(self) -> list[str]:
        return [str(signal.cue) for signal in self.signals]

    def begin(self, **options: object) -> None:
        """A new game of Outbuffered, set up by hand."""
        self.table.new_game("outbuffered", options, seed=1)
        self.confirm()

    def hand_in(self, seat: Seat, action: str, salt: str = "", at_s: float | None = None) -> str:
        """A seat hands in for the moment that is due."""
        return self.table.hand_in(seat, self.view.moment, action, salt, at_s)

    def confirm(self, by: str = "host", force: bool = False) -> None:
        """Somebody says that the board is as it should be."""
        view = self.view
        self.table.confirm(by, view.moment, view.turn.stage, force)

    def turn(self, south: str, north: str) -> None:
        """Both hand in."""
        moment = self.view.moment
        self.table.hand_in(Seat.SOUTH, moment, south)
        self.table.hand_in(Seat.NORTH, moment, north)

    def finish_stages(self) -> None:
        """Hands do everything, confirmed by taps."""
        while self.view.phase is Phase.STAGES:
            self.confirm("south")

    def show(
        self,
        layout: Layout,
        unknown: str = "",
        quiet: bool = True,
        game: str | None = "outbuffered",
    ) -> None:
        """The camera sees this."""
        self.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
        hidden = frozenset(map(Square.parse, unknown.split()))
        seen = {square: face for square, face in top_faces(layout).items() if square not in hidden}
        self.table.handle_reading(
            Reading(seen, hidden, quiet=quiet, game=game, at_s=self.clock.monotonic_s())
        )
        self.table.step()

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.table.step()

    def press(self, seat: Seat | None, *keys: str, held: bool = False) -> None:
        """Keys of a pad; `U D L R S I` or their names."""
        for key in keys:
            self.table.press(
                Press(seat, PadKey(KEYS.get(key, key)), self.clock.monotonic_s(), held)
            )
        self.table.step()


@contextmanager
def playing(folder: Path, clock: FakeClock | None = None) -> Iterator[Played]:
    """A table with its journal in a folder; the next one in the same folder is the restart."""
    with Journal(folder / "journal.sqlite") as journal:
        played = Played(journal, clock or FakeClock())
        with played.table:
            yield played


def follow_instructions(table: Table) -> None:
    """Hands do all that is to be done, and somebody says so."""
    while (view := table.view()).phase in (Phase.SETUP, Phase.STAGES):
        table.confirm("host", view.moment, view.turn.stage, force=True)


def seat_both(played: Played) -> None:
    """South and North sit down with phones."""
    for seat in SEATS:
        played.table.take_seat(seat, seat.title())
