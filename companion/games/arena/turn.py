"""What a turn of Robot Arena does: defend, arm, move, spawn, attack, blow up, leave.

`carry_out` runs the functions of `_STAGES` (at the end of this file) one after another on a mutable
`_Turn`. Each of them reports its events and headlines. If it has any events, it becomes a stage
that players carry out on the board.

Source: the rulebook's "Order & Precedence", "Defending", "Self-Destructing", "Moving" and
"Attacking", and Ruling 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companion.core.i18n import joined, listed, say, say_n
from companion.games.arena.board import (
    DIRECTION_WORDS,
    MAX_ROBOTS,
    ROBOT_NAMES,
    ROBOT_STACKS,
    SIDE_NAMES,
    STEPS,
    ArenaEvent,
)
from companion.games.arena.orders import ATTACKS, DEFEND, DESTRUCT, MOVES, NOTHING, Orders
from companion.games.arena.state import Robot, State, is_spawning_turn
from companion.games.arena.words import points_text, robots_text
from companion.games.base import Step
from companion.games.events import CommonEvent, EventKind
from companion.games.screen import Badge, Headline
from companion.games.turn_log import TurnLog

_SHIELD_TEXT = say("Behind its shield a robot takes half the damage, rounded down.")
# Maximum number of failed moves with separate headlines. More than these share one headline.
_MAX_FAILURE_HEADLINES = 2


# Target of each robot that moves, by its index in `_Turn.robots`. A target is a place, which is the
# index of a square, as `Terrain` explains. It is None if the robot would leave the board or run
# into a wall.
MoveTargets = Mapping[int, int | None]


def find_failed_moves(places: Sequence[int], targets: MoveTargets) -> list[int]:
    """Return the indexes of the robots whose moves fail.

    A move fails off the board, into a wall, onto a square that several robots want, and onto a
    robot that stays. All other moves succeed, including chains, swaps and rotations (Ruling 3).

    :param places: the present place of every robot, by its index

    >>> find_failed_moves([0, 1, 2], {0: 1, 1: 2})
    [1, 0]
    >>> find_failed_moves([0, 1], {0: 1, 1: 0})
    []
    """
    entrants: dict[int | None, list[int]] = {}
    for index, target in targets.items():
        entrants.setdefault(target, []).append(index)
    # Robots whose target is None run into a wall or off the board.
    failed = entrants.pop(None, [])
    # If several robots want the same square, all of them fail (Ruling 3).
    for indexes in entrants.values():
        if len(indexes) > 1:
            failed += indexes
    # The place of a robot that stays is taken, so robots that want to enter it fail, too.
    taken_places = [
        place for index, place in enumerate(places) if index not in targets or index in failed
    ]
    # The list grows during the loop: a robot that fails keeps its own place taken.
    for place in taken_places:
        for index in entrants.get(place, ()):
            if index not in failed:
                failed.append(index)
                taken_places.append(places[index])
    return failed


def carry_out(state: State, orders: tuple[Orders, Orders]) -> Step[State]:
    """Carry out South's and North's orders, stage by stage."""
    turn = _Turn(state, orders)
    for title, run_stage in _STAGES:
        run_stage(turn)
        turn.end_stage(title)
    # New robots are last in the list but have the lowest free numbers, so sort by number again.
    south, north = (
        tuple(
            sorted(
                Robot(robot.number, robot.place, robot.hit_points)
                for robot in turn.robots
                if robot.seat == seat
            )
        )
        for seat in (0, 1)
    )
    after = State(state.options, state.terrain, (south, north), state.turn + 1, turn.outcome)
    return turn.build_step(after)


@dataclass(slots=True, eq=False)
class _Robot:
    """A robot during a turn, which moves and loses hit points."""

    seat: int
    """Seat that it belongs to: 0 South, 1 North."""
    number: int
    """Number of the robot among those of its seat, from 1."""
    place: int
    hit_points: int
    code: str = NOTHING
    """Its order in notation, one of `orders.ORDER_CODES`."""

    @property
    def name(self) -> str:
        return ROBOT_NAMES[self.seat][self.number]


class _Turn(TurnLog):
    """The position while a turn is carried out, with its events and stages."""

    def __init__(self, state: State, orders: tuple[Orders, Orders]) -> None:
        super().__init__()
        self.options = state.options
        self.terrain = state.terrain
        self.turn_number = state.turn
        self.robots: list[_Robot] = []
        for seat, robots in enumerate(state.robots):
            codes = dict(orders[seat].by_robot)
            # `*robot` is number, place and hit points. No order means to do nothing (Ruling 3).
            self.robots += [
                _Robot(seat, *robot, codes.get(robot.number, NOTHING)) for robot in robots
            ]

    def robots_by_place(self) -> dict[int, _Robot]:
        """Return the robots by their present place."""
        return {robot.place: robot for robot in self.robots}

    def add_robot_event(
        self,
        kind: EventKind,
        robot: _Robot,
        text: str,
        rule: str,
        to: int | None = None,
        **more: Any,
    ) -> None:
        """Add an event of a robot at its present square. `to` is the place of its target."""
        names = self.terrain.names
        target = None if to is None else names[to]
        self.add_event(kind, robot.seat, text, rule, square=names[robot.place], to=target, **more)

    def end_stage(self, title: str) -> None:
        """Add a stage with the events since the last one, unless there are none."""
        # A stage without events would interrupt play for nothing.
        if not self.events_since_stage:
            return
        squares = self.terrain.squares
        layout = {
            squares[robot.place]: ROBOT_STACKS[robot.seat][robot.number] for robot in self.robots
        }
        badges = {
            squares[robot.place]: Badge(
                str(robot.hit_points), robot.hit_points / self.options.hit_points
            )
            for robot in self.robots
        }
        self.add_stage(title, layout, badges=badges)


def _defend(turn: _Turn) -> None:
    """Report the robots that defend (rulebook, "Defending"). The shield lasts the whole turn."""
    defenders = [robot for robot in turn.robots if robot.code == DEFEND]
    for robot in defenders:
        text = say(
            "{robot!c} takes shelter on {square}.",
            robot=robot.name,
            square=turn.terrain.names[robot.place],
        )
        turn.add_robot_event(ArenaEvent.DEFEND, robot, text, "defending")
    if defenders:
        text = say_n("{n} robot takes shelter", "{n} robots take shelter", len(defenders))
        turn.headlines.append(Headline(text))


def _arm(turn: _Turn) -> None:
    """Report the robots that arm their self-destruct, which nothing can stop any more."""
    armed = [robot for robot in turn.robots if robot.code == DESTRUCT]
    for robot in armed:
        text = say(
            "{robot!c} arms its self-destruct on {square}.",
            robot=robot.name,
            square=turn.terrain.names[robot.place],
        )
        turn.add_robot_event(ArenaEvent.ARMED, robot, text, "self-destruct")
    if armed:
        text = say_n("{n} robot is going to blow up", "{n} robots are going to blow up", len(armed))
        turn.headlines.append(Headline(text))


# ---- moves ---------------------------------------------------------------------------------------


def _move(turn: _Turn) -> None:
    """Carry out all moves together (rulebook, "Moving"), except those that fail."""
    names = turn.terrain.names
    targets = {
        index: turn.terrain.neighbours[robot.place][MOVES[robot.code]]
        for index, robot in enumerate(turn.robots)
        if robot.code in MOVES
    }
    failed = find_failed_moves([robot.place for robot in turn.robots], targets)
    turn.headlines += _failure_headlines(turn, failed, targets)
    for index, target in targets.items():
        robot = turn.robots[index]
        direction = MOVES[robot.code]
        here = names[robot.place]
        # A failed move is published as a bounce.
        if index in failed:
            why = _failure_text(turn, index, targets)
            text = say("{robot!c} bounces and stays on {square}.", robot=robot.name, square=here)
            turn.add_robot_event(
                CommonEvent.BOUNCE, robot, text, "bounce", why=why, edge=STEPS[direction]
            )
        elif target is not None:
            text = say(
                "{robot!c} moves {direction}, {origin} to {target}.",
                robot=robot.name,
                direction=DIRECTION_WORDS[direction],
                origin=here,
                target=names[target],
            )
            turn.add_robot_event(CommonEvent.MOVE, robot, text, "moving", to=target)
    # Places change only now, because the sentences above name the old squares.
    for index, target in targets.items():
        if index not in failed and target is not None:
            turn.robots[index].place = target


def _failure_headlines(turn: _Turn, failed: Sequence[int], targets: MoveTargets) -> list[Headline]:
    """Return the headlines of failed moves. Moves to the same square share one headline."""
    names = {index: turn.robots[index].name for index in failed}
    # More headlines would take too long to read. One headline says how many robots are blocked, and
    # its picture shows the first and the last of them.
    if len(failed) > _MAX_FAILURE_HEADLINES:
        first, *_, last = names.values()
        return [Headline(say("{n} robots are blocked", n=len(failed)), "bump", (first, last))]
    robot_at = turn.robots_by_place()
    headlines = []
    for index in failed:
        robot = turn.robots[index]
        place = targets[index]
        faces = [names[other] for other in failed if targets[other] == place]
        if place is None or len(faces) == 1:
            text = say(
                "{side!c}’s robot {number} is blocked",
                side=SIDE_NAMES[robot.seat],
                number=robot.number,
            )
            faces = [robot.name]
            # Also show the robot in the way.
            if place in robot_at:
                faces.append(robot_at[place].name)
        else:
            text = say("Both want {square}. Nobody gets it.", square=turn.terrain.names[place])
        headlines.append(Headline(text, "bump", tuple(faces)))
    # Robots that wanted the same square have made the same headline.
    return list(dict.fromkeys(headlines))


def _failure_text(turn: _Turn, index: int, targets: MoveTargets) -> str:
    """Return a sentence on why a move fails."""
    robot = turn.robots[index]
    target = targets[index]
    if target is None:
        return _barrier_text(turn, robot, MOVES[robot.code])
    square = turn.terrain.names[target]
    entrants = [turn.robots[other].name for other, place in targets.items() if place == target]
    if len(entrants) > 1:
        return say("{robots!c} try to enter {square}.", robots=listed(entrants), square=square)
    occupant = turn.robots_by_place()[target]
    return say("{robot!c} does not leave {square}.", robot=occupant.name, square=square)


def _barrier_text(turn: _Turn, robot: _Robot, direction: int) -> str:
    """Return a sentence on what is in the way in this direction: a wall or the board's edge."""
    square = turn.terrain.squares[robot.place].shifted(*STEPS[direction])
    word = DIRECTION_WORDS[direction]
    if square in turn.terrain.walls:
        return say("{direction!c} leads into the wall on {square}.", direction=word, square=square)
    return say("{direction!c} leads off the board.", direction=word)


