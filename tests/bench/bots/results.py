"""The games of the bench of opponents in a file, one JSON line a game, so that a run that was broken off goes on.

A game counts for the programs that played it alone: each line bears a digest of their sources.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import companion
from companion.core.kit import Seat

_BOTS = Path(companion.__file__).parent / "bots"
_RIVALS = Path(__file__).parent / "rivals"


@dataclass(frozen=True)
class Pairing:
    """A bot's level against a rival: another level, or a yardstick's name; `seat` None: both seats in turn.

    `bar` is what the lower bound of the share of wins has to reach, over so many games.
    """

    game: str
    level: int
    rival: int | str
    seat: Seat | None
    bar: float
    games: int
    most: float = 1.0
    """What the upper bound of the share of wins may be: a beginner is to win soon against the lowest level."""

    @property
    def name(self) -> str:
        """How it is chosen and filed: `kahmate 3 v 2`, `binmat 3 v greedy as south`."""
        return f"{self.game} {self.level} v {self.rival}" + (
            f" as {self.seat}" if self.seat else ""
        )


class Played(msgspec.Struct, frozen=True):
    """One game: 1 won, -1 lost, 0 tied by the bot; and what each of its decisions cost."""

    pairing: str
    sample: int
    number: int
    code: str
    won: int
    times_ms: list[int]
    nodes: list[int]


@dataclass
class Tally:
    """What came of games, and what the bot's decisions cost: milliseconds and nodes of each."""

    wins: int = 0
    losses: int = 0
    ties: int = 0
    times_ms: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)

    @property
    def games(self) -> int:
        """How many were played."""
        return self.wins + self.losses + self.ties

    def add(self, played: Played) -> None:
        """Count one more game."""
        self.wins += played.won > 0
        self.losses += played.won < 0
        self.ties += played.won == 0
        self.times_ms += played.times_ms
        self.nodes += played.nodes


def code_of(pairing: Pairing) -> str:
    """A digest of the programs that play: the game's opponent, and the yardsticks where one of them plays.

    >>> code_of(Pairing("scouts", 3, 2, None, 0.7, 1)) == code_of(Pairing("scouts", 2, 1, None, 0.7, 1))
    True
    """
    files = [*_BOTS.glob(f"{pairing.game}*.*"), *_BOTS.glob(f"{pairing.game}/*.py")]
    if isinstance(pairing.rival, str):
        files += [_RIVALS / f"{pairing.game}.py", _RIVALS / "chance.py"]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


class Results:
    """The games of a file (None: of this run alone); a context manager."""

    def __init__(self, file: Path | None) -> None:
        self._games = list(_games_in(file)) if file and file.exists() else []
        self._file = file.open("ab") if file else None
        if self._file and self._file.tell():
            self._file.write(b"\n")  # a last line that was broken off stays by itself

    def add(self, played: Played) -> None:
        """Keep a game, on the disk before this returns."""
        self._games.append(played)
        if self._file:
            self._file.write(msgspec.json.encode(played) + b"\n")
            self._file.flush()

    def of(self, pairing: Pairing, sample: int) -> dict[int, Played]:
        """The games of a pairing by number, as far as the same programs played them."""
        wanted = (pairing.name, sample, code_of(pairing))
        return {
            one.number: one for one in self._games if (one.pairing, one.sample, one.code) == wanted
        }

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()


def _games_in(file: Path) -> Iterator[Played]:
    """Every whole line; the last one may be torn."""
    decode = msgspec.json.Decoder(Played).decode
    for line in file.read_bytes().splitlines():
        try:
            yield decode(line)
        except msgspec.DecodeError:
            continue
