"""The first page of a printed kit: how to print, join, glue, place the camera and start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby, product
from operator import itemgetter
from typing import NamedTuple

from companion.core.drawings import SIGN
from companion.core.i18n import say, say_n
from companion.core.kit import SEATS, Deck, Kit
from companion.printing.kit_pages.deck_pages import print_card
from companion.printing.kit_pages.tag_faces import side_of
from companion.printing.pdf_pen import HATCH, INK, INK_2, RULE, TILE_2, WHITE, Pen
from companion.printing.tiling import Extent, Tiling

_TEXT_SIZES_MM = (4.0, 3.8, 3.6, 3.4, 3.2, 3.0, 2.8, 2.6, 2.4)
"""Text sizes, largest first. The first one that fits all steps on the page is used."""
_PICTURE_SCALES = (1.0, 0.85, 0.7, 0.6)
"""Scales of the pictures, largest first. All of them are tried before a smaller text."""
_HEAD_MM = 6.4
"""Height of a step's title."""
_FIGURE_MM = 14.0
"""Height of a step's number."""
_TEXT_X = 16.0
"""Left edge of a step's text in mm."""
_PICTURE_WIDTH = 58.0
"""Width of a step's picture in mm."""
_PICTURE_HEIGHT = 36.0
"""Height of a step's picture in mm."""

_PRINT = (
    say(
        "Matt white paper of 160 to 200 g. In the print dialogue choose 100 % or “actual size”, "
        "never “fit to page”. Then measure the black and white bar below: it must be 100 mm long."
    ),
    say("Glossy paper and plastic film reflect the lamp, and the camera cannot read through that."),
)
_WHOLE = (
    say(
        "Cut along the thin line around the board and glue it onto stiff card so that it lies flat."
    ),
)
_JOIN = (
    say(
        "Lay out the pages as in the picture. Where a page shows scissors (left and below), cut "
        "along that line."
    ),
    say(
        "Glue its cut edge onto the edge of the page that says so: half crosses with the same "
        "number make whole ones. Join the pages of each row first, then the rows. Finally cut "
        "along the thin line around the board and glue it onto card."
    ),
)
_CUT = say(
    "Cut out the tags along the thin lines and fold them along the dashes: flaps go down over the "
    "sides of the block, two faces go round the piece."
)
_CAMERA = (
    say(
        "Anywhere around the table, high enough that its picture shows all four corner squares "
        "of the board and a hand’s width more. Higher is better. It may look down at an angle of "
        "up to about 45 degrees."
    ),
    say(
        "Light the board from the side so that no lamp is reflected in it. Nothing needs to be "
        "calibrated."
    ),
)
_SWITCH_ON = say(
    "Switch the companion on, or run “companion play” on a computer. Open the address that the "
    "table screen shows; phones scan its code."
)
_SET_UP_PIECES = say(
    "Lay the board in view of the camera and set up the pieces as the screen says."
)
_SET_UP_CARDS = say("Lay the board in view of the camera and set up the cards as the screen says.")
_PLACES = say(
    "Cut out the places for piles as well. They lie beside the board, where the camera need not "
    "see them."
)
_KINDS = {
    "board": say("board"),
    "pieces": say("pieces"),
    "extras": say("for the table"),
    "places": say("piles"),
    "cards": say("cards"),
}

_SHEET_CELLS = {
    "board": (3.6, 0.0, 3, 4),
    "pieces": (3.0, 0.8, 3, 3),
    "extras": (10.0, 1.4, 1, 1),
    "places": (4.6, 1.4, 2, 2),
    "cards": (3.4, 0.6, 3, 3),
}
"""Thumbnail of each kind of page: width of a cell and gap between cells in mm, number of columns
and rows.
"""

_CODE = (
    "####...####",
    "#..#.#.#..#",
    "#..#...#..#",
    "####...####",
    ".....#.....",
    ".#.#.....#.",
    "...........",
    "####...#...",
    "#..#.....#.",
    "#..#.#.....",
    "####...#..#",
)
"""A sketch of a QR code on a screen. It cannot be read."""

