"""A position of Outbuffered, and what a turn does to it.

Both buffers of three orders are carried out pair by pair, and each pair is a step of the turn.
First both robots move. The game ends if a flag has come home. Then both shoot. The game ends if a
robot that was hit cannot return to its start tile. `carry_out` does that on a mutable `_Turn`.

Robots begin on their start tiles and flags on their bases. A robot that carries the other side's
flag to its own base wins. A seat is a number here, 0 for South and 1 for North, so that `1 - seat`
is the other seat. An order is its letter in the notation: `U D L R` move, `I` waits, and `S`
shoots. `letters` are South's and North's orders in one step.

Source: the rulebook's sections 2, 3 and "What if", completed by the project's rulings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import Limit, Options, Order, Outcome, Step
from companion.games.events import CommonEvent
from companion.games.outbuffered.board import (
    FLAG_FACES,
    MOVES,
    NORTH,
    ORDERS,
    ROBOT_FACES,
    SIDE_NAMES,
    SOUTH,
    STANDARD_MAP,
    OutbufferedEvent,
    Terrain,
)
from companion.games.screen import Headline
from companion.games.turn_log import TurnLog

# Drawing of each direction on a picture with South below.
_ARROW_DRAWINGS = {step: ORDERS[letter].drawing for letter, step in MOVES.items()}
# For each seat, the names of its own side and of the other side, as parts of a sentence.
_SIDE_AND_OTHER = tuple(
    {"side": SIDE_NAMES[seat], "other": SIDE_NAMES[1 - seat]} for seat in (SOUTH, NORTH)
)
# Kinds of events that restart the count for `quiet_limit`.
_EVENTFUL_KINDS = frozenset({OutbufferedEvent.FLAG_TAKEN, CommonEvent.SHOT})
# Sequence in which the headlines of a step are read, by their scene.
_SCENES_IN_SEQUENCE = ("bump", "taken", "hit", "")


class OutbufferedOptions(Options, frozen=True):
    """The options of Outbuffered: board and house rules. At a limit the game is a draw."""

    board: str = STANDARD_MAP
    """Text map, as `board.py` explains."""
    directions: Literal["seat", "board"] = "seat"
    """Whether North's `U` is away from North (`seat`), or up the board for both (`board`)."""
    own_flag_blocks_base: bool = False
    """Whether a robot bounces off its own flag even when it carries the other flag home."""
    turn_limit: Limit = 0
    """Maximum number of turns. 0 for none."""
    quiet_limit: Limit = 0
    """Maximum number of turns in a row without a flag taken or a robot hit. 0 for none."""
    tiles: bool = False
    """Whether orders may be laid as tiles behind a screen, where the camera reads them."""


@dataclass(frozen=True)
class State:
    """A position between two turns. Pairs are (South, North)."""

    options: OutbufferedOptions
    terrain: Terrain
    robots: tuple[Square, Square]
    flags: tuple[Square | None, Square | None]
    """Square of each seat's own flag, or None if the other robot carries it."""
    turn: int = 1
    """Number of the coming turn."""
    outcome: Outcome | None = None
    is_shut_out: bool = False
    """Whether the game has ended because a robot that was hit could not return to its start tile.

    That robot is then off the board, so the board is no longer checked.
    """
    last_eventful_turn: int = 0
    """Number of the last eventful turn, in which a flag was taken or a robot hit. 0 for none."""

    @property
    def quiet_turns(self) -> int:
        """The number of consecutive turns without a flag taken or a robot hit."""
        return self.turn - 1 - self.last_eventful_turn


