"""The printable kit of a game: instructions, the board on as many pages as it needs, and the tags of all pieces.

True millimetres on A4 or Letter, vectors only, a 100 mm ruler on every page. Equal input gives equal bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, get_args

from companion.core.errors import Malformed, SystemTrouble
from companion.core.i18n import LANGUAGES, say, speaking
from companion.core.kit import SEATS, Face, Kit
from companion.printing.board_pages import print_board, seat_words
from companion.printing.deck_pages import (
    card_grid,
    part_title,
    pile_parts,
    print_backs,
    print_fronts,
    print_part,
)
from companion.printing.tag_faces import print_big_face, print_face, print_picture
from companion.printing.tiling import Extent, Tiling, Window, quiet_mm, tile_board
from vision.pieces.tags import has_wide_rim, tags_of, top_mm

if TYPE_CHECKING:
    from companion.printing.pdf_pen import Pen

Paper = Literal["a4", "letter"]
SIZES_MM: dict[str, tuple[float, float]] = {"a4": (210.0, 297.0), "letter": (215.9, 279.4)}
"""Upright width and height, ISO 216 and ANSI/ASME Y14.1."""
MARGIN_MM = 7.0
"""Kept free all round: most printers leave 4 to 6.4 mm white."""
FOOT_MM = 10.0
"""Height of the band with the ruler above the lower margin."""
MAX_SPARES = 9
BACK = "back"
"""Name of a card's back."""

_LOW_FOOT_MM = 6.4
"""Height of the ruler and its words themselves: all that pages of cards leave for it."""
_RIM_MM = 1.4
_CAPTION_MM = 10.5
_PICTURE_MM = 10.0
_CELL_GAP_MM = 6.0
_FOLD_DOWN_MM = 6.0
_APRON_MM = 12.0
_LEAST_APRON_MM = 3.8
_PLAY_MM = 0.3


class SheetError(SystemTrouble):
    """The kit cannot be written."""

    kind = "sheets"


@dataclass(frozen=True)
class Sheets:
    """What was printed: `pages` in all, the board on `across` x `down` of them, and the names on each page.

    `names` has one entry a page: `("instructions",)`, `("board A1",)`, the faces whose tags are on it, places of piles,
    the names of cards, or as many `BACK`s as there are places for them. `kinds` tells each page's kind: `instructions`,
    `board`, `pieces`, `places`, `cards` or `backs`.
    """

    pages: int
    across: int
    down: int
    names: tuple[tuple[str, ...], ...]
    kinds: tuple[str, ...] = ()


def write_kit(
    kit: Kit, target: str | Path | BinaryIO, paper: Paper = "a4", spares: int = 1, language: str = "en"
) -> Sheets:
    """Write the printable kit to a path or an open binary file; `spares` is the number of extra sets of tags.

    Raises `Malformed` for an unknown paper, language or number of spares, and `SheetError` when the file cannot be
    written.
    """
    pdf, sheets = kit_sheets(kit, paper, spares, language)
    if not isinstance(target, str | Path):
        target.write(pdf)
        return sheets
    try:
        Path(target).write_bytes(pdf)
    except OSError as error:
        reason = error.strerror or error
        raise SheetError(f"{target}: cannot be written: {reason}. Choose a folder that exists and is yours") from None
    return sheets


def kit_pdf(kit: Kit, paper: Paper = "a4", spares: int = 1, language: str = "en") -> bytes:
    """The printable kit as a PDF; raises `Malformed` for an unknown paper, language or number of spares."""
    return kit_sheets(kit, paper, spares, language)[0]


def kit_sheets(kit: Kit, paper: Paper, spares: int, language: str) -> tuple[bytes, Sheets]:
    """The printable kit as a PDF, and what is on its pages; raises `Malformed` as `kit_pdf` does."""
    require_known(paper, language)
    if not 0 <= spares <= MAX_SPARES:
        raise Malformed(say("{spares} spare sets are not possible: use 0 to {most}", spares=spares, most=MAX_SPARES))
    with speaking(language):
        return _print(kit, paper, spares)


def require_known(paper: str, language: str) -> None:
    """Raises `Malformed` for a paper or a language in which nothing is printed."""
    if paper not in get_args(Paper):
        raise Malformed(say("Paper “{paper}” is unknown: use a4 or letter", paper=paper))
    if language not in LANGUAGES:
        raise Malformed(
            say("Language “{language}” is unknown: use {known}", language=language, known=", ".join(LANGUAGES))
        )


