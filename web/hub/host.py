"""The owner's page of the hub: joining by the code on its screen, and actions on tables."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from flask import Response, jsonify, render_template, request
from msgspec import Meta

from companion import __version__
from companion.core.clock import Clock
from companion.core.errors import Malformed, wrong_phase
from companion.core.i18n import say
from companion.core.network import matches_code, new_code
from companion.maintenance.settings.rows import HUB_MAY_SET, setting_sections
from web.hub.room import MAX_DELAY_S, HubContext, HubRouteGroup
from web.routes.api.body import Body, ShortText
from web.routes.route import answer_owner_key, form, get, host_only, host_page, post
from web.security.codes import CODE_GUESS_RATE, JOIN_CODE_LENGTH
from web.security.rate_limit import GuessLimit
from web.server.sse import Audience

# Public key of a user in NATS (an NKey): `U`, then 55 characters of base 32.
_PUBLIC_KEY = re.compile(r"U[A-Z2-7]{55}")
# Name of a table that joins.
TableName = Annotated[str, Meta(max_length=64)]
# Seconds for which the code for joining is valid.
TABLE_CODE_S = 600.0


class CallAnswer(Body, frozen=True):
    """Answer to a table's call: somebody is coming, or the call is done."""

    number: int
    """Number of the table."""
    say: Literal["coming", "done"]


class JoinedTable(NamedTuple):
    """The hub's answer to a table that joins."""

    table: str
    """Id of the table in the subjects of messages."""
    number: int
    """Number of the table, for people."""
    servers: tuple[str, ...]
    """Addresses of the NATS servers."""


class HubActions(Protocol):
    """Actions of the hub that its pages offer.

    `table_id` is the id of a table in the subjects of messages. Every method raises a
    `CompanionError` on failure.
    """

    def join(self, name: str, key: str) -> JoinedTable:
        """Add a table with this name and public NKey, which waits to be admitted."""

    def remove(self, table_id: str) -> None:
        """Remove a table and its data."""

    def admit(self, table_id: str) -> None:
        """Admit a table that has joined or was shut out."""

    def answer_call(self, table_id: str, words: Literal["coming", "done"]) -> None:
        """Tell a table that somebody is `coming`, or that its call is `done`."""

    def change_settings(self, table_id: str, typed: Mapping[str, str]) -> None:
        """Send a table settings as typed on its own page."""

    def set_delay(self, delay_s: float) -> None:
        """Set the delay in seconds for spectators."""


class TableJoinCode:
    """The code with which a table joins the hub.

    It is valid for one table and for ten minutes. The owner admits the table afterwards.
    `on_renewal` is called whenever a new code replaces the old one, so that pages can show it.
    """

    def __init__(self, actions: HubActions, clock: Clock, on_renewal: Callable[[], None]) -> None:
        self._actions = actions
        self._clock = clock
        self._on_renewal = on_renewal
        self._guesses = GuessLimit(CODE_GUESS_RATE, clock.monotonic_s)
        self._join_lock = threading.Lock()
        self.code = ""
        self.renew()

    def renew(self) -> None:
        """Replace the code."""
        self.code = new_code(JOIN_CODE_LENGTH)
        self._expires_at_s = self._clock.monotonic_s() + TABLE_CODE_S
        self._on_renewal()

    def renew_if_expired(self) -> None:
        """Replace the code if it has expired."""
        if self._clock.monotonic_s() >= self._expires_at_s:
            self.renew()

    def join(self, typed_code: str, key: str, name: str, address: str) -> JoinedTable:
        """Add a table that sends this code from an address. `key` is the table's public NKey.

        Raises `Illegal` for a wrong code and after too many wrong codes, `Malformed` for a bad key,
        and what `HubActions.join` raises.
        """
        # one table after the other, because two tables at once could use the same code
        with self._join_lock:
            self.renew_if_expired()
            self._guesses.require_right_guess(
                address,
                lambda: matches_code(typed_code, self.code),
                say("That is not the code that the hub’s screen shows now"),
                say("Too many wrong codes: wait a minute, then look at the hub’s screen"),
            )
            if not _PUBLIC_KEY.fullmatch(key):
                raise Malformed(say("The table’s key is not a public NKey"))
            joined = self._actions.join(" ".join(name.split()), key)
            # a code works only once
            self.renew()
        return joined


