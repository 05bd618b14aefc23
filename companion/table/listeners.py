"""Notify everybody who follows the table: waiting pages, and adapters such as the panel's.

A cue is what sounds and lights up when something happens. A signal is a cue with its seats.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from companion.core.clock import Clock
from companion.core.kit import SEATS, Kit, RowsWanted, Seat
from companion.core.ports import Alarm, Cue, SeatLamps, Signal, TurnLamp
from companion.table.clocks.deadlines import alarms_of
from companion.table.session import Phase, Signals
from companion.table.state import NO_DRAFT, TableState, instructions_of

# Duration in seconds of the reveal's cue on lamps and buzzer, before the first stage's cues.
REVEAL_DURATION_S = 0.6


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True)
class TableListener:
    """The callbacks of an adapter, such as the panel or a broker. It sets only those that it needs.

    The thread that holds the table calls them, so they must return within milliseconds.
    """

    on_signal: Callable[[Signal], None] = _ignore
    """Called with every cue and its seats."""
    on_lamps: Callable[[Mapping[Seat, SeatLamps], bool], None] = _ignore
    """Called with the lasting lamps and whether the table is in trouble, on connecting and after
    every change.
    """
    on_kit: Callable[[Kit | None], None] = _ignore
    """Called with the kit on the table, on connecting and whenever it changes."""
    on_alarms: Callable[[tuple[Alarm, ...]], None] = _ignore
    """Called with all alarms of the turn, on connecting and whenever they change."""
    on_rows: Callable[[RowsWanted], None] = _ignore
    """Called whenever rows of order tiles have to be read."""
    on_game: Callable[[int, int], None] = _ignore
    """Called on connecting and whenever a game begins or ends, with the number of the running game
    (0 for none) and the number of turns of the game that has just ended.
    """


class Listeners:
    """Notifies all adapters, and wakes the pages that wait for a change.

    Callers hold the table's lock. Only `wait` may be called from any thread.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._version = 0
        self._is_closed = False
        self._listeners: list[TableListener] = []
        # What the listeners were last called with. A game's number is 0 while none is running.
        self._kit: Kit | None = None
        self._game_number = 0
        self._turn_count = 0
        self._alarms: tuple[Alarm, ...] = ()
        self.delayed_signals: Signals = ()
        """Cues that wait until the reveal has been shown."""
        self._delayed_until_s = 0.0

    def connect(self, listener: TableListener, live: TableState) -> None:
        """Call an adapter with the present state, and from now on with every change."""
        self._listeners.append(listener)
        listener.on_lamps({seat: lamps_of(live, seat) for seat in SEATS}, live.is_in_trouble)
        self._kit = live.session.kit
        listener.on_kit(self._kit)
        listener.on_alarms(self._alarms)
        listener.on_game(0 if live.session.is_between_games else live.session.game_number, 0)

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the table's version differs from `version`, and return the present one.

        After the timeout, or if the table closes, it may still be the same.
        """
        with self._changed:
            if self._version == version and not self._is_closed:
                self._changed.wait(timeout_s)
        return self._version

    def request_rows(self, wanted: RowsWanted) -> None:
        """Ask adapters to read rows of order tiles."""
        for listener in self._listeners:
            listener.on_rows(wanted)

    def show_state(self, live: TableState, signals: Signals = ()) -> None:
        """Show a state on lamps, by alarms and cues, and then on pages.

        Pages come last: somebody with a finger on a key notices a delay of lamps and cues.
        """
        session = live.session
        turn_count_before = self._turn_count
        south, north = SEATS
        lamps = {south: lamps_of(live, south), north: lamps_of(live, north)}
        kit_before = self._kit
        alarms_before = self._alarms
        number_before = self._game_number
        self._kit = session.kit
        self._turn_count = len(session.turns)
        self._alarms = alarms_of(session) if session.countdown else ()
        self._game_number = 0 if session.is_between_games else session.game_number
        for listener in self._listeners:
            # Alarms follow the lamps, so that the blinking of the old turn ends with them.
            listener.on_lamps(lamps, live.is_in_trouble)
            if self._alarms != alarms_before:
                listener.on_alarms(self._alarms)
            if self._kit != kit_before:
                listener.on_kit(self._kit)
            if self._game_number != number_before:
                # If the owner has ended the game, the lobby has replaced it and has no turns. Then
                # report the number of turns that was shown last.
                listener.on_game(self._game_number, self._turn_count or turn_count_before)
        self.send_signals(*signals)
        with self._changed:
            self._version = live.version
            self._changed.notify_all()

    def send_signals(self, *signals: Signal) -> None:
        """Send cues at once. Those that follow the cue of a reveal wait until that cue is over."""
        if signals:
            self.delayed_signals = ()
        for number, signal in enumerate(signals, start=1):
            for listener in self._listeners:
                listener.on_signal(signal)
            if signal.cue is Cue.REVEAL:
                self.delayed_signals = signals[number:]
                self._delayed_until_s = self._clock.monotonic_s() + REVEAL_DURATION_S
                break

    def send_delayed_signals(self) -> None:
        """Send the cues that waited for a reveal, once they are due."""
        if self._clock.monotonic_s() >= self._delayed_until_s:
            self.send_signals(*self.delayed_signals)

    def close(self) -> None:
        """Wake everybody who waits, because the table closes."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


def lamps_of(live: TableState, seat: Seat) -> SeatLamps:
    """Return the lasting pattern of a seat's lamps: three order lamps and the lamp of the turn.

    It depends on the number of orders entered, never on which ones.
    """
    session = live.session
    if session.is_between_games:
        return SeatLamps(turn=TurnLamp.HOTSPOT if live.has_own_wifi else TurnLamp.OFF)
    has_question = bool(live.possible_actions) and seat in session.awaited_seats
    has_handed_in = seat in session.sealed or seat in live.tiles.ready_seats
    turn_lamp = _turn_lamp(live, seat, has_question, has_handed_in)
    count = live.drafts.get(seat, NO_DRAFT).count
    lit: set[int] = set()
    # A pad has three order lamps, so the fourth stage or order lights the first one again.
    if has_handed_in:
        lit = {1, 2, 3}
    elif has_question:
        lit = {2}  # the middle one: the phone asks which action is meant
    elif session.phase is Phase.STAGES:
        lit = {session.stage_index % 3 + 1}
    elif count:
        lit = set(range(1, (count - 1) % 3 + 2))
    return SeatLamps(frozenset(lit), turn_lamp)


def _turn_lamp(live: TableState, seat: Seat, has_question: bool, has_handed_in: bool) -> TurnLamp:
    """Return the lamp of the turn during a game. What is more urgent comes first."""
    session = live.session
    # A question concerns the seat on turn, and a wrong board concerns both.
    is_board_wrong = bool(live.problems) and not live.possible_actions
    if has_question or is_board_wrong or seat in live.tiles.faulty_rows:
        return TurnLamp.WRONG
    if session.phase is not Phase.ORDERS:
        if any(item.seat is seat and not item.move.is_done for item in instructions_of(live)):
            return TurnLamp.HANDS
    elif session.paused_by:
        return TurnLamp.PULSE
    if session.draw_offer:
        return TurnLamp.OFFERED
    if seat not in session.awaited_seats or has_handed_in:
        return TurnLamp.OFF
    is_turn_of_both = session.sealed or len(session.awaited_seats) > 1
    return TurnLamp.PULSE if is_turn_of_both else TurnLamp.ON
