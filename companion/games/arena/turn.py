"""How a turn of Robot Arena is carried out: defend, arm, move, spawn, attack, blow up, leave.

Source: the rulebook's "Order & Precedence", "Defending", "Self-Destructing", "Moving" and "Attacking". Ruling 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from companion.core.i18n import say
from companion.core.kit import SEATS, Layout
from companion.games.arena import sentences
from companion.games.arena.board import MAX_ROBOTS, ROBOTS, STACKS, STEPS, Terrain
from companion.games.arena.events import ArenaEvent
from companion.games.arena.orders import ATTACKS, DEFEND, DESTRUCT, MOVES, NOTHING, Orders
from companion.games.arena.state import ArenaOptions, Robot, State, is_spawning
from companion.games.base import Event, Outcome, Stage, Step
from companion.games.events import CommonEvent, EventKind
from companion.games.screen import Badge, Headline


class Failure(Enum):
    """Why a robot stays where it is."""

    BARRIER = "edge or wall"
    CONTEST = "several try for the square"
    HELD = "a robot there does not leave"


def failures(places: Sequence[int], tries: Mapping[int, int | None]) -> dict[int, Failure]:
    """Return the robots whose moves fail, with the reason.

    All others succeed, in chains, swaps and rotations too.

    `places` says where each robot stands, `tries` where those that move want to go (None: off the board or a wall).

    >>> failures([0, 1, 2], {0: 1, 1: 2})
    {1: <Failure.HELD: 'a robot there does not leave'>, 0: <Failure.HELD: 'a robot there does not leave'>}
    >>> failures([0, 1], {0: 1, 1: 0})
    {}
    """
    failed: dict[int, Failure] = {}
    comers: dict[int, list[int]] = {}
    for robot, target in tries.items():
        if target is None:
            failed[robot] = Failure.BARRIER
        else:
            comers.setdefault(target, []).append(robot)
    for robots in comers.values():
        if len(robots) > 1:
            failed.update(dict.fromkeys(robots, Failure.CONTEST))
    # a robot that stays keeps its place, and whoever wants to enter it stays, too
    kept = [place for robot, place in enumerate(places) if robot not in tries or robot in failed]
    for place in kept:  # it grows: who cannot enter keeps a place too
        for robot in comers.get(place, ()):
            if robot not in failed:
                failed[robot] = Failure.HELD
                kept.append(places[robot])
    return failed


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
    after = State(
        state.options, state.terrain, (tuple(south), tuple(north)), state.turn + 1, turn.outcome
    )
    return Step(after, tuple(turn.events), tuple(turn.stages))


@dataclass(slots=True, eq=False)
class _Robot:
    """A robot while a turn is carried out."""

    side: int
    number: int
    place: int
    points: int
    code: str
    name: str


class _Turn:
    """The position while a turn is carried out, and what has been told so far."""

    def __init__(self, state: State, given: tuple[Orders, Orders]) -> None:
        self.options: ArenaOptions = state.options
        self.terrain: Terrain = state.terrain
        self.number = state.turn
        self.robots: list[_Robot] = []
        for side in (0, 1):
            codes, names = dict(given[side].given), ROBOTS[side]
            self.robots += [
                _Robot(side, *robot, codes.get(robot.number, NOTHING), names[robot.number])
                for robot in state.robots[side]
            ]
        self.events: list[Event] = []
        self.headlines: list[Headline] = []
        """What is told of the stage that is carried out."""
        self.stages: list[Stage] = []
        self.outcome: Outcome | None = None
        self._told = 0
        self._layout: Layout | None = None
        self._at: dict[int, _Robot] | None = None

    @property
    def at(self) -> Mapping[int, _Robot]:
        """Return which robot stands on a place."""
        if self._at is None:
            self._at = {robot.place: robot for robot in self.robots}
        return self._at

    def forget_layout(self) -> None:
        """Note that robots have moved, come or gone."""
        self._layout = self._at = None

    def add_event(
        self,
        kind: EventKind,
        robot: _Robot,
        text: str,
        rule: str,
        *,
        why: str | None = None,
        to: int | None = None,
        edge: tuple[int, int] | None = None,
    ) -> None:
        """Add an event that happens to a robot where it stands."""
        texts = self.terrain.texts
        there = None if to is None else texts[to]
        self.events.append(
            Event(kind, text, SEATS[robot.side], texts[robot.place], there, edge, why, rule)
        )

    def close(self, title: str) -> None:
        """End a stage, if anything was told in it."""
        if len(self.events) == self._told:
            return
        if self._layout is None:
            squares = self.terrain.squares
            self._layout = {
                squares[each.place]: STACKS[each.side][each.number] for each in self.robots
            }
        most, squares = self.options.hit_points, self.terrain.squares
        badges = {
            squares[each.place]: Badge(str(each.points), each.points / most) for each in self.robots
        }
        told = tuple(self.events[self._told :])
        self.stages.append(
            Stage(title, {}, told, self._layout, headlines=tuple(self.headlines), badges=badges)
        )
        self._told, self.headlines = len(self.events), []


_MOST_BUMPS = 3
"""More failed moves than these are told in one sentence."""


def _shelter(turn: _Turn) -> None:
    """Shelter those who defend, for the whole turn."""
    sheltered = [robot for robot in turn.robots if robot.code == DEFEND]
    for robot in sheltered:
        text = sentences.shelters(robot.name, turn.terrain.texts[robot.place])
        turn.add_event(ArenaEvent.DEFEND, robot, text, "defending")
    if sheltered:
        turn.headlines.append(Headline(sentences.take_shelter(len(sheltered))))


def _arm(turn: _Turn) -> None:
    """Arm the self-destructs. Nothing stops them."""
    armed = [robot for robot in turn.robots if robot.code == DESTRUCT]
    for robot in armed:
        text = sentences.arms(robot.name, turn.terrain.texts[robot.place])
        turn.add_event(ArenaEvent.ARMED, robot, text, "self-destruct")
    if armed:
        turn.headlines.append(Headline(sentences.are_armed(len(armed))))


def _move(turn: _Turn) -> None:
    """Carry out all moves at once."""
    ahead, texts = turn.terrain.ahead, turn.terrain.texts
    tries = {
        index: ahead[robot.place][MOVES[robot.code]]
        for index, robot in enumerate(turn.robots)
        if robot.code in MOVES
    }
    if not tries:
        return
    failed = failures([robot.place for robot in turn.robots], tries)
    turn.headlines += _bumps(turn, failed, tries)
    for index, target in tries.items():
        robot = turn.robots[index]
        direction, here = MOVES[robot.code], texts[robot.place]
        if index in failed:
            why = _why(turn, index, failed[index], tries)
            turn.add_event(
                CommonEvent.BOUNCE,
                robot,
                sentences.bounces(robot.name, here),
                "bounce",
                why=why,
                edge=STEPS[direction],
            )
        elif target is not None:
            text = sentences.moves(robot.name, direction, here, texts[target])
            turn.add_event(CommonEvent.MOVE, robot, text, "moving", to=target)
    for index, target in tries.items():
        if index not in failed and target is not None:
            turn.robots[index].place = target
    turn.forget_layout()


def _bumps(
    turn: _Turn, failed: Mapping[int, Failure], tries: Mapping[int, int | None]
) -> list[Headline]:
    """Return the headlines of moves that fail: one for those to the same square."""
    if len(failed) > _MOST_BUMPS:
        names = [turn.robots[index].name for index in failed]
        return [Headline(sentences.are_blocked(len(failed)), "bump", (names[0], names[-1]))]
    of_square: dict[int, list[int]] = {}
    for index in failed:
        place = tries[index]
        of_square.setdefault(-1 - index if place is None else place, []).append(index)
    headlines = []
    for place, indexes in of_square.items():
        robot, names = turn.robots[indexes[0]], [turn.robots[index].name for index in indexes]
        if len(indexes) > 1:
            headlines.append(
                Headline(
                    sentences.all_want(len(indexes), turn.terrain.texts[place]),
                    "bump",
                    tuple(names[:2]),
                )
            )
            continue
        if standing := turn.at.get(place):
            names.append(standing.name)
        headlines.append(
            Headline(sentences.is_blocked(robot.side, robot.number), "bump", tuple(names))
        )
    return headlines


def _why(turn: _Turn, index: int, failure: Failure, tries: Mapping[int, int | None]) -> str:
    """Return why a move fails, as a sentence."""
    robot, target = turn.robots[index], tries[index]
    if target is None:
        return _barrier(turn.terrain, robot.place, MOVES[robot.code])
    square = turn.terrain.texts[target]
    if failure is Failure.HELD:
        return sentences.stays(turn.at[target].name, square)
    return sentences.contest(
        (turn.robots[other].name for other, tried in tries.items() if tried == target), square
    )


def _barrier(terrain: Terrain, place: int, direction: int) -> str:
    """Return why nothing gets from a place to the next one: a wall or the edge, as a sentence."""
    square = terrain.squares[place].shifted(*STEPS[direction])
    return (
        sentences.into_wall(direction, str(square))
        if square in terrain.walls
        else sentences.off_board(direction)
    )


def _spawn(turn: _Turn) -> None:
    """Put a new robot on every free spawn point in a spawning turn, up to the side's limit."""
    options, terrain = turn.options, turn.terrain
    if not is_spawning(options, turn.number):
        return
    for side, spawns in enumerate(terrain.spawns):
        numbers = {robot.number for robot in turn.robots if robot.side == side}
        for place in spawns:
            square = terrain.texts[place]
            if standing := turn.at.get(place):
                why = sentences.is_in_the_way(standing.name)
            elif len(numbers) >= options.max_robots:
                why = sentences.is_full(side, len(numbers))
            else:
                number = next(free for free in range(1, MAX_ROBOTS + 1) if free not in numbers)
                numbers.add(number)
                robot = _Robot(
                    side, number, place, options.hit_points, NOTHING, ROBOTS[side][number]
                )
                turn.robots.append(robot)
                turn.add_event(
                    ArenaEvent.SPAWN, robot, sentences.appears(robot.name, square), "spawning"
                )
                continue
            text = sentences.appears_not(side, square)
            turn.events.append(
                Event(ArenaEvent.NO_SPAWN, text, SEATS[side], square, why=why, rule="spawning")
            )
        turn.forget_layout()


