"""Rescues the readable content of a damaged journal into a new file. The damaged one is set aside
and never written again.

The inputs of each game are kept up to the first damaged one, so games elsewhere in the file stay
whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from companion.core.files import sync_folder
from companion.core.i18n import joined, listed, say, say_n
from companion.storage.database import COLUMNS, START, Row, holds, link_all
from companion.storage.format import BESIDE, columns_of, free_name, make, valid_row
from companion.table.records import AnyRecord

_decode = msgspec.json.Decoder(AnyRecord).decode
_BROKEN = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""Exceptions when reading a damaged file."""
_MAX_INPUTS = 1_000_000
"""Highest number of an input that is searched for: some 10,000 games."""
_PAGE_BYTES = 4096
"""Size of a page in every file of this program: SQLite's default since 2016."""
_LOG_HEADER_BYTES = 32
_INPUTS_A_PAGE = 100
"""Upper bound for the inputs on a page: each has at least some 100 bytes."""
_MAX_STEPS, _STEPS_A_BYTE = 100_000_000, 200
"""Limits of SQLite's steps for a query. Beyond them, damaged pages form a circle."""

MAX_TOLD = 8
"""Maximum number of games that a sentence names."""


@dataclass
class Rescued:
    """The content that is kept of a damaged journal. `lost` is the number of inputs missing at each
    game's end.
    """

    inputs: list[Row] = field(default_factory=list)
    beside: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)
    lost: dict[int, int] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """Return the number of games of which something is kept."""
        return len({row.game for row in self.inputs if row.game > 0})


def rescue(path: Path) -> tuple[Rescued, Path]:
    """Replace a damaged file by a new one with its readable content.

    Return the content, and the path of the damaged file. A power cut leaves either the old file in
    its place or a complete new one (`finish_rescue`). If it raises `sqlite3.Error` or `OSError`,
    nothing was moved.
    """
    rescued = _read_tables(path)
    fresh = _rescued_path(path)
    _remove(fresh)
    fresh.touch(mode=0o600)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        make(db)
        _write(db, rescued)
    aside = free_name(path, "damaged")
    # Move its log first. Beside a new file it would be taken for that file's log.
    for suffix in ("-wal", "-shm", ""):
        old = Path(f"{path}{suffix}")
        if old.exists():
            old.rename(f"{aside}{suffix}")
    sync_folder(path.parent)
    fresh.replace(path)
    sync_folder(path.parent)
    return rescued, aside


def rescue_words(rescued: Rescued, aside: Path) -> str:
    """Return a sentence that a damaged file was set aside, and what is kept of it."""
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
    # The seats (0) and the newest game concern the present players, so they get their own
    # sentences.
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


def finish_rescue(path: Path) -> None:
    """Move the new file into its place if a power cut came in between."""
    fresh = _rescued_path(path)
    if fresh.exists() and not path.exists():
        fresh.replace(path)
    fresh.unlink(missing_ok=True)


def _rescued_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.rescued{path.suffix}")


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


# ---- reading -------------------------------------------------------------------------------------


def _read_tables(path: Path) -> Rescued:
    """Read what is readable of this program's tables."""
    rescued = Rescued()
    if not path.is_file():
        return rescued
    with (
        suppress(*_BROKEN),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db,
    ):
        db.execute("PRAGMA trusted_schema=OFF")
        _stop_circles(db, path.stat().st_size)
        for table in BESIDE:
            rows = rescued.beside.setdefault(table, [])
            names = ", ".join(columns_of(table))
            # Read up to the first unreadable row.
            with suppress(*_BROKEN):
                for row in db.execute(f"SELECT {names} FROM {table} WHERE {valid_row(table)}"):
                    rows.append(row)
        written: dict[int, int] = {}
        with suppress(*_BROKEN):
            written.update(db.execute(f"SELECT game, entries FROM ends WHERE {valid_row('ends')}"))
        _keep_inputs(_rows(db, 1, _highest(db)), rescued)
        _count_lost(rescued, written)
    return rescued