def _spawn(turn: _Turn) -> None:
    """Put a new robot on every free spawn point, up to the side's limit, if the turn spawns any."""
    options = turn.options
    if not is_spawning_turn(options, turn.turn_number):
        return
    robot_at = turn.robots_by_place()
    for seat, spawns in enumerate(turn.terrain.spawns):
        # Armed robots count, too, since they leave only at the end of the turn (Ruling 3).
        numbers = {robot.number for robot in turn.robots if robot.seat == seat}
        for place in spawns:
            square = turn.terrain.names[place]
            if place in robot_at:
                why = say("{robot!c} stands there.", robot=robot_at[place].name)
                _report_no_spawn(turn, seat, square, why)
            elif len(numbers) >= options.max_robots:
                why = say_n(
                    "{side!c} has {n} robot, as many as a side may have.",
                    "{side!c} has {n} robots, as many as a side may have.",
                    len(numbers),
                    side=SIDE_NAMES[seat],
                )
                _report_no_spawn(turn, seat, square, why)
            else:
                # The lowest free number (Ruling 3).
                number = next(free for free in range(1, MAX_ROBOTS + 1) if free not in numbers)
                numbers.add(number)
                robot = _Robot(seat, number, place, options.hit_points)
                turn.robots.append(robot)
                text = say(
                    "{robot!c} appears on {square}: put down its tag.",
                    robot=robot.name,
                    square=square,
                )
                turn.add_robot_event(ArenaEvent.SPAWN, robot, text, "spawning")


