"""Public views of tables as drawings and values for templates: boards, lanes, seats and clocks.

A table may run another version of the program, or send anything. So no function here raises for
what a table has sent: what this hub does not know is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import msgspec
from markupsafe import Markup

from companion.core.errors import CompanionError
from companion.core.grid import Square
from companion.core.i18n import current_language
from companion.core.kit import SEATS, Kit, Layout, Seat, Side
from companion.games import GAMES
from companion.games.screen import Lane
from companion.table.board_check import HandMove
from companion.table.public.messages import PublicClock, PublicView
from companion.table.session import Phase
from web.hub.room import TimedRecord
from web.rendering.board import board_svg
from web.rendering.board_picture import BoardPicture
from web.rendering.cards import lanes_picture, lanes_sign
from web.templating.phrases import PLAIN_SIDES

# Maximum number of cached drawings. With fewer, a large hub would draw unchanged boards again. More
# would take more memory.
_MAX_DRAWINGS = 512


@dataclass(frozen=True)
class SeatSummary:
    """What pages show of one seat."""

    seat: Seat
    side: Side
    name: str
    """Name of the player, empty if it is not known."""
    is_awaited: bool
    """Whether the table waits for the seat's action."""
    has_sealed: bool
    """Whether the seat has handed in an action that is not revealed yet."""
    result: str
    """The seat's points at the end of the game, such as `½`. Empty before."""
    clock: Markup
    """HTML attributes of the seat's clock. Empty without a clock."""


def find_kit(view: PublicView) -> Kit | None:
    """Return the kit of a view's game, or None if the game or its options are unknown here."""
    # options cannot be the key of a cache, but their JSON can, if it is sorted
    return _kit(view.game, msgspec.json.encode(view.options, order="sorted")) if view.game else None


@lru_cache(maxsize=64)
def _kit(game: str, options: bytes) -> Kit | None:
    rules = GAMES.get(game)
    try:
        return rules.kit(rules.options(msgspec.json.decode(options))) if rules else None
    except (CompanionError, ValueError, TypeError, KeyError):
        return None


def draw_board(view: PublicView, *, is_small: bool) -> Markup:
    """Draw the board or the lanes of a view in the current language.

    The drawing is empty if this hub does not know the game, or cannot draw what the table sent. A
    small drawing has no moves, and for a game of cards is an icon of its lanes.
    """
    # keep only what is drawn, so that views that differ only in a clock share a cached drawing
    visible = msgspec.structs.replace(
        PublicView(phase=view.phase),
        game=view.game,
        options=view.options,
        layout=view.layout,
        lanes=view.lanes,
        moves=() if is_small else view.moves,
        target={} if is_small else view.target,
    )
    return _draw_encoded(msgspec.json.encode(visible, order="sorted"), is_small, current_language())


@lru_cache(maxsize=_MAX_DRAWINGS)
def _draw_encoded(encoded: bytes, is_small: bool, _language: str) -> Markup:
    """Draw an encoded view. `_language` is not read, but drawings are cached by it."""
    view = msgspec.json.decode(encoded, type=PublicView)
    kit = find_kit(view)
    if kit is None:
        return Markup()
    try:
        if kit.deck and is_small:
            return lanes_sign(kit)
        if kit.deck:
            lanes = [
                Lane(lane.name, lane.north, lane.deck, lane.south, lane.discard)
                for lane in view.lanes
            ]
            return lanes_picture(kit, lanes) if lanes else Markup()
        layout = _drawable_layout(kit, view.layout)
        target = _drawable_layout(kit, view.target)
        moves = tuple(_drawable_moves(kit, view))
        return board_svg(BoardPicture(kit, layout, moves, target=target))
    except (CompanionError, KeyError, ValueError, IndexError, ZeroDivisionError):
        return Markup()


def _drawable_layout(kit: Kit, layout: Mapping[str, tuple[str, ...]]) -> Layout:
    """Return the part of a layout that this kit can show."""
    faces_of_kit = {face.name for face in kit.faces}
    drawable = {}
    for name, faces in layout.items():
        square = Square.parse(name)
        if square in kit.board.squares:
            drawable[square] = tuple(face for face in faces if face in faces_of_kit)
    return drawable


def _drawable_moves(kit: Kit, view: PublicView) -> Iterator[HandMove]:
    """Yield the moves that this kit can show."""
    faces_of_kit = {face.name for face in kit.faces}
    for move in view.moves:
        origin = Square.parse(move.origin) if move.origin else None
        target = Square.parse(move.target) if move.target else None
        if faces_of_kit.issuperset(move.faces) and {origin, target} <= {None, *kit.board.squares}:
            yield HandMove(move.faces, origin, target, is_turned_over=move.turned)


def side_of(view: PublicView, seat: Seat) -> Side:
    """Return the side of a seat in a view's game, or a plain side if the game is unknown here."""
    kit = find_kit(view)
    return kit.sides[seat] if kit else PLAIN_SIDES[seat]


def summarise_seats(latest: TimedRecord, names: Mapping[Seat, str]) -> tuple[SeatSummary, ...]:
    """Return what pages show of both seats, South first. `names` has the players by seat."""
    view = latest.record.view
    seats = []
    for seat in SEATS:
        public_seat = view.seats.get(seat)
        clock = None
        if public_seat:
            # a game has one clock for each seat, or one for the turn, which is of the seat on turn
            clock = public_seat.clock or (view.clock if public_seat.awaited else None)
        result = ""
        if view.phase is Phase.OVER and view.result:
            # a single winner gets the point, and in a draw each side gets half of it
            won, lost = ("1", "0") if len(view.winners) == 1 else ("½", "½")
            result = won if seat in view.winners else lost
        seats.append(
            SeatSummary(
                seat,
                side_of(view, seat),
                names.get(seat, ""),
                is_awaited=bool(public_seat and public_seat.awaited),
                has_sealed=bool(public_seat and public_seat.sealed),
                result=result,
                clock=clock_attributes(clock, latest) if clock else Markup(),
            )
        )
    return tuple(seats)


def clock_attributes(clock: PublicClock, latest: TimedRecord) -> Markup:
    """Return the HTML attributes by which `live.js` counts a clock down.

    `data-due` is the moment at which the clock runs out, in the hub's monotonic time, and empty for
    a clock that stands. `data-left` is the time left and `data-time` the whole time. All are in
    seconds.
    """
    due = f"{latest.accepted_at_s + clock.left_s:.3f}" if clock.runs else ""
    return Markup(f' data-due="{due}" data-left="{clock.left_s:.3f}" data-time="{clock.limit_s:g}"')
