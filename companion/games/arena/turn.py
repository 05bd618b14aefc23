"""How a turn of Robot Arena is carried out: defend, arm, move, spawn, attack, blow up, leave.

Source: the rulebook's "Order & Precedence", "Defending", "Self-Destructing", "Moving" and "Attacking"; Ruling 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from companion.games.arena.board import MOST_ROBOTS, NAMES, ROBOTS, STACKS, STEPS, TITLES, WORDS, Ground
from companion.games.arena.moves import Failure, failures
from companion.games.arena.orders import ATTACKS, DEFEND, DESTRUCT, MOVES, NOTHING, Orders
from companion.games.arena.state import ArenaOptions, Robot, State, is_spawning
from companion.games.arena.words import counted
from companion.games.base import Event, Outcome, Stage, Step
from companion.kit import SEATS, Layout

_SHIELDED = "Behind its shield a robot takes half, rounded down."


def play(state: State, given: tuple[Orders, Orders]) -> Step[State]:
    """Carry out South's and North's orders."""
    turn = _Turn(state, given)
    for title, act in _STAGES:
        act(turn)
        turn.close(title)
    sides: tuple[list[Robot], list[Robot]] = ([], [])
    for robot in turn.robots:
        sides[robot.side].append(Robot(robot.number, robot.place, robot.points))
    south, north = map(sorted, sides)
    after = State(state.options, state.ground, (tuple(south), tuple(north)), state.turn + 1, turn.outcome)
    return Step(after, tuple(turn.events), tuple(turn.stages))


@dataclass(slots=True, eq=False)
class _Robot:
    """A robot while a turn is carried out."""

    side: int
    number: int
    place: int
    points: int
    code: str

    @property
    def name(self) -> str:
        """In the middle of a sentence."""
        return ROBOTS[self.side][self.number]

    @property
    def title(self) -> str:
        """At the beginning of a sentence."""
        return TITLES[self.side][self.number]


class _Turn:
    """The position while a turn is carried out, and what has been told so far."""

    def __init__(self, state: State, given: tuple[Orders, Orders]) -> None:
        self.options: ArenaOptions = state.options
        self.ground: Ground = state.ground
        self.number = state.turn
        self.robots: list[_Robot] = []
        for side in (0, 1):
            codes = dict(given[side].given)
            self.robots += [_Robot(side, *robot, codes.get(robot.number, NOTHING)) for robot in state.robots[side]]
        self.events: list[Event] = []
        self.stages: list[Stage] = []
        self.outcome: Outcome | None = None
        self._told = 0
        self._layout: Layout | None = None
        self._at: dict[int, _Robot] | None = None

    @property
    def at(self) -> Mapping[int, _Robot]:
        """Which robot stands on a place."""
        if self._at is None:
            self._at = {robot.place: robot for robot in self.robots}
        return self._at

    def changed(self) -> None:
        """Robots have moved, come or gone."""
        self._layout = self._at = None

    def say(
        self,
        kind: str,
        robot: _Robot,
        text: str,
        rule: str,
        *,
        why: str | None = None,
        to: int | None = None,
        edge: tuple[int, int] | None = None,
    ) -> None:
        """Add an event that happens to a robot where it stands."""
        texts = self.ground.texts
        there = None if to is None else texts[to]
        self.events.append(Event(kind, text, SEATS[robot.side], texts[robot.place], there, edge, why, rule))

    def close(self, title: str) -> None:
        """End a stage, if anything was told in it."""
        if len(self.events) == self._told:
            return
        if self._layout is None:
            squares = self.ground.squares
            self._layout = {squares[each.place]: STACKS[each.side][each.number] for each in self.robots}
        self.stages.append(Stage(title, {}, tuple(self.events[self._told :]), self._layout))
        self._told = len(self.events)


def _shelter(turn: _Turn) -> None:
    """Defenders shelter for the whole turn."""
    for robot in turn.robots:
        if robot.code == DEFEND:
            turn.say("defend", robot, f"{robot.title} shelters on {turn.ground.texts[robot.place]}.", "defending")


def _arm(turn: _Turn) -> None:
    """Self-destructs are armed; nothing stops them."""
    for robot in turn.robots:
        if robot.code == DESTRUCT:
            text = f"{robot.title} arms its self-destruct on {turn.ground.texts[robot.place]}."
            turn.say("armed", robot, text, "self-destruct")


def _move(turn: _Turn) -> None:
    """All moves at once."""
    ahead, texts = turn.ground.ahead, turn.ground.texts
    tries = {
        index: ahead[robot.place][MOVES[robot.code]] for index, robot in enumerate(turn.robots) if robot.code in MOVES
    }
    if not tries:
        return
    failed = failures([robot.place for robot in turn.robots], tries)
    for index, target in tries.items():
        robot = turn.robots[index]
        direction, here = MOVES[robot.code], texts[robot.place]
        if index in failed:
            why = _why(turn, index, failed[index], tries)
            text = f"{robot.title} bounces and stays on {here}."
            turn.say("bounce", robot, text, "bounce", why=why, edge=STEPS[direction])
        elif target is not None:
            text = f"{robot.title} moves {WORDS[direction]}, {here} to {texts[target]}."
            turn.say("move", robot, text, "moving", to=target)
    for index, target in tries.items():
        if index not in failed and target is not None:
            turn.robots[index].place = target
    turn.changed()


def _why(turn: _Turn, index: int, failure: Failure, tries: Mapping[int, int | None]) -> str:
    """Why a move fails, as a sentence."""
    robot, target = turn.robots[index], tries[index]
    if target is None:
        return turn.ground.barrier(robot.place, MOVES[robot.code])
    if failure is Failure.HELD:
        return f"{turn.at[target].title} does not leave {turn.ground.texts[target]}."
    first, *others = (turn.robots[other] for other, tried in tries.items() if tried == target)
    *middle, last = (other.name for other in others)
    return f"{', '.join((first.title, *middle))} and {last} try for {turn.ground.texts[target]}."


def _spawn(turn: _Turn) -> None:
    """In a spawning turn every spawn point that is free gets a new robot, up to the side's limit."""
    options, ground = turn.options, turn.ground
    if not is_spawning(options, turn.number):
        return
    for side, spawns in enumerate(ground.spawns):
        numbers = {robot.number for robot in turn.robots if robot.side == side}
        for place in spawns:
            square = ground.texts[place]
            if standing := turn.at.get(place):
                why = f"{standing.title} stands there."
            elif len(numbers) >= options.max_robots:
                why = f"{NAMES[side].capitalize()} has {len(numbers)} robots, as many as a side may have."
            else:
                number = next(free for free in range(1, MOST_ROBOTS + 1) if free not in numbers)
                numbers.add(number)
                robot = _Robot(side, number, place, options.hit_points, NOTHING)
                turn.robots.append(robot)
                turn.say("spawn", robot, f"{robot.title} appears on {square}: put down its tag.", "spawning")
                continue
            text = f"No {NAMES[side]} robot appears on {square}."
            turn.events.append(Event("no_spawn", text, SEATS[side], square, why=why, rule="spawning"))
        turn.changed()


