"""The settings with which the service starts: where they lie, and which ones worked last."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from companion.core.config import find_settings, load_settings
from companion.core.errors import SystemTrouble
from companion.maintenance.settings.last_good import LastGoodSettings
from companion.service import lifecycle


def test_three_failed_starts_restore_the_last_good_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, good = tmp_path / "settings.toml", b"[web]\nviewers = 20\n"
    LastGoodSettings(path).record_success(good)
    path.write_bytes(b"[web]\nviewers = 30\n")

    def refuse(*_: object, **__: object) -> None:
        raise SystemTrouble("It does not start")

    monkeypatch.setattr("companion.service.app.Companion", refuse)
    monkeypatch.setattr(lifecycle, "tune_allocator", lambda: True)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)
    for number in range(4):
        assert (path.read_bytes() == good) is False, number
        with pytest.raises(SystemTrouble):
            lifecycle.run_service(lambda: load_settings(path), path, None, lambda *_: None)
    assert path.read_bytes() == good


@pytest.mark.parametrize(
    ("given", "folder", "path"),
    [
        ("/etc/x.toml", "/var/y", "/etc/x.toml"),
        (None, "/var/y", "/var/y/settings.toml"),
        (None, None, str(Path.home() / ".local/share/tabletop-companion/settings.toml")),
    ],
)
def test_settings_are_found_in_this_order(given: str | None, folder: str | None, path: str) -> None:
    assert find_settings(Path(given) if given else None, folder) == Path(path)
