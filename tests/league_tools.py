"""Helpers: play tournaments with random results, and check what must hold for every tournament."""

from __future__ import annotations

from collections import Counter
from random import Random

from companion.league import tournament_rules
from companion.league.pairing import opponents
from companion.league.tournament import BoardPlace, BoardVerdict, Match, PairingSystem, Tournament

GAME = "outbuffered"


def make_tournament(
    system: PairingSystem = PairingSystem.SWISS, people: int = 8, **more: int
) -> Tournament:
    """Make a tournament and enter so many people, the strongest first.

    `more` may have `rounds` (5 if it is missing) and `minutes`, the time limit of a round (none).
    """
    rounds = more.get("rounds", 5)
    minutes = more.get("minutes", 0)
    tournament = tournament_rules.new_tournament(
        "Club evening", system, GAME, {}, rounds=rounds, minutes=minutes
    )
    for index in range(people):
        rating = 2000.0 - index * 10
        tournament = tournament_rules.enter(tournament, index + 1, rating)
    return tournament


def open_places(tournament: Tournament) -> list[BoardPlace]:
    """Return all open boards of the last round."""
    last = len(tournament.rounds) - 1
    return [
        BoardPlace(last, match_at, place)
        for match_at, match in enumerate(tournament.rounds[last].matches)
        for place, board in enumerate(match.boards)
        if board.verdict is None
    ]


def play_round(tournament: Tournament, rng: Random, absent: float = 0.0) -> Tournament:
    """Pair a round, and give its boards random results.

    One board of five is drawn, but none in a knockout. `absent` is the probability that a player of
    any other board is absent and loses by default.
    """
    tournament = tournament_rules.pair_round(tournament, 1000.0 * (len(tournament.rounds) + 1))
    for place in open_places(tournament):
        verdict = rng.choice((BoardVerdict.SOUTH, BoardVerdict.NORTH))
        if rng.random() < 0.2 and tournament.system is not PairingSystem.KNOCKOUT:
            verdict = BoardVerdict.DRAW
        elif rng.random() < absent:
            verdict = rng.choice((BoardVerdict.SOUTH_BY_DEFAULT, BoardVerdict.NORTH_BY_DEFAULT))
        tournament = tournament_rules.set_verdict(tournament, place, verdict)
    return tournament


def south_surplus(tournament: Tournament, entrant: int) -> int:
    """Return how much more often an entrant was South than North.

    Only the first boards of matches count, and only those that were played.
    """
    people = tournament.entrant(entrant).people
    first = [match.boards[0] for match in tournament.matches(entrant) if match.boards]
    return sum(1 if board.south in people else -1 for board in first if board.is_played)


def count_byes(tournament: Tournament, entrant: int) -> int:
    """Count the rounds in which an entrant had no opponent and received a whole point for that."""
    return sum(
        match.north is None and match.bye_half_points == 2 for match in tournament.matches(entrant)
    )


def assert_sound(tournament: Tournament) -> None:
    """Require that no entrant plays twice in a round, meets another twice, or has two byes.

    In a tournament without a knockout, every entrant who has not left must play in each round.
    """
    for tournament_round in tournament.rounds:
        paired = [entrant for match in tournament_round.matches for entrant in _entrants(match)]
        assert len(set(paired)) == len(paired)
        if tournament.system is not PairingSystem.KNOCKOUT:
            assert set(paired) >= {
                entrant.number
                for entrant in tournament.entrants
                if entrant.plays_in(tournament_round.number)
            }
    for entrant in tournament.entrants:
        meetings = Counter(opponents(tournament, entrant.number))
        assert not meetings or max(meetings.values()) == 1
        assert count_byes(tournament, entrant.number) <= 1


def _entrants(match: Match) -> list[int]:
    return [match.south] if match.north is None else [match.south, match.north]
