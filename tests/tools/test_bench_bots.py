"""The bench of opponents: what it plays, how it counts, and what it says."""

from __future__ import annotations

from random import Random

import pytest

from companion.archive.statistics import wilson_interval
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.tools.bench.bots import Pairing, pairings, play_game
from companion.tools.bench.rivals import GREEDY, random_player


@pytest.mark.parametrize("name", GAMES)
def test_every_rule_of_thumb_beats_chance(name: str) -> None:
    """Of four games with the seats swapped at least three; BINMAT's defender is the one that may lose."""
    game, wins = GAMES[name], 0
    for number in range(4):
        rng, seat = Random(number), SEATS[number % 2]
        state = game.setup(game.options({}), rng)
        for _ in range(2000):
            if not (due := game.to_act(state)):
                break
            players = {each: GREEDY[name] if each is seat else random_player for each in sorted(due)}
            actions = {each: game.parse(player(game, state, each, rng)) for each, player in players.items()}
            game.require(state, actions)
            state = game.apply(state, actions, rng).state
        outcome = game.outcome(state)
        wins += outcome is not None and seat in outcome.winners
    assert wins >= 3


def test_seats_are_swapped_and_games_counted() -> None:
    pairing = Pairing("scouts", 1, "random", None, 0.0, 2)
    first, second = play_game(pairing, 0), play_game(pairing, 1)
    for tally in (first, second):
        assert tally.wins + tally.losses + tally.ties == 1
        assert len(tally.times_s) == len(tally.nodes) > 0
    assert (first.wins, second.wins) == (1, 1)


def test_roles_are_played_each_for_itself() -> None:
    greedy = [pairing for pairing in pairings("binmat", 10) if pairing.rival == "greedy"]
    assert [(pairing.seat, pairing.bar) for pairing in greedy] == [(Seat.SOUTH, 0.40), (Seat.NORTH, 0.80)]
    assert {pairing.seat for pairing in pairings("kahmate", None) if pairing.rival == "greedy"} == {None}


def test_the_bound_asks_for_more_games() -> None:
    bounds = [wilson_interval(wins, games)[0] for wins, games in ((8, 10), (80, 100), (320, 400))]
    assert sorted(bounds) == bounds
    assert bounds[-1] < 0.8
