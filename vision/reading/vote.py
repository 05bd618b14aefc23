"""Sixth stage: several looks at a still table have to agree before their result is settled.

A *look* is what was found in one picture, and its *vote* is what that says about the squares.

1. Take the votes since something last moved, at most `AGREEING_PICTURES` of them.
2. Join them into one vote (`join_votes`). A square on which they contradict each other is unknown.
3. The joint vote is *settled*, so that the table may rely on it, once `AGREEING_PICTURES` pictures
   agree. Two are enough if everything new is certain (`settle`): markers that decode, and squares
   that are empty because their piece is read somewhere else.
4. Remember what was read, so that later pictures are compared with it (`cast_vote`).
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

import numpy as np

from companion.core.grid import Square
from vision.cards.fans import merge_fans
from vision.detection.stillness import dilate_blocks
from vision.pose.pose import Pose, at_height, square_corners_mm
from vision.reading.look import Look, Memory, Vote
from vision.reading.motion import mark_read

# Number of still pictures in a row that have to agree before a joint vote is settled. Larger: every
# reading is delayed by another picture. Smaller: with two, one wrong picture makes a tie.
AGREEING_PICTURES = 3

# Two poses count as the same if they put the same points less than this apart in the picture. It is
# less than a module of the smallest marker that is read.
_MAX_SAME_PX = 2.0

# (4, 3) mm: corners of a square of 200 mm around the origin of the board. Two poses are compared at
# these points, moved to the middle of the picture.
_PROBE_MM = at_height(square_corners_mm(0.0, 0.0, 200.0))


def cast_vote(look: Look, memory: Memory) -> tuple[Look, Memory]:
    """Join the vote of a look with those before it, and remember the look.

    Returns the look with the joint vote, and the memory for the next picture.
    """
    # Earlier votes are dropped if something moves, or if the board or cards have been moved.
    latest = memory.latest_look
    votes = memory.votes
    is_moved = latest is None or not _is_same_pose(look.pose, latest.pose)
    if not look.is_still or is_moved or (votes and votes[-1].has_movement):
        votes = ()
    votes = (*votes, look.vote)[-AGREEING_PICTURES:]
    joint, is_quiet = settle(votes, memory.settled_vote)
    # While a lens is being searched for, the pose still changes.
    is_quiet &= not memory.location.models_tried
    look = replace(look, joint_vote=joint, is_quiet=is_quiet)

    # Later pictures are compared with this one where it was read: in `blocks`, or everywhere if
    # that is None.
    blocks = None
    if look.reference is not None and look.due_blocks is not None:
        blocks = dilate_blocks(look.due_blocks)
    background = mark_read(memory.background, blocks)

    # What was read is read again when all is still, until the board is settled.
    unsettled = memory.unsettled_blocks
    if blocks is None and background.current is not None:
        unsettled = np.ones(background.current.shape, dtype=bool)
    memory = replace(
        memory,
        background=background,
        unsettled_blocks=unsettled,
        frames_since_reading=0,
        votes=votes,
        latest_look=look,
        settled_look=look if is_quiet else None,
    )

    # Squares that were given up are read again if something has moved there. Once the board is
    # settled, it is known anew which squares to give up.
    if not look.is_still and look.reference is not None:
        given_up = memory.given_up_squares - look.squares_to_judge
        memory = replace(memory, given_up_squares=given_up)
    if is_quiet:
        given_up = _squares_to_give_up(look, memory)
        memory = replace(
            memory, settled_vote=joint, unsettled_blocks=None, given_up_squares=given_up
        )
    return look, memory


def _squares_to_give_up(look: Look, memory: Memory) -> frozenset[Square]:
    """Return the unknown squares of a settled look that are not read again for now.

    Reading them takes time in each picture, and was in vain in the last ones.
    """
    if len(memory.votes) < AGREEING_PICTURES:
        return frozenset()
    # Only squares that the last picture has not read either. The others may soon be known.
    unknown = look.joint_vote.unknown
    given_up = unknown & look.vote.unknown
    if look.pieces is not None:
        # Do not give up squares for which this picture had no time left (`Budget`).
        waiting = unknown - look.vague_squares - look.pieces.doubtful_squares
        given_up -= waiting - memory.failed_attempts.keys()
    return given_up


def _is_same_pose(pose: Pose | None, other: Pose | None) -> bool:
    """Return whether two poses put the board in the same place of the picture."""
    if pose is other:
        return True
    if pose is None or other is None or pose.size != other.size:
        return False
    # Compare them around the point of the board that is in the middle of the picture.
    middle = other.to_plane(np.array([pose.size]) / 2)[0]
    around = _PROBE_MM + np.array([*middle, 0.0])
    return bool(np.abs(pose.to_px(around) - other.to_px(around)).max() < _MAX_SAME_PX)


# ---- what several pictures say -------------------------------------------------------------------


def settle(votes: tuple[Vote, ...], before: Vote | None) -> tuple[Vote, bool]:
    """Return the joint vote of the looks since the last movement, and whether it is settled.

    `votes` are at most `AGREEING_PICTURES`, oldest first. `before` is the last settled vote, or
    None if there was none.
    """
    joint, is_unanimous = join_votes(votes)
    # The full number of pictures is always enough.
    is_enough = len(votes) == AGREEING_PICTURES
    if not is_enough and len(votes) > 1 and before is not None:
        # A square is empty if the last picture says so and its former piece is read elsewhere.
        read_ids = set(joint.markers.values())
        vacated = set[Square]()
        for square, marker in before.markers.items():
            if marker in read_ids and square not in votes[-1].unknown:
                vacated.add(square)
        joint = replace(joint, unknown=joint.unknown - vacated)
        is_enough = is_certain(joint, before)
    return joint, is_unanimous and is_enough


def is_certain(vote: Vote, before: Vote) -> bool:
    """Return whether all differences of a vote from the last settled one, `before`, are certain.

    With open cards they never are.
    """
    if vote.fans or before.fans or vote.game is None or vote.game != before.game:
        return False
    for square, marker in vote.markers.items():
        # A piece that was not there before.
        if square in vote.guessed_squares and before.markers.get(square) != marker:
            return False
    read_ids = set(vote.markers.values())
    for square, marker in before.markers.items():
        # A piece that is gone from there has to be read somewhere else.
        is_gone = square not in vote.seen and square not in vote.unknown
        if is_gone and marker not in read_ids:
            return False
    return True


def join_votes(votes: tuple[Vote, ...]) -> tuple[Vote, bool]:
    """Return the joint vote of several pictures of a still table, oldest first, and whether they
    agree.

    For each square:

    - If one picture has read a face and the others say unknown, the face counts, because a marker
      does not decode by chance.
    - If one picture has read a face and another one says empty, or another face, the square is
      unknown, and the pictures do not agree.
    - If no picture has read a face, the square is empty if all say so, or if the last two of three
      say so. Otherwise it is unknown.

    Pictures of different games do not agree, and the last vote is returned.
    """
    last = votes[-1]
    for vote in votes:
        if vote.game != last.game:
            return last, False
    if len(votes) == 1:
        return last, True

    # First what they say about pieces, then about cards.
    joint, is_unanimous = _join_pieces(votes)
    fans = list(map(attrgetter("fans"), votes))
    if any(fans):
        joint_fans, differing = merge_fans(fans, joint.unknown)
        joint = replace(joint, fans=joint_fans, unknown=joint.unknown | differing)
        is_unanimous &= not differing
    return joint, is_unanimous


def _join_pieces(votes: tuple[Vote, ...]) -> tuple[Vote, bool]:
    """Return what several pictures of a still table say about pieces, and whether they agree.

    Squares are judged as in `join_votes`.
    """
    last = votes[-1]
    beside = last.beside
    strangers = set(last.strangers)
    guessed = last.guessed_squares
    occupied = set[Square]()
    for vote in votes:
        # Squares that at least one picture does not call empty.
        occupied |= vote.seen.keys() | vote.unknown
        # Take the longest list of faces beside the board, and only the strangers that all pictures
        # report.
        beside = max(beside, vote.beside, key=len)
        strangers &= set(vote.strangers)
        guessed &= vote.guessed_squares
    recently_unknown = votes[-2].unknown | last.unknown
    seen = dict[Square, str]()
    markers = dict[Square, int]()
    unknown = set[Square]()
    is_unanimous = True
    for square in occupied:
        # All faces that were read there, and whether any picture calls it empty.
        faces = set()
        is_empty = False
        for vote in votes:
            if square in vote.seen:
                faces.add((vote.seen[square], vote.markers[square]))
            else:
                is_empty |= square not in vote.unknown
        # A single face counts although other pictures say unknown.
        if len(faces) == 1 and not is_empty:
            seen[square], markers[square] = faces.pop()
        elif faces or len(votes) < 3 or square in recently_unknown:
            unknown.add(square)
            is_unanimous &= not faces

    joint = Vote(
        last.game,
        seen,
        frozenset(unknown),
        beside,
        tuple(sorted(strangers)),
        markers=markers,
        guessed_squares=guessed,
    )
    return joint, is_unanimous
