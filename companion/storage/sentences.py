"""What is said of a journal that was damaged, of what is lost, and of what could not be kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from companion.core.i18n import joined, listed, say, say_n

if TYPE_CHECKING:
    from companion.storage.database import Row
    from companion.storage.recovery import Rescued

MAX_TOLD = 8
"""Maximum number of games that a sentence names."""


def broken_words(row: Row, is_legible: bool) -> str:
    """Say which input of a game is the first that is not as it was written."""
    if not is_legible:
        return say(
            "Entry {number} of the journal cannot be read: the rest of its game is left out.",
            number=row.id,
        )
    return say(
        "Game {game} cannot be continued from entry {number} on: that entry does not follow the "
        "one before it.",
        game=row.game,
        number=row.id,
    )


def rescue_words(rescued: Rescued, aside: Path) -> str:
    """Say that a damaged file was set aside, and what is kept of it."""
    saved = say_n("{n} input", "{n} inputs", len(rescued.inputs))
    of = say_n("{n} game", "{n} games", rescued.games)
    sentences = [
        say(
            "The journal was damaged. {inputs} of {games} are kept, what cannot be read is in "
            "{file}.",
            inputs=saved,
            games=of,
            file=aside.name,
        )
    ]
    # what concerns who sits here now has a sentence of its own: the seats (0), the newest game
    newest = max((row.game for row in rescued.inputs), default=0)
    for game in sorted(rescued.lost):
        if game in (0, newest):
            sentences.append(_cut_words(game, rescued.lost[game]))
    others = sorted(set(rescued.lost) - {0, newest})
    if others:
        sentences.append(
            say("Other games that have lost inputs: {numbers}.", numbers=listed(others[:MAX_TOLD]))
        )
    return joined(" ", sentences)


def _cut_words(game: int, inputs: int) -> str:
    lost = say_n("{n} input", "{n} inputs", inputs)
    if not game:
        return say(
            "The journal was damaged: {inputs} about who sits where are lost. Take your seats "
            "again.",
            inputs=lost,
        )
    return say(
        "The end of game {game} was damaged: {inputs} are lost, it goes on before them. Compare "
        "the board.",
        game=game,
        inputs=lost,
    )
