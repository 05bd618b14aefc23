"""The notation of Scouts: `@c1`, `c1-d2`, `c1^c3^e3`, `B@d5`, `R@d5-e5`, `.`.

Only the form is checked here. Whether the rules allow a decision is checked in `legal`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from companion.core.errors import Malformed
from companion.core.grid import numbers_in
from companion.core.i18n import Verbatim, say
from companion.games.scouts.board import BESIDE, BOULDERS, NAMES, NUMBERS, RANKS

_SQUARE = "[a-z][0-9]+"
_EXPECTED = "@c1, c1-d2, c1^c3, B@d5, R@d5-e5"


class Kind(StrEnum):
    """Kind of a decision."""

    PLACE = "place"
    DASH = "dash"
    JUMP = "jump"
    BOULDER = "boulder"
    ROCK = "rock"
    END = "end"


class Decision(NamedTuple):
    """A decision: its kind and its squares as numbers. It is written in notation.

    >>> str(Decision(Kind.JUMP, (2, 18, 20)))
    'c1^c3^e3'
    """

    kind: Kind
    squares: tuple[int, ...] = ()

    def __str__(self) -> str:
        beginning, separator = _MARKS[self.kind]
        return beginning + separator.join([NAMES[square] for square in self.squares])

    @property
    def covered(self) -> int:
        """Return the mask of the squares under a rock, or 0 if a boulder leaves the board."""
        if self.kind is Kind.BOULDER:
            return BOULDERS[self.squares[0]]
        return sum(1 << square for square in self.squares)


_MARKS = {
    Kind.PLACE: ("@", ""),
    Kind.DASH: ("", "-"),
    Kind.JUMP: ("", "^"),
    Kind.BOULDER: ("B@", ""),
    Kind.ROCK: ("R@", "-"),
    Kind.END: (".", ""),
}
"""What stands before the first square of each kind, and between its squares."""
_FORMS = {
    Kind.PLACE: f"@{_SQUARE}",
    Kind.DASH: f"{_SQUARE}-{_SQUARE}",
    Kind.JUMP: rf"{_SQUARE}(?:\^{_SQUARE})+",
    Kind.BOULDER: f"B@{_SQUARE}",
    Kind.ROCK: f"R@{_SQUARE}-{_SQUARE}",
    Kind.END: r"\.",
}


@lru_cache(maxsize=4096)
def read(text: str) -> Decision:
    """Parse a decision from its notation. Raises `Malformed` with the expected forms.

    >>> read("c1^c3^e3")
    Decision(kind=<Kind.JUMP: 'jump'>, squares=(2, 18, 20))
    """
    shown = Verbatim(text if len(text) <= 40 else f"{text[:39]}…")
    kind = next((kind for kind, form in _FORMS.items() if re.fullmatch(form, text)), None)
    if kind is None:
        raise Malformed(
            say("“{text}” is not a move: expected {forms} or .", text=shown, forms=_EXPECTED)
        )
    squares = numbers_in(text, NUMBERS, RANKS)
    # The two squares of a rock are adjacent, with the lower number first.
    if kind is Kind.ROCK and (squares[0] > squares[1] or not BESIDE[squares[0]] >> squares[1] & 1):
        raise Malformed(
            say("“{text}” is not a rock: expected its two squares, such as R@d5-e5", text=shown)
        )
    return Decision(kind, squares)
