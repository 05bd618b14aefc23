"""The bot for Robot Arena: it solves each turn as a small matrix game of plans.

Both sides order their robots at the same time. A plan is one order for each robot of a side: to
move or attack in one of four directions, to defend, to self-destruct, or nothing. With these 11
orders, five robots have 161,051 plans, which are too many to compare.

So each side begins with two plans: a typical one, and one in which all robots defend. Then each
round of the search does this (double oracle: McMahan, Gordon and Blum, 2003):

1. Solve the payoff matrix of the plans that both sides have so far, by regret matching. The result
   is a mixed strategy for each side: the probability with which it plays each of its plans.
2. Find a response of each side to the other side's mixed strategy, robot by robot: each robot gets
   its best order while the others keep theirs, in a few passes over all robots.
3. Add these responses to the plans.

With a certain probability, the trust, the other side is assumed to play its typical plan
(restricted Nash response: Johanson, Zinkevich and Bowling, 2007). The payoff of a pair of plans is
the value of the position to which the game's own rules lead.
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
from companion.bots.mixed_strategies import solve_matrix_game
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


class ArenaParameters(NamedTuple):
    """Parameters of a level."""

    rounds: int
    """Maximum number of rounds. With 0, the bot plays the best response to a side that does not
    move.
    """
    sweeps: int
    """Maximum number of passes over the robots in the search for a response."""
    noise: float
    """Maximum change of each weight of the evaluation, as a share of that weight."""
    trust: float
    """Probability that the other side plays its typical plan."""
    rashness: float
    """Factor of the weight for being near the enemy. Beginners run into fire."""


# Parameters by level. Matches judge them: each level has to beat the one below
# (`tests/bench/bots`).
PARAMETERS_BY_LEVEL = {
    1: ArenaParameters(rounds=0, sweeps=1, noise=1.2, trust=0.0, rashness=60.0),
    2: ArenaParameters(rounds=2, sweeps=1, noise=0.1, trust=0.0, rashness=5.0),
    3: ArenaParameters(rounds=6, sweeps=2, noise=0.0, trust=0.3, rashness=1.0),
}

# One order for each robot of a side, by rising numbers.
Plan = tuple[str, ...]
# Plans of a side, each with the probability to be played.
MixedStrategy = list[tuple[Plan, float]]
# The two sides in the search: the side of the bot itself, and the one that it plays against.
# Either can be South.
_OWN = 0
_OTHER = 1

# Maximum number of turns, each for a pair of plans, that the search carries out for one decision.
# With 7000 the bot won no more of 24 games.
MAX_NODES = 1000

# Value of a game that is won, far above any sum of the weights below.
DECIDED = 10_000.0

# Number of steps to a place that cannot be reached, more than on any board.
_UNREACHABLE_STEPS = 99

# Factor of the weight for being near the enemy while the side is ahead. Chosen by hand: with a
# lower factor the bot plays safer with a lead, and with a higher one it presses on.
_AHEAD_NEAR_FACTOR = 0.4

# Lead in points that usually decides a game: about four robots.
_DECISIVE_LEAD = 200.0

# Minimum probability with which a plan is played. Smaller ones are noise of the approximation.
_MIN_PLAYED_PROBABILITY = 0.05

# Maximum number of plans of the other side to which a response is searched. More take more nodes
# from `MAX_NODES`, and the others are unlikely.
_MAX_EXPECTED_PLANS = 5

# Minimum probability of a plan of the other side to which a response is searched, for the same
# reason.
_MIN_EXPECTED_PROBABILITY = 0.03

# Number of rounds of regret matching. More rounds take longer. With fewer rounds the strategies are
# farther from equilibrium.
_MATCHING_ROUNDS = 240


class Weights(NamedTuple):
    """Weights of the evaluation, in hit points.

    They were chosen by hand. Matches (`tests/bench/bots`) judge all of them together.
    """

    robot: float = 22.0
    """Value of a robot on the board, in addition to its hit points."""
    contact: float = 5.0
    """Value of a robot that stands beside an enemy, which it can hit in the next turn."""
    doomed: float = 6.0
    """Cost of a robot that the enemies beside it can destroy in the next turn."""
    near: float = 0.8
    """Cost of each step that lies between one of the bot's robots and the nearest enemy."""


