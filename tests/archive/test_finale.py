"""Test the finale of a game at a table: its turning point, its ending and the evening score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import pytest
from archive_tools import ArchiveRig, open_archive
from history_tools import GAME_OPTIONS, play, random_game
from table_tools import follow_instructions

from companion.archive.finale import coached_in_evening, turns_to_review
from companion.archive.played_games import Ending, Finale, GameLine, SeatedPlayer
from companion.core.kit import SEATS
from companion.games import GAMES

SOUTH, NORTH = SEATS

_HOUR = 3600.0
# A game of Outbuffered that South wins in the second turn: its options and South's orders.
#
# `S` and `N` are the starts of the robots, `s` and `n` their flags, the highest rank first. South's
# robot goes up and right to North's flag, and brings it home by left and down. Orders are U, D, L,
# R for a direction and I to wait.
WON_GAME = ({"board": ".N\nsn\nS."}, ("URI", "LDD"))


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[ArchiveRig]:
    with open_archive(tmp_path) as opened:
        yield opened


def seat_both(archive: ArchiveRig, south: str = "Mara", north: str = "Jonas") -> None:
    """Let two people with phones take the seats."""
    archive.table.take_seat(SOUTH, south)
    archive.table.take_seat(NORTH, north)


def play_won_game(archive: ArchiveRig) -> Finale:
    """Play a short game that South wins by the rules. Return its finale."""
    options, orders = WON_GAME
    archive.table.new_game("outbuffered", options, 1)
    for buffer in orders:
        follow_instructions(archive.table)
        moment = archive.table.view().moment
        archive.table.hand_in(SOUTH, moment, buffer)
        archive.table.hand_in(NORTH, moment, "III")
    follow_instructions(archive.table)
    return finale(archive)


def finale(archive: ArchiveRig) -> Finale:
    """Return the finale of the game that is on the table."""
    summary = archive.history.finale(archive.table.progress().number)
    assert summary is not None
    return summary


def test_a_finale_says_how_a_game_was_won(archive: ArchiveRig) -> None:
    seat_both(archive)
    summary = play_won_game(archive)
    assert (summary.ending_words, summary.turns, summary.winners) == (
        "Home with lime’s flag.",
        2,
        (SOUTH,),
    )
    assert summary.turning_point is None, "a winner who always led must not have a turning point"
    assert summary.has_valid_receipts


def test_a_game_turned_where_the_lead_changed_hands(archive: ArchiveRig) -> None:
    # In some random games the lead never changes hands. Look for one in which it does.
    for seed in range(1, 30):
        play(archive.table, archive.clock, "arena", 40, seed)
        summary = finale(archive)
        if summary.turning_point:
            break
    assert summary.turning_point
    assert summary.turning_point.words
    assert summary.turning_point.turn < summary.turns


def test_only_a_loss_is_worth_a_review() -> None:
    # The leads are South's. A side that only wins ground has no turn to review.
    assert turns_to_review((0, 1, 3), (SOUTH,)) == (2,)
    assert turns_to_review((0, -2, -3), (NORTH,)) == (1,)


def test_imported_games_do_not_mark_players_coached() -> None:
    """A name in a game from elsewhere may belong to somebody else."""
    players = {SOUTH: (SeatedPlayer("Mara"),), NORTH: (SeatedPlayer("Jonas"),)}
    line = GameLine(2, "outbuffered", "", 0, 0, players, (), 5, Ending.WON)
    # In the game before, between the same players, North has asked the coach.
    coached = replace(line, number=1, coached=(NORTH,))
    assert coached_in_evening(line, (coached, line)) == (NORTH,)
    assert coached_in_evening(line, (replace(coached, is_imported=True), line)) == ()


def test_a_running_game_has_no_finale(archive: ArchiveRig) -> None:
    # Neither a game that does not exist nor one that is on has a finale.
    assert archive.history.finale(1) is None
    archive.play(end="")
    assert archive.history.finale(1) is None

    # It has one when it is over, and loses it again if its last turn is undone.
    archive.table.resign(SOUTH)
    assert finale(archive).ending_words == "Purple resigns."
    archive.table.undo()
    assert archive.history.finale(1) is None, "a game that goes on must not have a finale"


def test_the_evening_score_counts_both_players_games(archive: ArchiveRig) -> None:
    # Mara wins at South, and changes sides for the rematch. Her win goes with her.
    seat_both(archive)
    assert play_won_game(archive).evening_score == {SOUTH: 1, NORTH: 0}
    archive.table.rematch(swap=True)
    assert archive.table.view().match.score == (0, 1, 0), (
        "the score must change sides with the players"
    )
    archive.table.resign(SOUTH)
    assert finale(archive).evening_score == {SOUTH: 0, NORTH: 2}

    # The next day begins a new score. A draw counts as half a win for each.
    archive.clock.advance(20 * _HOUR)
    archive.table.rematch()
    follow_instructions(archive.table)
    archive.table.offer_draw(SOUTH)
    archive.table.offer_draw(NORTH)
    assert finale(archive).evening_score == {SOUTH: 0.5, NORTH: 0.5}, (
        "games of another day must not count"
    )

    # Ada sits down in place of Jonas. Between her and Mara, only this game counts.
    archive.table.free_seat(SOUTH)
    archive.table.take_seat(SOUTH, "Ada")
    archive.table.new_game("outbuffered")
    archive.table.resign(NORTH)
    assert finale(archive).evening_score == {SOUTH: 1, NORTH: 0}, "only games with Ada must count"


def test_an_imported_game_does_not_end_the_evening(archive: ArchiveRig) -> None:
    # A game of 1970 is imported between two games of the evening.
    seat_both(archive)
    play_won_game(archive)
    old = msgspec.structs.replace(random_game("scouts", 1, 3), begun=_HOUR)
    number = archive.history.import_game(msgspec.json.encode(old))
    summary = archive.history.finale(number)
    assert summary is not None
    assert summary.evening_score is None

    # The rematch still counts to the evening of the first game.
    archive.table.rematch()
    archive.table.resign(SOUTH)
    assert finale(archive).evening_score == {SOUTH: 1, NORTH: 1}


@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_leads_and_an_ending(name: str) -> None:
    """The finale needs both to say where a game turned, and why it ended."""
    game = GAMES[name]
    rng = Random(5)
    for seed in (1, 2):
        state = game.setup(game.options(GAME_OPTIONS[name]), Random(seed))
        leads = [game.lead(state)]
        while game.to_act(state):
            actions = {seat: game.random_action(state, seat, rng) for seat in game.to_act(state)}
            state = game.apply(state, actions, rng).state
            leads.append(game.lead(state))
        assert None not in leads
        assert leads[0] == 0
        assert len(set(leads)) > 1, "the lead must change during a game"
        ending = game.how_it_ended(state)
        assert 0 < len(ending) <= 40
