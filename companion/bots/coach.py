"""The coach: the strongest bot, which gives advice from the learner's own view.

A question about an action is answered by a separate process (`bot_process`). This process gets a
`MachineTurn`, the same data as a machine player at that seat, and its answer goes to that seat
only. Pages ask about the present turn or the last action, and replays ask about a turn of a
finished game. Pages also ask for the reasons of a machine player, which need no process, because
the table has stored them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from companion.bots import has_bot
from companion.bots.base import LEVELS, Verdict
from companion.bots.bot_process import BotFailure, BotProcess, bot_command, derive_seed
from companion.bots.machine_players import DECISION_TIMEOUT_S, START_TIMEOUT_S
from companion.core.errors import CompanionError, Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.action_words import SpelledOrder
from companion.table.seats.machine_seats import MachineTurn
from companion.table.state import CoachSubject
from companion.table.table import Table

log = logging.getLogger(__name__)

# Maximum number of attempts for one question. A player waits for the answer, so there is only one
# more if a process fails.
MAX_ATTEMPTS = 2

# Maximum loss, as a share of a game, of an action that counts as good as the best. Chosen by eye: a
# smaller difference is within the error of the bots' evaluations.
_MAX_GOOD_LOSS = 0.02

# Maximum loss, as a share of a game, of an action that is called fine. Chosen by eye.
_MAX_FAIR_LOSS = 0.08

# Returns an action as the orders that a player enters, in words. Its arguments are the seat, the
# moment (the decision's number, such as `3.2`) and the action in notation. Raises `Malformed` or
# `Illegal` if the action is not legal at that moment.
Speller = Callable[[Seat, str, str], tuple[SpelledOrder, ...]]


class CoachFailure(CompanionError, RuntimeError):
    """The coach's process failed at each of the `MAX_ATTEMPTS` attempts."""

    kind = "coach"


@dataclass(frozen=True)
class Hint:
    """The coach's answer: the best action, or the reasons of a machine player for its own."""

    action: str
    """The best action in notation. With `is_theirs`, the action that the machine player chose."""
    orders: tuple[SpelledOrder, ...]
    """The same action in words."""
    why: tuple[str, ...]
    """Reasons for this action as sentences."""
    judgement: str = ""
    """Sentence on the action that the learner took. Empty if the question was not about one. With
    `is_theirs`, a heading: whose reasons these are, and for which turn.
    """
    is_best: bool = False
    """Whether the action that the learner took is as good as the best one."""
    is_theirs: bool = False
    """Whether this is about the machine player at the other seat."""


class Coach:
    """Answers the seats of a table, one question at a time. Any thread may ask.

    A question is refused while another one is being answered, because each takes a whole core. The
    same question always gets the same answer.

    :param key: the installation's secret, from which the seeds are derived
    :param open_process: starts a bot process by its command. Tests replace it
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
        # held while a question is answered
        self._lock = threading.Lock()

    def ask(self, seat: Seat, moment: str, about: CoachSubject) -> Hint:
        """Return advice on an action of the seat, or a machine player's reasons for its last one.

        Raises a `CompanionError` with a sentence for the player.

        :param moment: the decision that the page shows, by its number, such as `3.2`
        :param about: the action that is due (`now`), the seat's last one (`last`), or the machine
            player's last one (`theirs`)
        """
        if about == "theirs":
            reasons = self._table.coaching.reasons(seat, moment)
            return Hint(
                reasons.action,
                reasons.orders,
                reasons.why,
                judgement=reasons.heading,
                is_theirs=True,
            )
        self._require_known(self._table.view().game)
        with self._one_at_a_time():
            question = self._table.coaching.ask(seat, moment, about)
            return self._answer(question.turn, question.action, self._table.coaching.spell)

    def review(self, turn: MachineTurn, action: str, spell: Speller) -> Hint:
        """Return a judgement of an action in a finished game, from the seat's view then.

        Raises a `CompanionError` with a sentence for the player.
        """
        self._require_known(turn.game)
        with self._one_at_a_time():
            return self._answer(turn, action, spell)

    def _require_known(self, game: str | None) -> None:
        """Raise `Illegal` for a game without a bot."""
        if game is None or not has_bot(game):
            raise Illegal(Refusal.NO_GAME, say("The coach does not know this game"))

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Hold the lock. Raises `Illegal` if another question is being answered."""
        if not self._lock.acquire(blocking=False):
            raise Illegal(
                Refusal.WRONG_PHASE,
                say("The coach is busy with another question: ask again in a moment"),
            )
        try:
            yield
        finally:
            self._lock.release()

    def _answer(self, turn: MachineTurn, action: str, spell: Speller) -> Hint:
        """Return the coach's hint for a turn. Raises `CoachFailure`.

        :param action: the action to judge, in notation. Empty if the seat has yet to act
        """
        for _ in range(MAX_ATTEMPTS):
            try:
                verdict = self._ask_bot(turn, action)
                best = verdict.best
                orders = spell(turn.seat, turn.moment, best.action)
            except (BotFailure, Malformed, Illegal) as error:
                log.warning("The coach gave no answer (%s)", error.kind)
                continue
            if not action:
                return Hint(best.action, orders, best.why)
            is_nearly_best = verdict.loss is not None and verdict.loss <= _MAX_GOOD_LOSS
            is_best = action == best.action or is_nearly_best
            judgement = _judgement_sentence(verdict.loss, is_best)
            return Hint(best.action, orders, best.why, judgement, is_best)
        raise CoachFailure(say("The coach does not respond. The game goes on without it."))

    def _ask_bot(self, turn: MachineTurn, action: str) -> Verdict:
        """Ask a new bot process for a verdict on an action. Raises `BotFailure`.

        If the action is empty, ask only for the bot's own choice. The process is sent only what the
        seat knows.
        """
        # the same question gets the same seed, and so the same answer
        seed = derive_seed(self._key, f"coach {turn.game} {turn.number} {turn.seat}")
        process = self._open_process(bot_command(turn.game, LEVELS[-1], seed))
        try:
            process.new(turn.seat, turn.options, START_TIMEOUT_S)
            if events := [event for turn_events in turn.events for event in turn_events]:
                process.see(turn.view, events, START_TIMEOUT_S)
            if action:
                return process.judge(turn.view, action, DECISION_TIMEOUT_S)
            return Verdict(process.choose(turn.view, DECISION_TIMEOUT_S), None)
        finally:
            process.close()


def _judgement_sentence(loss: float | None, is_best: bool) -> str:
    """Return the judgement of an action as a sentence.

    :param loss: see `Verdict.loss`
    :param is_best: whether the action is as good as the best
    """
    if is_best:
        return say("That was as good as anything the coach can think of.")
    if loss is None:
        return say("The coach would have done something else.")
    if loss <= _MAX_FAIR_LOSS:
        return say("That was fine. This would have been a little better.")
    return say("This would have been much better.")
