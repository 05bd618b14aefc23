"""Diagnosis of a wrong board in Scouts: find what hands have done, then why it is not legal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations

from companion.core.errors import Illegal
from companion.core.i18n import say
from companion.core.kit import Layout, Seat
from companion.games.base import FacesSeen, changed_tops
from companion.games.scouts.board import (
    AROUND,
    BESIDE,
    BOULDERS,
    FAR,
    NAMES,
    NUMBERS,
    ROCK_FACES,
    SCOUT_FACES,
    SEAT_NAMES,
    SQUARES,
    squares_in,
)
from companion.games.scouts.legal import Reason, check, home_rank, no_play
from companion.games.scouts.moves import chains, rock_decision
from companion.games.scouts.notation import Decision, Kind
from companion.games.scouts.state import State, layout_of

Changes = Mapping[int, tuple[str | None, str | None]]
"""Top face before and now of each square that differs."""

_OWNERS = {face: seat for seat, faces in enumerate(SCOUT_FACES) for face in faces}
_ABOUT_THE_SCOUT = {
    Reason.SETTING_UP,
    Reason.NO_SCOUT,
    Reason.NOT_YOUR_SCOUT,
    Reason.BURIED,
    Reason.PLAYS_MADE,
    Reason.ALREADY_PLAYED,
    Reason.ON_STACK,
}


def why_not(state: State, seat: Seat, seen: FacesSeen) -> Illegal | None:
    """Return the rule that hands of the seat on turn have broken.

    None if the change is a legal action, no change at all, or more than one action.
    """
    if state.outcome or seat is not state.seat:
        return None
    layout = layout_of(state.position)
    tops = changed_tops(layout, seen)
    changes = {NUMBERS[str(square)]: pair for square, pair in tops.items()}
    # Rocks that have moved or been covered are checked before scouts.
    if rocks := {after or before for before, after in changes.values()} & set(ROCK_FACES):
        if len(rocks) == 1:
            return _why_no_rock(state, rocks.pop() or "", changes)
        return None
    if len(changes) == 1:
        ((square, (before, after)),) = changes.items()
        # Otherwise the scout is off the board or in a hand, or is on a scout with the same face.
        if after and after != _face_beneath(layout, square):
            return _why_no_change(state, square, before, after)
        return None
    refusals = [
        _why_no_move(state, origin, target, seen[SQUARES[target]])
        for origin, target in _moves(layout, changes)
    ]
    # If at least one of the possible moves is legal, nothing is wrong.
    return refusals[0] if refusals and all(refusals) else None


def _why_no_change(state: State, square: int, before: str | None, after: str) -> Illegal | None:
    """Return why a scout may not be placed or turned over on its square.

    None if the change is of another kind.
    """
    if before is None and state.position.to_place:
        return _why_no_placement(state, square, after)
    # The other face of the same side means that the scout was turned over.
    if before and _OWNERS.get(before) == _OWNERS[after]:
        return _wrong_side(square, after)
    return None


def _face_beneath(layout: Layout, square: int) -> str | None:
    """Return the face that a square shows without its upper scout."""
    faces = layout.get(SQUARES[square], ())
    return faces[-2] if len(faces) > 1 else None


def _refusal(state: State, decision: Decision) -> Illegal | None:
    """Return why a decision of the seat on turn is refused, or None if it is legal."""
    try:
        check(state, decision)
    except Illegal as refusal:
        return refusal
    return None


# ---- rocks ---------------------------------------------------------------------------------------


def _why_no_rock(state: State, face: str, changes: Changes) -> Illegal | None:
    position = state.position
    index = ROCK_FACES.index(face)
    owner, kind = divmod(index, 2)
    # Other things than the rock have changed.
    if any(face not in pair for pair in changes.values()):
        return None
    if home := position.rocks[index]:
        where = [NAMES[number] for number in squares_in(home)]
        text = say(
            "The {rock} is not moved. Once laid it stays on {squares}.",
            rock=face,
            squares=" ".join(where),
        )
        return Illegal(Reason.ROCK_MOVED, text, "rocks", where[0])
    covered = sorted(square for square, (_, after) in changes.items() if after == face)
    if owner != position.seat:
        text = say(
            "The {rock} is not {side}’s. {side!c} is to move and lays only its own.",
            rock=face,
            side=SEAT_NAMES[position.seat],
        )
        return Illegal(Reason.NOT_YOUR_ROCK, text, "rocks", NAMES[covered[0]])
    mask = sum(1 << square for square in covered)
    is_whole = mask == BOULDERS[covered[0]]
    if kind:
        is_whole = len(covered) == 2 and bool(BESIDE[covered[0]] & 1 << covered[1])
    # Only a complete shape is checked, because hands may not be done.
    if is_whole:
        return _refusal(state, rock_decision(kind, mask))
    return None


# ---- scouts --------------------------------------------------------------------------------------


def _wrong_side(square: int, face: str) -> Illegal:
    """Return the fault of a scout that is on a legal square but shows the wrong face."""
    name = NAMES[square]
    owner = _OWNERS[face]
    if face == SCOUT_FACES[owner][0]:
        text = say(
            "The scout on {square} shows its plain side. It has intel, so the eye stays up.",
            square=name,
        )
        return Illegal(Reason.TURNED_BACK, text, "intel", name)
    rank = home_rank(1 - owner)
    text = say(
        "The scout on {square} is turned over too soon. It gathers intel on rank {rank}.",
        square=name,
        rank=rank,
    )
    return Illegal(Reason.TURNED_TOO_SOON, text, "intel", name)


def _why_no_placement(state: State, square: int, face: str) -> Illegal | None:
    position = state.position
    name = NAMES[square]
    if _OWNERS[face] != position.seat:
        text = say(
            "{square} is not a placement. The scout is {colour}, and {side} places now.",
            square=name,
            colour=SEAT_NAMES[1 - position.seat],
            side=SEAT_NAMES[position.seat],
        )
        return Illegal(Reason.NOT_YOUR_SCOUT, text, "setting-up", name)
    if refusal := _refusal(state, Decision(Kind.PLACE, (square,))):
        return refusal
    if face == SCOUT_FACES[position.seat][0]:
        return None
    return _wrong_side(square, face)


def _moves(layout: Layout, changes: Changes) -> Iterator[tuple[int, int]]:
    """Yield origin and target of each move of one scout that explains the changes."""
    if len(changes) != 2:
        return
    # Either square may be the origin.
    for origin, target in permutations(changes):
        before, remaining = changes[origin]
        after = changes[target][1]
        if not before or not after or remaining != _face_beneath(layout, origin):
            continue
        if _OWNERS[before] == _OWNERS[after]:
            yield origin, target


def _why_no_move(state: State, origin: int, target: int, face: str) -> Illegal | None:
    """Return why a scout cannot have made this move in one play, or shows the wrong face.

    None if the move is legal.
    """
    refusal = _why_no_way(state, origin, target)
    if refusal:
        return refusal
    position = state.position
    plain, eyed = SCOUT_FACES[position.seat]
    has_intel = bool(position.intel & 1 << origin)
    # On the far rank its plain face is allowed, because hands turn it over next.
    right = {eyed} if has_intel else {plain, eyed} if FAR[position.seat] & 1 << target else {plain}
    if face in right:
        return None
    return _wrong_side(target, face)


def _why_no_way(state: State, origin: int, target: int) -> Illegal | None:
    """Return why no play leads from `origin` to `target`, or None if one does."""
    position = state.position
    # A move to an adjacent square can only be a dash.
    if AROUND[origin] & 1 << target:
        return _refusal(state, Decision(Kind.DASH, (origin, target)))
    jump = _refusal(state, Decision(Kind.JUMP, (origin, target)))
    # If the scout itself may not be played, no other path helps.
    if jump is None or jump.reason in _ABOUT_THE_SCOUT:
        return jump
    ways = sorted(chains(position, origin), key=len)
    if any(way[-1] == target for way in ways):
        return None
    # Explain why the last jump towards the target is illegal.
    for way in ((origin,), *ways):
        if _is_straight(way[-1], target):
            return _refusal(state, Decision(Kind.JUMP, (*way, target)))
    if jump.reason is Reason.DIAGONAL_JUMP:
        return jump
    why = say("A dash goes one square, a jump two over a scout.")
    return no_play(Reason.TOO_FAR, why, "dash")


def _is_straight(origin: int, target: int) -> bool:
    """Return whether two squares are exactly two files or two ranks apart in a straight line."""
    one = SQUARES[origin]
    other = SQUARES[target]
    return {abs(one.file - other.file), abs(one.rank - other.rank)} == {0, 2}
