"""Test the rules of tournaments: each change makes a new value from the old one.

A result that does not fit the round is refused with its reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from hub_room import open_league
from internals import league_file_of
from league_tools import GAME, make_tournament, open_places

from companion.core.clock import FakeClock
from companion.core.errors import Illegal, SystemTrouble
from companion.core.kit import Seat
from companion.league.results import GameResult, ReportedPlayer, StoredResult
from companion.league.tournament import (
    WIN_HALF_POINTS,
    BoardPlace,
    BoardVerdict,
    PairingSystem,
    Tournament,
)
from companion.league.tournament_rules import (
    assign_tables,
    board_at,
    end,
    enter,
    enter_result,
    move_board,
    new_tournament,
    open_places_by_table,
    pair_round,
    reopen_board,
    set_verdict,
    unpair_round,
    withdraw,
)


@pytest.fixture
def tournament_of_four() -> Tournament:
    """Four people in the first round, at tables `a` and `b`. At `a`, 1 at South plays against 3."""
    return assign_tables(pair_round(make_tournament(people=4), now_s=1000.0), ["a", "b"])


def stored_result(
    south: int | None = None, north: int | None = None, **changes: Any
) -> StoredResult:
    """Return a result of table `a` that South has won, with these changes.

    `south` and `north` are the people whose cards were shown.
    """
    fields = {
        "table": "a", "key": "game", "game": GAME, "options": {},
        "began_s": 1001.0, "ended_s": 1002.0, "south": ReportedPlayer(), "north": ReportedPlayer(),
        "winner": Seat.SOUTH, "entry": 9, "mark": "mark",
    }  # fmt: skip
    return StoredResult(GameResult(**{**fields, **changes}), south, north)


def test_a_paired_table_reports_its_board_once(tournament_of_four: Tournament) -> None:
    board = board_at(tournament_of_four, BoardPlace(0, 0, 0))
    after = enter_result(tournament_of_four, stored_result(south=board.south, north=board.north))
    assert board_at(after, BoardPlace(0, 0, 0)).verdict is BoardVerdict.SOUTH
    with pytest.raises(Illegal, match="No open board"):
        enter_result(after, stored_result(key="second", winner=Seat.NORTH))
    reopened = reopen_board(after, "game", "a")
    assert board_at(reopened, BoardPlace(0, 0, 0)).verdict is None

    # a game of another table reopens nothing, and neither does a board that no game has decided
    assert reopen_board(after, "game", "b") == after
    assert reopen_board(after, "", "a") == after


def test_players_without_cards_are_taken_as_paired(tournament_of_four: Tournament) -> None:
    """None stands for a player who has no card."""
    board = board_at(tournament_of_four, BoardPlace(0, 0, 0))
    for south, north in ((None, None), (board.south, None), (None, board.north)):
        after = enter_result(tournament_of_four, stored_result(south=south, north=north))
        board_after = board_at(after, BoardPlace(0, 0, 0))
        assert (board_after.south, board_after.north) == (board.south, board.north)

    # the two have swapped sides, which one card is enough to tell
    for south, north in ((board.north, board.south), (board.north, None), (None, board.south)):
        after = enter_result(tournament_of_four, stored_result(south=south, north=north))
        assert board_at(after, BoardPlace(0, 0, 0)).south == board.north
        winner = after.entrant_of(board.north)
        assert winner is not None
        assert after.half_points(winner.number) == WIN_HALF_POINTS


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"table": "c"}, "No open board"),
        ({"game": "kahmate"}, "another game or other options"),
        ({"options": {"nonsense": 1}}, "another game or other options"),
        ({"began_s": 900.0}, "began before the round"),
        # a person who was paired elsewhere, and one person at both seats
        ({"south": 99}, "Somebody else sat there"),
        ({"south": 1, "north": 1}, "Somebody else sat there"),
    ],
)
def test_a_report_that_does_not_fit_is_refused(
    tournament_of_four: Tournament, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(Illegal, match=reason):
        enter_result(tournament_of_four, stored_result(**changes))


def test_a_draw_does_not_decide_a_knockout() -> None:
    tournament = assign_tables(
        pair_round(make_tournament(PairingSystem.KNOCKOUT, 2), now_s=0.0), ["a"]
    )
    with pytest.raises(Illegal, match="play once more"):
        enter_result(tournament, stored_result(winner=None))


def test_boards_without_table_wait_for_one() -> None:
    tournament = pair_round(make_tournament(people=8), now_s=0.0)
    tournament = assign_tables(tournament, ["a"])
    assert list(open_places_by_table(tournament)) == ["a"]

    # the director may move a board to a table that has no open board
    first, second, *_ = open_places(tournament)
    with pytest.raises(Illegal, match="another board"):
        move_board(tournament, second, "a")
    moved = move_board(tournament, second, "z")
    assert open_places_by_table(moved)["z"] == second

    # when the first board is decided, its table is free for a board that waits
    done = assign_tables(set_verdict(moved, first, BoardVerdict.DRAW), ["a"])
    assert open_places_by_table(done)["a"] not in (first, second)


def test_impossible_decisions_are_refused(tournament_of_four: Tournament) -> None:
    cases = (
        (
            lambda: enter(make_tournament(people=2), 1, rating=0.0),
            "has entered already",
        ),
        (lambda: withdraw(tournament_of_four, 99), "no entrant 99"),
        (
            lambda: pair_round(make_tournament(people=1), now_s=0.0),
            "At least two entries",
        ),
        (lambda: pair_round(tournament_of_four, now_s=0.0), "still open"),
        (lambda: end(tournament_of_four), "still open"),
        (
            lambda: unpair_round(make_tournament()),
            "No round has been paired",
        ),
        (
            lambda: set_verdict(tournament_of_four, BoardPlace(-1, 0, 0), BoardVerdict.DRAW),
            "no such board",
        ),
    )
    for decide, reason in cases:
        with pytest.raises(Illegal, match=reason):
            decide()

    # after the end nobody can enter, and after a game its round stays
    ended = msgspec.structs.replace(tournament_of_four, is_over=True)
    with pytest.raises(Illegal, match="is over"):
        enter(ended, 99, rating=0.0)
    played = enter_result(tournament_of_four, stored_result())
    with pytest.raises(Illegal, match="its pairings stay"):
        unpair_round(played)
    assert unpair_round(tournament_of_four).rounds == ()


def test_an_entrant_may_return_after_withdrawing() -> None:
    """Somebody who withdraws before the first round is removed instead."""
    tournament = pair_round(make_tournament(people=4), now_s=0.0)
    for place in open_places(tournament):
        tournament = set_verdict(tournament, place, BoardVerdict.DRAW)
    tournament = enter(withdraw(tournament, 2), 2, rating=0.0)
    assert tournament.entrant(2).last_round == 0
    assert withdraw(make_tournament(people=4), 2).entrant_of(2) is None


def test_a_second_withdrawal_changes_nothing() -> None:
    """Entrant 2 withdraws after the first round, and again after the second."""
    tournament = make_tournament(people=4)
    for _ in range(2):
        tournament = pair_round(tournament, now_s=0.0)
        for place in open_places(tournament):
            tournament = set_verdict(tournament, place, BoardVerdict.DRAW)
        tournament = withdraw(tournament, 2)
    assert tournament.entrant(2).last_round == 1


def test_a_withdrawal_outlasts_its_pairing() -> None:
    """If the pairing is taken back, whoever has withdrawn since is not in the next one."""
    # withdrawn in the first round: nothing of the entrant is left
    tournament = pair_round(make_tournament(people=4), now_s=0.0)
    withdrawn = withdraw(tournament, 2)
    assert unpair_round(withdrawn).entrant_of(2) is None

    # withdrawn in the second round: the first round was the last one
    for place in open_places(tournament):
        tournament = set_verdict(tournament, place, BoardVerdict.DRAW)
    withdrawn = withdraw(pair_round(tournament, now_s=0.0), 2)
    renewed = pair_round(unpair_round(withdrawn), now_s=0.0)
    assert renewed.entrant(2).last_round == 1
    assert renewed.round is not None
    assert renewed.round.match_of(2) is None


def test_a_renewed_pairing_includes_latecomers() -> None:
    tournament = pair_round(make_tournament(people=4), now_s=0.0)
    tournament = enter(tournament, 5, rating=0.0)
    renewed = pair_round(unpair_round(tournament), now_s=0.0)
    assert renewed.round is not None
    assert renewed.round.match_of(5) is not None


def test_a_failed_write_leaves_no_pairing(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_league(tmp_path, clock, "a") as league:
        tournaments = league.tournaments
        cup = tournaments.add(
            new_tournament("Cup", PairingSystem.SWISS, GAME, {}, rounds=2, minutes=0)
        )
        for name in ("Mara", "Jonas"):
            tournaments.enter(cup.id, league.cards.create(name).number)
        before = tournaments.find(cup.id)

        # the first write fails, and the second one does not
        writes = Mock(side_effect=[SystemTrouble(), None])
        monkeypatch.setattr(league_file_of(league), "write", writes)
        with pytest.raises(SystemTrouble):
            tournaments.pair_round(cup.id)
        assert tournaments.find(cup.id) == before
        tournaments.pair_round(cup.id)
        assert tournaments.open_board_at("a")
        assert writes.call_count == 2
