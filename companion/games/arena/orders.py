"""The orders of a seat for one turn: notation, lazy enumeration, and random choice.

Source: Ruling 3. Notation: `1:N 2:aE 3:D 4:X 5:-`, by rising robot numbers without repetition,
separated by single spaces. Robot 1 moves north, 2 attacks east, 3 defends, 4 self-destructs, and 5
does nothing.
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

# Orders to move, with the index of their direction.
MOVES = {letter: index for index, letter in enumerate(DIRECTIONS)}
# Orders to attack, with the index of their direction.
ATTACKS = {f"a{letter}": index for index, letter in enumerate(DIRECTIONS)}

DEFEND = "D"
DESTRUCT = "X"
NOTHING = "-"
# All orders of a robot, as they are written after its number.
ORDER_CODES = (*MOVES, *ATTACKS, DEFEND, DESTRUCT, NOTHING)

# Number of choices for one robot: any order, or none.
_CHOICES = len(ORDER_CODES) + 1
# Golden ratio minus 1. The fractional parts of its multiples spread evenly from 0 to 1.
_GOLDEN_RATIO = 0.6180339887
# Pattern of the order of one robot: its number, a colon, and one of `ORDER_CODES`.
_ORDER_PATTERN = re.compile(r"([1-8]):(a?[NESW]|[DX-])")
# Maximum number of letters of a wrong order that its message quotes.
_MAX_QUOTED = 12


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders for one or more robots, by rising numbers: `((1, "N"), (3, "D"))`.

    A robot without an order does nothing.

    >>> str(Orders(((1, "N"), (3, "D"))))
    '1:N 3:D'
    """

    by_robot: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        return " ".join(f"{number}:{code}" for number, code in self.by_robot)


def parse_orders(text: str) -> Orders:
    """Parse the notation of a seat's orders, such as `1:N 2:aE`.

    Raises `Malformed`, whose message names the wrong part.
    """
    orders: list[tuple[int, str]] = []
    for part in text.split(" "):
        match = _ORDER_PATTERN.fullmatch(part)
        if not match:
            quoted = part if len(part) <= _MAX_QUOTED else f"{part[:_MAX_QUOTED]}…"
            message = say(
                "“{text}” is not an order: write a robot from 1 to 8, a colon, and one of "
                "{orders}, such as 1:N 2:aE 3:D, separated by single spaces",
                text=Verbatim(quoted),
                orders=Verbatim(" ".join(ORDER_CODES)),
            )
            raise Malformed(message)
        number = int(match[1])
        if orders and number <= orders[-1][0]:
            message = say(
                "Robot {number} comes after robot {last}: list the robots in rising order, each "
                "once",
                number=number,
                last=orders[-1][0],
            )
            raise Malformed(message)
        orders.append((number, match[2]))
    return Orders(tuple(orders))


def all_orders(numbers: Sequence[int]) -> Iterator[Orders]:
    """Yield all orders of the robots with these numbers, each once.

    Every robot has one of `ORDER_CODES` or no order, and at least one robot has an order. There are
    12^n - 1 combinations for n robots, 430 million for eight.

    The generator steps through the indexes of `orders_at`. Its stride is close to 12^n divided by
    the golden ratio, so the first orders are always a fair sample of all. The stride is coprime to
    12^n, so every index occurs once. Index 0, which has no order at all, would come last and is
    left out.
    """
    total = _CHOICES ** len(numbers)
    stride = round(total * _GOLDEN_RATIO)
    while gcd(stride, total) > 1:
        stride += 1
    index = 0
    for _ in range(total - 1):
        index = (index + stride) % total
        yield orders_at(index, numbers)


def orders_at(index: int, numbers: Sequence[int]) -> Orders:
    """Return the orders with this index in the enumeration of all orders.

    The digits of the index to base 12 are the orders. The last digit belongs to the first robot.
    Digit 0 is no order, and digit k is `ORDER_CODES[k-1]`.

    >>> str(orders_at(1 + 12 * 9, (1, 2, 4)))
    '1:N 2:D'
    """
    orders = []
    for number in numbers:
        index, digit = divmod(index, _CHOICES)
        if digit:
            orders.append((number, ORDER_CODES[digit - 1]))
    return Orders(tuple(orders))


def random_orders(numbers: Sequence[int], rng: Random) -> Orders:
    """Return one of `all_orders`, drawn uniformly, without enumerating them."""
    # Index 0 is excluded, because a seat gives at least one order.
    return orders_at(rng.randrange(1, _CHOICES ** len(numbers)), numbers)