Picture = Callable[[Pen], None]
"""Draws in a box of 58 x 36 mm, with the origin at its lower left corner."""


class _Fit(NamedTuple):
    """Measures for all steps: the page's width within its margins and the text size, both in mm,
    and the scale of the pictures.
    """

    width: float
    text_mm: float
    pictures: float


class _Step(NamedTuple):
    title: str
    paragraphs: tuple[str, ...]
    picture: Picture


def print_instructions(pen: Pen, kit: Kit, tiling: Tiling, room: Extent, kinds: list[str]) -> None:
    """Fill the room of the current page with the instructions.

    `kinds` are the kinds of the pages that follow, see `sheets.Page`.

    Raises ValueError when the kit's notes do not fit, which is a defect of the kit.
    """
    left = room.left
    right = room.right
    top = room.top
    floor = room.bottom
    pen.bar(left, right, top)
    width = right - left
    title_width = pen.text(left, top - 16, kit.title, 16, bold=True, room=0.7 * width)
    room_beside = width - title_width - 6
    pen.text(right, top - 16, say("Print, cut, glue, play"), 5.0, anchor="right", room=room_beside)
    pen.sign(left, top - 40, width, 18, words=say("Print at 100 % on matt paper"))
    steps = tuple(_steps(kit, tiling, kinds))
    y = top - 44.0
    fit, spare = _largest_fit(kit, steps, width, y - floor)
    scale = fit.pictures
    # the spare height goes between the steps, up to a limit
    gap = min(6.0, spare / len(steps))
    for number, step in enumerate(steps, start=1):
        pen.line((left, y), (right, y), width=0.5)
        with pen.at(left, y):
            height = _print_text(pen, number, step, fit)
        picture_y = y - _PICTURE_HEIGHT * scale - 3
        with pen.at(right - _PICTURE_WIDTH * scale, picture_y, scale=scale):
            step.picture(pen)
        y -= height + gap


def _largest_fit(
    kit: Kit, steps: tuple[_Step, ...], width: float, height: float
) -> tuple[_Fit, float]:
    """Return the largest measures that fit, and the spare height."""
    # each try is drawn on a page that is thrown away
    scratch = Pen("")
    # pictures shrink before the text does
    for text_mm, pictures in product(_TEXT_SIZES_MM, _PICTURE_SCALES):
        fit = _Fit(width, text_mm, pictures)
        spare = height - sum(_print_text(scratch, 0, step, fit) for step in steps)
        if spare >= 0:
            return fit, spare
    raise ValueError(
        f"the notes in the kit of {kit.game} do not fit the page of instructions: make them shorter"
    )


def _print_text(pen: Pen, number: int, step: _Step, fit: _Fit) -> float:
    """Draw a step's text below its rule: big figure, title and paragraphs. The origin is the left
    end of the rule.

    Return the height of the step, including its picture.
    """
    pen.text(0, -3 - 0.72 * _FIGURE_MM, str(number), _FIGURE_MM, bold=True)
    y = pen.paragraph(_TEXT_X, -2.2, fit.width - _TEXT_X, step.title, _HEAD_MM, bold=True)
    for words in step.paragraphs:
        y = pen.paragraph(
            _TEXT_X,
            y,
            fit.width - _TEXT_X - _PICTURE_WIDTH * fit.pictures - 6,
            words,
            fit.text_mm,
        )
        y -= 1.5
    return max(2.3 - y, _PICTURE_HEIGHT * fit.pictures + 6)