def _attack(turn: _Turn) -> None:
    """All attacks at once, each at the square next to the robot."""
    ground, options = turn.ground, turn.options
    for robot in turn.robots:
        if robot.code not in ATTACKS:
            continue
        direction = ATTACKS[robot.code]
        target = ground.ahead[robot.place][direction]
        does = f"{robot.title} attacks {WORDS[direction]}"
        victim = None if target is None else turn.at.get(target)
        if target is None:
            turn.say(
                "miss", robot, f"{does} and hits nothing.", "attacking", why=ground.barrier(robot.place, direction)
            )
        elif victim is None:
            why = f"Nothing stands on {ground.texts[target]}."
            turn.say("miss", robot, f"{does} and hits nothing.", "attacking", why=why, to=target)
        else:
            is_friend = victim.side == robot.side
            damage = _hurt(victim, options.friendly if is_friend else options.attack)
            text = f"{does} and hits {victim.name} on {ground.texts[target]}: {counted(damage, 'point')}."
            reasons = ["It is of its own side."] if is_friend else []
            reasons += [_SHIELDED] if victim.code == DEFEND else []
            turn.say("shot", robot, text, "attacking", why=" ".join(reasons) or None, to=target)


def _blow_up(turn: _Turn) -> None:
    """All self-destructs at once; each hits the eight neighbours and leaves the robot with 0 points."""
    armed = [robot for robot in turn.robots if robot.code == DESTRUCT]
    for robot in armed:
        places = turn.ground.around[robot.place]
        victims = [turn.at[place] for place in places if place in turn.at]
        hits = [f"{victim.name} ({_hurt(victim, turn.options.blast)})" for victim in victims]
        whom = " and ".join(filter(None, (", ".join(hits[:-1]), *hits[-1:]))) or "nobody"
        text = f"{robot.title} blows up on {turn.ground.texts[robot.place]} and hits {whom}."
        why = _SHIELDED if any(victim.code == DEFEND for victim in victims) else None
        turn.say("blast", robot, text, "self-destruct", why=why)
    for robot in armed:
        robot.points = 0


