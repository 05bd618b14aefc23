"""Test that nothing that is printed on a board is taken for a piece or a card."""

from dataclasses import replace
from typing import Any

import pytest
from reading_tools import KITS, render_table

from vision.reading.board_reader import make_board_reader
from vision.simulation.view import Glare, default_view

LIGHTS: dict[str, dict[str, Any]] = {
    "dim": {"light": 0.35, "noise": 3.0},
    "uneven": {"gradient": 0.45, "cast_bgr": (0.7, 0.9, 1.1), "turn_deg": 180.0},
}


@pytest.mark.parametrize("light", LIGHTS)
@pytest.mark.parametrize("game", KITS)
def test_a_bare_board_is_read_as_empty(game: str, light: str) -> None:
    kit = KITS[game]
    table = render_table(kit, replace(default_view(kit), **LIGHTS[light]))
    table.set_up({})
    # push the pieces beside the board out of the picture
    for piece in table.pieces():
        table.nudge(piece.id, 3000.0, 0.0)
    reading = make_board_reader(KITS).read_picture(table.render_luma())
    assert reading.game == game
    assert (dict(reading.seen), dict(reading.fans)) == ({}, {})
    assert (reading.strangers, reading.beside) == ((), ())
    assert reading.unknown == frozenset()


def test_printed_titles_are_not_read_as_cards() -> None:
    """Read a fan in each zone of lanes 0, 1, 4 and 5.

    South's fans begin at the printed title in lanes 0 and 1, North's at the title in 4 and 5.
    """
    kit = KITS["binmat"]
    assert kit.deck is not None
    names = [card.name for card in kit.deck.cards]
    zones = [square for square in kit.board.squares if square.file in (0, 1, 4, 5)]
    layout = {zone: tuple(names[3 * number : 3 * number + 3]) for number, zone in enumerate(zones)}
    table = render_table(kit, default_view(kit))
    table.set_up(layout)
    reading = make_board_reader(KITS).read_picture(table.render_luma())
    assert dict(reading.fans) == layout
    assert reading.unknown == frozenset()


@pytest.mark.parametrize(
    ("off_mm", "radius_mm"), [((0.0, 0.0), 24.0), ((18.0, 25.0), 36.0), ((-18.0, -25.0), 12.0)]
)
def test_a_card_under_glare_leaves_no_empty_zone(
    off_mm: tuple[float, float], radius_mm: float
) -> None:
    kit = KITS["binmat"]
    zone = kit.board.squares[4]
    x, y = kit.board.centre_mm(zone)
    glare = Glare(x + off_mm[0], y + off_mm[1], radius_mm)
    table = render_table(kit, replace(default_view(kit), glare=glare))
    table.set_up({zone: ("4^",)})
    reading = make_board_reader(KITS).read_picture(table.render_luma())
    assert zone in reading.unknown or reading.fans.get(zone)
