"""What goes through the stages of the reader: one picture, and what is known from those before it.
Both are frozen."""

from __future__ import annotations

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
from vision.pose.board_fit import Evidence
from vision.pose.lens_tuner import LensTuner
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose

NO_SQUARES: frozenset[Square] = frozenset()


class Budget(NamedTuple):
    """How many squares are read from above in one picture, and asked in vain whether they are bare
    under shadows with edges.

    The rest waits for the next picture: a hand that rests on a board must not make one cost ten
    times as much.
    """

    closer: int = 24
    shaded: int = 8


EACH = Budget()
"""For each picture of many."""


@dataclass(frozen=True)
class Vote:
    """What a single picture says. The fields are those of `companion.core.ports.Reading`."""

    game: str | None
    """Whose board is in view; None: none is."""
    seen: Mapping[Square, str]
    """The face on top of each square."""
    unknown: frozenset[Square]
    """Squares of which nothing can be said. All others are empty."""
    beside: tuple[str, ...] = ()
    """Faces that lie beside the board."""
    strangers: tuple[int, ...] = ()
    """Ids of markers that belong to no piece, or to one that is there twice."""
    fans: Layout = field(default_factory=dict)
    """The open cards of each zone, from the bottom to the top."""
    markers: Mapping[Square, int] = field(default_factory=dict)
    """The marker of each face of `seen`."""
    stirred: bool = False
    """Zones of cards are unknown because something moved in them: it has no vote once all is still.
    """
    guessed: frozenset[Square] = frozenset()
    """Squares of `seen` whose marker did not decode and is not clearly the one it resembles most.
    """


NO_VOTE = Vote(None, {}, NO_SQUARES)
"""What a picture says before it is judged."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A piece's marker on the board, and the squares on which the piece lies."""

    face: Face
    """What it shows."""
    beneath: Face | None
    """What it may hide."""
    sighting: Sighting
    """Its marker in the picture."""
    middle_mm: tuple[float, float]
    """Its centre, at its height."""
    turn_deg: float
    """How it is turned, counter-clockwise."""
    squares: frozenset[Square]
    """Those that it covers when that is `sure`, else all that it may touch; none of a piece beside
    the board."""
    sure: bool
    fits: bool
    """Its size is that of a tag at this height, and no other marker has its id."""
    lifted_mm: tuple[float, float]
    """Its centre if it lies on what is beneath."""
    size: float
    """Its marker's side by that of a tag at this height."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Where pieces lie by their markers, and what that makes of the squares."""

    kit: Kit
    pose: Pose
    placed: tuple[Placed, ...]
    """All pieces whose markers are in the picture, on the board and beside it."""
    strangers: tuple[int, ...]
    """Ids of markers that belong to no piece, or to one that is there twice."""
    seen: Mapping[Square, str]
    """The face on top of each square."""
    markers: Mapping[Square, int]
    """The marker of each of these."""
    doubtful: frozenset[Square]
    """Squares with a piece of which nobody can tell on which of them it lies."""


@dataclass(frozen=True, eq=False)
class Look:
    """One (height, width) picture, and what the stages have found in it so far.

    Each stage fills its own fields, in this order.
    """

    luma: Luma
    budget: Budget = EACH
    may_glance: bool = False
    """While something moves the picture need not be read."""

    is_known: bool = False
    """Motion: the picture shows nothing new, or is not to be read: nothing more has to be done."""
    still: bool = True
    """Motion: nothing moves, so that a close look is worth its time."""
    moving_px: Points | None = None
    """Motion: (N, 2) places that have moved since the picture before; None: nothing has."""
    due: Blocks | None = None
    """Motion: the blocks to look at; None: all of them."""

    before: Look | None = None
    """Detect: the look that holds for all that is not due; None: all of the picture has been looked
    at."""
    kit: Kit | None = None
    """Detect: whose corner markers are in view."""
    sightings: tuple[Sighting, ...] = ()
    """Detect: every marker."""
    gone: frozenset[Sighting] = frozenset()
    """Detect: the markers of the look before that were in the blocks that are due."""

    pose: Pose | None = None
    """Locate: where the board is; None: it is not seen."""
    vague: frozenset[Square] = NO_SQUARES
    """Locate: squares of which the pose is not sure enough to say that nothing lies there."""

    pieces: Pieces | None = None
    """Place."""
    cards: OpenCards | None = None
    """Place: on a board of cards, what lies open."""
    asked: frozenset[Square] = NO_SQUARES
    """Place: the squares to judge anew."""

    empty: frozenset[Square] = NO_SQUARES
    """Judge."""
    unknown: frozenset[Square] = NO_SQUARES
    """Judge."""
    sureness: Mapping[Square, float] = field(default_factory=dict)
    """Judge: 1 for a marker that decodes or an empty square, 0 unknown, between them a marker's
    correlation."""
    vote: Vote = NO_VOTE
    """Judge: what the picture says by itself."""

    told: Vote = NO_VOTE
    """Vote: what it says together with those before it."""
    quiet: bool = False
    """Vote: is that settled?"""