def _stop_circles(db: sqlite3.Connection, file_bytes: int) -> None:
    """Interrupt a query that takes longer than any can on an undamaged file of this size."""
    step = 100_000
    steps = iter(range((_MAX_STEPS + file_bytes * _STEPS_A_BYTE) // step))
    db.set_progress_handler(lambda: next(steps, None) is None, step)


def _rows(db: sqlite3.Connection, first: int, last: int) -> Iterator[Row | None]:
    """Yield the readable inputs between two numbers, in order. None stands for an unreadable
    one.
    """
    # The limit keeps SQLite from reading the page after the last one.
    query = f"SELECT {COLUMNS} FROM entries WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
    try:
        rows = db.execute(query, (first, last, last - first + 1)).fetchall()
    except _BROKEN:
        if first >= last:
            yield None
            return
        # Bisect to find the inputs beside an unreadable page.
        middle = (first + last) // 2
        yield from _rows(db, first, middle)
        yield from _rows(db, middle + 1, last)
        return
    for read in rows:
        if isinstance(read[0], int) and first <= read[0] <= last:
            yield Row(*read)


def _highest(db: sqlite3.Connection) -> int:
    """Return an upper bound for the input numbers in the file."""
    with suppress(*_BROKEN):
        query = "SELECT MAX(id) FROM entries INDEXED BY entries_game"
        highest = db.execute(query).fetchone()[0]
        if isinstance(highest, int) and highest <= _MAX_INPUTS:
            return highest
    pages = 0
    with suppress(*_BROKEN):
        pages = db.execute("PRAGMA page_count").fetchone()[0]
    return min(pages * _INPUTS_A_PAGE, _MAX_INPUTS)


def _keep_inputs(rows: Iterator[Row | None], rescued: Rescued) -> None:
    """Keep the inputs of each game from its beginning to the first damaged one."""
    ends: dict[int, bytes] = {}
    for row in rows:
        if row is None or not isinstance(row.game, int) or row.game in rescued.lost:
            continue
        if holds(ends.get(row.game, START), row) and record_of(row.record) is not None:
            ends[row.game] = row.link
            rescued.inputs.append(row)
        else:
            rescued.lost[row.game] = 1


def record_of(content: bytes) -> AnyRecord | None:
    """Return the record of a stored input. None if it is damaged."""
    try:
        record: AnyRecord = _decode(content)
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        RecursionError,
        TypeError,
    ):
        # A damaged value may be of any type.
        return None
    return record


def _count_lost(rescued: Rescued, written: dict[int, int]) -> None:
    """Compare the kept inputs of each game with the number written."""
    counts: dict[int, int] = {}
    for row in rescued.inputs:
        counts[row.game] = counts.get(row.game, 0) + 1
    for game, inputs in written.items():
        if inputs > counts.get(game, 0):
            rescued.lost[game] = inputs - counts.get(game, 0)


# ---- the write-ahead log -------------------------------------------------------------------------


def transactions_in_log(path: Path) -> int:
    """Return the number of the last frame in a journal's log that ends a transaction
    (sqlite.org/walformat.html).

    SQLite silently ignores a log from its first bad bit on. So if it reads fewer frames, some are
    damaged.
    """
    try:
        with Path(f"{path}-wal").open("rb") as log:
            salts = log.read(_LOG_HEADER_BYTES)[16:24]
            frames = list(_frames(log))
    except OSError:
        return 0
    own = [number for number, pages, frame_salts in frames if pages and frame_salts == salts]
    if own or not frames:
        return max(own, default=0)
    first_salts = frames[0][2]
    # SQLite increments the first salt when it restarts a log. Any other change is damage.
    is_new = (
        int.from_bytes(salts[:4], "big") == (int.from_bytes(first_salts[:4], "big") + 1) % 2**32
    )
    return 0 if is_new else len(frames)


def _frames(log: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number of each frame, the file's pages if it ends a transaction (else 0), and its
    salts.
    """
    frame_bytes = 24 + _PAGE_BYTES
    number = 1
    while len(frame := log.read(frame_bytes)) == frame_bytes:
        yield number, int.from_bytes(frame[4:8], "big"), frame[8:16]
        number += 1


# ---- writing -------------------------------------------------------------------------------------


def _write(db: sqlite3.Connection, rescued: Rescued) -> None:
    """Write everything in one synced transaction."""
    db.execute("PRAGMA synchronous=FULL")
    db.execute("BEGIN IMMEDIATE")
    db.executemany(
        f"INSERT OR IGNORE INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rescued.inputs
    )
    for table, rows in rescued.beside.items():
        for row in rows:
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    games = {row.game for row in rescued.inputs}
    lost_games = [(game,) for game in set(rescued.lost) - games if 0 < game < 2**53]
    # Other games must not get the numbers of lost ones.
    db.executemany("INSERT OR IGNORE INTO removed VALUES (?)", lost_games)
    link_all(db)
    db.execute("COMMIT")
