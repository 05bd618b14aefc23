"""The clock of a turn: when it runs out, which alarms are due until then, and what a restart must
know of it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from companion.core.kit import Seat
from companion.core.ports import Alarm, Cue, Signal
from companion.table.clocks.countdown import Countdown
from companion.table.records import Pause, TimeOut
from companion.table.session import Session

NOTE_S = 0.5
"""Seconds between two notes of a running clock. A power cut gives at most this much back to the
turn that it hits."""
AFTER_S = 0.01
"""Seconds after the end of a turn at which the table does what follows from it: the buzzer sounds
first."""
LAST_SECONDS_S = (2.0, 1.0)
"""Seconds before the end at which a turn ticks that is longer than both (CUES: last two
seconds)."""
LOW_S = 30.0
"""Seconds left at which a chess clock is heard once (CUES: own clock)."""
LAST_S = 10
"""Number of last seconds of a chess clock, each of which is heard."""


def alarms_of(session: Session) -> tuple[Alarm, ...]:
    """Return all that sounds in this turn, and when, unless somebody acts before.

    Empty while the clock stands still.
    """
    countdown, seats = session.countdown, session.awaited
    due_s = countdown.due_s if countdown else None
    if (
        countdown is None
        or due_s is None
        or (session.remote and any(map(session.is_remote, seats)))
    ):
        return ()
    if session.bank:
        return _last_seconds(countdown, round(due_s, 4), seats)
    end = Alarm(due_s, Signal(Cue.TIME_OUT, seats))
    # so short a turn would tick from its first moment
    if countdown.limit_s <= max(LAST_SECONDS_S):
        return (end,)
    ticks = [Alarm(due_s - left_s, Signal(Cue.TIME_SHORT, seats)) for left_s in LAST_SECONDS_S]
    return (*ticks, end)


def _last_seconds(countdown: Countdown, due_s: float, seats: frozenset[Seat]) -> tuple[Alarm, ...]:
    """Return what a chess clock of the seat on turn says.

    What was due before this turn shows, but is not heard again.

    The same clock always gives the same times, whatever was played meanwhile.
    """
    lasts = [left_s for left_s in range(LAST_S, 0, -1) if left_s < countdown.left_s + 1]
    return (
        Alarm(due_s - LOW_S, Signal(Cue.CLOCK_LOW, seats)),
        *(Alarm(due_s - left_s, Signal(Cue.CLOCK_LAST, seats)) for left_s in lasts),
        Alarm(due_s, Signal(Cue.TIME_OUT, seats)),
    )


def pause_after_restart(session: Session, noted_s: float | None) -> Pause | None:
    """Return the pause with which a turn that was running comes back, at the last time that was
    noted for it.
    """
    countdown = session.countdown
    if countdown is None or countdown.since_s is None:
        return None
    if any(map(session.is_remote, session.awaited)):
        return None
    # a note may be older than the last start of the clock
    now_s = countdown.since_s if noted_s is None else max(noted_s, countdown.since_s)
    return Pause("restart", now_s)


def time_out_of(session: Session, now_s: float) -> TimeOut | None:
    """Return the end of the turn, if it is due."""
    due_s = session.countdown.due_s if session.countdown else None
    if due_s is None or now_s < due_s or not _counts_here(session):
        return None
    return TimeOut(session.moment, due_s)


def pause_s(session: Session, now_s: float) -> float:
    """Return how many seconds the table may sleep before this clock wants something.

    Infinite while it stands still.
    """
    due_s = session.countdown.due_s if session.countdown else None
    if due_s is None or not _counts_here(session):
        return math.inf
    return max(0.0, due_s + AFTER_S - now_s)


def remote_clock_anew(session: Session, now_s: float) -> Session:
    """Show a clock that runs at the other table, after a restart, as if its turn had begun now.

    Nothing follows from what it shows here: what the turn has taken is told by that table.
    """
    countdown = session.countdown
    if countdown is None or countdown.since_s is None:
        return session
    if not any(map(session.is_remote, session.awaited)):
        return session
    return replace(session, countdown=Countdown(countdown.limit_s, countdown.left_s, now_s))


def _counts_here(session: Session) -> bool:
    """Return whether this table's clock ends the turn.

    A clock at another table does not, nor one whose turn that table has been asked about.
    """
    remote = session.remote
    return remote is None or (session.awaited == {remote.own} and not remote.asked)
