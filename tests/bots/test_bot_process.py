"""Tests of a process behind a seat, with small programs that answer well, answer wrongly, or fail.

Whatever a program does, the table gets an answer, or a failure that says why.
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

# A timeout that only a process that hangs can miss.
LONG_TIMEOUT_S = 30.0
# Python code that answers `new`, and code that waits until it is killed.
READY = "input(); print('{\"ready\": true}', flush=True); "
HANG = "import signal; signal.pause()"


def program(code: str) -> list[str]:
    """Return the command that runs Python code."""
    return [sys.executable, "-c", code]


def first_view() -> dict[str, object]:
    """Return what South sees at the start of a game of Outbuffered."""
    game = game_named("outbuffered")
    return dict(game.view(game.setup(game.options({}), Random(0)), Seat.SOUTH))


def begin_and_choose(bot: BotProcess, timeout_s: float) -> None:
    """Begin a game, and ask for an action. The view is empty, because no program here reads it."""
    bot.new(Seat.SOUTH, {}, timeout_s)
    bot.choose({}, timeout_s)


def failure_of(command: Sequence[str], timeout_s: float = LONG_TIMEOUT_S) -> str:
    """Ask a program for an action, and return the message of its failure.

    Afterwards its process must be gone, and another request must fail at once.
    """
    with BotProcess(command) as bot:
        pid = bot.child.pid
        with pytest.raises(BotFailure) as caught:
            begin_and_choose(bot, timeout_s)
        assert not os.path.exists(f"/proc/{pid}"), "the process is still there"
        with pytest.raises(BotFailure, match="has ended"):
            bot.choose({}, timeout_s)
    return caught.value.message


def test_our_own_program_plays_in_its_process() -> None:
    with BotProcess(bot_command("outbuffered", 1, 5)) as bot:
        bot.new(Seat.SOUTH, {}, LONG_TIMEOUT_S)
        choice = bot.choose(first_view(), LONG_TIMEOUT_S)
        game_named("outbuffered").parse(choice.action)
        assert bot.judge(first_view(), "DDD", LONG_TIMEOUT_S).best.action
        bot.see(first_view(), [{"kind": "idle"}], LONG_TIMEOUT_S)
    bot.close()  # for the second time


def choice_from(answer: object) -> Choice:
    """Return the choice that is read from a program's answer, which is sent as JSON."""
    line = json.dumps(answer)
    with BotProcess(program(f"{READY} input(); print({line!r}, flush=True); input()")) as bot:
        bot.new(Seat.NORTH, {"turn_limit": 3}, LONG_TIMEOUT_S)
        return bot.choose({}, LONG_TIMEOUT_S)


def test_any_program_may_speak_the_protocol() -> None:
    """Fields that the protocol does not have are ignored."""
    answer = {"action": "UUS", "nodes": 3, "why": ["a", "b"], "more": 1}
    assert choice_from(answer) == Choice("UUS", 3, ("a", "b"))


def test_a_program_may_open_its_streams_by_name() -> None:
    """A shell script may read /dev/stdin and write /dev/stdout, because they are pipes."""
    ask = "head -n1 /dev/stdin > /dev/null"
    answers = ('{"ready": true}', '{"action": "UUS"}')
    script = "; ".join(f"{ask}; echo '{answer}' > /dev/stdout" for answer in answers)
    with BotProcess(["sh", "-c", script]) as bot:
        bot.new(Seat.SOUTH, {}, LONG_TIMEOUT_S)
        assert bot.choose({}, LONG_TIMEOUT_S).action == "UUS"


def test_reasons_are_made_fit_to_be_shown() -> None:
    """Control characters are removed, and characters that change the direction of writing.

    Reasons that are then empty are removed, too, and long ones are cut. An emoji that is made of
    several characters stays.
    """
    why = ["\u202eup\n\tand\0 up", "\u200f \a", "ÿ👩\u200d🚀", "x" * 500]
    assert choice_from({"action": "UUS", "why": why}).why == ("up and up", "ÿ👩\u200d🚀", "x" * 400)


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
        # two answers to one request
        ('{"action": "UUS"}\n{"action": "UUR"}', "answered nonsense"),
        # JSON that is nested too deeply for a decoder
        ("[" * 5000, "answered nonsense"),
        ('{"error": {"message": "secret UUS"}}', "refused a request"),
    ],
    ids=range(5),
)
def test_a_wrong_answer_is_a_failure(answer: str, message: str) -> None:
    code = f"{READY} input(); print({answer!r}, flush=True); {HANG}"
    assert failure_of(program(code)) == f"The opponent {message}"


# Code that starts a child in a session of its own and then ends, so that the child outlives it.
LEAVE_A_CHILD = (
    "import subprocess; subprocess.Popen(['sleep', '2'], start_new_session=True); "
    "raise SystemExit(3)"
)


