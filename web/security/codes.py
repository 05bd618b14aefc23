"""Codes that people type or scan: the join code for a seat, and the pairing code for a camera.

A join code is needed where strangers are on the same network. A pairing code makes an old phone the
camera of the table.
"""

from __future__ import annotations

import hmac
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from companion.core.errors import Illegal, Refusal
from companion.core.files import MAX_TEXT_BYTES, read_file, replace_file
from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.core.network import new_code, normalise_code
from companion.table.table import Table
from web.security.rate_limit import GuessLimit, Rate

log = logging.getLogger(__name__)
# Number of letters and digits of a join code. It is short, because people type it.
JOIN_CODE_LENGTH = 6
# Rate limit for wrong codes per address: five at once, then one a minute.
CODE_GUESS_RATE = Rate(5, 1 / 60)
# Number of letters and digits of a pairing code. It may be longer, because phones scan it.
PAIRING_CODE_LENGTH = 8
# Number of letters and digits of the token that identifies a phone by its cookie.
TOKEN_LENGTH = 16
# Seconds for which a pairing code is valid.
PAIRING_CODE_S = 600.0


class JoinCode:
    """The code that strangers need to sit down. Thread-safe.

    It changes when a game starts or a seat is freed, and is never written to disk. Only a table
    with the setting `[web] join = "code"` has one.
    """

    def __init__(self, table: Table, now_s: Callable[[], float]) -> None:
        self._table = table
        self._guesses = GuessLimit(CODE_GUESS_RATE, now_s)
        self._lock = threading.Lock()
        self._game, self._nonces = self._game_and_nonces()
        self._code = new_code(JOIN_CODE_LENGTH)

    def current(self) -> str:
        """Return the code without separators, renewed if a game has started or a seat was freed."""
        with self._lock:
            game, nonces = self._game_and_nonces()
            # each sitting at a seat has a nonce of its own, which is gone once the seat is freed
            has_somebody_left = not self._nonces <= nonces
            if game != self._game or has_somebody_left:
                self._code = new_code(JOIN_CODE_LENGTH)
            self._game = game
            self._nonces = nonces
            return self._code

    def require(self, typed: str, address: str) -> None:
        """Raise `Illegal` unless the typed text is the code, in any spelling that people type.

        Also raise it after too many wrong codes from the address.
        """
        code = normalise_code(typed)
        if not code:
            raise Illegal(
                Refusal.JOIN_CODE, say("Enter the code that the table’s own screen shows")
            )
        self._guesses.require_right_guess(
            address,
            lambda: hmac.compare_digest(code.encode(), self.current().encode()),
            say("That is not the code that the table’s own screen shows now"),
            say("Too many wrong codes: wait a minute, then look at the table’s screen"),
        )

    def _game_and_nonces(self) -> tuple[int, frozenset[str | None]]:
        """Return the number of the last game, and the nonces of the occupied seats."""
        nonces = {self._table.nonce_of(seat) for seat in SEATS}
        return self._table.progress().number, frozenset(nonces - {None})


class _PairingFile(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file: the token of the paired phone."""

    phone: str = ""


class PhonePairing:
    """The one phone that is paired as the camera. Thread-safe.

    The owner's page shows a code. The phone that sends this code gets a token for its cookie. The
    file at `path` keeps the token, so that the phone is still paired after a restart.
    """

    def __init__(self, path: Path, now_s: Callable[[], float]) -> None:
        self._path = path
        self._now_s = now_s
        self._guesses = GuessLimit(CODE_GUESS_RATE, now_s)
        self._lock = threading.Lock()
        self._code = ""
        self._expires_at_s = 0.0
        self.token = self._read_token()
        """Token of the paired phone, empty if no phone is the camera."""

    def code(self) -> str:
        """Return the code for the next phone. A used or expired code is replaced."""
        with self._lock:
            if not self._code or self._now_s() >= self._expires_at_s:
                self._code = new_code(PAIRING_CODE_LENGTH)
                self._expires_at_s = self._now_s() + PAIRING_CODE_S
            return self._code

    def pair(self, typed: str, address: str) -> str:
        """Make a phone the camera instead of any other, and return its token.

        Raises `Illegal` for a wrong or expired code, and after too many such codes from the
        address.
        """
        with self._lock:
            self._guesses.require_right_guess(
                address,
                lambda: self._is_code(normalise_code(typed)),
                say("This code is used or too old: scan the one on the owner’s page now"),
                say("Too many wrong codes: wait a minute, then scan a new one"),
            )
            # every code pairs only one phone
            self._code = ""
            self._store_token(new_code(TOKEN_LENGTH))
            return self.token

    def remove(self) -> None:
        """Unpair the phone."""
        with self._lock:
            self._store_token("")

    def is_camera(self, token: str) -> bool:
        """Return whether the phone with this token is the camera."""
        # read the token once, because another thread may replace it between two readings
        current = self.token
        return bool(current) and hmac.compare_digest(token.encode(), current.encode())

    def _is_code(self, code: str) -> bool:
        is_valid = bool(self._code) and self._now_s() < self._expires_at_s
        return is_valid and hmac.compare_digest(code.encode(), self._code.encode())

    def _read_token(self) -> str:
        try:
            return msgspec.json.decode(
                read_file(self._path, MAX_TEXT_BYTES), type=_PairingFile
            ).phone
        except FileNotFoundError:
            return ""
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            log.warning("%s cannot be read: pair the old phone again", self._path)
            return ""

    def _store_token(self, token: str) -> None:
        self.token = token
        try:
            replace_file(self._path, msgspec.json.encode(_PairingFile(token)))
        except OSError as error:
            log.warning("The old phone cannot be remembered: %s", error.strerror or error)
