"""The values that go through the six stages of the reader, all of them frozen.

A *look* is one picture with what the stages have found in it so far. A *vote* is what it says about
the squares, before other pictures have agreed. A *memory* is what is known from earlier pictures of
the same camera, and `Location` is its part about pose and lens. A stage takes a look and a memory
and returns new ones. `BoardReader` keeps the memory between two pictures.

Other words that all stages use:

    kit         what is printed for one game: a board with corner markers, and pieces or cards
    sighting    one marker in one picture: its id and where its corners are
    stranger    a marker that belongs to no piece of the kit, or to one that is seen twice
    block       8 x 8 pixels, by which pictures are compared
    pose        where the camera is, relative to the board
    beside      next to the board, but still in the picture
    fan         open cards in one zone of a board of cards

Ids of markers are from a printed dictionary, see `companion.core.kit`. Millimetres are in board
axes: x to the right as South sees it, y up towards North.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit, Layout
from vision.cards.reader import CardReader, OpenCards
from vision.detection.markers import Luma, Sighting
from vision.detection.stillness import Background, BlockMask
from vision.pieces.empty_squares import EmptyAppearances
from vision.pieces.snapshots import PaperMemory
from vision.pose.board_copies import Quads
from vision.pose.board_fit import Fit, Observations
from vision.pose.lens_estimate import LensEstimate
from vision.pose.optics import Lens
from vision.pose.pose import Points, Pose

NO_SQUARES: frozenset[Square] = frozenset()


class Budget(NamedTuple):
    """Bounds for three slow steps in one picture. Remaining work waits for the next picture.

    The defaults bound the time for the worst picture of a series, such as one with a hand that
    rests on the board. Without bounds it would take ten times as long as a usual picture. With
    larger bounds the reading stalls for longer, with smaller ones it takes more pictures to settle.
    They were chosen by trial with `make bench ARGS=reading`, which also counts what a picture
    costs.
    """

    closer_squares: int = 24
    """Maximum number of squares that are read from straight above."""
    shaded_failures: int = 8
    """Maximum number of failed tests whether a square is empty under shadows with edges."""
    lens_models: int = 1
    """Maximum number of lens models that are tried."""
    has_next_picture: bool = True
    """Whether another picture follows, for which work may wait."""


# Budget for each picture of a series.
SERIES_BUDGET = Budget()

# Budget for the rest of a picture in which a lens model was fitted.
SPENT_BUDGET = Budget(closer_squares=0, shaded_failures=0, lens_models=0)


@dataclass(frozen=True)
class Vote:
    """What one picture says about the squares, or what several pictures say together.

    The last stage joins the votes of several pictures. Most fields then become those of a
    `companion.core.ports.Reading`.
    """

    game: str | None
    """The game whose board is in view. None if there is no board."""
    seen: Mapping[Square, str]
    """The name of the face on top of each square."""
    unknown: frozenset[Square]
    """Squares or zones whose state is unknown.

    On a board of pieces, a square that is neither here nor in `seen` is empty, or is a hole.
    """
    beside: tuple[str, ...] = ()
    """Names of the faces that lie beside the board, sorted."""
    strangers: tuple[int, ...] = ()
    """Ids of the strangers, sorted."""
    fans: Layout = field(default_factory=dict)
    """Names of the open cards of each zone, from the bottom to the top."""
    markers: Mapping[Square, int] = field(default_factory=dict)
    """The marker id of each face of `seen`."""
    has_movement: bool = False
    """Whether something moved in a picture of cards, so that some of its zones may be unknown only
    because of that. Such a vote is dropped with the next picture.
    """
    guessed_squares: frozenset[Square] = frozenset()
    """Squares of `seen` whose marker did not decode, and resembles the print of that face only
    moderately. Three pictures have to agree on them.
    """


# The vote of a picture before it is judged.
NO_VOTE = Vote(None, {}, NO_SQUARES)


@dataclass(frozen=True, eq=False)
class PlacedPiece:
    """A piece's marker on the board, and the squares on which the piece lies."""

    face: Face
    """The face that it shows."""
    hidden_face: Face | None
    """The tallest piece that may be hidden beneath it. None if there can be none."""
    sighting: Sighting
    """Its marker in the picture."""
    centre_mm: tuple[float, float]
    """Its centre (x, y) on the board if it lies on the paper."""
    turn_deg: float
    """Rotation in degrees, counter-clockwise. At 0 its print is upright as South sees it."""
    squares: frozenset[Square]
    """The squares that it covers if it `has_certain_squares`, otherwise all that it may touch.

    Empty for a piece beside the board.
    """
    has_certain_squares: bool
    """Whether its squares are certain despite the uncertainty of the pose."""
    is_plausible: bool
    """Whether its size is that of a tag at this height, and no other marker has its id."""
    stacked_centre_mm: tuple[float, float]
    """Its centre (x, y) on the board if it lies on top of `hidden_face`."""
    size_ratio: float
    """Side of its marker, relative to a tag at this height."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Where the pieces of a picture lie by their markers, and what that says about the squares."""

    kit: Kit
    """The kit to which they belong."""
    pose: Pose
    """The pose of the board by which they were placed."""
    placed: tuple[PlacedPiece, ...]
    """All pieces whose markers are in the picture, on the board and beside it."""
    strangers: tuple[int, ...]
    """Ids of the strangers, sorted."""
    seen: Mapping[Square, str]
    """The name of the face on top of each square, where it is certain."""
    markers: Mapping[Square, int]
    """The marker id of each of these faces."""
    doubtful_squares: frozenset[Square]
    """Squares that a piece may lie on, where it is uncertain which one it is."""


