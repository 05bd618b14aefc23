"""The journal's second place: what the journal has lost at its end is said, and nothing is said for nothing."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from damage_tools import changed, made_journal
from inside import journal_of, store_of
from table_tools import playing
from test_disk import a_house

from companion.cli.doctor import journal_finding as doctor_says
from companion.core.clock import FakeClock
from companion.core.config import Settings
from companion.core.errors import JournalError
from companion.core.kit import Seat
from companion.maintenance.backup import apply_staged, make_backup, stage_forgetting, stage_restore
from companion.maintenance.releases.releases import older_journal
from companion.storage import journal_head, migrations
from companion.storage.journal import FORMAT, Journal
from companion.storage.journal_head import HeadFile, Lost, head_of, head_path, lost, read_head
from companion.storage.migrations import is_scrambled
from companion.storage.recovery import damaged_files
from companion.table.records import Pause
from companion.table.session import Phase
from companion.table.table import Table

FILES = ("", "-wal", "-head")
LOST = "The journal’s end is lost: "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"


def as_after_a_cut(path: Path, to: Path) -> Path:
    """What lies on the disk now, as if the power had gone."""
    to.mkdir()
    for suffix in FILES:
        if Path(f"{path}{suffix}").exists():
            shutil.copyfile(f"{path}{suffix}", to / f"{path.name}{suffix}")
    return to / path.name


def inputs_of(path: Path, wanted: int = 6) -> Path:
    """A game with some inputs in the log; answers a copy as after a power cut."""
    with Journal(path) as journal:
        journal.checkpoint()
        for number in range(wanted):
            journal.append(1, Pause("host", float(number)), 1_763_000_000.0 + number, 5.0 + number)
        return as_after_a_cut(path, path.parent.with_name("cut"))


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << (at % 8)
    path.write_bytes(content)


# ---- what is lost is said --------------------------------------------------------------------------------------------


def test_one_flipped_bit_in_the_log_is_said_wherever_it_is(path: Path, tmp_path: Path) -> None:
    cut = inputs_of(path)
    length = Path(f"{cut}-wal").stat().st_size
    frames = (length - 32) // (24 + 4096)
    places = [0, 9, 25, *(32 + number * 4120 + at for number in range(frames) for at in (1, 5, 17, 24, 3000))]
    said = 0
    for place in places:
        again = as_after_a_cut(cut, tmp_path / f"at-{place}")
        flip(Path(f"{again}-wal"), place)
        with Journal(again) as journal:
            left = len(journal.legible(1)[0])
            assert (LOST in journal.notice) is (left < 6), (place, left, journal.notice)
            if left < 6:
                said += 1
                assert f"{6 - left} input" in journal.notice, place
                assert "in game 1" in journal.notice
                assert "journal.damaged-1.sqlite" in journal.notice
                assert {stat.S_IMODE(each.stat().st_mode) for each in damaged_files(again)} == {0o600}, (
                    "keys are in them"
                )
                kept = [each.name for each in damaged_files(again)]
                assert kept == ["journal.damaged-1.sqlite", "journal.damaged-1.sqlite-wal"]
                assert Path(f"{cut}-wal").stat().st_size == (again.parent / kept[1]).stat().st_size
            journal.append(1, Pause("host", 99.0), 1_763_000_100.0, 99.0)
        with Journal(again) as journal:
            assert journal.notice == "", "it is said once"
            assert len(journal.legible(1)[0]) == left + 1
    assert said >= frames * 4, "nearly every place loses something"


def test_a_log_that_was_cut_anywhere_is_said(path: Path, tmp_path: Path) -> None:
    cut = inputs_of(path)
    length = Path(f"{cut}-wal").stat().st_size
    for left in (*range(0, length, 2060), length - 1):
        again = as_after_a_cut(cut, tmp_path / f"left-{left}")
        os.truncate(f"{again}-wal", left)
        with Journal(again) as journal:
            kept = len(journal.legible(1)[0])
            assert kept < 6
            assert f"{6 - kept} input" in journal.notice


def test_pages_doctor_and_log_say_what_is_lost_and_the_game_goes_on(
    path: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with playing(path.parent) as played:
        played.begin()
        for orders in ("UUS", "RIS"):
            played.turn(orders, orders)
            played.finish_stages()
        played.table.hand_in(Seat.SOUTH, played.table.view().moment, "UUS", "salt")
        moment = played.table.view().moment
        cut = as_after_a_cut(path, tmp_path / "cut")
    assert Path(f"{cut}-wal").stat().st_size < 40_000, "it was emptied at the end of the turn"
    flip(Path(f"{cut}-wal"), 32 + 24 + 100)
    findings = list(doctor_says(Settings(state_dir=str(cut.parent))))
    assert LOST in findings[0].text
    with playing(cut.parent) as played:
        view = played.table.view()
        assert (view.moment, view.phase) == (moment, Phase.ORDERS), "no turn that was over is lost"
        assert view.seats[Seat.SOUTH].receipt is None
        assert view.devices.notices[0].startswith(f"{LOST}1 input is missing, in game 1.")
        played.turn("UUS", "UUS")
    assert LOST in caplog.text


@pytest.mark.parametrize(
    ("further", "inputs", "changes"),
    [
        ({"seats": -1, "count": 1}, 1, 0),  # a head may be older than the journal in one thing, and lack another
        ({"seats": 1, "count": -1}, 1, 0),
        ({"seats": -1, "count": -1, "changes": 1}, 0, 1),
        ({"seats": 1, "last": 3}, 3, 0),
    ],
)
def test_what_a_journal_has_beyond_its_head_makes_up_for_nothing(
    path: Path, further: dict[str, int], inputs: int, changes: int
) -> None:
    made_journal(path)
    with closing(sqlite3.connect(path)) as db:
        head = head_of(db, FORMAT)
        assert (head.last, head.at) == db.execute("SELECT id, at FROM entries ORDER BY id DESC LIMIT 1").fetchone()
        assert [lost(db, replace(head, **{name: getattr(head, name) - 1})) for name in further] == [None] * len(further)
        missing = lost(db, replace(head, **{name: getattr(head, name) + more for name, more in further.items()}))
        db.execute("DELETE FROM entries")
        db.execute("DELETE FROM ends")
        everything = lost(db, head)
    assert missing is not None
    assert (missing.inputs, missing.changes) == (inputs, changes)
    assert everything == Lost(head.game, head.last, 0, 0.0)


def test_a_whole_game_that_is_lost_leaves_its_number_behind(path: Path, tmp_path: Path) -> None:
    with playing(path.parent) as played:
        played.begin()
        played.table.abandon()
        before = as_after_a_cut(path, tmp_path / "before")
        played.begin()
    shutil.copyfile(head_path(path), head_path(before))
    with playing(before.parent) as played:
        assert "in game 2" in played.table.view().devices.notices[0]
        played.begin()
        assert played.table.progress().number == 3


def test_seats_keys_and_forgotten_names_are_inputs_and_changes_too(path: Path, tmp_path: Path) -> None:
    with Journal(path) as journal, Table(journal, FakeClock()) as table:
        journal.key("host")
        before = as_after_a_cut(path, tmp_path / "before")
        journal.renew_key("host")
        changed = as_after_a_cut(path, tmp_path / "changed")
        table.take_seat(Seat.SOUTH, "Ann")
        seated = as_after_a_cut(path, tmp_path / "seated")
    for newer, words in ((changed, "Changes to keys"), (seated, "1 input about who sits where is missing")):
        again = as_after_a_cut(before, tmp_path / f"{newer.parent.name}-again")
        shutil.copyfile(head_path(newer), head_path(again))
        with Journal(again) as journal:
            assert words in journal.notice
        with Journal(again) as journal:
            assert journal.notice == ""


def test_a_head_with_a_bad_slot_is_the_one_of_before(path: Path, tmp_path: Path) -> None:
    cut = inputs_of(path)
    newest = read_head(cut)
    assert newest is not None
    for place in (0, 3, 20, 60, 110, 4096, 4100, 4200):
        again = as_after_a_cut(cut, tmp_path / f"at-{place}")
        flip(head_path(again), place)
        left = read_head(again)
        assert left is not None
        assert left.count in (newest.count, newest.count - 1)
        with Journal(again) as journal:
            assert journal.notice == ""
            assert len(journal.legible(1)[0]) == 6
    head_path(cut).write_bytes(os.urandom(8192))
    with Journal(cut) as journal:
        assert journal.notice == ""
    assert read_head(cut) == newest


# ---- and nothing for nothing -----------------------------------------------------------------------------------------

KILLED = """
import os, sys
from pathlib import Path
from companion.storage.journal_head import HeadFile
from companion.storage.journal import Journal
from companion.table.records import Pause
path, point, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
count = 0
def die_at(name):
    global count
    if name == point:
        count += 1
        if count == number:
            os.kill(os.getpid(), 9)
