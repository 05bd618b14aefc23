"""Search for the best play of Kahmate: a beam search of own turns, then the other side's reply."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from random import Random

from companion.bots.kahmate.evaluation import (
    TRY,
    chance_of,
    try_chance,
    value_of,
)
from companion.bots.kahmate.moves import (
    END_TURN,
    Play,
    end_turn,
    key_of,
    plays,
    state_if_lost,
    state_if_won,
)
from companion.games.kahmate.board import CLEAR_LEAD, IN_GOAL, SEAT_OF, SPEED
from companion.games.kahmate.state import EMPTY, Course, Kind, State

_FREE_BALL = 25.0
_SPEED_LEFT = 8.0
"""Potential of an unfinished turn: of a loose ball, and of each step that a carrier may still run.
"""
_REPEAT_COST = 12.0
"""Penalty for each time that the position after the turn has been on the board before."""
_DARE_BONUS = 1.5
"""Bonus of a face-off for every quiet turn."""
_IDLE_COST, _MORE_IDLE_COST = 4.0, 2.0
"""Penalty of a turn without any play, and how much it grows for every quiet turn."""


@dataclass(frozen=True, slots=True)
class Strength:
    """Search parameters of a level.

    The beam has `width` states in `depth` layers of own plays. The best `replies` turns are
    answered with a search of `reply_width`. `noise` is in points.
    """

    width: int
    depth: int
    replies: int
    reply_width: int
    noise: float


STRENGTHS = {
    1: Strength(
        width=2,
        depth=1,
        replies=0,
        reply_width=0,
        noise=100.0,
    ),
    2: Strength(
        width=4,
        depth=2,
        replies=0,
        reply_width=0,
        noise=60.0,
    ),
    3: Strength(
        width=7,
        depth=3,
        replies=14,
        reply_width=2,
        noise=0.0,
    ),
}
MAX_NODES = 8_000
_REPLY_DEPTH = 2
"""Number of plays in the other side’s answer."""
_value_of = attrgetter("value")


@dataclass(frozen=True, slots=True)
class End:
    """A possible end of a turn: its chance, the state after it, and a try's chance."""

    chance: float
    after: State | None
    scores: float = 0.0


@dataclass(slots=True)
class Candidate:
    """A possible turn: its first play, its ends and its value.

    `dares` says whether it has a face-off, and `odds` is the chance to win all of them.
    """

    first: Play
    ends: tuple[End, ...]
    value: float
    dares: bool = False
    odds: float = 1.0


