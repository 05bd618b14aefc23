"""The real service begins anew when told, with a backup, and with the settings that worked last."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from ports import free_port
from service import Client, service_process, until

from companion.core.config import find_settings, load_settings
from companion.core.errors import SystemTrouble
from companion.maintenance.backup import STAGED_FOLDER
from companion.maintenance.settings.last_good import LastGoodSettings
from companion.service import lifecycle


def test_it_begins_anew_and_restores_a_backup_that_waits(tmp_path: Path) -> None:
    with service_process(
        tmp_path, "--simulate", "--game", "outbuffered", "--port", str(free_port())
    ) as service:
        client = Client(service.url)
        assert _phase(client) != "lobby"
        (tmp_path / STAGED_FOLDER).mkdir()
        (tmp_path / STAGED_FOLDER / "forget").touch()
        service.restart()
        until("all games gone", lambda: _phase(client) == "lobby")
        assert not (tmp_path / STAGED_FOLDER).exists()
        assert service.stop() == 0


def test_three_failed_starts_bring_the_last_settings_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, good = tmp_path / "settings.toml", b"[web]\nviewers = 20\n"
    LastGoodSettings(path).keep(good)
    path.write_bytes(b"[web]\nviewers = 30\n")

    def refuse(*_: object, **__: object) -> None:
        raise SystemTrouble("It does not start")

    monkeypatch.setattr("companion.service.app.Companion", refuse)
    monkeypatch.setattr(lifecycle, "save_memory", lambda: True)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)
    for number in range(4):
        assert (path.read_bytes() == good) is False, number
        with pytest.raises(SystemTrouble):
            lifecycle.run(lambda: load_settings(path), path, None, lambda *_: None)
    assert path.read_bytes() == good


def _phase(client: Client) -> str:
    try:
        return str(client.get("/api/view")["phase"])
    except (OSError, AssertionError):
        return ""


@pytest.mark.parametrize(
    ("given", "folder", "found"),
    [
        ("/etc/x.toml", "/var/y", "/etc/x.toml"),
        (None, "/var/y", "/var/y/settings.toml"),
        (None, None, str(Path.home() / ".local/share/tabletop-companion/settings.toml")),
    ],
)
def test_where_the_settings_lie(given: str | None, folder: str | None, found: str) -> None:
    assert find_settings(Path(given) if given else None, folder) == Path(found)