@dataclass(frozen=True, eq=False)
class Look:
    """One picture, and the results of the stages so far.

    Each stage fills its own fields, in the order in which they stand here, and may correct those of
    earlier stages. The first word of a field's description is the stage that fills it. A stage
    returns a new look and never changes the one that it got.
    """

    luma: Luma
    """The picture, (height, width) uint8."""
    budget: Budget = SERIES_BUDGET
    """Bounds for the slow steps of the stages."""
    may_glance: bool = False
    """Whether a picture in which something moves is only compared with earlier ones, and not read.
    """

    is_skipped: bool = False
    """Motion: whether the other stages are skipped, because the picture shows nothing new, or
    because something moves and it `may_glance`.
    """
    is_still: bool = True
    """Motion: whether nothing moves, so that a close look is worth its time. True for a first
    picture, which cannot be compared.
    """
    moving_px: Points | None = None
    """Motion: (N, 2) px, the centres of the blocks that have moved since the last picture. None if
    nothing has.
    """
    due_blocks: BlockMask | None = None
    """Motion: (rows, columns) bool, the blocks that have to be read again. None means all of
    them. Detect sets it to None if it searches the whole picture.
    """

    reference: Look | None = None
    """Detect: the earlier look that still holds outside the due blocks. None if the whole picture
    is read.
    """
    kit: Kit | None = None
    """Detect: the kit whose corner markers are in view, or were in view last. None if there was
    none.
    """
    sightings: tuple[Sighting, ...] = ()
    """Detect: all markers, including those of the reference outside the due blocks. Judge adds
    those that it reads from straight above.
    """
    outdated_sightings: frozenset[Sighting] = frozenset()
    """Detect: the markers of the reference that touched the due blocks, and no longer count."""

    pose: Pose | None = None
    """Locate: the pose of the board. None if the board is not seen. With a reference, Detect has
    set it already.
    """
    vague_squares: frozenset[Square] = NO_SQUARES
    """Locate: squares for which the pose is too uncertain to call them empty."""

    pieces: Pieces | None = None
    """Place: the pieces, on a board of pieces."""
    open_cards: OpenCards | None = None
    """Place: the open cards, on a board of cards."""
    squares_to_judge: frozenset[Square] = NO_SQUARES
    """Place: the squares to judge again. The reference holds for the others."""

    empty_squares: frozenset[Square] = NO_SQUARES
    """Judge: the squares that certainly are empty."""
    unknown_squares: frozenset[Square] = NO_SQUARES
    """Judge: the squares that are neither empty nor read."""
    confidence: Mapping[Square, float] = field(default_factory=dict)
    """Judge: confidence of each square. 1 for a marker that decodes or an empty square, 0 for
    unknown, otherwise the correlation of a marker with its print.
    """
    vote: Vote = NO_VOTE
    """Judge: the vote of this picture alone."""

    joint_vote: Vote = NO_VOTE
    """Vote: what this look and those before it say together."""
    is_quiet: bool = False
    """Vote: whether the joint vote is settled, because enough looks agree."""


class BestModel(NamedTuple):
    """The best lens model of a search so far."""

    cost: float
    """How badly it explains markers and lines, see `vision.pose.lens_choice.try_model`."""
    fit: Fit
    """The pose and the lens by this model."""


