"""Seats for remote phones: which one the host has offered, and whether the phone of one that is taken is there.

How such a phone reaches the table is nothing to it; `companion.hub` carries what it asks.
"""

from __future__ import annotations

import hmac
import math
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Seat
from companion.table.mailbox import Mailbox
from companion.table.pipeline import Pipeline
from companion.table.records import Pause, Resume, TakeSeat
from companion.table.session import FAR, LINE, Session

BACK_S = 10.0
"""So long a phone may take to find the table again once its line is back; then its clock goes on in any case."""
ASKS_S = 0.25
"""So often the line is asked for a sign of life before a time that is over counts."""


@dataclass(frozen=True)
class Invitation:
    """A seat that a remote phone may take: the code, and where it is entered."""

    code: str
    url: str

    @property
    def link(self) -> str:
        """Where the code is entered already."""
        return f"{self.url}{self.code}"


class FarSeats:
    """Every method may be called from any thread. An invitation is good for one sitting."""

    def __init__(self, pipeline: Pipeline, owner: Mailbox) -> None:
        self._pipeline = pipeline
        self._owner = owner
        self._invitations: Mapping[Seat, Invitation] = {}
        self._said = ""
        self._there: Collection[Seat] = ()
        self._heard_s = -math.inf
        self._held_until_s = math.inf
        self._is_let_run = False
        self._is_asking = False
        self._first: dict[str, int] = {}
        """The game that lay on the table when each phone was first there, by the nonce of its sitting."""
        self.when_offered: Callable[[Mapping[Seat, Invitation]], None] = lambda _: None
        """Told in the table's thread what is offered from now on."""
        self.ask_line: Callable[[], None] = lambda: None
        """The line is to give a sign of life; may be called by any thread."""
        pipeline.may_end = self._may_end

    @property
    def invitations(self) -> Mapping[Seat, Invitation]:
        """The seats that are offered."""
        return self._invitations

    def is_far(self, seat: Seat) -> bool:
        """Has a remote phone this seat?"""
        sitter = self._pipeline.session.seats.get(seat)
        return sitter is not None and sitter.door == FAR

    def seat_of(self, code: str) -> Seat | None:
        """The seat that is offered under this code; None: none is."""
        for seat, invitation in tuple(self._invitations.items()):
            if hmac.compare_digest(invitation.code.encode(), code.encode()):
                return seat
        return None

    def require_free(self, seat: Seat) -> None:
        """Raise `Illegal` where somebody sits."""
        if seat in self._pipeline.session.seats:
            raise Illegal(Refusal.SEAT_TAKEN, say("{seat!c} is taken: free the seat first", seat=seat))

    def invite(self, seat: Seat, invitation: Invitation) -> None:
        """Offer a seat; the code of before does not hold any more."""

        def offer() -> None:
            self.require_free(seat)
            self._offer({**self._invitations, seat: invitation})

        self._owner.ask(offer)

    def restore(self, seat: Seat, invitation: Invitation) -> None:
        """An invitation of an earlier run still holds, unless somebody sits there by now."""
        if seat not in self._pipeline.session.seats:
            self._invitations = {**self._invitations, seat: invitation}

    def withdraw(self, seat: Seat) -> None:
        """Offer this seat no longer; whoever has taken it stays."""
        self._owner.ask(lambda: self._drop(seat))

    def take(self, seat: Seat, name: str, code: str) -> str:
        """A remote phone sits down by this code; answers the nonce for the seat's token. Raises `Illegal`."""
        record = TakeSeat(seat, name, secrets.token_urlsafe(18), FAR)

        def sit() -> None:
            if self.seat_of(code) is not seat:
                raise Illegal(Refusal.JOIN_CODE, say("This invitation is over: ask the table’s host for another one"))
            self._pipeline.accept(record)
            self._drop(seat)

        self._owner.ask(sit)
        return record.nonce

    def line_is(self, trouble: str, there: Collection[Seat]) -> None:
        """Say on all pages whose remote phone is missing; `trouble`: why all are, `there`: who follows the table."""

        def show() -> None:
            self._there = there
            if trouble:
                self._held_until_s = math.inf
            elif self._held_until_s == math.inf:
                self._held_until_s, self._is_let_run = self._pipeline.now_s() + BACK_S, False
            if not trouble and all(seat in there for seat in SEATS if self.is_far(seat)):
                self._held_until_s = -math.inf
            told = []
            for seat in SEATS:
                if self.is_far(seat) and (trouble or seat not in there):
                    told.append(
                        trouble or say("{seat!c} plays remotely, but that phone is not connected now.", seat=seat)
                    )
            sentence = joined(" ", tuple(dict.fromkeys(told))) if told else ""
            if str(sentence) != self._said:
                self._said = str(sentence)
                self._pipeline.notice("far", sentence)

        self._owner.tell(show)

    # ---- whose time a line that is cut takes ----

    def heard(self, at_s: float) -> None:
        """The line was there at this time."""
        self._heard_s = at_s

    def seen(self, seat: Seat) -> None:
        """The phone of this seat asks for something: it has found the table again."""
        session = self._pipeline.session
        if session.number and (sitter := session.seats.get(seat)):
            self._first.setdefault(sitter.nonce, session.number)
        if session.is_cut:
            self._owner.tell(lambda: self._is_there(seat))

    def may_see(self, seat: Seat, game: int) -> bool:
        """Is this the game on the table, or one since which the phone of this seat has been here?"""
        session = self._pipeline.session
        sitter = session.seats.get(seat)
        return sitter is not None and self._first.get(sitter.nonce, session.number) <= game <= session.number

    def _is_there(self, seat: Seat) -> None:
        self._there = {*self._there, seat}
        self.keep(self._pipeline.now_s())

    def let_run(self) -> None:
        """The host waits no longer: until the line is back its time is charged to the remote phone."""
        self._is_let_run = self._held_until_s == math.inf

    def keep(self, now_s: float) -> None:
        """Stop the clock of a phone that the line does not reach, from its last sign of life on, or let it go on.

        Only the line between this table and its hub counts, which nobody with a phone can cut.
        """
        session = self._pipeline.session
        countdown, is_held = session.countdown, self._is_held(session, now_s)
        if session.is_cut and not is_held:
            self._pipeline.accept(Resume(LINE, now_s))
        elif is_held and countdown and countdown.since_s is not None:
            self._pipeline.accept(Pause(LINE, min(now_s, max(countdown.since_s, self._heard_s))))

    def pause_s(self, clock_s: float) -> float:
        """How long the table may sleep, where a clock lets it sleep so long."""
        return max(ASKS_S, clock_s) if self._is_asking else clock_s

    def _is_held(self, session: Session, now_s: float) -> bool:
        if self._is_let_run or now_s >= self._held_until_s:
            return False
        missing = (seat for seat in session.awaited if self._held_until_s == math.inf or seat not in self._there)
        return any(map(self.is_far, missing))

    def _may_end(self, due_s: float) -> bool:
        """Was the line there when the time of a remote phone was over? Where that is not known it is asked."""
        is_known = self._is_let_run or self._heard_s >= due_s
        self._is_asking = self._pipeline.session.awaits_far and not is_known
        if self._is_asking:
            self.ask_line()
        return not self._is_asking

    def _drop(self, seat: Seat) -> None:
        self._offer({each: one for each, one in self._invitations.items() if each is not seat})

    def _offer(self, invitations: Mapping[Seat, Invitation]) -> None:
        if invitations != self._invitations:
            self._invitations = invitations
            self.when_offered(invitations)
            self._pipeline.publish(self._pipeline.live)
