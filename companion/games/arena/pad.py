"""How a pad spells the orders of a turn: robot by robot, by rising numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.arena.board import DIRECTIONS, INITIALS, WORDS
from companion.games.arena.orders import DEFEND, DESTRUCT, NOTHING, Orders, parse_orders
from companion.games.pads import Draft, Key, PadGrammar

_READY = "ready"
_SOUTH_DIRECTIONS = {"up": "N", "down": "S", "left": "W", "right": "E"}
"""Directions as South sees them. North sees the opposite ones."""
_OPPOSITE = dict(zip("NESW", "SWNE", strict=True))


@dataclass(frozen=True)
class OrdersPad(PadGrammar):
    """Pad grammar for the robots in `numbers`, one after the other. `length` is their number.

    A direction key moves. `a` and a direction attack, `a` twice self-destructs, `b` defends, and a
    short ready does nothing. `b` or ready after `a` cancel the `a`. Directions are seen from the
    seat: up is away from the player.

    Every key is accepted until all robots have an order, so that a refusal always means that the
    draft is full. Holding ready hands in the draft as it is. An attack without a direction and
    robots without an order then do nothing.
    """

    numbers: tuple[int, ...] = ()

    def count(self, draft: Draft) -> int:
        """Return how many robots have an order."""
        return len(self._codes(draft))

    def accepts(self, draft: Draft, pad: str) -> bool:
        """Return whether this key may follow.

        Every key of the pad may, ready included, until all robots have an order.
        """
        return (pad == _READY or self.key(pad) is not None) and self.count(draft) < self.length

    def text(self, draft: Draft) -> str:
        """Return the notation of the orders so far.

        Robots that do nothing are left out. If all do nothing, the text is the first robot's `-`.
        """
        # robots that the draft has not reached do nothing
        done = zip(self.numbers, self._codes(draft), strict=False)
        orders = tuple((number, code) for number, code in done if code)
        return str(Orders(orders or ((self.numbers[0], NOTHING),)))

    def spell(self, text: str) -> tuple[str, ...]:
        """Return the keys of orders: one or two for each robot, ready for an idle one."""
        orders = dict(parse_orders(text).given)
        pads = {key.letter: (key.pad,) for key in self.keys}
        keys_by_code = {DESTRUCT: ("a", "a"), NOTHING: (_READY,), **pads}
        keys_by_code |= {f"a{letter}": ("a", *pads[letter]) for letter in DIRECTIONS}
        codes = [orders.get(number, NOTHING) for number in self.numbers]
        return tuple(key for code in codes for key in keys_by_code[code])

    def _codes(self, draft: Draft) -> list[str]:
        """Return the codes of the robots that the draft covers. An empty code does nothing."""
        codes: list[str] = []
        aims = False
        for pad in draft:
            key = self.key(pad)
            if pad == "a" and not aims:
                aims = True
                continue
            if pad == "a":
                codes.append(DESTRUCT)
            elif key is None:
                # ready: this robot does nothing, and an `a` before it is cancelled
                codes.append("")
            else:
                codes.append(f"a{key.letter}" if aims and pad != "b" else key.letter)
            aims = False
        return codes


@lru_cache(maxsize=1024)
def pad_of(seat: Seat, numbers: tuple[int, ...]) -> OrdersPad:
    """Return the pad's grammar for a seat whose robots have these numbers."""
    keys = []
    for pad, south_letter in _SOUTH_DIRECTIONS.items():
        letter = south_letter if seat is Seat.SOUTH else _OPPOSITE[south_letter]
        index = DIRECTIONS.index(letter)
        label = say("move {direction}", direction=WORDS[index])
        keys.append(Key(letter, label, f"order-{pad}", pad, INITIALS[index]))
    keys.append(Key("a", say("attack, then its direction; twice: self-destruct"), "blade", "a"))
    keys.append(Key(DEFEND, say("defend"), "shield", "b"))
    return OrdersPad(tuple(keys), len(numbers), ready_is_key=True, numbers=numbers)
