"""Sixth stage: several looks at a still table have to agree, then it is told.

Three still pictures have to agree. Two are enough where nothing but certain things are new: markers
that decode, and squares that have become empty because what lay on them is read somewhere else.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Layout
from vision.cards.fans import agreed_fans
from vision.detection.stillness import wider
from vision.pose.pose import Pose, flat
from vision.reading.look import Look, Memory, Vote
from vision.reading.motion import mark_read

_SAME_PX = 2.0
"""Poses that differ by less are one."""
_CORNERS_MM = flat(np.array([[-100.0, -100.0], [100.0, -100.0], [100.0, 100.0], [-100.0, 100.0]]))


def vote(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Join a look with those before it, and remember it."""
    # Later pictures are compared with this one, as far as it was looked at.
    looked = None if look.before is None or look.due is None else wider(look.due)
    background = mark_read(memory.background, looked)
    fresh = memory.fresh
    if looked is None and background.now is not None:
        fresh = np.ones(background.now.shape, dtype=bool)
    memory = replace(memory, background=background, fresh=fresh, since_look=0)
    latest, votes = memory.latest, memory.votes

    # What was read with a worse pose has no vote.
    is_apart = latest is None or (
        look.pose is not latest.pose and not _agree(look.pose, latest.pose)
    )
    if not look.still or is_apart or (votes and votes[-1].stirred):
        votes = ()
    votes = (*votes, look.vote)[-memory.frames :]

    # What they say together, and whether that is enough of them.
    result, is_quiet = settled_by(votes, memory.agreed, memory.frames)
    look = replace(look, told=result, quiet=is_quiet)
    memory = replace(memory, votes=votes, latest=look, settled=look if is_quiet else None)
    if not look.still and look.before is not None:
        # What moves may have left squares that were given up.
        memory = replace(memory, resigned=memory.resigned - look.asked)
    if not is_quiet:
        return look, memory
    resigned = set[Square]()
    if len(votes) == memory.frames:
        # What the last picture tells is settled by the next one.
        resigned.update(result.unknown & look.vote.unknown)
        if look.pieces is not None:
            # The budget has left some of them for the next picture.
            waiting = result.unknown - look.vague - look.pieces.doubtful
            resigned -= waiting - memory.times.keys()
    return look, replace(memory, agreed=result, fresh=None, resigned=frozenset(resigned))


def _agree(pose: Pose | None, before: Pose | None) -> bool:
    """Tell whether two poses put the board in the same place of the picture."""
    if pose is None or before is None or pose.size != before.size:
        return False
    # Where the middle of the picture meets the board, and points around it.
    middle = before.to_plane(np.array([pose.size]) / 2)[0]
    around = _CORNERS_MM + np.array([*middle, 0.0])
    return bool(np.abs(pose.to_px(around) - before.to_px(around)).max() < _SAME_PX)


# ---- what several pictures say -------------------------------------------------------------------


def settled_by(votes: tuple[Vote, ...], agreed: Vote | None, frames: int) -> tuple[Vote, bool]:
    """Return what the looks since the last movement say together, and whether that is settled.

    `agreed` is what was settled before, `frames` how many have to agree.
    """
    vote, is_one = joined_looks(votes)
    # So many pictures are always enough.
    is_enough = len(votes) == frames
    if not is_enough and len(votes) > 1 and agreed is not None:
        # What has left a square, as the last picture says, and is read elsewhere is gone.
        elsewhere = set(vote.markers.values())
        left = {square for square, marker in agreed.markers.items() if marker in elsewhere}
        vote = replace(vote, unknown=vote.unknown - (left - votes[-1].unknown))
        is_enough = is_certain(vote, agreed)
    return vote, is_one and is_enough


def is_certain(vote: Vote, agreed: Vote) -> bool:
    """Tell whether all is certain by which looks at a still table differ from what was settled
    before."""
    if vote.fans or agreed.fans or vote.game is None or vote.game != agreed.game:
        return False
    for square, marker in vote.markers.items():
        # A piece that was not there before.
        if square in vote.guessed and agreed.markers.get(square) != marker:
            return False
    elsewhere = set(vote.markers.values())
    for square, marker in agreed.markers.items():
        # A piece that is gone from there: is it read somewhere else?
        is_gone = square not in vote.seen and square not in vote.unknown
        if is_gone and marker not in elsewhere:
            return False
    return True


def joined_looks(looks: tuple[Vote, ...]) -> tuple[Vote, bool]:
    """Return what several pictures of a still table say together, and whether none contradicts
    another.

    A face read once counts against unknown (a marker does not decode by chance); against "empty" or
    another face it makes the square unknown. What was unknown is empty when the last two pictures
    of three say so.
    """
    last = looks[-1]
    for look in looks:
        if look.game != last.game:
            return last, False
    if len(looks) == 1:
        return last, True

    # `lately`: squares of which one of the last two pictures says nothing.
    lately = looks[-2].unknown | last.unknown
    beside, strangers, guessed = last.beside, set(last.strangers), last.guessed
    asked, fans = set[Square](), list[Layout]()
    for look in looks:
        asked |= look.seen.keys() | look.unknown
        # The most that was seen beside, and only what all of them call strange.
        beside = max(beside, look.beside, key=len)
        strangers &= set(look.strangers)
        guessed &= look.guessed
        fans.append(look.fans)
    seen, markers = dict[Square, str](), dict[Square, int]()
    unknown = set[Square]()
    is_one = True
    for square in asked:
        # All faces that were read there, and whether it was called empty.
        pieces, is_empty = set(), False
        for look in looks:
            if square in look.seen:
                pieces.add((look.seen[square], look.markers[square]))
            else:
                is_empty |= square not in look.unknown
        # One face alone: it counts although other pictures say nothing.
        if len(pieces) == 1 and not is_empty:
            seen[square], markers[square] = pieces.pop()
        elif pieces or len(looks) < 3 or square in lately:
            unknown.add(square)
            is_one &= not pieces

    # What they say of pieces, and then of cards.
    vote = Vote(
        last.game,
        seen,
        frozenset(unknown),
        beside,
        tuple(sorted(strangers)),
        markers=markers,
        guessed=guessed,
    )
    if any(fans):
        agreed, torn = agreed_fans(fans, unknown)
        vote = replace(vote, fans=agreed, unknown=vote.unknown | torn)
        is_one &= not torn
    return vote, is_one
