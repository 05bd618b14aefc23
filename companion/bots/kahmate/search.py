"""Search for the best play of Kahmate: a beam search of turns, then the other side's reply.

Kahmate is rugby on a board. Whoever carries the ball into the other side's goal scores a try and
wins. Where a piece meets an opponent there is a face-off, which both sides decide by strength cards
that they play in secret. A turn is a sequence of plays: runs, passes, kicks and tackles. The plan
of a play is its consequences.

The search for a decision has these steps:

1. `find_turns` finds the possible turns. It continues the most promising partial turns by one play
   after another, and ends a turn at its first play with face-offs.
2. Each turn gets a value, from the states in which it may end (`TurnEnd`): the mean of their
   values, weighted by their chances.
3. `find_best_turn` ranks the turns by their scores. A score is the value with a few points added or
   subtracted, so that games vary and do not stall.
4. At the highest level, the best turns are ranked again. Now their value is the one after the best
   reply of the other side, which is found by a smaller search of the same kind.
5. The bot makes the first play of the best turn, and searches again after it.

Values and scores are in points (see `evaluation`) for the seat that plays the turn. A quiet turn is
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
    CandidatePlay,
    candidate_plays,
    end_turn,
    repetition_key,
    state_if_lost,
    state_if_won,
)
from companion.games.kahmate.board import CLEAR_LEAD, SEAT_OF, SPEED
from companion.games.kahmate.state import NO_PIECE, ActionKind, ActionPlan, State

# Minimum value of a turn that is certain to score a try. It leaves a point for rounding.
SURE_TRY = TRY - 1

# The weights below are in points. They were chosen by hand, and matches (`tests/bench/bots`) judge
# all of them together.

# Potential of a partial turn while the ball is loose. A potential is what the next plays of the
# turn may still gain. It only decides which turns the search continues.
_LOOSE_BALL_POTENTIAL = 25.0

# Potential of each step that the carrier may still run in a partial turn.
_STEP_POTENTIAL = 8.0

# Penalty for each earlier time that the position after the turn was on the board.
_REPEAT_COST = 12.0

# Bonus of a face-off for every quiet turn before, so that no game stays quiet.
_FACE_OFF_BONUS = 1.5

# Penalty of a turn without any play.
_IDLE_COST = 4.0

# Additional penalty of a turn without any play, for every quiet turn before.
_MORE_IDLE_COST = 2.0


class KahmateParameters(NamedTuple):
    """Search parameters of a level."""

    beam_width: int
    """Maximum number of partial turns that the beam search continues after each play."""
    max_plays: int
    """Maximum number of plays in a turn."""
    reply_count: int
    """Number of turns that are compared by their values after the other side's best reply.

    A level without replies also leaves out face-offs of runners without the ball.
    """
    reply_width: int
    """Beam width of the search for a reply."""
    noise: float
    """Standard deviation of the noise, in points."""


# Parameters by level. Matches judge them: each level has to beat the one below
# (`tests/bench/bots`).
PARAMETERS_BY_LEVEL = {
    1: KahmateParameters(beam_width=2, max_plays=1, reply_count=0, reply_width=0, noise=100.0),
    2: KahmateParameters(beam_width=4, max_plays=2, reply_count=0, reply_width=0, noise=60.0),
    3: KahmateParameters(beam_width=7, max_plays=3, reply_count=14, reply_width=2, noise=0.0),
}

# Number of evaluated states after which no further reply is searched. A higher limit makes the bot
# slower. With a lower one it misses turns whose value shows only in the reply.
MAX_NODES = 8_000

# Maximum number of plays in the other side's reply. With more plays the search takes longer.
_REPLY_DEPTH = 2


class TurnEnd(NamedTuple):
    """A possible end of a turn."""

    chance: float
    """Chance that the turn ends like this."""
    after: State | None
    """State at the start of the other side's turn. None after a try."""
    try_chance: float = 0.0
    """Chance that the rest of the turn still leads to a try instead of to `after`. After a tackle
    there is no rest, because a tackle ends the turn.
    """


class PartialTurn(NamedTuple):
    """A turn that the beam search may continue."""

    first_play: CandidatePlay | None
    """First play of the turn. None if it has none yet."""
    state: State
    """State that the turn has reached."""
    priority: float
    """Value if the turn ended here, plus its potential. The beam search continues the partial turns
    with the highest priority.
    """


@dataclass(slots=True)
class CandidateTurn:
    """A possible turn."""

    first_play: CandidatePlay
    """The turn's first play. After this play the bot searches again."""
    ends: tuple[TurnEnd, ...]
    """All possible ends. The first one is the best: all face-offs are won, and a tackle by a clear
    lead. A turn without a face-off has only this one.
    """
    value: float
    """Value for the seat that plays the turn, in points, before any reply of the other side."""
    has_face_off: bool = False
    win_chance: float = 1.0
    """Chance to win all face-offs."""
    score: float = 0.0
    """Points by which `Search.find_best_turn` ranks the turn. It sets them."""