def _steps(kit: Kit, tiling: Tiling, kinds: list[str]) -> Iterator[_Step]:
    yield _Step(say("Print this file"), _PRINT, partial(_sheets_picture, kinds=kinds))
    joining: tuple[str, ...] = _WHOLE if tiling.pages == 1 else _JOIN
    if tiling.pages == 1:
        title = say("Cut out the board, one page")
    else:
        title = say_n("Join the board, {n} page", "Join the board, {n} pages", tiling.pages)
    if kit.deck:
        joining = (*joining, _PLACES)
    yield _Step(title, joining, partial(_board_picture, kit=kit, tiling=tiling))
    notes = kit.notes
    if kit.deck:
        # the instructions are page 1, so the pages that follow start at 2
        first = kinds.index("cards") + 2
        last = first + kinds.count("cards") + kinds.count("backs") - 1
        deck = kit.deck
        both_sides = say(
            "Pages {first} to {last} are cards, each page followed by its backs: print only these "
            "double-sided on strong matt paper, flipped on the long edge. Cut from cross to cross: "
            "neighbouring cards share an edge.",
            first=first,
            last=last,
        )
        one_side = say(
            "Or print only every other page from {first} on, and put each card into a matt sleeve "
            "in front of an old playing card. A lost card can be printed again; a card that is on "
            "the table twice is refused.",
            first=first,
        )
        title = say_n("Make the {n} card", "Make the {n} cards", len(deck.cards))
        yield _Step(title, (both_sides, one_side), partial(_card_picture, deck=deck))
        laying = say(
            "The first card goes on its outline at your edge, each next one on top of it and "
            "{step:g} mm farther from you: marks in the lane show the steps. Tilted or upside down "
            "does no harm.",
            step=deck.step_mm,
        )
        fan = partial(_fan_picture, deck=deck)
        yield _Step(say("Lay cards open in a fan"), (laying, *notes), fan)
        notes = ()
    if kit.pieces:
        yield _Step(say("Make the pieces"), (_CUT, *notes), partial(_piece_picture, kit=kit))
    yield _Step(say("Place the camera"), _CAMERA, _camera_picture)
    setting_up = _SET_UP_PIECES if kit.pieces or not kit.deck else _SET_UP_CARDS
    yield _Step(say("Start"), (_SWITCH_ON, setting_up), _start_picture)


def _sheets_picture(pen: Pen, kinds: list[str]) -> None:
    """Draw the pages that follow in their order: a small pile for each kind, with its page numbers
    and its name.
    """
    # backs belong to their cards
    names = ["cards" if kind == "backs" else kind for kind in kinds]
    numbered = groupby(enumerate(names, start=2), key=itemgetter(1))
    piles = [(name, [number for number, _ in pages]) for name, pages in numbered]
    wide, high, apart = 14.0, 19.0, 5.5
    scale = min(1.0, _PICTURE_WIDTH / (len(piles) * (wide + apart)))
    with pen.at(_PICTURE_WIDTH, 33 * (1 - scale), scale=scale):
        x = apart / 2 - len(piles) * (wide + apart)
        for kind, pages in piles:
            # from back to front, at most three sheets of a pile
            for back in range(min(2, len(pages) - 1), -1, -1):
                step = 0.9 * back
                pen.rectangle(x + step, 12 + step, wide, high, fill=WHITE, stroke_mm=0.35)
            with pen.at(x, 12):
                _sheet(pen, kind, wide, high)
            numbers = str(pages[0]) if len(pages) == 1 else f"{pages[0]}-{pages[-1]}"
            pen.label(x + wide / 2, 6.6, numbers, 4.2)
            pen.text(x + wide / 2, 2.6, _KINDS[kind], 2.8, anchor="middle", room=wide + apart - 1)
            x += wide + apart


def _sheet(pen: Pen, kind: str, wide: float, high: float) -> None:
    """Draw a thumbnail of a page of this kind, with its lower left corner at the origin."""
    size, gap, columns, rows = _SHEET_CELLS[kind]
    tall = size if kind in ("board", "pieces") else 1.4 * size
    left = (wide - columns * (size + gap) + gap) / 2
    low = (high - rows * (tall + gap) + gap) / 2
    for column, row in product(range(columns), range(rows)):
        x = left + column * (size + gap)
        y = low + row * (tall + gap)
        fills = {"pieces": INK, "cards": HATCH if (column + row) % 2 else None}
        pen.rectangle(x, y, size, tall, fill=fills.get(kind), stroke_mm=0.25)
        if kind == "pieces":
            pen.rectangle(x + 0.8, y + 0.8, 0.7, 0.7, fill=WHITE)


