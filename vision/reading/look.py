"""What goes through the stages of the reader: one picture, and what is known from those before it. Both are frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from vision.cards.reader import CardReader, Open
from vision.detection.marker_scan import Scanner
from vision.detection.markers import Luma, Sighting
from vision.detection.motion import NOWHERE, Blocks, Motion
from vision.detection.rectified_search import RectifiedSearch
from vision.pieces.empty_squares import EmptySquares
from vision.pieces.placing import Placed, Placer
from vision.pieces.regions import SquaresUnder
from vision.pose.locator import BoardLocator
from vision.pose.pose import Points, Pose

NO_SQUARES: frozenset[Square] = frozenset()


class Budget(NamedTuple):
    """How many squares are read from above in one picture, and told under shadows with edges.

    The rest waits for the next picture: a hand that rests on a board must not make one cost ten times as much.
    """

    closer: int = 24
    shaded: int = 8


@dataclass(frozen=True)
class Vote:
    """What a single picture says; the fields are those of `companion.core.ports.Reading`."""

    game: str | None
    seen: Mapping[Square, str]
    unknown: frozenset[Square]
    beside: tuple[str, ...] = ()
    strangers: tuple[int, ...] = ()
    fans: Layout = field(default_factory=dict)
    markers: Mapping[Square, int] = field(default_factory=dict)
    stirred: bool = False
    """Zones of cards are unknown because something moved in them: it has no vote once all is still."""
    guessed: frozenset[Square] = frozenset()
    """Squares of `seen` whose marker did not decode and is not clearly the one it resembles most."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Where pieces lie by their markers, and what that makes of the squares."""

    placed: tuple[Placed, ...]
    strangers: tuple[int, ...]
    seen: Mapping[Square, str]
    markers: Mapping[Square, int]
    doubtful: frozenset[Square]
    """Squares with a piece of which nobody can tell on which of them it lies."""


@dataclass(frozen=True, eq=False)
class Look:
    """One (height, width) picture, and what the stages have found in it so far.

    Each stage fills its own fields, in this order.
    """

    luma: Luma
    budget: Budget = field(default_factory=Budget)
    may_glance: bool = False
    """While something moves the picture need not be read."""

    is_known: bool = False
    """Motion: the picture shows nothing new, or is not to be read: nothing more has to be done."""
    still: bool = True
    """Motion: nothing moves, so that a close look is worth its time."""
    moving_px: Points = field(default_factory=lambda: NOWHERE)
    """Motion: (N, 2) places that have moved since the picture before."""
    due: Blocks | None = None
    """Motion: the blocks to look at; None: all of them."""

    before: Look | None = None
    """Detect: the look that holds for all that is not due; None: all of the picture has been looked at."""
    kit: Kit | None = None
    """Detect: whose corner markers are in view."""
    sightings: tuple[Sighting, ...] = ()
    """Detect: every marker."""
    gone: frozenset[int] = frozenset()
    """Detect: `id` of the markers of the look before that were in the blocks that are due."""

    pose: Pose | None = None
    """Locate: where the board is; None: it is not seen."""
    vague: frozenset[Square] = NO_SQUARES
    """Locate: squares of which the pose is not sure enough to say that nothing lies there."""

    pieces: Pieces | None = None
    """Place."""
    cards: Open | None = None
    """Place: on a board of cards, what lies open."""
    asked: frozenset[Square] = NO_SQUARES
    """Place: the squares to judge anew."""

    empty: frozenset[Square] = NO_SQUARES
    """Judge."""
    unknown: frozenset[Square] = NO_SQUARES
    """Judge."""
    sureness: Mapping[Square, float] = field(default_factory=dict)
    """Judge: 1 for a marker that decodes or an empty square, 0 unknown, between them a marker's correlation."""
    vote: Vote = field(default_factory=lambda: Vote(None, {}, NO_SQUARES))
    """Judge: what the picture says by itself."""

    told: Vote = field(default_factory=lambda: Vote(None, {}, NO_SQUARES))
    """Vote: what it says together with those before it."""
    quiet: bool = False
    """Vote: is that settled?"""


@dataclass(frozen=True, eq=False)
class Memory:
    """What is known from earlier pictures of one camera.

    What is learned slowly has objects of its own: `motion` the noise, `locator` lens and pose, `squares` how bare
    squares look, `cards` and `placer` what was worked out for this board and this pose.
    """

    kits: Mapping[str, Kit]
    scanner: Scanner
    closer: RectifiedSearch
    locator: BoardLocator
    motion: Motion
    frames: int
    """So many still pictures have to agree."""

    active: Kit | None = None
    """The kit to prefer; None: whichever board lies there."""
    kit: Kit | None = None
    """Whose board was in view last."""
    squares: EmptySquares | None = None
    cards: CardReader | None = None
    placer: Placer | None = None
    under: SquaresUnder | None = None
    pose: Pose | None = None
    """Where the board was in the last picture that was read."""
    vague: tuple[Pose, frozenset[Square]] | None = None
    last: Look | None = None
    """The last look at a board of pieces; None: look at all of the next picture."""

    still_frames: int = 0
    """So many frames in a row nothing has moved."""
    since_look: int = 0
    fresh: Blocks | None = None
    """What is to be read once more when all is still, as it was read while something moved."""
    times: Mapping[Square, int] = field(default_factory=dict)
    """How often each unknown square was read from above since all of the board was looked at."""
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
    foreign: frozenset[Square] = NO_SQUARES
    """Squares on which something lies that is no piece."""
    bare: tuple[Pose, NDArray[np.float32]] | None = None
    """What the board looked like, in blocks, before anything lay on it that is no piece."""
