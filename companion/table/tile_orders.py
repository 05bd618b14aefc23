"""Orders as tiles behind walls: who has said that they lie, what the camera answers, and how they are handed in.

A row is read once everybody whose orders are due has said ready, and handed in by the same call as a pad's orders;
nothing of it is shown, logged or kept before.
"""

from __future__ import annotations

from dataclasses import replace

from companion.core.errors import CompanionError, Illegal, Refusal, Stale
from companion.core.i18n import say
from companion.core.kit import RowFault, RowSeen, RowsSeen, RowsWanted, Seat
from companion.core.ports import Cue, Signal
from companion.table.records import HandIn
from companion.table.session import Phase
from companion.table.state import NO_TILES, TileState
from companion.table.store import TableStore
from companion.table.turns import Turns

ANSWER_S = 12.0
"""A camera that has not answered by then does not see the board."""


class TileOrders:
    """Hands in what lies behind the walls; every method is called by somebody who holds the table."""

    def __init__(self, store: TableStore, turns: Turns) -> None:
        self._store = store
        self._turns = turns
        self._number = 0
        store.when_accepted(self._ask)

    def ready(self, seat: Seat, moment: str, is_ready: bool = True) -> None:
        """A seat's tiles lie, or no longer; raises `Illegal` where no tiles are read or no order is due, `Stale`."""
        session = self._store.session
        if session.kit is None or session.kit.order_tiles is None:
            raise Illegal(Refusal.WRONG_PHASE, say("This game has no order tiles: switch them on in its options"))
        if moment != session.moment:
            raise Stale(say("That turn is over: look at the page again"))
        if session.phase is not Phase.ORDERS or seat not in session.awaited or not session.is_here(seat):
            raise Illegal(Refusal.NOT_TO_ACT, say("No order is needed from this seat now"))
        tiles = self._store.live.tiles
        if (seat in tiles.ready) == is_ready:
            return
        ready = tiles.ready | {seat} if is_ready else tiles.ready - {seat}
        faults = {other: row for other, row in tiles.faults.items() if other is not seat}
        cue = Signal(Cue.KEY_TAKEN, frozenset({seat}), 3) if is_ready else Signal(Cue.KEY_BACK, frozenset({seat}))
        self._show(TileState(ready, faults), cue)
        self._ask()

    def seen(self, answer: RowsSeen) -> None:
        """What the camera has read; an answer to an older question is passed over."""
        tiles = self._store.live.tiles
        if tiles.wanted is None or tiles.wanted.number != answer.number:
            return
        faults = {seat: row for seat, row in answer.rows.items() if row.fault}
        if faults:
            self._show(TileState(tiles.ready - set(faults), faults), Signal(Cue.BOARD_WRONG, frozenset(faults)))
            return
        session, now_s = self._store.session, self._store.now_s()
        self._store.live = replace(self._store.live, tiles=NO_TILES)
        try:
            for seat in sorted(answer.rows):
                self._turns.hand_in(HandIn(seat, session.moment, answer.rows[seat].text, now_s=now_s))
        except CompanionError:  # a disk that refuses has been told: ready once more tries again
            self._show(NO_TILES, Signal(Cue.KEY_REFUSED, frozenset(answer.rows)))

    def keep(self) -> None:
        """Give up a question that the camera does not answer."""
        wanted = self._store.live.tiles.wanted
        if wanted and self._store.now_s() >= wanted.since_s + ANSWER_S:
            self.seen(RowsSeen(wanted.number, dict.fromkeys(wanted.seats, RowSeen(fault=RowFault.NO_BOARD))))

    def _ask(self) -> None:
        """Have the rows read once everybody who is to act is ready."""
        live, session = self._store.live, self._store.session
        people = set(filter(session.is_here, session.awaited))
        is_due = session.phase is Phase.ORDERS and people and people <= live.tiles.ready
        if not is_due or (live.tiles.wanted and live.tiles.wanted.seats == people):
            return
        self._number += 1
        wanted = RowsWanted(self._number, frozenset(people), self._store.now_s())
        self._show(replace(live.tiles, wanted=wanted))
        if live.watched:
            self._store.listeners.rows_wanted(wanted)
        else:
            rows = dict.fromkeys(wanted.seats, RowSeen(fault=RowFault.NO_BOARD))
            self.seen(RowsSeen(wanted.number, rows))

    def _show(self, tiles: TileState, *signals: Signal) -> None:
        self._store.publish(replace(self._store.live, tiles=tiles), signals)
