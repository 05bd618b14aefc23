"""The lamps that say to the seats what the table waits for."""

from __future__ import annotations

from companion.core.kit import SEATS, Seat
from companion.core.ports import SeatLamps, TurnLamp
from companion.table.session import Phase
from companion.table.state import NO_DRAFT, TableState, instructions


def lamps_of(live: TableState) -> dict[Seat, SeatLamps]:
    """Return the steady pattern of every seat's lamps.

    It depends on how many orders are entered, never on which.
    """
    return {seat: _seat_lamps(live, seat) for seat in SEATS}


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
        step = frozenset({_lamp(session.stage + 1)}) if session.phase is Phase.STAGES else frozenset()
        return SeatLamps(step, wrong or (TurnLamp.HANDS if wanted else offered or TurnLamp.OFF))
    return SeatLamps()


def _lamp(number: int) -> int:
    """The order lamp of a number: behind the third it is the first again.

    >>> [_lamp(number) for number in range(6)]
    [0, 1, 2, 3, 1, 2]
    """
    return (number - 1) % 3 + 1 if number else 0
