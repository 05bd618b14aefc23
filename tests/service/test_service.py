"""The service as a process: what it finds, what it refuses, cameras that are files, commands as the documentation says them."""

from __future__ import annotations

import http.client
import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random

import cv2
import pytest
from browser.test_browser_games import WINNING
from served import served
from service import Client, running, until

from companion.cli.main import main
from companion.core.config import Settings, WebSettings
from companion.core.kit import Layout, Seat
from companion.games import game_named
from companion.printing.printed_kit import printed_table
from companion.service.app import Companion

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


# ---- cameras that are files ------------------------------------------------------------------------------------------


def game_frames(folder: Path, first: int, each: int) -> None:
    """A whole game as a camera saw it: every layout for some frames, the first one longer."""
    state = GAME.setup(GAME.options({}), Random(0))
    layouts: list[Layout] = [GAME.expected(state) or {}]
    for south, north in WINNING:
        step = GAME.apply(state, {Seat.SOUTH: south, Seat.NORTH: north}, Random(0))
        layouts += [stage.expected for stage in step.stages if stage.expected]
        state = step.state
    world = printed_table(GAME.kit(GAME.options({})))
    number = 0
    for layout in layouts:
        world.set_up(layout)
        for _ in range(first if number == 0 else each):
            cv2.imwrite(str(folder / f"{number:04d}.png"), world.render_luma())
            number += 1


@pytest.mark.slow
def test_a_folder_of_frames_is_the_camera_of_a_whole_game(tmp_path: Path) -> None:
    frames = tmp_path / "frames"
    frames.mkdir()
    game_frames(frames, first=40, each=12)
    (frames / "0003.png").write_bytes(b"\x89PNG, but no more than that")
    arguments = ("--camera", str(frames), "--fps", "8", "--game", "outbuffered", "--port", "0")
    with running(tmp_path, *arguments, reading_time_s=0.1) as service:
        assert f"Camera: {frames}." in service.said
        south, north = Client(service.url), Client(service.url)
        south.post("/api/seat/south/take", name="")
        north.post("/api/seat/north/take", name="")
        for turn, (purple, lime) in enumerate(WINNING, start=1):
            until(
                f"turn {turn}",
                lambda turn=turn: (
                    (v := south.get("/api/view"))["phase"] == "orders" and v["turn"] == turn
                ),
            )
            moment = south.get("/api/view")["moment"]
            south.post("/api/seat/south/hand-in", moment=moment, action=purple, salt="a1")
            north.post("/api/seat/north/hand-in", moment=moment, action=lime, salt="b2")
        until("the end", lambda: south.get("/api/view")["phase"] == "over")
        assert south.get("/api/view")["outcome"]["winners"] == ["south"]
        assert "0003.png" in service.log


# ---- start and end ---------------------------------------------------------------------------------------------------


def test_it_says_what_it_found_and_ends_with_open_streams(tmp_path: Path) -> None:
    with running(tmp_path, "--port", "0") as service:
        stream = http.client.HTTPConnection("127.0.0.1", service.port, timeout=10)
        stream.request("GET", "/live/table")
        stream.getresponse().readline()
        text = "\n".join(service.said)
        assert "No camera" in text
        assert "No pads" in text
        assert "Simulation" in text, "without any hardware it simulates"
        assert not re.search(r"[█▀▄]", text), "QR codes are for terminals"
        assert service.stop() == 0
        assert "Traceback" not in service.log
        stream.close()


def test_no_free_port_and_a_second_service(tmp_path: Path) -> None:
    with running(tmp_path, "--simulate", "--port", "0") as service:
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


def test_a_damaged_journal_is_said_at_the_start(tmp_path: Path) -> None:
    with served(tmp_path, "outbuffered"):
        pass
    journal = tmp_path / "journal.sqlite"
    journal.write_bytes(journal.read_bytes()[:5000])
    settings = Settings(state_dir=str(tmp_path), web=WebSettings(host="127.0.0.1", port=0))
    with Companion(settings, simulate=True) as companion:
        assert "The journal was damaged" in "\n".join(companion.found)
        url = f"http://127.0.0.1:{companion.server.port}"
        assert Client(url).get("/health")["ok"] is True


# ---- the other commands ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("dance",), 2, "invalid choice"),
        (
            ("play", "--port", "eighty"),
            2,
            "argument --port: 'eighty' is not a port: give a number from 0 to 65535",
        ),
        (("play", "--port", "70000"), 2, "'70000' is not a port"),
        (
            ("play", "--fps", "0"),
            2,
            "argument --fps: '0' is not a frame rate: give a number from 0.1 to 60",
        ),
        (("play", "--settings", "/nowhere.toml"), 1, "cannot be read"),
        (("kit", "chess", "-o", "x.pdf"), 2, "invalid choice"),
        (("kit", "outbuffered", "-o", "/nowhere/kit.pdf"), 1, "/nowhere/kit.pdf"),
        (("kit", "outbuffered", "-o", "kit.pdf", "--board", "/nowhere.txt"), 1, "/nowhere.txt"),
        (("replay", "99", "--state-dir", "/nowhere"), 1, "no companion's journal at /nowhere"),
        (("replay", "/nowhere.json"), 1, "cannot be read"),
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


def test_read_prints_what_it_sees_and_what_it_could_not_read(tmp_path: Path) -> None:
    world = printed_table(GAME.kit(GAME.options({})))
    world.set_up(GAME.expected(GAME.setup(GAME.options({}), Random(0))) or {})
    cv2.imwrite(str(tmp_path / "a.png"), world.render_luma())
    (tmp_path / "b.png").write_bytes(b"no picture")
    run = command("read", str(tmp_path))
    assert run.returncode == 0
    good, bad = (json.loads(line) for line in run.stdout.splitlines())
    assert good["layout"] == {
        "a1": "purple robot",
        "b1": "purple flag",
        "b4": "lime flag",
        "c4": "lime robot",
    }
    found = {marker["id"] for marker in good["markers"]}
    assert found >= {20, 21, 22, 23}
    assert len(found & {0, 1, 2, 3}) >= 3, "one corner is read only once the board is found"
    assert bad["problems"]


def test_replay_tells_a_game_of_the_journal_and_of_a_file(tmp_path: Path) -> None:
    with served(tmp_path, "outbuffered") as service:
        client = Client(service.url)
        client.post("/api/seat/south/take", name="")
        until("orders", lambda: client.get("/api/view")["phase"] == "orders")
        on = command("replay", "1", "--state-dir", str(tmp_path))
        assert (on.returncode, on.stderr) == (
            1,
            "companion: The game is still on: it can be exported when it is over\n",
        )
        client.post("/api/seat/south/resign")
    told = command("replay", "1", "--state-dir", str(tmp_path))
    assert told.stdout == "Purple resigns.\n", told.stderr
    file = tmp_path / "game.json"
    file.write_text(command("replay", "1", "--state-dir", str(tmp_path), "--json").stdout)
    assert command("replay", str(file)).stdout == "Purple resigns.\n"
