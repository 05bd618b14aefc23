"""Helpers: random states, games of two bots, and fakes of bots' processes.

In the program, a bot runs in a process of its own. An `InProcessBot` thinks in the test's process,
and a `ScriptedProcess` does not think at all but answers by a script.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Any

import msgspec

from companion.bots import bot_for
from companion.bots.base import Bot, Choice, Verdict
from companion.bots.bot_engine import BotEngine
from companion.bots.bot_process import BotFailure
from companion.bots.machine_players import DECISION_TIMEOUT_S
from companion.core.i18n import translate_for_json
from companion.core.kit import SEATS, Seat
from companion.games import GAMES, game_named
from companion.games.engine import Engine


def ask(engine: Engine | BotEngine, request: object) -> dict[str, Any]:
    """Return an engine's answer to a request, both as JSON values."""
    answer = json.loads(engine.answer(json.dumps(request).encode()))
    assert isinstance(answer, dict)
    return answer


def bot_of(name: str, seat: Seat, level: int, seed: int = 1, **options: Any) -> Bot:
    return bot_for(name, seat, options, level, seed)


def random_states(name: str, count: int, max_decisions: int, **options: Any) -> Iterator[Any]:
    """Yield `count` states that are not over.

    Each comes from a game of its own, after fewer than `max_decisions` random decisions.
    """
    game = game_named(name)
    game_index = yielded_count = 0
    while yielded_count < count:
        rng = Random(f"{name}/{game_index}")
        game_index += 1
        state = game.setup(game.options(options), rng)
        for _ in range(rng.randrange(max_decisions)):
            if not (due := game.to_act(state)):
                break
            actions = {seat: game.random_action(state, seat, rng) for seat in sorted(due)}
            state = game.apply(state, actions, rng).state
        if game.to_act(state):
            yielded_count += 1
            yield state


def consecutive_states(
    name: str, count: int, seed: int, options: Mapping[str, Any]
) -> Iterator[Any]:
    """Yield the first `count` states of random games, one game after the other.

    Unlike those of `random_states`, they follow each other, as a bot sees them in a game.
    """
    game = game_named(name)
    rng = Random(seed)

    def endless_states() -> Iterator[Any]:
        while True:
            state = game.setup(game.options(options), rng)
            while due := sorted(game.to_act(state)):
                yield state
                state = game.apply(
                    state, {seat: game.random_action(state, seat, rng) for seat in due}, rng
                ).state

    return islice(endless_states(), count)


def is_legal(name: str, state: Any, seat: Seat, text: str) -> bool:
    """Return True if an action is legal. Otherwise raise the refusal of the rules."""
    game = game_named(name)
    game.check(state, seat, game.parse(text))
    return True


def play_bots(
    name: str, levels: tuple[int, int], seed: int, max_decisions: int, **options: Any
) -> list[tuple[str, ...]]:
    """Let two bots play for at most so many decisions. Return the actions of each decision.

    `levels` are those of South's and of North's bot. If both seats act at once, South's action is
    the first. Each bot sees every step, as it would in the program.
    """
    game = game_named(name)
    rng = Random(seed)
    state = game.setup(game.options(options), rng)
    bots = {
        seat: bot_of(name, seat, level, seed, **options)
        for seat, level in zip(SEATS, levels, strict=True)
    }
    decisions = []
    for _ in range(max_decisions):
        if not (due := game.to_act(state)):
            break
        texts = {
            seat: bots[seat].choose(game.view(state, seat)).action for seat in SEATS if seat in due
        }
        actions = {seat: game.parse(text) for seat, text in texts.items()}
        game.require(state, actions)
        step = game.apply(state, actions, rng)
        events = [msgspec.to_builtins(event, enc_hook=translate_for_json) for event in step.events]
        state = step.state
        for seat, bot in bots.items():
            bot.see(game.view(state, seat), events)
        decisions.append(tuple(texts.values()))
    return decisions


class InProcessBot:
    """A bot of the lowest level in this process, in place of a `BotProcess`.

    It answers at once, however busy the computer is.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._game = next(word for word in command if word in GAMES)

    def new(self, seat: Seat, options: Mapping[str, Any], timeout_s: float) -> None:
        self._bot = bot_for(self._game, seat, options, level=1, seed=1)

    def see(
        self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]], timeout_s: float
    ) -> None:
        self._bot.see(view, events)

    def choose(self, view: Mapping[str, Any], timeout_s: float) -> Choice:
        return self._bot.choose(view)

    def judge(self, view: Mapping[str, Any], action: str, timeout_s: float) -> Verdict:
        return self._bot.judge(view, action)

    def close(self) -> None:
        pass


@dataclass
class ScriptedProcesses:
    """Opens fakes of bots' processes, which answer by a script and record their requests.

    Put it in place of the class `BotProcess`: a call of it opens a process.
    """

    answers: Callable[[Mapping[str, Any]], str] = lambda _: "UUS"
    """Returns the action for a view. By default it is `UUS` of Outbuffered: up, up, shoot."""
    why: tuple[str, ...] = ()
    """The reasons that come with each action."""
    loss: float | None = None
    """What a judged action loses against the best one."""
    failures: list[str] = field(default_factory=list)
    """Messages of the errors to raise in place of the first answers."""
    commands: list[list[str]] = field(default_factory=list)
    """The command of each opened process."""
    received: list[tuple[str, Any]] = field(default_factory=list)
    """Method and content of each request."""
    open_count: int = 0
    """Number of processes that are open."""

    def __call__(self, command: Sequence[str]) -> ScriptedProcess:
        self.commands.append(list(command))
        self.open_count += 1
        return ScriptedProcess(self)


class ScriptedProcess:
    """A fake of one bot's process, with the methods of `BotProcess`."""

    def __init__(self, processes: ScriptedProcesses) -> None:
        self._processes = processes
        self._closed = False

    def new(self, seat: Seat, options: Mapping[str, Any], timeout_s: float) -> None:
        assert timeout_s > 0
        self._processes.received.append(("new", (str(seat), dict(options))))

    def see(
        self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]], timeout_s: float
    ) -> None:
        assert timeout_s > 0
        self._processes.received.append(("see", (dict(view), list(events))))

    def choose(self, view: Mapping[str, Any], timeout_s: float) -> Choice:
        assert 0 < timeout_s <= DECISION_TIMEOUT_S
        if self._processes.failures:
            raise BotFailure(self._processes.failures.pop(0))
        self._processes.received.append(("choose", dict(view)))
        return Choice(self._processes.answers(view), 1, self._processes.why)

    def judge(self, view: Mapping[str, Any], action: str, timeout_s: float) -> Verdict:
        best = self.choose(view, timeout_s)
        self._processes.received.append(("judge", action))
        return Verdict(best, self._processes.loss)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._processes.open_count -= 1
