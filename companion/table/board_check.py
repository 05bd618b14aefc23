"""The board check: compare what the camera sees with the layout that the table expects.

It tells which moves of hands are left to do, what is wrong on the board, and which action explains
the board.

The functions are pure. A layout has a stack of faces on each square, from the bottom to the top. A
`Reading` has only the top of each stack in `seen`. A flag that lies on a robot looks like this:

    layout        {b2: ("purple robot", "purple flag")}
    reading.seen  {b2: "purple flag"}

A second example: the lime robot goes from c4 to c3, and a hand still hides c4. Hands have one move
to make. It is not done yet, because the robot might still be on c4, as far as the camera can tell:

    before           {c4: ("lime robot",)}
    after            {c3: ("lime robot",)}
    reading.seen     {c3: "lime robot"}
    reading.unknown  {c4}
    hand_moves       HandMove(("lime robot",), origin=c4, target=c3, is_done=False)

Had hands put it on d3, there would be a problem as well: “Lime robot expected on c3, seen on d3:
move it to c3.”
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import Kit, Layout
from companion.core.ports import Reading

# The reading while no camera sees a board.
NO_READING = Reading({})


@dataclass(frozen=True)
class HandMove:
    """One move that hands make with a piece, or with several that lie on each other."""

    faces: tuple[str, ...]
    """The faces that are moved, from the bottom to the top as they lie afterwards."""
    origin: Square | None
    """Where they come from. None if they lie beside the board."""
    target: Square | None
    """Where they go. None if they leave the board."""
    is_done: bool = False
    """Whether the camera has seen the result."""
    is_turned_over: bool = False
    """Whether a piece is turned over, on its square or on the way."""

    @property
    def is_in_place(self) -> bool:
        """Whether a piece stays on its square and only turns over there."""
        return self.origin == self.target


@dataclass(frozen=True)
class BoardBefore:
    """The board before an action."""

    kit: Kit
    layout: Layout
    markers: Mapping[Square, int] = field(default_factory=dict)
    """The id of the marker that was read on each square. It tells a piece from another one that
    looks the same.
    """


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong on the board."""

    face: str
    """The piece to move or to turn over."""
    square: Square
    """Where it is seen, or where it is missing."""
    home: Square | None
    """Where it belongs. None if it belongs beside the board."""
    text: str
    """A sentence that says which piece is wrong, where, and how to correct it."""
    sign: str
    """A shorter sentence that says only what to do. It is for the sign, the line on the pages that
    says what the table waits for.
    """


Problems = tuple[Problem, ...]

# Legal actions, each with the layouts that hands may produce when they carry it out. An action is
# what a seat decides at once, in a type of the game's own.
ActionLayouts = Iterable[tuple[Any, tuple[Layout, ...]]]


class _Piece(NamedTuple):
    """A piece as it lies: its square, and the face that is up."""

    square: Square | None
    face: str


# A piece before it comes to the board, or after it has left it.
_NOWHERE = _Piece(None, "")


class _MovedPiece(NamedTuple):
    """A piece that hands move: its face afterwards, and whether it is turned over."""

    face: str
    is_turned_over: bool


# ---- readings and layouts ------------------------------------------------------------------------


def top_faces(layout: Layout) -> dict[Square, str]:
    """Return the top face of each square, which is all that a camera can see of a layout."""
    tops = {}
    for square, faces in layout.items():
        if faces:
            tops[square] = faces[-1]
    return tops


def known_faces(reading: Reading, before: Layout) -> dict[Square, str]:
    """Return the top face of each square. A hidden square has its face of the layout `before`."""
    hidden = {
        square: face for square, face in top_faces(before).items() if square in reading.unknown
    }
    return {**reading.seen, **hidden}


