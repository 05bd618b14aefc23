"""Games that other packages bring, found by the entry points of the group
`tabletop_companion.games`.

Each is looked at once, when the program starts. One that cannot be used is left out, and said by
the doctor and in the log. It never keeps the others from being played. docs/a-new-game.md walks
through a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from random import Random
from typing import Any

from companion.core import drawings
from companion.core.kit import SEATS, SIDE_COLOURS, Kit
from companion.games import GAMES
from companion.games.base import Game
from companion.games.events import CommonEvent
from companion.games.tools import tools_of

GROUP = "tabletop_companion.games"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,30}")


class UnusableGameError(ValueError):
    """Something stands under an entry point that cannot be played.

    The message says what to change.
    """


@dataclass(frozen=True)
class PluginGame:
    """An entry point that was found: its name, the package that it comes from, and why it is left
    out (empty: it is not).
    """

    name: str
    package: str
    trouble: str = ""


_found: dict[tuple[str, str, str], PluginGame] = {}


def load_games() -> tuple[PluginGame, ...]:
    """Add the games of other packages to `GAMES`.

    What was looked at before is not looked at again. Never raises.
    """
    for point in _points():
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "no package"
        key = (point.name, point.value, package)
        if key not in _found:
            _found[key] = PluginGame(point.name, package, _load(point))
    return plugin_games()


def plugin_games() -> tuple[PluginGame, ...]:
    """Return what `load_games` has found."""
    return tuple(_found.values())


def _points() -> Iterable[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def _load(point: EntryPoint) -> str:
    """Load a game and add it. Return why that is impossible, as a sentence."""
    try:
        loaded = point.load()
        # an entry point may name a class, or a game made of it
        game = loaded() if isinstance(loaded, type) else loaded
        _check(point.name, game)
        drawings.add(game.drawings)
    except UnusableGameError as error:
        return str(error)
    except (Exception, SystemExit) as error:
        # a stranger's module may do anything while it is loaded, leave the program included
        return f"It raises {type(error).__name__}: {error}"
    GAMES[game.name] = game
    return ""


def _check(name: str, game: object) -> None:
    """Raise `UnusableGameError` unless it is a game that can be begun, printed and seen beside
    those that are there.
    """
    if not isinstance(game, Game):
        raise UnusableGameError(
            f"It is no game: expected a Game of companion.games.base, found {type(game).__name__}"
        )
    if game.name != name or not _NAME.fullmatch(name):
        raise UnusableGameError(
            f"It calls itself “{game.name}”, its entry point “{name}”: give both one name of small "
            "letters and figures"
        )
    if name in GAMES:
        raise UnusableGameError(f"There is a game “{name}” already: choose another name")
    # begun once with its defaults: what fails does so here, not at a table
    options = game.options({})
    kit = game.kit(options)
    if not game.to_act(game.setup(options, Random(0))):
        raise UnusableGameError("Nobody is to act when it begins")
    _check_looks(game, kit)
    _check_markers(kit)
    _check_tools(game)


def _check_looks(game: Game[Any, Any], kit: Kit) -> None:
    """Check that its drawings and colours are known and no event is declared twice."""
    known = {*drawings.DRAWINGS, *game.drawings}
    used = {*_drawings_of(game, kit)}
    if missing := sorted(used - known):
        raise UnusableGameError(
            f"There is no drawing “{missing[0]}”: add it to the game's drawings"
        )
    for seat in SEATS:
        if game.sides[seat].colour not in SIDE_COLOURS:
            raise UnusableGameError(
                f"There is no colour “{game.sides[seat].colour}”: the pages know "
                f"{', '.join(SIDE_COLOURS)}"
            )
    if game.events is not CommonEvent and (again := sorted({*game.events} & {*CommonEvent})):
        raise UnusableGameError(
            f"The event “{again[0]}” is one of CommonEvent: use that, or another name"
        )


def _drawings_of(game: Game[Any, Any], kit: Kit) -> Iterator[str]:
    yield from (face.drawing for face in kit.faces)
    yield from (mark.drawing for mark in kit.board.marks)
    yield from (side.drawing for side in game.sides.values())
    yield from (kind.look.around for kind in game.events if kind.look.around)


def _check_markers(kit: Kit) -> None:
    """Check the markers. The corners of a board tell its game: no other board, and no piece, may
    have their markers.
    """
    corners: dict[int, str] = {}
    pieces: dict[int, str] = {}
    for other in GAMES.values():
        its = other.kit(other.options({}))
        corners |= dict.fromkeys(its.board.corners, other.name)
        pieces |= {marker: other.name for face in its.faces for marker in face.markers}
    used = corners | pieces
    if mine := [marker for marker in kit.board.corners if marker in used]:
        free = ", ".join(str(marker) for marker in range(100) if marker not in used)
        raise UnusableGameError(
            f"Marker {mine[0]} of its board's corners belongs to {used[mine[0]]}: free are {free}"
        )
    # a piece may share its marker with another game's piece, but not with a corner
    own = [marker for face in kit.faces for marker in face.markers]
    if mine := [marker for marker in own if marker in corners]:
        raise UnusableGameError(
            f"Marker {mine[0]} of its pieces is a corner of the board of {corners[mine[0]]}"
        )


def _check_tools(game: Game[Any, Any]) -> None:
    """Check that what it brings to the command line is called by its name, so that names are
    unique.
    """
    for command in tools_of(game).commands:
        name = command.name
        if not name.startswith(f"{game.name}-"):
            raise UnusableGameError(
                f"The command line cannot have its “{name}”: call it “{game.name}-{name}”"
            )
