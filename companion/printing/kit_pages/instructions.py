"""The first page of a printed kit: how to print, join, glue, place the camera and start.

Each step has a number, a title and paragraphs at the left, and a picture at the right. A picture
has its origin at its lower left corner. At scale 1 it is as large as `_PICTURE_WIDTH_MM` and
`_PICTURE_HEIGHT_MM` say. All lengths are in mm. Coordinates without a name were chosen by eye.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby, product
from operator import itemgetter
from typing import NamedTuple

from companion.core.drawings import SIGN_COLOUR
from companion.core.i18n import say, say_n
from companion.core.kit import SEATS, Deck, Kit, Seat
from companion.printing.kit_pages.deck_pages import draw_card
from companion.printing.kit_pages.tag_faces import side_of
from companion.printing.pdf_pen import (
    DIGIT_HEIGHT_EM,
    INK,
    LEANING_SCALE,
    PALE_INK,
    RULE,
    SECOND_TONE,
    WHITE,
    Pen,
)
from companion.printing.shared_drawings import (
    SHUTTER_TONE,
    draw_bar,
    draw_rim,
    draw_shutter,
    draw_signpost,
)
from companion.printing.tiling import Rectangle, Tiling

# Text sizes, largest first. The first one is used with which all steps fit the page.
_TEXT_SIZES_MM = (4.0, 3.8, 3.6, 3.4, 3.2, 3.0, 2.8, 2.6, 2.4)
# Scales of the pictures, largest first. All of them are tried before a smaller text is.
_PICTURE_SCALES = (1.0, 0.85, 0.7, 0.6)
# Font size of a step's title.
_TITLE_MM = 6.4
# Font size of a step's number.
_NUMBER_MM = 14.0
# Left edge of a step's text.
_TEXT_X_MM = 16.0
# Width and height of a step's picture at scale 1.
_PICTURE_WIDTH_MM = 58.0
_PICTURE_HEIGHT_MM = 36.0

# Paragraphs of the steps, by what people have to do.
_PRINT = (
    say(
        "Matt white paper of 160 to 200 g. In the print dialogue choose 100 % or “actual size”, "
        "never “fit to page”. Then measure the black and white bar below: it must be 100 mm long."
    ),
    say("Glossy paper and plastic film reflect the lamp, and the camera cannot read through that."),
)
_CUT_OUT_BOARD = (
    say(
        "Cut along the thin line around the board and glue it onto stiff card so that it lies flat."
    ),
)
_JOIN_PAGES = (
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
_CUT_OUT_TAGS = say(
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
    "table screen shows. Phones scan its code."
)
_SET_UP_PIECES = say(
    "Lay the board in view of the camera and set up the pieces as the screen says."
)
_SET_UP_CARDS = say("Lay the board in view of the camera and set up the cards as the screen says.")
_PLACES = say(
    "Cut out the places for piles as well. They lie beside the board, where the camera need not "
    "see them."
)
_KIND_NAMES = {
    "board": say("board"),
    "pieces": say("pieces"),
    "extras": say("for the table"),
    "places": say("piles"),
    "cards": say("cards"),
}

# What the thumbnail of each kind of page shows, as a grid of cells. In this order: the width of a
# cell and the gap between cells in mm, the number of columns, and the number of rows.
_THUMBNAIL_CELLS = {
    "board": (3.6, 0.0, 3, 4),
    "pieces": (3.0, 0.8, 3, 3),
    "extras": (10.0, 1.4, 1, 1),
    "places": (4.6, 1.4, 2, 2),
    "cards": (3.4, 0.6, 3, 3),
}

# A sketch of a QR code that cannot be read. Each # is a black module.
_CODE_SKETCH = (
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

# Draws the picture of a step.
Picture = Callable[[Pen], None]


class _Sizes(NamedTuple):
    """Sizes that all steps share."""

    width_mm: float
    """Width of the page within its margins."""
    text_mm: float
    """Font size of the paragraphs."""
    picture_scale: float
    """Scale of the pictures, at most 1."""


class _Step(NamedTuple):
    """A step of the instructions."""

    title: str
    paragraphs: tuple[str, ...]
    picture: Picture


def draw_instructions(
    pen: Pen, kit: Kit, tiling: Tiling, area: Rectangle, kinds: list[str]
) -> None:
    """Fill the area of the current page with the instructions.

    `kinds` are the kinds of the pages that follow, see `sheets.Page`. Raises ValueError if the
    kit's notes are too long for the page, which is a mistake in the kit.
    """
    left = area.left
    right = area.right
    top = area.top
    draw_bar(pen, left, right, top)
    width = area.width
    title_width = pen.text(left, top - 16, kit.title, 16, bold=True, max_width_mm=0.7 * width)
    pen.text(
        right,
        top - 16,
        say("Print, cut, glue, play"),
        5.0,
        anchor="right",
        max_width_mm=width - title_width - 6,
    )
    draw_signpost(pen, left, top - 40, width, 18, words=say("Print at 100 % on matt paper"))
    steps = tuple(_steps(kit, tiling, kinds))
    y = top - 44.0
    sizes, spare_height = _largest_sizes(kit, steps, width, y - area.bottom)
    scale = sizes.picture_scale
    # the spare height is spread between the steps, up to a limit
    gap = min(6.0, spare_height / len(steps))
    for number, step in enumerate(steps, start=1):
        pen.line((left, y), (right, y), stroke_mm=0.5)
        with pen.at(left, y):
            height = _draw_step_text(pen, number, step, sizes)
        picture_y = y - _PICTURE_HEIGHT_MM * scale - 3
        with pen.at(right - _PICTURE_WIDTH_MM * scale, picture_y, scale=scale):
            step.picture(pen)
        y -= height + gap


def _largest_sizes(
    kit: Kit, steps: tuple[_Step, ...], width: float, height: float
) -> tuple[_Sizes, float]:
    """Return the largest sizes with which all steps fit this height, and the height left over.

    Raises ValueError if they do not fit with the smallest sizes.
    """
    # each attempt is drawn with a pen whose document is thrown away
    scratch_pen = Pen("")
    # pictures shrink before the text does
    for text_mm, picture_scale in product(_TEXT_SIZES_MM, _PICTURE_SCALES):
        sizes = _Sizes(width, text_mm, picture_scale)
        steps_height = sum(_draw_step_text(scratch_pen, 0, step, sizes) for step in steps)
        if steps_height <= height:
            return sizes, height - steps_height
    raise ValueError(
        f"the notes in the kit of {kit.game} do not fit the page of instructions: make them shorter"
    )


def _draw_step_text(pen: Pen, number: int, step: _Step, sizes: _Sizes) -> float:
    """Draw a step's text: a big number, the title and the paragraphs.

    The origin is at the upper left of the step. Return the height of the step with its picture.
    """
    text_width = sizes.width_mm - _TEXT_X_MM
    picture_width = _PICTURE_WIDTH_MM * sizes.picture_scale
    pen.text(0, -3 - DIGIT_HEIGHT_EM * _NUMBER_MM, str(number), _NUMBER_MM, bold=True)
    y = pen.paragraph(_TEXT_X_MM, -2.2, text_width, step.title, _TITLE_MM, bold=True)
    for words in step.paragraphs:
        y = pen.paragraph(_TEXT_X_MM, y, text_width - picture_width - 6, words, sizes.text_mm)
        y -= 1.5
    return max(2.3 - y, _PICTURE_HEIGHT_MM * sizes.picture_scale + 6)


def _steps(kit: Kit, tiling: Tiling, kinds: list[str]) -> Iterator[_Step]:
    """Yield the steps that this kit needs, in order."""
    deck = kit.deck
    yield _Step(say("Print this file"), _PRINT, partial(_draw_page_piles, kinds=kinds))
    joining: tuple[str, ...] = _JOIN_PAGES
    if tiling.page_count == 1:
        joining = _CUT_OUT_BOARD
        title = say("Cut out the board, one page")
    else:
        title = say_n("Join the board, {n} page", "Join the board, {n} pages", tiling.page_count)
    if deck:
        joining = (*joining, _PLACES)
    yield _Step(title, joining, partial(_draw_small_board, kit=kit, tiling=tiling))
    notes = kit.notes
    if deck:
        # the instructions are page 1, so the pages that follow start at 2
        first = kinds.index("cards") + 2
        last = first + kinds.count("cards") + kinds.count("backs") - 1
        both_sides = say(
            "Pages {first} to {last} are cards, each page followed by its backs: print only these "
            "double-sided on strong matt paper, flipped on the long edge. Cut from cross to cross: "
            "neighbouring cards share an edge.",
            first=first,
            last=last,
        )
        one_side = say(
            "Or print only every other page from {first} on, and put each card into a matt sleeve "
            "in front of an old playing card. A lost card can be printed again. A card that is on "
            "the table twice is refused.",
            first=first,
        )
        title = say_n("Make the {n} card", "Make the {n} cards", len(deck.cards))
        yield _Step(title, (both_sides, one_side), partial(_draw_card_and_back, deck=deck))
        fan_rules = say(
            "The first card goes on its outline at your edge, each next one on top of it and "
            "{step:g} mm farther from you: marks in the lane show the steps. Tilted or upside down "
            "does no harm.",
            step=deck.step_mm,
        )
        fan = partial(_draw_fan, deck=deck)
        yield _Step(say("Lay cards open in a fan"), (fan_rules, *notes), fan)
        notes = ()
    if kit.pieces:
        yield _Step(say("Make the pieces"), (_CUT_OUT_TAGS, *notes), partial(_draw_piece, kit=kit))
    yield _Step(say("Place the camera"), _CAMERA, _draw_camera)
    setting_up = _SET_UP_PIECES if kit.pieces or not deck else _SET_UP_CARDS
    yield _Step(say("Start"), (_SWITCH_ON, setting_up), _draw_phone_and_screen)


def _draw_page_piles(pen: Pen, kinds: list[str]) -> None:
    """Draw the pages that follow, in order, as small piles: one for each kind of page.

    Below each pile are its page numbers and its name.
    """
    # pages of backs are in the pile of the cards
    names = ["cards" if kind == "backs" else kind for kind in kinds]
    # the instructions are page 1
    numbered = groupby(enumerate(names, start=2), key=itemgetter(1))
    piles = [(name, [number for number, _ in pages]) for name, pages in numbered]
    width = 14.0
    height = 19.0
    gap = 5.5
    pitch = width + gap
    scale = min(1.0, _PICTURE_WIDTH_MM / (len(piles) * pitch))
    # the piles end at the right edge, and if there are many, they shrink towards the top
    with pen.at(_PICTURE_WIDTH_MM, 33 * (1 - scale), scale=scale):
        x = gap / 2 - len(piles) * pitch
        for kind, pages in piles:
            # at most three sheets of a pile are drawn, the hindmost first
            for depth in reversed(range(min(3, len(pages)))):
                shift = 0.9 * depth
                pen.rectangle(x + shift, 12 + shift, width, height, fill=WHITE, stroke_mm=0.35)
            with pen.at(x, 12):
                _draw_thumbnail(pen, kind, width, height)
            numbers = str(pages[0]) if len(pages) == 1 else f"{pages[0]}-{pages[-1]}"
            middle = x + width / 2
            name = _KIND_NAMES[kind]
            pen.centred_bold_text(middle, 6.6, numbers, 4.2)
            pen.text(middle, 2.6, name, 2.8, anchor="middle", max_width_mm=pitch - 1)
            x += pitch


def _draw_thumbnail(pen: Pen, kind: str, width: float, height: float) -> None:
    """Draw a thumbnail of a page of this kind, with its lower left corner at the origin."""
    cell_width, gap, columns, rows = _THUMBNAIL_CELLS[kind]
    cell_height = cell_width if kind in ("board", "pieces") else 1.4 * cell_width
    left = (width - columns * (cell_width + gap) + gap) / 2
    low = (height - rows * (cell_height + gap) + gap) / 2
    for column, row in product(range(columns), range(rows)):
        x = left + column * (cell_width + gap)
        y = low + row * (cell_height + gap)
        # every second card is a back
        fills = {"pieces": INK, "cards": SHUTTER_TONE if (column + row) % 2 else None}
        pen.rectangle(x, y, cell_width, cell_height, fill=fills.get(kind), stroke_mm=0.25)
        if kind == "pieces":
            pen.rectangle(x + 0.8, y + 0.8, 0.7, 0.7, fill=WHITE)


def _draw_phone_and_screen(pen: Pen) -> None:
    """Draw a phone held over the code on a screen."""
    # lower left corner, size, and width of the outline, or 0 for a filled rectangle
    for x, y, width, height, stroke_mm in (
        (4, 5, 34, 22, 0.9),  # the screen
        (16, 1.5, 10, 3.5, 0.0),  # its foot
        (43, 6, 14, 26, 0.9),  # the phone
        (45, 20, 10, 8, 0.5),  # its screen
    ):
        fill = WHITE if stroke_mm else INK
        pen.rectangle(x, y, width, height, fill=fill, stroke_mm=stroke_mm)
    # the sign on the screen, the code, and lines of text
    pen.polygon((5, 6.2), (35, 6.2), (37, 8.2), (35, 10.2), (5, 10.2), fill=SIGN_COLOUR)
    pen.square_code(
        [bytes(module == "#" for module in row) for row in _CODE_SKETCH], 24, 13, 11, fill=INK
    )
    for row in range(3):
        pen.line((7, 23 - 4 * row), (19 - 3 * row, 23 - 4 * row), stroke_mm=1.0)
    # keys of the phone, and the lines along which it sees the code
    for column, row in product(range(3), range(2)):
        pen.rectangle(45 + 3.5 * column, 9 + 4 * row, 3, 3, fill=RULE)
    pen.line((42, 24), (36.5, 20), stroke_mm=0.35, dash_mm=(1.2, 1.0))
    pen.line((42, 16), (36.5, 15), stroke_mm=0.35, dash_mm=(1.2, 1.0))


def _draw_small_board(pen: Pen, kit: Kit, tiling: Tiling) -> None:
    """Draw the whole board at a small scale, with the names of its pages."""
    extent = tiling.extent
    scale = min(_PICTURE_WIDTH_MM / extent.width, _PICTURE_HEIGHT_MM / extent.height)
    # widths of lines and sizes of labels are divided by the scale, so that they are not scaled down
    with pen.at(_PICTURE_WIDTH_MM - extent.right * scale, -extent.bottom * scale, scale=scale):
        pen.rectangle(
            extent.left, extent.bottom, extent.width, extent.height, stroke_mm=0.3 / scale
        )
        board = kit.board
        width = board.square_mm
        depth = board.depth_mm or board.square_mm
        for square in board.squares:
            x, y = board.centre_mm(square)
            pen.centred_rectangle(x, y, width, depth, fill=SECOND_TONE, stroke_mm=0.15 / scale)
        # plain squares instead of markers, so that no camera takes this for a board
        for x, y in board.corner_centres_mm.values():
            pen.centred_rectangle(x, y, board.corner_mm, board.corner_mm, fill=INK)
        cuts = [((x, extent.bottom), (x, extent.top)) for x in tiling.joints_x]
        cuts += [((extent.left, y), (extent.right, y)) for y in tiling.joints_y]
        for start, end in cuts:
            pen.line(start, end, stroke_mm=1.0 / scale, colour=WHITE)
            pen.line(start, end, stroke_mm=0.5 / scale)
        if tiling.page_count == 1:
            return
        for board_page in tiling.pages:
            size = min(6.0 / scale, 0.35 * board_page.core.width)
            with pen.at(*board_page.core.centre):
                pen.centred_rectangle(0, 0, 2 * size, 1.4 * size, fill=WHITE)
                pen.centred_bold_text(0, -0.36 * size, board_page.label, size)


def _draw_piece(pen: Pen, kit: Kit) -> None:
    """Draw a tag glued on its block, seen from the front."""
    face = kit.face(kit.pieces[0][0])
    side = side_of(kit, face) or kit.sides[SEATS[0]]
    width = 30.0
    left = 12.0
    low = 1.0
    # a tag is as wide as its marker, which has 7 modules, with a white module on either side
    tag_width_mm = kit.tag_mm * 9 / 7
    height = max(1.5, min(14.0, width * face.height_mm / tag_width_mm))
    right = left + width
    top = low + height
    pen.rectangle(left, low, width, height, fill=WHITE, stroke_mm=0.4)
    if height >= 6:
        pen.drawing(face.drawing, left + width / 2, low + height / 2, height - 1.4, side)
    # the right side of the block, slanted like its top
    lean = 0.45
    back_x = right + lean * width
    rise = LEANING_SCALE * width
    corners = ((right, low), (back_x, low + rise), (back_x, top + rise), (right, top))
    pen.polygon(*corners, fill=RULE)
    pen.line(*corners, corners[0], stroke_mm=0.4)
    # the tag on top
    with pen.at(left, top, lean=lean):
        pen.rectangle(0, 0, width, width, fill=WHITE)
        draw_rim(pen, width, 1.4, side, dotted=face.seat is Seat.NORTH)
        # a white ring instead of a marker, so that no camera takes the picture for the piece
        for share, fill in ((1.0, INK), (4 / 6, WHITE), (2 / 6, INK)):
            ring_mm = share * 0.7 * width
            pen.centred_rectangle(width / 2, width / 2, ring_mm, ring_mm, fill=fill)


def _draw_card_and_back(pen: Pen, deck: Deck) -> None:
    """Draw a card and its back, with the crosses along which to cut them out."""
    scale = (_PICTURE_HEIGHT_MM - 5) / deck.height_mm
    width = deck.width_mm * scale
    height = deck.height_mm * scale
    gap = 4.0
    left = _PICTURE_WIDTH_MM - 1.5 - 2 * width - gap
    back_left = left + width + gap
    low = 2.5
    for x in (left, left + width, back_left, back_left + width):
        for y in (low, low + height):
            pen.hairline((x - 1.5, y), (x + 1.5, y))
            pen.hairline((x, y - 1.5), (x, y + 1.5))
    with pen.at(left, low, scale=scale):
        _draw_unreadable_card(pen, deck, len(deck.cards) // 2)
    with pen.at(back_left, low, scale=scale):
        draw_shutter(pen, deck.width_mm, deck.height_mm)


def _draw_fan(pen: Pen, deck: Deck) -> None:
    """Draw a fan of four open cards. The player who laid them sits at the left."""
    count = min(4, len(deck.cards))
    length = deck.height_mm + (count - 1) * deck.step_mm
    scale = min(_PICTURE_WIDTH_MM / length, (_PICTURE_HEIGHT_MM - 8) / deck.width_mm)
    left = _PICTURE_WIDTH_MM - length * scale
    tip = _PICTURE_WIDTH_MM
    with pen.at(left, _PICTURE_HEIGHT_MM, turn_deg=-90, scale=scale):
        for index in range(count):
            with pen.at(0, index * deck.step_mm):
                # every 19th card of the deck, so that several suits and values are shown
                _draw_unreadable_card(pen, deck, 19 * index % len(deck.cards))
    # an arrow from the player's edge in the direction in which the fan grows
    width = pen.text(left, 1.2, say("your edge"), 3.4, max_width_mm=32)
    pen.line((left + width + 3, 2.4), (tip - 4, 2.4), stroke_mm=0.8)
    pen.polygon((tip - 5, 0.4), (tip - 5, 4.4), (tip, 2.4))


def _draw_unreadable_card(pen: Pen, deck: Deck, index: int) -> None:
    """Draw a card of the deck without its marker, so that no camera takes it for a real one."""
    pen.rectangle(0, 0, deck.width_mm, deck.height_mm, fill=WHITE, stroke_mm=0.8)
    draw_card(pen, deck, deck.cards[index], readable=False)


def _draw_camera(pen: Pen) -> None:
    """Draw table, board and camera from the side."""
    pen.line((0, 3), (58, 3), stroke_mm=1.2)
    pen.line((6, 4.3), (40, 4.3), stroke_mm=1.4, colour=PALE_INK)
    pen.line((54, 3), (54, 31), (46, 33), stroke_mm=0.8)
    lens = (44.0, 31.6)
    for x in (2.0, 44.0):
        pen.line(lens, (x, 4.0), stroke_mm=0.3, dash_mm=(1.2, 1.0))
    pen.polygon((42, 33.2), (47, 36), (49, 33.4), (44, 30.6))
    pen.text(23, 6.4, say("board"), 3.4, anchor="middle")
    pen.text(40, 33.5, say("camera"), 3.4, anchor="right")