def _start_picture(pen: Pen) -> None:
    """Draw a phone held over the code on a screen."""
    # the screen and its foot, the phone and its screen
    for x, y, wide, high, line in (
        (4, 5, 34, 22, 0.9),
        (16, 1.5, 10, 3.5, 0.0),
        (43, 6, 14, 26, 0.9),
        (45, 20, 10, 8, 0.5),
    ):
        pen.rectangle(x, y, wide, high, fill=WHITE if line else INK, stroke_mm=line)
    pen.shape((5, 6.2), (35, 6.2), (37, 8.2), (35, 10.2), (5, 10.2), fill=SIGN)
    pen.modules([bytes(sign == "#" for sign in row) for row in _CODE], 24, 13, 11, fill=INK)
    for row in range(3):
        pen.line((7, 23 - 4 * row), (19 - 3 * row, 23 - 4 * row), width=1.0)
    for column, row in product(range(3), range(2)):
        pen.rectangle(45 + 3.5 * column, 9 + 4 * row, 3, 3, fill=RULE)
    pen.line((42, 24), (36.5, 20), width=0.35, dash=(1.2, 1.0))
    pen.line((42, 16), (36.5, 15), width=0.35, dash=(1.2, 1.0))


def _board_picture(pen: Pen, kit: Kit, tiling: Tiling) -> None:
    """Draw the whole board at a small scale, with the names of its pages."""
    whole = tiling.extent
    scale = min(_PICTURE_WIDTH / whole.width, _PICTURE_HEIGHT / whole.height)
    with pen.at(_PICTURE_WIDTH - whole.right * scale, -whole.bottom * scale, scale=scale):
        pen.rectangle(whole.left, whole.bottom, whole.width, whole.height, stroke_mm=0.3 / scale)
        board = kit.board
        wide = board.square_mm
        deep = board.depth_mm or board.square_mm
        for square in board.squares:
            pen.box(*board.centre_mm(square), wide, deep, fill=TILE_2, stroke_mm=0.15 / scale)
        # plain squares, so that a camera does not take this for a board
        for x, y in board.corner_centres_mm.values():
            pen.box(x, y, board.corner_mm, board.corner_mm, fill=INK)
        cuts = [((x, whole.bottom), (x, whole.top)) for x in tiling.cuts_x]
        cuts += [((whole.left, y), (whole.right, y)) for y in tiling.cuts_y]
        for start, end in cuts:
            pen.line(start, end, width=1.0 / scale, colour=WHITE)
            pen.line(start, end, width=0.5 / scale)
        for window in tiling.windows if tiling.pages > 1 else ():
            size = min(6.0 / scale, 0.35 * window.core.width)
            with pen.at(*window.core.centre):
                pen.box(0, 0, 2 * size, 1.4 * size, fill=WHITE)
                pen.label(0, -0.36 * size, window.label, size)