class ArenaBot(Bot):
    """Plays a seat of Robot Arena. It remembers nothing between two turns."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._parameters = PARAMETERS_BY_LEVEL[level]
        # the same noise for the whole game, so that a weak level has a style of its own
        noise = self._parameters.noise
        weights = Weights(*[weight * (1 + noise * self.rng.uniform(-1, 1)) for weight in Weights()])
        weights = weights._replace(near=weights.near * self._parameters.rashness)
        self._evaluation = _Evaluation(Arena().options(options), weights, seat)

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return orders for every robot, with the reasons for them."""
        search, plan = self._search(view)
        return search.explain(plan)

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float:  # noqa: ARG002
        """Return how much less these orders are worth than the best plan, as a share of a game.

        Both are valued against the other side's mixed strategy.
        """
        search, _ = self._search(view)
        return share_of_game(search.loss(search.parse_plan(action)), _DECISIVE_LEAD)

    def _search(self, view: Mapping[str, Any]) -> tuple[_Search, Plan]:
        """Search a turn. Return the finished search, and the plan that it chose.

        The same turn always gives the same plan.
        """
        state = self._evaluation.state_of(view)
        search = _Search(self._evaluation, state, self._parameters)
        return search, search.choose_plan(Random(f"{self.seed}/{state.turn}"))


