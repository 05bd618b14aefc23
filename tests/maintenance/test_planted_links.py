"""Links that the service's user has planted in its own folders: what runs as root follows none of them."""

from __future__ import annotations

import codecs
import contextlib
import os
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_backup import fill, saved

from companion.cli.main import main
from companion.core.config import Settings
from companion.maintenance.releases import releases
from companion.maintenance.releases.releases import Home, as_owner_of
from companion.maintenance.releases.update import ThisMachine, Updater

codecs.lookup("cp437")  # of ZIP files' names, for the same reason as in `here`
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be anybody")
SERVICE = 12_345
WORDS = "root's own words: nobody else reads or writes them"


@pytest.fixture
def here(tmp_path: Path) -> Settings:
    """An installation of a service's user, beside a file of root's."""
    settings = fill(tmp_path / "state", games=1)
    saved(settings)  # once as root: what Python loads for it may be closed to others
    state = tmp_path / "state"
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o011)
    for path in (state, *state.rglob("*")):
        os.chown(path, SERVICE, SERVICE)
    state.chmod(0o700)
    return settings


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Path]:
    """A file of root's; afterwards it must be as it was, and still root's."""
    path = tmp_path / "secret"
    path.write_text(WORDS)
    path.chmod(0o600)
    yield path
    assert path.read_text() == WORDS
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (0, 0o600)


def plant(settings: Settings, secret: Path, *names: str) -> None:
    for name in names:
        link = settings.journal_path.with_name(name)
        if link.is_dir() and not link.is_symlink():
            shutil.rmtree(link)
        if link.is_symlink() or link.exists():
            os.unlink(link)
        link.symlink_to(secret)
        os.chown(link, SERVICE, SERVICE, follow_symlinks=False)


def nothing_is_roots(settings: Settings) -> bool:
    return all(path.lstat().st_uid == SERVICE for path in settings.journal_path.parent.rglob("*"))


def leaked(folder: Path) -> list[Path]:
    """Files but the secret itself in which its words are."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.name != "secret" and WORDS.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize(
    "name", ["lenses.json", "choices.json", "journal.sqlite", "journal.sqlite-head", "photographs"]
)
def test_a_backup_does_not_follow_them(
    here: Settings, secret: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(here, secret, name)
    target = tmp_path / "it.zip"
    status = main(["backup", str(target), "--state-dir", here.state_dir, "--photographs"])
    assert status == (1 if name in ("lenses.json", "choices.json", "journal.sqlite") else 0), capsys.readouterr()
    assert leaked(tmp_path) == []
    assert nothing_is_roots(here)


def test_a_backup_into_the_services_folder_does_not_follow_them(
    here: Settings, secret: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        real(path, missing_ok)
        if path.name == "it.zip.part":  # somebody is quicker
            plant(here, secret, "it.zip.part")

    monkeypatch.setattr(Path, "unlink", unlink)
    monkeypatch.setenv("SUDO_UID", str(SERVICE))
    monkeypatch.setenv("SUDO_GID", str(SERVICE))
    assert main(["backup", f"{here.state_dir}/it.zip", "--state-dir", here.state_dir]) == 1
    assert "cannot be written: File exists" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["restore", "restore.part", "before-restore", "journal.lock", "journal.sqlite-head"])
def test_a_restore_does_not_follow_them(here: Settings, secret: Path, tmp_path: Path, name: str) -> None:
    backup = tmp_path / "it.zip"
    with as_owner_of(here.journal_path.parent):
        content = saved(here)
    backup.write_bytes(content)
    plant(here, secret, name)
    with contextlib.suppress(OSError):
        main(["restore", str(backup), "--state-dir", here.state_dir])
    assert leaked(tmp_path) == []
    assert nothing_is_roots(here)


@pytest.mark.parametrize("name", ["lenses.json", "choices.json", "journal.sqlite"])
def test_the_check_of_a_release_does_not_follow_them(here: Settings, secret: Path, tmp_path: Path, name: str) -> None:
    read: list[str] = []
    real = shutil.copyfile

    def copyfile(source: Path, target: Path) -> Path:
        answer = real(source, target)
        read.append(Path(target).read_text())
        return answer

    plant(here, secret, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "copyfile", copyfile)
        with contextlib.suppress(OSError):
            assert main(["update", "--check", "--state-dir", here.state_dir]) == 1
    assert WORDS not in read
    assert os.geteuid() == 0


def a_home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "opt")
    for name, form in (("1.0", 1), ("2.0", 2)):
        (home.folder / name).mkdir(parents=True)
        releases.write_json(
            home.folder / name / releases.STAMP,
            {"name": name, "version": name, "journal_format": form, "digest": "", "lock": "", "python": "3.11"},
        )
    home.switch("1.0")
    return home


@pytest.mark.parametrize(
    "name",
    [
        "journal.format-1.sqlite", "journal.of-2.0.back.sqlite", "journal.of-2.0.sqlite", "switched-back.json",
        ".switched-back.json.new", "journal.sqlite", "journal.sqlite-wal", "journal.sqlite-head",
    ],
)  # fmt: skip
def test_a_release_that_is_put_back_before_a_start_does_not_follow_them(
    here: Settings, secret: Path, tmp_path: Path, name: str
) -> None:
    home = a_home(tmp_path)
    with as_owner_of(here.journal_path.parent):
        shutil.copyfile(here.journal_path, releases.kept_copy(here.journal_path, 1))
    home.try_out("2.0", here.journal_path)
    plant(here, secret, name)
    for _ in range(releases.TRIES + 1):
        with contextlib.suppress(OSError, sqlite3.Error):
            home.starting()
    assert leaked(tmp_path) == []
    assert nothing_is_roots(here)
    assert os.geteuid() == 0


@pytest.mark.parametrize("name", ["before-update.zip", ".before-update.zip.new"])
def test_the_backup_before_an_update_does_not_follow_them(
    here: Settings, secret: Path, tmp_path: Path, name: str
) -> None:
    plant(here, secret, name)
    machine = ThisMachine(here, tmp_path / "none.toml", lambda: None)
    updater = Updater(a_home(tmp_path), here, tmp_path / "none.toml", machine, "python3", lambda _: None)
    with contextlib.suppress(OSError):
        updater.back_up()
    assert leaked(tmp_path) == []
    assert nothing_is_roots(here)


def test_switching_off_uses_up_the_order_and_not_what_it_leads_to(tmp_path: Path, secret: Path) -> None:
    unit = (Path(__file__).parents[2] / "systemd" / "companion-poweroff.service").read_text()
    first = next(line for line in unit.splitlines() if line.startswith("ExecStart=") and "rm" in line)
    order = tmp_path / "poweroff"
    order.symlink_to(secret)
    command = first.removeprefix("ExecStart=").replace("/run/tabletop-companion", str(tmp_path))
    subprocess.run(shlex.split(command), check=True)
    assert not order.is_symlink()
