"""Input for the turn that is due: hand in, act, confirm, take back, ask, and lay tiles."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Literal

import msgspec

from companion.core.errors import CompanionError, Illegal, Malformed, Refusal, Stale, wrong_phase
from companion.core.i18n import say, to_owner
from companion.core.kit import RowFault, RowSeen, RowsSeen, RowsWanted, Seat
from companion.core.ports import Cue, Signal, signal_to
from companion.table.records import AskBack, Begin, HandIn, StageDone, Undo
from companion.table.session import Phase
from companion.table.state import (
    NO_REASONS,
    NO_TILES,
    TileState,
    explaining_machine,
    headline_of,
    headlines_of,
    instructions,
    must_wait,
)
from companion.table.store import TableStore

MAX_SALT = 64
DISAGREES_S = 5.0
"""Time in seconds for which the camera has to disagree before players can overrule it."""
ANSWER_S = 12.0
"""Timeout in seconds for the camera's answer. After that the board counts as not visible."""


class Turns:
    """Moves a turn forward or back. Callers of its methods hold the table."""

    def __init__(self, store: TableStore) -> None:
        self._store = store

    def hand_in(self, order: HandIn) -> str:
        """Seal a seat's action. Return its receipt, or an empty string while it waits for a still
        board.

        The same order with the same salt may be sent again and gets the same answer. A second press
        of a chess clock has no effect and no receipt. A missing salt and the time of day are filled
        in.
        """
        store, session = self._store, self._store.session
        seat, moment, salt = order.seat, order.moment, order.salt
        if salt and (len(salt) > MAX_SALT or not salt.isascii() or not salt.isalnum()):
            raise Malformed(say("A salt is at most {number} letters and digits", number=MAX_SALT))
        before = session.sealed_at(seat, moment)
        if before and salt and (before.action, before.salt) == (order.action, salt):
            return before.receipt
        # The same press again, while the first one waits for the camera with its own time.
        early = store.live.early
        is_again = early and (early.seat, early.action, early.salt) == (seat, order.action, salt)
        if is_again and salt and not order.read_s:
            return ""
        if session.bank and not order.read_s:
            # This is a second press of the key. The first one has ended the turn.
            if session.has_counted(seat, moment, order.action):
                return ""
            if must_wait(store.live, order):
                store.publish(replace(store.live, early=order))
                return ""
        salted = msgspec.structs.replace(
            order, salt=salt or secrets.token_hex(16), at=store.clock.wall_s()
        )
        store.accept_in_time(order.now_s, salted)
        sealed = store.session.sealed_at(seat, moment)
        return sealed.receipt if sealed else ""

    def act(self, moment: str, action: str, at_s: float) -> None:
        """Act for the seat on turn, if anybody at the table may do so in this game."""
        session = self._store.session
        session.require_now(moment)
        if not session.is_open:
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("Only the seat whose turn it is can do that"))
        if action not in session.open_actions and action not in self._store.live.laid.values():
            raise Illegal(
                Refusal.NOT_TO_ACT, say("That cannot be done from the table: use the seat’s phone")
            )
        (seat,) = session.awaited
        if session.is_machines(seat):
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("The machine plays this seat"))
        self.hand_in(HandIn(seat, moment, action, now_s=at_s))

    def undo(self, moment: str | None, asks: bool = False) -> None:
        """Undo the last turn: for the owner (None), or for anybody who names the moment in an open
        game.

        With `asks` the player whose turn it was is asked, if both seats have people.
        """
        if moment is not None:
            self._require_open(moment)
        session = self._store.session
        doers = list(session.turns[-1].sealed) if session.turns and asks else []
        if len(doers) == 1:
            other = doers[0].other
            # Act as if the other seat had asked, so that the player of the turn has to agree.
            if other in session.seats and not session.is_machines(other):
                self._store.accept(AskBack(other, session.moment, self._store.now_s()))
                return
        self._store.accept(Undo())

    def ask_back(self, seat: Seat, moment: str) -> None:
        """Undo the last turn for a seat, or ask the other seat if the turn was not its own."""
        self._require_open(moment)
        self._store.accept(AskBack(seat, moment, self._store.now_s()))

    def confirm(self, by: str, moment: str, stage: int, force: bool = False) -> None:
        """Confirm that the board is right, in the set-up or after a stage.

        If the camera sees the board and disagrees, this raises `Illegal` unless `force` overrules
        the camera.
        """
        session, now_s = self._store.session, self._store.now_s()
        if (moment, stage) != (session.moment, session.stage):
            raise Stale(say("That step is already done"))
        if self._store.live.sees_board:
            self._refuse_if_disagreeing(by, force)
        if session.phase is Phase.SETUP:
            self._store.accept(Begin(by, now_s))
        else:
            self._store.accept(StageDone(moment, stage, by, now_s))
        live = self._store.live
        # Overruled problems are not reported again in this step.
        if force and live.problems:
            self._store.publish(replace(live, overruled=frozenset(live.problems), problems=()))

    def read(self, by: str, moment: str, stage: int, number: int) -> None:
        """Mark the current headline as read. Raises `Stale` if another one is shown now."""
        live = self._store.live
        place = (live.session.moment, live.session.stage, live.headlines_read)
        if (moment, stage, number) != place or headline_of(live) is None:
            raise Stale(say("That step is already done"))
        if live.session.remote is None or not live.session.is_shown_here:
            self.read_on(by)

    def read_on(self, by: str) -> None:
        """Show the next headline, or end a stage after its last headline if hands have nothing to
        do.
        """
        live, session = self._store.live, self._store.session
        number = live.headlines_read + 1
        if session.has_moves or number < len(headlines_of(session)):
            self._store.publish(self._store.time_headline(replace(live, headlines_read=number)))
        else:
            self._store.accept(StageDone(session.moment, session.stage, by, self._store.now_s()))

    def help(self, is_wanted: bool, reasons: bool = False) -> None:
        """Show what the rules allow now, or why the machine acted as it did, or close this help."""
        live = self._store.live
        if is_wanted and live.session.phase is not Phase.ORDERS:
            raise wrong_phase(say("There is nothing to decide now: do as the sign says"))
        if is_wanted and reasons and explaining_machine(live) is None:
            raise wrong_phase(NO_REASONS)
        question: Literal["", "moves", "reasons"] = ""
        if is_wanted:
            question = "reasons" if reasons else "moves"
        if live.asked != question:
            self._store.publish(replace(live, asked=question))

    def _require_open(self, moment: str) -> None:
        """Raise `Stale` for another moment, and `Illegal` if only the owner may undo turns."""
        self._store.session.require_now(moment)
        if not self._store.session.is_open:
            raise Illegal(Refusal.HOST_ONLY, say("Only the owner can take this turn back"))

    def _refuse_if_disagreeing(self, by: str, force: bool) -> None:
        """Raise `Illegal` if the camera sees another layout, with a sentence for `by` on what it
        sees.

        `force` overrules a camera that has disagreed for `DISAGREES_S`. The owner need not wait.
        """
        live, now_s = self._store.live, self._store.now_s()
        kit = live.session.kit
        if live.session.target is None or live.reading is None or live.agrees or kit is None:
            return
        since_s = now_s if live.disagrees_since_s is None else live.disagrees_since_s
        self._store.live = live = replace(live, disagrees_since_s=since_s)
        if force:
            if by != "host" and now_s - since_s < DISAGREES_S:
                raise wrong_phase(say("The camera still looks: wait five seconds"))
            return
        if live.problems:
            raise wrong_phase(live.problems[0].text)
        todo = [i for i in instructions(live) if not i.move.done]
        if todo:
            # Begin with what the person who confirms has to do.
            first = min(todo, key=lambda i: i.seat != by)
            own = to_owner(first.text, kit.sides[first.seat].name)
            text = own if first.seat == by else first.text
            raise wrong_phase(say("Not seen yet: {todo}", todo=text))


