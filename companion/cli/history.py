"""`companion history`, `export`, `import` and `replay`: the games played, on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from companion.archive.played_games import GameLine, PlayerRecord
from companion.archive.replay import GameFile
from companion.cli.greeting import count
from companion.core.config import Settings
from companion.core.errors import Malformed
from companion.core.files import MAX_GAME, read_file
from companion.core.kit import SEATS, Seat
from companion.table.session import MACHINE, Session

if TYPE_CHECKING:
    from companion.storage.journal import Journal

SettingsOf = Callable[[argparse.Namespace], Settings]


def add_commands(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_of: SettingsOf,
) -> None:
    """Add all four."""
    history = commands.add_parser("history", help="list the games played, the newest first")
    add_settings(history)
    history.add_argument("--json", action="store_true", help="the same as JSON, one line per game")
    history.add_argument(
        "--players",
        action="store_true",
        help="what each player did instead, and against each machine",
    )
    history.set_defaults(run=lambda options: _history(options, settings_of(options)))
    export = commands.add_parser("export", help="write a finished game as JSON or as notation")
    add_settings(export)
    export.add_argument(
        "number", type=int, metavar="N", help="number of the game, as listed by history"
    )
    export.add_argument("-o", "--output", type=Path, metavar="FILE", help="instead of the console")
    export.add_argument("--text", action="store_true", help="as notation for people to read")
    export.set_defaults(run=lambda options: _export(options, settings_of(options)))
    bring = commands.add_parser(
        "import", help="replay an exported file and keep it; not while a service runs"
    )
    add_settings(bring)
    bring.add_argument("file", type=Path, metavar="FILE")
    bring.set_defaults(run=lambda options: _import(options, settings_of(options)))
    _add_replay(commands, add_settings, settings_of)


def _history(options: argparse.Namespace, settings: Settings) -> int:
    from companion.archive.history import History  # noqa: PLC0415
    from companion.core.clock import RealClock  # noqa: PLC0415 - brings the games
    from companion.storage.journal import Journal  # noqa: PLC0415

    with Journal(settings.journal_path, read_only=True) as journal:
        past = History(journal, None, RealClock(), on_table=_last_game(journal))
        for line in past.statistics() if options.players else past.lines(0, past.count()):
            if options.json:
                print(msgspec.json.encode(line, enc_hook=str).decode(), flush=True)
            else:
                print(
                    _record_words(line) if isinstance(line, PlayerRecord) else _words(line),
                    flush=True,
                )
    return 0


def _last_game(journal: Journal) -> Callable[[], int]:
    """Return the game that would lie on the table: the newest of the journal's own."""
    games = journal.games()
    return lambda: games[-1] if games else 0


def _words(line: GameLine) -> str:
    """Return a game on one line: number, date, title, players, decisions, end."""
    at = f"{datetime.fromtimestamp(line.begun).astimezone():%Y-%m-%d %H:%M}" if line.begun else "-"
    players = " – ".join(_player(line, seat) for seat in SEATS)
    end = line.reason or {"on": "still on", "unfinished": "never ended"}.get(
        line.ending, line.ending
    )
    origin = " (from elsewhere)" if line.is_imported else ""
    result = " ".join(filter(None, (str(end), str(line.chosen))))
    return f"{line.number:>4}  {at:<16}  {line.title:<12}  {players}{origin}: {line.turns} decisions. {result}"


def _record_words(record: PlayerRecord) -> str:
    """Return a player: games won, drawn and lost against people, then against each of the machine's
    characters."""

    def totals(games: int, wins: int, ties: int) -> str:
        word = "game" if games == 1 else "games"
        return f"{games} {word}, {wins} won, {ties} drawn, {games - wins - ties} lost"

    total = record.total
    lines = [f"{record.name}: against people {totals(total.games, total.wins, total.ties)}"]
    for opponent in record.against:
        lines.append(
            f"  against {opponent.name}: {totals(opponent.games, opponent.wins, opponent.ties)}"
        )
    return "\n".join(lines)


def _player(line: GameLine, seat: Seat) -> str:
    """Return who played a seat at the end, whether it was the machine, and whether the coach was
    asked."""
    last = line.players[seat][-1] if line.players.get(seat) else None
    marks = {"machine": last is not None and last.door == MACHINE, "coach": seat in line.coached}
    notes = ", ".join(mark for mark, holds in marks.items() if holds)
    name = (last.name if last else "") or seat
    return f"{name} ({notes})" if notes else name


def _export(options: argparse.Namespace, settings: Settings) -> int:
    content = _kept_game(options.number, settings, options.text)
    if options.output is None:
        print(content)
        return 0
    try:
        options.output.write_text(f"{content}\n", encoding="utf-8")
    except OSError as error:
        raise Malformed(f"{options.output} cannot be written: {error.strerror or error}") from None
    print(f"{options.output}: game {options.number}.")
    return 0


