"""An update is checked before it is used, and put back when it does not come up; the machine is the test."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import sys
import zipfile
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from test_backup import fill, games_of
from test_releases import inputs, journal

from companion import DEBIAN_HOME
from companion.cli.main import main
from companion.core.config import Settings
from companion.core.errors import SystemTrouble
from companion.diagnostics.machine import versions
from companion.diagnostics.probes import Machine
from companion.maintenance.backup import BEFORE_UPDATE
from companion.maintenance.releases import install, releases, update
from companion.maintenance.releases.install import Package
from companion.maintenance.releases.releases import COPY, Home, Release, SwitchedBack, tell
from companion.maintenance.releases.update import ThisMachine, Updater, switched_back_words


@dataclass
class FakeMachine:
    """A machine whose service comes up only with some releases; `ill` are those that start and are not well."""

    home: Home
    good: tuple[str, ...] = ("1.0", "2.0")
    ill: tuple[str, ...] = ()
    wrong: str = ""
    is_on: bool = True
    done: list[str] = field(default_factory=list)

    def runs(self) -> bool:
        return self.is_on

    def begin(self) -> bool:
        """As systemd does it: the unit's own commands around one start; the next try, two seconds later, nobody awaits."""
        with suppress(OSError, sqlite3.Error):  # "-" in the unit
            self.home.starting()
        self.is_on = True
        self.done.append(f"start {self.home.current}")
        if self.home.current not in self.good:
            return False
        self.home.prove()
        return True

    def end(self) -> None:
        self.done.append("stop")
        self.is_on = False

    def health(self) -> Mapping[str, Any] | None:
        current = self.home.current
        return {"version": current, "ok": current not in self.ill, "status": "failing"}

    def check(self, program: Path) -> str:
        self.done.append(f"check {program.parent.parent.name}")
        return self.wrong

    def wait(self, seconds: float) -> None:
        pass


