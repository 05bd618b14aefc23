"""The board of Scouts as numbers and bit masks, and the kit.

A square is a number: file + 8 x rank, both from 0, so that a1 is 0, h1 is 7 and h10 is 79. A set of
squares is a mask: an integer with the bit of each of its squares set.
"""

from __future__ import annotations

from collections.abc import Iterator

from companion.core.grid import Square
from companion.core.i18n import say, say_n
from companion.core.kit import Board, Face, Kit, Seat, Side
from companion.games.events import EventKind, Highlight, Look

FILES = 8
RANKS = 10
SQUARES = tuple(Square(number % FILES, number // FILES) for number in range(FILES * RANKS))
NAMES = tuple(map(str, SQUARES))
NUMBERS = {name: number for number, name in enumerate(NAMES)}
ALL = (1 << FILES * RANKS) - 1

_FIRST_RANK = (1 << FILES) - 1
_FIRST_FILE = sum(1 << FILES * rank for rank in range(RANKS))
NOT_LAST_FILE = ALL & ~(_FIRST_FILE << FILES - 1)
_NOT_FIRST_FILE = ALL & ~_FIRST_FILE
HOME = (_FIRST_RANK, _FIRST_RANK << FILES * (RANKS - 1))
"""Home rank of each seat, South first."""
FAR = HOME[::-1]
"""Home rank of each seat's opponent."""

SIDES = {
    Seat.SOUTH: Side(say("white"), "white", "#FFFFFF", "scout-s"),
    Seat.NORTH: Side(say("black"), "black", "#1B1814", "scout-n"),
}
SEAT_NAMES = tuple(side.name for side in SIDES.values())
SCOUT_FACES = (
    (say("white scout"), say("white scout with intel")),
    (say("black scout"), say("black scout with intel")),
)
"""Plain face and face with intel of each seat's scouts, South first."""
OWN = say("scout")
"""Name of a player's own scout in instructions. Rocks and boulders have names of their own."""
ROCK_KINDS = ("boulder", "rock")
"""Names in notation, events and drawings. `ROCK_NAMES` are those for people."""
ROCK_NAMES = (say("boulder"), say("rock"))
ROCK_FACES = (say("white boulder"), say("white rock"), say("black boulder"), say("black rock"))
"""South's boulder and rock, then North's."""


def bit_at(file: int, rank: int) -> int:
    """Return the mask of one square, or 0 if it is off the board."""
    if 0 <= file < FILES and 0 <= rank < RANKS:
        return 1 << file + FILES * rank
    return 0


def squares_in(mask: int) -> Iterator[int]:
    """Yield the squares of a mask by rank, then file."""
    while mask:
        # Lowest set bit.
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def beside(mask: int) -> int:
    """Return the orthogonal neighbours of all squares in a mask."""
    # A shift by one would wrap to the next rank at the left and right edges.
    sideways = (mask & NOT_LAST_FILE) << 1 | (mask & _NOT_FIRST_FILE) >> 1
    return (sideways | mask << FILES | mask >> FILES) & ALL


def _around(square: Square) -> int:
    steps = [(files, ranks) for files in (-1, 0, 1) for ranks in (-1, 0, 1) if files or ranks]
    return sum(bit_at(square.file + files, square.rank + ranks) for files, ranks in steps)


def _jumps(square: Square) -> tuple[tuple[int, int, int], ...]:
    jumps = []
    for files, ranks in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        over = bit_at(square.file + files, square.rank + ranks)
        landing = bit_at(square.file + 2 * files, square.rank + 2 * ranks)
        if landing:
            jumps.append((over, landing, landing.bit_length() - 1))
    return tuple(jumps)


def _boulder(square: Square) -> int:
    if square.file == FILES - 1 or square.rank == RANKS - 1:
        return 0
    corner = bit_at(square.file, square.rank)
    pair = corner | corner << 1
    return pair | pair << FILES


AROUND = tuple(map(_around, SQUARES))
"""Mask of the up to eight neighbours of each square."""
JUMPS = tuple(map(_jumps, SQUARES))
"""Jumps from each square within the board: mask of the square jumped over, and mask and number of
the landing square.
"""
BESIDE = tuple(beside(1 << number) for number in range(FILES * RANKS))
"""Mask of the up to four orthogonal neighbours of each square."""
BOULDERS = tuple(map(_boulder, SQUARES))
"""Mask of a boulder by its lower left square, or 0 if it would leave the board."""

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
        "A scout that ends its dash on another one is put on top of it; the camera remembers the "
        "one beneath."
    ),
)


def _faces() -> Iterator[Face]:
    marker = 30
    for seat, letter, scouts in zip(SIDES, "sn", SCOUT_FACES, strict=True):
        for name, drawing in zip(scouts, (f"scout-{letter}", f"scout-{letter}2"), strict=True):
            yield Face(name, drawing, tuple(range(marker, marker + 5)), 4.0, seat)
            marker += 5
    for name, seat, rock, size in zip(
        ROCK_FACES, _OWNERS, 2 * ROCK_KINDS, 2 * ((2, 2), (2, 1)), strict=True
    ):
        yield Face(name, rock, (marker,), 5.0, seat, size=size)
        marker += 1


_OWNERS = (Seat.SOUTH, Seat.SOUTH, Seat.NORTH, Seat.NORTH)

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
"""Twenty faces of ten scouts, two boulders, two rocks, and a two-tone board."""


# ---- events --------------------------------------------------------------------------------------


_INTEL = Highlight("eye", lambda n: say_n("{n} scout with intel", "{n} scouts with intel", n), 3)


class ScoutsEvent(EventKind):
    """The kinds of plays and their consequences."""

    BEGUN = "begun"
    DASH = "dash"
    JUMP = "jump"
    BOULDER = "boulder"
    ROCK = "rock"
    INTEL = "intel", Look(swells=True), None, _INTEL
    ENDED = "ended", Look(is_told=False)
