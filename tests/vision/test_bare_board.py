"""A board of cards that is told to be bare at a glance: never with a card on it, and with what lies beside it found."""

from __future__ import annotations

import numpy as np
import pytest

from companion.games import GAMES
from vision.cards.bare_board import is_bare, places_beside
from vision.cards.glance import glance_at
from vision.pose.pose import Points
from vision.simulation.render import camera_pose
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

KIT = GAMES["binmat"].kit(GAMES["binmat"].options({}))
VIEW = View(width=1280, height=720, tilt_deg=20.0)
ROOM = np.full(2, -40.0), np.array([KIT.board.width_mm, KIT.board.height_mm]) + 40.0
CARD_Z_MM = 0.3


@pytest.fixture(scope="module")
def table() -> SimulatedTable:
    return SimulatedTable(KIT, VIEW)


def places(table: SimulatedTable) -> list[Points] | None:
    """Where beside the board a marker may lie; None: the board may hold a card."""
    glance = glance_at(table.render_luma(), camera_pose(KIT, table.view), KIT, ROOM, CARD_Z_MM)
    return places_beside(glance, KIT) if is_bare(glance, KIT) else None


def test_an_empty_board_is_bare(table: SimulatedTable) -> None:
    table.set_up({})
    assert places(table) is not None


@pytest.mark.parametrize("push_mm", [(0.0, 0.0), (20.0, 70.0), (36.0, 0.0)])
def test_a_board_with_a_card_is_not(table: SimulatedTable, push_mm: tuple[float, float]) -> None:
    """Also on the print of a zone, and across a line."""
    table.set_up({KIT.board.squares[0]: ("9^",)})
    table.nudge(next(piece.id for piece in table.pieces() if piece.face == "9^"), *push_mm)
    assert places(table) is None


def test_nor_is_one_with_a_hand_on_it(table: SimulatedTable) -> None:
    table.set_up({})
    table.hold_hand(KIT.board.squares[4])
    found = places(table)
    table.hold_hand(None)
    assert found is None


def test_a_card_beside_the_board_is_looked_at_closely(table: SimulatedTable) -> None:
    table.set_up({KIT.board.squares[1]: ("9^",)})
    piece = next(piece for piece in table.pieces() if piece.face == "9^")
    table.nudge(piece.id, -piece.x_mm - 45.0, 0.0)  # its right edge with a marker at 13 mm from the board's side
    found = places(table)
    assert found is not None
    marker = (
        np.array([-45.0 + KIT.deck.width_mm / 2 - 9.25, piece.y_mm + KIT.deck.height_mm / 2 - 9.25]) if KIT.deck else 0
    )
    assert any((low < marker).all() and (marker < high).all() for low, high in found)
