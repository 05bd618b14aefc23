"""Journals with damage in them, and what must hold when one is opened; `python tests/damage_tools.py 100000` does many.

Whatever was done to the file: it opens, plays on, and holds only inputs as they were written; where any is missing, or
something was set aside, `notice` says so. Only a log that has lost its end, or is gone, cannot be told from a whole one.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

from inside import database_of

from companion.archive.history import History
from companion.core.clock import FakeClock
from companion.core.errors import CompanionError, JournalError
from companion.core.kit import Seat
from companion.storage.journal import Entry, Journal
from companion.table.table import Table

KINDS = (
    "bits", "bytes", "zeros", "truncated", "longer", "pages swapped", "page doubled", "page of elsewhere",
    "header", "no log", "log of rubbish", "log truncated", "log with flips", "log of another",
)  # fmt: skip
"""What `damage` can do."""
UNSEEN = ("no log", "log of rubbish", "log truncated")
"""After these the journal is as it was some inputs before, and nothing says so."""
PAGE = 4096


def changed(path: Path, statement: str) -> None:
    """Change something in a journal behind its back."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)


def made_journal(path: Path, games: int = 3, with_log: bool = False) -> tuple[bytes, bytes]:
    """Games of two people, the last one on; answers the file, and its write-ahead log (empty: it was written back)."""
    clock = FakeClock(10.0)
    with Journal(path) as journal, Table(journal, clock) as table:
        journal.key("host")
        for seat in Seat:
            table.take_seat(seat, seat.title())
        for number in range(games):
            if with_log and number == games - 2:
                database_of(journal).execute("PRAGMA wal_checkpoint(TRUNCATE)")
            _play(table, clock, is_last=number == games - 1)
        if with_log:
            copies = [Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-wal")]
            return copies[0], copies[1]
    return path.read_bytes(), b""


def _play(table: Table, clock: FakeClock, is_last: bool) -> None:
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
    """A journal's file and its log with some damage; no log: None."""
    file, wal = bytearray(content), bytearray(log)
    pages = len(file) // PAGE
    one, other = (rng.randrange(pages) * PAGE for _ in range(2))
    target = wal if kind.startswith("log") else file
    match kind:
        case "bits" | "log with flips":
            for _ in range(rng.choice((1, 1, 2, 8, 64))):
                target[rng.randrange(len(target))] ^= 1 << rng.randrange(8)
        case "header":
            file[rng.randrange(100)] ^= 1 << rng.randrange(8)
        case "bytes":
            at = rng.randrange(len(file))
            file[at : at + 200] = rng.randbytes(len(file[at : at + 200]))
        case "zeros":
            file[one : one + PAGE] = bytes(PAGE)
        case "truncated" | "log truncated":
            del target[rng.randrange(len(target)) :]
        case "longer":
            file += rng.randbytes(rng.choice((1, 100, PAGE, 3 * PAGE)))
        case "pages swapped":
            file[one : one + PAGE], file[other : other + PAGE] = (
                file[other : other + PAGE],
                file[one : one + PAGE],
            )
        case "page doubled":
            file[one : one + PAGE] = file[other : other + PAGE]
        case "page of elsewhere":
            file[one : one + PAGE] = rng.randbytes(PAGE)
        case "no log":
            return bytes(file), None
        case "log of rubbish":
            wal = bytearray(rng.randbytes(len(wal)))
        case "log of another":
            wal = wal[: 32 + 24 + PAGE] + wal[32:]
    return bytes(file), bytes(wal)


def problems_after(
    folder: Path, content: bytes, log: bytes | None, is_told: bool = True
) -> list[str]:
    """Open a damaged journal as the service does, play on, open it once more; answers what should not have been.

    Beside it lies `made.sqlite`, the journal as it was before the damage.
    """
    written = _entries_of(folder / "made.sqlite")
    state = folder / "state"
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    path = state / "journal.sqlite"
    path.write_bytes(content)
    if log is not None:
        path.with_name("journal.sqlite-wal").write_bytes(log)
    found: list[str] = []
    try:
        notice = _use(path, written, found)
        if not is_told:
            found = [problem for problem in found if "nothing says so" not in problem]
    except JournalError as error:
        return [f"refused: {error.message}"]
    if notice:
        _use(path, written, found, is_first=False)
    return found


def _use(path: Path, written: dict[int, Entry], found: list[str], is_first: bool = True) -> str:
    clock = FakeClock(5.0, 1_800_000_000.0)
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(path))
        notice = journal.notice
        kept = {
            entry.id: entry for game in (0, *journal.games()) for entry in journal.legible(game)[0]
        }
        table = stack.enter_context(
            Table(journal, clock)
        )  # binds itself to another chance, which is an entry more
        if is_first:
            found += [
                f"entry {number} is another"
                for number, entry in kept.items()
                if written.get(number) != entry
            ]
            broken = [game for game in journal.games() if not journal.check(game)]
            missing = [entry for number, entry in written.items() if number not in kept]
            if missing and not notice and not broken:
                found.append(f"{len(missing)} inputs are missing and nothing says so")
        elif notice:
            found.append(f"the second start says: {notice}")
        table.view()
        past = History(journal, None, clock)
        past.lines(0, past.count())
        try:
            if table.view().phase not in ("lobby", "over"):
                table.abandon()
            table.new_game("outbuffered")
        except CompanionError as error:
            found.append(f"no game can begin: {error.message}")
        if len(journal.key("host")) != 32:
            found.append("the key is no key")
    return notice


def _entries_of(path: Path) -> dict[int, Entry]:
    with Journal(path, read_only=True) as journal:
        return {entry.id: entry for entry in journal.entries()}


def main(times: int, seed: int = 1) -> int:
    """Damage so many journals; answers how many went wrong, and prints them."""
    wrong, rng = 0, Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        content, log = made_journal(folder / "made.sqlite", games=20, with_log=True)
        with closing(sqlite3.connect(folder / "made.sqlite")) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in range(times):
            kind, own = rng.choice(KINDS), rng.getrandbits(32)
            try:
                problems = problems_after(
                    folder, *damage(kind, content, log, Random(own)), kind not in UNSEEN
                )
            except Exception as error:
                problems = [f"{type(error).__name__}: {error}"]
            if problems:
                wrong += 1
                print(f"{kind} {own}: {'; '.join(problems[:3])}", flush=True)
            if number % 1000 == 999:
                print(f"{number + 1} damaged journals, {wrong} wrong", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000) else 0)
