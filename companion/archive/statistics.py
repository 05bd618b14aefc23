"""Statistics per player and game, from the games that are over. Players are told apart by name, whatever its capitals.

Who sat at a seat last has played the game; who played against himself has not. A game from elsewhere counts as well,
but nobody knows how long its turns took. The machine is no player: games against its characters are counted apart, and
what a person gets against each is told as a share of the points with Wilson's interval, because few games say little,
and as Elo ratings compared with the character's. A
game in which a player asked the coach does not count for that player.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log10, sqrt
from statistics import median

from companion.archive.played_games import (
    NOBODY,
    Ending,
    GameLine,
    MachineRecord,
    Mismatch,
    PlayerRecord,
    SeatedPlayer,
    Tendency,
)
from companion.archive.summary import Summary
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import MACHINE

MOST_COMMANDS = 3
MOST_RATED = 800
"""A rating is told up to so much above or below that of the character: beyond it hardly a game in a hundred is lost."""
_Z = 1.959964
"""The normal quantile of a 95 % interval."""


def wilson_interval(points: float, games: int) -> tuple[float, float]:
    """Wilson's interval at 95 % for a share of points; a tie is half a point (Wilson, 1927).

    >>> [round(end, 3) for end in (*wilson_interval(500, 500), *wilson_interval(330, 400), *wilson_interval(0, 0))]
    [0.992, 1.0, 0.785, 0.859, 0.0, 1.0]
    """
    if not games:
        return 0.0, 1.0
    share, square = points / games, _Z * _Z
    middle = share + square / (2 * games)
    spread = _Z * sqrt(share * (1 - share) / games + square / (4 * games * games))
    return max(0.0, (middle - spread) / (1 + square / games)), min(1.0, (middle + spread) / (1 + square / games))


def rating_difference(share: float) -> int:
    """How much higher an Elo rating is that expects this share of the points; at most `MOST_RATED` either way.

    The logistic form that chess federations use (Elo, The Rating of Chessplayers, Past and Present, 1978, 8.4).

    >>> rating_difference(0.5), rating_difference(0.64), rating_difference(10 / 11), rating_difference(0.0)
    (0, 100, 400, -800)
    """
    least = 1 / (1 + 10 ** (MOST_RATED / 400))
    share = min(1 - least, max(least, share))
    return round(400 * log10(share / (1 - share)))


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
    """What each player did, who played most first; `games` are over, the oldest first. Abandoned ones do not count."""
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


def mismatches_of(games: Iterable[GameLine]) -> tuple[Mismatch, ...]:
    """The pairs of people of whom one has, by Wilson's interval, more than half of the points against the other.

    Games ended early and games in which one of them asked the coach do not count.
    """
    names: dict[str, str] = {}
    counts: dict[tuple[str, str], Counter[str]] = {}
    for line in games:
        players = dict(_players(line))
        if line.ending is Ending.ABANDONED or len(players) < len(SEATS) or line.coached:
            continue
        names |= {name.casefold(): name for name in players.values()}
        first, second = sorted(name.casefold() for name in players.values())
        count = counts.setdefault((first, second), Counter())
        count["games"] += 1
        count.update(players[seat].casefold() for seat in line.winners if len(line.winners) == 1)
    found = []
    for pair, count in counts.items():
        stronger, weaker = sorted(pair, key=lambda name: -count[name])
        ties = count["games"] - count[stronger] - count[weaker]
        low, _ = wilson_interval(count[stronger] + ties / 2, count["games"])
        if low > 1 / 2:
            found.append(Mismatch(Verbatim(names[stronger]), Verbatim(names[weaker]), count["games"], count[stronger]))
    return tuple(found)


def handicap_for(mismatches: Iterable[Mismatch], names: Mapping[Seat, str]) -> tuple[Seat, Mismatch] | None:
    """The weaker one's seat where two people of an uneven pair sit opposite each other, by name; None: they do not."""
    sitting = {seat: name.casefold() for seat, name in names.items()}
    pairs = {(pair.weaker.casefold(), pair.stronger.casefold()): pair for pair in mismatches}
    for seat in SEATS:
        if pair := pairs.get((sitting.get(seat, ""), sitting.get(seat.other, ""))):
            return seat, pair
    return None


def _all_games(record: PlayerRecord) -> int:
    return record.total.games + sum(machine.games for machine in record.against)


def _last(line: GameLine, seat: Seat) -> SeatedPlayer | None:
    sitters = line.players.get(seat)
    return sitters[-1] if sitters else None


def _machine(line: GameLine, seat: Seat) -> str:
    """The name of the character that played a seat; empty: a person did."""
    last = _last(line, seat)
    return last.name if last and last.door == MACHINE else ""


def _players(line: GameLine) -> Iterator[tuple[Seat, str]]:
    """The people with names who played against somebody else."""
    last = {seat: one for seat in SEATS if (one := _last(line, seat))}
    people = {seat: one.name for seat, one in last.items() if one.door != MACHINE}
    if len({name.casefold() for name in people.values()}) < len(people):
        return
    yield from ((seat, name) for seat, name in people.items() if name and name != NOBODY)


def _record(name: str, by_game: Mapping[str, _Sum], against: Mapping[str, _Sum]) -> PlayerRecord:
    whole = _Sum()
    for one in by_game.values():
        whole.games, whole.wins, whole.ties = whole.games + one.games, whole.wins + one.wins, whole.ties + one.ties
        whole.times += one.times
    games = [_tendency(game, GAMES[game].title, one) for game, one in by_game.items()]
    return PlayerRecord(
        Verbatim(name),
        _tendency("", say("All games"), whole),
        tuple(sorted(games, key=lambda tendency: (-tendency.games, tendency.game))),
        tuple(_against(rival, one) for rival, one in sorted(against.items())),
    )


def _against(rival: str, one: _Sum) -> MachineRecord:
    low, high = wilson_interval(one.wins + one.ties / 2, one.games)
    rating = (rating_difference(low), rating_difference(high))
    return MachineRecord(Verbatim(rival), one.games, one.wins, one.ties, low, high, rating)


def _tendency(game: str, title: str, one: _Sum) -> Tendency:
    return Tendency(
        game=game,
        title=title,
        games=one.games,
        wins=one.wins,
        ties=one.ties,
        median_s=median(one.times) if one.times else None,
        commands=tuple(one.commands.most_common(MOST_COMMANDS)),
    )
