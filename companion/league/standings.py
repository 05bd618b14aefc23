"""Standings: points and tie-breaks.

Buchholz is the sum of the opponents' points. Sonneborn-Berger adds the points of beaten opponents
and half the points of opponents who drew. A round without a game counts as a game against an
opponent with the entrant's own points (FIDE C.07, 2023). The direct encounter counts if all
entrants that are still level have met.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace

from companion.league.tournament import (
    System,
    Tournament,
    board_halves,
    match_halves,
    opponent,
)

TIE_BREAKS: Mapping[System, tuple[str, ...]] = {
    System.SWISS: ("boards", "buchholz", "sonneborn"),
    System.ROUND_ROBIN: ("boards", "sonneborn"),
    System.KNOCKOUT: ("boards",),
}
"""Tie-breaks as fields of a row, most important first.

The direct encounter is always the last tie-break.
"""


@dataclass(frozen=True)
class TournamentRow:
    """One entrant's row of the standings.

    Points are in halves, and `sonneborn` is in quarters. `direct` counts the points against those
    entrants that are level with this one.
    """

    place: int
    entrant: int
    halves: int
    boards: int
    buchholz: int
    sonneborn: int
    direct: int

    @property
    def points(self) -> str:
        """Return the points as people write them."""
        return format_halves(self.halves)


def format_halves(halves: int) -> str:
    """Format points that are given in halves.

    >>> format_halves(5), format_halves(1), format_halves(4)
    ('2½', '½', '2')
    """
    whole, half = divmod(halves, 2)
    return f"{whole or ''}½" if half else str(whole)


def format_quarters(quarters: int) -> str:
    """Format points that are given in quarters.

    >>> format_quarters(9), format_quarters(6)
    ('2¼', '1½')
    """
    whole, rest = divmod(quarters, 4)
    return f"{whole or ''}{('', '¼', '½', '¾')[rest]}" if rest else str(whole)


def standings(tournament: Tournament, rounds: int | None = None) -> tuple[TournamentRow, ...]:
    """Return the standings after a number of rounds (None for all), best first.

    Entrants that are level in every tie-break share a place.
    """
    round_count = len(tournament.rounds) if rounds is None else rounds
    halves = {
        entrant.number: tournament.halves(entrant.number, round_count)
        for entrant in tournament.entrants
    }
    rows = [_row_of(tournament, entrant, halves, round_count) for entrant in halves]
    names = ("halves", *TIE_BREAKS[tournament.system], "direct")

    def key(row: TournamentRow) -> tuple[int, ...]:
        # negated, so that sorting puts the highest first
        return tuple(-getattr(row, name) for name in names)

    # the direct encounter only separates entrants that are level in everything else
    levels: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        levels.setdefault(key(row), []).append(row.entrant)
    direct: dict[int, int] = {}
    for level in levels.values():
        direct |= _direct_encounter(tournament, level, round_count)
    rows = [replace(row, direct=direct[row.entrant]) for row in rows]
    rows.sort(key=lambda row: (key(row), row.entrant))
    keys = [key(row) for row in rows]
    return tuple(replace(row, place=bisect_left(keys, key(row)) + 1) for row in rows)


def _row_of(
    tournament: Tournament, entrant: int, halves: dict[int, int], rounds: int
) -> TournamentRow:
    buchholz = sonneborn = boards = 0
    for round_ in tournament.rounds[:rounds]:
        match = round_.match_of(entrant)
        if not (match.is_decided if match else round_.is_decided):
            continue
        # a round without a game counts as one against an opponent with the same points
        other = halves[entrant]
        if match is not None and match.is_played:
            other = halves[opponent(match, entrant)]
        buchholz += other
        if match is not None:
            sonneborn += match_halves(tournament, match, entrant) * other
            if tournament.team_size > 1 and match.boards:
                boards += board_halves(tournament, match, entrant)
    return TournamentRow(0, entrant, halves[entrant], boards, buchholz, sonneborn, 0)


def _direct_encounter(tournament: Tournament, level: list[int], rounds: int) -> dict[int, int]:
    """Return the points of level entrants against each other. All zero unless all of them have
    met.
    """
    halves = dict.fromkeys(level, 0)
    for entrant in level:
        met = {entrant}
        for match in tournament.matches(entrant, rounds):
            other = opponent(match, entrant)
            if match.is_played and match.is_decided and other in level:
                met.add(other)
                halves[entrant] += match_halves(tournament, match, entrant)
        if met != set(level):
            return dict.fromkeys(level, 0)
    return halves