def _attack(turn: _Turn) -> None:
    """Carry out all attacks at once, each at the square next to the robot."""
    terrain = turn.terrain
    for robot in turn.robots:
        if robot.code not in ATTACKS:
            continue
        direction = ATTACKS[robot.code]
        target = terrain.ahead[robot.place][direction]
        victim = None if target is None else turn.at.get(target)
        if target is not None and victim is not None:
            _hit(turn, robot, victim)
            continue
        why = (
            _barrier(terrain, robot.place, direction)
            if target is None
            else sentences.is_empty(terrain.texts[target])
        )
        turn.add_event(
            CommonEvent.MISS,
            robot,
            sentences.misses(robot.name, direction),
            "attacking",
            why=why,
            to=target,
        )
    turn.headlines.sort(key=lambda headline: headline.lost)
    attacks = sum(robot.code in ATTACKS for robot in turn.robots)
    if attacks and not turn.headlines:
        turn.headlines.append(Headline(sentences.hit_nothing(attacks)))


def _hit(turn: _Turn, robot: _Robot, victim: _Robot) -> None:
    """Carry out an attack that hits another robot, a friend or an enemy."""
    is_friend = victim.side == robot.side
    damage = _hurt(victim, turn.options.friendly if is_friend else turn.options.attack)
    why = sentences.hit_reason(is_friend, victim.code == DEFEND)
    square = turn.terrain.texts[victim.place]
    text = sentences.hits(robot.name, ATTACKS[robot.code], victim.name, square, damage)
    turn.add_event(CommonEvent.SHOT, robot, text, "attacking", why=why, to=victim.place)
    told = sentences.takes(robot.side, victim.side, victim.number, damage)
    turn.headlines.append(_hit_headline(turn, told, (robot, victim), damage))


