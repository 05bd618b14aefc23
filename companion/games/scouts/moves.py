"""Move generation for Scouts, on bit masks: all legal decisions, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import NamedTuple

from companion.core.kit import Seat
from companion.games.scouts.board import (
    ALL_SQUARES,
    AROUND,
    BOULDERS,
    FAR_RANKS,
    FILES,
    HOME_RANKS,
    JUMPS,
    NEIGHBOURS,
    NOT_LAST_FILE,
    ROCK_KINDS,
    neighbours_of,
    squares_in,
)
from companion.games.scouts.state import Decision, DecisionKind, Position, State

# Squares of a chain of jumps, including the start.
Chain = tuple[int, ...]


# ---- scouts --------------------------------------------------------------------------------------


def movable_scouts(position: Position) -> int:
    """Return the mask of scouts that may still make a play in this turn.

    The plays of a turn are made by different scouts (rulebook, "Turns and Plays"). Whether a scout
    has a legal play is not checked.
    """
    if position.plays_due and not position.is_won:
        return position.own & ~position.last_mover
    return 0


def dash_targets(position: Position, square: int) -> int:
    """Return the mask of squares to which a scout may dash (rulebook, "Dash").

    A dash goes to any of the eight neighbours without a rock. It may end on a single scout, but not
    on a stack. If stacking is off, it ends on no scout (ruling, "Stacks").
    """
    blocked = position.stacks if position.may_stack else position.scouts
    return AROUND[square] & ~(blocked | position.rock_squares)


def jump_chains(position: Position, square: int) -> Iterator[Chain]:
    """Yield every chain of jumps of a scout, each before its own continuations.

    A chain goes neither over nor onto a stack, and ends where the scout is turned over (rulebook,
    "Jump" and "Gathering Intel"). It also ends where the scout wins, and visits no square twice
    (rulings).
    """
    start = 1 << square
    stacks = position.stacks
    scouts = position.scouts
    # Scouts that can be jumped over: single ones other than the jumping scout.
    single = scouts & ~(stacks | start)
    # A scout on a stack can only dash (ruling), and a jump needs an adjacent scout.
    if stacks & start or not NEIGHBOURS[square] & single:
        return
    final_squares = (HOME_RANKS if position.intel & start else FAR_RANKS)[position.seat]
    empty = ALL_SQUARES & ~(scouts | position.rock_squares)
    # Each chain that may go on comes with the empty squares that it has not visited.
    unfinished: list[tuple[Chain, int]] = [((square,), empty)]
    while unfinished:
        chain, unvisited = unfinished.pop()
        for over, landing, target in JUMPS[chain[-1]]:
            if over & single and landing & unvisited:
                longer = (*chain, target)
                yield longer
                if not landing & final_squares:
                    unfinished.append((longer, unvisited ^ landing))


def shortest_chains(position: Position, square: int) -> list[Chain]:
    """Return the shortest chain to each square that the scout reaches by jumps.

    The tie-break is the alphabetical order of the notation.
    """
    best: dict[int, Chain] = {}
    for chain in jump_chains(position, square):
        shortest_yet = best.setdefault(chain[-1], chain)
        best[chain[-1]] = min(shortest_yet, chain, key=_length_and_name)
    return list(best.values())


def _length_and_name(chain: Chain) -> tuple[int, str]:
    return len(chain), str(Decision(DecisionKind.JUMP, chain))


def has_play(position: Position) -> bool:
    """Return whether a play is due that the seat on turn can make."""
    for square in squares_in(movable_scouts(position)):
        if dash_targets(position, square) or next(jump_chains(position, square), None):
            return True
    return False


# ---- rocks ---------------------------------------------------------------------------------------


def has_rock(position: Position, kind: DecisionKind) -> bool:
    """Return whether the seat on turn may still lay its boulder or its rock.

    Each of the two is laid once in a game, at any time in its owner's turn (rulebook, "Boulders").
    """
    index = 2 * position.seat + ROCK_KINDS.index(kind)
    return not (position.to_place or position.is_won or position.rocks[index])


def _free_for_rocks(position: Position) -> int:
    """Return the mask of squares that a rock may cover.

    They hold no scout and no rock, and are not orthogonally next to a rock (rulebook, "Boulders").
    """
    return ALL_SQUARES & ~(
        position.scouts | position.rock_squares | neighbours_of(position.rock_squares)
    )


class RockPlacing(NamedTuple):
    """A boulder or a rock in the narrow sense, and where it is laid."""

    kind: DecisionKind
    covered: int
    """Mask of the squares that it covers."""


def rock_placings(position: Position) -> Iterator[RockPlacing]:
    """Yield every legal boulder and rock of the seat on turn (rulebook, "Boulders")."""
    free = _free_for_rocks(position)
    # The lower squares of all free pairs along a file, and the left squares of those along a rank.
    # A shift by one wraps at the last file, so that file is excluded.
    pairs_along_file = free & free >> FILES
    pairs_along_rank = free & free >> 1 & NOT_LAST_FILE
    if has_rock(position, DecisionKind.BOULDER):
        # A boulder covers a pair along a file, and the pair beside it.
        for corner in squares_in(pairs_along_file & pairs_along_file >> 1 & NOT_LAST_FILE):
            yield RockPlacing(DecisionKind.BOULDER, BOULDERS[corner])
    if has_rock(position, DecisionKind.ROCK):
        for first_squares, step in ((pairs_along_rank, 1), (pairs_along_file, FILES)):
            for number in squares_in(first_squares):
                yield RockPlacing(DecisionKind.ROCK, 1 << number | 1 << number + step)


# ---- all decisions -------------------------------------------------------------------------------


def legal_decisions(
    position: Position, find_chains: Callable[[Position, int], Iterable[Chain]]
) -> Iterator[Decision]:
    """Yield every legal decision: placings, dashes, jumps, rocks, the end of the turn.

    :param find_chains: returns the chains of a scout: `jump_chains` for all of them, or
        `shortest_chains`
    """
    if position.is_won:
        return
    if position.to_place:
        # Any empty square of the side's home rank (rulebook, "Setup").
        for square in squares_in(HOME_RANKS[position.seat] & ~position.own):
            yield Decision(DecisionKind.PLACE, (square,))
        return
    can_play = False
    for square in squares_in(movable_scouts(position)):
        for target in squares_in(dash_targets(position, square)):
            can_play = True
            yield Decision(DecisionKind.DASH, (square, target))
        for chain in find_chains(position, square):
            can_play = True
            yield Decision(DecisionKind.JUMP, chain)
    for kind, covered in rock_placings(position):
        yield rock_decision(kind, covered)
    # A turn may end only if no play is due or possible (ruling).
    if not can_play:
        yield Decision(DecisionKind.END)


def rock_decision(kind: DecisionKind, covered: int) -> Decision:
    """Return the decision for a boulder or a rock that covers a mask of squares."""
    squares = tuple(squares_in(covered))
    return Decision(kind, squares if kind is DecisionKind.ROCK else squares[:1])


def legal_actions(state: State, seat: Seat) -> Iterator[Decision]:
    """Yield every legal action of a seat, with all chains of jumps."""
    if seat is state.seat:
        yield from legal_decisions(state.position, jump_chains)


def random_action(state: State, seat: Seat, rng: Random) -> Decision:
    """Return a random legal action, weighted so that random games end.

    Scouts prefer to move towards their goal, and rocks are rare.
    """
    actions = list(legal_actions(state, seat))
    weights = [_random_weight(state.position, action) for action in actions]
    return rng.choices(actions, weights)[0]


def _random_weight(position: Position, decision: Decision) -> float:
    """Return the relative probability of a decision for a random player.

    Scouts prefer to go towards the far rank, and home again once they have intel.
    """
    # Rocks fit nearly everywhere, so with the weight of plays they would all be laid at once. All
    # weights are chosen by eye.
    if decision.kind in (DecisionKind.BOULDER, DecisionKind.ROCK):
        return 0.02
    if decision.kind in (DecisionKind.PLACE, DecisionKind.END):
        return 6.0
    origin, *_, target = decision.squares
    ahead = target // FILES - origin // FILES
    # South's scouts without intel and North's with intel go up the board.
    goes_up = bool(position.seat) == bool(position.intel & 1 << origin)
    # Each rank ahead multiplies the weight by four, between one rank back and two ahead.
    return float(4.0 ** max(-1, min(2, ahead if goes_up else -ahead)))
