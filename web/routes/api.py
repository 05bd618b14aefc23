"""The JSON doors: what pages and programs ask of the table. Every body is read strictly."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from flask import Blueprint, Request, Response, g, jsonify, request
from msgspec import Meta
from werkzeug.exceptions import UnsupportedMediaType

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.pads import Key
from web.context import PageContext, own_square, start_board
from web.rendering.board import plan_svg
from web.rendering.json_view import plain_view
from web.rendering.piece_controls import plain_plays

Text = Annotated[str, Meta(max_length=200)]
Long = Annotated[str, Meta(max_length=4000)]
T = TypeVar("T")

SEAT = "<any(south, north):seat>"


class Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every request's body; this one is empty."""


class Take(Body, frozen=True):
    """Sit down; `code` is what the table's own screen shows, where one is asked for."""

    name: Text = ""
    code: Text = ""


class Moment(Body, frozen=True):
    """Something about one turn."""

    moment: Text


class HandIn(Body, frozen=True):
    """An order; `salt` keeps its receipt from being guessed."""

    moment: Text
    action: Long
    salt: Text = ""


class Act(Body, frozen=True):
    """What somebody at the table does for the seat on turn."""

    moment: Text
    action: Long


class Contribute(Body, frozen=True):
    """What a phone gives to the chance of the game with this commitment: 64 hexadecimal digits."""

    commitment: Text
    value: Text


class Entered(Body, frozen=True):
    """The orders entered so far, in the notation."""

    moment: Text
    entered: Text


class Confirm(Body, frozen=True):
    """The board is as it should be; `force` overrules the camera."""

    moment: Text
    stage: int
    force: bool = False


class Start(Body, frozen=True):
    """Start a game in one of the ways that it names."""

    game: Text
    preset: int = 0


class NewGame(Body, frozen=True):
    """Start a game with options."""

    game: Text
    options: dict[str, Any] = {}
    seed: int | None = None


class FreeSeat(Body, frozen=True):
    """Make a seat free; `sitting`, where it is given, says who is meant, as the host’s page names it."""

    seat: Seat
    sitting: Text | None = None


class Rematch(Body, frozen=True):
    """Once more; `swap`: with sides changed, where no pad is in the way."""

    swap: bool = False


class SwapSeats(Body, frozen=True):
    """Let both sides change places; `sittings`, where it is given, says who is meant, seat by seat."""

    sittings: dict[Seat, Text] = {}