def with_expected_stacks(
    kit: Kit,
    layout: Layout,
    reading: Reading,
    before: Layout | None = None,
    touched_squares: Collection[Square] = (),
) -> Reading:
    """Return the reading as if hands had stacked carried pieces in the layout's order.

    A carried piece, such as a flag or a ball, may lie above or below its carrier, and the camera
    sees only the upper of the two. If the other one is seen on no square, the piece that is seen
    stands for both.

    There is one exception. If a flag already lay alone on its square in the layout `before`, seeing
    it does not prove that a robot has arrived. It does so only if the square is one of the
    `touched_squares`, where hands have been since.
    """
    faces = dict(reading.seen)
    expected_counts = Counter(top_faces(layout).values())
    seen_counts = Counter(faces.values())
    for square, stack in layout.items():
        if len(stack) != 2 or faces.get(square) != stack[0]:
            continue
        lower, upper = stack
        # Only a carrier and the piece it carries may lie in either order.
        if kit.face(lower).carried == kit.face(upper).carried:
            continue
        # A piece that lay here alone may not have been touched at all.
        lay_alone = (
            before is not None and before.get(square) == (lower,) and square not in touched_squares
        )
        is_stack = kit.face(upper).carried or not lay_alone
        # The lower piece does not stand for an upper one that is seen on another square.
        if is_stack and seen_counts[upper] < expected_counts[upper]:
            faces[square] = upper
            seen_counts[upper] += 1
    return replace(reading, seen=faces) if faces != reading.seen else reading


def shows_layout(layout: Layout, reading: Reading, before: Layout | None = None) -> bool:
    """Return whether a quiet reading shows exactly this layout.

    Every piece must be seen, except a piece that has not moved since the layout `before`: a tall
    neighbour or a resting hand may hide it. The piece that lay on top of it may have gone.
    """
    if not reading.quiet or reading.game is None:
        return False
    expected = {}
    for square, face in top_faces(layout).items():
        stack = layout[square]
        old_stack = (before or {}).get(square, ())
        has_only_lost_top = stack == old_stack[:-1]
        is_unmoved = stack == old_stack or has_only_lost_top
        if square not in reading.unknown or not is_unmoved:
            expected[square] = face
    seen = {square: face for square, face in reading.seen.items() if square not in reading.unknown}
    return seen == expected


def shows_cards(layout: Layout, reading: Reading) -> bool:
    """Return whether a quiet reading shows exactly the open cards in all zones of the layout.

    The order within a fan does not matter.
    """
    if not reading.quiet or reading.game is None or reading.unknown & set(layout):
        return False
    return all(
        sorted(reading.fans.get(zone, ())) == sorted(cards) for zone, cards in layout.items()
    )


def known_markers(before: Mapping[Square, int], reading: Reading) -> dict[Square, int]:
    """Return the markers on a board that has no problems.

    While something is hidden, a hand may be laying a piece on one that looks the same. So the
    markers that were read `before` stay, except on visible squares that show no marker now.
    """
    markers = dict(reading.markers)
    if reading.unknown:
        for square in before.keys() & (reading.unknown | markers.keys()):
            markers[square] = before[square]
    return markers


def _top_face(stack: tuple[str, ...]) -> str | None:
    """Return the face on top of a stack. None for an empty square."""
    return stack[-1] if stack else None


# ---- moves of hands ------------------------------------------------------------------------------


