"""The code that whoever sits down must know where strangers share the network: it stands on the
table's own screen.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable

from companion.core.errors import Illegal, Refusal
from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.core.network import new_code, plain_code
from companion.table.table import Table
from web.security.rate_limit import Guesses, Rate

LENGTH = 6
EACH = Rate(5, 1 / 60)
"""Wrong codes of one address: five at once, then one a minute."""


class JoinCode:
    """The code of now, which changes with a new game or a freed seat and is never on disk."""

    def __init__(self, table: Table, now_s: Callable[[], float]) -> None:
        self._table = table
        self._guesses = Guesses(EACH, now_s)
        self._lock = threading.Lock()
        self._game, self._sitting = self._state()
        self._code = new_code(LENGTH)

    def now(self) -> str:
        """Return the code, without anything between its letters."""
        with self._lock:
            game, sitting = self._state()
            # a new game, or somebody has left; one more who sits down changes nothing
            if game != self._game or not self._sitting <= sitting:
                self._code = new_code(LENGTH)
            self._game, self._sitting = game, sitting
            return self._code

    def require(self, typed: str, address: str) -> None:
        """Raise `Illegal` unless this is the code, typed as people type."""
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
        """Return the number of the last game, and the tokens of those who sit at the table."""
        nonces = (self._table.seat_nonce(seat) for seat in SEATS)
        return self._table.progress().number, frozenset(nonces)
