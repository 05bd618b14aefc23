"""The board of Outbuffered: text maps, the terrain for the rules, orders, the kit and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

from companion.core.errors import Malformed
from companion.core.event_cues import EventCue
from companion.core.grid import Square, parse_map
from companion.core.i18n import initial, say, say_n
from companion.core.kit import SEATS, Board, Face, Kit, Mark, OrderTiles, Seat, Side
from companion.games.events import EventKind, Highlight, Look
from companion.games.pads import Key

# In a map, `s` and `n` are the start tiles of South and North, `S` and `N` their bases, `#` is a
# wall and `.` any other tile. The first line is the highest rank.

# The rulebook's board: 3 x 4 tiles without walls.
STANDARD_MAP = ".Nn\n...\n...\nsS."
# A larger board with walls, which the set-up page offers.
WALLS_MAP = "..N.n\n.....\n#.#.#\n.....\ns.S.."

# Numbers of the seats: their indexes in pairs (South, North).
SOUTH = 0
NORTH = 1
# Each order by its letter in the notation, with its word, drawing and key.
ORDERS = {
    key.letter: key
    for key in (
        Key("S", say("shoot"), "order-shoot", "a", initial(say("S for shoot"))),
        Key("U", say("up"), "order-up", "up", initial(say("U for up"))),
        Key("I", say("wait"), "order-idle", "b", initial(say("I for wait"))),
        Key("L", say("left"), "order-left", "left", initial(say("L for left"))),
        Key("D", say("down"), "order-down", "down", initial(say("D for down"))),
        Key("R", say("right"), "order-right", "right", initial(say("R for right"))),
    )
}
# The orders in the sequence in which their tiles are printed.
TILE_LETTERS = "UDLRSI"
# All orders in the notation: up, down, left, right, idle, shoot. Random choices and the bot's table
# depend on this sequence.
ORDER_LETTERS = "UDLRIS"
# All 216 buffers. A buffer is what a player hands in for a turn: three orders, which may repeat.
BUFFERS = tuple(map("".join, product(ORDER_LETTERS, repeat=3)))
# (files, ranks) of each order that moves, as South sees it.
MOVES = {"U": (0, 1), "D": (0, -1), "L": (-1, 0), "R": (1, 0)}

SIDES = {
    Seat.SOUTH: Side(say("purple"), "purple", "#5B2A9D", "robot-s", "smile-s"),
    Seat.NORTH: Side(say("lime"), "lime", "#B4DC14", "robot-n", "smile-n"),
}
SIDE_NAMES = tuple(side.name for side in SIDES.values())
# Names of the faces, South's first.
ROBOT_FACES = (say("purple robot"), say("lime robot"))
FLAG_FACES = (say("purple flag"), say("lime flag"))
# Names of a player's own pieces, which are the names of the faces without the side. The table
# derives them from the names of the faces. They are listed here only so that the catalogues of
# translations contain them.
OWN_PIECE_WORDS = (say("robot"), say("flag"))


@dataclass(frozen=True)
class Terrain:
    """The board for the rules. Seats are indexed 0 (South) and 1 (North)."""

    files: int
    ranks: int
    walls: frozenset[Square]
    starts: tuple[Square, Square]
    bases: tuple[Square, Square]

    def neighbour(self, square: Square, step: tuple[int, int]) -> Square | None:
        """Return the next square in a direction, or None off the board or in a wall.

        `step` is the direction as (files, ranks), such as (0, 1) for one rank up.
        """
        return self._neighbours[square].get(step)

    @cached_property
    def _neighbours(self) -> dict[Square, dict[tuple[int, int], Square]]:
        """Next square in each possible direction, by the square and the (files, ranks) to it."""
        free = set(Square(0, 0).area((self.files, self.ranks))) - self.walls
        return {
            square: {
                step: square.shifted(*step)
                for step in MOVES.values()
                if square.shifted(*step) in free
            }
            for square in free
        }

    def distance(self, origin: Square, target: Square) -> int:
        """Return the smallest number of steps between two squares.

        If walls block every path, the walls are ignored.
        """
        steps = {origin: 0}
        reached = [origin]
        # Breadth-first search. The list grows during the loop.
        for square in reached:
            for neighbour in self._neighbours[square].values():
                if neighbour not in steps:
                    steps[neighbour] = steps[square] + 1
                    reached.append(neighbour)
        ignoring_walls = abs(origin.file - target.file) + abs(origin.rank - target.rank)
        return steps.get(target, ignoring_walls)

    @cached_property
    def lines_of_fire(self) -> dict[Square, frozenset[Square]]:
        """Squares that a shot from each square reaches, along rank and file up to a wall."""
        return {square: frozenset(self._squares_in_sight(square)) for square in self._neighbours}

    def _squares_in_sight(self, origin: Square) -> Iterator[Square]:
        for step in MOVES.values():
            square = self.neighbour(origin, step)
            while square is not None:
                yield square
                square = self.neighbour(square, step)


@lru_cache(maxsize=64)
def parse_terrain(map_text: str) -> Terrain:
    """Parse the text map of a board.

    Each of `s S n N` (starts and bases of South and North) occurs exactly once. Raises `Malformed`.
    """
    tiles = parse_map(map_text, ".#sSnN")
    square_of = {}
    for character in "sSnN":
        squares = tiles.squares_with(character)
        if len(squares) != 1:
            message = say(
                "The board has “{tile}” {count} times: it needs exactly one",
                tile=character,
                count=len(squares),
            )
            raise Malformed(message)
        square_of[character] = squares[0]
    return Terrain(
        tiles.files,
        tiles.ranks,
        frozenset(tiles.squares_with("#")),
        (square_of["s"], square_of["n"]),
        (square_of["S"], square_of["N"]),
    )


# Markers of the printed rows on which tiles are laid, and of each side's tiles.
_ORDER_TILES = OrderTiles(
    rows={Seat.SOUTH: (180, 181, 182, 183), Seat.NORTH: (184, 185, 186, 187)},
    orders={
        seat: {letter: first + number for number, letter in enumerate(TILE_LETTERS)}
        for seat, first in ((Seat.SOUTH, 190), (Seat.NORTH, 200))
    },
    places=3,
)


@lru_cache(maxsize=64)
def build_kit(map_text: str, has_tiles: bool = False) -> Kit:
    """Return the kit for a text map: four pieces and a board of separate tiles.

    With `has_tiles` the camera reads orders that are laid as tiles.
    """
    terrain = parse_terrain(map_text)
    marks: list[Mark] = []
    for seat, letter, start, base in zip(SEATS, "sn", terrain.starts, terrain.bases, strict=True):
        marks += Mark(start, f"start-{letter}", seat), Mark(base, f"base-{letter}", seat)
    marks += [Mark(wall, "wall") for wall in sorted(terrain.walls)]
    board = Board(
        say("standard") if map_text == STANDARD_MAP else f"{terrain.files} x {terrain.ranks}",
        terrain.files,
        terrain.ranks,
        square_mm=46,
        gap_mm=3,
        corners=(0, 1, 2, 3),
        marks=tuple(marks),
        labels_in_squares=True,
        holes=terrain.walls,
    )
    faces = (
        Face(ROBOT_FACES[0], "robot-s", (20,), 10.0, Seat.SOUTH),
        Face(ROBOT_FACES[1], "robot-n", (21,), 10.0, Seat.NORTH),
        Face(FLAG_FACES[0], "flag-s", (22,), 2.0, Seat.SOUTH, carried=True),
        Face(FLAG_FACES[1], "flag-n", (23,), 2.0, Seat.NORTH, carried=True),
    )
    return Kit(
        "outbuffered",
        say("Outbuffered"),
        board,
        SIDES,
        faces,
        pieces=tuple((face.name,) for face in faces),
        notes=(
            say("Robots: glue the tag onto a block 10 mm high (a die, a wooden cube, a cork)."),
            say("Flags: glue the tag onto card 2 mm thick, so that a robot can stand on it."),
            say(
                "A robot that carries a flag stands on it, or has it on top: the camera knows both."
            ),
        ),
        order_tiles=_ORDER_TILES if has_tiles else None,
    )


# ---- events --------------------------------------------------------------------------------------


_FLAG_TAKEN_CUE = EventCue("flag_taken", "E5 120 ·40 A5 40 ·40 E6 40")
# Weights as in `companion.games.events`: a flag weighs more than a hit.
_FLAG_TAKEN_HIGHLIGHT = Highlight(
    "flag-s", lambda n: say_n("{n} flag taken", "{n} flags taken", n), 3
)


class OutbufferedEvent(EventKind):
    """Events of flags and of robots that are hit."""

    FLAG_TAKEN = "flag_taken", Look(swells=True), _FLAG_TAKEN_CUE, _FLAG_TAKEN_HIGHLIGHT
    FLAG_DROPPED = "flag_dropped"
    # A robot that was hit returns to its start tile.
    SENT_BACK = "sent_back"