def hand_moves(
    kit: Kit,
    before: Layout,
    after: Layout,
    reading: Reading = NO_READING,
    touched_squares: Collection[Square] = (),
) -> tuple[HandMove, ...]:
    """Return the moves of hands that turn one layout into another.

    Each says whether the reading already shows it. To tell which piece went where, pieces of one
    kind are paired first on the same square, then by the face that is up, then in the order of
    their squares. Pieces with the same origin and target make one move. Turning over a piece that
    lies below another one counts as done, because no picture shows it.
    """
    # A piece of several squares counts as one face on the lower left of them.
    before = kit.anchor_layout(before)
    after = kit.anchor_layout(after)
    reading = with_expected_stacks(kit, after, reading, before, touched_squares)
    removed = _extra_pieces(kit, before, after)
    added = _extra_pieces(kit, after, before)
    # The pieces that have the same origin and target.
    routes: dict[tuple[Square | None, Square | None], list[_MovedPiece]] = {}
    for kind in sorted(removed.keys() | added.keys()):
        pairs = _pair_pieces(removed.get(kind, []), added.get(kind, []))
        for (origin, old_face), (target, new_face) in pairs:
            is_turned_over = bool(old_face and new_face) and old_face != new_face
            moved = _MovedPiece(new_face or old_face, is_turned_over)
            routes.setdefault((origin, target), []).append(moved)
    moves = []
    for (origin, target), pieces in routes.items():
        stack: tuple[str, ...] = ()
        if target is not None:
            stack = after[target]
        elif origin is not None:
            stack = before[origin]
        faces = tuple(sorted((piece.face for piece in pieces), key=stack.index))
        is_done = _is_move_done(faces, origin, target, after, reading)
        is_turned_over = any(piece.is_turned_over for piece in pieces)
        moves.append(HandMove(faces, origin, target, is_done, is_turned_over))
    return tuple(moves)


def _extra_pieces(kit: Kit, layout: Layout, reference: Layout) -> dict[str, list[_Piece]]:
    """Return the pieces of a layout that the reference lacks on the same square, by kind.

    A kind is the first face of a piece. It stays the same when the piece is turned over.
    """
    extra_pieces: dict[str, list[_Piece]] = {}
    for square in sorted(layout):
        extra_faces = Counter(layout[square]) - Counter(reference.get(square, ()))
        for face, count in extra_faces.items():
            extra_pieces.setdefault(kit.kind(face), []).extend([_Piece(square, face)] * count)
    return extra_pieces


def _pair_pieces(removed: list[_Piece], added: list[_Piece]) -> Iterator[tuple[_Piece, _Piece]]:
    """Yield pairs of the old and the new position of each piece of one kind.

    Pieces that stay on their square are paired first, then those that keep their face, then the
    rest.
    """
    removed = list(removed)
    added = list(added)
    for key_of in (attrgetter("square"), attrgetter("face")):
        for old_piece in list(removed):
            key = key_of(old_piece)
            new_piece = next((piece for piece in added if key_of(piece) == key), None)
            if new_piece is not None:
                removed.remove(old_piece)
                added.remove(new_piece)
                yield old_piece, new_piece
    yield from itertools.zip_longest(removed, added, fillvalue=_NOWHERE)


def _is_move_done(
    faces: tuple[str, ...],
    origin: Square | None,
    target: Square | None,
    after: Layout,
    reading: Reading,
) -> bool:
    """Return whether the reading shows that a move was made. `after` is the layout after it."""
    if reading.game is None:
        return False
    # A hidden square proves nothing, because the piece may still lie there.
    has_left = origin in (None, target) or (
        origin not in reading.unknown and reading.seen.get(origin) not in faces
    )
    has_arrived = target is None or reading.seen.get(target) == after[target][-1]
    return has_left and has_arrived


# ---- problems on the board -----------------------------------------------------------------------


