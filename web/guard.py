"""Who may do what: signed cookies for seats and host, the host's key, and requests from this origin only."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from urllib.parse import urlsplit

from flask import Request, Response
from itsdangerous import BadSignature, URLSafeSerializer

from companion.clock import Clock
from companion.errors import CompanionError, Illegal, Refusal
from companion.kit import SEATS, Seat
from companion.languages import say

COOKIE_AGE_S = 400 * 24 * 3600
"""As long as browsers allow: a seat is worth nothing any more once somebody else has its nonce."""
KNOWN_NAMES = 4
"""So many names are remembered in a browser."""
TRIES, TRIES_S = 5, 30.0
"""So many wrong host keys in so many seconds, then the door stays shut for the rest of them."""


class ForeignOrigin(CompanionError, PermissionError):
    """A request that another site makes a browser send."""

    kind = "foreign_origin"


class Guard:
    """Checks every request; holds no state but the last wrong host keys.

    `seat_nonce` answers what the cookie of a seat must carry now, None for a free seat.
    """

    def __init__(
        self, signing_key: bytes, host_key: str, seat_nonce: Callable[[Seat], str | None], clock: Clock
    ) -> None:
        self._signer = URLSafeSerializer(signing_key, salt="tabletop-companion")
        self._host_key = _plain_key(host_key)
        self._host_mark = hashlib.sha256(self._host_key.encode()).hexdigest()
        self._seat_nonce = seat_nonce
        self._clock = clock
        self._wrong_keys_s: list[float] = []

    # ---- seats ----

    def seat_cookie(self, answer: Response, seat: Seat, nonce: str) -> None:
        """Let this browser have a seat from now on."""
        self._set(answer, f"seat_{seat}", [str(seat), nonce])

    def drop_seat(self, answer: Response, seat: Seat) -> None:
        """Forget a seat in this browser."""
        answer.delete_cookie(f"seat_{seat}", httponly=True, samesite="Lax")

    def sits(self, request: Request, seat: Seat) -> bool:
        """Is this the browser that took the seat?"""
        nonce = self._seat_nonce(seat)
        carried = self._read(request, f"seat_{seat}")
        if nonce is None or not isinstance(carried, list) or len(carried) != 2:
            return False
        return carried[0] == str(seat) and hmac.compare_digest(str(carried[1]).encode(), nonce.encode())

    def seats_of(self, request: Request) -> tuple[Seat, ...]:
        """The seats of this browser."""
        return tuple(seat for seat in SEATS if self.sits(request, seat))

    def carries(self, request: Request, seat: Seat) -> bool:
        """Has this browser asked for the seat, or had it once?"""
        carried = self._read(request, f"seat_{seat}")
        return isinstance(carried, list) and carried[:1] == [str(seat)]

    def swapped(self, request: Request) -> tuple[tuple[Seat, str], ...]:
        """The seats, with their nonces, that this browser has since both sides have changed places; else none."""
        found = []
        for seat in SEATS:
            nonce, carried = self._seat_nonce(seat.other), self._read(request, f"seat_{seat}")
            if not nonce or not isinstance(carried, list) or len(carried) != 2 or carried[0] != str(seat):
                continue
            if hmac.compare_digest(str(carried[1]).encode(), nonce.encode()):
                found.append((seat.other, nonce))
        return tuple(found)

    def require_seat(self, request: Request, seat: Seat) -> None:
        """Raise `Illegal` unless this browser has the seat and, where it is passed, shows its side."""
        self.require_sitting(request, seat)
        if self.passes(request) and self.shown(request) is not seat:
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("This phone is covered: tap the key of {seat!c} first", seat=seat))

    def require_sitting(self, request: Request, seat: Seat) -> None:
        """Raise `Illegal` unless this browser has the seat; enough for what is nobody's secret."""
        if not self.sits(request, seat):
            raise Illegal(
                Refusal.NOT_YOUR_SEAT,
                say("This browser does not sit at {seat!c}: take the seat, or ask the host to free it", seat=seat),
            )

    # ---- one phone for both seats, and names ----

    def passes(self, request: Request) -> bool:
        """Is this one phone that is passed between both seats?"""
        return isinstance(self._read(request, "pass"), str) and all(self.sits(request, seat) for seat in SEATS)

    def shown(self, request: Request) -> Seat | None:
        """Which side such a phone shows; None: the cover."""
        carried = self._read(request, "pass")
        return next((seat for seat in SEATS if seat == carried), None)

    def pass_cookie(self, answer: Response, seat: Seat | None) -> None:
        """Pass this phone between both seats: it shows one, or the cover."""
        self._set(answer, "pass", str(seat) if seat else "")

    def drop_pass(self, answer: Response) -> None:
        """This phone is not passed any more."""
        answer.delete_cookie("pass", httponly=True, samesite="Lax")

    def names_of(self, request: Request) -> tuple[str, ...]:
        """The names that were used in this browser, the last one first."""
        carried = self._read(request, "names")
        return tuple(str(name) for name in carried) if isinstance(carried, list) else ()

    def remember_names(self, answer: Response, request: Request, *names: str) -> None:
        """Offer these names next time."""
        given = [name.strip() for name in names if name.strip()]
        kept = dict.fromkeys((*given, *self.names_of(request)))
        if given:
            self._set(answer, "names", list(kept)[:KNOWN_NAMES])

    # ---- the host ----

    def host_cookie(self, answer: Response) -> None:
        """Let this browser be the host's from now on."""
        self._set(answer, "host", self._host_mark)

    def is_host(self, request: Request) -> bool:
        """Does the request carry the host's cookie or key?"""
        if (key := request.headers.get("X-Host-Key")) is not None:
            return self.fits(key)
        carried = self._read(request, "host")
        return isinstance(carried, str) and hmac.compare_digest(carried.encode(), self._host_mark.encode())

    def require_host(self, request: Request) -> None:
        """Raise `Illegal` unless the host asks."""
        if not self.is_host(request):
            raise Illegal(Refusal.HOST_ONLY, say("Only the host can do that: open /host and enter the host key"))

    def fits(self, key: str) -> bool:
        """Is this the host key? Too many wrong ones in a short time raise `Illegal`."""
        now_s = self._clock.monotonic_s()
        self._wrong_keys_s = [at_s for at_s in self._wrong_keys_s if now_s - at_s < TRIES_S]
        if len(self._wrong_keys_s) >= TRIES:
            raise Illegal(
                Refusal.HOST_ONLY, say("Too many wrong host keys: wait {seconds} seconds", seconds=f"{TRIES_S:.0f}")
            )
        if hmac.compare_digest(_plain_key(key).encode(), self._host_key.encode()):
            return True
        self._wrong_keys_s.append(now_s)
        return False

    # ---- requests ----

    def require_own_origin(self, request: Request) -> None:
        """Raise `ForeignOrigin` for a request that another site's page sends; programs send neither header."""
        site = request.headers.get("Sec-Fetch-Site")
        origin = request.headers.get("Origin")
        foreign_site = site is not None and site not in ("same-origin", "none")
        foreign_origin = origin is not None and urlsplit(origin).netloc != request.host
        if foreign_site or foreign_origin:
            raise ForeignOrigin(say("This request comes from another site: use the companion’s own pages"))

    # ---- cookies ----

    def _set(self, answer: Response, name: str, value: object) -> None:
        signed = self._signer.dumps(value)
        text = signed.decode() if isinstance(signed, bytes) else signed
        answer.set_cookie(name, text, max_age=COOKIE_AGE_S, httponly=True, samesite="Lax")

    def _read(self, request: Request, name: str) -> object:
        try:
            carried: object = self._signer.loads(request.cookies.get(name, ""))
        except BadSignature:
            return None
        return carried


def is_own_screen(request: Request) -> bool:
    """Does this machine itself ask? Then who looks stands at the table's own screen."""
    return request.remote_addr in ("127.0.0.1", "::1")


def _plain_key(key: str) -> str:
    """A host key as people type it, without dashes, spaces and capitals."""
    return "".join(key.split()).replace("-", "").lower()
