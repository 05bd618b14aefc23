"""A board that never changes again: whatever waits for the camera goes on when the last picture
already says yes.
"""

from __future__ import annotations

from random import Random

import pytest
from inside import session_of
from table_tools import Played

from companion.core.grid import Square
from companion.core.kit import Layout, Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import GAMES
from companion.table.board_check import top_faces
from companion.table.session import Phase

WITH_PIECES = ("outbuffered", "arena", "scouts", "kahmate")


def begin(played: Played, game: str) -> Layout:
    """Begin a game whose set-up the camera has seen. Return what lies there."""
    played.table.new_game(game, {}, seed=1)
    target = played.view.board.target or {}
    played.show(target, game=game)
    assert played.view.phase is Phase.ORDERS
    if (clock := played.view.time.clock) and clock.paused:
        played.table.resume("table")
    return target


@pytest.mark.parametrize("game", WITH_PIECES)
def test_pieces_put_back_before_the_rematch_are_enough(played: Played, game: str) -> None:
    layout = dict(begin(played, game))
    stray = (
        {square: faces for square, faces in layout.items() if square != max(layout)}
        if layout
        else {}
    )
    played.show(stray, game=game)
    played.table.resign(Seat.SOUTH)
    played.show(layout, game=game)
    played.table.rematch()
    played.wait(0.2)
    assert played.view.phase is Phase.ORDERS


def test_plays_under_stopped_clocks_count_later(played: Played) -> None:
    start = "c1 d1 e1 f1 g1 / c10 d10 e10 f10 g10"
    played.table.new_game("scouts", {"start": start}, seed=1)
    board = dict(played.view.board.target or {})
    played.show(board, game="scouts")
    moment = played.view.moment
    board[Square.parse("c2")] = board.pop(Square.parse("c1"))
    played.show(board, game="scouts")
    assert played.view.moment == moment
    played.table.resume("host")
    played.wait(0.2)
    assert played.view.match.log[-1] == "1. White dashes c1 to c2."


@pytest.mark.parametrize("game", WITH_PIECES)
def test_stages_that_hands_did_before_are_over(played: Played, game: str) -> None:
    """Orders come by phone; the board already lies as the stage leaves it when the stage is
    told.
    """
    begin(played, game)
    rng = Random(3)
    for _ in range(60):
        session = session_of(played.table)
        if session.phase is Phase.STAGES and session.needs_hands:
            break
        if session.phase is Phase.STAGES:
            played.table.confirm("host", session.moment, session.stage_index)
            continue
        for seat in sorted(session.awaited):
            action = session.require_game().random_action(session.state, seat, rng)
            played.table.hand_in(seat, session.moment, session.require_game().format(action))
    session = session_of(played.table)
    stage = session.stages[session.stage_index]
    assert stage.expected is not None, "this game asks hands for something"
    played.show(stage.expected, game=game)
    for _ in range(20):
        played.wait(3.0)
    after = session_of(played.table)
    assert (after.moment, after.stage_index) != (session.moment, session.stage_index)


def sees(played: Played, *strangers: int, quiet: bool = True) -> str:
    """Return the sign's smaller line once the camera sees the board as it should be, and these
    markers.
    """
    played.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
    layout = played.view.board.layout
    played.table.handle_reading(
        Reading(top_faces(layout), strangers=strangers, quiet=quiet, game="outbuffered")
    )
    played.table.step()
    return played.view.sign.small


def test_the_same_tag_twice_is_named(played: Played) -> None:
    played.begin()
    game = GAMES["outbuffered"]
    robot = game.kit(game.options({})).face("lime robot").markers[0]
    assert f"The lime robot is seen twice (marker {robot}): take one away." in sees(played, robot)


def test_unknown_markers_are_told_in_quiet_games(played: Played) -> None:
    assert "marker" not in sees(played, 99).lower(), "no game is on"
    played.begin()
    assert "marker" not in sees(played, 99, quiet=False).lower(), "something moves"
    before = played.view.sign.small
    words = "Marker 99 belongs to no piece of this game: take it away."
    assert sees(played, 99) == f"{before} {words}".strip()
    assert sees(played) == before, "it is gone with the stranger"
