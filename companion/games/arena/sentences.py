"""What is told of a turn of Robot Arena, sentence by sentence.

Random playouts tell the same again and again: what is told of single robots is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from companion.core.i18n import joined, listed, say, say_n
from companion.games.arena.board import NAMES, WORDS
from companion.games.arena.words import counted_points, counted_robots

_remembered = lru_cache(maxsize=8192)

SHIELDED = say("Behind its shield a robot takes half the damage, rounded down.")
OWN_SIDE = say("It is on its own side.")
IDLE = say("No robot does anything.")
BLOWN_UP = say("It has blown itself up.")
NO_POINTS = say("It has no hit points left.")
NOBODY_LEFT = say("Neither side has a robot left: a draw.")

# ---- robots, by their names; directions and sides by their index -----------------------------------------------------


@_remembered
def shelters(robot: str, square: str) -> str:
    """Say that it defends."""
    return say("{robot!c} takes shelter on {square}.", robot=robot, square=square)


@_remembered
def arms(robot: str, square: str) -> str:
    """Say that it will blow up."""
    return say("{robot!c} arms its self-destruct on {square}.", robot=robot, square=square)


@_remembered
def moves(robot: str, direction: int, origin: str, target: str) -> str:
    """Say that its move succeeds."""
    return say(
        "{robot!c} moves {direction}, {origin} to {target}.",
        robot=robot,
        direction=WORDS[direction],
        origin=origin,
        target=target,
    )


@_remembered
def bounces(robot: str, square: str) -> str:
    """Say that its move fails."""
    return say("{robot!c} bounces and stays on {square}.", robot=robot, square=square)


@_remembered
def stays(robot: str, square: str) -> str:
    """Return why another one's move fails."""
    return say("{robot!c} does not leave {square}.", robot=robot, square=square)


@_remembered
def into_wall(direction: int, square: str) -> str:
    """Return why nothing gets any further."""
    return say(
        "{direction!c} leads into the wall on {square}.", direction=WORDS[direction], square=square
    )


@_remembered
def off_board(direction: int) -> str:
    """Return why nothing gets any further."""
    return say("{direction!c} leads off the board.", direction=WORDS[direction])


def contest(robots: Iterable[str], square: str) -> str:
    """Return why the moves of several robots fail."""
    return say("{robots!c} try to enter {square}.", robots=listed(robots), square=square)


@_remembered
def appears(robot: str, square: str) -> str:
    """Say that it is new."""
    return say("{robot!c} appears on {square}: put down its tag.", robot=robot, square=square)


@_remembered
def is_in_the_way(robot: str) -> str:
    """Return why no new robot appears where it stands."""
    return say("{robot!c} stands there.", robot=robot)


@_remembered
def misses(robot: str, direction: int) -> str:
    """Say that its attack hits nothing."""
    return say(
        "{robot!c} attacks {direction} and hits nothing.", robot=robot, direction=WORDS[direction]
    )


@_remembered
def is_empty(square: str) -> str:
    """Return why an attack hits nothing."""
    return say("Nothing stands on {square}.", square=square)


@_remembered
def hits(robot: str, direction: int, victim: str, square: str, damage: int) -> str:
    """Say that its attack takes points from another robot."""
    return say_n(
        "{robot!c} attacks {direction} and hits {victim} on {square}: {n} point.",
        "{robot!c} attacks {direction} and hits {victim} on {square}: {n} points.",
        damage,
        robot=robot,
        direction=WORDS[direction],
        victim=victim,
        square=square,
    )


@_remembered
def hit_reason(is_friend: bool, is_shielded: bool) -> str | None:
    """Return why a hit takes another number of points than usual."""
    return joined(" ", (is_friend and OWN_SIDE, is_shielded and SHIELDED)) or None


def blows_up(robot: str, square: str, victims: Sequence[tuple[str, int]]) -> str:
    """Return its self-destruct. The victims with the points that each loses."""
    if not victims:
        return say("{robot!c} blows up on {square} and hits nobody.", robot=robot, square=square)
    hit = listed(
        say("{robot} ({points})", robot=victim, points=points) for victim, points in victims
    )
    return say(
        "{robot!c} blows up on {square} and hits {robots}.", robot=robot, square=square, robots=hit
    )


