"""The service as a process: what it finds, what it refuses, cameras that are files, commands as the
documentation says them.
"""

from __future__ import annotations

import http.client
import io
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from in_process import in_process_service
from service import Client, service_process, wait_for_phase

from companion.cli.main import main
from companion.games import game_named

GAME = game_named("outbuffered")


Ended = subprocess.CompletedProcess[str]


def process(*arguments: str) -> Ended:
    """Run a command in a process of its own, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "companion", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def command(*arguments: str) -> Ended:
    """Run a command in this process."""
    said, complained = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(complained):
        try:
            status = main(arguments)
        except SystemExit as left:
            status = int(left.code or 0)
    return Ended(arguments, status, said.getvalue(), complained.getvalue())


# ---- start and end -------------------------------------------------------------------------------


def test_it_says_what_it_found_and_ends_with_open_streams(tmp_path: Path) -> None:
    with service_process(tmp_path, "--port", "0") as service:
        stream = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        stream.request("GET", "/live/table")
        stream.getresponse().readline()
        text = "\n".join(service.output_lines)
        assert "No camera" in text
        assert "No pads" in text
        assert "Simulation" in text, "without any hardware it simulates"
        assert not re.search(r"[█▀▄]", text), "QR codes are for terminals"
        assert service.stop() == 0
        assert "Traceback" not in service.log
        stream.close()


def test_no_free_port_and_a_second_service(tmp_path: Path) -> None:
    with service_process(tmp_path, "--simulate", "--port", "0") as service:
        settings = str(tmp_path / "settings.toml")
        second = process("play", "--settings", settings, "--simulate", "--port", "0")
        assert second.returncode == 1
        assert re.fullmatch(
            r"companion: Another companion is using .*journal\.sqlite: .*\n", second.stderr
        )
        other = process(
            "play",
            "--state-dir",
            str(tmp_path / "other"),
            "--simulate",
            "--host",
            "127.0.0.1",
            "--port",
            str(service.port),
        )
        assert other.returncode == 1
        assert (
            other.stderr
            == f"companion: Port {service.port} is in use: choose another one with --port\n"
        )
        assert Client(service.url).get("/health")["ok"] is True


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
def test_errors_are_one_line_and_have_their_status(
    arguments: tuple[str, ...], status: int, words: str
) -> None:
    run = command(*arguments)
    assert run.returncode == status
    assert words in run.stderr
    assert "Traceback" not in run.stderr
    if status == 1:
        assert run.stderr.count("\n") == 1


def test_replay_tells_a_game_of_the_journal_and_of_a_file(tmp_path: Path) -> None:
    with in_process_service(tmp_path, "outbuffered") as service:
        client = Client(service.url)
        client.post("/api/seat/south/take", name="")
        wait_for_phase(client, "orders")
        on = command("replay", "1", "--state-dir", str(tmp_path))
        assert (on.returncode, on.stderr) == (
            1,
            "companion: The game is still on: it can be exported when it is over\n",
        )
        client.post("/api/seat/south/resign")
    told = command("replay", "1", "--state-dir", str(tmp_path))
    assert told.stdout == "Purple resigns.\n", told.stderr
    file = tmp_path / "game.json"
    file.write_text(command("export", "1", "--state-dir", str(tmp_path)).stdout)
    assert command("replay", str(file)).stdout == "Purple resigns.\n"
