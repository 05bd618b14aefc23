"""The board in a lesson (the guide of a first game), with arrows for the proposed orders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from markupsafe import Markup

from companion.core.grid import Square
from companion.core.kit import SEATS, Seat
from companion.table.board_check import HandMove
from companion.table.prompts.guide import GuideView
from companion.table.session import Phase
from companion.table.table_view import TableView
from web.rendering.board import board_svg
from web.rendering.board_picture import own_square, picture_from_view


def guided_board(view: TableView, quarters: int = 0) -> Markup:
    """Draw the table screen's board, with arrows for the lesson's orders while they are due.

    `quarters` rotates it, see `web.rendering.board`.
    """
    picture = picture_from_view(view)
    guide = view.guide
    if picture is None or guide is None or view.phase is not Phase.ORDERS or view.board.problems:
        return board_svg(picture, quarters) if picture else Markup()
    moves = tuple(move for seat in SEATS for move in _lesson_moves(view, guide, seat))
    return board_svg(replace(picture, moves=moves), quarters)


def _lesson_moves(view: TableView, guide: GuideView, seat: Seat) -> Iterator[HandMove]:
    """Yield the moves whose arrows show the order that a lesson proposes to a seat.

    There is one move for each step. A path from a1 over a2 to a3 makes two arrows. Its piece, which
    stands on a1, is drawn faint where the path ends, on a3. So only the second move carries it.
    """
    layout = view.board.layout
    # a step without an origin begins at the seat's only main piece
    steps = [
        (origin or own_square(view, seat), target) for origin, target in guide.arrows.get(seat, ())
    ]
    starts = {start for start, _ in steps}
    # for each square that a path reaches, the square where the path begins and its piece stands
    path_starts: dict[Square, Square] = {}
    for start, target in steps:
        if start is not None and target is not None and target != start:
            path_starts[target] = path_starts.get(start, start)
            # draw the piece only where no other one stands and no further step begins
            ends_on_free_square = target not in layout and target not in starts
            faces = layout.get(path_starts[target], ()) if ends_on_free_square else ()
            yield HandMove(faces, start, target)