def find_problems(kit: Kit, before: Layout, target: Layout, reading: Reading) -> Problems:
    """Return the problems on the board while hands turn `before` into `target`.

    If both are the same layout, no piece may move. Unknown squares have no problems. A piece on a
    wrong square is reported once, together with the square where it is missing.
    """
    if kit.large_faces:
        before = kit.anchor_layout(before)
        target = kit.anchor_layout(target)
        anchored = kit.anchor_layout({square: (face,) for square, face in reading.seen.items()})
        reading = replace(reading, seen=top_faces(anchored))
    reading = with_expected_stacks(kit, target, reading)
    # The face that is seen on each wrong square, None for an empty one.
    wrong_squares: dict[Square, str | None] = {}
    for square in sorted((before.keys() | target.keys() | reading.seen.keys()) - reading.unknown):
        face = reading.seen.get(square)
        if _is_square_wrong(kit, face, before.get(square, ()), target.get(square, ())):
            wrong_squares[square] = face
    # The faces of each stack that are not seen: all of them, or all below the top.
    missing_faces = {}
    for square, stack in target.items():
        is_seen = square not in reading.unknown and reading.seen.get(square) == _top_face(stack)
        missing_faces[square] = list(stack[:-1] if is_seen else stack)
    problems = []
    homes = set()
    # First the pieces on a wrong square, each with the square where it belongs.
    for square, face in wrong_squares.items():
        if face is not None:
            problem = _problem_on_own_square(kit, face, square, target.get(square, ()))
            problem = problem or _problem_off_square(face, square, missing_faces, reading, before)
            problems.append(problem)
            # One problem per piece: do not report the square where it is missing as well, and
            # send no second piece like it there.
            homes.add(problem.home)
            if problem.home is not None and face in missing_faces.get(problem.home, ()):
                missing_faces[problem.home].remove(face)
    # Then the pieces that are seen nowhere.
    for square, face in wrong_squares.items():
        stack = target.get(square, ())
        if stack and face != stack[-1] and square not in homes:
            parts = {"piece": stack[-1], "square": square}
            text = say("{piece!c} is missing on {square}: put it there.", **parts)
            remedy = say("Put the {piece} on {square}", **parts)
            problems.append(Problem(stack[-1], square, square, text, remedy))
    return tuple(problems)


def _is_square_wrong(
    kit: Kit, face: str | None, old_stack: tuple[str, ...], new_stack: tuple[str, ...]
) -> bool:
    """Return whether a square is wrong if it shows this face, or if it is empty (None).

    Hands are turning the old stack of the square into the new one. Meanwhile the square may show
    either face of any piece of both stacks, and may be empty. It must not show a piece that was
    laid on top of the one that belongs there.
    """
    if old_stack == new_stack:
        return face != _top_face(new_stack)
    if face is None:
        return False
    is_same_top = _top_face(old_stack) == _top_face(new_stack)
    is_above_top = is_same_top and face in new_stack[:-1] and face not in old_stack
    return is_above_top or kit.kind(face) not in map(kit.kind, (*old_stack, *new_stack))


def _problem_on_own_square(
    kit: Kit, face: str, square: Square, stack: tuple[str, ...]
) -> Problem | None:
    """Return the problem of a piece on its own square: the wrong face up, or too high in the stack.

    None if the piece belongs elsewhere.
    """
    top = _top_face(stack)
    if top is None:
        return None
    if kit.kind(face) == kit.kind(top):
        text = say("{piece!c} expected on {square}: turn the piece over.", piece=top, square=square)
        sign = say("Turn the piece on {square} over", square=square)
        return Problem(face, square, square, text, sign)
    if face in stack:
        parts = {"piece": top, "below": face, "square": square}
        text = say("{piece!c} belongs on top of the {below} on {square}: lay it there.", **parts)
        sign = say("Lay the {piece} on top on {square}", piece=top, square=square)
        return Problem(top, square, square, text, sign)
    return None


def _problem_off_square(
    face: str,
    square: Square,
    missing_faces: Mapping[Square, Sequence[str]],
    reading: Reading,
    before: Layout,
) -> Problem:
    """Return the problem of a piece that does not belong on its square.

    `missing_faces` are the faces that each square still lacks. The piece belongs on one of these
    squares, first on one that the camera sees, or else beside the board.
    """
    parts: dict[str, object] = {"piece": face, "square": square}
    homes = [home for home, stack in missing_faces.items() if face in stack and home != square]
    homes.sort(key=lambda home: (home in reading.unknown, home))
    if not homes:
        text = say("{piece!c} does not belong on {square}: take it off the board.", **parts)
        return Problem(face, square, None, text, say("Take the {piece} off {square}", **parts))
    parts["home"] = home = homes[0]
    if face in before.get(home, ()):
        text = say("{piece!c} expected on {home}, seen on {square}: move it back.", **parts)
    else:
        text = say("{piece!c} expected on {home}, seen on {square}: move it to {home}.", **parts)
    return Problem(face, square, home, text, say("Move the {piece} {square} to {home}", **parts))


