"""The pages of the printed board.

A board has squares or lanes, two strips with the corner markers, and joints to cut and glue. Boards
of cards have lanes, numbered from 0 at South's left. Each lane has a zone for either seat, in which
a fan of cards grows away from the seat's edge.

Each page shows a part of the board, see `BoardPage`. Everything is drawn in board axes, see
`companion.core.kit`. All lengths are in mm. Offsets without a name, such as those of base lines,
were chosen by eye.
"""

from __future__ import annotations

from itertools import pairwise, product

from companion.core.i18n import say
from companion.core.kit import FRAME_MM, SEATS, Board, Deck, Kit, Seat, Side
from companion.printing.kit_pages import seat_words
from companion.printing.pdf_pen import (
    DIGIT_HEIGHT_EM,
    SECOND_TONE,
    STROKE_MM,
    WHITE,
    Pen,
    text_width,
    tint,
)
from companion.printing.tiling import (
    FLAP_MM,
    BoardPage,
    Rectangle,
    Tiling,
    has_outside_labels,
    page_label,
    quiet_mm,
)

# Font size of a lane's number.
_LANE_NUMBER_MM = 17.0
# Size of the side's drawing in a zone. A diamond or a ring of this size is smaller than the marker
# of a card (12.5 mm), so that the camera does not look for a marker there.
_ZONE_DRAWING_MM = 10.0
# Length of the marks that show where each further card of a fan ends.
_CARD_MARK_MM = 6.0
# Font size of "first card" and of the numbers of the further cards.
_CARD_WORDS_MM = 4.0
# Angle by which text for a seat is turned.
_TURN_DEG = {Seat.SOUTH: 0.0, Seat.NORTH: 180.0}
# White rim of a goal.
_GOAL_RIM_MM = 1.5
# Distance between the dots in North's goal.
_GOAL_DOT_PITCH_MM = 5.0
# Font size of the title in the strips.
_TITLE_MM = 8.0
# Font size of the words about the seat in the strips.
_SEAT_WORDS_MM = 4.6
# Size of the side's drawing in the strips.
_SIDE_DRAWING_MM = 13.0
# Gap between the writing in a strip and the nearest marker, cut or number.
_STRIP_GAP_MM = 2.0
# Font size of the coordinates outside the squares.
_OUTSIDE_LABEL_MM = 4.2
# Length of an arm of a cross, by which two pages are aligned.
_CROSS_ARM_MM = 4.0
# Smallest scale of the writing in a strip. At a smaller one the title would be smaller than 3.2 mm.
_MIN_STRIP_SCALE = 0.4


def draw_board(pen: Pen, kit: Kit, tiling: Tiling, page: BoardPage, area: Rectangle) -> None:
    """Draw one page of the board, centred in the printable area of the page."""
    printed = page.printed
    x, y = printed.centre
    # draw in board axes, with the middle of the printed part in the middle of the area
    with pen.at(*area.centre), pen.at(-x, -y, clip=printed):
        if kit.deck:
            _draw_lanes(pen, kit, kit.deck)
        else:
            _draw_squares(pen, kit)
        if kit.board.has_goals:
            _draw_goals(pen, kit)
        for marker, (corner_x, corner_y) in kit.board.corner_centres_mm.items():
            pen.marker(marker, corner_x, corner_y, kit.board.corner_mm)
        _draw_strips(pen, kit, tiling.joints_x)
        _draw_crosses(pen, tiling)
        _draw_joints(pen, tiling, page)


