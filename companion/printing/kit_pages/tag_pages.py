"""The pages with a kit's pieces: tags to cut out, in rows like words in a text.

Below them is what else a game prints, such as player aids.

A tag is the paper of one piece. It is cut out along its outline and glued on a block, which is the
body of the piece. A lid, for a high block, has a flap for each side of the block. Other tags have a
leaf for each face of their piece. Two leaves fold around the block.

    a lid                    two leaves

         +-------+           +-------+
         | flap  |           |  top  |    the first face with its marker
     +---+-------+---+       +-------+
     |   |  top  |   |       | spine |    covers the front of the block
     +---+-------+---+       +-------+
         |       |           |  top  |    the second face, which comes below the block
         +-------+           +-------+

A leaf may also have an apron below its top: a drawing that bends down in front of the block. What
shows on the front of a piece, on a flap, an apron or a spine, is called its front drawing.

All lengths are in mm. Offsets without a name, such as those of base lines, were chosen by eye.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from companion.core.i18n import say
from companion.core.kit import SEATS, Face, Kit
from companion.printing.kit_pages import seat_words
from companion.printing.kit_pages.tag_faces import MIN_APRON_MM, Tag, draw_picture, draw_top
from companion.printing.pdf_pen import DIGIT_HEIGHT_EM, INK, WHITE, Pen, break_lines
from companion.printing.shared_drawings import draw_head
from companion.printing.tiling import Rectangle

# Gap between two tags in a row. Rows are half as far apart, because captions separate them.
_TAG_GAP_MM = 2.4
# Height of the page's head.
_HEAD_MM = 20.0
# Height of a section's title.
_SECTION_MM = 9.0
# Gap above a part of a page that is no row of tags.
_PART_GAP_MM = 6.0
# Font sizes of a piece's name, largest first. The first one is used in which the name has at most
# two lines.
_NAME_SIZES_MM = (3.0, 2.7, 2.4, 2.1, 1.9, 1.7)
# Height below which a front drawing is drawn three times, because a small one alone would look
# lost.
_SMALL_PICTURE_MM = 6.0


class PagePart(NamedTuple):
    """A part of a page, as wide as the page, that is never split between two pages."""

    height: float
    """Height of the part, or its minimum height if it grows."""
    names: tuple[str, ...]
    """Names of the things on the part, see `sheets.Page`."""
    draw: Callable[[Pen, float], None]
    """Function that draws the part in a height, with its lower left corner at the origin."""
    grows: bool = False
    """Whether the part is drawn on every page with enough height left, and takes all of it.

    Only the last part of a page can grow.
    """


@dataclass
class TagPage:
    """The parts of one page, which is filled from the top."""

    free_mm: float
    """Height that is still free below the parts."""
    has_tags: bool
    """Whether there are rows of tags among the parts."""
    parts: list[tuple[float, PagePart]] = field(default_factory=list)
    """Each part, after the y of its lower edge."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of everything on the page."""
        return tuple(name for _, part in self.parts for name in part.names)

    def add(self, part: PagePart) -> None:
        """Place a part below the others."""
        self.free_mm -= part.height
        self.parts.append((self.free_mm, part))


