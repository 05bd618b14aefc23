"""The orders of a seat for a turn: their notation, all of them lazily, and one at random.

Source: Ruling 3, notation: `1:N 2:aE 3:D 4:X 5:-`, by rising robot numbers, each once, one blank
between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from random import Random

from companion.core.errors import Malformed
from companion.core.i18n import Verbatim, say
from companion.games.arena.board import DIRECTIONS

MOVES = {letter: index for index, letter in enumerate(DIRECTIONS)}
"""Orders to move, with the index of their direction."""
ATTACKS = {f"a{letter}": index for index, letter in enumerate(DIRECTIONS)}
"""Orders to attack, with the index of their direction."""
DEFEND = "D"
DESTRUCT = "X"
NOTHING = "-"
CODES = (*MOVES, *ATTACKS, DEFEND, DESTRUCT, NOTHING)
"""Every order that a robot can get."""

_WAYS = len(CODES) + 1
_GOLDEN = 0.6180339887
_PART = re.compile(r"([1-8]):(a?[NESW]|[DX-])")
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders by rising robot numbers, at least one: `((1, "N"), (3, "D"))`.

    A robot left out does nothing.

    >>> str(Orders(((1, "N"), (3, "D"))))
    '1:N 3:D'
    """

    given: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        return " ".join(f"{number}:{code}" for number, code in self.given)


def parse_orders(text: str) -> Orders:
    """Return the orders of a text such as `1:N 2:aE`.

    Raises `Malformed` naming the part that is wrong.
    """
    orders: list[tuple[int, str]] = []
    for part in text.split(" "):
        match = _PART.fullmatch(part)
        if not match:
            shown = part if len(part) <= _SHOWN else f"{part[:_SHOWN]}…"
            text = say(
                "“{text}” is not an order: write a robot from 1 to 8, a colon, and one of "
                "{orders}, such "
                "as 1:N 2:aE 3:D, separated by single spaces",
                text=Verbatim(shown),
                orders=Verbatim(" ".join(CODES)),
            )
            raise Malformed(text)
        number = int(match[1])
        if orders and number <= orders[-1][0]:
            last = orders[-1][0]
            text = say(
                "Robot {number} comes after robot {last}: list the robots in rising order, each "
                "once",
                number=number,
                last=last,
            )
            raise Malformed(text)
        orders.append((number, match[2]))
    return Orders(tuple(orders))


def marches(numbers: Sequence[int], way: str) -> Iterator[Orders]:
    """Yield the orders by which all of these robots go one way.

    Then the same with one of them defending instead, for each.

    >>> [str(orders) for orders in marches((1, 3), "N")]
    ['1:N 3:N', '1:D 3:N', '1:N 3:D']
    """
    yield Orders(tuple((number, way) for number in numbers))
    for still in numbers:
        yield Orders(tuple((number, DEFEND if number == still else way) for number in numbers))


def all_orders(numbers: Sequence[int]) -> Iterator[Orders]:
    """Yield all orders of these robots, each once: every robot left out or with one of `CODES`, at
    least one with.

    There are 12^n - 1 for n robots, 430 million for eight: so that any beginning of the row is a
    fair cross-section, it goes through the numbers of `orders_at` in equal strides of about the
    golden section of 12^n. The stride has no divisor in common with 12^n, so every number comes
    once, and 0, which orders nothing, would come last.
    """
    total = _WAYS ** len(numbers)
    stride = round(total * _GOLDEN)
    # without a common divisor the stride meets every number once
    while gcd(stride, total) > 1:
        stride += 1
    index = 0
    for _ in range(total - 1):
        index = (index + stride) % total
        yield orders_at(index, numbers)


def orders_at(index: int, numbers: Sequence[int]) -> Orders:
    """Return the orders with this number: its digits to base 12, the last for the first robot. 0:
    left out, k: `CODES[k-1]`.

    >>> str(orders_at(1 + 12 * 9, (1, 2, 4)))
    '1:N 2:D'
    """
    orders = []
    for number in numbers:
        index, digit = divmod(index, _WAYS)
        if digit:
            orders.append((number, CODES[digit - 1]))
    return Orders(tuple(orders))


def random_orders(numbers: Sequence[int], rng: Random) -> Orders:
    """Return one of `all_orders`, each equally likely, without counting them up."""
    # not 0, which orders nothing: a seat orders something at least once
    return orders_at(rng.randrange(1, _WAYS ** len(numbers)), numbers)
