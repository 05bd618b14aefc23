"""Fans that are told at a glance: those that lie plainly, and never one with a card that is not among them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from companion.core.grid import Square
from companion.games import GAMES
from vision.cards.fans import Lying
from vision.cards.glance import Glance, glance_at
from vision.cards.plain_fans import PlainFans
from vision.simulation.render import camera_pose
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

KIT = GAMES["binmat"].kit(GAMES["binmat"].options({}))
VIEWS = [View(width=1920, height=1080, tilt_deg=25.0), View(width=1280, height=720, tilt_deg=25.0)]
ROOM = np.full(2, -40.0), np.array([KIT.board.width_mm, KIT.board.height_mm]) + 40.0
C1, C2 = Square(2, 0), Square(2, 1)
PLAIN = PlainFans(KIT)


@pytest.fixture(scope="module", params=VIEWS, ids=["1080p", "720p"])
def table(request: pytest.FixtureRequest) -> SimulatedTable:
    return SimulatedTable(KIT, request.param)


def seen(table: SimulatedTable) -> tuple[Glance, dict[str, Lying]]:
    """A glance, and the cards of which whole markers are seen, by name."""
    luma, pose = table.render_luma(), camera_pose(KIT, table.view)
    glance = glance_at(luma, pose, KIT, ROOM, 0.3)
    return glance, {card.name: card for card in PLAIN.cards(glance, luma, pose) or ()}


def put(table: SimulatedTable, card: str, x_mm: float, y_mm: float, turn: float = 0.0) -> None:
    piece = next(piece for piece in table.pieces() if piece.face == card)
    table.nudge(piece.id, x_mm - piece.x_mm, y_mm - piece.y_mm)
    table.turn(piece.id, turn)


def fan(cards: dict[str, Lying], *names: str) -> Sequence[Lying]:
    return [cards[name] for name in names]


def test_all_cards_of_neat_fans_are_known_and_nothing_else_is_there(table: SimulatedTable) -> None:
    table.set_up({C1: ("4^", "9^", "9#"), C2: ("7&", "*!")})
    glance, cards = seen(table)
    assert set(cards) == {"4^", "9^", "9#", "7&", "*!"}
    assert PLAIN.is_all(glance, [fan(cards, "4^", "9^", "9#"), fan(cards, "7&", "*!")])


def test_fans_of_five_in_all_zones_are_known_in_the_shadows_of_their_edges(table: SimulatedTable) -> None:
    """Where edges of many cards lie on each other, they and the lines beside them are nearly as dark as print."""
    names = [card.name for card in KIT.deck.cards] if KIT.deck else []
    fans = {zone: tuple(names[5 * n : 5 * n + 5]) for n, zone in enumerate(KIT.board.squares)}
    table.set_up(fans)
    glance, cards = seen(table)
    assert len(cards) == 60
    assert PLAIN.is_all(glance, [fan(cards, *names) for names in fans.values()])


@pytest.mark.parametrize("left_out", ["4^", "9^", "9#"])
def test_a_fan_without_one_of_its_cards_is_not_all(table: SimulatedTable, left_out: str) -> None:
    table.set_up({C1: ("4^", "9^", "9#")})
    glance, cards = seen(table)
    assert not PLAIN.is_all(glance, [fan(cards, *(name for name in ("4^", "9^", "9#") if name != left_out))])


@pytest.mark.parametrize("step_mm", [5.4, 6.0, 7.0, 9.0, 12.0])
@pytest.mark.parametrize("y_mm", [39.0, 44.0, 60.0, 67.7, 72.6, 90.0])
def test_a_strip_of_a_card_below_is_more_than_the_card_above(
    table: SimulatedTable, step_mm: float, y_mm: float
) -> None:
    """Also where it lies on the line at the end of a zone, and on the board’s own sign and words."""
    table.set_up({C1: ("4^", "9^")})
    x = KIT.board.centre_mm(C1)[0]
    put(table, "4^", x, y_mm)
    put(table, "9^", x, y_mm + step_mm)
    glance, cards = seen(table)
    assert not PLAIN.is_all(glance, [fan(cards, "9^")])


@pytest.mark.parametrize("seen_mm", [2.6, 3.4, 5.0])
@pytest.mark.parametrize("turn", [0.0, 3.0])
def test_so_is_one_beside_it(table: SimulatedTable, seen_mm: float, turn: float) -> None:
    table.set_up({C1: ("4^", "9^")})
    x, y = KIT.board.centre_mm(C1)
    put(table, "4^", x - 2.0, y, turn)
    put(table, "9^", x + 1.0 + seen_mm, y + 1.0, turn)
    glance, cards = seen(table)
    assert not PLAIN.is_all(glance, [fan(cards, "9^")])


def test_cards_of_two_fans_that_touch_are_for_a_close_look(table: SimulatedTable) -> None:
    table.set_up({C1: ("4^",), C2: ("7&",)})
    x, y = KIT.board.centre_mm(C1)
    put(table, "4^", x, y + 50.0)
    put(table, "7&", x, y + 50.0 + 80.0)
    glance, cards = seen(table)
    assert not PLAIN.is_all(glance, [[card] for card in cards.values()])