def kit_plan(kit: Kit, paper: Paper = "a4", spares: int = 1) -> Sheets:
    """What would be printed, without printing it."""
    tiling, body = _pages(kit, paper, spares)
    names = (("instructions",), *(page.names for page in body))
    return Sheets(len(names), tiling.across, tiling.down, names, ("instructions", *(page.kind for page in body)))


def _pages(kit: Kit, paper: Paper, spares: int) -> tuple[Tiling, list[_Page]]:
    """How the board is spread, and all pages below the instructions."""
    width, height = SIZES_MM[paper]
    tiling = tile_board(kit.board, width - 2 * MARGIN_MM, height - 2 * MARGIN_MM, FOOT_MM)
    tags = [*_tags(kit, spare=False), *(tag for _ in range(spares) for tag in _tags(kit, spare=True))]
    room = _room(paper, landscape=False)
    return tiling, [*_board_pages(kit, tiling, paper), *_tag_pages(kit, tags, room), *_deck_pages(kit, paper)]


def _print(kit: Kit, paper: Paper, spares: int) -> tuple[bytes, Sheets]:
    # The PDF libraries take a tenth of a second to import and are needed here only.
    from companion.printing.instructions import print_instructions  # noqa: PLC0415  imported late on purpose, see above
    from companion.printing.pdf_pen import Pen  # noqa: PLC0415  imported late on purpose, see above

    tiling, body = _pages(kit, paper, spares)
    sheets = kit_plan(kit, paper, spares)

    pen = Pen(*SIZES_MM[paper], say("{game}: board and pieces", game=kit.title))
    pen.page()
    room = _room(paper, landscape=False)
    print_instructions(pen, kit, tiling, room, spares=spares > 0, kinds=sheets.kinds[1:])
    _foot(pen, say("{game}: instructions", game=kit.title), 1, sheets.pages)
    for number, page in enumerate(body, start=2):
        pen.page(page.landscape)
        page.draw(pen)
        _foot(pen, say("{game}: {sheet}", game=kit.title, sheet=page.title), number, sheets.pages)
    return pen.bytes(), sheets


@dataclass(frozen=True)
class _Page:
    """A page below the instructions: its kind, the names of what is on it, its own, and what draws it."""

    kind: str
    names: tuple[str, ...]
    title: str
    draw: Callable[[Pen], None]
    landscape: bool = False


def _board_pages(kit: Kit, tiling: Tiling, paper: Paper) -> Iterator[_Page]:
    room = _room(paper, tiling.landscape)
    for window in tiling.windows:
        name = f"board {window.label}" if tiling.pages > 1 else "board"
        draw = partial(print_board, kit=kit, tiling=tiling, window=window, room=room)
        yield _Page("board", (name,), _board_label(tiling, window), draw, tiling.landscape)


def _tag_pages(kit: Kit, tags: list[_Tag], room: Extent) -> Iterator[_Page]:
    pages = _Flow(kit, room.width, room.height).pages(tags)
    for number, cells in enumerate(pages, start=1):
        many = say("Pieces, {number} of {pages}", number=number, pages=len(pages))
        head = say("Pieces") if len(pages) == 1 else many
        names = tuple(face.name for cell in cells for face, _ in cell.tag.faces)
        yield _Page("pieces", names, say("pieces"), partial(_tags_page, cells=cells, kit=kit, title=head))


def _deck_pages(kit: Kit, paper: Paper) -> Iterator[_Page]:
    """Places for piles, then cards and their backs in turn.

    A deck is printed once whatever the spares: a card that is on the table twice is not read.
    """
    if not (deck := kit.deck):
        return
    room = _room(paper, landscape=True)
    for part in pile_parts(kit, deck, (room.width, room.height)):
        names = tuple(str(place) for column in part for place in column)
        draw = partial(print_part, kit=kit, deck=deck, part=part, room=room)
        yield _Page("places", names, part_title(part), draw, landscape=True)
    grid = card_grid(deck, SIZES_MM[paper], MARGIN_MM, _LOW_FOOT_MM)
    fronts = grid.pages(deck)
    for number, cards in enumerate(fronts, start=1):
        names = tuple(card.name for card in cards)
        draw = partial(print_fronts, deck=deck, grid=grid, cards=cards)
        title = say("cards, {number} of {pages}", number=number, pages=len(fronts))
        yield _Page("cards", names, title, draw, grid.landscape)
        draw = partial(print_backs, grid=grid)
        title = say("backs, {number} of {pages}", number=number, pages=len(fronts))
        yield _Page("backs", (BACK,) * grid.size, title, draw, grid.landscape)