def _draw_squares(pen: Pen, kit: Kit) -> None:
    """Draw the squares of a board of pieces, with their marks and labels."""
    board = kit.board
    marks = {mark.square: mark for mark in board.marks}
    square_mm = board.square_mm
    label_mm = 0.14 * square_mm
    for square in board.squares:
        middle_x, middle_y = board.centre_mm(square)
        is_even = (square.file + square.rank) % 2 == 0
        fill = SECOND_TONE if board.tones == 2 and is_even else None
        pen.centred_rectangle(
            middle_x, middle_y, square_mm, square_mm, fill=fill, stroke_mm=STROKE_MM
        )

        mark = marks.get(square)
        if mark:
            side = kit.sides.get(mark.seat) if mark.seat else None
            pen.drawing(mark.drawing, middle_x, middle_y, square_mm, side)

        if board.labels_in_squares and square not in board.holes:
            # the upper left corner of the text is near that of the square
            label_x = middle_x - 0.45 * square_mm
            label_y = middle_y + 0.45 * square_mm - DIGIT_HEIGHT_EM * label_mm
            pen.text(label_x, label_y, str(square), label_mm, bold=True)

    if board.gap_mm == 0:
        pen.rectangle(0, 0, board.width_mm, board.height_mm, stroke_mm=FRAME_MM)
    if has_outside_labels(board):
        _draw_outside_labels(pen, board)


def _draw_goals(pen: Pen, kit: Kit) -> None:
    """Draw each strip as the goal of the side that defends it, in that side's colour and pattern.

    The tints are light, and clear of the white around the corner markers.
    """
    board = kit.board
    # a goal keeps twice as much white around the marker as the marker needs, because it is tinted
    left = board.corner_mm + 2 * quiet_mm(board.corner_mm)
    width_mm = board.width_mm - 2 * left
    depth_mm = board.strip_mm - 2 * _GOAL_RIM_MM
    lows = (_GOAL_RIM_MM - board.strip_mm, board.height_mm + _GOAL_RIM_MM)
    for seat, low in zip(SEATS, lows, strict=True):
        colour = kit.sides[seat].rgb
        pen.rectangle(left, low, width_mm, depth_mm, fill=tint(colour, 0.16))
        if seat is Seat.SOUTH:
            continue
        # North's pattern: dots
        columns = int(width_mm / _GOAL_DOT_PITCH_MM)
        rows = int(depth_mm / _GOAL_DOT_PITCH_MM)
        for column, row in product(range(columns), range(rows)):
            x = left + width_mm * (column + 0.5) / columns
            y = low + depth_mm * (row + 0.5) / rows
            pen.dot(x, y, 0.55, fill=tint(colour, 0.6))


def _draw_strips(pen: Pen, kit: Kit, joints_x: tuple[float, ...]) -> None:
    """Draw title and seat in both strips, where the gap between other things is widest.

    The other things are corner markers, cuts between pages, and the numbers of lanes.
    """
    board = kit.board
    # the writing comes close to a corner marker, but not into the white around it
    reach = board.corner_mm + quiet_mm(board.corner_mm) + _STRIP_GAP_MM
    obstacles = [(cut, cut) for cut in joints_x]
    if kit.deck:
        half = _LANE_NUMBER_MM / 2
        obstacles += [(x - half, x + half) for x in _lane_middles(board)]

    # a gap extends from the end of one obstacle to the beginning of the next
    edges = [reach]
    for obstacle_left, obstacle_right in sorted(obstacles):
        edges += [obstacle_left, obstacle_right]
    edges.append(board.width_mm - reach)
    gaps = list(pairwise(edges))[::2]

    # if several gaps are the widest (within 1 mm), South takes the first and North the last
    widest_mm = max(right - left for left, right in gaps)
    widest_gaps = [(left, right) for left, right in gaps if right - left > widest_mm - 1]
    for seat, (left, right) in zip(SEATS, (widest_gaps[0], widest_gaps[-1]), strict=True):
        middle = (left + right) / 2
        with pen.at(middle, _strip_y(board, seat), turn_deg=_TURN_DEG[seat]):
            _draw_strip(pen, kit, seat, right - left - 2 * _STRIP_GAP_MM)


def _strip_y(board: Board, seat: Seat) -> float:
    """Return the y of the middle of a seat's strip."""
    half = board.strip_mm / 2
    return -half if seat is Seat.SOUTH else board.height_mm + half


