"""The pages with a kit's pieces: tags to cut out, in rows like words, and below them whatever else
has to be printed.

A tag with one face folds down over all four sides of a high block. One with two faces folds round
its piece, the other face below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from companion.core.i18n import say
from companion.core.kit import SEATS, Face, Kit
from companion.printing.kit_pages.board_pages import seat_words
from companion.printing.kit_pages.tag_faces import (
    print_big_face,
    print_face,
    print_picture,
    side_of,
)
from companion.printing.pdf_pen import DIGIT, INK, Pen, broken
from companion.printing.tiling import Extent, quiet_mm

_RIM_MM = 1.4
_CAPTION_MM = 10.5
_PICTURE_MM = 10.0
_CELL_GAP_MM = 2.4
_FOLD_DOWN_MM = 6.0
_APRON_MM = 12.0
_MIN_APRON_MM = 3.8
_PLAY_MM = 0.3
_LEAST_MM = 24.0
"""Minimum width of a cut-out with its caption."""


@dataclass(frozen=True)
class Block:
    """Something as wide as the page that is not cut by a page's end.

    `height` in mm. `names` are those of the things on it, see `Sheets.names`. `draw` is given the
    height that it has, and has its origin at the lower left. What `grows` takes all that is left
    below it, on every page that has room.
    """

    height: float
    names: tuple[str, ...]
    draw: Callable[[Pen, float], None]
    grows: bool = False


@dataclass(frozen=True)
class Tag:
    """One thing to cut out: the faces of a piece, each with the marker that this piece shows."""

    faces: tuple[tuple[Face, int], ...]
    section: str


@dataclass(frozen=True)
class Cell:
    """A tag with its place on the page: lower left corner, mm.

    `heading` opens a section above it.
    """

    tag: Tag
    x: float
    y: float
    heading: str | None


@dataclass
class TagPage:
    """What is on a page: tags, and blocks with the height of their lower edges.

    `free_mm` is left at the bottom.
    """

    cells: list[Cell] = field(default_factory=list)
    blocks: list[tuple[float, Block]] = field(default_factory=list)
    free_mm: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all that is on it."""
        faces = (face.name for cell in self.cells for face, _ in cell.tag.faces)
        return (*faces, *(name for _, block in self.blocks for name in block.names))

    def fill(self) -> None:
        """Let the lowest block have what is left, if it grows."""
        if self.blocks and self.blocks[-1][1].grows:
            y, block = self.blocks[-1]
            self.blocks[-1] = (y - self.free_mm, replace(block, height=block.height + self.free_mm))
            self.free_mm = 0.0


def tags_in(kit: Kit) -> Iterator[Tag]:
    """Yield all pieces, South's first. Equal pieces take their face's markers in turn."""
    _check_markers(kit)
    tags = [(faces[0][0].seat, faces) for faces in kit.tags] if kit.pieces else []
    for seat in (*SEATS, None):
        section = seat_words(kit, seat) if seat else say("For both")
        yield from (Tag(faces, section) for owner, faces in tags if owner is seat)


def _check_markers(kit: Kit) -> None:
    """Raise ValueError when two pieces would have to share a marker."""
    for name, number in Counter(name for piece in kit.pieces for name in piece).items():
        if number > len(kit.face(name).markers):
            raise ValueError(f"the kit of {kit.game} has more pieces “{name}” than markers for it")


class _TagSize:
    """Measures of one cut-out, mm."""

    def __init__(self, tag: Tag, kit: Kit) -> None:
        first = tag.faces[0][0]
        square = kit.board.square_mm
        white = kit.tag_mm + 2 * quiet_mm(kit.tag_mm)
        self.is_big = first.size != (1, 1)
        is_wide = kit.has_wide_rim(first)
        self.folds_down = (
            len(tag.faces) == 1 and first.height_mm >= _FOLD_DOWN_MM and not self.is_big
        )
        # a rim takes what the square leaves beside the marker and its white
        self.rim = max(0.0, min(_RIM_MM, (square - white) / 2))
        if is_wide:
            self.rim = max(self.rim, (kit.tops_mm[first.name][0] - white) / 2)
        self.apron = 0.0
        """Height of the drawing below the marker on a flat tag, where the square has room for
        it."""
        self.sides = min(_APRON_MM, first.height_mm) if self.folds_down else 0.0
        """What folds down over each side of a block."""
        # room for a drawing below the marker, with a whole rim or with half of one
        for rim in () if is_wide or self.is_big or self.sides else (_RIM_MM, _RIM_MM / 2):
            flat = square - white - 2 * rim - _PLAY_MM
            if not self.apron and flat >= _MIN_APRON_MM:
                self.rim, self.apron = rim, min(_APRON_MM, flat)
        self.outer, self.deep = (white + 2 * self.rim,) * 2
        """Width and depth of what is cut out for one face, without the drawings on it."""
        if self.is_big:
            self.outer, self.deep = kit.tops_mm[first.name]
        self.spine = first.height_mm if len(tag.faces) > 1 and first.height_mm >= 1 else 0.0
        """Between two faces: the thickness of what lies between them."""
        self.picture = (
            0.0 if self.is_big or self.sides or self.apron or len(tag.faces) > 1 else _PICTURE_MM
        )
        """Height of a drawing that stands below what is cut out, where there is none on it."""
        self.width = self.outer + 2 * self.sides
        # there is one spine less than there are faces
        self.cut = (
            len(tag.faces) * (self.deep + self.apron + self.spine) - self.spine + 2 * self.sides
        )
        """Height of what is cut out."""
        self.height = self.cut + self.picture + _CAPTION_MM


