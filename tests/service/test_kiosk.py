"""The kiosk: its command, its patience with a service that is not there yet, crashes, and the desktop's autostart."""

from __future__ import annotations

import shlex
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from companion.cli.doctor import fetch
from companion.cli.kiosk import LONGEST_S, desktop_entry, is_served, keep_open
from companion.cli.main import main
from companion.core.config import Settings, WebSettings

PAGE = "http://127.0.0.1:8080/?screen&kiosk"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    browser = tmp_path / "bin/chromium"
    browser.write_text("#!/bin/sh\n")
    browser.chmod(0o755)
    return tmp_path


def test_print_shows_the_browsers_command(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kiosk", "--print", "--url", "http://table.local:9000"]) == 0
    command = shlex.split(capsys.readouterr().out)
    assert command[0] == str(home / "bin/chromium")
    assert command[-1] == "http://table.local:9000/?screen&kiosk"
    for flag in ("--kiosk", "--autoplay-policy=no-user-gesture-required", "--ozone-platform-hint=auto"):
        assert flag in command


def test_no_browser_and_no_address_are_said_in_one_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "bin/chromium").unlink()
    assert main(["kiosk", "--print"]) == 1
    assert capsys.readouterr().err == "companion: Chromium is not installed: sudo apt install chromium\n"
    assert main(["kiosk", "--url", "table"]) == 1
    assert "is not an address" in capsys.readouterr().err


def test_install_and_uninstall_leave_nothing_behind(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = home / "config/autostart/tabletop-companion-kiosk.desktop"
    assert main(["kiosk", "--install", "--url", "http://127.0.0.1:9000/"]) == 0
    text = entry.read_text()
    assert text.startswith("[Desktop Entry]\nType=Application\n")
    assert '"-m" "companion" "kiosk" "--url" "http://127.0.0.1:9000/"' in text
    assert main(["kiosk", "--uninstall"]) == 0
    assert not entry.exists()
    assert main(["kiosk", "--uninstall"]) == 0
    assert "was not installed" in capsys.readouterr().out


def test_an_odd_path_is_quoted_as_the_desktop_reads_it() -> None:
    line = desktop_entry(['/opt/100 %/"py"', "$HOME"]).splitlines()[3]
    assert line == 'Exec="/opt/100 %%/\\\\"py\\\\"" "\\\\$HOME"'


class Screen:
    """A browser that crashes as told, a service that comes up late, and time that passes at once."""

    def __init__(self, ends: Sequence[tuple[int, float]], late: int = 0) -> None:
        self.ends = list(ends)
        self.late = late
        self.waited: list[float] = []
        self.begun = 0

    def served(self, page: str) -> bool:
        assert page == PAGE
        self.late -= 1
        return self.late < 0

    def run(self, command: Sequence[str]) -> tuple[int, float]:
        self.begun += 1
        return self.ends.pop(0)

    def keep_open(self) -> None:
        keep_open(["browser"], PAGE, self.waited.append, self.served, self.run)


def test_it_waits_for_the_service_and_ends_when_it_is_closed() -> None:
    screen = Screen([(0, 5.0)], late=3)
    screen.keep_open()
    assert (screen.waited, screen.begun) == ([1.0, 1.0, 1.0], 1)


def test_it_comes_back_after_a_crash_ever_later_and_at_once_after_a_good_run() -> None:
    screen = Screen([*[(-11, 1.0)] * 6, (1, 3600.0), (0, 1.0)])
    screen.keep_open()
    assert screen.waited == [2.0, 4.0, 8.0, 16.0, LONGEST_S, LONGEST_S, 2.0]


def test_a_service_that_is_not_there_is_not_served() -> None:
    assert not is_served("http://127.0.0.1:9/?screen&kiosk")


@pytest.mark.parametrize("rubbish", [b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
def test_whatever_else_listens_at_the_port_is_no_table(rubbish: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with saying(listener, rubbish):
            assert fetch(Settings(web=WebSettings(host="127.0.0.1", port=port)), "/health", {}) is None
        with saying(listener, b"SSH-2.0-OpenSSH_9\r\n"):
            assert not is_served(f"http://127.0.0.1:{port}/?screen&kiosk")


@contextmanager
def saying(listener: socket.socket, words: bytes) -> Iterator[None]:
    """Something that answers everybody so, until the end of the block."""
    listener.settimeout(60)
    ends = threading.Event()

    def talk() -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                if ends.is_set():
                    return
                connection.recv(1000)
                connection.sendall(words)

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        yield
    finally:
        ends.set()
        socket.create_connection(listener.getsockname()).close()
        talker.join(5)


def test_a_service_in_trouble_is_served_all_the_same() -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(503)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert is_served(f"http://127.0.0.1:{server.server_port}/?screen&kiosk")
        thread.join()
