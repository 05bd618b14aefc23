"""Who is told of the table: pages that wait for a change, lamps, cues, alarms, and the kit that lies there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from companion.core.clock import Clock
from companion.core.kit import Kit, RowsWanted, Seat
from companion.core.ports import Alarm, Cue, SeatLamps, Signal, TurnLamp
from companion.table.clocks.deadlines import alarms_of
from companion.table.session import Phase
from companion.table.state import NO_DRAFT, TableState, instructions

REVEAL_S = 0.6
"""How long the reveal's own cue has the lamps and the buzzer before the first step's begins."""

OnSignal = Callable[[Signal], None]
OnLamps = Callable[[Mapping[Seat, SeatLamps], bool], None]
OnKit = Callable[[Kit | None], None]
OnAlarms = Callable[[tuple[Alarm, ...]], None]
OnRows = Callable[[RowsWanted], None]
OnGame = Callable[[int, int], None]


class Listeners:
    """Tells everybody in the table's thread; what is called must be quick. `wait` may be called from any thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._version = 0
        self._closed = False
        self._on_signal: list[OnSignal] = []
        self._on_lamps: list[OnLamps] = []
        self._on_kit: list[OnKit] = []
        self._on_alarms: list[OnAlarms] = []
        self._on_rows: list[OnRows] = []
        self._on_game: list[OnGame] = []
        self._game, self._turns = 0, 0
        self._alarms: tuple[Alarm, ...] = ()
        self.put_off: tuple[Signal, ...] = ()
        """Cues that wait until the reveal has been seen."""
        self._put_off_until_s = 0.0

    # ---- whoever listens ---------------------------------------------------------------------------------------

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the table has changed since `version`, at most so long.

        Return the newest version.
        """
        with self._changed:
            if self._version == version and not self._closed:
                self._changed.wait(timeout_s)
        return self._version

    def hear_signals(self, on_signal: OnSignal) -> None:
        """Have this called with every cue to come."""
        self._on_signal.append(on_signal)

    def hear_lamps(self, on_lamps: OnLamps, live: TableState, in_trouble: bool) -> None:
        """Have this called with the steady lamps, now and after every change."""
        self._on_lamps.append(on_lamps)
        on_lamps(lamps_of(live), in_trouble)

    def hear_kit(self, on_kit: OnKit, kit: Kit | None) -> None:
        """Have this called with the kit on the table, now and whenever another one lies there."""
        self._on_kit.append(on_kit)
        on_kit(kit)

    def hear_alarms(self, on_alarms: OnAlarms) -> None:
        """Have this called with all alarms of the turn, now and whenever they change."""
        self._on_alarms.append(on_alarms)
        on_alarms(self._alarms)

    def hear_rows(self, on_rows: OnRows) -> None:
        """Have this called whenever rows of order tiles are to be read."""
        self._on_rows.append(on_rows)

    def hear_games(self, on_game: OnGame, live: TableState) -> None:
        """Have this called whenever a game begins or ends, and now.

        It is given the number of the game that is on (0: none), and the turns of the one before.
        """
        self._on_game.append(on_game)
        on_game(0 if live.session.is_between else live.session.number, 0)

    # ---- telling them ------------------------------------------------------------------------------------------

    def kit_is(self, kit: Kit | None) -> None:
        """Tell that another kit lies on the table."""
        for on_kit in self._on_kit:
            on_kit(kit)

    def request_rows(self, wanted: RowsWanted) -> None:
        """Ask for rows of order tiles to be read."""
        for on_rows in self._on_rows:
            on_rows(wanted)

    def show(self, live: TableState, in_trouble: bool, signals: tuple[Signal, ...] = ()) -> None:
        """Tell how the table looks now: lamps, alarms and cues first, who are waited for by a finger.

        Then pages.
        """
        lamps = lamps_of(live)
        for on_lamps in self._on_lamps:
            on_lamps(lamps, in_trouble)
        alarms = alarms_of(live.session) if live.session.countdown else ()
        if (
            alarms != self._alarms
        ):  # after the lamps: what still blinks for the old turn ends in the same instant
            self._alarms = alarms
            for on_alarms in self._on_alarms:
                on_alarms(alarms)
        game, turns = 0 if live.session.is_between else live.session.number, self._turns
        self._turns = len(live.session.turns)
        if game != self._game:
            self._game = game
            for on_game in self._on_game:
                on_game(game, turns)
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
            for on_signal in self._on_signal:
                on_signal(signal)
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


# ---- lamps ----


def lamps_of(live: TableState) -> dict[Seat, SeatLamps]:
    """Return the steady pattern of every seat's lamps.

    It depends on how many orders are entered, never on which.
    """
    return {Seat.SOUTH: _seat_lamps(live, Seat.SOUTH), Seat.NORTH: _seat_lamps(live, Seat.NORTH)}


def _seat_lamps(live: TableState, seat: Seat) -> SeatLamps:
    session = live.session
    is_asked = bool(live.choices) and seat in session.awaited
    wrong = TurnLamp.WRONG if is_asked or (live.problems and not live.choices) else None
    offered = TurnLamp.OFFERED if session.draw_offer else None
    if session.phase is Phase.ORDERS:
        if seat in live.tiles.faults:
            wrong = TurnLamp.WRONG
        is_in = seat in session.sealed or seat in live.tiles.ready
        turn = TurnLamp.OFF
        if seat in session.awaited and not is_in:
            turn = TurnLamp.PULSE if session.sealed or len(session.awaited) > 1 else TurnLamp.ON
        if is_in or is_asked:
            lit = frozenset({1, 2, 3} if is_in else {2})
        else:
            lit = frozenset(range(1, _lamp(live.drafts.get(seat, NO_DRAFT).count) + 1))
        return SeatLamps(lit, wrong or (TurnLamp.PULSE if session.paused else offered or turn))
    if session.phase in (Phase.STAGES, Phase.SETUP):
        wanted = any(i.seat is seat and not i.move.done for i in instructions(live))
        step = (
            frozenset({_lamp(session.stage + 1)}) if session.phase is Phase.STAGES else frozenset()
        )
        return SeatLamps(step, wrong or (TurnLamp.HANDS if wanted else offered or TurnLamp.OFF))
    return SeatLamps(turn=TurnLamp.HOTSPOT if live.has_own_wifi else TurnLamp.OFF)


def _lamp(number: int) -> int:
    """Return the order lamp of a number: behind the third it is the first again.

    >>> [_lamp(number) for number in range(6)]
    [0, 1, 2, 3, 1, 2]
    """
    return (number - 1) % 3 + 1 if number else 0