def _piece_picture(pen: Pen, kit: Kit) -> None:
    """Draw a tag glued on its block, seen from the front."""
    face = kit.face(kit.pieces[0][0])
    side = side_of(kit, face) or kit.sides[SEATS[0]]
    size, x, low = 30.0, 12.0, 1.0
    # in proportion to a tag, which has 7 modules and one of white at each side
    high = max(1.5, min(14.0, size * face.height_mm / (kit.tag_mm * 9 / 7)))
    right = x + size
    top = low + high
    pen.rectangle(x, low, size, high, fill=WHITE, stroke_mm=0.4)
    if high >= 6:
        picture = high - 1.4
        pen.drawing(face.drawing, x + size / 2, low + high / 2, picture, side)
    # the right side of the block, slanted like its top
    lean = 0.45
    back_x = right + lean * size
    rise = 0.5 * size
    corners = ((right, low), (back_x, low + rise), (back_x, top + rise), (right, top))
    pen.shape(*corners, fill=RULE)
    pen.line(*corners, corners[0], width=0.4)
    with pen.at(x, top, lean=lean):
        pen.rectangle(0, 0, size, size, fill=WHITE)
        pen.rim(size, 1.4, side, dotted=face.seat is SEATS[1])
        # a white ring keeps a camera from taking the picture for the piece: no marker has one
        for share, fill in ((1.0, INK), (4 / 6, WHITE), (2 / 6, INK)):
            ring = share * 0.7 * size
            pen.box(size / 2, size / 2, ring, ring, fill=fill)


def _card_picture(pen: Pen, deck: Deck) -> None:
    """Draw a card and its back, with the crosses along which to cut them out."""
    scale = (_PICTURE_HEIGHT - 5) / deck.height_mm
    wide = deck.width_mm * scale
    high = deck.height_mm * scale
    apart = 4.0
    left = _PICTURE_WIDTH - 1.5 - 2 * wide - apart
    low = 2.5
    for x in (left, left + wide, left + wide + apart, left + 2 * wide + apart):
        for y in (low, low + high):
            pen.hairline((x - 1.5, y), (x + 1.5, y))
            pen.hairline((x, y - 1.5), (x, y + 1.5))
    with pen.at(left, low, scale=scale):
        _card(pen, deck, len(deck.cards) // 2)
    with pen.at(left + wide + apart, low, scale=scale):
        pen.shutter(deck.width_mm, deck.height_mm)


def _fan_picture(pen: Pen, deck: Deck) -> None:
    """Draw four open cards of one stack, seen from the side of the player who laid them. That
    player sits at the left.
    """
    count = min(4, len(deck.cards))
    long = deck.height_mm + (count - 1) * deck.step_mm
    scale = min(_PICTURE_WIDTH / long, (_PICTURE_HEIGHT - 8) / deck.width_mm)
    with pen.at(_PICTURE_WIDTH - long * scale, _PICTURE_HEIGHT, turn_deg=-90, scale=scale):
        for number in range(count):
            with pen.at(0, number * deck.step_mm):
                _card(pen, deck, 19 * number % len(deck.cards))  # cards of several suits and values
    left = _PICTURE_WIDTH - long * scale
    width = pen.text(left, 1.2, say("your edge"), 3.4, room=32)
    pen.line((left + width + 3, 2.4), (_PICTURE_WIDTH - 4, 2.4), width=0.8)
    pen.shape((_PICTURE_WIDTH - 5, 0.4), (_PICTURE_WIDTH - 5, 4.4), (_PICTURE_WIDTH, 2.4))


def _card(pen: Pen, deck: Deck, number: int) -> None:
    """Draw a card of the deck on white. A camera does not take it for a real one."""
    pen.rectangle(0, 0, deck.width_mm, deck.height_mm, fill=WHITE, stroke_mm=0.8)
    print_card(pen, deck, deck.cards[number], readable=False)


def _camera_picture(pen: Pen) -> None:
    """Draw table, board and camera from the side."""
    pen.line((0, 3), (58, 3), width=1.2)
    pen.line((6, 4.3), (40, 4.3), width=1.4, colour=INK_2)
    pen.line((54, 3), (54, 31), (46, 33), width=0.8)
    lens = (44.0, 31.6)
    for x in (2.0, 44.0):
        pen.line(lens, (x, 4.0), width=0.3, dash=(1.2, 1.0))
    pen.shape((42, 33.2), (47, 36), (49, 33.4), (44, 30.6))
    pen.text(23, 6.4, say("board"), 3.4, anchor="middle")
    pen.text(40, 33.5, say("camera"), 3.4, anchor="right")
