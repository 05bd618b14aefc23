"""An opponent for Robot Arena, which solves each turn as a small matrix game of plans.

A turn has 11 to the power of the number of robots possible orders. So each side begins with a few
plans. A plan is answered robot by robot: each robot gets its best order while the others keep
theirs, until nothing improves. The answers become plans, too. The small matrix of plans against
plans is solved with mixed strategies by regret matching (double oracle: McMahan, Gordon and Blum,
2003). With a certain weight, the opponent is assumed to play its plain plan (restricted Nash
response: Johanson, Zinkevich and Bowling, 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from companion.bots.arena_rules import (
    ATTACK,
    DECIDED,
    DEFEND,
    DESTRUCT,
    NOTHING,
    Codes,
    Field,
    Robots,
    Weights,
    robots_of,
)
from companion.bots.base import (
    Bot,
    Choice,
    expected_reply,
    reasons_of,
    second_best,
    share_of_game,
)
from companion.bots.mixed_strategies import solve
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.arena import Arena
from companion.games.arena.orders import CODES, parse_orders
from companion.games.arena.screen import order_words
from companion.games.arena.state import is_spawning


@dataclass(frozen=True)
class Strength:
    """Parameters of a level, such as node budget, rounds of answers, and noise."""

    nodes: int
    rounds: int
    sweeps: int
    noise: float
    trust: float
    """Probability that the other side plays its plain plan."""
    rashness: float
    """Factor of the weight for being near the enemy. Beginners run into fire."""


STRENGTHS = {
    1: Strength(nodes=500, rounds=0, sweeps=1, noise=1.2, trust=0.0, rashness=60.0),
    2: Strength(nodes=1500, rounds=2, sweeps=1, noise=0.1, trust=0.0, rashness=5.0),
    3: Strength(nodes=7000, rounds=6, sweeps=2, noise=0.0, trust=0.3, rashness=1.0),
}
Mix = list[tuple[Codes, float]]
"""Plans of a side with their shares."""
_DECISIVE_LEAD = 200.0
"""Lead in points that usually decides a game: about four robots."""
_MIN_PLAYED_SHARE = 0.05
"""Minimum share of a plan to be played. Smaller shares are noise of the approximation."""
_MAX_MIXED = 5
_MIN_SHARE = 0.03
"""Maximum number of plans of the other side that an answer considers, and the minimum share of
each.
"""
_MAX_ENEMIES = 2
"""Maximum number of enemies for which a plan is checked against all their orders for a sure win."""
_ROUNDS = 240
"""Rounds of regret matching."""


class ArenaBot(Bot):
    """Plays a seat of Robot Arena."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._strength = STRENGTHS[level]
        self._side = SEATS.index(seat)
        # the weights get a noise that stays the same for the whole game
        noise = self._strength.noise
        weights = Weights(*[weight * (1 + noise * self.rng.uniform(-1, 1)) for weight in Weights()])
        weights = weights._replace(near=weights.near * self._strength.rashness)
        self._field = Field(Arena().options(options), weights, self._side)

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return orders for every robot, drawn from the mixed strategy with the turn's own seed."""
        search, plan = self._search(view)
        return search.choice(plan)

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float:  # noqa: ARG002
        """Compare these orders with the best plan, both against the other side's mixed strategy."""
        search, _ = self._search(view)
        return share_of_game(search.loss(search.codes_of(action)), _DECISIVE_LEAD)

    def _search(self, view: Mapping[str, Any]) -> tuple[_Search, Codes]:
        """Return the search of a turn, and the plan that it draws with the turn's own seed."""
        robots = robots_of(view, self._field.terrain)
        search = _Search(self._field, robots, self._side, self._strength)
        return search, search.plan(Random(f"{self.seed}/{robots.turn}"))


