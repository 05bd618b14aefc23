"""Search for the best play of Kahmate: a beam search of turns, then the other side's reply.

Kahmate is rugby on a board. Whoever carries the ball into the other side's goal scores a try and
wins. Where a piece meets an opponent there is a face-off, which both sides decide by strength cards
that they play in secret.

A turn is a sequence of plays: runs, passes, kicks and tackles. What a play leads to is its plan.
The search follows a turn up to its first plan with face-offs, whose ends are weighed by their
chances. Values are in points (see `evaluation`) for the seat that plays the turn. A quiet turn is
one without a face-off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from random import Random
from typing import NamedTuple

from companion.bots.kahmate.evaluation import TRY, chances_of, try_chance, value_of
from companion.bots.kahmate.moves import (
    END_TURN,
    Play,
    end_turn,
    key_of,
    plays,
    state_if_lost,
    state_if_won,
)
from companion.games.kahmate.board import CLEAR_LEAD, SEAT_OF, SPEED
from companion.games.kahmate.state import NO_PIECE, ActionKind, ActionPlan, State

# Minimum value of a turn that is certain to score a try.
SURE_TRY = TRY - 1

# The weights below are in points. They were chosen by hand, and matches (`tests/bench/bots`) judge
# all of them together.

# Potential of an unfinished turn while the ball is loose. A potential only decides which turns the
# search continues.
_LOOSE_BALL_POTENTIAL = 25.0

# Potential of each step that the carrier may still run in an unfinished turn.
_STEP_POTENTIAL = 8.0

# Penalty for each earlier time that the position after the turn was on the board.
_REPEAT_COST = 12.0

# Bonus of a face-off for every quiet turn before, so that no game stays quiet.
_FACE_OFF_BONUS = 1.5

# Penalty of a turn without any play.
_IDLE_COST = 4.0

# Additional penalty of a turn without any play, for every quiet turn before.
_MORE_IDLE_COST = 2.0


class Strength(NamedTuple):
    """Search parameters of a level."""

    width: int
    """Number of states from which the beam search continues a turn."""
    depth: int
    """Maximum number of plays in a turn."""
    replies: int
    """Number of turns that are compared by the other side's best reply.

    A level without replies also leaves out face-offs of runners without the ball.
    """
    reply_width: int
    """Width of the beam search for a reply."""
    noise: float
    """Standard deviation of the noise, in points."""


# Parameters by level. Matches judge them: each level has to beat the one below
# (`tests/bench/bots`).
STRENGTHS = {
    1: Strength(width=2, depth=1, replies=0, reply_width=0, noise=100.0),
    2: Strength(width=4, depth=2, replies=0, reply_width=0, noise=60.0),
    3: Strength(width=7, depth=3, replies=14, reply_width=2, noise=0.0),
}

# Number of evaluated states after which no further reply is searched. More: slower. Fewer: the bot
# misses turns whose value shows only in the reply.
MAX_NODES = 8_000

# Maximum number of plays in the other side's reply. More: slower.
_REPLY_DEPTH = 2

_value_of = attrgetter("value")


class End(NamedTuple):
    """A possible end of a turn."""

    chance: float
    """Chance that the turn ends like this."""
    after: State | None
    """State at the start of the other side's turn. None after a try."""
    try_chance: float = 0.0
    """Chance that the rest of the turn still leads to a try instead of to `after`."""


class Unfinished(NamedTuple):
    """A turn that the beam search may continue."""

    first: Play | None
    """First play of the turn. None if it has none yet."""
    state: State
    """State that the turn has reached."""
    promise: float
    """Value if the turn ended here, plus its potential."""


@dataclass(slots=True)
class Candidate:
    """A possible turn."""

    first: Play
    """Its first play. The search is made anew for the next one."""
    ends: tuple[End, ...]
    """All possible ends, in the order of `ends_of`. A turn without a face-off has a single one."""
    value: float
    """Value for the seat that plays it, in points, with the bonus that `Search.find_best` adds."""
    has_face_off: bool = False
    odds: float = 1.0
    """Chance to win all face-offs."""


