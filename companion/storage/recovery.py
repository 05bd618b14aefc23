"""What can still be read of a damaged journal, in a new file. The damaged one is set aside and
never written again.

Of each game the inputs are kept up to the first that cannot be read or does not follow, so games
that lie beside the damage stay whole.
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
"""What reading a damaged file may raise."""
_MAX_INPUTS = 1_000_000
"""Highest number of an input that is looked for: some 10,000 games."""
_PAGE_BYTES = 4096
"""Size of a page in every file of this program: SQLite's default since 2016."""
_LOG_HEADER_BYTES = 32
_INPUTS_A_PAGE = 100
"""More inputs than a page can hold: each has some 100 bytes at least."""
_MAX_STEPS, _STEPS_A_BYTE = 100_000_000, 200
"""More steps of SQLite than this mean that damaged pages lead in a circle."""

MAX_TOLD = 8
"""Maximum number of games that a sentence names."""


@dataclass
class Rescued:
    """What is kept of a damaged journal. `lost` is the number of inputs that are missing at a
    game's end.
    """

    inputs: list[Row] = field(default_factory=list)
    beside: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)
    lost: dict[int, int] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """Return number of games of which something is kept."""
        return len({row.game for row in self.inputs if row.game > 0})


def rescue(path: Path) -> tuple[Rescued, Path]:
    """Put a new file with what can be read in the place of a damaged one.

    Return what was kept, and where the damaged file is. A power cut on the way leaves either the
    old file in its place or the new one whole (`finish_rescue`). Raises `sqlite3.Error` and
    `OSError`, and then nothing was moved.
    """
    rescued = _read(path)
    fresh = _fresh(path)
    _remove(fresh)
    fresh.touch(mode=0o600)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        make(db)
        _write(db, rescued)
    aside = free_name(path, "damaged")
    # its log first: alone beside a new file, it would be taken for that file's
    for suffix in ("-wal", "-shm", ""):
        old = Path(f"{path}{suffix}")
        if old.exists():
            old.rename(f"{aside}{suffix}")
    sync_folder(path.parent)
    fresh.replace(path)
    sync_folder(path.parent)
    return rescued, aside


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


def finish_rescue(path: Path) -> None:
    """Put the new file in its place if the power was cut in between."""
    fresh = _fresh(path)
    if fresh.exists() and not path.exists():
        fresh.replace(path)
    fresh.unlink(missing_ok=True)


def _fresh(path: Path) -> Path:
    return path.with_name(f"{path.stem}.rescued{path.suffix}")


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


# ---- reading -------------------------------------------------------------------------------------


def _read(path: Path) -> Rescued:
    """Read what can be read of this program's tables."""
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
            # up to the first that cannot be read
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
    """Interrupt a query that goes on for longer than any can on a sound file of this size."""
    step = 100_000
    steps = iter(range((_MAX_STEPS + file_bytes * _STEPS_A_BYTE) // step))
    db.set_progress_handler(lambda: next(steps, None) is None, step)


def _rows(db: sqlite3.Connection, first: int, last: int) -> Iterator[Row | None]:
    """Yield every input between two numbers that can be read, in their order. None stands for one
    that cannot.
    """
    # the limit keeps SQLite from looking at the page behind the last of them
    query = f"SELECT {COLUMNS} FROM entries WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
    try:
        rows = db.execute(query, (first, last, last - first + 1)).fetchall()
    except _BROKEN:
        if first >= last:
            yield None
            return
        # what lies beside the page that cannot be read is found by halves
        middle = (first + last) // 2
        yield from _rows(db, first, middle)
        yield from _rows(db, middle + 1, last)
        return
    for read in rows:
        if isinstance(read[0], int) and first <= read[0] <= last:
            yield Row(*read)


def _highest(db: sqlite3.Connection) -> int:
    """Return the highest number of an input that the file may hold, as far as can be told."""
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
    """Keep of each game what follows from its beginning on."""
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
    """Return the record of an input as it is kept. None: damage has made something else of it."""
    try:
        record: AnyRecord = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError):  # it may be of any type
        return None
    return record


def _count_lost(rescued: Rescued, written: dict[int, int]) -> None:
    """Compare what is kept of each game with what was written of it."""
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

    SQLite passes over a log from its first bad bit on without a word. So if it reads fewer frames,
    some are damaged.
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
    # SQLite counts the first salt on by one when it begins a log anew
    is_new = (
        int.from_bytes(salts[:4], "big") == (int.from_bytes(first_salts[:4], "big") + 1) % 2**32
    )
    return (
        0 if is_new else len(frames)
    )  # a log that was begun anew counts on by one, anything else is damage


def _frames(log: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield of each frame its number, the pages of the file if it ends a transaction (else 0), and
    its salts.
    """
    frame_bytes = 24 + _PAGE_BYTES
    number = 1
    while len(frame := log.read(frame_bytes)) == frame_bytes:
        yield number, int.from_bytes(frame[4:8], "big"), frame[8:16]
        number += 1


# ---- writing -------------------------------------------------------------------------------------


def _write(db: sqlite3.Connection, rescued: Rescued) -> None:
    """Write everything in one transaction that is synced."""
    db.execute("PRAGMA synchronous=FULL")
    db.execute("BEGIN IMMEDIATE")
    db.executemany(
        f"INSERT OR IGNORE INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rescued.inputs
    )
    for table, rows in rescued.beside.items():
        for row in rows:
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    games = {row.game for row in rescued.inputs}
    gone = [(game,) for game in set(rescued.lost) - games if 0 < game < 2**53]
    db.executemany(
        "INSERT OR IGNORE INTO removed VALUES (?)", gone
    )  # nobody else gets their numbers
    link_all(db)
    db.execute("COMMIT")
