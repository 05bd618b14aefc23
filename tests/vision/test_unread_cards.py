"""Cards of which nearly nothing is seen are never left out, and what proves nothing makes no fan unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import Reading
from companion.games.binmat import Binmat
from vision.cards.card_view import CardView, DarkPrint
from vision.cards.hidden_lines import SeenLines
from vision.cards.unread import UnreadCards
from vision.pieces.board_reader import board_reader
from vision.pose.pose import Maps, Points, rectangle_corners_mm
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

GAME = Binmat()
KIT: Kit = GAME.kit(GAME.options({}))
VIEW = View(width=1920, height=1080, tilt_deg=25.0)
B1, C1, D1 = Square(1, 0), Square(2, 0), Square(3, 0)


@pytest.fixture(scope="module")
def table() -> SimulatedTable:
    return SimulatedTable(KIT, VIEW)


def put(table: SimulatedTable, card: str, x_mm: float, y_mm: float, turn: float = 0.0) -> None:
    """Lay a card so that its middle is there."""
    piece = next(p for p in table.pieces() if p.face == card)
    table.nudge(piece.id, x_mm - piece.x_mm, y_mm - piece.y_mm)
    table.turn(piece.id, turn)


def read(table: SimulatedTable) -> Reading:
    return board_reader({KIT.game: KIT}).read_picture(table.render_luma())


def is_whole(reading: Reading, zone: Square) -> bool:
    """Is a stack accepted as all that lies there?"""
    return zone not in reading.unknown and "X" not in reading.fans.get(zone, ("X",))


@pytest.mark.parametrize("seen_mm", [2.0, 2.6, 3.4])
@pytest.mark.parametrize("turn", [0.0, 3.0])
def test_a_strip_of_a_marker_beside_the_card_above_is_a_card(
    table: SimulatedTable, seen_mm: float, turn: float
) -> None:
    table.set_up({C1: ("4^", "9^")})
    x, y = KIT.board.centre_mm(C1)
    put(table, "4^", x - 2.0, y, turn)
    put(table, "9^", x + 1.0 + seen_mm, y + 1.0, turn)
    assert not is_whole(read(table), C1)


@pytest.mark.parametrize("step_mm", [5.4, 6.0, 7.0])
def test_a_strip_of_a_marker_at_the_outer_line_is_a_card(table: SimulatedTable, step_mm: float) -> None:
    table.set_up({C1: ("4^", "9^")})
    x = KIT.board.centre_mm(C1)[0]
    put(table, "4^", x, 39.0)
    put(table, "9^", x, 39.0 + step_mm)
    assert not is_whole(read(table), C1)


@pytest.mark.parametrize("step_mm", [4.6, 5.5, 6.5])
def test_a_strip_of_print_on_the_face_of_a_card_below_is_a_card(table: SimulatedTable, step_mm: float) -> None:
    """Of the middle card nothing is seen but the upper edge of its marker and its value."""
    table.set_up({C1: ("4^", "9^", "9#")})
    x, y = KIT.board.centre_mm(C1)
    put(table, "4^", x, y)
    put(table, "9^", x, y + 22.0 - step_mm)
    put(table, "9#", x, y + 22.0)
    assert not is_whole(read(table), C1)


@pytest.mark.parametrize("below", [("4^",), ()])
def test_a_strip_of_a_marker_narrower_than_its_rim_is_a_card(table: SimulatedTable, below: tuple[str, ...]) -> None:
    """On a card or on the board: print is darker than edges, so near to one as it may be."""
    table.set_up({C1: (*below, "9^", "9#")})
    x, y = KIT.board.centre_mm(C1)
    for card in below:
        put(table, card, x, y - 5.0)
    put(table, "9^", x, y + 20.0)
    put(table, "9#", x, y + 15.6)
    assert not is_whole(read(table), C1)


def test_print_beyond_the_two_signs_of_a_card_is_that_of_another(table: SimulatedTable) -> None:
    """There a value of two digits would have its suit. One unread card is that of the wide step, one that of the print."""
    table.set_up({C1: ("4^", "9^", "9#")})
    x, y = KIT.board.centre_mm(C1)
    put(table, "4^", x, y - 40.0)
    put(table, "9^", x + 16.0, y + 35.0)
    put(table, "9#", x + 16.0, y + 39.4)
    assert read(table).fans[C1] == ("4^", "X", "X", "9#")


def test_print_between_cards_of_two_zones_may_be_that_of_a_card_of_either(table: SimulatedTable) -> None:
    """A card of one zone shows no more than a strip of its marker, on the face of a card of the other."""
    table.set_up({B1: ("4^",), C1: ("9^", "9#")})
    left, right = KIT.board.centre_mm(B1), KIT.board.centre_mm(C1)
    put(table, "4^", left[0] + 2.0, left[1] - 4.0)
    put(table, "9^", right[0] - 20.0, right[1] + 30.0)
    put(table, "9#", right[0] - 15.6, right[1] + 30.0)
    reading = read(table)
    assert not is_whole(reading, B1)
    assert not is_whole(reading, C1)


def test_a_hidden_line_between_two_zones_is_the_matter_of_that_with_an_unread_card() -> None:
    """Where neither has one it may be that of either."""
    paper = np.full((60, 60), 200, np.uint8)
    maps = Maps(np.zeros((60, 60, 2), np.float32), (0.0, 0.0), (60.0, 60.0), 0.0, 1.0)
    none = np.zeros_like(paper)
    view = CardView(maps, paper, paper, DarkPrint(none, none, none, none), none > 0)
    unread, (x, y) = UnreadCards(KIT, (C1, D1)), KIT.board.centre_mm(C1)
    line = np.column_stack([np.full(9, x + KIT.board.square_mm / 2), y + np.arange(9.0)])
    lines = SeenLines((line,), np.empty((0, 2)))
    assert set(unread.find(view, lines, [], {}, ())) == {C1, D1}
    assert set(unread.find(view, lines, [], {}, {C1})) == set()


# ---- the edge of the picture -----------------------------------------------------------------------------------------


def places_px(table: SimulatedTable, points_mm: Points) -> Points:
    return np.asarray(table.to_px(points_mm))


def is_in(table: SimulatedTable, points_mm: Points) -> bool:
    pixels = places_px(table, points_mm)
    return bool((pixels >= 0).all() and (pixels <= np.array(table.size_px()) - 1).all())


@pytest.fixture(scope="module")
def cut() -> SimulatedTable:
    """The southern corner markers are cut off by the edge of the picture, the zones are not."""
    board = KIT.board
    zone = rectangle_corners_mm(*board.centre_mm(C1), board.square_mm, board.depth_mm, 0.0)
    for shift in np.arange(0.0, 60.0, 1.0):
        for sign in (1.0, -1.0):
            found = SimulatedTable(KIT, replace(VIEW, tilt_deg=5.0, fill=0.97, shift_mm=(0.0, sign * float(shift))))
            below = np.array([[board.width_mm / 2, -4.5]])
            far = np.array([[board.width_mm / 2, -8.5]])
            if is_in(found, zone) and is_in(found, below) and not is_in(found, far):
                return found
    raise AssertionError("no such view")


def test_a_fan_at_the_edge_of_the_picture_is_read_where_its_line_is_seen(cut: SimulatedTable) -> None:
    stacks = {C1: ("4^", "9^"), Square(5, 0): ("7&", "*!"), Square(0, 0): ("2!", "9#")}
    cut.set_up(stacks)
    for zone, stack in stacks.items():
        for card in stack:
            put(cut, card, KIT.board.centre_mm(zone)[0], 49.0 + 17.0 * stack.index(card))
    assert dict(read(cut).fans) == stacks


@pytest.mark.parametrize("lower_mm", [20.0, 26.0])
def test_a_card_that_reaches_out_of_the_picture_hides_the_line(cut: SimulatedTable, lower_mm: float) -> None:
    cut.set_up({C1: ("4^", "9^")})
    x = KIT.board.centre_mm(C1)[0]
    put(cut, "9^", x, 49.0)
    put(cut, "4^", x, 49.0 - lower_mm)
    assert not is_whole(read(cut), C1)
