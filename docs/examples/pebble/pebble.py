"""Pebble: one pebble on a row of seven squares.

The sides take turns and move it one or two squares. Whoever reaches the last square wins.

This is about the least that a game needs. `companion.games.base` explains each method, and says
what else a game may have.
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
# Markers 24 to 28 belong to no game of the project.
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
        file, seat = state
        return frozenset() if file == LAST else frozenset({seat})

    def legal_actions(self, state, seat):
        file, _ = state
        return [steps for steps in ("1", "2") if file + int(steps) <= LAST]

    def apply(self, state, actions, rng):
        file, seat = state
        steps = actions[seat]
        target = file + int(steps)
        after = target, seat.other
        text = f"{SIDES[seat].name.capitalize()} moves {steps}."
        origin_name, target_name = str(Square(file, 0)), str(Square(target, 0))
        move = Event(CommonEvent.MOVE, text, seat, origin_name, target_name, rule="moving")
        # Hands carry out the whole turn at once, so it has one stage.
        stage = Stage("Move", {}, (move,), self.expected(after))
        return Step(after, (move,), (stage,))

    def outcome(self, state):
        file, seat = state
        if file < LAST:
            return None
        # The other side made the last move.
        return Outcome(frozenset({seat.other}), "The pebble lies on g1.")

    def view(self, state, seat):
        return self.common_view(state)

    def expected(self, state):
        file, _ = state
        return {Square(file, 0): ("pebble",)}
