"""Standings of a tournament: entrants by points, then by tie-breaks.

Buchholz is the sum of the opponents' points. Sonneborn-Berger adds the points of beaten opponents
and half the points of opponents who drew. A round without a game counts as a game against an
opponent with the entrant's own points (FIDE C.07, 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from companion.league.tournament import PairingSystem, Tournament, match_half_points, opponent_of


@dataclass(frozen=True)
class TournamentRow:
    """One row of the standings: an entrant by number, with the points and tie-breaks."""

    place: int
    """Place from 1 on, shared by entrants that are level in everything that counts."""
    entrant: int
    half_points: int
    """Points, counted in half points."""
    buchholz: int
    """Buchholz score in half points."""
    sonneborn: int
    """Sonneborn-Berger score in quarter points, since it multiplies half points by half points."""

    @property
    def points(self) -> str:
        """The points as people write them."""
        return format_half_points(self.half_points)


def standings(tournament: Tournament, rounds: int | None = None) -> tuple[TournamentRow, ...]:
    """Return the standings after a number of rounds (None for all), best first.

    Every call works them out anew from the tournament alone. That takes a time that grows with the
    square of the number of entrants, and half a second for 500.
    """
    round_count = len(tournament.rounds) if rounds is None else rounds
    half_points = {
        entrant.number: tournament.half_points(entrant.number, round_count)
        for entrant in tournament.entrants
    }
    rows = [_row(tournament, entrant, half_points, round_count) for entrant in half_points]

    def points_and_tie_breaks(row: TournamentRow) -> tuple[int, ...]:
        # points first, then the tie-breaks of the system, negated to sort the highest first
        match tournament.system:
            case PairingSystem.SWISS:
                return -row.half_points, -row.buchholz, -row.sonneborn
            case PairingSystem.ROUND_ROBIN:
                return -row.half_points, -row.sonneborn
            case PairingSystem.KNOCKOUT:
                return (-row.half_points,)

    rows.sort(key=lambda row: (points_and_tie_breaks(row), row.entrant))
    keys = [points_and_tie_breaks(row) for row in rows]
    # entrants that are level share the place of the first of them
    return tuple(replace(row, place=keys.index(points_and_tie_breaks(row)) + 1) for row in rows)


def _row(
    tournament: Tournament, entrant_number: int, half_points: Mapping[int, int], round_count: int
) -> TournamentRow:
    """Return the row of an entrant after a number of rounds, still without a place.

    `half_points` has the half points of every entrant after these rounds, by number.
    """
    buchholz = sonneborn = 0
    for round_ in tournament.rounds[:round_count]:
        match = round_.match_of(entrant_number)
        is_decided = match.is_decided if match else round_.is_decided
        if not is_decided:
            continue
        # a round without a game counts as one against an opponent with the same points
        opponent_half_points = half_points[entrant_number]
        if match is not None and match.is_played:
            opponent_half_points = half_points[opponent_of(match, entrant_number)]
        buchholz += opponent_half_points
        if match is not None:
            sonneborn += match_half_points(tournament, match, entrant_number) * opponent_half_points
    return TournamentRow(0, entrant_number, half_points[entrant_number], buchholz, sonneborn)


def format_half_points(half_points: int) -> str:
    """Format points that are given in half points.

    >>> format_half_points(5), format_half_points(1), format_half_points(4)
    ('2½', '½', '2')
    """
    return format_quarter_points(2 * half_points)


def format_quarter_points(quarter_points: int) -> str:
    """Format points that are given in quarter points.

    >>> format_quarter_points(9), format_quarter_points(6)
    ('2¼', '1½')
    """
    whole, quarters = divmod(quarter_points, 4)
    fraction = ("", "¼", "½", "¾")[quarters]
    # without the 0 of 0½
    return f"{whole or ''}{fraction}" if fraction else str(whole)