def tag_pages(
    kit: Kit, tags: Iterable[Tag], blocks: Iterable[Block], room: Extent
) -> list[TagPage]:
    """Return all tags in their order and all blocks, each on the first page that has room."""
    flow = _Flow(kit, room.width, room.height)
    for tag in tags:
        flow.add_tag(tag)
    for block in blocks:
        flow.add_block(block)
    for page in flow.pages:
        page.fill()
    return flow.pages


class _Flow:
    """Sets tags in rows and pages, like words. The origin is the lower left of a page's room."""

    HEAD, _SECTION, _BLOCK_GAP = 20.0, 9.0, 6.0

    def __init__(self, kit: Kit, width: float, height: float) -> None:
        self.pages: list[TagPage] = []
        self._kit, self._width, self._height = kit, width, height
        self._x = self._row = 0.0
        self._section = ""

    def add_tag(self, tag: Tag) -> None:
        """Place a tag beside the last one, or in a new row, or on a new page."""
        size = _TagSize(tag, self._kit)
        wide = max(size.width, _LEAST_MM)
        opens = tag.section != self._section
        # a higher tag makes its row grow into what is free below
        more = size.height - self._row
        is_beside = self.pages and not opens and self._x + wide <= self._width
        if is_beside and more <= self.pages[-1].free_mm:
            self.pages[-1].free_mm -= max(0.0, more)  # the row grows with its highest tag
            self._row = max(self._row, size.height)
        else:
            # a new row keeps its distance from the one above
            if self._row and self.pages:
                self.pages[-1].free_mm -= _CELL_GAP_MM / 2
            self._x = 0.0
            need = size.height + (self._SECTION if opens else 0)
            if not self.pages or self.pages[-1].free_mm < need:
                self._turn_over()
                opens, need = True, size.height + self._SECTION
            self.pages[-1].free_mm -= need
            self._row = size.height
        page = self.pages[-1]
        top = page.free_mm + self._row
        page.cells.append(Cell(tag, self._x, top - size.height, tag.section if opens else None))
        self._section = tag.section
        self._x += wide + _CELL_GAP_MM

    def add_block(self, block: Block) -> None:
        """Place a block below everything on the first page that has room for it.

        What grows, on every page that has.
        """
        need = block.height + self._BLOCK_GAP
        # the first page with room, not the last: gaps at the foot of earlier pages are filled
        roomy = [page for page in self.pages if page.free_mm >= need]
        if not roomy:
            self._turn_over()
            roomy = self.pages[-1:]
        for page in roomy if block.grows else roomy[:1]:
            page.free_mm -= need
            page.blocks.append((page.free_mm, block))

    def _turn_over(self) -> None:
        self.pages.append(TagPage(free_mm=self._height - self.HEAD))


def print_tag_page(
    pen: Pen, page: TagPage, kit: Kit, title: str, *, origin: tuple[float, float]
) -> None:
    """Draw one page of tags and blocks with its headings. The page's room begins at the origin."""
    left, bottom = origin
    pen.head(title, say("{game}: cut along thin lines, fold along dashes", game=kit.title), left)
    with pen.at(left, bottom):
        for cell in page.cells:
            size = _TagSize(cell.tag, kit)
            if cell.heading:
                top = cell.y + size.height
                pen.line((0, top + 7.2), (pen.width_mm - 2 * left, top + 7.2), width=0.3)
                pen.text(
                    0,
                    top + 2.2,
                    cell.heading,
                    4.2,
                    bold=True,
                )
            with pen.at(cell.x, cell.y + _CAPTION_MM + size.picture):
                _tag(pen, cell.tag, size, kit)
        for y, block in page.blocks:
            with pen.at(0, y):
                block.draw(pen, block.height)


def face_places(page: TagPage, kit: Kit) -> Iterator[tuple[int, float, float]]:
    """Yield the marker of each face on a page, and where its middle is printed, from the page's
    origin.
    """
    for cell in page.cells:
        size = _TagSize(cell.tag, kit)
        left = cell.x
        bottom = cell.y + _CAPTION_MM + size.picture
        if size.sides:
            middle = size.sides + size.outer / 2
            yield cell.tag.faces[0][1], left + middle, bottom + middle
            continue
        y = bottom + size.cut
        for number, (_, marker) in enumerate(cell.tag.faces):
            # a spine lies above every face but the first
            y -= size.deep + (size.spine if number else 0.0)
            yield marker, left + size.outer / 2, y + size.deep / 2
            y -= size.apron


