"""The board as SVG: where the pieces are, where hands move them, what bounced, what is wrong, what nobody sees.

Units: a square is 100 wide; x to the right, y down. A picture is turned clockwise by `quarters` of a full turn:
0 puts South below, 1 at the left (file a above), 2 above, 3 at the right. Pieces and labels stay upright.
Colours come from the style sheet through classes; no style attribute is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from companion.core.grid import Square
from companion.core.i18n import translate
from companion.core.kit import SEATS, Board, Kit, Seat
from companion.games.base import Event
from companion.games.events import CommonEvent, Reach
from companion.table.board_check import HandMove, Problem
from companion.table.table_view import PastStage, TableView
from web.rendering.board_picture import BoardPicture, beats_of, board_words, scene_of
from web.rendering.pieces import big_piece, big_pieces, is_big, side_class, stack, use

Point = tuple[float, float]

_MARGIN = 3.0
"""Room for half a line round separate tiles. Bounce bars and arrows may reach beyond the picture."""
_GOAL = 36.0
"""Depth of the goals."""
_FRAME = 6.0
_LABEL_X, _LABEL_TOP, _LABEL_BOTTOM = 43.0, 24.0, 43.0
"""Distances of labels from the middle of a square: beside, above and below it."""


def board_svg(scene: BoardPicture, quarters: int = 0) -> Markup:
    """Draw a board, turned clockwise by quarters of a full turn.

    `data-grid` tells scripts of the page files, ranks, pitch and quarters; what they draw lies in the groups `under`
    (below the pieces) and `plan` (above them). Scripts draw on no board that lies on its side.
    """
    sketch = _Sketch(scene, quarters)
    grid = f"{sketch.board.files} {sketch.board.ranks} {sketch.pitch:g} {quarters}"
    words = escape(translate(board_words(sketch.scene)))
    meant = f' role="img" aria-label="{words}" data-grid="{grid}"'
    if quarters % 2:
        # Its own size, larger than any screen: style sheets shrink it into its place, as they do a photograph.
        _, _, width, height = sketch.box()
        return _whole(
            sketch, sketch.box(), f'{meant} width="{4 * width:g}" height="{4 * height:g}"'
        )
    return _whole(sketch, sketch.box(), meant, '<g id="under"></g>', '<g id="plan"></g>')


def past_board(kit: Kit, stage: PastStage, quarters: int = 0) -> Markup:
    """Return a stage of the last turn: where pieces have gone, what bounced and who was hit. Scripts draw nothing on
    it."""
    went = [(event.square, event.to) for event in stage.events if event.kind is CommonEvent.MOVE]
    ways = tuple((Square.parse(one), Square.parse(other)) for one, other in went if one and other)
    sketch = _Sketch(
        BoardPicture(kit, stage.layout, events=stage.events, badges=stage.badges, ways=ways),
        quarters,
    )
    words = escape(translate(board_words(sketch.scene)))
    return _whole(sketch, sketch.box(), f' role="img" aria-label="{words}"')


def _whole(
    sketch: _Sketch,
    box: tuple[float, float, float, float],
    meant: str,
    under: str = "",
    plan: str = "",
) -> Markup:
    view_box = " ".join(f"{number:g}" for number in box)
    return Markup(
        f'<svg class="board" viewBox="{view_box}"{meant}>'
        f"{sketch.ground()}{under}{sketch.stances()}{sketch.shots()}{sketch.followers()}"
        f"{sketch.blows()}{sketch.pieces()}{sketch.hands()}{sketch.bounces()}{plan}</svg>"
    )


class _Sketch:
    """One picture being drawn."""

    def __init__(self, scene: BoardPicture, quarters: int) -> None:
        self.scene = scene
        self.board: Board = scene.kit.board
        self.quarters = quarters
        self.beats = beats_of(scene.events)
        self.pitch = 100 * self.board.pitch_mm / self.board.square_mm
        files, ranks = self.board.files, self.board.ranks
        self.columns, self.rows = (ranks, files) if quarters % 2 else (files, ranks)
        self.width = self.pitch * (self.columns - 1) + 100
        self.height = self.pitch * (self.rows - 1) + 100

    def box(self) -> tuple[float, float, float, float]:
        """Return x, y, width and height of the picture."""
        margin = _FRAME if self.board.tones == 2 else _MARGIN
        goals = _GOAL if self.board.has_goals else 0
        beside, above = (margin + goals, margin) if self.quarters % 2 else (margin, margin + goals)
        return -beside, -above, self.width + 2 * beside, self.height + 2 * above

    def centre(self, square: Square) -> Point:
        """Return the middle of a square in the picture."""
        across = (square.file - (self.board.files - 1) / 2) * self.pitch
        up = (square.rank - (self.board.ranks - 1) / 2) * self.pitch
        x, y = _turn(across, -up, self.quarters)
        return self.width / 2 + x, self.height / 2 + y

    def way(self, step: tuple[int, int]) -> Point:
        """Return the direction in the picture of a step of files and ranks."""
        files, ranks = step
        return _turn(files, -ranks, self.quarters)

    def side(self, seat: Seat | None) -> str:
        return side_class(self.scene.kit, seat)

    # ---- the ground ----

    def ground(self) -> str:
        """Draw tiles, labels, printed marks and the shutter over what the camera does not see."""
        parts = [self._tiles()]
        for mark in self.board.marks:
            parts.append(use(mark.drawing, *self.centre(mark.square), 100, self.side(mark.seat)))
        for square in sorted(self.scene.unknown):
            x, y = self.centre(square)
            parts.append(
                f'<rect class="unseen" x="{x - 50:g}" y="{y - 50:g}" width="100" height="100" rx="3"/>'
            )
        parts += [self._trace(square) for square in sorted(self.scene.came_from)]
        if self.scene.hit:
            x, y = self.centre(self.scene.hit)
            parts.append(
                f'<rect class="struck" x="{x - 50:g}" y="{y - 50:g}" width="100" height="100"/>'
            )
        return "".join(parts) + self._labels()

    def _tiles(self) -> str:
        """Draw separate tiles, or a board of two tones in a frame with the goals beyond it."""
        corners = [(square, *self.centre(square)) for square in self.board.squares]
        if self.board.gap_mm:
            return "".join(
                f'<rect class="tile" x="{x - 50:g}" y="{y - 50:g}" width="100" height="100" rx="3"/>'
                for _, x, y in corners
            )
        goals = "".join(self._goal(seat) for seat in SEATS) if self.board.has_goals else ""
        whole = f'width="{self.width:g}" height="{self.height:g}"/>'
        dark = f'<path class="tile alt" fill-rule="evenodd" d="{self._dark_squares()}"/>'
        tiles = f'<rect class="tile" {whole}<g transform="scale(100)">{dark}</g>'
        return f'{goals}{tiles}<rect class="frame" {whole}'

    def _dark_squares(self) -> str:
        """Return the path of every second square, in units of a square."""
        columns, rows = self.columns, self.rows
        column, row = (round((place - 50) / 100) for place in self.centre(Square(0, 0)))
        first, top = column % 2, 1 - row % 2
        along = "h1".join([f"v{rows}h1V0"] * len(range(first, columns, 2)))
        across = "v1".join([f"h{columns}v1H0"] * len(range(top, rows, 2)))
        return f"M{first} 0{along}zM0 {top}{across}z"

    def _goal(self, seat: Seat) -> str:
        """Draw the strip behind a seat's first rank, plain for South and dotted for North."""
        x, y, width, height = 0.0, self.height, self.width, _GOAL
        if self.quarters % 2:
            x, y, width, height = self.width, 0.0, _GOAL, self.height
        across, down = self.way((0, 1 if seat is Seat.NORTH else -1))
        if min(across, down) < 0:
            x, y = (-_GOAL, y) if across else (x, -_GOAL)
        strip = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        dots = f'<rect {strip} fill="url(#dots)"/>' if seat is Seat.NORTH else ""
        fill = f'<rect {strip} fill="currentColor"/>{dots}<rect class="frame" {strip}/>'
        return f'<g class="goal {self.side(seat)}">{fill}</g>'

    def _trace(self, square: Square) -> str:
        """Draw two dots on the lower edge of the square from which a piece has come."""
        x, y = self.centre(square)
        return "".join(
            f'<circle class="trace" cx="{x + dx:g}" cy="{y + 38:g}" r="7"/>' for dx in (-12, 12)
        )

    def _labels(self) -> str:
        if self.board.labels_in_squares:
            shown = [(s, *self.centre(s)) for s in self.board.squares if s not in self.board.holes]
            inside = "".join(
                f'<text x="{x - 43:g}" y="{y - 29:g}">{square}</text>' for square, x, y in shown
            )
            return f'<g class="lab">{inside}</g>'
        is_upright = self.quarters % 2 == 0
        names = []
        for square in self.board.squares:
            x, y = self.centre(square)
            file, rank = chr(97 + square.file), square.rank + 1
            if x < self.pitch:
                name = rank if is_upright else file
                names.append(f'<text x="{x - _LABEL_X:g}" y="{y - _LABEL_TOP:g}">{name}</text>')
            if y > self.height - self.pitch:
                name = file if is_upright else rank
                names.append(
                    f'<text x="{x + _LABEL_X:g}" y="{y + _LABEL_BOTTOM:g}" class="last">{name}</text>'
                )
        return f'<g class="lab edge">{"".join(names)}</g>'

    # ---- pieces ----

    def pieces(self) -> str:
        """Draw every stack, every big piece once, and what is wrong in rings."""
        kit, drawn = self.scene.kit, []
        for square, faces in sorted(
            self.scene.layout.items(), key=lambda item: self.centre(item[0])[::-1]
        ):
            if small := [face for face in faces if not is_big(kit, face)]:
                lies = stack(kit, small, *self.centre(square), self.scene.badges.get(square))
                struck = ' class="on-struck"' if square == self.scene.hit else ""
                drawn.append(
                    self._mark_bump(
                        square, f'<g data-at="{square}"{struck}{self._swell(square)}>{lies}</g>'
                    )
                )
        big = [self._big(face, squares) for face, squares in big_pieces(kit, self.scene.layout)]
        return (
            "".join(big + drawn)
            + "".join(self._draw_problem(problem) for problem in self.scene.wrong)
            + self._draw_breach()
        )

    def _big(self, face: str, squares: Sequence[Square]) -> str:
        return big_piece(self.scene.kit, face, [self.centre(square) for square in squares])

    def _mark_bump(self, square: Square, drawn: str) -> str:
        """Mark a stack whose move was refused with how far it got, in the picture's units."""
        edges = [
            event.edge for event in self.scene.events if event.square == str(square) and event.edge
        ]
        if not edges:
            return drawn
        across, down = self.way(edges[0])
        beat = next(
            beat
            for event, beat in self._events_with_beats()
            if event.square == str(square) and event.edge
        )
        return f'<g data-bump="{across * 60:g} {down * 60:g}" data-beat="{beat}">{drawn}</g>'

    def _events_with_beats(self) -> Iterator[tuple[Event, int]]:
        """Return the events of the step that is shown, each with its beat."""
        return zip(self.scene.events, self.beats, strict=True)

    def _swell(self, square: Square) -> str:
        """Mark what lies on a square if an event makes it grow for a moment."""
        for event, beat in self._events_with_beats():
            if event.kind.look.swells and str(square) == (event.to or event.square):
                return f' data-swell data-beat="{beat}"'
        return ""

    def _stack(self, square: Square, faces: Sequence[str], classes: str = "") -> str:
        """Draw what lies on a square, or will.

        A big piece lies over all the squares that it covers.
        """
        kit = self.scene.kit
        drawn = stack(kit, [face for face in faces if not is_big(kit, face)], *self.centre(square))
        for face in faces:
            if is_big(kit, face):
                there = dict(big_pieces(kit, self.scene.target)).get(face, (square,))
                drawn = self._big(face, there) + drawn
        return f'<g class="{classes}">{drawn}</g>' if classes else drawn

    def _piece(self, name: str, x: float, y: float) -> str:
        """Draw one piece."""
        if is_big(self.scene.kit, name):
            return big_piece(self.scene.kit, name, [(x, y)])
        return stack(self.scene.kit, (name,), x, y)

    def _draw_problem(self, problem: Problem) -> str:
        """Draw a piece that should not be there in a ring, with the way back."""
        x, y = self.centre(problem.square)
        ring = f'<circle class="ring" cx="{x:g}" cy="{y:g}" r="46"/>'
        if problem.home == problem.square:
            return f'<g class="ghost">{self._piece(problem.face, x, y)}</g>{self._frame(problem.square)}{ring}'
        piece = self._piece(problem.face, x, y)
        if problem.home is None:
            return f"{piece}{ring}{use('cross', x + 34, y - 34, 34)}"
        home = self._piece(problem.face, *self.centre(problem.home))
        frame = self._frame(problem.home)
        return f'{frame}<g class="ghost">{home}</g>{piece}{ring}{self._arrow(problem.square, problem.home)}'

    def _draw_breach(self) -> str:
        """Draw a cross on what breaks the rule, at its shoulder if a piece stands there."""
        square = self.scene.breaks
        if square is None or any(problem.square == square for problem in self.scene.wrong):
            return ""
        x, y = self.centre(square)
        return (
            use("cross", x + 30, y - 30, 40)
            if self.scene.layout.get(square)
            else use("cross", x, y, 50)
        )

    # ---- hands ----

    def hands(self) -> str:
        """Draw where hands move what: a frame with the piece faint in it, and an arrow."""
        gone = "".join(self._arrow(*way) for way in self.scene.ways)
        return "".join(self._move(move) for move in self.scene.moves) + gone

    def _move(self, move: HandMove) -> str:
        if move.target is None:
            return self._away(move.origin, move.faces) if move.origin else ""
        big = [
            squares
            for face, squares in big_pieces(self.scene.kit, self.scene.target)
            if face in move.faces
        ]
        frame = "".join(map(self._frame, big[0] if big else (move.target,)))
        if move.origin is None:
            return f"{frame}<g{self._swell(move.target)}>{self._stack(move.target, move.faces, 'ghost')}</g>"
        if move.origin == move.target:
            return f'<g data-flip="{move.target}" data-beat="0">{frame}</g>'
        is_late = self._is_hit(move)
        beat = max(self.beats, default=0) + 1 if is_late else 0
        slid = (
            "" if self._follows(move) else self._slide(move.faces, move.origin, move.target, beat)
        )
        arrow = self._arrow(move.origin, move.target)
        return _pop(frame, beat) + slid + _pop(arrow, beat) if is_late else frame + slid + arrow

    def _is_hit(self, move: HandMove) -> bool:
        """Return whether it moves because it was hit in the step that is shown."""
        return any(to == move.origin for _, to, _ in self._fire(Reach.HIT))

    def _follows(self, move: HandMove) -> bool:
        """Return whether it goes where another piece still stands that leaves."""
        left = {each.origin for each in self.scene.moves if each.origin != each.target}
        return move.target in left and not self._is_hit(move)

    def followers(self) -> str:
        """Draw what will stand where another piece leaves, below that one."""
        coming = [move for move in self.scene.moves if self._follows(move)]
        return "".join(
            self._slide(each.faces, each.origin, each.target)
            for each in coming
            if each.origin and each.target
        )

    def _slide(self, faces: Sequence[str], origin: Square, target: Square, beat: int = 0) -> str:
        """Draw a piece faint in its new place, to which it slides in its beat."""
        (x0, y0), (x1, y1) = self.centre(origin), self.centre(target)
        ghost = self._stack(target, faces, "ghost")
        return f'<g data-slide="{x0 - x1:g} {y0 - y1:g}" data-beat="{beat}">{ghost}</g>'

    def _frame(self, square: Square) -> str:
        x, y = self.centre(square)
        return f'<path class="target" d="M{x - 50:g} {y - 50:g}h100v100h-100z"/>'

    def _away(self, origin: Square, faces: Sequence[str]) -> str:
        """Draw an arrow over the nearest edge of the board, or into the other side's goal."""
        x, y = self.centre(origin)
        if self.board.has_goals:
            across, down = self.way(
                (0, 1 if self.scene.kit.face(faces[0]).seat is Seat.SOUTH else -1)
            )
            beyond_x, beyond_y = (self.width + _GOAL) / 2, (self.height + _GOAL) / 2
            end = (
                (self.width / 2 + across * beyond_x, y)
                if across
                else (x, self.height / 2 + down * beyond_y)
            )
        else:
            ends = (self.width + 22, y), (-22, y), (x, self.height + 22), (x, -22)
            end = min(ends, key=lambda each: math.dist(each, (x, y)))
        dx, dy = _direction((x, y), end)
        return _curve((x + 30 * dx - 10 * dy, y + 30 * dy + 10 * dx), end, (-dy, dx))

    def _arrow(self, origin: Square, target: Square) -> str:
        """Draw a curved arrow. Two pieces that change places get one on either side."""
        (x0, y0), (x1, y1) = self.centre(origin), self.centre(target)
        dx, dy = _direction((x0, y0), (x1, y1))
        normal = (-dy, dx)
        middle = self.width / 2 - (x0 + x1) / 2, self.height / 2 - (y0 + y1) / 2
        ways = {*self.scene.ways, *((move.origin, move.target) for move in self.scene.moves)}
        swaps = (target, origin) in ways
        inward = normal[0] * middle[0] + normal[1] * middle[1]
        if not swaps and inward < 0:
            normal = (dy, -dx)
        start = x0 + normal[0] * 34 + dx * 20, y0 + normal[1] * 34 + dy * 20
        end = x1 + normal[0] * 36 - dx * 6, y1 + normal[1] * 36 - dy * 6
        return _curve(start, end, normal)

    # ---- what happened ----

    def bounces(self) -> str:
        """Draw a bar at every edge that refused a move, and on a square that several wanted all of them, faint."""
        refused = [
            (Square.parse(event.square), event.edge)
            for event in self.scene.events
            if event.square and event.edge
        ]
        wanted = [square.shifted(*edge) for square, edge in refused]
        ghosts = [
            self._ghost(*way)
            for way, target in zip(refused, wanted, strict=True)
            if wanted.count(target) > 1
        ]
        return "".join(ghosts + [self._bounce(*way) for way in refused])

    def _ghost(self, square: Square, edge: tuple[int, int]) -> str:
        """Draw a piece small and faint beyond an edge, on the side from which it would have come."""
        x, y = self.centre(square)
        across, down = self.way(edge)
        piece = self._stack(square, self.scene.layout.get(square, ())[-1:], "ghost")
        far = self.pitch - 18
        to = f"{x + far * across:g} {y + far * down:g}"
        return f'<g transform="translate({to}) scale(.5) translate({-x:g} {-y:g})">{piece}</g>'

    def shots(self) -> str:
        """Draw the lines of fire of the step that is shown. They lie under the pieces."""
        return "".join(self._shot(*way) for way in self._fire(Reach.HIT) if not _is_next(*way[:2]))

    def _fire(self, *reaches: Reach) -> list[tuple[Square, Square, int]]:
        """Return from where to where is fired or hit, and in which beat."""
        events = [
            (event.square, event.to, beat)
            for event, beat in self._events_with_beats()
            if event.kind.look.reach in reaches
        ]
        return [
            (Square.parse(one), Square.parse(other), beat)
            for one, other, beat in events
            if one and other
        ]

    def stances(self) -> str:
        """Draw shields and bursts round the pieces of which the step tells."""
        events = [
            (event.kind.look, event.square, beat)
            for event, beat in self._events_with_beats()
            if event.kind.look.around
        ]
        return "".join(
            _pop(
                use(
                    look.around, x, y - 2, 100 * look.size, "deed harm" if look.is_harm else "deed"
                ),
                beat,
            )
            for look, square, beat in events
            if square
            for x, y in [self.centre(Square.parse(square))]
        )

    def blows(self) -> str:
        """Draw what pieces do to the squares next to theirs in the step that is shown."""
        near = [way for way in self._fire(Reach.HIT, Reach.MISS) if _is_next(*way[:2])]
        hits = [way for way in self._fire(Reach.HIT) if way in near and way[1] != self.scene.hit]
        drawn = [_pop(use("shot", *self.centre(to), 100, "hit"), beat) for _, to, beat in hits]
        return "".join(drawn + [self._blow(*way) for way in near])

    def _blow(self, origin: Square, target: Square, beat: int) -> str:
        """Draw a hollow arrow half over the edge between two squares."""
        (x0, y0), (x1, y1) = self.centre(origin), self.centre(target)
        degrees = math.degrees(math.atan2(y1 - y0, x1 - x0))
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        return _pop(f'<g class="deed">{use("blade", x, y, 46, "blade", degrees=degrees)}</g>', beat)

    def _bounce(self, square: Square, edge: tuple[int, int]) -> str:
        """Draw a bar at the edge that refused, and three rays beyond it."""
        x, y = self.centre(square)
        across, down = self.way(edge)
        degrees = math.degrees(math.atan2(down, across))
        return (
            f'<g class="bounce" transform="translate({x:g} {y:g}) rotate({degrees:g})"><path d="M50 -40V40"/>'
            '<path class="rays" d="M60 0h10M59 -17l8 -6M59 17l8 6"/></g>'
        )

    def _shot(self, origin: Square, target: Square, beat: int) -> str:
        (x0, y0), (x1, y1) = self.centre(origin), self.centre(target)
        dx, dy = _direction((x0, y0), (x1, y1))
        line = f"M{x0 + dx * 44:g} {y0 + dy * 44:g}L{x1 - dx * 40:g} {y1 - dy * 40:g}"
        grown = f'd="{line}" pathLength="1" data-grow data-beat="{beat}"'
        burst = _pop(use("shot", x1, y1, 112, "hit"), beat)
        return f'<path class="fire case" {grown}/><path class="fire" {grown}/>{burst}'


