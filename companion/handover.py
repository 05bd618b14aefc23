"""A phone that wants to go on for a seat that is played by its pad: whoever sits at the pad lets it in by its back key.

So nobody takes a seat from afar. What was sealed at the pad stays in force and hidden: a pad cannot tell whose hand it
was, so the phone may take the order back but never sees it.
"""

from __future__ import annotations

import secrets
from collections.abc import Set
from dataclasses import dataclass

from companion.kit import Seat
from companion.languages import joined, say
from companion.ports import PadKey, Press
from companion.records import MoveSeat

CLAIM_S = 60.0
"""So long a phone waits for the key."""


@dataclass(frozen=True)
class _Claim:
    nonce: str
    name: str
    until_s: float


class Claims:
    """The phones that wait, at most one a seat; times are monotonic."""

    def __init__(self) -> None:
        self._open: dict[Seat, _Claim] = {}

    def ask(self, seat: Seat, name: str, now_s: float) -> str:
        """A phone wants a seat; answers the nonce for its token, which is worth something once the key was held."""
        claim = _Claim(secrets.token_urlsafe(18), name, now_s + CLAIM_S)
        self._open[seat] = claim
        return claim.nonce

    def is_meant(self, press: Press) -> bool:
        """Does a press answer a phone, and nothing else?"""
        return press.seat in self._open and press.key is PadKey.BACK

    def let_in(self, press: Press) -> MoveSeat | None:
        """The record that lets the phone in; None until the key is held."""
        if press.seat is None or not press.held:
            return None
        claim = self._open.pop(press.seat)
        return MoveSeat(press.seat, "phone", claim.nonce, claim.name)

    def waits(self, seat: Seat) -> bool:
        """Does a phone wait for this seat?"""
        return seat in self._open

    def keep(self, seats: Set[Seat], now_s: float) -> bool:
        """Forget the claims on other seats than these, and those that have waited too long; were there any?"""
        gone = [each for each, claim in self._open.items() if each not in seats or now_s >= claim.until_s]
        for each in gone:
            del self._open[each]
        return bool(gone)

    def sentence(self) -> str:
        """What the table says meanwhile; empty: nothing waits."""
        south = say("Hold Back at South’s pad to let a phone in.")
        north = say("Hold Back at North’s pad to let a phone in.")
        told = {Seat.SOUTH: south, Seat.NORTH: north}
        return joined(" ", [told[seat] for seat in sorted(self._open)])
