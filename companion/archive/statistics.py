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

from companion.archive.played_games import NOBODY, Ending, GameLine, SeatedPlayer
from companion.archive.summary import Summary
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import MACHINE

MAX_COMMANDS = 3
ENOUGH_GAMES = 5
"""Number of games from which on their own length tells how long the next one takes."""


@dataclass
class Tally:
    """What a player did in the games of one name: a game's title, or a character of the machine."""

    name: str
    games: int = 0
    wins: int = 0
    ties: int = 0
    times_s: list[float] = field(default_factory=list)
    """Seconds of each turn whose time is known."""
    counts: Counter[str] = field(default_factory=Counter)
    """How often each command was given."""

    def add(self, line: GameLine, seat: Seat, summary: Summary) -> None:
        """Count one more game."""
        self.games += 1
        self.wins += seat in line.winners
        self.ties += line.ending is Ending.TIE
        self.times_s += summary.times.get(seat, ())
        self.counts.update(summary.commands.get(seat, {}))

    @property
    def median_s(self) -> float | None:
        """Return how long a turn took. None: not known."""
        return median(self.times_s) if self.times_s else None

    @property
    def commands(self) -> list[tuple[str, int]]:
        """Return the favourite commands with how often each was given, most first."""
        return self.counts.most_common(MAX_COMMANDS)


@dataclass
class PlayerRecord:
    """A player, told apart by name, with what they did against people in all games and in each."""

    name: str = ""
    total: Tally = field(default_factory=lambda: Tally(say("All games")))
    titles: dict[str, Tally] = field(default_factory=dict)
    machines: dict[str, Tally] = field(default_factory=dict)

    @property
    def by_game(self) -> list[Tally]:
        """Return the games against people, those played most first."""
        return sorted(self.titles.values(), key=lambda tally: (-tally.games, tally.name))

    @property
    def against(self) -> list[Tally]:
        """Return the games against each of the machine's characters."""
        return sorted(self.machines.values(), key=lambda tally: tally.name)

    def add(self, line: GameLine, seat: Seat, summary: Summary) -> None:
        """Count one more game."""
        machine = _machine(line, seat.other)
        if machine:
            self.machines.setdefault(machine, Tally(Verbatim(machine))).add(line, seat, summary)
            return
        self.total.add(line, seat, summary)
        title = GAMES[line.game].title
        self.titles.setdefault(title, Tally(title)).add(line, seat, summary)


def records_of(games: Iterable[tuple[GameLine, Summary]]) -> tuple[PlayerRecord, ...]:
    """Return what each player did, who played most first.

    `games` are over, the oldest first. Abandoned ones do not count.
    """
    players: defaultdict[str, PlayerRecord] = defaultdict(PlayerRecord)
    for line, summary in games:
        if line.ending is Ending.ABANDONED:
            continue
        for seat, name in _people(line):
            if seat not in line.coached:
                player = players[name.casefold()]
                # as it is spelled in the newest game
                player.name = Verbatim(name)
                player.add(line, seat, summary)

    def rank(record: PlayerRecord) -> tuple[int, str]:
        games = record.total.games + sum(tally.games for tally in record.against)
        return -games, record.name.casefold()

    return tuple(sorted(players.values(), key=rank))


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
