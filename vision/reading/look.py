"""The two values that go through the stages of the reader: one picture, and the memory of those
before it. Both are frozen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit, Layout
from vision.cards.reader import CardReader, OpenCards
from vision.detection.markers import Luma, Sighting
from vision.detection.stillness import Background, Blocks
from vision.pieces.empty_squares import Bare
from vision.pieces.snapshots import Sheet
from vision.pose.board_fit import Evidence, Fit
from vision.pose.lens_tuner import LensTuner
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose

NO_SQUARES: frozenset[Square] = frozenset()


class Budget(NamedTuple):
    """Bounds for three slow steps in one picture.

    `closer` limits the squares read from straight above. `shaded` limits the failed tests whether a
    square is bare under shadows with edges. `models` limits the lens models that are tried. The
    rest waits for the next picture. Otherwise a hand that rests on a board would make one picture
    cost ten times as much.
    """

    closer: int = 24
    shaded: int = 8
    models: int = 1


EACH = Budget()
"""Budget for each picture of a series."""
SPENT = Budget(0, 0)
"""What is left of it after lens models were tried."""


@dataclass(frozen=True)
class Vote:
    """The result of a single picture. The fields are those of `companion.core.ports.Reading`."""

    game: str | None
    """The game whose board is in view. None if there is no board."""
    seen: Mapping[Square, str]
    """The face on top of each square."""
    unknown: frozenset[Square]
    """Squares whose state is unknown. All squares that are neither here nor in `seen` are empty."""
    beside: tuple[str, ...] = ()
    """Faces that lie beside the board."""
    strangers: tuple[int, ...] = ()
    """Ids of markers that belong to no piece, or to one that is there twice."""
    fans: Layout = field(default_factory=dict)
    """The open cards of each zone, from the bottom to the top."""
    markers: Mapping[Square, int] = field(default_factory=dict)
    """The marker of each face of `seen`."""
    stirred: bool = False
    """Whether zones of cards are unknown because something moved in them. Such a vote is dropped
    once all is still.
    """
    guessed: frozenset[Square] = frozenset()
    """Squares of `seen` whose marker did not decode and has a low correlation with its best
    match.
    """


NO_VOTE = Vote(None, {}, NO_SQUARES)
"""The vote of a picture before it is judged."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A piece's marker on the board, and the squares on which the piece lies."""

    face: Face
    """The face that it shows."""
    beneath: Face | None
    """The tallest piece that it may hide. None if it cannot hide any."""
    sighting: Sighting
    """Its marker in the picture."""
    middle_mm: tuple[float, float]
    """Its centre on the board, at the piece's height."""
    turn_deg: float
    """Rotation in degrees, counter-clockwise."""
    squares: frozenset[Square]
    """The squares that it covers if `sure`, otherwise all that it may touch. Empty for a piece
    beside the board.
    """
    sure: bool
    fits: bool
    """Whether its size is that of a tag at this height, and no other marker has its id."""
    lifted_mm: tuple[float, float]
    """Its centre if it lies on top of `beneath`."""
    size: float
    """Side of its marker, relative to a tag at this height."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Where pieces lie by their markers, and the resulting state of the squares."""

    kit: Kit
    pose: Pose
    placed: tuple[Placed, ...]
    """All pieces whose markers are in the picture, on the board and beside it."""
    strangers: tuple[int, ...]
    """Ids of markers that belong to no piece, or to one that is there twice."""
    seen: Mapping[Square, str]
    """The face on top of each square."""
    markers: Mapping[Square, int]
    """The marker of each of these faces."""
    doubtful: frozenset[Square]
    """Squares that a piece may lie on, where it is uncertain which one it is."""