def _report_no_spawn(turn: _Turn, seat: int, square: str, why: str) -> None:
    text = say("No {colour} robot appears on {square}.", colour=SIDE_NAMES[seat], square=square)
    turn.add_event(ArenaEvent.NO_SPAWN, seat, text, "spawning", square=square, why=why)


# ---- attacks -------------------------------------------------------------------------------------


def _attack(turn: _Turn) -> None:
    """Carry out all attacks together, each on the square next to the robot (rulebook, "Attacking").

    They come after the moves, so a robot may have left the square or entered it.
    """
    robot_at = turn.robots_by_place()
    attackers = [robot for robot in turn.robots if robot.code in ATTACKS]
    for robot in attackers:
        direction = ATTACKS[robot.code]
        target = turn.terrain.neighbours[robot.place][direction]
        if target is None:
            why = _barrier_text(turn, robot, direction)
        elif target in robot_at:
            _hit(turn, robot, robot_at[target])
            continue
        else:
            why = say("Nothing stands on {square}.", square=turn.terrain.names[target])
        text = say(
            "{robot!c} attacks {direction} and hits nothing.",
            robot=robot.name,
            direction=DIRECTION_WORDS[direction],
        )
        turn.add_robot_event(CommonEvent.MISS, robot, text, "attacking", why=why, to=target)
    # Show the hardest hit last.
    turn.headlines.sort(key=lambda headline: headline.lost)
    if attackers and not turn.headlines:
        text = say_n("The attack hits nothing", "{n} attacks hit nothing", len(attackers))
        turn.headlines.append(Headline(text))


