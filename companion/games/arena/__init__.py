"""Robot Arena: secret orders for all robots, carried out together in a fixed order.

Each side has up to eight robots. In each turn a robot defends, moves, attacks or destroys itself. A
robot without hit points leaves the board. A side without robots loses. After the last turn the side
with more robots wins.

An action is the orders of a seat for its robots, such as `1:N 2:aE 3:D 4:X 5:-`: robot 1 moves
north, robot 2 attacks east, robot 3 defends, robot 4 destroys itself, and robot 5 does nothing.

The files of the game: `board` (maps, terrain, kit, events), `state` (options and positions),
`orders` (the notation of an action), `turn` (what orders do), `screen` (order sheet and pad),
`words` (texts for people) and `lesson`. “Ruling 3” in comments is the project's decision on what
the rulebook leaves open. `words` says it in the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from companion.core.errors import Illegal
from companion.core.i18n import say
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.games.arena.board import ROBOT_STACKS, SIDE_NAMES, SIDES, ArenaEvent, build_kit
from companion.games.arena.lesson import HELP, LESSON
from companion.games.arena.orders import (
    Orders,
    all_orders,
    parse_orders,
    random_orders,
)
from companion.games.arena.screen import board_ui, build_pad, opened, plan
from companion.games.arena.state import ArenaOptions, Reason, State, first_state, lead
from companion.games.arena.turn import carry_out
from companion.games.arena.words import OPTION_ROWS, RULES, build_extras
from companion.games.base import Game, Step, View
from companion.games.pads import PadGrammar
from companion.games.screen import Play


class Arena(Game[State, Orders]):
    """Robot Arena. An action is a seat's orders for its robots, such as `1:N 2:aE 3:D`."""

    name = "arena"
    title = say("Robot Arena")
    summary = say("Secret orders. All robots act at once.")
    minutes = 25
    how_to_win = (
        say("Secret orders for each robot"),
        say("Each hit takes 12 of 30"),
        say("Break theirs to win"),
    )
    sides = SIDES
    options_type = ArenaOptions
    option_rows = OPTION_ROWS
    rules = RULES
    events = ArenaEvent
    turn_rule = "orders"
    end_rule = "winning"
    lesson = LESSON
    help_words = HELP
    chosen_options = frozenset({"start"})

    extras = staticmethod(build_extras)
    lead = staticmethod(lead)
    parse = staticmethod(parse_orders)
    board_ui = staticmethod(board_ui)
    opened = staticmethod(opened)
    plan = staticmethod(plan)

    def kit(self, options: ArenaOptions) -> Kit:
        return build_kit(options.board)

    def setup(self, options: ArenaOptions, rng: Random) -> State:
        return first_state(options)

    def to_act(self, state: State) -> frozenset[Seat]:
        """Return both seats, which give sealed orders, or nobody once the game is over."""
        return frozenset() if state.outcome else frozenset(SEATS)

    def legal_actions(self, state: State, seat: Seat) -> Iterator[Orders]:
        """Yield all orders lazily: there are 12^n - 1 for n robots.

        They come in the sequence of `all_orders`, so that the first ones are a fair sample.
        """
        if state.outcome is None:
            yield from all_orders(state.numbers(seat.number))

    def random_action(self, state: State, seat: Seat, rng: Random) -> Orders:
        """Return a legal action drawn uniformly, without listing all of them."""
        return random_orders(state.numbers(seat.number), rng)

    def check(self, state: State, seat: Seat, action: Orders) -> None:
        """Raise `Illegal` for orders to robots off the board. All other orders are legal."""
        numbers = state.numbers(seat.number)
        for number, _ in action.by_robot:
            if number not in numbers:
                message = say(
                    "{colour!c} robot {number} is not on the board: give orders to robots that are "
                    "({numbers})",
                    colour=SIDE_NAMES[seat.number],
                    number=number,
                    numbers=", ".join(map(str, numbers)),
                )
                raise Illegal(Reason.NOT_ON_BOARD, message, "orders")

    def apply(self, state: State, actions: Mapping[Seat, Orders], rng: Random) -> Step[State]:
        return carry_out(state, (actions[Seat.SOUTH], actions[Seat.NORTH]))

    def view(self, state: State, seat: Seat | None) -> View:
        """Return the numbers of the coming and the last turn, the outcome, and each side's robots.

        Robots are listed by their numbers. A robot is `{"square": "b1", "points": 30}`. Everything
        on the board is public, and sealed orders are never part of a state. So the view is the same
        for everybody.
        """
        names = state.terrain.names
        robots = {
            seat: {
                str(robot.number): {"square": names[robot.place], "points": robot.hit_points}
                for robot in own_robots
            }
            for seat, own_robots in zip(SEATS, state.robots, strict=True)
        }
        return {
            **self.common_view(state),
            "turn": state.turn,
            "turns": state.options.turns,
            "robots": robots,
        }

    def expected(self, state: State) -> Layout:
        squares = state.terrain.squares
        return {
            squares[robot.place]: names[robot.number]
            for names, robots in zip(ROBOT_STACKS, state.robots, strict=True)
            for robot in robots
        }

    def turn_number(self, state: State) -> int:
        return state.turn

    def plays(self, state: State, seat: Seat) -> tuple[Play, ...]:
        """Return no plays, because orders are written on the order sheet."""
        return ()

    def pad(self, state: State, seat: Seat) -> PadGrammar | None:
        """Return the pad's grammar: one or two keys for each robot, by rising numbers."""
        if state.outcome:
            return None
        return build_pad(seat, state.numbers(seat.number))
