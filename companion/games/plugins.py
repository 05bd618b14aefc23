"""Games from other packages, found by the entry points of the group `tabletop_companion.games`.

Each game is checked once, at the start of the program. A faulty game is left out, so that the other
games still work, and the doctor and the log report why. docs/a-new-game.md explains a complete
example.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from random import Random

from companion.core import drawings
from companion.core.kit import SIDE_COLOURS, Kit
from companion.games import GAMES
from companion.games.base import AnyGame, Game
from companion.games.events import CommonEvent

ENTRY_POINT_GROUP = "tabletop_companion.games"
# Allowed names of games, which stand in addresses, files and on the command line.
_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]{0,30}")


@dataclass(frozen=True)
class PluginGame:
    """A game of another package, as its entry point names it, and the result of its check."""

    name: str
    package: str
    """Name and version of its package."""
    trouble: str = ""
    """Why the game is left out, as a sentence. Empty if it can be played."""


# All games that were found, faulty ones included, by the name, the value and the package of their
# entry point.
_plugins: dict[tuple[str, str, str], PluginGame] = {}


def load_games() -> tuple[PluginGame, ...]:
    """Add the games of other packages to `GAMES`, and return all that were found. Never raises.

    Each entry point is checked only once, however often this is called.
    """
    entries = sorted(
        entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: (entry.name, entry.value)
    )
    for entry in entries:
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "no package"
        key = (entry.name, entry.value, package)
        if key not in _plugins:
            _plugins[key] = PluginGame(entry.name, package, trouble=_load_game(entry))
    return plugin_games()


def plugin_games() -> tuple[PluginGame, ...]:
    """Return the games that `load_games` has found, including faulty ones that are left out."""
    return tuple(_plugins.values())


def _load_game(entry: EntryPoint) -> str:
    """Load a game and add it to `GAMES`. Return a sentence on why that fails, or an empty text."""
    try:
        loaded = entry.load()
        # An entry point may name a class or an instance of it.
        game = loaded() if isinstance(loaded, type) else loaded
        if not isinstance(game, Game):
            return (
                "It is no game: expected a Game of companion.games.base, found "
                f"{type(game).__name__}"
            )
        if fault := next(_find_faults(entry.name, game), ""):
            return fault
        drawings.add_drawings(game.drawings)
    except (Exception, SystemExit) as error:
        # Foreign modules may raise anything on import, including SystemExit.
        return f"It raises {type(error).__name__}: {error}"
    GAMES[game.name] = game
    return ""


def _find_faults(name: str, game: AnyGame) -> Iterator[str]:
    """Yield each reason why a game cannot be used beside the known games, as a sentence.

    The caller stops at the first one, since later checks rely on the earlier ones. May raise
    whatever the game raises.
    """
    if game.name != name or not _NAME_PATTERN.fullmatch(name):
        yield (
            f"It calls itself “{game.name}”, its entry point “{name}”: give both one name of small "
            "letters and figures"
        )
    if name in GAMES:
        yield f"There is a game “{name}” already: choose another name"
    # Start it once with its defaults, so that a failure shows here and not at a table.
    options = game.options({})
    kit = game.kit(options)
    if not game.to_act(game.setup(options, Random(0))):
        yield "Nobody is to act when it begins"
    for drawing in sorted({*_drawings_of(game, kit)} - {*drawings.DRAWINGS, *game.drawings}):
        yield f"There is no drawing “{drawing}”: add it to the game's drawings"
    for side in game.sides.values():
        if side.colour not in SIDE_COLOURS:
            known = ", ".join(SIDE_COLOURS)
            yield f"There is no colour “{side.colour}”: the pages know {known}"
    if game.events is not CommonEvent:
        for kind in sorted({*game.events} & {*CommonEvent}):
            yield f"The event “{kind}” is one of CommonEvent: use that, or another name"
    yield from _find_marker_faults(kit)
    for command in game.tools():
        # The prefix keeps the names on the command line unique.
        command_name = command.name
        if not command_name.startswith(f"{name}-"):
            yield (
                f"The command line cannot have its “{command_name}”: "
                f"call it “{name}-{command_name}”"
            )


def _drawings_of(game: AnyGame, kit: Kit) -> Iterator[str]:
    """Yield the name of every drawing that a game uses. A name may come several times."""
    yield from (face.drawing for face in kit.faces)
    yield from (mark.drawing for mark in kit.board.marks)
    yield from (side.drawing for side in game.sides.values())
    yield from (kind.look.around for kind in game.events if kind.look.around)


def _find_marker_faults(kit: Kit) -> Iterator[str]:
    """Yield a fault for each marker of a kit that already has a meaning in a known game.

    A board is recognised by its corner markers, so no other board and no piece may use them.
    """
    corners: dict[int, str] = {}
    pieces: dict[int, str] = {}
    for known_game in GAMES.values():
        known_kit = known_game.kit(known_game.options({}))
        corners |= dict.fromkeys(known_kit.board.corners, known_game.name)
        pieces |= {marker: known_game.name for face in known_kit.faces for marker in face.markers}
    used = corners | pieces
    for marker in kit.board.corners:
        if marker in used:
            # A board's corners come from DICT_5X5_100, whose ids are 0 to 99.
            free = ", ".join(str(number) for number in range(100) if number not in used)
            owner = used[marker]
            yield f"Marker {marker} of its board's corners belongs to {owner}: free are {free}"
    # A piece may share a marker with a piece of another game, but not with a corner.
    for face in kit.faces:
        for marker in face.markers:
            if marker in corners:
                yield f"Marker {marker} of its pieces is a corner of the board of {corners[marker]}"