@dataclass
class Search:
    """The search for one decision."""

    strength: Strength
    seed: int
    quiet_turns: int = 0
    """Number of turns since the last face-off."""
    visits: dict[tuple[object, ...], int] = field(default_factory=dict)
    """Number of times that each position was on the board, by `key_of`."""
    nodes: int = 0
    """Number of states evaluated so far."""
    ranked: list[Candidate] = field(default_factory=list)
    """The turns of the last comparison, best first."""

    def find_best(self, state: State) -> Candidate:
        """Return the best turn of the seat on turn."""
        strength = self.strength
        candidates = self.find_turns(
            state, strength.width, strength.depth, may_any_run_into=strength.replies > 0
        )
        for candidate in candidates:
            if candidate.value < SURE_TRY:
                candidate.value += self._bonus(state, candidate)
        candidates = _ranked(candidates)
        self.ranked = candidates
        if not strength.replies or candidates[0].value >= SURE_TRY:
            return candidates[0]
        answered: list[Candidate] = []
        for candidate in candidates[: strength.replies]:
            if self.nodes > MAX_NODES and answered:
                break
            candidate.value = self._value_after_reply(candidate) + self._bonus(state, candidate)
            answered.append(candidate)
        self.ranked = _ranked(answered)
        return self.ranked[0]

    def loss(self, state: State, plan: ActionPlan | None) -> float | None:
        """Return how much better the best turn is than the best one that begins with this plan.

        Replies are not considered. Return None if the search has no such turn.

        :param plan: None for the end of the turn
        """
        turns = self.find_turns(
            state, self.strength.width, self.strength.depth, may_any_run_into=True
        )
        values = [turn.value for turn in turns if turn.first.plan == plan]
        if not values:
            return None
        return max(turn.value for turn in turns) - max(values)

    def _bonus(self, state: State, candidate: Candidate) -> float:
        """Return what a turn gets beside its value, so that games vary and go on. Often negative.

        It is the level's noise, penalties for repetitions and idle turns, and a bonus for
        face-offs. That bonus and the penalty for idle turns grow with the number of quiet turns.
        """
        after = candidate.ends[0].after
        key = key_of(after) if after is not None else (str(candidate.first.action),)
        points = -_REPEAT_COST * self.visits.get(key, 0)
        if candidate.has_face_off:
            points += _FACE_OFF_BONUS * self.quiet_turns
        elif candidate.first == END_TURN and not state.moved_pieces:
            points -= _IDLE_COST + _MORE_IDLE_COST * self.quiet_turns
        if self.strength.noise:
            points += Random(f"{self.seed} {key}").gauss(0, self.strength.noise)
        return points

    def _value_after_reply(self, candidate: Candidate) -> float:
        """Return the value of a candidate after the other side's best reply."""
        value = 0.0
        for end in candidate.ends:
            if end.after is None:
                value += end.chance * TRY
                continue
            other_value = -self.find_reply(end.after).value
            value += end.chance * (end.try_chance * TRY + (1 - end.try_chance) * other_value)
        return value

    def find_reply(self, state: State) -> Candidate:
        """Return the best turn of the seat on turn, as a reply to the turn before."""
        width = self.strength.reply_width
        return max(
            self.find_turns(state, width, _REPLY_DEPTH, may_any_run_into=False), key=_value_of
        )

    # ---- turns -----------------------------------------------------------------------------------

    def find_turns(
        self, state: State, width: int, depth: int, *, may_any_run_into: bool
    ) -> list[Candidate]:
        """Return the possible turns from this state, found by a beam search.

        After each play, only the most promising turns are continued. If a try is certain, return
        only that turn.

        :param width: number of turns that are continued
        :param depth: maximum number of plays in a turn
        :param may_any_run_into: whether pieces without the ball may also run into an opponent, but
            only in the first play
        """
        self.nodes += 1
        ended = end_turn(state)
        candidates = [Candidate(END_TURN, (End(1.0, ended),), -value_of(ended))]
        beam = [Unfinished(None, state, 0.0)]
        visited = {key_of(state)}
        for number in range(depth):
            unfinished: list[Unfinished] = []
            next_plays = (
                (turn, play)
                for turn in beam
                for play in plays(turn.state, may_any_run_into=may_any_run_into and number == 0)
            )
            for turn, play in next_plays:
                first = turn.first or play
                plan = play.plan
                assert plan is not None
                if plan.face_offs:
                    candidates.append(self._face_off_turn(first, turn.state, plan))
                    continue
                # nothing is better than a certain try
                if plan.ends_in_goal:
                    return [Candidate(first, (End(1.0, None),), TRY)]
                after = state_if_won(turn.state, plan)
                key = key_of(after)
                if key in visited:
                    continue
                visited.add(key)
                # the turn may end here or continue
                end = _turn_end(1.0, after)
                value = self._value(end)
                candidates.append(Candidate(first, (end,), value))
                unfinished.append(Unfinished(first, after, value + _potential(after)))
            unfinished.sort(key=attrgetter("promise"), reverse=True)
            beam = unfinished[:width]
        return candidates

    def _value(self, end: End) -> float:
        """Return the value of an end for the seat that plays the turn, before any reply."""
        if end.after is None:
            return TRY
        self.nodes += 1
        return end.try_chance * TRY + (1 - end.try_chance) * -value_of(end.after)

    def _face_off_turn(self, first: Play, before: State, plan: ActionPlan) -> Candidate:
        """Return a turn that ends with the face-offs of this plan."""
        ends = ends_of(before, plan)
        value = sum(end.chance * self._value(end) for end in ends)
        # see `ends_of` for the order: a tackle is won in two of its ends
        odds = 1 - ends[-1].chance if plan.kind is ActionKind.TACKLE else ends[0].chance
        return Candidate(first, ends, value, has_face_off=True, odds=odds)


