"""An update is checked before it is used, and put back when it does not come up; the machine is the test."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest
from test_backup import fill, games_of
from test_releases import inputs, journal

from companion.care import install, update
from companion.care.install import LOCK, Package, read_package
from companion.care.releases import TRIES, Home, Release, ReleaseTrouble, SwitchedBack, tell
from companion.care.update import BACKUP, ThisMachine, Updater, given, switched_back_words
from companion.cli import main
from companion.config import Settings
from companion.errors import Malformed, SystemTrouble


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
        """As systemd does it: the unit's own commands around the start, and again and again."""
        for _ in range(TRIES + 2):
            self.home.starting()
            self.done.append(f"start {self.home.current}")
            if self.home.current in self.good:
                self.home.prove()
                self.is_on = True
                return True
        return False

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
    assert zipfile.is_zipfile(state / BACKUP)
    assert (state / BACKUP).stat().st_mode & 0o777 == 0o600
    assert place.said[-2:] == ["watch of 2.0", "2.0 is in use. Back to 1.0: companion update --back"]
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
    with pytest.raises(
        SystemTrouble, match=r"2\.0 has not come up \(it failed at every start\)\. 1\.0 is in use again"
    ):
        place.update()
    assert place.machine.done.count("start 2.0") == TRIES
    assert place.machine.done[-2:] == ["stop", "start 1.0"]
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


def test_a_service_that_is_off_stays_off(place: Place) -> None:
    place.machine.is_on = False
    place.update()
    assert place.machine.done == ["check 2.0"]
    assert place.said[-1] == "2.0 is used from the next start on; if it does not come up, 1.0 is taken again."
    with pytest.raises(SystemTrouble, match=r"2\.0 has not come up yet since it was switched to"):
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
    with pytest.raises(SystemTrouble, match="no copy in the old one is kept"):
        place.updater.back()
    assert (place.home.current, place.machine.done[-1]) == ("2.0", "start 2.0")


def test_the_pages_tell_what_nobody_saw(tmp_path: Path) -> None:
    tell(tmp_path, SwitchedBack("2.0", "1.0", 3, "journal.of-2.0.sqlite"))
    assert switched_back_words(tmp_path) == (
        "The new version 2.0 has not come up: 1.0 is in use again. "
        "3 inputs were made with it and are only in journal.of-2.0.sqlite."
    )
    assert switched_back_words(tmp_path) == ""


# ---- packages --------------------------------------------------------------------------------------------------------


def wheel(path: Path, name: str = "tabletop_companion", version: str = "1.2.3", lock: bool = True) -> Path:
    """As little as makes a release: a program that says its version, a list of nothing."""
    file = path / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        "companion/__init__.py": "",
        "companion/cli.py": f"def main():\n    print('companion {version}')\n",
        "companion/disk/formats.py": "FORMAT = 7\n",
        "companion/care/releases.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\ncompanion = companion.cli:main\n",
    }
    if lock:
        files[LOCK] = "# none\n"
    with zipfile.ZipFile(file, "w") as archive:
        for place, text in files.items():
            archive.writestr(place, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{place},,\n" for place in [*files, f"{info}/RECORD"]))
    return file


def test_a_wheel_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    package = read_package(wheel(tmp_path))
    assert (package.version, package.lock) == ("1.2.3", b"# none\n")
    assert package.digest != read_package(wheel(tmp_path, version="1.2.4")).digest


def test_the_tree_is_a_package_too() -> None:
    package = read_package(Path(__file__).parent.parent)
    assert package.lock.startswith(b"#")
    assert package.digest == read_package(Path(__file__).parent.parent).digest


def test_an_archive_of_the_sources(tmp_path: Path) -> None:
    file = tmp_path / "tabletop_companion-1.2.3.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name, text in (("PKG-INFO", "Name: tabletop-companion\nVersion: 1.2.3\n"), (LOCK, "# none\n")):
            member = tarfile.TarInfo(f"tabletop_companion-1.2.3/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    assert read_package(file).version == "1.2.3"
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(ReleaseTrouble, match="damaged or no release"):
        read_package(file)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: wheel(folder, name="other"), "a release of other, not of tabletop-companion"),
        (lambda folder: wheel(folder, lock=False), "damaged or no release"),
        (lambda folder: folder / "none.whl", "There is no file"),
        (lambda folder: folder, "damaged or no release|There is no file"),
    ],
)
def test_what_is_no_release_is_refused(tmp_path: Path, make: Any, words: str) -> None:
    with pytest.raises(ReleaseTrouble, match=words):
        read_package(make(tmp_path))


def test_a_damaged_wheel_is_refused(tmp_path: Path) -> None:
    file = wheel(tmp_path)
    content = file.read_bytes()
    for broken in (content[: len(content) // 2], content.replace(b"companion 1.2.3", b"companion 6.6.6"), b""):
        file.write_bytes(broken)
        with pytest.raises(ReleaseTrouble, match="damaged or no release"):
            read_package(file)


def test_what_is_neither_file_nor_package_is_refused(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for what in ("tabletop-companion", "1.2.3", "release.zip"):
        with pytest.raises(Malformed, match="neither a file"), given(what, home):
            pass
    with pytest.raises(SystemTrouble, match="There is no file"), given(str(tmp_path / "no.whl"), home):
        pass


@pytest.mark.slow
def test_a_release_is_really_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real environment, the real pip, nothing fetched; the next one takes its dependencies over by links."""
    home, said = Home(tmp_path / "opt"), list[str]()
    monkeypatch.setattr("os.sync", lambda: None)  # waits for everybody's files
    name = install.build(home, read_package(wheel(tmp_path)), sys.executable, said.append)
    assert (name, home.release(name).journal_format) == ("1.2.3", 7)
    assert install.build(home, read_package(wheel(tmp_path)), sys.executable, said.append) == name, (
        "it is there already"
    )
    home.switch(name)
    install.keep_watch(home, name)
    second = install.build(home, read_package(wheel(tmp_path, version="1.3.0")), sys.executable, said.append)
    pips = [next((home.folder / each).glob("lib/python3*/site-packages/pip/__init__.py")) for each in (name, second)]
    assert pips[0].samefile(pips[1])
    assert [each.name for each in home.all()] == ["1.2.3", "1.3.0"]
    assert home.current == "1.2.3"


def test_a_build_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of a broken release does not say its version; what it complains of is told."""
    home = Home(tmp_path / "opt")

    def without_pip(folder: Path, *arguments: str) -> None:
        program = home.program(folder.name)
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\necho 'No module named flask' >&2\nexit 1\n")
        program.chmod(0o755)

    monkeypatch.setattr(install, "_pip", without_pip)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 3.11\n")
    python.chmod(0o755)
    with pytest.raises(ReleaseTrouble, match=r"1\.2\.3/bin/companion --version …\n  No module named flask"):
        install.build(home, read_package(wheel(tmp_path)), str(python), lambda line: None)
    assert list(home.folder.iterdir()) == []


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


def test_a_release_is_asked_to_check_itself(tmp_path: Path) -> None:
    machine = ThisMachine(Settings(state_dir=str(tmp_path)), tmp_path / "settings.toml", lambda: None)
    asked = program(tmp_path / "asked", 'echo "$*" >&2; exit 1')
    wanted = f"update --check --settings {tmp_path}/settings.toml --state-dir {tmp_path}"
    assert machine.check(asked) == wanted
    assert machine.check(program(tmp_path / "good", "exit 0")) == ""
    assert machine.check(program(tmp_path / "mute", "exit 3")) == "its check failed"
