"""What is said of a journal that was damaged, of what is lost, and of what could not be kept."""

from __future__ import annotations

import time
from pathlib import Path

from companion.core.i18n import joined, say, say_n
from companion.storage.calendar import EARLIEST_S
from companion.storage.checksums import Row
from companion.storage.journal_head import Lost


def input_not_kept(why: str) -> str:
    """An input was refused by the disk."""
    return say("The input could not be saved ({error}): nothing has changed. Free some space on the disk.", error=why)


def clock_not_kept(why: str) -> str:
    """The time of a clock was refused by the disk."""
    return say("The clock could not be saved ({error}). Free some space on the disk.", error=why)


def key_not_kept(why: str) -> str:
    """A new key was refused by the disk."""
    return say("The new key cannot be saved: {error}", error=why)


def broken_words(row: Row, is_legible: bool) -> str:
    """What is said of the first input of a game that is not as it was written."""
    if not is_legible:
        return unreadable_words(row.id)
    return say(
        "Game {game} cannot be continued from entry {number} on: that entry does not follow the one before it.",
        game=row.game,
        number=row.id,
    )


def unreadable_words(number: int) -> str:
    """An input is none that this program has written."""
    return say("Entry {number} of the journal cannot be read: the rest of its game is left out.", number=number)


def cut_words(game: int, inputs: int) -> str:
    """The end of a game was not as it was written, and was cut off."""
    lost = say_n("{n} input", "{n} inputs", inputs)
    if not game:
        return say(
            "The journal was damaged: {inputs} about who sits where are lost. Take your seats again.", inputs=lost
        )
    return say(
        "The end of game {game} was damaged: {inputs} are lost, it goes on before them. Compare the board.",
        game=game,
        inputs=lost,
    )


def rescue_words(inputs: int, games: int, aside: Path, is_foreign: bool) -> str:
    """A file was put aside and what can be read of it is kept; `is_foreign`: something was in it that is not ours."""
    kept, of = say_n("{n} input", "{n} inputs", inputs), say_n("{n} game", "{n} games", games)
    if is_foreign:
        return say(
            "The journal held something that this program never writes, and that could have given secrets away. It was "
            "left out: {inputs} of {games} are kept, the old file is {file}. Make a new host key.",
            inputs=kept,
            games=of,
            file=aside.name,
        )
    return say(
        "The journal was damaged. {inputs} of {games} are kept, what cannot be read is in {file}.",
        inputs=kept,
        games=of,
        file=aside.name,
    )


def lost_words(lost: Lost, aside: Path | None) -> str:
    """The journal has less than was written; `aside`: where its files are kept as they were found."""
    told: list[str] = []
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(lost.since)) if lost.since >= EARLIEST_S else ""
    if lost.inputs and lost.game:
        told.append(
            say_n(
                "The journal’s end is lost: {n} input is missing, in game {game}.",
                "The journal’s end is lost: {n} inputs are missing, the last of them in game {game}.",
                lost.inputs,
                game=lost.game,
            )
        )
        told.append(say("The table goes on with what is left: compare the board."))
    elif lost.inputs:
        told.append(
            say_n(
                "The journal’s end is lost: {n} input about who sits where is missing. Take your seats again.",
                "The journal’s end is lost: {n} inputs about who sits where are missing. Take your seats again.",
                lost.inputs,
            )
        )
    if lost.changes:
        told.append(
            say("Changes to keys, names to be forgotten, and games imported or removed are lost. Make them again.")
        )
    if lost.is_altered:
        told.append(
            say(
                "Keys, removed games or names to be forgotten were damaged: make a new host key, and where a phone has "
                "lost its seat, sit down again."
            )
        )
    if since:
        told.append(say("What is lost was entered after {time}.", time=since))
    if aside is not None:
        told.append(say("The damaged file is kept as {file}.", file=aside.name))
    return joined(" ", told)


def no_second_place(why: str) -> str:
    """The second place cannot be written."""
    return say("The file that guards the end of the journal cannot be written ({error}).", error=why)


def not_kept(why: str) -> str:
    """Something beside the inputs could not be written; `why` are SQLite's words."""
    return say("That could not be saved ({error}): nothing has changed. Free some space on the disk.", error=why)
