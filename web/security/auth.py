"""Who may do what: signed cookies for seats and host, the host's key, and requests from this origin
only.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from flask import Request, Response
from itsdangerous import BadSignature, URLSafeSerializer

from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.table.views import sitting_of
from web.security.rate_limit import OWN_ADDRESSES, Guesses, Rate

COOKIE_AGE_S = 400 * 24 * 3600
"""Age of cookies in seconds, the longest that browsers allow."""
COOKIE_MARK_LENGTH = 8
"""Length of what tells the cookies of several tables on one machine apart."""
MAX_OFFERED_NAMES = 4
"""Maximum number of names that a browser remembers."""
TRIES, TRIES_S = 5, 30.0
"""Maximum number of wrong host keys of one address, and the seconds in which they count."""


FOREIGN = say("This request comes from another site: use the companion’s own pages")


class ForeignOrigin(CompanionError, PermissionError):
    """A request that another site makes a browser send."""

    kind = "foreign_origin"


class Auth:
    """Checks every request. Its state is the host key and the last wrong ones.

    `seat_nonce` answers what the cookie of a seat must carry now, None for a free seat.
    `make_host_key` makes another host key, keeps it, and answers it; None: this one is for ever.
    """

    def __init__(
        self,
        signing_key: bytes,
        host_key: str,
        seat_nonce: Callable[[Seat], str | None],
        clock: Clock,
        make_host_key: Callable[[], str] | None = None,
    ) -> None:
        self._signer = URLSafeSerializer(signing_key, salt="tabletop-companion")
        # browsers send a cookie to every port of a machine, so its name says whose it is
        self._mark = hashlib.sha256(signing_key).hexdigest()[:COOKIE_MARK_LENGTH]
        self.host_key = host_key
        """The key that a person types to become the host."""
        self.is_key_used: Callable[[], bool] = lambda: True
        """Whether anybody has become the host by the key. Until then the own screen tells it."""
        self.note_key_used: Callable[[], None] = lambda: None
        self._seat_nonce = seat_nonce
        self._make_host_key = make_host_key
        self._guesses = Guesses(Rate(TRIES, TRIES / TRIES_S), clock.monotonic_s)

    # ---- seats ----

    def seat_cookie(self, answer: Response, seat: Seat, nonce: str) -> None:
        """Let this browser have a seat from now on."""
        self._set(answer, f"seat_{seat}", [str(seat), nonce])

    def drop_seat(self, answer: Response, seat: Seat) -> None:
        """Forget a seat in this browser."""
        self._delete(answer, f"seat_{seat}")

    def sits(self, request: Request, seat: Seat) -> bool:
        """Return whether this is the browser that took the seat."""
        return self._carries(request.cookies, seat, self._seat_nonce(seat))

    def _carries(self, cookies: Mapping[str, str], seat: Seat, nonce: str | None) -> bool:
        carried = self._nonce_of(cookies, seat)
        return bool(nonce) and hmac.compare_digest(carried.encode(), str(nonce).encode())

    def _nonce_of(self, cookies: Mapping[str, str], seat: Seat) -> str:
        """Return the nonce of the seat's cookie, whatever it is worth. Empty: there is none."""
        match self._read(cookies, f"seat_{seat}"):
            case [name, nonce] if name == str(seat):
                return str(nonce)
        return ""

    def seats_of(self, request: Request) -> tuple[Seat, ...]:
        """Return the seats of this browser."""
        return tuple(seat for seat in SEATS if self.sits(request, seat))

    def sitting(self, request: Request, seat: Seat) -> str:
        """Return which sitting at the seat this browser's cookie is about, see
        `SeatView.sitting`.
        """
        return sitting_of(self._nonce_of(request.cookies, seat))

    def swapped_seats(self, request: Request) -> tuple[tuple[Seat, str], ...]:
        """Return the seats, with their nonces, that this browser has since the sides were
        swapped.
        """
        swapped = []
        for seat in SEATS:
            # the cookie of one seat carries what the other's has to carry now
            nonce = self._seat_nonce(seat.other)
            if nonce and self._carries(request.cookies, seat, nonce):
                swapped.append((seat.other, nonce))
        return tuple(swapped)

    def require_seat(self, request: Request, name: str) -> Seat:
        """Return the seat of this name.

        Raises `Illegal` unless this browser has it and shows its side.
        """
        seat = self.require_sitting(request, name)
        if self.passes(request) and self.shown(request) is not seat:
            raise Illegal(
                Refusal.NOT_YOUR_SEAT,
                say("This phone is covered: tap {seat!c}’s button first", seat=seat),
            )
        return seat

    def require_sitting(self, request: Request, name: str) -> Seat:
        """Return the seat of this name, for what is nobody's secret.

        Raises `Illegal` unless it is theirs.
        """
        seat = Seat(name)
        if not self.sits(request, seat):
            raise Illegal(
                Refusal.NOT_YOUR_SEAT,
                say(
                    "This browser does not sit at {seat!c}: take the seat, or ask the owner to "
                    "free it",
                    seat=seat,
                ),
            )
        return seat

    # ---- one phone for both seats, and names ----

    def passes(self, request: Request) -> bool:
        """Return whether this is one phone that is passed between both seats."""
        is_passed = isinstance(self._read(request.cookies, "pass"), str)
        # once one seat is freed it is an ordinary phone again
        return is_passed and self.seats_of(request) == SEATS

    def shown(self, request: Request) -> Seat | None:
        """Return which side such a phone shows. None: the cover."""
        carried = self._read(request.cookies, "pass")
        return next((seat for seat in SEATS if seat == carried), None)

    def pass_cookie(self, answer: Response, seat: Seat | None) -> None:
        """Pass this phone between both seats. It shows one of them, or the cover (None)."""
        self._set(answer, "pass", str(seat) if seat else "")

    def drop_pass(self, answer: Response) -> None:
        """Pass this phone no longer."""
        self._delete(answer, "pass")

    def names_of(self, request: Request) -> tuple[str, ...]:
        """Return the names that were used in this browser, the last one first."""
        carried = self._read(request.cookies, "names")
        return tuple(str(name) for name in carried) if isinstance(carried, list) else ()

    def remember_names(self, answer: Response, request: Request, *names: str) -> None:
        """Offer these names next time."""
        known = [name.strip() for name in names if name.strip()]
        # each name once, the newest first
        offered = dict.fromkeys((*known, *self.names_of(request)))
        if known:
            self._set(answer, "names", list(offered)[:MAX_OFFERED_NAMES])

    # ---- the host ----

    @property
    def host_mark(self) -> str:
        """Return what the host's cookie carries. It changes with the key."""
        return hashlib.sha256(_plain_key(self.host_key).encode()).hexdigest()

    def change_host_key(self) -> str:
        """Replace the host key and return it. Raises `Illegal`, `JournalError`."""
        if self._make_host_key is None:
            raise Illegal(Refusal.WRONG_PHASE, say("The owner’s key cannot be changed here"))
        self.host_key = self._make_host_key()
        return self.host_key

    def host_cookie(self, answer: Response) -> None:
        """Let this browser be the host's from now on."""
        self._set(answer, "host", self.host_mark)

    def is_host(self, request: Request) -> bool:
        """Return whether the request carries the host's cookie or key."""
        # programs send the key along, browsers a cookie
        if (key := request.headers.get("X-Host-Key")) is not None:
            return self.fits(key, request.remote_addr or "")
        return self.has_host_cookie(request.cookies)

    def has_host_cookie(self, cookies: Mapping[str, str]) -> bool:
        """Return whether these are the cookies of the host's browser."""
        carried = self._read(cookies, "host")
        if not isinstance(carried, str):
            return False
        return hmac.compare_digest(carried.encode(), self.host_mark.encode())

    def require_host(self, request: Request) -> None:
        """Raise `Illegal` unless the host asks."""
        if not self.is_host(request):
            raise Illegal(
                Refusal.HOST_ONLY,
                say("Only the owner can do that: open /host and enter the owner’s key"),
            )

    def fits(self, key: str, address: str) -> bool:
        """Return whether this is the host key.

        Raises `Illegal` after too many wrong ones of an address.
        """

        def is_right() -> bool:
            return hmac.compare_digest(_plain_key(key).encode(), _plain_key(self.host_key).encode())

        fits = self._guesses.check(address, is_right)
        if fits is None:
            raise Illegal(
                Refusal.HOST_ONLY,
                say(
                    "Too many wrong owner’s keys: wait {seconds} seconds", seconds=f"{TRIES_S:.0f}"
                ),
            )
        return fits

    # ---- the old phone that is the camera ----

    def camera_cookie(self, answer: Response, mark: str) -> None:
        """Let this browser be the camera from now on."""
        self._set(answer, "camera", mark)

    def camera_mark(self, request: Request) -> str:
        """Return the mark of a phone that was made the camera, whatever it is worth. Empty: it
        never was.
        """
        carried = self._read(request.cookies, "camera")
        return carried if isinstance(carried, str) else ""

    # ---- who stands at the table ----

    def is_at_table(self, request: Request) -> bool:
        """Return whether the machine's own screen, the host or somebody who sits here asks."""
        return is_own_screen(request) or self.owner_of(request.cookies) is not None

    def owner_of(self, cookies: Mapping[str, str]) -> str | None:
        """Return whose browser has these cookies: `south`, `north`, `host`, or None for
        anybody's.
        """
        for seat in SEATS:
            if self._carries(cookies, seat, self._seat_nonce(seat)):
                return str(seat)
        return "host" if self.has_host_cookie(cookies) else None

    # ---- requests ----

    def require_own_origin(self, request: Request) -> None:
        """Raise `ForeignOrigin` for a request that another site's page sends."""
        # without `Origin` the page from which a form comes is known by `Referer`
        origin = request.headers.get("Origin") or request.headers.get("Referer")
        is_foreign = origin is not None and _netloc(origin) != request.host
        if is_foreign or _comes_from_other_site(request):
            raise ForeignOrigin(FOREIGN)

    def refuse_embedding(self, request: Request) -> None:
        """Raise `ForeignOrigin` if another site's page embeds one of ours."""
        # a link on another site is no embedding
        is_embedded = request.headers.get("Sec-Fetch-Mode") != "navigate"
        if is_embedded and _comes_from_other_site(request):
            raise ForeignOrigin(FOREIGN)

    # ---- cookies ----

    def cookie_name(self, name: str) -> str:
        """Return the name under which this table's browsers keep a cookie."""
        return f"{name}_{self._mark}"

    def _set(self, answer: Response, name: str, value: object) -> None:
        answer.set_cookie(
            self.cookie_name(name),
            self._signer.dumps(value),
            max_age=COOKIE_AGE_S,
            httponly=True,
            samesite="Lax",
        )

    def _delete(self, answer: Response, name: str) -> None:
        # the cookie of version 1.0.0 as well, see `_read`
        for used in (self.cookie_name(name), name):
            answer.delete_cookie(used, httponly=True, samesite="Lax")

    def _read(self, cookies: Mapping[str, str], name: str) -> object:
        # the plain name is that of version 1.0.0, whose browsers keep their seats
        value = cookies.get(self.cookie_name(name)) or cookies.get(name, "")
        try:
            carried: object = self._signer.loads(value)
        except BadSignature:
            return None
        return carried


def is_own_screen(request: Request) -> bool:
    """Return whether this machine itself asks, so that somebody stands at the table's own
    screen.
    """
    return request.remote_addr in OWN_ADDRESSES


def _comes_from_other_site(request: Request) -> bool:
    """Return whether the browser says that another site's page has sent it (Fetch Metadata)."""
    return request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")


def _netloc(url: str) -> str:
    """Return machine and port of an address. Empty for what is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _plain_key(key: str) -> str:
    """Return a host key without dashes, spaces and capitals."""
    return "".join(key.split()).replace("-", "").lower()
