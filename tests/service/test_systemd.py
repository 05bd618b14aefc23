"""What is reported to systemd: ready once the pages answer, the sign, and food for the watchdog
while everything is alive.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from service import until
from simulated_room import local_settings

from companion.core.config import CameraSettings, VoiceSettings
from companion.maintenance.backup import STAGED_FOLDER
from companion.service.app import Companion
from companion.service.lifecycle import SystemdReporter
from companion.service.systemd import LampWord, ServiceManager

pytestmark = pytest.mark.slow


class ManagerSocket:
    """systemd's end of the socket, which collects what is reported."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reports: list[dict[str, str]] = []
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.bind(str(path))
        self._line.settimeout(20)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while text := self._line.recv(4096).decode():
            self.reports.append(dict(line.split("=", 1) for line in text.splitlines()))

    def values(self, name: str) -> list[str]:
        """Return all values that were reported under this name."""
        return [fields[name] for fields in self.reports.copy() if name in fields]

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto(b"", str(self.path))
        self._thread.join()
        self._line.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[ManagerSocket]:
    manager = ManagerSocket(tmp_path / "notify")
    yield manager
    manager.close()


def environment(manager: ManagerSocket, folder: Path, watchdog_us: int = 150_000) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    return {
        "NOTIFY_SOCKET": str(manager.path),
        "RUNTIME_DIRECTORY": str(folder),
        "WATCHDOG_USEC": str(watchdog_us),
    }


def open_companion(folder: Path) -> Companion:
    settings = local_settings(
        folder, camera=CameraSettings(source="none"), voice=VoiceSettings(by="off")
    )
    return Companion(settings, simulate=False)


def test_a_service_needs_no_systemd(tmp_path: Path) -> None:
    manager = ServiceManager({})
    assert (manager.has_receiver, manager.watchdog_s, manager.folder) == (False, None, None)
    manager.notify(READY="1")
    manager.set_lamp_word(LampWord.READY)
    assert not manager.switch_off()
    with open_companion(tmp_path) as companion, SystemdReporter(companion, manager) as notifier:
        notifier.close()
        notifier.close()


@pytest.mark.parametrize(("pid", "is_meant"), [("", True), ("own", True), ("1", False)])
def test_another_process_watchdog_is_not_fed(pid: str, is_meant: bool) -> None:
    manager = ServiceManager(
        {"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(os.getpid()) if pid == "own" else pid}
    )
    assert manager.watchdog_s == (20.0 if is_meant else None)


def test_the_watchdog_is_fed_while_all_are_alive(tmp_path: Path, manager: ManagerSocket) -> None:
    run = tmp_path / "run"
    with open_companion(tmp_path) as companion:
        silent: dict[str, float] = {}
        companion.health.late_loops = lambda: silent  # type: ignore[method-assign] # as if a loop had been hanging for long
        with SystemdReporter(companion, ServiceManager(environment(manager, run))):
            until("food", lambda: len(manager.values("WATCHDOG")) >= 3)
            assert manager.reports[0] == {
                "READY": "1",
                "WATCHDOG": "1",
                "STATUS": companion.table.view().sign.text,
            }
            assert (run / "lamp").read_text() == "ready"
            silent["table"] = 12.0
            until(
                "the fault", lambda: "Not alive: table, silent for 12 s" in manager.values("STATUS")
            )
            fed = len(manager.values("WATCHDOG"))
            rounds = len(manager.reports)
            silent["table"] = 13.0
            until("another look", lambda: len(manager.reports) > rounds)
            assert len(manager.values("WATCHDOG")) == fed
            assert (run / "lamp").read_text() == "fault"
            silent.clear()
            until("food again", lambda: len(manager.values("WATCHDOG")) > fed)
            until("the lamp", lambda: (run / "lamp").read_text() == "ready")


def test_a_game_survives_a_hung_service(tmp_path: Path, manager: ManagerSocket) -> None:
    """It also restarts on request, and carries out what waits for a start."""
    run = tmp_path / "run"
    settings = tmp_path / "settings.toml"
    settings.write_text(f'state_dir = "{tmp_path}"\n[web]\nhost = "127.0.0.1"\n[camera]\nfps = 1\n')
    words = ["-m", "companion", "play", "--settings", str(settings), "--port", "0"]

    def start(*more: str) -> subprocess.Popen[bytes]:
        variables = {**os.environ, **environment(manager, run, 3_000_000)}
        return subprocess.Popen(
            [sys.executable, *words, *more], env=variables, stdout=subprocess.DEVNULL
        )

    def is_game_on() -> bool:
        return "".join(manager.values("STATUS")[-1:]).startswith("Outbuffered: ")

    process = start("--game", "outbuffered")
    try:
        until("the game", is_game_on)
        assert manager.values("READY") == ["1"]
        assert (run / "lamp").read_text() == "ready"
        process.send_signal(signal.SIGSTOP)  # all of it hangs: nothing feeds the watchdog any more
        fed = len(manager.values("WATCHDOG"))
        assert not threading.Event().wait(1.2)
        assert len(manager.values("WATCHDOG")) - fed <= 1
        process.kill()
        process.wait()
        process = start()
        until("ready", lambda: len(manager.values("READY")) == 2)
        assert is_game_on(), "it goes on where it was"
        (tmp_path / STAGED_FOLDER).mkdir()
        (tmp_path / STAGED_FOLDER / "forget").touch()
        process.send_signal(signal.SIGUSR1)
        until("ready once more", lambda: len(manager.values("READY")) == 3)
        assert "Restarts" in manager.values("STATUS")
        assert not is_game_on(), "all games were to be forgotten"
        assert not (tmp_path / STAGED_FOLDER).exists()
        process.terminate()
        assert process.wait(60) == 0
        until("the end", lambda: manager.values("STOPPING") == ["1"])
        assert (run / "lamp").read_text() == "stopping"
    finally:
        process.kill()
        process.wait()