@dataclass(frozen=True, eq=False)
class Location:
    """The last pose of the board, and the state of the lens.

    The pose is kept while hands hide the corner markers. It holds for the last picture only if it
    `is_confirmed`. The lens is refined by what views of the board teach about it. If no pose fits
    with that lens, other lens *models* are tried, such as wider angles and a fisheye.
    """

    nominal: Lens
    """The lens that is assumed for this camera until a board has refined it."""
    lens_estimate: LensEstimate
    """What the views have taught about the lens, with its uncertainty."""
    board: Board | None = None
    """The board that was located. None if no board has been found."""
    pose: Pose | None = None
    """The last pose that was found. It stays while corners are hidden, since whatever hides them
    goes away again.
    """
    is_confirmed: bool = False
    """Whether the markers in the last picture that was read are where `pose` puts them."""
    observations: Observations | None = None
    """The corner markers, and markers of pieces, from which that pose was computed."""
    corners_px: Quads = field(default_factory=dict)
    """(4, 2) px: where the board's corner markers were, by id."""
    anchors_px: Quads = field(default_factory=dict)
    """(4, 2) px: where other markers have been since then, by id. They confirm the pose while all
    corner markers are hidden.
    """
    is_aligned: bool = False
    """Whether the pose was compared with the printed lines of the board, and corrected by them if
    needed. If not, this is still to be done.
    """
    models_tried: int = 0
    """Number of lens models tried in a search that goes on with the next picture. 0 if none is
    under way.
    """
    best_model: BestModel | None = None
    """The model with the lowest cost in the search for this pose. None if there was no search, or
    if no model has given a pose.
    """
    failed_searches: int = 0
    """Number of failed searches in a row for another lens model."""
    unconfirmed_squares: frozenset[Square] = NO_SQUARES
    """Squares for which the pose may be wrong, as it rests on two corner markers and no printed
    line confirms it there. While a search for a lens model goes on, these are all squares.
    """
    problem: str = ""
    """Why there is no pose although corner markers are seen, as a sentence, or the advice about a
    twin. Otherwise empty.
    """
    twin_advice: str = ""
    """What to do about a twin, a second copy of the board in the last picture, as a sentence.
    Otherwise empty.
    """


class VagueSquares(NamedTuple):
    """A pose, and the squares for which it is too uncertain to call them empty."""

    pose: Pose
    squares: frozenset[Square]


@dataclass(frozen=True, eq=False)
class Memory:
    """What is known from earlier pictures of one camera."""

    kits: Mapping[str, Kit]
    """The kits whose boards are searched for, by game."""
    location: Location
    """Where the board was last, and what is known of the lens."""
    is_thorough: bool = False
    """Whether to spend more time on each picture."""
    background: Background = field(default_factory=Background)
    """The pictures that the next one is compared with."""

    active_kit: Kit | None = None
    """The kit to prefer. None means whichever board is in view."""
    last_kit: Kit | None = None
    """The kit whose board was in view last."""
    paper: PaperMemory | None = None
    """How bright the paper of its board is, and how dark its lines are. None for a board of cards,
    or if there was no board.
    """
    empty_appearances: EmptyAppearances = field(default_factory=dict)
    """How the squares of its board look when they are empty."""
    card_reader: CardReader | None = None
    """The reader of its cards. None if it has no cards."""
    pose: Pose | None = None
    """Pose of the board in the last picture that was read. None if it showed no board."""
    vague_squares: VagueSquares | None = None
    """The vague squares of the last pose. They are computed once for each pose."""
    reference: Look | None = None
    """The last look at a board of pieces. Only those parts of the next picture are read that differ
    from it, and elsewhere this look still holds. If there is none, the whole next picture is read.
    """

    still_frames: int = 0
    """Number of frames in a row in which nothing has moved."""
    frames_since_reading: int = 0
    """Number of frames since the last one that was read."""
    unsettled_blocks: BlockMask | None = None
    """(rows, columns) bool: blocks that have been read since the board was last settled, to be
    read again when all is still.
    """
    failed_attempts: Mapping[Square, int] = field(default_factory=dict)
    """Number of failed tests whether each unknown square is empty, since all of the picture was
    read.
    """
    given_up_squares: frozenset[Square] = NO_SQUARES
    """Unknown squares that are not read again for now, as that has failed in enough pictures."""

    votes: tuple[Vote, ...] = ()
    """The votes of the last pictures since the last movement, at most `AGREEING_PICTURES`."""
    settled_vote: Vote | None = None
    """The last joint vote that was settled. It stays while hands move, to tell what is new."""
    settled_look: Look | None = None
    """The look that holds while no picture differs from it. None if the board is not settled."""
    latest_look: Look | None = None
    """The last look that was read."""