@dataclass
class Search:
    """The search for one decision."""

    parameters: KahmateParameters
    seed: int
    quiet_turns: int = 0
    """Number of turns since the last face-off."""
    visits: dict[tuple[object, ...], int] = field(default_factory=dict)
    """Number of times that each position was on the board, by `repetition_key`."""
    nodes: int = 0
    """Number of states evaluated so far."""
    ranked: list[CandidateTurn] = field(default_factory=list)
    """The turns that `find_best_turn` has compared last, best first."""

    def find_best_turn(self, state: State) -> CandidateTurn:
        """Return the turn of the seat on turn with the highest score.

        A turn's score is first its value before any reply, with an adjustment (`_adjustment`). At a
        level with replies, the best turns then get a second score: their value after the other
        side's best reply, with the same adjustment. If the first score of the best turn already
        means a certain try, that turn is returned without a look at replies.
        """
        parameters = self.parameters
        candidates = self.find_turns(
            state,
            parameters.beam_width,
            parameters.max_plays,
            may_non_carriers_face_off=parameters.reply_count > 0,
        )
        for candidate in candidates:
            candidate.score = candidate.value
            if candidate.value < SURE_TRY:
                candidate.score += self._adjustment(state, candidate)
        self.ranked = _ranked(candidates)
        if not parameters.reply_count or self.ranked[0].value >= SURE_TRY:
            return self.ranked[0]
        turns_with_reply: list[CandidateTurn] = []
        for candidate in self.ranked[: parameters.reply_count]:
            if self.nodes > MAX_NODES and turns_with_reply:
                break
            value = self._value_after_reply(candidate)
            candidate.score = value + self._adjustment(state, candidate)
            turns_with_reply.append(candidate)
        self.ranked = _ranked(turns_with_reply)
        return self.ranked[0]

    def loss(self, state: State, plan: ActionPlan | None) -> float | None:
        """Return how much better the best turn is than the best one whose first play has this plan.

        The difference is in points. Replies are not considered. Return None if the search has not
        found such a turn.

        :param plan: None for the end of the turn
        """
        turns = self.find_turns(
            state,
            self.parameters.beam_width,
            self.parameters.max_plays,
            may_non_carriers_face_off=True,
        )
        values = [turn.value for turn in turns if turn.first_play.plan == plan]
        if not values:
            return None
        return max(turn.value for turn in turns) - max(values)

    def _adjustment(self, state: State, candidate: CandidateTurn) -> float:
        """Return the points to add to a turn's value, so that games vary and do not stall.

        They are the level's noise, penalties for repetitions and idle turns, and a bonus for
        face-offs. That bonus and the penalty for idle turns grow with the number of quiet turns.
        """
        after = candidate.ends[0].after
        # a try has no position after it, so its first play identifies it for the noise
        key = repetition_key(after) if after is not None else (str(candidate.first_play.action),)
        points = -_REPEAT_COST * self.visits.get(key, 0)
        if candidate.has_face_off:
            points += _FACE_OFF_BONUS * self.quiet_turns
        elif candidate.first_play == END_TURN and not state.moved_pieces:
            points -= _IDLE_COST + _MORE_IDLE_COST * self.quiet_turns
        if self.parameters.noise:
            points += Random(f"{self.seed} {key}").gauss(0, self.parameters.noise)
        return points

    def _value_after_reply(self, candidate: CandidateTurn) -> float:
        """Return the value of a candidate after the other side's best reply."""
        value = 0.0
        for end in candidate.ends:
            if end.after is None:
                value += end.chance * TRY
                continue
            value_without_try = -self.find_reply(end.after).value
            end_value = end.try_chance * TRY + (1 - end.try_chance) * value_without_try
            value += end.chance * end_value
        return value

    def find_reply(self, state: State) -> CandidateTurn:
        """Return the best turn of the seat on turn, as a reply to the turn before."""
        beam_width = self.parameters.reply_width
        return max(
            self.find_turns(state, beam_width, _REPLY_DEPTH, may_non_carriers_face_off=False),
            key=attrgetter("value"),
        )

    # ---- turns -----------------------------------------------------------------------------------

    def find_turns(
        self, state: State, beam_width: int, max_plays: int, *, may_non_carriers_face_off: bool
    ) -> list[CandidateTurn]:
        """Return the possible turns from this state, found by a beam search.

        After each play, only the partial turns with the highest priority are continued. Each
        partial turn is also a possible turn, because it may end where it is. If a turn is certain
        to score a try, return only that turn.

        :param beam_width: maximum number of partial turns that are continued
        :param max_plays: maximum number of plays in a turn
        :param may_non_carriers_face_off: whether pieces without the ball may also run into an
            opponent, but only in the first play
        """
        self.nodes += 1
        ended = end_turn(state)
        candidates = [CandidateTurn(END_TURN, (TurnEnd(1.0, ended),), -value_of(ended))]
        beam = [PartialTurn(None, state, 0.0)]
        visited = {repetition_key(state)}
        for play_index in range(max_plays):
            partial_turns: list[PartialTurn] = []
            for turn in beam:
                for play in candidate_plays(
                    turn.state,
                    may_non_carriers_face_off=may_non_carriers_face_off and play_index == 0,
                ):
                    first_play = turn.first_play or play
                    plan = play.plan
                    assert plan is not None
                    # the search follows a turn only up to its first face-offs
                    if plan.face_offs:
                        candidates.append(self._face_off_turn(first_play, turn.state, plan))
                        continue
                    # nothing is better than a certain try
                    if plan.ends_in_goal:
                        return [CandidateTurn(first_play, (TurnEnd(1.0, None),), TRY)]
                    # without face-offs this is simply the state after the play
                    after = state_if_won(turn.state, plan)
                    key = repetition_key(after)
                    # other plays have led to the same state
                    if key in visited:
                        continue
                    visited.add(key)
                    # the turn may end here or continue
                    end = _turn_end(1.0, after)
                    value = self._end_value(end)
                    candidates.append(CandidateTurn(first_play, (end,), value))
                    partial_turns.append(
                        PartialTurn(first_play, after, priority=value + _potential(after))
                    )
            partial_turns.sort(key=attrgetter("priority"), reverse=True)
            beam = partial_turns[:beam_width]
        return candidates

    def _end_value(self, end: TurnEnd) -> float:
        """Return the value of an end for the seat that plays the turn, before any reply."""
        if end.after is None:
            return TRY
        self.nodes += 1
        # `value_of` is for the other side, which is on turn in `after`
        return end.try_chance * TRY + (1 - end.try_chance) * -value_of(end.after)

    def _face_off_turn(
        self, first_play: CandidatePlay, before: State, plan: ActionPlan
    ) -> CandidateTurn:
        """Return a turn that ends with the face-offs of a play.

        :param before: state before the play
        """
        won_ends, lost_ends = _ends_of(before, plan)
        ends = (*won_ends, *lost_ends)
        value = sum(end.chance * self._end_value(end) for end in ends)
        win_chance = sum(end.chance for end in won_ends)
        return CandidateTurn(first_play, ends, value, has_face_off=True, win_chance=win_chance)


