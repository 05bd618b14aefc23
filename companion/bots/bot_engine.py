"""A bot as JSON lines on standard input and output: the program of our own bot processes.

It reads one request a line and writes one reply a line:

- `new` begins a game with a seat and options.
- `see` shows the view after a turn, and the events of that turn.
- `choose` asks for an action in a view in which the seat has to act.
- `judge` asks how good an action is in such a view.

docs/interfaces.md describes the messages. A request that is wrong gets an `error` and changes
nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec

from companion.bots import bot_for, has_bot
from companion.bots.base import LEVELS, Bot, Choice
from companion.core.errors import CompanionError, Illegal, Malformed, Refusal
from companion.core.i18n import Sentence
from companion.core.kit import Seat
from companion.games import game_named
from companion.games.engine import serve_lines

# Maximum size of a request or a reply in bytes. A longer one is a fault of the program that sent
# it, and is not decoded.
MAX_LINE_BYTES = 1_000_000

# Maximum private memory of a built-in bot in bytes: about three times what one needs at most.
MAX_OWN_MEMORY_BYTES = 192 << 20

# Priority of the process (nice(2)), lower than that of the table's own threads.
NICENESS = 10

# Once the user has this many processes and threads, a bot can start no further one. The number is
# lower than the limit of the whole service (`TasksMax`), so that the table can always start some.
MAX_TASKS = 1000

# Added to the kernel's score of the process, from -1,000 to 1,000 (proc(5), `oom_score_adj`). When
# memory runs out, the kernel kills the process with the highest score first.
_OOM_SCORE = 800


class _NewGame(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `new`."""

    seat: Seat
    options: dict[str, Any] = {}


class _SeatView(msgspec.Struct, forbid_unknown_fields=True):
    """The body of `see`, `choose` and `judge`: a view, and what belongs to it."""

    view: dict[str, Any]
    events: list[dict[str, Any]] = []
    """Events of the turn before the view. Only in `see`."""
    action: str = ""
    """The action to judge, in notation. Only in `judge`."""


_Verb = Literal["new", "see", "choose", "judge"]
_parse_request = msgspec.json.Decoder(dict[_Verb, msgspec.Raw]).decode
_parse_new_game = msgspec.json.Decoder(_NewGame).decode
_parse_seat_view = msgspec.json.Decoder(_SeatView).decode
_encode = msgspec.json.Encoder().encode


class BotEngine:
    """The bot of one seat of a game, which answers requests. `answer` never raises.

    >>> BotEngine("outbuffered", level=1, seed=7).answer(b'{"new": {"seat": "south"}}')
    b'{"ready":true}'
    """

    def __init__(self, game: str, level: int, seed: int) -> None:
        self._game = game
        self._level = level
        self._seed = seed
        self._bot: Bot | None = None

    def answer(self, line: bytes) -> bytes:
        """Return the reply to one request, both without the end of line."""
        try:
            return _encode(self._reply(line))
        except CompanionError as error:
            fault = {"kind": error.kind, "message": str(error.message)}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            fault = {"kind": Malformed.kind, "message": f"Not a request: {error}"}
        except Exception as error:  # keep running: the table gets an error and acts at random
            message = f"The opponent cannot play this view ({type(error).__name__})"
            fault = {"kind": "error", "message": message}
        return _encode({"error": fault})

    def _reply(self, line: bytes) -> dict[str, Any]:
        """Return the reply to one request. Raises the errors of the request and of the bot."""
        if len(line) > MAX_LINE_BYTES:
            raise Malformed(f"A request has at most {MAX_LINE_BYTES} bytes")
        request = _parse_request(line)
        if len(request) != 1:
            raise Malformed("A request has exactly one of new, see, choose, judge")
        ((verb, body),) = request.items()
        if verb == "new":
            new_game = _parse_new_game(body)
            self._bot = bot_for(
                self._game, new_game.seat, new_game.options, self._level, self._seed
            )
            return {"ready": True}
        seat_view = _parse_seat_view(body)
        if self._bot is None:
            raise Illegal(Refusal.NO_GAME, "There is no game yet: send new first")
        if verb == "see":
            self._bot.see(seat_view.view, seat_view.events)
            return {"ok": True}
        _require_to_act(self._bot, seat_view.view)
        if verb == "choose":
            return _choice_to_json(self._bot.choose(seat_view.view))
        # refuse an action that is not in the game's notation
        game_named(self._game).parse(seat_view.action)
        verdict = self._bot.judge(seat_view.view, seat_view.action)
        return {**_choice_to_json(verdict.best), "loss": verdict.loss}


