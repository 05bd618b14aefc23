"""What is printed below a kit's pieces: player aids, hand cards, tiles and walls for orders, and a
score sheet.

A tile stands for one order, and players lay their tiles where the other side does not see them. If
the camera reads tiles (`Kit.order_tiles`), each has a marker, and they lie in a row with a strip of
markers, behind a wall of two leaves. If not, they lie behind a simple wall.

All lengths are in mm. Offsets without a name, such as those of base lines, were chosen by eye.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from companion.core.i18n import say
from companion.core.kit import SEATS, Kit, OrderTiles, Seat, Side
from companion.games.aids import AidRow, Extras, OrderTile, PlayerAid
from companion.printing.kit_pages import seat_words
from companion.printing.kit_pages.tag_faces import draw_picture
from companion.printing.kit_pages.tag_pages import PagePart
from companion.printing.pdf_pen import INK, PALE_INK, RULE, WHITE, Pen, ink_on
from companion.printing.shared_drawings import draw_shutter
from companion.printing.tiling import Rectangle

# Margin within a player aid.
_MARGIN_MM = 5.0
# Font size of the goal.
_GOAL_MM = 8.0
# Font size of the titles of points and steps.
_TITLE_MM = 4.2
# Font size of the text of points and steps.
_TEXT_MM = 3.6
# Font size of what is less important.
_SMALL_MM = 3.1
# Height of a player aid's head.
_HEAD_MM = 16.0
# Height of a row of the list in a player aid.
_ROW_MM = 9.5
# Height of the headings above the list's columns.
_COLUMN_HEADS_MM = 6.0
# Share of a player aid's width that the list takes.
_LIST_SHARE = 0.42
# Width of a column of figures.
_COLUMN_MM = 15.0
# Width and height of a hand card.
_CARD_WIDTH_MM = 30.0
_CARD_HEIGHT_MM = 42.0
# Width and depth of a tile without a marker.
_TILE_MM = 30.0
# Depth of the flap in front of a wall of two leaves.
_FRONT_FLAP_MM = 12.0
# Height of the steps below the walls, which explain how to give orders with tiles.
_STEPS_MM = 36.0
# White around a tile's marker of 20 mm: one module, see `tiling.quiet_mm`, rounded up.
_QUIET_MM = 3.0
# Number of tiles that are printed of each order. No more can be laid at once.
_COPIES = 3
# Height of a wall. It stands on its foot between the tiles and the other player.
_WALL_MM = 48.0
# Depth of the places for tiles.
_PLACES_MM = 44.0
# Depth of the wall's foot.
_FOOT_MM = 12.0
# Height of the score sheet's head.
_SCORE_HEAD_MM = 12.0
# Height of a row of the score sheet.
_SCORE_ROW_MM = 8.0
# Minimum number of rows with which a score sheet is printed.
_MIN_SCORE_ROWS = 8


def page_parts(kit: Kit, extras: Extras, area: Rectangle) -> Iterator[PagePart]:
    """Yield everything that is printed below the pieces, in printing order."""
    width = area.width
    for seat, aid in extras.aids.items():
        draw_aid = partial(_draw_aid, kit=kit, seat=seat, aid=aid, width=width)
        yield PagePart(_aid_height(aid, width), ("aid",), draw_aid)

    cards = extras.hand_cards
    if cards:
        names = tuple(f"strength {card}" for card in cards)
        for seat in SEATS:
            draw_cards = partial(_draw_hand_cards, side=kit.sides[seat], cards=cards)
            yield PagePart(_CARD_HEIGHT_MM, names, draw_cards)

    tiles = extras.tiles
    if tiles:
        columns = int(width // _TILE_MM)
        height = math.ceil(_COPIES * len(tiles) / columns) * _tile_depth(kit)
        for seat in SEATS:
            draw_tiles = partial(_draw_tiles, kit=kit, seat=seat, tiles=tiles, columns=columns)
            yield PagePart(height, ("tiles",), draw_tiles)

    order_tiles = kit.order_tiles
    if order_tiles:
        height = _STEPS_MM + order_tiles.row_depth_mm + 2 * order_tiles.wall_mm + _FRONT_FLAP_MM
        draw_rows = partial(_draw_tile_rows, kit=kit, order_tiles=order_tiles, width=width)
        yield PagePart(height, ("walls",), draw_rows)
    elif tiles:
        height = _WALL_MM + _FOOT_MM + _PLACES_MM
        draw_walls = partial(_draw_walls, kit=kit, places=extras.places, width=width)
        yield PagePart(height, ("walls",), draw_walls)

    # if a seat has piles at its side, the score sheet is on their page (`sheets`)
    has_side_piles = kit.deck is not None and kit.deck.side_piles
    if extras.aids and not has_side_piles:
        height = _SCORE_HEAD_MM + _MIN_SCORE_ROWS * _SCORE_ROW_MM
        draw_sheet = partial(draw_score_sheet, kit=kit, width=width)
        yield PagePart(height, ("score sheet",), draw_sheet, grows=True)


# ---- the player aid ------------------------------------------------------------------------------


def _aid_height(aid: PlayerAid, width: float) -> float:
    # the text is measured by drawing it with a pen whose document is thrown away
    points_height = -_draw_aid_points(Pen(""), aid, 0, 0, width)
    list_height = len(aid.rows) * _ROW_MM + _COLUMN_HEADS_MM
    return _HEAD_MM + 1.5 + max(points_height, list_height) + _MARGIN_MM


def _draw_aid_points(pen: Pen, aid: PlayerAid, x: float, y: float, width: float) -> float:
    """Draw the rules in brief below y, for a player aid of this width. Return the y below them."""
    points_width = (1 - _LIST_SHARE) * width - 2 * _MARGIN_MM
    for point in aid.points:
        y = pen.paragraph(x, y, points_width, point.title, _TITLE_MM, bold=True)
        y = pen.paragraph(x, y, points_width, point.words, _TEXT_MM)
        y -= 1.6
    return y


def _draw_aid(
    pen: Pen, height: float, *, kit: Kit, seat: Seat, aid: PlayerAid, width: float
) -> None:
    """Draw a player aid: goal and seat at the head, then the list, and the rules in brief."""
    side = kit.sides[seat]
    right = width - _MARGIN_MM
    top = height - _HEAD_MM
    pen.rectangle(0, 0, width, height, stroke_mm=0.8)

    # the head: the seat at the right, and the goal in the rest of the width
    pen.drawing(side.drawing, _MARGIN_MM + 5, height - 7.5, 10, side)
    words = seat_words(kit, seat)
    words_width = pen.text(right, height - 9.6, words, _SMALL_MM, anchor="right")
    goal_x = _MARGIN_MM + 13
    max_goal_width = right - 18 - words_width - 4
    pen.text(goal_x, height - 10.4, aid.goal, _GOAL_MM, bold=True, max_width_mm=max_goal_width)
    pen.line((_MARGIN_MM, top + 1), (right, top + 1), stroke_mm=0.6)

    # the list at the left of a line, and the rules in brief at its right
    middle = _LIST_SHARE * width
    pen.line((middle, _MARGIN_MM), (middle, top - 2), stroke_mm=0.3, colour=RULE)
    with pen.at(_MARGIN_MM, top):
        _draw_aid_list(pen, kit, aid, middle - 2 * _MARGIN_MM, top - _MARGIN_MM)

    _draw_aid_points(pen, aid, middle + _MARGIN_MM, top - 1.5, width)


def _draw_aid_list(pen: Pen, kit: Kit, aid: PlayerAid, width: float, height: float) -> None:
    """Draw the list below its headings, with the origin at its upper left.

    The rows share the height. But if there are only a few, they stay together at the top.
    """
    row_height = min(1.5 * _ROW_MM, (height - _COLUMN_HEADS_MM) / len(aid.rows))

    # figures are in columns at the right, below their headings
    columns_x = width - _COLUMN_MM * len(aid.heads)
    middles = [columns_x + (column + 0.5) * _COLUMN_MM for column in range(len(aid.heads))]
    heads_y = -_COLUMN_HEADS_MM + 1.6
    pen.text(0, heads_y, aid.list_title, _SMALL_MM, colour=PALE_INK)
    for x, head in zip(middles, aid.heads, strict=True):
        pen.text(
            x,
            heads_y,
            head,
            _SMALL_MM,
            colour=PALE_INK,
            anchor="middle",
            max_width_mm=_COLUMN_MM - 1,
        )

    max_name_width = columns_x - 13
    for index, row in enumerate(aid.rows):
        y = -_COLUMN_HEADS_MM - (index + 0.5) * row_height
        edge = y + row_height / 2
        pen.line((0, edge), (width, edge), stroke_mm=0.2, colour=RULE)
        _draw_aid_sign(pen, kit, row, y)

        name = row.name.capitalize()
        name_y = y + 0.5 if row.words else y - 1.4
        pen.text(12, name_y, name, _TEXT_MM, bold=True, max_width_mm=max_name_width)
        if row.words:
            pen.text(
                12, y - 3.3, row.words, _SMALL_MM, colour=PALE_INK, max_width_mm=max_name_width
            )
        for x, figure in zip(middles, row.figures, strict=False):
            # the font lacks a minus sign, and a dash is as wide as one
            pen.centred_bold_text(x, y - 1.8, figure.replace("-", "–"), 5.0)


def _draw_aid_sign(pen: Pen, kit: Kit, row: AidRow, y: float) -> None:
    """Draw the sign at the left of a row, at most 8 mm high, and centred at y."""
    if row.face:
        draw_picture(pen, kit, kit.face(row.face), 8.0, (4.2, y))
    elif row.drawing:
        pen.drawing(row.drawing, 4.2, y, 6.4, fill=INK)
    elif row.notation:
        pen.notation(1.6, y - 2.4, row.notation, 6.8)


# ---- hand cards and tiles ------------------------------------------------------------------------


def _draw_hand_cards(pen: Pen, height: float, *, side: Side, cards: tuple[str, ...]) -> None:
    """Draw hand cards side by side, each with a big figure, and the side's drawing twice."""
    width = _CARD_WIDTH_MM
    for index, card in enumerate(cards):
        with pen.at(index * (width + 2.4), 0):
            pen.outline(0, 0, width, height)
            pen.centred_bold_text(width / 2, height / 2 - 8, card, 22)
            for x, y in ((4.75, height - 4.75), (width - 4.75, 4.75)):
                pen.drawing(side.drawing, x, y, 5.5, side)


