"""Standings: points and tie-breaks.

Buchholz is the sum of the opponents' points. Sonneborn-Berger adds the points of beaten opponents
and half the points of opponents who drew. A round without a game counts as a game against an
opponent with the entrant's own points (FIDE C.07, 2023).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace

from companion.league.tournament import (
    System,
    Tournament,
    match_halves,
    opponent,
)

TIE_BREAKS: Mapping[System, tuple[str, ...]] = {
    System.SWISS: ("buchholz", "sonneborn"),
    System.ROUND_ROBIN: ("sonneborn",),
    System.KNOCKOUT: (),
}
"""Tie-breaks as fields of a row, most important first."""


@dataclass(frozen=True)
class TournamentRow:
    """One entrant's row of the standings.

    Points are in halves, and `sonneborn` is in quarters.
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
    names = ("halves", *TIE_BREAKS[tournament.system])

    def key(row: TournamentRow) -> tuple[int, ...]:
        # negated, so that sorting puts the highest first
        return tuple(-getattr(row, name) for name in names)

    rows.sort(key=lambda row: (key(row), row.entrant))
    keys = [key(row) for row in rows]
    return tuple(replace(row, place=bisect_left(keys, key(row)) + 1) for row in rows)


def _row_of(
    tournament: Tournament, entrant: int, halves: dict[int, int], rounds: int
) -> TournamentRow:
    buchholz = sonneborn = 0
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
    return TournamentRow(0, entrant, halves[entrant], buchholz, sonneborn)
