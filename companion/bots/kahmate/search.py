"""Which play of Kahmate is best: whole own rounds by a beam search, the best of them against the
other side's reply.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random

from companion.bots.kahmate.moves import (
    EMPTY,
    END,
    END_ROUND,
    FORWARD,
    RANK,
    RUN,
    TACKLE,
    Play,
    Position,
    lost,
    plays,
    won,
)
from companion.bots.kahmate.worth import TRY, chance_of, quiet_worth, try_chance, worth
from companion.games.kahmate.board import CLEAR_LEAD, IN_GOAL, SEAT_OF, SPEED

_FREE_BALL = 25.0
_SPEED_LEFT = 8.0
_RESTLESS = 0.8
"""What a rank that the ball gains is worth more with every quiet round: who holds it and waits
becomes impatient."""


@dataclass(frozen=True, slots=True)
class Strength:
    """How a level searches.

    `width` of `depth` layers of own plays are followed. `replies` rounds are held against an answer
    of `reply_width`. `noise` is in points. Every third threat is overlooked when `overlooks`.
    """

    width: int
    depth: int
    replies: int
    reply_width: int
    noise: float
    overlooks: bool


STRENGTHS = {
    1: Strength(width=2, depth=1, replies=0, reply_width=0, noise=60.0, overlooks=True),
    2: Strength(width=4, depth=2, replies=0, reply_width=0, noise=60.0, overlooks=False),
    3: Strength(width=7, depth=3, replies=14, reply_width=2, noise=0.0, overlooks=False),
}
MAX_NODES = 8_000
_MAX_TRIED = 3
"""Maximum number of rounds answered for a play that is judged."""
_OVERLOOKED = 0.34
"""Share of tries that a level that overlooks does not see coming."""
_SQUARE = re.compile(r"[a-h](?:1[01]|[1-9])")


@dataclass(frozen=True, slots=True)
class End:
    """One way in which a round may end: how likely, the position after it, and the chance of a try
    before that.
    """

    chance: float
    after: Position | None
    scores: float = 0.0


@dataclass(slots=True)
class Candidate:
    """A round to come: its first play, whether it dares a face-off, how it may end, what that is
    worth, and how likely every face-off is won.
    """

    first: Play
    ends: tuple[End, ...]
    value: float
    dares: bool = False
    odds: float = 1.0


@dataclass
class Search:
    """One decision. `nodes` are the positions looked at."""

    strength: Strength
    seed: int
    quiet: int = 0
    met: dict[tuple[object, ...], int] = field(default_factory=dict)
    nodes: int = 0
    ranked: list[Candidate] = field(default_factory=list)
    """The rounds that were compared at last, the best first."""

    def best(self, position: Position) -> Candidate:
        """Return the best round of the seat on turn."""
        strength = self.strength
        candidates = self.rounds(
            position, strength.width, strength.depth, all_meetings=strength.replies > 0
        )
        for candidate in candidates:
            if candidate.value < TRY - 1:
                candidate.value += self._mood(position, candidate)
        candidates = _ranked(candidates)
        self.ranked = candidates
        if not strength.replies or candidates[0].value >= TRY - 1:
            return candidates[0]
        looked_at: list[Candidate] = []
        for candidate in candidates[: strength.replies]:
            if self.nodes > MAX_NODES and looked_at:
                break
            candidate.value = self._answered(candidate) + self._mood(position, candidate)
            looked_at.append(candidate)
        self.ranked = _ranked(looked_at)
        return self.ranked[0]

    def judged(self, position: Position, text: str) -> tuple[Candidate, float | None]:
        """Return the best round, and what the best one is worth that begins with the play of this
        notation (None: unknown)."""
        strength = self.strength
        candidates = _ranked(
            self.rounds(position, strength.width, strength.depth, all_meetings=True)
        )
        best = candidates[: max(1, strength.replies)]
        ends = _ends_of(text)
        tried = [line for line in candidates if _ends_of(str(line.first)) == ends][:_MAX_TRIED]
        if candidates[0].value < TRY - 1:
            # a line may be among the best and tried, and is answered once
            lines = {id(line): line for line in (*candidates[: strength.replies], *tried)}
            for line in lines.values():
                line.value = self._answered(line)
        self.ranked = _ranked(best)
        value = max((candidate.value for candidate in tried), default=None)
        return _ranked([*self.ranked, *tried])[0], value

    def _mood(self, position: Position, candidate: Candidate) -> float:
        """Return noise of the level, and restlessness: what was there before, and doing nothing,
        grow dull."""
        after = candidate.ends[0].after
        key = after.key() if after is not None else (str(candidate.first),)
        points = -12.0 * self.met.get(key, 0)
        if after is not None:
            points += _RESTLESS * min(self.quiet, 40) * _gained(position, after)
        if candidate.dares:
            points += 1.5 * self.quiet
        elif candidate.first.kind == END and not position.ran:
            points -= 4.0 + 2.0 * self.quiet
        if self.strength.noise:
            points += Random(f"{self.seed} {key}").gauss(0, self.strength.noise)
        return points

    def _answered(self, candidate: Candidate) -> float:
        """Return what a candidate is worth after the other side's best reply."""
        value = 0.0
        for end in candidate.ends:
            if end.after is None:
                value += end.chance * TRY
                continue
            rest = -self.answer(end.after).value
            value += end.chance * (end.scores * TRY + (1 - end.scores) * rest)
        return value

    def answer(self, position: Position) -> Candidate:
        """Return the other side's best round."""
        rounds = self.rounds(position, self.strength.reply_width, 2, all_meetings=False)
        return max(rounds, key=_value_of)

    # ---- rounds ----------------------------------------------------------------------------------

    def rounds(
        self, position: Position, width: int, depth: int, *, all_meetings: bool
    ) -> list[Candidate]:
        """Return rounds from here, the promising ones played on.

        Of a sure try nothing else is answered.
        """
        ended = won(position, END_ROUND)
        self.nodes += 1
        candidates = [Candidate(END_ROUND, (End(1.0, ended),), -self._worth(ended))]
        layer: list[tuple[Play | None, Position]] = [(None, position)]
        visited = {position.key()}
        for number in range(depth):
            further: list[tuple[float, Play, Position]] = []
            for begun, at in layer:
                for play in plays(at, all_meetings=all_meetings and number == 0):
                    first = begun or play
                    if play.meetings:
                        candidates.append(self._gamble(first, at, play))
                        continue
                    # nothing beats a sure try
                    if play.kind == RUN and play.end == IN_GOAL:
                        return [Candidate(first, (End(1.0, None),), TRY)]
                    after = won(at, play)
                    key = after.key()
                    if key in visited:
                        continue
                    visited.add(key)
                    # the round may end here, or be played on
                    end = self._end(1.0, after)
                    value = self._value(end)
                    candidates.append(Candidate(first, (end,), value))
                    further.append((value + _hope(after), first, after))
            # beam search: only the most promising positions are played on
            further.sort(key=lambda line: -line[0])
            layer = [(first, after) for _, first, after in further[:width]]
        return candidates

    def _end(self, chance: float, at: Position) -> End:
        """End the round in a position within it."""
        return End(chance, won(at, END_ROUND), try_chance(at))

    def _value(self, end: End) -> float:
        if end.after is None:
            return TRY
        self.nodes += 1
        return end.scores * TRY + (1 - end.scores) * -self._worth(end.after)

    def _worth(self, position: Position) -> float:
        """Return what a position is worth to the seat on turn.

        A level that overlooks does not see every third try coming.
        """
        if self.strength.overlooks:
            rng = Random(f"{self.seed} {position.places} {position.ball}")
            if rng.random() < _OVERLOOKED:
                return quiet_worth(position)
        return worth(position)

    def _gamble(self, first: Play, at: Position, play: Play) -> Candidate:
        """Return a play with face-offs."""
        ends = tuple(self._outcomes(at, play))
        value = sum(end.chance * self._value(end) for end in ends)
        odds = 1 - ends[-1].chance if play.kind == TACKLE else ends[0].chance
        return Candidate(first, ends, value, dares=True, odds=odds)

    def _outcomes(self, at: Position, play: Play) -> list[End]:
        if play.kind == TACKLE:
            by_much, by_little, loses = chance_of(at, play.movers, play.meetings[0].defender)
            return [
                End(by_much, won(at, play, CLEAR_LEAD + 1)),
                End(by_little, won(at, play, 1)),
                End(loses, lost(at, play)),
            ]
        ends = []
        remaining = 1.0
        for number, meeting in enumerate(play.meetings):
            by_much, by_little, loses = chance_of(at, play.movers, meeting.defender)
            ends.append(self._end(remaining * loses, lost(at, play, number)))
            remaining *= by_much + by_little
        if play.kind == RUN and play.end == IN_GOAL:
            return [End(remaining, None), *ends]
        return [self._end(remaining, won(at, play)), *ends]


