"""The pages of the printed board: squares or lanes, the strips with the corner markers, and the
joints and edges to glue.

Everything is drawn in board axes, see `companion.core.kit`. Boards of cards have lanes, numbered
from 0 at South's left. Each lane has a zone for either seat, in which a fan of cards grows away
from the seat's edge.
"""

from __future__ import annotations

from itertools import pairwise, product

from companion.core.i18n import say
from companion.core.kit import FRAME_MM, SEATS, Board, Deck, Kit, Seat, Side
from companion.printing.pdf_pen import STROKE_MM, TILE_2, Pen, text_width, tinted
from companion.printing.tiling import (
    FLAP_MM,
    Extent,
    Tiling,
    Window,
    has_outside_labels,
    page_label,
    quiet_mm,
)

_LANE_FIGURE_MM = 17.0
"""Height of a lane's number."""
_DRAWING_MM = 10.0
"""Size of a side's drawing. A diamond or a ring of this size is smaller than a card's marker."""
_TICK_MM = 6.0
"""Length of the marks at which further cards end."""
_TURN_DEG = {Seat.SOUTH: 0.0, Seat.NORTH: 180.0}
"""Angle by which text for a seat is turned."""
_GOAL_RIM_MM, _GOAL_PITCH_MM = 1.5, 5.0
"""White rim of a goal, and distance of the dots in North's."""


def print_board(pen: Pen, kit: Kit, tiling: Tiling, window: Window, room: Extent) -> None:
    """Draw one page of the board, centred in the room on the page."""
    printed = window.printed
    x, y = printed.centre
    with pen.at(*room.centre), pen.at(-x, -y, clip=printed):
        if kit.deck:
            _draw_lanes(pen, kit, kit.deck)
        else:
            _draw_squares(pen, kit)
        if kit.board.has_goals:
            _draw_goals(pen, kit)
        for marker, (corner_x, corner_y) in kit.board.corner_centres_mm.items():
            pen.marker(marker, corner_x, corner_y, kit.board.corner_mm)
        _draw_strips(pen, kit, tiling.cuts_x)
        for number, cross in enumerate(tiling.crosses(), start=1):
            with pen.at(*cross):
                pen.line((-4, 0), (4, 0), width=0.25)
                pen.line((0, -4), (0, 4), width=0.25)
                # the page number in two opposite corners, so that one is on each side of the cut
                for corner in ((4.6, 2.8), (-4.6, -4.9)):
                    with pen.at(*corner):
                        pen.plate_text(str(number))
        _draw_edges(pen, tiling, window)


def seat_words(kit: Kit, seat: Seat) -> str:
    """Return which side sits at a seat, such as “South is purple”."""
    side = kit.sides[seat].name
    return (
        say("South is {side}", side=side)
        if seat is Seat.SOUTH
        else say("North is {side}", side=side)
    )


def _draw_squares(pen: Pen, kit: Kit) -> None:
    """Draw the squares of a board of pieces, with their marks and labels."""
    board = kit.board
    marks = {mark.square: mark for mark in board.marks}
    size = board.square_mm
    label_mm = 0.14 * size
    for square in board.squares:
        middle_x, middle_y = board.centre_mm(square)
        is_even = (square.file + square.rank) % 2 == 0
        fill = TILE_2 if board.tones == 2 and is_even else None
        pen.box(middle_x, middle_y, size, size, fill=fill, stroke_mm=STROKE_MM)

        mark = marks.get(square)
        if mark:
            side = kit.sides.get(mark.seat) if mark.seat else None
            pen.drawing(
                mark.drawing,
                middle_x,
                middle_y,
                size,
                side,
            )

        if board.labels_in_squares and square not in board.holes:
            label_x = middle_x - 0.45 * size
            label_y = middle_y + 0.45 * size - 0.72 * label_mm
            pen.text(
                label_x,
                label_y,
                str(square),
                label_mm,
                bold=True,
            )

    if board.gap_mm == 0:
        pen.rectangle(
            0,
            0,
            board.width_mm,
            board.height_mm,
            stroke_mm=FRAME_MM,
        )
    if has_outside_labels(board):
        _draw_outside_labels(pen, board)


