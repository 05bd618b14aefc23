"""Files that somebody else has made: whatever SQL is in them, it never runs, and no secret leaves by it."""

from __future__ import annotations

import io
import shutil
import sqlite3
import zipfile
from contextlib import closing, suppress
from pathlib import Path

import pytest

from companion.cli.trial import try_games
from companion.core.clock import FakeClock
from companion.core.config import Settings
from companion.core.errors import CompanionError, JournalError, Malformed
from companion.core.kit import Seat
from companion.maintenance import games_copy
from companion.maintenance.backup import apply_staged, make_backup, stage_restore
from companion.maintenance.games_copy import whole_copy
from companion.storage import migrations
from companion.storage.checksums import link_all
from companion.storage.foreign_rows import Strange, columns_of, rows, twin
from companion.storage.guarded_sqlite import open_foreign
from companion.storage.journal import FORMAT, Journal
from companion.storage.migrations import made
from companion.storage.recovery import damaged_files
from companion.table.records import FreeSeat
from companion.table.session import Phase
from companion.table.table import Table

ORDER, SALT, SEED = "RLI", "5a175a175a17", 7_215_554_433_221

LEAK = """
CREATE TABLE "a""b" (stolen BLOB);
CREATE TRIGGER leak_entries AFTER INSERT ON entries BEGIN INSERT INTO "a""b" VALUES (new.record); END;
CREATE TRIGGER leak_keys AFTER INSERT ON keys BEGIN INSERT INTO "a""b" VALUES (new.value); END;
"""
INTO_REMOVED = """
CREATE TRIGGER hoard AFTER INSERT ON entries BEGIN
    INSERT INTO imported VALUES (1000000 + new.id, 1.0, hex(new.record), new.record); END;
CREATE TRIGGER hoard_keys AFTER INSERT ON keys BEGIN
    INSERT INTO imported VALUES (2000000 + length(new.name), 1.0, hex(new.value), new.value); END;
"""
VIEW = """
ALTER TABLE keys RENAME TO real_keys;
CREATE VIEW keys AS SELECT name, value FROM real_keys;
CREATE TRIGGER through_view INSTEAD OF INSERT ON keys BEGIN
    INSERT INTO real_keys VALUES (new.name, new.value);
    INSERT INTO facts VALUES (hex(new.value), 1); END;
"""
ENTRIES_VIEW = """
ALTER TABLE entries RENAME TO real_entries;
CREATE VIEW entries AS SELECT * FROM real_entries;
"""
VIRTUAL = """
CREATE VIRTUAL TABLE search USING fts5(body);
CREATE TRIGGER indexed AFTER INSERT ON entries BEGIN INSERT INTO search VALUES (CAST(new.record AS TEXT)); END;
"""
EXPRESSION = "CREATE INDEX runs_here ON entries (hex(record));"
PARTIAL = "CREATE UNIQUE INDEX one_only ON entries (game) WHERE length(record) > 100000;"
GENERATED = "ALTER TABLE keys ADD COLUMN twin BLOB GENERATED ALWAYS AS (hex(value)) VIRTUAL;"
MORE_COLUMNS = "ALTER TABLE entries ADD COLUMN copy BLOB DEFAULT x'00';"
NO_ROW_NUMBERS = """
CREATE TABLE other (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO other SELECT * FROM keys; DROP TABLE keys; ALTER TABLE other RENAME TO keys;
"""
STATISTICS = "ANALYZE;"
SEQUENCE = "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO counted DEFAULT VALUES;"
LEFTOVERS = """
PRAGMA writable_schema=ON;
INSERT INTO sqlite_master VALUES ('trigger', 'hidden', 'entries', 0,
    'CREATE TRIGGER hidden AFTER INSERT ON entries BEGIN INSERT INTO facts VALUES (hex(new.record), 1); END');
PRAGMA writable_schema=OFF;
"""
CHECKED = """
PRAGMA writable_schema=ON;
UPDATE sqlite_master SET sql = replace(sql, 'record BLOB NOT NULL', 'record BLOB NOT NULL CHECK (length(record) > 0)')
    WHERE name = 'entries';
PRAGMA writable_schema=OFF;
"""
ATTACKS = {
    "triggers and a name with a quote": LEAK,
    "triggers into a table of ours": INTO_REMOVED,
    "a view in the place of the keys": VIEW,
    "a view in the place of the inputs": ENTRIES_VIEW,
    "a virtual table": VIRTUAL,
    "an index over an expression": EXPRESSION,
    "a partial index": PARTIAL,
    "a generated column": GENERATED,
    "one more column": MORE_COLUMNS,
    "a table without row numbers": NO_ROW_NUMBERS,
    "statistics of the planner": STATISTICS,
    "a sequence": SEQUENCE,
    "leftovers of writable_schema": LEFTOVERS,
    "a condition in a table": CHECKED,
    "a name that is SQL": 'CREATE TABLE "x); DROP TABLE entries; --" (a);',
    "a name that looks like SQLite's": LEAK.replace('"a""b"', '"entries_gаme"'),
    "a huge value": "CREATE TABLE big (v BLOB); INSERT INTO big VALUES (zeroblob(30000000));",
    "an index less": "DROP INDEX entries_game;",
    "all of it": LEAK + INTO_REMOVED + EXPRESSION + STATISTICS,
}


