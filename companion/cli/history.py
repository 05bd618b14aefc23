"""`companion history`, `export`, `import` and `replay`: played games on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from companion.archive.played_games import GameLine
from companion.cli.options import (
    SETTINGS,
    argument,
    command,
    read_named_file,
    settings_from_options,
    write_file,
)
from companion.core.clock import RealClock
from companion.core.config import Settings
from companion.core.files import MAX_FILE_BYTES
from companion.core.kit import SEATS, Seat
from companion.table.session import MACHINE

if TYPE_CHECKING:
    from companion.archive.history import History


@contextmanager
def _open_history(settings: Settings, *, read_only: bool = True) -> Iterator[History]:
    """Open the history of an installation.

    The newest game may still be on, so it counts as the game on the table.
    """
    from companion.archive.history import History  # noqa: PLC0415 - imports all games, which is slow
    from companion.storage.journal import Journal  # noqa: PLC0415

    with Journal(settings.journal_path, read_only=read_only) as journal:
        newest_id = max(journal.games(), default=0)
        yield History(journal, None, RealClock(), find_current_game=lambda: newest_id)


@command(
    "history",
    "list the games played, the newest first",
    *SETTINGS,
    argument("--json", action="store_true", help="the same as JSON, one line per game"),
)
def history(options: argparse.Namespace) -> None:
    with _open_history(settings_from_options(options)) as past:
        for line in past.lines(0, past.count()):
            as_json = msgspec.json.encode(line, enc_hook=str).decode()
            print(as_json if options.json else _game_summary(line), flush=True)


def _game_summary(line: GameLine) -> str:
    """Return one line on a game: number, date, title, players, decisions and end.

    If the owner has chosen something that is usually left to chance, the line ends with that.
    """
    date = "-"
    if line.begun:
        date = f"{datetime.fromtimestamp(line.begun).astimezone():%Y-%m-%d %H:%M}"
    players = " – ".join(_player_summary(line, seat) for seat in SEATS)
    origin = " (from elsewhere)" if line.is_imported else ""
    endings = {"on": "still on", "unfinished": "never ended"}
    end = line.reason or endings.get(line.ending, line.ending)
    head = f"{line.number:>4}  {date:<16}  {line.title:<12}  {players}{origin}"
    return f"{head}: {line.turns} decisions. {end} {line.chosen}".rstrip()


def _player_summary(line: GameLine, seat: Seat) -> str:
    """Return who played a seat: the name, whether it was a machine, and whether it used the coach.

    If several players had the seat one after another, the last one counts. A player's `door` is
    what the seat was played by, such as a phone or a machine.
    """
    players = line.players.get(seat)
    name = (players[-1].name if players else "") or seat
    notes = ["machine"] if players and players[-1].door == MACHINE else []
    if seat in line.coached:
        notes.append("coach")
    return f"{name} ({', '.join(notes)})" if notes else name


@command(
    "export",
    "write a finished game as JSON or as notation",
    *SETTINGS,
    argument("number", type=int, metavar="N", help="number of the game, as listed by history"),
    argument("-o", "--output", type=Path, metavar="FILE", help="instead of the console"),
    argument("--text", action="store_true", help="as notation for people to read"),
)
def export(options: argparse.Namespace) -> None:
    from companion.archive.scoresheet import format_score_sheet  # noqa: PLC0415 - imports all games, which is slow

    with _open_history(settings_from_options(options)) as past:
        played = past.file(options.number)
    if options.text:
        content = format_score_sheet(played).rstrip("\n")
    else:
        # `format` indents the JSON, so that people can read it.
        content = msgspec.json.format(msgspec.json.encode(played)).decode()
    if options.output is None:
        print(content)
    else:
        write_file(options.output, f"{content}\n".encode())
        print(f"{options.output}: game {options.number}.")


@command(
    "import",
    "replay an exported file and keep it; not while a service runs",
    *SETTINGS,
    argument("file", type=Path, metavar="FILE"),
)
def import_game(options: argparse.Namespace) -> None:
    content = read_named_file(options.file, MAX_FILE_BYTES)
    with _open_history(settings_from_options(options), read_only=False) as past:
        game_id = past.import_game(content)
    print(f"{options.file} is game {game_id} now.")


# ---- replay --------------------------------------------------------------------------------------


@command(
    "replay",
    "replay a game and check its receipts",
    *SETTINGS,
    argument("game", metavar="ID|FILE", help="a number from history, or an exported file"),
)
def replay(options: argparse.Namespace) -> None:
    from companion.archive.game_file import transcript_lines  # noqa: PLC0415
    from companion.archive.game_import import parse_game_file  # noqa: PLC0415 - imports all games, which is slow

    if options.game.isdigit():
        with _open_history(settings_from_options(options)) as past:
            played = past.file(int(options.game))
    else:
        played = parse_game_file(read_named_file(Path(options.game), MAX_FILE_BYTES))
    for sentence in transcript_lines(played):
        print(sentence)
