"""The real service begins anew when told: with new settings, with those of before, and with a backup."""

from __future__ import annotations

import signal
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from ports import free_port
from service import Client, running, until

from companion.core.config import Settings, TableSettings, find_settings
from companion.core.errors import SystemTrouble
from companion.maintenance.backup import READY
from companion.service.lifecycle import run
from companion.service.systemd import Manager


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


def test_pages_that_do_not_answer_put_the_settings_of_before_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[FakeCompanion] = []

    class FakeCompanion(AbstractContextManager["FakeCompanion"]):
        def __init__(self, settings: Settings, *_: object, **__: object) -> None:
            self.settings, self.found, self.is_closed = settings, [""], False
            self.upkeep = SimpleNamespace()
            self.vitals = SimpleNamespace(late=lambda: [])
            self.table = SimpleNamespace(notice=lambda *_: None)
            assert all(each.is_closed for each in made), "two would want the same port"
            made.append(self)

        def close(self) -> None:
            self.is_closed = True

        def __exit__(self, *_: object) -> None:
            self.close()

    def attend(companion: FakeCompanion, _: Manager) -> AbstractContextManager[None]:
        if companion.settings.table.theme == "light":
            raise SystemTrouble("The pages do not answer")
        return nullcontext()

    ends = iter((signal.SIGUSR1, signal.SIGTERM))
    tables = iter((TableSettings(theme="dark"), TableSettings(theme="light")))
    monkeypatch.setattr("companion.service.app.Companion", FakeCompanion)
    monkeypatch.setattr("companion.service.lifecycle.ManagerNotifier", attend)
    monkeypatch.setattr("companion.service.lifecycle.spare_collections", lambda: None)
    monkeypatch.setattr(signal, "sigtimedwait", lambda *_: None)  # each has been up for a minute
    monkeypatch.setattr(signal, "sigwait", lambda _: next(ends))
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)
    run(
        lambda: Settings(state_dir=str(tmp_path), table=next(tables)),
        tmp_path / "x",
        None,
        lambda *_: None,
    )
    assert [each.settings.table.theme for each in made] == ["dark", "light", "dark"]
    assert "The pages do not answer" in made[-1].found[0]
    assert all(each.is_closed for each in made)


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
