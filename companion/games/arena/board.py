"""The arena: text maps, the terrain that the rules use, the robots' names, and the printed kit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from companion.core.errors import Malformed
from companion.core.grid import Square, parse_map
from companion.core.i18n import initial, say, say_n
from companion.core.kit import SEATS, Board, Face, Kit, Mark, Seat, Side
from companion.games.events import EventKind, Highlight, Look

# In a map, `s` and `n` are starts of South and North, `S` and `N` their spawn points, `#` is a wall
# and `.` any other square. The first line is the highest rank.

# 9 x 9 squares without walls, starts on b, e, h, spawn points on c, g (Ruling 3).
STANDARD_MAP = ".nN.n.Nn.\n" + 7 * ".........\n" + ".sS.s.Ss."
# The same board with walls, which the set-up page offers.
WALLS_MAP = "\n".join(
    (
        ".nN.n.Nn.",
        ".........",
        "..#...#..",
        ".........",
        "...#.#...",
        ".........",
        "..#...#..",
        ".........",
        ".sS.s.Ss.",
    )
)

# Maximum number of robots of a side. Each side has as many printed tags (Ruling 3).
MAX_ROBOTS = 8

# Letter of each direction in the notation. Elsewhere a direction is an index in this text.
DIRECTIONS = "NESW"
# (files, ranks) of one step in each direction, in the order of `DIRECTIONS`.
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))

DIRECTION_WORDS = (say("north"), say("east"), say("south"), say("west"))
# The letter that players read for each of `DIRECTIONS`.
DIRECTION_INITIALS = (
    initial(say("N for north")),
    initial(say("E for east")),
    initial(say("S for south")),
    initial(say("W for west")),
)

SIDES = {
    Seat.SOUTH: Side(say("petrol"), "petrol", "#0A5468", "disc"),
    Seat.NORTH: Side(say("coral"), "coral", "#FF9470", "diamond"),
}
SIDE_NAMES = tuple(side.name for side in SIDES.values())
# Names of the robots' faces, by seat (0 South, 1 North) and robot number. Number 0 is not used.
ROBOT_NAMES = tuple(
    tuple(
        say("{colour} robot {number}", colour=name, number=number)
        for number in range(MAX_ROBOTS + 1)
    )
    for name in SIDE_NAMES
)
# Stack of faces on a robot's square in a layout, by seat and robot number.
ROBOT_STACKS = tuple(tuple((name,) for name in names) for names in ROBOT_NAMES)

# Marker of each side's robot 1, South's first. The other robots have the following ones.
_FIRST_MARKERS = (54, 62)
# Markers of the board's corners.
_CORNER_MARKERS = (8, 9, 10, 11)
# Height of a counter under its tag: two draughtsmen or a slice of cork.
_ROBOT_HEIGHT_MM = 6.0


@dataclass(frozen=True)
class Terrain:
    """A board in the form that the rules use.

    A place is the index of a square in `squares`, which is quicker to look up than the square.
    Pairs are (South, North).
    """

    files: int
    ranks: int
    walls: frozenset[Square]
    starts: tuple[tuple[int, ...], tuple[int, ...]]
    """Places of the robots at the beginning, robot 1 first."""
    spawns: tuple[tuple[int, ...], tuple[int, ...]]
    """Places on which new robots appear (spawn points)."""

    @cached_property
    def squares(self) -> tuple[Square, ...]:
        """All squares, by file, then rank."""
        return Square(0, 0).area((self.files, self.ranks))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all squares, such as `c4`, by place."""
        return tuple(map(str, self.squares))

    @cached_property
    def neighbours(self) -> tuple[tuple[int | None, ...], ...]:
        """Places to the north, east, south and west of each place.

        Index it by a place, then by an index in `DIRECTIONS`. A neighbour is None if it is off the
        board or a wall.
        """
        return tuple(
            tuple(self._places.get(square.shifted(*step)) for step in STEPS)
            for square in self.squares
        )

    @cached_property
    def around(self) -> tuple[tuple[int, ...], ...]:
        """Places around each place, diagonal ones included, without walls. Up to eight."""
        around = []
        for square in self.squares:
            # The block of nine squares with this one in the middle.
            block = square.shifted(-1, -1).area((3, 3))
            neighbours = [other for other in block if other != square and other in self._places]
            around.append(tuple([self._places[other] for other in neighbours]))
        return tuple(around)

    @cached_property
    def _places(self) -> dict[Square, int]:
        """Place of each square without a wall."""
        squares = enumerate(self.squares)
        return {square: place for place, square in squares if square not in self.walls}


