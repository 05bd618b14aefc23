"""The board of Scouts as numbers and bit masks, its pieces, and the kinds of events.

A square is a number: file + 8 x rank, both from 0, so that a1 is 0, h1 is 7 and h10 is 79. A set of
squares is a mask: an integer with the bit of each of its squares set.

Boulders cover 2 x 2 squares and rocks in the narrow sense 2 x 1. Together they are called rocks,
unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from companion.core.grid import Square
from companion.core.i18n import say, say_n
from companion.core.kit import SEATS, Board, Face, Kit, Seat, Side
from companion.games.events import EventKind, Highlight, Look

FILES = 8
RANKS = 10
SQUARES = tuple(Square(number % FILES, number // FILES) for number in range(FILES * RANKS))
# Name of each square, by its number.
SQUARE_NAMES = tuple(map(str, SQUARES))
# Number of each square, by its name.
SQUARE_NUMBERS = {name: number for number, name in enumerate(SQUARE_NAMES)}

ALL_SQUARES = (1 << FILES * RANKS) - 1

_FIRST_RANK = (1 << FILES) - 1
_FIRST_FILE = sum(1 << FILES * rank for rank in range(RANKS))
NOT_LAST_FILE = ALL_SQUARES & ~(_FIRST_FILE << FILES - 1)
_NOT_FIRST_FILE = ALL_SQUARES & ~_FIRST_FILE
# Home rank of each seat as a mask, South first.
HOME_RANKS = (_FIRST_RANK, _FIRST_RANK << FILES * (RANKS - 1))
# Far rank of each seat as a mask: the home rank of the other seat.
FAR_RANKS = HOME_RANKS[::-1]

SIDES = {
    Seat.SOUTH: Side(say("white"), "white", "#FFFFFF", "scout-s"),
    Seat.NORTH: Side(say("black"), "black", "#1B1814", "scout-n"),
}
SIDE_NAMES = tuple(side.name for side in SIDES.values())
# Plain face and face with intel of each seat's scouts, South first.
SCOUT_FACES = (
    (say("white scout"), say("white scout with intel")),
    (say("black scout"), say("black scout with intel")),
)
# The two kinds of rocks: their names in views, events and drawings, and their names for people.
ROCK_KINDS = ("boulder", "rock")
ROCK_NAMES = (say("boulder"), say("rock"))
# South's boulder and rock, then North's.
ROCK_FACES = (say("white boulder"), say("white rock"), say("black boulder"), say("black rock"))


def square_mask(file: int, rank: int) -> int:
    """Return the mask of one square, or 0 if it is off the board."""
    if 0 <= file < FILES and 0 <= rank < RANKS:
        return 1 << file + FILES * rank
    return 0


def squares_in(mask: int) -> Iterator[int]:
    """Yield the squares of a mask by rank, then file.

    >>> list(squares_in(0b1000_0001))
    [0, 7]
    """
    while mask:
        lowest_bit = mask & -mask
        yield lowest_bit.bit_length() - 1
        mask ^= lowest_bit


def neighbours_of(mask: int) -> int:
    """Return the mask of the orthogonal neighbours of all squares in a mask."""
    # A shift by one would wrap to the next rank at the left and right edges.
    sideways = (mask & NOT_LAST_FILE) << 1 | (mask & _NOT_FIRST_FILE) >> 1
    return (sideways | mask << FILES | mask >> FILES) & ALL_SQUARES


def _surrounding_mask(square: Square) -> int:
    """Return the mask of all squares around one, diagonal ones included."""
    # The block of nine squares with this one in the middle, some of which may be off the board.
    block = square.shifted(-1, -1).area((3, 3))
    return sum(square_mask(*other) for other in block if other != square)


class Jump(NamedTuple):
    """A jump from a square, along its file or rank."""

    over: int
    """Mask of the square jumped over."""
    landing: int
    """Mask of the landing square."""
    target: int
    """Number of the landing square."""


def _jumps_from(square: Square) -> tuple[Jump, ...]:
    """Return the jumps from a square that stay on the board."""
    jumps = []
    for files, ranks in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        over = square_mask(square.file + files, square.rank + ranks)
        landing = square_mask(square.file + 2 * files, square.rank + 2 * ranks)
        if landing:
            jumps.append(Jump(over, landing, landing.bit_length() - 1))
    return tuple(jumps)


def _boulder_mask(corner: Square) -> int:
    """Return the mask of a boulder with this lower left square, or 0 if it leaves the board."""
    if corner.file == FILES - 1 or corner.rank == RANKS - 1:
        return 0
    mask = square_mask(corner.file, corner.rank)
    lower_pair = mask | mask << 1
    return lower_pair | lower_pair << FILES


# Mask of the up to eight neighbours of each square.
AROUND = tuple(map(_surrounding_mask, SQUARES))
# Jumps from each square that stay on the board.
JUMPS = tuple(map(_jumps_from, SQUARES))
# Mask of the up to four orthogonal neighbours of each square.
NEIGHBOURS = tuple(neighbours_of(1 << number) for number in range(FILES * RANKS))
# Mask of a boulder by its lower left square, or 0 if it would leave the board.
BOULDERS = tuple(map(_boulder_mask, SQUARES))

_NOTES = (
    say(
        "Scouts: two tags back to back on card or a coin 4 mm thick, the plain face on one side "
        "and the eye on the other."
    ),
    say("Boulder: glue the tag onto the middle of a flat block, 66 x 66 mm and 5 mm high."),
    say(
        "Rock: glue the tag onto the middle of a flat block, 66 x 31 mm and 5 mm high. It may lie "
        "either way."
    ),
    say(
        "A scout that ends its dash on another one is put on top of it. The camera remembers the "
        "one beneath."
    ),
)


# Marker of the first face of the kit. The other faces have the following ones.
_FIRST_MARKER = 30
# Thickness of scouts and rocks, as the notes of the kit demand.
_SCOUT_HEIGHT_MM = 4.0
_ROCK_HEIGHT_MM = 5.0


def _faces() -> Iterator[Face]:
    """Yield the faces of all pieces, with consecutive markers."""
    marker = _FIRST_MARKER
    for (seat, side), names in zip(SIDES.items(), SCOUT_FACES, strict=True):
        # A drawing with intel has the name of the plain one and a 2.
        for name, drawing in zip(names, (side.drawing, f"{side.drawing}2"), strict=True):
            yield Face(name, drawing, tuple(range(marker, marker + 5)), _SCOUT_HEIGHT_MM, seat)
            marker += 5
    sizes = {"boulder": (2, 2), "rock": (2, 1)}
    for index, name in enumerate(ROCK_FACES):
        kind = ROCK_KINDS[index % 2]
        seat = SEATS[index // 2]
        yield Face(name, kind, (marker + index,), _ROCK_HEIGHT_MM, seat, size=sizes[kind])


# Twenty faces of ten scouts, two boulders, two rocks, and a two-tone board.
KIT = Kit(
    "scouts",
    say("Scouts"),
    Board(say("standard"), FILES, RANKS, square_mm=35, gap_mm=0, corners=(4, 5, 6, 7), tones=2),
    SIDES,
    tuple(_faces()),
    pieces=(
        *(scouts for scouts in SCOUT_FACES for _ in range(5)),
        *((face,) for face in ROCK_FACES),
    ),
    tag_mm=20.0,
    notes=_NOTES,
)


# ---- events --------------------------------------------------------------------------------------


_INTEL_HIGHLIGHT = Highlight(
    "eye", lambda n: say_n("{n} scout with intel", "{n} scouts with intel", n), 3
)


class ScoutsEvent(EventKind):
    """The kinds of plays and their consequences."""

    # The set-up is complete.
    BEGUN = "begun"
    DASH = "dash"
    JUMP = "jump"
    BOULDER = "boulder"
    ROCK = "rock"
    INTEL = "intel", Look(swells=True), None, _INTEL_HIGHLIGHT
    # The end of a turn.
    ENDED = "ended", Look(is_told=False)
