"""The bot for Robot Arena: it solves each turn as a small matrix game of plans.

Both sides order their robots at the same time. A plan is one order for each robot of a side: to
move or attack in one of four directions, to defend, to self-destruct, or nothing. With these 11
orders, five robots have 161,051 plans, which are too many to compare.

So each side begins with two plans: a typical one, and one in which all robots defend. Then each
round does this (double oracle: McMahan, Gordon and Blum, 2003):

1. Solve the small matrix of all plans against all plans by regret matching. The result is a mix for
   each side: a share, the probability to be played, for each of its plans.
2. Find an answer of each side to the other side's mix, robot by robot: each robot gets its best
   order while the others keep theirs, in a few passes over all robots.
3. Add these answers to the plans.

With a certain probability, the trust, the other side is assumed to play its typical plan
(restricted Nash response: Johanson, Zinkevich and Bowling, 2007). Every pair of plans is played by
the game's own rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from companion.bots.base import (
    Bot,
    Choice,
    reply_sentence,
    second_best_sentence,
    share_of_game,
    without_empty,
)
from companion.bots.mixed_strategies import solve
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.arena import Arena
from companion.games.arena.board import DIRECTIONS, parse_terrain
from companion.games.arena.orders import (
    ATTACKS,
    DEFEND,
    DESTRUCT,
    MOVES,
    NOTHING,
    Orders,
    parse_orders,
)
from companion.games.arena.screen import order_words
from companion.games.arena.state import ArenaOptions, Robot, State, is_spawning_turn, lead
from companion.games.arena.turn import carry_out


class Strength(NamedTuple):
    """Parameters of a level."""

    rounds: int
    """Maximum number of rounds. Without any, the best answer to a side that stays is played."""
    sweeps: int
    """Maximum number of passes over the robots in the search for an answer."""
    noise: float
    """Maximum change of each weight of the evaluation, as a share of it."""
    trust: float
    """Probability that the other side plays its typical plan."""
    rashness: float
    """Factor of the weight for being near the enemy. Beginners run into fire."""


# Parameters by level. Matches judge them: each level has to beat the one below
# (`tests/bench/bots`).
STRENGTHS = {
    1: Strength(rounds=0, sweeps=1, noise=1.2, trust=0.0, rashness=60.0),
    2: Strength(rounds=2, sweeps=1, noise=0.1, trust=0.0, rashness=5.0),
    3: Strength(rounds=6, sweeps=2, noise=0.0, trust=0.3, rashness=1.0),
}

# One order for each robot of a side, by rising numbers.
Plan = tuple[str, ...]
# Plans of a side with their shares.
Mix = list[tuple[Plan, float]]
# The two sides in the search: the side of the bot itself, and the one that it plays against.
# Either can be South.
_OWN = 0
_OTHER = 1

# Maximum number of turns, each for a pair of plans, that are played for one decision. 7000 gave no
# more wins in 24 games.
MAX_NODES = 1000

# Value of a game that is won, far above any sum of the weights below.
DECIDED = 10_000.0

# Number of steps to a place to which there is no way, more than on any board.
_UNREACHED = 99

# Factor of the weight for being near the enemy while the side is ahead. Chosen by hand: lower plays
# safer with a lead, higher presses on.
_AHEAD_NEAR_FACTOR = 0.4

# Lead in points that usually decides a game: about four robots.
_DECISIVE_LEAD = 200.0

# Minimum share of a plan to be played. Smaller shares are noise of the approximation.
_MIN_PLAYED_SHARE = 0.05

# Maximum number of plans of the other side that an answer considers. More take more nodes from
# `MAX_NODES`, and the rest have small shares.
_MAX_MIX_PLANS = 5

# Minimum share of a plan of the other side to be considered by an answer, for the same reason.
_MIN_MIX_SHARE = 0.03

# Number of rounds of regret matching. More: slower. Fewer: shares farther from equilibrium.
_MATCHING_ROUNDS = 240


class Weights(NamedTuple):
    """Weights of the evaluation, in hit points.

    They were chosen by hand. Matches (`tests/bench/bots`) judge all of them together.
    """

    robot: float = 22.0
    """A robot on the board, in addition to its hit points."""
    contact: float = 5.0
    """A robot beside an enemy, which it can hit in the next turn."""
    doomed: float = 6.0
    """A robot that the enemies beside it can destroy in the next turn. It counts as a loss."""
    near: float = 0.8
    """Each step of one of the bot's robots towards the nearest enemy."""


