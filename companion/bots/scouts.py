"""The bot for Scouts: a search of whole turns of both sides (negamax with alpha-beta pruning).

A turn is up to two plays, which move two different scouts, and perhaps a rock. A play is a dash or
a chain of jumps. A position allows thousands of turns, so only the most promising ones are
searched: first many turns one ply deep, then the best of these deeper. A ply is a turn of one side.
The last turn of each line is not played out. Its best pair of plays is estimated from the gain of
each play.

Nothing is hidden in this game, so the bot remembers only the turn that it has begun, and the
positions after its earlier turns. Values are in ranks that a scout walks (see `scouts_evaluation`),
for the side that begins the turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from math import inf
from operator import attrgetter, itemgetter, or_
from typing import Any, NamedTuple

from companion.bots.base import (
    Bot,
    Choice,
    reply_sentence,
    second_best_sentence,
    share_of_game,
    without_empty,
)
from companion.bots.scouts_evaluation import WIN, Evaluation, position_of, values_by_ranks_left
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.scouts.board import (
    AROUND,
    RANKS,
    SQUARE_NAMES,
    SQUARE_NUMBERS,
    SQUARES,
    squares_in,
)
from companion.games.scouts.moves import (
    RockPlacing,
    legal_decisions,
    rock_decision,
    rock_placings,
    shortest_chains,
)
from companion.games.scouts.screen import build_play
from companion.games.scouts.state import (
    DecisionKind,
    Position,
    lay_rock,
    move_scout,
    parse,
    pass_turn,
)
from companion.games.screen import Play

# Minimum value of a game that is won. A win in a later turn is worth slightly less than `WIN`.
_SURE_WIN = WIN / 2

# The numbers below were chosen by hand. Matches against other bots (`tests/bench/bots`) judge
# all of them together.

# Penalty in ranks for each earlier turn of this game that led to the same position. With a lower
# penalty, two bots move back and forth for longer. With a higher one, they give up good squares
# sooner.
_REPETITION_PENALTY = 2.0

# Assumed maximum gain in ranks of a second play over the best first one. With a lower maximum the
# search is faster, but it may miss the best pair.
_MAX_FOLLOW_UP = 6.0

# Value of a rock that is not laid yet, so that rocks are laid only where they cost more ranks.
_ROCK_VALUE = 3.0

# Maximum number of turns that are considered in a position. With more turns the search takes
# longer. With fewer, it misses turns whose worth shows only later.
_MAX_TURNS = 150

# Number of turns searched for a way out if the game seems lost, nearly all of `_MAX_TURNS`.
_RESCUE_WIDTH = 120

# Maximum number of placings of a rock that are compared. With more placings the search takes
# longer. Those that are left out cover fewer squares next to runners with intel.
_MAX_ROCKS = 24

# Lead in ranks that usually decides a game. It turns a loss into a share of a game.
_DECISIVE_LEAD = 40.0

# Set-ups: the files of the scouts at the start, in the order of placing. A bot draws one set-up for
# its game.
_SET_UPS = ("cdefb", "decfg", "dcefb")


class ScoutsParameters(NamedTuple):
    """Parameters of a level."""

    widths: tuple[tuple[int, ...], ...]
    """Maximum number of turns searched in each ply, for each round of the search. For example, a
    round of (30, 10) searches 30 turns, and 10 replies to each of them. A round takes the best
    turns of the round before and searches them one ply deeper. At a level without rounds, the turn
    with the best first estimate is played.
    """
    noise: float
    """Maximum change of each value of the evaluation, as a share of that value."""

    @property
    def reply_widths(self) -> tuple[int, ...]:
        """Widths of the last round, without the width of its first ply."""
        return self.widths[-1][1:] if self.widths else ()

    def repetition_key(self, position: Position) -> tuple[int, ...]:
        """Return the part of a position that is compared to detect a repetition.

        A level without search compares only its own scouts, upper and lower. The whole position
        would hardly ever repeat while both sides move back and forth.
        """
        return _scout_masks(position) if self.widths else (position.own, position.own_lower)


# Parameters by level. Matches judge them: each level has to beat the one below
# (`tests/bench/bots`).
PARAMETERS_BY_LEVEL = {
    1: ScoutsParameters(widths=(), noise=0.21),
    2: ScoutsParameters(widths=((10,),), noise=0.04),
    3: ScoutsParameters(widths=((80,), (30, 10), (10, 10, 6)), noise=0.0),
}

# Plays of one turn, each by the numbers of its origin and target squares.
Plays = tuple[tuple[int, int], ...]


class Turn(NamedTuple):
    """A turn without its rock."""

    value: float
    """Estimated value for the seat that plays it."""
    plays: Plays
    after: Position
    """Position after the plays, still from the point of view of the seat that plays them."""


_value_of = attrgetter("value")


class ScoutsBot(Bot):
    """Plays a seat of Scouts. It decides a whole turn at once and then hands it in play by play."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._parameters = PARAMETERS_BY_LEVEL[level]
        self._evaluation = Evaluation(values_by_ranks_left(self.rng, self._parameters.noise))
        self._set_up_files = self.rng.choice(_SET_UPS)
        self._may_stack = options.get("stacking", "on") == "on"
        # decisions of the present turn in notation, by the positions in which they are due
        self._plan: dict[Position, str] = {}
        # reasons for the present turn
        self._why: tuple[str, ...] = ()
        # how often this bot's turns have led to a position, by its `repetition_key`
        self._visits: Counter[tuple[int, ...]] = Counter()

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return the next decision of a turn. The first one decides the whole turn."""
        position = position_of(view, self._may_stack)
        if position.to_place:
            return Choice(f"@{SQUARE_NAMES[self._set_up_square(position)]}", 1)
        if position in self._plan:
            return Choice(self._plan[position], 0, self._why)
        if not position.plays_due:
            return Choice(".", 0)
        search = _Search(self._evaluation, self._parameters, self._visits)
        turn = search.find_best_turn(position)
        if turn is None:
            return Choice(".", search.nodes)
        # the lowest level, which does not search, lays no rocks
        rock = search.best_rock(position, turn) if self._parameters.widths else None
        self._plan_turn(position, turn.plays, rock)
        self._visits[self._parameters.repetition_key(turn.after)] += 1
        self._why = search.reasons(position, turn, rock) + search.outlook(position, turn, rock)
        return Choice(self._plan[position], search.nodes, self._why)

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float | None:
        """Return how much worse a decision is than the best one, as a share of a game.

        While plays are due, a play is compared with the best turn that the search finds, and None
        is returned for any other decision. After the plays, rocks and the end of the turn are
        compared with each other, `best` among them. Placings lose nothing.
        """
        position = position_of(view, self._may_stack)
        if position.to_place:
            return 0.0
        search = _Search(self._evaluation, self._parameters, self._visits)
        decision = parse(action)
        # only a rock or the end of the turn is left to decide
        if not position.plays_due:
            values = []
            for option in (decision, parse("."), parse(best)):
                rock = RockPlacing(option.kind, option.covered) if option.covered else None
                values.append(search.value_of_rock(position, rock))
            return share_of_game(max(values) - values[0], _DECISIVE_LEAD)
        turn = search.find_best_turn(position)
        if turn is None or decision.kind not in (DecisionKind.DASH, DecisionKind.JUMP):
            return None
        after = move_scout(position, 1 << decision.squares[0], 1 << decision.squares[-1])
        return share_of_game(turn.value - search.value_of_begun_turn(after), _DECISIVE_LEAD)

    def _set_up_square(self, position: Position) -> int:
        """Return the next free square of this game's set-up."""
        home_rank = 1 if position.seat == 0 else RANKS
        # then any other file, because somebody else may have placed scouts of this seat before
        files = self._set_up_files + "abcdefgh"
        squares = [SQUARE_NUMBERS[f"{file}{home_rank}"] for file in files]
        return next(square for square in squares if not position.own >> square & 1)

    def _plan_turn(self, position: Position, plays: Plays, rock: RockPlacing | None) -> None:
        """Store the decisions of a turn in `_plan`: its plays, its rock, and its end."""
        self._plan = {}
        for origin, target in plays:
            self._plan[position] = _play_between(position, origin, target).text
            position = move_scout(position, 1 << origin, 1 << target)
        if rock is not None and not position.is_won:
            self._plan[position] = str(rock_decision(*rock))
            position = lay_rock(position, *rock)
        self._plan[position] = "."