def _draw_tiles(
    pen: Pen, height: float, *, kit: Kit, seat: Seat, tiles: tuple[OrderTile, ...], columns: int
) -> None:
    """Draw tiles edge to edge from the upper left, with enough copies of every order."""
    depth = _tile_depth(kit)
    for index, tile in enumerate(tiles * _COPIES):
        row, column = divmod(index, columns)
        with pen.at(column * _TILE_MM, height - (row + 1) * depth):
            _draw_tile(pen, kit, seat, tile)


def _tile_depth(kit: Kit) -> float:
    # a tile with a marker is deeper
    return kit.order_tiles.depth_mm if kit.order_tiles else _TILE_MM


def _draw_tile(pen: Pen, kit: Kit, seat: Seat, tile: OrderTile) -> None:
    """Draw a tile: letter, drawing and word on the side's colour.

    The lower left corner of the tile is at the origin. If the camera reads tiles, the marker is on
    white below the colour.
    """
    order_tiles = kit.order_tiles
    ink = ink_on(kit.sides[seat].rgb)
    if order_tiles:
        width = order_tiles.width_mm
        depth = order_tiles.depth_mm
        # the colour begins above the marker and the white around it
        ground_y = order_tiles.marker_up_mm + order_tiles.marker_mm / 2 + _QUIET_MM
        picture_mm = 10.0
        picture_y = depth - 6.6
        word_mm = 3.8
        word_y = ground_y + 2.2
    else:
        width = depth = _TILE_MM
        ground_y = 0.0
        picture_mm = 13.0
        picture_y = depth / 2 + 2.0
        word_mm = 4.2
        word_y = 2.8

    with pen.at(0, ground_y):
        _draw_tile_ground(pen, kit, seat, width, depth - ground_y)
    pen.outline(0, 0, width, depth)
    middle = width / 2
    if order_tiles:
        marker = order_tiles.orders[seat][tile.letter]
        pen.marker(marker, middle, order_tiles.marker_up_mm, order_tiles.marker_mm)

    word = tile.word.capitalize()
    pen.text(2.2, depth - 6.0, tile.initial, 4.4, bold=True, colour=ink)
    pen.drawing(tile.drawing, middle, picture_y, picture_mm, fill=ink)
    pen.centred_bold_text(middle, word_y, word, word_mm, colour=ink, max_width_mm=width - 3)