class ArenaBot(Bot):
    """Plays a seat of Robot Arena. It remembers nothing between two turns."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._strength = STRENGTHS[level]
        # the same noise for the whole game, so that a weak level has a style of its own
        noise = self._strength.noise
        weights = Weights(*[weight * (1 + noise * self.rng.uniform(-1, 1)) for weight in Weights()])
        weights = weights._replace(near=weights.near * self._strength.rashness)
        self._evaluation = _Evaluation(Arena().options(options), weights, seat)

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return orders for every robot, by `_Search.draw_plan` with the turn's own seed."""
        search, plan = self._search(view)
        return search.explain(plan)

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float:  # noqa: ARG002
        """Return how much less these orders are worth than the best plan, as a share of a game.

        Both are valued against the other side's mixed strategy.
        """
        search, _ = self._search(view)
        return share_of_game(search.loss(search.plan_of(action)), _DECISIVE_LEAD)

    def _search(self, view: Mapping[str, Any]) -> tuple[_Search, Plan]:
        """Return the finished search of a turn, and the plan that it draws.

        The draw has the turn's own seed.
        """
        state = self._evaluation.state_of(view)
        search = _Search(self._evaluation, state, self._strength)
        return search, search.draw_plan(Random(f"{self.seed}/{state.turn}"))


class _Evaluation:
    """The evaluation of positions for a seat, on the board of the options.

    Values are in hit points. They are positive if the position is good for the seat.
    """

    def __init__(self, options: ArenaOptions, weights: Weights, seat: Seat) -> None:
        self.options = options
        self.weights = weights
        self.seat = seat
        self.terrain = parse_terrain(options.board)
        # number of steps between each two places (indexes of squares), ignoring robots
        self.steps = [self._steps_to(place) for place in range(len(self.terrain.squares))]

    def _steps_to(self, goal: int) -> list[int]:
        """Return the number of steps from each place to the goal, by breadth-first search."""
        ahead = self.terrain.neighbours
        steps = [_UNREACHED] * len(ahead)
        steps[goal] = 0
        reached = [goal]
        for place in reached:  # the list grows during the loop
            for other in ahead[place]:
                if other is not None and steps[other] == _UNREACHED:
                    steps[other] = steps[place] + 1
                    reached.append(other)
        return steps

    def state_of(self, view: Mapping[str, Any]) -> State:
        """Return the state of a view."""
        names = self.terrain.names
        south, north = (
            tuple(
                Robot(int(number), names.index(robot["square"]), robot["points"])
                for number, robot in view["robots"][seat].items()
            )
            for seat in SEATS
        )
        return State(self.options, self.terrain, (south, north), view["turn"])

    def value(self, state: State) -> float:
        """Return the value of a position for the seat.

        It counts what the seat has more than the enemy: robots, hit points, and contacts. It also
        rewards own robots that are near the enemy.
        """
        mine = state.robots[self.seat.number]
        theirs = state.robots[self.seat.other.number]
        points_ahead = lead(state) if self.seat is Seat.SOUTH else -lead(state)
        if state.outcome:
            winners = state.outcome.winners
            won = (self.seat in winners) - (self.seat.other in winners)  # 1, 0 or -1
            return DECIDED * won + points_ahead
        total = self.weights.robot * (len(mine) - len(theirs)) + points_ahead
        # nearness counts more in later turns, but less for the side that is ahead
        step_weight = self.weights.near * (1 + state.turn / self.options.turns)
        if total > 0:
            step_weight *= _AHEAD_NEAR_FACTOR
        enemies = [robot.place for robot in theirs]
        for robot in mine:
            nearest_steps = min(map(self.steps[robot.place].__getitem__, enemies))
            total -= step_weight * nearest_steps
        return total + self._contacts(mine, theirs) - self._contacts(theirs, mine)

    def _contacts(self, robots: Sequence[Robot], enemies: Sequence[Robot]) -> float:
        """Return the value for these robots of standing beside enemies.

        They can hit these enemies, and can be hit by them.
        """
        total = 0.0
        places = {robot.place for robot in enemies}
        for robot in robots:
            enemies_beside = len(places.intersection(self.terrain.neighbours[robot.place]))
            if enemies_beside:
                total += self.weights.contact
                if enemies_beside * self.options.attack >= robot.hit_points:
                    total -= self.weights.doomed
        return total


