"""Pebble: one pebble on a row of seven squares.

The sides take turns and move it one or two squares. Whoever reaches the last square wins.

`companion.games.base` explains each method, and says what else a game may have.
"""

from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit, Seat, Side
from companion.games.base import Event, Game, Outcome, Rule, Stage, Step
from companion.games.events import CommonEvent

LAST = 6  # the file of g1, counted from 0
SIDES = {
    Seat.SOUTH: Side("ice", "ice", "#8ED6EA", "disc"),
    Seat.NORTH: Side("crimson", "crimson", "#A8143C", "diamond"),
}
BOARD = Board("a row", 7, 1, square_mm=40, gap_mm=2, corners=(24, 25, 26, 27))
KIT = Kit("pebble", "Pebble", BOARD, SIDES, (Face("pebble", "disc", (28,), 8.0),), (("pebble",),))


class Pebble(Game[tuple[int, Seat], str]):
    """A state is a pair: the file of the pebble and the seat to move. An action is `1` or `2`."""

    name, title, summary = "pebble", "Pebble", "Move one pebble to the end"
    sides = SIDES
    rules = (Rule("moving", "Moving", "Move the pebble one or two squares. Who reaches g1 wins."),)
    turn_rule = end_rule = "moving"

    def kit(self, options):
        return KIT

    def setup(self, options, rng):
        return 0, Seat.SOUTH

    def to_act(self, state):
        return frozenset() if state[0] == LAST else frozenset({state[1]})

    def legal_actions(self, state, seat):
        return [steps for steps in ("1", "2") if state[0] + int(steps) <= LAST]

    def apply(self, state, actions, rng):
        file, seat = state
        target = file + int(actions[seat])
        after = target, seat.other
        text = f"{SIDES[seat].name.capitalize()} moves {actions[seat]}."
        origin, end = str(Square(file, 0)), str(Square(target, 0))
        move = Event(CommonEvent.MOVE, text, seat, origin, end, rule="moving")
        return Step(after, (move,), (Stage("Move", {}, (move,), self.expected(after)),))

    def outcome(self, state):
        if state[0] < LAST:
            return None
        return Outcome(frozenset({state[1].other}), "The pebble lies on g1.")

    def view(self, state, seat):
        return self.common_view(state)

    def expected(self, state):
        return {Square(state[0], 0): ("pebble",)}
