"""Test the journal's file: its permissions, its formats, and what damage of any kind does.

`make_journal` writes a journal of several games, 3 if the call names no number. They have the
numbers from 1 on, and the last one is not over. Both seats are taken before the first game, in
entries of game 0, which stands for no game (`SEATS_GAME`).
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from damage_tools import KINDS, SILENT_KINDS, change_journal, damage, make_journal, problems_after
from hypothesis import given, settings
from hypothesis import strategies as st
from internals import database_of
from table_tools import open_table_rig

from companion.core.errors import JournalError
from companion.core.kit import Seat
from companion.storage import database, format, opening
from companion.storage.journal import Journal
from companion.storage.opening import open_to_write
from companion.table.records import SEATS_GAME, FreeSeat
from companion.table.session import Phase

SET_ASIDE = (
    "The journal was damaged: all games up to now are in journal.damaged.sqlite, "
    "and a new journal was begun. Restore a backup, or try “sqlite3 journal.damaged.sqlite .dump”."
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def damaged_files(path: Path) -> list[Path]:
    """Return the files that were set aside as damaged beside this journal, without their logs."""
    return [found for found in format.find_copies(path) if found.name.endswith(".sqlite")]


def entry_ids(path: Path, game: int) -> list[int]:
    """Return the ids of a game's entries, in order."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return [row.id for row in database.select_rows(db, game)]


def test_only_its_owner_may_read_a_journal(path: Path) -> None:
    """The journal has the keys of the installation, so no other user of the machine may read it."""
    umask_before = os.umask(0o022)
    try:
        with Journal(path.parent / "state" / path.name) as journal:
            journal.key("host")
            state = journal.path.parent
            modes = [
                found.stat().st_mode & 0o777 for found in sorted(state.glob("journal.sqlite*"))
            ]
            # the file, its write-ahead log and the index of the log
            assert modes == [0o600] * 3
            shutil.copyfile(journal.path, path)
        # A file that anybody may read, such as a restored backup, becomes private when opened.
        assert (state.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o644)
        with Journal(path) as journal:
            assert path.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(umask_before)


# ---- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (7, "has format 7, this program reads 2: update the program"),
        (1, "start version 1.0.0 once, then this one"),
    ],
)
def test_other_formats_are_refused_and_left_untouched(path: Path, version: int, words: str) -> None:
    """The file is refused instead of being set aside, because another version can read it."""
    make_journal(path)
    # Every other format has other tables.
    change_journal(path, "DROP TABLE facts")
    change_journal(path, f"PRAGMA user_version={version}")
    content = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(JournalError, match=words):
            Journal(path, read_only)
    assert path.read_bytes() == content
    assert damaged_files(path) == []


# ---- damage --------------------------------------------------------------------------------------


def test_every_change_to_an_input_is_found(path: Path) -> None:
    """Each statement changes, loses, adds or swaps entries of game 1. Game 3 stays intact."""
    make_journal(path, games=3)
    input_ids = entry_ids(path, game=1)
    # South's first orders. They are `UUS` in the notation of Outbuffered.
    third = input_ids[2]
    for statement in (
        # another time, other orders, or another game
        f"UPDATE entries SET at = at + 1 WHERE id = {third}",
        "UPDATE entries SET record = CAST(replace(record, 'UUS', 'UUU') AS BLOB) "
        f"WHERE id = {third}",
        f"UPDATE entries SET game = 2 WHERE id = {third}",
        # lost in the middle or at the end
        f"DELETE FROM entries WHERE id = {third}",
        f"DELETE FROM entries WHERE id = {input_ids[-1]}",
        # a second time at the end, and swapped with the next one
        "INSERT INTO entries SELECT 9000, game, at, record, run, now_s, link FROM entries "
        f"WHERE id = {third}",
        f"UPDATE entries SET id = CASE id WHEN {third} THEN -1 ELSE {third} END "
        f"WHERE id IN ({third}, {input_ids[3]})",
    ):
        changed = path.with_name("changed.sqlite")
        shutil.copyfile(path, changed)
        change_journal(changed, statement)
        with closing(sqlite3.connect(changed)) as db:
            assert not database.is_chain_intact(db, game=1), f"{statement} went unnoticed"
            assert database.is_chain_intact(db, game=3)