class _Turn(TurnLog):
    """The mutable position during a turn. `state` is the position before the turn."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state
        self.terrain = state.terrain
        self.robots = list(state.robots)
        self.flags = list(state.flags)
        self.is_shut_out = False
        self.last_eventful_turn = state.last_eventful_turn


def carry_out(state: State, buffers: tuple[str, str]) -> Step[State]:
    """Carry out South's and North's buffer, pair by pair (rulebook, section 3)."""
    turn = _Turn(state)
    for step_number, letters in enumerate(zip(*buffers, strict=True), start=1):
        _carry_out_step(turn, letters)
        # The limits count whole turns.
        if step_number == 3 and turn.outcome is None:
            _end_at_limit(turn, state.turn - turn.last_eventful_turn)
        _complete_headlines(turn, letters)
        # If a robot cannot return to the board, there is no layout to check.
        layout = None if turn.is_shut_out else layout_of(turn.robots, turn.flags)
        orders = {
            seat: _build_order(state, index, letters[index]) for index, seat in enumerate(SEATS)
        }
        turn.add_stage(say("Step {number} of 3", number=step_number), layout, orders=orders)
        # The rest of both buffers is dropped (ruling).
        if turn.outcome:
            break
    after = replace(
        state,
        robots=(turn.robots[0], turn.robots[1]),
        flags=(turn.flags[0], turn.flags[1]),
        turn=state.turn + 1,
        outcome=turn.outcome,
        is_shut_out=turn.is_shut_out,
        last_eventful_turn=turn.last_eventful_turn,
    )
    return turn.build_step(after)


def _carry_out_step(turn: _Turn, letters: tuple[str, str]) -> None:
    """Carry out one pair of orders: first the moves, then the shots."""
    _move(turn, letters)
    _end_if_flag_home(turn)
    # A flag brought home ends the game before the shots of the step (ruling).
    if turn.outcome is None and "S" in letters:
        _shoot(turn, letters)
    if any(event.kind in _EVENTFUL_KINDS for event in turn.events_since_stage):
        turn.last_eventful_turn = turn.state.turn


def _complete_headlines(turn: _Turn, letters: tuple[str, str]) -> None:
    """Sort the headlines of a step, and add one for the end of the game or for two idle robots."""
    turn.headlines.sort(key=lambda headline: _SCENES_IN_SEQUENCE.index(headline.scene))
    if turn.outcome:
        turn.headlines.append(_end_headline(turn, turn.outcome))
    elif not turn.headlines and letters == ("I", "I"):
        turn.headlines.append(Headline(say("Both wait")))


def _end_at_limit(turn: _Turn, quiet_turns: int) -> None:
    """End in a draw at the limit of turns or of consecutive quiet turns."""
    options = turn.state.options
    turn_number = turn.state.turn
    if turn_number == options.turn_limit:
        text = say("Turn {number} was the last one: a draw.", number=turn_number)
        turn.end_game(None, text, "ties", say("Turn {number} was the last.", number=turn_number))
    elif options.quiet_limit and quiet_turns >= options.quiet_limit:
        text = say(
            "{number} turns without a flag taken or a robot hit: a draw.", number=quiet_turns
        )
        turn.end_game(None, text, "ties", say("{number} quiet turns.", number=quiet_turns))


def _end_headline(turn: _Turn, outcome: Outcome) -> Headline:
    """Return the last headline of a game."""
    if turn.is_shut_out or not outcome.winners:
        return Headline(outcome.reason)
    (seat,) = map(SEATS.index, outcome.winners)
    text = say("{side!c} brings {other}’s flag home", **_SIDE_AND_OTHER[seat])
    return Headline(text, "taken", (ROBOT_FACES[seat], FLAG_FACES[1 - seat]))


def plan(state: State, seat: Seat, entered: str) -> tuple[Square, ...]:
    """Return the square of the seat's robot after each order.

    The other robot is ignored, as if it did nothing and were not on the board.
    """
    index = seat.number
    turn = _Turn(state)
    squares: list[Square] = []
    for letter in entered:
        if letter in MOVES:
            target = state.terrain.neighbour(turn.robots[index], _direction(state, index, letter))
            if target is not None and _find_obstacle(turn, index, letter, target) is None:
                turn.robots[index] = target
                # A carried flag opens other squares, such as the robot's own base.
                _pick_up(turn, index)
        squares.append(turn.robots[index])
    return tuple(squares)


def _build_order(state: State, seat: int, letter: str) -> Order:
    """Return the order of a seat as it is revealed, with its drawings."""
    key = ORDERS[letter]
    on_board = key.drawing
    if letter in MOVES:
        on_board = _ARROW_DRAWINGS[_direction(state, seat, letter)]
    return Order(letter, key.drawing, on_board, key.initial)


def layout_of(robots: Sequence[Square], flags: Sequence[Square | None]) -> Layout:
    """Return the layout, with a flag under the robot that is on it or carries it."""
    stacks: dict[Square, tuple[str, ...]] = {}
    # A flag without a square is carried, so it is under its carrier.
    south_flag, north_flag = flags
    squares = (south_flag or robots[NORTH], north_flag or robots[SOUTH], *robots)
    for face, square in zip((*FLAG_FACES, *ROBOT_FACES), squares, strict=True):
        stacks[square] = (*stacks.get(square, ()), face)
    return stacks


# ---- moves ---------------------------------------------------------------------------------------


def _direction(state: State, seat: int, letter: str) -> tuple[int, int]:
    """Return the (files, ranks) of a move.

    North's directions are reversed if they are relative to the seat.
    """
    files, ranks = MOVES[letter]
    if seat == NORTH and state.options.directions == "seat":
        return -files, -ranks
    return files, ranks


class _Bounce(NamedTuple):
    """The reason why a move bounces."""

    why: str
    """The reason as a sentence, for the event."""
    headline: Headline


def _find_obstacle(turn: _Turn, seat: int, letter: str, target: Square | None) -> _Bounce | None:
    """Return why a move bounces, no matter what the other robot does. None if it does not.

    The obstacle is the edge of the board, a wall, or the robot's own flag (rulebook, section 2, and
    rulings).
    """
    state = turn.state
    side = SIDE_NAMES[seat]
    if target is None:
        # The square that the robot tried to enter: in a wall, or off the board.
        tried = turn.robots[seat].shifted(*_direction(state, seat, letter))
        direction = ORDERS[letter].label
        if tried in state.terrain.walls:
            why = say(
                "{direction!c} leads into the wall on {square}.", direction=direction, square=tried
            )
            text = say("{side!c} bumps into the wall", side=side)
        else:
            why = say("{direction!c} leads off the board.", direction=direction)
            # North's left is South's right, which needs a sentence of its own.
            if seat == NORTH and state.options.directions == "seat" and letter in "LR":
                why = say("Left leads off the board: North’s left hand is South’s right.")
                if letter == "R":
                    why = say("Right leads off the board: North’s right hand is South’s left.")
            text = say("{side!c} bumps into the edge", side=side)
    elif turn.flags[seat] == target:
        # Unless a house rule forbids it, a robot may bring a flag home although its own flag is
        # there.
        is_home = target == state.terrain.bases[seat] and turn.flags[1 - seat] is None
        if is_home and not state.options.own_flag_blocks_base:
            return None
        why = say("{side!c}’s own flag lies on {square}.", side=side, square=target)
        text = say("{side!c}’s own flag is in the way", side=side)
    else:
        return None
    return _Bounce(why, Headline(text, "bump", (ROBOT_FACES[seat],)))


def _move(turn: _Turn, letters: tuple[str, str]) -> None:
    """Carry out the moves of one step at the same time.

    Two moves to the same square both bounce, and so does a move to a robot that stays (rulebook,
    section 2). Robots may swap squares or follow one another (ruling).
    """
    targets: dict[int, Square | None] = {}
    bounces: dict[int, _Bounce] = {}
    for seat, letter in enumerate(letters):
        if letter in MOVES:
            direction = _direction(turn.state, seat, letter)
            target = targets[seat] = turn.terrain.neighbour(turn.robots[seat], direction)
            if bounce := _find_obstacle(turn, seat, letter, target):
                bounces[seat] = bounce
    # Both bounce, even if one of them would bounce anyway (ruling).
    contested = targets.get(SOUTH)
    if contested is not None and contested == targets.get(NORTH):
        text = say("Both want {square}. Nobody gets it.", square=contested)
        reason = say("Both robots try to enter {square}.", square=contested)
        bounces = dict.fromkeys(targets, _Bounce(reason, Headline(text, "bump", ROBOT_FACES)))
    # Look twice if both move, because one bounce can make the other bounce.
    for _ in targets:
        for seat, target in targets.items():
            other = 1 - seat
            stays = other not in targets or other in bounces
            if seat not in bounces and target == turn.robots[other] and stays:
                bounces[seat] = _build_robot_bounce(turn, seat)
    # Two bounces off the same tile have the same headline, which is shown once.
    turn.headlines += dict.fromkeys(bounces[seat].headline for seat in sorted(bounces))
    before = list(turn.robots)
    for seat, target in targets.items():
        if seat not in bounces and target is not None:
            turn.robots[seat] = target
    for seat, letter in enumerate(letters):
        why = bounces[seat].why if seat in bounces else None
        _report_move(turn, seat, letter, before[seat], why)


def _build_robot_bounce(turn: _Turn, seat: int) -> _Bounce:
    """Return the bounce off the other robot, which stays where it is."""
    other = 1 - seat
    why = say(
        "{side!c} does not leave {square}.", side=SIDE_NAMES[other], square=turn.robots[other]
    )
    text = say("{side!c} bumps into {other}", **_SIDE_AND_OTHER[seat])
    return _Bounce(why, Headline(text, "bump", (ROBOT_FACES[seat], ROBOT_FACES[other])))


def _report_move(turn: _Turn, seat: int, letter: str, before: Square, why: str | None) -> None:
    """Report the effect of one seat's order, and pick up a flag on the target of a move."""
    parts = {"side": SIDE_NAMES[seat], "square": before}
    if letter == "I":
        turn.add_event(
            CommonEvent.IDLE, seat, say("{side!c} waits on {square}.", **parts), square=before
        )
    elif why:
        edge = _direction(turn.state, seat, letter)
        text = say("{side!c} bounces and stays on {square}.", **parts)
        turn.add_event(CommonEvent.BOUNCE, seat, text, "bounce", square=before, edge=edge, why=why)
    elif letter in MOVES:
        here = turn.robots[seat]
        text = say(
            "{side!c} goes {direction}, {square} to {to}.",
            **parts,
            direction=ORDERS[letter].label,
            to=here,
        )
        turn.add_event(CommonEvent.MOVE, seat, text, "commands", square=before, to=here)
        _pick_up(turn, seat)


