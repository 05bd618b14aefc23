"""An import only ever points down; no room knows a game by name but the games themselves."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GROUND = {
    "companion",
    "companion.errors",
    "companion.grid",
    "companion.kit",
    "companion.games.base",
    "companion.games.screen",
    "companion.drawings",
    "companion.languages",
    "companion.files",
}
PORTS = (
    GROUND
    | {
        "companion.past",
        "companion.care",
        "companion.paper",
        "companion.voice",
        "companion.health",
        "companion.health.findings",
        "companion.logs",
        "companion.vitals",
        "companion.disk",
        "companion.ports",
        "companion.config",
        "companion.clock",
        "companion.joining",
        "companion.paper.printing",
    }
    | {
        f"companion.{name}"
        for name in ("staff", "care.rooms", "care.settings_file", "care.settings_rows", "care.settings_words")
    }
)
CORE = PORTS | {
    f"companion.{name}"
    for name in [
        "records",
        "countdown",
        "fairness",
        "pledges",
        "chances",
        "session",
        "advance",
        "journal",
        "disk.calendar",
        "disk.chain",
        "disk.foreign",
        "disk.formats",
        "disk.guarded",
        "disk.head",
        "disk.holding",
        "disk.rescue",
        "disk.space",
        "disk.words",
        "referee",
        "live",
        "signs",
        "views",
        "pads",
        "handover",
        "seat_claims",
        "care.choices",
        "owner",
        "timekeeper",
        "desk",
        "watch",
        "table",
        "past.shelf",
        "past.played",
        "past.replay",
        "paper.rulebook",
        "engine",
    ]
}
DOORS = {
    "web": CORE - {"companion.journal", "companion.engine", "companion.past.replay"},
    "hardware": PORTS,
    "vision": PORTS,
}


def modules() -> list[tuple[str, Path]]:
    """Name and file of every module of the project."""
    found = []
    for package in ("companion", "hardware", "vision", "web"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.append((".".join(part for part in parts if part != "__init__"), path))
    return found


def imports_of(path: Path) -> set[str]:
    """The project's modules that a file imports, those under TYPE_CHECKING included."""
    known = {name for name, _ in modules()}
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found & known


def allowed(name: str) -> set[str]:
    """What a module may import, by its floor."""
    package = name.split(".", maxsplit=1)[0]
    if package in DOORS:
        own = {module for module, _ in modules() if module.split(".")[0] == package}
        return DOORS[package] | own
    if name in GROUND:
        return GROUND
    if name.startswith("companion.games"):
        game = ".".join(name.split(".")[:3])
        siblings = {module for module, _ in modules() if module == game or module.startswith(f"{game}.")}
        every_game = {module for module, _ in modules() if module.startswith("companion.games.")}
        return GROUND | siblings | (every_game if name == "companion.games" else set())
    if name in PORTS:
        return PORTS
    if name in CORE:
        return CORE | {"companion.games"}
    return {module for module, _ in modules()}


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_point_down(name: str, path: Path) -> None:
    upwards = imports_of(path) - allowed(name) - {name}
    assert not upwards, f"{name} must not import {', '.join(sorted(upwards))}"


def test_no_door_names_a_game() -> None:
    games = {
        path.stem
        for path in (ROOT / "companion/games").iterdir()
        if path.stem not in ("__init__", "base", "screen", "__pycache__")
    }
    for package in DOORS:
        for path in (ROOT / package).rglob("*"):
            if path.suffix in (".py", ".html", ".js", ".css"):
                text = path.read_text(encoding="utf-8").lower()
                assert not [game for game in games if game in text], f"{path.name} names a game"
