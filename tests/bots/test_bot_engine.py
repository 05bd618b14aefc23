"""Tests of the protocol that the project's own bots speak, and of the limits of their processes.

Requests go to `BotEngine.answer` in this process. Only the last test starts a process.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from bot_tools import ask

from companion.bots import bot_for, has_bot
from companion.bots.base import Bot, Choice
from companion.bots.bot_engine import MAX_LINE_BYTES, BotEngine
from companion.core.errors import Malformed
from companion.core.kit import Seat
from companion.games import GAMES, game_named
from companion.games.engine import serve_lines

# What a seat sees at the start of a game of Outbuffered.
FIRST_VIEW = {
    "to_act": ["north", "south"],
    "turn": 1,
    "quiet": 0,
    "robots": {"south": "a1", "north": "c4"},
    "flags": {"south": {"on": "b1"}, "north": {"on": "b4"}},
    "expected": {},
    "outcome": None,
}


def test_answers_are_as_documented() -> None:
    engine = BotEngine("outbuffered", level=1, seed=3)
    error = ask(engine, {"choose": {"view": FIRST_VIEW}})["error"]
    assert error["message"] == "There is no game yet: send new first"
    assert ask(engine, {"new": {"seat": "south", "options": {"turn_limit": 30}}}) == {"ready": True}
    assert ask(engine, {"see": {"view": FIRST_VIEW, "events": [{"kind": "idle"}]}}) == {"ok": True}
    choice = ask(engine, {"choose": {"view": FIRST_VIEW}})
    assert set(choice) == {"action", "nodes", "why"}
    assert game_named("outbuffered").parse(choice["action"]) == choice["action"]


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"{}",
        # bytes that are no text
        b"\xff\xfe",
        b'{"new": {"seat": "west"}}',
        # two requests in one line
        b'{"new": {"seat": "south"}, "choose": {"view": {}}}',
        b'{"new": {"seat": "south", "options": {"nonsense": 1}}}',
        # JSON that is nested too deeply for a decoder, and a line that is too long
        b"[" * 10_000,
        b'{"choose": {"view": {"x": "' + b"y" * MAX_LINE_BYTES + b'"}}}',
    ],
    ids=range(8),
)
def test_wrong_requests_are_errors_and_change_nothing(line: bytes) -> None:
    engine = BotEngine("outbuffered", level=2, seed=3)
    ask(engine, {"new": {"seat": "south"}})
    assert set(json.loads(engine.answer(line))) == {"error"}
    assert "action" in ask(engine, {"choose": {"view": FIRST_VIEW}})


def test_judging_nonsense_is_an_error() -> None:
    engine = BotEngine("outbuffered", level=1, seed=3)
    ask(engine, {"new": {"seat": "south"}})
    for nonsense in ("", "nonsense", "x" * 10_000, "\x00"):
        error = ask(engine, {"judge": {"view": FIRST_VIEW, "action": nonsense}})["error"]
        assert error["kind"] == "malformed"


@pytest.mark.parametrize(
    ("due", "message"),
    [
        (["north"], "South has nothing to decide in this view"),
        ([], "South has nothing to decide in this view"),
        (None, "This is no view: its to_act says who has to act"),
    ],
)
def test_a_seat_not_to_act_is_an_error(due: object, message: str) -> None:
    engine = BotEngine("outbuffered", level=1, seed=3)
    ask(engine, {"new": {"seat": "south"}})
    # the seat may neither choose an action now, nor have one judged
    for request in (
        {"choose": {"view": {**FIRST_VIEW, "to_act": due}}},
        {"judge": {"view": {"to_act": due}, "action": "UUS"}},
    ):
        assert ask(engine, request)["error"]["message"] == message
    assert "action" in ask(engine, {"choose": {"view": FIRST_VIEW}})


def test_a_failure_is_reported_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of an exception could tell a secret, so only its class is named."""

    class FailingBot(Bot):
        def choose(self, view: object) -> Choice:
            raise KeyError("UUS was my plan")

        def loss(self, view: object, action: str, best: str) -> float:
            raise KeyError("UUS was my plan")

    monkeypatch.setattr(
        "companion.bots.bot_engine.bot_for", lambda *arguments: FailingBot(Seat.SOUTH, {}, 1, 1)
    )
    engine = BotEngine("outbuffered", level=1, seed=1)
    ask(engine, {"new": {"seat": "south"}})
    error = ask(engine, {"choose": {"view": FIRST_VIEW}})["error"]
    assert error["message"] == "The opponent cannot play this view (KeyError)"


def test_each_line_is_answered_by_a_line() -> None:
    """Empty lines get no answer, and a line that is too long gets an error."""
    lines = (
        b'{"new": {"seat": "south"}}\n\n   \n'
        + b"x" * (MAX_LINE_BYTES + 10)
        + b"\n"
        + json.dumps({"see": {"view": FIRST_VIEW}}).encode()
    )
    sink = io.BytesIO()
    serve_lines(BotEngine("outbuffered", level=1, seed=1).answer, io.BytesIO(lines), sink)
    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [set(answer) for answer in answers] == [{"ready"}, {"error"}, {"ok"}]


def test_unknown_games_and_levels_are_refused() -> None:
    assert all(map(has_bot, GAMES))
    assert not has_bot("chess")
    with pytest.raises(Malformed, match="no opponent for chess"):
        bot_for("chess", Seat.SOUTH, {}, 1, 1)
    with pytest.raises(Malformed, match="no level 4"):
        bot_for("outbuffered", Seat.SOUTH, {}, 4, 1)


def test_its_process_is_small_and_gives_way() -> None:
    """A bot has a low priority and little memory, and it imports nothing large.

    If somebody starts it in a terminal, it does not slow down the other programs there.
    """
    code = (
        "import os, resource, sys\n"
        "from companion.bots.bot_engine import MAX_OWN_MEMORY_BYTES, BotEngine, limit_process\n"
        "group = lambda: "
        "os.path.exists('/proc/self/autogroup') and open('/proc/self/autogroup').read()\n"
        "before = group()\n"
        "limit_process(os.getpid(), MAX_OWN_MEMORY_BYTES)\n"
        "assert group() == before, 'the terminal that it was begun in is slowed down'\n"
        "from companion.bots import bot_for\n"
        "from companion.core.kit import Seat\n"
        "from companion.games import game_named\n"
        "assert os.getpriority(os.PRIO_PROCESS, 0) >= 10\n"
        "assert resource.getrlimit(resource.RLIMIT_DATA)[0] <= 200 << 20\n"
        "assert not {'cv2', 'numpy', 'flask', 'vision', 'companion.table'} & set(sys.modules), "
        "'too much is imported'\n"
        "status = open('/proc/self/status').read()\n"
        "print(int(status.split('VmHWM:')[1].split()[0]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    peak_memory_kb = int(done.stdout)
    assert peak_memory_kb < 45_000