def _pick_up(turn: _Turn, seat: int) -> None:
    """Let a robot take the opponent's flag if it lies on the robot's square."""
    other = 1 - seat
    here = turn.robots[seat]
    if turn.flags[other] != here:
        return
    turn.flags[other] = None
    text = say("{side!c} takes {other}’s flag on {square}.", **_SIDE_AND_OTHER[seat], square=here)
    why = say("It stays under the robot and moves with it.")
    turn.add_event(OutbufferedEvent.FLAG_TAKEN, seat, text, "flags", square=here, why=why)
    text = say("{side!c} takes {other}’s flag", **_SIDE_AND_OTHER[seat])
    turn.headlines.append(Headline(text, "taken", (ROBOT_FACES[seat], FLAG_FACES[other])))


def _end_if_flag_home(turn: _Turn) -> None:
    """End the game if a robot has carried the other flag to its own base. A draw if both have."""
    bases = turn.terrain.bases
    carriers_home = [
        seat
        for seat in (SOUTH, NORTH)
        if turn.flags[1 - seat] is None and turn.robots[seat] == bases[seat]
    ]
    if len(carriers_home) == 2:
        text = say("Both bring the flag home in the same step: a draw.")
        turn.end_game(None, text, "ties", say("Both flags came home."))
    elif carriers_home:
        seat = carriers_home[0]
        reason = say(
            "{side!c} brings {other}’s flag home to {square}.",
            **_SIDE_AND_OTHER[seat],
            square=bases[seat],
        )
        short = say("Home with {other}’s flag.", other=SIDE_NAMES[1 - seat])
        turn.end_game(seat, reason, "winning", short)


