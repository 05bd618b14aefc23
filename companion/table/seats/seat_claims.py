"""The table's part in letting a phone in at a seat that is played by its pad: all of it in the table's one thread."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

from companion.core.clock import Clock
from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Press
from companion.table.mailbox import Mailbox
from companion.table.records import MoveSeat
from companion.table.seats.claims import Claims, ClaimView, Mark
from companion.table.seats.sitting import checked_name
from companion.table.session import Session


@dataclass(frozen=True)
class ClaimPort:
    """What the claims need of the table: its state, its word, and how marks come to be seen."""

    session: Callable[[], Session]
    accept: Callable[[MoveSeat], None]
    show: Callable[[Mapping[Seat, Mark]], None]


class SeatClaims:
    """What phones ask (from any thread, in words for people), and what the pads answer (in the table's thread)."""

    def __init__(self, owner: Mailbox, clock: Clock, port: ClaimPort) -> None:
        self._owner = owner
        self._clock = clock
        self._port = port
        self._claims = Claims()
        self._shown: Mapping[Seat, Mark] = {}

    # ---- phones, from any thread ----

    def ask(self, seat: Seat, name: str, address: str) -> str:
        """A phone wants to go on for a seat; answers the nonce for its token, worth something once it is let in.

        Raises `Illegal` for a seat that is not played by its pad, and for an address that must wait.
        """

        def work() -> str:
            sitter = self._port.session().seats.get(seat)
            if sitter is None or sitter.door != "pad":
                raise Illegal(Refusal.SEAT_TAKEN, say("Only a seat that is played by its pad can be asked for"))
            self.keep()
            nonce = self._claims.ask(seat, address, checked_name(name), self._clock.monotonic_s())
            self._show()
            return nonce

        return self._owner.ask(work)

    def look(self, seat: Seat, nonce: str) -> ClaimView | None:
        """The claim of the phone with this nonce, which says by asking that its page is open; None: there is none."""
        return self._owner.ask(lambda: self._claims.look(seat, nonce, self._clock.monotonic_s()))

    def busy_s(self, seat: Seat) -> float:
        """For how many seconds a phone's claim is shown at most; 0: none is."""
        return self._owner.ask(lambda: self._claims.busy_s(seat, self._clock.monotonic_s()))

    def call_off(self, seat: Seat, nonce: str) -> None:
        """The phone with this nonce does not want the seat any more."""

        def work() -> None:
            self._claims.call_off(seat, nonce, self._clock.monotonic_s())
            self._show()

        self._owner.ask(work)

    # ---- pads and time, in the table's thread ----

    def takes(self, press: Press) -> bool:
        """Is this press kept back or used up by a claim? Else it means what it always means.

        Raises `CompanionError` where the phone cannot be let in; its claim stays.
        """
        if self._claims.answers(press):
            moved = self._claims.admitted(press)
            if moved is not None:
                self._port.accept(moved)
                self._claims.close(moved.seat)
                self._show()
            return True
        return self._claims.takes(press, self._place())

    def let_go(self, seat: Seat) -> Press | None:
        """Back was let go: the short press that was kept back, to be played now. Raises `Stale`: too late for it."""
        return self._claims.let_go(seat, self._place())

    def keep(self) -> None:
        """Let time pass."""
        pads = {seat for seat, sitter in self._port.session().seats.items() if sitter.door == "pad"}
        self._claims.keep(pads, self._clock.monotonic_s())
        self._show()

    def _place(self) -> Hashable:
        session = self._port.session()
        return session.moment, session.phase, session.stage

    def _show(self) -> None:
        marks = self._claims.marks()
        if marks != self._shown:
            self._shown = marks
            self._port.show(marks)
