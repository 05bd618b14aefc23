"""The deadlines of a turn's clock: its end, its alarms, and how it continues after a restart."""

from __future__ import annotations

from dataclasses import replace

from companion.core.ports import Alarm, Cue, Signal
from companion.table.records import BY_RESTART, Pause, TimeOut
from companion.table.session import Session

# Interval in seconds at which the time of a running clock is recorded. After a power cut the turn
# has at most that much time too much. Shorter: more writes to the SD card.
CLOCK_NOTE_INTERVAL_S = 0.5
# Seconds before its end at which a turn sounds `Cue.TIME_SHORT`, if its limit is longer than both.
TURN_ALARMS_S = (2.0, 1.0)
# Seconds left at which a chess clock sounds once.
CHESS_CLOCK_LOW_S = 30.0
# Number of last seconds of a chess clock that each sound.
CHESS_CLOCK_LAST_S = 10


def alarms_of(session: Session) -> tuple[Alarm, ...]:
    """Return all alarms that this turn will sound if nobody acts.

    Empty while the clock is stopped, and for a turn at the other table, which sounds its own. The
    times depend on the clock alone, never on what was played.
    """
    countdown, seats = session.countdown, session.awaited_seats
    if countdown is None or countdown.due_s is None or any(map(session.is_remote, seats)):
        return ()
    # Each cue with the seconds that are left then.
    cues: list[tuple[float, Cue]] = []
    if session.chess_clocks:
        cues.append((CHESS_CLOCK_LOW_S, Cue.CLOCK_LOW))
        # Seconds that were over before this turn are not repeated.
        for left_s in range(CHESS_CLOCK_LAST_S, 0, -1):
            if left_s < countdown.left_s + 1:
                cues.append((left_s, Cue.CLOCK_LAST))
    # A shorter turn would sound these alarms from its start.
    elif countdown.limit_s > max(TURN_ALARMS_S):
        cues += [(alarm_s, Cue.TIME_SHORT) for alarm_s in TURN_ALARMS_S]
    cues.append((0.0, Cue.TIME_OUT))
    return tuple(
        Alarm(round(countdown.due_s, 4) - left_s, Signal(cue, seats)) for left_s, cue in cues
    )


def restore_clock(
    session: Session, noted_s: float | None, now_s: float
) -> tuple[Session, Pause | None]:
    """Return the session after a restart, and the record that pauses a clock that was running.

    The pause begins at the last recorded time, `noted_s`. A clock at the other table is not paused.
    It starts again at `now_s`, only for display: that table reports how much time the turn took.
    """
    countdown = session.countdown
    if countdown is None or countdown.started_s is None:
        return session, None
    if any(map(session.is_remote, session.awaited_seats)):
        return replace(session, countdown=replace(countdown, started_s=now_s)), None
    # The recorded time may be older than the last start of the clock.
    return session, Pause(BY_RESTART, max(noted_s or 0.0, countdown.started_s))


def due_time_out(session: Session, now_s: float) -> TimeOut | None:
    """Return the record of the turn's time-out if it is due, else None.

    It is never due while the seat on turn is at the other table, or while this table waits for the
    answer to a question.
    """
    remote, countdown = session.remote, session.countdown
    if countdown is None or countdown.due_s is None or now_s < countdown.due_s:
        return None
    if remote is not None and (session.awaited_seats != {remote.own_seat} or remote.open_question):
        return None
    return TimeOut(session.moment, countdown.due_s)