def _draw_goals(pen: Pen, kit: Kit) -> None:
    """Draw the strips as goals, lightly in the pattern of the side that defends them, clear of the
    white around the corner markers.
    """
    board = kit.board
    left = board.corner_mm + 2 * quiet_mm(board.corner_mm)
    width = board.width_mm - 2 * left
    depth = board.strip_mm - 2 * _GOAL_RIM_MM
    lows = (_GOAL_RIM_MM - board.strip_mm, board.height_mm + _GOAL_RIM_MM)
    for seat, low in zip(SEATS, lows, strict=True):
        colour = kit.sides[seat].rgb
        pen.rectangle(
            left,
            low,
            width,
            depth,
            fill=tinted(colour, 0.16),
        )
        if seat is Seat.SOUTH:
            continue
        # North's pattern: dots
        columns = int(width / _GOAL_PITCH_MM)
        rows = int(depth / _GOAL_PITCH_MM)
        for column, row in product(range(columns), range(rows)):
            x = left + width * (column + 0.5) / columns
            y = low + depth * (row + 0.5) / rows
            pen.dot(x, y, 0.55, fill=tinted(colour, 0.6))


def _draw_strips(pen: Pen, kit: Kit, cuts_x: tuple[float, ...]) -> None:
    """Draw title and seat in both strips, in the widest gap between markers, cuts and numbers."""
    board = kit.board
    reach = board.corner_mm + quiet_mm(board.corner_mm) + 2
    occupied = [(cut, cut) for cut in cuts_x]
    if kit.deck:
        half = _LANE_FIGURE_MM / 2
        occupied += [(x - half, x + half) for x in _lane_middles(board)]

    # a gap lies between the end of one thing and the beginning of the next
    edges = [reach]
    for low, high in sorted(occupied):
        edges += [low, high]
    edges.append(board.width_mm - reach)
    rooms = list(pairwise(edges))[::2]

    # of equally wide gaps, South takes the first and North the last
    widest = max(right - left for left, right in rooms)
    wide_rooms = [room for room in rooms if room[1] - room[0] > widest - 1]
    for seat, (left, right) in zip(SEATS, (wide_rooms[0], wide_rooms[-1]), strict=True):
        middle = (left + right) / 2
        with pen.at(middle, _strip_y(board, seat), turn_deg=_TURN_DEG[seat]):
            _draw_strip(pen, kit, seat, right - left - 4)


def _strip_y(board: Board, seat: Seat) -> float:
    """Return the y of the middle of a seat's strip."""
    half = board.strip_mm / 2
    return -half if seat is Seat.SOUTH else board.height_mm + half


def _draw_strip(pen: Pen, kit: Kit, seat: Seat, room: float) -> None:
    """Draw title and seat between two corner markers, turned towards the seat.

    The origin is the middle between them.
    """
    side = kit.sides[seat]
    words = seat_words(kit, seat)
    picture = 13.0
    text_x = picture + 3
    text_wide = max(text_width(kit.title, 8.0, bold=True), text_width(words, 4.6))
    wide = text_wide + picture + 3
    scale = min(1.0, room / wide)
    if scale < 0.4:
        return
    with pen.at(-scale * wide / 2, 0, scale=scale):
        pen.drawing(
            side.drawing,
            picture / 2,
            0,
            picture,
            side,
        )
        pen.text(
            text_x,
            0.2,
            kit.title,
            8.0,
            bold=True,
        )
        pen.text(text_x, -6.2, words, 4.6)


def _draw_lanes(pen: Pen, kit: Kit, deck: Deck) -> None:
    """Draw the lanes of a board of cards: the zones of both seats, and each lane's number in both
    strips.
    """
    board = kit.board
    for seat in SEATS:
        edge = deck.zones[seat] * board.rank_pitch_mm
        if seat is Seat.NORTH:
            edge += board.depth_mm
        for file, x in enumerate(_lane_middles(board)):
            with pen.at(x, _strip_y(board, seat), turn_deg=_TURN_DEG[seat]):
                pen.label(0, -0.36 * _LANE_FIGURE_MM, str(file), _LANE_FIGURE_MM)
            with pen.at(x, edge, turn_deg=_TURN_DEG[seat]):
                _draw_zone(pen, board, deck, kit.sides[seat])