# ---- shots ---------------------------------------------------------------------------------------


def _shoot(turn: _Turn, letters: tuple[str, str]) -> None:
    """Carry out the shots of one step at the same time, and send back the robots that are hit.

    A shot goes along rank and file over any distance, up to a wall. A robot that is hit drops the
    flag that it carries (rulebook, section 2 and "What if", and rulings).
    """
    shooters = [seat for seat in (SOUTH, NORTH) if letters[seat] == "S"]
    victims: list[int] = []
    for seat in shooters:
        here = turn.robots[seat]
        there = turn.robots[1 - seat]
        if there in turn.terrain.lines_of_fire[here]:
            victims.append(1 - seat)
            text = say(
                "{side!c} shoots and hits {other} on {square}.",
                **_SIDE_AND_OTHER[seat],
                square=there,
            )
            turn.add_event(CommonEvent.SHOT, seat, text, "shots", square=here, to=there)
        else:
            text = say("{side!c} shoots and hits nobody.", side=SIDE_NAMES[seat])
            why = say("No free line along the rank or the file leads to the other robot.")
            turn.add_event(CommonEvent.MISS, seat, text, "shots", square=here, why=why)
    carriers = [seat for seat in victims if turn.flags[1 - seat] is None]
    turn.headlines.append(_shots_headline(shooters, victims, is_flag_lost=bool(carriers)))
    for seat in carriers:
        here = turn.flags[1 - seat] = turn.robots[seat]
        text = say(
            "{side!c} drops {other}’s flag on {square}.", **_SIDE_AND_OTHER[seat], square=here
        )
        turn.add_event(OutbufferedEvent.FLAG_DROPPED, seat, text, "flags", square=here)
    _send_back(turn, sorted(victims))


