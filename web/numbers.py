"""Numbers as people and programs type them into addresses, forms and headers."""

from __future__ import annotations

from companion.core.i18n import COMMA, spoken

MOST_DIGITS = 9


def whole_number(text: str) -> int | None:
    """A whole number from 0 on of at most nine digits; None: it is none, or a longer one, over which `int` may stumble.

    >>> [whole_number(text) for text in ("12", "007", "", "-1", "²", "9" * 5000)]
    [12, 7, None, None, None, None]
    """
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


def tenths(number: float) -> str:
    """A number to its first decimal, as the language spoken now writes it."""
    return f"{number:.1f}".replace(".", "," if spoken() in COMMA else ".")
