"""Pebble: one pebble on a row of seven. By turns each moves it one or two squares. Who reaches the last one wins."""

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.grid import Square
from companion.core.kit import Board, Face, Kit, Seat, Side
from companion.games.base import (
    Event,
    Game,
    Options,
    Outcome,
    Rule,
    Stage,
    Step,
    plain_layout,
    plain_outcome,
)
from companion.games.events import CommonEvent

LAST = 6
SIDES = {
    Seat.SOUTH: Side("ice", "ice", "#8ED6EA", "disc"),
    Seat.NORTH: Side("crimson", "crimson", "#A8143C", "diamond"),
}
BOARD = Board("a row", 7, 1, square_mm=40, gap_mm=2, corners=(24, 25, 26, 27))
KIT = Kit("pebble", "Pebble", BOARD, SIDES, (Face("pebble", "disc", (28,), 8.0),), (("pebble",),))


class Pebble(Game[tuple[int, Seat], int]):
    """A state is where the pebble lies and who is on turn. An action is a number of squares."""

    name, title, summary = "pebble", "Pebble", "Move one pebble to the end"
    sides, options_type, option_rows = SIDES, Options, ()
    rules = (Rule("moving", "Moving", "Move the pebble one or two squares. Who reaches g1 wins."),)
    turn_rule = end_rule = "moving"

    def kit(self, options):
        return KIT

    def setup(self, options, rng):
        return 0, Seat.SOUTH

    def to_act(self, state):
        return frozenset() if state[0] == LAST else frozenset({state[1]})

    def legal_actions(self, state, seat):
        return [step for step in (1, 2) if state[0] + step <= LAST]

    def check(self, state, seat, action):
        if action not in self.legal_actions(state, seat):
            raise Illegal(Refusal.GAME_OVER, "That is beyond the row", "moving")

    def apply(self, state, actions, rng):
        ((seat, step),) = actions.items()
        after = state[0] + step, seat.other
        text = f"{SIDES[seat].name.capitalize()} moves {step}."
        event = Event(
            CommonEvent.MOVE,
            text,
            seat,
            str(Square(state[0], 0)),
            str(Square(after[0], 0)),
            rule="moving",
        )
        return Step(after, (event,), (Stage("Move", {}, (event,), self.expected(after)),))

    def outcome(self, state):
        return (
            Outcome(frozenset({state[1].other}), "The pebble lies on g1.")
            if state[0] == LAST
            else None
        )

    def expected(self, state):
        return {Square(state[0], 0): ("pebble",)}

    def view(self, state, seat):
        return self.dump(state)

    def dump(self, state):
        expected, outcome = plain_layout(self.expected(state)), plain_outcome(self.outcome(state))
        return {"expected": expected, "turn": state[1], "outcome": outcome}

    def parse(self, text):
        if text not in ("1", "2"):
            raise Malformed("A move is 1 or 2")
        return int(text)
