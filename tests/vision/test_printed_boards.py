"""Every board as it is printed, bare and with every piece, in three lights: nothing on it is taken for a piece."""

from dataclasses import replace
from typing import Any

import pytest

from companion.core.kit import Kit, Layout
from companion.games import GAMES
from companion.printing.printed_kit import printed_table
from vision.reading.board_reader import board_reader
from vision.simulation.view import default_view

KITS = {name: game.kit(game.options({})) for name, game in GAMES.items()}
LIGHTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "dim": {"light": 0.35, "noise": 3.0},
    "uneven": {"gradient": 0.45, "cast_bgr": (0.7, 0.9, 1.1), "turn_deg": 180.0},
}
CARDS_A_ZONE = 6


def all_pieces(kit: Kit) -> Layout:
    """Every piece on a square of its own; of a deck a fan in every zone."""
    if kit.deck:
        names = [card.name for card in kit.deck.cards]
        return {
            zone: tuple(names[number * CARDS_A_ZONE : (number + 1) * CARDS_A_ZONE])
            for number, zone in enumerate(kit.board.squares)
        }
    free = [square for square in kit.board.squares if square not in kit.board.holes]
    single = [faces[:1] for faces in kit.pieces if kit.face(faces[0]).size == (1, 1)]
    return dict(zip(free[:: len(free) // len(single)], single, strict=False))


@pytest.mark.parametrize("light", LIGHTS)
@pytest.mark.parametrize("game", KITS)
def test_a_bare_board_is_bare(game: str, light: str) -> None:
    kit = KITS[game]
    table = printed_table(kit, replace(default_view(kit), **LIGHTS[light]))
    table.set_up({})
    for piece in table.pieces():
        table.nudge(piece.id, 3000.0, 0.0)
    reading = board_reader(KITS).read_picture(table.render_luma())
    assert reading.game == game
    assert (dict(reading.seen), dict(reading.fans), reading.strangers, reading.beside) == ({}, {}, (), ())
    assert reading.unknown == frozenset()


@pytest.mark.parametrize("light", LIGHTS)
@pytest.mark.parametrize("game", KITS)
def test_every_piece_is_read_on_its_printed_board(game: str, light: str) -> None:
    kit = KITS[game]
    layout = all_pieces(kit)
    table = printed_table(kit, replace(default_view(kit), **LIGHTS[light]))
    table.set_up(layout)
    reading = board_reader(KITS).read_picture(table.render_luma())
    told = reading.fans if kit.deck else {square: (face,) for square, face in reading.seen.items()}
    assert dict(told) == layout
    assert reading.strangers == ()
