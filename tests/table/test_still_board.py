"""A board that never changes again: whatever waits for the camera goes on when the last picture
already says yes.
"""

from __future__ import annotations

from random import Random

import pytest
from internals import session_of
from table_tools import TableRig

from companion.core.grid import Square
from companion.core.kit import Layout, Seat
from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import GAMES
from companion.table.board_check import top_faces
from companion.table.session import Phase

WITH_PIECES = ("outbuffered", "arena", "scouts", "kahmate")


def begin(rig: TableRig, game: str) -> Layout:
    """Begin a game whose set-up the camera has seen. Return what lies there."""
    rig.table.new_game(game, {}, seed=1)
    target = rig.view.board.target or {}
    rig.show(target, game=game)
    assert rig.view.phase is Phase.ORDERS
    if (clock := rig.view.time.clock) and clock.paused:
        rig.table.resume("table")
    return target


@pytest.mark.parametrize("game", WITH_PIECES)
def test_pieces_put_back_before_the_rematch_are_enough(rig: TableRig, game: str) -> None:
    layout = dict(begin(rig, game))
    stray = (
        {square: faces for square, faces in layout.items() if square != max(layout)}
        if layout
        else {}
    )
    rig.show(stray, game=game)
    rig.table.resign(Seat.SOUTH)
    rig.show(layout, game=game)
    rig.table.rematch()
    rig.wait(0.2)
    assert rig.view.phase is Phase.ORDERS


def test_plays_under_stopped_clocks_count_later(rig: TableRig) -> None:
    start = "c1 d1 e1 f1 g1 / c10 d10 e10 f10 g10"
    rig.table.new_game("scouts", {"start": start}, seed=1)
    board = dict(rig.view.board.target or {})
    rig.show(board, game="scouts")
    moment = rig.view.moment
    board[Square.parse("c2")] = board.pop(Square.parse("c1"))
    rig.show(board, game="scouts")
    assert rig.view.moment == moment
    rig.table.resume("host")
    rig.wait(0.2)
    assert rig.view.match.log[-1] == "1. White dashes c1 to c2."


@pytest.mark.parametrize("game", WITH_PIECES)
def test_stages_that_hands_did_before_are_over(rig: TableRig, game: str) -> None:
    """Orders come by phone; the board already lies as the stage leaves it when the stage is
    told.
    """
    begin(rig, game)
    rng = Random(3)
    for _ in range(60):
        session = session_of(rig.table)
        if session.phase is Phase.STAGES and session.needs_hands:
            break
        if session.phase is Phase.STAGES:
            rig.table.confirm("host", session.moment, session.stage_index)
            continue
        for seat in sorted(session.awaited_seats):
            action = session.require_game().random_action(session.state, seat, rng)
            rig.table.hand_in(seat, session.moment, session.require_game().format(action))
    session = session_of(rig.table)
    stage = session.stages[session.stage_index]
    assert stage.expected is not None, "this game asks hands for something"
    rig.show(stage.expected, game=game)
    for _ in range(20):
        rig.wait(3.0)
    after = session_of(rig.table)
    assert (after.moment, after.stage_index) != (session.moment, session.stage_index)


def sees(rig: TableRig, *strangers: int, quiet: bool = True) -> str:
    """Return the sign's smaller line once the camera sees the board as it should be, and these
    markers.
    """
    rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
    layout = rig.view.board.layout
    rig.table.handle_reading(
        Reading(top_faces(layout), strangers=strangers, quiet=quiet, game="outbuffered")
    )
    rig.table.step()
    return rig.view.sign.small


def test_the_same_tag_twice_is_named(rig: TableRig) -> None:
    rig.begin()
    game = GAMES["outbuffered"]
    robot = game.kit(game.options({})).face("lime robot").markers[0]
    assert f"The lime robot is seen twice (marker {robot}): take one away." in sees(rig, robot)


def test_unknown_markers_are_told_in_quiet_games(rig: TableRig) -> None:
    assert "marker" not in sees(rig, 99).lower(), "no game is on"
    rig.begin()
    assert "marker" not in sees(rig, 99, quiet=False).lower(), "something moves"
    before = rig.view.sign.small
    words = "Marker 99 belongs to no piece of this game: take it away."
    assert sees(rig, 99) == f"{before} {words}".strip()
    assert sees(rig) == before, "it is gone with the stranger"