def _ends_of(before: State, plan: ActionPlan) -> tuple[list[TurnEnd], list[TurnEnd]]:
    """Return the possible ends of a play with face-offs: the won ones, then the lost ones.

    In a won end, all face-offs of the play are won. The first won end is the best one. In a lost
    end, one face-off is lost, and the play stops there.

    :param before: state before the play
    """
    if plan.kind is ActionKind.TACKLE:
        # A tackle has one face-off and ends the turn. So the states after it are already those at
        # the start of the other side's turn, and need no `_turn_end`.
        face_off = plan.face_offs[0]
        clear_win, narrow_win, loss = chances_of(before, plan.movers, face_off.defender)
        won_ends = [
            # a lead above `CLEAR_LEAD` also wins the ball
            TurnEnd(clear_win, state_if_won(before, plan, CLEAR_LEAD + 1)),
            TurnEnd(narrow_win, state_if_won(before, plan)),
        ]
        return won_ends, [TurnEnd(loss, state_if_lost(before, plan, face_off))]
    lost_ends = []
    # chance that all face-offs so far are won
    chance = 1.0
    for face_off in plan.face_offs:
        clear_win, narrow_win, loss = chances_of(before, plan.movers, face_off.defender)
        lost_ends.append(_turn_end(chance * loss, state_if_lost(before, plan, face_off)))
        chance *= clear_win + narrow_win
    if plan.ends_in_goal:
        return [TurnEnd(chance, None)], lost_ends
    return [_turn_end(chance, state_if_won(before, plan))], lost_ends


def _turn_end(chance: float, last_state: State) -> TurnEnd:
    """Return the end of a turn whose plays have led to this state, without a try so far.

    :param last_state: state after the last play, in which the turn could still go on
    """
    return TurnEnd(chance, end_turn(last_state), try_chance(last_state))


def _ranked(candidates: list[CandidateTurn]) -> list[CandidateTurn]:
    """Return the candidates by their scores, best first. Equal ones keep their order."""
    return sorted(candidates, key=attrgetter("score"), reverse=True)


def _potential(state: State) -> float:
    """Return the potential of a partial turn in points: what its next plays may still gain.

    :param state: state that the turn has reached
    """
    # at most two pieces run in a turn
    if len(state.moved_pieces) >= 2:
        return 0.0
    carrier = state.carrier
    if carrier == NO_PIECE:
        return _LOOSE_BALL_POTENTIAL
    if SEAT_OF[carrier] == state.seat and carrier not in state.moved_pieces:
        return _STEP_POTENTIAL * SPEED[carrier]
    return 0.0
