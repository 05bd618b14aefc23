"""Test boards that lie still: the camera's last reading settles what is waited for afterwards.

Markers that belong to no piece are tested here as well.
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

GAMES_WITH_PIECES = ("outbuffered", "arena", "scouts", "kahmate")


def begin(rig: TableRig, game: str) -> Layout:
    """Begin a game whose set-up the camera has seen. Return its layout."""
    rig.table.new_game(game, {}, seed=1)
    target = rig.view.board.target or {}
    rig.show_reading(target, game=game)
    assert rig.view.phase is Phase.ORDERS
    if (clock := rig.view.time.clock) and clock.paused:
        rig.table.resume("table")
    return target


@pytest.mark.parametrize("game", GAMES_WITH_PIECES)
def test_a_board_set_up_early_starts_the_rematch(rig: TableRig, game: str) -> None:
    """Hands set the board up while the end of the last game is still shown."""
    layout = dict(begin(rig, game))
    # The board without one piece. Some games begin with an empty board.
    incomplete = (
        {square: faces for square, faces in layout.items() if square != max(layout)}
        if layout
        else {}
    )
    rig.show_reading(incomplete, game=game)
    rig.table.resign(Seat.SOUTH)
    rig.show_reading(layout, game=game)
    rig.table.rematch()
    rig.wait(0.2)
    assert rig.view.phase is Phase.ORDERS


def test_a_move_under_stopped_clocks_counts_later(rig: TableRig) -> None:
    # White's and Black's scouts are placed. The first clock waits to be started.
    start = "c1 d1 e1 f1 g1 / c10 d10 e10 f10 g10"
    rig.table.new_game("scouts", {"start": start}, seed=1)
    board = dict(rig.view.board.target or {})
    rig.show_reading(board, game="scouts")

    # A move does not count before. Once the clock runs, it counts without another reading.
    moment = rig.view.moment
    board[Square.parse("c2")] = board.pop(Square.parse("c1"))
    rig.show_reading(board, game="scouts")
    assert rig.view.moment == moment
    rig.table.resume("host")
    rig.wait(0.2)
    assert rig.view.match.log[-1] == "1. White dashes c1 to c2."


@pytest.mark.parametrize("game", GAMES_WITH_PIECES)
def test_a_stage_done_in_advance_is_over(rig: TableRig, game: str) -> None:
    """Show the board as a stage leaves it, and nothing else afterwards."""
    # Play at random until a stage gives hands something to do.
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
    assert stage.expected is not None, "a stage of this game must have a layout"

    # The camera sees the board once as it lies after this stage. Time does the rest.
    rig.show_reading(stage.expected, game=game)
    for _ in range(20):
        rig.wait(3.0)
    after = session_of(rig.table)
    assert (after.moment, after.stage_index) != (session.moment, session.stage_index)


def see_markers(rig: TableRig, *strangers: int, quiet: bool = True) -> str:
    """Let the camera see the expected board and markers of no piece on it.

    Return the sign's smaller line.
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
    assert f"The lime robot is seen twice (marker {robot}): take one away." in see_markers(
        rig, robot
    )


def test_unknown_markers_are_named_in_games(rig: TableRig) -> None:
    # No marker is named between games, or while something moves.
    assert "marker" not in see_markers(rig, 99).lower()
    rig.begin()
    assert "marker" not in see_markers(rig, 99, quiet=False).lower()
    before = rig.view.sign.small
    words = "Marker 99 belongs to no piece of this game: take it away."
    assert see_markers(rig, 99) == f"{before} {words}".strip()
    assert see_markers(rig) == before, "the words must go with the marker"