def _draw_tile_ground(pen: Pen, kit: Kit, seat: Seat, width: float, height: float) -> None:
    """Draw the colour of a side, with North's pattern: dots along two edges.

    The dots are clear of the letter, the drawing and the word.
    """
    colour = kit.sides[seat].rgb
    pen.rectangle(0, 0, width, height, fill=colour)
    if seat is Seat.SOUTH:
        return
    left = 1.0
    right = width - 1.0
    for step in range(1, 8):
        y = height * step / 8
        # the letter is at the upper left, so no dots are there
        for x in (left, right) if y <= height - 7 else (right,):
            pen.dot(x, y, 0.45, fill=ink_on(colour))


# ---- walls and places for tiles ------------------------------------------------------------------


def _draw_row_steps(pen: Pen, width: float) -> None:
    """Draw three columns of text on how to give orders with tiles, from the origin up."""
    steps = (
        (
            say("Lay your tiles"),
            say("face up on the numbers. The wall stands between you and the other side."),
        ),
        (say("Both press ready"), say("Only then does the camera read the row behind each wall.")),
        (say("Move your robots"), say("as the table screen says. Then take your tiles back.")),
    )
    column_mm = width / len(steps)
    pen.line((0, _STEPS_MM - 8), (width, _STEPS_MM - 8), stroke_mm=0.6)
    for index, (title, words) in enumerate(steps):
        x = index * column_mm
        pen.text(x, _STEPS_MM - 16.5, str(index + 1), _GOAL_MM, bold=True)
        y = pen.paragraph(x + 8, _STEPS_MM - 10.5, column_mm - 13, title, _TITLE_MM, bold=True)
        pen.paragraph(x + 8, y, column_mm - 13, words, _TEXT_MM)