def tag_pages(kit: Kit, parts: Iterable[PagePart], area: Rectangle) -> list[TagPage]:
    """Return the pages, filled with the rows of all tags in order, then with these parts.

    Each part is on the first page with room for it. If it grows, it is on every page with room.
    """
    empty_page_mm = area.height - _HEAD_MM
    pages: list[TagPage] = []
    previous_section = ""
    for section, row in _rows(kit, area.width):
        tags_mm = max(tag.height_mm for tag in row)
        # the title of a section is above its first row, and above the first row on a page
        title_mm = 0.0 if section == previous_section else _SECTION_MM
        if pages:
            # a gap between this row and the one above
            pages[-1].free_mm -= _TAG_GAP_MM / 2
        if not pages or pages[-1].free_mm < title_mm + tags_mm:
            pages.append(TagPage(empty_page_mm, has_tags=True))
            title_mm = _SECTION_MM
        names = tuple(face.name for tag in row for face, _ in tag.faces)
        draw = partial(_draw_row, row=row, width=area.width, title=section if title_mm else "")
        pages[-1].add(PagePart(title_mm + tags_mm, names, draw))
        previous_section = section

    for part in parts:
        # take the first page with room, so that gaps at the foot of earlier pages are filled
        fitting = [page for page in pages if page.free_mm >= part.height + _PART_GAP_MM]
        if not fitting:
            fitting = [TagPage(empty_page_mm, has_tags=False)]
            pages += fitting
        for page in fitting if part.grows else fitting[:1]:
            page.free_mm -= _PART_GAP_MM
            page.add(part)

    # a part that grows takes the height that is still free
    for page in pages:
        y, part = page.parts[-1]
        if part.grows:
            grown = part._replace(height=part.height + page.free_mm)
            page.parts[-1] = (y - page.free_mm, grown)
    return pages


def _rows(kit: Kit, width_mm: float) -> Iterator[tuple[str, list[Tag]]]:
    """Yield the tags of all pieces in rows, each row with the title of its section.

    South's pieces come first, then North's, then those that belong to nobody. Equal pieces take the
    markers of their face in turn. Raises ValueError if two pieces would have to share a marker.
    """
    for name, count in Counter(name for piece in kit.pieces for name in piece).items():
        if count > len(kit.face(name).markers):
            raise ValueError(f"the kit of {kit.game} has more pieces “{name}” than markers for it")
    tags = [Tag(kit, faces) for faces in kit.tags] if kit.pieces else []
    for seat in (*SEATS, None):
        section = seat_words(kit, seat) if seat else say("For both")
        row: list[Tag] = []
        x = 0.0
        for tag in tags:
            if tag.first_face.seat is not seat:
                continue
            if row and x + tag.width_mm > width_mm:
                yield section, row
                row = []
                x = 0.0
            row.append(tag)
            x += tag.width_mm + _TAG_GAP_MM
        if row:
            yield section, row


def draw_tag_page(pen: Pen, page: TagPage, kit: Kit, title: str, area: Rectangle) -> None:
    """Draw one page of tags and other parts, with its head."""
    words = say("{game}: cut along thin lines, fold along dashes", game=kit.title)
    draw_head(pen, title, words)
    for y, part in page.parts:
        with pen.at(area.left, area.bottom + y):
            part.draw(pen, part.height)


def _draw_row(pen: Pen, height: float, *, row: list[Tag], width: float, title: str) -> None:
    """Draw tags side by side, with their upper edges in line, below the title of their section.

    `title` is empty if the row is not the first one of a section or page.
    """
    top = height
    if title:
        top -= _SECTION_MM
        pen.line((0, top + 7.2), (width, top + 7.2), stroke_mm=0.3)
        pen.text(0, top + 2.2, title, 4.2, bold=True)
    x = 0.0
    for tag in row:
        with pen.at(x, top - tag.cut_height_mm):
            _draw_tag(pen, tag)
        x += tag.width_mm + _TAG_GAP_MM


def _draw_tag(pen: Pen, tag: Tag) -> None:
    """Draw a cut-out with its lower left corner at the origin, and picture and caption below it."""
    face = tag.first_face
    if tag.is_lid:
        _draw_lid(pen, tag)
    else:
        _draw_leaves(pen, tag)
    if tag.picture_mm:
        picture_mm = tag.picture_mm - 1.2
        draw_picture(pen, tag.kit, face, picture_mm, (tag.top_width_mm / 2, -tag.picture_mm / 2))
    # the name in at most two lines, or in the smallest size
    for size_mm in _NAME_SIZES_MM:
        if len(break_lines(face.name, tag.width_mm, size_mm, bold=True)) <= 2:
            break
    y = pen.paragraph(0, -tag.picture_mm - 0.8, tag.width_mm, face.name, size_mm, bold=True)
    markers = " + ".join(str(marker) for _, marker in tag.faces)
    words = say("id {marker}, {height:g} mm high", marker=markers, height=face.height_mm)
    pen.text(0, y - 2.6, words, 2.6, max_width_mm=tag.width_mm)


