"""How a turn of Outbuffered is carried out: pair by pair, moves, win check, shots, win check.

Source: the rulebook's sections 2, 3 and "What if", with the rulings of the house where it is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from msgspec import Meta

from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import SEATS, Layout, Seat
from companion.games.base import Event, Options, Order, Outcome, Stage, Step
from companion.games.events import CommonEvent, EventKind
from companion.games.outbuffered import sentences
from companion.games.outbuffered.board import (
    FLAGS,
    INITIALS,
    NORTH,
    ROBOTS,
    SOUTH,
    STANDARD_MAP,
    STEPS,
    Terrain,
)
from companion.games.outbuffered.events import OutbufferedEvent
from companion.games.screen import Headline

_ARROWS = {(0, 1): "order-up", (0, -1): "order-down", (-1, 0): "order-left", (1, 0): "order-right"}
_STAYS_UNDER = say("It stays under the robot and moves with it.")
_NO_LINE = say("No free line along the rank or the file leads to the other robot.")
_STIRS = frozenset({OutbufferedEvent.FLAG_TAKEN, CommonEvent.SHOT})
"""The events after which `quiet_limit` counts anew."""
_DRAWINGS = {letter: _ARROWS[step] for letter, step in STEPS.items()} | {
    "I": "order-idle",
    "S": "order-shoot",
}


class OutbufferedOptions(Options, frozen=True):
    """Board and house rules.

    A limit of 0 means none. `quiet_limit` counts turns in a row in which nothing happens.

    `tiles`: orders may lie as tiles behind a wall, where the camera reads them. The rules do not depend on it.
    """

    board: str = STANDARD_MAP
    directions: Literal["seat", "board"] = "seat"
    own_flag_blocks_base: bool = False
    turn_limit: Annotated[int, Meta(ge=0, le=1000)] = 0
    quiet_limit: Annotated[int, Meta(ge=0, le=1000)] = 0
    tiles: bool = False


@dataclass(frozen=True)
class State:
    """A position between two turns.

    `flags[i]` is where seat i's flag lies. None: the opponent carries it.
    """

    options: OutbufferedOptions
    terrain: Terrain
    robots: tuple[Square, Square]
    flags: tuple[Square | None, Square | None]
    turn: int = 1
    outcome: Outcome | None = None
    off_board: bool = False
    """True after a win in which a shot robot could not be put down: the board is not checked any more."""
    stirred: int = 0
    """The last turn in which a flag was taken or a robot was hit. 0: none yet."""

    @property
    def quiet(self) -> int:
        """Return how many turns in a row nothing of that kind has happened."""
        return self.turn - 1 - self.stirred


def play(state: State, buffers: tuple[str, str]) -> Step[State]:
    """Carry out South's and North's buffer."""
    turn = _Turn(state, list(state.robots), list(state.flags))
    stages: list[Stage] = []
    events: list[Event] = []
    stirred = state.stirred
    for number, commands in enumerate(zip(*buffers, strict=True), start=1):
        turn.events = []
        _move(turn, commands)
        _homecoming(turn)
        if turn.outcome is None and "S" in commands:
            _shoot(turn, commands)
        if any(event.kind in _STIRS for event in turn.events):
            stirred = state.turn
        if number == 3 and turn.outcome is None:
            _end_at_limit(turn, state.turn - stirred)
        orders = {seat: _order(state, index, commands[index]) for index, seat in enumerate(SEATS)}
        told = tuple(turn.events)
        stages.append(
            Stage(
                sentences.step_title(number),
                orders,
                told,
                turn.layout(),
                headlines=_headlines(turn),
            )
        )
        events += turn.events
        if turn.outcome:
            break
    after = replace(
        state,
        robots=(turn.robots[0], turn.robots[1]),
        flags=(turn.flags[0], turn.flags[1]),
        turn=state.turn + 1,
        outcome=turn.outcome,
        off_board=turn.off_board,
        stirred=stirred,
    )
    return Step(after, tuple(events), tuple(stages))


def _end_at_limit(turn: _Turn, quiet: int) -> None:
    """End in a draw when the last turn is over, or the last one of those that may go by `quiet`."""
    options, number = turn.state.options, turn.state.turn
    if number == options.turn_limit:
        _finish(turn, (), say("Turn {number} was the last one: a draw.", number=number), "ties")
    elif options.quiet_limit and quiet >= options.quiet_limit:
        text = say("{number} turns without a flag taken or a robot hit: a draw.", number=quiet)
        _finish(turn, (), text, "ties")


def plan(state: State, seat: Seat, entered: str) -> tuple[Square, ...]:
    """Return where the own robot would stand after each order if the other did nothing and stood
    nowhere."""
    index = SEATS.index(seat)
    turn = _Turn(state, list(state.robots), list(state.flags))
    places: list[Square] = []
    for command in entered:
        if command in STEPS:
            target = state.terrain.neighbour(turn.robots[index], _direction(state, index, command))
            if target is not None and _refusal(turn, index, command, target) is None:
                turn.robots[index] = target
                _pick_up(turn, index)
        places.append(turn.robots[index])
    return tuple(places)


def _order(state: State, seat: int, command: str) -> Order:
    drawing = _DRAWINGS[command]
    on_board = _ARROWS[_direction(state, seat, command)] if command in STEPS else drawing
    return Order(command, drawing, on_board, INITIALS[command])


@dataclass
class _Turn:
    """The position while a step is carried out, and the events so far."""

    state: State
    robots: list[Square]
    flags: list[Square | None]
    events: list[Event] = field(default_factory=list)
    bumped: dict[int, str] = field(default_factory=dict)
    """What each robot has bumped into: `robot`, `wall`, `edge` or `flag`; the name of a tile that both wanted."""
    outcome: Outcome | None = None
    off_board: bool = False

    def add_event(self, kind: EventKind, seat: int | None, text: str, **more: Any) -> None:
        """Add an event."""
        who = None if seat is None else SEATS[seat]
        places = {k: str(v) for k, v in more.items() if k in ("square", "to") and v is not None}
        self.events.append(Event(kind, text, who, **{**more, **places}))

    def layout(self) -> Layout | None:
        """Return what lies where: flags lie under robots."""
        if self.off_board:
            return None
        return layout_of(self.robots, self.flags)


def layout_of(robots: Sequence[Square], flags: Sequence[Square | None]) -> Layout:
    """Return what lies where: a flag under the robot that stands on it or carries it."""
    stacks: dict[Square, list[str]] = {}
    for seat in (SOUTH, NORTH):
        square = flags[seat] or robots[1 - seat]
        stacks.setdefault(square, []).append(FLAGS[seat])
    for seat in (SOUTH, NORTH):
        stacks.setdefault(robots[seat], []).append(ROBOTS[seat])
    return {square: tuple(faces) for square, faces in stacks.items()}


def _direction(state: State, seat: int, command: str) -> tuple[int, int]:
    """Return (files, ranks) of a move.

    North's directions are turned round when they are seen from the seat.
    """
    files, ranks = STEPS[command]
    if seat == NORTH and state.options.directions == "seat":
        return -files, -ranks
    return files, ranks


def _refusal(turn: _Turn, seat: int, command: str, target: Square | None) -> tuple[str, str] | None:
    """Return why a move bounces without the other robot, and off what. None: it does not."""
    state = turn.state
    if target is None:
        tried = turn.robots[seat].shifted(*_direction(state, seat, command))
        if tried in state.terrain.walls:
            return sentences.into_wall(command, tried), "wall"
        is_turned = seat == NORTH and state.options.directions == "seat"
        return sentences.off_board(command, is_turned=is_turned), "edge"
    if turn.flags[seat] == target:
        home = target == state.terrain.bases[seat] and turn.flags[1 - seat] is None
        if not home or state.options.own_flag_blocks_base:
            return sentences.own_flag(seat, target), "flag"
    return None


def _move(turn: _Turn, commands: tuple[str, str]) -> None:
    """Carry out the moves of one step, both at once."""
    terrain, state = turn.state.terrain, turn.state
    movers = [seat for seat in (SOUTH, NORTH) if commands[seat] in STEPS]
    targets: list[Square | None] = [None, None]
    why: dict[int, str] = {}
    turn.bumped = {}
    for seat in movers:
        targets[seat] = terrain.neighbour(
            turn.robots[seat], _direction(state, seat, commands[seat])
        )
        if reason := _refusal(turn, seat, commands[seat], targets[seat]):
            why[seat], turn.bumped[seat] = reason
    if (tried := targets[0]) is not None and tried == targets[1]:
        why = dict.fromkeys(movers, sentences.both_try(tried))
        turn.bumped = dict.fromkeys(movers, str(tried))
    for _ in movers:  # one bounce can make the other bounce
        for seat in movers:
            other = 1 - seat
            stays = other not in movers or other in why
            if seat not in why and targets[seat] == turn.robots[other] and stays:
                why[seat] = sentences.does_not_leave(other, turn.robots[other])
                turn.bumped[seat] = "robot"
    before = list(turn.robots)
    for seat in movers:
        target = targets[seat]
        if seat not in why and target is not None:
            turn.robots[seat] = target
    for seat in (SOUTH, NORTH):
        _tell_move(turn, seat, commands[seat], before[seat], why.get(seat))


def _tell_move(turn: _Turn, seat: int, command: str, before: Square, why: str | None) -> None:
    """Say what one seat's command did, and pick up a flag where a move ended on it."""
    if command == "I":
        turn.add_event(CommonEvent.IDLE, seat, sentences.idles(seat, before), square=before)
        return
    if command == "S":
        return
    if why:
        edge = _direction(turn.state, seat, command)
        text = sentences.bounces(seat, before)
        turn.add_event(
            CommonEvent.BOUNCE, seat, text, square=before, edge=edge, why=why, rule="bounce"
        )
        return
    here = turn.robots[seat]
    text = sentences.goes(seat, command, before, here)
    turn.add_event(CommonEvent.MOVE, seat, text, square=before, to=here, rule="commands")
    _pick_up(turn, seat)


