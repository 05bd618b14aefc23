"""The phones that want to go on for a seat that is played by its pad: whoever sits at the pad lets one in.

Nobody takes a seat from afar, and nobody lets in a phone that he does not mean. One phone a seat asks at a time; the
others stand in line. While it asks, the pad and the table screen show the mark that this phone shows too, and nothing
but the Back key, pressed after the mark had been there to be seen and held for a second, lets it in. A short press of
Back does what it always does, once the key is let go.

Each claim belongs to the browser that asked, by a nonce in its cookie. It ends when its minute is over, when it is
called off, and when its page is not open any more. An address that asked in vain waits longer every time; another one
may ask at once.
"""

from __future__ import annotations

import hmac
import math
import secrets
from collections import deque
from collections.abc import Collection, Hashable, Mapping, Set
from dataclasses import dataclass, field

from companion.core.errors import Illegal, Refusal, Stale
from companion.core.i18n import listed, say
from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey, Press
from companion.table.records import MoveSeat

Mark = frozenset[int]
"""Which of a pad's order lamps 1, 2, 3 blink."""
MARKS: tuple[Mark, ...] = tuple(map(frozenset, ((1,), (2,), (3,), (1, 2), (1, 3), (2, 3))))
"""Place and number tell them apart, no colour; all three together mean other things."""

CLAIM_S = 60.0
"""So long a phone's mark is shown."""
SEEN_S = 1.0
"""So long a mark must have been there before a press can answer it: nobody sees and answers it sooner."""
REST_S = 3.0
"""So long the pad shows nothing between two marks: nobody takes the new one for the old one."""
GONE_S = 10.0
"""A page that has not asked for so long is closed; it asks every two seconds."""
STUCK_S = 3.0
"""A key that is down for so long and was not reported as held is broken."""
IN_LINE = 4
"""So many phones may wait for one seat, each from another address."""
WAITS_S = (20.0, 60.0, 180.0, 600.0)
"""So long an address waits after its first, second, third and every further claim in vain."""
FORGIVEN_S = 3600.0
"""After so long without a claim in vain an address begins anew."""
ADDRESSES_KEPT = 256


@dataclass(frozen=True)
class ClaimView:
    """A claim as its own phone may see it.

    `mark`: what pad and table screen show for it now (None: it is not its turn yet). `left_s`: how long that lasts, or
    how long its turn is away at most.
    """

    mark: Mark | None
    left_s: float


@dataclass
class _Claim:
    nonce: str
    name: str
    address: str
    seen_s: float
    mark: Mark | None = None
    shown_s: float = 0.0


@dataclass(frozen=True)
class _Waiting:
    """A Back key that is down: for which claim it was pressed, and at which place of the game."""

    press: Press
    nonce: str
    place: Hashable


@dataclass
class _Line:
    """The phones that want one seat, in the order in which they came."""

    claims: list[_Claim] = field(default_factory=list)
    rests_until_s: float = 0.0
    shown_before: deque[Mark] = field(default_factory=lambda: deque(maxlen=2))
    down: _Waiting | None = None

    @property
    def shown(self) -> _Claim | None:
        """The claim whose mark is shown now."""
        return self.claims[0] if self.claims and self.claims[0].mark is not None else None

    def left_s(self, place: int, now_s: float) -> float:
        """How long the first claim has left, or in how long the one at another place comes first, at most."""
        first_s = CLAIM_S + max(0.0, self.rests_until_s - now_s)
        if self.shown:
            first_s = max(0.0, self.shown.shown_s + CLAIM_S - now_s)
        if place == 0:
            return first_s if self.shown else first_s - CLAIM_S
        return first_s + REST_S + (place - 1) * (CLAIM_S + REST_S)


