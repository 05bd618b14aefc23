"""Test the drawings: complete, well-formed, distinct in shape, and usable alone."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from companion.core.drawings import DRAWINGS, SIGN_COLOUR, sprite, standalone_svg
from companion.games import GAMES

STANDALONE_COLOURS = {"colour": "#B4DC14", "edge": "#1B1814", "face": "#000000"}


def test_games_name_only_known_drawings() -> None:
    for game in GAMES.values():
        kit = game.kit(game.options({}))
        named = {face.drawing for face in kit.faces} | {mark.drawing for mark in kit.board.marks}
        named |= {side.drawing for side in kit.sides.values()}
        assert named <= set(DRAWINGS), game.name


def test_the_sprite_has_a_symbol_per_drawing() -> None:
    root = ElementTree.fromstring(sprite())
    assert [symbol.get("id") for symbol in root.iter("symbol")] == list(DRAWINGS)
    assert {symbol.get("viewBox") for symbol in root.iter("symbol")} == {"0 0 100 100"}
    assert [pattern.get("id") for pattern in root.iter("pattern")] == ["dots", "hatch"]


@pytest.mark.parametrize("name", sorted(DRAWINGS))
def test_a_standalone_drawing_leaves_nothing_to_resolve(name: str) -> None:
    text = standalone_svg(name, **STANDALONE_COLOURS)
    ids = {element.get("id") for element in ElementTree.fromstring(text).iter()}
    assert ids.issuperset(re.findall(r"url\(#(\w+)\)", text))
    assert "var(" not in text
    assert "currentColor" not in text


def test_sides_differ_in_shape() -> None:
    for kind in ("robot", "flag", "start", "base", "scout"):
        south, north = (re.findall(r' d="([^"]*)"', DRAWINGS[f"{kind}-{side}"]) for side in "sn")
        assert south != north, kind


def test_suits_differ_in_shape_without_colour() -> None:
    suits = {name: inner for name, inner in DRAWINGS.items() if name.startswith("suit-")}
    assert len(set(suits.values())) == 6
    for name, inner in suits.items():
        assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', inner)) <= {"currentColor", "none"}, (
            name
        )


ROOT = Path(__file__).parents[2]


def test_pages_and_icon_share_the_signs_colour() -> None:
    tokens = (ROOT / "web/static/base.css").read_text(encoding="utf-8")
    assert set(re.findall(r"--sign: (#\w+)", tokens)) == {SIGN_COLOUR}
    assert SIGN_COLOUR in (ROOT / "web/static/favicon.svg").read_text(encoding="utf-8")
