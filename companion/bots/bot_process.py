"""A bot in a separate process, which gets only one seat's views over two pipes.

`machine_players` and `coach` use it. The program behind the pipes is `bot_engine`, or an engine of
the settings, a program from outside that speaks the same protocol.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import IO, Any, NoReturn

import msgspec

from companion.bots.base import Choice, Verdict, without_empty
from companion.bots.bot_engine import MAX_LINE_BYTES, limit_process
from companion.core.errors import CompanionError
from companion.core.i18n import Verbatim, sentence_from_json, translate_for_json
from companion.core.kit import Seat
from companion.core.names import is_printable
from companion.core.ports import Closeable

# Maximum private memory of any bot's process. Built-in ones set a lower limit for themselves.
MAX_MEMORY_BYTES = 512 << 20

# Maximum length of an action, far longer than any game has.
_MAX_ACTION_CHARS = 10_000

# Maximum number of reasons that are shown. Built-in bots give up to six.
_MAX_REASONS = 12

# Maximum length of a reason, so that it does not fill a phone.
_MAX_REASON_CHARS = 400

# Number of bytes read at once: the usual capacity of a pipe on Linux (pipe(7)).
_CHUNK_BYTES = 65_536

# Folder of the packages. The child runs in this folder, so that it finds the package `companion`
# whether that is installed or not.
_ROOT = Path(__file__).parents[2]
_encode = msgspec.json.Encoder(enc_hook=translate_for_json).encode


class BotFailure(CompanionError, RuntimeError):
    """The bot did not start, ended, answered late, refused a request, or sent an invalid answer.

    The message says which of these, but never the bot's action.
    """

    kind = "bot"


class _Reply(msgspec.Struct):
    """Any reply of a bot. Each kind of request is answered by some of the fields."""

    ready: bool = False
    """True in an answer to `new`."""
    ok: bool = False
    """True in an answer to `see`."""
    action: str = ""
    """Best action in notation, in an answer to `choose` or `judge`."""
    nodes: int = 0
    """Number of positions that were searched for this action."""
    why: list[Any] = []
    """Reasons for this action, as sentences or as objects that `parse_sentence` reads."""
    loss: float | None = None
    """How much worse the action to `judge` is, as a share of a game. None if it is not known."""


_decode = msgspec.json.Decoder(_Reply).decode


def derive_seed(key: bytes, purpose: str) -> int:
    """Return a seed that depends only on `purpose` and the secret `key`."""
    return int.from_bytes(hmac.digest(key, purpose.encode(), hashlib.sha256)[:6])


_BUILT_IN_PROGRAM = [sys.executable, "-m", "companion.bots.bot_engine"]


def bot_command(game: str, level: int, seed: int) -> list[str]:
    """Return the command that starts a built-in bot."""
    return [*_BUILT_IN_PROGRAM, game, "--level", str(level), "--seed", str(seed)]


class BotProcess(Closeable):
    """One bot and its process, the child. A context manager.

    Every failure kills the child and raises `BotFailure`. After a failure, and after `close`, every
    call fails. Calls from several threads wait for each other. `close` may be called from another
    thread, and ends a call that is waiting for its reply.

    The methods `new`, `see`, `choose` and `judge` send the request of that name (see `bot_engine`).
    Their `timeout_s` is the timeout of the reply.

    :param command: a program that speaks the protocol of `bot_engine`, with its arguments
    """

    def __init__(self, command: Sequence[str]) -> None:
        # held while a request waits for its reply
        self._call_lock = Lock()
        # held while the child is killed, which does not wait for a request
        self._kill_lock = Lock()
        # a minimal environment: the search paths, and what makes every run of a child the same
        environment = {
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        for name in {"PATH", "VIRTUAL_ENV"} & os.environ.keys():
            environment[name] = os.environ[name]
        try:
            self.child = subprocess.Popen(
                list(command),
                # pipes and not a socket, because a program cannot open a socket as /dev/stdin
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=_ROOT,
                env=environment,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "not a command"
            raise BotFailure(f"The opponent’s program cannot be started: {reason}") from None
        limit_process(self.child.pid, MAX_MEMORY_BYTES)
        self._is_open = True
        # settings may also name the built-in program as an engine
        self._is_built_in = list(command[:3]) == _BUILT_IN_PROGRAM
        if self.child.stdin is None or self.child.stdout is None:
            raise AssertionError("the child was started with pipes")
        self._pipes = (self.child.stdin, self.child.stdout)

    def new(self, seat: Seat, options: Mapping[str, Any], timeout_s: float) -> None:
        """Begin a game in a seat."""
        reply = self._ask({"new": {"seat": seat, "options": dict(options)}}, timeout_s)
        if not reply.ready:
            self._fail("is not ready")

    def see(
        self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]], timeout_s: float
    ) -> None:
        """Send a finished turn: the seat's view after it, and its events."""
        reply = self._ask({"see": {"view": view, "events": list(events)}}, timeout_s)
        if not reply.ok:
            self._fail("did not take what it was shown")

    def choose(self, view: Mapping[str, Any], timeout_s: float) -> Choice:
        """Return the action for this view. The caller has to check that it is legal."""
        return self._check_choice(self._ask({"choose": {"view": view}}, timeout_s))

    def judge(self, view: Mapping[str, Any], action: str, timeout_s: float) -> Verdict:
        """Return how good an action is for this view, and what the bot would choose."""
        reply = self._ask({"judge": {"view": view, "action": action}}, timeout_s)
        if reply.loss is not None and not 0 <= reply.loss <= 1:
            self._fail("answered nonsense")
        return Verdict(self._check_choice(reply), reply.loss)

    def _check_choice(self, reply: _Reply) -> Choice:
        """Return the choice of a reply. Raises `BotFailure` for an empty or too long action."""
        if not 0 < len(reply.action) <= _MAX_ACTION_CHARS:
            self._fail("answered nonsense")
        # reasons of a program from outside are shown untranslated, in one line each
        parse_reason = parse_sentence if self._is_built_in else _clean_reason
        reasons = map(parse_reason, reply.why[:_MAX_REASONS])
        return Choice(reply.action, max(0, reply.nodes), without_empty(*reasons))

    def close(self) -> None:
        """Kill the child. May be called twice, and while another thread waits for a reply."""
        self._kill()
        with self._call_lock:
            for pipe in self._pipes:
                pipe.close()

    def _kill(self) -> None:
        """Kill the child and its session."""
        with self._kill_lock:
            self._is_open = False
            if self.child.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()

    def _fail(self, predicate: str) -> NoReturn:
        """Kill the child and raise `BotFailure`. The predicate says what the bot did."""
        self._kill()
        raise BotFailure(f"The opponent {predicate}")

    def _ask(self, request: Mapping[str, Any], timeout_s: float) -> _Reply:
        """Send a request and return the reply. Raises `BotFailure`."""
        line = _encode(request) + b"\n"
        if len(line) > MAX_LINE_BYTES:
            self._kill()
            raise BotFailure("The table’s request is too long for the opponent")
        with self._call_lock:
            if not self._is_open:
                raise BotFailure("The opponent has ended")
            try:
                answer = self._exchange(line, time.monotonic() + timeout_s)
            except TimeoutError:
                self._fail(f"did not answer within {timeout_s:g} s")
            except OSError:
                self._fail("has ended")
        if not answer.endswith(b"\n"):
            is_too_long = len(answer) > MAX_LINE_BYTES
            self._fail("answered a line that is too long" if is_too_long else "has ended")
        # an answer that begins with `{"error": …`, with white space or without
        if b'"error"' in answer[:12]:
            self._fail("refused a request")
        try:
            return _decode(answer)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._fail("answered nonsense")

    def _exchange(self, line: bytes, deadline_s: float) -> bytes:
        """Send a line to the child and return its answer.

        The answer ends with a newline, unless the child has ended or the line is too long. Raises
        `TimeoutError` at the deadline, which is on the monotonic clock. Before every read and
        write, the pipe has to be ready, or the deadline ends the wait. A plain read could wait for
        good, even after the child has ended, because a process that the child started may keep the
        pipe open.
        """
        to_child, from_child = self._pipes
        remaining = memoryview(line)
        while remaining:
            _wait_for(to_child, select.POLLOUT, deadline_s)
            # a pipe that is ready takes PIPE_BUF bytes without blocking
            written = to_child.write(remaining[: select.PIPE_BUF])
            remaining = remaining[written:]
        answer = b""
        while not answer.endswith(b"\n") and len(answer) <= MAX_LINE_BYTES:
            _wait_for(from_child, select.POLLIN, deadline_s)
            chunk = from_child.read(_CHUNK_BYTES)
            if not chunk:
                break
            answer += chunk
        return answer


def _wait_for(pipe: IO[bytes], event: int, deadline_s: float) -> None:
    """Wait until a pipe is ready. Raises `TimeoutError` at the deadline on the monotonic clock."""
    poll = select.poll()
    poll.register(pipe, event)
    remaining_s = deadline_s - time.monotonic()
    if remaining_s <= 0 or not poll.poll(remaining_s * 1000):
        raise TimeoutError


def parse_sentence(reason: Any) -> Any:
    """Return a reason of a built-in bot, or a part of one, as a translatable sentence.

    `bot_engine` sends it as a number, a plain sentence, or a pattern with its parts.
    """
    if isinstance(reason, int):
        return reason
    pattern, parts = (reason, {}) if isinstance(reason, str) else (reason["say"], reason["with"])
    sentences = {name: parse_sentence(part) for name, part in parts.items()}
    return sentence_from_json({"say": pattern, "many": "", "parts": sentences})


def _clean_reason(text: Any) -> str:
    """Return a program's text in one line, without unprintable or direction characters."""
    letters = str(text)[:_MAX_REASON_CHARS]
    printable = "".join(letter for letter in letters if letter.isspace() or is_printable(letter))
    return Verbatim(" ".join(printable.split()))
