"""The printable kit of a game: instructions, the board on as many pages as it needs, and the tags of all pieces.

True millimetres on A4 or Letter, vectors only, a 100 mm ruler on every page. Equal input gives equal bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, get_args

from companion.errors import Malformed, SystemTrouble
from companion.kit import SEATS, Board, Face, Kit, Seat
from vision.tiling import FLAP_MM, Tiling, Window, quiet_mm, tile_board

if TYPE_CHECKING:
    from vision.paper import Pen

Paper = Literal["a4", "letter"]
SIZES_MM: dict[str, tuple[float, float]] = {"a4": (210.0, 297.0), "letter": (215.9, 279.4)}
"""Upright width and height, ISO 216 and ANSI/ASME Y14.1."""
MARGIN_MM = 7.0
"""Kept free all round: most printers leave 4 to 6.4 mm white."""
FOOT_MM = 10.0
"""Height of the band with the ruler above the lower margin."""
MAX_SPARES = 9

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

    `names` has one entry a page: `("instructions",)`, `("board A1",)`, or the faces whose tags are on it.
    """

    pages: int
    across: int
    down: int
    names: tuple[tuple[str, ...], ...]


def write_kit(kit: Kit, target: str | Path | BinaryIO, paper: Paper = "a4", spares: int = 1) -> Sheets:
    """Write the printable kit to a path or an open binary file; `spares` is the number of extra sets of tags.

    Raises `Malformed` for an unknown paper or number of spares, and `SheetError` when the file cannot be written.
    """
    pdf, sheets = _print(kit, paper, spares)
    if not isinstance(target, str | Path):
        target.write(pdf)
        return sheets
    try:
        Path(target).write_bytes(pdf)
    except OSError as error:
        reason = error.strerror or error
        raise SheetError(f"{target}: cannot be written: {reason}. Choose a folder that exists and is yours") from None
    return sheets


def kit_pdf(kit: Kit, paper: Paper = "a4", spares: int = 1) -> bytes:
    """The printable kit as a PDF; raises `Malformed` for an unknown paper or number of spares."""
    return _print(kit, paper, spares)[0]


def _print(kit: Kit, paper: Paper, spares: int) -> tuple[bytes, Sheets]:
    if paper not in get_args(Paper):
        raise Malformed(f"Paper “{paper}” is unknown: use {' or '.join(get_args(Paper))}")
    if not 0 <= spares <= MAX_SPARES:
        raise Malformed(f"{spares} spare sets are not possible: use 0 to {MAX_SPARES}")
    # The PDF libraries take a tenth of a second to import and are needed here only.
    from vision.instructions import print_instructions  # noqa: PLC0415  imported late on purpose, see above
    from vision.paper import Pen  # noqa: PLC0415  imported late on purpose, see above

    width, height = SIZES_MM[paper]
    tiling = tile_board(kit.board, width - 2 * MARGIN_MM, height - 2 * MARGIN_MM, FOOT_MM)
    pen = Pen(width, height, f"{kit.title}: board and pieces")
    tags = [*_tags(kit, spare=False), *(tag for _ in range(spares) for tag in _tags(kit, spare=True))]
    layout = _Flow(kit, width - 2 * MARGIN_MM, height - 2 * MARGIN_MM - FOOT_MM).pages(tags)
    total = 1 + tiling.pages + len(layout)
    names: list[tuple[str, ...]] = [("instructions",)]

    pen.page()
    print_instructions(pen, kit, tiling, (MARGIN_MM, MARGIN_MM + FOOT_MM), spares=spares > 0)
    _foot(pen, f"{kit.title}: instructions", 1, total)
    for window in tiling.windows:
        pen.page(tiling.landscape)
        board_name = _board_page(pen, kit, tiling, window)
        names.append((board_name,))
        _foot(pen, f"{kit.title}: {_board_label(tiling, window)}", len(names), total)
    for number, cells in enumerate(layout, start=1):
        pen.page()
        _tags_page(pen, cells, kit, "Pieces" if len(layout) == 1 else f"Pieces, {number} of {len(layout)}")
        names.append(tuple(face.name for cell in cells for face, _ in cell.tag.faces))
        _foot(pen, f"{kit.title}: pieces", len(names), total)
    return pen.bytes(), Sheets(total, tiling.across, tiling.down, tuple(names))


def _board_label(tiling: Tiling, window: Window) -> str:
    """Such as “board A1 of A1-B2”."""
    if tiling.pages == 1:
        return "board"
    return f"board {window.label} of A1-{tiling.windows[-1].label}"


def _foot(pen: Pen, words: str, page: int, pages: int) -> None:
    """The ruler and the page's name, on every page at the same place."""
    pen.ruler(MARGIN_MM, MARGIN_MM)
    x = MARGIN_MM + 104
    pen.text(x, MARGIN_MM + 3.7, words, 3.4, bold=True)
    pen.text(x, MARGIN_MM, "Print at 100 %. The black and white bar is 100 mm long.", 2.8)
    pen.text(pen.width_mm - MARGIN_MM, MARGIN_MM + 3.7, f"{page} of {pages}", 3.4, anchor="right")