def _draw_leaves(pen: Pen, tag: Tag) -> None:
    """Draw the leaves of a tag, the first face at the top, and the spine between two of them."""
    y = tag.cut_height_mm
    for index, (face, marker) in enumerate(tag.faces):
        top = y - tag.spine_mm if index else y
        y = top - tag.top_depth_mm
        with pen.at(0, y):
            draw_top(pen, tag, face, marker)
        if tag.apron_mm:
            y -= tag.apron_mm
            with pen.at(tag.top_width_mm / 2, y + tag.apron_mm / 2):
                _draw_front(pen, tag, face, tag.apron_mm)
        pen.outline(0, y, tag.top_width_mm, tag.top_depth_mm + tag.apron_mm)
        if index:
            # drawn over the outlines, so that the fold lines stay dashed
            with pen.at(0, top):
                _draw_spine(pen, tag)


def _draw_lid(pen: Pen, tag: Tag) -> None:
    """Draw a lid: a top with a flap on each of its four sides.

    Each flap has the front drawing, which is upright once the flap is folded down.
    """
    flap_mm = tag.flap_mm
    # from the middle of the lid to the edge of its top, and to the outer edge of a flap
    top_edge = tag.top_width_mm / 2
    flap_edge = top_edge + flap_mm
    with pen.at(flap_mm, flap_mm):
        draw_top(pen, tag, *tag.faces[0])
    for turn in (0, 90, 180, 270):
        with pen.at(flap_edge, flap_edge, turn_deg=turn):
            with pen.at(0, -top_edge - flap_mm / 2):
                _draw_front(pen, tag, tag.first_face, flap_mm)
            pen.hairline(
                (-top_edge, -top_edge),
                (-top_edge, -flap_edge),
                (top_edge, -flap_edge),
                (top_edge, -top_edge),
            )
            pen.fold((-top_edge, -top_edge), (top_edge, -top_edge))


def _draw_front(pen: Pen, tag: Tag, face: Face, height_mm: float) -> None:
    """Draw the front drawing of a face, `height_mm` high and centred at the origin.

    The front drawing is the face's letter between two of its signs, or else its drawing. A small
    drawing is drawn three times.
    """
    is_small = height_mm < _SMALL_PICTURE_MM
    # a little white above and below the drawing
    drawing_mm = height_mm - (0.5 if is_small else 1.2)
    outer_x = 0.3 * tag.top_width_mm
    if face.sign:
        for x in (-outer_x, outer_x):
            pen.drawing(face.sign, x, 0, drawing_mm, fill=INK)
        pen.centred_bold_text(0, -0.4 * drawing_mm, face.letter, 0.8 * drawing_mm / DIGIT_HEIGHT_EM)
        return
    for x in (-outer_x, 0.0, outer_x) if is_small else (0.0,):
        draw_picture(pen, tag.kit, face, drawing_mm, (x, 0))


def _draw_spine(pen: Pen, tag: Tag) -> None:
    """Draw the spine between two faces that are glued around a block, with its fold lines.

    The spine is the front of the piece. If it is high enough, it shows the front drawing of the
    first face.
    """
    pen.rectangle(0, 0, tag.top_width_mm, tag.spine_mm, fill=WHITE)
    if tag.spine_mm >= MIN_APRON_MM:
        with pen.at(tag.top_width_mm / 2, tag.spine_mm / 2):
            _draw_front(pen, tag, tag.first_face, tag.spine_mm)
    for x in (0, tag.top_width_mm):
        pen.hairline((x, 0), (x, tag.spine_mm))
    # a single line if the piece is too thin for a spine
    for y in sorted({0.0, tag.spine_mm}):
        pen.fold((-0.6, y), (tag.top_width_mm + 0.6, y))