def _draw_strip(pen: Pen, kit: Kit, seat: Seat, max_width_mm: float) -> None:
    """Draw the side's drawing, the title and the seat, as the seat reads them.

    The origin is in their middle. They shrink to `max_width_mm`, and are left out if they would be
    too small to read.
    """
    side = kit.sides[seat]
    words = seat_words(kit, seat)
    text_x = _SIDE_DRAWING_MM + 3
    title_mm = text_width(kit.title, _TITLE_MM, bold=True)
    words_mm = text_width(words, _SEAT_WORDS_MM)
    width_mm = text_x + max(title_mm, words_mm)
    scale = min(1.0, max_width_mm / width_mm)
    if scale < _MIN_STRIP_SCALE:
        return
    with pen.at(-scale * width_mm / 2, 0, scale=scale):
        pen.drawing(side.drawing, _SIDE_DRAWING_MM / 2, 0, _SIDE_DRAWING_MM, side)
        pen.text(text_x, 0.2, kit.title, _TITLE_MM, bold=True)
        pen.text(text_x, -6.2, words, _SEAT_WORDS_MM)


def _draw_lanes(pen: Pen, kit: Kit, deck: Deck) -> None:
    """Draw the lanes of a board of cards: the zones of both seats, and the number in each strip."""
    board = kit.board
    for seat in SEATS:
        edge = deck.zones[seat] * board.rank_pitch_mm
        if seat is Seat.NORTH:
            edge += board.depth_mm
        for file, x in enumerate(_lane_middles(board)):
            with pen.at(x, _strip_y(board, seat), turn_deg=_TURN_DEG[seat]):
                # the base line is half the height of a digit below the middle
                pen.centred_bold_text(
                    0, -DIGIT_HEIGHT_EM / 2 * _LANE_NUMBER_MM, str(file), _LANE_NUMBER_MM
                )
            with pen.at(x, edge, turn_deg=_TURN_DEG[seat]):
                _draw_zone(pen, board, deck, kit.sides[seat])


def _lane_middles(board: Board) -> list[float]:
    """Return the x of the middle of each lane."""
    return [board.square_mm / 2 + file * board.pitch_mm for file in range(board.files)]


def _draw_zone(pen: Pen, board: Board, deck: Deck, side: Side) -> None:
    """Draw a zone as its seat sees it, with the origin in the middle of the zone's near edge.

    A zone has an outline, the place of the first card, marks for further cards, and an arrow in the
    direction in which the fan grows.
    """
    depth_mm = board.depth_mm
    half_card = deck.width_mm / 2
    card_top = deck.height_mm
    pen.rectangle(-board.square_mm / 2, 0, board.square_mm, depth_mm, stroke_mm=0.5)

    # the outline of the first card is open towards the near edge
    pen.line(
        (-half_card, 0.0),
        (-half_card, card_top),
        (half_card, card_top),
        (half_card, 0.0),
        stroke_mm=0.3,
        dash_mm=(2.0, 1.4),
    )
    middle = card_top / 2
    max_width_mm = deck.width_mm - 4
    pen.drawing(side.drawing, 0, middle + _ZONE_DRAWING_MM / 2, _ZONE_DRAWING_MM, side)
    pen.centred_bold_text(0, middle - 10, side.name, 6.0, max_width_mm=max_width_mm)
    pen.text(
        0,
        middle - 16,
        say("first card"),
        _CARD_WORDS_MM,
        anchor="middle",
        max_width_mm=max_width_mm,
    )

    # marks show how far each further card reaches
    number = 2
    mark_y = card_top + deck.step_mm
    while mark_y <= depth_mm:
        for direction in (-1, 1):
            outer_x = direction * half_card
            inner_x = direction * (half_card - _CARD_MARK_MM)
            pen.line((outer_x, mark_y), (inner_x, mark_y), stroke_mm=0.3)
        number_x = 1.5 + _CARD_MARK_MM - half_card
        number_y = mark_y - deck.step_mm / 2 - 1.4
        pen.text(number_x, number_y, str(number), _CARD_WORDS_MM, bold=True)
        number += 1
        mark_y += deck.step_mm

    tip = depth_mm - 8
    pen.line((0, card_top + 8), (0, tip - 10), stroke_mm=1.8)
    pen.polygon((-6, tip - 11), (6, tip - 11), (0, tip))


