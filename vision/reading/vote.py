"""Sixth stage: several looks at a still table have to agree, then it is told.

Three still pictures have to agree. Two are enough where nothing but certain things are new: markers that decode, and
squares that have become empty because what lay on them is read somewhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from companion.core.grid import Square
from vision.cards.fans import agreed_fans
from vision.detection.foreign_objects import lying_free
from vision.pieces.regions import grown
from vision.pose.pose import Pose, flat
from vision.reading.judge import covered
from vision.reading.look import NO_SQUARES, Look, Memory, Vote
from vision.reading.motion import is_retry_due

_SAME_PX = 2.0
"""Poses that differ by less are one."""
_CORNERS_MM = np.array([[-100.0, -100.0], [100.0, -100.0], [100.0, 100.0], [-100.0, 100.0]])


def vote(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Join a look with those before it, and remember it."""
    was_due, is_first = is_retry_due(memory), memory.latest is None
    memory = _marked_read(look, memory)
    pose_before = memory.latest.pose if memory.latest is not None else None
    votes = memory.votes
    # What was read with a worse pose has no vote.
    if not look.still or is_first or (votes and votes[-1].stirred) or not _agree(look.pose, pose_before):
        votes = ()
    votes = (*votes, look.vote)[-memory.frames :]
    told, is_quiet = settled_by(votes, memory.agreed, memory.frames)
    look = replace(look, told=told, quiet=is_quiet)
    memory = replace(memory, votes=votes, latest=look, settled=look if is_quiet else None)
    if not look.still and look.before is not None:
        memory = replace(memory, resigned=memory.resigned - look.asked)
    if not is_quiet:
        return look, replace(memory, foreign=memory.foreign & told.unknown)
    resigned = told.unknown - _waiting(look, memory) if len(votes) == memory.frames else NO_SQUARES
    memory = replace(memory, agreed=told, fresh=None, resigned=resigned)
    return look, _with_foreign(look, memory, is_long=look.still and was_due)


def _marked_read(look: Look, memory: Memory) -> Memory:
    """Compare later pictures with this one, as far as it was looked at."""
    assert look.before is None or look.due is not None
    looked = grown(look.due) if look.before is not None and look.due is not None else None
    memory.motion.mark_read(looked)
    fresh = memory.fresh
    if looked is None and memory.motion.small is not None:
        fresh = np.ones(memory.motion.small.shape, dtype=bool)
    return replace(memory, fresh=fresh, since_look=0)


def _waiting(look: Look, memory: Memory) -> frozenset[Square]:
    """Return the unknown squares that the budget has left for the next picture."""
    if look.pieces is None:
        return NO_SQUARES
    hopeless = look.vague | look.pieces.doubtful
    return frozenset(square for square in look.told.unknown - hopeless if not memory.times.get(square))


def _agree(pose: Pose | None, before: Pose | None) -> bool:
    """Tell whether two poses put the board in the same place of the picture."""
    if pose is before or pose is None or before is None:
        return pose is before
    if pose.size != before.size:
        return False
    middle = before.to_plane(np.array([pose.size]) / 2)[0]
    around = flat(middle + _CORNERS_MM)
    return bool(np.abs(pose.to_px(around) - before.to_px(around)).max() < _SAME_PX)


def _with_foreign(look: Look, memory: Memory, *, is_long: bool) -> Memory:
    """Remember on which unknown squares of a board that lies still something has lain for long that is no piece."""
    foreign, last, small = memory.foreign & look.told.unknown, memory.last, memory.motion.small
    if last is None or last.kit is None or last.pose is None or small is None:
        return replace(memory, foreign=foreign)
    squares = covered(last, memory, look.told.unknown)
    if not squares:
        return replace(memory, foreign=foreign, bare=(last.pose, small))
    if is_long and memory.bare is not None and memory.bare[0] is last.pose:
        foreign = lying_free(last.kit, last.pose, squares, small, memory.bare[1]) & look.told.unknown
    return replace(memory, foreign=foreign)


# ---- what several pictures say ---------------------------------------------------------------------------------------


def settled_by(votes: tuple[Vote, ...], agreed: Vote | None, frames: int) -> tuple[Vote, bool]:
    """Return what the looks since the last movement say together, and whether that is settled.

    `agreed` is what was settled before, `frames` how many have to agree.
    """
    told, is_one = joined_looks(votes)
    is_enough = len(votes) == frames
    if not is_enough and len(votes) > 1 and agreed is not None:
        is_enough = is_certain(told, agreed)
    return told, is_one and is_enough


def is_certain(told: Vote, agreed: Vote) -> bool:
    """Tell whether all is certain by which looks at a still table differ from what was settled before."""
    if told.fans or agreed.fans or told.game is None or told.game != agreed.game:
        return False
    new = {square: m for square, m in told.markers.items() if agreed.markers.get(square) != m}
    gone = {m for s, m in agreed.markers.items() if s not in told.seen and s not in told.unknown}
    return not told.guessed & set(new) and gone <= set(new.values())


def joined_looks(looks: Iterable[Vote]) -> tuple[Vote, bool]:
    """Return what several pictures of a still table say together, and whether none contradicts another.

    A face read once counts against unknown (a marker does not decode by chance); against "empty" or another face it
    makes the square unknown. What was unknown is empty when the last two pictures of three say so.
    """
    every = list(looks)
    last = every[-1]
    if any(look.game != last.game for look in every):
        return last, False
    if len(every) == 1:
        return last, True
    seen, markers, unknown, is_one = dict[Square, str](), dict[Square, int](), set[Square](), True
    for square in {s for look in every for s in (*look.seen, *look.unknown)}:
        pieces = {(look.seen[square], look.markers[square]) for look in every if square in look.seen}
        is_empty = any(square not in look.seen and square not in look.unknown for look in every)
        if len(pieces) == 1 and not is_empty:
            seen[square], markers[square] = pieces.pop()
        elif pieces or len(every) < 3 or any(square in look.unknown for look in every[-2:]):
            unknown.add(square)
            is_one = is_one and not pieces
    beside = max((look.beside for look in every), key=len)
    strangers = set.intersection(*(set(look.strangers) for look in every))
    fans, torn = agreed_fans([look.fans for look in every], unknown)
    guessed = frozenset.intersection(*(look.guessed for look in every))
    told = Vote(
        last.game,
        seen,
        frozenset(unknown | torn),
        beside,
        tuple(sorted(strangers)),
        fans,
        markers,
        guessed=guessed,
    )
    return told, is_one and not torn