def _room(paper: Paper, landscape: bool) -> Extent:
    """What a page has within its margins and above its foot."""
    width, height = SIZES_MM[paper][:: -1 if landscape else 1]
    return Extent(MARGIN_MM, MARGIN_MM + FOOT_MM, width - MARGIN_MM, height - MARGIN_MM)


def _board_label(tiling: Tiling, window: Window) -> str:
    """Such as “board A1 of A1-B2”."""
    if tiling.pages == 1:
        return say("board")
    return say("board {page} of A1-{last}", page=window.label, last=tiling.windows[-1].label)


def _foot(pen: Pen, words: str, page: int, pages: int) -> None:
    """The ruler and the page's name, on every page at the same place."""
    pen.ruler(MARGIN_MM, MARGIN_MM)
    x, right = MARGIN_MM + 104, pen.width_mm - MARGIN_MM
    counted = say("{page} of {pages}", page=page, pages=pages)
    room = right - x - pen.text(right, MARGIN_MM + 3.3, counted, 3.2, anchor="right") - 3
    pen.text(x, MARGIN_MM + 3.3, words, 3.2, bold=True, room=room)
    pen.text(x, MARGIN_MM + 0.6, say("Print at 100 %. The black and white bar is 100 mm long."), 2.8, room=right - x)


# ---- the pieces -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tag:
    """One thing to cut out: the faces of a piece, each with the marker that this piece shows."""

    faces: tuple[tuple[Face, int], ...]
    section: str


@dataclass(frozen=True)
class _Cell:
    """A tag with its place on the page: lower left corner, mm; `heading` opens a section above it."""

    tag: _Tag
    x: float
    y: float
    heading: str | None


def _tags(kit: Kit, spare: bool) -> Iterator[_Tag]:
    """All pieces, South's first; equal pieces take their face's markers in turn."""
    _check_markers(kit)
    tags = [(faces[0][0].seat, faces) for faces in tags_of(kit)] if kit.pieces else []
    for seat in (*SEATS, None):
        owner = seat_words(kit, seat) if seat else say("For both")
        section = say("Spares: the same tags once more") if spare else owner
        yield from (_Tag(faces, section) for owner_seat, faces in tags if owner_seat is seat)


def _check_markers(kit: Kit) -> None:
    """Raises ValueError when two pieces would have to share a marker."""
    for name, number in Counter(name for piece in kit.pieces for name in piece).items():
        if number > len(kit.face(name).markers):
            raise ValueError(f"the kit of {kit.game} has more pieces “{name}” than markers for it")


class _TagSize:
    """Measures of one cut-out, mm."""

    def __init__(self, tag: _Tag, kit: Kit) -> None:
        first, square = tag.faces[0][0], kit.board.square_mm
        white = kit.tag_mm + 2 * quiet_mm(kit.tag_mm)
        self.is_big = first.size != (1, 1)
        is_wide = has_wide_rim(kit, first)
        self.folds_down = len(tag.faces) == 1 and first.height_mm >= _FOLD_DOWN_MM and not self.is_big
        self.rim = max(0.0, min(_RIM_MM, (square - white) / 2))
        if is_wide:
            self.rim = max(self.rim, (top_mm(kit, first)[0] - white) / 2)
        self.apron = min(_APRON_MM, first.height_mm) if self.folds_down else 0.0
        """Height of the drawing on the tag: down the front of a block, or flat where the square has room for it."""
        for rim in () if is_wide or self.is_big else (_RIM_MM, _RIM_MM / 2):
            flat = square - white - 2 * rim - _PLAY_MM
            if not self.apron and flat >= _LEAST_APRON_MM:
                self.rim, self.apron = rim, min(_APRON_MM, flat)
        self.outer, self.deep = (white + 2 * self.rim,) * 2
        """Width and depth of what is cut out for one face, without the drawing on it."""
        if self.is_big:
            self.outer, self.deep = top_mm(kit, first)
        self.spine = first.height_mm if len(tag.faces) > 1 and first.height_mm >= 1 else 0.0
        """Between two faces: the thickness of what lies between them."""
        self.strip = self.apron or (0.0 if self.is_big else _PICTURE_MM)
        """Height of the drawing below the marker: on the tag, or else printed below what is cut out."""
        self.width = len(tag.faces) * (self.outer + self.spine) - self.spine
        self.height = self.deep + self.strip + _CAPTION_MM


