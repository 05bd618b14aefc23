"""The drawings: complete, well-formed, and free of variables and patterns where a converter asks for that."""

import ast
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import companion.core.drawings
from companion.core.drawings import DRAWINGS, sprite, standalone
from companion.games import GAMES

PROMISED = {
    "robot-s", "robot-n", "flag-s", "flag-n", "disc", "diamond", "scout-s", "scout-s2", "scout-n", "scout-n2", "ball",
    "boulder", "rock", "order-up", "order-down", "order-left", "order-right", "order-idle", "order-shoot", "tick",
    "noentry", "shield", "burst", "blade", "start-s", "start-n", "spawn-s", "spawn-n", "base-s", "base-n", "wall",
    "cross", "shot", "suit-form", "suit-kin", "suit-data", "suit-chaos", "suit-void", "suit-choice",
}  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"
COLOURS = {"colour": "#B4DC14", "edge": "#1B1814", "face": "#000000"}


def test_all_promised_names_are_there() -> None:
    assert set(DRAWINGS) >= PROMISED


def test_games_name_only_known_drawings() -> None:
    for game in GAMES.values():
        kit = game.kit(game.options({}))
        named = {face.drawing for face in kit.faces} | {mark.drawing for mark in kit.board.marks}
        named |= {side.drawing for side in kit.sides.values()}
        assert named <= set(DRAWINGS), game.name


def test_the_sprite_is_one_document_with_a_symbol_each() -> None:
    root = ElementTree.fromstring(sprite())
    assert [symbol.get("id") for symbol in root.iter("symbol")] == list(DRAWINGS)
    assert {symbol.get("viewBox") for symbol in root.iter("symbol")} == {"0 0 100 100"}
    assert [pattern.get("id") for pattern in root.iter("pattern")] == ["dots", "hatch"]


@pytest.mark.parametrize("name", sorted(DRAWINGS))
def test_standalone_leaves_nothing_to_resolve(name: str) -> None:
    text = standalone(name, **COLOURS)
    ElementTree.fromstring(text)
    assert "var(" not in text
    assert "url(" not in text
    assert "currentColor" not in text


def test_colours_arrive_where_they_belong() -> None:
    text = standalone("robot-s", colour="#5B2A9D", edge="#112233", face="#ABCDEF")
    assert 'fill="#5B2A9D" stroke="#112233"' in text
    assert text.count('fill="#ABCDEF"') == 2


def test_dots_lie_inside_the_pennant() -> None:
    root = ElementTree.fromstring(standalone("flag-n", **COLOURS))
    dots = [
        (float(dot.get("cx", "")), float(dot.get("cy", ""))) for dot in root.iter(f"{SVG}circle")
    ]
    assert len(dots) > 10
    for x, y in dots:
        reach = 59 * (1 - abs(y - 38) / 28)
        assert 25 < x < 25 + reach, (x, y)
    assert {dot.get("fill") for dot in root.iter(f"{SVG}circle")} == {"#5A6E0A"}, (
        "half-way between fill and face"
    )


def test_short_colours_are_understood() -> None:
    root = ElementTree.fromstring(standalone("diamond", colour="#fff", edge="#000", face="#000"))
    assert {dot.get("fill") for dot in root.iter(f"{SVG}circle")} == {"#7F7F7F"}


def test_sides_differ_in_shape_and_not_only_in_colour() -> None:
    for kind in ("robot", "flag", "start", "base", "scout"):
        south, north = (re.findall(r' d="([^"]*)"', DRAWINGS[f"{kind}-{side}"]) for side in "sn")
        assert south != north, kind


def test_suits_differ_in_shape_and_have_no_colour_of_their_own() -> None:
    suits = {name: inner for name, inner in DRAWINGS.items() if name.startswith("suit-")}
    assert len(set(suits.values())) == 6
    for name, inner in suits.items():
        assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', inner)) <= {"currentColor", "none"}, (
            name
        )


def test_an_unknown_name_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="unicorn"):
        standalone("unicorn", **COLOURS)


def test_only_the_standard_library_is_imported() -> None:
    source = companion.core.drawings.__file__
    assert source is not None
    tree = ast.parse(Path(source).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert {str(module).split(".")[0] for module in modules} <= sys.stdlib_module_names