# ---- the action that explains the board ----------------------------------------------------------


def match_actions(
    candidates: ActionLayouts, reading: Reading, before: BoardBefore
) -> tuple[list[Any], list[Any]]:
    """Return the actions that the reading proves, and those that it may mean.

    If the reading shows only that a piece is gone, it proves nothing: the piece may have left the
    board, or may lie under a carried piece such as a ball, or out of the camera's sight. Pieces
    that an action does not move may be hidden in any case.
    """
    proven = []
    possible = []
    for action, layouts in candidates:
        agreeing_layouts = []
        for layout in layouts:
            reading_with_stacks = with_expected_stacks(before.kit, layout, reading, before.layout)
            if shows_layout(layout, reading_with_stacks, before.layout):
                agreeing_layouts.append(layout)
        if any(_is_layout_proven(before, layout, reading) for layout in agreeing_layouts):
            proven.append(action)
        elif any(_may_be_meant(before, layout) for layout in agreeing_layouts):
            possible.append(action)
    return proven, possible


def are_lookalikes_proven(before: BoardBefore, after: Layout, reading: Reading) -> bool:
    """Return whether markers prove every piece that was laid on one that looks the same.

    In a picture such a square looks as before, and only its marker is another one. True if there is
    no such square. Without a marker from before nothing is proven, because the piece may only have
    been straightened.
    """
    for square in lookalike_squares(before, after):
        new_marker = reading.markers.get(square)
        old_marker = before.markers.get(square)
        if old_marker is None or new_marker in (None, old_marker):
            return False
    return True


def lookalike_squares(before: BoardBefore, after: Layout) -> list[Square]:
    """Return the squares of the layout `after` where a piece is laid on one that looks the same.

    Only the marker shows the change there. A piece that goes under a carried one, such as a ball,
    counts if nothing else of the change is visible.
    """
    is_all_hidden = top_faces(before.layout) == top_faces(after)
    squares = []
    for square, stack in after.items():
        old_stack = before.layout.get(square, ())
        is_on_lookalike = _top_face(old_stack) == _top_face(stack) and len(stack) > len(old_stack)
        if is_on_lookalike and (is_all_hidden or not before.kit.face(stack[-1]).carried):
            squares.append(square)
    return squares


def _is_layout_proven(before: BoardBefore, layout: Layout, reading: Reading) -> bool:
    """Return whether a reading that agrees with the layout shows more than that a piece is gone.

    If a piece lies on one that looks the same, only its marker shows it.
    """
    old_tops = top_faces(before.layout)
    has_new_top = any(old_tops.get(square) != face for square, face in top_faces(layout).items())
    if has_new_top or lookalike_squares(before, layout):
        return are_lookalikes_proven(before, layout, reading)
    # Nothing new is visible, so the pieces that are gone must lie beside the board.
    removed = _count_faces(before.layout) - _count_faces(layout)
    return bool(removed) and removed <= Counter(reading.beside)


def _may_be_meant(before: BoardBefore, layout: Layout) -> bool:
    """Return whether the layout lacks a piece, or has one under a carried piece.

    Both look the same as a piece that was only lifted, so the player has to say which it is.
    """
    if _count_faces(layout).total() < _count_faces(before.layout).total():
        return True
    for square in layout.keys() & before.layout.keys():
        stack = layout[square]
        if len(stack) > len(before.layout[square]) and before.kit.face(stack[-1]).carried:
            return True
    return False


def _count_faces(layout: Layout) -> Counter[str]:
    return Counter(face for stack in layout.values() for face in stack)