class _Evaluation:
    """The evaluation of positions for a seat, on the board of the options.

    Values are in hit points. They are positive if the position is good for the seat.
    """

    def __init__(self, options: ArenaOptions, weights: Weights, seat: Seat) -> None:
        self.options = options
        self.weights = weights
        self.seat = seat
        self.terrain = parse_terrain(options.board)
        # number of steps from each place (index of a square) to each other one, ignoring robots
        self.steps = [self._steps_to(place) for place in range(len(self.terrain.squares))]

    def _steps_to(self, goal: int) -> list[int]:
        """Return the number of steps from each place to the goal, by breadth-first search."""
        neighbours = self.terrain.neighbours
        steps = [_UNREACHABLE_STEPS] * len(neighbours)
        steps[goal] = 0
        reached = [goal]
        for place in reached:  # the list grows during the loop
            for neighbour in neighbours[place]:
                if neighbour is not None and steps[neighbour] == _UNREACHABLE_STEPS:
                    steps[neighbour] = steps[place] + 1
                    reached.append(neighbour)
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

        It is the seat's lead in robots, hit points and contacts, less a penalty for robots that are
        far from the enemy.
        """
        mine = state.robots[self.seat.number]
        theirs = state.robots[self.seat.other.number]
        points_ahead = lead(state) if self.seat is Seat.SOUTH else -lead(state)
        if state.outcome:
            winners = state.outcome.winners
            # 1 for a win, -1 for a loss, and 0 if nobody or both have won
            won = (self.seat in winners) - (self.seat.other in winners)
            return DECIDED * won + points_ahead
        total = self.weights.robot * (len(mine) - len(theirs)) + points_ahead
        # distance counts more in later turns, but less for the side that is ahead
        step_weight = self.weights.near * (1 + state.turn / self.options.turns)
        if total > 0:
            step_weight *= _AHEAD_NEAR_FACTOR
        enemies = [robot.place for robot in theirs]
        for robot in mine:
            nearest_steps = min(map(self.steps[robot.place].__getitem__, enemies))
            total -= step_weight * nearest_steps
        return total + self._contacts(mine, theirs) - self._contacts(theirs, mine)

    def _contacts(self, robots: Sequence[Robot], enemies: Sequence[Robot]) -> float:
        """Return the value of having enemies beside these robots, for the side of the robots.

        It is good to be beside an enemy, because the robot can hit it. But it is bad if the enemies
        beside the robot can destroy it.
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

    Call `choose_plan` first, because `loss` and `explain` use the plans that it has found. Pairs of
    values for both sides are indexed by side, `_OWN` or `_OTHER`.
    """

    def __init__(self, evaluation: _Evaluation, state: State, parameters: ArenaParameters) -> None:
        self.evaluation = evaluation
        self.state = state
        self.parameters = parameters
        # number of turns played so far
        self.nodes = 0
        seat = evaluation.seat
        self.robots = state.robots[seat.number], state.robots[seat.other.number]
        # plans of each side so far. The first of them is the side's typical plan
        self.plans: tuple[list[Plan], list[Plan]] = ([], [])
        # payoff for the bot's side of each pair of plans that was carried out, its own plan first
        self.payoffs: dict[tuple[Plan, Plan], float] = {}
        # for each side, the orders of each robot that the search for a response tries
        self._orders = self._useful_orders(_OWN), self._useful_orders(_OTHER)

    # ---- values of plans ----

    def payoff(self, own_plan: Plan, other_plan: Plan) -> float:
        """Return the value for the bot's side after a turn with these two plans."""
        pair = own_plan, other_plan
        if pair not in self.payoffs:
            self.nodes += 1
            orders = self._orders_of(_OWN, own_plan), self._orders_of(_OTHER, other_plan)
            # the rules want South's orders first
            if self.evaluation.seat is Seat.NORTH:
                orders = orders[::-1]
            self.payoffs[pair] = self.evaluation.value(carry_out(self.state, orders).state)
        return self.payoffs[pair]

    def _orders_of(self, side: int, plan: Plan) -> Orders:
        numbers = [robot.number for robot in self.robots[side]]
        return Orders(tuple(zip(numbers, plan, strict=True)))

    def _value_against(self, side: int, plan: Plan, strategy: MixedStrategy) -> float:
        """Return the expected payoff of a side's plan, for that side, against a mixed strategy."""
        if side == _OWN:
            return sum([chance * self.payoff(plan, reply) for reply, chance in strategy])
        return -sum([chance * self.payoff(reply, plan) for reply, chance in strategy])

    # ---- the plan to play ----

    def choose_plan(self, rng: Random) -> Plan:
        """Search for plans, and return the one to play.

        It is a plan that wins against all known replies. If there is none, the plan is drawn from
        the mixed strategy. A level without rounds plays the best response to a side that does not
        move.
        """
        for side in (_OWN, _OTHER):
            self._add_plan(side, self._typical_plan(side))
            self._add_plan(side, (DEFEND,) * len(self.robots[side]))
        winning_plan = self._sure_win()
        if winning_plan is not None:
            self._add_plan(_OWN, winning_plan)
            return winning_plan
        self._find_plans()
        if not self.parameters.rounds:
            return self._best_response(_OWN, self._expected_strategy())
        own_chances, _ = self._solve_matrix()
        # A sure win is not left to chance. The payoff of a won game is `DECIDED` and a few points
        # more or less, so half of `DECIDED` tells a win from anything else.
        for plan in self.plans[_OWN]:
            if min(self.payoff(plan, reply) for reply in self.plans[_OTHER]) >= DECIDED / 2:
                return plan
        weights = [chance if chance > _MIN_PLAYED_PROBABILITY else 0.0 for chance in own_chances]
        return rng.choices(self.plans[_OWN], weights)[0]

    def _find_plans(self) -> None:
        """Add best responses of both sides until none is a new plan (double oracle)."""
        for _ in range(self.parameters.rounds):
            own_chances, other_chances = self._solve_matrix()
            response = self._best_response(_OWN, self._likeliest_plans(_OTHER, other_chances))
            reply = self._best_response(_OTHER, self._likeliest_plans(_OWN, own_chances))
            is_response_new = self._add_plan(_OWN, response)
            is_reply_new = self._add_plan(_OTHER, reply)
            if not (is_response_new or is_reply_new) or self.nodes >= MAX_NODES:
                return

    def _add_plan(self, side: int, plan: Plan) -> bool:
        """Add a plan of a side. Return whether it is new."""
        is_new = plan not in self.plans[side]
        if is_new:
            self.plans[side].append(plan)
        return is_new

    def _likeliest_plans(self, side: int, chances: Sequence[float]) -> MixedStrategy:
        """Return a side's likeliest plans with their probabilities, including trust.

        :param chances: probability of each plan of this side in the solution of the matrix
        """
        # only the other side is trusted to play its typical plan
        trust = self.parameters.trust if side == _OTHER else 0.0
        plans = self.plans[side]
        strategy = [
            (plan, chance * (1 - trust)) for plan, chance in zip(plans, chances, strict=True)
        ]
        if trust:
            strategy.append((plans[0], trust))
        strategy.sort(key=lambda item: -item[1])
        return [
            (plan, chance)
            for plan, chance in strategy[:_MAX_EXPECTED_PLANS]
            if chance > _MIN_EXPECTED_PROBABILITY
        ]

    def _expected_strategy(self) -> MixedStrategy:
        """Return the expected plans of the other side with their probabilities.

        A level without rounds expects the typical plan without its moves.
        """
        if self.parameters.rounds:
            _, other_chances = self._solve_matrix()
            return self._likeliest_plans(_OTHER, other_chances)
        typical = self.plans[_OTHER][0]
        staying = [NOTHING if order in MOVES else order for order in typical]
        return [(tuple(staying), 1.0)]

    def _solve_matrix(self) -> tuple[list[float], list[float]]:
        """Return the probability of each plan so far: those of the bot's side, then the other's."""
        own_plans, other_plans = self.plans
        trust = self.parameters.trust
        payoff_matrix = []
        for plan in own_plans:
            row = [self.payoff(plan, reply) for reply in other_plans]
            # trust mixes every plan of the other side with its first one, the typical plan
            payoff_matrix.append([(1 - trust) * payoff + trust * row[0] for payoff in row])
        return solve_matrix_game(payoff_matrix, _MATCHING_ROUNDS)

    def _best_response(self, side: int, strategy: MixedStrategy) -> Plan:
        """Return the best plan found against a mixed strategy.

        The search starts from the side's best plan so far.
        """

        def value_of(plan: Plan) -> float:
            return self._value_against(side, plan, strategy)

        best = max(self.plans[side], key=value_of)
        return self._improve(side, best, value_of)

    def _improve(self, side: int, plan: Plan, value_of: Callable[[Plan], float]) -> Plan:
        """Return an improved plan, or the same one if no single order was found to improve it.

        This is coordinate ascent: each robot in turn gets its best order while the others keep
        theirs. `value_of` returns the value of a plan for this side.
        """
        best_value = value_of(plan)
        for _ in range(self.parameters.sweeps):
            before = plan
            for index, orders in enumerate(self._orders[side]):
                for order in orders:
                    if self.nodes >= MAX_NODES:
                        return plan
                    changed_plan = (*plan[:index], order, *plan[index + 1 :])
                    value = value_of(changed_plan)
                    # rounding must not count as an improvement
                    if value > best_value + 1e-9:
                        plan = changed_plan
                        best_value = value
            if plan == before:
                break
        return plan

    def _sure_win(self) -> Plan | None:
        """Return a plan that wins in this turn whatever the last enemy does.

        Return None if none was found, and while there are several enemies.
        """
        if len(self.robots[_OTHER]) > 1:
            return None
        (last_enemy_orders,) = self._orders[_OTHER]
        replies = [(order,) for order in last_enemy_orders]

        def wins_of(plan: Plan) -> float:
            # a win counts as `DECIDED` whatever else it is worth, so that the sum counts wins
            return sum([min(DECIDED, self.payoff(plan, reply)) for reply in replies])

        plan = self._improve(_OWN, self.plans[_OWN][0], wins_of)
        return plan if wins_of(plan) >= DECIDED * len(replies) else None

    # ---- single orders ----

    def _typical_plan(self, side: int) -> Plan:
        """Return a typical plan: each robot hits the weakest enemy beside it.

        A robot without an enemy beside it approaches the nearest one, or defends if its way is
        blocked.
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
        # each direction, with the place to which it leads
        ways = list(zip(DIRECTIONS, self.state.terrain.neighbours[robot.place], strict=True))
        hits = [
            (enemy_points[place], direction) for direction, place in ways if place in enemy_points
        ]
        if hits:
            _, direction = min(hits)
            return f"a{direction}", robot.place
        # each possible move, after the number of steps that then lead to the nearest enemy
        moves = [
            (min(steps_between[place][enemy] for enemy in enemy_points), direction, place)
            for direction, place in ways
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

    def parse_plan(self, action: str) -> Plan:
        """Parse orders of the bot's side into a plan. Robots without an order do nothing."""
        order_of = dict(parse_orders(action).by_robot)
        return tuple(order_of.get(robot.number, NOTHING) for robot in self.robots[_OWN])

    # ---- loss and reasons ----

    def loss(self, plan: Plan) -> float:
        """Return how much less a plan is worth than the best one, in hit points.

        Both are valued against the other side's mixed strategy.
        """
        _, other_chances = self._solve_matrix()
        strategy = list(zip(self.plans[_OTHER], other_chances, strict=True))
        best_value = max(self._value_against(_OWN, best, strategy) for best in self.plans[_OWN])
        return best_value - self._value_against(_OWN, plan, strategy)

    def explain(self, plan: Plan) -> Choice:
        """Return a plan of the bot's side in notation, with the reasons for it."""
        nodes = self.nodes  # turns that are played only for the reasons do not count
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
        """Return sentences about the other side's likeliest plan, and about the second best plan.

        The second sentence names only those orders of the second best plan that differ from `plan`.
        """
        strategy = self._expected_strategy()
        likeliest_plan, chance = strategy[0]
        if self.parameters.rounds:
            reply = reply_sentence(self._orders_in_words(_OTHER, likeliest_plan), chance)
        else:
            reply = say("The other side’s robots are expected to stay where they are.")

        def value_of(own_plan: Plan) -> float:
            return self._value_against(_OWN, own_plan, strategy)

        alternatives = [own_plan for own_plan in self.plans[_OWN] if own_plan != plan]
        second = max(alternatives, key=value_of, default=plan)
        loss = value_of(plan) - value_of(second)
        points_per_game = _DECISIVE_LEAD
        # a beginner counts nearness for more, so the differences between its plans are larger
        if not self.parameters.rounds:
            points_per_game *= self.parameters.rashness
        words = self._orders_in_words(_OWN, second)
        pairs = zip(words, second, plan, strict=True)
        different_words = [word for word, order, order_in_plan in pairs if order != order_in_plan]
        return without_empty(reply, second_best_sentence(different_words, loss / points_per_game))

    def _orders_in_words(self, side: int, plan: Plan) -> list[str]:
        """Return a side's orders in words."""
        robots = self.robots[side]
        return [order_words(robot.number, order) for robot, order in zip(robots, plan, strict=True)]
