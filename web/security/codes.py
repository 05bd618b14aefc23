"""Codes that people type or scan: the join code for sitting down, and the pairing code for a phone
camera.

A join code is needed where strangers share the network.
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
from companion.core.network import new_code, plain_code
from companion.table.table import Table
from web.security.rate_limit import Guesses, Rate

log = logging.getLogger(__name__)
LENGTH = 6
EACH = Rate(5, 1 / 60)
"""Rate limit for wrong codes per address: five at once, then one a minute."""
CODE_LENGTH, MARK_LENGTH = 8, 16
CODE_S = 600.0
"""Seconds for which a pairing code is valid."""


class JoinCode:
    """The current join code. It changes when a game starts or a seat is freed, and is never written
    to disk.
    """

    def __init__(self, table: Table, now_s: Callable[[], float]) -> None:
        self._table = table
        self._guesses = Guesses(EACH, now_s)
        self._lock = threading.Lock()
        self._game, self._sitting = self._state()
        self._code = new_code(LENGTH)

    def now(self) -> str:
        """Return the code without separators."""
        with self._lock:
            game, sitting = self._state()
            # a new game, or somebody has left, but not when somebody sits down
            if game != self._game or not self._sitting <= sitting:
                self._code = new_code(LENGTH)
            self._game, self._sitting = game, sitting
            return self._code

    def require(self, typed: str, address: str) -> None:
        """Raise `Illegal` unless this is the code, in any spelling that people type."""
        code = plain_code(typed)
        if not code:
            raise Illegal(
                Refusal.JOIN_CODE, say("Enter the code that the table’s own screen shows")
            )
        self._guesses.require(
            address,
            lambda: hmac.compare_digest(code.encode(), self.now().encode()),
            say("That is not the code that the table’s own screen shows now"),
            say("Too many wrong codes: wait a minute, then look at the table’s screen"),
        )

    def _state(self) -> tuple[int, frozenset[str | None]]:
        """Return the number of the last game, and the nonces of the occupied seats."""
        nonces = (self._table.seat_nonce(seat) for seat in SEATS)
        return self._table.progress().number, frozenset(nonces)


class _PairingFile(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file: the mark of the paired phone."""

    phone: str = ""


class PhonePairing:
    """The one phone that is paired as the camera. A file keeps it over a restart."""

    def __init__(self, path: Path, now_s: Callable[[], float]) -> None:
        self._path, self._now_s = path, now_s
        self._guesses = Guesses(EACH, now_s)
        self._lock = threading.Lock()
        self._code, self._until_s = "", 0.0
        self.phone = self._read()
        """Mark of the phone, empty if no phone is the camera."""

    def code(self) -> str:
        """Return the code for the next phone. A used or expired code is replaced."""
        with self._lock:
            if not self._code or self._now_s() >= self._until_s:
                self._code, self._until_s = new_code(CODE_LENGTH), self._now_s() + CODE_S
            return self._code

    def pair(self, typed: str, address: str) -> str:
        """Make a phone the camera instead of any other, and return its mark.

        Raises `Illegal`.
        """
        with self._lock:
            self._guesses.require(
                address,
                lambda: self._fits(plain_code(typed)),
                say("This code is used or too old: scan the one on the owner’s page now"),
                say("Too many wrong codes: wait a minute, then scan a new one"),
            )
            # every code pairs only one phone
            self._code = ""
            self._store(new_code(MARK_LENGTH))
            return self.phone

    def remove(self) -> None:
        """Unpair the phone."""
        with self._lock:
            self._store("")

    def is_camera(self, mark: str) -> bool:
        """Return whether the phone with this mark is the camera."""
        return bool(self.phone) and hmac.compare_digest(mark.encode(), self.phone.encode())

    def _fits(self, code: str) -> bool:
        is_open = bool(self._code) and self._now_s() < self._until_s
        return is_open and hmac.compare_digest(code.encode(), self._code.encode())

    def _read(self) -> str:
        try:
            return msgspec.json.decode(
                read_file(self._path, MAX_TEXT_BYTES), type=_PairingFile
            ).phone
        except FileNotFoundError:
            return ""
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            log.warning("%s cannot be read: pair the old phone again", self._path)
            return ""

    def _store(self, phone: str) -> None:
        self.phone = phone
        try:
            replace_file(self._path, msgspec.json.encode(_PairingFile(phone)))
        except OSError as error:
            log.warning("The old phone cannot be remembered: %s", error.strerror or error)
