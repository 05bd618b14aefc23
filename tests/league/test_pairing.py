"""Test the pairings of Swiss, round-robin and knock-out tournaments by values.

Nobody meets the same person twice or has two byes, and everybody plays both sides about equally
often.
"""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from league_tools import assert_sound, make_tournament, open_places, play_round, south_surplus

from companion.core.errors import Illegal
from companion.league.standings import standings
from companion.league.tournament import (
    WIN_HALF_POINTS,
    BoardVerdict,
    PairingSystem,
    Tournament,
)
from companion.league.tournament_rules import (
    enter,
    pair_round,
    set_verdict,
    unpair_round,
    withdraw,
)


def largest_surplus(tournament: Tournament) -> int:
    """Return how much more often than the other an entrant has played one side, at most."""
    return max(abs(south_surplus(tournament, entrant.number)) for entrant in tournament.entrants)


@settings(max_examples=25, deadline=None)
@given(people=st.integers(8, 40), seed=st.integers(0, 10_000), data=st.data())
def test_swiss_pairings_stay_sound_and_balanced(
    people: int, seed: int, data: st.DataObject
) -> None:
    """Before each round up to two people enter, and at times somebody withdraws."""
    rng = Random(seed)
    rounds = data.draw(st.integers(3, 5))
    tournament = make_tournament(people=people, rounds=rounds)
    next_person = people + 1
    for _ in range(rounds):
        for _ in range(data.draw(st.integers(0, 2))):
            tournament = enter(tournament, next_person, rng.uniform(1000, 2000))
            next_person += 1
        present = [entrant.number for entrant in tournament.entrants if not entrant.last_round]
        if len(present) > 10 and data.draw(st.booleans()):
            tournament = withdraw(tournament, rng.choice(present))
        tournament = play_round(tournament, rng, absent=0.1)
        assert_sound(tournament)
        assert largest_surplus(tournament) <= 2
    assert len(tournament.rounds) == rounds


def test_an_impossible_swiss_round_is_reported() -> None:
    tournament = make_tournament(people=3, rounds=9)
    rng = Random(1)
    # three people have three different pairs
    for _ in range(3):
        tournament = play_round(tournament, rng)
    with pytest.raises(Illegal, match="end the tournament after this round"):
        pair_round(tournament, now_s=0.0)


@pytest.mark.parametrize("people", range(2, 14))
def test_in_a_round_robin_everybody_meets_everybody_once(people: int) -> None:
    tournament, rng = make_tournament(PairingSystem.ROUND_ROBIN, people), Random(people)
    # with an odd number of people, everybody has a bye once, so there is one more round
    for _ in range(people - 1 if people % 2 == 0 else people):
        tournament = play_round(tournament, rng)
    pairs = {
        frozenset((match.south, match.north))
        for paired in tournament.rounds
        for match in paired.matches
        if match.north
    }
    assert pairs == {frozenset(pair) for pair in combinations(range(1, people + 1), 2)}
    assert largest_surplus(tournament) <= 1
    # two half points for each of the n(n - 1) / 2 games
    assert sum(standing.half_points for standing in standings(tournament)) == people * (people - 1)
    with pytest.raises(Illegal, match="Everybody has met everybody"):
        pair_round(tournament, now_s=0.0)


def test_who_leaves_a_round_robin_loses_by_default() -> None:
    tournament = play_round(make_tournament(PairingSystem.ROUND_ROBIN, 4), Random(1))
    tournament = withdraw(tournament, 2)
    for _ in range(2):
        tournament = play_round(tournament, Random(2))
        match_of_absentee = next(
            match for match in tournament.rounds[-1].matches if 2 in (match.south, match.north)
        )
        assert match_of_absentee.is_decided
        assert not match_of_absentee.is_played
        # no more than the win of the first round
        assert tournament.half_points(2) <= WIN_HALF_POINTS
    with pytest.raises(Illegal, match="nobody can enter any more"):
        enter(tournament, 99, rating=1500.0)


@pytest.mark.parametrize("people", [2, 3, 5, 8, 13, 16, 33])
def test_a_knockout_has_one_winner_after_fewest_rounds(people: int) -> None:
    tournament, rng = make_tournament(PairingSystem.KNOCKOUT, people), Random(people)
    # the logarithm to base 2, rounded up
    rounds = (people - 1).bit_length()
    for _ in range(rounds):
        tournament = play_round(tournament, rng)
    matches = [match for paired in tournament.rounds for match in paired.matches]
    # each match puts one person out. The winner has one win more than the loser of the final
    assert sum(bool(match.boards) for match in matches) == people - 1
    first, second, *_ = standings(tournament)
    assert first.place == 1
    assert first.half_points - second.half_points == WIN_HALF_POINTS
    with pytest.raises(Illegal, match="Only one is left"):
        pair_round(tournament, now_s=0.0)


def test_a_drawn_knockout_match_awaits_the_director() -> None:
    # one of two matches is drawn, so nobody goes on from there
    tournament = pair_round(make_tournament(PairingSystem.KNOCKOUT, 4), now_s=0.0)
    first, second = open_places(tournament)
    tournament = set_verdict(
        set_verdict(tournament, first, BoardVerdict.DRAW),
        second,
        BoardVerdict.SOUTH,
    )
    with pytest.raises(Illegal, match="the director has to say who goes on"):
        pair_round(tournament, now_s=0.0)

    # once the director has decided and the next round is paired, the decision stands
    tournament = pair_round(set_verdict(tournament, first, BoardVerdict.NORTH), now_s=0.0)
    with pytest.raises(Illegal, match="take that pairing back first"):
        set_verdict(tournament, first, BoardVerdict.SOUTH)

    # without that pairing it can be changed
    unpaired = unpair_round(tournament)
    changed = set_verdict(unpaired, first, BoardVerdict.SOUTH)
    assert changed.rounds[0].matches[0].boards[0].verdict is BoardVerdict.SOUTH
