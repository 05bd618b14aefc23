"""Sixth stage: several looks at a still table have to agree before their result is settled.

Three still pictures have to agree. Two are enough if everything new is certain: markers that
decode, and squares that are empty because their piece is read somewhere else.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Layout
from vision.cards.fans import agreed_fans
from vision.detection.stillness import wider
from vision.pose.pose import Pose, flat, square_corners_mm
from vision.reading.look import Look, Memory, Vote
from vision.reading.motion import mark_read

_SAME_PX = 2.0
"""Maximum difference in px between two poses that count as one."""
_CORNERS_MM = flat(square_corners_mm(0.0, 0.0, 200.0))


def vote(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Combine a look with those before it, and remember it."""
    # Later pictures are compared with this one, in the blocks that were looked at.
    looked = None if look.before is None or look.due is None else wider(look.due)
    background = mark_read(memory.background, looked)
    fresh = memory.fresh
    if looked is None and background.now is not None:
        fresh = np.ones(background.now.shape, dtype=bool)
    memory = replace(memory, background=background, fresh=fresh, since_look=0)
    latest, votes = memory.latest, memory.votes

    # Votes from a different pose are dropped.
    is_apart = latest is None or (
        look.pose is not latest.pose and not _agree(look.pose, latest.pose)
    )
    if not look.still or is_apart or (votes and votes[-1].stirred):
        votes = ()
    votes = (*votes, look.vote)[-memory.frames :]

    # The joint result, and whether enough pictures agree.
    result, is_quiet = settled_by(votes, memory.agreed, memory.frames)
    # The pose changes with the lens.
    is_quiet &= not memory.located.models
    look = replace(look, told=result, quiet=is_quiet)
    memory = replace(memory, votes=votes, latest=look, settled=look if is_quiet else None)
    if not look.still and look.before is not None:
        # Movement may have changed squares that were given up.
        memory = replace(memory, resigned=memory.resigned - look.asked)
    if not is_quiet:
        return look, memory
    resigned = set[Square]()
    if len(votes) == memory.frames:
        # A square is given up only if the last picture cannot read it either. Otherwise the next
        # one may settle it.
        resigned.update(result.unknown & look.vote.unknown)
        if look.pieces is not None:
            # Squares that the budget has left for the next picture are not given up.
            waiting = result.unknown - look.vague - look.pieces.doubtful
            resigned -= waiting - memory.times.keys()
    return look, replace(memory, agreed=result, fresh=None, resigned=frozenset(resigned))


def _agree(pose: Pose | None, before: Pose | None) -> bool:
    """Return whether two poses put the board in the same place of the picture."""
    if pose is None or before is None or pose.size != before.size:
        return False
    # Compare the corners of a square around the point where the picture's centre meets the board.
    middle = before.to_plane(np.array([pose.size]) / 2)[0]
    around = _CORNERS_MM + np.array([*middle, 0.0])
    return bool(np.abs(pose.to_px(around) - before.to_px(around)).max() < _SAME_PX)


# ---- what several pictures say -------------------------------------------------------------------


def settled_by(votes: tuple[Vote, ...], agreed: Vote | None, frames: int) -> tuple[Vote, bool]:
    """Return the joint result of the looks since the last movement, and whether it is settled.

    `agreed` is the last settled vote, and `frames` the number of pictures that have to agree.
    """
    vote, is_one = joined_looks(votes)
    # The full number of pictures is always enough.
    is_enough = len(votes) == frames
    if not is_enough and len(votes) > 1 and agreed is not None:
        # A square is empty if the last picture says so and its former piece is read elsewhere.
        elsewhere = set(vote.markers.values())
        left = {square for square, marker in agreed.markers.items() if marker in elsewhere}
        vote = replace(vote, unknown=vote.unknown - (left - votes[-1].unknown))
        is_enough = is_certain(vote, agreed)
    return vote, is_one and is_enough


def is_certain(vote: Vote, agreed: Vote) -> bool:
    """Return whether all differences from the last settled vote are certain."""
    if vote.fans or agreed.fans or vote.game is None or vote.game != agreed.game:
        return False
    for square, marker in vote.markers.items():
        # A piece that was not there before.
        if square in vote.guessed and agreed.markers.get(square) != marker:
            return False
    elsewhere = set(vote.markers.values())
    for square, marker in agreed.markers.items():
        # A piece that is gone from there has to be read somewhere else.
        is_gone = square not in vote.seen and square not in vote.unknown
        if is_gone and marker not in elsewhere:
            return False
    return True


def joined_looks(looks: tuple[Vote, ...]) -> tuple[Vote, bool]:
    """Return the joint result of several pictures of a still table, and whether none contradicts
    another.

    A face that was read once outvotes unknown, as a marker does not decode by chance. If another
    picture says empty or another face, the square is unknown. A square that was unknown is empty if
    the last two of three pictures say so.
    """
    last = looks[-1]
    for look in looks:
        if look.game != last.game:
            return last, False
    if len(looks) == 1:
        return last, True

    # `lately`: squares that are unknown in one of the last two pictures.
    lately = looks[-2].unknown | last.unknown
    beside, strangers, guessed = last.beside, set(last.strangers), last.guessed
    asked, fans = set[Square](), list[Layout]()
    for look in looks:
        asked |= look.seen.keys() | look.unknown
        # Take the longest list of faces beside the board, and only the strangers that all pictures
        # report.
        beside = max(beside, look.beside, key=len)
        strangers &= set(look.strangers)
        guessed &= look.guessed
        fans.append(look.fans)
    seen, markers = dict[Square, str](), dict[Square, int]()
    unknown = set[Square]()
    is_one = True
    for square in asked:
        # All faces that were read there, and whether any picture calls it empty.
        pieces, is_empty = set(), False
        for look in looks:
            if square in look.seen:
                pieces.add((look.seen[square], look.markers[square]))
            else:
                is_empty |= square not in look.unknown
        # A single face counts although other pictures say unknown.
        if len(pieces) == 1 and not is_empty:
            seen[square], markers[square] = pieces.pop()
        elif pieces or len(looks) < 3 or square in lately:
            unknown.add(square)
            is_one &= not pieces

    # Join the results for pieces, then those for cards.
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
