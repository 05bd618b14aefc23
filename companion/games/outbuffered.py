"""Outbuffered: two robots, three secret orders each, capture the flag.

Source: the rulebook's sections 1-3 and "What if", with the rulings of the house where it is silent.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from random import Random
from typing import Annotated, Any, Literal

from msgspec import Meta

from companion.errors import Malformed
from companion.games.base import (
    Event,
    Game,
    Key,
    OptionRow,
    Options,
    Order,
    Outcome,
    PadGrammar,
    Rule,
    Stage,
    Step,
    View,
    plain_layout,
    plain_outcome,
)
from companion.grid import Square, parse_map
from companion.kit import SEATS, Board, Face, Kit, Layout, Mark, Seat, Side

STANDARD_MAP = ".Nn\n...\n...\nsS."
WALLS_MAP = "..N.n\n.....\n#.#.#\n.....\ns.S.."

_SOUTH, _NORTH = 0, 1
_BUFFER = re.compile("[UDLRIS]{3}")
_STEPS = {"U": (0, 1), "D": (0, -1), "L": (-1, 0), "R": (1, 0)}
_WORDS = {"U": "up", "D": "down", "L": "left", "R": "right"}
_ARROWS = {(0, 1): "order-up", (0, -1): "order-down", (-1, 0): "order-left", (1, 0): "order-right"}
_DRAWINGS = {letter: _ARROWS[step] for letter, step in _STEPS.items()} | {
    "I": "order-idle",
    "S": "order-shoot",
}

SIDES = {
    Seat.SOUTH: Side("purple", "purple", "#5B2A9D", "robot-s"),
    Seat.NORTH: Side("lime", "lime", "#B4DC14", "robot-n"),
}
_NAMES = tuple(SIDES[seat].name for seat in SEATS)


class OutbufferedOptions(Options, frozen=True):
    """Board and house rules; `turn_limit` 0 means none."""

    board: str = STANDARD_MAP
    directions: Literal["seat", "board"] = "seat"
    own_flag_blocks_base: bool = False
    turn_limit: Annotated[int, Meta(ge=0, le=1000)] = 0


@dataclass(frozen=True)
class Ground:
    """The board as the rules need it; seats are indexed 0 (South) and 1 (North)."""

    files: int
    ranks: int
    walls: frozenset[Square]
    starts: tuple[Square, Square]
    bases: tuple[Square, Square]

    def neighbour(self, square: Square, step: tuple[int, int]) -> Square | None:
        """Where a step leads, or None off the board and into a wall."""
        return self._neighbours[square].get(step)

    @cached_property
    def _neighbours(self) -> dict[Square, dict[tuple[int, int], Square]]:
        free = {Square(f, r) for f in range(self.files) for r in range(self.ranks)} - self.walls
        return {
            square: {step: square.shifted(*step) for step in _STEPS.values() if square.shifted(*step) in free}
            for square in free
        }

    @cached_property
    def lines_of_fire(self) -> dict[Square, frozenset[Square]]:
        """For each square the squares that a shot from it reaches: rank and file, up to the first wall."""
        return {square: frozenset(self._ray_squares(square)) for square in self._neighbours}

    def _ray_squares(self, origin: Square) -> Iterator[Square]:
        for step in _STEPS.values():
            square = self.neighbour(origin, step)
            while square is not None:
                yield square
                square = self.neighbour(square, step)


@lru_cache(maxsize=64)
def ground_of(board: str) -> Ground:
    """Read a board's text map: each of `s S n N` (starts and bases of South and North) exactly once."""
    tiles = parse_map(board, ".#sSnN")
    special = {}
    for character in "sSnN":
        found = tiles.squares_of(character)
        if len(found) != 1:
            raise Malformed(f"The board has “{character}” {len(found)} times: exactly once is needed")
        special[character] = found[0]
    return Ground(
        tiles.files,
        tiles.ranks,
        frozenset(tiles.squares_of("#")),
        (special["s"], special["n"]),
        (special["S"], special["N"]),
    )


@dataclass(frozen=True)
class State:
    """A position between two turns. `flags[i]` is where seat i's flag lies; None: the opponent carries it."""

    options: OutbufferedOptions
    ground: Ground
    robots: tuple[Square, Square]
    flags: tuple[Square | None, Square | None]
    turn: int = 1
    outcome: Outcome | None = None
    off_board: bool = False
    """True after a win in which a shot robot could not be put down: the board is not checked any more."""


