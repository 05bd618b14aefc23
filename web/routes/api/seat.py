"""The part of the JSON API for seats: view, orders, and sitting down."""

from __future__ import annotations

from flask import Response, g, jsonify

from companion.core.errors import Malformed
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.pads import Key
from web.rendering.answers import (
    KeyJson,
    OwnOrder,
    Picture,
    PlaysJson,
    Receipt,
    Seated,
    TakenBack,
    ViewJson,
)
from web.rendering.board import plan_svg
from web.rendering.board_picture import own_square
from web.rendering.json_view import build_answer, view_json
from web.rendering.piece_controls import plays_json
from web.routes.api.body import SEAT_PART, LongText, ShortText
from web.routes.route import TableRouteGroup, get, own_seat, post, seat_holder, seat_post


class SeatRoutes(TableRouteGroup):
    """The routes under `/api/seat`, for the browser that has the seat.

    The guard `own_seat`, the default of `seat_post`, also demands of a shared phone that it has the
    page of this seat open. `seat_holder` does not: it guards what concerns no secret of the seat,
    such as leaving it or starting a game.

    A `moment` names the decision that the page shows, such as `3.2`. The table refuses an older
    one. An order is sealed when it is handed in: it is stored, and shown to nobody until all orders
    of the turn are revealed together.
    """

    name = "api"

    @get(f"/api/seat/{SEAT_PART}/view", guard=own_seat)
    def seat_view(self, seat: Seat) -> ViewJson:
        """Return what a seat may know, except its sealed order, which `own_order` returns."""
        return view_json(self._table.view(seat))

    @get(f"/api/seat/{SEAT_PART}/plays", guard=own_seat)
    def plays(self, seat: Seat) -> PlaysJson:
        """Return the moves that a seat can tap on its board. Empty unless it is on turn alone."""
        moment = self._table.view(seat).moment
        plays = plays_json(self._table.coaching.plays(seat, moment))
        return build_answer(PlaysJson, moment=moment, plays=plays)

    @post(f"/api/seat/{SEAT_PART}/take", endpoint="take", answer=Seated)
    def take_seat(self, seat: str, name: ShortText = "", code: ShortText = "") -> Response:
        """Sit down. The answer sets a cookie that proves who has the seat.

        `code` is the join code on the table's own screen, if one is needed.
        """
        self.page_context.require_join_code(code)
        this_seat = Seat(seat)
        nonce = self._table.take_seat(this_seat, name)
        answer = jsonify(seat=seat)
        self._auth.set_seat_cookie(answer, this_seat, nonce)
        return answer

    @seat_post("leave", seat_holder, answer=Seated)
    def leave(self, seat: Seat) -> Response:
        """Leave the seat."""
        # only the person of this cookie leaves: somebody else who sits there by now stays
        self._table.free_seat(seat, self._auth.sitting_of(seat))
        answer = jsonify(seat=None)
        self._auth.drop_seat_cookie(answer, seat)
        return answer

    @seat_post("by-pad")
    def by_pad(self, seat: Seat) -> None:
        """Play on the pad from now on. This phone can take over again.

        Raises `Illegal` if the table has no pads.
        """
        self.page_context.require_pads()
        self._table.change_door(seat, "pad", self._auth.sitting_of(seat))

    @seat_post("by-phone")
    def by_phone(self, seat: Seat) -> None:
        """Play on this phone again, after `by_pad`."""
        self._table.change_door(seat, "phone", self._auth.sitting_of(seat))

    @seat_post("hand-in")
    def hand_in(
        self, seat: Seat, moment: ShortText, action: LongText, salt: ShortText = ""
    ) -> Receipt:
        """Seal the action of a seat and return its receipt.

        The receipt is a digest of the action and of the random `salt`. Without a salt, others could
        find the action by making the receipts of all possible ones. If a request has no `salt`, the
        table makes one.

        The receipt is empty if nothing was sealed. That is so while the press of a chess clock
        waits until the camera sees a still board, and for a second press, which has no effect.
        """
        receipt = self._table.hand_in(seat, moment, action, salt, g.received_at_s)
        return {"receipt": receipt}

    @seat_post("take-back")
    def take_back(self, seat: Seat, moment: ShortText) -> TakenBack:
        """Take back the seat's sealed action and return it, or take back its last turn.

        Return null as the action if a turn was taken back, or if the action was sealed by somebody
        else who sat at this seat before. Unlike `ask_back`, this never asks the other seat.
        """
        # read the action first, because afterwards it is no longer in the view
        sealed = self._table.view(seat).own.sealed
        self._table.take_back(seat, moment, at_s=g.received_at_s)
        return {"action": sealed.action if sealed else None}

    @seat_post("plan")
    def plan(self, seat: Seat, moment: ShortText, entered: ShortText) -> Picture:
        """Draw where the orders entered so far would lead. Nothing is stored."""
        squares = self._table.coaching.planned_squares(seat, moment, entered)
        view = self._table.view(seat)
        # North sees the board rotated by half a turn
        quarters = 2 if seat is Seat.NORTH else 0
        drawing = plan_svg(view, squares, own_square(view, seat), quarters)
        return {"svg": drawing}

    @seat_post("mine")
    def own_order(self, seat: Seat) -> OwnOrder:
        """Return this seat's sealed action.

        A page requests it while its player holds a key down.
        """
        view = self._table.view(seat)
        sealed = view.own.sealed
        pad = view.own.pad
        if sealed is None:
            return {"action": None, "orders": []}
        # in a game of pieces (`board_ui`) the letters of the notation do not stand for keys
        keys: dict[str, Key] = {}
        if pad and not view.board.board_ui:
            keys = {key.letter: key for key in pad.keys}
        sealed_keys = [keys[letter] for letter in sealed.action if letter in keys]
        orders = [
            build_answer(KeyJson, key, initial=key.initial or key.letter) for key in sealed_keys
        ]
        return {"action": sealed.action, "orders": orders}

    @seat_post("tiles")
    def tiles(self, seat: Seat, moment: ShortText, is_ready: bool) -> None:
        """Report whether the seat's tiles are laid behind its wall."""
        self._table.set_tiles_ready(seat, moment, is_ready)

    @seat_post("resign")
    def resign(self, seat: Seat) -> None:
        """Resign."""
        self._table.resign(seat)

    @seat_post("draw")
    def draw(self, seat: Seat) -> None:
        """Offer a draw, or accept the other seat's offer."""
        self._table.offer_draw(seat)

    @seat_post("ask-back")
    def ask_back(self, seat: Seat, moment: ShortText) -> None:
        """Take back the last turn if it was this seat's own, or else ask the other seat to.

        If the other seat has asked for it already, or is not played by a phone, the turn is taken
        back at once.
        """
        self._table.request_undo(seat, moment)

    @seat_post("decline")
    def decline(self, seat: Seat) -> None:
        """Decline the other seat's offer of a draw or request to undo, or withdraw one's own."""
        self._table.decline(seat)

    @seat_post("start", seat_holder)
    def start(self, seat: Seat, game: ShortText, preset: int = 0) -> None:
        """Start a game with one of its presets. Raises `Malformed` if there is no such preset."""
        rules = self._games.get(game)
        # an unknown game has no presets here, and the table refuses it below
        presets = rules.presets if rules else ()
        if rules and not 0 <= preset < len(presets):
            raise Malformed(say("{game} has no preset {number}", game=rules.title, number=preset))
        self._table.new_game(game, presets[preset].options if presets else {})