def _draw_tile_rows(
    pen: Pen, _height: float, *, kit: Kit, order_tiles: OrderTiles, width: float
) -> None:
    """Draw a row for the tiles of each side, and below both rows the steps for using them.

    A row has these parts, from the far edge to the edge of its player:

        flap          folded outwards so that the wall stands
        outer leaf    the wall: two leaves to glue back to back
        inner leaf
        foot          on which the wall stands
        places        on which the tiles lie
        strip         markers by which the camera finds the tiles
    """
    row_width = order_tiles.row_width_mm
    # y at which each part begins
    foot_y = order_tiles.strip_mm + order_tiles.places_mm
    inner_leaf_y = foot_y + order_tiles.foot_mm
    outer_leaf_y = inner_leaf_y + order_tiles.wall_mm
    flap_y = outer_leaf_y + order_tiles.wall_mm
    _draw_row_steps(pen, width)
    for seat, x in zip(SEATS, (0.0, width - row_width), strict=True):
        with pen.at(x, _STEPS_MM):
            for index, marker in enumerate(order_tiles.rows[seat]):
                marker_x = row_width / 2 + order_tiles.strip_x_mm(index)
                pen.marker(marker, marker_x, order_tiles.strip_mm / 2, order_tiles.strip_marker_mm)
            with pen.at(0, order_tiles.strip_mm):
                _draw_numbered_places(
                    pen,
                    order_tiles.places,
                    order_tiles.width_mm,
                    order_tiles.depth_mm,
                    order_tiles.gap_mm,
                )
            # the outer leaf is folded back, so the side's drawing on it is printed upside down
            with pen.at(row_width, flap_y, turn_deg=180):
                _draw_leaf(
                    pen,
                    kit.sides[seat],
                    row_width,
                    order_tiles.wall_mm,
                    drawing_mm=18,
                    radius_mm=13,
                )
            _draw_wall(
                pen,
                kit,
                seat,
                row_width,
                flap_y + _FRONT_FLAP_MM,
                label_y=foot_y + 4.8,
                folds=(inner_leaf_y, outer_leaf_y, flap_y),
            )


