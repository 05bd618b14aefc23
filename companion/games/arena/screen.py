"""What screens show beside the board of Robot Arena, the order sheet of a seat, and its pad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from companion.core.grid import Square
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Seat
from companion.games.arena.board import (
    DIRECTION_INITIALS,
    DIRECTION_WORDS,
    DIRECTIONS,
    SIDE_NAMES,
    STEPS,
)
from companion.games.arena.orders import (
    ATTACKS,
    DEFEND,
    DESTRUCT,
    MOVES,
    NOTHING,
    Orders,
    parse_orders,
)
from companion.games.arena.state import State, is_spawning_turn
from companion.games.arena.turn import ARM_STAGE, ATTACK_STAGE, DEFEND_STAGE, MOVE_STAGE
from companion.games.arena.words import points_text, robots_text
from companion.games.base import Stage
from companion.games.pads import Draft, Key, PadGrammar
from companion.games.screen import Badge, BoardUi, Direction, OrderKind, OrderSheet, Unit, UnitOrder

KINDS = (
    OrderKind("", say("Move"), "order-up", has_direction=True),
    OrderKind("a", say("Attack"), "blade", has_direction=True),
    OrderKind(DEFEND, say("Defend"), "shield"),
    OrderKind(DESTRUCT, say("Self-destruct"), "burst"),
)
_MOVE, _ATTACK, _DEFEND, _DESTRUCT = KINDS
_ARROW_DRAWINGS = ("order-up", "order-right", "order-down", "order-left")
_DIRECTIONS = tuple(
    Direction(letter, word.capitalize(), step, arrow, initial)
    for letter, word, step, arrow, initial in zip(
        DIRECTIONS, DIRECTION_WORDS, STEPS, _ARROW_DRAWINGS, DIRECTION_INITIALS, strict=True
    )
)


def board_ui(state: State, seat: Seat | None) -> BoardUi:
    """Return the hit points of all robots, the sums of both sides, and the order sheet.

    Only a seat that may act has an order sheet.
    """
    squares = state.terrain.squares
    full_points = state.options.hit_points
    facts: dict[Seat, str] = {}
    badges: dict[Square, Badge] = {}
    for owner, robots in zip(SEATS, state.robots, strict=True):
        points = sum(robot.hit_points for robot in robots)
        facts[owner] = joined(", ", (robots_text(len(robots)), points_text(points)))
        for robot in robots:
            badge = Badge(str(robot.hit_points), robot.hit_points / full_points)
            badges[squares[robot.place]] = badge
    sheet = None
    if seat and state.outcome is None:
        units = tuple(
            Unit(str(robot.number), squares[robot.place], points_text(robot.hit_points))
            for robot in state.robots[seat.number]
        )
        sheet = OrderSheet(units, KINDS, _DIRECTIONS, NOTHING)
    return BoardUi(
        sign=_sign(state, seat), hint=_hint(state), facts=facts, badges=badges, sheet=sheet
    )


def _sign(state: State, seat: Seat | None) -> str:
    """Return what the table waits for, for a seat or for everybody."""
    if state.outcome:
        return ""
    if seat is None:
        return say("Both: orders for your robots")
    return say("{side!c}: orders for your robots", side=SIDE_NAMES[seat.number])


def _hint(state: State) -> str:
    """Return a sentence on the turn and on the next turn in which robots appear."""
    if state.outcome:
        return ""
    options = state.options
    turn = state.turn
    hint = say("Turn {turn} of {turns}.", turn=turn, turns=options.turns)
    if not any(state.terrain.spawns) or not options.spawn_every:
        return hint
    if is_spawning_turn(options, turn):
        return joined(" ", (hint, say("New robots appear in this turn.")))
    # The next multiple of the interval.
    next_spawning = turn + options.spawn_every - turn % options.spawn_every
    if next_spawning > options.turns:
        return hint
    return joined(" ", (hint, say("New robots appear in turn {turn}.", turn=next_spawning)))


# ---- orders as they are revealed -----------------------------------------------------------------


def _order_with_direction(
    kind: OrderKind, code: str, direction: int, degrees_north: int
) -> UnitOrder:
    """Return a revealed move or attack, with the drawing turned to its direction.

    `direction` is an index in `DIRECTIONS`. The drawing of `kind` shows north when it is turned by
    `degrees_north` degrees.
    """
    words = joined(" ", (kind.label, DIRECTION_WORDS[direction]))
    return UnitOrder("", code, words, kind.drawing, degrees_north + 90 * direction)


# What is shown of an order before its stage. A robot's number replaces the empty `unit`.
_BLANK_ORDER = UnitOrder("")
# For each order the title of the stage that reveals it, and what is then shown of it. An order to
# do nothing has no stage, so the last stage reveals it.
_REVEALED_ORDERS = {
    DEFEND: (DEFEND_STAGE, UnitOrder("", DEFEND, _DEFEND.label, _DEFEND.drawing)),
    DESTRUCT: (ARM_STAGE, UnitOrder("", DESTRUCT, _DESTRUCT.label, _DESTRUCT.drawing)),
    NOTHING: ("", UnitOrder("", NOTHING, say("no order"))),
    # The arrow is drawn pointing up, so north needs no rotation.
    **{
        code: (MOVE_STAGE, _order_with_direction(_MOVE, code, index, 0))
        for code, index in MOVES.items()
    },
    # The blade is drawn pointing right, so north is rotated back by a quarter turn.
    **{
        code: (ATTACK_STAGE, _order_with_direction(_ATTACK, code, index, -90))
        for code, index in ATTACKS.items()
    },
}


def opened(
    state: State, actions: Mapping[Seat, Orders], stages: Sequence[Stage], stage: int
) -> Mapping[Seat, tuple[UnitOrder, ...]]:
    """Return each robot's order, blank until the stage that carries it out has been shown.

    With the last stage all orders are open. See `Game.opened`.
    """
    shown_titles = {part.title for part in stages[: stage + 1]}
    is_last_stage = stage + 1 >= len(stages)
    opened_orders = {}
    for seat, robots in zip(SEATS, state.robots, strict=True):
        codes = dict(actions[seat].by_robot)
        orders = []
        for robot in robots:
            title, order = _REVEALED_ORDERS[codes.get(robot.number, NOTHING)]
            if not is_last_stage and title not in shown_titles:
                order = _BLANK_ORDER
            orders.append(replace(order, unit=str(robot.number)))
        opened_orders[seat] = tuple(orders)
    return opened_orders


def order_words(number: int, code: str) -> str:
    """Return the order of a robot in words, such as “2: attack north”."""
    _, order = _REVEALED_ORDERS[code]
    return say("{unit}: {order}", unit=str(number), order=order.words)


def plan(state: State, seat: Seat, entered: str) -> tuple[Square | None, ...]:
    """Return the target square of each order entered so far. See `Game.plan`.

    It is the square that the robot would enter or attack, or else its own. None means a wall, a
    square off the board, or a robot that the seat does not have. Raises `Malformed`.
    """
    places = {robot.number: robot.place for robot in state.robots[seat.number]}
    squares: list[Square | None] = []
    for number, code in parse_orders(entered).by_robot if entered else ():
        place = places.get(number)
        direction = MOVES.get(code, ATTACKS.get(code))
        if place is not None and direction is not None:
            place = state.terrain.neighbours[place][direction]
        squares.append(None if place is None else state.terrain.squares[place])
    return tuple(squares)


# ---- pads ----------------------------------------------------------------------------------------


# The key ready in a draft: a robot does nothing.
_READY = "ready"
# Directions as South sees them. North sees the opposite ones.
_SOUTH_DIRECTIONS = {"up": "N", "down": "S", "left": "W", "right": "E"}
# The opposite of each direction, by their letters.
_OPPOSITE = dict(zip("NESW", "SWNE", strict=True))


@dataclass(frozen=True)
class OrdersPad(PadGrammar):
    """Pad grammar for the robots in `numbers`, one after the other. `length` is their number.

    A direction key is a move. `a` and then a direction is an attack, `a` twice a self-destruct, and
    `b` a defence. A short press of ready lets the robot do nothing. An `a` before `b` or ready is
    ignored. Directions are seen from the seat: up is away from the player.

    Every key is accepted until all robots have an order, so that a refusal always means that the
    draft is full. Holding ready hands in the draft as it is. An attack without a direction and
    robots without an order then do nothing.
    """

    numbers: tuple[int, ...] = ()

    def count(self, draft: Draft) -> int:
        """Return how many robots have an order."""
        return len(self._codes(draft))

    def accepts(self, draft: Draft, pad_key: str) -> bool:
        """Return whether this key may follow.

        Every key of the pad may, ready included, until all robots have an order.
        """
        is_key = pad_key == _READY or self.key(pad_key) is not None
        return is_key and self.count(draft) < self.length

    def text(self, draft: Draft) -> str:
        """Return the notation of the orders so far.

        Robots that do nothing are left out. If all do nothing, the text is the first robot's `-`.
        """
        # `zip` leaves out the robots that the draft has not reached.
        pairs = zip(self.numbers, self._codes(draft), strict=False)
        orders = tuple((number, code) for number, code in pairs if code != NOTHING)
        return str(Orders(orders or ((self.numbers[0], NOTHING),)))

    def spell(self, text: str) -> tuple[str, ...]:
        """Return the keys that spell orders: one or two for each robot, and ready for an idle one.

        They can spell every action. Raises `Malformed` for a text that is not an action.
        """
        orders = dict(parse_orders(text).by_robot)
        single_keys = {key.letter: (key.pad,) for key in self.keys}
        keys_by_code = {DESTRUCT: ("a", "a"), NOTHING: (_READY,), **single_keys}
        keys_by_code |= {f"a{letter}": ("a", *single_keys[letter]) for letter in DIRECTIONS}
        codes = [orders.get(number, NOTHING) for number in self.numbers]
        return tuple(key for code in codes for key in keys_by_code[code])

    def _codes(self, draft: Draft) -> list[str]:
        """Return the orders of the robots that the draft covers, each one of `ORDER_CODES`."""
        codes: list[str] = []
        # Whether the last key was an `a`, whose meaning the next key decides.
        is_attack_pending = False
        for pad_key in draft:
            key = self.key(pad_key)
            if pad_key == "a" and not is_attack_pending:
                is_attack_pending = True
                continue
            if pad_key == "a":
                codes.append(DESTRUCT)
            elif key is None:
                # Ready: this robot does nothing, and an `a` before it is cancelled.
                codes.append(NOTHING)
            elif is_attack_pending and pad_key != "b":
                codes.append(f"a{key.letter}")
            else:
                codes.append(key.letter)
            is_attack_pending = False
        return codes


@lru_cache(maxsize=1024)
def build_pad(seat: Seat, numbers: tuple[int, ...]) -> OrdersPad:
    """Return the pad's grammar for a seat whose robots have these numbers.

    In the notation, letters stand for directions of the board. North sits opposite, so its keys
    have the opposite letters.
    """
    keys = []
    for pad_key, south_letter in _SOUTH_DIRECTIONS.items():
        letter = south_letter if seat is Seat.SOUTH else _OPPOSITE[south_letter]
        index = DIRECTIONS.index(letter)
        label = say("move {direction}", direction=DIRECTION_WORDS[index])
        keys.append(Key(letter, label, f"order-{pad_key}", pad_key, DIRECTION_INITIALS[index]))
    keys.append(Key("a", say("attack, then its direction; twice: self-destruct"), "blade", "a"))
    keys.append(Key(DEFEND, say("defend"), "shield", "b"))
    return OrdersPad(tuple(keys), len(numbers), ready_is_key=True, numbers=numbers)
