"""Statistics per player and game, from the games that are over.

Players are told apart by name, whatever its capitals.

Who sat at a seat last has played the game. Who played against himself has not. A game from
elsewhere counts as well, but nobody knows how long its turns took. The machine is no player: games
against its characters are counted apart. A game in which a player asked the coach does not count
for that player.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median

import msgspec

from companion.archive.played_games import (
    NOBODY,
    Ending,
    GameLine,
    MachineRecord,
    PlayerRecord,
    SeatedPlayer,
    Tendency,
)
from companion.archive.summary import Summary
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import MACHINE

MAX_COMMANDS = 3
ENOUGH_GAMES = 5
"""Number of games from which on their own length tells how long the next one takes."""


@dataclass
class _Tally:
    games: int = 0
    wins: int = 0
    ties: int = 0
    times_s: list[float] = field(default_factory=list)
    commands: Counter[str] = field(default_factory=Counter)

    def add(self, line: GameLine, seat: Seat, summary: Summary) -> None:
        self.games += 1
        self.wins += seat in line.winners
        self.ties += line.ending is Ending.TIE
        self.times_s += summary.times.get(seat, ())
        self.commands.update(summary.commands.get(seat, {}))

    def tendency(self, game: str, title: str) -> Tendency:
        median_s = median(self.times_s) if self.times_s else None
        commands = tuple(self.commands.most_common(MAX_COMMANDS))
        return Tendency(game, title, self.games, self.wins, self.ties, median_s, commands)


@dataclass
class _Player:
    """What is counted of a player: by game against people, by character against the machine, and
    all against people.
    """

    name: str = ""
    total: _Tally = field(default_factory=_Tally)
    by_game: dict[str, _Tally] = field(default_factory=dict)
    against: dict[str, _Tally] = field(default_factory=dict)

    def add(self, line: GameLine, seat: Seat, summary: Summary) -> None:
        machine = _machine(line, seat.other)
        tallies, key = (self.against, machine) if machine else (self.by_game, line.game)
        tallies.setdefault(key, _Tally()).add(line, seat, summary)
        if not machine:
            # the commands of different games say nothing together
            self.total.add(line, seat, msgspec.structs.replace(summary, commands={}))

    def record(self) -> PlayerRecord:
        games = [tally.tendency(game, GAMES[game].title) for game, tally in self.by_game.items()]
        games.sort(key=lambda tendency: (-tendency.games, tendency.game))
        machines = [
            MachineRecord(Verbatim(machine), tally.games, tally.wins, tally.ties)
            for machine, tally in sorted(self.against.items())
        ]
        total = self.total.tendency("", say("All games"))
        return PlayerRecord(Verbatim(self.name), total, tuple(games), tuple(machines))


def records_of(games: Iterable[tuple[GameLine, Summary]]) -> tuple[PlayerRecord, ...]:
    """Return what each player did, who played most first.

    `games` are over, the oldest first. Abandoned ones do not count.
    """
    players: defaultdict[str, _Player] = defaultdict(_Player)
    for line, summary in games:
        if line.ending is Ending.ABANDONED:
            continue
        for seat, name in _people(line):
            if seat not in line.coached:
                player = players[name.casefold()]
                # as it is spelled in the newest game
                player.name = name
                player.add(line, seat, summary)

    def rank(record: PlayerRecord) -> tuple[int, str]:
        games = record.total.games + sum(machine.games for machine in record.against)
        return -games, record.name.casefold()

    return tuple(sorted((player.record() for player in players.values()), key=rank))


def typical_minutes(games: Iterable[tuple[GameLine, Summary]]) -> dict[str, int]:
    """Return how many minutes a game takes here, by the median, where enough were played to their
    end.
    """
    lengths_s: defaultdict[str, list[float]] = defaultdict(list)
    for line, summary in games:
        if line.ending is not Ending.ABANDONED and summary.length_s:
            lengths_s[line.game].append(summary.length_s)
    return {
        game: max(1, round(median(lengths) / 60))
        for game, lengths in lengths_s.items()
        if len(lengths) >= ENOUGH_GAMES
    }


def _last(line: GameLine, seat: Seat) -> SeatedPlayer | None:
    sitters = line.players.get(seat)
    return sitters[-1] if sitters else None


def _machine(line: GameLine, seat: Seat) -> str:
    """Return the name of the character that played a seat. Empty: a person did."""
    last = _last(line, seat)
    return last.name if last and last.door == MACHINE else ""


def _people(line: GameLine) -> Iterator[tuple[Seat, str]]:
    """Yield the people with names who played against somebody else."""
    names = {
        seat: player.name
        for seat in SEATS
        if (player := _last(line, seat)) and player.door != MACHINE
    }
    # whoever has played against himself has beaten nobody
    if len({name.casefold() for name in names.values()}) == len(names):
        for seat, name in names.items():
            if name and name != NOBODY:
                yield seat, name