@dataclass
class _Turn:
    """The position while a step is carried out, and the events so far."""

    state: State
    robots: list[Square]
    flags: list[Square | None]
    events: list[Event] = field(default_factory=list)
    outcome: Outcome | None = None
    off_board: bool = False

    def say(self, kind: str, seat: int | None, text: str, **more: Any) -> None:
        """Add an event."""
        who = None if seat is None else SEATS[seat]
        places = {k: str(v) for k, v in more.items() if k in ("square", "to") and v is not None}
        self.events.append(Event(kind, text, who, **{**more, **places}))

    def layout(self) -> Layout | None:
        """What lies where: flags lie under robots."""
        if self.off_board:
            return None
        return _layout(self.robots, self.flags)


def _layout(
    robots: list[Square] | tuple[Square, ...], flags: list[Square | None] | tuple[Square | None, ...]
) -> Layout:
    stacks: dict[Square, list[str]] = {}
    for seat in (_SOUTH, _NORTH):
        square = flags[seat] or robots[1 - seat]
        stacks.setdefault(square, []).append(f"{_NAMES[seat]} flag")
    for seat in (_SOUTH, _NORTH):
        stacks.setdefault(robots[seat], []).append(f"{_NAMES[seat]} robot")
    return {square: tuple(faces) for square, faces in stacks.items()}


def _direction(state: State, seat: int, command: str) -> tuple[int, int]:
    """(files, ranks) of a move; North's directions are turned round when they are seen from the seat."""
    files, ranks = _STEPS[command]
    if seat == _NORTH and state.options.directions == "seat":
        return -files, -ranks
    return files, ranks


def _refusal(turn: _Turn, seat: int, command: str, target: Square | None) -> str | None:
    """Why a move bounces for reasons that the opponent's robot has no part in, or None."""
    state, name = turn.state, _WORDS[command].capitalize()
    if target is None:
        tried = turn.robots[seat].shifted(*_direction(state, seat, command))
        if tried in state.ground.walls:
            return f"{name} leads into the wall on {tried}."
        turned = seat == _NORTH and state.options.directions == "seat" and command in "LR"
        hands = (
            f": North’s {_WORDS[command]} hand is South’s {_WORDS['R' if command == 'L' else 'L']}" if turned else ""
        )
        return f"{name} leads off the board{hands}."
    if turn.flags[seat] == target:
        home = target == state.ground.bases[seat] and turn.flags[1 - seat] is None
        if not home or state.options.own_flag_blocks_base:
            return f"{_NAMES[seat].capitalize()}’s own flag lies on {target}."
    return None


def _move(turn: _Turn, commands: tuple[str, str]) -> None:
    """The moves of one step, both at once."""
    ground, state = turn.state.ground, turn.state
    movers = [seat for seat in (_SOUTH, _NORTH) if commands[seat] in _STEPS]
    targets: list[Square | None] = [None, None]
    why: dict[int, tuple[str, str]] = {}
    for seat in movers:
        targets[seat] = ground.neighbour(turn.robots[seat], _direction(state, seat, commands[seat]))
        if reason := _refusal(turn, seat, commands[seat], targets[seat]):
            why[seat] = (reason, "bounce")
    if targets[0] is not None and targets[0] == targets[1]:
        for seat in movers:
            why[seat] = (f"Both robots try for {targets[0]}.", "bounce")
    for _ in movers:  # one bounce can make the other bounce
        for seat in movers:
            other = 1 - seat
            stays = other not in movers or other in why
            if seat not in why and targets[seat] == turn.robots[other] and stays:
                why[seat] = (f"{_NAMES[other].capitalize()} does not leave {targets[seat]}.", "bounce")
    before = list(turn.robots)
    for seat in movers:
        target = targets[seat]
        if seat not in why and target is not None:
            turn.robots[seat] = target
    for seat in (_SOUTH, _NORTH):
        _tell_move(turn, seat, commands[seat], before[seat], why.get(seat))


def _tell_move(turn: _Turn, seat: int, command: str, before: Square, why: tuple[str, str] | None) -> None:
    """Say what one seat's command did, and pick up a flag where a move ended on it."""
    name = _NAMES[seat].capitalize()
    if command == "I":
        turn.say("idle", seat, f"{name} idles on {before}.", square=before)
        return
    if command == "S":
        return
    if why:
        edge = _direction(turn.state, seat, command)
        text = f"{name} bounces and stays on {before}."
        turn.say("bounce", seat, text, square=before, edge=edge, why=why[0], rule=why[1])
        return
    here = turn.robots[seat]
    turn.say(
        "move",
        seat,
        f"{name} goes {_WORDS[command]}, {before} to {here}.",
        square=before,
        to=here,
        rule="commands",
    )
    _pick_up(turn, seat)


