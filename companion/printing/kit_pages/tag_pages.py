"""The pages with a kit's pieces: tags to cut out, in rows like words, and below them the other
blocks to print.

A tag with one face folds down over all four sides of a high block. A tag with two faces folds
around its piece, with the other face below.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from companion.core.i18n import say
from companion.core.kit import SEATS, Face, Kit
from companion.printing.kit_pages.board_pages import seat_words
from companion.printing.kit_pages.tag_faces import (
    MIN_APRON_MM,
    Tag,
    print_picture,
    print_top,
)
from companion.printing.pdf_pen import DIGIT, INK, WHITE, Pen, broken
from companion.printing.tiling import Extent

_CELL_GAP_MM = 2.4
_HEAD_MM, _SECTION_MM, _BLOCK_GAP_MM = 20.0, 9.0, 6.0


@dataclass(frozen=True)
class Block:
    """Something as wide as the page that is never split between two pages.

    `height` is in mm. `names` are the things on it, see `sheets.Page`. `draw` gets the height that
    the block has, with the origin at the lower left. A block that `grows` takes all the height left
    below it, on every page with room for it.
    """

    height: float
    names: tuple[str, ...]
    draw: Callable[[Pen, float], None]
    grows: bool = False


@dataclass
class TagPage:
    """The contents of one page: blocks with the y of their lower edges.

    `has_tags` is whether there are rows of tags among them. `free_mm` is the height left at the
    bottom.
    """

    free_mm: float
    has_tags: bool
    blocks: list[tuple[float, Block]] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of everything on the page."""
        return tuple(name for _, block in self.blocks for name in block.names)

    def add(self, block: Block, gap: float) -> None:
        """Place a block below the others, after a gap."""
        self.free_mm -= gap + block.height
        self.blocks.append((self.free_mm, block))


def tag_pages(kit: Kit, blocks: Iterable[Block], room: Extent) -> list[TagPage]:
    """Return pages with rows of all tags in their order, and each block on the first page with
    room.
    """
    empty = room.height - _HEAD_MM
    pages: list[TagPage] = []
    section = ""
    for title, row in _rows(kit, room.width):
        height = max(tag.height for tag in row)
        head = 0.0 if title == section else _SECTION_MM
        if pages:
            # a row keeps a gap to the one above
            pages[-1].free_mm -= _CELL_GAP_MM / 2
        if not pages or pages[-1].free_mm < head + height:
            pages.append(TagPage(empty, has_tags=True))
            head = _SECTION_MM
        names = tuple(face.name for tag in row for face, _ in tag.faces)
        draw = partial(
            _print_row,
            row=row,
            width=room.width,
            heading=title if head else "",
        )
        pages[-1].add(Block(height, names, draw), head)
        section = title

    for block in blocks:
        # the first page with room, not the last, to fill gaps at the foot of earlier pages
        roomy = [page for page in pages if page.free_mm >= block.height + _BLOCK_GAP_MM]
        if not roomy:
            roomy = [TagPage(empty, has_tags=False)]
            pages += roomy
        for page in roomy if block.grows else roomy[:1]:
            page.add(block, _BLOCK_GAP_MM)

    for page in pages:
        if page.blocks and page.blocks[-1][1].grows:
            y, block = page.blocks[-1]
            page.blocks[-1] = (y - page.free_mm, replace(block, height=block.height + page.free_mm))
    return pages


def _rows(kit: Kit, width: float) -> Iterator[tuple[str, list[Tag]]]:
    """Yield all pieces in rows, each with the title of its section, South's first.

    Equal pieces take the markers of their face in turn. Raises ValueError when two would have to
    share one.
    """
    for name, number in Counter(name for piece in kit.pieces for name in piece).items():
        if number > len(kit.face(name).markers):
            raise ValueError(f"the kit of {kit.game} has more pieces “{name}” than markers for it")
    for seat in (*SEATS, None):
        section = seat_words(kit, seat) if seat else say("For both")
        row: list[Tag] = []
        x = 0.0
        for faces in kit.tags if kit.pieces else ():
            if faces[0][0].seat is not seat:
                continue
            tag = Tag(kit, faces)
            if row and x + tag.width > width:
                yield section, row
                row, x = [], 0.0
            row.append(tag)
            x += tag.width + _CELL_GAP_MM
        if row:
            yield section, row


def print_tag_page(pen: Pen, page: TagPage, kit: Kit, title: str, room: Extent) -> None:
    """Draw one page of tags and blocks with its headings."""
    words = say("{game}: cut along thin lines, fold along dashes", game=kit.title)
    pen.head(title, words)
    for y, block in page.blocks:
        with pen.at(room.left, room.bottom + y):
            block.draw(pen, block.height)


