"""Who stands where: points, and what parts those who have as many.

Buchholz is the sum of the opponents' points. Sonneborn-Berger counts those of whom was beaten wholly, and half of those
of a draw. A round without a game counts as one against somebody with as many points as oneself (FIDE C.07, 2023). The
direct encounter counts where all who are level so far have met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby

from companion.league.tournament import (
    System,
    Tournament,
    board_halves,
    match_halves,
    opponent,
)


@dataclass(frozen=True)
class TournamentRow:
    """An entrant's place.

    Everything is counted in halves, `sonneborn` in quarters. `direct` is that among equals.
    """

    place: int
    entrant: int
    halves: int
    boards: int
    # sum of the opponents' points
    buchholz: int
    sonneborn: int
    direct: int

    @property
    def points(self) -> str:
        """Return the points as people write them."""
        return half_words(self.halves)


def half_words(halves: int) -> str:
    """Return points in halves, as people write them.

    >>> half_words(5), half_words(1), half_words(4)
    ('2½', '½', '2')
    """
    whole, half = divmod(halves, 2)
    return f"{whole or ''}½" if half else str(whole)


def quarter_words(quarters: int) -> str:
    """Return points in quarters.

    >>> quarter_words(9), quarter_words(6)
    ('2¼', '1½')
    """
    whole, rest = divmod(quarters, 4)
    return f"{whole or ''}{('', '¼', '½', '¾')[rest]}" if rest else str(whole)


def standings(tournament: Tournament, rounds: int | None = None) -> tuple[TournamentRow, ...]:
    """Return everybody after so many rounds (None: all), the first first.

    Who is level in all has the same place.
    """
    counted = len(tournament.rounds) if rounds is None else rounds
    halves = {each.number: tournament.halves(each.number, counted) for each in tournament.entrants}
    unsorted = [_standing(tournament, each.number, halves, counted) for each in tournament.entrants]
    key = _key(tournament)
    unsorted.sort(key=lambda each: (key(each), each.entrant))
    placed: list[TournamentRow] = []
    for _, level in groupby(unsorted, key):
        group = list(level)
        direct = _direct(tournament, [each.entrant for each in group], counted)
        group = sorted(
            (replace(each, direct=direct[each.entrant]) for each in group),
            key=lambda e: (-e.direct, e.entrant),
        )
        for each in group:
            same = placed and key(placed[-1]) == key(each) and placed[-1].direct == each.direct
            placed.append(replace(each, place=placed[-1].place if same else len(placed) + 1))
    return tuple(placed)


def _key(tournament: Tournament) -> Callable[[TournamentRow], tuple[int, ...]]:
    """Return by what places are given before the direct encounter."""
    if tournament.system is System.KNOCKOUT:
        return lambda each: (-each.halves, -each.boards)
    if tournament.system is System.ROUND_ROBIN:
        return lambda each: (-each.halves, -each.boards, -each.sonneborn)
    return lambda each: (-each.halves, -each.boards, -each.buchholz, -each.sonneborn)


def _standing(
    tournament: Tournament, entrant: int, halves: dict[int, int], rounds: int
) -> TournamentRow:
    buchholz = sonneborn = boards = 0
    for round_ in tournament.rounds[:rounds]:
        match = next(
            (match for match in round_.matches if entrant in (match.south, match.north)), None
        )
        if not (match.is_decided if match else round_.is_decided):
            continue
        is_played = match is not None and match.is_played
        other = (
            halves[opponent(match, entrant)] if match is not None and is_played else halves[entrant]
        )
        buchholz += other
        if match is not None:
            sonneborn += match_halves(tournament, match, entrant) * other
            boards += (
                board_halves(tournament, match, entrant)
                if tournament.team_size > 1 and match.boards
                else 0
            )
    return TournamentRow(0, entrant, halves[entrant], boards, buchholz, sonneborn, 0)


def _direct(tournament: Tournament, level: list[int], rounds: int) -> dict[int, int]:
    """Return what those who are level have won against one another, where all of them have met.

    Else nothing.
    """
    among = {
        each: [
            match
            for match in tournament.matches(each, rounds)
            if match.is_played and match.is_decided and opponent(match, each) in level
        ]
        for each in level
    }
    if any(
        {opponent(match, each) for match in among[each]} != set(level) - {each} for each in level
    ):
        return dict.fromkeys(level, 0)
    return {
        each: sum(match_halves(tournament, match, each) for match in among[each]) for each in level
    }