# ---- the board ------------------------------------------------------------------------------------------------


def _board_page(pen: Pen, kit: Kit, tiling: Tiling, window: Window) -> str:
    """One page of the board, in the middle of its room; returns the page's name."""
    shown = window.printed
    x = (pen.width_mm - shown.width) / 2 - shown.left
    y = MARGIN_MM + FOOT_MM + (pen.height_mm - 2 * MARGIN_MM - FOOT_MM - shown.height) / 2 - shown.bottom
    with pen.at(x, y, clip=shown):
        _board(pen, kit, tiling.cuts_x)
        for joint in tiling.joints:
            _cross(pen, joint.number, joint.x, joint.y)
        _edges(pen, tiling, window)
    return f"board {window.label}" if tiling.pages > 1 else "board"


def _board(pen: Pen, kit: Kit, cuts_x: tuple[float, ...]) -> None:
    """The whole board in its own axes; the words in its strips keep clear of the cuts."""
    board = kit.board
    marks = {mark.square: mark for mark in board.marks}
    for square in board.squares:
        x, y = (v - board.square_mm / 2 for v in board.centre_mm(square))
        dark = board.gap_mm == 0 and (square.file + square.rank) % 2 == 0
        pen.tile(x, y, board.square_mm, dark=dark)
        if mark := marks.get(square):
            pen.drawing(mark.drawing, x, y, board.square_mm, kit.sides.get(mark.seat) if mark.seat else None)
        if board.labels_in_squares and square not in board.holes:
            size = 0.14 * board.square_mm
            pen.text(x + 0.05 * board.square_mm, y + 0.95 * board.square_mm - 0.72 * size, str(square), size, bold=True)
    if board.gap_mm == 0:
        pen.rectangle(0, 0, board.width_mm, board.height_mm, stroke_mm=0.8)
    if not board.labels_in_squares:
        _outside_labels(pen, board)
    for marker, (x, y) in board.corner_centres_mm.items():
        pen.marker(marker, x, y, board.corner_mm)
    reach = board.corner_mm + quiet_mm(board.corner_mm) + 2
    rooms = list(pairwise((reach, *(x for cut in cuts_x for x in (cut, cut)), board.width_mm - reach)))[::2]
    widest = max(right - left for left, right in rooms)
    wide_rooms = [room for room in rooms if room[1] - room[0] > widest - 1]
    for seat, (left, right) in ((Seat.SOUTH, wide_rooms[0]), (Seat.NORTH, wide_rooms[-1])):
        y = -board.strip_mm / 2 if seat is Seat.SOUTH else board.height_mm + board.strip_mm / 2
        with pen.at((left + right) / 2, y, turn_deg=0 if seat is Seat.SOUTH else 180):
            _strip(pen, kit, seat, right - left - 4)


def _strip(pen: Pen, kit: Kit, seat: Seat, room: float) -> None:
    """Title and seat between two corner markers, for the eyes of who sits there; the origin is their middle."""
    from vision.paper import text_width  # noqa: PLC0415  imported late, with the pen

    side, picture = kit.sides[seat], 13.0
    words = f"{seat.title()} is {side.name}"
    wide = max(text_width(kit.title, 8.0, bold=True), text_width(words, 4.6)) + picture + 3
    scale = min(1.0, room / wide)
    if scale < 0.4:
        return
    with pen.at(-scale * wide / 2, 0, scale=scale):
        pen.drawing(side.drawing, 0, -picture / 2, picture, side)
        pen.text(picture + 3, 0.2, kit.title, 8.0, bold=True)
        pen.text(picture + 3, -6.2, words, 4.6)


def _outside_labels(pen: Pen, board: Board) -> None:
    """Files beyond the strips, ranks left and right of the squares, to be read from both seats."""
    low = -max(board.strip_mm, board.strip_mm / 2 + board.corner_mm * (0.5 + 1 / 7)) - 5.2
    for turn, origin in ((0.0, (0.0, 0.0)), (180.0, (board.width_mm, board.height_mm))):
        with pen.at(*origin, turn_deg=turn):
            for square in board.squares:
                x, y = board.centre_mm(square)
                x, y = (board.width_mm - x, board.height_mm - y) if turn else (x, y)
                if square.rank == 0:
                    pen.text(x, low, str(square)[0], 4.2, bold=True, anchor="middle")
                if square.file == 0:
                    pen.text(-3.8, y - 1.5, str(square)[1:], 4.2, bold=True, anchor="middle")


def _cross(pen: Pen, number: int, x: float, y: float) -> None:
    """A joining mark with its number in two opposite corners, so that one stays on each side of the cut."""
    pen.line((x - 4, y), (x + 4, y), width=0.25)
    pen.line((x, y - 4), (x, y + 4), width=0.25)
    for dx, dy in ((4.6, 2.8), (-4.6, -4.9)):
        with pen.at(x + dx, y + dy):
            pen.plate_text(str(number), 2.8)