def _shots_headline(shooters: list[int], victims: list[int], *, is_flag_lost: bool) -> Headline:
    """Return one headline for all shots of a step."""
    if len(victims) == 2:
        return Headline(say("Both are hit. Both start again."), "hit", ROBOT_FACES)
    # The seat that has hit the other robot, or else the first that has shot.
    seat = 1 - victims[0] if victims else shooters[0]
    if victims:
        text = say("{side!c} hits {other}", **_SIDE_AND_OTHER[seat])
        if is_flag_lost:
            text = say("{side!c} hits {other}. The flag drops.", **_SIDE_AND_OTHER[seat])
        return Headline(text, "hit", (ROBOT_FACES[seat], ROBOT_FACES[1 - seat]))
    if len(shooters) == 2:
        return Headline(say("Both shoot. Nobody is hit."))
    return Headline(say("{side!c} hits nobody", side=SIDE_NAMES[seat]))


def _send_back(turn: _Turn, victims: list[int]) -> None:
    """Put robots that were hit on their start tiles. One that cannot return loses the game.

    A robot cannot return if the other robot or its own flag is on its start tile (rulebook, "What
    if"). If neither robot can return, the game is a draw (rulings).
    """
    starts = turn.terrain.starts
    before = list(turn.robots)
    # Move both first, because one robot may then occupy the start tile of the other.
    for seat in victims:
        turn.robots[seat] = starts[seat]
    shut_out = [
        seat for seat in victims if starts[seat] in (turn.robots[1 - seat], turn.flags[seat])
    ]
    turn.is_shut_out = bool(shut_out)
    if len(shut_out) == 2:
        text = say("Neither robot can return to its start tile: a draw.")
        turn.end_game(None, text, "start-blocked", say("Neither can start again."))
    elif shut_out:
        _end_shut_out(turn, shut_out[0])
    else:
        for seat in victims:
            start = starts[seat]
            parts = {"side": SIDE_NAMES[seat], "square": start}
            text = say("{side!c} returns to its start tile {square}.", **parts)
            turn.add_event(
                OutbufferedEvent.SENT_BACK, seat, text, "shots", square=before[seat], to=start
            )
            # The other's flag may lie on the start tile (ruling).
            _pick_up(turn, seat)


def _end_shut_out(turn: _Turn, loser: int) -> None:
    """End the game, because the robot of one seat cannot return to its start tile."""
    winner = 1 - loser
    start = turn.terrain.starts[loser]
    parts = {"side": SIDE_NAMES[winner], "loser": SIDE_NAMES[loser], "square": str(start)}
    text = say("{side!c} wins: {loser} cannot return to {square}, its own flag is there.", **parts)
    if turn.robots[winner] == start:
        text = say("{side!c} wins: {loser} cannot return to {square}, {side} is there.", **parts)
    short = say("{side!c} is shut out.", side=SIDE_NAMES[loser])
    turn.end_game(winner, text, "start-blocked", short)


# ---- who is ahead --------------------------------------------------------------------------------


def lead(state: State) -> float:
    """Return how many steps South is ahead: North's remaining steps minus South's own.

    A robot still has to fetch the other flag and bring it home. Paths go round walls, and the other
    robot is ignored.
    """
    return float(_steps_home(state, NORTH) - _steps_home(state, SOUTH))


def _steps_home(state: State, seat: int) -> int:
    """Return how many steps a seat's robot needs to fetch the other flag and bring it home.

    A flag that the robot already carries needs no fetching.
    """
    robot = state.robots[seat]
    home = state.terrain.bases[seat]
    flag = state.flags[1 - seat]
    if flag is None:
        return state.terrain.distance(robot, home)
    return state.terrain.distance(robot, flag) + state.terrain.distance(flag, home)
