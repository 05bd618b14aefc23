"""An opponent for Scouts: it searches whole turns of both sides, the most promising ones deeper.

The last turn of each line is not played out. Its best pair of plays is estimated from the value of
each play. The whole position is open in this game, so the bot remembers only the turn that it has
begun, and which positions its turns have led to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from math import inf
from operator import attrgetter, itemgetter, or_
from typing import Any, NamedTuple

from companion.bots.base import (
    Bot,
    Choice,
    expected_reply,
    reasons_of,
    second_best,
    share_of_game,
)
from companion.bots.scouts_evaluation import WIN, Evaluation, position_of, rank_values
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.scouts.board import AROUND, FILES, NAMES, SQUARES, squares_in
from companion.games.scouts.moves import decisions, rock_decision, rock_placings, shortest
from companion.games.scouts.screen import play_of
from companion.games.scouts.state import Kind, Position, lay_rock, move_scout, pass_turn, read
from companion.games.screen import Play

_SURE = WIN / 2
"""Value from which on a game is won, in however many turns."""
_REPETITION_COST = 2.0
"""Penalty in ranks for each earlier turn of this game that led to the same position."""
_MAX_FOLLOW_UP = 6.0
"""Assumed maximum gain in ranks of a second play over the best first one."""
_ROCK_VALUE = 3.0
"""Value of a rock that is not laid yet."""
_MAX_TURNS = 150
"""Maximum number of turns that are considered in a position."""
_RESCUE_WIDTH = 120
"""Number of turns searched for a way out if the game seems lost."""
_MAX_ROCKS = 24
"""Maximum number of placings of a rock that are compared."""
_DECISIVE_LEAD = 40.0
"""Lead in ranks that usually decides a game."""
_SET_UPS = ("cdefb", "decfg", "dcefb")
"""Files of the scouts at the start, in the order of placing."""


@dataclass(frozen=True)
class Strength:
    """Parameters of a level: the number of turns searched in each ply, and the noise.

    Each tuple of `widths` is one round, which searches the best turns of the round before one turn
    deeper.
    """

    widths: tuple[tuple[int, ...], ...]
    noise: float

    def repetition_key(self, position: Position) -> tuple[int, ...]:
        """Return the part of a position that is compared to detect a repetition.

        A level without search compares only its own scouts, upper and lower. While both sides
        wander about, the whole position would not repeat for very long.
        """
        return position[:6] if self.widths else (position.own, position.own_low)


STRENGTHS = {
    1: Strength((), 0.21),
    2: Strength(((10,),), 0.04),
    3: Strength(((80,), (30, 10), (10, 10, 6)), 0.0),
}

Plays = tuple[tuple[int, int], ...]
"""Plays of one turn, each by the numbers of its origin and target."""


class Turn(NamedTuple):
    """A turn: its estimated value, its plays, and the position after them."""

    value: float
    plays: Plays
    after: Position


_value_of = attrgetter("value")


class ScoutsBot(Bot):
    """Plays a seat of Scouts."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._strength = STRENGTHS[level]
        self._evaluation = Evaluation(rank_values(self.rng, self._strength.noise))
        self._files = self.rng.choice(_SET_UPS)
        self._may_stack = options.get("stacking", "on") == "on"
        self._plan: dict[Position, str] = {}
        self._why: tuple[str, ...] = ()
        self._visits: Counter[tuple[int, ...]] = Counter()

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return the next decision of a turn. The first one decides the whole turn."""
        position = position_of(view, self._may_stack)
        if position.to_place:
            return Choice(f"@{NAMES[self._set_up_square(position)]}", 1)
        if position in self._plan:
            return Choice(self._plan[position], 0, self._why)
        if not position.due:
            return Choice(".", 0)
        search = _Search(self._evaluation, self._strength, self._visits)
        turn = search.best(position)
        if turn is None:
            return Choice(".", search.nodes)
        # a level without search lays no rocks
        rock = search.best_rock(position, turn) if self._strength.widths else None
        self._remember(position, turn.plays, rock)
        self._visits[self._strength.repetition_key(turn.after)] += 1
        self._why = search.reasons(position, turn, rock) + search.outlook(position, turn, rock)
        return Choice(self._plan[position], search.nodes, self._why)

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float | None:
        """Compare the best turn with the best one that begins with this decision."""
        position = position_of(view, self._may_stack)
        if position.to_place:
            return 0.0
        search = _Search(self._evaluation, self._strength, self._visits)
        decision = read(action)
        # only a rock or the end of the turn is left to decide
        if not position.due:
            values = []
            for choice in (decision, read("."), read(best)):
                rock = (choice.kind, choice.covered) if choice.covered else None
                values.append(search.value_of_rock(position, rock))
            return share_of_game(max(values) - values[0], _DECISIVE_LEAD)
        turn = search.best(position)
        if turn is None or len(decision.squares) < 2:
            return None
        after = move_scout(position, 1 << decision.squares[0], 1 << decision.squares[-1])
        return share_of_game(turn.value - search.value_from(after), _DECISIVE_LEAD)

    def _set_up_square(self, position: Position) -> int:
        """Return the next free square of this game's set-up."""
        rank = 0 if position.seat == 0 else 9
        squares = [ord(file) - ord("a") + FILES * rank for file in (*self._files, *"abcdefgh")]
        return next(square for square in squares if not position.own >> square & 1)

    def _remember(self, position: Position, plays: Plays, rock: tuple[Kind, int] | None) -> None:
        """Store the decisions of a turn by the positions in which they are due."""
        self._plan = {}
        for origin, target in plays:
            self._plan[position] = _play_of(position, origin, target).text
            position = move_scout(position, 1 << origin, 1 << target)
        if rock is not None and not position.is_won:
            self._plan[position] = str(rock_decision(*rock))
            position = lay_rock(position, *rock)
        self._plan[position] = "."