def _play_between(position: Position, origin: int, target: int) -> Play:
    """Return the dash between two squares, or the shortest chain of jumps if there is no dash."""
    ends = SQUARES[origin], SQUARES[target]
    plays = map(build_play, legal_decisions(position, shortest_chains))
    return next(play for play in plays if (play.squares[0], play.squares[-1]) == ends)


def _plays_in_words(position: Position, plays: Plays) -> Iterator[str]:
    """Yield the plays of a turn in words."""
    for origin, target in plays:
        yield _play_between(position, origin, target).label
        position = move_scout(position, 1 << origin, 1 << target)


class _Search:
    """The search for one decision.

    :param visits: how often the bot's turns have led to a position, by its `repetition_key`. Each
        visit lowers the position's value
    """

    def __init__(
        self,
        evaluation: Evaluation,
        parameters: ScoutsParameters,
        visits: Mapping[tuple[int, ...], int],
    ) -> None:
        self.evaluation = evaluation
        self.parameters = parameters
        self.visits = visits
        # number of positions searched
        self.nodes = 0
        # the turns of the last call of `find_best_turn`, best first
        self.ranked: list[Turn] = []

    def find_best_turn(self, position: Position) -> Turn | None:
        """Return the best turn with its value, or None if nothing can be played.

        Also set `ranked`.
        """
        turns = []
        for value, plays, after in self._generate_turns(position, self.evaluation.value(position)):
            visits = self.visits.get(self.parameters.repetition_key(after), 0)
            turns.append(Turn(value - _REPETITION_PENALTY * visits, plays, after))
        turns.sort(key=_value_of, reverse=True)
        self.ranked = turns
        if not turns:
            return None
        # a winning turn needs no search, and the lowest level does none
        if turns[0].value >= _SURE_WIN or not self.parameters.widths:
            return turns[0]
        ranked = turns
        for widths in self.parameters.widths:
            ranked = self._search_turns(ranked, widths)
        # if the game seems lost, search more turns for a way out
        if ranked[0].value <= -_SURE_WIN:
            ranked = self._search_turns(turns, (_RESCUE_WIDTH,))
        self.ranked = ranked
        return ranked[0]

    def _search_turns(self, turns: list[Turn], widths: tuple[int, ...]) -> list[Turn]:
        """Return the first turns with the values that a search gives them, best first.

        :param turns: turns of one position, best first by an earlier estimate
        :param widths: maximum number of turns searched in each ply, these turns being the first
        """
        ranked = []
        alpha = -inf
        for _, plays, after in turns[: widths[0]]:
            other_side = pass_turn(after)
            # the `repetition_key` of the levels that search
            penalty = _REPETITION_PENALTY * self.visits.get(_scout_masks(after), 0)
            estimate = self.evaluation.value(other_side)
            window = (-inf, -alpha - penalty)
            value = -self._negamax(other_side, estimate, widths[1:], window) - penalty
            ranked.append(Turn(value, plays, after))
            alpha = max(alpha, value)
        return sorted(ranked, key=_value_of, reverse=True)

    def _generate_turns(self, position: Position, value: float) -> list[Turn]:
        """Return the possible turns, best first by first estimate.

        Of several turns that lead to the same position, return only the best. If a turn wins,
        return only this one.

        :param value: value of the position before the turn
        """
        self.nodes += 1
        rated_plays = self.evaluation.rated_plays
        # The value, the plays, and the position after the first play. They are plain tuples,
        # because there are thousands of them. The second play is carried out later
        # (`_distinct_turns`), and only for the turns that are returned.
        turns: list[tuple[float, Plays, Position]] = []
        for gain, origin, target in rated_plays(position):
            first = (origin, target)
            after_first = move_scout(position, 1 << origin, 1 << target)
            if after_first.is_won:
                return [Turn(WIN, (first,), after_first)]
            second_plays = rated_plays(after_first)
            if not second_plays:
                turns.append((value + gain, (first,), after_first))
            for second_gain, second_origin, second_target in second_plays:
                plays = (first, (second_origin, second_target))
                if second_gain >= WIN:
                    return [Turn(WIN, plays, _play_all(position, plays))]
                turns.append((value + gain + second_gain, plays, after_first))
        turns.sort(key=itemgetter(0), reverse=True)
        return _distinct_turns(turns)

    def _negamax(
        self,
        position: Position,
        estimate: float,
        widths: tuple[int, ...],
        window: tuple[float, float],
    ) -> float:
        """Search a position. Return its value for the side that begins a whole turn.

        Each value of a reply is negated, because `pass_turn` changes the point of view.

        :param estimate: first estimate of the value
        :param widths: maximum number of turns searched in each further ply
        :param window: alpha and beta. A value outside of this window need not be exact
        """
        alpha, beta = window
        if not widths:
            return self._last_turn_value(position, estimate, beta)
        best = -inf
        for turn_estimate, _, after in self._generate_turns(position, estimate)[: widths[0]]:
            if turn_estimate >= WIN:
                return WIN
            reply_window = -beta, -max(alpha, best)
            turn_value = -self._negamax(pass_turn(after), -turn_estimate, widths[1:], reply_window)
            # prefer early wins and late losses
            if turn_value > _SURE_WIN:
                turn_value -= 1
            elif turn_value < -_SURE_WIN:
                turn_value += 1
            best = max(best, turn_value)
            if best >= beta:
                break
        return best if best > -inf else estimate

    def _last_turn_value(self, position: Position, value: float, beta: float) -> float:
        """Return the value of a position for the side that begins the last turn of a line.

        It is the value after the best pair of plays. The second play is not carried out, but
        estimated by its gain.

        :param value: value of the position before the turn
        :param beta: value above which the result need not be exact
        """
        self.nodes += 1
        rated_plays = self.evaluation.rated_plays
        first_plays = sorted(rated_plays(position), reverse=True)
        if not first_plays:
            return value
        max_gain, _, _ = first_plays[0]
        if max_gain >= WIN:
            return WIN
        best = -inf
        max_second_gain = max_gain + _MAX_FOLLOW_UP
        for gain, origin, target in first_plays:
            # first plays are sorted, so no later one can be better
            if value + gain + max_second_gain <= best:
                break
            second_plays = rated_plays(move_scout(position, 1 << origin, 1 << target))
            turn_value = value + gain
            if second_plays:
                second_gain, _, _ = max(second_plays)
                turn_value += second_gain
            best = max(best, turn_value)
            if best >= beta:
                break
        return WIN if best > _SURE_WIN else best

    def best_rock(self, position: Position, turn: Turn) -> RockPlacing | None:
        """Return the rock to lay after the plays of a turn, or None if no rock helps enough."""
        position = _play_all(position, turn.plays)
        runners = position.foe & position.intel
        if position.is_won or not runners:
            return None
        # a rock can stop a scout with intel only if it lies beside that scout
        beside_runners = reduce(or_, [AROUND[square] for square in squares_in(runners)])
        rocks = [rock for rock in rock_placings(position) if rock.covered & beside_runners]
        rocks.sort(key=lambda rock: (rock.covered & beside_runners).bit_count(), reverse=True)
        # Of equal values, `max` takes the first. None comes first and stands for no rock, so that a
        # rock is laid only if it makes the value better.
        return max((None, *rocks[:_MAX_ROCKS]), key=lambda rock: self.value_of_rock(position, rock))

    def value_of_rock(self, position: Position, rock: RockPlacing | None) -> float:
        """Return the value of a turn after its plays.

        :param rock: the rock that the turn then lays, or None if it lays no rock
        """
        other_side = pass_turn(lay_rock(position, *rock) if rock else position)
        value = -self._last_turn_value(other_side, self.evaluation.value(other_side), inf)
        return value - _ROCK_VALUE if rock else value

    def value_of_begun_turn(self, position: Position) -> float:
        """Return the value of a turn that has begun, if the rest of it is the best possible."""
        if position.is_won:
            return WIN
        if position.plays_due and (turn := self.find_best_turn(position)):
            return turn.value
        # nothing is left to play: search only the turn that ends here
        ended_turn = Turn(0.0, (), position)
        return self._search_turns([ended_turn], (1, *self.parameters.reply_widths))[0].value

    def reasons(self, position: Position, turn: Turn, rock: RockPlacing | None) -> tuple[str, ...]:
        """Return the reasons for a turn as sentences, the most important first."""
        after = turn.after
        reasons = []
        if turn.value >= _SURE_WIN:
            reasons.append(say("This brings intel home."))
        elif turn.value <= -_SURE_WIN:
            reasons.append(
                say("Nothing stops the other side’s scout any more: this is a last try.")
            )
        if after.foe_lower.bit_count() > position.foe_lower.bit_count():
            reasons.append(say("This buries a scout of the other side."))
        if rock is not None:
            reasons.append(say("The rock blocks the way home of a scout with intel."))
        if (after.own & after.intel).bit_count() > (position.own & position.intel).bit_count():
            reasons.append(say("This gathers intel."))
        if not reasons:
            reasons.append(
                say(
                    "As far as one can see ahead, this side’s scouts then get farther than the "
                    "other side’s."
                )
            )
        return tuple(reasons)

    def outlook(self, position: Position, turn: Turn, rock: RockPlacing | None) -> tuple[str, ...]:
        """Return sentences about the other side's best reply to a turn, and the second best turn.

        The second best turn is from the last call of `find_best_turn`, which must have been for
        this position.
        """
        if abs(turn.value) >= _SURE_WIN:
            return ()
        after = _play_all(position, turn.plays)
        other_side = pass_turn(lay_rock(after, *rock) if rock else after)
        # search the reply as deeply as the last round did
        widths = self.parameters.reply_widths
        parameters = self.parameters._replace(widths=(widths,) if widths else ())
        reply = _Search(self.evaluation, parameters, {}).find_best_turn(other_side)
        second = self.ranked[1] if len(self.ranked) > 1 else turn._replace(plays=())
        return without_empty(
            reply_sentence(_plays_in_words(other_side, reply.plays if reply else ())),
            second_best_sentence(
                _plays_in_words(position, second.plays),
                share_of_game(turn.value - second.value, _DECISIVE_LEAD),
            ),
        )


def _scout_masks(position: Position) -> tuple[int, ...]:
    """Return the squares of all scouts and of their intel: the first six fields of a position."""
    return position[:6]


def _play_all(position: Position, plays: Plays) -> Position:
    """Return the position after these plays, from the same point of view."""
    for origin, target in plays:
        position = move_scout(position, 1 << origin, 1 << target)
    return position


def _distinct_turns(turns: Iterable[tuple[float, Plays, Position]]) -> list[Turn]:
    """Return the best turns with the positions after them, one for each position.

    :param turns: the value, the plays, and the position after the first play of each, best first
    """
    by_position: dict[tuple[int, ...], Turn] = {}
    for value, plays, after_first in turns:
        after = _play_all(after_first, plays[1:])
        key = _scout_masks(after)
        if key not in by_position:
            by_position[key] = Turn(value, plays, after)
            if len(by_position) == _MAX_TURNS:
                break
    return list(by_position.values())
