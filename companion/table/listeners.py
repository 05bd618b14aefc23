"""Who is told of the table: pages that wait for a change, lamps, cues, alarms, and the kit that
lies there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from companion.core.clock import Clock
from companion.core.kit import Kit, RowsWanted, Seat
from companion.core.ports import Alarm, Cue, SeatLamps, Signal, TurnLamp
from companion.table.clocks.deadlines import alarms_of
from companion.table.session import Phase
from companion.table.state import NO_DRAFT, TableState, instructions

REVEAL_S = 0.6
"""Seconds for which the reveal's own cue has the lamps and the buzzer before the first step's
begins."""


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True)
class TableListener:
    """What an adapter is told. Whoever holds the table calls it: it must return within
    milliseconds.
    """

    on_signal: Callable[[Signal], None] = _ignore
    """Called with every cue to come."""
    on_lamps: Callable[[Mapping[Seat, SeatLamps], bool], None] = _ignore
    """Called with the steady lamps and whether something is wrong, now and after every change."""
    on_kit: Callable[[Kit | None], None] = _ignore
    """Called with the kit on the table, now and whenever another one lies there."""
    on_alarms: Callable[[tuple[Alarm, ...]], None] = _ignore
    """Called with all alarms of the turn, now and whenever they change."""
    on_rows: Callable[[RowsWanted], None] = _ignore
    """Called whenever rows of order tiles are to be read."""
    on_game: Callable[[int, int], None] = _ignore
    """Called now and whenever a game begins or ends, with the number of the game that is on (0:
    none), and the turns of the one before."""


class Listeners:
    """Tells everybody in the table's thread. `wait` may be called from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._version = 0
        self._closed = False
        self._listeners: list[TableListener] = []
        self._game, self._turns = 0, 0
        self._alarms: tuple[Alarm, ...] = ()
        self.put_off: tuple[Signal, ...] = ()
        """Cues that wait until the reveal has been seen."""
        self._put_off_until_s = 0.0

    def connect(self, listener: TableListener, live: TableState, in_trouble: bool) -> None:
        """Tell an adapter how things are, and from now on what changes."""
        self._listeners.append(listener)
        listener.on_lamps(lamps_of(live), in_trouble)
        listener.on_kit(live.session.kit)
        listener.on_alarms(self._alarms)
        listener.on_game(0 if live.session.is_between else live.session.number, 0)

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the table has changed since `version`, at most so long.

        Return the newest version.
        """
        with self._changed:
            if self._version == version and not self._closed:
                self._changed.wait(timeout_s)
        return self._version

    def kit_is(self, kit: Kit | None) -> None:
        """Tell that another kit lies on the table."""
        for listener in self._listeners:
            listener.on_kit(kit)

    def request_rows(self, wanted: RowsWanted) -> None:
        """Ask for rows of order tiles to be read."""
        for listener in self._listeners:
            listener.on_rows(wanted)

    def show(self, live: TableState, in_trouble: bool, signals: tuple[Signal, ...] = ()) -> None:
        """Tell how the table looks now: lamps, alarms and cues first, who are waited for by a
        finger.

        Then pages.
        """
        lamps = lamps_of(live)
        for listener in self._listeners:
            listener.on_lamps(lamps, in_trouble)
        alarms = alarms_of(live.session) if live.session.countdown else ()
        # after the lamps: what still blinks for the old turn ends in the same instant
        if alarms != self._alarms:
            self._alarms = alarms
            for listener in self._listeners:
                listener.on_alarms(alarms)
        game, turns = 0 if live.session.is_between else live.session.number, self._turns
        self._turns = len(live.session.turns)
        if game != self._game:
            self._game = game
            for listener in self._listeners:
                listener.on_game(game, turns)
        self.send(*signals)
        with self._changed:
            self._version = live.version
            self._changed.notify_all()

    def send(self, *signals: Signal) -> None:
        """Give cues.

        What comes with a reveal waits until the reveal itself has been seen and heard.
        """
        if signals:
            self.put_off = ()
        for number, signal in enumerate(signals, start=1):
            for listener in self._listeners:
                listener.on_signal(signal)
            if signal.cue is Cue.REVEAL:
                self.put_off = signals[number:]
                self._put_off_until_s = self._clock.monotonic_s() + REVEAL_S
                break

    def send_put_off(self) -> None:
        """Give the cues that have waited for a reveal, once it is their time."""
        if self._clock.monotonic_s() >= self._put_off_until_s:
            self.send(*self.put_off)

    def close(self) -> None:
        """Wake everybody who waits: the table closes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def lamps_of(live: TableState) -> dict[Seat, SeatLamps]:
    """Return the steady pattern of every seat's lamps.

    It depends on how many orders are entered, never on which.
    """
    return {Seat.SOUTH: _seat_lamps(live, Seat.SOUTH), Seat.NORTH: _seat_lamps(live, Seat.NORTH)}


def _seat_lamps(live: TableState, seat: Seat) -> SeatLamps:
    session = live.session
    if session.is_between:
        return SeatLamps(turn=TurnLamp.HOTSPOT if live.has_own_wifi else TurnLamp.OFF)
    is_asked = bool(live.choices) and seat in session.awaited
    # a question concerns the seat on turn, a wrong board both
    is_wrong = is_asked or (bool(live.problems) and not live.choices)
    offered = TurnLamp.OFFERED if session.draw_offer else None
    if session.phase is not Phase.ORDERS:
        is_wanted = any(i.seat is seat and not i.move.done for i in instructions(live))
        # a pad has three lamps: the fourth step lights the first again
        lit = {session.stage % 3 + 1} if session.phase is Phase.STAGES else set()
        turn = TurnLamp.HANDS if is_wanted else offered or TurnLamp.OFF
        return SeatLamps(frozenset(lit), TurnLamp.WRONG if is_wrong else turn)
    is_in = seat in session.sealed or seat in live.tiles.ready
    turn = TurnLamp.OFF
    if seat in session.awaited and not is_in:
        is_one_of_two = session.sealed or len(session.awaited) > 1
        turn = TurnLamp.PULSE if is_one_of_two else TurnLamp.ON
    turn = TurnLamp.PULSE if session.paused else offered or turn
    if is_wrong or seat in live.tiles.faults:
        turn = TurnLamp.WRONG
    if is_in:
        lit = {1, 2, 3}
    elif is_asked:
        lit = {2}
    else:
        count = live.drafts.get(seat, NO_DRAFT).count
        lit = (
            set(range(1, (count - 1) % 3 + 2)) if count else set()
        )  # behind the third it begins anew
    return SeatLamps(frozenset(lit), turn)
