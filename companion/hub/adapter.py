"""Adapter between a table and a hub: the state that the hub gets, and the commands it may send.

`HubConnection` talks to the hub, and `PairClient` arranges games at two tables. This module
connects both with the table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from companion import __version__
from companion.core import i18n
from companion.core.clock import Clock
from companion.core.errors import Malformed
from companion.core.i18n import Verbatim, joined, say
from companion.core.kit import SEATS
from companion.core.ports import Closeable
from companion.hub.commands import DesiredState, decode_command
from companion.hub.hub_connection import HubConnection
from companion.hub.membership import Membership
from companion.hub.pair_client import TWO_MACHINES, PairClient
from companion.storage.journal import Journal
from companion.table.listeners import TableListener
from companion.table.public.messages import PublicState, encode_public, unpack_sentence
from companion.table.remote.messages import REMOTE
from companion.table.seats.staff_call import StaffBell
from companion.table.session import MACHINE
from companion.table.table import Table

log = logging.getLogger(__name__)
# Name under which the hub listens for calls for the staff.
BELL_LISTENER = "hub"
# Maximum number of notices that are sent, and of problems of the board.
_MAX_SENTENCES = 8


class HubAdapter(Closeable):
    """Keeps a hub informed about a table that is its member, and carries out the hub's commands.

    The service makes an adapter when a membership begins, and closes it when the membership ends.
    `close` waits for a message that is being sent, and may be called twice. No other method waits.

    `describe_health` returns the worst finding of the health checks as a sentence.
    `change_settings` changes settings by dotted name, and returns a sentence on what it has changed
    or refused.
    """

    def __init__(
        self,
        membership: Membership,
        table: Table,
        journal: Journal,
        clock: Clock,
        *,
        bell: StaffBell,
        describe_health: Callable[[], str],
        change_settings: Callable[[Mapping[str, str]], str],
    ) -> None:
        self.membership = membership
        self._table = table
        self._bell = bell
        self._describe_health = describe_health
        self._change_settings = change_settings
        # `DesiredState.mark` of the hub's desired state that this table follows
        self._followed_mark = ""
        # what has become of the settings that the hub has sent last, as a sentence
        self._settings_answer = ""
        self.pairs = PairClient(table, journal, clock, membership.table_id, self._wake)
        self._connection = HubConnection(
            membership,
            journal,
            self.pairs,
            encode_state=self.encode_state,
            execute_command=self.execute_command,
            note_connection=self.note_connection,
        )
        # the lamps are reported after every change of the table
        table.connect(TableListener(on_lamps=lambda _lamps, _trouble: self._wake()))

    def start(self) -> None:
        """Start sending."""
        self._connection.start()

    @property
    def sentence(self) -> str:
        """The status of the connection to the hub, as a sentence."""
        if self._connection.is_connected and not self._connection.trouble:
            table_and_room = say(
                "Table {number} of {room}.",
                number=self.membership.number,
                room=Verbatim(self.membership.hub_name),
            )
            warning = TWO_MACHINES if self.pairs.is_shared else ""
            answer = self._settings_answer
            settings = say("The hub has sent settings. {answer}", answer=answer) if answer else ""
            return joined(" ", (table_and_room, warning, settings))
        return self._connection.trouble or say("Looking for the hub.")

    @property
    def is_connected(self) -> bool:
        """Whether the connection to the hub is up."""
        return self._connection.is_connected

    def close(self) -> None:
        """Disconnect from the hub."""
        self._connection.close()
        self._bell.set_listening(False, BELL_LISTENER)

    def _wake(self) -> None:
        self._connection.wake()

    # ---- in the connection's thread ----

    def encode_state(self) -> bytes:
        """Return the encoded `PublicState` of the table."""
        view = self._table.view()
        notices = view.devices.notices[:_MAX_SENTENCES]
        problems = view.board.problems[:_MAX_SENTENCES]
        names = {}
        for seat in SEATS:
            seat_view = view.seats[seat]
            is_named = self.membership.sends_names or seat_view.door == MACHINE
            # The door is how a seat is played: phone, pad, machine or remote. A remote player sits
            # at another table, which sends the name itself.
            if seat_view.name and is_named and seat_view.door != REMOTE:
                names[seat] = str(seat_view.name)
        state = PublicState(
            version=__version__,
            names=names,
            call=self._bell.call,
            health=self._pack_sentence(self._describe_health()),
            notices=tuple(map(self._pack_sentence, notices)),
            wrong=tuple(self._pack_sentence(problem.text) for problem in problems),
            follows=self._followed_mark,
            answer=i18n.sentence_to_json(self._settings_answer),
        )
        return encode_public(state)

    def execute_command(self, payload: bytes) -> None:
        """Execute an encoded `HubCommand`. A command that is not valid is ignored."""
        try:
            command = decode_command(payload)
        except Malformed:
            return
        if command.staff == "coming":
            self._bell.answer()
        elif command.staff == "done":
            self._bell.cancel()
        if command.pair:
            self._connection.look_for_pair()
        if command.desired_state is not None:
            self._apply_desired_state(command.desired_state)
        if names := ", ".join(command.settings):
            self._settings_answer = self._change_settings(command.settings)
            log.info("Hub: it has sent settings (%s): %s", names, self._settings_answer)
            self._connection.wake()

    def _apply_desired_state(self, desired: DesiredState) -> None:
        """Announce the tournament game that the hub wants here, or clear the last one."""
        round_game = desired.pairing
        if round_game is None:
            self._table.set_round("", None)
        else:
            south, north = (unpack_sentence(round_game.names.get(seat, "")) for seat in SEATS)
            notice = say(
                "Round {number}: {south} sits at South, {north} at North.",
                number=round_game.round,
                south=south,
                north=north,
            )
            self._table.set_round(notice, (round_game.game, round_game.options))
        self._followed_mark = desired.mark
        self._connection.wake()

    def note_connection(self, is_connected: bool) -> None:
        """Note whether the hub is connected. The key that calls the staff works only if it is."""
        self._bell.set_listening(is_connected, BELL_LISTENER)
        self._table.redraw()

    def _pack_sentence(self, text: str) -> object:
        """Return a packed sentence, without typed text unless people's names may be sent."""
        packed = i18n.sentence_to_json(text)
        return packed if self.membership.sends_names else _redact_typed_text(packed)


def _redact_typed_text(packed: object) -> object:
    """Return a packed sentence with “…” in the place of everything that somebody has typed.

    Packed typed text is a mapping with the key `typed`. A packed sentence is a mapping whose key
    `parts` has its parts by name.
    """
    if not isinstance(packed, dict):
        return packed
    if "typed" in packed:
        return "…"
    parts = {name: _redact_typed_text(part) for name, part in packed["parts"].items()}
    return {**packed, "parts": parts}