def _edges(pen: Pen, tiling: Tiling, window: Window) -> None:
    """Where to cut (scissors) and where the next page is glued on (its name)."""
    core, shown, whole = window.core, window.printed, tiling.extent
    labels = {(other.column, other.row): other.label for other in tiling.windows}
    pen.hairline((whole.left, whole.bottom), (whole.right, whole.bottom), (whole.right, whole.top))
    pen.hairline((whole.right, whole.top), (whole.left, whole.top), (whole.left, whole.bottom))
    if window.column:
        pen.hairline((core.left, shown.bottom), (core.left, shown.top))
        with pen.at(core.left, core.bottom + 7, turn_deg=90):
            pen.scissors(5)
    if window.row:
        pen.hairline((shown.left, core.bottom), (shown.right, core.bottom))
        with pen.at(core.left + 1, core.bottom):
            pen.scissors(5)
    if right := labels.get((window.column + 1, window.row)):
        pen.hairline((core.right, shown.bottom), (core.right, shown.top))
        with pen.at(core.right + FLAP_MM - 1.2, (core.bottom + core.top) / 2, turn_deg=90):
            pen.plate_text(f"glue {right} on this edge", 2.8)
    if above := labels.get((window.column, window.row + 1)):
        pen.hairline((shown.left, core.top), (shown.right, core.top))
        with pen.at((core.left + core.right) / 2, core.top + FLAP_MM - 3.4):
            pen.plate_text(f"glue {above} on this edge", 2.8)


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
    used: Counter[str] = Counter()
    tags = []
    for piece in kit.pieces:
        faces = [kit.face(name) for name in piece]
        for face in faces:
            if used[face.name] >= len(face.markers):
                raise ValueError(f"the kit of {kit.game} has more pieces “{face.name}” than markers for it")
        tags.append((faces[0].seat, tuple((face, face.markers[used[face.name]]) for face in faces)))
        used.update(piece)
    for seat in (*SEATS, None):
        owner = f"{seat.title()} is {kit.sides[seat].name}" if seat else "For both"
        section = "Spares: the same tags once more" if spare else owner
        yield from (_Tag(faces, section) for owner_seat, faces in tags if owner_seat is seat)


class _TagSize:
    """Measures of one cut-out, mm."""

    def __init__(self, tag: _Tag, kit: Kit) -> None:
        first, square = tag.faces[0][0], kit.board.square_mm
        white = kit.tag_mm + 2 * quiet_mm(kit.tag_mm)
        self.folds_down = len(tag.faces) == 1 and first.height_mm >= _FOLD_DOWN_MM
        self.rim = max(0.0, min(_RIM_MM, (square - white) / 2))
        self.apron = min(_APRON_MM, first.height_mm) if self.folds_down else 0.0
        """Height of the drawing on the tag: down the front of a block, or flat where the square has room for it."""
        for rim in (_RIM_MM, _RIM_MM / 2):
            flat = square - white - 2 * rim - _PLAY_MM
            if not self.apron and flat >= _LEAST_APRON_MM:
                self.rim, self.apron = rim, min(_APRON_MM, flat)
        self.outer = white + 2 * self.rim
        self.spine = first.height_mm if len(tag.faces) > 1 and first.height_mm >= 1 else 0.0
        """Between two faces: the thickness of what lies between them."""
        self.strip = self.apron or _PICTURE_MM
        """Height of the drawing below the marker: on the tag, or else printed below what is cut out."""
        self.width = len(tag.faces) * (self.outer + self.spine) - self.spine
        self.height = self.outer + self.strip + _CAPTION_MM


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
            if not pages or opens or x + wide > self._width:
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
    pen.head(title, f"{kit.title}: cut along thin lines, fold along dashes", MARGIN_MM)
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
            pen.rim(size.outer, size.rim, side, dotted=face.seat is Seat.NORTH)
            pen.marker(marker, size.outer / 2, size.outer / 2, kit.tag_mm)
        picture = size.strip - (1.2 if size.strip >= 6 else 0.5)
        for middle in (0.2, 0.5, 0.8) if size.strip < 6 else (0.5,):  # a small drawing is seen better three times
            pen.drawing(face.drawing, x + middle * size.outer - picture / 2, (size.strip - picture) / 2, picture, side)
        y = pen.paragraph(x, -0.8, max(size.outer, 24.0 if len(tag.faces) == 1 else 0.0), face.name, 3.0, bold=True)
        pen.text(x, y - 2.6, f"id {marker}, {face.height_mm:g} mm high", 2.6)
        pen.outline(x, low, size.outer, size.outer + size.apron)
        if size.folds_down:
            pen.fold((x, size.strip), (x + size.outer, size.strip))
        x += size.outer
        if number + 1 < len(tag.faces):
            _spine(pen, x, low, size)
            x += size.spine


def _spine(pen: Pen, x: float, low: float, size: _TagSize) -> None:
    """The fold lines between two faces that are glued back to back round a piece."""
    height = size.outer + size.apron
    pen.rectangle(x, low, size.spine, height, fill="#FFFFFF")
    pen.hairline((x, low), (x + size.spine, low))
    pen.hairline((x, low + height), (x + size.spine, low + height))
    for fold in {x, x + size.spine}:
        pen.fold((fold, low - 0.6), (fold, low + height + 1))
