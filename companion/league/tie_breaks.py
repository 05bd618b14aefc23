"""Tie-breaks of a tournament: what orders entrants with equal points.

Buchholz is the sum of the opponents' points. Sonneborn-Berger adds the points of beaten opponents
and half the points of opponents who drew. A round without a game counts as a game against an
opponent with the entrant's own points (FIDE C.07, 2023).

`companion.league.standings` applies them.
"""

from __future__ import annotations

from collections.abc import Mapping

from companion.league.tournament import System, Tournament, match_halves, opponent

# Tie-breaks of each system as fields of `TournamentRow`, most important first.
TIE_BREAKS: Mapping[System, tuple[str, ...]] = {
    System.SWISS: ("buchholz", "sonneborn"),
    System.ROUND_ROBIN: ("sonneborn",),
    System.KNOCKOUT: (),
}


def tie_breaks(
    tournament: Tournament, entrant: int, halves: Mapping[int, int], round_count: int
) -> tuple[int, int]:
    """Return the tie-breaks of an entrant after a number of rounds.

    They are the Buchholz score, in halves of a point, and the Sonneborn-Berger score, in quarters.
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
            # halves times halves are quarters
            sonneborn += match_halves(tournament, match, entrant) * opponent_halves
    return buchholz, sonneborn
