"""The real service begins anew when told: with new settings, with those of before, and with a backup."""

from __future__ import annotations

from pathlib import Path

import pytest
from ports import free_port
from service import Client, running, until

from companion.core.config import find_settings
from companion.maintenance.backup import READY


def told(service: Client) -> str:
    return " ".join(service.get("/api/view")["notices"])


def test_it_begins_anew_and_falls_back_when_the_new_settings_are_no_good(tmp_path: Path) -> None:
    with running(
        tmp_path, "--simulate", "--game", "outbuffered", "--port", str(free_port())
    ) as service:
        client, settings = Client(service.url), tmp_path / "settings.toml"
        good = settings.read_text()

        def seen() -> str:
            try:
                return told(client)
            except (OSError, AssertionError):
                return ""

        settings.write_text(good + "theme = 3\n")
        service.begin_anew()
        until(
            "the old settings in use",
            lambda: "The new settings cannot be used, so the previous ones are" in seen(),
        )
        assert client.get("/api/view")["game"] == "outbuffered", "the game goes on"
        settings.write_text(good)
        (tmp_path / READY).mkdir()
        (tmp_path / READY / "forget").touch()
        service.begin_anew()
        until("all games gone", lambda: seen() == "" and _phase(client) == "lobby")
        assert not (tmp_path / READY).exists()
        assert service.stop() == 0


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