def _hit(turn: _Turn, attacker: _Robot, victim: _Robot) -> None:
    """Carry out an attack that hits a robot of either side."""
    is_friend = victim.seat == attacker.seat
    damage = _apply_damage(victim, turn.options.friendly if is_friend else turn.options.attack)
    reasons = []
    if is_friend:
        reasons.append(say("It is on its own side."))
    if victim.code == DEFEND:
        reasons.append(_SHIELD_TEXT)
    text = say_n(
        "{robot!c} attacks {direction} and hits {victim} on {square}: {n} point.",
        "{robot!c} attacks {direction} and hits {victim} on {square}: {n} points.",
        damage,
        robot=attacker.name,
        direction=DIRECTION_WORDS[ATTACKS[attacker.code]],
        victim=victim.name,
        square=turn.terrain.names[victim.place],
    )
    why = joined(" ", reasons) or None
    turn.add_robot_event(CommonEvent.SHOT, attacker, text, "attacking", why=why, to=victim.place)
    turn.headlines.append(_hit_headline(turn, attacker, victim, damage))


def _hit_headline(turn: _Turn, attacker: _Robot, victim: _Robot, damage: int) -> Headline:
    """Return the headline of a hit, after its damage was subtracted."""
    parts = {"side": SIDE_NAMES[attacker.seat], "number": victim.number, "points": damage}
    if victim.seat == attacker.seat:
        text = say("{side!c} hits own robot {number} for {points}", **parts)
    else:
        text = say(
            "{side!c} hits {other}’s robot {number} for {points}",
            other=SIDE_NAMES[victim.seat],
            **parts,
        )
    faces = (attacker.name, victim.name)
    square = turn.terrain.squares[victim.place]
    # Hit points may be negative here: a destroyed robot stays on the board until the turn ends.
    points_left = max(0, victim.hit_points)
    return Headline(
        text, "hit", faces, square, lost=damage, left=points_left, most=turn.options.hit_points
    )


def _self_destruct(turn: _Turn) -> None:
    """Carry out all self-destructs together (rulebook, "Self-Destructing").

    Each hits the eight neighbours and leaves its robot with 0 points.
    """
    armed = [robot for robot in turn.robots if robot.code == DESTRUCT]
    robot_at = turn.robots_by_place()
    for robot in armed:
        # Neighbours of both sides are hit, and walls protect nobody (Ruling 3).
        neighbours = turn.terrain.around[robot.place]
        victims = [robot_at[place] for place in neighbours if place in robot_at]
        damages = [_apply_damage(victim, turn.options.blast) for victim in victims]
        parts = {"robot": robot.name, "square": turn.terrain.names[robot.place]}
        if victims:
            hits = listed(
                say("{robot} ({points})", robot=victim.name, points=damage)
                for victim, damage in zip(victims, damages, strict=True)
            )
            text = say("{robot!c} blows up on {square} and hits {robots}.", robots=hits, **parts)
        else:
            text = say("{robot!c} blows up on {square} and hits nobody.", **parts)
        why = _SHIELD_TEXT if any(victim.code == DEFEND for victim in victims) else None
        turn.add_robot_event(CommonEvent.BLAST, robot, text, "self-destruct", why=why)
        text = say(
            "{side!c}’s robot {number} blows up: {victims} hit",
            side=SIDE_NAMES[robot.seat],
            number=robot.number,
            victims=len(victims),
        )
        turn.headlines.append(Headline(text, "hit", (robot.name,), lost=sum(damages)))
    # They end with 0 points, whatever damage other blasts did to them (Ruling 3).
    for robot in armed:
        robot.hit_points = 0


