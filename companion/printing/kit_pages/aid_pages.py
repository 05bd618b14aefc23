"""The aids that are printed below a kit's pieces: player aids, hand cards, tiles and walls for
orders, and a score sheet.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from companion.core.i18n import say
from companion.core.kit import SEATS, Kit, OrderTiles, Seat, Side
from companion.games.aids import AidRow, Extras, OrderTile, PlayerAid
from companion.printing.kit_pages.board_pages import seat_words
from companion.printing.kit_pages.tag_faces import print_picture
from companion.printing.kit_pages.tag_pages import Block
from companion.printing.pdf_pen import (
    INK,
    INK_2,
    RULE,
    WHITE,
    Pen,
    printed_on,
)
from companion.printing.tiling import Extent

_PAD_MM = 5.0
_GOAL_MM, _TITLE_MM, _TEXT_MM, _SMALL_MM = 8.0, 4.2, 3.6, 3.1
_HEAD_MM, _ROW_MM, _HEADS_MM = 16.0, 9.5, 6.0
_LIST_SHARE = 0.42
_COLUMN_MM = 15.0
"""Width of a column of figures."""
_CARD_MM = (30.0, 42.0)
_TILE_MM = 30.0
_FRONT_MM = 12.0
"""Flap in front of a wall of two leaves."""
_STEPS_MM = 36.0
"""Height of the steps below the walls, which explain how to give orders with tiles."""
_QUIET_MM = 3.0
"""White around a marker."""
_COPIES = 3
"""Number of tiles of each order: the most that may be laid at once."""
_WALL_MM, _PLACES_MM, _FOOT_MM = 48.0, 44.0, 12.0
"""Heights of a wall, the places for tiles and the wall's foot. A wall stands on its foot between
the tiles and the other player.
"""
_SCORE_HEAD_MM, _SCORE_ROW_MM, _SCORE_ROWS = 12.0, 8.0, 8


def blocks_of(kit: Kit, extras: Extras, room: Extent) -> Iterator[Block]:
    """Yield everything that is printed below the pieces, in printing order."""
    width = room.width
    for seat, aid in extras.aids.items():
        draw = partial(
            _aid,
            kit=kit,
            seat=seat,
            aid=aid,
            width=width,
        )
        yield Block(_aid_height(aid, width), ("aid",), draw)

    cards = extras.hand_cards
    for seat in SEATS if cards else ():
        names = tuple(f"strength {card}" for card in cards)
        draw = partial(_hand_cards, side=kit.sides[seat], cards=cards)
        yield Block(_CARD_MM[1], names, draw)

    tiles = extras.tiles
    across = int(width // _TILE_MM)
    # rounded up
    rows = -(-_COPIES * len(tiles) // across)
    for seat in SEATS if tiles else ():
        draw = partial(
            _tiles,
            kit=kit,
            seat=seat,
            tiles=tiles,
            across=across,
        )
        yield Block(rows * _tile_depth(kit), ("tiles",), draw)

    spec = kit.order_tiles
    if spec:
        height = _STEPS_MM + spec.row_depth_mm + 2 * spec.wall_mm + _FRONT_MM
        draw = partial(_rows, kit=kit, spec=spec, width=width)
        yield Block(height, ("walls",), draw)
    elif tiles:
        height = _WALL_MM + _FOOT_MM + _PLACES_MM
        draw = partial(_walls, kit=kit, places=extras.places, width=width)
        yield Block(height, ("walls",), draw)

    # with piles at a seat's side, the score sheet stands beside those
    has_side_piles = kit.deck is not None and kit.deck.side_piles
    if extras.aids and not has_side_piles:
        height = _SCORE_HEAD_MM + _SCORE_ROWS * _SCORE_ROW_MM
        draw = partial(print_score_sheet, kit=kit, width=width)
        yield Block(height, ("score sheet",), draw, grows=True)


# ---- the player aid ------------------------------------------------------------------------------


def _aid_height(aid: PlayerAid, width: float) -> float:
    # measured by drawing on a page that is thrown away
    points = -_aid_points(Pen(""), aid, 0, 0, width)
    rows = len(aid.rows) * _ROW_MM + _HEADS_MM
    return _HEAD_MM + 1.5 + max(points, rows) + _PAD_MM


def _aid_points(pen: Pen, aid: PlayerAid, x: float, y: float, width: float) -> float:
    """Draw the rules in brief below y on a card of this width. Return the y below them."""
    room = (1 - _LIST_SHARE) * width - 2 * _PAD_MM
    for point in aid.points:
        y = pen.paragraph(
            x,
            y,
            room,
            point.title,
            _TITLE_MM,
            bold=True,
        )
        y = pen.paragraph(
            x,
            y,
            room,
            point.words,
            _TEXT_MM,
        )
        y -= 1.6
    return y


def _aid(pen: Pen, height: float, *, kit: Kit, seat: Seat, aid: PlayerAid, width: float) -> None:
    """Draw a player aid: its seat and the goal at the head, the list at the left, the rules in
    brief at the right.
    """
    side = kit.sides[seat]
    right = width - _PAD_MM
    top = height - _HEAD_MM
    pen.rectangle(
        0,
        0,
        width,
        height,
        stroke_mm=0.8,
    )

    # the head: the seat at the right, the goal in the remaining width
    pen.drawing(
        side.drawing,
        _PAD_MM + 5,
        height - 7.5,
        10,
        side,
    )
    whose = seat_words(kit, seat)
    whose_width = pen.text(
        right,
        height - 9.6,
        whose,
        _SMALL_MM,
        anchor="right",
    )
    goal_x = _PAD_MM + 13
    goal_room = right - 18 - whose_width - 4
    pen.text(
        goal_x,
        height - 10.4,
        aid.goal,
        _GOAL_MM,
        bold=True,
        room=goal_room,
    )
    pen.line((_PAD_MM, top + 1), (right, top + 1), width=0.6)

    middle = _LIST_SHARE * width
    pen.line((middle, _PAD_MM), (middle, top - 2), width=0.3, colour=RULE)
    list_room = (middle - 2 * _PAD_MM, top - _PAD_MM)
    with pen.at(_PAD_MM, top):
        _aid_list(pen, kit, aid, list_room)

    _aid_points(
        pen,
        aid,
        middle + _PAD_MM,
        top - 1.5,
        width,
    )


def _aid_list(pen: Pen, kit: Kit, aid: PlayerAid, room: tuple[float, float]) -> None:
    """Draw the list below its heading, with the origin at its upper left. Its rows share the
    height.
    """
    width, height = room
    # a few rows stay together instead of spreading over the whole height
    row_height = min(1.5 * _ROW_MM, (height - _HEADS_MM) / len(aid.rows))

    # figures are in columns at the right, below their headings
    first = width - _COLUMN_MM * len(aid.heads)
    middles = [first + (place + 0.5) * _COLUMN_MM for place in range(len(aid.heads))]
    heads_y = -_HEADS_MM + 1.6
    head_room = _COLUMN_MM - 1
    pen.text(
        0,
        heads_y,
        aid.list_title,
        _SMALL_MM,
        colour=INK_2,
    )
    for x, head in zip(middles, aid.heads, strict=True):
        pen.text(
            x,
            heads_y,
            head,
            _SMALL_MM,
            colour=INK_2,
            anchor="middle",
            room=head_room,
        )

    name_room = first - 13
    for number, row in enumerate(aid.rows):
        y = -_HEADS_MM - (number + 0.5) * row_height
        edge = y + row_height / 2
        pen.line((0, edge), (width, edge), width=0.2, colour=RULE)
        _aid_sign(pen, kit, row, y)

        name = row.name.capitalize()
        name_y = y + 0.5 if row.words else y - 1.4
        pen.text(
            12,
            name_y,
            name,
            _TEXT_MM,
            bold=True,
            room=name_room,
        )
        if row.words:
            pen.text(
                12,
                y - 3.3,
                row.words,
                _SMALL_MM,
                colour=INK_2,
                room=name_room,
            )
        for x, figure in zip(middles, row.figures, strict=False):
            # a dash is as wide as the minus of a figure, a hyphen is narrower
            minus = figure.replace("-", "–")
            pen.label(x, y - 1.8, minus, 5.0)


def _aid_sign(pen: Pen, kit: Kit, row: AidRow, y: float) -> None:
    """Draw the sign at the left of a row, eight millimetres high."""
    if row.face:
        print_picture(
            pen,
            kit,
            kit.face(row.face),
            8.0,
            (4.2, y),
        )
    elif row.drawing:
        pen.drawing(
            row.drawing,
            4.2,
            y,
            6.4,
            None,
            fill=INK,
        )
    elif row.notation:
        pen.notation(1.6, y - 2.4, row.notation, 6.8)


# ---- parts ---------------------------------------------------------------------------------------


def _hand_cards(pen: Pen, high: float, *, side: Side, cards: tuple[str, ...]) -> None:
    """Draw hand cards side by side, each with a big figure and its side."""
    wide = _CARD_MM[0]
    for number, card in enumerate(cards):
        with pen.at(number * (wide + 2.4), 0):
            pen.outline(0, 0, wide, high)
            pen.label(wide / 2, high / 2 - 8, card, 22)
            for x, y in ((4.75, high - 4.75), (wide - 4.75, 4.75)):
                pen.drawing(
                    side.drawing,
                    x,
                    y,
                    5.5,
                    side,
                )


def _tiles(
    pen: Pen, _: float, *, kit: Kit, seat: Seat, tiles: tuple[OrderTile, ...], across: int
) -> None:
    """Draw tiles edge to edge, with enough copies of every order."""
    copies = tiles * _COPIES
    rows = -(-len(copies) // across)
    deep = _tile_depth(kit)
    for number, tile in enumerate(copies):
        row, column = divmod(number, across)
        # rows are counted from the top, heights from the bottom
        with pen.at(column * _TILE_MM, (rows - 1 - row) * deep):
            _tile(pen, kit, seat, tile)


def _tile_depth(kit: Kit) -> float:
    return kit.order_tiles.depth_mm if kit.order_tiles else _TILE_MM


def _tile(pen: Pen, kit: Kit, seat: Seat, tile: OrderTile) -> None:
    """Draw a tile: letter, drawing and word. A tile that the camera reads has its marker on white
    below.
    """
    spec = kit.order_tiles
    ink = printed_on(kit.sides[seat].rgb)
    if spec:
        wide = spec.width_mm
        deep = spec.depth_mm
        # above the marker and the white around it
        foot = spec.marker_up_mm + spec.marker_mm / 2 + _QUIET_MM
        picture_mm, picture_y = 10.0, deep - 6.6
        word_mm, word_y = 3.8, foot + 2.2
    else:
        wide = deep = _TILE_MM
        foot = 0.0
        picture_mm, picture_y = 13.0, deep / 2 + 2.0
        word_mm, word_y = 4.2, 2.8

    with pen.at(0, foot):
        _tile_ground(pen, kit, seat, (wide, deep - foot))
    pen.outline(0, 0, wide, deep)
    if spec:
        marker = spec.orders[seat][tile.letter]
        pen.marker(marker, wide / 2, spec.marker_up_mm, spec.marker_mm)

    middle = wide / 2
    word = tile.word.capitalize()
    pen.text(
        2.2,
        deep - 6.0,
        tile.initial,
        4.4,
        bold=True,
        colour=ink,
    )
    pen.drawing(
        tile.drawing,
        middle,
        picture_y,
        picture_mm,
        None,
        fill=ink,
    )
    pen.label(
        middle,
        word_y,
        word,
        word_mm,
        colour=ink,
        room=wide - 3,
    )


def _tile_ground(pen: Pen, kit: Kit, seat: Seat, size: tuple[float, float]) -> None:
    """Draw the colour of a side. North also gets dots along two edges, clear of letter, drawing and
    word.
    """
    wide, high = size
    colour = kit.sides[seat].rgb
    pen.rectangle(
        0,
        0,
        wide,
        high,
        fill=colour,
    )
    for step in range(1, 8) if seat is Seat.NORTH else ():
        y = high * step / 8
        # the letter stands at the upper left
        for x in (1.0, wide - 1.0) if y <= high - 7 else (wide - 1.0,):
            pen.dot(x, y, 0.45, fill=printed_on(colour))


# ---- walls and places for tiles ------------------------------------------------------------------


def _row_steps(pen: Pen, width: float) -> None:
    """Draw in three columns how to give orders with tiles, with the origin at the lower left."""
    steps = (
        (
            say("Lay your tiles"),
            say("face up on the numbers. The wall stands between you and the other side."),
        ),
        (say("Both press ready"), say("Only then does the camera read the row behind each wall.")),
        (say("Move your robots"), say("as the table screen says. Then take your tiles back.")),
    )
    column = width / len(steps)
    pen.line((0, _STEPS_MM - 8), (width, _STEPS_MM - 8), width=0.6)
    for number, (title, words) in enumerate(steps):
        x = number * column
        pen.text(
            x,
            _STEPS_MM - 16.5,
            str(number + 1),
            _GOAL_MM,
            bold=True,
        )
        y = pen.paragraph(
            x + 8,
            _STEPS_MM - 10.5,
            column - 13,
            title,
            _TITLE_MM,
            bold=True,
        )
        pen.paragraph(
            x + 8,
            y,
            column - 13,
            words,
            _TEXT_MM,
        )


def _rows(pen: Pen, _: float, *, kit: Kit, spec: OrderTiles, width: float) -> None:
    """Draw a row of tiles for each side, and below both the steps for using them.

    From the near edge, a row has the strip of markers by which the camera finds its tiles, the
    places for tiles, the foot, a wall of two leaves to glue back to back, and a flap. The flap is
    folded outwards so that the wall stands.
    """
    wide = spec.row_width_mm
    foot = spec.strip_mm + spec.places_mm
    inside = foot + spec.foot_mm
    outside = inside + spec.wall_mm
    front = outside + spec.wall_mm
    _row_steps(pen, width)
    for seat, x in zip(SEATS, (0.0, width - wide), strict=True):
        with pen.at(x, _STEPS_MM):
            for number, marker in enumerate(spec.rows[seat]):
                marker_x = wide / 2 + spec.strip_x_mm(number)
                pen.marker(marker, marker_x, spec.strip_mm / 2, spec.strip_marker_mm)
            with pen.at(0, spec.strip_mm):
                _numbered_places(pen, spec.places, (spec.width_mm, spec.depth_mm), spec.gap_mm)
            # this leaf is folded back, so its sign is printed upside down
            with pen.at(wide, front, turn_deg=180):
                _leaf(pen, kit.sides[seat], (wide, spec.wall_mm), 18, 13)
            _wall(
                pen,
                kit,
                seat,
                (wide, front + _FRONT_MM),
                label_y=foot + 4.8,
                folds=(inside, outside, front),
            )


def _walls(pen: Pen, _: float, *, kit: Kit, places: int, width: float) -> None:
    """Draw for each side a wall to fold up, and behind it the numbered places for its tiles."""
    wide = places * (_TILE_MM + 1.0) + 1.0
    foot = _PLACES_MM
    wall = foot + _FOOT_MM
    for seat, x in zip(SEATS, (0.0, width - wide), strict=True):
        with pen.at(x, 0):
            _numbered_places(pen, places, (_TILE_MM, _PLACES_MM - 2.0), 1.0)
            with pen.at(0, wall):
                _leaf(pen, kit.sides[seat], (wide, _WALL_MM), 20, 15)
            # the lowest line of the shutter reaches a little into the foot
            pen.rectangle(
                0,
                foot,
                wide,
                _FOOT_MM,
                fill=WHITE,
            )
            _wall(
                pen,
                kit,
                seat,
                (wide, wall + _WALL_MM),
                label_y=foot + 4.6,
                folds=(foot, wall),
            )


def _numbered_places(pen: Pen, places: int, size: tuple[float, float], gap: float) -> None:
    """Draw places for tiles side by side, with a gap around each."""
    wide, deep = size
    for place in range(places):
        left = gap + place * (wide + gap)
        pen.rectangle(
            left,
            gap,
            wide,
            deep,
            stroke_mm=0.3,
        )
        pen.label(left + wide / 2, gap + deep / 2 - 4, str(place + 1), 12)


def _leaf(
    pen: Pen, side: Side, size: tuple[float, float], sign_mm: float, radius_mm: float
) -> None:
    """Draw the leaf that the other player sees: the shutter, and the side's sign on a white
    disc.
    """
    wide, high = size
    pen.shutter(wide, high)
    pen.dot(wide / 2, high / 2, radius_mm, fill=WHITE)
    pen.drawing(
        side.drawing,
        wide / 2,
        high / 2,
        sign_mm,
        side,
    )


def _wall(
    pen: Pen,
    kit: Kit,
    seat: Seat,
    size: tuple[float, float],
    *,
    label_y: float,
    folds: tuple[float, ...],
) -> None:
    """Draw the label of a wall, its outline to cut and its folds."""
    wide, high = size
    pen.label(
        wide / 2,
        label_y,
        seat_words(kit, seat),
        4.2,
        room=wide - 6,
    )
    pen.outline(0, 0, wide, high)
    for y in folds:
        pen.fold((-0.6, y), (wide + 0.6, y))


def print_score_sheet(pen: Pen, height: float, *, kit: Kit, width: float) -> None:
    """Draw a table for names, winners and numbers of turns."""
    names = [kit.sides[seat].name for seat in SEATS]
    heads = [say("date"), *names, say("winner"), say("turns")]
    edges = [share * width for share in (0.0, 0.14, 0.42, 0.70, 0.86)]
    top = height - _SCORE_HEAD_MM
    # as many whole rows as fit
    rows = int(top / _SCORE_ROW_MM)
    bottom = top - rows * _SCORE_ROW_MM

    pen.text(
        0,
        height - 5.0,
        say("Score sheet"),
        5.2,
        bold=True,
    )
    for left, head in zip(edges, heads, strict=True):
        pen.text(
            left + 1,
            top + 1.6,
            head.capitalize(),
            _SMALL_MM,
            colour=INK_2,
        )

    pen.line((0, top), (width, top), width=0.5, colour=INK_2)
    for row in range(1, rows + 1):
        y = top - row * _SCORE_ROW_MM
        pen.line((0, y), (width, y), width=0.25, colour=RULE)
    for x in edges[1:]:
        pen.line((x, top + 5), (x, bottom), width=0.2, colour=RULE)