def read_body(asked: Request, kind: type[T]) -> T:
    """The body of a request; raises `Malformed` or 415, and never repeats what was sent."""
    if asked.mimetype != "application/json":
        raise UnsupportedMediaType()
    try:
        return msgspec.json.decode(asked.get_data(), type=kind)
    except msgspec.ValidationError as error:
        raise Malformed(say("The request is not valid: {error}", error=str(error))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Malformed(say("The request is not JSON")) from None


class Api:
    """The doors under `/api`."""

    def __init__(self, page_context: PageContext) -> None:
        self._page_context = page_context
        self._table = page_context.table

    def blueprint(self) -> Blueprint:
        """All routes."""
        api = Blueprint("api", __name__, url_prefix="/api")
        api.add_url_rule("/view", view_func=self.view)
        api.add_url_rule(f"/seat/{SEAT}/view", view_func=self.seat_view)
        api.add_url_rule(f"/seat/{SEAT}/plays", view_func=self.plays)
        seat_doors = (
            self.take, self.hand_in, self.take_back, self.confirm, self.resign, self.draw, self.start, self.rematch,
            self.leave, self.plan, self.mine, self.pause, self.resume, self.by_pad, self.by_phone, self.contribute,
            self.disclose,
        )  # fmt: skip
        for door in seat_doors:
            name = door.__name__.replace("_", "-")
            api.add_url_rule(f"/seat/{SEAT}/{name}", view_func=door, methods=["POST"])
        for table_door in (self.table_act, self.table_back, self.table_pause, self.table_resume, self.table_rematch):
            name = table_door.__name__.removeprefix("table_")
            api.add_url_rule(f"/table/{name}", view_func=table_door, methods=["POST"])
        host_doors = (
            self.new_game, self.abandon, self.undo, self.host_confirm, self.free_seat, self.host_pause,
            self.host_resume, self.preview, self.swap_seats, self.host_rematch, self.new_key, self.host_disclose,
        )  # fmt: skip
        for host_door in host_doors:
            name = host_door.__name__.removeprefix("host_").replace("_", "-")
            api.add_url_rule(f"/host/{name}", view_func=host_door, methods=["POST"])
        return api

    # ---- looking ----

    def view(self) -> Response:
        """What everybody may know."""
        return jsonify(plain_view(self._table.view()))

    def seat_view(self, seat: str) -> Response:
        """What a seat may know; its own order is behind `mine`."""
        return jsonify(plain_view(self._table.view(self._own(seat))))

    def plays(self, seat: str) -> Response:
        """What a seat can tap on its board now: notation, squares, words and key of each; nothing unless it is due."""
        mine = self._own(seat)
        moment = self._table.view(mine).moment
        return jsonify(moment=moment, plays=plain_plays(self._table.plays(mine, moment)))

    # ---- seats ----

    def take(self, seat: str) -> Response:
        """Sit down; the cookie is the seat's token."""
        body = read_body(request, Take)
        self._page_context.let_in(request, body.code)
        nonce = self._table.take_seat(Seat(seat), body.name)
        answer = jsonify(seat=seat)
        self._page_context.guard.seat_cookie(answer, Seat(seat), nonce)
        return answer

    def leave(self, seat: str) -> Response:
        """Stand up."""
        mine, _ = self._sitting(seat), read_body(request, Body)
        self._table.free_seat(mine, self._page_context.guard.sitting(request, mine))
        answer = jsonify(seat=None)
        self._page_context.guard.drop_seat(answer, mine)
        return answer

    def by_pad(self, seat: str) -> Response:
        """Go on by the pad; this phone may come back."""
        mine, _ = self._own(seat), read_body(request, Body)
        if not self._page_context.features.welcome.has_pads:
            raise Illegal(Refusal.WRONG_PHASE, say("There are no pads here: continue by phone"))
        self._table.play_by(mine, "pad", self._page_context.guard.sitting(request, mine))
        return jsonify({})

    def by_phone(self, seat: str) -> Response:
        """Go on by the phone that went over to the pad."""
        mine, _ = self._own(seat), read_body(request, Body)
        self._table.play_by(mine, "phone", self._page_context.guard.sitting(request, mine))
        return jsonify({})

    def hand_in(self, seat: str) -> Response:
        """Seal an order."""
        mine, body = self._own(seat), read_body(request, HandIn)
        return jsonify(receipt=self._table.hand_in(mine, body.moment, body.action, body.salt, g.at_s))

    def take_back(self, seat: str) -> Response:
        """Get an order back."""
        mine, body = self._own(seat), read_body(request, Moment)
        self._table.take_back(mine, body.moment, at_s=g.at_s)
        return jsonify({})

    def pause(self, seat: str) -> Response:
        """Stop the clock."""
        mine, _ = self._sitting(seat), read_body(request, Body)
        self._table.pause(mine, at_s=g.at_s)
        return jsonify({})

    def resume(self, seat: str) -> Response:
        """Let the clock go on."""
        mine, _ = self._sitting(seat), read_body(request, Body)
        self._table.resume(mine)
        return jsonify({})

    def plan(self, seat: str) -> Response:
        """Where the orders entered so far would lead, as a drawing for the board; nothing of it is kept."""
        mine, body = self._own(seat), read_body(request, Entered)
        squares = self._table.plan(mine, body.moment, body.entered)
        view = self._table.view(mine)
        drawing = plan_svg(view, squares, own_square(view, mine), turned=mine is Seat.NORTH)
        return jsonify(svg=drawing)

    def mine(self, seat: str) -> Response:
        """The own sealed order, asked for only while its owner looks."""
        mine, _ = self._own(seat), read_body(request, Body)
        view = self._table.view(mine)
        if view.own.sealed is None:
            return jsonify(action=None, orders=[])
        keys = {key.letter: key for key in view.own.pad.keys} if view.own.pad and not view.board.standing else {}
        spelt = [keys.get(letter) for letter in view.own.sealed.action]
        return jsonify(action=view.own.sealed.action, orders=[_order(key) for key in spelt if key])

    def confirm(self, seat: str) -> Response:
        """The board is as it should be, says a seat."""
        mine, body = self._sitting(seat), read_body(request, Confirm)
        self._table.confirm(mine, body.moment, body.stage, body.force)
        return jsonify({})

    def resign(self, seat: str) -> Response:
        """Give up."""
        mine, _ = self._own(seat), read_body(request, Body)
        self._table.resign(mine)
        return jsonify({})

    def draw(self, seat: str) -> Response:
        """Offer a draw, or accept one."""
        mine, _ = self._own(seat), read_body(request, Body)
        self._table.offer_draw(mine)
        return jsonify({})

    def contribute(self, seat: str) -> Response:
        """Give to the chance of the game that comes, or in which nothing is drawn yet: once."""
        mine, body = self._sitting(seat), read_body(request, Contribute)
        by = "shared" if len(self._page_context.guard.seats_of(request)) > 1 else "phone"
        self._table.contribute(mine, body.commitment, body.value, by)
        return jsonify({})

    def disclose(self, seat: str) -> Response:
        """Open what was hidden in a game that is over: it cannot be taken back any more."""
        mine, _ = self._sitting(seat), read_body(request, Body)
        self._table.disclose(mine)
        return jsonify({})

    def start(self, seat: str) -> Response:
        """Start a game in one of the ways that it names."""
        self._sitting(seat)
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
        self._sitting(seat)
        return self._once_more(read_body(request, Rematch))

    # ---- anybody at the table, while the game is as open as a chess clock ----

    def table_act(self) -> Response:
        """Act for the seat on turn; the table raises unless that is open to anybody."""
        self._at_hand()
        body = read_body(request, Act)
        self._table.act(body.moment, body.action, at_s=g.at_s)
        return jsonify({})

    def table_back(self) -> Response:
        """Take the last turn back; the table raises unless that is open to anybody."""
        self._at_hand()
        self._table.undo(read_body(request, Moment).moment)
        return jsonify({})

    def table_pause(self) -> Response:
        """Stop the clock."""
        self._at_open_table()
        self._table.pause("table", at_s=g.at_s)
        return jsonify({})

    def table_resume(self) -> Response:
        """Let the clock go on."""
        self._at_open_table()
        self._table.resume("table")
        return jsonify({})

    def table_rematch(self) -> Response:
        """The same once more, by the table screen."""
        self._at_hand()
        return self._once_more(read_body(request, Rematch))

    # ---- the host ----

    def new_game(self) -> Response:
        """Start a game with options."""
        body = self._host(NewGame)
        self._table.host_starts(body.game, body.options, body.seed)
        return jsonify({})

    def preview(self) -> Response:
        """How the board of a game looks at the start with these options; raises `Malformed` for those it refuses."""
        body = self._host(NewGame)
        game = self._page_context.games.get(body.game)
        return jsonify(svg=start_board(game, body.options) if game else "")

    def abandon(self) -> Response:
        """End the game without a result."""
        self._host(Body)
        self._table.abandon()
        return jsonify({})

    def undo(self) -> Response:
        """Take the last turn back."""
        self._host(Body)
        self._table.undo()
        return jsonify({})

    def host_confirm(self) -> Response:
        """The board is as it should be, says the host."""
        body = self._host(Confirm)
        self._table.confirm("host", body.moment, body.stage, body.force)
        return jsonify({})

    def host_pause(self) -> Response:
        """Stop the clock."""
        self._host(Body)
        self._table.pause("host", at_s=g.at_s)
        return jsonify({})

    def host_resume(self) -> Response:
        """Let the clock go on."""
        self._host(Body)
        self._table.resume("host")
        return jsonify({})

    def free_seat(self) -> Response:
        """Make a seat free."""
        body = self._host(FreeSeat)
        self._table.free_seat(body.seat, body.sitting)
        return jsonify({})

    def host_rematch(self) -> Response:
        """The same once more, says the host."""
        return self._once_more(self._host(Rematch))

    def host_disclose(self) -> Response:
        """Open what was hidden in a game that is over, says the host."""
        self._host(Body)
        self._table.disclose("host")
        return jsonify({})

    def swap_seats(self) -> Response:
        """Let both sides change places."""
        self._table.swap_seats(self._host(SwapSeats).sittings)
        return jsonify({})

    def new_key(self) -> Response:
        """Another host key: every other host's browser must enter it again."""
        self._host(Body)
        answer = jsonify(host_key=self._page_context.guard.change_host_key())
        self._page_context.guard.host_cookie(answer)
        self._page_context.streams.renew()
        self._table.redraw()
        return answer

    # ---- inside ----

    def _own(self, seat: str) -> Seat:
        self._page_context.guard.require_seat(request, Seat(seat))
        return Seat(seat)

    def _sitting(self, seat: str) -> Seat:
        """The seat of this browser, for what is nobody's secret: also while a phone that is passed is covered."""
        self._page_context.guard.require_sitting(request, Seat(seat))
        return Seat(seat)

    def _at_hand(self) -> None:
        """Raise `Illegal` where strangers share the network and the request comes from nobody at the table."""
        if self._page_context.needs_code(request):
            raise Illegal(
                Refusal.NOT_YOUR_SEAT, say("Only a seat, the host or the table’s own screen can do that here")
            )

    def _at_open_table(self) -> None:
        self._at_hand()
        read_body(request, Body)
        if not self._table.view().turn.is_open:
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("Only a seat or the host can stop this clock, or start it again"))

    def _once_more(self, wish: Rematch) -> Response:
        self._table.rematch(wish.swap)
        return jsonify({})

    def _host(self, kind: type[T]) -> T:
        self._page_context.guard.require_host(request)
        return read_body(request, kind)


def _order(key: Key) -> dict[str, str]:
    return {"letter": key.letter, "initial": key.initial or key.letter, "label": key.label, "drawing": key.drawing}