def test_a_damaged_game_leaves_the_others_readable(path: Path) -> None:
    """Damage in one game must cost neither the other games nor the seats."""
    make_journal(path, games=3)
    last_game_ids = entry_ids(path, game=3)
    # North leaves the table. This entry comes after the one that is damaged.
    with Journal(path) as journal:
        journal.append(SEATS_GAME, [FreeSeat(Seat.NORTH)], at=1.0)
    change_journal(path, f"UPDATE entries SET now_s = now_s + 1 WHERE id = {last_game_ids[-2]}")

    # The table opens in the lobby with everybody who is seated, and can begin the next game.
    with open_table_rig(path.parent) as rig:
        assert rig.view.devices.notices == (
            "Game 3 cannot be continued (it was damaged on the disk): start a new one.",
        )
        assert rig.view.phase is Phase.LOBBY
        assert rig.view.seats[Seat.SOUTH].name == "South"
        assert rig.view.seats[Seat.NORTH].name is None, "the entry after the damage must be read"
        rig.table.new_game("outbuffered")
        assert rig.table.progress().number == 4

    # The damaged game stays in the journal, which is not set aside.
    with Journal(path) as journal:
        assert journal.games() == [1, 2, 3, 4]
        assert journal.is_game_intact(4)
        assert journal.notice == ""
    assert damaged_files(path) == []


def test_a_newer_versions_record_ends_its_game(path: Path) -> None:
    """Its chain of links is right, so the game is not damaged, but it cannot be continued."""
    make_journal(path, games=3)
    last_game_ids = entry_ids(path, game=3)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            """UPDATE entries SET record = CAST('{"is":"later"}' AS BLOB) WHERE id = ?""",
            (last_game_ids[-2],),
        )
        database.rebuild_links(db)
    with Journal(path) as journal:
        assert journal.restore().game is None
        assert journal.notice == (
            f"Game 3 cannot be continued (malformed, entry {last_game_ids[-2]}): start a new one."
        )


# A game that is over, and the one that is still on.
@pytest.mark.parametrize("game", [1, 3])
def test_a_deeply_nested_record_is_damage(path: Path, game: int) -> None:
    """A record with 5000 nested lists makes a decoder recurse too deeply. It must not crash."""
    content, _ = make_journal(path.with_name("made.sqlite"), games=3)
    path.write_bytes(content)
    options = "[" * 5000 + "]" * 5000
    record = f'{{"is":"new_game","game":"scouts","number":3,"seed":1,"options":{{"x":{options}}}}}'
    change_journal(
        path,
        f"UPDATE entries SET record = CAST('{record}' AS BLOB) "
        f"WHERE id = (SELECT max(id) FROM entries WHERE game = {game})",
    )
    assert problems_after(path.parent, path.read_bytes(), None) == []


def test_a_lost_games_number_stays_used(path: Path) -> None:
    """The table `ends` still has the number of a game that has lost all of its entries."""
    make_journal(path, games=3)
    change_journal(path, "DELETE FROM entries WHERE game = 3")
    with open_table_rig(path.parent) as rig:
        assert "Game 3 cannot be continued" in rig.view.devices.notices[0]
        assert rig.view.phase is Phase.LOBBY
        rig.table.new_game("outbuffered")
        assert rig.table.progress().number == 4


def test_times_stay_readable_beside_damage(path: Path) -> None:
    """A time that is not a number leaves out its own game, not the others."""
    make_journal(path, games=3)
    last = "(SELECT max(id) FROM entries WHERE game = 2)"
    change_journal(path, f"UPDATE entries SET at = 'x' WHERE id = {last}")
    with Journal(path) as journal:
        assert [game for game, _ in journal.archive.last_entry_times()] == [1, 3]


def record_page_offsets(path: Path, content: bytes) -> list[int]:
    """Return where in the file the pages with handed-in orders begin, in bytes.

    They are pages of the table `entries`: leaf pages of its B-tree, which begin with the byte 13.
    A page has 4096 bytes.
    """
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries'").fetchone()
    offsets = range(root * 4096, len(content), 4096)
    return [
        offset
        for offset in offsets
        if content[offset] == 13 and b"hand_in" in content[offset : offset + 4096]
    ]