real_write, real_pwrite, real_sync = HeadFile.write, os.pwrite, os.fdatasync
def write(self, head):
    die_at("before the head")
    real_write(self, head)
    die_at("after the head")
def pwrite(file, content, at):
    if point == "half a head" and len(content) < 8192:
        global count
        count += 1
        if count == number:
            real_pwrite(file, content[:40], at)
            os.kill(os.getpid(), 9)
    return real_pwrite(file, content, at)
def sync(file):
    die_at("before the sync")
    real_sync(file)
HeadFile.write, os.pwrite, os.fdatasync = write, pwrite, sync
with Journal(path) as journal:
    for turn in range(20):
        journal.append(1, Pause("host", float(turn)), 1e9 + turn, float(turn))
        print(turn + 1, flush=True)
        die_at("after an input")
        if turn % 3 == 2:
            journal.checkpoint()
            die_at("after a checkpoint")
        if turn == 10:
            journal.key("host")
"""


@pytest.mark.parametrize(
    ("point", "number"),
    [
        (point, number)
        for point in ("before the head", "half a head", "before the sync", "after the head", "after an input")
        for number in (1, 4, 9)
    ]
    + [("after a checkpoint", 2)],
)
def test_a_kill_at_any_moment_is_no_loss(path: Path, point: str, number: int) -> None:
    program = [sys.executable, "-c", KILLED, str(path), point, str(number)]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == -9, ended.stderr
    shown = len(ended.stdout.split())
    with Journal(path, read_only=True) as journal:
        assert journal.notice == ""
    with Journal(path) as journal:
        assert journal.notice == ""
        assert len(journal.legible(1)[0]) in (shown, shown + 1)
    assert damaged_files(path) == []


def test_the_head_is_on_the_disk_before_anybody_sees_the_input(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    real = os.fdatasync

    def sync(file: int) -> None:
        real(file)
        done.append("synced")

    monkeypatch.setattr(journal_head.os, "fdatasync", sync)
    with playing(path.parent) as played:
        played.begin()
        done.clear()
        played.table.connect(on_round=lambda: None)
        published: list[list[str]] = []
        store = store_of(played.table)
        real_publish = store.publish
        monkeypatch.setattr(store, "publish", lambda *given: (published.append(done.copy()), real_publish(*given)))
        played.table.hand_in(Seat.SOUTH, played.table.view().moment, "UUS", "salt")
        now = read_head(path)
        assert published[0] == ["synced"]
        assert now is not None
        assert now.count == len(journal_of(played.table).legible(1)[0])


def test_games_that_are_removed_or_rolled_off_are_not_missed(path: Path, tmp_path: Path) -> None:
    with playing(path.parent) as played:
        for _ in range(2):
            played.begin()
            played.table.abandon()
        journal = journal_of(played.table)
        stale = head_path(path).read_bytes()
        journal.archive.remove_game(2)
        cut = as_after_a_cut(path, tmp_path / "cut")
    with Journal(path) as journal:
        assert journal.notice == ""
    head_path(cut).write_bytes(stale)  # the power went between the two
    with Journal(cut) as journal:
        assert journal.notice == ""


def test_restore_reset_and_the_way_back_to_an_older_release_know_the_second_place(path: Path, tmp_path: Path) -> None:
    here = Settings(state_dir=str(path.parent))
    made_journal(path, games=1)
    file, backup = tmp_path / "settings.toml", tmp_path / "old.zip"
    with backup.open("wb") as target:
        make_backup(here, file, FakeClock(), False, target)
    shutil.rmtree(path.parent)
    made_journal(path, games=4)
    stage_restore(backup, here, file)
    apply_staged(here, file)
    with Journal(path) as journal:
        assert journal.notice == ""
    assert read_head(path.parent / "before-restore" / path.name) is not None
    stage_forgetting(here)
    apply_staged(here, file)
    with Journal(path) as journal:
        assert (journal.notice, journal.games()) == ("", [])
    shutil.rmtree(path.parent)
    made_journal(path, games=1)
    shutil.copyfile(path, migrations.copy_of(path, 1))
    with closing(sqlite3.connect(migrations.copy_of(path, 1))) as db:
        db.execute("PRAGMA user_version=1")
    made_more = Journal(path)
    made_more.append(5, Pause("host", 1.0), 1e9, 1.0)
    made_more.close()
    older_journal(path, 1, "2.0")
    assert not head_path(path).exists(), "it is the newer journal's"


def test_a_full_disk_or_a_place_that_cannot_be_written_stops_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(journal_head.os, "pwrite", full)
        with Journal(path) as journal:
            for number in range(3):
                journal.append(1, Pause("host", 1.0), 1e9 + number, 1.0)
            assert "guards the end of the journal cannot be written (No space left on device)" in journal.weakness
        with a_house(path.parent.with_name("house")) as (played, house, _, _):
            house.step()
            played.table.step()
            assert "end of the journal cannot be written" in played.table.view().devices.notices[0]
            patch.undo()
            played.begin()
            house.step()
            played.table.step()
            assert played.table.view().devices.notices == ()
    assert caplog.text.count("end of the journal cannot be written") == 2, "once in each start"
    with Journal(path) as journal:
        assert (journal.notice, journal.weakness, len(journal.legible(1)[0])) == ("", "", 3)
        assert head_path(path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("lay", [Path.mkdir, os.mkfifo, lambda at: at.symlink_to("/etc/passwd")])
def test_something_else_in_the_second_place_is_left_alone(path: Path, lay: Callable[[Path], object]) -> None:
    path.parent.mkdir()
    lay(head_path(path))
    before = Path("/etc/passwd").stat()
    with Journal(path) as journal:
        journal.append(1, Pause("host", 1.0), 1e9, 1.0)
        assert journal.weakness
    assert Path("/etc/passwd").stat().st_mtime == before.st_mtime


def test_a_second_place_of_no_use_is_none(tmp_path: Path) -> None:
    place = HeadFile(tmp_path / "journal.sqlite")
    place.close()
    place.close()
    for content in (b"", b"x", bytes(8192), b"tabletop" * 1024):
        head_path(tmp_path / "journal.sqlite").write_bytes(content)
        assert read_head(tmp_path / "journal.sqlite") is None


# ---- what lies beside the inputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flip",
    [
        "UPDATE keys SET value = CAST(x'07' || substr(value, 2) AS BLOB) WHERE name = 'host'",
        "UPDATE keys SET name = 'hosu' WHERE name = 'host'",
        "UPDATE removed SET game = game + 64",
        "UPDATE forgotten SET game = game - 1",
        "DELETE FROM forgotten",
    ],
)
def test_a_bit_that_flips_beside_the_inputs_is_told_once(path: Path, flip: str) -> None:
    """No digest of the inputs knows of it: another host key was taken without a word."""
    made_journal(path, games=3)
    with Journal(path) as journal:
        journal.archive.remove_game(2)
        journal.archive.forget("South")
        assert journal.notice == ""
    with Journal(path) as journal:
        assert journal.notice == ""
    changed(path, flip)
    with Journal(path, read_only=True) as journal:
        assert journal.notice.startswith(
            "Keys, removed games or names to be forgotten were damaged: make a new host key"
        )
    with Journal(path) as journal:
        assert journal.notice.startswith(
            "Keys, removed games or names to be forgotten were damaged: make a new host key"
        )
    with Journal(path) as journal:
        assert journal.notice == ""


def test_a_second_place_without_that_digest_says_nothing_of_it(path: Path) -> None:
    """An older program wrote it, over what this one had written in the same place."""
    made_journal(path, games=1)
    with Journal(path):
        pass
    content = bytearray(head_path(path).read_bytes())
    for slot in (0, 4096):
        content[slot + 120 : slot + 130] = bytes(10)
    head_path(path).write_bytes(content)
    head = read_head(path)
    assert head is not None
    assert head.beside == b""
    changed(path, "UPDATE keys SET value = CAST(x'07' || substr(value, 2) AS BLOB) WHERE name = 'host'")
    with Journal(path) as journal:
        assert journal.notice == ""


# ---- the header ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_a_scrambled_header_is_rescued_with_all_games(path: Path, seed: int) -> None:
    made_journal(path, games=3)
    with Journal(path, read_only=True) as journal:
        before = [(entry.id, entry.record) for entry in journal.entries()]
    rng, content = Random(seed), bytearray(path.read_bytes())
    if seed < 4:
        content[60:64] = rng.randrange(3, 2**31).to_bytes(4, "big")  # the format alone
    elif seed < 8:
        content[16:100] = rng.randbytes(84)
    else:
        content[:100] = rng.randbytes(100)
    path.write_bytes(content)
    with Journal(path) as journal:
        assert journal.notice.startswith("The journal was damaged.")
        assert [(entry.id, entry.record) for entry in journal.entries()] == before
        assert LOST not in journal.notice
        assert len(journal.key("host")) == 32
    assert [each.name for each in damaged_files(path) if each.suffix == ".sqlite"] == ["journal.damaged-1.sqlite"]
    with Journal(path) as journal:
        assert journal.notice == ""


@pytest.mark.parametrize(
    ("at", "value"),
    [(16, 0x1001), (16, 0x0100), (18, 0x0203), (44, 0), (44, 5), (56, 0), (56, 4), (60, 2**31), (72, 1)],
)
def test_a_header_that_nobody_writes_is_told_from_one_that_can_be(path: Path, at: int, value: int) -> None:
    """Page size, versions of reading and writing, schema format, encoding, this program's format, what must be zero."""
    made_journal(path, games=1)
    assert not is_scrambled(path)
    content, length = bytearray(path.read_bytes()), 2 if at < 20 else 4
    content[at : at + length] = value.to_bytes(length, "big")
    path.write_bytes(content)
    assert is_scrambled(path) == bool(value)


def test_what_a_cut_rescue_left_behind_is_in_no_ones_way(path: Path) -> None:
    made_journal(path, games=1)
    path.write_bytes(bytes(100) + path.read_bytes()[100:])
    path.with_name("journal.mended.sqlite").write_bytes(b"left behind")
    with Journal(path) as journal:
        assert " of 1 game are kept" in journal.notice
    assert not path.with_name("journal.mended.sqlite").exists()


def test_without_a_second_place_a_format_that_can_be_is_believed(path: Path) -> None:
    made_journal(path, games=1)
    head_path(path).unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version=4")
    with pytest.raises(JournalError, match="has format 4"):
        Journal(path)