def played(folder: Path, games: int = 1) -> Settings:
    """An installation with games that are over, and its keys."""
    settings = Settings(state_dir=str(folder))
    with Journal(settings.journal_path) as journal, Table(journal, FakeClock()) as table:
        for name in ("host", "signing"):
            journal.key(name)
        for seat in Seat:
            table.take_seat(seat, seat.title())
        for _ in range(games):
            table.new_game("outbuffered", {}, 1)
            table.confirm("host", table.view().moment, 0)
            table.abandon()
    return settings


def backup_of(settings: Settings) -> bytes:
    target = io.BytesIO()
    make_backup(settings, Path(settings.state_dir) / "settings.toml", FakeClock(), False, target)
    return target.getvalue()


def journal_in(content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read("journal.sqlite")


def with_journal(content: bytes, journal: bytes) -> bytes:
    """A backup with another journal in it."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, journal if name == "journal.sqlite" else old.read(name))
    return target.getvalue()


def altered(journal: bytes, folder: Path, script: str) -> bytes:
    """A journal in which somebody has done something with SQL."""
    path = folder / "altered.sqlite"
    path.write_bytes(journal)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
    content = path.read_bytes()
    path.unlink()
    return content


def play_in_secret(settings: Settings) -> list[bytes]:
    """A game is on with a sealed order; answers everything that is nobody's business."""
    with Journal(settings.journal_path) as journal, Table(journal, FakeClock()) as table:
        for seat in Seat:
            if seat not in journal.restore().seats:
                table.take_seat(seat, seat.title())
        if table.view().phase not in (Phase.LOBBY, Phase.OVER):
            table.abandon()
        table.new_game("outbuffered", {}, SEED)
        table.confirm("host", table.view().moment, 0)
        table.hand_in(Seat.SOUTH, table.view().moment, ORDER, SALT)
        nonces = [table.seat_nonce(seat) for seat in Seat]
        keys = [journal.key("host"), journal.key("signing")]
    secrets = [SALT.encode(), str(SEED).encode(), f'"{ORDER}"'.encode(), *(str(nonce).encode() for nonce in nonces)]
    return [*secrets, *keys, *(key.hex().upper().encode() for key in keys), SALT.encode().hex().upper().encode()]


def leaks(content: bytes, secrets: list[bytes]) -> list[bytes]:
    """Which secrets are anywhere in a backup."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = [archive.read(name) for name in archive.namelist()]
    return [secret for secret in secrets if any(secret in file for file in files)]


def schema_is_ours(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as db:
        return migrations.has_shape(db, migrations.FORMAT)


def test_the_secrets_that_are_looked_for_are_in_the_journal(tmp_path: Path) -> None:
    """Otherwise what follows could not fail."""
    settings = played(tmp_path)
    secrets = play_in_secret(settings)
    with closing(sqlite3.connect(settings.journal_path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = settings.journal_path.read_bytes()
    plain = [secret for secret in secrets if secret in content]
    assert len(plain) >= 7, "salt, seed, order, two nonces, two keys"
    assert leaks(backup_of(settings), secrets) == []


@pytest.mark.parametrize("script", ATTACKS.values(), ids=ATTACKS)
def test_nothing_in_a_backup_from_elsewhere_runs(tmp_path: Path, script: str) -> None:
    content = backup_of(played(tmp_path / "theirs", games=2))
    here = played(tmp_path / "here", games=1)
    bad = with_journal(content, altered(journal_in(content), tmp_path, script))
    file = Path(here.state_dir) / "settings.toml"
    refused = ""
    try:
        told = stage_restore(io.BytesIO(bad), here, file).sentence()
    except Malformed as error:
        refused = error.message
    assert "games in this backup" in refused or "does not belong to this program and was left out." in told
    if not refused:
        apply_staged(here, file)
        with Journal(here.journal_path, read_only=True) as journal:
            assert journal.games() == [1, 2]
    assert schema_is_ours(here.journal_path)
    secrets = play_in_secret(here)
    assert leaks(backup_of(here), secrets) == []
    with Journal(here.journal_path) as journal:
        assert journal.notice == ""


@pytest.mark.parametrize("script", ATTACKS.values(), ids=ATTACKS)
def test_a_journal_with_foreign_sql_in_it_is_rescued_and_that_is_said(tmp_path: Path, script: str) -> None:
    here = played(tmp_path, games=2)
    with Journal(here.journal_path) as journal:
        keys = journal.keys()
    here.journal_path.write_bytes(altered(here.journal_path.read_bytes(), tmp_path, script))
    with suppress(JournalError):  # where the tables themselves are others
        assert leaks(backup_of(here), [key for _, key in keys]) == [], "nor before the next start"
    with Journal(here.journal_path) as journal, Table(journal, FakeClock()) as table:
        assert journal.notice.startswith(("The journal held something that this program", "The journal was damaged"))
        assert table.view().devices.notices == (journal.notice,)
        if script not in (ENTRIES_VIEW, MORE_COLUMNS):
            assert journal.games() == [1, 2]
        if script not in (VIEW, GENERATED, NO_ROW_NUMBERS):
            is_pledge_lost = script in (ENTRIES_VIEW, MORE_COLUMNS)  # then the table commits to another secret
            lost = {"chance"} if is_pledge_lost else set()
            found = journal.keys()
            assert [row for row in found if row[0] not in lost] == [row for row in keys if row[0] not in lost]
    assert schema_is_ours(here.journal_path)
    assert len([path for path in damaged_files(here.journal_path) if path.suffix == ".sqlite"]) == 1
    secrets = play_in_secret(here)
    assert leaks(backup_of(here), secrets) == []
    with Journal(here.journal_path) as journal:
        assert journal.notice == "", "it is said once"


def test_a_trigger_that_comes_while_the_service_runs_runs_no_more_than_another(tmp_path: Path) -> None:
    here = played(tmp_path)
    with Journal(here.journal_path) as journal:
        with closing(sqlite3.connect(here.journal_path)) as other:
            other.executescript(LEAK)
        with pytest.raises(CompanionError):
            journal.renew_key("host")
    with closing(sqlite3.connect(here.journal_path)) as db:
        assert db.execute('SELECT COUNT(*) FROM "a""b"').fetchone() == (0,)


def test_a_new_release_tries_a_copy_of_what_is_ours_alone(tmp_path: Path) -> None:
    here = played(tmp_path / "here")
    here.journal_path.write_bytes(altered(here.journal_path.read_bytes(), tmp_path, LEAK))
    copy = tmp_path / "copy.sqlite"
    whole_copy(here.journal_path, copy)
    assert schema_is_ours(copy)
    assert "1 games are read" in try_games(here)


def test_a_format_of_before_with_foreign_sql_is_no_way_in_either(tmp_path: Path) -> None:
    old = (Path(__file__).parents[1] / "journal-format-1.sqlite").read_bytes()
    here = Settings(state_dir=str(tmp_path))
    here.journal_path.write_bytes(altered(old, tmp_path, LEAK))
    with Journal(here.journal_path, read_only=True) as journal:
        assert journal.games() == [1, 2, 3]
    with Journal(here.journal_path) as journal:
        assert "something that this program never writes" in journal.notice
        assert journal.games() == [1, 2, 3]
    assert schema_is_ours(here.journal_path)


def test_the_first_programs_of_format_1_had_no_shelf_and_are_no_strangers(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    shutil.copyfile(Path(__file__).parents[1] / "journal-format-1.sqlite", path)
    with closing(sqlite3.connect(path)) as db:
        db.executescript("DROP TABLE imported; DROP TABLE removed; DROP TABLE forgotten;")
    with Journal(path, read_only=True) as journal:
        assert journal.games() == [1, 2, 3]
    with Journal(path) as journal:
        assert (journal.games(), journal.notice) == ([1, 2, 3], "")
    assert schema_is_ours(path)


def test_a_table_of_a_later_format_is_passed_over_and_a_value_beyond_its_bounds_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    shutil.copyfile(Path(__file__).parents[1] / "journal-format-1.sqlite", path)
    with (
        closing(sqlite3.connect(path)) as old,
        closing(made(FORMAT)) as new,
        closing(sqlite3.connect(":memory:")) as to,
    ):
        to.isolation_level = None
        old.execute("DROP TABLE imported")  # as its first programs had none
        twin(old, to, 1, ("runs", "imported", "keys"))
        assert to.execute("SELECT COUNT(*) FROM keys").fetchone() == old.execute("SELECT COUNT(*) FROM keys").fetchone()
        new.execute("INSERT INTO runs VALUES (1, 0.0, 2)")
        with pytest.raises(Strange, match="its column is_right"):
            list(rows(new, "runs", columns_of(FORMAT)["runs"]))


def test_a_foreign_file_can_be_read_in_named_tables_and_nothing_else(tmp_path: Path) -> None:
    here = played(tmp_path)
    here.journal_path.write_bytes(altered(here.journal_path.read_bytes(), tmp_path, LEAK + ENTRIES_VIEW))
    with closing(open_foreign(here.journal_path, ("keys",))) as db:
        assert len(db.execute("SELECT name FROM keys").fetchall()) == 3
        for statement in (
            "SELECT record FROM entries", 'SELECT * FROM "a""b"', "SELECT load_extension('x')",
            "INSERT INTO keys VALUES ('x', x'00')", "PRAGMA writable_schema=ON", "ATTACH 'x.sqlite' AS x",
            "CREATE TEMP TABLE x (a)", "SELECT zeroblob(100)", "PRAGMA journal_mode=DELETE",
        ):  # fmt: skip
            with pytest.raises(sqlite3.DatabaseError):
                db.execute(statement).fetchall()


def test_a_file_is_read_with_its_log_and_gets_none_where_nobody_writes(tmp_path: Path) -> None:
    path, alone = tmp_path / "journal.sqlite", tmp_path / "alone" / "journal.sqlite"
    with Journal(path) as journal:
        journal.append(0, FreeSeat(Seat.SOUTH), 1.0)
        assert path.with_name("journal.sqlite-wal").stat().st_size
        with closing(open_foreign(path, ("entries",))) as db:
            assert db.execute("SELECT COUNT(*) FROM entries").fetchone() == (1,), "it is in the log alone"
    alone.parent.mkdir()
    shutil.copy(path, alone)
    with closing(open_foreign(alone, ("entries",), immutable=True)) as db:
        assert db.execute("SELECT COUNT(*) FROM entries").fetchone() == (1,)
        assert [each.name for each in alone.parent.iterdir()] == ["journal.sqlite"]


# ---- numbers that leave no room --------------------------------------------------------------------------------------

HUGE = 2**63 - 1
NUMBERS = {
    "the last number of an input": f"UPDATE entries SET id = {HUGE} WHERE id = (SELECT MAX(id) FROM entries);",
    "the last number of a game": f"UPDATE entries SET game = {HUGE} WHERE game = 2;",
    "a game before the first": "UPDATE entries SET game = -2 WHERE game = 2;",
    "an input at no date": "UPDATE entries SET at = 1e300;",
    "an input at no time": "UPDATE entries SET now_s = -1e300;",
    "the last number of a start": f"UPDATE entries SET run = {HUGE}; INSERT INTO runs VALUES ({HUGE}, 0.0, 1);",
    "a start at no date": "UPDATE runs SET ahead_s = 1e300;",
    "a start before all dates": "UPDATE runs SET ahead_s = -1e18;",
    "the last number of a removed game": f"INSERT INTO removed VALUES ({HUGE});",
    "the last number of a game from elsewhere": f"INSERT INTO imported VALUES ({HUGE}, 1.0, 'a', x'7b7d');",
    "a game from elsewhere that came at no date": "INSERT INTO imported VALUES (9, 1e300, 'a', x'7b7d');",
}


def renumbered(journal: bytes, folder: Path, script: str) -> bytes:
    """A journal with other numbers, chained as if this program had written them."""
    path = folder / "renumbered.sqlite"
    path.write_bytes(altered(journal, folder, script))
    with closing(sqlite3.connect(path)) as db, db:
        link_all(db)
    content = path.read_bytes()
    path.unlink()
    return content


@pytest.mark.parametrize("script", NUMBERS.values(), ids=NUMBERS)
def test_a_backup_with_numbers_beyond_all_bounds_is_refused(tmp_path: Path, script: str) -> None:
    """They were taken: the service never started again, every page failed, or no game could begin any more."""
    content = backup_of(played(tmp_path / "theirs", games=2))
    here = played(tmp_path / "here")
    bad = with_journal(content, renumbered(journal_in(content), tmp_path, script))
    with pytest.raises(Malformed, match="The games in this backup"):
        stage_restore(io.BytesIO(bad), here, Path(here.state_dir) / "settings.toml")
    assert not list(Path(here.state_dir).glob("restore*"))


@pytest.mark.parametrize(
    "script", [script for name, script in NUMBERS.items() if "entries" not in script], ids=lambda script: script[:30]
)
def test_numbers_beyond_all_bounds_beside_the_inputs_are_damage(tmp_path: Path, script: str) -> None:
    """A flipped bit does as much as somebody's work: the table goes on."""
    here = played(tmp_path, games=2)
    here.journal_path.write_bytes(altered(here.journal_path.read_bytes(), tmp_path, script))
    with Journal(here.journal_path) as journal, Table(journal, FakeClock()) as table:
        assert "The journal was damaged." in journal.notice
        assert journal.games() == [1, 2]
        table.new_game("outbuffered", {}, 1)
        assert journal.games() == [1, 2, 3]


@pytest.mark.parametrize(("limit", "most"), [("MOST_GAME_INPUTS", 3), ("MOST_GAME_BYTES", 300), ("MOST_INPUTS", 9)])
def test_a_backup_with_a_game_without_an_end_is_refused_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """A game is held in memory as a whole: 1.3 MB of a ZIP file, 450 MB unpacked, took 480 MB of it."""
    here = played(tmp_path, games=2)
    content, file = backup_of(here), tmp_path / "settings.toml"
    stage_restore(io.BytesIO(content), here, file)
    monkeypatch.setattr(games_copy, limit, most)
    with pytest.raises(Malformed, match="The games in this backup are too long: at most "):
        stage_restore(io.BytesIO(content), here, file)
