"""Test points and tie-breaks against standings that were worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping

from companion.league.standings import standings
from companion.league.tournament import (
    BoardVerdict,
    Entrant,
    Match,
    MatchBoard,
    PairingSystem,
    Round,
    Tournament,
)

# Verdicts by the signs of `tournament_after`: South has won, North has won, a draw, and a win of
# South because North did not come.
VERDICTS: Mapping[str, BoardVerdict] = {
    "1": BoardVerdict.SOUTH,
    "0": BoardVerdict.NORTH,
    "=": BoardVerdict.DRAW,
    "+": BoardVerdict.SOUTH_BY_DEFAULT,
}


def tournament_after(
    people: int, *rounds: str, system: PairingSystem = PairingSystem.SWISS
) -> Tournament:
    """Make a tournament of rounds such as `1-2:1 3-4:= 5`.

    Entrant 1 has won against 2 as South, 3 and 4 have drawn, and 5 has the bye.
    """
    entrants = tuple(Entrant(number, (number,)) for number in range(1, people + 1))
    played_rounds = []
    for number, text in enumerate(rounds, start=1):
        matches = []
        for entry in text.split():
            pair, _, verdict = entry.partition(":")
            south, _, north = pair.partition("-")
            board = MatchBoard(int(south), int(north or 0), verdict=VERDICTS.get(verdict))
            matches.append(
                Match(int(south), int(north) if north else None, (board,) if north else ())
            )
        played_rounds.append(Round(number, tuple(matches)))
    return Tournament(1, "x", system, "outbuffered", entrants=entrants, rounds=tuple(played_rounds))


def test_points_and_tie_breaks_of_a_swiss_tournament() -> None:
    tournament = tournament_after(4, "1-3:1 2-4:1", "2-1:= 4-3:1", "1-4:1 3-2:0")
    # entrant, points, and both tie-breaks, which the rows have in half points and in quarter points
    table = [
        (row.entrant, row.points, row.buchholz / 2, row.sonneborn / 4)
        for row in standings(tournament)
    ]
    assert table == [
        (1, "2½", 3.5, 2.25),
        (2, "2½", 3.5, 2.25),
        (4, "1", 5.0, 0.0),
        (3, "0", 6.0, 0.0),
    ]
    # 1 and 2 are level in everything
    assert [row.place for row in standings(tournament)] == [1, 1, 3, 4]
    assert [row.entrant for row in standings(tournament, rounds=1)][:2] == [1, 2]


def test_a_missed_round_counts_as_equal_opponent() -> None:
    tournament = tournament_after(3, "1-2:1 3", "3-1:= 2")
    rows = {row.entrant: row for row in standings(tournament)}
    # In half points: 3 has a win by the bye and a draw, 1 a win and a draw, and 2 a win by the bye.
    # An opponent counts with the opponent's half points, and a bye with the entrant's own.
    assert (rows[3].half_points, rows[3].buchholz) == (3, 3 + 3)
    assert (rows[2].half_points, rows[2].buchholz) == (2, 3 + 2)

    # a win because the opponent did not come counts like a bye
    won_by_default = tournament_after(2, "1-2:+")
    assert {row.entrant: row.buchholz for row in standings(won_by_default)} == {1: 2, 2: 0}