def _kept_game(number: int, settings: Settings, as_text: bool) -> str:
    from companion.archive.history import History  # noqa: PLC0415
    from companion.archive.scoresheet import write_sheet  # noqa: PLC0415
    from companion.core.clock import RealClock  # noqa: PLC0415 - brings the games
    from companion.storage.journal import Journal  # noqa: PLC0415

    with Journal(settings.journal_path, read_only=True) as journal:
        played = History(journal, None, RealClock()).file(number)
    return write_sheet(played).rstrip("\n") if as_text else plain_game(played)


def plain_game(played: GameFile) -> str:
    """Return a game as a file, to be read by people as well."""
    return msgspec.json.format(msgspec.json.encode(played)).decode()


def _import(options: argparse.Namespace, settings: Settings) -> int:
    from companion.archive.history import History  # noqa: PLC0415
    from companion.core.clock import RealClock  # noqa: PLC0415 - brings the games
    from companion.storage.journal import Journal  # noqa: PLC0415

    content = _content(options.file)
    with Journal(settings.journal_path) as journal:
        number = History(journal, None, RealClock()).bring_in(content)
    print(f"{options.file} is game {number} now.")
    return 0


def _content(path: Path) -> bytes:
    try:
        return read_file(path, MAX_GAME)
    except OSError as error:
        raise Malformed(f"{path} cannot be read: {error.strerror or error}") from None


# ---- replay ----------------------------------------------------------------------------------------------------------


def _add_replay(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_of: SettingsOf,
) -> None:
    command = commands.add_parser("replay", help="replay a game and check its receipts")
    add_settings(command)
    command.add_argument(
        "game", metavar="ID|FILE", help="a number from history, or an exported file"
    )
    command.add_argument(
        "--photographs",
        type=Path,
        metavar="DIR",
        help="write the photographs of its turns to this folder",
    )
    command.add_argument("--json", action="store_true", help="print the game as a file instead")
    command.set_defaults(run=lambda options: _replay(options, settings_of))


def _replay(options: argparse.Namespace, settings_of: SettingsOf) -> int:
    from companion.archive.replay import retell  # noqa: PLC0415 - brings the games

    settings, session = None, None
    if options.game.isdigit():
        settings = settings_of(options)
        session, played_here = _played_here(int(options.game), settings)
        if options.photographs and session:
            return _write_photographs(settings, session, options.photographs)
        played = played_here()
    else:
        played = _played_file(Path(options.game))
    if options.json:
        print(plain_game(played))
        return 0
    for sentence in retell(played):
        print(sentence)
    if settings and session and (photographs := _photographs_of(settings, session)):
        print(
            f"Photographs, written out by --photographs DIR: {', '.join(title for title, _ in photographs)}"
        )
    return 0


def _played_here(number: int, settings: Settings) -> tuple[Session | None, Callable[[], GameFile]]:
    """Return the session of a game that was played here (None: it was brought in), and how its file
    is got."""
    from companion.archive.history import History  # noqa: PLC0415
    from companion.core.clock import RealClock  # noqa: PLC0415 - brings the games
    from companion.storage.journal import Journal  # noqa: PLC0415

    def read_game() -> GameFile:
        with Journal(settings.journal_path, read_only=True) as journal:
            return History(journal, None, RealClock(), on_table=_last_game(journal)).file(number)

    with Journal(settings.journal_path, read_only=True) as journal:
        return (None if number in journal.archive.imported() else journal.fold(number)), read_game


def _played_file(path: Path) -> GameFile:
    """Return a game in JSON or in notation."""
    from companion.archive.replay import load_game  # noqa: PLC0415 - brings the games
    from companion.archive.scoresheet import read_sheet  # noqa: PLC0415

    content = _content(path)
    if content.lstrip().startswith(b"["):
        try:
            return read_sheet(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise Malformed(f"{path} is not a game file: it is not text in UTF-8") from None
    return load_game(path)


def _photographs_of(settings: Settings, session: Session) -> list[tuple[str, Path]]:
    """Return the photographs of a game with what they show, oldest first."""
    from companion.archive.photographs import PhotographFolder  # noqa: PLC0415
    from companion.table.views import turn_title  # noqa: PLC0415

    folder, turns = (
        PhotographFolder(settings.photographs_path),
        {turn.moment: turn.number for turn in session.turns},
    )
    moments = folder.moments(session.number)
    return [(turn_title(moment, turns), folder.path(session.number, moment)) for moment in moments]


def _write_photographs(settings: Settings, session: Session, folder: Path) -> int:
    photographs = _photographs_of(settings, session)
    if not photographs:
        raise Malformed(
            f"There are no photographs of game {session.number} in {settings.photographs_path}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, (title, path) in enumerate(photographs):
            name = f"{number:03} {title.lower()}.jpg".replace(" ", "-")
            (folder / name).write_bytes(path.read_bytes())
            count("Photographs", number + 1, len(photographs))
    except OSError as error:
        raise Malformed(f"{folder} cannot be written: {error.strerror or error}") from None
    print(f"{len(photographs)} photographs are in {folder}.")
    return 0