@lru_cache(maxsize=64)
def parse_terrain(map_text: str) -> Terrain:
    """Parse a text map of the characters `s S n N # .`.

    Raises `Malformed` if the map is not valid or a side has no start. Starts and spawn points are
    ordered by file, then rank.
    """
    tiles = parse_map(map_text, "sSnN#.")
    for character, seat in zip("sn", SEATS, strict=True):
        if not tiles.squares_with(character):
            message = say(
                "The board has no start for {seat!c}: mark at least one square with “{tile}”",
                seat=seat,
                tile=character,
            )
            raise Malformed(message)

    def places(character: str) -> tuple[int, ...]:
        # Same numbering as `Terrain.squares`: by file, then rank.
        return tuple(
            square.file * tiles.ranks + square.rank for square in tiles.squares_with(character)
        )

    return Terrain(
        tiles.files,
        tiles.ranks,
        frozenset(tiles.squares_with("#")),
        (places("s"), places("n")),
        (places("S"), places("N")),
    )


@lru_cache(maxsize=64)
def build_kit(map_text: str) -> Kit:
    """Return the kit for a text map: sixteen robots with one face each, and the board."""
    terrain = parse_terrain(map_text)
    marks = [Mark(wall, "wall") for wall in sorted(terrain.walls)]
    for seat, drawing, spawns in zip(SEATS, ("spawn-s", "spawn-n"), terrain.spawns, strict=True):
        marks += [Mark(terrain.squares[place], drawing, seat) for place in spawns]
    board = Board(
        say("standard") if map_text == STANDARD_MAP else f"{terrain.files} x {terrain.ranks}",
        terrain.files,
        terrain.ranks,
        square_mm=30,
        gap_mm=0,
        corners=_CORNER_MARKERS,
        marks=tuple(marks),
        holes=terrain.walls,
        tones=2,
    )
    faces = tuple(
        Face(
            names[number],
            SIDES[seat].drawing,
            # The markers of a side are consecutive, in the order of its robots.
            (first + number - 1,),
            _ROBOT_HEIGHT_MM,
            seat,
            letter=str(number),
            sign=sign,
        )
        for seat, names, first, sign in zip(
            SEATS, ROBOT_NAMES, _FIRST_MARKERS, ("robot-s", "robot-n"), strict=True
        )
        for number in range(1, MAX_ROBOTS + 1)
    )
    return Kit(
        "arena",
        say("Robot Arena"),
        board,
        SIDES,
        faces,
        pieces=tuple((face.name,) for face in faces),
        tag_mm=17,
        notes=(
            say("Glue each tag onto a counter 6 mm high (two draughtsmen, a slice of cork)."),
            say(
                "Begin with the lowest numbers. Keep the other robots beside the board for the "
                "spawning turns."
            ),
        ),
    )


# ---- events --------------------------------------------------------------------------------------


# Weights as in `companion.games.events`: a lost robot weighs more than any hit.
_SPAWN_HIGHLIGHT = Highlight("spawn-s", lambda n: say_n("{n} new robot", "{n} new robots", n))
_LOSS_HIGHLIGHT = Highlight(
    "cross", lambda n: say_n("{n} robot lost", "{n} robots lost", n), 3, is_loss=True
)


class ArenaEvent(EventKind):
    """Events of single robots, and of spawn points on which none appears."""

    DEFEND = "defend", Look(around="shield", size=1.12)
    ARMED = "armed", Look(around="burst", size=1.24, is_harm=True)
    SPAWN = "spawn", Look(swells=True), None, _SPAWN_HIGHLIGHT
    NO_SPAWN = "no_spawn"
    # A robot without hit points leaves the board.
    LEAVE = "leave", Look(swells=True), None, _LOSS_HIGHLIGHT
