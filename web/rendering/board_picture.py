"""What a picture of a board shows: pieces, moves to be made by hand, errors and unseen squares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from companion.archive.played_games import ReplayScene
from companion.core.grid import Square
from companion.core.i18n import joined, say
from companion.core.kit import Kit, Layout, Seat
from companion.games.base import Event
from companion.games.screen import Badge
from companion.table.board_check import HandMove, Problem
from companion.table.session import Phase
from companion.table.table_view import TableView
from web.rendering.pieces import big_piece_squares, is_big


@dataclass(frozen=True)
class BoardPicture:
    """Contents of a picture of a board. `web.rendering.board` draws it."""

    kit: Kit
    layout: Layout
    """The pieces. Moves, events and problems are drawn over them."""
    moves: tuple[HandMove, ...] = ()
    """Moves that are still to be made by hand."""
    events: tuple[Event, ...] = ()
    """Events of the stage, such as hits and bounces."""
    problems: tuple[Problem, ...] = ()
    """Misplaced pieces. Each is drawn in a ring, with an arrow to where it belongs."""
    unknown: frozenset[Square] = frozenset()
    """Squares that the camera cannot see. They are drawn with a shutter over them."""
    target: Layout = field(default_factory=dict)
    """Layout once all moves are made. It says which squares a big piece will cover."""
    origins: frozenset[Square] = frozenset()
    """Squares from which hands have already moved pieces in this stage."""
    breach_square: Square | None = None
    """Square on which the position of the pieces breaks a rule, if one does."""
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    """Text that the game shows at a piece, such as its hit points."""
    finished_moves: tuple[tuple[Square, Square], ...] = ()
    """Origin and target of pieces that are in their new places already. Arrows show these moves."""
    hit_square: Square | None = None
    """Square of the hit that the sign announces."""


def picture_from_view(view: TableView) -> BoardPicture | None:
    """Return the picture of a viewer's view, or None if no game is on.

    It shows the pieces as they lie after the moves that hands have finished. Open moves are drawn
    as arrows, and misplaced pieces in rings. While the sign announces a hit (in a headline), only
    the events of that hit are shown.
    """
    if view.kit is None:
        return None
    board = view.board
    headline = view.turn.headline
    moves = board.undo_moves or tuple(instruction.move for instruction in view.turn.instructions)
    finished = tuple(move for move in moves if move.is_done)
    open_moves = tuple(move for move in moves if not move.is_done)
    target = board.target or {}
    # a set-up begins with an empty board, or with the position of the turn that is undone
    before = board.undone_layout if view.phase is Phase.SETUP else board.layout
    layout = layout_after(before, finished)
    layout = _spread_big_pieces(view.kit, layout, target, finished)
    # a misplaced piece is drawn in its ring only, so take it out of layout and moves
    for problem in board.problems:
        layout, open_moves = _remove_misplaced(layout, open_moves, problem)
    breach = board.broken_rule.square if board.broken_rule else None
    hit_square = headline.content.square if headline else None
    events = tuple(
        event for event in view.turn.events if hit_square is None or event.to == str(hit_square)
    )
    return BoardPicture(
        view.kit,
        layout,
        open_moves,
        events=events,
        problems=board.problems,
        unknown=board.unknown,
        target=target,
        origins=frozenset(
            move.origin for move in finished if move.origin and move.origin != move.target
        ),
        breach_square=Square.parse(breach) if breach else None,
        badges=board.board_ui.badges if board.board_ui else {},
        hit_square=hit_square,
    )


def picture_from_scene(kit: Kit, scene: ReplayScene) -> BoardPicture:
    """Return the picture of one scene of a replay, with the origins of moved pieces."""
    return BoardPicture(
        kit,
        scene.layout,
        events=scene.events,
        origins=frozenset(origin for origin, _ in scene.moves),
        badges=scene.badges,
        finished_moves=scene.moves,
    )


def _spread_big_pieces(
    kit: Kit, layout: Layout, target: Layout, finished: tuple[HandMove, ...]
) -> Layout:
    """Return the layout with the big pieces of finished moves on all squares that they cover.

    A move names only one of these squares. The others are taken from `target`, the layout once all
    moves are made.
    """
    big = {face for move in finished for face in move.faces if is_big(kit, face)}
    if not big:
        return layout
    spread = {}
    for square in {**layout, **target}:
        small = [face for face in layout.get(square, ()) if face not in big]
        spread[square] = (*small, *(face for face in target.get(square, ()) if face in big))
    return spread


def _remove_misplaced(
    layout: Layout, open_moves: tuple[HandMove, ...], problem: Problem
) -> tuple[Layout, tuple[HandMove, ...]]:
    """Return layout and open moves without a misplaced piece.

    The layout has the piece at its home. But if hands were to move the piece, and have put it on a
    wrong square, the layout still has it at the origin of its move. That move is removed, too.
    """
    # the move of a piece that hands have put on a wrong square
    stray = next(
        (
            move
            for move in open_moves
            if problem.face in move.faces and problem.square != problem.home
        ),
        None,
    )
    place = problem.home or problem.square
    if stray is not None:
        open_moves = tuple(move for move in open_moves if move is not stray)
        place = stray.origin or place
    stack = list(layout.get(place, ()))
    if problem.face in stack:
        stack.remove(problem.face)
    return {**layout, place: tuple(stack)}, open_moves


def layout_after(layout: Layout, moves: Iterable[HandMove]) -> Layout:
    """Return the layout after some moves. Moved pieces land on top of stacks."""
    stacks = {square: list(faces) for square, faces in layout.items()}
    # all pieces leave before any piece lands, so that two pieces can swap places
    landing: list[tuple[Square, str]] = []
    for move in moves:
        for face in move.faces:
            if move.origin is not None and face in stacks.get(move.origin, []):
                stacks[move.origin].remove(face)
            if move.target is not None:
                landing.append((move.target, face))
    for square, face in landing:
        stacks.setdefault(square, []).append(face)
    return {square: tuple(faces) for square, faces in stacks.items() if faces}


def board_words(picture: BoardPicture) -> str:
    """Return the board in words, such as `lime robot c4, purple robot a1`."""
    places = []
    for square, faces in sorted(picture.layout.items()):
        badge = picture.badges.get(square)
        points = joined("", ("(", badge.text, ")")) if badge and badge.text else ""
        small = [face for face in faces if not is_big(picture.kit, face)]
        places += [joined(" ", (face, square, points)) for face in small]
    for face, squares in big_piece_squares(picture.kit, picture.layout).items():
        first = squares[0]
        last = squares[-1]
        places.append(say("{piece} {first} to {last}", piece=face, first=first, last=last))
    words = joined(", ", places) or say("The board is empty")
    if not picture.unknown:
        return words
    hidden = joined(", ", sorted(picture.unknown))
    return joined(". ", (words, say("The camera cannot see {squares}", squares=hidden)))


def own_square(view: TableView, seat: Seat) -> Square | None:
    """Return the square of a side's main piece, such as its robot.

    Return None if the board has none, or several of them.
    """
    if view.kit is None:
        return None
    # a main piece has the shape that stands for its side
    drawing = view.kit.sides[seat].drawing
    own = {face.name for face in view.kit.faces if face.seat is seat and face.drawing == drawing}
    places = [square for square, faces in view.board.layout.items() if own.intersection(faces)]
    return places[0] if len(places) == 1 else None
