"""What the tests of the opponents share: positions reached at random, and games of two bots."""

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
from companion.core.i18n import plain_words
from companion.core.kit import SEATS, Seat
from companion.games import GAMES, game_named
from companion.games.engine import Engine


def ask(engine: Engine | BotEngine, request: object) -> dict[str, Any]:
    answer = json.loads(engine.answer(json.dumps(request).encode()))
    assert isinstance(answer, dict)
    return answer


def bot_of(name: str, seat: Seat, level: int, seed: int = 1, **options: Any) -> Bot:
    return bot_for(name, seat, options, level, seed)


def random_states(name: str, count: int, most: int, **options: Any) -> Iterator[Any]:
    """So many states of games that go on, each after up to `most` random decisions of a game of its
    own.
    """
    game = game_named(name)
    number = found = 0
    while found < count:
        rng = Random(f"{name}/{number}")
        number += 1
        state = game.setup(game.options(options), rng)
        for _ in range(rng.randrange(most)):
            if not (due := game.to_act(state)):
                break
            actions = {seat: game.random_action(state, seat, rng) for seat in sorted(due)}
            state = game.apply(state, actions, rng).state
        if game.to_act(state):
            found += 1
            yield state


def consecutive_states(
    name: str, count: int, seed: int, options: Mapping[str, Any]
) -> Iterator[Any]:
    """The first so many states of random games that follow each other, from the set-up on."""
    game, rng = game_named(name), Random(seed)

    def without_end() -> Iterator[Any]:
        while True:
            state = game.setup(game.options(options), rng)
            while due := sorted(game.to_act(state)):
                yield state
                state = game.apply(
                    state, {seat: game.random_action(state, seat, rng) for seat in due}, rng
                ).state

    return islice(without_end(), count)


def is_legal(name: str, state: Any, seat: Seat, text: str) -> bool:
    """Raises what the rules say against it."""
    game = game_named(name)
    game.check(state, seat, game.parse(text))
    return True


def play_bots(
    name: str, levels: tuple[int, int], seed: int, most: int, **options: Any
) -> list[tuple[str, ...]]:
    """The actions of a game of two bots, as far as so many decisions; South's first."""
    game, rng = game_named(name), Random(seed)
    state = game.setup(game.options(options), rng)
    bots = {
        seat: bot_of(name, seat, level, seed, **options)
        for seat, level in zip(SEATS, levels, strict=True)
    }
    told = []
    for _ in range(most):
        if not (due := game.to_act(state)):
            break
        texts = {
            seat: bots[seat].choose(game.view(state, seat)).action for seat in SEATS if seat in due
        }
        actions = {seat: game.parse(text) for seat, text in texts.items()}
        game.require(state, actions)
        step = game.apply(state, actions, rng)
        events = [msgspec.to_builtins(event, enc_hook=plain_words) for event in step.events]
        state = step.state
        for seat, bot in bots.items():
            bot.see(game.view(state, seat), events)
        told.append(tuple(texts.values()))
    return told


class QuickCoach:
    """The lowest level in this process, for machine and coach: it answers at once, however busy the
    machine is.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._game = next(word for word in command if word in GAMES)

    def new(self, seat: Seat, options: Mapping[str, Any], timeout_s: float) -> None:
        self._bot = bot_for(self._game, seat, options, 1, 1)

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
class ScriptedPrograms:
    """Processes that answer by a script: an action, or an error to be raised; what they are told is
    kept.
    """

    answers: Callable[[Mapping[str, Any]], str] = lambda _: "UUS"
    why: tuple[str, ...] = ()
    loss: float | None = None
    failures: list[str] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=list)
    told: list[tuple[str, Any]] = field(default_factory=list)
    open: int = 0

    def __call__(self, command: Sequence[str]) -> ScriptedProcess:
        self.commands.append(list(command))
        self.open += 1
        return ScriptedProcess(self)


class ScriptedProcess:
    """One such process."""

    def __init__(self, programs: ScriptedPrograms) -> None:
        self._programs = programs
        self._closed = False

    def new(self, seat: Seat, options: Mapping[str, Any], timeout_s: float) -> None:
        assert timeout_s > 0
        self._programs.told.append(("new", (str(seat), dict(options))))

    def see(
        self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]], timeout_s: float
    ) -> None:
        assert timeout_s > 0
        self._programs.told.append(("see", (dict(view), list(events))))

    def choose(self, view: Mapping[str, Any], timeout_s: float) -> Choice:
        assert 0 < timeout_s <= DECISION_TIMEOUT_S
        if self._programs.failures:
            raise BotFailure(self._programs.failures.pop(0))
        self._programs.told.append(("choose", dict(view)))
        return Choice(self._programs.answers(view), 1, self._programs.why)

    def judge(self, view: Mapping[str, Any], action: str, timeout_s: float) -> Verdict:
        best = self.choose(view, timeout_s)
        self._programs.told.append(("judge", action))
        return Verdict(best, self._programs.loss)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._programs.open -= 1
