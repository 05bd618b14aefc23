"""A table at a hub: what the hub is told of it, and the few things that the hub may ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import msgspec

from companion import __version__
from companion.core import i18n
from companion.core.clock import Clock
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS
from companion.hub.membership import Membership
from companion.hub.pair_line import PairLine
from companion.hub.sender import HubLine
from companion.storage.journal import Journal
from companion.table.public.messages import PublicState, encoded
from companion.table.remote.remote_game import REMOTE
from companion.table.seats.staff_call import StaffBell
from companion.table.session import MACHINE
from companion.table.table import Table

EAR = "hub"
"""What the hub is called among those who hear the key that calls the staff."""
_MOST_SENTENCES = 8


class Command(msgspec.Struct, frozen=True):
    """What a hub may ask: `staff` is `coming` or `done`; `pair`: there is a game at two tables. Else nothing."""

    staff: str = ""
    pair: bool = False


class HubAdapter:
    """Follows a table for a hub; nothing of it waits for the hub. `close` may be called twice."""

    def __init__(
        self,
        membership: Membership,
        table: Table,
        journal: Journal,
        clock: Clock,
        *,
        bell: StaffBell,
        health: Callable[[], str],
    ) -> None:
        self.membership = membership
        self._table = table
        self._clock = clock
        self._bell = bell
        self._health = health
        self.pairs = PairLine(table, journal, clock, membership.table, self._wake)
        self._line = HubLine(membership, journal, clock, self)
        table.connect(on_lamps=lambda _lamps, _trouble: self._wake())

    def start(self) -> None:
        """Begin to send."""
        self._line.start()

    @property
    def sentence(self) -> str:
        """How the line to the hub is."""
        if self._line.is_connected and not self._line.trouble:
            return say("Table {number} of {room}.", number=self.membership.number, room=Verbatim(self.membership.room))
        return self._line.trouble or say("Looking for the hub.")

    @property
    def is_connected(self) -> bool:
        """Does the hub hear us?"""
        return self._line.is_connected

    def close(self) -> None:
        """Hang up."""
        self._line.close()
        self._bell.hear(False, EAR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wake(self) -> None:
        self._line.wake()

    # ---- in the line's thread ----

    def state(self) -> bytes:
        """How the table is; while only time passes it is the same to ten seconds."""
        self._bell.step()
        view = self._table.view()
        told = self._words if self.membership.names else self._nameless
        names = {
            seat: str(sitter.name)
            for seat in SEATS
            if (sitter := view.seats[seat]).name
            and sitter.door != REMOTE  # that is for the other table to tell
            and (self.membership.names or sitter.door == MACHINE)
        }
        state = PublicState(
            version=__version__,
            at=self._clock.wall_s() // 10 * 10,
            names=names,
            call=self._bell.call,
            call_by=self._bell.by,
            health=told(self._health()),
            camera=view.devices.camera.state,
            notices=tuple(told(notice) for notice in view.devices.notices[:_MOST_SENTENCES]),
            wrong=tuple(told(problem.text) for problem in view.board.problems[:_MOST_SENTENCES]),
        )
        return encoded(state)

    def command(self, payload: bytes) -> None:
        """One of the few words that are let in; any other changes nothing."""
        try:
            command = msgspec.json.decode(payload, type=Command)
        except msgspec.MsgspecError:
            return
        if command.staff == "coming":
            self._bell.answer()
        elif command.staff == "done":
            self._bell.cancel()
        if command.pair:
            self._line.look_for_pair()

    def connected(self, is_connected: bool) -> None:
        """The hub hears us, or does not any more: the key that calls the staff goes by that."""
        self._bell.hear(is_connected, EAR)
        self._table.redraw()

    @staticmethod
    def _words(text: str) -> object:
        return i18n.packed(text)

    @staticmethod
    def _nameless(text: str) -> object:
        """The sentence, and nothing that somebody has typed."""
        return _without_typed(i18n.packed(text))


def _without_typed(packed: object) -> object:
    if not isinstance(packed, dict):
        return packed
    if "typed" in packed:
        return "…"
    return {**packed, "parts": {name: _without_typed(part) for name, part in packed["parts"].items()}}
