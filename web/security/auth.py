"""Authentication: signed cookies, the owner key, and a check of where a request comes from.

Cookies prove who has a seat and who is the owner. The owner is `host` in addresses, cookies and
names of the program.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING

from flask import Response, request
from itsdangerous import BadSignature, URLSafeSerializer

from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Refusal, wrong_phase
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.table.views import sitting_of
from web.security.rate_limit import OWN_ADDRESSES, GuessLimit, Rate

if TYPE_CHECKING:
    from web.features import SiteConfig

# Lifetime of cookies in seconds, the maximum that browsers allow.
COOKIE_AGE_S = 400 * 24 * 3600
# Number of hexadecimal digits in the suffix by which the cookies of several tables on one machine
# differ. Eight are enough, because there are only a few tables.
COOKIE_SUFFIX_LENGTH = 8
# Maximum number of names that are remembered in a browser.
MAX_OFFERED_NAMES = 4
# Maximum number of wrong owner keys per address within `WRONG_KEYS_S`.
MAX_WRONG_KEYS = 5
# Seconds for which a wrong owner key counts.
WRONG_KEYS_S = 30.0


class ForeignOrigin(CompanionError, PermissionError):
    """A request that comes from another site's page."""

    kind = "foreign_origin"


class Auth:
    """Says who sends the current request, and sets the cookies that prove it.

    Each application has one `Auth`, which all its routes use. Methods read Flask's current request.
    The only state is the owner key and the recent wrong keys.

    `seat_nonce` returns the nonce (a random text) that the cookie of a seat must carry now, or None
    for a free seat. Whenever somebody sits down, the seat gets a new nonce, which makes older
    cookies void.
    """

    def __init__(
        self, site: SiteConfig, seat_nonce: Callable[[Seat], str | None], clock: Clock
    ) -> None:
        self._signer = URLSafeSerializer(site.signing_key, salt="tabletop-companion")
        # Browsers send a cookie to every port of a machine. Several tables may run on one machine,
        # so the names of cookies end in a digest of the table's own signing key.
        self._cookie_suffix = hashlib.sha256(site.signing_key).hexdigest()[:COOKIE_SUFFIX_LENGTH]
        self.host_key = site.host_key
        """The key that a person types to become the owner."""
        self.site = site
        self._seat_nonce = seat_nonce
        self._guesses = GuessLimit(
            Rate(MAX_WRONG_KEYS, MAX_WRONG_KEYS / WRONG_KEYS_S), clock.monotonic_s
        )

    # ---- seats ----

    def set_seat_cookie(self, answer: Response, seat: Seat, nonce: str) -> None:
        """Give this browser a seat."""
        self._set_cookie(answer, f"seat_{seat}", [str(seat), nonce])

    def drop_seat_cookie(self, answer: Response, seat: Seat) -> None:
        """Remove a seat from this browser."""
        self._delete_cookie(answer, f"seat_{seat}")

    def has_seat(self, seat: Seat) -> bool:
        """Return whether this browser has the seat."""
        return self._has_nonce(seat, self._seat_nonce(seat))

    def _has_nonce(self, seat: Seat, nonce: str | None) -> bool:
        content = self._cookie_nonce(seat)
        return bool(nonce) and hmac.compare_digest(content.encode(), str(nonce).encode())

    def _cookie_nonce(self, seat: Seat) -> str:
        """Return the nonce in the seat's cookie, even one of the past. Empty without a cookie."""
        match self._read_cookie(f"seat_{seat}"):
            case [name, nonce] if name == str(seat):
                return str(nonce)
        return ""

    def own_seats(self) -> tuple[Seat, ...]:
        """Return the seats of this browser."""
        return tuple(seat for seat in SEATS if self.has_seat(seat))

    def sitting_of(self, seat: Seat) -> str:
        """Return the id of the sitting (`SeatView.sitting`) for which this browser has a cookie."""
        return sitting_of(self._cookie_nonce(seat))

    def swapped_seats(self) -> tuple[tuple[Seat, str], ...]:
        """Return the seats to which swapping the sides has moved this browser, with their nonces.

        The browser's cookies still name the seats that it had before. Empty if nobody has swapped
        the sides since the cookies were set.
        """
        swapped = []
        for seat in SEATS:
            # after a swap the cookie of one seat carries the nonce of the other
            nonce = self._seat_nonce(seat.other)
            if nonce and self._has_nonce(seat, nonce):
                swapped.append((seat.other, nonce))
        return tuple(swapped)

    def require_seat(self, name: str) -> Seat:
        """Return the seat of this name, for a request that concerns its secrets.

        Raises `Illegal` unless this browser has the seat. A shared phone must also have the seat's
        page open.
        """
        seat = self.require_sitting(name)
        if self.is_shared_phone() and self.opened_seat() is not seat:
            raise Illegal(
                Refusal.NOT_YOUR_SEAT,
                say("This phone is covered: tap {seat!c}’s button first", seat=seat),
            )
        return seat

    def require_sitting(self, name: str) -> Seat:
        """Return the seat of this name, for a request that concerns no secrets.

        Raises `Illegal` unless this browser has the seat. Whether a shared phone has the seat's
        page open makes no difference.
        """
        seat = Seat(name)
        if not self.has_seat(seat):
            raise Illegal(
                Refusal.NOT_YOUR_SEAT,
                say(
                    "This browser does not sit at {seat!c}: take the seat, or ask the owner to "
                    "free it",
                    seat=seat,
                ),
            )
        return seat

    # ---- one phone for both seats, and remembered names ----

    def is_shared_phone(self) -> bool:
        """Return whether this browser is one phone for both seats (`web.routes.shared_phone`)."""
        has_pass_cookie = isinstance(self._read_cookie("pass"), str)
        # once one of its seats is freed, the phone is an ordinary one again
        return has_pass_cookie and self.own_seats() == SEATS

    def opened_seat(self) -> Seat | None:
        """Return the seat whose page is open on a shared phone, or None for the cover."""
        content = self._read_cookie("pass")
        return next((seat for seat in SEATS if seat == content), None)

    def set_pass_cookie(self, answer: Response, seat: Seat | None) -> None:
        """Share this phone between both seats, and open the page of one, or the cover (None)."""
        self._set_cookie(answer, "pass", str(seat) if seat else "")

    def drop_pass_cookie(self, answer: Response) -> None:
        """Stop sharing this phone between both seats."""
        self._delete_cookie(answer, "pass")

    def remembered_names(self) -> tuple[str, ...]:
        """Return the names that were used in this browser, the latest first."""
        content = self._read_cookie("names")
        return tuple(str(name) for name in content) if isinstance(content, list) else ()

    def remember_names(self, answer: Response, *names: str) -> None:
        """Remember these names for the next game in this browser, besides earlier ones."""
        new_names = [name.strip() for name in names if name.strip()]
        # a dict keeps the order of the names and drops those that are repeated
        offered = dict.fromkeys((*new_names, *self.remembered_names()))
        if new_names:
            self._set_cookie(answer, "names", list(offered)[:MAX_OFFERED_NAMES])

    # ---- the owner ----

    @property
    def host_token(self) -> str:
        """The content of the owner's cookie, which is a digest of the owner key."""
        return hashlib.sha256(_normalise_key(self.host_key).encode()).hexdigest()

    def change_host_key(self) -> str:
        """Replace the owner key and return it. Raises `Illegal`, `JournalError`."""
        if self.site.make_host_key is None:
            raise wrong_phase(say("The owner’s key cannot be changed here"))
        self.host_key = self.site.make_host_key()
        return self.host_key

    def set_host_cookie(self, answer: Response) -> None:
        """Make this browser the owner's."""
        self._set_cookie(answer, "host", self.host_token)

    def is_host(self) -> bool:
        """Return whether the owner sends the request, by the key in a header or by the cookie.

        Raises `Illegal` after too many wrong keys.
        """
        # programs send the key itself, browsers a cookie
        if (key := request.headers.get("X-Host-Key")) is not None:
            return self.check_host_key(key)
        return self._has_host_cookie()

    def _has_host_cookie(self) -> bool:
        content = self._read_cookie("host")
        if not isinstance(content, str):
            return False
        return hmac.compare_digest(content.encode(), self.host_token.encode())

    def require_host(self) -> None:
        """Raise `Illegal` unless the request comes from the owner, or after too many wrong keys."""
        if not self.is_host():
            raise Illegal(
                Refusal.HOST_ONLY,
                say("Only the owner can do that: open /host and enter the owner’s key"),
            )

    def check_host_key(self, key: str) -> bool:
        """Return whether this is the owner key. Wrong keys count as guesses.

        Raises `Illegal` after too many wrong keys from the same address.
        """

        def is_right() -> bool:
            return hmac.compare_digest(
                _normalise_key(key).encode(), _normalise_key(self.host_key).encode()
            )

        is_right_key = self._guesses.check_guess(request.remote_addr or "", is_right)
        if is_right_key is None:
            raise Illegal(
                Refusal.HOST_ONLY,
                say(
                    "Too many wrong owner’s keys: wait {seconds} seconds",
                    seconds=f"{WRONG_KEYS_S:.0f}",
                ),
            )
        return is_right_key

    # ---- the old phone that is the camera ----

    def set_camera_cookie(self, answer: Response, token: str) -> None:
        """Make this browser the camera."""
        self._set_cookie(answer, "camera", token)

    def camera_token(self) -> str:
        """Return the token in a phone camera's cookie, even one of the past. Empty without one."""
        content = self._read_cookie("camera")
        return content if isinstance(content, str) else ""

    # ---- who stands at the table ----

    def is_at_table(self) -> bool:
        """Return whether the request comes from the machine's own screen, the owner or a seat.

        The owner is recognised by the cookie only, see `requester`.
        """
        return is_own_screen() or self.requester() is not None

    def requester(self) -> str | None:
        """Return who sends the request: `south`, `north`, `host` for the owner, None for strangers.

        A browser with both seats counts as South. A program that sends the owner key in a header is
        a stranger here. Rate limits call this for every request, and each check of a wrong key
        would use up a guess.
        """
        own_seat = next((str(seat) for seat in SEATS if self.has_seat(seat)), None)
        return own_seat or ("host" if self._has_host_cookie() else None)

    # ---- cookies ----

    def cookie_name(self, name: str) -> str:
        """Return the full name of a cookie of this table."""
        return f"{name}_{self._cookie_suffix}"

    def _set_cookie(self, answer: Response, name: str, value: object) -> None:
        answer.set_cookie(
            self.cookie_name(name),
            self._signer.dumps(value),
            max_age=COOKIE_AGE_S,
            httponly=True,
            samesite="Lax",
        )

    def _delete_cookie(self, answer: Response, name: str) -> None:
        # also delete the cookie of version 1.0.0, see `_read_cookie`
        for full_name in (self.cookie_name(name), name):
            answer.delete_cookie(full_name, httponly=True, samesite="Lax")

    def _read_cookie(self, name: str) -> object:
        # Cookies of version 1.0.0 have the plain name. They stay valid, so that browsers keep their
        # seats.
        value = request.cookies.get(self.cookie_name(name)) or request.cookies.get(name, "")
        try:
            content: object = self._signer.loads(value)
        except BadSignature:
            return None
        return content


def is_own_screen() -> bool:
    """Return whether the request comes from this machine, and so from its own screen."""
    return request.remote_addr in OWN_ADDRESSES


def require_own_origin() -> None:
    """Raise `ForeignOrigin` if another site's page sends the request or embeds a page of ours."""
    # browsers report which site's page has sent the request (W3C Fetch Metadata)
    is_foreign = request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none")
    if request.method in ("GET", "HEAD", "OPTIONS"):
        # any site may link to a page, as long as it does not embed it
        is_foreign = is_foreign and request.headers.get("Sec-Fetch-Mode") != "navigate"
    elif origin := request.headers.get("Origin") or request.headers.get("Referer"):
        # `Referer` names the page of a form if `Origin` is missing
        host = origin.partition("://")[2].partition("/")[0]
        is_foreign = is_foreign or host != request.host
    if is_foreign:
        raise ForeignOrigin(
            say("This request comes from another site: use the companion’s own pages")
        )


def _normalise_key(key: str) -> str:
    """Return an owner key in lower case without dashes and spaces."""
    return "".join(key.split()).replace("-", "").lower()
