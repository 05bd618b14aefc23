"""Points and tie-breaks, held against tables that were worked out by hand."""

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

WORDS: Mapping[str, BoardVerdict] = {
    "1": BoardVerdict.SOUTH,
    "0": BoardVerdict.NORTH,
    "=": BoardVerdict.DRAW,
    "+": BoardVerdict.SOUTH_BY_DEFAULT,
}


def tournament_after(
    people: int, *rounds: str, system: PairingSystem = PairingSystem.SWISS
) -> Tournament:
    """Make a tournament of rounds such as `1-2:1 3-4:= 5`. A number alone has the bye."""
    entrants = tuple(Entrant(number, (number,)) for number in range(1, people + 1))
    found = []
    for number, text in enumerate(rounds, start=1):
        matches = []
        for told in text.split():
            pair, _, end = told.partition(":")
            south, _, north = pair.partition("-")
            board = MatchBoard(int(south), int(north or 0), verdict=WORDS.get(end))
            matches.append(
                Match(int(south), int(north) if north else None, (board,) if north else ())
            )
        found.append(Round(number, tuple(matches)))
    return Tournament(1, "x", system, "outbuffered", entrants=entrants, rounds=tuple(found))


def test_points_and_tie_breaks_of_a_swiss_tournament() -> None:
    tournament = tournament_after(4, "1-3:1 2-4:1", "2-1:= 4-3:1", "1-4:1 3-2:0")
    table = [(s.entrant, s.points, s.buchholz / 2, s.sonneborn / 4) for s in standings(tournament)]
    assert table == [
        (1, "2½", 3.5, 2.25),
        (2, "2½", 3.5, 2.25),
        (4, "1", 5.0, 0.0),
        (3, "0", 6.0, 0.0),
    ]
    assert [each.place for each in standings(tournament)] == [1, 1, 3, 4]
    assert [each.entrant for each in standings(tournament, 1)][:2] == [1, 2]


def test_missed_rounds_count_as_equal_opponents() -> None:
    tournament = tournament_after(3, "1-2:1 3", "3-1:= 2")
    found = {each.entrant: each for each in standings(tournament)}
    # the bye, and player 1 with three halves
    assert (found[3].half_points, found[3].buchholz) == (3, 3 + 3)
    assert (found[2].half_points, found[2].buchholz) == (2, 3 + 2)
    absent = tournament_after(2, "1-2:+")
    assert {each.entrant: each.buchholz for each in standings(absent)} == {1: 2, 2: 0}