def _lane_middles(board: Board) -> list[float]:
    """Return the x of the middle of each lane."""
    return [board.square_mm / 2 + file * board.pitch_mm for file in range(board.files)]


def _draw_zone(pen: Pen, board: Board, deck: Deck, side: Side) -> None:
    """Draw a zone as its seat sees it: outline, place of the first card, steps and arrow.

    The origin is the middle of the zone's near edge.
    """
    half = board.square_mm / 2
    depth = board.depth_mm
    card = deck.width_mm / 2
    high = deck.height_mm
    pen.rectangle(
        -half,
        0,
        2 * half,
        depth,
        stroke_mm=0.5,
    )

    # the outline of the first card is open towards the near edge
    pen.line(
        (-card, 0.0),
        (-card, high),
        (card, high),
        (card, 0.0),
        width=0.3,
        dash=(2.0, 1.4),
    )
    middle = high / 2
    room = 2 * card - 4
    pen.drawing(
        side.drawing,
        0,
        middle + _DRAWING_MM / 2,
        _DRAWING_MM,
        side,
    )
    pen.label(
        0,
        middle - 10,
        side.name,
        6.0,
        room=room,
    )
    pen.text(
        0,
        middle - 16,
        say("first card"),
        4.0,
        anchor="middle",
        room=room,
    )

    # marks show how far each further card reaches
    number = 2
    top = high + deck.step_mm
    while top <= depth:
        for sign in (-1, 1):
            edge = sign * card
            pen.line((edge, top), (sign * (card - _TICK_MM), top), width=0.3)
        number_x = 1.5 + _TICK_MM - card
        number_y = top - deck.step_mm / 2 - 1.4
        pen.text(
            number_x,
            number_y,
            str(number),
            4.0,
            bold=True,
        )
        number += 1
        top = top + deck.step_mm

    tip = depth - 8
    pen.line((0, high + 8), (0, tip - 10), width=1.8)
    pen.shape((-6, tip - 11), (6, tip - 11), (0, tip))


def _draw_outside_labels(pen: Pen, board: Board) -> None:
    """Draw the files beyond the strips and the ranks left and right of the squares, readable from
    both seats.
    """
    corner_reach = board.strip_mm / 2 + board.corner_mm * (0.5 + 1 / 7)
    low = -max(board.strip_mm, corner_reach) - 5.2
    for is_turned in pen.both_ways(board.width_mm, board.height_mm):
        # turned by half, the last square is where the first one was
        names = map(str, reversed(board.squares) if is_turned else board.squares)
        for square, name in zip(board.squares, names, strict=True):
            x, y = board.centre_mm(square)
            if square.rank == 0:
                pen.label(x, low, name[0], 4.2)
            if square.file == 0:
                pen.label(-3.8, y - 1.5, name[1:], 4.2)


def _draw_edges(pen: Pen, tiling: Tiling, window: Window) -> None:
    """Draw where to cut (scissors) and where to glue on the next page (its name)."""
    core = window.core
    printed = window.printed
    whole = tiling.extent
    middle_x, middle_y = core.centre
    pen.outline(whole.left, whole.bottom, whole.width, whole.height)
    if window.column:
        pen.hairline((core.left, printed.bottom), (core.left, printed.top))
        with pen.at(core.left, core.bottom + 7, turn_deg=90):
            pen.scissors()
    if window.row:
        pen.hairline((printed.left, core.bottom), (printed.right, core.bottom))
        with pen.at(core.left + 1, core.bottom):
            pen.scissors()

    if window.column + 1 < tiling.across:
        right = page_label(window.column + 1, window.row)
        pen.hairline((core.right, printed.bottom), (core.right, printed.top))
        with pen.at(core.right + FLAP_MM - 1.2, middle_y, turn_deg=90):
            pen.plate_text(say("glue {page} on this edge", page=right))
    if window.row + 1 < tiling.down:
        above = page_label(window.column, window.row + 1)
        pen.hairline((printed.left, core.top), (printed.right, core.top))
        with pen.at(middle_x, core.top + FLAP_MM - 3.4):
            pen.plate_text(say("glue {page} on this edge", page=above))