def _require_to_act(bot: Bot, view: dict[str, Any]) -> None:
    """Raise `Malformed` or `Illegal` unless the bot's seat has to act in this view."""
    seats = view.get("to_act")
    if not isinstance(seats, list):
        raise Malformed("This is no view: its to_act says who has to act")
    if bot.seat not in seats:
        raise Illegal(
            Refusal.NOT_TO_ACT, f"{bot.seat.capitalize()} has nothing to decide in this view"
        )


def _choice_to_json(choice: Choice) -> dict[str, Any]:
    why = [_sentence_to_json(reason) for reason in choice.why]
    return {"action": choice.action, "nodes": choice.nodes, "why": why}


def _sentence_to_json(sentence: object) -> object:
    """Return a sentence, or a part of one, as a value that JSON can hold.

    A sentence with parts becomes its pattern and the parts, so that the table can translate it with
    `bot_process.parse_sentence`.
    """
    if isinstance(sentence, Sentence) and sentence.parts:
        parts = {name: _sentence_to_json(part) for name, part in sentence.parts.items()}
        return {"say": sentence.pattern, "with": parts}
    return sentence if isinstance(sentence, int) else str(sentence)


def limit_process(pid: int, memory_bytes: int) -> None:
    """Lower a process's priority, limit its memory and tasks, and disable core dumps.

    Settings that the system refuses are left as they are.

    :param pid: a process of this user. Its later children and threads inherit the limits
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, max(NICENESS, os.getpriority(os.PRIO_PROCESS, pid)))
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(_OOM_SCORE))
    # The kernel groups processes by session, and niceness counts only within a group. So the leader
    # of a session also lowers its group. Others do not, because their group may be somebody's
    # terminal.
    with contextlib.suppress(OSError):
        if os.getsid(pid) == pid:
            Path(f"/proc/{pid}/autogroup").write_text(str(NICENESS))
    for resource_number, maximum in (
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_NPROC, MAX_TASKS),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, resource_number, (maximum, maximum))


def run_bot(game: str, level: int, seed: int) -> int:
    """Play a seat over standard input and output until the input ends. Return the exit status.

    Raises `Malformed` for a game without a bot.
    """
    if not has_bot(game):
        raise Malformed(f"There is no opponent for {game}")
    limit_process(os.getpid(), MAX_OWN_MEMORY_BYTES)
    serve_lines(BotEngine(game, level, seed).answer, sys.stdin.buffer, sys.stdout.buffer)
    return 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command: the game, the level and the seed."""
    parser.add_argument("game")
    parser.add_argument(
        "--level", type=int, choices=LEVELS, default=LEVELS[-1], help="from 1, a beginner, to 3"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="the opponent’s own; the same plays the same",
    )


def main() -> int:
    """Run `python -m companion.bots.bot_engine GAME --level N --seed N`. Return the exit status."""
    parser = argparse.ArgumentParser(prog="bot_engine", description=__doc__)
    add_options(parser)
    options = parser.parse_args()
    try:
        return run_bot(options.game, options.level, options.seed)
    except CompanionError as error:
        print(f"bot_engine: {error.message}", file=sys.stderr)
        return 1
    except (BrokenPipeError, KeyboardInterrupt):
        return 1


if __name__ == "__main__":
    sys.exit(main())
