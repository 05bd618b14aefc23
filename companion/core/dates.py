"""Dates and times of day as each language writes them (Unicode CLDR 46: the long date, the short time)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

_MONTHS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ),
    "es": (
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
        "diciembre",
    ),
    "fr": (
        "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
        "décembre",
    ),
}  # fmt: skip


def long_date(at: datetime, language: str) -> str:
    """A day with its month in words.

    >>> long_date(datetime(2026, 11, 3), "es")
    '3 de noviembre de 2026'
    """
    of = " de " if language == "es" else " "
    return f"{at.day}{of}{_MONTHS[language][at.month - 1]}{of}{at.year}"


def time_of_day(at: datetime, language: str) -> str:
    """Hours and minutes.

    >>> time_of_day(datetime(2026, 11, 3, 9, 5), "es")
    '9:05'
    """
    return f"{at.hour}:{at.minute:02}" if language == "es" else f"{at.hour:02}:{at.minute:02}"
