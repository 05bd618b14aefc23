"""The coach for who plays by a pad: asked by a held key, it answers on the table screen and by the voice.

Everybody hears that, so it only speaks where a machine sits opposite (`companion.table.seats.coaching`).
"""

from __future__ import annotations

from itertools import accumulate

from companion.bots.coach import Coach, Hint
from companion.core.errors import CompanionError, Stale
from companion.core.i18n import joined, say
from companion.core.ports import Closeable
from companion.table.follower import Follower
from companion.table.table import Table

_REST_S = 5.0
"""How often it looks, unless the table changes."""
MOST_SPOKEN = 400
"""So many letters of an engine's reasons are spoken and stand on the table screen: the best come first."""


class CoachAloud(Closeable):
    """Answers what pads ask; a context manager, and `close` may be called twice.

    Without `start` nothing happens by itself: `step` answers what is asked, and waits for the coach meanwhile.
    """

    def __init__(self, table: Table, coach: Coach) -> None:
        self._table, self._coach = table, coach
        self._follower = Follower(table, "coach", self.step, _REST_S)

    def step(self) -> None:
        """Answer the question that waits, if there is one."""
        asked = self._table.coaching.asked
        if asked is None:
            return
        try:
            lines = spoken_lines(self._coach.ask(asked.seat, asked.moment, asked.about))
        except Stale:
            return  # the turn is over, and the question with it
        except CompanionError as error:
            lines = (error.message,)
        self._table.coaching.tell(asked, lines)

    def start(self) -> None:
        """Step by itself after every change of the table."""
        self._follower.start()

    def close(self) -> None:
        """End the thread."""
        self._follower.close()


def spoken_lines(hint: Hint) -> tuple[str, ...]:
    """What the coach says, sentence by sentence."""
    orders = joined(", ", [order.whole for order in hint.orders])
    if hint.is_theirs:
        lengths = accumulate(map(len, hint.why))
        why = (line for line, length in zip(hint.why, lengths, strict=True) if length <= MOST_SPOKEN)
        return (say("{whose}: {orders}.", whose=hint.judgement, orders=orders), *why)
    if not hint.judgement:
        return (say("The coach would do this: {orders}.", orders=orders), *hint.why)
    if hint.is_best:
        return (hint.judgement,)
    return (hint.judgement, say("Better: {orders}.", orders=orders), *hint.why)
