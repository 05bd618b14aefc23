"""Markers that belong to no piece of the game, or lie there twice: the sign names them and says
what to do.
"""

from __future__ import annotations

from table_tools import Played

from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import GAMES
from companion.table.board_check import tops


def sees(played: Played, *strangers: int, quiet: bool = True) -> str:
    """The sign's smaller line once the camera sees the board as it should be, and these markers
    besides.
    """
    played.table.camera_is(CameraStatus(CameraState.SEES_BOARD))
    layout = played.view.board.layout
    played.table.saw(Reading(tops(layout), strangers=strangers, quiet=quiet, game="outbuffered"))
    played.table.step()
    return played.view.sign.small


def test_the_same_tag_twice_is_named(played: Played) -> None:
    played.begin()
    game = GAMES["outbuffered"]
    robot = game.kit(game.options({})).face("lime robot").markers[0]
    assert f"The lime robot is seen twice (marker {robot}): take one away." in sees(played, robot)


def test_a_marker_of_no_piece_is_told_in_a_quiet_game(played: Played) -> None:
    assert "marker" not in sees(played, 99).lower(), "no game is on"
    played.begin()
    assert "marker" not in sees(played, 99, quiet=False).lower(), "something moves"
    before = played.view.sign.small
    words = "Marker 99 belongs to no piece of this game: take it away."
    assert sees(played, 99) == f"{before} {words}".strip()
    assert sees(played) == before, "it is gone with the stranger"
