"""Seats for phones far away: which one the host has offered, and whether the phone of one that is taken is there.

How such a phone reaches the table is nothing to it; `companion.hub` carries what it asks.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Seat
from companion.table.mailbox import Mailbox
from companion.table.pipeline import Pipeline
from companion.table.records import TakeSeat
from companion.table.session import FAR


@dataclass(frozen=True)
class Invitation:
    """A seat that a phone far away may take: the code, and where it is entered."""

    code: str
    url: str

    @property
    def link(self) -> str:
        """Where the code is entered already."""
        return f"{self.url}{self.code}"


class FarSeats:
    """Every method may be called from any thread. An invitation is good for one sitting, and until a restart."""

    def __init__(self, pipeline: Pipeline, owner: Mailbox) -> None:
        self._pipeline = pipeline
        self._owner = owner
        self._invitations: dict[Seat, Invitation] = {}
        self._said = ""

    @property
    def invitations(self) -> Mapping[Seat, Invitation]:
        """The seats that are offered."""
        return self._invitations

    def is_far(self, seat: Seat) -> bool:
        """Has a phone far away this seat?"""
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
            self._invitations = {**self._invitations, seat: invitation}
            self._pipeline.publish(self._pipeline.live)

        self._owner.ask(offer)

    def withdraw(self, seat: Seat) -> None:
        """Offer this seat no longer; whoever has taken it stays."""
        self._owner.ask(lambda: self._drop(seat))

    def take(self, seat: Seat, name: str, code: str) -> str:
        """A phone far away sits down by this code; answers the nonce for the seat's token. Raises `Illegal`."""
        record = TakeSeat(seat, name, secrets.token_urlsafe(18), FAR)

        def sit() -> None:
            if self.seat_of(code) is not seat:
                raise Illegal(Refusal.JOIN_CODE, say("This invitation is over: ask the table’s host for another one"))
            self._pipeline.accept(record)
            self._drop(seat)

        self._owner.ask(sit)
        return record.nonce

    def line_is(self, trouble: str, there: Collection[Seat]) -> None:
        """Say on all pages whose phone far away is missing; `trouble`: why all are, `there`: who follows the table."""

        def show() -> None:
            told = []
            for seat in SEATS:
                if self.is_far(seat) and (trouble or seat not in there):
                    told.append(
                        trouble or say("{seat!c} plays from afar, but that phone is not connected now.", seat=seat)
                    )
            sentence = joined(" ", tuple(dict.fromkeys(told))) if told else ""
            if str(sentence) != self._said:
                self._said = str(sentence)
                self._pipeline.notice("far", sentence)

        self._owner.tell(show)

    def _drop(self, seat: Seat) -> None:
        self._invitations = {each: one for each, one in self._invitations.items() if each is not seat}
        self._pipeline.publish(self._pipeline.live)
