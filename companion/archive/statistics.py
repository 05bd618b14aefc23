"""Statistics for each player and each game, from finished games.

Players are identified by name, ignoring case. The last person at a seat counts as its player. A
game against oneself does not count. The machine is not a player, and games against its characters
are counted separately. A game in which a player asked the coach does not count for that player.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from companion.archive.played_games import NOBODY, Ending, GameLine
from companion.core.i18n import Verbatim, say
from companion.core.kit import Seat
from companion.games import GAMES
from companion.table.session import MACHINE


@dataclass
class ResultCount:
    """How often a player has played, won and drawn, in one game or against one character."""

    name: str
    """Title of the game, or name of the machine's character."""
    games: int = 0
    wins: int = 0
    ties: int = 0

    def add(self, line: GameLine, seat: Seat) -> None:
        """Add the result of one game."""
        self.games += 1
        self.wins += seat in line.winners
        self.ties += line.ending is Ending.TIE


@dataclass
class PlayerStatistics:
    """A player's results against people, and against each character of the machine."""

    name: str = ""
    total: ResultCount = field(default_factory=lambda: ResultCount(say("All games")))
    """Results against people in all games."""
    games: dict[str, ResultCount] = field(default_factory=dict)
    """Results against people by the title of the game."""
    characters: dict[str, ResultCount] = field(default_factory=dict)
    """Results against the machine by the name of its character."""

    @property
    def by_game(self) -> list[ResultCount]:
        """The results against people for each game, most games first."""
        return sorted(self.games.values(), key=lambda count: (-count.games, count.name))

    @property
    def by_character(self) -> list[ResultCount]:
        """The results against each of the machine's characters, by name."""
        return sorted(self.characters.values(), key=lambda count: count.name)

    def add(self, line: GameLine, seat: Seat) -> None:
        """Add the result of one game."""
        character = _machine_character(line, seat.other)
        if character:
            count = self.characters.setdefault(character, ResultCount(Verbatim(character)))
            count.add(line, seat)
            return
        self.total.add(line, seat)
        title = GAMES[line.game].title
        self.games.setdefault(title, ResultCount(title)).add(line, seat)


def compute_statistics(games: Iterable[GameLine]) -> tuple[PlayerStatistics, ...]:
    """Return the statistics of all players, most games first.

    `games` are finished games, oldest first. Abandoned ones do not count.
    """
    # by name without regard to case
    players: defaultdict[str, PlayerStatistics] = defaultdict(PlayerStatistics)
    for line in games:
        if line.ending is Ending.ABANDONED:
            continue
        for seat, name in _human_players(line):
            if seat not in line.coached:
                player = players[name.casefold()]
                # spelled as in the newest game
                player.name = Verbatim(name)
                player.add(line, seat)

    def rank_key(player: PlayerStatistics) -> tuple[int, str]:
        games = player.total.games + sum(count.games for count in player.by_character)
        return -games, player.name.casefold()

    return tuple(sorted(players.values(), key=rank_key))


def _machine_character(line: GameLine, seat: Seat) -> str:
    """Return the name of the character that played a seat. Empty if a person did."""
    last = line.last_players.get(seat)
    return last.name if last and last.door == MACHINE else ""


def _human_players(line: GameLine) -> Iterator[tuple[Seat, str]]:
    """Yield the seats and names of people who played against somebody else."""
    names = {
        seat: player.name for seat, player in line.last_players.items() if player.door != MACHINE
    }
    # a game against oneself does not count
    if len({name.casefold() for name in names.values()}) == len(names):
        for seat, name in names.items():
            if name and name != NOBODY:
                yield seat, name