@dataclass(frozen=True, eq=False)
class Located:
    """Where the board was last, so that hands over corner markers do no harm, and what is known of
    the lens."""

    nominal: Lens
    """What this camera's lens is taken for before a board has told more."""
    tuner: LensTuner
    """What the views have told about the lens, and how surely."""
    board: Board | None = None
    """Whose place this is; None: no board has been found."""
    pose: Pose | None = None
    """The last pose that was found: what hides the corners goes away again."""
    seen: Evidence | None = None
    """What that pose was found by."""
    corners: Mapping[int, Points] = field(default_factory=dict)
    """(4, 2) px: where its corner markers were, by id."""
    anchors: Mapping[int, Points] = field(default_factory=dict)
    """The same of other markers that have lain there since."""
    is_aligned: bool = False
    """Have the printed lines corrected the pose already?"""
    tries: int = 0
    """How often in a row another model of the lens was looked for in vain."""
    unconfirmed: frozenset[Square] = NO_SQUARES
    """Squares of which the pose may be wrong: two corner markers say little, and no printed line
    more."""
    problem: str = ""
    """Why there is no pose although corner markers are seen, as a sentence; else empty."""
    twin: str = ""
    """What to do about a second copy of the board in the last picture, as a sentence; else empty.
    """


@dataclass(frozen=True, eq=False)
class Memory:
    """What is known from earlier pictures of one camera."""

    kits: Mapping[str, Kit]
    located: Located
    frames: int
    """So many still pictures have to agree."""
    thorough: bool = False
    """Take more time for each picture."""
    background: Background = field(default_factory=Background)
    """What the next picture is compared with."""

    active: Kit | None = None
    """The kit to prefer; None: whichever board lies there."""
    kit: Kit | None = None
    """Whose board was in view last."""
    sheet: Sheet | None = None
    """How bright its paper is and how dark its outlines are; None: it is a board of cards, or there
    was none."""
    bare_looks: Bare = field(default_factory=dict)
    """How its squares look when they are empty."""
    cards: CardReader | None = None
    """Reads its cards; None: it has none."""
    pose: Pose | None = None
    """Where the board was in the last picture that was read."""
    vague: tuple[Pose, frozenset[Square]] | None = None
    """The squares of which a pose is not sure enough, worked out once for it."""
    last: Look | None = None
    """The last look at a board of pieces; None: look at all of the next picture."""

    still_frames: int = 0
    """So many frames in a row nothing has moved."""
    since_look: int = 0
    """So many frames in a row nothing was looked at."""
    fresh: Blocks | None = None
    """What is to be read once more when all is still, as it was read while something moved."""
    times: Mapping[Square, int] = field(default_factory=dict)
    """How often each unknown square was asked in vain since all of the board was looked at."""
    resigned: frozenset[Square] = NO_SQUARES
    """Unknown squares of which no more is to be learned for the time being."""

    votes: tuple[Vote, ...] = ()
    """What the pictures since the last movement say."""
    agreed: Vote | None = None
    """What was settled last."""
    settled: Look | None = None
    """The look that holds while nothing differs from it; None: the board is not settled."""
    latest: Look | None = None
    """The last look that was read."""