class TileOrders:
    """Orders as tiles behind walls. Callers of its methods hold the table.

    The rows are read once all seats with orders due are ready. They are handed in by the same call
    as a pad's orders. Nothing of them is shown, logged or stored before.
    """

    def __init__(self, store: TableStore, turns: Turns) -> None:
        self._store = store
        self._turns = turns
        self._number = 0
        store.on_accept(self._ask)

    def ready(self, seat: Seat, moment: str, is_ready: bool = True) -> None:
        """Note that a seat's tiles lie, or no longer.

        Raises `Illegal` if no tiles are read or no order is due, and `Stale` for another moment.
        """
        session = self._store.session
        if session.kit is None or session.kit.order_tiles is None:
            raise wrong_phase(say("This game has no order tiles: switch them on in its options"))
        session.require_now(moment)
        if seat not in session.awaited or not session.is_here(seat):
            raise Illegal(Refusal.NOT_TO_ACT, say("No order is needed from this seat now"))
        tiles = self._store.live.tiles
        if (seat in tiles.ready) == is_ready:
            return
        ready = tiles.ready | {seat} if is_ready else tiles.ready - {seat}
        faults = {other: row for other, row in tiles.faults.items() if other is not seat}
        cue = signal_to(seat, Cue.KEY_TAKEN, 3) if is_ready else signal_to(seat, Cue.KEY_BACK)
        self._show(TileState(ready, faults), cue)
        self._ask()

    def take_answer(self, answer: RowsSeen) -> None:
        """Process the camera's answer. An answer to an older request is ignored."""
        tiles = self._store.live.tiles
        if tiles.wanted is None or tiles.wanted.number != answer.number:
            return
        faults = {seat: row for seat, row in answer.rows.items() if row.fault}
        if faults:
            self._show(
                TileState(tiles.ready - set(faults), faults),
                Signal(Cue.BOARD_WRONG, frozenset(faults)),
            )
            return
        session, now_s = self._store.session, self._store.now_s()
        # Clear first: each accepted order calls `_ask`, which would request the rows again.
        self._store.live = replace(self._store.live, tiles=NO_TILES)
        try:
            for seat in sorted(answer.rows):
                self._turns.hand_in(
                    HandIn(seat, session.moment, answer.rows[seat].text, now_s=now_s)
                )
        except CompanionError:  # the disk's error is shown, and ready tries again
            self._show(NO_TILES, Signal(Cue.KEY_REFUSED, frozenset(answer.rows)))

    def expire(self) -> None:
        """Give up a request that the camera does not answer in time."""
        wanted = self._store.live.tiles.wanted
        if wanted and self._store.now_s() >= wanted.since_s + ANSWER_S:
            self._answer_unseen(wanted)

    def _ask(self) -> None:
        """Request the rows once all people with orders due are ready."""
        if not self._store.live.tiles.ready:
            return
        live, session = self._store.live, self._store.session
        people = frozenset(filter(session.is_here, session.awaited))
        if not people or not people <= live.tiles.ready:
            return
        if live.tiles.wanted and live.tiles.wanted.seats == people:
            return
        self._number += 1
        wanted = RowsWanted(self._number, people, self._store.now_s())
        self._show(replace(live.tiles, wanted=wanted))
        if live.sees_board:
            self._store.listeners.request_rows(wanted)
        else:
            self._answer_unseen(wanted)

    def _answer_unseen(self, wanted: RowsWanted) -> None:
        """Answer a request like a camera that does not see the board."""
        rows = dict.fromkeys(wanted.seats, RowSeen(fault=RowFault.NO_BOARD))
        self.take_answer(RowsSeen(wanted.number, rows))

    def _show(self, tiles: TileState, *signals: Signal) -> None:
        self._store.publish(replace(self._store.live, tiles=tiles), signals)