class _Flow:
    """Sets tags in rows and pages, like words."""

    _HEAD, _SECTION = 20.0, 9.0

    def __init__(self, kit: Kit, width: float, height: float) -> None:
        self._kit, self._width, self._height = kit, width, height

    def pages(self, tags: list[_Tag]) -> list[list[_Cell]]:
        """The tags of each page with their places; the origin is the lower left of the page's room."""
        pages: list[list[_Cell]] = []
        x = y = row = 0.0
        section = ""
        for tag in tags:
            size = _TagSize(tag, self._kit)
            opens = tag.section != section
            wide = max(size.width, 24.0)
            if not pages or opens or x + wide > self._width or y - size.height < 0:
                y -= row + (_CELL_GAP_MM / 2 if row else 0)
                x, row = 0.0, 0.0
                need = size.height + (self._SECTION if opens else 0)
                if not pages or y - need < 0:
                    pages.append([])
                    y, opens = self._height - self._HEAD, True
                y -= self._SECTION if opens else 0
            pages[-1].append(_Cell(tag, x, y - size.height, tag.section if opens else None))
            section = tag.section
            x += wide + _CELL_GAP_MM
            row = max(row, size.height)
        return pages


def _tags_page(pen: Pen, cells: list[_Cell], kit: Kit, title: str) -> None:
    """One page of tags with its headings."""
    left, bottom = MARGIN_MM, MARGIN_MM + FOOT_MM
    pen.head(title, say("{game}: cut along thin lines, fold along dashes", game=kit.title), MARGIN_MM)
    with pen.at(left, bottom):
        for cell in cells:
            size = _TagSize(cell.tag, kit)
            if cell.heading:
                top = cell.y + size.height
                pen.line((0, top + 7.2), (pen.width_mm - 2 * MARGIN_MM, top + 7.2), width=0.3)
                pen.text(0, top + 2.2, cell.heading, 4.2, bold=True)
            with pen.at(cell.x, cell.y + _CAPTION_MM):
                _tag(pen, cell.tag, size, kit)


def _tag(pen: Pen, tag: _Tag, size: _TagSize, kit: Kit) -> None:
    """One cut-out; the origin is its lower left corner, the captions hang below."""
    x, low = 0.0, size.strip - size.apron
    for number, (face, marker) in enumerate(tag.faces):
        side = kit.sides.get(face.seat) if face.seat else None
        with pen.at(x, size.strip):
            if size.is_big:
                print_big_face(pen, face, (size.outer, size.deep), kit.tag_mm, side)
            else:
                print_face(pen, face, size.outer, size.rim, side, letters=has_wide_rim(kit, face))
            pen.marker(marker, size.outer / 2, size.deep / 2, kit.tag_mm)
        if size.strip:
            picture = size.strip - (1.2 if size.strip >= 6 else 0.5)
            for middle in (0.2, 0.5, 0.8) if size.strip < 6 else (0.5,):  # a small drawing is seen better three times
                with pen.at(x + middle * size.outer, size.strip / 2):
                    print_picture(pen, face, picture, side)
        wide = max(size.outer, 24.0 if len(tag.faces) == 1 else 0.0)
        y = _caption(pen, x, wide, face.name)
        words = say("id {marker}, {height:g} mm high", marker=marker, height=face.height_mm)
        pen.text(x, y - 2.6, words, 2.6, room=wide)
        pen.outline(x, low, size.outer, size.deep + size.apron)
        if size.folds_down:
            pen.fold((x, size.strip), (x + size.outer, size.strip))
        x += size.outer
        if number + 1 < len(tag.faces):
            _spine(pen, x, low, size)
            x += size.spine


def _caption(pen: Pen, x: float, width: float, name: str) -> float:
    """The name of a face below its tag in two lines at most, smaller where that needs it; the y below it."""
    from companion.printing.pdf_pen import broken  # noqa: PLC0415  imported late, with the pen

    sizes = (size for size in (3.0, 2.7, 2.4, 2.1, 1.9) if len(broken(name, width, size, bold=True)) <= 2)
    return pen.paragraph(x, -0.8, width, name, next(sizes, 1.7), bold=True)


def _spine(pen: Pen, x: float, low: float, size: _TagSize) -> None:
    """The fold lines between two faces that are glued back to back round a piece."""
    height = size.outer + size.apron
    pen.rectangle(x, low, size.spine, height, fill="#FFFFFF")
    pen.hairline((x, low), (x + size.spine, low))
    pen.hairline((x, low + height), (x + size.spine, low + height))
    for fold in {x, x + size.spine}:
        pen.fold((fold, low - 0.6), (fold, low + height + 1))
