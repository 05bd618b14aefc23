"""The table's link to a hub, the machine that follows many tables.

The packages for the connection are slow to import and need memory. They are imported only when the
table joins a hub, or starts as a member of one.
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
# Name of the file beside the journal with the table's `Membership`. The constant stands here, since
# the module of `Membership` is not imported without a hub.
MEMBERSHIP_FILE = "hub.json"


class HubLink(Closeable):
    """Joins and leaves a hub while the service runs. `close` may be called twice.

    Pages use it from their threads. `join` and `leave` exclude each other by a lock. The properties
    do not wait for that lock, so a page is never delayed by a hub that answers slowly.

    :param bell: calls the staff from the table. The hub listens to it
    :param describe_health: returns a sentence for the hub on what is wrong with this machine, or an
        empty text if nothing is
    :param change_settings: applies settings that the hub sends, by dotted name. Returns the outcome
        as a sentence
    """

    def __init__(
        self,
        table: Table,
        journal: Journal,
        settings: Settings,
        clock: Clock,
        *,
        bell: StaffBell,
        describe_health: Callable[[], str],
        change_settings: Callable[[Mapping[str, str]], str],
    ) -> None:
        self._table = table
        self._journal = journal
        self._membership_path = settings.journal_path.with_name(MEMBERSHIP_FILE)
        self._clock = clock
        self._bell = bell
        self._describe_health = describe_health
        self._change_settings = change_settings
        self._lock = threading.Lock()
        # The connection to the hub. None if the table belongs to no hub, or if its membership
        # cannot be used. Other threads may replace it at any time, so read it once.
        self._hub: HubAdapter | None = None
        # Sentence on why the membership cannot be used. Empty if it can, or if there is none.
        self._trouble = ""

    def start(self) -> None:
        """Connect to the hub, if this table belongs to one.

        If the stored membership cannot be used, `sentence` says why.
        """
        if self._membership_path.exists():
            try:
                self._connect()
            except CompanionError as error:
                self._trouble = error.message
                log.warning("Hub: %s", error.message)

    @property
    def is_member(self) -> bool:
        """Whether this table has joined a hub, even if its membership cannot be used."""
        return self._hub is not None or bool(self._trouble)

    @property
    def sentence(self) -> str:
        """State of the connection to the hub, as a sentence. Empty without a hub."""
        hub = self._hub
        return hub.sentence if hub else self._trouble

    @property
    def address(self) -> str:
        """Address of the hub's pages. Empty without a hub."""
        hub = self._hub
        return hub.membership.address if hub else ""

    def join(self, address: str, join_code: str, sends_names: bool, ca: str = "") -> None:
        """Join the hub at this address, and leave the previous hub if there is one.

        If this table is already connected to the hub at this address, it stays the same member:
        only `sends_names` and `ca` change. A previous hub keeps what it has received, as after
        `leave`. Raises a `CompanionError`.

        :param address: address of the hub's pages
        :param join_code: the code that the hub's screen shows
        :param sends_names: whether the hub gets the players' names
        :param ca: path of a certificate, as in `Membership`
        """
        from companion.hub.joining import base_url, join  # noqa: PLC0415 - a table without a hub pays nothing for it
        from companion.hub.membership import write_membership  # noqa: PLC0415

        with self._lock:
            self._require_no_game()
            hub = self._hub
            if hub and hub.is_connected and hub.membership.address == base_url(address):
                membership = msgspec.structs.replace(hub.membership, sends_names=sends_names, ca=ca)
            else:
                name = socket.gethostname().partition(".")[0]
                # The hub gets the current game and those after it, but no earlier games.
                start_after = Outbox(self._journal).first_position()
                membership = join(
                    address,
                    join_code,
                    name,
                    sends_names=sends_names,
                    ca=ca,
                    start_after=start_after,
                )
            self._disconnect()
            # Clear the tournament round that the previous hub showed: it can no longer clear the
            # round itself, and the new hub sends its own round.
            self._table.set_round("", None)
            write_membership(self._membership_path, membership)
            self._connect()
        self._table.redraw()

    def show_card(self, seat: Seat, card_code: str, sitting: str) -> None:
        """Show at a seat the player's card by which the hub knows somebody.

        Raises a `CompanionError`: the table may belong to no hub, the hub may not know the card, or
        the player may have left the seat.

        :param card_code: the code on the card. If it is empty, the seat's card is removed
        :param sitting: the sitting of the player at that seat, as for `seating.free_seat`
        """
        from companion.hub.joining import fetch_card_id  # noqa: PLC0415

        hub = self._hub
        if hub is None:
            raise wrong_phase(say("This table belongs to no hub"))
        self._table.show_card(
            seat, fetch_card_id(hub.membership, card_code) if card_code else "", sitting
        )

    @property
    def offered_code(self) -> str:
        """Code under which this table offers a game at two tables. Empty if it offers none."""
        hub = self._hub
        return hub.pairs.offered_code if hub else ""

    @property
    def pairs(self) -> PairClient:
        """What arranges games at two tables. Raises `Illegal` without a hub."""
        hub = self._hub
        if hub is None:
            raise wrong_phase(say("Join a hub first: both tables belong to the same one"))
        return hub.pairs

    def _require_no_game(self) -> None:
        """Raise `Illegal` while this table plays a game at two tables over a connected hub.

        A game at two tables needs the hub. Without a connection the game stands still anyway, so
        the table may leave the hub.
        """
        if self._table.remote.is_running and self._hub and self._hub.is_connected:
            raise wrong_phase(say("A game at two tables is on: end it first"))

    def leave(self) -> None:
        """Leave the hub.

        The hub keeps what it has received until its owner removes this table. Raises `Illegal`
        while a game at two tables is on.
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
        """Connect with the stored membership, if there is one. Raises a `CompanionError`."""
        from companion.hub.adapter import HubAdapter  # noqa: PLC0415
        from companion.hub.membership import read_membership  # noqa: PLC0415

        membership = read_membership(self._membership_path)
        if membership is not None:
            self._hub = HubAdapter(
                membership,
                self._table,
                self._journal,
                self._clock,
                bell=self._bell,
                describe_health=self._describe_health,
                change_settings=self._change_settings,
            )
            self._hub.start()
            self._trouble = ""

    def _disconnect(self) -> None:
        hub = self._hub
        self._hub = None
        if hub:
            hub.close()
