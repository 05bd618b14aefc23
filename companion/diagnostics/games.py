"""The doctor's look at the games that other packages bring."""

from __future__ import annotations

from collections.abc import Iterator

from companion.core.i18n import Verbatim, say
from companion.diagnostics.findings import Finding, Grade
from companion.games.plugins import plugin_games


def games_from_outside() -> Iterator[Finding]:
    """Yield which there are, and which cannot be used."""
    for game in plugin_games():
        parts = {"game": Verbatim(game.name), "package": Verbatim(game.package)}
        if not game.trouble:
            yield Finding(
                "games", Grade.OK, say("The game “{game}” comes from {package}.", **parts)
            )
            continue
        text = say(
            "The game “{game}” from {package} is not loaded: {trouble}. Repair or uninstall that package.",
            **parts,
            trouble=Verbatim(game.trouble.rstrip(".")),
        )
        yield Finding("games", Grade.WARN, text)
