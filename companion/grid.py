"""Squares, directions and text maps: the ground every board stands on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from companion.errors import Malformed

_SQUARE = re.compile(r"([a-z])([1-9][0-9]?)")


class Square(NamedTuple):
    """One square. `file` counts from South's left, `rank` away from South, both from 0; written `a1`.

    >>> str(Square.parse("c4")), Square.parse("c4")
    ('c4', Square(file=2, rank=3))
    """

    file: int
    rank: int

    def __str__(self) -> str:
        return f"{chr(97 + self.file)}{self.rank + 1}"

    @classmethod
    def parse(cls, text: str) -> Square:
        """The square of a text such as `c4`; raises `Malformed` for anything else."""
        match = _SQUARE.fullmatch(text)
        if not match:
            raise Malformed(f"“{text}” is not a square: expected a file letter and a rank, such as c4")
        return cls(ord(match[1]) - 97, int(match[2]) - 1)

    def shifted(self, files: int, ranks: int) -> Square:
        """The square so many files and ranks further; may lie off the board."""
        return Square(self.file + files, self.rank + ranks)


class TextMap(NamedTuple):
    """A board drawn in characters: one line a rank, the highest rank first."""

    files: int
    ranks: int
    tiles: dict[Square, str]

    def __iter__(self) -> Iterator[tuple[Square, str]]:  # type: ignore[override]
        """All squares by file, then rank, with their character."""
        for file in range(self.files):
            for rank in range(self.ranks):
                yield Square(file, rank), self.tiles[Square(file, rank)]

    def squares_of(self, character: str) -> tuple[Square, ...]:
        """The squares that show this character, by file, then rank."""
        return tuple(square for square, tile in self if tile == character)


def parse_map(text: str, allowed: str, max_files: int = 12, max_ranks: int = 12) -> TextMap:
    """Read a text map; every character must be one of `allowed`, all lines equally long.

    >>> parse_map("..\\n.#", ".#").tiles[Square(1, 0)]
    '#'
    """
    rows = [line.strip() for line in text.strip().splitlines()]
    if not rows or not rows[0]:
        raise Malformed("The board is empty: write one line of tiles for every rank, the highest rank first")
    if len(rows) > max_ranks or len(rows[0]) > max_files:
        raise Malformed(f"The board is {len(rows[0])} x {len(rows)}: at most {max_files} x {max_ranks} fit")
    tiles = {}
    for line, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise Malformed(f"Line {line + 1} of the board has {len(row)} tiles, the first has {len(rows[0])}")
        for file, tile in enumerate(row):
            if tile not in allowed:
                raise Malformed(f"“{tile}” in line {line + 1} of the board is unknown: use only {' '.join(allowed)}")
            tiles[Square(file, len(rows) - 1 - line)] = tile
    return TextMap(len(rows[0]), len(rows), tiles)