def _value_of(candidate: Candidate) -> float:
    return candidate.value


def _ranked(candidates: list[Candidate]) -> list[Candidate]:
    """Return the best first. Of equal ones the earlier is the better."""
    return sorted(candidates, key=_value_of, reverse=True)


def _ends_of(text: str) -> tuple[str, ...]:
    """Return what tells plays apart whatever way they take: the kind, where they begin, and where
    they end."""
    squares = _SQUARE.findall(text)
    kind = next((mark for mark in "x*!" if mark in text), "goal" if "goal" in text else "")
    return (kind, *squares[:1], *squares[-1:])


def _gained(position: Position, after: Position) -> int:
    """Return how many ranks a round brings the ball ahead that the own side has after it."""
    piece = EMPTY if after.ball == IN_GOAL else after.board[after.ball]
    if piece == EMPTY or SEAT_OF[piece] != position.seat or position.ball == IN_GOAL:
        return 0
    return (RANK[after.ball] - RANK[position.ball]) * FORWARD[position.seat]


def _hope(position: Position) -> float:
    """Return how much more a round may bring that is not over yet: the carrier can still run, or
    somebody fetches the ball."""
    if len(position.ran) >= 2:
        return 0.0
    carrier = position.carrier
    if carrier == EMPTY:
        return _FREE_BALL
    if SEAT_OF[carrier] == position.seat and carrier not in position.ran:
        return _SPEED_LEFT * SPEED[carrier]
    return 0.0


def values_of(position: Position, play: Play) -> tuple[float, float, float]:
    """Return what a face-off is about, seen by the seat on turn: won by more than 2, won by less,
    lost."""
    if play.kind == TACKLE:
        ends = won(position, play, CLEAR_LEAD + 1), won(position, play, 1), lost(position, play)
        by_much, by_little, loses = (-worth(end) for end in ends)
        return by_much, by_little, loses
    search = Search(STRENGTHS[2], 0)
    is_try = play.kind == RUN and play.end == IN_GOAL
    gained = TRY if is_try else search._value(search._end(1.0, won(position, play)))
    return gained, gained, search._value(search._end(1.0, lost(position, play)))
