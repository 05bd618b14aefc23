"""Machine players, which play free seats: they ask a bot for each action and hand in like people.

Each seat has a thread. While a machine player has the seat in a game, it also has a bot process
(`bot_process`). That process gets only the data of a `MachineTurn`, which is what the seat may
know. For each decision, the thread does this:

1. It asks the process for an action. If the process fails, a new one is asked. If it fails too
   often, the action will be random, so that the game goes on.
2. It waits until some seconds have passed since it began, so that the machine player has the pace
   of a person.
3. It hands the action in, with the bot's reasons for it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from companion.bots import has_bot
from companion.bots.base import Choice
from companion.bots.bot_process import BotFailure, BotProcess, bot_command, derive_seed
from companion.bots.characters import CHARACTERS, Character, all_characters
from companion.core.clock import Clock
from companion.core.errors import CompanionError, JournalError, Stale
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.core.ports import Closeable
from companion.table.follower import TableFollower
from companion.table.seats.machine_seats import MachineTurn
from companion.table.table import Table

log = logging.getLogger(__name__)

# Range in seconds from which the minimum delay of each decision is drawn, so that a machine player
# has the pace of a person. Chosen by eye.
DELAY_RANGE_S = (1.0, 3.0)

# Timeout in seconds for one decision, with or without a clock. A process that takes longer is
# restarted. The timeout is many times what any bot takes (docs/measurements.md).
DECISION_TIMEOUT_S = 8.0

# Timeout in seconds for a process to start and to process past turns. It is longer than the timeout
# for a decision, because starting Python takes seconds on a busy machine.
START_TIMEOUT_S = 15.0

# Maximum number of attempts for one decision, each with a new process. Then the action is random.
MAX_ATTEMPTS = 3

# Timeout in seconds for all attempts at one decision together. Then the action is random, because a
# person should not have to wait longer.
ATTEMPTS_TIMEOUT_S = 15.0

# Time in seconds that the bot leaves on the seat's clock, so that its action is handed in in time.
_HAND_IN_RESERVE_S = 0.3

# Maximum interval in seconds between two steps.
STEP_INTERVAL_S = 0.5

# Pause in seconds after the journal could not be written.
_JOURNAL_PAUSE_S = 2.0


class _PlannedAction(NamedTuple):
    """An action that a machine player will hand in when its time has come."""

    moment: str
    """The decision by its number in the game, such as `3.2`."""
    choice: Choice | None
    """What the bot chose, or None for a random action."""
    hand_in_at_s: float
    """Earliest time to hand it in, on the monotonic clock."""


class _SharedSettings(NamedTuple):
    """What both machine players have in common. See the arguments of `MachinePlayers`."""

    characters: Mapping[str, Character]
    """All characters by name: the built-in ones and the engines."""
    key: bytes
    delay_range_s: tuple[float, float]
    open_process: Callable[[Sequence[str]], BotProcess]


class MachinePlayers(Closeable):
    """The machine players of both seats. A context manager. `close` may be called twice.

    After `start`, threads do the work. A caller that does not call `start`, such as a test, has to
    call `step`, which blocks while a process is thinking.

    :param key: a secret of this installation, from which the seeds of the bots are derived
    :param engines: the engines of the settings (`NAME=COMMAND`)
    :param delay_range_s: range in seconds from which the minimum delay of each decision is drawn
    :param open_process: starts a bot process by its command. Tests replace it
    """

    def __init__(
        self,
        table: Table,
        clock: Clock,
        key: bytes,
        engines: Iterable[str] = (),
        *,
        delay_range_s: tuple[float, float] = DELAY_RANGE_S,
        open_process: Callable[[Sequence[str]], BotProcess] = BotProcess,
    ) -> None:
        self.characters = all_characters(engines)
        characters_by_name = {character.name: character for character in self.characters}
        settings = _SharedSettings(characters_by_name, key, delay_range_s, open_process)
        self._players = {seat: _MachinePlayer(seat, table, clock, settings) for seat in SEATS}
        self._followers = [
            TableFollower(table, f"machine at {seat}", player.step, STEP_INTERVAL_S)
            for seat, player in self._players.items()
        ]

    def step(self) -> None:
        """Do the work that is due for both seats."""
        for player in self._players.values():
            player.step()

    def start(self) -> None:
        """Start the threads, which step after every change of the table."""
        for follower in self._followers:
            follower.start()

    def close(self) -> None:
        """Stop all threads and processes."""
        for follower, player in zip(self._followers, self._players.values(), strict=True):
            follower.request_stop()
            player.interrupt()
        for follower in self._followers:
            follower.close()
        for player in self._players.values():
            player.close()


class _MachinePlayer:
    """The machine player of one seat. It reads the table's state anew at each step."""

    def __init__(self, seat: Seat, table: Table, clock: Clock, settings: _SharedSettings) -> None:
        self._seat = seat
        self._table = table
        self._clock = clock
        self._settings = settings
        self._process: BotProcess | None = None
        # the last turn that the process has been sent, so that only later ones have to be sent
        self._last_turn: MachineTurn | None = None
        self._plan: _PlannedAction | None = None
        # present complaint about the program, as the pages show it. Empty if there is none
        self._complaint = ""
        # set when the service ends, so that no new decision is begun
        self._is_closing = False

    def step(self) -> float:
        """Do the work that is due: choose an action, or hand in the one that is planned.

        Return the seconds until the next step. 0 means that there is nothing to do before the
        table's next change.
        """
        turn = next(
            (turn for turn in self._table.machines.turns() if turn.seat is self._seat), None
        )
        # no machine player has this seat any more
        if turn is None:
            self.close()
            self._complain("")
            return 0.0
        if not turn.is_due or self._is_closing:
            self._plan = None
            return 0.0
        if self._plan is None or self._plan.moment != turn.moment:
            # the delay begins before the bot thinks, so that its thinking time is a part of the
            # delay
            began_at_s = self._clock.monotonic_s()
            choice = self._choose(turn)
            self._plan = _PlannedAction(
                turn.moment, choice, began_at_s + self._delay_s(turn, began_at_s)
            )
        wait_s = self._plan.hand_in_at_s - self._clock.monotonic_s()
        if wait_s > 0:
            return wait_s
        return self._hand_in(self._plan)

    def interrupt(self) -> None:
        """Stop a decision that is being made, and start no new one."""
        self._is_closing = True
        process = self._process
        if process is not None:
            process.close()

    def close(self) -> None:
        """Stop the process. A later step starts a new one."""
        process = self._process
        self._process = None
        self._last_turn = self._plan = None
        if process is not None:
            process.close()

    def _hand_in(self, plan: _PlannedAction) -> float:
        """Hand in a planned action. Return the seconds until the next step, as `step` does.

        If the action cannot be handed in now, the next step tries again or plans another action.
        """
        reasons = plan.choice.why if plan.choice else ()
        self._table.machines.store_reasons(self._seat, plan.moment, reasons)
        try:
            if plan.choice is None:
                self._table.machines.act_at_random(self._seat, plan.moment)
            else:
                self._table.hand_in(self._seat, plan.moment, plan.choice.action)
        except Stale:
            # the game has moved on, so the action is for a moment that is over
            self._plan = None
        except JournalError:
            retry_at_s = self._clock.monotonic_s() + _JOURNAL_PAUSE_S
            self._plan = _PlannedAction(plan.moment, plan.choice, retry_at_s)
            return _JOURNAL_PAUSE_S
        except CompanionError as error:
            log.warning("The machine at %s: its action was refused (%s)", self._seat, error.kind)
            name = Verbatim(self._last_turn.name if self._last_turn else "")
            self._complain(
                say("{name}’s program played against the rules: its move was random.", name=name)
            )
            self._plan = _PlannedAction(plan.moment, None, self._clock.monotonic_s())
            return STEP_INTERVAL_S
        else:
            if plan.choice is not None:
                self._complain("")
        return 0.0

    def _delay_s(self, turn: MachineTurn, now_s: float) -> float:
        """Return the minimum delay in seconds before handing in, drawn at random.

        It is at most a third of the time that is left on the clock.
        """
        low_s, high_s = self._settings.delay_range_s
        delay_s = Random(secrets.randbits(32)).uniform(low_s, high_s)
        if turn.due_s is None:
            return delay_s
        return min(delay_s, max(0.0, (turn.due_s - now_s) / 3))

    def _choose(self, turn: MachineTurn) -> Choice | None:
        """Return the action that a lesson wants, or else the choice of the process.

        Return None, which means a random action, if the character does not know the game, after too
        many failures, if no time is left on the clock, and while the service ends.
        """
        if turn.lesson_action is not None:
            return Choice(turn.lesson_action, 0)
        character = self._settings.characters.get(turn.name)
        is_engine = character is not None and bool(character.command)
        if not is_engine and not has_bot(turn.game):
            self._complain(
                say("{name} does not know this game and plays at random.", name=Verbatim(turn.name))
            )
            return None
        deadline_s = self._clock.monotonic_s() + ATTEMPTS_TIMEOUT_S
        if turn.due_s is not None:
            deadline_s = min(deadline_s, turn.due_s - _HAND_IN_RESERVE_S)
        for _ in range(MAX_ATTEMPTS):
            remaining_s = deadline_s - self._clock.monotonic_s()
            if remaining_s <= 0 or self._is_closing:
                break
            try:
                process = self._process_for(turn, min(START_TIMEOUT_S, remaining_s))
                return process.choose(turn.view, min(DECISION_TIMEOUT_S, remaining_s))
            except BotFailure as error:
                log.warning("%s at %s, restarted: %s", turn.name, self._seat, error.message)
                self.close()
        if not self._is_closing:
            self._complain(
                say(
                    "{name}’s program does not respond: the moves are random.",
                    name=Verbatim(turn.name),
                )
            )
        return None

    def _complain(self, sentence: str) -> None:
        """Show a complaint about the program on the pages. An empty sentence clears it."""
        if sentence != self._complaint:
            self._complaint = sentence
            self._table.set_notice("machines", sentence)

    def _process_for(self, turn: MachineTurn, timeout_s: float) -> BotProcess:
        """Return a process that has been sent the events of the game up to this turn.

        If the present process has played this game so far, return it. Otherwise start a new one.
        Raises `BotFailure`.
        """
        last_turn = self._last_turn
        # whether `last_turn` is an earlier turn of the same game and character. It is not after an
        # undo, because the process has then seen events that no longer happened
        is_same_game = (
            last_turn is not None
            and last_turn.number == turn.number
            and (last_turn.name, last_turn.game) == (turn.name, turn.game)
            and turn.events[: len(last_turn.events)] == last_turn.events
        )
        process = self._process
        if not is_same_game or process is None:
            self.close()
            self._process = process = self._settings.open_process(self._command(turn))
            process.new(self._seat, turn.options, timeout_s)
            last_turn = None
        # `events` has one entry for each turn. Send only entries that are new to the process.
        new_turns = turn.events[len(last_turn.events) :] if last_turn else turn.events
        if new_turns:
            events = [event for turn_events in new_turns for event in turn_events]
            process.see(turn.view, events, timeout_s)
        self._last_turn = turn
        return process

    def _command(self, turn: MachineTurn) -> list[str]:
        """Return the command of an engine, or of a built-in bot.

        A built-in bot's seed is the same after a restart.
        """
        # an engine that the settings no longer have is replaced by the middle character
        character = self._settings.characters.get(turn.name, CHARACTERS[1])
        if character.command:
            return [*character.command, turn.game]
        seed = derive_seed(self._settings.key, f"{turn.game} {turn.number} {turn.seat}")
        return bot_command(turn.game, character.level, seed)
