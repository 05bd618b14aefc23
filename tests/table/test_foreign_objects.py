"""Markers that belong to no piece of the game, or lie there twice: the sign names them and says what to do."""

from __future__ import annotations

from table_tools import Played

from companion.core.ports import CameraState, CameraStatus, Reading
from companion.games import GAMES
from companion.table.board_check import tops

KITS = {name: game.kit(game.options({})) for name, game in GAMES.items()}


def sees(played: Played, *strangers: int, quiet: bool = True) -> str:
    """The sign's smaller line once the camera sees the board as it should be, and these markers besides."""
    played.table.camera_is(CameraStatus(CameraState.SEES_BOARD))
    layout = played.view.board.layout
    played.table.saw(Reading(tops(layout), strangers=strangers, quiet=quiet, game="outbuffered"))
    played.table.step()
    return played.view.sign.small


def marker_of(game: str, face: str) -> int:
    return KITS[game].face(face).markers[0]


def test_a_piece_of_another_game_is_named(played: Played) -> None:
    played.begin()
    scout = marker_of("scouts", KITS["scouts"].faces[0].name)
    assert sees(played, scout).endswith(
        f"The {KITS['scouts'].faces[0].name} of Scouts lies here (marker {scout}): take it away."
    )
    corner = KITS["kahmate"].board.corners[2]
    assert f"The board’s corner of Kahmate lies here (marker {corner}): take it away." in sees(
        played, corner
    )
    deck = KITS["binmat"].deck
    assert deck is not None
    card = deck.cards[3]
    assert (
        f"The card {card.name} of BINMAT lies here (marker {card.marker}): take it away."
        in sees(played, card.marker)
    )


def test_the_same_tag_twice_is_named(played: Played) -> None:
    played.begin()
    robot = marker_of("outbuffered", "lime robot")
    assert f"The lime robot is seen twice (marker {robot}): take one away." in sees(played, robot)
    corner = KITS["outbuffered"].board.corners[0]
    assert f"The board’s corner is seen twice (marker {corner}): take one away." in sees(
        played, corner
    )


def test_a_marker_that_nobody_knows_is_told_by_its_number(played: Played) -> None:
    played.begin()
    known = {marker for kit in KITS.values() for face in kit.faces for marker in face.markers}
    known |= {marker for kit in KITS.values() for marker in kit.board.corners}
    free = next(marker for marker in range(99, 0, -1) if marker not in known)
    assert f"Marker {free} belongs to no piece of this game: take it away." in sees(played, free)


def test_nothing_is_said_while_something_moves_or_no_game_is_on(played: Played) -> None:
    assert "marker" not in sees(played, 99).lower()
    played.begin()
    assert "marker" not in sees(played, 99, quiet=False).lower()
