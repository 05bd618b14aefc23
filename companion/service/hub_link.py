"""The table's link to a hub, the machine that follows many tables.

The code for the connection is imported and started only once the table has joined one.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from companion.core.clock import Clock
from companion.core.config import Settings
from companion.core.errors import CompanionError, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Closeable
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.seats.staff_call import StaffBell
from companion.table.table import Table

if TYPE_CHECKING:
    from companion.hub.adapter import HubAdapter
    from companion.hub.pair_client import PairClient

log = logging.getLogger(__name__)
# Name of the file with a `Membership`. Its module is not imported without a hub.
MEMBERSHIP_FILE = "hub.json"


class HubLink(Closeable):
    """Joins and leaves a hub while the service runs. `close` may be called twice.

    Pages and command line use it from any thread. `bell` calls the staff from the table. `health`
    returns a sentence for the hub about what is wrong with this machine, empty if nothing is.
    `change_settings` applies settings that the hub sends, and returns the outcome as a sentence.
    """

    def __init__(
        self,
        table: Table,
        journal: Journal,
        settings: Settings,
        clock: Clock,
        *,
        bell: StaffBell,
        health: Callable[[], str],
        change_settings: Callable[[Mapping[str, str]], str],
    ) -> None:
        self._table = table
        self._journal = journal
        self._membership_path = settings.journal_path.with_name(MEMBERSHIP_FILE)
        self._clock = clock
        self._bell = bell
        self._health = health
        self._change_settings = change_settings
        self._lock = threading.Lock()
        # The connection. None without a hub, or if its membership cannot be used.
        self._adapter: HubAdapter | None = None
        # Why this table's membership cannot be used, as a sentence.
        self._trouble = ""

    def start(self) -> None:
        """Connect to the hub, if this table belongs to one. If that fails, `sentence` says why."""
        if self._membership_path.exists():
            try:
                self._connect()
            except CompanionError as error:
                self._trouble = error.message
                log.warning("Hub: %s", error.message)

    @property
    def is_member(self) -> bool:
        """Return whether this table has joined a hub."""
        return self._adapter is not None or bool(self._trouble)

    @property
    def sentence(self) -> str:
        """Return the state of the connection to the hub as a sentence. Empty without a hub."""
        adapter = self._adapter
        return adapter.sentence if adapter else self._trouble

    @property
    def address(self) -> str:
        """Return the address of the hub's pages. Empty without a hub."""
        adapter = self._adapter
        return adapter.membership.address if adapter else ""

    def join(self, address: str, code: str, sends_names: bool, ca: str = "") -> None:
        """Join the hub at this address, instead of the previous one. Raises a `CompanionError`.

        `sends_names` and `ca` are as in `Membership`. If this table is already connected to this
        hub, it stays the same member, and only these two change. Another hub keeps what it has
        received, as after `leave`.
        """
        from companion.hub.joining import base_url, join  # noqa: PLC0415 - a table without a hub pays nothing for it
        from companion.hub.membership import write_membership  # noqa: PLC0415

        with self._lock:
            self._require_no_game()
            adapter = self._adapter
            if adapter and adapter.is_connected and adapter.membership.address == base_url(address):
                membership = msgspec.structs.replace(
                    adapter.membership, sends_names=sends_names, ca=ca
                )
            else:
                name = socket.gethostname().partition(".")[0]
                # Games are sent from the current one on.
                start_after = Outbox(self._journal).first_position()
                membership = join(
                    address, code, name, sends_names=sends_names, ca=ca, start_after=start_after
                )
            self._disconnect()
            # the previous hub cannot remove it any more, and this hub sends its own
            self._table.set_round("", None)
            write_membership(self._membership_path, membership)
            self._connect()
        self._table.redraw()

    def show_card(self, seat: Seat, code: str, sitting: str) -> None:
        """Show the player's card with this code at a seat. An empty code removes the card.

        By a card somebody is known at the hub. `sitting` names the player that is meant, as for
        `seating.free_seat`. Raises a `CompanionError`.
        """
        from companion.hub.joining import fetch_card_id  # noqa: PLC0415

        adapter = self._adapter
        if adapter is None:
            raise wrong_phase(say("This table belongs to no hub"))
        self._table.show_card(
            seat, fetch_card_id(adapter.membership, code) if code else "", sitting
        )

    @property
    def offered_code(self) -> str:
        """Return the code under which this table offers a game at two tables. Empty if none."""
        return self._adapter.pairs.code if self._adapter else ""

    @property
    def pairs(self) -> PairClient:
        """Return what carries games at two tables. Raises `Illegal` without a hub."""
        if self._adapter is None:
            raise wrong_phase(say("Join a hub first: both tables belong to the same one"))
        return self._adapter.pairs

    def _require_no_game(self) -> None:
        """Raise `Illegal` while the hub carries a game at two tables.

        A hub that is not connected carries none, and may be left.
        """
        if self._table.remote.is_running and self._adapter and self._adapter.is_connected:
            raise wrong_phase(say("A game at two tables is on: end it first"))

    def leave(self) -> None:
        """Leave the hub, which keeps what it has received until its owner removes this table.

        Raises `Illegal` while the hub carries a game at two tables.
        """
        with self._lock:
            self._require_no_game()
            self._disconnect()
            self._table.set_round("", None)
            self._membership_path.unlink(missing_ok=True)
            self._trouble = ""
        self._table.redraw()

    def close(self) -> None:
        """Close the connection. The table stays a member."""
        with self._lock:
            self._disconnect()

    def _connect(self) -> None:
        from companion.hub.adapter import HubAdapter  # noqa: PLC0415
        from companion.hub.membership import read_membership  # noqa: PLC0415

        membership = read_membership(self._membership_path)
        if membership is not None:
            self._adapter = HubAdapter(
                membership,
                self._table,
                self._journal,
                self._clock,
                bell=self._bell,
                health=self._health,
                change_settings=self._change_settings,
            )
            self._adapter.start()
            self._trouble = ""

    def _disconnect(self) -> None:
        adapter = self._adapter
        self._adapter = None
        if adapter:
            adapter.close()
