"""What systemd hears: ready once the pages answer, the sign, and food for the watchdog while
everything is alive.
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
from companion.service.app import Companion
from companion.service.lifecycle import ManagerNotifier
from companion.service.systemd import LampWord, Manager

Said = list[dict[str, str]]


class Ear:
    """systemd's end of the socket."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: Said = []
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._line.bind(str(path))
        self._line.settimeout(20)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while text := self._line.recv(4096).decode():
            self.said.append(dict(line.split("=", 1) for line in text.splitlines()))

    def heard(self, name: str) -> list[str]:
        return [fields[name] for fields in self.said.copy() if name in fields]

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.sendto(b"", str(self.path))
        self._thread.join()
        self._line.close()


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    listening = Ear(tmp_path / "notify")
    yield listening
    listening.close()


def environment(ear: Ear, folder: Path, every_us: int = 150_000) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    return {
        "NOTIFY_SOCKET": str(ear.path),
        "RUNTIME_DIRECTORY": str(folder),
        "WATCHDOG_USEC": str(every_us),
    }


def companion_in(folder: Path) -> Companion:
    settings = local_settings(
        folder, camera=CameraSettings(source="none"), voice=VoiceSettings(by="off")
    )
    return Companion(settings, simulate=False)


def test_without_systemd_nothing_is_said_and_nothing_is_missing(tmp_path: Path) -> None:
    manager = Manager({})
    assert (manager.is_there, manager.watchdog_s, manager.folder) == (False, None, None)
    manager.tell(READY="1")
    manager.show(LampWord.READY)
    assert not manager.switch_off()
    with companion_in(tmp_path) as companion, ManagerNotifier(companion, manager) as attendant:
        attendant.close()
        attendant.close()


@pytest.mark.parametrize(("pid", "is_meant"), [("", True), ("own", True), ("1", False)])
def test_the_watchdog_of_another_process_is_not_fed(pid: str, is_meant: bool) -> None:
    manager = Manager(
        {"WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(os.getpid()) if pid == "own" else pid}
    )
    assert manager.watchdog_s == (20.0 if is_meant else None)


def test_it_is_fed_while_all_are_alive_and_not_a_moment_longer(tmp_path: Path, ear: Ear) -> None:
    run = tmp_path / "run"
    with companion_in(tmp_path) as companion:
        silent: dict[str, float] = {}
        companion.health.late_loops = lambda: silent  # type: ignore[method-assign] # as if a loop had been hanging for long
        with ManagerNotifier(companion, Manager(environment(ear, run))):
            until("food", lambda: len(ear.heard("WATCHDOG")) >= 3)
            assert ear.said[0] == {
                "READY": "1",
                "WATCHDOG": "1",
                "STATUS": companion.table.view().sign.text,
            }
            assert (run / "lamp").read_text() == "ready"
            silent["table"] = 12.0
            until("the fault", lambda: "Not alive: table, silent for 12 s" in ear.heard("STATUS"))
            fed = len(ear.heard("WATCHDOG"))
            rounds = len(ear.said)
            silent["table"] = 13.0
            until("another look", lambda: len(ear.said) > rounds)
            assert len(ear.heard("WATCHDOG")) == fed
            assert (run / "lamp").read_text() == "fault"
            silent.clear()
            until("food again", lambda: len(ear.heard("WATCHDOG")) > fed)
            until("the lamp", lambda: (run / "lamp").read_text() == "ready")


def test_a_hung_service_is_starved_killed_and_the_game_goes_on(tmp_path: Path, ear: Ear) -> None:
    run = tmp_path / "run"
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f'state_dir = "{tmp_path}"\n[web]\nhost = "127.0.0.1"\n[camera]\nsource = "none"\n'
    )
    command = [
        sys.executable,
        "-m",
        "companion",
        "play",
        "--settings",
        str(settings),
        "--port",
        "0",
    ]

    def begin(*more: str) -> subprocess.Popen[bytes]:
        told = environment(ear, run, 3_000_000)
        return subprocess.Popen(
            [*command, *more], env={**os.environ, **told}, stdout=subprocess.DEVNULL
        )

    process = begin("--game", "outbuffered")
    try:
        until(
            "the game",
            lambda: (
                ear.heard("STATUS")[-1:] and ear.heard("STATUS")[-1].startswith("Outbuffered: ")
            ),
        )
        assert ear.heard("READY") == ["1"]
        assert (run / "lamp").read_text() == "ready"
        process.send_signal(signal.SIGSTOP)  # all of it hangs: nothing feeds the watchdog any more
        fed = len(ear.heard("WATCHDOG"))
        assert not threading.Event().wait(1.2)
        assert len(ear.heard("WATCHDOG")) - fed <= 1
        process.kill()
        process.wait()
        process = begin()
        until("ready", lambda: len(ear.heard("READY")) == 2)
        assert ear.heard("STATUS")[-1].startswith("Outbuffered: "), "it goes on where it was"
        process.send_signal(signal.SIGUSR1)
        until("ready once more", lambda: len(ear.heard("READY")) == 3)
        assert "Restarts" in ear.heard("STATUS")
        process.terminate()
        assert process.wait(60) == 0
        until("the end", lambda: ear.heard("STOPPING") == ["1"])
        assert (run / "lamp").read_text() == "stopping"
    finally:
        process.kill()
        process.wait()