class _Search:
    """The matrix game of one turn.

    Plans are tuples of orders. Side 0 is the own side, 1 the other.
    """

    def __init__(self, field: Field, robots: Robots, side: int, strength: Strength) -> None:
        self.field = field
        self.robots = robots
        self.strength = strength
        self.trust = strength.trust
        self.nodes = 0
        self.max_nodes = strength.nodes
        self.sign = 1.0 if side == 0 else -1.0
        mine = [index for index, owner in enumerate(robots.sides) if owner == side]
        theirs = [index for index, owner in enumerate(robots.sides) if owner != side]
        self.units = (mine, theirs)
        """Indexes of each side's robots."""
        self.plans: tuple[list[Codes], list[Codes]] = ([], [])
        self.table: dict[tuple[int, int], float] = {}
        """Value of each pair of plans for the own side, by their indexes in `plans`."""
        self._choices = tuple([self._orders(index) for index in units] for units in self.units)

    # ---- what comes of plans ----

    def joined(self, mine: Sequence[int], theirs: Sequence[int]) -> list[int]:
        """Return the orders of all robots, in the order of the robots."""
        codes = [NOTHING] * len(self.robots.sides)
        for units, plan in zip(self.units, (mine, theirs), strict=True):
            for index, code in zip(units, plan, strict=True):
                codes[index] = code
        return codes

    def value(self, mine: Sequence[int], theirs: Sequence[int]) -> float:
        """Return the value for the own side after a turn with these two plans."""
        self.nodes += 1
        after = self.field.play(self.robots, self.joined(mine, theirs))
        return self.sign * self.field.value(after)

    def _value_against(self, side: int, plan: Sequence[int], mix: Mix) -> float:
        """Return the value of a side's plan, for that side, against a mix of plans."""
        if side == 0:
            return sum([share * self.value(plan, other) for other, share in mix])
        return -sum([share * self.value(other, plan) for other, share in mix])

    # ---- the plan to play ----

    def plan(self, rng: Random) -> Codes:
        """Return the plan to play: a sure win, or else a plan drawn from the mixed strategy."""
        for side in (0, 1):
            self._add(side, self.plain(side))
            self._add(side, (DEFEND,) * len(self.units[side]))
        if (sure := self._sure_win()) is not None:
            self._add(0, sure)
            return sure
        self._find_plans()
        if not self.strength.rounds:  # a beginner assumes that enemies stay
            return self._answer(0, self._expected_plans())
        mine, _ = self._solve()
        replies = range(len(self.plans[1]))
        for row, plan in enumerate(self.plans[0]):
            if min(self.table[row, column] for column in replies) >= DECIDED / 2:
                return plan
        weights = [share if share > _MIN_PLAYED_SHARE else 0.0 for share in mine]
        return rng.choices(self.plans[0], weights)[0]

    def _find_plans(self) -> None:
        """Add each side's best answer to the other's mix until no plan is new (double oracle)."""
        for _ in range(self.strength.rounds):
            mine, theirs = self._solve()
            answer = self._answer(0, self._mix(1, theirs))
            reply = self._answer(1, self._mix(0, mine))
            added = [self._add(0, answer), self._add(1, reply)]
            if not any(added) or self.nodes >= self.max_nodes:
                return

    def _add(self, side: int, plan: Codes) -> bool:
        """Add a plan of a side. Return whether it is new."""
        is_new = plan not in self.plans[side]
        if is_new:
            self.plans[side].append(plan)
        return is_new

    def _mix(self, side: int, shares: Sequence[float]) -> Mix:
        """Return a side's likeliest plans with shares, with trust in the other's plain plan."""
        trust = self.trust * side
        plans = self.plans[side]
        mix = [(plan, share * (1 - trust)) for plan, share in zip(plans, shares, strict=True)]
        if trust:
            mix.append((plans[0], trust))
        mix.sort(key=lambda item: item[1], reverse=True)
        return [(plan, share) for plan, share in mix[:_MAX_MIXED] if share > _MIN_SHARE]

    def _expected_plans(self) -> Mix:
        """Return the expected plans of the other side.

        A level without rounds of answers expects the plain plan without its moves.
        """
        if self.strength.rounds:
            return self._mix(1, self._solve()[1])
        staying = [NOTHING if code < ATTACK else code for code in self.plans[1][0]]
        return [(tuple(staying), 1.0)]

    def _solve(self) -> tuple[list[float], list[float]]:
        """Return the mixed strategies of both sides for the matrix of all plans so far."""
        trust = self.trust
        rows = []
        for row, plan in enumerate(self.plans[0]):
            for column, other in enumerate(self.plans[1]):
                if (row, column) not in self.table:
                    self.table[row, column] = self.value(plan, other)
            values = [self.table[row, column] for column in range(len(self.plans[1]))]
            # trust shifts the other side's mix towards its plain plan, which is column 0
            rows.append([(1 - trust) * value + trust * values[0] for value in values])
        return solve(rows, _ROUNDS, in_turn=False)

    def _answer(self, side: int, mix: Mix) -> Codes:
        """Return the best plan found against a mix, starting from the best plan so far."""

        def value_of(plan: Sequence[int]) -> float:
            return self._value_against(side, plan, mix)

        best = max(self.plans[side], key=value_of)
        plan, _ = self._improve(
            side,
            best,
            value_of,
            self.strength.sweeps,
        )
        return plan

    def _improve(
        self,
        side: int,
        first: Codes,
        value_of: Callable[[Sequence[int]], float],
        sweeps: int,
    ) -> tuple[Codes, float]:
        """Return an improved plan and its value.

        Each robot in turn gets its best order while the others keep theirs.
        """
        plan = list(first)
        value = value_of(plan)
        for _ in range(sweeps):
            has_changed = False
            for unit, orders in enumerate(self._choices[side]):
                for code in orders:
                    if self.nodes >= self.max_nodes:
                        return tuple(plan), value
                    before = plan[unit]
                    if code == before:
                        continue
                    plan[unit] = code
                    other = value_of(plan)
                    if other > value + 1e-9:
                        value = other
                        has_changed = True
                    else:
                        plan[unit] = before
            if not has_changed:
                break
        return tuple(plan), value

    # ---- a win in this turn ----

    def _sure_win(self) -> Codes | None:
        """Return a plan that wins in this turn against all orders of the other side, or None."""
        theirs = self.units[1]
        is_last = self.robots.turn >= self.field.options.turns
        if len(theirs) > _MAX_ENEMIES or not (is_last or all(map(self._can_destroy, theirs))):
            return None
        replies = list(product(*self._choices[1]))

        def wins_of(plan: Sequence[int]) -> float:
            # all wins count alike, and these evaluations are not part of the level's budget
            self.max_nodes += len(replies)
            values = [self.value(plan, reply) for reply in replies]
            return sum([DECIDED if value >= DECIDED / 2 else value for value in values])

        for first in self.plans[0]:
            plan, most = self._improve(
                0,
                first,
                wins_of,
                1,
            )
            if most >= DECIDED * len(replies):
                return plan
        return None

    def _can_destroy(self, index: int) -> bool:
        """Return whether an enemy robot can be destroyed in this turn even if it defends."""
        field = self.field
        robots = self.robots
        options = self.field.options
        ways = field.ways[robots.places[index]]
        near = sum(ways[robots.places[mine]] <= 3 for mine in self.units[0])
        damage = max(options.attack, options.blast) // 2
        return near * damage >= robots.points[index]

    # ---- single orders ----

    def plain(self, side: int) -> Codes:
        """Return a typical plan: hit the weakest neighbour, or approach the nearest enemy."""
        robots = self.robots
        field = self.field
        foes = {robots.places[index]: robots.points[index] for index in self.units[1 - side]}
        occupied = {robots.places[index] for index in self.units[side]}
        plan = []
        for index in self.units[side]:
            ahead = field.terrain.ahead[robots.places[index]]
            # hit the weakest neighbour
            hits = [(foes[place], way) for way, place in enumerate(ahead) if place in foes]
            if hits:
                plan.append(ATTACK + min(hits)[1])
                continue
            # otherwise move one step towards the nearest enemy
            steps = []
            for way, place in enumerate(ahead):
                if place is not None and place not in occupied:
                    steps.append((min(field.ways[place][foe] for foe in foes), way, place))
            if not steps:
                plan.append(DEFEND)
                continue
            _, way, place = min(steps)
            occupied.add(place)
            plan.append(way)
        return tuple(plan)

    def _orders(self, index: int) -> list[int]:
        """Return the orders of a robot that can have an effect."""
        field = self.field
        robots = self.robots
        side = robots.sides[index]
        place = robots.places[index]
        # squares where a hit can have an effect: enemies and the squares that they can enter
        near: set[int | None] = set()
        for owner, other in zip(robots.sides, robots.places, strict=True):
            if owner != side:
                near.update((other, *field.terrain.ahead[other]))
        if is_spawning(field.options, robots.turn):
            near.update(field.terrain.spawns[1 - side])
        codes = [DEFEND]
        for way, target in enumerate(field.terrain.ahead[place]):
            if target is not None:
                codes.append(way)
                if target in near:
                    codes.append(ATTACK + way)
        if not near.isdisjoint(field.terrain.around[place]):
            codes.append(DESTRUCT)
        return codes

    def codes_of(self, action: str) -> Codes:
        """Return the codes of the own side's orders in notation. Robots left out do nothing."""
        orders_by_number = dict(parse_orders(action).given)
        numbers = [self.robots.numbers[index] for index in self.units[0]]
        return tuple(
            CODES.index(orders_by_number[number]) if number in orders_by_number else NOTHING
            for number in numbers
        )

    # ---- what is told ----

    def loss(self, codes: Codes) -> float:
        """Return the loss of these orders against the best plan, for the other side's mix."""
        mix = list(zip(self.plans[1], self._solve()[1], strict=True))
        best = max(self._value_against(0, plan, mix) for plan in self.plans[0])
        return best - self._value_against(0, codes, mix)

    def choice(self, plan: Codes) -> Choice:
        """Return a plan of the own side in notation, with the reasons for it."""
        nodes = self.nodes  # positions evaluated for the reasons do not count
        orders = [
            f"{self.robots.numbers[index]}:{CODES[code]}"
            for index, code in zip(self.units[0], plan, strict=True)
        ]
        return Choice(" ".join(orders), nodes, (*self._reasons(plan), *self._outlook(plan)))

    def _reasons(self, plan: Codes) -> list[str]:
        """Return the reasons for a plan as sentences, the most important first."""
        places = self.robots.places
        foes = {places[index] for index in self.units[1]}
        targets = [
            self.field.terrain.ahead[places[index]][code - ATTACK]
            for index, code in zip(self.units[0], plan, strict=True)
            if ATTACK <= code < DEFEND
        ]
        reasons = []
        if any(target in foes for target in targets):
            reasons.append(say("This strikes where a robot of the other side stands now."))
        if any(target not in foes for target in targets):
            reasons.append(say("This strikes where a robot of the other side is likely to go."))
        if DESTRUCT in plan:
            reasons.append(say("A robot that is lost anyway takes others down with it."))
        if DEFEND in plan:
            reasons.append(say("A robot that can be hit from several sides shelters."))
        if not reasons:
            reasons.append(say("This closes in, so that several robots meet one."))
        return reasons

    def _outlook(self, plan: Codes) -> tuple[str, ...]:
        """Return the other side's likeliest plan, and the differences to the second best plan."""
        mix = self._expected_plans()
        theirs, share = mix[0]
        if self.strength.rounds:
            reply = expected_reply(self._words(1, theirs), share)
        else:
            reply = say("The other side’s robots are expected to stay where they are.")
        others = {
            other: self._value_against(0, other, mix) for other in self.plans[0] if other != plan
        }
        second = max(others, key=others.__getitem__, default=plan)
        less = self._value_against(0, plan, mix) - others.get(second, 0.0)
        differing = [code if code != own else None for code, own in zip(second, plan, strict=True)]
        scale = _DECISIVE_LEAD if self.strength.rounds else _DECISIVE_LEAD * self.strength.rashness
        return reasons_of(reply, second_best(self._words(0, differing), less / scale))

    def _words(self, side: int, plan: Sequence[int | None]) -> list[str]:
        """Return a side's orders in words, without those that are None."""
        words = []
        for index, code in zip(self.units[side], plan, strict=True):
            if code is not None:
                words.append(order_words(self.robots.numbers[index], CODES[code]))
        return words
