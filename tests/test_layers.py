"""Test which packages and modules import which, from the syntax trees of all source files.

Packages form layers, and a package imports only from those below its own (`MAY_IMPORT`). So the
rules of games and the table can be read, tested and used without pages, pins and cameras.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
UP_TO_STORAGE = {
    "companion.core",
    "companion.games",
    "vision",
    "companion.table",
    "companion.storage",
}
UP_TO_ARCHIVE = UP_TO_STORAGE | {
    "companion.archive",
    "companion.printing",
    "companion.bots",
    "companion.league",
}
BELOW_ADAPTERS = UP_TO_ARCHIVE | {"companion.maintenance", "companion.diagnostics"}
# Packages that connect the table to something outside: browsers, pins, a broker, a voice, a hub.
ADAPTERS = {"web", "hardware", "companion.mqtt", "companion.speech", "companion.hub"}
# Packages that a package may import besides itself. Every package of the project has a line.
MAY_IMPORT: dict[str, set[str]] = {
    "companion.core": set(),
    "companion.games": {"companion.core"},
    "vision": {"companion.core"},
    "companion.table": {"companion.core", "companion.games"},
    "companion.storage": {"companion.core", "companion.games", "companion.table"},
    "companion.archive": UP_TO_STORAGE,
    "companion.printing": UP_TO_STORAGE,
    "companion.bots": UP_TO_STORAGE,
    "companion.league": UP_TO_STORAGE,
    "companion.maintenance": UP_TO_ARCHIVE,
    "companion.diagnostics": UP_TO_ARCHIVE,
    **dict.fromkeys(sorted(ADAPTERS), BELOW_ADAPTERS),
    "companion.service": BELOW_ADAPTERS | ADAPTERS,
    "companion.hub_server": BELOW_ADAPTERS | ADAPTERS,
    "companion.tools": BELOW_ADAPTERS | ADAPTERS | {"companion.service", "companion.hub_server"},
    "companion.cli": BELOW_ADAPTERS
    | ADAPTERS
    | {"companion.service", "companion.hub_server", "companion.tools"},
}
# Modules above all packages: the version, and `python -m companion`, which calls the command line.
TOP_MODULES = {"companion", "companion.__main__"}
GAME_PACKAGES = {
    path.name for path in (ROOT / "companion/games").iterdir() if (path / "__init__.py").is_file()
}


def source_files() -> dict[str, Path]:
    """Return every module of the project and its file."""
    modules = {}
    for package in ("companion", "hardware", "vision", "web"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            modules[".".join(part for part in parts if part != "__init__")] = path
    return modules


FILES = source_files()


def package_of(module: str) -> str:
    """Return the package of a module, as `MAY_IMPORT` names it."""
    parts = module.split(".")
    return parts[0] if parts[0] != "companion" else ".".join(parts[:2])


@cache
def imports_of(path: Path) -> set[str]:
    """Return the project's modules that a file imports.

    Imports under TYPE_CHECKING and inside of functions count, too.
    """
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            # `from package import name` imports a module of this name, or a name of the package
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                imported.add(full if full in FILES else str(node.module))
    return {name for name in imported if name in FILES}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_package_imports_only_from_layers_below(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    for module, path in FILES.items():
        if package_of(module) == package:
            forbidden = {
                name
                for name in imports_of(path)
                if name != "companion" and package_of(name) not in allowed
            }
            assert not forbidden, f"{module} must not import {', '.join(sorted(forbidden))}"


def test_every_module_belongs_to_a_package() -> None:
    assert {package_of(module) for module in FILES} - set(MAY_IMPORT) == TOP_MODULES


def test_every_module_has_docstring_and_imports() -> None:
    for module in FILES.keys() - {"companion.__main__"}:
        assert import_module(module).__doc__, f"{module} has no docstring"


def test_no_game_imports_another() -> None:
    for game in GAME_PACKAGES:
        for module, path in FILES.items():
            if module.startswith(f"companion.games.{game}"):
                others = {f"companion.games.{other}" for other in GAME_PACKAGES - {game}}
                assert not {name for name in imports_of(path) if name.startswith(tuple(others))}, (
                    module
                )


def test_no_modules_import_each_other_in_a_cycle() -> None:
    """Follow the imports from each module, depth first. They must never lead back to their path."""
    graph = {module: imports_of(path) - {module} for module, path in FILES.items()}
    done: set[str] = set()
    import_path: list[str] = []

    def visit(module: str) -> None:
        assert module not in import_path, " -> ".join(
            [*import_path[import_path.index(module) :], module]
        )
        if module not in done:
            import_path.append(module)
            for name in sorted(graph[module]):
                visit(name)
            # all that this module imports has been visited, so it is in no cycle
            done.add(import_path.pop())

    for module in sorted(graph):
        visit(module)


def test_every_package_has_a_docstring() -> None:
    for path in FILES.values():
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), (
                f"{path} has no docstring"
            )


def test_no_adapter_names_a_game() -> None:
    """Look for games' names in all that adapters consist of: a new game must not change them."""
    for package in (*ADAPTERS, "vision"):
        for path in (ROOT / package.replace(".", "/")).rglob("*"):
            if path.suffix in (".py", ".html", ".js", ".css"):
                text = path.read_text(encoding="utf-8").lower()
                assert not [game for game in GAME_PACKAGES if game in text], (
                    f"{path.name} names a game"
                )
