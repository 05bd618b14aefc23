"""What a seat asks of the table: its view, its orders, its place."""

from __future__ import annotations

from flask import Blueprint, Response, g, jsonify, request

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.pads import Key
from web.context import PageContext
from web.rendering.board import plan_svg
from web.rendering.board_picture import own_square
from web.rendering.json_view import plain_view
from web.rendering.piece_controls import plain_plays
from web.routes.api.body import SEAT, Body, Confirm, Entered, Long, Moment, Rematch, Text, read_body


class Take(Body, frozen=True):
    """Sit down; `code` is what the table's own screen shows, where one is asked for."""

    name: Text = ""
    code: Text = ""


class HandIn(Body, frozen=True):
    """An order; `salt` keeps its receipt from being guessed."""

    moment: Text
    action: Long
    salt: Text = ""


class Start(Body, frozen=True):
    """Start a game in one of the ways that it names."""

    game: Text
    preset: int = 0


class SeatDoors:
    """The doors under `/api/seat`, for the browser that sits there."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context
        self._guard = page_context.guard
        self._table = page_context.table

    def register(self, api: Blueprint) -> None:
        """Add the routes."""
        api.add_url_rule(f"/seat/{SEAT}/view", view_func=self.seat_view)
        api.add_url_rule(f"/seat/{SEAT}/plays", view_func=self.plays)
        doors = (
            self.take, self.hand_in, self.take_back, self.confirm, self.resign, self.draw, self.start, self.rematch,
            self.leave, self.plan, self.mine, self.pause, self.resume, self.by_pad, self.by_phone,
            self.disclose,
        )  # fmt: skip
        for door in doors:
            name = door.__name__.replace("_", "-")
            api.add_url_rule(f"/seat/{SEAT}/{name}", view_func=door, methods=["POST"])

    def seat_view(self, seat: str) -> Response:
        """What a seat may know; its own order is behind `mine`."""
        return jsonify(plain_view(self._table.view(self._guard.require_seat(request, seat))))

    def plays(self, seat: str) -> Response:
        """What a seat can tap on its board now: notation, squares, words and key of each; nothing unless it is due."""
        mine = self._guard.require_seat(request, seat)
        moment = self._table.view(mine).moment
        return jsonify(moment=moment, plays=plain_plays(self._table.coaching.plays(mine, moment)))

    def take(self, seat: str) -> Response:
        """Sit down; the cookie is the seat's token."""
        body = read_body(request, Take)
        self._page_context.let_in(request, body.code)
        nonce = self._table.take_seat(Seat(seat), body.name)
        answer = jsonify(seat=seat)
        self._guard.seat_cookie(answer, Seat(seat), nonce)
        return answer

    def leave(self, seat: str) -> Response:
        """Stand up."""
        mine, _ = self._guard.require_sitting(request, seat), read_body(request, Body)
        self._table.free_seat(mine, self._guard.sitting(request, mine))
        answer = jsonify(seat=None)
        self._guard.drop_seat(answer, mine)
        return answer

    def by_pad(self, seat: str) -> Response:
        """Go on by the pad; this phone may come back."""
        mine, _ = self._guard.require_seat(request, seat), read_body(request, Body)
        if not self._page_context.features.welcome.has_pads:
            raise Illegal(Refusal.WRONG_PHASE, say("There are no pads here: continue by phone"))
        self._table.play_by(mine, "pad", self._guard.sitting(request, mine))
        return jsonify({})

    def by_phone(self, seat: str) -> Response:
        """Go on by the phone that went over to the pad."""
        mine, _ = self._guard.require_seat(request, seat), read_body(request, Body)
        self._table.play_by(mine, "phone", self._guard.sitting(request, mine))
        return jsonify({})

    def hand_in(self, seat: str) -> Response:
        """Seal an order."""
        mine, body = self._guard.require_seat(request, seat), read_body(request, HandIn)
        return jsonify(receipt=self._table.hand_in(mine, body.moment, body.action, body.salt, g.at_s))

    def take_back(self, seat: str) -> Response:
        """Get an order back."""
        mine, body = self._guard.require_seat(request, seat), read_body(request, Moment)
        self._table.take_back(mine, body.moment, at_s=g.at_s)
        return jsonify({})

    def pause(self, seat: str) -> Response:
        """Stop the clock."""
        mine, _ = self._guard.require_sitting(request, seat), read_body(request, Body)
        self._table.pause(mine, at_s=g.at_s)
        return jsonify({})

    def resume(self, seat: str) -> Response:
        """Let the clock go on."""
        mine, _ = self._guard.require_sitting(request, seat), read_body(request, Body)
        self._table.resume(mine)
        return jsonify({})

    def plan(self, seat: str) -> Response:
        """Where the orders entered so far would lead, as a drawing for the board; nothing of it is kept."""
        mine, body = self._guard.require_seat(request, seat), read_body(request, Entered)
        squares = self._table.coaching.plan(mine, body.moment, body.entered)
        view = self._table.view(mine)
        drawing = plan_svg(view, squares, own_square(view, mine), turned=mine is Seat.NORTH)
        return jsonify(svg=drawing)

    def mine(self, seat: str) -> Response:
        """The own sealed order, asked for only while its owner looks."""
        mine, _ = self._guard.require_seat(request, seat), read_body(request, Body)
        view = self._table.view(mine)
        if view.own.sealed is None:
            return jsonify(action=None, orders=[])
        keys = {key.letter: key for key in view.own.pad.keys} if view.own.pad and not view.board.standing else {}
        spelt = [keys.get(letter) for letter in view.own.sealed.action]
        return jsonify(action=view.own.sealed.action, orders=[_order(key) for key in spelt if key])

    def confirm(self, seat: str) -> Response:
        """The board is as it should be, says a seat."""
        mine, body = self._guard.require_sitting(request, seat), read_body(request, Confirm)
        self._table.confirm(mine, body.moment, body.stage, body.force)
        return jsonify({})

    def resign(self, seat: str) -> Response:
        """Give up."""
        mine, _ = self._guard.require_seat(request, seat), read_body(request, Body)
        self._table.resign(mine)
        return jsonify({})

    def draw(self, seat: str) -> Response:
        """Offer a draw, or accept one."""
        mine, _ = self._guard.require_seat(request, seat), read_body(request, Body)
        self._table.offer_draw(mine)
        return jsonify({})

    def disclose(self, seat: str) -> Response:
        """Open what was hidden in a game that is over: it cannot be taken back any more."""
        mine, _ = self._guard.require_sitting(request, seat), read_body(request, Body)
        self._table.disclose(mine)
        return jsonify({})

    def start(self, seat: str) -> Response:
        """Start a game in one of the ways that it names."""
        self._guard.require_sitting(request, seat)
        body = read_body(request, Start)
        game = self._page_context.games.get(body.game)
        ways = game.presets if game else ()
        if game and not 0 <= body.preset < len(ways):
            raise Malformed(
                say(
                    "{game} can be started in {number} ways: give a number from 0 to {last}",
                    game=game.title,
                    number=len(ways),
                    last=len(ways) - 1,
                )
            )
        self._table.new_game(body.game, ways[body.preset].options if ways else {})
        return jsonify({})

    def rematch(self, seat: str) -> Response:
        """The same once more."""
        self._guard.require_sitting(request, seat)
        self._table.rematch(read_body(request, Rematch).swap)
        return jsonify({})


def _order(key: Key) -> dict[str, str]:
    return {"letter": key.letter, "initial": key.initial or key.letter, "label": key.label, "drawing": key.drawing}
