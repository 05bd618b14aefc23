"""What the sign says while a game at two tables waits for the other one."""

from __future__ import annotations

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.table.remote.remote_game import RemoteGame
from companion.table.session import BOTH, Phase, Session

_ASKED = {
    "resign": say("This table has resigned. The game is over as soon as the other table knows."),
    "draw": say("The draw is accepted. The game is over as soon as the other table knows."),
    "end": say("The game ends as soon as the other table knows. To end it at once, end it again."),
}


def remote_words(session: Session, remote: RemoteGame) -> tuple[str, str, frozenset[Seat]] | None:
    """Return the sign, the smaller line, and for whom they wait.

    None: nothing is waited for but what is to be done here.
    """
    text = say("Waiting for the other table")
    if session.phase is Phase.OVER:
        return None
    if remote.asked:
        return text, _ASKED[remote.asked], BOTH
    if remote.is_shown_here:
        return (
            text,
            say("Your board is right. The pieces there are still on their way."),
            frozenset({remote.seat}),
        )
    if session.phase is not Phase.ORDERS or session.awaited != {remote.seat}:
        return None
    if session.paused:
        return text, say("Its clock is stopped."), frozenset({remote.seat})
    if remote.own in session.sealed:
        small = say("The order is sealed and stays. Both are opened once both are sealed.")
        return text, small, frozenset({remote.seat})
    side = session.playing.sides[remote.seat].name
    small = say("{side!c} plays there. The pieces move here when that is done.", side=side)
    return text, small, frozenset({remote.seat})