def _pick_up(turn: _Turn, seat: int) -> None:
    """Let a robot on the opponent's lying flag take it."""
    other, here = 1 - seat, turn.robots[seat]
    if turn.flags[other] == here:
        turn.flags[other] = None
        turn.add_event(
            OutbufferedEvent.FLAG_TAKEN,
            seat,
            sentences.takes_flag(seat, here),
            square=here,
            rule="flags",
            why=_STAYS_UNDER,
        )


def _homecoming(turn: _Turn) -> None:
    """Make the win check after the moves."""
    bases = turn.state.terrain.bases
    home = [s for s in (SOUTH, NORTH) if turn.flags[1 - s] is None and turn.robots[s] == bases[s]]
    if len(home) == 2:
        _finish(turn, (), say("Both bring the flag home in the same step: a draw."), "ties")
    elif home:
        seat = home[0]
        _finish(turn, (seat,), sentences.brings_home(seat, bases[seat]), "winning")


def _finish(turn: _Turn, winners: tuple[int, ...], reason: str, rule: str) -> None:
    turn.outcome = Outcome(frozenset(SEATS[seat] for seat in winners), reason)
    turn.events.append(turn.outcome.event(rule))


def _shoot(turn: _Turn, commands: tuple[str, str]) -> None:
    """Carry out the shots of one step, both at once, and the way home of whoever is hit."""
    fire = turn.state.terrain.lines_of_fire
    hit = []
    for seat in (SOUTH, NORTH):
        if commands[seat] != "S":
            continue
        here, there = turn.robots[seat], turn.robots[1 - seat]
        if there in fire[here]:
            hit.append(1 - seat)
            turn.add_event(
                CommonEvent.SHOT,
                seat,
                sentences.hits(seat, there),
                square=here,
                to=there,
                rule="shots",
            )
        else:
            turn.add_event(
                CommonEvent.MISS,
                seat,
                sentences.misses(seat),
                square=here,
                why=_NO_LINE,
                rule="shots",
            )
    if not hit:
        return
    starts = turn.state.terrain.starts
    for seat in hit:
        if turn.flags[1 - seat] is None:
            turn.flags[1 - seat] = turn.robots[seat]
            text = sentences.drops_flag(seat, turn.robots[seat])
            turn.add_event(
                OutbufferedEvent.FLAG_DROPPED, seat, text, square=turn.robots[seat], rule="flags"
            )
    left = {seat: turn.robots[seat] for seat in hit}
    for seat in hit:
        turn.robots[seat] = starts[seat]
    shut_out = [s for s in hit if turn.robots[1 - s] == starts[s] or turn.flags[s] == starts[s]]
    if shut_out:
        _end_by_blocked_start(turn, shut_out)
        return
    for seat in sorted(hit):
        text = sentences.returns(seat, starts[seat])
        turn.add_event(
            OutbufferedEvent.SENT_BACK, seat, text, square=left[seat], to=starts[seat], rule="shots"
        )
        _pick_up(turn, seat)


