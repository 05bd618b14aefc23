"""The old phone that is the camera: a code that is good for one phone, and the phone that has used
it.
"""

from __future__ import annotations

import hmac
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from companion.core.files import MAX_TEXT, read_file, replace_file
from companion.core.i18n import say
from companion.core.network import new_code, plain_code
from web.security.rate_limit import Guesses, Rate

log = logging.getLogger(__name__)
CODE_LENGTH, MARK_LENGTH = 8, 16
CODE_S = 600.0
"""Seconds for which a code is good."""
EACH = Rate(5, 1 / 60)
"""Wrong codes of one address: five at once, then one a minute."""


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    """The file: the mark of the phone that is the camera."""

    phone: str = ""


class PhonePairing:
    """The one phone that is the camera, kept in a file over a restart."""

    def __init__(self, path: Path, now_s: Callable[[], float]) -> None:
        self._path, self._now_s = path, now_s
        self._guesses = Guesses(EACH, now_s)
        self._lock = threading.Lock()
        self._code, self._until_s = "", 0.0
        self.phone = self._read()
        """Mark of the phone. Empty: no phone is the camera."""

    def code(self) -> str:
        """Return the code for the next phone. One that was used or is too old is replaced."""
        with self._lock:
            if not self._code or self._now_s() >= self._until_s:
                self._code, self._until_s = new_code(CODE_LENGTH), self._now_s() + CODE_S
            return self._code

    def pair(self, typed: str, address: str) -> str:
        """Make a phone the camera in the place of any other and return its mark.

        Raises `Illegal`.
        """
        with self._lock:
            self._guesses.require(
                address,
                lambda: self._fits(plain_code(typed)),
                say("This code is used or too old: scan the one on the owner’s page now"),
                say("Too many wrong codes: wait a minute, then scan a new one"),
            )
            # used up: the next phone needs another code
            self._code = ""
            self._keep(new_code(MARK_LENGTH))
            return self.phone

    def remove(self) -> None:
        """Let no phone be the camera."""
        with self._lock:
            self._keep("")

    def is_camera(self, mark: str) -> bool:
        """Return whether the phone with this mark is the camera now."""
        return bool(self.phone) and hmac.compare_digest(mark.encode(), self.phone.encode())

    def _fits(self, code: str) -> bool:
        is_open = bool(self._code) and self._now_s() < self._until_s
        return is_open and hmac.compare_digest(code.encode(), self._code.encode())

    def _read(self) -> str:
        try:
            return msgspec.json.decode(read_file(self._path, MAX_TEXT), type=_Kept).phone
        except FileNotFoundError:
            return ""
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            log.warning("%s cannot be read: pair the old phone again", self._path)
            return ""

    def _keep(self, phone: str) -> None:
        self.phone = phone
        try:
            replace_file(self._path, msgspec.json.encode(_Kept(phone)))
        except OSError as error:
            log.warning("The old phone cannot be remembered: %s", error.strerror or error)
