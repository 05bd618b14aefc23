"""Test what the service reports to systemd: readiness, its status, and that no loop hangs.

A socket of the test stands for systemd. The service feeds the watchdog (the report `WATCHDOG=1`) as
long as no loop is late. Two tests wait in real time for the watchdog's interval.
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
    """systemd's end of the notification socket, which collects all reports."""

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
        """End the thread by an empty datagram, and close the socket."""
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
    """Make the service's folder. Return the variables with which systemd starts a service.

    :param watchdog_us: interval of the watchdog in microseconds
    """
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
    # Without systemd's variables everything may be called, and has no effect.
    manager = ServiceManager({})
    assert (manager.has_receiver, manager.watchdog_s, manager.folder) == (False, None, None)
    manager.notify(READY="1")
    manager.set_lamp_word(LampWord.READY)
    assert not manager.switch_off()
    with open_companion(tmp_path) as companion, SystemdReporter(companion, manager) as notifier:
        notifier.close()
        notifier.close()


@pytest.mark.parametrize(("pid", "has_watchdog"), [("", True), ("own", True), ("1", False)])
def test_a_watchdog_of_another_process_is_ignored(pid: str, has_watchdog: bool) -> None:
    manager = ServiceManager(
        {"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(os.getpid()) if pid == "own" else pid}
    )
    assert manager.watchdog_s == (20.0 if has_watchdog else None)


def test_the_watchdog_is_fed_while_no_loop_hangs(tmp_path: Path, manager: ManagerSocket) -> None:
    run_folder = tmp_path / "run"
    with open_companion(tmp_path) as companion:
        late_loops: dict[str, float] = {}
        companion.health.late_loops = lambda: late_loops  # type: ignore[method-assign] # lets a loop seem to hang
        with SystemdReporter(companion, ServiceManager(environment(manager, run_folder))):
            # All loops are alive. The first report says that the service is ready.
            until("the watchdog is fed", lambda: len(manager.values("WATCHDOG")) >= 3)
            assert manager.reports[0] == {
                "READY": "1",
                "WATCHDOG": "1",
                "STATUS": companion.table.view().sign.text,
            }
            assert (run_folder / "lamp").read_text() == "ready"

            # The table's loop hangs, which is reported. When another report shows that the reporter
            # still works, it has not fed the watchdog.
            late_loops["table"] = 12.0
            until(
                "the fault is reported",
                lambda: "Not alive: table, silent for 12 s" in manager.values("STATUS"),
            )
            fed_count = len(manager.values("WATCHDOG"))
            report_count = len(manager.reports)
            late_loops["table"] = 13.0
            until("another report", lambda: len(manager.reports) > report_count)
            assert len(manager.values("WATCHDOG")) == fed_count
            assert (run_folder / "lamp").read_text() == "fault"

            # The loop is alive again.
            late_loops.clear()
            until("it is fed again", lambda: len(manager.values("WATCHDOG")) > fed_count)
            until("the lamp is ready", lambda: (run_folder / "lamp").read_text() == "ready")


def test_a_game_survives_a_service_that_hangs(tmp_path: Path, manager: ManagerSocket) -> None:
    """Kill a service that hangs, start it again, and then let it delete all games by a restart."""
    run_folder = tmp_path / "run"
    settings = tmp_path / "settings.toml"
    settings.write_text(f'state_dir = "{tmp_path}"\n[web]\nhost = "127.0.0.1"\n[camera]\nfps = 1\n')
    arguments = ["-m", "companion", "play", "--settings", str(settings), "--port", "0"]

    def start(*more: str) -> subprocess.Popen[bytes]:
        variables = {**os.environ, **environment(manager, run_folder, 3_000_000)}
        return subprocess.Popen(
            [sys.executable, *arguments, *more], env=variables, stdout=subprocess.DEVNULL
        )

    def is_game_on() -> bool:
        return "".join(manager.values("STATUS")[-1:]).startswith("Outbuffered: ")

    # A game is on.
    process = start("--game", "outbuffered")
    try:
        until("the game is on", is_game_on)
        assert manager.values("READY") == ["1"]
        assert (run_folder / "lamp").read_text() == "ready"

        # The whole process hangs. A live service would feed the watchdog at least twice within 2.5
        # s: once a second, which is a third of the interval of 3 s. One report may still have been
        # on its way.
        process.send_signal(signal.SIGSTOP)
        fed_count = len(manager.values("WATCHDOG"))
        assert not threading.Event().wait(2.5)
        assert len(manager.values("WATCHDOG")) - fed_count <= 1

        # So systemd would kill the process and start it again.
        process.kill()
        process.wait()
        process = start()
        until("the service is ready", lambda: len(manager.values("READY")) == 2)
        assert is_game_on(), "the game must go on"

        # A deletion is staged, as by `stage_deletion`, and the service restarts itself.
        (tmp_path / STAGED_FOLDER).mkdir()
        (tmp_path / STAGED_FOLDER / "forget").touch()
        process.send_signal(signal.SIGUSR1)
        until("it is ready once more", lambda: len(manager.values("READY")) == 3)
        assert "Restarts" in manager.values("STATUS")
        assert not is_game_on(), "the games must be deleted"
        assert not (tmp_path / STAGED_FOLDER).exists()

        # systemd ends the service.
        process.terminate()
        assert process.wait(60) == 0
        until("the end is reported", lambda: manager.values("STOPPING") == ["1"])
        assert (run_folder / "lamp").read_text() == "stopping"
    finally:
        process.kill()
        process.wait()