def _headlines(turn: _Turn) -> tuple[Headline, ...]:
    """Return the headlines of a step: bumps, then flags, then shots, then how the game ended."""
    headlines: list[Headline] = []
    off = set(turn.bumped.values())
    if (
        len(turn.bumped) == 2
        and len(off) == 1
        and off.isdisjoint(("robot", "wall", "edge", "flag"))
    ):
        headlines.append(Headline(sentences.both_want(Square.parse(off.pop())), "bump", ROBOTS))
    else:
        for seat, what in sorted(turn.bumped.items()):
            faces = (ROBOTS[seat], ROBOTS[1 - seat]) if what == "robot" else (ROBOTS[seat],)
            headlines.append(Headline(sentences.bumps_into(seat, what), "bump", faces))
    of_kind: dict[EventKind, list[int]] = {}
    for event in turn.events:
        if event.seat:
            of_kind.setdefault(event.kind, []).append(SEATS.index(event.seat))
    for seat in of_kind.get(OutbufferedEvent.FLAG_TAKEN, ()):
        headlines.append(
            Headline(
                sentences.flag_headline(seat, is_home=False),
                "taken",
                (ROBOTS[seat], FLAGS[1 - seat]),
            )
        )
    hits, misses = of_kind.get(CommonEvent.SHOT, []), of_kind.get(CommonEvent.MISS, [])
    if len(hits) == 2:
        headlines.append(Headline(sentences.BOTH_HIT, "hit", ROBOTS))
    elif hits:
        dropped = OutbufferedEvent.FLAG_DROPPED in of_kind
        text = sentences.shot_headline(hits[0], is_flag_lost=dropped)
        headlines.append(Headline(text, "hit", (ROBOTS[hits[0]], ROBOTS[1 - hits[0]])))
    elif misses:
        headlines.append(
            Headline(
                sentences.miss_headline(misses[0]) if len(misses) == 1 else sentences.BOTH_MISS
            )
        )
    if turn.outcome:
        headlines.append(_end_headline(turn, turn.outcome))
    elif not headlines and len(of_kind.get(CommonEvent.IDLE, ())) == 2:
        headlines.append(Headline(sentences.BOTH_WAIT))
    return tuple(headlines)


