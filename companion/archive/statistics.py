"""Statistics for each player and each game, from finished games.

Players are identified by name, ignoring case. The last person at a seat counts as its player. A
game against oneself does not count. The machine is not a player, and games against its characters
are counted separately. A game in which a player asked the coach does not count for that player.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from companion.archive.played_games import NOBODY, Ending, GameLine, SeatedPlayer
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.table.session import MACHINE


@dataclass
class Tally:
    """A player's results in one game, or against one character of the machine."""

    name: str
    games: int = 0
    wins: int = 0
    ties: int = 0

    def add(self, line: GameLine, seat: Seat) -> None:
        """Add the result of one game."""
        self.games += 1
        self.wins += seat in line.winners
        self.ties += line.ending is Ending.TIE


@dataclass
class PlayerRecord:
    """A player's results against people, in total and for each game, and against the machine.

    `games` is by the title of the game, `characters` by the name of the machine's character.
    """

    name: str = ""
    total: Tally = field(default_factory=lambda: Tally(say("All games")))
    games: dict[str, Tally] = field(default_factory=dict)
    characters: dict[str, Tally] = field(default_factory=dict)

    @property
    def by_game(self) -> list[Tally]:
        """Return the results against people for each game, most games first."""
        return sorted(self.games.values(), key=lambda tally: (-tally.games, tally.name))

    @property
    def by_character(self) -> list[Tally]:
        """Return the results against each of the machine's characters, by name."""
        return sorted(self.characters.values(), key=lambda tally: tally.name)

    def add(self, line: GameLine, seat: Seat) -> None:
        """Add the result of one game."""
        character = _machine_character(line, seat.other)
        if character:
            self.characters.setdefault(character, Tally(Verbatim(character))).add(line, seat)
            return
        self.total.add(line, seat)
        title = GAMES[line.game].title
        self.games.setdefault(title, Tally(title)).add(line, seat)


def records_of(games: Iterable[GameLine]) -> tuple[PlayerRecord, ...]:
    """Return the records of all players, most games first.

    `games` are finished games, oldest first. Abandoned ones do not count.
    """
    players: defaultdict[str, PlayerRecord] = defaultdict(PlayerRecord)
    for line in games:
        if line.ending is Ending.ABANDONED:
            continue
        for seat, name in _human_players(line):
            if seat not in line.coached:
                player = players[name.casefold()]
                # spelled as in the newest game
                player.name = Verbatim(name)
                player.add(line, seat)

    def rank(record: PlayerRecord) -> tuple[int, str]:
        games = record.total.games + sum(tally.games for tally in record.by_character)
        return -games, record.name.casefold()

    return tuple(sorted(players.values(), key=rank))


def _last_player(line: GameLine, seat: Seat) -> SeatedPlayer | None:
    sitters = line.players.get(seat)
    return sitters[-1] if sitters else None


def _machine_character(line: GameLine, seat: Seat) -> str:
    """Return the name of the character that played a seat, or an empty string for a person."""
    last = _last_player(line, seat)
    return last.name if last and last.door == MACHINE else ""


def _human_players(line: GameLine) -> Iterator[tuple[Seat, str]]:
    """Yield the seats and names of people who played against somebody else."""
    names = {
        seat: player.name
        for seat in SEATS
        if (player := _last_player(line, seat)) and player.door != MACHINE
    }
    # a game against oneself does not count
    if len({name.casefold() for name in names.values()}) == len(names):
        for seat, name in names.items():
            if name and name != NOBODY:
                yield seat, name
