"""An opponent for Robot Arena: both sides' orders as a game of numbers, in which only orders that
matter are written.

All orders of a turn are 11 to the power of the robots. So each side begins with a few plans. A plan is answered robot
by robot (the best order for one while the others keep theirs, until nothing gets better), the answers are plans too,
and the small table of plans against plans is solved with mixed strategies by regret matching (double oracle: McMahan,
Gordon and Blum, 2003). A part of the opponent is taken to be what it was seen to be (restricted Nash response:
Johanson, Zinkevich and Bowling, 2007).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from companion.bots.arena_rules import (
    DECIDED,
    DEFEND,
    DESTRUCT,
    NOTHING,
    Codes,
    Field,
    Robots,
    Weights,
    bent,
    robots_of,
)
from companion.bots.base import Bot, Choice, Verdict, expected, next_best, reasons_of
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.arena import Arena
from companion.games.arena.orders import CODES, parse_orders
from companion.games.arena.screen import order_words


@dataclass(frozen=True)
class Strength:
    """A level as data: turns that may be tried (nodes), rounds of answers, and how much its judgement is bent."""

    nodes: int
    rounds: int
    sweeps: int
    noise: float
    learns: bool
    rashness: float
    """How much it wants to be near the enemy, beside what that is worth.

    Beginners run into fire.
    """


STRENGTHS = {
    1: Strength(500, 0, 1, 1.2, False, 60.0),
    2: Strength(1500, 2, 1, 0.1, False, 5.0),
    3: Strength(7000, 6, 2, 0.0, True, 1.0),
}
_A_GAME = 200.0
"""Lead in points that decides a game, as a rule: about four robots."""
_MIN_TRUST, _MOST_TRUST = 0.1, 0.6
_FEW = 2
"""Maximum number of enemies for which all orders are tried against a plan that may win at once."""
_STEPS = 240
"""Rounds of regret matching."""


class ArenaBot(Bot):
    """Plays a seat of Robot Arena."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._strength = STRENGTHS[level]
        self._side, self._seed = SEATS.index(seat), seed
        weights = bent(Weights(), self.rng, self._strength.noise)
        weights = weights._replace(near=weights.near * self._strength.rashness)
        self._field = Field(Arena().options(options), weights, self._side)
        self._guess: dict[int, int] = {}
        """Where the opponent's robots would stand after this turn by the plain plan, by their numbers."""
        self._right, self._guessed = 1.0, 4.0

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Count how many of the opponent's robots did what the plain plan says."""
        texts, theirs = self._field.terrain.texts, view["robots"][SEATS[1 - self._side]]
        for number, place in self._guess.items():
            if robot := theirs.get(str(number)):
                self._right += robot["square"] == texts[place]
                self._guessed += 1
        self._guess = {}

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return orders for every robot, drawn from the mixed strategy with a seed of the turn's
        own."""
        robots = robots_of(view, self._field.terrain)
        search = _Search(self._field, robots, self._side, self._strength.nodes)
        trust = 0.0
        if self._strength.learns:
            trust = min(_MOST_TRUST, max(_MIN_TRUST, 1.5 * self._right / self._guessed - 0.6))
        plan = search.plan(self._strength, trust, Random(f"{self._seed}/{robots.turn}"))
        self._expect(search)
        mine = [index for index, side in enumerate(robots.sides) if side == self._side]
        action = " ".join(
            f"{robots.numbers[index]}:{CODES[code]}" for index, code in zip(mine, plan, strict=True)
        )
        nodes = search.nodes  # what is looked at only to be told is no part of the search
        return Choice(
            action,
            nodes,
            _reasons(self._field, robots, mine, plan) + search.lines(plan, self._strength, trust),
        )

    def judge(self, view: Mapping[str, Any], action: str) -> Verdict:
        """Compare the best plan with these orders, both against the other side's mixed strategy."""
        robots = robots_of(view, self._field.terrain)
        search = _Search(self._field, robots, self._side, self._strength.nodes)
        search.plan(self._strength, 0.0, Random(f"{self._seed}/{robots.turn}"))
        mine = [index for index, side in enumerate(robots.sides) if side == self._side]
        orders_by_unit = dict(parse_orders(action).given)
        codes = tuple(
            CODES.index(orders_by_unit[number])
            if (number := robots.numbers[index]) in orders_by_unit
            else NOTHING
            for index in mine
        )
        plan, better = search.judged(codes)
        text = " ".join(
            f"{robots.numbers[index]}:{CODES[code]}" for index, code in zip(mine, plan, strict=True)
        )
        choice = Choice(
            text,
            search.nodes,
            _reasons(self._field, robots, mine, plan) + search.lines(plan, self._strength, 0.0),
        )
        return Verdict(choice, min(1.0, max(0.0, better / _A_GAME)))

    def _expect(self, search: _Search) -> None:
        robots, codes = (
            search.robots,
            search.joined([NOTHING] * len(search.units[0]), search.plain(1)),
        )
        places = self._field.moved(robots.places, codes)
        self._guess = {robots.numbers[index]: places[index] for index in search.units[1]}