def _direction(start: Point, end: Point) -> Point:
    """Return a way of length 1 from one point towards another."""
    length = math.dist(start, end) or 1.0
    return (end[0] - start[0]) / length, (end[1] - start[1]) / length


def _turn(x: float, y: float, quarters: int) -> Point:
    """Turn a way in a picture clockwise by quarters of a full turn."""
    for _ in range(quarters):
        x, y = -y, x
    return x, y


def _pop(drawn: str, beat: int) -> str:
    return f'<g data-pop data-beat="{beat}">{drawn}</g>'


def _is_next(one: Square, other: Square) -> bool:
    """Return whether two squares share an edge."""
    return abs(one.file - other.file) + abs(one.rank - other.rank) == 1


def _curve(start: Point, end: Point, normal: Point) -> str:
    """Draw a cased curve that bulges along `normal`, with its head at `end`."""
    (x0, y0), (x1, y1) = start, end
    length = math.dist(start, end)
    bulge = min(34.0, 10 + length * 0.18)
    dx, dy = _direction(start, end)
    c0 = x0 + normal[0] * bulge + dx * length * 0.25, y0 + normal[1] * bulge + dy * length * 0.25
    c1 = x1 + normal[0] * bulge - dx * length * 0.25, y1 + normal[1] * bulge - dy * length * 0.25
    tx, ty = _direction(c1, end)
    neck = x1 - tx * 12, y1 - ty * 12
    path = f"M{x0:.1f} {y0:.1f}C{c0[0]:.1f} {c0[1]:.1f} {c1[0]:.1f} {c1[1]:.1f} {neck[0]:.1f} {neck[1]:.1f}"
    left = x1 - tx * 22 - ty * 14, y1 - ty * 22 + tx * 14
    right = x1 - tx * 22 + ty * 14, y1 - ty * 22 - tx * 14
    head = f"M{x1:.1f} {y1:.1f}L{left[0]:.1f} {left[1]:.1f}L{right[0]:.1f} {right[1]:.1f}z"
    return (
        f'<g class="way"><path class="case" d="{path}"/><path class="case head" d="{head}"/>'
        f'<path d="{path}"/><path class="head" d="{head}"/></g>'
    )


def plan_svg(
    view: TableView, squares: Sequence[Square | None], origin: Square | None, quarters: int
) -> str:
    """Draw the dotted way of the orders entered so far, with their numbers."""
    scene = scene_of(view)
    if scene is None or not squares:
        return ""
    sketch = _Sketch(scene, quarters)
    stops = [square for square in (origin, *squares) if square is not None]
    way = "L".join("{:g} {:g}".format(*sketch.centre(square)) for square in stops)
    numbers: dict[Square, list[int]] = {}
    for number, square in enumerate(squares, start=1):
        if square is not None:
            numbers.setdefault(square, []).append(number)
    discs = []
    for square, here in numbers.items():
        x, y = sketch.centre(square)
        is_free = square not in scene.layout
        for place, number in enumerate(here):
            at_x = x + 33 * (place - (len(here) - 1) / 2) if is_free else x - 33 + 33 * place
            at_y = y if is_free else y + 33
            discs.append(
                f'<circle cx="{at_x:g}" cy="{at_y:g}" r="15"/><text x="{at_x:g}" y="{at_y + 7:g}">{number}</text>'
            )
    return f'<path d="M{way}"/>{"".join(discs)}'
