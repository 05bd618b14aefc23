"""The end of a game: where it turned, what each side did best, the score of the evening, and
nothing hidden in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import pytest
from history_tools import GAME_OPTIONS, play, random_game
from table_tools import follow_instructions
from test_history import Room, a_room

from companion.archive.finale import coached_in_evening, turns_to_review
from companion.archive.played_games import Ending, Finale, GameLine, SeatedPlayer
from companion.core.kit import SEATS
from companion.games import GAMES

SOUTH, NORTH = SEATS

_HOUR = 3600.0
# A board and South's orders that bring the flag home in the second turn.
WIN = ({"board": ".N\nsn\nS."}, ("URI", "LDD"))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with a_room(tmp_path) as opened:
        yield opened


def seat_both(room: Room, south: str = "Mara", north: str = "Jonas") -> None:
    room.table.take_seat(SOUTH, south)
    room.table.take_seat(NORTH, north)


def win(room: Room) -> Finale:
    """Return a short game that South wins by its rules."""
    options, orders = WIN
    room.table.new_game("outbuffered", options, 1)
    for buffer in orders:
        follow_instructions(room.table)
        moment = room.table.view().moment
        room.table.hand_in(SOUTH, moment, buffer)
        room.table.hand_in(NORTH, moment, "III")
    follow_instructions(room.table)
    return finale(room)


def finale(room: Room) -> Finale:
    told = room.past.finale(room.table.progress().number)
    assert told is not None
    return told


def test_a_win_says_how_without_a_story(room: Room) -> None:
    seat_both(room)
    told = win(room)
    assert (told.ending_words, told.turns, told.winners) == ("Home with lime’s flag.", 2, (SOUTH,))
    assert told.turning_point is None, "the winner led from the beginning"
    assert told.has_valid_receipts


def test_a_game_turned_where_the_lead_changed_hands(room: Room) -> None:
    for seed in range(1, 30):
        play(room.table, room.clock, "arena", 40, seed)
        told = finale(room)
        if told.turning_point:
            break
    assert told.turning_point
    assert told.turning_point.words
    assert told.turning_point.turn < told.turns


def test_only_a_loss_is_worth_a_review() -> None:
    assert turns_to_review((0, 1, 3), (SOUTH,)) == (2,)
    assert turns_to_review((0, -2, -3), (NORTH,)) == (1,)


def test_an_imported_game_coaches_nobody_else() -> None:
    players = {SOUTH: (SeatedPlayer("Mara"),), NORTH: (SeatedPlayer("Jonas"),)}
    line = GameLine(2, "outbuffered", "", 0, 0, players, (), 5, Ending.WON)
    coached = replace(line, number=1, coached=(NORTH,))
    assert coached_in_evening(line, (coached, line)) == (NORTH,)
    assert coached_in_evening(line, (replace(coached, is_imported=True), line)) == ()


def test_a_running_game_has_no_finale(room: Room) -> None:
    assert room.past.finale(1) is None
    room.play(end="")
    assert room.past.finale(1) is None
    room.table.resign(SOUTH)
    assert finale(room).ending_words == "Purple resigns."
    room.table.undo()
    assert room.past.finale(1) is None, "it goes on"


def test_the_evening_counts_these_two_whatever_their_sides(room: Room) -> None:
    seat_both(room)
    assert win(room).evening_score == {SOUTH: 1, NORTH: 0}
    room.table.rematch(swap=True)
    assert room.table.view().match.score == (0, 1, 0), "the match goes with whoever has won"
    room.table.resign(SOUTH)
    assert finale(room).evening_score == {SOUTH: 0, NORTH: 2}
    room.clock.advance(20 * _HOUR)
    room.table.rematch()
    follow_instructions(room.table)
    room.table.offer_draw(SOUTH)
    room.table.offer_draw(NORTH)
    assert finale(room).evening_score == {SOUTH: 0.5, NORTH: 0.5}, "another day"
    room.table.free_seat(SOUTH)
    room.table.take_seat(SOUTH, "Ada")
    room.table.new_game("outbuffered")
    room.table.resign(NORTH)
    assert finale(room).evening_score == {SOUTH: 1, NORTH: 0}, "the other games are not Ada’s"


def test_imported_games_do_not_end_the_evening(room: Room) -> None:
    seat_both(room)
    win(room)
    old = msgspec.structs.replace(random_game("scouts", 1, 3), begun=_HOUR)
    number = room.past.import_game(msgspec.json.encode(old))
    told = room.past.finale(number)
    assert told is not None
    assert told.evening_score is None
    room.table.rematch()
    room.table.resign(SOUTH)
    assert finale(room).evening_score == {SOUTH: 1, NORTH: 1}


@pytest.mark.parametrize("name", GAMES)
def test_every_game_says_leader_and_ending(name: str) -> None:
    game, rng = GAMES[name], Random(5)
    for seed in (1, 2):
        state = game.setup(game.options(GAME_OPTIONS[name]), Random(seed))
        leads = [game.lead(state)]
        while game.to_act(state):
            actions = {seat: game.random_action(state, seat, rng) for seat in game.to_act(state)}
            state = game.apply(state, actions, rng).state
            leads.append(game.lead(state))
        assert None not in leads
        assert leads[0] == 0
        assert len(set(leads)) > 1, "it says something"
        how = game.how_it_ended(state)
        assert 0 < len(how) <= 40, how