def _hit_headline(turn: _Turn, text: str, robots: tuple[_Robot, ...], damage: int) -> Headline:
    """Return the headline of a hit: who has done it, and the robot that has lost points by it."""
    victim = robots[-1]
    faces, square = tuple(robot.name for robot in robots), turn.terrain.squares[victim.place]
    return Headline(
        text, "hit", faces, square, damage, max(0, victim.points), turn.options.hit_points
    )


def _blow_up(turn: _Turn) -> None:
    """Carry out all self-destructs at once.

    Each hits the eight neighbours and leaves the robot with 0 points.
    """
    armed = [robot for robot in turn.robots if robot.code == DESTRUCT]
    for robot in armed:
        places = turn.terrain.around[robot.place]
        victims = [turn.at[place] for place in places if place in turn.at]
        hits = [(victim.name, _hurt(victim, turn.options.blast)) for victim in victims]
        text = sentences.blows_up(robot.name, turn.terrain.texts[robot.place], hits)
        why = sentences.SHIELDED if any(victim.code == DEFEND for victim in victims) else None
        turn.add_event(CommonEvent.BLAST, robot, text, "self-destruct", why=why)
        told = sentences.has_blown_up(robot.side, robot.number, len(victims))
        turn.headlines.append(
            Headline(told, "hit", (robot.name,), lost=sum(points for _, points in hits))
        )
    for robot in armed:
        robot.points = 0


