"""Test that pages, backups and resets change no setting that could harm or stop the machine.

If settings keep the service from starting, the last settings that worked replace them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from backup_tools import fill_installation
from setup_tools import open_service_rig

from companion.core.clock import FakeClock
from companion.core.config import MqttSettings, Settings
from companion.core.errors import ConfigError, SystemTrouble
from companion.maintenance.backup import apply_staged, make_backup, stage_restore
from companion.maintenance.settings.file import SettingsFile, values_by_name
from companion.maintenance.settings.last_good import LastGoodSettings
from companion.maintenance.settings.rows import LAMPS_ACTIVE_LOW, page_may_write, setting_rows

# Settings that no page writes: files, folders, addresses and programs.
ONLY_BY_HAND = {
    "state_dir",
    "web.host",
    "web.names",
    "web.proxies",
    "web.path",
    "web.certificate",
    "web.key",
    "mqtt.password_file",
    "mqtt.ca_file",
    "bots.engines",
}


def test_pages_write_no_files_and_addresses() -> None:
    """Compare with a list, so that every new setting has to be considered here."""
    assert {row.key for row in setting_rows().values() if row.is_writable is False} == ONLY_BY_HAND
    assert set(values_by_name(Settings())) == set(setting_rows()) | LAMPS_ACTIVE_LOW
    assert not page_may_write("something.new", 1)

    # The source of the camera may be a device, but neither a file nor an address.
    for source in ("/dev/zero", "../x", "usb:/dev/zero", "http://[::1", "auto:x"):
        assert not page_may_write("camera.source", source)
    assert all(page_may_write("camera.source", source) for source in ("none", "usb:C920"))


# ---- requests, backups, resets -------------------------------------------------------------------


def test_a_crafted_request_changes_nothing(tmp_path: Path) -> None:
    original = '[web]\nnames = ["table.lan"]\n'
    with open_service_rig(tmp_path, original) as rig:
        # Each request changes a harmless setting, too, which is refused together with the other.
        for key, text in (
            ("state_dir", "/etc"),
            ("web.host", "1.2.3.4"),
            ("web.names", "evil.com"),
            ("mqtt.ca_file", "/x"),
        ):
            answer = rig.host.post(
                "/api/settings/change", json={"values": {key: text, "web.viewers": "30"}}
            )
            assert answer.status_code == 400
            assert (
                "Written into the file by hand, or given on the command line."
                in answer.get_data(as_text=True)
            )
        assert rig.path.read_text() == original

        # The service itself refuses such a change as well, without any page.
        with pytest.raises(ConfigError, match="by hand"):
            rig.upkeep.change({"web.key": "/etc/shadow"}, rig.upkeep.read_file().digest)


def test_a_backup_brings_no_paths_and_no_addresses(tmp_path: Path) -> None:
    # A stranger's backup has settings that name files and addresses, and some harmless ones.
    there, here = fill_installation(tmp_path / "there"), tmp_path / "here"
    hostile_file = tmp_path / "hostile.toml"
    hostile_file.write_text(
        'state_dir = "/etc"\n[camera]\nsource = "/dev/zero"\nfps = 5.0\n'
        '[web]\nhost = "1.2.3.4"\nnames = ["evil.com"]\nviewers = 30\n'
        '[mqtt]\nca_file = "/dev/zero"\npassword_file = "/etc/shadow"\n'
    )
    with (tmp_path / "b.zip").open("wb") as target:
        make_backup(there, hostile_file, FakeClock(), with_photographs=False, target=target)

    # It is restored on a table that has a host name of its own.
    here.mkdir()
    file = here / "settings.toml"
    file.write_text('[web]\nnames = ["table.lan"]\n')
    settings = Settings(state_dir=str(here))
    stage_restore(tmp_path / "b.zip", settings, file)
    apply_staged(settings, file)

    # Files and addresses are this table's own or the defaults. All other settings are those of the
    # backup.
    restored = SettingsFile(file).read().settings
    web = restored.web
    assert (restored.state_dir, restored.camera.source, web.host, web.names) == (
        str(here),
        "auto",
        "0.0.0.0",
        ("table.lan",),
    )
    assert (restored.mqtt, web.viewers, restored.camera.fps) == (MqttSettings(), 30, 5.0)


def test_a_reset_keeps_files_and_addresses(tmp_path: Path) -> None:
    with open_service_rig(
        tmp_path,
        '[web]\nnames = ["table.lan"]\nviewers = 20\n[mqtt]\nca_file = "/etc/ssl/house.pem"\n',
    ) as rig:
        rig.upkeep.reset(delete_games=False)
        settings = rig.upkeep.read_file().settings
        # The number of viewers has its default again.
        assert (settings.web.names, settings.mqtt.ca_file, settings.web.viewers) == (
            ("table.lan",),
            "/etc/ssl/house.pem",
            64,
        )


def test_a_failed_reset_deletes_no_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the settings cannot be written, the deletion of the games is not staged either."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with open_service_rig(tmp_path, "") as rig:
        monkeypatch.setattr("companion.maintenance.settings.file.replace_file", refuse)
        with pytest.raises(SystemTrouble):
            rig.upkeep.reset(delete_games=True)
        assert rig.upkeep.staged_sentence() == ""


# ---- the last settings that worked ---------------------------------------------------------------


GOOD = b"# ours\n[web]\nviewers = 20\n"
BAD = b"[web]\nviewers = 30\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The settings file. `GOOD` was recorded as working, and then the file was changed to `BAD`."""
    path = tmp_path / "settings.toml"
    path.write_bytes(GOOD)
    LastGoodSettings(path).record_success(GOOD)
    path.write_bytes(BAD)
    return path


def test_last_good_settings_return_after_failed_starts(path: Path) -> None:
    # Three starts change nothing. The fourth start restores the settings that worked, and keeps the
    # others in a private file.
    for _ in range(3):
        LastGoodSettings(path).count_start()
        assert path.read_bytes() == BAD
    LastGoodSettings(path).count_start()
    assert path.read_bytes() == GOOD
    refused = path.with_name("settings.refused.toml")
    assert (refused.read_bytes(), refused.stat().st_mode & 0o777) == (BAD, 0o600)
    notice = LastGoodSettings(path).notice()
    assert notice == (
        "The companion did not start three times, so the last settings that worked are back. "
        "The others are in settings.refused.toml."
    )

    # The notice stays when the service works, until somebody changes the settings.
    LastGoodSettings(path).record_success(GOOD)
    assert LastGoodSettings(path).notice() == notice
    SettingsFile(path).change({"web.viewers": 50}, SettingsFile(path).read().digest)
    assert LastGoodSettings(path).notice() == ""


def test_a_successful_start_resets_the_count(path: Path) -> None:
    # The third start succeeds with the new settings, which then are the ones that work.
    last_good = LastGoodSettings(path)
    for _ in range(2):
        last_good.count_start()
    last_good.record_success(BAD)

    # Later starts fail for another reason than the settings, and do not count.
    for _ in range(5):
        last_good.count_start()
        last_good.reset_count()
    assert path.read_bytes() == BAD

    # Settings of a new installation have never worked, so there is nothing to restore.
    path.with_name("new").mkdir()
    fresh = path.with_name("new") / "settings.toml"
    fresh.write_bytes(BAD)
    for _ in range(5):
        LastGoodSettings(fresh).count_start()
    assert fresh.read_bytes() == BAD, "nothing may be restored before any settings have worked"