def _tag(pen: Pen, tag: Tag, size: _TagSize, kit: Kit) -> None:
    """Draw one cut-out.

    The origin is its lower left corner, a picture and the caption hang below.
    """
    face = tag.faces[0][0]
    if size.sides:
        _lid(pen, tag, size, kit)
    else:
        _leaves(pen, tag, size, kit)
    if size.picture:
        with pen.at(size.outer / 2, -size.picture / 2):
            print_picture(pen, face, size.picture - 1.2, side_of(kit, face))
    wide = max(size.width, _LEAST_MM)
    y = _caption(pen, wide, face.name, -size.picture)
    markers = " + ".join(str(marker) for _, marker in tag.faces)
    words = say("id {marker}, {height:g} mm high", marker=markers, height=face.height_mm)
    pen.text(
        0,
        y - 2.6,
        words,
        2.6,
        room=wide,
    )


def _leaves(pen: Pen, tag: Tag, size: _TagSize, kit: Kit) -> None:
    """Draw the faces of a tag one below the other, each with its drawing, and what lies between
    them.
    """
    y = size.cut
    for number, (face, marker) in enumerate(tag.faces):
        top = y - size.spine if number else y
        y = top - size.deep
        with pen.at(0, y):
            _face(pen, (face, marker), size, kit)
        if size.apron:
            y -= size.apron
            with pen.at(size.outer / 2, y + size.apron / 2):
                _pictures(
                    pen,
                    face,
                    size.outer,
                    size.apron,
                    kit,
                )
        pen.outline(0, y, size.outer, size.deep + size.apron)
        if number:
            # over the outlines, so that its lines to fold along stay dashed
            with pen.at(0, top):
                _spine(pen, tag.faces[0][0], size, kit)


def _face(pen: Pen, one: tuple[Face, int], size: _TagSize, kit: Kit) -> None:
    """Draw a face with its marker, its lower left corner at the origin."""
    face, marker = one
    if size.is_big:
        top = (size.outer, size.deep)
        print_big_face(
            pen,
            face,
            top,
            kit.tag_mm,
            side_of(kit, face),
        )
    else:
        print_face(
            pen,
            kit,
            face,
            size.outer,
            size.rim,
        )
    pen.marker(marker, size.outer / 2, size.deep / 2, kit.tag_mm)


def _lid(pen: Pen, tag: Tag, size: _TagSize, kit: Kit) -> None:
    """Draw a face with four flaps that fold down over the sides of its block, each with the drawing
    upright."""
    side, outer = size.sides, size.outer
    with pen.at(side, side):
        _face(pen, tag.faces[0], size, kit)
    for turn in (0, 90, 180, 270):
        with pen.at(size.width / 2, size.width / 2, turn_deg=turn):
            with pen.at(0, -(outer + side) / 2):
                _pictures(
                    pen,
                    tag.faces[0][0],
                    outer,
                    side,
                    kit,
                )
            edge = outer / 2 + side
            half = outer / 2
            pen.hairline((-half, -half), (-half, -edge), (half, -edge), (half, -half))
            pen.fold((-half, -half), (half, -half))


def _pictures(pen: Pen, face: Face, wide: float, high: float, kit: Kit) -> None:
    """Draw a face's drawing in a strip round the origin.

    A small one three times, a sign beside its letter.
    """
    # a little white above and below the drawing
    size = high - (1.2 if high >= 6 else 0.5)
    if face.sign:
        for share in (-0.3, 0.3):
            pen.drawing(
                face.sign,
                share * wide - size / 2,
                -size / 2,
                size,
                None,
                fill=INK,
            )
        pen.label(0, -0.4 * size, face.letter, 0.8 * size / DIGIT)
        return
    for share in (-0.3, 0.0, 0.3) if high < 6 else (0.0,):
        with pen.at(share * wide, 0):
            print_picture(pen, face, size, side_of(kit, face))


def _caption(pen: Pen, width: float, name: str, below: float) -> float:
    """Return the name of a face in two lines at most, smaller where that needs it.

    The y below it.
    """
    sizes = (
        size for size in (3.0, 2.7, 2.4, 2.1, 1.9) if len(broken(name, width, size, bold=True)) <= 2
    )
    return pen.paragraph(
        0,
        below - 0.8,
        width,
        name,
        next(sizes, 1.7),
        bold=True,
    )


def _spine(pen: Pen, face: Face, size: _TagSize, kit: Kit) -> None:
    """Draw what is seen from in front between two faces that are glued round a piece, with the
    lines to fold along."""
    pen.rectangle(
        0,
        0,
        size.outer,
        size.spine,
        fill="#FFFFFF",
    )
    if size.spine >= _MIN_APRON_MM:
        with pen.at(size.outer / 2, size.spine / 2):
            _pictures(
                pen,
                face,
                size.outer,
                size.spine,
                kit,
            )
    pen.hairline((0, 0), (0, size.spine))
    pen.hairline((size.outer, 0), (size.outer, size.spine))
    for fold in sorted({0.0, size.spine}):
        pen.fold((-0.6, fold), (size.outer + 0.6, fold))
