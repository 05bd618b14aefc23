"""Helpers: damage the files of a journal, and check what the program makes of them.

A journal is a database of SQLite with the inputs of all games. Whatever the damage, these must
hold:

- The journal can be opened, and people can begin a game.
- Every input that is still in the journal is as it was written.
- If an input is missing, or a file was set aside, the journal's `notice` says so.

There is one exception to the last: SQLite's write-ahead log, which has the newest inputs, is read
up to the first wrong bit. So a damaged or missing log looks like a shorter one, and nobody can
notice.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

from internals import database_of

from companion.archive.history import History
from companion.core.clock import FakeClock
from companion.core.errors import CompanionError
from companion.core.kit import Seat
from companion.storage.journal import Entry, Journal
from companion.table.records import SEATS_GAME
from companion.table.table import Table

# Kinds of damage that `damage` can do. A page is one of the file's blocks of 4096 bytes, and the
# log is the write-ahead log.
KINDS = (
    "bits", "zeros", "truncated", "pages swapped", "page of elsewhere", "header",
    "no log", "log of rubbish", "log truncated", "log with flips", "log of another",
)  # fmt: skip
# Kinds of damage after which the last inputs may be missing without a notice.
SILENT_KINDS = (
    "no log", "log of rubbish", "log truncated", "log with flips", "log of another",
)  # fmt: skip
# Size of a page of an SQLite file.
PAGE_BYTES = 4096


def change_journal(path: Path, statement: str) -> None:
    """Run an SQL statement on a journal's file that no version of the program would run."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)


def make_journal(path: Path, games: int = 3, with_log: bool = False) -> tuple[bytes, bytes]:
    """Write a journal of games between two people, the last of which is not over.

    With `with_log`, the last two games are only in the write-ahead log, as after a power cut.
    Return the contents of the file and of the log, which is empty otherwise.
    """
    clock = FakeClock(10.0)
    with Journal(path) as journal, Table(journal, clock) as table:
        journal.key("host")
        for seat in Seat:
            table.take_seat(seat, seat.title())
        for index in range(games):
            if with_log and index == games - 2:
                database_of(journal).execute("PRAGMA wal_checkpoint(TRUNCATE)")
            _play(table, clock, is_last=index == games - 1)
        if with_log:
            copies = [Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-wal")]
            return copies[0], copies[1]
    return path.read_bytes(), b""


def _play(table: Table, clock: FakeClock, is_last: bool) -> None:
    """Play two turns and end the game. The last game stays at the second stage of its second turn.

    The salts are different texts, so that no two entries of the journal are equal.
    """
    table.new_game("outbuffered", {}, seed=1)
    table.confirm("host", table.view().moment, 0)
    for orders in ("UUS", "RIS"):
        for seat in Seat:
            clock.advance(1.0)
            table.hand_in(seat, table.view().moment, orders, f"{int(clock.monotonic_s())}x")
        while (view := table.view()).phase == "stages" and not (
            is_last and orders == "RIS" and view.turn.stage == 1
        ):
            table.confirm("host", view.moment, view.turn.stage)
    if not is_last:
        table.abandon()


def damage(kind: str, content: bytes, log: bytes, rng: Random) -> tuple[bytes, bytes | None]:
    """Return a journal's file and its log with damage of a kind of `KINDS`. None means no log."""
    file = bytearray(content)
    wal = bytearray(log)
    target = wal if kind.startswith("log") else file
    starts = rng.choices(range(0, len(file), PAGE_BYTES), k=2)
    page, other = (slice(start, start + PAGE_BYTES) for start in starts)
    match kind:
        case "bits" | "log with flips":
            for _ in range(rng.choice((1, 2, 8, 64))):
                target[rng.randrange(len(target))] ^= 1 << rng.randrange(8)
        case "header":
            file[rng.randrange(100)] ^= 1 << rng.randrange(8)
        case "zeros":
            file[page] = bytes(PAGE_BYTES)
        case "truncated" | "log truncated":
            del target[rng.randrange(len(target)) :]
        case "pages swapped":
            file[page], file[other] = file[other], file[page]
        case "page of elsewhere":
            file[page] = rng.randbytes(PAGE_BYTES)
        case "no log":
            return bytes(file), None
        case "log of rubbish":
            wal = bytearray(rng.randbytes(len(wal)))
        case "log of another":
            # the log begins with a header of 32 bytes, and each page in it with one of 24 bytes:
            # put the first page in twice, so that the sums of all later ones are wrong
            wal = wal[: 32 + 24 + PAGE_BYTES] + wal[32:]
    return bytes(file), bytes(wal)


def problems_after(
    folder: Path, content: bytes, log: bytes | None, knows_losses: bool = True
) -> list[str]:
    """Open a damaged journal as the service does, play on, and open it again.

    Return a sentence for each problem. `content` and `log` are the damaged files, and the folder
    has the undamaged journal as `made.sqlite`. `knows_losses` is False for a kind of damage that
    the journal cannot notice.
    """
    with Journal(folder / "made.sqlite", read_only=True) as journal:
        written = {entry.id: entry for entry in journal.entries()}
    state = folder / "state"
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    path = state / "journal.sqlite"
    path.write_bytes(content)
    if log is not None:
        path.with_name("journal.sqlite-wal").write_bytes(log)
    problems = []
    with Journal(path) as journal:
        journal.restore()
        notice = journal.notice
        intact: dict[int, Entry] = {}
        for game in (SEATS_GAME, *journal.games()):
            intact |= {entry.id: entry for entry in journal.entries_until_damage(game)[0]}
        problems += [
            f"entry {entry_id} has changed"
            for entry_id in intact
            if intact[entry_id] != written.get(entry_id)
        ]
        is_whole = all(journal.is_game_intact(game) for game in journal.games())
        if knows_losses and written.keys() - intact.keys() and not notice and is_whole:
            problems.append("inputs are missing without a notice")
        problems += _play_on(journal)
    with Journal(path) as journal:
        if notice and journal.notice:
            problems.append(f"the second start has a notice again: {journal.notice}")
        problems += _play_on(journal)
    return problems


def _play_on(journal: Journal) -> list[str]:
    """List a journal's history and begin a game. Return a sentence for each problem."""
    clock = FakeClock(5.0, 1_800_000_000.0)
    with Table(journal, clock) as table:
        past = History(journal, None, clock)
        past.lines(0, past.count())
        try:
            if table.view().phase not in ("lobby", "over"):
                table.abandon()
            table.new_game("outbuffered")
        except CompanionError as error:
            return [f"no game can begin: {error.message}"]
    return [] if len(journal.key("host")) == 32 else ["the owner key has the wrong length"]
