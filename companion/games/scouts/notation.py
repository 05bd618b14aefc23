"""The notation of Scouts: `@c1`, `c1-d2`, `c1^c3^e3`, `B@d5`, `R@d5-e5`, `.`.

Whatever is none of these is refused.

Only the form is asked for here. Whether the rules allow it is told by `refusals`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from companion.core.errors import Malformed
from companion.core.grid import numbers_in
from companion.core.i18n import Verbatim, say
from companion.games.scouts.board import BESIDE, BOULDERS, NUMBERS, RANKS

_SQUARE = "[a-z][0-9]+"
_EXPECTED = "@c1, c1-d2, c1^c3, B@d5, R@d5-e5"


class Kind(StrEnum):
    """What a decision is."""

    PLACE = "place"
    DASH = "dash"
    JUMP = "jump"
    BOULDER = "boulder"
    ROCK = "rock"
    END = "end"


class Decision(NamedTuple):
    """A decision read from its notation: its kind and its squares as numbers."""

    kind: Kind
    squares: tuple[int, ...] = ()

    @property
    def covered(self) -> int:
        """Return what a rock covers, as a mask. 0 when a boulder leaves the board."""
        if self.kind is Kind.BOULDER:
            return BOULDERS[self.squares[0]]
        return sum(1 << square for square in self.squares)


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
    """Return the decision of a notation. Raises `Malformed` that says what was expected.

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
    # the two squares of a rock are neighbours, the lower file or rank first
    if kind is Kind.ROCK and (squares[0] > squares[1] or not BESIDE[squares[0]] >> squares[1] & 1):
        raise Malformed(
            say("“{text}” is not a rock: expected its two squares, such as R@d5-e5", text=shown)
        )
    return Decision(kind, squares)
