"""The deadlines of a turn's clock: its end, its alarms, and how it continues after a restart."""

from __future__ import annotations

from dataclasses import replace

from companion.core.ports import Alarm, Cue, Signal
from companion.table.records import BY_RESTART, Pause, TimeOut
from companion.table.session import Session

# Interval in seconds at which the time of a running clock is recorded. After a power cut, a turn
# has at most this much time too much. A shorter interval would mean more writes to the SD card.
CLOCK_NOTE_INTERVAL_S = 0.5
# Seconds before the end of a turn at which `Cue.TIME_SHORT` sounds, if the turn's limit is longer
# than both.
TURN_ALARMS_S = (2.0, 1.0)
# Seconds left at which a chess clock sounds once.
CHESS_CLOCK_LOW_S = 30.0
# Number of last seconds of a chess clock that each sound.
CHESS_CLOCK_LAST_S = 10


def alarms_of(session: Session) -> tuple[Alarm, ...]:
    """Return all alarms that this turn will sound if nobody acts.

    There are none while the clock is stopped. There are also none for a turn at the other table,
    which sounds its own alarms. The times depend on the clock alone, so the alarms reveal nothing
    of what was played.
    """
    countdown = session.countdown
    seats = session.awaited_seats
    if countdown is None or countdown.due_s is None or any(map(session.is_remote, seats)):
        return ()
    # Each cue, with the seconds that are left on the clock when it sounds.
    cues: list[tuple[float, Cue]] = []
    if session.chess_clocks:
        cues.append((CHESS_CLOCK_LOW_S, Cue.CLOCK_LOW))
        # The alarms of seconds that were over before this turn do not sound again.
        for left_s in range(CHESS_CLOCK_LAST_S, 0, -1):
            if left_s < countdown.left_s + 1:
                cues.append((left_s, Cue.CLOCK_LAST))
    # In a shorter turn, these alarms would be due before the turn has begun.
    elif countdown.limit_s > max(TURN_ALARMS_S):
        cues += [(alarm_s, Cue.TIME_SHORT) for alarm_s in TURN_ALARMS_S]
    cues.append((0.0, Cue.TIME_OUT))
    return tuple(
        Alarm(round(countdown.due_s, 4) - left_s, Signal(cue, seats)) for left_s, cue in cues
    )


def restore_clock(
    session: Session, noted_at_s: float | None, now_s: float
) -> tuple[Session, Pause | None]:
    """Return the session after a restart, and the record that pauses a clock that was running.

    The pause begins at the last recorded time, `noted_at_s`. If the clock of the other table was
    running, there is no such record: this clock starts again at `now_s`. It is only shown, because
    the other table reports how much time the turn has taken.
    """
    countdown = session.countdown
    if countdown is None or countdown.started_at_s is None:
        return session, None
    if any(map(session.is_remote, session.awaited_seats)):
        return replace(session, countdown=replace(countdown, started_at_s=now_s)), None
    # The recorded time may be older than the last start of the clock.
    return session, Pause(BY_RESTART, max(noted_at_s or 0.0, countdown.started_at_s))


def due_time_out(session: Session, now_s: float) -> TimeOut | None:
    """Return the record of the turn's time-out if it is due, else None.

    It is never due while the seat on turn is at the other table, or while this table waits for the
    answer to a question.
    """
    remote = session.remote
    countdown = session.countdown
    if countdown is None or countdown.due_s is None or now_s < countdown.due_s:
        return None
    if remote is not None and (session.awaited_seats != {remote.own_seat} or remote.open_question):
        return None
    return TimeOut(session.moment, countdown.due_s)