class HubHostPages(HubRouteGroup):
    """The owner's page of the hub, and the routes under `/api/hub`."""

    name = "host"

    def __init__(
        self, hub: HubContext, actions: HubActions, table_join_code: TableJoinCode
    ) -> None:
        super().__init__(hub)
        self._actions = actions
        self._table_join_code = table_join_code

    # ---- pages ----

    @get("/host", guard=host_page)
    def page(self) -> Any:
        """Show every table with its actions."""
        return render_template(
            "hub_host.html",
            fragment=self._draw(),
            live="/live/host",
            max_delay_s=MAX_DELAY_S,
            rows=[
                row
                for section in setting_sections()
                for row in section.rows
                if row.key in HUB_MAY_SET
            ],
        )

    @form("/host", endpoint="key")
    def enter_key(self, key: str) -> Response:
        """Log this browser in as the hub's owner."""
        wrong = say(
            "That is not the hub’s key. On the hub’s machine, companion hub host-key prints it."
        )
        return answer_owner_key(key, "/host", wrong)

    @get("/live/host", guard=host_only)
    def live(self) -> Response:
        """Stream the owner's page."""
        return self._streams.stream_changes(self._room, self._draw, Audience.SEAT)

    def _draw(self) -> str:
        return render_template(
            "_hub_host.html",
            tables=self._room.tables(),
            now_s=self._room.now_s(),
            code=self._table_join_code.code,
            version=__version__,
        )

    # ---- JSON routes ----

    @post("/api/hub/join")
    def join(
        self,
        code: ShortText,
        key: ShortText,
        name: TableName = "",
        version: ShortText = "",  # noqa: ARG002 - tables send it
    ) -> Response:
        """Let a table join by the code on the hub's screen. Return how it can connect.

        `key` is the table's public NKey. `version` has no effect yet. A wrong code and a bad key
        are refused.
        """
        joined = self._table_join_code.join(code, key, name, request.remote_addr or "")
        return jsonify(**joined._asdict(), room=str(self._room.title))

    @post("/api/hub/remove", guard=host_only)
    def remove(self, number: int) -> None:
        """Remove a table."""
        self._actions.remove(self._require_table(number).id)

    @post("/api/hub/let-in", guard=host_only)
    def admit(self, number: int) -> None:
        """Admit a table that has joined or was shut out."""
        self._actions.admit(self._require_table(number).id)

    @post("/api/hub/answer", body=CallAnswer, guard=host_only)
    def answer(self, body: CallAnswer) -> None:
        """Tell a table that somebody is coming, or that its call is done."""
        self._actions.answer_call(self._require_table(body.number).id, body.say)

    @post("/api/hub/settings", guard=host_only)
    def settings(
        self,
        numbers: Annotated[list[int], Meta(max_length=500)],
        values: Annotated[dict[ShortText, ShortText], Meta(max_length=16)],
    ) -> None:
        """Send settings, as typed on a table's own page, to the tables with these numbers.

        Without numbers they are sent to all tables. Raises `Illegal` if a chosen table is not
        connected.
        """
        now_s = self._room.now_s()
        chosen = [self._require_table(number) for number in numbers]
        lost = [str(table.number) for table in chosen if table.is_lost(now_s)]
        if lost:
            raise wrong_phase(
                say(
                    "Not connected: table {numbers}. Send it again once it is there.",
                    numbers=", ".join(lost),
                )
            )
        for table in chosen or self._room.tables():
            self._actions.change_settings(table.id, values)

    @post("/api/hub/delay", guard=host_only)
    def delay(self, seconds: Annotated[int, Meta(ge=0, le=MAX_DELAY_S)]) -> None:
        """Set the delay for spectators."""
        self._actions.set_delay(seconds)

    @post("/api/hub/new-code", guard=host_only)
    def new_code(self) -> Response:
        """Replace the code with which tables join."""
        self._table_join_code.renew()
        return jsonify(code=self._table_join_code.code)
