"""Pictures of boards for printed rules: pieces on their squares, where they go, what bounced, shot or was hit.

A picture is drawn in board axes, see `companion.core.kit`, scaled into a box of the page; it holds no marker, so that
no camera takes it for a board.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from companion.core.grid import Square
from companion.core.kit import SEATS, Board, Kit, Layout, Seat, Side
from companion.games.base import Event, Illustration
from companion.games.events import Reach
from companion.games.screen import Tally
from companion.printing.kit_pages.board_pages import print_ground
from companion.printing.kit_pages.tag_faces import print_picture
from companion.printing.pdf_pen import INK, STONE, TILE_2, WHITE, Pen, text_width, tinted
from companion.printing.tiling import Extent

_PIECE, _CARRIED, _STEP = 0.7, 0.44, 0.12
"""Size of a piece, of what it carries, and how far a piece lies up and right on another one; all in squares."""
_LABEL, _GOAL = 0.42, 0.55
"""Room for labels beside the squares, and how deep goals are drawn."""
_STOP = "#B0250D"


def figure_size(kit: Kit, width: float, height: float) -> tuple[float, float]:
    """Width and height of the picture of a board that fits such a box, mm."""
    extent = _extent(kit)
    scale = min(width / extent.width, height / extent.height)
    return extent.width * scale, extent.height * scale


def print_start(pen: Pen, kit: Kit, layout: Layout, width: float, height: float) -> None:
    """The board with its pieces in a box whose lower left corner is the origin."""
    print_figure(pen, Illustration(kit, layout, layout, (), (), (), ""), width, height)


def print_figure(pen: Pen, shown: Illustration, width: float, height: float) -> None:
    """An example in a box whose lower left corner is the origin; the picture stands in its middle."""
    extent = _extent(shown.kit)
    scale = min(width / extent.width, height / extent.height)
    x = (width - extent.width * scale) / 2 - extent.left * scale
    y = (height - extent.height * scale) / 2 - extent.bottom * scale
    with pen.at(x, y, scale=scale):
        _Figure(pen, shown, scale).draw()


def print_sum(pen: Pen, kit: Kit, tally: Tally, width: float) -> None:
    """A sum in one line, 6 mm high, the origin at its lower left: whose it is, its parts, its total and its worth."""
    words = [(part, adds) for part, adds in tally.parts]
    chips = [text_width(part, 3.0, bold=True) + text_width(adds, 2.4) + 3.0 for part, adds in words]
    total, worth = text_width(tally.total, 5.0, bold=True), text_width(tally.worth, 2.6)
    needed = 6.5 + sum(chip + 0.8 for chip in chips) + total + worth + 4.5
    with pen.at(0, 0, scale=min(1.0, width / needed)):
        side = kit.sides[tally.seat]
        pen.drawing(side.drawing, 0, 0.4, 5.2, side)
        x = 6.5
        for (part, adds), chip in zip(words, chips, strict=True):
            pen.rectangle(x, 0.4, chip, 5.2, stroke_mm=0.3)
            left = x + 1 + pen.text(x + 1, 2.0, part, 3.0, bold=True)
            pen.text(left + 0.8, 2.0, adds, 2.4)
            x += chip + 0.8
        if tally.is_greater:
            pen.rectangle(x + 0.2, 0.2, total + 1.6, 5.6, fill=INK)
        pen.text(x + 1, 1.3, tally.total, 5.0, bold=True, colour=WHITE if tally.is_greater else INK)
        pen.text(x + total + 3, 2.0, tally.worth, 2.6)


def _extent(kit: Kit) -> Extent:
    """What is drawn of a board, its labels and goals included; lanes without the strips of the corner markers."""
    board, pitch = kit.board, kit.board.square_mm
    if kit.deck:
        return Extent(-1, -1, board.width_mm + 1, board.height_mm + 1)
    goal = _GOAL * pitch * board.has_goals
    label = 0.0 if board.labels_in_squares else _LABEL * pitch
    edge = 0.04 * pitch
    return Extent(-max(label, edge), -goal - max(label, edge), board.width_mm + edge, board.height_mm + goal + edge)


@dataclass(frozen=True)
class _Figure:
    """One picture being drawn, in board axes; `scale` tells how thick a line has to be for the page."""

    pen: Pen
    shown: Illustration
    scale: float

    @property
    def kit(self) -> Kit:
        """What is drawn."""
        return self.shown.kit

    @property
    def board(self) -> Board:
        """Its board."""
        return self.shown.kit.board

    @property
    def unit(self) -> float:
        """Side of a square."""
        return self.board.square_mm

    def draw(self) -> None:
        """Ground, shots, pieces, what goes where, what bounced."""
        if self.kit.deck:
            print_ground(self.pen, self.kit)
            return
        self._ground()
        for event in self.shown.events:
            self._under(event)
        for square, faces in sorted(self.shown.layout.items(), key=lambda item: (-item[0].rank, item[0].file)):
            self._stack(square, faces)
        self._big_pieces(self.shown.layout)
        for faces, origin, target in self.shown.ways:
            self._way(faces, origin, target)
        for event in self.shown.events:
            self._over(event)

    def _side(self, seat: Seat | None) -> Side | None:
        return self.kit.sides[seat] if seat else None

    # ---- the ground ----

    def _ground(self) -> None:
        board, unit, pen = self.board, self.unit, self.pen
        for seat in SEATS if board.has_goals else ():
            low = -_GOAL * unit if seat is Seat.SOUTH else board.height_mm
            pen.rectangle(0, low, board.width_mm, _GOAL * unit, fill=tinted(self.kit.sides[seat].rgb, 0.35))
        marks = {mark.square: mark for mark in board.marks}
        for square in board.squares:
            x, y = board.centre_mm(square)
            tone = board.tones == 2 and (square.file + square.rank) % 2 == 0
            with pen.at(x - unit / 2, y - unit / 2):
                pen.rectangle(0, 0, unit, unit, fill=TILE_2 if tone else WHITE, stroke_mm=0.25 / self.scale)
                if mark := marks.get(square):
                    pen.drawing(mark.drawing, 0, 0, unit, self._side(mark.seat))
                if board.labels_in_squares and square not in board.holes:
                    pen.text(0.06 * unit, 0.8 * unit, str(square), 0.17 * unit, bold=True)
        if not board.labels_in_squares:
            self._labels()

    def _labels(self) -> None:
        size, goal = 0.3 * self.unit, _GOAL * self.unit * self.board.has_goals
        for file in range(self.board.files):
            x, _ = self.board.centre_mm(Square(file, 0))
            self.pen.text(x, -goal - 1.15 * size, chr(97 + file), size, bold=True, anchor="middle")
        for rank in range(self.board.ranks):
            _, y = self.board.centre_mm(Square(0, rank))
            self.pen.text(-0.22 * self.unit, y - 0.36 * size, str(rank + 1), size, bold=True, anchor="middle")

    # ---- pieces ----

    def _stack(self, square: Square, faces: Sequence[str], *, small: float = 1.0) -> None:
        """What lies on a square: what is carried at the shoulder of its carrier, others each a step up and right."""
        x, y = self.board.centre_mm(square)
        known = [self.kit.face(name) for name in faces]
        standing = [face for face in known if not face.carried and face.size == (1, 1)]
        for level, face in enumerate(standing):
            step = _STEP * self.unit * (level - (len(standing) - 1) / 2)
            with self.pen.at(x + step, y + step):
                print_picture(self.pen, face, _PIECE * small * self.unit, self._side(face.seat))
        for face in (face for face in known if face.carried):
            away, size = (0.3, _CARRIED) if standing else (0.0, 0.55)
            with self.pen.at(x + away * self.unit, y + away * self.unit):
                print_picture(self.pen, face, size * small * self.unit, self._side(face.seat))

    def _big_pieces(self, layout: Layout) -> None:
        """Every piece of several squares once, over all of them."""
        found: dict[str, list[Square]] = {}
        for square, faces in sorted(layout.items()):
            for name in faces:
                if self.kit.face(name).size != (1, 1):
                    found.setdefault(name, []).append(square)
        for name, squares in found.items():
            (x0, y0), (x1, y1) = self.board.centre_mm(squares[0]), self.board.centre_mm(squares[-1])
            lies = x1 - x0 > y1 - y0
            long = max(x1 - x0, y1 - y0) + self.unit
            face = self.kit.face(name)
            with self.pen.at((x0 + x1) / 2, (y0 + y1) / 2, turn_deg=90 if lies else 0):
                self.pen.drawing(face.drawing, -long / 2, -long / 2, long, None, fill=STONE)
            if face.seat:
                with self.pen.at((x0 + x1) / 2, (y0 + y1) / 2):
                    sign = self.kit.sides[face.seat]
                    size = 0.36 * self.unit
                    self.pen.drawing(sign.drawing, -size / 2, -size / 2, size, sign)

    # ---- what happens ----

    def _way(self, faces: Sequence[str], origin: Square | None, target: Square | None) -> None:
        """A frame where a piece goes, and an arrow that leads there; one that comes from beside is drawn there."""
        if target is None:
            return
        x, y = self.board.centre_mm(target)
        half, thin = self.unit / 2, 0.4 / self.scale
        corners = [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]
        self.pen.line(*corners, corners[0], width=thin, dash=(3 * thin, 2 * thin))
        if origin is None:
            self._stack(target, faces)
            self._big_pieces({square: found for square, found in self.shown.after.items() if set(found) & set(faces)})
        elif origin != target:
            x0, y0 = self.board.centre_mm(origin)
            length = math.hypot(x - x0, y - y0)
            dx, dy = (x - x0) / length, (y - y0) / length
            start, end = 0.3 * self.unit, 0.26 * self.unit
            self.pen.arrow((x0 + start * dx, y0 + start * dy), (x - end * dx, y - end * dy), 0.055 * self.unit)

    def _under(self, event: Event) -> None:
        """What lies under the pieces: shields, bursts, and the way of a shot."""
        if not event.square:
            return
        x, y = self.board.centre_mm(Square.parse(event.square))
        look = event.kind.look
        if look.around:
            size = round(look.size, 1) * self.unit
            self.pen.drawing(look.around, x - size / 2, y - size / 2, size, None, fill=INK)
        if look.reach is Reach.HIT and event.to and not _is_next(event):
            to = self.board.centre_mm(Square.parse(event.to))
            self.pen.line((x, y), to, width=0.06 * self.unit)

    def _over(self, event: Event) -> None:
        """What lies over the pieces: hits, blows at neighbours, and the bars at which a move was refused."""
        if not event.square:
            return
        x, y = self.board.centre_mm(Square.parse(event.square))
        if event.edge:
            turn = math.degrees(math.atan2(event.edge[1], event.edge[0]))
            with self.pen.at(x, y, turn_deg=turn):
                at, half = 0.48 * self.unit, 0.38 * self.unit
                self.pen.line((at, -half), (at, half), width=0.09 * self.unit, colour=_STOP)
                for sign in (-1, 0, 1):
                    near = at + 0.08 * self.unit, 0.15 * sign * self.unit
                    far = at + 0.2 * self.unit, 0.22 * sign * self.unit
                    self.pen.line(near, far, width=0.05 * self.unit, colour=_STOP)
        reach = event.kind.look.reach
        if not event.to or reach is Reach.NONE:
            return
        to_x, to_y = self.board.centre_mm(Square.parse(event.to))
        if reach is Reach.HIT:
            size = 1.05 * self.unit
            self.pen.drawing("shot", to_x - size / 2, to_y - size / 2, size, None, fill=INK)
        if _is_next(event):
            turn, size = math.degrees(math.atan2(to_y - y, to_x - x)), 0.46 * self.unit
            with self.pen.at((x + to_x) / 2, (y + to_y) / 2, turn_deg=turn):
                self.pen.drawing("blade", -size / 2, -size / 2, size, None, fill=INK)


def _is_next(event: Event) -> bool:
    """Does it tell of two squares that share an edge?"""
    one, other = Square.parse(event.square or ""), Square.parse(event.to or "")
    return abs(one.file - other.file) + abs(one.rank - other.rank) == 1
