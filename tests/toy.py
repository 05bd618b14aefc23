"""Helper: a sixth game of a few lines, in which two counters race along a strip of squares.

Tests play it to show that the rest of the program depends on no game's name. An action is the
number of ranks by which the counter of the seat on turn moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.grid import Square
from companion.core.kit import SEATS, Board, Face, Kit, Layout, Seat, Side
from companion.games.base import Event, Game, Options, Outcome, Rule, Step, View
from companion.games.events import CommonEvent

SIDES = {
    Seat.SOUTH: Side("white", "white", "#ffffff", "disc"),
    Seat.NORTH: Side("black", "black", "#000000", "diamond"),
}
FACES = (
    Face("white counter", "disc", (90,), 5.0, Seat.SOUTH),
    Face("black counter", "diamond", (91,), 5.0, Seat.NORTH),
)


@dataclass(frozen=True)
class Race:
    """The ranks of both counters from 0, South's first, and the seat on turn."""

    ranks: tuple[int, int] = (0, 0)
    turn: Seat = Seat.SOUTH


class Toy(Game[Race, int]):
    """A race. Each turn moves one counter by 1 or 2 ranks, and the first on rank 5 wins."""

    name = "toy"
    title = "Toy race"
    summary = "Two counters race to rank 5"
    sides = SIDES
    rules = (Rule("race", "Race", "Move one or two ranks. Rank 5 wins."),)
    turn_rule = end_rule = "race"

    def kit(self, options: Options) -> Kit:
        board = Board("strip", 2, 5, 30.0, 0.0, (80, 81, 82, 83))
        return Kit(
            "toy",
            self.title,
            board,
            SIDES,
            FACES,
            (("white counter",), ("black counter",)),
            tag_mm=18,
        )

    def setup(self, options: Options, rng: Random) -> Race:
        return Race()

    def to_act(self, state: Race) -> frozenset[Seat]:
        return frozenset() if self.outcome(state) else frozenset({state.turn})

    def legal_actions(self, state: Race, seat: Seat) -> Iterator[int]:
        rank = state.ranks[SEATS.index(seat)]
        yield from (
            (steps for steps in (1, 2) if rank + steps <= 4) if seat in self.to_act(state) else ()
        )

    def check(self, state: Race, seat: Seat, action: int) -> None:
        if state.ranks[SEATS.index(seat)] + action > 4:
            raise Illegal(Refusal.WRONG_PHASE, "That is beyond the strip", "race")

    def apply(self, state: Race, actions: Mapping[Seat, int], rng: Random) -> Step[Race]:
        (seat, steps) = next(iter(actions.items()))
        ranks = list(state.ranks)
        ranks[SEATS.index(seat)] = min(4, ranks[SEATS.index(seat)] + steps)
        after = replace(state, ranks=(ranks[0], ranks[1]), turn=seat.other)
        return Step(after, (Event(CommonEvent.MOVE, f"{SIDES[seat].name} goes {steps}", seat),))

    def outcome(self, state: Race) -> Outcome | None:
        home = [seat for seat, rank in zip(SEATS, state.ranks, strict=True) if rank == 4]
        return Outcome(frozenset(home), "First at rank 5.") if home else None

    def view(self, state: Race, seat: Seat | None) -> View:
        return {**self.common_view(state), "ranks": list(state.ranks), "turn": state.turn}

    def parse(self, text: str) -> int:
        if text not in ("1", "2"):
            raise Malformed("Say 1 or 2")
        return int(text)

    def expected(self, state: Race) -> Layout:
        south, north = state.ranks
        return {Square(0, south): ("white counter",), Square(1, north): ("black counter",)}