@dataclass
class Search:
    """The search for one decision.

    `quiet_turns` is the number of turns since the last face-off, and `visits` how often each
    position was on the board. `nodes` counts the states that were evaluated.
    """

    strength: Strength
    seed: int
    quiet_turns: int = 0
    visits: dict[tuple[object, ...], int] = field(default_factory=dict)
    nodes: int = 0
    ranked: list[Candidate] = field(default_factory=list)
    """The turns of the last comparison, best first."""

    def best(self, state: State) -> Candidate:
        """Return the best turn of the seat on turn."""
        strength = self.strength
        candidates = self.turns(
            state, strength.width, strength.depth, all_meetings=strength.replies > 0
        )
        for candidate in candidates:
            if candidate.value < TRY - 1:
                candidate.value += self._mood(state, candidate)
        candidates = _ranked(candidates)
        self.ranked = candidates
        if not strength.replies or candidates[0].value >= TRY - 1:
            return candidates[0]
        answered: list[Candidate] = []
        for candidate in candidates[: strength.replies]:
            if self.nodes > MAX_NODES and answered:
                break
            candidate.value = self._value_after_reply(candidate) + self._mood(state, candidate)
            answered.append(candidate)
        self.ranked = _ranked(answered)
        return self.ranked[0]

    def loss(self, state: State, course: Course | None) -> float | None:
        """Return how much better the best turn is than the best one with this course, before any
        reply.

        Return None if the search has no such turn.
        """
        turns = self.turns(state, self.strength.width, self.strength.depth, all_meetings=True)
        tried = [line.value for line in turns if line.first[1] == course]
        if not tried:
            return None
        return max(line.value for line in turns) - max(tried)

    def _mood(self, state: State, candidate: Candidate) -> float:
        """Return the level's noise plus penalties for repetitions and idle turns.

        Daring face-offs get a bonus. It grows with the number of quiet turns, and so does the
        penalty for idle turns.
        """
        after = candidate.ends[0].after
        key = key_of(after) if after is not None else (str(candidate.first[0]),)
        points = -_REPEAT_COST * self.visits.get(key, 0)
        if candidate.dares:
            points += _DARE_BONUS * self.quiet_turns
        elif candidate.first == END_TURN and not state.ran:
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
            rest = -self.answer(end.after).value
            value += end.chance * (end.scores * TRY + (1 - end.scores) * rest)
        return value

    def answer(self, state: State) -> Candidate:
        """Return the other side's best turn."""
        turns = self.turns(
            state,
            self.strength.reply_width,
            _REPLY_DEPTH,
            all_meetings=False,
        )
        return max(turns, key=_value_of)

    # ---- turns -----------------------------------------------------------------------------------

    def turns(self, state: State, width: int, depth: int, *, all_meetings: bool) -> list[Candidate]:
        """Return the possible turns from this state, with the promising ones continued.

        If a try is certain, return only that turn.
        """
        self.nodes += 1
        ended = end_turn(state)
        candidates = [Candidate(END_TURN, (End(1.0, ended),), -value_of(ended))]
        layer: list[tuple[Play | None, State]] = [(None, state)]
        visited = {key_of(state)}
        for number in range(depth):
            further: list[tuple[float, Play, State]] = []
            for begun, at in layer:
                for play in plays(at, all_meetings=all_meetings and number == 0):
                    first = begun or play
                    _, course = play
                    if course.face_offs:
                        candidates.append(self._gamble(first, at, course))
                        continue
                    # nothing is better than a certain try
                    if course.kind is Kind.RUN and course.end == IN_GOAL:
                        return [Candidate(first, (End(1.0, None),), TRY)]
                    after = state_if_won(at, course)
                    key = key_of(after)
                    if key in visited:
                        continue
                    visited.add(key)
                    # the turn may end here or continue
                    end = _turn_end(1.0, after)
                    value = self._value(end)
                    candidates.append(Candidate(first, (end,), value))
                    further.append((value + _potential(after), first, after))
            # beam search: continue only the most promising states
            further.sort(key=lambda line: -line[0])
            layer = [(first, after) for _, first, after in further[:width]]
        return candidates

    def _value(self, end: End) -> float:
        if end.after is None:
            return TRY
        self.nodes += 1
        return end.scores * TRY + (1 - end.scores) * -value_of(end.after)

    def _gamble(self, first: Play, at: State, course: Course) -> Candidate:
        """Return a turn that ends with face-offs."""
        ends = outcomes(at, course)
        value = sum(end.chance * self._value(end) for end in ends)
        odds = 1 - ends[-1].chance if course.kind is Kind.TACKLE else ends[0].chance
        return Candidate(
            first,
            ends,
            value,
            dares=True,
            odds=odds,
        )


def outcomes(at: State, course: Course) -> tuple[End, ...]:
    """Return the possible ends of a course with face-offs. The first one is that all are won."""
    if course.kind is Kind.TACKLE:
        face_off = course.face_offs[0]
        by_much, by_little, loses = chance_of(at, course.movers, face_off.defender)
        return (
            End(by_much, state_if_won(at, course, CLEAR_LEAD + 1)),
            End(by_little, state_if_won(at, course)),
            End(loses, state_if_lost(at, course, face_off)),
        )
    ends = []
    remaining = 1.0
    for face_off in course.face_offs:
        by_much, by_little, loses = chance_of(at, course.movers, face_off.defender)
        ends.append(_turn_end(remaining * loses, state_if_lost(at, course, face_off)))
        remaining *= by_much + by_little
    if course.kind is Kind.RUN and course.end == IN_GOAL:
        return (End(remaining, None), *ends)
    return (_turn_end(remaining, state_if_won(at, course)), *ends)


def _turn_end(chance: float, at: State) -> End:
    """Return the end of a turn in this state."""
    return End(chance, end_turn(at), try_chance(at))


def _ranked(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates, best first. The sort is stable."""
    return sorted(candidates, key=_value_of, reverse=True)


def _potential(state: State) -> float:
    """Return the potential of an unfinished turn, such as a carrier that can still run."""
    if len(state.ran) >= 2:
        return 0.0
    carrier = state.carrier
    if carrier == EMPTY:
        return _FREE_BALL
    if SEAT_OF[carrier] == state.seat and carrier not in state.ran:
        return _SPEED_LEFT * SPEED[carrier]
    return 0.0