def _hurt(victim: _Robot, damage: int) -> int:
    """Take the damage of one hit from a robot, half of it behind a shield.

    Return how much that was.
    """
    if victim.code == DEFEND:
        damage //= 2
    victim.points -= damage
    return damage


def _end(turn: _Turn) -> None:
    """Take robots without points off all together. Then see whether the game is over."""
    if not turn.events:
        turn.events.append(Event(CommonEvent.IDLE, sentences.IDLE, rule="orders"))
    gone = [robot for robot in turn.robots if robot.points <= 0]
    for robot in gone:
        why = sentences.BLOWN_UP if robot.code == DESTRUCT else sentences.NO_POINTS
        turn.add_event(ArenaEvent.LEAVE, robot, sentences.leaves(robot.name), "leaving", why=why)
    if gone:
        turn.robots = [robot for robot in turn.robots if robot.points > 0]
        turn.forget_layout()
    turn.outcome = outcome = _outcome(turn)
    if outcome:
        turn.events.append(outcome.event("winning"))


def _outcome(turn: _Turn) -> Outcome | None:
    """Return how the game ends: a side without robots loses. After the last turn robots count, then hit points."""
    of_north = sum([robot.side for robot in turn.robots])
    counts = [len(turn.robots) - of_north, of_north]
    if not any(counts):
        return Outcome(frozenset(), sentences.NOBODY_LEFT)
    for side in (0, 1):
        if not counts[side]:
            return Outcome(frozenset({SEATS[1 - side]}), sentences.has_none(side))
    if turn.number < turn.options.turns:
        return None
    if counts[0] != counts[1]:
        side = int(counts[1] > counts[0])
        return Outcome(frozenset({SEATS[side]}), sentences.more_robots(turn.number, side, counts))
    points = [sum(robot.points for robot in turn.robots if robot.side == side) for side in (0, 1)]
    if points[0] == points[1]:
        return Outcome(frozenset(), sentences.as_many(turn.number, counts[0], points[0]))
    side = int(points[1] > points[0])
    return Outcome(
        frozenset({SEATS[side]}), sentences.more_points(turn.number, side, counts[0], points)
    )


_STAGES: tuple[tuple[str, Callable[[_Turn], None]], ...] = (
    (say("Defend"), _shelter),
    (say("Armed"), _arm),
    (say("Moves"), _move),
    (say("Spawn"), _spawn),
    (say("Attacks"), _attack),
    (say("Self-destruct"), _blow_up),
    (say("End of the turn"), _end),
)
