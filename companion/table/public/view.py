"""Build the public part of a session, as a message. What is not named here is never published.

It is built from the view that everybody may have. This module does not remove names of people: the
caller has to pass a session without them, as `companion.storage.outbox` does.

The fields are explained in `companion.table.public.messages`. They are part of a format and keep
their first names: `steps` is the number of stages, `step` the title of the shown stage, `happened`
its events.
"""

from __future__ import annotations

from typing import Any

from companion.core import i18n
from companion.core.grid import Square
from companion.core.kit import SEATS, Layout, Seat
from companion.games.screen import Lane
from companion.table.public.messages import (
    PublicClock,
    PublicLane,
    PublicMove,
    PublicOrder,
    PublicSeat,
    PublicView,
)
from companion.table.session import Phase, Session
from companion.table.state import TableState, stage_headline
from companion.table.table_view import ClockView, TableView
from companion.table.views import view_of


def build_public_view(session: Session, now_s: float) -> PublicView:
    """Return the public view of a session at a monotonic time.

    The session must not have names of people. The view depends on nothing else, so it is the same
    after a restart. It lacks what only the running table knows: what the camera sees, what is
    entered, and which of a stage's headlines (sentences on what happened) people are reading. The
    sign has the first of them.
    """
    live = TableState(session, headline=stage_headline(session, 0))
    view = view_of(live, viewer=None)  # what everybody may know
    cards = view.board.card_ui
    outcome = view.match.outcome if view.phase is Phase.OVER else None
    clock = view.time.clock
    return PublicView(
        phase=view.phase,
        moment=view.moment,
        game=view.game,
        title=i18n.sentence_to_json(view.title) if view.game else "",
        options=_public_options(session),
        turn=view.turn.number if view.game else 0,
        stage=view.turn.stage,
        steps=view.turn.stage_count,
        step=i18n.sentence_to_json(view.turn.title),
        sign=i18n.sentence_to_json(view.sign.text),
        why=i18n.sentence_to_json(view.sign.small),
        seats={seat: _public_seat(view, seat, now_s) for seat in SEATS},
        layout=_public_layout(view.board.layout),
        target=_public_layout(view.board.target),
        moves=_public_moves(view),
        lanes=tuple(map(_public_lane, cards.lanes)) if cards else (),
        orders=tuple(
            {
                seat: PublicOrder(
                    letter=order.letter,
                    drawing=order.on_board,
                    initial=i18n.sentence_to_json(order.initial),
                )
                for seat, order in stage_orders.items()
            }
            for stage_orders in view.turn.orders
        ),
        happened=tuple(i18n.sentence_to_json(event.text) for event in view.turn.events),
        clock=_public_clock(clock, now_s) if clock else None,
        paused=bool(clock and clock.paused),
        winners=tuple(sorted(outcome.winners)) if outcome else (),
        result=i18n.sentence_to_json(outcome.reason) if outcome else "",
        is_void=outcome is not None and session.is_void,
        score=view.match.score,
    )


def _public_options(session: Session) -> dict[str, Any]:
    """Return the chosen options that the owner's page offers.

    Any other option may be secret, such as the order of a deck.
    """
    rows = session.game.option_rows if session.game else ()
    return {
        row.name: session.chosen_options[row.name]
        for row in rows
        if row.name in session.chosen_options
    }


def _public_seat(view: TableView, seat: Seat, now_s: float) -> PublicSeat:
    """Return a seat as strangers may see it: by its door, without its player's name."""
    seat_view = view.seats[seat]
    clock = view.time.clocks.get(seat)
    return PublicSeat(
        door=seat_view.door,
        awaited=seat_view.is_awaited,
        sealed=seat_view.receipt is not None,
        clock=_public_clock(clock, now_s) if clock else None,
    )


def _public_clock(clock: ClockView, now_s: float) -> PublicClock:
    is_running = clock.due_s is not None
    return PublicClock(round(clock.limit_s, 1), clock.left_at_s(now_s), runs=is_running)


def _public_lane(lane: Lane) -> PublicLane:
    """Return a lane of cards by their names, with None for each card that is face down."""
    piles = [
        tuple(None if card is None else str(card) for card in pile)
        for pile in (lane.north, lane.deck, lane.south, lane.discard)
    ]
    return PublicLane(str(lane.name), *piles)


def _public_layout(layout: Layout | None) -> dict[str, tuple[str, ...]]:
    """Return the faces on each square by its name, in the order of the squares.

    Empty without a layout.
    """
    stacks = sorted(layout.items()) if layout else ()
    return {str(square): tuple(map(str, faces)) for square, faces in stacks}


def _public_moves(view: TableView) -> tuple[PublicMove, ...]:
    """Return the moves of pieces that hands have to make, done or not."""
    moves = []
    for instruction in view.turn.instructions:
        move = instruction.move
        # Without faces the instruction is only a sentence, such as what to do with cards.
        if move.faces:
            moves.append(
                PublicMove(
                    faces=tuple(map(str, move.faces)),
                    origin=_square_name(move.origin),
                    target=_square_name(move.target),
                    turned=move.is_turned_over,
                )
            )
    return tuple(moves)


def _square_name(square: Square | None) -> str | None:
    return None if square is None else str(square)