def _end_headline(turn: _Turn, outcome: Outcome) -> Headline:
    winner = next((SEATS.index(seat) for seat in outcome.winners), None)
    if winner is None or turn.off_board:
        return Headline(outcome.reason)
    return Headline(
        sentences.flag_headline(winner, is_home=True), "taken", (ROBOTS[winner], FLAGS[1 - winner])
    )


def _end_by_blocked_start(turn: _Turn, shut_out: list[int]) -> None:
    """Let the opponent win of a hit robot that cannot be put on its start tile. Both: a draw."""
    turn.off_board = True
    if len(shut_out) == 2:
        _finish(
            turn, (), say("Neither robot can return to its start tile: a draw."), "start-blocked"
        )
        return
    loser = shut_out[0]
    start = turn.state.terrain.starts[loser]
    reason = sentences.shut_out(1 - loser, start, by_robot=turn.robots[1 - loser] == start)
    _finish(turn, (1 - loser,), reason, "start-blocked")


def lead(state: State) -> float:
    """Return how many steps less than North South still has to go: to the other flag, and with it
    home.

    Walls are gone round, robots are not in the way.
    """
    return float(_steps_home(state, NORTH) - _steps_home(state, SOUTH))


def _steps_home(state: State, seat: int) -> int:
    robot, home, flag = state.robots[seat], state.terrain.bases[seat], state.flags[1 - seat]
    if flag is None:
        return state.terrain.distance(robot, home)
    return state.terrain.distance(robot, flag) + state.terrain.distance(flag, home)