def _pick_up(turn: _Turn, seat: int) -> None:
    """A robot on the opponent's lying flag takes it."""
    other, here = 1 - seat, turn.robots[seat]
    if turn.flags[other] == here:
        turn.flags[other] = None
        text = f"{_NAMES[seat].capitalize()} takes {_NAMES[other]}’s flag on {here}."
        turn.say(
            "flag_taken",
            seat,
            text,
            square=here,
            rule="flags",
            why="It stays under the robot and moves with it.",
        )


def _homecoming(turn: _Turn) -> None:
    """The win check after the moves."""
    bases = turn.state.ground.bases
    home = [s for s in (_SOUTH, _NORTH) if turn.flags[1 - s] is None and turn.robots[s] == bases[s]]
    if len(home) == 2:
        _finish(turn, (), "Both bring the flag home in the same step: a tie.", "ties")
    elif home:
        seat = home[0]
        _finish(
            turn,
            (seat,),
            f"{_NAMES[seat].capitalize()} brings {_NAMES[1 - seat]}’s flag home to {bases[seat]}.",
            "winning",
        )


def _finish(turn: _Turn, winners: tuple[int, ...], reason: str, rule: str) -> None:
    turn.outcome = Outcome(frozenset(SEATS[seat] for seat in winners), reason)
    turn.say("won" if winners else "tie", winners[0] if winners else None, reason, rule=rule)


def _shoot(turn: _Turn, commands: tuple[str, str]) -> None:
    """The shots of one step, both at once, and the way home of whoever is hit."""
    fire = turn.state.ground.lines_of_fire
    hit = []
    for seat in (_SOUTH, _NORTH):
        if commands[seat] != "S":
            continue
        name, here, there = _NAMES[seat].capitalize(), turn.robots[seat], turn.robots[1 - seat]
        if there in fire[here]:
            hit.append(1 - seat)
            turn.say(
                "shot",
                seat,
                f"{name} shoots and hits {_NAMES[1 - seat]} on {there}.",
                square=here,
                to=there,
                rule="shots",
            )
        else:
            why = "No free line along the rank or the file leads to the other robot."
            turn.say("miss", seat, f"{name} shoots and hits nobody.", square=here, why=why, rule="shots")
    if not hit:
        return
    starts = turn.state.ground.starts
    for seat in hit:
        if turn.flags[1 - seat] is None:
            turn.flags[1 - seat] = turn.robots[seat]
            text = f"{_NAMES[seat].capitalize()} drops {_NAMES[1 - seat]}’s flag on {turn.robots[seat]}."
            turn.say("flag_dropped", seat, text, square=turn.robots[seat], rule="flags")
    left = {seat: turn.robots[seat] for seat in hit}
    for seat in hit:
        turn.robots[seat] = starts[seat]
    shut_out = [s for s in hit if turn.robots[1 - s] == starts[s] or turn.flags[s] == starts[s]]
    if shut_out:
        _start_blocked(turn, shut_out)
        return
    for seat in sorted(hit):
        text = f"{_NAMES[seat].capitalize()} returns to its start tile {starts[seat]}."
        turn.say("sent_back", seat, text, square=left[seat], to=starts[seat], rule="shots")
        _pick_up(turn, seat)


def _start_blocked(turn: _Turn, shut_out: list[int]) -> None:
    """A hit robot cannot be put on its start tile: its opponent wins; both: a tie."""
    turn.off_board = True
    if len(shut_out) == 2:
        _finish(turn, (), "Neither robot can return to its start tile: a tie.", "start-blocked")
        return
    loser = shut_out[0]
    start = turn.state.ground.starts[loser]
    what = f"{_NAMES[1 - loser]}" if turn.robots[1 - loser] == start else "its own flag"
    name = _NAMES[1 - loser].capitalize()
    _finish(
        turn,
        (1 - loser,),
        f"{name} wins: {_NAMES[loser]} cannot return to {start}, {what} is there.",
        "start-blocked",
    )


