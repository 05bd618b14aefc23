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
from companion.core.i18n import Verbatim, say
from companion.games.scouts.board import BESIDE, BOULDERS, NAMES, NUMBERS, RANKS

_SQUARES = re.compile(r"[a-z][0-9]+(?P<sign>[-^])[a-z][0-9]+(?:(?P=sign)[a-z][0-9]+)*")
_MIXED = re.compile(r"[a-z][0-9]+(?:[-^][a-z][0-9]+){2,}")
_SQUARE = re.compile(r"[a-z][0-9]+")
_FORMS = "@c1, c1-d2, c1^c3, B@d5, R@d5-e5"
_LONGEST = 400
"""A text that is longer is no play: there are not so many squares."""


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


@lru_cache(maxsize=4096)
def read(text: str) -> Decision:
    """Return the decision of a notation. Raises `Malformed` that says what was expected.

    >>> read("c1^c3^e3")
    Decision(kind=<Kind.JUMP: 'jump'>, squares=(2, 18, 20))
    """
    if text == ".":
        return Decision(Kind.END)
    if len(text) > _LONGEST:
        raise Malformed(
            say("The move is longer than the board: expected {forms} or .", forms=_FORMS)
        )
    head, at, rest = text.partition("@")
    if at and head in ("", "B"):
        kind = Kind.BOULDER if head else Kind.PLACE
        return Decision(kind, (_number(rest, text),))
    if at and head == "R":
        return Decision(Kind.ROCK, _rock(rest, text))
    match = _SQUARES.fullmatch(text)
    if match is None:
        if _MIXED.fullmatch(text):
            sentence = say(
                "“{text}” mixes dash and jump: a dash is a move of its own, such as c1-d2",
                text=_short(text),
            )
            raise Malformed(sentence)
        raise _no_play(text)
    sign = match["sign"]
    squares = tuple(_number(name, text) for name in text.split(sign))
    if sign == "-" and len(squares) > 2:
        parts = {"text": _short(text), "number": len(squares) - 1}
        raise Malformed(
            say("“{text}” has {number} dashes: a dash has two squares, such as c1-d2", **parts)
        )
    return Decision(Kind.DASH if sign == "-" else Kind.JUMP, squares)


def _number(name: str, text: str) -> int:
    """Return the number of a square by its name."""
    if name in NUMBERS:
        return NUMBERS[name]
    if _SQUARE.fullmatch(name):
        parts = {"square": _short(name), "ranks": RANKS}
        raise Malformed(
            say("{square} is not on the board: files are a to h, ranks 1 to {ranks}", **parts)
        )
    raise _no_play(text)


def _rock(rest: str, text: str) -> tuple[int, int]:
    """Return both squares of a rock, the lower file or rank first."""
    names = rest.split("-")
    if len(names) != 2:
        raise Malformed(
            say(
                "“{text}” is not a rock: expected its two squares, such as R@d5-e5",
                text=_short(text),
            )
        )
    one, other = (_number(name, text) for name in names)
    # the lower number is the lower file or rank
    first = min(one, other)
    second = max(one, other)
    if not BESIDE[first] & 1 << second:
        sentence = say(
            "{one} and {other} are not side by side: a rock covers two neighbouring squares, such "
            "as R@d5-e5",
            one=NAMES[one],
            other=NAMES[other],
        )
        raise Malformed(sentence)
    if one > other:
        right = f"R@{NAMES[first]}-{NAMES[second]}"
        raise Malformed(
            say(
                "A rock is written with its lower file or rank first: expected {notation}",
                notation=right,
            )
        )
    return one, other


def _no_play(text: str) -> Malformed:
    return Malformed(
        say("“{text}” is not a move: expected {forms} or .", text=_short(text), forms=_FORMS)
    )


def _short(text: str) -> str:
    """Return a text for a message, cut where it is long."""
    return Verbatim(text if len(text) <= 40 else f"{text[:39]}…")