def _draw_outside_labels(pen: Pen, board: Board) -> None:
    """Draw the names of files and ranks around the board, once for each seat.

    Files are beyond the strips, and ranks are at the left and the right of the squares.
    """
    corner_reach = board.strip_mm / 2 + board.corner_mm / 2 + quiet_mm(board.corner_mm)
    low = -max(board.strip_mm, corner_reach) - 5.2
    for is_turned in pen.both_ways(board.width_mm, board.height_mm):
        # in axes that are turned by 180 degrees, the last square is where the first one was
        names = map(str, reversed(board.squares) if is_turned else board.squares)
        for square, name in zip(board.squares, names, strict=True):
            x, y = board.centre_mm(square)
            # a name is the letter of the file and the number of the rank, such as `c4`
            if square.rank == 0:
                pen.centred_bold_text(x, low, name[0], _OUTSIDE_LABEL_MM)
            if square.file == 0:
                pen.centred_bold_text(-3.8, y - 1.5, name[1:], _OUTSIDE_LABEL_MM)


def _draw_crosses(pen: Pen, tiling: Tiling) -> None:
    """Draw a numbered cross at each place where two pages are aligned."""
    for number, cross in enumerate(tiling.crosses(), start=1):
        with pen.at(*cross):
            pen.line((-_CROSS_ARM_MM, 0), (_CROSS_ARM_MM, 0), stroke_mm=0.25)
            pen.line((0, -_CROSS_ARM_MM), (0, _CROSS_ARM_MM), stroke_mm=0.25)
            # the number is drawn twice, in opposite corners, so that it is on both sides of the cut
            for corner in ((4.6, 2.8), (-4.6, -4.9)):
                with pen.at(*corner):
                    _draw_plate_text(pen, str(number))


def _draw_joints(pen: Pen, tiling: Tiling, page: BoardPage) -> None:
    """Draw the edge of the board, and the joints of a page.

    At a joint, scissors show where to cut the page, or words name the page to glue on.
    """
    core = page.core
    printed = page.printed
    whole = tiling.extent
    middle_x, middle_y = core.centre
    pen.outline(whole.left, whole.bottom, whole.width, whole.height)
    if page.column:
        pen.hairline((core.left, printed.bottom), (core.left, printed.top))
        with pen.at(core.left, core.bottom + 7, turn_deg=90):
            _draw_scissors(pen)
    if page.row:
        pen.hairline((printed.left, core.bottom), (printed.right, core.bottom))
        with pen.at(core.left + 1, core.bottom):
            _draw_scissors(pen)

    if page.column + 1 < tiling.columns:
        right_page = page_label(page.column + 1, page.row)
        pen.hairline((core.right, printed.bottom), (core.right, printed.top))
        with pen.at(core.right + FLAP_MM - 1.2, middle_y, turn_deg=90):
            _draw_plate_text(pen, say("glue {page} on this edge", page=right_page))
    if page.row + 1 < tiling.rows:
        upper_page = page_label(page.column, page.row + 1)
        pen.hairline((printed.left, core.top), (printed.right, core.top))
        with pen.at(middle_x, core.top + FLAP_MM - 3.4):
            _draw_plate_text(pen, say("glue {page} on this edge", page=upper_page))


def _draw_scissors(pen: Pen) -> None:
    """Draw a pair of scissors at the origin, cutting to the right along y = 0."""
    with pen.at(0, 0, scale=5):
        for side in (-1, 1):
            pen.line((0.25, -0.16 * side), (1.0, 0.14 * side), stroke_mm=0.09)
            pen.dot(0.16, 0.23 * side, 0.16)
            pen.dot(0.16, 0.23 * side, 0.08, fill=WHITE)


def _draw_plate_text(pen: Pen, words: str) -> None:
    """Draw a small line of text centred above the origin, on a white plate.

    The plate keeps the text readable on any background.
    """
    size_mm = 2.8
    width = text_width(words, size_mm)
    low = -0.25 * size_mm
    height = 1.2 * size_mm
    pen.rectangle(-width / 2 - 0.4, low, width + 0.8, height, fill=WHITE)
    pen.text(0, 0, words, size_mm, anchor="middle")