def _hurt(victim: _Robot, damage: int) -> int:
    """Take the damage of one hit from a robot, half of it behind a shield; answers how much that was."""
    if victim.code == DEFEND:
        damage //= 2
    victim.points -= damage
    return damage


def _end(turn: _Turn) -> None:
    """Robots without points leave all together; then it is seen whether the game is over."""
    if not turn.events:
        turn.events.append(Event("idle", "No robot does anything.", rule="orders"))
    gone = [robot for robot in turn.robots if robot.points <= 0]
    for robot in gone:
        why = "It has blown itself up." if robot.code == DESTRUCT else "It has no hit points left."
        turn.say("leave", robot, f"{robot.title} leaves the board.", "leaving", why=why)
    if gone:
        turn.robots = [robot for robot in turn.robots if robot.points > 0]
        turn.changed()
    turn.outcome = outcome = _outcome(turn)
    if outcome:
        winner = next(iter(outcome.winners), None)
        kind = "won" if winner else "tie"
        turn.events.append(Event(kind, outcome.reason, winner, rule="winning"))


def _outcome(turn: _Turn) -> Outcome | None:
    """A side without robots loses; after the last turn robots count, then hit points."""
    counts = [sum(robot.side == side for robot in turn.robots) for side in (0, 1)]
    if not any(counts):
        return Outcome(frozenset(), "Neither side has a robot left: a tie.")
    for side in (0, 1):
        if not counts[side]:
            return Outcome(frozenset({SEATS[1 - side]}), f"{NAMES[side].capitalize()} has no robot left.")
    if turn.number < turn.options.turns:
        return None
    over = f"Turn {turn.number} was the last one"
    if counts[0] != counts[1]:
        side = int(counts[1] > counts[0])
        reason = f"{over}: {NAMES[side]} has {counted(counts[side], 'robot')}, {NAMES[1 - side]} {counts[1 - side]}."
        return Outcome(frozenset({SEATS[side]}), reason)
    points = [sum(robot.points for robot in turn.robots if robot.side == side) for side in (0, 1)]
    if points[0] == points[1]:
        return Outcome(
            frozenset(), f"{over}: {counted(counts[0], 'robot')} and {counted(points[0], 'point')} each, a tie."
        )
    side = int(points[1] > points[0])
    each = f"{counted(counts[0], 'robot')} each"
    reason = (
        f"{over}, {each}: {NAMES[side]} has {counted(points[side], 'point')}, {NAMES[1 - side]} {points[1 - side]}."
    )
    return Outcome(frozenset({SEATS[side]}), reason)


_STAGES: tuple[tuple[str, Callable[[_Turn], None]], ...] = (
    ("Defend", _shelter),
    ("Armed", _arm),
    ("Moves", _move),
    ("Spawn", _spawn),
    ("Attacks", _attack),
    ("Self-destruct", _blow_up),
    ("End of the turn", _end),
)