@dataclass
class Place:
    home: Home
    machine: FakeMachine
    updater: Updater
    settings: Settings
    said: list[str]

    def update(self, version: str = "2.0") -> None:
        self.updater.update(Package(Path(f"{version}.whl"), version, b"", f"digest of {version}"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """1.0 is in use with two games; building makes a folder with a stamp."""
    home = Home(tmp_path / "opt")

    def built(home: Home, package: Package, python: str, say: object, wheels: Path | None = None) -> str:
        folder = home.folder / package.version
        if not folder.exists():
            (folder / "bin").mkdir(parents=True)
            (folder / "pyvenv.cfg").touch()
            stamp = Release(package.version, package.version, int(package.version[0]) + 1, package.digest, "", "3.11.2")
            (folder / "release.json").write_text(json.dumps(asdict(stamp)))
        return package.version

    monkeypatch.setattr(update, "build", built)
    monkeypatch.setattr(update, "keep_watch", lambda home, name: said.append(f"watch of {name}"))
    said: list[str] = []
    home.switch(built(home, Package(Path(), "1.0", b"", ""), "", None))
    settings = fill(tmp_path / "state")
    machine = FakeMachine(home)
    file = tmp_path / "state" / "settings.toml"
    return Place(home, machine, Updater(home, settings, file, machine, sys.executable, said.append), settings, said)


def test_an_update_is_checked_saved_and_used(place: Place) -> None:
    place.update()
    assert place.machine.done == ["check 2.0", "start 2.0"], "built and checked while the old one runs"
    assert (place.home.current, place.home.previous, place.home.pending()) == ("2.0", "1.0", None)
    state = place.settings.journal_path.parent
    assert zipfile.is_zipfile(state / BEFORE_UPDATE)
    assert (state / BEFORE_UPDATE).stat().st_mode & 0o777 == 0o600
    assert place.said[-2:] == ["2.0 is in use. Back to 1.0: companion update --back", "watch of 2.0"]
    place.update()
    assert place.said[-1] == "2.0 is in use already."


def test_one_that_fails_its_check_is_never_used(place: Place) -> None:
    place.machine.wrong = "The page / does not answer"
    with pytest.raises(SystemTrouble, match=r"2\.0 is not used, 1\.0 goes on: The page / does not answer"):
        place.update()
    assert place.machine.done == ["check 2.0"], "the service was not touched"
    assert (place.home.current, [each.name for each in place.home.all()]) == ("1.0", ["1.0"])


def test_one_that_does_not_start_is_put_back(place: Place) -> None:
    place.machine.good = ("1.0",)
    with pytest.raises(SystemTrouble, match=r"2\.0 did not start \(the service did not start\)\. 1\.0 is in use again"):
        place.update()
    assert place.machine.done == ["check 2.0", "start 2.0", "stop", "start 1.0"]
    assert (place.home.current, place.home.pending(), place.machine.is_on) == ("1.0", None, True)
    assert games_of(place.settings) == [1, 2]


def test_one_that_is_not_well_is_put_back_with_the_games_it_has_changed(place: Place) -> None:
    place.machine.ill = ("2.0",)
    path = place.settings.journal_path
    before = inputs(path)
    begin = place.machine.begin

    def migrate() -> bool:
        if place.home.current == "2.0":
            with closing(sqlite3.connect(path)) as db:
                copy = sqlite3.connect(path.with_name("journal.format-2.sqlite"))
                db.backup(copy)
                copy.close()
                with db:
                    db.execute("CREATE TABLE newer (id INTEGER)")
                    db.execute("INSERT INTO entries SELECT id + 1000, game, at, record, run, now_s, link FROM entries")
                    db.execute("PRAGMA user_version = 3")
        return begin()

    place.machine.begin = migrate  # type: ignore[method-assign] # the newer program's own start
    with pytest.raises(
        SystemTrouble, match=rf"it says it is failing.*{before} inputs that were made with 2\.0 are only in"
    ):
        place.update()
    assert place.home.current == "1.0"
    assert inputs(path) == before
    assert inputs(path.with_name("journal.of-2.0.sqlite")) == 2 * before


@pytest.mark.parametrize("is_ill", [True, False])
def test_one_that_fails_leaves_the_way_back_of_before(place: Place, is_ill: bool) -> None:
    """Back to the release before the one in use, not to the one that failed."""
    place.update()
    if is_ill:
        place.machine.good += ("3.0",)
        place.machine.ill = ("3.0",)
    with pytest.raises(SystemTrouble, match=r"3\.0 did not start .*2\.0 is in use again"):
        place.update("3.0")
    assert (place.home.current, place.home.previous, place.home.pending()) == ("2.0", "1.0", None)
    assert [each.name for each in place.home.all()] == ["1.0", "2.0"]


FULL = "No space left on device"


def fails(place: Place, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """2.0 has brought the games into its form; something is wrong with the copy of before."""
    path = place.settings.journal_path
    if why != "no copy":
        shutil.copyfile(path, path.with_name("journal.format-2.sqlite"))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 3")
    error = sqlite3.OperationalError("database or disk is full") if why == "sqlite" else OSError(28, FULL, str(path))

    def full(source: Path, target: Path) -> None:
        raise error

    monkeypatch.setattr(releases, "copy_database", full)


WHY = [
    ("no copy", "no copy in the old one"),
    ("sqlite", "database or disk is full"),
    ("full", f"journal.sqlite: {FULL}"),
]


@pytest.mark.parametrize(("why", "words"), WHY)
def test_a_way_back_that_fails_leaves_the_service_on(
    place: Place, monkeypatch: pytest.MonkeyPatch, why: str, words: str
) -> None:
    place.update()
    fails(place, monkeypatch, why)
    with pytest.raises(SystemTrouble, match=words):
        place.updater.back()
    assert (place.home.current, place.home.previous) == ("2.0", "1.0")
    assert (place.machine.is_on, place.machine.done[-2:]) == (True, ["stop", "start 2.0"])


@pytest.mark.parametrize(("why", "words"), WHY)
def test_one_that_is_not_well_and_has_no_way_back_goes_on(
    place: Place, monkeypatch: pytest.MonkeyPatch, why: str, words: str
) -> None:
    place.machine.ill = ("2.0",)
    begin = place.machine.begin

    def migrate() -> bool:
        place.machine.begin = begin  # type: ignore[method-assign] # once
        fails(place, monkeypatch, why)
        return begin()

    place.machine.begin = migrate  # type: ignore[method-assign] # the newer program's own start
    with pytest.raises(SystemTrouble, match=rf"says it is failing\)\. 1\.0 cannot be used again: .*{words}"):
        place.update()
    assert (place.home.current, place.home.previous, place.home.pending()) == ("2.0", "1.0", None)
    assert (place.machine.is_on, place.machine.done[-2:]) == (True, ["stop", "start 2.0"])


def test_what_the_disk_complains_of_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    link = "[Errno 31] Too many links: 'a' -> 'b'"
    for error, words in (
        (OSError(28, FULL, "/opt/x"), f"/opt/x: {FULL}"),
        (OSError(30, "Read-only file system"), "Read-only file system"),
        (shutil.Error([("a", "b", link), ("c", "d", "else")]), link),
        (SystemTrouble("The journal is shared"), "The journal is shared"),
    ):

        def complain(*arguments: object, error: OSError = error, **named: object) -> str:
            raise error

        monkeypatch.setattr(update, "build", complain)
        with pytest.raises(SystemTrouble) as caught:
            place.update()
        assert caught.value.message == words
    state = place.settings.journal_path.parent
    monkeypatch.undo()
    monkeypatch.setattr(update, "make_backup", complain)
    with pytest.raises(SystemTrouble):
        place.updater.back_up()
    assert [each.name for each in state.iterdir() if "update" in each.name] == [], "nothing that fills the disk"


def test_a_service_that_is_off_stays_off(place: Place) -> None:
    place.machine.is_on = False
    place.update()
    assert place.machine.done == ["check 2.0"]
    assert place.said[-1] == "2.0 is used from the next start on; if it does not start, 1.0 is used again."
    with pytest.raises(SystemTrouble, match=r"2\.0 has not started yet since you switched to it"):
        place.update("3.0")
    assert place.machine.begin()
    assert place.home.current == "2.0"


def test_back_to_the_release_of_before(place: Place) -> None:
    with pytest.raises(SystemTrouble, match="nothing to go back to"):
        place.updater.back()
    place.update()
    place.machine.done.clear()
    place.updater.back()
    assert place.machine.done == ["stop", "start 1.0"]
    assert (place.home.current, place.said[-1]) == ("1.0", "1.0 is in use.")
    place.updater.back()
    assert place.home.current == "2.0", "and forth again"


def test_no_way_back_is_said_and_the_newer_one_goes_on(place: Place) -> None:
    place.update()
    with closing(sqlite3.connect(place.settings.journal_path)) as db:
        db.execute("PRAGMA user_version = 3")
    with pytest.raises(SystemTrouble, match="there is no copy in the old one"):
        place.updater.back()
    assert (place.home.current, place.machine.done[-1]) == ("2.0", "start 2.0")


def test_the_pages_tell_what_nobody_saw(tmp_path: Path) -> None:
    tell(tmp_path, SwitchedBack("2.0", "1.0", 3, "journal.of-2.0.sqlite"))
    assert switched_back_words(tmp_path) == (
        "The new version 2.0 did not start: 1.0 is in use again. "
        "3 inputs were made with it and are only in journal.of-2.0.sqlite."
    )
    assert switched_back_words(tmp_path) == ""


# ---- make install ----------------------------------------------------------------------------------------------------


def make_install(place: Place, monkeypatch: pytest.MonkeyPatch, version: str) -> int:
    package = Package(Path(f"{version}.whl"), version, b"", f"digest of {version}")
    monkeypatch.setattr(install, "read_package", lambda path: package)
    monkeypatch.setattr(install, "build", update.build)
    monkeypatch.setattr(install, "keep_watch", lambda home, name: (home.folder / COPY).write_text(name))
    return install.main([str(place.home.folder), str(place.settings.journal_path), "tree"])


def test_what_make_install_lays_down_is_not_watched_by_itself(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = place.home.folder / COPY
    assert make_install(place, monkeypatch, "1.0") == 0
    assert watch.read_text() == "1.0"
    assert make_install(place, monkeypatch, "2.0") == 0
    assert make_install(place, monkeypatch, "2.0") == 0
    assert (place.home.current, watch.read_text()) == ("2.0", "1.0"), "on trial"
    assert place.machine.begin()
    assert make_install(place, monkeypatch, "2.0") == 0
    assert watch.read_text() == "2.0", "it has come up"


def test_make_install_once_more_keeps_the_release_that_came_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.update()
    for version in ("3.0", "4.0"):  # neither comes up
        assert make_install(place, monkeypatch, version) == 0
        assert not place.machine.begin()
    assert [each.name for each in place.home.all()] == ["1.0", "2.0", "4.0"]
    while not place.machine.begin():
        assert place.home.current == "4.0"
    assert (place.home.current, place.home.previous, place.home.pending()) == ("2.0", "1.0", None)


def test_make_install_of_the_release_that_came_up_ends_the_trial(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_install(place, monkeypatch, "2.0") == 0
    assert make_install(place, monkeypatch, "1.0") == 0
    assert (place.home.current, place.home.pending()) == ("1.0", None)
    assert [each.name for each in place.home.all()] == ["1.0"]


# ---- the command -----------------------------------------------------------------------------------------------------


def test_a_release_checks_itself_against_a_copy_of_the_games(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = fill(tmp_path, unfinished=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert main(["update", "--check", "--state-dir", str(tmp_path)]) == 0
    assert "3 games are read, pages answer, a turn is played and kept." in capsys.readouterr().out
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert {name: after.get(name) for name in before} == before, "nothing of the games themselves is touched"
    with closing(sqlite3.connect(settings.journal_path)) as db:
        db.execute("PRAGMA user_version = 99")
    assert main(["update", "--check", "--state-dir", str(tmp_path)]) == 1
    assert "has format 99" in capsys.readouterr().err


def test_who_may_not_update_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = ["--state-dir", str(tmp_path)]
    assert main(["update", "x.whl", *state]) == 1
    assert "was not installed by make install" in capsys.readouterr().err
    folder = tmp_path / "opt" / "1.0"
    folder.mkdir(parents=True)
    (folder / "release.json").write_text(json.dumps(asdict(Release("1.0", "1.0", 2, "", "", ""))))
    Home(folder.parent).switch("1.0")
    monkeypatch.setattr(sys, "prefix", str(folder))
    assert main(["update", *state]) == 0
    assert capsys.readouterr().out == "1.0 is in use.\n"
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert main(["update", "x.whl", *state]) == 1
    assert "may only be changed by root: sudo companion update" in capsys.readouterr().err
    assert main(["update", "x.whl", "--back", *state]) == 1
    assert "one of them" in capsys.readouterr().err


def test_debians_package_is_left_to_apt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", DEBIAN_HOME)
    state = ["--state-dir", str(tmp_path)]
    assert main(["update", *state]) == 0
    assert re.fullmatch(r".*: sudo apt install \./tabletop-companion_VERSION_\w+\.deb\n", capsys.readouterr().out)
    for asked in (["x.whl"], ["--trust", "x.pub"]):
        assert main(["update", *asked, *state]) == 1
        assert "sudo apt install ./tabletop" in capsys.readouterr().err
    assert main(["update", "--back", *state]) == 1
    assert "sudo apt install --allow-downgrades ./tabletop" in capsys.readouterr().err
    assert "brought up to date by apt" in versions(Machine()).text


def test_journal_is_made_as_the_real_one_is(tmp_path: Path) -> None:
    """The stand-in of test_releases says its form in the same place."""
    settings = fill(tmp_path, games=1)
    made = journal(tmp_path / "other.sqlite", 2, 1)
    with closing(sqlite3.connect(settings.journal_path)) as real, closing(sqlite3.connect(made)) as fake:
        versions = [db.execute("PRAGMA user_version").fetchone()[0] for db in (real, fake)]
    assert versions[0] == versions[1]


# ---- the real machine, as far as it is one here ----------------------------------------------------------------------


def program(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_service_is_started_and_stopped_by_its_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    program(tmp_path / "systemctl", f'echo "$*" >>{log}; [ "$1" != restart ] || [ ! -e {tmp_path}/broken ]')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    machine = ThisMachine(Settings(), tmp_path / "settings.toml", lambda: {"version": "1.0"})
    assert machine.begin()
    (tmp_path / "broken").touch()
    assert not machine.begin()
    machine.end()
    lines = log.read_text().splitlines()
    assert lines[:3] == ["daemon-reload", "restart companion.service", "try-restart companion-lamp.service"]
    assert lines[-1] == "stop companion.service"
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert not machine.begin(), "no systemctl at all"
    assert machine.health() == {"version": "1.0"}


@pytest.mark.parametrize(
    ("state", "runs"),
    [
        ("active", True),
        ("activating", True),
        ("reloading", True),
        ("deactivating", True),
        ("inactive", False),
        ("failed", False),
        ("", False),
    ],
)
def test_a_service_that_is_tried_again_and_again_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str, runs: bool
) -> None:
    """`systemctl is-active` says no between two tries, when the way back is needed most."""
    asked = "show --property=ActiveState --value companion.service"
    program(tmp_path / "systemctl", f'[ "$*" = "{asked}" ] || exit 3; echo "{state}"')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    machine = ThisMachine(Settings(), tmp_path / "settings.toml", lambda: None)
    assert machine.runs() is runs
    program(tmp_path / "systemctl", "exit 1")
    assert not machine.runs(), "no systemd here"


def test_a_release_is_asked_to_check_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = ThisMachine(Settings(state_dir=str(tmp_path)), tmp_path / "settings.toml", lambda: None)
    asked = program(tmp_path / "asked", 'echo "$*" >&2; exit 1')
    wanted = f"update --check --settings {tmp_path}/settings.toml --state-dir {tmp_path}"
    assert machine.check(asked) == wanted
    monkeypatch.chdir(tmp_path)
    assert ThisMachine(Settings(state_dir="."), Path("settings.toml"), lambda: None).check(asked) == wanted
    broken = program(
        tmp_path / "broken", 'printf "Traceback (most recent call last):\\n  File\\nRuntimeError: no" >&2; exit 1'
    )
    assert machine.check(broken) == "RuntimeError: no"
    assert machine.check(program(tmp_path / "good", "exit 0")) == ""
    assert machine.check(program(tmp_path / "mute", "exit 3")) == "its check failed"