@dataclass(frozen=True, eq=False)
class Look:
    """One (height, width) picture, and the results of the stages so far.

    Each stage fills its own fields, in this order.
    """

    luma: Luma
    budget: Budget = EACH
    may_glance: bool = False
    """Whether the picture may stay unread while something moves."""

    is_known: bool = False
    """Motion: whether no other stage is needed, as the picture shows nothing new or is not to be
    read.
    """
    still: bool = True
    """Motion: whether nothing moves, so that a close look is worth its time."""
    moving_px: Points | None = None
    """Motion: (N, 2) px, places that have moved since the picture before. None if nothing has."""
    due: Blocks | None = None
    """Motion: the blocks to look at. None means all of them."""

    before: Look | None = None
    """Detect: the look that holds for everything that is not due. None if the whole picture was
    looked at.
    """
    kit: Kit | None = None
    """Detect: the kit whose corner markers are in view."""
    sightings: tuple[Sighting, ...] = ()
    """Detect: all markers."""
    gone: frozenset[Sighting] = frozenset()
    """Detect: the markers of the look before that were in the blocks that are due."""

    pose: Pose | None = None
    """Locate: the pose of the board. None if the board is not seen."""
    vague: frozenset[Square] = NO_SQUARES
    """Locate: squares for which the pose is too uncertain to call them empty."""

    pieces: Pieces | None = None
    """Place: the pieces, on a board of pieces."""
    cards: OpenCards | None = None
    """Place: the open cards, on a board of cards."""
    asked: frozenset[Square] = NO_SQUARES
    """Place: the squares to judge anew."""

    empty: frozenset[Square] = NO_SQUARES
    """Judge: the empty squares."""
    unknown: frozenset[Square] = NO_SQUARES
    """Judge: the unknown squares."""
    sureness: Mapping[Square, float] = field(default_factory=dict)
    """Judge: confidence of each square. 1 for a marker that decodes or an empty square, 0 for
    unknown, otherwise a marker's correlation.
    """
    vote: Vote = NO_VOTE
    """Judge: the vote of this picture alone."""

    told: Vote = NO_VOTE
    """Vote: the joint result of this look and those before it."""
    quiet: bool = False
    """Vote: whether that result is settled."""


@dataclass(frozen=True, eq=False)
class Located:
    """The last pose of the board, so that hands over corner markers do no harm, and the state of
    the lens.
    """

    nominal: Lens
    """The lens that is assumed for this camera until a board has refined it."""
    tuner: LensTuner
    """What the views have taught about the lens, with its uncertainty."""
    board: Board | None = None
    """The board that was located. None if no board has been found."""
    pose: Pose | None = None
    """The last pose that was found. It stays while corners are hidden, since whatever hides them
    goes away again.
    """
    seen: Evidence | None = None
    """The evidence for that pose."""
    corners: Mapping[int, Points] = field(default_factory=dict)
    """(4, 2) px: where the board's corner markers were, by id."""
    anchors: Mapping[int, Points] = field(default_factory=dict)
    """(4, 2) px: where other markers have been since then, by id."""
    is_aligned: bool = False
    """Whether the printed lines have already corrected the pose."""
    models: int = 0
    """Number of lens models that were tried, while the search goes on with the next picture."""
    best: tuple[float, Fit | None] = (math.inf, None)
    """The lowest cost of a model in this search, and its fit."""
    tries: int = 0
    """Number of failed searches in a row for another lens model."""
    unconfirmed: frozenset[Square] = NO_SQUARES
    """Squares for which the pose may be wrong, as two corner markers say little and no printed line
    confirms it.
    """
    problem: str = ""
    """Why there is no pose although corner markers are seen, as a sentence. Otherwise empty."""
    twin: str = ""
    """What to do about a second copy of the board in the last picture, as a sentence. Otherwise
    empty.
    """


@dataclass(frozen=True, eq=False)
class Memory:
    """What is known from earlier pictures of one camera."""

    kits: Mapping[str, Kit]
    located: Located
    frames: int
    """Number of still pictures that have to agree."""
    thorough: bool = False
    """Whether to spend more time on each picture."""
    background: Background = field(default_factory=Background)
    """The pictures that the next one is compared with."""

    active: Kit | None = None
    """The kit to prefer. None means whichever board is in view."""
    kit: Kit | None = None
    """The kit whose board was in view last."""
    sheet: Sheet | None = None
    """Brightness of its paper and of its outlines. None for a board of cards, or if there was no
    board.
    """
    bare_looks: Bare = field(default_factory=dict)
    """How its squares look when they are empty."""
    cards: CardReader | None = None
    """The reader of its cards. None if it has none."""
    pose: Pose | None = None
    """Pose of the board in the last picture that was read."""
    vague: tuple[Pose, frozenset[Square]] | None = None
    """The squares for which a pose is too uncertain, cached for that pose."""
    last: Look | None = None
    """The last look at a board of pieces. None means that the whole next picture is due."""

    still_frames: int = 0
    """Number of frames in a row in which nothing has moved."""
    since_look: int = 0
    """Number of frames in a row that were not looked at."""
    fresh: Blocks | None = None
    """Blocks that were read while something moved, to be read again when all is still."""
    times: Mapping[Square, int] = field(default_factory=dict)
    """Number of failed attempts at each unknown square since the whole board was looked at."""
    resigned: frozenset[Square] = NO_SQUARES
    """Unknown squares that are given up for now."""

    votes: tuple[Vote, ...] = ()
    """The votes of the pictures since the last movement."""
    agreed: Vote | None = None
    """The last settled vote."""
    settled: Look | None = None
    """The look that holds while no picture differs from it. None if the board is not settled."""
    latest: Look | None = None
    """The last look that was read."""