def _apply_damage(victim: _Robot, damage: int) -> int:
    """Take the damage of one hit from a robot and return it, halved if the robot defends."""
    if victim.code == DEFEND:
        # Every single hit is halved and rounded down (Ruling 3).
        damage //= 2
    victim.hit_points -= damage
    return damage


# ---- the end of the turn -------------------------------------------------------------------------


def _end(turn: _Turn) -> None:
    """Remove the robots without hit points, then end the game if it is over."""
    if not turn.events:
        turn.add_event(CommonEvent.IDLE, None, say("No robot does anything."), "orders")
    _remove_destroyed(turn)
    _end_if_over(turn)


def _remove_destroyed(turn: _Turn) -> None:
    """Remove all robots without hit points together, after they have acted (Ruling 3)."""
    for robot in turn.robots:
        if robot.hit_points <= 0:
            why = say("It has no hit points left.")
            if robot.code == DESTRUCT:
                why = say("It has blown itself up.")
            text = say("{robot!c} leaves the board.", robot=robot.name)
            turn.add_robot_event(ArenaEvent.LEAVE, robot, text, "leaving", why=why)
    turn.robots = [robot for robot in turn.robots if robot.hit_points > 0]


def _end_if_over(turn: _Turn) -> None:
    """End the game if a side has no robots left, or after the last turn.

    A side without robots loses. After the last turn the number of robots decides (Ruling 3).
    """
    sides = [[robot for robot in turn.robots if robot.seat == seat] for seat in (0, 1)]
    counts = [len(robots) for robots in sides]
    # A side without robots loses, even if robots would appear in the next turn (Ruling 3).
    if not any(counts):
        text = say("Neither side has a robot left: a draw.")
        turn.end_game(None, text, "winning", say("No robots left."))
    elif not all(counts):
        loser = counts.index(0)
        text = say("{side!c} has no robot left.", side=SIDE_NAMES[loser])
        short = say("{side!c} has no robots.", side=SIDE_NAMES[loser])
        turn.end_game(1 - loser, text, "winning", short)
    elif turn.turn_number >= turn.options.turns:
        points = [sum(robot.hit_points for robot in robots) for robots in sides]
        _end_by_count(turn, counts, points)


def _end_by_count(turn: _Turn, counts: list[int], points: list[int]) -> None:
    """End the game after the last turn. More robots win, with hit points as the tie-break."""
    # Tuples compare by robots first, then by hit points.
    scores = list(zip(counts, points, strict=True))
    winner = None if scores[0] == scores[1] else scores.index(max(scores))
    # The sentences speak of the winner first, or of South in a draw.
    seat = winner or 0
    parts = {
        "turn": turn.turn_number,
        "robots": robots_text(counts[seat]),
        "side": SIDE_NAMES[seat],
        "other": SIDE_NAMES[1 - seat],
    }
    more_points = points_text(points[seat])
    if winner is None:
        text = say(
            "Turn {turn} was the last one: {robots} and {points} each, a draw.",
            points=more_points,
            **parts,
        )
        short = say("{points} each.", points=more_points)
    elif counts[0] != counts[1]:
        text = say(
            "Turn {turn} was the last one: {side} has {robots}, {other} {fewer}.",
            fewer=counts[1 - seat],
            **parts,
        )
        short = say("{more} robots against {fewer}.", more=max(counts), fewer=min(counts))
    else:
        text = say(
            "Turn {turn} was the last one, {robots} each: {side} has {points}, {other} {fewer}.",
            points=more_points,
            fewer=points[1 - seat],
            **parts,
        )
        short = say("{more} points against {fewer}.", more=max(points), fewer=min(points))
    turn.end_game(winner, text, "winning", short)


# Titles of the stages that carry out orders, from which `screen` knows which orders are open.
DEFEND_STAGE = say("Defend")
ARM_STAGE = say("Armed")
MOVE_STAGE = say("Moves")
ATTACK_STAGE = say("Attacks")
# All stages of a turn in sequence, with the function that carries each out.
_STAGES: tuple[tuple[str, Callable[[_Turn], None]], ...] = (
    (DEFEND_STAGE, _defend),
    (ARM_STAGE, _arm),
    (MOVE_STAGE, _move),
    (say("Spawn"), _spawn),
    (ATTACK_STAGE, _attack),
    (say("Self-destruct"), _self_destruct),
    (say("End of the turn"), _end),
)
