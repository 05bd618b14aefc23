"""Statistics per player and game, from the games that are over.

Players are told apart by name, whatever its capitals.

Who sat at a seat last has played the game. Who played against himself has not. A game from elsewhere counts as well,
but nobody knows how long its turns took. The machine is no player: games against its characters are counted apart. A
game in which a player asked the coach does not count for that player.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

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
"""From so many games on their own length tells how long the next one takes."""


@dataclass
class _Sum:
    games: int = 0
    wins: int = 0
    ties: int = 0
    times: list[float] = field(default_factory=list)
    commands: Counter[str] = field(default_factory=Counter)

    def add(self, line: GameLine, seat: Seat, summary: Summary) -> None:
        self.games += 1
        self.wins += seat in line.winners
        self.ties += line.ending is Ending.TIE
        self.times += summary.times.get(seat, ())
        self.commands.update(summary.commands.get(seat, {}))


def records_of(games: Iterable[tuple[GameLine, Summary]]) -> tuple[PlayerRecord, ...]:
    """Return what each player did, who played most first.

    `games` are over, the oldest first. Abandoned ones do not count.
    """
    names: dict[str, str] = {}
    sums: dict[str, dict[str, _Sum]] = {}
    against: dict[str, dict[str, _Sum]] = {}
    for line, summary in games:
        if line.ending is Ending.ABANDONED:
            continue
        for seat, name in _players(line):
            if seat in line.coached:
                continue
            key, rival = name.casefold(), _machine(line, seat.other)
            names[key] = name
            sums.setdefault(key, {})
            counted = against.setdefault(key, {}) if rival else sums[key]
            counted.setdefault(rival or line.game, _Sum()).add(line, seat, summary)
    records = [_record(names[key], by_game, against.get(key, {})) for key, by_game in sums.items()]
    return tuple(sorted(records, key=lambda record: (-_all_games(record), record.name.casefold())))


def typical_minutes(games: Iterable[tuple[GameLine, Summary]]) -> dict[str, int]:
    """Return how many minutes a game takes here, by the median, where enough were played to their end."""
    lengths: defaultdict[str, list[float]] = defaultdict(list)
    for line, summary in games:
        if line.ending is not Ending.ABANDONED and summary.length_s:
            lengths[line.game].append(summary.length_s)
    return {
        game: max(1, round(median(minutes) / 60))
        for game, minutes in lengths.items()
        if len(minutes) >= ENOUGH_GAMES
    }


def _all_games(record: PlayerRecord) -> int:
    return record.total.games + sum(machine.games for machine in record.against)


def _last(line: GameLine, seat: Seat) -> SeatedPlayer | None:
    sitters = line.players.get(seat)
    return sitters[-1] if sitters else None


def _machine(line: GameLine, seat: Seat) -> str:
    """Return the name of the character that played a seat. Empty: a person did."""
    last = _last(line, seat)
    return last.name if last and last.door == MACHINE else ""


def _players(line: GameLine) -> Iterator[tuple[Seat, str]]:
    """Yield the people with names who played against somebody else."""
    last = {seat: one for seat in SEATS if (one := _last(line, seat))}
    people = {seat: one.name for seat, one in last.items() if one.door != MACHINE}
    if len({name.casefold() for name in people.values()}) < len(people):
        return
    yield from ((seat, name) for seat, name in people.items() if name and name != NOBODY)


def _record(name: str, by_game: Mapping[str, _Sum], against: Mapping[str, _Sum]) -> PlayerRecord:
    whole = _Sum()
    for one in by_game.values():
        whole.games, whole.wins, whole.ties = (
            whole.games + one.games,
            whole.wins + one.wins,
            whole.ties + one.ties,
        )
        whole.times += one.times
    games = [_tendency(game, GAMES[game].title, one) for game, one in by_game.items()]
    return PlayerRecord(
        Verbatim(name),
        _tendency("", say("All games"), whole),
        tuple(sorted(games, key=lambda tendency: (-tendency.games, tendency.game))),
        tuple(_against(rival, one) for rival, one in sorted(against.items())),
    )


def _against(rival: str, one: _Sum) -> MachineRecord:
    return MachineRecord(Verbatim(rival), one.games, one.wins, one.ties)


def _tendency(game: str, title: str, one: _Sum) -> Tendency:
    return Tendency(
        game=game,
        title=title,
        games=one.games,
        wins=one.wins,
        ties=one.ties,
        median_s=median(one.times) if one.times else None,
        commands=tuple(one.commands.most_common(MAX_COMMANDS)),
    )
