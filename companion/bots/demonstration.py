"""The demonstration: two of the machine's characters play on a table of their own, which the table screen shows.

That table keeps nothing, has no pads, lamps, camera or voice, and its games are in no history. Where the table itself
is touched, by whatever door, the demonstration is over at once.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from itertools import cycle
from typing import Any

from companion.bots import knows
from companion.bots.bot_process import BotProcess
from companion.bots.characters import CHARACTERS
from companion.bots.machine_players import MachinePlayers, Opponent
from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.core.ports import Closeable
from companion.games import GAMES
from companion.table.follower import Follower
from companion.table.ports import ForgetfulJournal
from companion.table.session import Phase
from companion.table.table import Table
from companion.table.table_view import TableView

log = logging.getLogger(__name__)

HANDS_S, END_S = 3.0, 20.0
"""So long a stage stays before invisible hands have followed it, and the end of a game before the next one begins."""
_LOOK_S, _REST_S = 0.5, 5.0
"""How often it looks while a demonstration is on, and otherwise, unless the table changes."""
_PAIRS = ((CHARACTERS[2], CHARACTERS[1]), (CHARACTERS[1], CHARACTERS[2]), (CHARACTERS[1], CHARACTERS[0]))


class Demonstration(Closeable):
    """Begins by a key, or where nobody has touched the table for so many minutes; a context manager.

    `close` may be called twice. Without `start` nothing happens by itself: `step` does what is due.

    :param open_process: how the characters' programs are begun
    """

    def __init__(
        self, table: Table, clock: Clock, open_process: Callable[[Sequence[str]], Opponent] = BotProcess
    ) -> None:
        self._table, self._clock, self._open_process = table, clock, open_process
        self._lock = threading.RLock()
        self._games = cycle([name for name in GAMES if knows(name)])
        self._pairs = cycle(_PAIRS)
        self._stage: _Stage | None = None
        self._over: list[_Stage] = []
        """Stages whose programs are still to be ended: that takes a moment, for which nobody waits."""
        self._seen = _touchable(table.view())
        self._board: str | None = None
        """The game whose board the camera saw last."""
        self._touched_s = clock.monotonic_s()
        self._follower = Follower(table, "demonstration", self._step_by_itself, _REST_S)

    @property
    def shown(self) -> Table | None:
        """The table that is to be shown in place of the real one; None: no demonstration is on."""
        stage = self._stage
        return stage.table if stage else None

    def begin(self) -> None:
        """Begin, or go on; raises `Illegal` while people play."""
        with self._lock:
            if not self._may_begin:
                raise Illegal(Refusal.WRONG_PHASE, say("A game is on: the demonstration waits until it is over"))
            if self._stage is None:
                self._seen = _touchable(self._table.view())
                self._stage = _Stage(self._table.redraw, self._clock, self._open_process, self._follower.is_running)
                self._play_next(self._stage)
        self._table.redraw()

    def touched(self) -> None:
        """Somebody did something at the table: the demonstration is over, and the time until the next one begins."""
        self._touched_s = self._clock.monotonic_s()
        if self._stage is None:
            return
        with self._lock:
            if self._stage is not None:
                self._over.append(self._stage)
            self._stage = None
        self._table.redraw()

    def step(self) -> float:
        """Do what is due; answers in how many seconds to look again."""
        view = self._table.view()
        if _touchable(view) != self._seen:
            self._seen = _touchable(view)
            self.touched()
        if view.board.suggested not in (None, self._board):
            is_other, self._board = self._board is not None, view.board.suggested
            if is_other:  # the first one is what the camera saw when it began to look
                self.touched()
        self._end_stages()
        with self._lock:
            stage, now_s = self._stage, self._clock.monotonic_s()
            if stage is None:
                idle_s = 60 * self._table.settings.demonstration_minutes
                if idle_s and now_s - self._touched_s >= idle_s and self._may_begin:
                    self.begin()
                return _LOOK_S if self._stage else _REST_S
            with suppress(CompanionError):
                if stage.step(now_s):
                    self._play_next(stage)
        return _LOOK_S

    @property
    def _may_begin(self) -> bool:
        return self._table.progress().phase in (Phase.LOBBY, Phase.OVER)

    def _play_next(self, stage: _Stage) -> None:
        stage.play(next(self._games), [character.name for character in next(self._pairs)])

    # ---- by itself ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Step by itself."""
        self._follower.start()

    def _step_by_itself(self) -> float:
        try:
            pause_s = self.step()
        except CompanionError as error:
            log.warning("The demonstration: %s", error.message)
            pause_s = _LOOK_S
        return pause_s if pause_s < _REST_S else 0

    def close(self) -> None:
        """End the demonstration and its thread."""
        self._follower.close()
        self.touched()
        self._end_stages()

    def _end_stages(self) -> None:
        with self._lock:
            over, self._over = self._over, []
        for stage in over:
            stage.close()


class _Stage:
    """The table of a demonstration with both machines, and the hands that follow the orders."""

    def __init__(
        self,
        when_changed: Callable[[], None],
        clock: Clock,
        open_process: Callable[[Sequence[str]], Opponent],
        has_threads: bool,
    ) -> None:
        self._stack, self._has_threads = ExitStack(), has_threads
        self.table = self._stack.enter_context(Table(ForgetfulJournal(), clock))
        players = MachinePlayers(self.table, clock, secrets.token_bytes(32), open_process=open_process)
        self._machines = self._stack.enter_context(players)
        self._place: tuple[Any, ...] = ()
        self._since_s = clock.monotonic_s()
        self.table.when_changed(when_changed)
        if has_threads:
            self.table.start()
            self._machines.start()

    def play(self, game: str, names: Sequence[str]) -> None:
        """Begin a game of two characters, South's name first."""
        view = self.table.view()
        for seat, name in zip(SEATS, names, strict=True):
            if view.seats[seat].name is not None:
                self.table.machines.unseat(seat)
            self.table.machines.seat(seat, name)
        self.table.new_game(game, {})

    def step(self, now_s: float) -> bool:
        """Let the hands do what is due; answers whether it is time for another game."""
        if not self._has_threads:
            self._machines.step()
            self.table.step()
        view = self.table.view()
        place = (view.moment, view.phase, view.turn.stage)
        if place != self._place:
            self._place, self._since_s = place, now_s
        shown_s = now_s - self._since_s
        if view.phase is Phase.OVER:
            return shown_s >= END_S
        if view.phase in (Phase.SETUP, Phase.STAGES) and shown_s >= HANDS_S:
            self.table.confirm("table", view.moment, view.turn.stage)
        return False

    def close(self) -> None:
        """End programs and threads; what was played is gone."""
        self._stack.close()


def _touchable(view: TableView) -> tuple[Any, ...]:
    """What people change: who sits where, what game is on."""
    sitters = tuple((sitter.sitting, sitter.name, sitter.door) for sitter in view.seats.values())
    return (view.phase, view.moment, sitters)