@pytest.mark.parametrize(
    ("code", "timeout_s", "message"),
    [
        # it hangs after the first request, or before any
        (READY + HANG, 0.4, "did not answer within 0.4 s"),
        (HANG, 0.2, "did not answer within 0.2 s"),
        # it is killed, ends by itself, or closes its pipes
        (f"{READY} input(); os.kill(os.getpid(), 9)", LONG_TIMEOUT_S, "has ended"),
        ("raise SystemExit(3)", LONG_TIMEOUT_S, "has ended"),
        (f"os.close(1); os.close(0); {HANG}", LONG_TIMEOUT_S, "has ended"),
        # it takes all memory that it may have, and ends without harm to others
        (
            f"{READY} input(); held = [bytearray(64 << 20) for _ in range(64)]",
            LONG_TIMEOUT_S,
            "has ended",
        ),
        # it ends, but its own child keeps the pipe open. The table does not wait for the child
        (f"{READY} input(); {LEAVE_A_CHILD}", 0.6, "did not answer within 0.6 s"),
        # it writes one line without end
        (
            "while True: os.write(1, b'x' * 65536)",
            LONG_TIMEOUT_S,
            "answered a line that is too long",
        ),
    ],
    ids=range(8),
)
def test_a_failing_program_is_a_failure(code: str, timeout_s: float, message: str) -> None:
    assert failure_of(program(f"import os\n{code}"), timeout_s) == f"The opponent {message}"


def test_a_program_that_reads_nothing_is_a_failure() -> None:
    with BotProcess(program(HANG)) as bot, pytest.raises(BotFailure, match="did not answer within"):
        # more than a pipe holds, but less than a request may have
        bot.see({"x": "y" * 900_000}, [], 0.2)


def test_an_overlong_request_is_a_failure() -> None:
    with BotProcess(program(HANG)) as bot, pytest.raises(BotFailure, match="too long"):
        bot.see({"x": "y" * 1_000_000}, [], LONG_TIMEOUT_S)


@pytest.mark.parametrize(
    "command",
    [
        ["/nowhere/at/all"],
        [],
    ],
)
def test_a_command_that_cannot_start_is_a_failure(command: list[str]) -> None:
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
    """The program starts a child, then it hangs or ends. Both are killed with its whole session.

    The child writes its process id into a file. It writes another file first and renames that, so
    that nobody can read a half-written number.
    """
    child_pid_file = tmp_path / "child.pid"
    code = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if not os.fork():\n"
        f"    os.close(1); open({str(child_pid_file) + '.new'!r}, 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(child_pid_file) + '.new'!r}, {str(child_pid_file)!r}); {HANG}\n"
        f"while not os.path.exists({str(child_pid_file)!r}): time.sleep(0.01)\n{end}"
    )
    with BotProcess(program(code)) as bot:
        until("the child has started", child_pid_file.exists)
        with pytest.raises(BotFailure):
            bot.new(Seat.SOUTH, {}, 1.0)
    # wait until the child has ended, unless it is gone already
    try:
        grandchild = os.pidfd_open(int(child_pid_file.read_text()))
    except ProcessLookupError:
        return  # it has ended already
    try:
        assert select.select([grandchild], [], [], LONG_TIMEOUT_S)[0]
    finally:
        os.close(grandchild)


def test_closing_ends_a_waiting_request() -> None:
    """The program answers half a line and hangs. Another thread ends the wait for the rest."""
    with BotProcess(program(READY + "input(); print('x', end='', flush=True); " + HANG)) as bot:
        bot.new(Seat.SOUTH, {}, LONG_TIMEOUT_S)
        failures: list[BotFailure] = []

        def ask() -> None:
            try:
                bot.choose({}, LONG_TIMEOUT_S)
            except BotFailure as failure:
                failures.append(failure)

        waiting = threading.Thread(target=ask)
        waiting.start()
        bot.close()
        waiting.join(LONG_TIMEOUT_S)
        assert not waiting.is_alive()
        assert len(failures) == 1


def test_no_file_or_secret_is_inherited() -> None:
    """The process gets none of the table's open files, and no environment variable such as a key.

    It may have four open files: its three streams, and the folder in which it counts them.
    """
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
            assert bot.choose({}, LONG_TIMEOUT_S).action == "none"
    finally:
        os.environ.pop("BOT_TEST_SECRET")
        os.close(reader)
        os.close(writer)


def test_a_program_has_limits_and_low_priority() -> None:
    with BotProcess(program(READY + HANG)) as bot:
        bot.new(Seat.SOUTH, {}, LONG_TIMEOUT_S)
        pid = bot.child.pid
        assert os.getpriority(os.PRIO_PROCESS, pid) >= 10
        assert resource.prlimit(pid, resource.RLIMIT_DATA)[0] == 512 << 20
        assert resource.prlimit(pid, resource.RLIMIT_NPROC)[0] == MAX_TASKS
        assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) >= 800