@_remembered
def leaves(robot: str) -> str:
    """Say that it has no points left."""
    return say("{robot!c} leaves the board.", robot=robot)


# ---- sides -----------------------------------------------------------------------------------------------------------


@_remembered
def appears_not(side: int, square: str) -> str:
    """Return a spawn point brings nothing."""
    return say("No {colour} robot appears on {square}.", colour=NAMES[side], square=square)


@_remembered
def is_full(side: int, number: int) -> str:
    """Return why a side gets no more robots."""
    return say_n(
        "{side!c} has {n} robot, as many as a side may have.",
        "{side!c} has {n} robots, as many as a side may have.",
        number,
        side=NAMES[side],
    )


def has_none(side: int) -> str:
    """Return why a side has lost."""
    return say("{side!c} has no robot left.", side=NAMES[side])


def more_robots(turn: int, side: int, counts: Sequence[int]) -> str:
    """Return why a side wins after the last turn: it has more robots."""
    return say(
        "Turn {turn} was the last one: {side} has {robots}, {other} {fewer}.",
        turn=turn,
        side=NAMES[side],
        robots=counted_robots(counts[side]),
        other=NAMES[1 - side],
        fewer=counts[1 - side],
    )


def more_points(turn: int, side: int, count: int, points: Sequence[int]) -> str:
    """Return why a side wins after the last turn: both have so many robots, it has more points."""
    return say(
        "Turn {turn} was the last one, {robots} each: {side} has {points}, {other} {fewer}.",
        turn=turn,
        robots=counted_robots(count),
        side=NAMES[side],
        points=counted_points(points[side]),
        other=NAMES[1 - side],
        fewer=points[1 - side],
    )


def as_many(turn: int, count: int, points: int) -> str:
    """Return why nobody wins after the last turn."""
    return say(
        "Turn {turn} was the last one: {robots} and {points} each, a draw.",
        turn=turn,
        robots=counted_robots(count),
        points=counted_points(points),
    )


# ---- what the sign tells, in at most 40 letters ----------------------------------------------------------------------


@_remembered
def is_blocked(side: int, number: int) -> str:
    """Say that a move fails at the edge, a wall or a robot."""
    return say("{side!c}’s robot {number} is blocked", side=NAMES[side], number=number)


@_remembered
def all_want(robots: int, square: str) -> str:
    """Say that several moves fail at one square."""
    if robots == 2:
        return say("Both want {square}. Nobody gets it.", square=square)
    return say("{n} robots want {square}. None gets it.", n=robots, square=square)


@_remembered
def are_blocked(robots: int) -> str:
    """Say that many moves fail."""
    return say("{n} robots are blocked", n=robots)


@_remembered
def takes(side: int, other: int, number: int, damage: int) -> str:
    """Say that an attack hits."""
    if side == other:
        return say(
            "{side!c} hits own robot {number} for {points}",
            side=NAMES[side],
            number=number,
            points=damage,
        )
    return say(
        "{side!c} hits {other}’s robot {number} for {points}",
        side=NAMES[side],
        other=NAMES[other],
        number=number,
        points=damage,
    )


@_remembered
def has_blown_up(side: int, number: int, victims: int) -> str:
    """Say that a robot is gone, and some others are hurt."""
    who = {"side": NAMES[side], "number": number}
    return say("{side!c}’s robot {number} blows up: {victims} hit", **who, victims=victims)


@_remembered
def hit_nothing(attacks: int) -> str:
    """Say that no attack hits."""
    return say_n("The attack hits nothing", "{n} attacks hit nothing", attacks)


@_remembered
def take_shelter(robots: int) -> str:
    """Say that robots defend."""
    return say_n("{n} robot takes shelter", "{n} robots take shelter", robots)


@_remembered
def are_armed(robots: int) -> str:
    """Say that robots will blow up."""
    return say_n("{n} robot is going to blow up", "{n} robots are going to blow up", robots)