class _Search:
    """One turn's game of plans.

    Plans are tuples of orders, the own side's robots 0, the other's 1.
    """

    def __init__(self, field: Field, robots: Robots, side: int, nodes: int) -> None:
        self.field, self.robots, self.left, self.nodes = field, robots, nodes, 0
        self.sign = 1.0 if side == 0 else -1.0
        mine = [index for index, owner in enumerate(robots.sides) if owner == side]
        theirs = [index for index, owner in enumerate(robots.sides) if owner != side]
        self.units = (mine, theirs)
        self.plans: tuple[list[Codes], list[Codes]] = ([], [])
        self.table: dict[tuple[int, int], float] = {}
        self._choices = tuple(tuple(self._orders(index) for index in units) for units in self.units)

    def joined(self, mine: Sequence[int], theirs: Sequence[int]) -> list[int]:
        """Return the orders of all robots in their order."""
        codes = [NOTHING] * len(self.robots.sides)
        for units, plan in zip(self.units, (mine, theirs), strict=True):
            for index, code in zip(units, plan, strict=True):
                codes[index] = code
        return codes

    def worth(self, mine: Sequence[int], theirs: Sequence[int]) -> float:
        """Return what comes of two plans, for the own side."""
        self.nodes += 1
        return self.sign * self.field.after(self.robots, self.joined(mine, theirs))

    def plan(self, strength: Strength, trust: float, rng: Random) -> Codes:
        """Return the plan to play."""
        for who in (0, 1):
            for plan in (self.plain(who), tuple([DEFEND] * len(self.units[who]))):
                self._add(who, plan)
        if (sure := self._sure()) is not None:
            self._add(0, sure)
            return sure
        mixes = self._solved(trust)
        # double oracle: add each side's best answer to the other's mix until there is no new one
        for _ in range(strength.rounds):
            before = (len(self.plans[0]), len(self.plans[1]))
            answers = [
                self._answer(
                    who,
                    self._seen(1 - who, mixes[1 - who], trust if who == 0 else 0.0),
                    strength.sweeps,
                )
                for who in (0, 1)
            ]
            for who, answer in enumerate(answers):
                self._add(who, answer)
            if (len(self.plans[0]), len(self.plans[1])) == before or self.nodes >= self.left:
                break
            mixes = self._solved(trust)
        if not strength.rounds:  # as beginners do: against robots that stay where they are
            return self._answer(0, [(self._staying(), 1.0)], strength.sweeps)
        mixes = self._solved(trust)
        for row, plan in enumerate(self.plans[0]):
            if min(self.table[row, column] for column in range(len(self.plans[1]))) >= DECIDED / 2:
                return plan
        # rare plans are noise of the approximation
        weights = [share if share > 0.05 else 0.0 for share in mixes[0]]
        return rng.choices(self.plans[0], weights)[0]

    def _staying(self) -> Codes:
        """Return the other side's plain plan without its moves."""
        return tuple([code if code >= 4 else NOTHING for code in self.plans[1][0]])

    def _sure(self) -> Codes | None:
        """Return a plan that wins in this turn whatever the other side orders.

        None: none is found.
        """
        robots = self.robots
        is_last = robots.turn >= self.field.options.turns
        if len(self.units[1]) > _FEW or not (is_last or all(map(self._may_fall, self.units[1]))):
            return None
        replies = list(product(*self._choices[1]))
        whole = DECIDED * len(replies)
        for first in self.plans[0]:
            plan, most = list(first), self._sum_against(first, replies)
            for unit, orders in enumerate(self._choices[0]):
                for code in orders:
                    before, plan[unit] = plan[unit], code
                    if (total := self._sum_against(plan, replies)) > most:
                        most = total
                    else:
                        plan[unit] = before
            if most >= whole:
                return tuple(plan)
        return None

    def _may_fall(self, index: int) -> bool:
        """Return whether a robot of the other side can be brought down although it defends itself."""
        field, robots, options = self.field, self.robots, self.field.options
        place = robots.places[index]
        near = sum(field.ways[place][robots.places[mine]] <= 3 for mine in self.units[0])
        return near * (max(options.attack, options.blast) // 2) >= robots.points[index]

    def _sum_against(self, plan: Sequence[int], replies: Sequence[Codes]) -> float:
        """Return what a plan is worth against all these replies together. Wins are alike."""
        self.left += len(replies)  # no part of what a level may try
        values = [self.worth(plan, reply) for reply in replies]
        return sum([DECIDED if value >= DECIDED / 2 else value for value in values])

    def judged(self, codes: Codes) -> tuple[Codes, float]:
        """Return the best plan against the other side's mix of plans, and by how much it is better
        than these orders."""
        mix = list(zip(self.plans[1], self._solved(0.0)[1], strict=True))
        best = max(self.plans[0], key=lambda plan: self._against(0, plan, mix))
        return best, self._against(0, best, mix) - self._against(0, codes, mix)

    def lines(self, plan: Codes, strength: Strength, trust: float) -> tuple[str, ...]:
        """Return the other side's likeliest plan, what comes of it, and by which orders the next
        best plan differs."""
        mix = (
            self._seen(1, self._solved(trust)[1], trust)
            if strength.rounds
            else [(self._staying(), 1.0)]
        )
        theirs, share = mix[0]
        reply = expected(self._words(1, theirs), share)
        if not strength.rounds:
            reply = say("The other side’s robots are expected to stay where they are.")
        after = self.field.play(self.robots, self.joined(plan, theirs))
        points_left = [0, 0]
        for side, points in zip(after.sides, after.points, strict=True):
            points_left[side == self.robots.sides[self.units[1][0]]] += points
        words = say(
            "After that, this side has {own} hit points left and the other side {other}.",
            own=points_left[0],
            other=points_left[1],
        )
        others = {other: self._against(0, other, mix) for other in self.plans[0] if other != plan}
        second = max(others, key=others.__getitem__, default=plan)
        less = self._against(0, plan, mix) - others.get(second, 0.0)
        differing = [code if code != own else None for code, own in zip(second, plan, strict=True)]
        scale = _A_GAME if strength.rounds else _A_GAME * strength.rashness
        return reasons_of(reply, words, next_best(self._words(0, differing), less / scale))

    def _words(self, who: int, plan: Sequence[int | None]) -> list[str]:
        """Return a side's orders in words. None is left out."""
        numbers = [self.robots.numbers[index] for index in self.units[who]]
        return [
            order_words(n, CODES[code])
            for n, code in zip(numbers, plan, strict=True)
            if code is not None
        ]

    def _add(self, who: int, plan: Codes) -> None:
        if plan not in self.plans[who]:
            self.plans[who].append(plan)

    def _seen(self, who: int, mix: Sequence[float], trust: float) -> list[tuple[Codes, float]]:
        """Return the plans of a side with their shares, the plain plan trusted so far."""
        shares = [
            (plan, share * (1 - trust)) for plan, share in zip(self.plans[who], mix, strict=True)
        ]
        if trust:
            shares.append((self.plans[who][0], trust))
        shares.sort(key=lambda item: item[1], reverse=True)
        return [(plan, share) for plan, share in shares[:5] if share > 0.03]

    def plain(self, who: int) -> Codes:
        """Return what many players do: hit the weakest neighbour, otherwise go to the nearest
        enemy."""
        robots, field = self.robots, self.field
        foes = {robots.places[index]: robots.points[index] for index in self.units[1 - who]}
        occupied = {robots.places[index] for index in self.units[who]}
        plan = []
        for index in self.units[who]:
            ahead = field.ahead[robots.places[index]]
            # hit the weakest neighbour
            hits = [(foes[place], way) for way, place in enumerate(ahead) if place in foes]
            if hits:
                plan.append(4 + min(hits)[1])
                continue
            # else go one step nearer to the nearest enemy
            ways = [
                (min(field.ways[place][foe] for foe in foes), way, place)
                for way, place in enumerate(ahead)
                if place >= 0 and place not in occupied
            ]
            if ways:
                occupied.add(min(ways)[2])
            plan.append(min(ways)[1] if ways else DEFEND)
        return tuple(plan)

    def _orders(self, index: int) -> tuple[int, ...]:
        """Return the orders of a robot that can matter."""
        field, robots = self.field, self.robots
        side, place = robots.sides[index], robots.places[index]
        foes = [
            other for owner, other in zip(robots.sides, robots.places, strict=True) if owner != side
        ]
        # squares on which a hit can matter: enemies and where they can step
        near = {spot for foe in foes for spot in (foe, *field.ahead[foe])}
        if field.is_spawning(robots.turn):
            near.update(field.spawns[1 - side])
        codes = [DEFEND]
        for way, target in enumerate(field.ahead[place]):
            if target >= 0:
                codes.append(way)
                if target in near:
                    codes.append(4 + way)
        if any(spot in near for spot in field.around[place]):
            codes.append(DESTRUCT)
        return tuple(codes)

    def _answer(self, who: int, mix: list[tuple[Codes, float]], sweeps: int) -> Codes:
        """Return the best plan that is found against a mixture, robot by robot, from the best plan
        so far."""
        plans = self.plans[who]
        best = max(plans, key=lambda plan: self._against(who, plan, mix))
        value, plan = self._against(who, best, mix), list(best)
        for _ in range(sweeps):
            changed = False
            for unit, orders in enumerate(self._choices[who]):
                for code in orders:
                    if self.nodes >= self.left:
                        return tuple(plan)
                    if code == plan[unit]:
                        continue
                    before, plan[unit] = plan[unit], code
                    other = self._against(who, plan, mix)
                    if other > value + 1e-9:
                        value, changed = other, True
                    else:
                        plan[unit] = before
            if not changed:
                break
        return tuple(plan)

    def _against(self, who: int, plan: Sequence[int], mix: list[tuple[Codes, float]]) -> float:
        """Return what a plan of a side is worth to it against a mixture of the other's."""
        if who == 0:
            return sum([share * self.worth(plan, other) for other, share in mix])
        return -sum([share * self.worth(other, plan) for other, share in mix])

    def _solved(self, trust: float) -> tuple[list[float], list[float]]:
        """Return mixed strategies of both sides in the table of all plans so far, by regret
        matching."""
        mine, theirs = self.plans
        for row, plan in enumerate(mine):
            for column, other in enumerate(theirs):
                if (row, column) not in self.table:
                    self.table[row, column] = self.worth(plan, other)
        # trust moves the other side's mix towards its plain plan, which is column 0
        rows = [
            [
                (1 - trust) * self.table[row, column] + trust * self.table[row, 0]
                for column in range(len(theirs))
            ]
            for row in range(len(mine))
        ]
        return solved(rows)


def solved(rows: list[list[float]]) -> tuple[list[float], list[float]]:
    """Return the average strategies of regret matching in a game of two, of which one wins what the
    other loses.

    >>> mine, theirs = solved([[1.0, -1.0], [-1.0, 1.0]])
    >>> round(mine[0], 1), round(theirs[0], 1)
    (0.5, 0.5)
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    regrets = ([0.0] * len(rows), [0.0] * len(columns))
    totals = ([0.0] * len(rows), [0.0] * len(columns))
    mixes = ([1 / len(rows)] * len(rows), [1 / len(columns)] * len(columns))
    for step in range(1, _STEPS + 1):
        # what each plan gains against the other side's mix of this round
        gains = (
            [
                sum([share * value for share, value in zip(mixes[1], row, strict=True)])
                for row in rows
            ],
            [
                -sum([share * value for share, value in zip(mixes[0], column, strict=True)])
                for column in columns
            ],
        )
        mixes = (_next(gains[0], mixes[0], regrets[0]), _next(gains[1], mixes[1], regrets[1]))
        for total, mix in zip(totals, mixes, strict=True):
            for index, share in enumerate(mix):
                total[index] += share * step
    mine, theirs = ([share / sum(total) for share in total] for total in totals)
    return mine, theirs


def _next(gains: list[float], mix: list[float], regrets: list[float]) -> list[float]:
    """Return the next mixed strategy.

    Regrets never fall below nought (regret matching plus: Tammelin, 2014).
    """
    # regret: by how much a plan would have done better than the mix
    mean = sum([share * gain for share, gain in zip(mix, gains, strict=True)])
    for index, gain in enumerate(gains):
        regrets[index] = max(0.0, regrets[index] + gain - mean)
    total = sum(regrets)
    return [regret / total for regret in regrets] if total > 0 else [1 / len(mix)] * len(mix)


def _reasons(field: Field, robots: Robots, mine: list[int], plan: Codes) -> tuple[str, ...]:
    """Return why these orders, in sentences, the main thing first."""
    reasons = []
    foes = {
        place
        for place, side in zip(robots.places, robots.sides, strict=True)
        if side != robots.sides[mine[0]]
    }
    attacks = [
        (index, code - 4) for index, code in zip(mine, plan, strict=True) if 4 <= code < DEFEND
    ]
    if any(field.ahead[robots.places[index]][way] in foes for index, way in attacks):
        reasons.append(say("This strikes where a robot of the other side stands now."))
    if any(field.ahead[robots.places[index]][way] not in foes for index, way in attacks):
        reasons.append(say("This strikes where a robot of the other side is likely to go."))
    if DESTRUCT in plan:
        reasons.append(say("A robot that is lost anyway takes others down with it."))
    if DEFEND in plan:
        reasons.append(say("A robot that can be hit from several sides shelters."))
    if not reasons:
        reasons.append(say("This closes in, so that several robots meet one."))
    return tuple(reasons)
