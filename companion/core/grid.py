"""Squares and text maps, which are the basis of every board, and squares in notations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from companion.core.errors import Malformed
from companion.core.i18n import Verbatim, say

_SQUARE = re.compile(r"([a-z])([1-9][0-9]?)")
_FILE_A = ord("a")


class Square(NamedTuple):
    """One square, which may be off the board.

    As text it is a file letter and a rank from 1, such as `a1`. The fields count from 0.

    >>> str(Square.parse("c4")), Square.parse("c4")
    ('c4', Square(file=2, rank=3))
    """

    file: int
    """Index of its column, counted from South's left."""
    rank: int
    """Index of its row, counted away from South."""

    def __str__(self) -> str:
        return f"{chr(_FILE_A + self.file)}{self.rank + 1}"

    @classmethod
    def parse(cls, text: str) -> Square:
        """Return the square of a text such as `c4`. Raises `Malformed` for anything else."""
        match = _SQUARE.fullmatch(text)
        if not match:
            raise Malformed(
                say(
                    "“{text}” is not a square: expected a file letter and a rank, such as c4",
                    text=Verbatim(text),
                )
            )
        return cls(ord(match[1]) - _FILE_A, int(match[2]) - 1)

    def area(self, size: tuple[int, int]) -> tuple[Square, ...]:
        """Return a block of squares with this one as its lower left, by file, then rank.

        `size` is the number of files and of ranks.
        """
        files, ranks = size
        return tuple(self.shifted(file, rank) for file in range(files) for rank in range(ranks))

    def shifted(self, files: int, ranks: int) -> Square:
        """Return the square that is some files and ranks away. It may be off the board."""
        return Square(self.file + files, self.rank + ranks)


@dataclass(frozen=True)
class TextMap:
    """A board that was drawn in characters: its size, and the character of each square."""

    files: int
    ranks: int
    tiles: Mapping[Square, str]

    def __iter__(self) -> Iterator[tuple[Square, str]]:
        """Yield all squares with their character, by file, then rank.

        >>> [(str(square), tile) for square, tile in parse_map(".#", ".#")]
        [('a1', '.'), ('b1', '#')]
        """
        return iter(sorted(self.tiles.items()))

    def squares_with(self, character: str) -> tuple[Square, ...]:
        """Return the squares with this character, by file, then rank."""
        return tuple(square for square, tile in self if tile == character)


def parse_map(text: str, allowed: str, max_files: int = 12, max_ranks: int = 12) -> TextMap:
    """Parse a text map: one line of characters for each rank, the highest rank first.

    Raises `Malformed` for an empty or too large map, for lines of different lengths, and for a
    character that is not in `allowed`. The default maximum, 12 x 12, is chosen by eye: a larger
    board takes more paper and has smaller markers in the picture.

    >>> parse_map("..\\n.#", ".#").tiles[Square(1, 0)]
    '#'
    """
    rows = [line.strip() for line in text.strip().splitlines()]
    if not rows or not rows[0]:
        raise Malformed(
            say(
                "The board is empty: write one line of tiles for every rank, the highest rank first"
            )
        )
    if len(rows) > max_ranks or len(rows[0]) > max_files:
        raise Malformed(
            say(
                "The board is {files} x {ranks}: at most {max_files} x {max_ranks} fit",
                files=len(rows[0]),
                ranks=len(rows),
                max_files=max_files,
                max_ranks=max_ranks,
            )
        )
    tiles = {}
    for line, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise Malformed(
                say(
                    "Line {line} of the board has {tiles} tiles, the first has {first}",
                    line=line + 1,
                    tiles=len(row),
                    first=len(rows[0]),
                )
            )
        for file, tile in enumerate(row):
            if tile not in allowed:
                raise Malformed(
                    say(
                        "“{tile}” in line {line} of the board is unknown: use only {tiles}",
                        tile=Verbatim(tile),
                        line=line + 1,
                        tiles=" ".join(allowed),
                    )
                )
            # The first line is the highest rank.
            tiles[Square(file, len(rows) - 1 - line)] = tile
    return TextMap(len(rows[0]), len(rows), tiles)


def parse_square_groups(text: str, files: int, ranks: int) -> tuple[tuple[Square, ...], ...]:
    """Parse groups of squares separated by slashes, such as `c4 e4 / c6 e6`.

    `files` and `ranks` are the size of the board. Raises `Malformed` for a word that is not a
    square, and for a square that is off the board or named twice.

    >>> [len(group) for group in parse_square_groups("c4 e4 / c6", 8, 8)]
    [2, 1]
    """
    groups = tuple(tuple(map(Square.parse, group.split())) for group in text.split("/"))
    named: set[Square] = set()
    for group in groups:
        for square in group:
            is_on_board = 0 <= square.file < files and 0 <= square.rank < ranks
            if square in named or not is_on_board:
                raise Malformed(say("{square} is off the board, or named twice", square=square))
            named.add(square)
    return groups


def parse_square_numbers(text: str, numbers: Mapping[str, int], ranks: int) -> tuple[int, ...]:
    """Return the numbers of all squares that a text names, in the order of the text.

    It is for games that number their squares instead of using `Square`. `numbers` has the number of
    each square by its name. The board has the files a to h and ranks up to `ranks`. Raises
    `Malformed` for a square that is not on the board.

    >>> parse_square_numbers("R@b1-a2", {"a1": 0, "b1": 1, "a2": 8}, 2)
    (1, 8)
    """
    squares = []
    for name in re.findall("[a-z][0-9]+", text):
        if name not in numbers:
            raise Malformed(
                say(
                    "{square} is not on the board: files are a to h, ranks 1 to {ranks}",
                    square=Verbatim(name),
                    ranks=ranks,
                )
            )
        squares.append(numbers[name])
    return tuple(squares)
