"""What the host asks of the table."""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Blueprint, Response, g, jsonify, request

from companion.core.kit import Seat
from web.context import PageContext
from web.routes.api.body import Body, Confirm, Rematch, Text, read_body
from web.templating.icons import start_board


class NewGame(Body, frozen=True):
    """Start a game with options."""

    game: Text
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    seed: int | None = None


class FreeSeat(Body, frozen=True):
    """Make a seat free; `sitting`, where it is given, says who is meant, as the host’s page names it."""

    seat: Seat
    sitting: Text | None = None


class SwapSeats(Body, frozen=True):
    """Let both sides change places; `sittings`, where it is given, says who is meant, seat by seat."""

    sittings: dict[Seat, Text] = msgspec.field(default_factory=dict)


class HostDoors:
    """The doors under `/api/host`, for whoever has the host key."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context
        self._guard = page_context.guard
        self._table = page_context.table

    def register(self, api: Blueprint) -> None:
        """Add the routes."""
        doors = (
            self.new_game, self.abandon, self.undo, self.host_confirm, self.free_seat, self.host_pause,
            self.host_resume, self.preview, self.swap_seats, self.host_rematch, self.new_key, self.host_disclose,
        )  # fmt: skip
        for door in doors:
            name = door.__name__.removeprefix("host_").replace("_", "-")
            api.add_url_rule(f"/host/{name}", view_func=door, methods=["POST"])

    def new_game(self) -> Response:
        """Start a game with options."""
        self._guard.require_host(request)
        body = read_body(request, NewGame)
        self._table.host_starts(body.game, body.options, body.seed)
        return jsonify({})

    def preview(self) -> Response:
        """How the board of a game looks at the start with these options; raises `Malformed` for those it refuses."""
        self._guard.require_host(request)
        body = read_body(request, NewGame)
        game = self._page_context.games.get(body.game)
        return jsonify(svg=start_board(game, body.options) if game else "")

    def abandon(self) -> Response:
        """End the game without a result."""
        self._guard.require_host(request)
        read_body(request, Body)
        self._table.abandon()
        return jsonify({})

    def undo(self) -> Response:
        """Take the last turn back."""
        self._guard.require_host(request)
        read_body(request, Body)
        self._table.undo()
        return jsonify({})

    def host_confirm(self) -> Response:
        """The board is as it should be, says the host."""
        self._guard.require_host(request)
        body = read_body(request, Confirm)
        self._table.confirm("host", body.moment, body.stage, body.force)
        return jsonify({})

    def host_pause(self) -> Response:
        """Stop the clock."""
        self._guard.require_host(request)
        read_body(request, Body)
        self._table.pause("host", at_s=g.at_s)
        return jsonify({})

    def host_resume(self) -> Response:
        """Let the clock go on."""
        self._guard.require_host(request)
        read_body(request, Body)
        self._table.resume("host")
        return jsonify({})

    def free_seat(self) -> Response:
        """Make a seat free."""
        self._guard.require_host(request)
        body = read_body(request, FreeSeat)
        self._table.free_seat(body.seat, body.sitting)
        return jsonify({})

    def host_rematch(self) -> Response:
        """The same once more, says the host."""
        self._guard.require_host(request)
        self._table.rematch(read_body(request, Rematch).swap)
        return jsonify({})

    def host_disclose(self) -> Response:
        """Open what was hidden in a game that is over, says the host."""
        self._guard.require_host(request)
        read_body(request, Body)
        self._table.disclose("host")
        return jsonify({})

    def swap_seats(self) -> Response:
        """Let both sides change places."""
        self._guard.require_host(request)
        self._table.swap_seats(read_body(request, SwapSeats).sittings)
        return jsonify({})

    def new_key(self) -> Response:
        """Another host key: every other host's browser must enter it again."""
        self._guard.require_host(request)
        read_body(request, Body)
        answer = jsonify(host_key=self._guard.change_host_key())
        self._guard.host_cookie(answer)
        self._page_context.streams.renew()
        self._table.redraw()
        return answer
