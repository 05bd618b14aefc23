"""A process behind a seat: whatever it does, the table gets an answer or a failure that says
why.
"""

from __future__ import annotations

import json
import os
import resource
import select
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from waiting import until

from companion.bots.base import Choice
from companion.bots.bot_engine import MAX_TASKS
from companion.bots.bot_process import BotFailure, BotProcess, bot_command, parse_sentence
from companion.core.i18n import translate
from companion.core.kit import Seat
from companion.games import game_named

pytestmark = pytest.mark.slow

# A deadline that only a child that hangs can miss.
LONG_S = 30.0
READY = "input(); print('{\"ready\": true}', flush=True); "
WAIT = "import signal; signal.pause()"


def program(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def first_view(name: str = "outbuffered") -> dict[str, object]:
    game = game_named(name)
    return dict(game.view(game.setup(game.options({}), Random(0)), Seat.SOUTH))


def begin_and_choose(bot: BotProcess, timeout_s: float) -> None:
    bot.new(Seat.SOUTH, {}, timeout_s)
    bot.choose({}, timeout_s)


def failure_of(command: Sequence[str], timeout_s: float = LONG_S) -> str:
    """Ask such a program for a move, and return the error's message. Its process must be gone."""
    with BotProcess(command) as bot:
        pid = bot.child.pid
        with pytest.raises(BotFailure) as caught:
            begin_and_choose(bot, timeout_s)
        assert not os.path.exists(f"/proc/{pid}")
        with pytest.raises(BotFailure, match="has ended"):
            bot.choose({}, timeout_s)
    return caught.value.message


def test_our_own_program_plays_in_its_process() -> None:
    with BotProcess(bot_command("outbuffered", 1, 5)) as bot:
        bot.new(Seat.SOUTH, {}, LONG_S)
        choice = bot.choose(first_view(), LONG_S)
        game_named("outbuffered").parse(choice.action)
        assert bot.judge(first_view(), "DDD", LONG_S).best.action
        bot.see(first_view(), [{"kind": "idle"}], LONG_S)
    bot.close()  # a second time


def chosen(answer: object) -> Choice:
    """Return what is read from an answer."""
    line = json.dumps(answer)
    with BotProcess(program(f"{READY} input(); print({line!r}, flush=True); input()")) as bot:
        bot.new(Seat.NORTH, {"turn_limit": 3}, LONG_S)
        return bot.choose({}, LONG_S)


def test_any_program_that_speaks_the_protocol() -> None:
    answer = {"action": "UUS", "nodes": 3, "why": ["a", "b"], "more": 1}
    assert chosen(answer) == Choice("UUS", 3, ("a", "b"))


def test_a_program_may_open_its_streams_by_name() -> None:
    ask = "head -n1 /dev/stdin > /dev/null"
    answers = ('{"ready": true}', '{"action": "UUS"}')
    script = "; ".join(f"{ask}; echo '{answer}' > /dev/stdout" for answer in answers)
    with BotProcess(["sh", "-c", script]) as bot:
        bot.new(Seat.SOUTH, {}, LONG_S)
        assert bot.choose({}, LONG_S).action == "UUS"


def test_its_reasons_are_lines_that_can_be_shown() -> None:
    why = ["\u202eup\n\tand\0 up", "\u200f \a", "ÿ👩\u200d🚀", "x" * 500]
    assert chosen({"action": "UUS", "why": why}).why == ("up and up", "ÿ👩\u200d🚀", "x" * 400)


def test_a_reason_with_parts_can_be_translated() -> None:
    orders = {"say": "{p0}, {p1}", "with": {"p0": "up", "p1": "shoot"}}
    parts = {"percent": 40, "orders": orders}
    why = {"say": "I thought you would: {orders}. ({percent} %)", "with": parts}
    reason = parse_sentence(why)
    assert reason == "I thought you would: up, shoot. (40 %)"
    assert translate(reason, "es") == "Pensé que harías esto: arriba, disparar. (40\u00a0%)"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("hello", "answered nonsense"),
        ('{"action": 5}', "answered nonsense"),
        ('{"action": "UUS"}\n{"action": "UUR"}', "answered nonsense"),
        ("[" * 5000, "answered nonsense"),
        ('{"error": {"message": "secret UUS"}}', "refused a request"),
    ],
    ids=range(5),
)
def test_a_wrong_answer(answer: str, message: str) -> None:
    code = f"{READY} input(); print({answer!r}, flush=True); {WAIT}"
    assert failure_of(program(code)) == f"The opponent {message}"


STRAY = (
    "import subprocess; subprocess.Popen(['sleep', '2'], start_new_session=True); "
    "raise SystemExit(3)"
)