class _InVain:
    """How often each address has asked in vain, and until when it waits; the last ones only."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[int, float]] = {}

    def waits_s(self, address: str, now_s: float) -> float:
        """How long this address must wait before it asks again."""
        times, ended_s = self._told.get(address, (0, 0.0))
        return max(0.0, ended_s + WAITS_S[min(times, len(WAITS_S)) - 1] - now_s) if times else 0.0

    def count(self, address: str, now_s: float) -> None:
        """One more."""
        times, ended_s = self._told.pop(address, (0, now_s))
        self._told[address] = (1 if now_s - ended_s >= FORGIVEN_S else times + 1, now_s)
        if len(self._told) > ADDRESSES_KEPT:
            del self._told[next(iter(self._told))]

    def forget(self, address: str) -> None:
        """It was let in."""
        self._told.pop(address, None)


class Claims:
    """The phones that want a seat; times are monotonic. Holds no lock: the table's one thread asks."""

    def __init__(self) -> None:
        self._lines = {seat: _Line() for seat in SEATS}
        self.in_vain = _InVain()

    # ---- what phones do ----

    def ask(self, seat: Seat, address: str, name: str, now_s: float) -> str:
        """A phone wants a seat; answers the nonce for its token, which is worth something once it is let in.

        Raises `Illegal` for an address that waits already or must wait, and where too many wait.
        """
        line = self._lines[seat]
        if wait_s := self.in_vain.waits_s(address, now_s):
            raise Illegal(
                Refusal.SEAT_TAKEN,
                say("This phone has asked and was not let in: it may ask again in {seconds} seconds", **_whole(wait_s)),
            )
        if len(line.claims) >= IN_LINE or any(claim.address == address for claim in line.claims):
            wait_s = line.left_s(len(line.claims), now_s)
            raise Illegal(
                Refusal.SEAT_TAKEN,
                say("Another phone is asking for this seat: wait {seconds} seconds at most", **_whole(wait_s)),
            )
        line.claims.append(_Claim(secrets.token_urlsafe(18), name, address, now_s))
        self._show_next(seat, now_s)
        return line.claims[-1].nonce

    def look(self, seat: Seat, nonce: str, now_s: float) -> ClaimView | None:
        """The claim of this nonce, whose page is open; None: there is none any more."""
        line = self._lines[seat]
        for place, claim in enumerate(line.claims):
            if hmac.compare_digest(claim.nonce.encode(), nonce.encode()):
                claim.seen_s = now_s
                return ClaimView(claim.mark, line.left_s(place, now_s))
        return None

    def busy_s(self, seat: Seat, now_s: float) -> float:
        """For how long another phone's claim is shown, at most; 0: none is."""
        line = self._lines[seat]
        return line.left_s(0, now_s) if line.shown else 0.0

    def call_off(self, seat: Seat, nonce: str, now_s: float) -> None:
        """The phone of this nonce does not want the seat any more."""
        line = self._lines[seat]
        for claim in [each for each in line.claims if hmac.compare_digest(each.nonce.encode(), nonce.encode())]:
            self._end(line, claim, now_s)

    # ---- what the pad does ----

    def takes(self, press: Press, place: Hashable) -> bool:
        """Is this press kept back, because it may become the answer to the phone whose mark is shown?"""
        if press.seat is None or press.key is not PadKey.BACK or press.held:
            return False
        line = self._lines[press.seat]
        if line.shown is None or press.at_s < line.shown.shown_s + SEEN_S:
            return False
        line.down = _Waiting(press, line.shown.nonce, place)
        return True

    def answers(self, press: Press) -> bool:
        """Does a key that is held answer a phone, and so nothing else: was it kept back when it was pressed?"""
        line = self._lines[press.seat] if press.seat else None
        return line is not None and press.held and line.down is not None and _same_key(line.down.press, press)

    def admitted(self, press: Press) -> MoveSeat | None:
        """The record that lets in the phone that a held key answers; None: that claim has ended meanwhile."""
        line = self._lines[press.seat] if press.seat else None
        if line is None or line.down is None or not self.answers(press) or press.seat is None:
            return None
        nonce, line.down = line.down.nonce, None
        claim = line.shown
        return MoveSeat(press.seat, "phone", nonce, claim.name) if claim and claim.nonce == nonce else None

    def let_go(self, seat: Seat, place: Hashable) -> Press | None:
        """Back was let go before it was held: the short press that was kept back, if there is one.

        Raises `Stale` where the game has gone on since: it was meant for something else.
        """
        waiting, self._lines[seat].down = self._lines[seat].down, None
        if waiting is not None and waiting.place != place:
            raise Stale(say("That turn is over: look at the page again"))
        return waiting.press if waiting else None

    # ---- what the table does ----

    def close(self, seat: Seat) -> None:
        """The seat is not asked for any more: one phone is let in."""
        line = self._lines[seat]
        if line.shown:
            self.in_vain.forget(line.shown.address)
        self._lines[seat] = _Line(shown_before=line.shown_before)

    def keep(self, seats: Set[Seat], now_s: float) -> None:
        """Let time pass: forget claims on other seats than these and those that have ended; the next comes first."""
        for seat, line in self._lines.items():
            if seat not in seats:
                line.claims.clear()
                line.down = None
            if line.down is not None and now_s >= line.down.press.at_s + STUCK_S:
                line.down = None
            for claim in [each for each in line.claims if self._is_over(line, each, now_s)]:
                self._end(line, claim, now_s)
            self._show_next(seat, now_s)

    def marks(self) -> Mapping[Seat, Mark]:
        """The marks that pads and table screen show now."""
        return {seat: line.shown.mark for seat, line in self._lines.items() if line.shown and line.shown.mark}

    @staticmethod
    def _is_over(line: _Line, claim: _Claim, now_s: float) -> bool:
        if line.down is not None and line.down.nonce == claim.nonce:  # Back is down for it: it may still be held
            return False
        has_run_out = claim.mark is not None and now_s >= claim.shown_s + CLAIM_S
        return has_run_out or now_s >= claim.seen_s + GONE_S

    def _end(self, line: _Line, claim: _Claim, now_s: float) -> None:
        line.claims.remove(claim)
        if claim.mark is not None:
            self.in_vain.count(claim.address, now_s)
            line.rests_until_s = now_s + REST_S

    def _show_next(self, seat: Seat, now_s: float) -> None:
        """Give the first in line its mark: none that was there just before, and none that the other pad shows."""
        line, other = self._lines[seat], self._lines[seat.other]
        if line.shown or not line.claims or now_s < line.rests_until_s:
            return
        taken = {*line.shown_before, other.shown.mark if other.shown else None}
        claim = line.claims[0]
        claim.mark, claim.shown_s = secrets.choice([mark for mark in MARKS if mark not in taken]), now_s
        line.shown_before.append(claim.mark)


def mark_words(lamps: Collection[int]) -> str:
    """A mark in words, for ears and for whoever does not see the pad's lamps well.

    >>> print(mark_words((1, 3)))
    Lamps 1 and 3 are blinking at the pad.
    """
    numbers = listed(map(str, sorted(lamps)))
    if len(lamps) == 1:
        return say("Lamp {numbers} is blinking at the pad.", numbers=numbers)
    return say("Lamps {numbers} are blinking at the pad.", numbers=numbers)


def sentence_of(seat: Seat) -> str:
    """What the table says while a phone asks for a seat."""
    if seat is Seat.SOUTH:
        return say("A phone asks for South’s seat. If it shows the pad’s mark, hold Back on the pad to let it in.")
    return say("A phone asks for North’s seat. If it shows the pad’s mark, hold Back on the pad to let it in.")


def _same_key(one: Press, other: Press) -> bool:
    return (one.seat, one.key, one.at_s) == (other.seat, other.key, other.at_s)


def _whole(seconds: float) -> dict[str, int]:
    return {"seconds": max(1, math.ceil(seconds))}