def ends_of(before: State, plan: ActionPlan) -> tuple[End, ...]:
    """Return the possible ends of a plan with face-offs, in this order.

    A tackle: won by a clear lead, won by less, lost. Another plan: all face-offs won, the first
    one lost, the second one lost, and so on.
    """
    if plan.kind is ActionKind.TACKLE:
        face_off = plan.face_offs[0]
        by_much, by_little, loss = chances_of(before, plan.movers, face_off.defender)
        return (
            # a lead above `CLEAR_LEAD` also wins the ball
            End(by_much, state_if_won(before, plan, CLEAR_LEAD + 1)),
            End(by_little, state_if_won(before, plan)),
            End(loss, state_if_lost(before, plan, face_off)),
        )
    ends = []
    # chance that all face-offs so far are won
    chance = 1.0
    for face_off in plan.face_offs:
        by_much, by_little, loss = chances_of(before, plan.movers, face_off.defender)
        ends.append(_turn_end(chance * loss, state_if_lost(before, plan, face_off)))
        chance *= by_much + by_little
    if plan.ends_in_goal:
        return (End(chance, None), *ends)
    return (_turn_end(chance, state_if_won(before, plan)), *ends)


def _turn_end(chance: float, last: State) -> End:
    """Return the end of a turn whose plays have led to this state, without a try so far."""
    return End(chance, end_turn(last), try_chance(last))


def _ranked(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates, best first. The sort is stable."""
    return sorted(candidates, key=_value_of, reverse=True)


def _potential(state: State) -> float:
    """Return the potential of an unfinished turn in points: what its next plays may still gain."""
    # at most two pieces run in a turn
    if len(state.moved_pieces) >= 2:
        return 0.0
    carrier = state.carrier
    if carrier == NO_PIECE:
        return _LOOSE_BALL_POTENTIAL
    if SEAT_OF[carrier] == state.seat and carrier not in state.moved_pieces:
        return _STEP_POTENTIAL * SPEED[carrier]
    return 0.0
