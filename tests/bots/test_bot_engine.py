"""The opponents' protocol: every verb, every wrong request, and what the process is allowed."""

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

OPENING = {
    "to_act": ["north", "south"],
    "turn": 1,
    "quiet": 0,
    "robots": {"south": "a1", "north": "c4"},
}
START = {
    **OPENING,
    "flags": {"south": {"on": "b1"}, "north": {"on": "b4"}},
    "expected": {},
    "outcome": None,
}


def test_the_protocol_as_documented() -> None:
    engine = BotEngine("outbuffered", level=1, seed=3)
    assert (
        ask(engine, {"choose": {"view": START}})["error"]["message"]
        == "There is no game yet: send new first"
    )
    assert ask(engine, {"new": {"seat": "south", "options": {"turn_limit": 30}}}) == {"ready": True}
    assert ask(engine, {"see": {"view": START, "events": [{"kind": "idle"}]}}) == {"ok": True}
    chosen = ask(engine, {"choose": {"view": START}})
    assert set(chosen) == {"action", "nodes", "why"}
    assert game_named("outbuffered").parse(chosen["action"]) == chosen["action"]


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"{}",
        b"\xff\xfe",
        b'{"new": {"seat": "west"}}',
        b'{"new": {"seat": "south"}, "choose": {"view": {}}}',
        b'{"new": {"seat": "south", "options": {"nonsense": 1}}}',
        b"[" * 10_000,
        b'{"choose": {"view": {"x": "' + b"y" * MAX_LINE_BYTES + b'"}}}',
    ],
    ids=range(8),
)
def test_wrong_requests_are_errors_and_change_nothing(line: bytes) -> None:
    engine = BotEngine("outbuffered", level=2, seed=3)
    ask(engine, {"new": {"seat": "south"}})
    assert set(json.loads(engine.answer(line))) == {"error"}
    assert "action" in ask(engine, {"choose": {"view": START}})


def test_only_actions_of_the_game_are_judged() -> None:
    engine = BotEngine("outbuffered", level=1, seed=3)
    ask(engine, {"new": {"seat": "south"}})
    for nonsense in ("", "nonsense", "x" * 10_000, "\x00"):
        assert (
            ask(engine, {"judge": {"view": START, "action": nonsense}})["error"]["kind"]
            == "malformed"
        )


@pytest.mark.parametrize(
    "due",
    [
        ["north"],
        [],
        None,
    ],
)
def test_who_has_nothing_to_decide_says_so(due: object) -> None:
    engine = BotEngine("outbuffered", level=1, seed=3)
    ask(engine, {"new": {"seat": "south"}})
    for request in (
        {"choose": {"view": {**START, "to_act": due}}},
        {"judge": {"view": {"to_act": due}, "action": "UUS"}},
    ):
        message = ask(engine, request)["error"]["message"]
        assert message in (
            "South has nothing to decide in this view",
            "This is no view: its to_act says who has to act",
        )
    assert "action" in ask(engine, {"choose": {"view": START}})


def test_a_failing_opponent_says_so_without_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Bot):
        def choose(self, view: object) -> Choice:
            raise KeyError("UUS was my plan")

        def loss(self, view: object, action: str, best: str) -> float:
            raise KeyError("UUS was my plan")

    monkeypatch.setattr(
        "companion.bots.bot_engine.bot_for", lambda *a: Broken(Seat.SOUTH, {}, 1, 1)
    )
    engine = BotEngine("outbuffered", level=1, seed=1)
    ask(engine, {"new": {"seat": "south"}})
    assert (
        ask(engine, {"choose": {"view": START}})["error"]["message"]
        == "The opponent cannot play this view (KeyError)"
    )


def test_lines_in_lines_out() -> None:
    lines = (
        b'{"new": {"seat": "south"}}\n\n   \n'
        + b"x" * (MAX_LINE_BYTES + 10)
        + b"\n"
        + json.dumps({"see": {"view": START}}).encode()
    )
    sink = io.BytesIO()
    serve_lines(BotEngine("outbuffered", 1, 1).answer, io.BytesIO(lines), sink)
    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [set(answer) for answer in answers] == [{"ready"}, {"error"}, {"ok"}]


def test_who_is_known() -> None:
    assert {game for game in GAMES if has_bot(game)} >= {"outbuffered"}
    assert not has_bot("chess")
    with pytest.raises(Malformed, match="no opponent for chess"):
        bot_for("chess", Seat.SOUTH, {}, 1, 1)
    with pytest.raises(Malformed, match="no level 4"):
        bot_for("outbuffered", Seat.SOUTH, {}, 4, 1)


def test_its_process_is_small_and_modest() -> None:
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
    assert int(done.stdout) < 45_000