class _Search:
    """The search for the plan of one turn, as a matrix game.

    `draw_plan` makes the search. What else is asked of it relies on the plans that it has found.
    Pairs are (`_OWN`, `_OTHER`).
    """

    def __init__(self, evaluation: _Evaluation, state: State, strength: Strength) -> None:
        self.evaluation = evaluation
        self.state = state
        self.strength = strength
        # number of turns played so far
        self.nodes = 0
        seat = evaluation.seat
        self.robots = state.robots[seat.number], state.robots[seat.other.number]
        # plans of each side. The first one is its typical plan
        self.plans: tuple[list[Plan], list[Plan]] = ([], [])
        # value for the bot's side of each pair of plans that was played
        self.values: dict[tuple[Plan, Plan], float] = {}
        # for each side, the orders of each robot that a search for an answer tries
        self._orders = self._useful_orders(_OWN), self._useful_orders(_OTHER)

    # ---- values of plans ----

    def value(self, mine: Plan, theirs: Plan) -> float:
        """Return the value for the bot's side after a turn with these two plans."""
        pair = mine, theirs
        if pair not in self.values:
            self.nodes += 1
            orders = self._orders_of(_OWN, mine), self._orders_of(_OTHER, theirs)
            # the rules want South's orders first
            if self.evaluation.seat is Seat.NORTH:
                orders = orders[::-1]
            self.values[pair] = self.evaluation.value(carry_out(self.state, orders).state)
        return self.values[pair]

    def _orders_of(self, side: int, plan: Plan) -> Orders:
        numbers = [robot.number for robot in self.robots[side]]
        return Orders(tuple(zip(numbers, plan, strict=True)))

    def _value_against(self, side: int, plan: Plan, mix: Mix) -> float:
        """Return the value of a side's plan, for that side, against a mix of plans."""
        if side == _OWN:
            return sum([share * self.value(plan, other) for other, share in mix])
        return -sum([share * self.value(other, plan) for other, share in mix])

    # ---- the plan to play ----

    def draw_plan(self, rng: Random) -> Plan:
        """Return the plan to play: a sure win, or else one drawn from the mixed strategy.

        A plan that wins against all known replies is not left to the draw. A level without rounds
        draws nothing and plays the best answer to a side that stays.
        """
        for side in (_OWN, _OTHER):
            self._add(side, self.typical_plan(side))
            self._add(side, (DEFEND,) * len(self.robots[side]))
        winning_plan = self._sure_win()
        if winning_plan is not None:
            self._add(_OWN, winning_plan)
            return winning_plan
        self._find_plans()
        if not self.strength.rounds:
            return self._best_answer(_OWN, self._expected_mix())
        mine, _ = self._solve()
        # A plan that wins against all known replies is not mixed with others. Points that a win has
        # besides `DECIDED` are far below half of it.
        for plan in self.plans[_OWN]:
            if min(self.value(plan, reply) for reply in self.plans[_OTHER]) >= DECIDED / 2:
                return plan
        weights = [share if share > _MIN_PLAYED_SHARE else 0.0 for share in mine]
        return rng.choices(self.plans[_OWN], weights)[0]

    def _find_plans(self) -> None:
        """Add each side's best answer to the other's mix until no plan is new (double oracle)."""
        for _ in range(self.strength.rounds):
            mine, theirs = self._solve()
            answer = self._best_answer(_OWN, self._mix(_OTHER, theirs))
            reply = self._best_answer(_OTHER, self._mix(_OWN, mine))
            is_answer_new = self._add(_OWN, answer)
            is_reply_new = self._add(_OTHER, reply)
            if not (is_answer_new or is_reply_new) or self.nodes >= MAX_NODES:
                return

    def _add(self, side: int, plan: Plan) -> bool:
        """Add a plan of a side. Return whether it is new."""
        is_new = plan not in self.plans[side]
        if is_new:
            self.plans[side].append(plan)
        return is_new

    def _mix(self, side: int, shares: Sequence[float]) -> Mix:
        """Return a side's likeliest plans with their shares, after trust.

        :param shares: shares of all plans of this side in the solution of the matrix
        """
        # only the other side is trusted to play its typical plan
        trust = self.strength.trust if side == _OTHER else 0.0
        plans = self.plans[side]
        mix = [(plan, share * (1 - trust)) for plan, share in zip(plans, shares, strict=True)]
        if trust:
            mix.append((plans[0], trust))
        mix.sort(key=lambda item: -item[1])
        return [(plan, share) for plan, share in mix[:_MAX_MIX_PLANS] if share > _MIN_MIX_SHARE]

    def _expected_mix(self) -> Mix:
        """Return the expected plans of the other side with their shares.

        A level without rounds of answers expects the typical plan without its moves.
        """
        if self.strength.rounds:
            _, theirs = self._solve()
            return self._mix(_OTHER, theirs)
        typical = self.plans[_OTHER][0]
        staying = [NOTHING if order in MOVES else order for order in typical]
        return [(tuple(staying), 1.0)]

    def _solve(self) -> tuple[list[float], list[float]]:
        """Return the mixed strategies of both sides for the matrix of all plans so far."""
        mine, theirs = self.plans
        trust = self.strength.trust
        rows = []
        for plan in mine:
            values = [self.value(plan, other) for other in theirs]
            # trust mixes every plan of the other side with its first one, the typical plan
            rows.append([(1 - trust) * value + trust * values[0] for value in values])
        return solve(rows, _MATCHING_ROUNDS)

    def _best_answer(self, side: int, mix: Mix) -> Plan:
        """Return the best plan found against a mix, starting from the best plan so far."""

        def value_of(plan: Plan) -> float:
            return self._value_against(side, plan, mix)

        best = max(self.plans[side], key=value_of)
        return self._improve(side, best, value_of)

    def _improve(self, side: int, plan: Plan, value_of: Callable[[Plan], float]) -> Plan:
        """Return an improved plan, or the same one if no single order was found to improve it.

        This is coordinate ascent: each robot in turn gets its best order while the others keep
        theirs. `value_of` returns the value of a plan for this side.
        """
        best_value = value_of(plan)
        for _ in range(self.strength.sweeps):
            before = plan
            for index, orders in enumerate(self._orders[side]):
                for order in orders:
                    if self.nodes >= MAX_NODES:
                        return plan
                    other = (*plan[:index], order, *plan[index + 1 :])
                    value = value_of(other)
                    # rounding must not count as an improvement
                    if value > best_value + 1e-9:
                        plan = other
                        best_value = value
            if plan == before:
                break
        return plan

    def _sure_win(self) -> Plan | None:
        """Return a plan that wins in this turn whatever the last enemy does, or None.

        Also None while there are several enemies.
        """
        if len(self.robots[_OTHER]) > 1:
            return None
        (last_enemy_orders,) = self._orders[_OTHER]
        replies = [(order,) for order in last_enemy_orders]

        def wins_of(plan: Plan) -> float:
            # all wins count alike
            return sum([min(DECIDED, self.value(plan, reply)) for reply in replies])

        plan = self._improve(_OWN, self.plans[_OWN][0], wins_of)
        return plan if wins_of(plan) >= DECIDED * len(replies) else None

    # ---- single orders ----

    def typical_plan(self, side: int) -> Plan:
        """Return a typical plan: hit the weakest neighbour, or approach the nearest enemy.

        A robot that can do neither defends.
        """
        enemy_points = {robot.place: robot.hit_points for robot in self.robots[1 - side]}
        # places of this side's robots, before and after their moves
        occupied = {robot.place for robot in self.robots[side]}
        plan = []
        for robot in self.robots[side]:
            order, place = self._typical_order(robot, enemy_points, occupied)
            occupied.add(place)
            plan.append(order)
        return tuple(plan)

    def _typical_order(
        self, robot: Robot, enemy_points: dict[int, int], occupied: set[int]
    ) -> tuple[str, int]:
        """Return the order of a robot in a typical plan, and its place after that order.

        :param enemy_points: hit points of the enemies by their places
        :param occupied: places that the robot must not enter
        """
        steps_between = self.evaluation.steps
        ahead = list(zip(DIRECTIONS, self.state.terrain.neighbours[robot.place], strict=True))
        hits = [(enemy_points[place], way) for way, place in ahead if place in enemy_points]
        if hits:
            _, direction = min(hits)
            return f"a{direction}", robot.place
        # the steps that are then left to the nearest enemy, with the move
        moves = [
            (min(steps_between[place][enemy] for enemy in enemy_points), direction, place)
            for direction, place in ahead
            if place is not None and place not in occupied
        ]
        if not moves:
            return DEFEND, robot.place
        _, direction, place = min(moves)
        return direction, place

    def _useful_orders(self, side: int) -> list[list[str]]:
        """Return for each robot of a side the orders that can have an effect."""
        state = self.state
        terrain = state.terrain
        # places where a hit can have an effect: enemies and the places that they can enter
        targets: set[int | None] = set()
        for robot in self.robots[1 - side]:
            targets.update((robot.place, *terrain.neighbours[robot.place]))
        if is_spawning_turn(state.options, state.turn):
            # also the places where the enemy's robots appear
            own_seat = self.evaluation.seat
            enemy_seat = own_seat.other if side == _OWN else own_seat
            targets.update(terrain.spawns[enemy_seat.number])
        useful_orders = []
        for robot in self.robots[side]:
            orders = [DEFEND]
            for direction, place in zip(DIRECTIONS, terrain.neighbours[robot.place], strict=True):
                if place is not None:
                    orders.append(direction)
                    if place in targets:
                        orders.append(f"a{direction}")
            if not targets.isdisjoint(terrain.around[robot.place]):
                orders.append(DESTRUCT)
            useful_orders.append(orders)
        return useful_orders

    def plan_of(self, action: str) -> Plan:
        """Return orders of the bot's side in notation as a plan. Robots left out do nothing."""
        order_of = dict(parse_orders(action).by_robot)
        return tuple(order_of.get(robot.number, NOTHING) for robot in self.robots[_OWN])

    # ---- loss and reasons ----

    def loss(self, plan: Plan) -> float:
        """Return how much less a plan is worth than the best one, against the other side's mix."""
        _, theirs = self._solve()
        mix = list(zip(self.plans[_OTHER], theirs, strict=True))
        best_value = max(self._value_against(_OWN, other, mix) for other in self.plans[_OWN])
        return best_value - self._value_against(_OWN, plan, mix)

    def explain(self, plan: Plan) -> Choice:
        """Return a plan of the bot's side in notation, with the reasons for it."""
        nodes = self.nodes  # turns played for the reasons do not count
        reasons = (*self._reasons(plan), *self._outlook(plan))
        return Choice(str(self._orders_of(_OWN, plan)), nodes, reasons)

    def _reasons(self, plan: Plan) -> list[str]:
        """Return the reasons for a plan as sentences, the most important first."""
        enemies = {robot.place for robot in self.robots[_OTHER]}
        targets = [
            self.state.terrain.neighbours[robot.place][ATTACKS[order]]
            for robot, order in zip(self.robots[_OWN], plan, strict=True)
            if order in ATTACKS
        ]
        reasons = []
        if not enemies.isdisjoint(targets):
            reasons.append(say("This strikes where a robot of the other side stands now."))
        if not enemies.issuperset(targets):
            reasons.append(say("This strikes where a robot of the other side is likely to go."))
        if DESTRUCT in plan:
            reasons.append(say("A robot that is lost anyway takes others down with it."))
        if DEFEND in plan:
            reasons.append(say("A robot that can be hit from several sides shelters."))
        if not reasons:
            reasons.append(say("This closes in, so that several robots meet one."))
        return reasons

    def _outlook(self, plan: Plan) -> tuple[str, ...]:
        """Return the other side's likeliest plan, and what the second best plan does otherwise."""
        mix = self._expected_mix()
        theirs, share = mix[0]
        if self.strength.rounds:
            reply = reply_sentence(self._words(_OTHER, theirs), share)
        else:
            reply = say("The other side’s robots are expected to stay where they are.")

        def value_of(other: Plan) -> float:
            return self._value_against(_OWN, other, mix)

        others = [other for other in self.plans[_OWN] if other != plan]
        second = max(others, key=value_of, default=plan)
        loss = value_of(plan) - value_of(second)
        # a beginner counts nearness for more, so its differences are larger
        scale = _DECISIVE_LEAD if self.strength.rounds else _DECISIVE_LEAD * self.strength.rashness
        words = self._words(_OWN, second)
        pairs = zip(words, plan, second, strict=True)
        different_words = [word for word, order, other in pairs if order != other]
        return without_empty(reply, second_best_sentence(different_words, loss / scale))

    def _words(self, side: int, plan: Plan) -> list[str]:
        """Return a side's orders in words."""
        robots = self.robots[side]
        return [order_words(robot.number, order) for robot, order in zip(robots, plan, strict=True)]
