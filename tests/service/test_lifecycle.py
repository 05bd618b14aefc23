"""Test which settings the service starts with: where they lie, and what a failed start restores."""

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
    # Some settings have worked. Then the file is changed, and the service cannot start.
    path, last_good = tmp_path / "settings.toml", b"[web]\nviewers = 20\n"
    LastGoodSettings(path).record_success(last_good)
    path.write_bytes(b"[web]\nviewers = 30\n")

    def refuse(*_: object, **__: object) -> None:
        raise SystemTrouble("It does not start")

    monkeypatch.setattr("companion.service.app.Companion", refuse)
    monkeypatch.setattr(lifecycle, "tune_allocator", lambda: True)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)

    # Three starts fail and change nothing. The fourth restores the settings before it fails, too.
    for failed_starts in range(4):
        assert path.read_bytes() != last_good, (
            f"{failed_starts} failed starts must not restore the settings"
        )
        with pytest.raises(SystemTrouble):
            lifecycle.run_service(lambda: load_settings(path), path, None, lambda *_: None)
    assert path.read_bytes() == last_good


@pytest.mark.parametrize(
    ("settings_option", "folder_option", "found"),
    [
        ("/etc/x.toml", "/var/y", "/etc/x.toml"),
        (None, "/var/y", "/var/y/settings.toml"),
        (None, None, str(Path.home() / ".local/share/tabletop-companion/settings.toml")),
    ],
)
def test_options_say_where_settings_lie(
    settings_option: str | None, folder_option: str | None, found: str
) -> None:
    """The option for the file comes first, then the folder's file, then that of the user."""
    path_option = Path(settings_option) if settings_option else None
    assert find_settings(path_option, folder_option) == Path(found)
