"""Standings of a tournament: entrants by points, then by tie-breaks.

Buchholz is the sum of the opponents' points. Sonneborn-Berger adds the points of beaten opponents
and half the points of opponents who drew. A round without a game counts as a game against an
opponent with the entrant's own points (FIDE C.07, 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from companion.league.tournament import System, Tournament, match_halves, opponent


@dataclass(frozen=True)
class TournamentRow:
    """One row of the standings: an entrant by number, with the points and tie-breaks."""

    place: int
    """Place from 1 on, shared by entrants that are level in everything that counts."""
    entrant: int
    halves: int
    """Points in halves."""
    buchholz: int
    """Buchholz score in halves."""
    sonneborn: int
    """Sonneborn-Berger score in quarters, because it multiplies halves by halves."""

    @property
    def points(self) -> str:
        """Return the points as people write them."""
        return format_halves(self.halves)


def standings(tournament: Tournament, rounds: int | None = None) -> tuple[TournamentRow, ...]:
    """Return the standings after a number of rounds (None for all), best first.

    They are worked out anew by every call, for each request of a page, from the tournament alone.
    The time grows with the square of the number of entrants: half a second for 500.
    """
    round_count = len(tournament.rounds) if rounds is None else rounds
    halves = {
        entrant.number: tournament.halves(entrant.number, round_count)
        for entrant in tournament.entrants
    }
    rows = [_row(tournament, entrant, halves, round_count) for entrant in halves]

    def points_and_tie_breaks(row: TournamentRow) -> tuple[int, ...]:
        # points first, then the tie-breaks of the system, negated to sort the highest first
        match tournament.system:
            case System.SWISS:
                return -row.halves, -row.buchholz, -row.sonneborn
            case System.ROUND_ROBIN:
                return -row.halves, -row.sonneborn
            case System.KNOCKOUT:
                return (-row.halves,)

    rows.sort(key=lambda row: (points_and_tie_breaks(row), row.entrant))
    keys = [points_and_tie_breaks(row) for row in rows]
    # entrants that are level share the place of the first of them
    return tuple(replace(row, place=keys.index(points_and_tie_breaks(row)) + 1) for row in rows)


def _row(
    tournament: Tournament, entrant: int, halves: Mapping[int, int], round_count: int
) -> TournamentRow:
    """Return the row of an entrant after a number of rounds, still without a place.

    `halves` has the points of every entrant after these rounds, in halves.
    """
    buchholz = sonneborn = 0
    for round_ in tournament.rounds[:round_count]:
        match = round_.match_of(entrant)
        is_decided = match.is_decided if match else round_.is_decided
        if not is_decided:
            continue
        # a round without a game counts as one against an opponent with the same points
        opponent_halves = halves[entrant]
        if match is not None and match.is_played:
            opponent_halves = halves[opponent(match, entrant)]
        buchholz += opponent_halves
        if match is not None:
            sonneborn += match_halves(tournament, match, entrant) * opponent_halves
    return TournamentRow(0, entrant, halves[entrant], buchholz, sonneborn)


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
    fraction = ("", "¼", "½", "¾")[rest]
    # without the 0 of 0½
    return f"{whole or ''}{fraction}" if fraction else str(whole)
