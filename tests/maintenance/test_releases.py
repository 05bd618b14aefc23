"""Releases beside each other: a switch is one rename, one that does not come up is put back, with the games as they were."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest

from companion.maintenance.releases import releases
from companion.maintenance.releases.releases import (
    TRIES,
    Home,
    Release,
    ReleaseTrouble,
    SwitchedBack,
    free_name,
    told,
)
from companion.storage import migrations


def release(home: Home, name: str, journal_format: int = 1) -> str:
    """A release as `build` leaves it, with nothing in it."""
    folder = home.folder / name
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").touch()
    stamp = Release(name, name.partition("-")[0], journal_format, f"digest of {name}", "lock", "3.11.2")
    (folder / "release.json").write_text(json.dumps(asdict(stamp)))
    return name


def journal(path: Path, form: int, inputs: int) -> Path:
    """A journal of some form, as far as releases look into one."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, record BLOB)")
        db.executemany("INSERT INTO entries (record) VALUES (?)", [(b"{}",)] * inputs)
        db.execute(f"PRAGMA user_version = {form}")
    return path


def inputs(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT COUNT(*) FROM entries").fetchone()[0])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """1.0 is in use, 2.0 lies beside it."""
    found = Home(tmp_path / "opt")
    release(found, "1.0")
    release(found, "2.0", journal_format=2)
    found.switch("1.0")
    return found


@pytest.fixture
def games(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / "journal.sqlite"


def test_a_switch_keeps_what_was_in_use(home: Home) -> None:
    assert (home.current, home.previous) == ("1.0", "")
    home.switch("2.0")
    assert (home.current, home.previous) == ("2.0", "1.0")
    assert os.readlink(home.folder / "current") == "2.0", "whoever moves the folder moves the link"
    home.switch("2.0")
    assert home.previous == "1.0", "the same once more changes nothing"
    assert [each.name for each in home.all()] == ["1.0", "2.0"]


def test_a_release_that_is_not_whole_is_none(home: Home) -> None:
    (home.folder / "3.0").mkdir()
    with pytest.raises(ReleaseTrouble, match=r"no complete release 3\.0"):
        home.switch("3.0")
    assert home.current == "1.0"
    assert [each.name for each in home.all()] == ["1.0", "2.0"]


def test_only_the_one_in_use_and_the_one_before_are_kept(home: Home) -> None:
    release(home, "3.0")
    (home.folder / "4.0").mkdir()
    (home.folder / "4.0" / "pyvenv.cfg").touch()  # a build that was cut off
    (home.folder / "own").mkdir()
    home.switch("2.0")
    home.tidy()
    assert sorted(each.name for each in home.folder.iterdir()) == ["1.0", "2.0", "current", "own", "previous"]


def test_a_version_that_is_there_with_other_files_gets_another_name(home: Home) -> None:
    assert free_name(home, "3.0", "abc") == "3.0"
    assert free_name(home, "2.0", "0123456789") == "2.0-01234567"
    for evil in ("../x", "", "current", ".hidden", "a b"):
        with pytest.raises(ReleaseTrouble, match="is no version"):
            free_name(home, evil, "0123456789")


def test_one_that_comes_up_stays(home: Home, games: Path) -> None:
    home.try_out("2.0", games)
    assert home.starting() is None
    home.prove()
    assert home.pending() is None
    for _ in range(TRIES + 2):
        assert home.starting() is None
    assert home.current == "2.0"


def test_one_that_does_not_come_up_is_put_back(home: Home, games: Path) -> None:
    home.try_out("2.0", games)
    for _ in range(TRIES):
        assert home.starting() is None
        assert home.current == "2.0"
    assert home.starting() == SwitchedBack("2.0", "1.0")
    assert (home.current, home.previous, home.pending()) == ("1.0", "", None)
    assert told(games.parent) == SwitchedBack("2.0", "1.0")
    assert told(games.parent) is None, "told once"
    assert home.starting() is None


def test_the_first_installation_is_not_on_trial(tmp_path: Path, games: Path) -> None:
    home = Home(tmp_path / "opt")
    home.try_out(release(home, "1.0"), games)
    assert home.pending() is None


@pytest.mark.parametrize("content", ["", "{", '{"release": 3}', "[]"])
def test_a_marker_that_cannot_be_read_is_none(home: Home, content: str) -> None:
    (home.folder / "pending.json").write_text(content)
    assert home.starting() is None
    assert (home.current, home.pending()) == ("1.0", None)


def test_the_power_may_go_at_every_step_of_a_switch(
    tmp_path: Path, games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is cut: afterwards one of the two is in use, and a new one that fails is put back."""
    for step in range(20):
        home = Home(tmp_path / f"opt-{step}")
        release(home, "1.0")
        release(home, "2.0")
        home.switch("1.0")
        if not cut_at(step, lambda home=home: home.try_out("2.0", games), monkeypatch):
            assert home.current == "2.0"
            return
        assert home.current in ("1.0", "2.0")
        for _ in range(TRIES + 1):
            home.starting()
        assert (home.current, home.pending()) == ("1.0", None), f"cut at step {step}"
    pytest.fail("no run came to its end")


def test_the_power_may_go_at_every_step_of_a_second_switch(
    tmp_path: Path, games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.0 is on trial and 3.0 is to be tried in its place: the way back to 1.0 stays, and from there to 0.9."""
    for step in range(20):
        home = Home(tmp_path / f"opt-{step}")
        for name in ("0.9", "1.0", "2.0", "3.0"):
            release(home, name)
        home.switch("0.9")
        home.switch("1.0")
        home.try_out("2.0", games)
        home.starting()
        was_cut = cut_at(step, lambda home=home: home.try_out("3.0", games), monkeypatch)
        for _ in range(TRIES + 1):
            home.starting()
        home.tidy()
        assert (home.current, home.previous, home.pending()) == ("1.0", "0.9", None), f"cut at step {step}"
        if not was_cut:
            return
    pytest.fail("no run came to its end")


def test_a_trial_of_a_newer_program_is_understood(home: Home, games: Path) -> None:
    home.try_out("2.0", games)
    said = json.loads((home.folder / "pending.json").read_text())
    (home.folder / "pending.json").write_text(json.dumps({**said, "word of 3.0": 1}))
    for _ in range(TRIES):
        assert home.starting() is None
    assert home.starting() == SwitchedBack("2.0", "1.0")


def test_half_of_a_release_that_was_to_go_is_none(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", cut)
    with pytest.raises(KeyboardInterrupt):
        home.tidy()
    assert [each.name for each in home.all()] == ["1.0"]


def cut_at(step: int, work: object, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Do something and cut it at the rename of that number; answers whether it was."""
    real, done = Path.replace, 0

    def replace(path: Path, target: Path) -> Path:
        nonlocal done
        if done == step:
            raise KeyboardInterrupt
        done += 1
        return real(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        try:
            work()  # type: ignore[operator] # any callable
        except KeyboardInterrupt:
            return True
    return False


# ---- the games -------------------------------------------------------------------------------------------------------


def migrated(games: Path) -> None:
    """The newer release has brought 5 inputs into its form, and 3 were made since."""
    journal(games, 2, 8)
    journal(games.with_name("journal.format-1.sqlite"), 1, 5)


def test_games_that_the_older_release_reads_stay(home: Home, games: Path) -> None:
    journal(games, 1, 5)
    home.switch("2.0")
    assert home.take_back("1.0", games) == SwitchedBack("2.0", "1.0")
    assert inputs(games) == 5
    assert home.previous == "2.0", "one may go forth again"


def test_games_in_a_newer_form_are_replaced_by_the_copy_and_kept(home: Home, games: Path) -> None:
    migrated(games)
    home.switch("2.0")
    assert home.take_back("1.0", games) == SwitchedBack("2.0", "1.0", 3, "journal.of-2.0.sqlite")
    assert (inputs(games), inputs(games.with_name("journal.of-2.0.sqlite"))) == (5, 8)
    assert games.stat().st_mode & 0o777 == 0o600
    assert releases.journal_form(games) == 1


def test_without_a_copy_nothing_is_changed(home: Home, games: Path) -> None:
    journal(games, 2, 8)
    home.switch("2.0")
    with pytest.raises(ReleaseTrouble, match="there is no copy in the old one"):
        home.take_back("1.0", games)
    assert (home.current, inputs(games)) == ("2.0", 8)


def test_the_power_may_go_at_every_step_of_the_way_back(
    home: Home, games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrated(games)
    home.try_out("2.0", games)
    before = tmp_path / "before"
    shutil.copytree(tmp_path / "state", before)
    for step in range(12):
        home.try_out("2.0", games)
        shutil.rmtree(games.parent)
        shutil.copytree(before, games.parent)
        was_cut = cut_at(step, lambda: home.take_back("1.0", games), monkeypatch)
        done = home.take_back("1.0", games)
        assert (home.current, inputs(games)) == ("1.0", 5), f"cut at step {step}"
        assert inputs(games.with_name("journal.of-2.0.sqlite")) == 8
        if not was_cut:
            return
        assert done.inputs in (0, 3)
    pytest.fail("no run came to its end")


def cut_after(step: int, work: object, monkeypatch: pytest.MonkeyPatch) -> bool:
    """As `cut_at`, after that many changes of whatever names; answers whether it was."""
    done = 0

    def counted(real: object) -> object:
        def change(*arguments: object, **named: object) -> object:
            nonlocal done
            if done == step:
                raise KeyboardInterrupt
            done += 1
            return real(*arguments, **named)  # type: ignore[operator] # any callable

        return change

    with monkeypatch.context() as patch:
        for name in ("replace", "unlink", "symlink_to"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        patch.setattr(os, "link", counted(os.link))
        try:
            work()  # type: ignore[operator] # any callable
        except KeyboardInterrupt:
            return True
    return False


@pytest.mark.parametrize("fails_first", [True, False])
def test_at_every_step_of_update_back_there_is_a_journal(
    home: Home, games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_first: bool
) -> None:
    """Nobody finishes it after a power cut: whichever release is in use finds games, and none is lost."""
    for folder in (home.folder, games.parent):
        shutil.copytree(folder, tmp_path / "before" / folder.name, symlinks=True)
    for step in range(40):
        for folder in (home.folder, games.parent):
            shutil.rmtree(folder)
            shutil.copytree(tmp_path / "before" / folder.name, folder, symlinks=True)
        migrated(games)
        home.switch("2.0")
        was_cut = cut_after(
            step,
            lambda: home.give_up("1.0", "", games) if fails_first else home.take_back("1.0", games),
            monkeypatch,
        )
        assert home.current in ("1.0", "2.0")
        assert releases.journal_form(games) in ((1,) if home.current == "1.0" else (1, 2)), f"cut at step {step}"
        files = [path for path in games.parent.iterdir() if path.name.startswith("journal.of-2.0.sqlite")]
        assert 8 in [inputs(path) for path in (games, *files)], f"cut at step {step}"
        home.starting()
        home.take_back("1.0", games)
        assert (home.current, inputs(games)) == ("1.0", 5)
        left = sorted(path.name for path in games.parent.glob("journal*.sqlite"))
        assert left == ["journal.format-1.sqlite", "journal.of-2.0.sqlite", "journal.sqlite"], f"cut at step {step}"
        assert inputs(games.with_name("journal.of-2.0.sqlite")) == 8
        assert games.stat().st_nlink == 1
        if not was_cut:
            return
    pytest.fail("no run came to its end")


def test_every_evening_with_a_newer_release_is_kept(home: Home, games: Path) -> None:
    """Forth and back, and forth and back once more: what was played each time lies beside."""
    for evening, name in ((8, "journal.of-2.0.sqlite"), (7, "journal.of-2.0-2.sqlite"), (6, "journal.of-2.0-3.sqlite")):
        games.unlink(missing_ok=True)
        games.with_name("journal.format-1.sqlite").unlink(missing_ok=True)
        journal(games, 2, evening)
        journal(games.with_name("journal.format-1.sqlite"), 1, 5)
        home.switch("2.0")
        assert home.take_back("1.0", games) == SwitchedBack("2.0", "1.0", evening - 5, name)
    assert [inputs(games.with_name(f"journal.of-2.0{end}.sqlite")) for end in ("", "-2", "-3")] == [8, 7, 6]


def test_games_that_somebody_reads_are_not_replaced(home: Home, games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in the write-ahead log only would be lost."""
    migrated(games)
    home.switch("2.0")
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
    with closing(sqlite3.connect(games)) as reader, closing(sqlite3.connect(games, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM entries").fetchone()
        writer.execute("INSERT INTO entries (record) VALUES ('{}')")
        with pytest.raises(ReleaseTrouble, match="in use by another program"):
            home.take_back("1.0", games)
    assert (home.current, inputs(games)) == ("2.0", 9)
    assert home.take_back("1.0", games).inputs == 4
    assert inputs(games.with_name("journal.of-2.0.sqlite")) == 9


def test_a_copy_that_does_not_fit_is_not_left(home: Home, games: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrated(games)
    home.switch("2.0")
    before = sorted(games.parent.iterdir())

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("companion.maintenance.releases.releases.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        home.take_back("1.0", games)
    assert sorted(games.parent.iterdir()) == before


def test_the_copy_lies_where_the_journal_leaves_it(games: Path) -> None:
    assert releases.kept_copy(games, 1) == migrations.copy_of(games, 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be anybody")
def test_root_works_in_the_games_folder_as_their_owner(home: Home, games: Path, tmp_path: Path) -> None:
    """Nothing there becomes root's, and a link there does not lead root to files of its own."""
    migrated(games)
    secret = tmp_path / "secret"
    secret.write_text("root's own")
    secret.chmod(0o600)
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o011)
    for path in (games.parent, *games.parent.iterdir()):
        os.chown(path, 12345, 12345)
    games.parent.chmod(0o700)
    home.switch("2.0")
    done = home.take_back("1.0", games)
    releases.tell(games.parent, done)
    assert os.geteuid() == 0
    assert {path.stat().st_uid for path in games.parent.iterdir()} == {12345}
    with releases.as_owner_of(games.parent), pytest.raises(PermissionError):
        secret.read_text()


# ---- alone, as the unit runs it --------------------------------------------------------------------------------------


def test_the_copy_beside_the_releases_needs_nothing_of_them(home: Home, games: Path) -> None:
    shutil.copyfile(releases.__file__, home.folder / "releases.py")
    migrated(games)
    home.try_out("2.0", games)

    def run(word: str) -> str:
        command = [sys.executable, "-I", "-S", str(home.folder / "releases.py"), word]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
        return ended.stderr

    for _ in range(TRIES):
        assert run("starting") == ""
    assert "2.0 did not start 3 times: 1.0 is used again" in run("starting")
    assert (home.current, inputs(games)) == ("1.0", 5)


def test_it_never_keeps_the_service_from_starting(home: Home, games: Path, capsys: pytest.CaptureFixture[str],
                                                  monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    journal(games, 2, 8)  # and no copy
    home.try_out("2.0", games)
    monkeypatch.setattr(releases, "__file__", str(home.folder / "releases.py"))
    for _ in range(TRIES + 1):
        assert releases.main(["starting"]) == 0
    assert "<3>" in capsys.readouterr().err
    assert home.current == "2.0"