class Outbuffered(Game[State, str]):
    """An action is a buffer: a text of exactly three of `U D L R I S`."""

    name = "outbuffered"
    title = "Outbuffered"
    summary = "Three secret orders each, revealed step by step"
    replays_ties = True
    sides = SIDES
    options_type = OutbufferedOptions
    option_rows = (
        OptionRow(
            "board",
            "Board",
            "Three files and four ranks, a larger one with walls, or your own map.",
            (("3 x 4", STANDARD_MAP), ("Walls", WALLS_MAP)),
            free_text=True,
        ),
        OptionRow(
            "turn_limit",
            "Turn limit",
            "When it is reached, the game is a tie.",
            (("None", 0), ("20", 20), ("30", 30), ("50", 50)),
        ),
        OptionRow(
            "directions",
            "Directions are seen from",
            "Seat: up is away from you. Board: up is towards the highest rank for both.",
            (("Seat", "seat"), ("Board", "board")),
            house_rule=True,
        ),
        OptionRow(
            "own_flag_blocks_base",
            "Own flag blocks the way home",
            "Yes: a robot with the other flag bounces off its own base while its flag lies there.",
            (("No", False), ("Yes", True)),
            house_rule=True,
        ),
    )
    rules = (
        Rule(
            "setting-up",
            "Setting up",
            "Put your robot on your start tile (the corner brackets) and your flag on your base tile "
            "(South’s ring, North’s rhomb). Who sits below rank 1 is purple.",
        ),
        Rule(
            "commands",
            "Commands",
            "Each turn both players hand in a buffer of three commands in secret: up, down, left, right, "
            "idle or shoot, in any order, repeats allowed. Directions are seen from your own seat: up is away from you. "
            "Then the buffers are opened, one pair of commands after the other.",
        ),
        Rule(
            "bounce",
            "Bouncing back",
            "A robot bounces and stays where it is when its way leads off the board, into a wall, onto a "
            "tile where its own flag lies, onto the tile that the other robot tries for too, or onto the other robot when that "
            "does not leave in the same step. Changing places and following are fine. A robot that carries the other flag may "
            "enter its own base although its own flag lies there, unless the house rule says otherwise.",
        ),
        Rule(
            "order",
            "Order of a step",
            "Both move at once; then it is checked who has won; then both shoot at once; then it is "
            "checked again. When somebody has won, the rest of the buffers is not carried out.",
        ),
        Rule(
            "shots",
            "Shots",
            "A shot goes along the rank and the file in all four directions, over any distance, until a wall. "
            "A robot that is hit drops the flag that it carries and returns to its start tile. Its remaining commands go on from there.",
        ),
        Rule(
            "flags",
            "Flags",
            "A robot that ends its move on the other side’s flag takes it at once; the flag lies under the robot and "
            "moves with it. A dropped flag stays where the robot was hit until it is taken again. A robot sent back to a start tile on "
            "which the other flag lies takes that flag as well.",
        ),
        Rule("winning", "Winning", "Bring the other side’s flag to your own base tile."),
        Rule(
            "ties",
            "Ties",
            "When both flags come home in the same step it is a tie, and so it is when the turn limit is reached. "
            "A tie is played again from the beginning; the match keeps the count.",
        ),
        Rule(
            "start-blocked",
            "No way back",
            "When a robot that was hit cannot return because the other robot or its own flag is on its "
            "start tile, its opponent wins. If that is so for both, it is a tie.",
        ),
    )

    def kit(self, options: OutbufferedOptions) -> Kit:
        """Four pieces, and a board of separate tiles."""
        return _kit(options.board)

    def options(self, raw: Mapping[str, Any]) -> OutbufferedOptions:
        """Also refuses a board that cannot be read."""
        options: OutbufferedOptions = super().options(raw)
        ground_of(options.board)
        return options

    def setup(self, options: OutbufferedOptions, rng: Random) -> State:  # noqa: ARG002
        """Robots on their start tiles, flags on their bases."""
        ground = ground_of(options.board)
        return State(options, ground, ground.starts, ground.bases)

    def to_act(self, state: State) -> frozenset[Seat]:
        """Both, sealed, until the game is over."""
        return frozenset() if state.outcome else frozenset(SEATS)

    def legal_actions(self, state: State, seat: Seat) -> Iterator[str]:
        """All 216 buffers."""
        if seat in self.to_act(state):
            yield from map("".join, itertools.product("UDLRIS", repeat=3))

    def check(self, state: State, seat: Seat, action: str) -> None:
        """Every buffer is legal: what cannot be done bounces."""

    def parse(self, text: str) -> str:
        """Exactly three of `U D L R I S`."""
        if not _BUFFER.fullmatch(text):
            raise Malformed("A buffer is exactly three of U D L R I S, such as UUS")
        return text

    def apply(self, state: State, actions: Mapping[Seat, str], rng: Random) -> Step[State]:  # noqa: ARG002
        """Carry out both buffers, pair by pair."""
        buffers = actions[Seat.SOUTH], actions[Seat.NORTH]
        turn = _Turn(state, list(state.robots), list(state.flags))
        stages: list[Stage] = []
        events: list[Event] = []
        for number, commands in enumerate(zip(*buffers, strict=True), start=1):
            turn.events = []
            _move(turn, commands)
            _homecoming(turn)
            if turn.outcome is None and "S" in commands:
                _shoot(turn, commands)
            if number == 3 and turn.outcome is None and state.turn == state.options.turn_limit:
                _finish(turn, (), f"Turn {state.turn} was the last one: a tie.", "ties")
            orders = {seat: _order(state, i, commands[i]) for i, seat in enumerate(SEATS)}
            stages.append(Stage(f"Step {number} of 3", orders, tuple(turn.events), turn.layout()))
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
        )
        return Step(after, tuple(events), tuple(stages))

    def outcome(self, state: State) -> Outcome | None:
        """How it ended."""
        return state.outcome

    def view(self, state: State, seat: Seat | None) -> View:  # noqa: ARG002
        """Everything on the board is public; sealed buffers never reach a state."""
        return self.dump(state)

    def dump(self, state: State) -> View:
        """Robots, flags (`{"on": "b1"}` or `{"carried_by": "north"}`), turn, outcome."""
        flags = {
            seat: {"on": str(flag)} if flag else {"carried_by": seat.other}
            for seat, flag in zip(SEATS, state.flags, strict=True)
        }
        return {
            "to_act": sorted(self.to_act(state)),
            "turn": state.turn,
            "robots": {seat: str(square) for seat, square in zip(SEATS, state.robots, strict=True)},
            "flags": flags,
            "expected": plain_layout(self.expected(state)),
            "outcome": plain_outcome(state.outcome),
        }

    def expected(self, state: State) -> Layout | None:
        """Flags lie under the robots that stand on them or carry them."""
        return None if state.off_board else _layout(state.robots, state.flags)

    def pad(self, state: State, seat: Seat) -> PadGrammar:  # noqa: ARG002
        """Three keys, each an order."""
        return _PAD

    def plan(self, state: State, seat: Seat, entered: str) -> tuple[Square | None, ...]:
        """Where the own robot would stand after each order if the other did nothing and stood nowhere."""
        index = SEATS.index(seat)
        turn = _Turn(state, list(state.robots), list(state.flags))
        places: list[Square | None] = []
        for command in entered:
            if command in _STEPS:
                target = state.ground.neighbour(turn.robots[index], _direction(state, index, command))
                if target is not None and _refusal(turn, index, command, target) is None:
                    turn.robots[index] = target
                    _pick_up(turn, index)
            places.append(turn.robots[index])
        return tuple(places)


