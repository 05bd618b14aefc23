"""Test the service as a process, and the other commands in the test's own process."""

from __future__ import annotations

import http.client
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from service import Client, ServiceProcess, service_process
from simulated_room import local_settings
from table_tools import open_table_rig

from companion.cli.main import main
from companion.core.errors import SystemTrouble
from companion.core.kit import Seat
from companion.service.app import Companion


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this process. Return its exit status, standard output and standard error."""
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            status = main(arguments)
        except SystemExit as error:
            status = int(error.code or 0)
    return subprocess.CompletedProcess(arguments, status, output.getvalue(), errors.getvalue())


# ---- start and end -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """One service for all tests of this part, on a machine without hardware."""
    with service_process(tmp_path_factory.mktemp("service"), "--port", "0") as service:
        yield service


def test_a_start_says_what_was_found(service: ServiceProcess) -> None:
    text = "\n".join(service.output_lines)
    assert "No camera" in text
    assert "No pads" in text
    assert "Simulation" in text, "without hardware a simulation must start"
    assert not re.search(r"[█▀▄]", text), "no QR code may be printed if there is no terminal"


def test_a_second_service_on_one_journal_is_refused(service: ServiceProcess) -> None:
    arguments = ["play", "--state-dir", str(service.folder), "--simulate", "--port", "0"]
    second = subprocess.run(
        [sys.executable, "-m", "companion", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert second.returncode == 1
    assert re.fullmatch(
        r"companion: Another companion is using .*journal\.sqlite: .*\n", second.stderr
    )
    assert Client(service.url).get("/health")["ok"] is True


def test_a_port_in_use_is_refused(service: ServiceProcess, tmp_path: Path) -> None:
    message = f"Port {service.port} is in use: choose another one with --port"
    with pytest.raises(SystemTrouble, match=message):
        Companion(local_settings(tmp_path, service.port), simulate=True)
    assert Client(service.url).get("/health")["ok"] is True


def test_a_service_ends_with_open_streams(service: ServiceProcess) -> None:
    """Stop the service while a browser listens. No test after this one can use it."""
    stream = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    stream.request("GET", "/live/table")
    stream.getresponse().readline()
    assert service.stop() == 0
    assert "Traceback" not in service.log
    stream.close()


# ---- the other commands --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("dance",), 2, "invalid choice"),
        (
            ("play", "--port", "eighty"),
            2,
            "argument --port: 'eighty' is not a port: give a number from 0 to 65535",
        ),
        (("play", "--settings", "/nowhere.toml"), 1, "cannot be read"),
        (("kit", "outbuffered", "-o", "/nowhere/kit.pdf"), 1, "/nowhere/kit.pdf"),
        (("replay", "99", "--state-dir", "/nowhere"), 1, "no companion's journal at /nowhere"),
        (
            ("selfplay", "--game", "outbuffered", "--games", "-1"),
            2,
            "argument --games: '-1' is not a whole number",
        ),
        (("read", "/nowhere.png", "--dictionary", "DICT_9X9"), 1, "DICT_9X9"),
    ],
)
def test_a_failed_command_prints_one_line(
    arguments: tuple[str, ...], status: int, words: str
) -> None:
    finished = run_command(*arguments)
    assert finished.returncode == status
    assert words in finished.stderr
    assert "Traceback" not in finished.stderr
    if status == 1:
        assert finished.stderr.count("\n") == 1


def test_replay_prints_a_game_by_number_or_file(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        # A game that is still on is refused, since a replay would reveal its secrets.
        rig.begin()
        running = run_command("replay", "1", "--state-dir", str(tmp_path))
        assert (running.returncode, running.stderr) == (
            1,
            "companion: The game is still on: it can be exported when it is over\n",
        )
        rig.table.resign(Seat.SOUTH)

    # South, who is purple, has resigned at once. The game is replayed by its number, then from an
    # exported file.
    replay = run_command("replay", "1", "--state-dir", str(tmp_path))
    assert replay.stdout == "Purple resigns.\n", replay.stderr
    file = tmp_path / "game.json"
    file.write_text(run_command("export", "1", "--state-dir", str(tmp_path)).stdout)
    assert run_command("replay", str(file)).stdout == "Purple resigns.\n"
