"""The coach: the strongest opponent's search from a learner's own view, in a process of its own for
each question.

It is told what `MachineTurn` tells, as a machine at that seat would be, and what it answers goes to
the seat alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from companion.bots import knows
from companion.bots.base import LEVELS, Verdict, said_by_bot
from companion.bots.bot_process import BotFailure, BotProcess, bot_command, seed_of
from companion.bots.machine_players import START_S, THINK_S
from companion.core.errors import CompanionError, Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.spelling import SpelledOrder
from companion.table.seats.machine_seats import MachineTurn
from companion.table.state import About
from companion.table.table import Table

log = logging.getLogger(__name__)

TRIES = 2
"""Attempts to get an answer from a process, for one question."""
_GOOD = 0.02
_FAIR = 0.08
"""Up to so much of a game, by its own judgement, an action is as good as the best, or nearly so."""


Spell = Callable[[Seat, str, str], tuple[SpelledOrder, ...]]
"""An action of a seat for a moment in words.

Raises `Malformed` or `Illegal` for one that is not legal there.
"""


@dataclass(frozen=True)
class Hint:
    """What the coach says to a seat: an action in notation and in words, and why in sentences.

    `judgement` is what it thinks of what was done, as a sentence. Empty: nothing was done yet.
    `is_best`: nothing would have been better, so that the action is the one that was done or as
    good as that. `is_theirs`: it is the machine's own action and its own reasons, and `judgement`
    says whose and when.
    """

    action: str
    orders: tuple[SpelledOrder, ...]
    why: tuple[str, ...]
    judgement: str = ""
    is_best: bool = False
    is_theirs: bool = False


class Coach:
    """Answers the seats of a table, one question at a time. Any thread may ask.

    `key` is the installation's secret from which the seeds come, so that the same question has the
    same answer.
    """

    def __init__(
        self,
        table: Table,
        key: bytes,
        open_process: Callable[[Sequence[str]], BotProcess] = BotProcess,
    ) -> None:
        self._table = table
        self._key = key
        self._open_process = open_process
        self._busy = threading.Lock()

    def ask(self, seat: Seat, moment: str, about: About) -> Hint:
        """Return what it would do now, what it thinks of the seat's last action, or why the machine
        opposite did its last.

        Raises `CompanionError`s in sentences.
        """
        if about == "theirs":
            reasons = self._table.coaching.reasons(seat, moment)
            return Hint(
                reasons.action, reasons.orders, reasons.why, reasons.heading, is_theirs=True
            )
        self._require_known(self._table.view().game)
        with self._alone():
            turn, done = self._table.coaching.ask(seat, moment, about)
            return self._answer(turn, done, self._table.coaching.spell_action)

    def review(self, turn: MachineTurn, done: str, spell: Spell) -> Hint:
        """Return what it thinks of an action of a game that is over, from the view that the seat
        had then."""
        self._require_known(turn.game)
        with self._alone():
            return self._answer(turn, done, spell)

    def _require_known(self, game: str | None) -> None:
        if game is None or not knows(game):
            raise Illegal(Refusal.NO_GAME, say("The coach does not know this game"))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise Illegal(
                Refusal.WRONG_PHASE,
                say("The coach is busy with another question: ask again in a moment"),
            )
        try:
            yield
        finally:
            self._busy.release()

    def _answer(self, turn: MachineTurn, done: str, spell: Spell) -> Hint:
        for _ in range(TRIES):
            try:
                verdict = self._verdict(turn, done)
                orders = spell(turn.seat, turn.moment, verdict.best.action)
            except (BotFailure, Malformed, Illegal) as error:
                log.warning("The coach gave no answer (%s)", error.kind)
                continue
            why = said_by_bot(verdict.best.why)
            if not done:
                return Hint(verdict.best.action, orders, why)
            is_nearly_best = verdict.loss is not None and verdict.loss <= _GOOD
            is_best = done == verdict.best.action or is_nearly_best
            return Hint(
                verdict.best.action,
                orders,
                why,
                _sentence(verdict, is_best),
                is_best,
            )
        raise CoachFailure(say("The coach does not respond. The game goes on without it."))

    def _verdict(self, turn: MachineTurn, done: str) -> Verdict:
        """Begin a process, tell it what the seat knows, and ask."""
        # the same question has the same seed, so that it gets the same answer
        seed = seed_of(self._key, f"coach {turn.game} {turn.number} {turn.seat}")
        process = self._open_process(bot_command(turn.game, LEVELS[-1], seed))
        try:
            process.new(turn.seat, turn.options, START_S)
            if events := [event for events in turn.events for event in events]:
                process.see(turn.view, events, START_S)
            if done:
                return process.judge(turn.view, done, THINK_S)
            return Verdict(process.choose(turn.view, THINK_S), None)
        finally:
            process.close()


class CoachFailure(CompanionError, RuntimeError):
    """The coach's process was killed, hung or answered nonsense, more than once."""

    kind = "coach"


def _sentence(verdict: Verdict, is_best: bool) -> str:
    """Return the judgement of an action in a sentence."""
    if is_best:
        return say("That was as good as anything the coach can think of.")
    if verdict.loss is None:
        return say("The coach would have done something else.")
    if verdict.loss <= _FAIR:
        return say("That was fine; this would have been a little better.")
    return say("This would have been much better.")