def _order(state: State, seat: int, command: str) -> Order:
    drawing = _DRAWINGS[command]
    on_board = _ARROWS[_direction(state, seat, command)] if command in _STEPS else drawing
    return Order(command, drawing, on_board)


_PAD = PadGrammar(
    (
        Key("S", "shoot", "order-shoot", "a"),
        Key("U", "up", "order-up", "up"),
        Key("I", "idle", "order-idle", "b"),
        Key("L", "left", "order-left", "left"),
        Key("D", "down", "order-down", "down"),
        Key("R", "right", "order-right", "right"),
    ),
    length=3,
)


@lru_cache(maxsize=64)
def _kit(board: str) -> Kit:
    ground = ground_of(board)
    marks = [
        Mark(ground.starts[0], "start-s", Seat.SOUTH),
        Mark(ground.bases[0], "base-s", Seat.SOUTH),
        Mark(ground.starts[1], "start-n", Seat.NORTH),
        Mark(ground.bases[1], "base-n", Seat.NORTH),
        *(Mark(wall, "wall") for wall in sorted(ground.walls)),
    ]
    printed = Board(
        "standard" if board == STANDARD_MAP else f"{ground.files} x {ground.ranks}",
        ground.files,
        ground.ranks,
        square_mm=46,
        gap_mm=3,
        corners=(0, 1, 2, 3),
        marks=tuple(marks),
        labels_in_squares=True,
        holes=ground.walls,
    )
    faces = (
        Face("purple robot", "robot-s", (20,), 10.0, Seat.SOUTH),
        Face("lime robot", "robot-n", (21,), 10.0, Seat.NORTH),
        Face("purple flag", "flag-s", (22,), 2.0, Seat.SOUTH, carried=True),
        Face("lime flag", "flag-n", (23,), 2.0, Seat.NORTH, carried=True),
    )
    return Kit(
        "outbuffered",
        "Outbuffered",
        printed,
        SIDES,
        faces,
        pieces=tuple((face.name,) for face in faces),
        notes=(
            "Robots: glue the tag on a block of 10 mm height (two dice side by side, a wooden cube, a bottle cap on cork).",
            "Flags: glue the tag on card of 2 mm, so that a robot can stand on it.",
            "A robot that carries a flag stands on it; the camera remembers the flag beneath.",
        ),
    )
