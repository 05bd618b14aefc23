"""Standings of a tournament: entrants by points, then by tie-breaks."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

from companion.league.tie_breaks import TIE_BREAKS, tie_breaks
from companion.league.tournament import Tournament


@dataclass(frozen=True)
class TournamentRow:
    """One entrant's row of the standings.

    `halves` are the points in halves. `buchholz` is in halves as well, `sonneborn` in quarters (see
    `companion.league.tie_breaks`).
    """

    place: int
    entrant: int
    halves: int
    buchholz: int
    sonneborn: int

    @property
    def points(self) -> str:
        """Return the points as people write them."""
        return format_halves(self.halves)


def standings(tournament: Tournament, rounds: int | None = None) -> tuple[TournamentRow, ...]:
    """Return the standings after a number of rounds (None for all), best first.

    Entrants that are level in points and in every tie-break share a place.
    """
    round_count = len(tournament.rounds) if rounds is None else rounds
    halves = {
        entrant.number: tournament.halves(entrant.number, round_count)
        for entrant in tournament.entrants
    }
    rows = [
        TournamentRow(0, entrant, points, *tie_breaks(tournament, entrant, halves, round_count))
        for entrant, points in halves.items()
    ]
    criteria = ("halves", *TIE_BREAKS[tournament.system])

    def rank_key(row: TournamentRow) -> tuple[int, ...]:
        # negated, so that sorting puts the highest first
        return tuple(-getattr(row, name) for name in criteria)

    rows.sort(key=lambda row: (rank_key(row), row.entrant))
    keys = [rank_key(row) for row in rows]
    # equal keys share the place of the first one
    return tuple(replace(row, place=bisect_left(keys, rank_key(row)) + 1) for row in rows)


def format_halves(halves: int) -> str:
    """Format points that are given in halves.

    >>> format_halves(5), format_halves(1), format_halves(4)
    ('2½', '½', '2')
    """
    return format_quarters(2 * halves)


def format_quarters(quarters: int) -> str:
    """Format points that are given in quarters.

    >>> format_quarters(9), format_quarters(6)
    ('2¼', '1½')
    """
    whole, rest = divmod(quarters, 4)
    return f"{whole or ''}{('', '¼', '½', '¾')[rest]}" if rest else str(whole)