# Each is a table or an index of the file. Only `entries` has more pages than its root.
@pytest.mark.parametrize("table", ["entries", "entries_game", "keys"])
def test_journals_with_bad_pages_are_set_aside(path: Path, table: str) -> None:
    """A page of the table is overwritten with the byte 0xff."""
    make_journal(path, games=12)
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT rootpage FROM sqlite_master WHERE name LIKE ? ORDER BY rootpage DESC"
        (root,) = db.execute(query, (f"%{table}%",)).fetchone()
    content = bytearray(path.read_bytes())
    # SQLite counts pages from 1.
    offset = (
        record_page_offsets(path, bytes(content))[0] if table == "entries" else (root - 1) * 4096
    )
    content[offset : offset + 4096] = b"\xff" * 4096
    path.write_bytes(content)
    with Journal(path) as journal:
        assert journal.notice == SET_ASIDE
        assert journal.games() == []
        assert path.stat().st_mode & 0o777 == 0o600
    assert [found.read_bytes() for found in damaged_files(path)] == [content]
    with Journal(path) as journal:
        assert journal.notice == ""


def test_damaged_seats_are_set_aside(path: Path) -> None:
    """The first entry of game 0, which has the changes of seats, is lost."""
    make_journal(path)
    change_journal(
        path, "DELETE FROM entries WHERE id = (SELECT MIN(id) FROM entries WHERE game = 0)"
    )
    with Journal(path) as journal:
        assert journal.notice == SET_ASIDE


def test_a_key_of_the_wrong_type_is_ignored(path: Path) -> None:
    make_journal(path)
    change_journal(path, "UPDATE keys SET value = 'a text'")
    with Journal(path, read_only=True) as journal:
        assert journal.keys() == []


def test_a_locked_file_is_not_damage(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program, such as a backup, may be using the file."""
    make_journal(path)
    with Journal(path) as journal:
        journal.checkpoint()
        assert database_of(journal).execute("PRAGMA busy_timeout").fetchone()[0] > 0, (
            "an input must wait for a reader of the file, and not fail"
        )
    # Do not wait as long in the test.
    monkeypatch.setattr(opening, "BUSY_TIMEOUT_MS", 100)
    with Journal(path), closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="cannot be opened: database is locked"):
            open_to_write(path)
    assert not damaged_files(path), "a locked file must not be set aside as damaged"


def test_a_full_disk_is_not_damage(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_journal(path)

    def fail_as_full(_: sqlite3.Connection) -> bool:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(opening, "has_our_tables", fail_as_full)
    with pytest.raises(JournalError, match="cannot be opened: database or disk is full"):
        open_to_write(path)
    assert not damaged_files(path)


@pytest.mark.parametrize("kind", ["folder", "nothing in it", "no database", "a foreign database"])
def test_other_content_in_its_place_is_set_aside(path: Path, kind: str) -> None:
    """It may belong to somebody, so it is kept under another name."""
    if kind == "folder":
        path.mkdir()
        (path / "photo.jpg").write_bytes(b"mine")
    elif kind == "a foreign database":
        change_journal(path, "CREATE TABLE songs (title TEXT)")
    else:
        path.write_bytes(b"" if kind == "nothing in it" else b"Dear diary " * 1000)
    with Journal(path) as journal:
        assert journal.notice == SET_ASIDE
        assert journal.games() == []
    aside = path.with_name("journal.damaged.sqlite")
    assert (aside / "photo.jpg").exists() if kind == "folder" else aside.exists()


def test_a_trigger_in_the_file_is_never_run(path: Path) -> None:
    make_journal(path)
    change_journal(path, "CREATE TRIGGER spy AFTER INSERT ON entries BEGIN DELETE FROM keys; END")
    with Journal(path) as journal:
        assert journal.notice == SET_ASIDE
        # The trigger would delete this key.
        journal.key("host")
        journal.append(SEATS_GAME, [FreeSeat(Seat.SOUTH)], at=2.0)
        assert journal.keys()


@pytest.fixture(scope="module")
def large_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a journal of many pages: its file, and the log with its last inputs."""
    folder = tmp_path_factory.mktemp("damage")
    content, log = make_journal(folder / "made.sqlite", games=8, with_log=True)
    (folder / "content").write_bytes(content)
    (folder / "log").write_bytes(log)
    return folder


@settings(max_examples=15)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32))
def test_a_journal_opens_and_reports_any_damage(large_journal: Path, kind: str, seed: int) -> None:
    """Whatever is damaged, the table can go on, and nobody gets a changed input unnoticed."""
    content = (large_journal / "content").read_bytes()
    log = (large_journal / "log").read_bytes()
    damaged, damaged_log = damage(kind, content, log, Random(seed))
    knows_losses = kind not in SILENT_KINDS
    assert problems_after(large_journal, damaged, damaged_log, knows_losses) == [], (kind, seed)
