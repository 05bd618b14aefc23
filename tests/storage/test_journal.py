"""Test the journal's file: its permissions, its formats, and what damage of any kind does."""

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
from companion.table.records import FreeSeat
from companion.table.session import Phase

SET_ASIDE = (
    "The journal was damaged: all games up to now are in journal.damaged.sqlite, "
    "and a new journal was begun. Restore a backup, or try “sqlite3 journal.damaged.sqlite .dump”."
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def damaged_files(path: Path) -> list[Path]:
    return [found for found in format.find_copies(path) if found.name.endswith(".sqlite")]


def entry_rows(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute("SELECT id, game, at, record FROM entries ORDER BY id").fetchall()


def test_only_its_owner_may_read_a_journal(path: Path) -> None:
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
    make_journal(path)
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
    make_journal(path)
    input_ids = [row[0] for row in entry_rows(path) if row[1] == 1]
    third = input_ids[2]
    for statement in (
        f"UPDATE entries SET at = at + 1 WHERE id = {third}",
        f"UPDATE entries SET record = replace(record, 'UUS', 'UUU') WHERE id = {third}",
        f"UPDATE entries SET game = 2 WHERE id = {third}",
        f"DELETE FROM entries WHERE id = {third}",
        f"DELETE FROM entries WHERE id = {input_ids[-1]}",
        "INSERT INTO entries SELECT 9000, game, at, record, run, now_s, link FROM entries "
        f"WHERE id = {third}",
        f"UPDATE entries SET id = CASE id WHEN {third} THEN -1 ELSE {third} END "
        f"WHERE id IN ({third}, {input_ids[3]})",
    ):
        changed = path.with_name("changed.sqlite")
        shutil.copyfile(path, changed)
        change_journal(changed, statement)
        with closing(sqlite3.connect(changed)) as db:
            assert not database.is_chain_intact(db, 1), statement
            assert database.is_chain_intact(db, 3)


def test_a_damaged_game_leaves_the_others_readable(path: Path) -> None:
    make_journal(path)
    last_game_ids = [row[0] for row in entry_rows(path) if row[1] == 3]
    with Journal(path) as journal:
        journal.append(0, [FreeSeat(Seat.NORTH)], 1.0)
    change_journal(path, f"UPDATE entries SET now_s = now_s + 1 WHERE id = {last_game_ids[-2]}")
    with open_table_rig(path.parent) as rig:
        assert rig.view.devices.notices == (
            "Game 3 cannot be continued (it was damaged on the disk): start a new one.",
        )
        assert rig.view.phase is Phase.LOBBY
        assert rig.view.seats[Seat.SOUTH].name == "South"
        assert rig.view.seats[Seat.NORTH].name is None, "an input after the damage was lost"
        rig.table.new_game("outbuffered")
        assert rig.table.progress().number == 4
    with Journal(path) as journal:
        assert journal.games() == [1, 2, 3, 4]
        assert journal.is_game_intact(4)
        assert journal.notice == ""
    assert damaged_files(path) == []


def test_a_newer_versions_record_ends_its_game(path: Path) -> None:
    make_journal(path)
    last_game_ids = [row[0] for row in entry_rows(path) if row[1] == 3]
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


@pytest.mark.parametrize("game", [1, 3])
def test_a_deeply_nested_record_is_damage(path: Path, game: int) -> None:
    content, _ = make_journal(path.with_name("made.sqlite"))
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
    make_journal(path, games=3)
    change_journal(path, "DELETE FROM entries WHERE game = 3")
    with open_table_rig(path.parent) as rig:
        assert "Game 3 cannot be continued" in rig.view.devices.notices[0]
        assert rig.view.phase is Phase.LOBBY
        rig.table.new_game("outbuffered")
        assert rig.table.progress().number == 4


def test_times_stay_readable_beside_damage(path: Path) -> None:
    make_journal(path, games=3)
    last = "(SELECT max(id) FROM entries WHERE game = 2)"
    change_journal(path, f"UPDATE entries SET at = 'x' WHERE id = {last}")
    with Journal(path) as journal:
        assert [game for game, _ in journal.archive.last_entry_times()] == [1, 3]


def record_page_offsets(path: Path, content: bytes) -> list[int]:
    """Return the offsets of the pages that hold orders.

    They are the leaf pages of the B-tree of `entries`. A leaf page begins with the byte 13.
    """
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries'").fetchone()
    offsets = range(root * 4096, len(content), 4096)
    return [
        offset
        for offset in offsets
        if content[offset] == 13 and b"hand_in" in content[offset : offset + 4096]
    ]


@pytest.mark.parametrize("table", ["entries", "entries_game", "keys"])
def test_journals_with_bad_pages_are_set_aside(path: Path, table: str) -> None:
    make_journal(path, games=12)
    with closing(sqlite3.connect(path)) as db:
        query = "SELECT rootpage FROM sqlite_master WHERE name LIKE ? ORDER BY rootpage DESC"
        (root,) = db.execute(query, (f"%{table}%",)).fetchone()
    content = bytearray(path.read_bytes())
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
    make_journal(path)
    with Journal(path) as journal:
        journal.checkpoint()
        assert database_of(journal).execute("PRAGMA busy_timeout").fetchone()[0] > 0, (
            "a reader of the file makes an input fail"
        )
    monkeypatch.setattr(opening, "BUSY_TIMEOUT_MS", 100)
    with Journal(path), closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="cannot be opened: database is locked"):
            open_to_write(path)
    assert not damaged_files(path), "a locked file was taken for damaged"


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
        journal.key("host")
        journal.append(0, [FreeSeat(Seat.SOUTH)], 2.0)
        assert journal.keys()


@settings(max_examples=15)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32))
def test_a_journal_opens_and_reports_any_damage(large_journal: Path, kind: str, seed: int) -> None:
    content, log = (large_journal / "content").read_bytes(), (large_journal / "log").read_bytes()
    damaged, damaged_log = damage(kind, content, log, Random(seed))
    assert problems_after(large_journal, damaged, damaged_log, kind not in SILENT_KINDS) == [], (
        kind,
        seed,
    )


@pytest.fixture(scope="module")
def large_journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a journal of many pages: its file, and the log with its last inputs."""
    folder = tmp_path_factory.mktemp("damage")
    content, log = make_journal(folder / "made.sqlite", games=8, with_log=True)
    (folder / "content").write_bytes(content)
    (folder / "log").write_bytes(log)
    return folder