@pytest.mark.parametrize(
    ("code", "timeout_s", "message"),
    [
        (READY + WAIT, 0.4, "did not answer within 0.4 s"),
        (WAIT, 0.2, "did not answer within 0.2 s"),
        (f"{READY} input(); os.kill(os.getpid(), 9)", LONG_S, "has ended"),
        ("raise SystemExit(3)", LONG_S, "has ended"),
        (f"os.close(1); os.close(0); {WAIT}", LONG_S, "has ended"),
        # all memory is wanted: it ends alone
        (f"{READY} input(); held = [bytearray(64 << 20) for _ in range(64)]", LONG_S, "has ended"),
        # a child of its own in another session keeps the pipe open, and is not waited for
        (f"{READY} input(); {STRAY}", 0.6, "did not answer within 0.6 s"),
        ("while True: os.write(1, b'x' * 65536)", LONG_S, "answered a line that is too long"),
    ],
    ids=range(8),
)
def test_a_program_that_fails(code: str, timeout_s: float, message: str) -> None:
    assert failure_of(program(f"import os\n{code}"), timeout_s) == f"The opponent {message}"


def test_a_deaf_program() -> None:
    with BotProcess(program(WAIT)) as bot, pytest.raises(BotFailure, match="did not answer within"):
        bot.see({"x": "y" * 900_000}, [], 0.2)  # more than a pipe holds


def test_a_line_too_long_to_be_told() -> None:
    with BotProcess(program(WAIT)) as bot, pytest.raises(BotFailure, match="too long"):
        bot.see({"x": "y" * 1_000_000}, [], LONG_S)


@pytest.mark.parametrize(
    "command",
    [
        ["/nowhere/at/all"],
        [],
    ],
)
def test_cannot_be_started(command: list[str]) -> None:
    with pytest.raises(BotFailure, match="cannot be started"):
        BotProcess(command)


@pytest.mark.parametrize(
    "end",
    [
        "signal.pause()",
        "raise SystemExit(0)",
    ],
)
def test_its_own_children_end_with_it(end: str, tmp_path: Path) -> None:
    """However it ends itself."""
    born = tmp_path / "born"
    code = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if not os.fork():\n"
        f"    os.close(1); open({str(born) + '.new'!r}, 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(born) + '.new'!r}, {str(born)!r}); {WAIT}\n"
        f"while not os.path.exists({str(born)!r}): time.sleep(0.01)\n{end}"
    )
    with BotProcess(program(code)) as bot:
        until("the child lives", born.exists)
        with pytest.raises(BotFailure):
            bot.new(Seat.SOUTH, {}, 1.0)
    try:
        grandchild = os.pidfd_open(int(born.read_text()))
    except ProcessLookupError:
        return
    try:
        assert select.select([grandchild], [], [], LONG_S)[0]
    finally:
        os.close(grandchild)


def test_closing_ends_a_call_that_waits() -> None:
    with BotProcess(program(READY + "input(); print('x', end='', flush=True); " + WAIT)) as bot:
        bot.new(Seat.SOUTH, {}, LONG_S)
        failures: list[BotFailure] = []

        def ask() -> None:
            try:
                bot.choose({}, LONG_S)
            except BotFailure as failure:
                failures.append(failure)

        waiting = threading.Thread(target=ask)
        waiting.start()
        bot.close()
        waiting.join(LONG_S)
        assert not waiting.is_alive()
        assert len(failures) == 1


def test_nothing_of_the_table_is_handed_on() -> None:
    """No open file and no variable of the environment, such as a key, reaches the child."""
    os.environ["BOT_TEST_SECRET"] = "sesame"
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        code = (
            "import os; input(); fds = [int(n) for n in os.listdir('/proc/self/fd')]; "
            "print('{\"action\": \"%s\"}' % ('leak' if 'BOT_TEST_SECRET' in os.environ"
            " or len(fds) > 4 else 'none'), flush=True); input()"
        )
        with BotProcess(program(code)) as bot:
            assert bot.choose({}, LONG_S).action == "none"
    finally:
        os.environ.pop("BOT_TEST_SECRET")
        os.close(reader)
        os.close(writer)


def test_any_program_gives_way_to_the_table() -> None:
    with BotProcess(program(READY + WAIT)) as bot:
        bot.new(Seat.SOUTH, {}, LONG_S)
        pid = bot.child.pid
        assert os.getpriority(os.PRIO_PROCESS, pid) >= 10
        assert resource.prlimit(pid, resource.RLIMIT_DATA)[0] == 512 << 20
        assert resource.prlimit(pid, resource.RLIMIT_NPROC)[0] == MAX_TASKS
        assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) >= 800
