"""The owner's part of the JSON API. The owner is `host` in addresses and names."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify

from companion.core.kit import Seat
from web.rendering.answers import NewHostKey, Picture
from web.routes.api.body import ShortText
from web.routes.route import TableRouteGroup, host_only, post
from web.templating.icons import start_board

GameOptions = dict[str, Any]


class HostRoutes(TableRouteGroup):
    """The routes under `/api/host`, for requests with the owner key."""

    name = "api"

    @post("/api/host/new-game", guard=host_only)
    def new_game(
        self, game: ShortText, options: GameOptions | None = None, seed: int | None = None
    ) -> None:
        """Start a game with options."""
        self._table.begin_for_owner(game, options or {}, seed)

    @post("/api/host/preview", guard=host_only)
    def preview(
        self, game: ShortText, options: GameOptions | None = None, seed: int | None = None
    ) -> Picture:
        """Draw the start position of a game with these options, empty for an unknown game.

        `seed` has no effect. It is accepted because pages send the same body as for a new game.
        Raises `Malformed` for options that the game does not have.
        """
        chosen = self._games.get(game)
        return {"svg": start_board(chosen, options or {}) if chosen else ""}

    @post("/api/host/abandon", guard=host_only)
    def abandon(self) -> None:
        """End the game without a result."""
        self._table.abandon()

    @post("/api/host/undo", guard=host_only)
    def undo(self) -> None:
        """Take the last turn back."""
        self._table.undo()

    @post("/api/host/free-seat", guard=host_only)
    def free_seat(self, seat: Seat, sitting: ShortText | None = None) -> None:
        """Free a seat. `sitting` identifies the person who has to leave, if it is given.

        Raises `Stale` if that person has left the seat.
        """
        self._table.free_seat(seat, sitting)

    @post("/api/host/swap-seats", guard=host_only)
    def swap_seats(self, sittings: dict[Seat, ShortText] | None = None) -> None:
        """Swap both sides. `sittings` identifies the person at each seat, if it is given."""
        self._table.swap_seats(sittings or {})

    @post("/api/host/new-key", guard=host_only, answer=NewHostKey)
    def new_key(self) -> Response:
        """Replace the owner's key. The owner's other browsers have to enter the new one."""
        answer = jsonify(host_key=self._auth.change_host_key())
        # this browser stays the owner's, while cookies and streams of all others become void
        self._auth.set_host_cookie(answer)
        self._streams.reconnect_all()
        self._table.redraw()
        return answer
