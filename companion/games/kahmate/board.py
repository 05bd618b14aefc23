"""The board and pieces of Kahmate: numbered squares, tables of steps and passes, and the kit.

Squares are numbered by rank, then file: a1 is 0, h1 is 7, a2 is 8, h11 is 87. Pieces are numbered
by seat, then in the order R R B T F S: South's are 0 to 5, North's 6 to 11. Seats are 0 (South) and
1 (North).
"""

from __future__ import annotations

from typing import NamedTuple

from companion.core.event_cues import CueLamps, EventCue
from companion.core.grid import Square
from companion.core.i18n import say, say_n
from companion.core.kit import Board, Face, Kit, Seat, Side
from companion.games.events import EventKind, Highlight, Look

FILES = 8
RANKS = 11
# Number of squares on the board.
SQUARE_COUNT = FILES * RANKS

SOUTH = 0
NORTH = 1

SQUARES = tuple(Square(number % FILES, number // FILES) for number in range(SQUARE_COUNT))
# Number of each square, by the square itself.
NUMBER_OF = {square: number for number, square in enumerate(SQUARES)}
# Name of each square, by its number.
SQUARE_NAMES = tuple(map(str, SQUARES))
# Number of each square, by its name.
SQUARE_NUMBERS = {name: number for number, name in enumerate(SQUARE_NAMES)}

# Square number of a runner and its ball after a try, beyond the board.
IN_GOAL = -1

# Difference of square numbers for one step ahead, for each seat.
STEP_AHEAD = (FILES, -FILES)
# Rank (from 0) of each seat's own goal line. A seat scores over the goal line of the other seat.
GOAL_LINE_RANKS = (0, RANKS - 1)
# Rank (from 0) of the ball at the beginning.
BALL_RANK = 5

# Maximum ranks and files of a pass and of a kick (rulebook, "One round"). A test compares them with
# the texts of the rules.
PASS_REACH = 2
KICK_REACH = 3
# Lead that a tackle must exceed for the tackler to get the ball (rule "tackled-ball").
CLEAR_LEAD = 2

SIDES = {
    Seat.SOUTH: Side(say("blue"), "blue", "#1C4FB0", "disc"),
    Seat.NORTH: Side(say("pink"), "pink", "#FFA3C4", "diamond"),
}
SIDE_NAMES = tuple(side.name for side in SIDES.values())


class Role(NamedTuple):
    """The role of a piece with its strengths (rulebook, "Beginning of the game")."""

    letter: str
    name: str
    speed: int
    """Maximum number of steps of a run."""
    attack: int
    """Strength that is added to the card of an attacker in a face-off."""
    defence: int
    """Strength that is added to the card of a defender in a face-off."""


_REGULAR = Role("R", say("regular"), 3, 0, 0)
ROLES = (
    _REGULAR,
    _REGULAR,
    Role("B", say("big"), 2, 2, 1),
    Role("T", say("tough"), 3, 1, 0),
    Role("F", say("fast"), 4, -1, -1),
    Role("S", say("smart"), 3, 0, 1),
)
TEAM_SIZE = len(ROLES)
# Numbers of all pieces, and those of each seat's pieces.
PIECES = range(2 * TEAM_SIZE)
TEAMS = (range(TEAM_SIZE), range(TEAM_SIZE, 2 * TEAM_SIZE))

# Role, seat and speed of each piece, by its number.
ROLE_OF = ROLES + ROLES
SEAT_OF = (SOUTH,) * TEAM_SIZE + (NORTH,) * TEAM_SIZE
SPEED = tuple(role.speed for role in ROLE_OF)
# Names of the pieces, such as “blue big”. They are also the names of their standing faces.
PIECE_NAMES = tuple(
    say("{colour} {role}", colour=SIDE_NAMES[seat], role=role.name)
    for seat, role in zip(SEAT_OF, ROLE_OF, strict=True)
)
# Names of the faces of pieces that are turned over.
DOWN_FACES = tuple(say("{piece} turned over", piece=name) for name in PIECE_NAMES)
# Name of the ball's face.
BALL_FACE = say("ball")


def _neighbours(square: Square) -> tuple[int, ...]:
    neighbours = (square.shifted(*step) for step in ((-1, 0), (0, -1), (0, 1), (1, 0)))
    return tuple(NUMBER_OF[neighbour] for neighbour in neighbours if neighbour in NUMBER_OF)


# Adjacent squares of each square, without diagonals.
NEIGHBOURS = tuple(map(_neighbours, SQUARES))
# Squares of each seat's two own ranks, on which it places its pieces.
OWN_RANKS = tuple(
    tuple(
        number for number in range(SQUARE_COUNT) if abs(number // FILES - GOAL_LINE_RANKS[seat]) < 2
    )
    for seat in (SOUTH, NORTH)
)
OWN_RANK_WORDS = (say("ranks 1 and 2"), say("ranks 10 and 11"))


def file_of(square: int) -> int:
    """Return the file of a square, from 0."""
    return square % FILES


def rank_of(square: int) -> int:
    """Return the rank of a square, from 0."""
    return square // FILES


def ranks_ahead(start: int, end: int, seat: int) -> int:
    """Return how many ranks `end` is ahead of `start`, as the seat plays. Negative if behind."""
    ranks = rank_of(end) - rank_of(start)
    return ranks if seat == SOUTH else -ranks


def square_behind(square: int, seat: int) -> int:
    """Return the square one rank behind, as the seat plays. On its goal line, the square itself."""
    one_back = square - STEP_AHEAD[seat]
    return one_back if 0 <= one_back < SQUARE_COUNT else square


# Offsets (files, ranks) of the squares whose inside a pass crosses, nearest first, by the offset of
# its end. All are counted from the start of the pass, towards its end. For (2, 1):
#
#     .  2  E     The line from the centre of S to that of E
#     S  1  .     crosses square 1, then square 2.
_CROSSED_OFFSETS = {
    (0, 1): (),
    # The line goes exactly through a corner, so it crosses no inside.
    (1, 1): (),
    (2, 1): ((1, 0), (1, 1)),
    (0, 2): ((0, 1),),
    (1, 2): ((0, 1), (1, 1)),
    (2, 2): ((1, 1),),
}


def squares_between(start: int, end: int) -> tuple[int, ...]:
    """Return the squares between the ends of a pass whose inside it crosses.

    The ends are 1 or 2 ranks and at most 2 files apart.
    """
    files = file_of(end) - file_of(start)
    ranks = rank_of(end) - rank_of(start)
    # The table has one quadrant. The others mirror it.
    file_step = -1 if files < 0 else 1
    rank_step = -FILES if ranks < 0 else FILES
    offsets = _CROSSED_OFFSETS[abs(files), abs(ranks)]
    return tuple(
        start + files_on * file_step + ranks_on * rank_step for files_on, ranks_on in offsets
    )


def piece_and_square(piece: int, square: int) -> dict[str, object]:
    """Return the names for `{piece}` and `{square}` in a sentence."""
    return {"piece": PIECE_NAMES[piece], "square": SQUARE_NAMES[square]}


# Thickness of a piece and of the ball, as the notes of the kit demand.
_PIECE_HEIGHT_MM = 5.0
_BALL_HEIGHT_MM = 3.0
# First marker id of each side, which needs two for each of its six pieces.
_FIRST_MARKERS = {Seat.SOUTH: 70, Seat.NORTH: 82}


def _faces(seat: Seat) -> list[Face]:
    """Return the standing and turned-over faces of a side.

    The side has twelve consecutive markers: six for standing pieces in the order R R B T F S, then
    six for their undersides.
    """
    drawing = SIDES[seat].drawing
    first = _FIRST_MARKERS[seat]
    faces = []
    # Both regulars share one face, so the first of them is skipped.
    for piece in TEAMS[seat.number][1:]:
        letter = ROLE_OF[piece].letter
        markers = tuple(first + index for index, role in enumerate(ROLES) if role.letter == letter)
        sign = f"player-{letter.lower()}"
        faces.append(
            Face(
                PIECE_NAMES[piece],
                drawing,
                markers,
                _PIECE_HEIGHT_MM,
                seat,
                letter=letter,
                sign=sign,
            )
        )
        down_markers = tuple(marker + TEAM_SIZE for marker in markers)
        faces.append(
            Face(
                DOWN_FACES[piece],
                drawing,
                down_markers,
                _PIECE_HEIGHT_MM,
                seat,
                letter=letter,
                lies=True,
            )
        )
    return faces


# Twelve pieces with two faces, the ball, and a board with a goal at each end.
KIT = Kit(
    "kahmate",
    say("Kahmate"),
    Board(
        say("pitch"),
        FILES,
        RANKS,
        square_mm=31,
        gap_mm=0,
        corners=(12, 13, 14, 15),
        tones=2,
        has_goals=True,
    ),
    SIDES,
    (
        *_faces(Seat.SOUTH),
        *_faces(Seat.NORTH),
        Face(BALL_FACE, "ball", (94,), _BALL_HEIGHT_MM, carried=True),
    ),
    pieces=(*zip(PIECE_NAMES, DOWN_FACES, strict=True), (BALL_FACE,)),
    tag_mm=17,
    notes=(
        say(
            "Pieces: glue the two tags of a piece onto the two sides of a disc or card 5 mm thick."
        ),
        say(
            "Ball: glue its tag onto card 3 mm thick. It lies above or below the piece that has it."
        ),
        say("A piece that is turned over shows its other tag, with the letter on its side."),
    ),
    letters={role.letter: role.name for role in ROLES},
)


# ---- events --------------------------------------------------------------------------------------


_FACE_OFF_CUE = EventCue(
    "face_off", "A5 80 ·80 A5 80 ·80 E6 160", for_both=True, is_call=True, words=say("A face-off")
)
_FACE_OFF_AGAIN_CUE = EventCue(
    "face_off_again", "A5 80 ·80 A5 80", for_both=True, is_call=True, lamps=CueLamps.TURN_FLASHES
)

_FACE_OFF_HIGHLIGHT = Highlight("blade", lambda n: say_n("{n} face-off", "{n} face-offs", n), 3)
_TACKLE_HIGHLIGHT = Highlight("shot", lambda n: say_n("{n} tackle", "{n} tackles", n), 2)
_KICK_HIGHLIGHT = Highlight("ball", lambda n: say_n("{n} kick", "{n} kicks", n))


class KahmateEvent(EventKind):
    """Events of pieces and ball, of face-offs, and of turns."""

    BEGINS = "begins"
    RUN = "run"
    PASS = "pass"
    KICK = "kick", Look(), None, _KICK_HIGHLIGHT
    TACKLE = "tackle", Look(swells=True), None, _TACKLE_HIGHLIGHT
    # The ball comes to a square or a piece.
    BALL = "ball"
    FACE_OFF = "face_off", Look(swells=True), _FACE_OFF_CUE, _FACE_OFF_HIGHLIGHT
    FACE_OFF_AGAIN = "face_off_again", Look(), _FACE_OFF_AGAIN_CUE
    # A runner has lost a face-off on its way.
    STOPPED = "stopped"
    TURNED_OVER = "turned_over", Look(swells=True)
    STANDS_UP = "stands_up", Look(swells=True)
    # Both hands hold all cards again.
    REFILLED = "refilled"
    # The end of a turn.
    ROUND_END = "round_end", Look(is_told=False)
