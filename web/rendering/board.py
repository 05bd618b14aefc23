"""The board as SVG: pieces, moves to be made by hand, bounces, errors and unseen squares.

Units: a square is 100 wide. Points are complex numbers, as `web.rendering.svg` explains. Offsets
and sizes without a name were chosen by eye.

The picture is rotated clockwise by a number of `quarters` (quarter turns): 0 puts South at the
bottom, 1 at the left (file a on top), 2 at the top, 3 at the right. Pieces and labels stay upright.

Colours come from the style sheet through classes. Style attributes are not used, because the pages'
security policy forbids them.

`data-` attributes are for the scripts of the page. The marks with `data-beat` are animated by
`web/static/live.js`, one beat after the other.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from markupsafe import Markup

from companion.core.grid import Square
from companion.core.kit import SEATS, Kit, Seat
from companion.games.base import Stage
from companion.games.events import CommonEvent, Reach
from companion.table.board_check import HandMove, Problem
from companion.table.table_view import TableView
from web.rendering.beats import assign_beats
from web.rendering.board_picture import BoardPicture, board_words, picture_from_view
from web.rendering.pieces import big_piece_squares, draw_big_piece, draw_stack, is_big, side_class
from web.rendering.svg import box_attributes, circle, labelled_svg, text, unit_vector, use, xy

# Width and height of a square.
_SQUARE_SIZE = 100 + 100j
# Margin around a board of separate tiles, as wide as half of their lines. Bounce bars and arrows
# may reach beyond the picture, because pages do not clip it.
_MARGIN = 3.0
# Depth of the goals, the strips behind the first ranks.
_GOAL_DEPTH = 36.0
# Width of the frame around a board with dark and light squares.
_FRAME_WIDTH = 6.0
# Distance from the board's edge to the end of an arrow that leads off the board.
_ARROW_OVERHANG = 22.0


def board_svg(picture: BoardPicture, quarters: int = 0) -> Markup:
    """Draw a board, rotated clockwise by a number of quarter turns.

    The attribute `data-grid` tells scripts the numbers of files and ranks, the pitch and the
    quarters. Scripts draw into two groups: `under` below the pieces and `plan` above them. A board
    on its side has no such groups.
    """
    painter = _BoardPainter(picture, quarters)
    grid = f' data-grid="{painter.board.files} {painter.board.ranks} {painter.pitch:g} {quarters}"'
    if quarters % 2 == 0:
        return painter.draw(grid, '<g id="under"></g>', '<g id="plan"></g>')
    # As with a photograph, style sheets only shrink such a board into its place. So its size is
    # larger than any screen.
    _, size = painter.view_box()
    return painter.draw(f'{grid} width="{4 * size.real:g}" height="{4 * size.imag:g}"')


def past_board(kit: Kit, stage: Stage, quarters: int = 0) -> Markup:
    """Draw a stage of the last turn: where pieces went, what bounced and who was hit.

    The drawing has no groups for scripts, because they draw only on the current board.
    """
    moves = tuple(
        (Square.parse(event.square), Square.parse(event.to))
        for event in stage.events
        if event.kind is CommonEvent.MOVE and event.square and event.to
    )
    layout = stage.expected or {}
    picture = BoardPicture(
        kit, layout, events=stage.events, badges=stage.badges, finished_moves=moves
    )
    return _BoardPainter(picture, quarters).draw()


class _Strike(NamedTuple):
    """A shot or blow from one square at another, and the beat in which it is shown."""

    origin: Square
    target: Square
    beat: int
    is_hit: bool

    @property
    def is_adjacent(self) -> bool:
        """Whether the squares share an edge."""
        files = self.origin.file - self.target.file
        ranks = self.origin.rank - self.target.rank
        return abs(files) + abs(ranks) == 1


class _BoardPainter:
    """Draws a picture of a board, as SVG. Points are those of the rotated picture."""

    def __init__(self, picture: BoardPicture, quarters: int) -> None:
        self.picture = picture
        self.kit = picture.kit
        self.board = picture.kit.board
        self.quarters = quarters
        # distance between the centres of two neighbours, in units of which a square has 100
        self.pitch = 100 * self.board.pitch_mm / self.board.square_mm
        files = self.board.files
        ranks = self.board.ranks
        # a quarter turn swaps files and ranks
        columns, rows = (ranks, files) if quarters % 2 else (files, ranks)
        # the distance between the centres of the outer squares, plus half a square at either end
        self.size = self.pitch * complex(columns - 1, rows - 1) + _SQUARE_SIZE
        # which squares each big piece covers once all moves are made
        self.big_targets = big_piece_squares(self.kit, picture.target)
        beats = assign_beats(picture.events)
        self.last_beat = max(beats, default=0)
        self.timed_events = list(zip(picture.events, beats, strict=True))
        self.strikes = [
            _Strike(
                Square.parse(event.square),
                Square.parse(event.to),
                beat,
                event.kind.look.reach is Reach.HIT,
            )
            for event, beat in self.timed_events
            if event.kind.look.reach is not Reach.NONE and event.square and event.to
        ]

    def draw(self, attributes: str = "", under: str = "", plan: str = "") -> Markup:
        """Draw everything, including the scripts' groups below and above the pieces."""
        corner, size = self.view_box()
        content = (
            f"{self._draw_ground()}{under}{self._draw_action_marks()}{self._draw_strikes()}"
            f"{self._draw_pieces()}{self._draw_hand_moves()}{self._draw_bounces()}{plan}"
        )
        words = board_words(self.picture)
        return labelled_svg("board", f"{xy(corner)} {xy(size)}", words, content, attributes)

    def view_box(self) -> tuple[complex, complex]:
        """Return the upper left corner and the size of the picture."""
        margin = _FRAME_WIDTH if self.board.tones == 2 else _MARGIN
        edge = complex(margin, margin)
        if self.board.has_goals:
            # if the board lies on its side, its first ranks and the goals behind them are at the
            # left and right
            edge += _GOAL_DEPTH if self.quarters % 2 else _GOAL_DEPTH * 1j
        return -edge, self.size + 2 * edge

    def centre(self, square: Square) -> complex:
        """Return the centre of a square in the picture."""
        # measured from the centre of the board, about which the picture is rotated
        files = (self.board.files - 1) / 2
        ranks = (self.board.ranks - 1) / 2
        return self.size / 2 + self.pitch * self.vector((square.file - files, square.rank - ranks))

    def vector(self, step: tuple[float, float]) -> complex:
        """Convert a step in files and ranks to a vector in the picture, with a pitch of 1.

        A board of four squares with 0, 1, 2 and 3 quarters:

            a2 b2    a1 a2    b1 a1    b2 b1
            a1 b1    b1 b2    b2 a2    a2 a1
        """
        files, ranks = step
        # Ranks count upwards, but y points down. A factor of 1j rotates by a quarter turn.
        return complex(files, -ranks) * 1j**self.quarters

    def towards(self, seat: Seat) -> complex:
        """Return the unit vector in the picture from the centre of the board to a seat."""
        return self.vector((0, 1 if seat is Seat.NORTH else -1))

    # ---- the ground ----

    def _draw_ground(self) -> str:
        """Draw what lies below the pieces: tiles, labels, marks, shutters over unseen squares."""
        parts = [self._draw_tiles()]
        for mark in self.board.marks:
            colour = side_class(self.kit, mark.seat)
            parts.append(use(mark.drawing, self.centre(mark.square), 100, colour))
        parts += [self._draw_tile(square, "unseen") for square in sorted(self.picture.unknown)]
        for square in sorted(self.picture.origins):
            # two dots on the square's lower edge
            left = self.centre(square) + (-12 + 38j)
            right = self.centre(square) + (12 + 38j)
            parts += [circle("trace", left, 7), circle("trace", right, 7)]
        if self.picture.hit_square:
            parts.append(self._draw_tile(self.picture.hit_square, "struck"))
        return "".join(parts) + self._draw_labels()

    def _draw_tile(self, square: Square, classes: str) -> str:
        box = box_attributes(self.centre(square) - _SQUARE_SIZE / 2, _SQUARE_SIZE)
        return f'<rect class="{classes}" {box} rx="3"/>'

    def _draw_tiles(self) -> str:
        """Draw separate tiles, or a framed board of two tones with its goals."""
        if self.board.gap_mm:
            return "".join(self._draw_tile(square, "tile") for square in self.board.squares)
        goals = "".join(map(self._draw_goal, SEATS)) if self.board.has_goals else ""
        whole = f'width="{self.size.real:g}" height="{self.size.imag:g}"/>'
        # one path for all dark squares, including a1
        dark = "".join(
            f"M{xy(self.centre(square) - _SQUARE_SIZE / 2)}h100v100h-100z"
            for square in self.board.squares
            if (square.file + square.rank) % 2 == 0
        )
        tiles = f'<rect class="tile" {whole}<path class="tile alt" d="{dark}"/>'
        return f'{goals}{tiles}<rect class="frame" {whole}'

    def _draw_goal(self, seat: Seat) -> str:
        """Draw the strip behind a seat's first rank, plain for South and dotted for North."""
        outwards = self.towards(seat)
        width = self.size.real
        height = self.size.imag
        if self.quarters % 2:
            strip = box_attributes(
                width if outwards.real > 0 else -_GOAL_DEPTH, complex(_GOAL_DEPTH, height)
            )
        else:
            strip = box_attributes(
                1j * (height if outwards.imag > 0 else -_GOAL_DEPTH), complex(width, _GOAL_DEPTH)
            )
        dots = f'<rect {strip} fill="url(#dots)"/>' if seat is Seat.NORTH else ""
        fill = f'<rect {strip} fill="currentColor"/>{dots}<rect class="frame" {strip}/>'
        return f'<g class="goal {side_class(self.kit, seat)}">{fill}</g>'

    def _draw_labels(self) -> str:
        """Write names into the squares, or files and ranks along two edges."""
        labels = []
        if self.board.labels_in_squares:
            for square in self.board.squares:
                if square not in self.board.holes:
                    labels.append(text(square, self.centre(square) - (43 + 29j)))
            return f'<g class="lab">{"".join(labels)}</g>'
        for square in self.board.squares:
            centre = self.centre(square)
            row = str(square.rank + 1)
            column = ascii_lowercase[square.file]
            # on a board on its side, ranks are numbered along the bottom and files along the left
            if self.quarters % 2:
                row, column = column, row
            # only squares along the left and the lower edge are labelled
            if centre.real < self.pitch:
                labels.append(text(row, centre - (43 + 24j)))
            if centre.imag > self.size.imag - self.pitch:
                labels.append(text(column, centre + (43 + 43j), ' class="last"'))
        return f'<g class="lab edge">{"".join(labels)}</g>'

    # ---- pieces ----

    def _draw_pieces(self) -> str:
        """Draw big pieces, then stacks, then misplaced pieces in rings.

        Stacks are drawn from the top of the picture down, so that a high stack covers what is
        behind it.
        """
        layout = self.picture.layout
        parts = [
            self._draw_big_piece(face, squares)
            for face, squares in big_piece_squares(self.kit, layout).items()
        ]
        for square in sorted(layout, key=lambda at: (self.centre(at).imag, self.centre(at).real)):
            small = [face for face in layout[square] if not is_big(self.kit, face)]
            if small:
                drawing = draw_stack(
                    self.kit, small, self.centre(square), self.picture.badges.get(square)
                )
                class_attribute = ' class="on-struck"' if square == self.picture.hit_square else ""
                attributes = f'data-at="{square}"{class_attribute}{self._swell_attributes(square)}'
                parts.append(self._mark_bump(square, f"<g {attributes}>{drawing}</g>"))
        parts += [self._draw_problem(problem) for problem in self.picture.problems]
        return "".join(parts) + self._draw_breach_cross()

    def _draw_big_piece(self, face: str, squares: Sequence[Square]) -> str:
        return draw_big_piece(self.kit, face, [self.centre(square) for square in squares])

    def _mark_bump(self, square: Square, drawing: str) -> str:
        """Wrap a stack whose move was blocked in a group that scripts bounce off that edge."""
        for event, beat in self.timed_events:
            if event.edge and event.square == str(square):
                bump = xy(60 * self.vector(event.edge))
                return f'<g data-bump="{bump}" data-beat="{beat}">{drawing}</g>'
        return drawing

    def _swell_attributes(self, square: Square) -> str:
        """Return the attributes by which the stack on a square swells, if an event asks for it."""
        for event, beat in self.timed_events:
            if event.kind.look.swells and str(square) == (event.to or event.square):
                return f' data-swell data-beat="{beat}"'
        return ""

    def _draw_stack(
        self, square: Square, faces: Sequence[str], places: Mapping[str, list[Square]]
    ) -> str:
        """Draw a stack on a square. `places` has the squares that a big piece covers, by face."""
        big = [face for face in faces if is_big(self.kit, face)]
        small = [face for face in faces if face not in big]
        parts = [self._draw_big_piece(face, places.get(face, [square])) for face in reversed(big)]
        return "".join(parts) + draw_stack(self.kit, small, self.centre(square))

    def _draw_problem(self, problem: Problem) -> str:
        """Draw a misplaced piece in a ring, and an arrow to the square where it belongs."""
        centre = self.centre(problem.square)
        piece = self._draw_stack(problem.square, (problem.face,), {})
        ring = circle("ring", centre, 46)
        # a piece without a home does not belong on the board
        if problem.home is None:
            return f"{piece}{ring}{use('cross', centre + (34 - 34j), 34)}"
        ghost = _draw_faint(self._draw_stack(problem.home, (problem.face,), {}))
        home = self._draw_frame(problem.home) + ghost
        if problem.home == problem.square:
            return home + ring
        return home + piece + ring + self._draw_arrow(problem.square, problem.home)

    def _draw_breach_cross(self) -> str:
        """Draw a cross on the square that breaks a rule, at the upper right if a piece is there."""
        square = self.picture.breach_square
        if square is None or any(problem.square == square for problem in self.picture.problems):
            return ""
        centre = self.centre(square)
        if self.picture.layout.get(square):
            return use("cross", centre + (30 - 30j), 40)
        return use("cross", centre, 50)

    # ---- hands ----

    def _draw_hand_moves(self) -> str:
        """Draw the moves to be made by hand, and the arrows of those that are finished."""
        moves = "".join(map(self._draw_move, self.picture.moves))
        return moves + "".join(self._draw_arrow(*move) for move in self.picture.finished_moves)

    def _draw_move(self, move: HandMove) -> str:
        """Draw a move: a frame at its target with a faint piece in it, and an arrow to it."""
        origin = move.origin
        target = move.target
        if target is None:
            return self._draw_departure_arrow(origin) if origin else ""
        frame = self._draw_target_frames(move, target)
        if origin is None:
            ghost = _draw_faint(self._draw_stack(target, move.faces, self.big_targets))
            return f"{frame}<g{self._swell_attributes(target)}>{ghost}</g>"
        # a piece that stays on its square is flipped
        if origin == target:
            return f'<g data-flip="{target}" data-beat="0">{frame}</g>'
        arrow = self._draw_arrow(origin, target)
        # a piece that was hit moves after everything else has been shown
        if self._is_hit(move):
            beat = self.last_beat + 1
            slide = self._draw_slide(move.faces, origin, target, beat)
            return _mark_pop(frame, beat) + slide + _mark_pop(arrow, beat)
        return frame + self._draw_slide(move.faces, origin, target) + arrow

    def _draw_target_frames(self, move: HandMove, target: Square) -> str:
        """Draw a frame around every square that a moved piece will cover."""
        for face, squares in self.big_targets.items():
            if face in move.faces:
                return "".join(map(self._draw_frame, squares))
        return self._draw_frame(target)

    def _draw_frame(self, square: Square) -> str:
        corner = self.centre(square) - _SQUARE_SIZE / 2
        return f'<path class="target" d="M{xy(corner)}h100v100h-100z"/>'

    def _is_hit(self, move: HandMove) -> bool:
        """Return whether the piece moves because it was hit in the shown stage."""
        return any(strike.is_hit and strike.target == move.origin for strike in self.strikes)

    def _draw_slide(
        self, faces: Sequence[str], origin: Square, target: Square, beat: int = 0
    ) -> str:
        """Draw a faint piece at its target, to which it slides in its beat."""
        offset = xy(self.centre(origin) - self.centre(target))
        ghost = _draw_faint(self._draw_stack(target, faces, self.big_targets))
        return f'<g data-slide="{offset}" data-beat="{beat}">{ghost}</g>'

    def _draw_departure_arrow(self, origin: Square) -> str:
        """Draw an arrow over the nearest edge of the board."""
        centre = self.centre(origin)
        # beyond the left, upper, right and lower edge
        ends = [
            complex(-_ARROW_OVERHANG, centre.imag),
            complex(centre.real, -_ARROW_OVERHANG),
            complex(self.size.real + _ARROW_OVERHANG, centre.imag),
            complex(centre.real, self.size.imag + _ARROW_OVERHANG),
        ]
        end = min(ends, key=lambda end: abs(end - centre))
        ahead = unit_vector(end - centre)
        return _draw_curved_arrow(centre + (30 + 10j) * ahead, end, 1j * ahead)

    def _draw_arrow(self, origin: Square, target: Square) -> str:
        """Draw a curved arrow. Two pieces that swap places get arrows on opposite sides."""
        start = self.centre(origin)
        end = self.centre(target)
        ahead = unit_vector(end - start)
        normal = 1j * ahead
        arrows = {
            *self.picture.finished_moves,
            *((move.origin, move.target) for move in self.picture.moves),
        }
        inward = self.size / 2 - (start + end) / 2
        # The scalar product is positive if the normal points to the middle of the board.
        if (target, origin) not in arrows and (normal.conjugate() * inward).real < 0:
            normal = -normal
        return _draw_curved_arrow(
            start + 34 * normal + 20 * ahead, end + 36 * normal - 6 * ahead, normal
        )

    # ---- what happened ----

    def _draw_bounces(self) -> str:
        """Draw a bar at every edge that blocked a move.

        If several pieces have blocked each other because they wanted the same square, they are also
        drawn faint in that square.
        """
        blocked_moves = [
            (Square.parse(event.square), event.edge)
            for event in self.picture.events
            if event.square and event.edge
        ]
        # a square is in this list once for each piece that wanted to go there
        targets = [square.shifted(*edge) for square, edge in blocked_moves]
        ghosts = [
            self._draw_blocked_piece(square, edge)
            for (square, edge), target in zip(blocked_moves, targets, strict=True)
            if targets.count(target) > 1
        ]
        return "".join(
            ghosts + [self._draw_bounce_bar(*blocked_move) for blocked_move in blocked_moves]
        )

    def _draw_blocked_piece(self, square: Square, edge: tuple[int, int]) -> str:
        """Draw a small faint piece on the square that it did not reach, near the edge between."""
        centre = self.centre(square)
        top = self.picture.layout.get(square, ())[-1:]
        ghost = _draw_faint(self._draw_stack(square, top, self.big_targets))
        place = xy(centre + (self.pitch - 18) * self.vector(edge))
        # scaled to one half about its own centre
        transform = f"translate({place}) scale(.5) translate({xy(-centre)})"
        return f'<g transform="{transform}">{ghost}</g>'

    def _draw_bounce_bar(self, square: Square, edge: tuple[int, int]) -> str:
        """Draw a bar at the edge that blocked a move, and three rays beyond it."""
        transform = f"translate({xy(self.centre(square))}) rotate({_degrees(self.vector(edge)):g})"
        return (
            f'<g class="bounce" transform="{transform}"><path d="M50 -40V40"/>'
            '<path class="rays" d="M60 0h10M59 -17l8 -6M59 17l8 6"/></g>'
        )

    def _draw_action_marks(self) -> str:
        """Draw shields and bursts around the pieces that act in the stage."""
        parts = []
        for event, beat in self.timed_events:
            look = event.kind.look
            if look.around and event.square:
                centre = self.centre(Square.parse(event.square)) - 2j
                classes = "deed harm" if look.is_harm else "deed"
                parts.append(_mark_pop(use(look.around, centre, 100 * look.size, classes), beat))
        return "".join(parts)

    def _draw_strikes(self) -> str:
        """Draw the shots and blows of the stage, below the pieces.

        A hit from a distance is drawn as a line of fire, and a miss from a distance not at all.
        Between neighbours there is no room for a line. So a hollow arrow lies across the edge
        between them, for a hit as well as for a miss.
        """
        parts = []
        for strike in self.strikes:
            start = self.centre(strike.origin)
            end = self.centre(strike.target)
            ahead = unit_vector(end - start)
            beat = f'data-beat="{strike.beat}"'
            if strike.is_adjacent:
                blade = use("blade", (start + end) / 2, 46, "blade", degrees=_degrees(ahead))
                parts.append(_mark_pop(f'<g class="deed">{blade}</g>', strike.beat))
            elif strike.is_hit:
                # from beside the shooter to just before the target
                line = f"M{xy(start + 44 * ahead)}L{xy(end - 40 * ahead)}"
                attributes = f'd="{line}" pathLength="1" data-grow {beat}'
                fire = f'<path class="fire case" {attributes}/><path class="fire" {attributes}/>'
                parts.append(fire)
            # the square of the hit that the sign announces is marked already
            if strike.is_hit and strike.target != self.picture.hit_square:
                parts.append(_mark_pop(use("shot", end, 112, "hit"), strike.beat))
        return "".join(parts)