def _draw_walls(pen: Pen, _height: float, *, kit: Kit, places: int, width: float) -> None:
    """Draw for each side a wall to fold up, and behind it the numbered places for its tiles."""
    gap = 1.0
    row_width = places * (_TILE_MM + gap) + gap
    foot_y = _PLACES_MM
    wall_y = foot_y + _FOOT_MM
    for seat, x in zip(SEATS, (0.0, width - row_width), strict=True):
        with pen.at(x, 0):
            _draw_numbered_places(pen, places, _TILE_MM, _PLACES_MM - 2 * gap, gap)
            with pen.at(0, wall_y):
                _draw_leaf(pen, kit.sides[seat], row_width, _WALL_MM, drawing_mm=20, radius_mm=15)
            # the lowest stripe of the shutter reaches a little into the foot, so cover it with
            # white
            pen.rectangle(0, foot_y, row_width, _FOOT_MM, fill=WHITE)
            _draw_wall(
                pen,
                kit,
                seat,
                row_width,
                wall_y + _WALL_MM,
                label_y=foot_y + 4.6,
                folds=(foot_y, wall_y),
            )


def _draw_numbered_places(pen: Pen, places: int, width: float, depth: float, gap_mm: float) -> None:
    """Draw places for tiles of this size side by side, with a gap around each."""
    for place in range(places):
        left = gap_mm + place * (width + gap_mm)
        pen.rectangle(left, gap_mm, width, depth, stroke_mm=0.3)
        pen.centred_bold_text(left + width / 2, gap_mm + depth / 2 - 4, str(place + 1), 12)


def _draw_leaf(
    pen: Pen, side: Side, width: float, height: float, *, drawing_mm: float, radius_mm: float
) -> None:
    """Draw the leaf of a wall that the other player sees.

    It has the dark stripes of `draw_shutter`, and the side's drawing on a white disc.
    """
    draw_shutter(pen, width, height)
    pen.dot(width / 2, height / 2, radius_mm, fill=WHITE)
    pen.drawing(side.drawing, width / 2, height / 2, drawing_mm, side)


def _draw_wall(
    pen: Pen,
    kit: Kit,
    seat: Seat,
    width: float,
    height: float,
    *,
    label_y: float,
    folds: tuple[float, ...],
) -> None:
    """Draw the label of a wall, the outline to cut it out, and its folds at these y."""
    pen.centred_bold_text(width / 2, label_y, seat_words(kit, seat), 4.2, max_width_mm=width - 6)
    pen.outline(0, 0, width, height)
    for y in folds:
        pen.fold((-0.6, y), (width + 0.6, y))


def draw_score_sheet(pen: Pen, height: float, *, kit: Kit, width: float) -> None:
    """Draw a table with a row for each game: its date, players, winner and number of turns."""
    names = [kit.sides[seat].name for seat in SEATS]
    heads = [say("date"), *names, say("winner"), say("turns")]
    edges = [share * width for share in (0.0, 0.14, 0.42, 0.70, 0.86)]
    top = height - _SCORE_HEAD_MM
    # as many rows as the height has room for
    rows = int(top / _SCORE_ROW_MM)
    bottom = top - rows * _SCORE_ROW_MM

    pen.text(0, height - 5.0, say("Score sheet"), 5.2, bold=True)
    for left, head in zip(edges, heads, strict=True):
        pen.text(left + 1, top + 1.6, head.capitalize(), _SMALL_MM, colour=PALE_INK)

    pen.line((0, top), (width, top), stroke_mm=0.5, colour=PALE_INK)
    for row in range(1, rows + 1):
        y = top - row * _SCORE_ROW_MM
        pen.line((0, y), (width, y), stroke_mm=0.25, colour=RULE)
    for x in edges[1:]:
        pen.line((x, top + 5), (x, bottom), stroke_mm=0.2, colour=RULE)
