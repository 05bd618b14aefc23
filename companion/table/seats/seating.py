"""Who sits where: seats are made free, moved and exchanged, and phones are let in at a pad's seat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from companion.core.errors import Illegal, Refusal, Stale
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.table.pipeline import Pipeline
from companion.table.records import AnyRecord, FreeSeat, MoveSeat, TakeSeat
from companion.table.seats.claims import Mark, sentence_of
from companion.table.session import Phase
from companion.table.state import NO_DRAFT
from companion.table.views import sitting_of


class Seating:
    """The seats of one table; every method but `nonce` is called by the table's thread."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def nonce(self, seat: Seat) -> str | None:
        """What the token of whoever sits there must carry; None: the seat is free."""
        sitter = self._pipeline.session.seats.get(seat)
        return sitter.nonce if sitter else None

    def accept_for(self, seat: Seat, sitting: str | None, record: AnyRecord) -> None:
        """Accept a record about somebody at a seat; raises `Stale` where that is not who sits there."""
        self._require(seat, sitting)
        self._pipeline.accept(record)

    def swap(self, sittings: Mapping[Seat, str]) -> None:
        """Let both sides change places, between two games."""
        session = self._pipeline.session
        for seat, sitting in sittings.items():
            self._require(seat, sitting)
        if session.phase not in (Phase.LOBBY, Phase.OVER):
            raise Illegal(Refusal.WRONG_PHASE, say("A game is on: seats can be changed between games"))
        sitters = dict(session.seats)
        frees = [FreeSeat(seat) for seat in sitters]
        takes = [
            TakeSeat(seat.other, sitter.name, sitter.nonce, sitter.door, sitter.card)
            for seat, sitter in sitters.items()
        ]
        if sitters:  # a phone that looked in between would find its seat free, and itself at the join page
            self._pipeline.accept_together([*frees, *takes])

    def let_in(self, record: MoveSeat) -> None:
        """A phone goes on for a pad's seat: what was entered at its pad and not handed in is gone."""
        self._pipeline.accept(record)
        live = self._pipeline.live
        self._pipeline.live = replace(live, drafts={**live.drafts, record.seat: NO_DRAFT})

    def show_claims(self, marks: Mapping[Seat, Mark]) -> None:
        """Which marks of phones that want a pad's seat the pads and the table screen show."""
        self._pipeline.live = replace(self._pipeline.live, claims=marks)
        self._pipeline.notices({f"claim of {seat}": sentence_of(seat) if seat in marks else "" for seat in SEATS})

    def _require(self, seat: Seat, sitting: str | None) -> None:
        if sitting is not None and sitting != sitting_of(self.nonce(seat)):
            raise Stale(say("Somebody else sits at {seat!c} by now, or nobody: check the page again", seat=seat))