def _print_row(pen: Pen, height: float, *, row: list[Tag], width: float, heading: str) -> None:
    """Draw tags side by side, below the title of their section if it starts here."""
    if heading:
        pen.line((0, height + 7.2), (width, height + 7.2), width=0.3)
        pen.text(
            0,
            height + 2.2,
            heading,
            4.2,
            bold=True,
        )
    x = 0.0
    for tag in row:
        with pen.at(x, height - tag.cut):
            _print_tag(pen, tag)
        x += tag.width + _CELL_GAP_MM


def _print_tag(pen: Pen, tag: Tag) -> None:
    """Draw one cut-out, with the origin at its lower left corner. Picture and caption are below
    it.
    """
    face = tag.first
    if tag.sides:
        _lid(pen, tag)
    else:
        _leaves(pen, tag)
    if tag.picture:
        size = tag.picture - 1.2
        print_picture(
            pen,
            tag.kit,
            face,
            size,
            (tag.outer / 2, -tag.picture / 2),
        )
    # the name in at most two lines, in a smaller size if needed
    fitting = (
        size
        for size in (3.0, 2.7, 2.4, 2.1, 1.9)
        if len(broken(face.name, tag.width, size, bold=True)) <= 2
    )
    y = pen.paragraph(
        0,
        -tag.picture - 0.8,
        tag.width,
        face.name,
        next(fitting, 1.7),
        bold=True,
    )
    markers = " + ".join(str(marker) for _, marker in tag.faces)
    words = say("id {marker}, {height:g} mm high", marker=markers, height=face.height_mm)
    pen.text(
        0,
        y - 2.6,
        words,
        2.6,
        room=tag.width,
    )


def _leaves(pen: Pen, tag: Tag) -> None:
    """Draw the faces of a tag one below the other, each with its drawing, with the spine between
    them.
    """
    y = tag.cut
    for number, (face, marker) in enumerate(tag.faces):
        top = y - tag.spine if number else y
        y = top - tag.deep
        with pen.at(0, y):
            print_top(pen, tag, face, marker)
        if tag.apron:
            y -= tag.apron
            with pen.at(tag.outer / 2, y + tag.apron / 2):
                _pictures(pen, tag, face, tag.apron)
        pen.outline(0, y, tag.outer, tag.deep + tag.apron)
        if number:
            # drawn over the outlines, so that the fold lines stay dashed
            with pen.at(0, top):
                _spine(pen, tag)


def _lid(pen: Pen, tag: Tag) -> None:
    """Draw a face with four flaps that fold down over the sides of its block, each with an upright
    drawing.
    """
    side = tag.sides
    half = tag.outer / 2
    edge = half + side
    with pen.at(side, side):
        print_top(pen, tag, *tag.faces[0])
    for turn in (0, 90, 180, 270):
        with pen.at(edge, edge, turn_deg=turn):
            with pen.at(0, -half - side / 2):
                _pictures(pen, tag, tag.first, side)
            pen.hairline((-half, -half), (-half, -edge), (half, -edge), (half, -half))
            pen.fold((-half, -half), (half, -half))


def _pictures(pen: Pen, tag: Tag, face: Face, high: float) -> None:
    """Draw the drawing of a face in a strip around the origin.

    A small drawing is repeated three times, a sign is beside its letter.
    """
    # a little white above and below the drawing
    size = high - (1.2 if high >= 6 else 0.5)
    away = 0.3 * tag.outer
    if face.sign:
        for x in (-away, away):
            pen.drawing(
                face.sign,
                x,
                0,
                size,
                None,
                fill=INK,
            )
        pen.label(0, -0.4 * size, face.letter, 0.8 * size / DIGIT)
        return
    for x in (-away, 0.0, away) if high < 6 else (0.0,):
        print_picture(
            pen,
            tag.kit,
            face,
            size,
            (x, 0),
        )


def _spine(pen: Pen, tag: Tag) -> None:
    """Draw the strip between two faces that are glued around a piece, which is seen from the front,
    with its fold lines.
    """
    pen.rectangle(
        0,
        0,
        tag.outer,
        tag.spine,
        fill=WHITE,
    )
    if tag.spine >= MIN_APRON_MM:
        with pen.at(tag.outer / 2, tag.spine / 2):
            _pictures(pen, tag, tag.first, tag.spine)
    for x in (0, tag.outer):
        pen.hairline((x, 0), (x, tag.spine))
    for y in sorted({0.0, tag.spine}):
        pen.fold((-0.6, y), (tag.outer + 0.6, y))
