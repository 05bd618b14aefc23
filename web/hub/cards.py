"""Pages for players' cards: get one, open it, change or forget it, and show it at a table."""

from __future__ import annotations

from typing import Any

from flask import Response, jsonify, make_response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.core.errors import Illegal, Refusal, Stale
from companion.core.i18n import say
from companion.games import GAMES
from companion.league.people import PlayerCard
from companion.league.tournament import MatchBoard, Tournament
from web.error_pages import status_of
from web.hub.room import HubContext, HubRouteGroup
from web.routes.api.body import ShortText
from web.routes.route import form, get, post
from web.security.auth import COOKIE_AGE_S
from web.security.codes import CODE_GUESS_RATE
from web.security.rate_limit import SHARED_BUCKET, GuessLimit, Rate, TokenBuckets, address_group

# Name of the cookie with the code of this browser's card.
COOKIE = "card"
# Rate limit of new cards for one address: eight at once, then eight an hour.
NEW_CARD_RATE = Rate(8, 8 / 3600)
# Rate limit of new cards for all addresses together. At this rate it takes more than an hour until
# a hub has no cards left.
TOTAL_NEW_CARD_RATE = Rate(300, 1.0)
# Maximum number of results on a card's page.
MAX_RESULTS = 20


class CardPages(HubRouteGroup):
    """The routes under `/card`, and `/api/hub/card` for tables."""

    name = "cards"

    def __init__(self, hub: HubContext) -> None:
        super().__init__(hub)
        self._guesses = GuessLimit(CODE_GUESS_RATE, hub.clock.monotonic_s)
        self._card_limit = TokenBuckets(NEW_CARD_RATE, hub.clock.monotonic_s)
        self._total_card_limit = TokenBuckets(TOTAL_NEW_CARD_RATE, hub.clock.monotonic_s)

    # ---- pages ----

    @get("/card")
    def page(self, error: str = "", status: int = 200) -> Any:
        """Show the card of this browser, or how to get one."""
        card = self._own_card()
        if card is None:
            return make_response(render_template("hub_card_none.html", error=error), status)
        page = render_template(
            "hub_card.html",
            card=card,
            error=error,
            link=f"{request.url_root}card/{card.code}",
            results=self._league.results.latest(MAX_RESULTS, card.number),
            league=self._league,
            games=GAMES,
            tournaments=[
                (tournament, tournament.entrant_of(card.number))
                for tournament in self._tournaments.all()
                if not tournament.is_over
            ],
            round_board=self._round_board(card),
        )
        return make_response(page, status)

    @get("/card/<code>")
    def open_link(self, code: str) -> Any:
        """Open a card by the address in its QR code."""
        return self._open(code)

    @form("/card/open")
    def open(self) -> Any:
        """Open a card by its code."""
        return self._open(request.form.get("code", "")[:64])

    @form("/card/make", form_page="page")
    def make(self) -> Any:
        """Make a card for the person at this browser. Raises `Stale` after too many cards."""
        address = address_group(request.remote_addr or "")
        # the own limit comes first, so that an address above it uses up nothing of the shared one
        has_token = self._card_limit.take_token(address)
        if not has_token or not self._total_card_limit.take_token(SHARED_BUCKET):
            raise Stale(
                say(
                    "Too many cards have been made from here: wait a few minutes, or ask the hub’s "
                    "owner for one"
                )
            )
        return self._give_card(self._cards.create(*self._submitted_name()))

    @form("/card/change", form_page="page")
    def change(self) -> Any:
        """Change the name on this browser's card, and whether others see it."""
        self._cards.change(self._require_card().number, *self._submitted_name())
        return redirect("/card", 303)

    @form("/card/close")
    def close(self) -> Any:
        """Remove the card from this browser."""
        return self._remove_card()

    @form("/card/forget")
    def forget(self) -> Any:
        """Forget the player's name for good."""
        self._cards.forget(self._require_card().number)
        return self._remove_card()

    @form("/card/enter", form_page="page")
    def enter(self) -> Any:
        """Enter a tournament."""
        tournament_id = request.form.get("tournament", 0, int)
        self._tournaments.enter(tournament_id, self._require_card().number)
        return redirect("/card", 303)

    # ---- tables ----

    @post("/api/hub/card")
    def note_shown(self, code: ShortText, table: ShortText) -> Response:
        """Note that a card was shown at a table, and return the card's id.

        Tables call this. `table` is the table's id in the subjects of messages. Raises `NotFound`
        unless the hub's owner has admitted the table, and `Illegal` for a wrong code.
        """
        admitted = [member.id for member in self._room.tables() if not member.is_waiting]
        if table not in admitted:
            raise NotFound
        card = self._card_with_code(code)
        self._cards.note_shown_at_table(card, table)
        return jsonify(card=card.id)

    # ---- inside ----

    def _submitted_name(self) -> tuple[str, bool]:
        """Return the name in the form, and whether others may see it."""
        return request.form.get("name", "")[:200], "shown" in request.form

    def _open(self, code: str) -> Any:
        try:
            card = self._card_with_code(code)
        except Illegal as refusal:
            return self.page(refusal.message, status_of(refusal))
        return self._give_card(card)

    def _card_with_code(self, code: str) -> PlayerCard:
        """Return the card with this code.

        Raises `Illegal` for a wrong code, and after too many wrong codes from one address.
        """
        card = self._cards.find_by_code(code)
        wrong = say("No player’s card has this code")
        too_often = say("Too many wrong codes: wait a minute, then look at the card")
        # only wrong codes count as guesses, so that a card may be shown as often as needed
        self._guesses.require_right_guess(
            request.remote_addr or "", lambda: card is not None, wrong, too_often
        )
        assert card is not None
        return card

    def _own_card(self) -> PlayerCard | None:
        code = request.cookies.get(COOKIE, "")
        try:
            return self._card_with_code(code) if code else None
        except Illegal:
            return None

    def _require_card(self) -> PlayerCard:
        card = self._own_card()
        if card is None:
            raise Illegal(
                Refusal.JOIN_CODE, say("This browser has no player’s card: open yours first")
            )
        return card

    def _give_card(self, card: PlayerCard) -> Response:
        answer = redirect("/card", 303)
        answer.set_cookie(COOKIE, card.code, max_age=COOKIE_AGE_S, httponly=True, samesite="Lax")
        return answer  # type: ignore[return-value]  # Flask's own response

    def _remove_card(self) -> Response:
        answer = redirect("/card", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="Lax")
        return answer  # type: ignore[return-value]

    def _round_board(self, card: PlayerCard) -> dict[str, Any] | None:
        """Return what a player's card shows of the current round, as template values.

        That is the player's board, which is one game at one table, or a bye. Return None if the
        player is in no round now.
        """
        for tournament in self._tournaments.all():
            entrant = tournament.entrant_of(card.number)
            if tournament.is_over or tournament.round is None or entrant is None:
                continue
            match = tournament.round.match_of(entrant.number)
            if match is None:
                continue
            # a match without an opponent is a bye
            if match.north is None:
                return {"tournament": tournament, "bye": match}
            for board in match.boards:
                if card.number in (board.south, board.north):
                    return self._board_values(tournament, board, card.number)
        return None

    def _board_values(
        self, tournament: Tournament, board: MatchBoard, number: int
    ) -> dict[str, Any]:
        """Return the template values of a board for one of its players, by the player's number."""
        opponent = board.north if board.south == number else board.south
        return {
            "tournament": tournament,
            "table": self._room.number_of(board.table),
            "is_south": board.south == number,
            "other": self._cards.find(opponent),
            "verdict": board.verdict,
        }