def _play_of(position: Position, origin: int, target: int) -> Play:
    """Return the dash between two squares, or the shortest chain of jumps if there is no dash."""
    ends = SQUARES[origin], SQUARES[target]
    plays = map(play_of, decisions(position, shortest))
    return next(play for play in plays if (play.squares[0], play.squares[-1]) == ends)


def _words(position: Position, plays: Plays) -> Iterator[str]:
    """Yield the plays of a turn in words."""
    for origin, target in plays:
        yield _play_of(position, origin, target).label
        position = move_scout(position, 1 << origin, 1 << target)


class _Search:
    """The search from one position.

    `visits` counts the positions that own turns have led to. Each visit lowers a position's value.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        strength: Strength,
        visits: Mapping[tuple[int, ...], int],
    ) -> None:
        self.evaluation = evaluation
        self.strength = strength
        self.visits = visits
        self.nodes = 0
        self.ranked: list[Turn] = []
        """The turns of the last comparison, best first."""

    def best(self, position: Position) -> Turn | None:
        """Return the best turn with its value, or None if nothing can be played."""
        turns = []
        for score, plays, after in self._turns(position, self.evaluation.value(position)):
            visits = self.visits.get(self.strength.repetition_key(after), 0)
            turns.append(Turn(score - _REPETITION_COST * visits, plays, after))
        turns.sort(key=_value_of, reverse=True)
        self.ranked = turns
        if not turns:
            return None
        # no search for a winning turn, or for a level that does not search
        if turns[0].value >= _SURE or not self.strength.widths:
            return turns[0]
        ranked = turns
        for widths in self.strength.widths:
            ranked = self._rank(ranked, widths)
        if ranked[0].value <= -_SURE:  # seems lost: search more turns for a way out
            ranked = self._rank(turns[:_RESCUE_WIDTH], (_RESCUE_WIDTH,))
        self.ranked = ranked
        return ranked[0]

    def _rank(self, turns: list[Turn], widths: tuple[int, ...]) -> list[Turn]:
        """Return the first `widths[0]` turns, best first, after a search with the other widths."""
        ranked = []
        alpha = -inf
        for _, plays, after in turns[: widths[0]]:
            reply = pass_turn(after)
            repetition_cost = _REPETITION_COST * self.visits.get(after[:6], 0)
            # negamax: the value is that of the side that plays next
            value = self.evaluation.value(reply)
            window = (-inf, -alpha - repetition_cost)
            score = -self._turn_value(reply, value, widths[1:], window) - repetition_cost
            ranked.append(Turn(score, plays, after))
            alpha = max(alpha, score)
        return sorted(ranked, key=_value_of, reverse=True)

    def _turns(self, position: Position, value: float) -> list[Turn]:
        """Return the possible turns, one for each position, best first by first estimate.

        If a turn wins, return only this one. `value` is that of the position.
        """
        self.nodes += 1
        moves = self.evaluation.moves
        # plain tuples, because there are thousands of them
        turns: list[tuple[float, Plays, Position]] = []
        for gain, origin, target in moves(position):
            first = (origin, target)
            after = move_scout(position, 1 << origin, 1 << target)
            if after.is_won:
                return [Turn(WIN, (first,), after)]
            seconds = moves(after)
            if not seconds:
                turns.append((value + gain, (first,), after))
            for second_gain, start, end in seconds:
                if second_gain >= WIN:
                    after = move_scout(after, 1 << start, 1 << end)
                    return [Turn(WIN, (first, (start, end)), after)]
                turns.append((value + gain + second_gain, (first, (start, end)), after))
        turns.sort(key=itemgetter(0), reverse=True)
        return _distinct_turns(turns)

    def _turn_value(
        self,
        position: Position,
        value: float,
        widths: tuple[int, ...],
        window: tuple[float, float],
    ) -> float:
        """Return the value of a position for the side that begins a whole turn.

        `window` is alpha and beta.
        """
        alpha, beta = window
        if not widths:
            return self._last_turn_value(position, value, beta)
        best = -inf
        for total, _, after in self._turns(position, value)[: widths[0]]:
            if total >= WIN:
                return WIN
            reply_window = -beta, -max(alpha, best)
            score = -self._turn_value(pass_turn(after), -total, widths[1:], reply_window)
            # prefer early wins and late losses
            if score > _SURE:
                score -= 1
            elif score < -_SURE:
                score += 1
            best = max(best, score)
            if best >= beta:
                break
        return best if best > -inf else value

    def _last_turn_value(self, position: Position, value: float, beta: float) -> float:
        """Return the value of the last turn of a line.

        It is that of the best pair of plays. The second play is not carried out.
        """
        self.nodes += 1
        moves = self.evaluation.moves
        firsts = sorted(moves(position), reverse=True)
        if not firsts:
            return value
        if firsts[0][0] >= WIN:
            return WIN
        best = -inf
        max_second_gain = firsts[0][0] + _MAX_FOLLOW_UP
        for gain, origin, target in firsts:
            # firsts are sorted, so none of the rest can be better
            if value + gain + max_second_gain <= best:
                break
            seconds = moves(move_scout(position, 1 << origin, 1 << target))
            score = value + gain
            if seconds:
                score += max(seconds)[0]
            best = max(best, score)
            if best >= beta:
                break
        return WIN if best > _SURE else best

    def best_rock(self, position: Position, turn: Turn) -> tuple[Kind, int] | None:
        """Return the rock to lay after the plays of a turn: its kind and its squares.

        Return None if it is better kept.
        """
        position = _after_plays(position, turn.plays)
        runners = position.foe & position.intel
        if position.is_won or not runners:
            return None
        zone = reduce(or_, [AROUND[number] for number in squares_in(runners)])
        # a rock can stop a scout with intel only if it is beside it
        near = [placing for placing in rock_placings(position) if placing[1] & zone]
        near.sort(key=lambda placing: (placing[1] & zone).bit_count(), reverse=True)
        best = None
        best_value = self.value_of_rock(position, None)
        for rock in near[:_MAX_ROCKS]:
            value = self.value_of_rock(position, rock)
            if value > best_value:
                best = rock
                best_value = value
        return best

    def value_of_rock(self, position: Position, rock: tuple[Kind, int] | None) -> float:
        """Return the value of a turn after its plays, if it ends with this rock or without one."""
        reply = pass_turn(lay_rock(position, *rock) if rock else position)
        value = -self._last_turn_value(reply, self.evaluation.value(reply), inf)
        return value - _ROCK_VALUE if rock else value

    def value_from(self, position: Position) -> float:
        """Return the value of the best turn that continues from here."""
        if position.is_won:
            return WIN
        if position.due and (turn := self.best(position)):
            return turn.value
        widths = self.strength.widths[-1] if self.strength.widths else ()
        ended = Turn(0.0, (), position)
        return self._rank([ended], (1, *widths[1:]))[0].value

    def reasons(
        self, position: Position, turn: Turn, rock: tuple[Kind, int] | None
    ) -> tuple[str, ...]:
        """Return the reasons for a turn as sentences, the most important first."""
        own, _, _, foe_low, intel, *_ = turn.after
        reasons = []
        if turn.value >= _SURE:
            reasons.append(say("This brings intel home."))
        elif turn.value <= -_SURE:
            reasons.append(
                say("Nothing stops the other side’s scout any more: this is a last try.")
            )
        if foe_low.bit_count() > position.foe_low.bit_count():
            reasons.append(say("This buries a scout of the other side."))
        if rock is not None:
            reasons.append(say("The rock blocks the way home of a scout with intel."))
        if (own & intel).bit_count() > (position.own & position.intel).bit_count():
            reasons.append(say("This gathers intel."))
        if not reasons:
            reasons.append(
                say(
                    "As far as one can see ahead, this side’s scouts then get farther than the "
                    "other side’s."
                )
            )
        return tuple(reasons)

    def outlook(
        self, position: Position, turn: Turn, rock: tuple[Kind, int] | None
    ) -> tuple[str, ...]:
        """Return the other side's best answer to a turn, and the second best turn.

        The second best turn is from the last call of `best`, which must have been for `position`.
        """
        if abs(turn.value) >= _SURE:
            return ()
        after = _after_plays(position, turn.plays)
        after = pass_turn(lay_rock(after, *rock) if rock else after)
        widths = self.strength.widths[-1][1:] if self.strength.widths else ()
        strength = replace(self.strength, widths=(widths,) if widths else ())
        answer = _Search(self.evaluation, strength, {}).best(after)
        second = self.ranked[1] if len(self.ranked) > 1 else turn._replace(plays=())
        return reasons_of(
            expected_reply(_words(after, answer.plays if answer else ())),
            second_best(
                _words(position, second.plays),
                share_of_game(turn.value - second.value, _DECISIVE_LEAD),
            ),
        )


def _after_plays(position: Position, plays: Plays) -> Position:
    for origin, target in plays:
        position = move_scout(position, 1 << origin, 1 << target)
    return position


def _distinct_turns(turns: Iterable[tuple[float, Plays, Position]]) -> list[Turn]:
    """Return the best turns with the positions after them, one for each position."""
    by_position: dict[tuple[int, ...], Turn] = {}
    for score, plays, after in turns:
        # the second play of a turn is carried out only here
        position = _after_plays(after, plays[1:])
        # the first six fields are the scouts and the intel
        key = position[:6]
        if key not in by_position:
            by_position[key] = Turn(score, plays, position)
            if len(by_position) == _MAX_TURNS:
                break
    return list(by_position.values())