def _degrees(vector: complex) -> float:
    """Return the direction of a vector, clockwise from the right."""
    return math.degrees(cmath.phase(vector))


def _mark_pop(drawing: str, beat: int) -> str:
    return f'<g data-pop data-beat="{beat}">{drawing}</g>'


def _draw_faint(drawing: str) -> str:
    return f'<g class="ghost">{drawing}</g>'


def _draw_curved_arrow(start: complex, end: complex, normal: complex) -> str:
    """Draw a cased curve that bulges along `normal`, with an arrowhead at `end`."""
    chord = end - start
    # the bulge grows with the distance up to a limit
    bulge = normal * min(34, 10 + 0.18 * abs(chord))
    # control points of a cubic Bézier curve, a quarter of the distance from its ends
    control_1 = start + bulge + chord / 4
    control_2 = end + bulge - chord / 4
    # the head follows the direction in which the curve arrives
    ahead = unit_vector(end - control_2)
    # the line ends inside the head, so that the tip stays sharp
    neck = end - 12 * ahead
    left = end - (22 - 14j) * ahead
    right = end - (22 + 14j) * ahead
    curve = [xy(point, ".1f") for point in (start, control_1, control_2, neck)]
    triangle = [xy(point, ".1f") for point in (end, left, right)]
    path = "M{}C{} {} {}".format(*curve)
    head = f"M{'L'.join(triangle)}z"
    return (
        f'<g class="way"><path class="case" d="{path}"/><path class="case head" d="{head}"/>'
        f'<path d="{path}"/><path class="head" d="{head}"/></g>'
    )


def plan_svg(
    view: TableView, squares: Sequence[Square | None], origin: Square | None, quarters: int
) -> str:
    """Draw the dotted path of the orders entered so far, with their numbers.

    `squares` has the square that each order would reach, or None for an order that leads off the
    board or into a wall. The path begins at `origin`. The drawing is empty if there are no orders,
    or no board on which to draw.
    """
    picture = picture_from_view(view)
    if picture is None or not squares:
        return ""
    painter = _BoardPainter(picture, quarters)
    stops = [square for square in (origin, *squares) if square is not None]
    path = "L".join(xy(painter.centre(square)) for square in stops)
    # a square that is passed several times shows all its numbers
    numbers: dict[Square, list[int]] = {}
    for number, square in enumerate(squares, start=1):
        if square is not None:
            numbers.setdefault(square, []).append(number)
    parts = [f'<path d="M{path}"/>']
    for square, numbers_here in numbers.items():
        # at the centre of a free square, or in the lower left corner of one with a piece
        first = painter.centre(square)
        if square in picture.layout:
            first += -33 + 33j
        for index, number in enumerate(numbers_here):
            disc = first + 33 * index
            parts.append(circle("", disc, 15) + text(number, disc + 7j))
    return "".join(parts)
