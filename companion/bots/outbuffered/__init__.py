"""The opponent for Outbuffered: each turn is a matrix game of 216 by 216 buffers, valued by the
positions after it.

Level 3 looks that worth up in a table that `tests/bench/bots/solve.py` has worked out, plays close
to the equilibrium and leans from it, by a bounded amount, towards what beats the player it sees (a
restricted Nash response: Johanson, Zinkevich and Bowling, 2007). Level 2 answers what a beginner
would do. Level 1 is that beginner. Both err by a noise on their judgement that is fixed for a game.
On boards without a table worth is judged by who is nearer to bringing a flag home.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from companion.bots.base import Bot, Choice, Verdict, expected_reply, reasons_of, second_best
from companion.bots.outbuffered.other_player import Expected, OtherPlayer
from companion.bots.outbuffered.turns import (
    BUFFERS,
    CARRIED,
    VALUE_OF,
    Position,
    Turns,
    buffer_number,
    buffer_text,
)
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Seat
from companion.games.outbuffered import Outbuffered
from companion.games.outbuffered.board import NORTH, STANDARD_MAP
from companion.games.outbuffered.turn import OutbufferedOptions

TABLE = Path(__file__).parents[1] / "outbuffered.npz"
SCALE = 30_000
"""What a won position would be in the table, which holds whole numbers."""
DISCOUNT = 0.98
"""What a turn takes away from the worth of a position, so that a win now is better than one
later."""
_NOISE = {1: 2.4, 2: 0.10, 3: 0.0}
_ROUNDS = 240
"""Rounds of regret matching for one matrix."""
_TRUST = (0.95, 0.7, 0.4)
"""How far the guess of the other’s buffer may be trusted.

Each is mixed with the equilibrium until it costs little.
"""
Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]

_GAME = Outbuffered()
_WINS = say("This wins whatever the other side does.")
_BALANCED = say("Orders that vary leave the other side no good answer.")
_READS = say("This is based on how the other side tends to play.")
_BEST = say("This looks best against what most people do here.")


class OutbufferedBot(Bot):
    """One player of Outbuffered. See `Bot`."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self.rng = Random(f"{seed} {seat}")  # two with one seed do not draw alike
        self._options = OutbufferedOptions(**options)
        self._turns = Turns(self._options.board, self._options.own_flag_blocks_base)
        self._me = SEATS.index(seat)
        self._is_turned = self._me == NORTH and self._options.directions == "seat"
        self._seed = seed
        self._visits: Counter[Position] = Counter()
        self._judge = _judge_of(self._turns, self._options)
        self._plain = Judge(self._turns, None)
        self._other = OtherPlayer()

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Learn what kind of player could have led to this position."""
        if not view.get("outcome"):
            self._other.ended_in(self._turns.position(view))

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return a buffer."""
        position = self._turns.position(view)
        self._other.ended_in(position)
        self._visits[position] += 1
        game = self._game(position, view)
        if (sure := game.sure_win()) is not None:
            return Choice(self._text(game.rows[sure]), BUFFERS, (_WINS,))
        if self.level == 3:
            return self._equilibrium(position, game)
        return self._guess(position, game)

    def judge(self, view: Mapping[str, Any], action: str) -> Verdict:
        """Compare what each buffer gets against the equilibrium."""
        game = self._game(self._turns.position(view), view)
        _, theirs, _ = balance(game.payoff, None, 0.0)
        gains = game.payoff @ theirs
        sure = game.sure_win()
        best = int(np.argmax(gains)) if sure is None else sure
        row = game.row_of(buffer_number(action, self._is_turned))
        loss = float(gains[best] - gains[row]) / 2
        why = self._lines(game, best, theirs, _BALANCED) if sure is None else (_WINS,)
        choice = Choice(self._text(game.rows[best]), BUFFERS * BUFFERS, why)
        return Verdict(choice, max(0.0, loss))

    def _text(self, buffer: int) -> str:
        return buffer_text(buffer, self._is_turned)

    def _lines(self, game: TurnGame, row: int, answer: Vector, reason: str) -> tuple[str, ...]:
        """Return why this row: the likeliest answer, and what else was thought of."""
        column = int(np.argmax(answer))
        gains = game.payoff @ answer
        is_turned = self._me != NORTH and self._options.directions == "seat"
        likeliest = buffer_text(game.columns[column], is_turned)
        reply = expected_reply([_buffer_words(likeliest)], float(answer[column]))
        if len(gains) == 1:
            return reasons_of(reason, reply)
        others = np.array(gains)
        others[row] = -np.inf
        second = int(np.argmax(others))
        words = _buffer_words(self._text(game.rows[second]))
        less = second_best([words], float(gains[row] - others[second]) / 2)
        return reasons_of(reason, reply, less)

    def _game(self, position: Position, view: Mapping[str, Any]) -> TurnGame:
        ends, table = self._turns.turn(position)
        worth = self._worth(ends, view)
        if self._me == NORTH:
            return TurnGame(ends, np.ascontiguousarray(table.T), -worth)
        return TurnGame(ends, table, worth)

    def _worth(self, ends: Sequence[tuple[Position, bool]], view: Mapping[str, Any]) -> Vector:
        """Return what each end of the turn is worth to South.

        Less near a limit at which the game is a draw.
        """
        options = self._options
        turns_left = options.turn_limit - int(view["turn"]) if options.turn_limit else math.inf
        quiet = options.quiet_limit - int(view["quiet"]) - 1 if options.quiet_limit else math.inf
        values = []
        for position, stirs in ends:
            value = VALUE_OF.get(position)
            if value is None:
                value = DISCOUNT * self._judge.worth(position)
                quiet_left = (options.quiet_limit or math.inf) if stirs else quiet
                # near a limit a position is worth less, for the game may end as a draw
                value *= 1 - 0.75 ** min(turns_left, quiet_left)
            values.append(value)
        return np.array(values, np.float32)

    # ---- level 3 ---------------------------------------------------------------------------------

    def _equilibrium(self, position: Position, game: TurnGame) -> Choice:
        """Return a buffer drawn from the mixed strategy, and what is to be learned from the turn's
        end."""
        plan = self._leaning(position, game)
        row = self.rng.choices(range(len(plan.mix)), _without_rare(plan.mix).tolist())[0]
        given = game.payoff.T @ plan.mix - np.float32(plan.worth)
        self._other.expect(Expected(position, game, row, plan.kinds, given))
        why = self._lines(game, row, plan.answer, plan.reason)
        return Choice(self._text(game.rows[row]), BUFFERS * BUFFERS, why)

    def _leaning(self, position: Position, game: TurnGame) -> Plan:
        """Close to the equilibrium, leaning towards what beats the player who is seen."""
        mine, theirs, worth = balance(game.payoff, None, 0.0)
        kinds = [
            *_kinds_of_player(game, theirs),
            *self._plain_kinds(game),
            self._other.habit(position, game),
        ]
        guess = self._other.guess(kinds)
        best = mine
        reason = _BALANCED
        answer = theirs
        hoped = float(mine @ game.payoff @ guess)
        may_lose = self._other.may_lose()
        # lean as far towards the guess as the risk allows
        for trust in _TRUST:
            leaning, _, safe = balance(game.payoff, guess, trust)
            # mix with the equilibrium so that no more than `may_lose` is at risk
            share = np.float32(min(1.0, may_lose / max(1e-6, worth - safe)))
            mixed = share * leaning + (1 - share) * mine
            hope = float(mixed @ game.payoff @ guess)
            if hope > hoped:
                best = mixed
                reason = _READS
                answer = guess
                hoped = hope
        return Plan(best, worth, kinds, reason, answer)

    def _plain_kinds(self, game: TurnGame) -> list[Vector]:
        """Return what players do who judge by distances alone."""
        by_distance = self._payoff_to_other(game, self._plain.worth, 1.0)
        mean = by_distance.mean(axis=0)
        least = by_distance.min(axis=0)
        # who runs for the flag and counts steps alone
        by_steps = self._payoff_to_other(game, self._plain.grabbed, 5.0)
        grabbing = by_steps.mean(axis=0)
        return [
            _soft(by_distance[0], 0.01),
            _soft(mean, 0.01),
            _soft(mean, 0.06),
            _soft(least + 0.1 * mean, 0.01),
            _soft(grabbing, 0.02),
            _soft(grabbing, 0.1),
            _soft(by_steps[0], 0.05),
        ]

    def _payoff_to_other(
        self, game: TurnGame, judge: Callable[[Position], float], won: float
    ) -> Matrix:
        """Return what each pair of buffers is worth to the other side, by a judgement of positions.

        `won` is what a won game counts.
        """
        worth = [won * VALUE_OF[end] if end in VALUE_OF else judge(end) for end, _ in game.ends]
        sign = -1 if self._me == 0 else 1
        payoff: Matrix = (sign * np.array(worth, np.float32))[game.table]
        return payoff

    # ---- levels 1 and 2 --------------------------------------------------------------------------

    def _guess(self, position: Position, game: TurnGame) -> Choice:
        """Return the best answer to what the other side is thought to do, judged with the game's
        own noise."""
        visits = self._visits[position]
        noise = _noise(self._seed, position, visits, len(game.ends), _NOISE[self.level])
        game = game.with_noise(noise)
        mean = game.payoff.mean(axis=1)
        anything = np.full(len(game.columns), 1 / len(game.columns), np.float32)
        if self.level == 1:
            value = 0.5 * game.answers_to_idling() + 0.5 * mean
            answer = 0.5 * anything
            answer[0] += 0.5  # idling: see `_IDLE_FIRST`
            nodes = BUFFERS
        else:
            beginner = _soft(-game.payoff.mean(axis=0), 0.06)
            value = 0.75 * (game.payoff @ beginner) + 0.25 * mean
            answer = 0.75 * beginner + 0.25 * anything
            nodes = BUFFERS * BUFFERS
        row = int(np.argmax(value))
        return Choice(self._text(game.rows[row]), nodes, self._lines(game, row, answer, _BEST))


def _buffer_words(buffer: str) -> str:
    return joined(", ", _GAME.commands(buffer))


class TurnGame:
    """A turn as a matrix game seen by its own side.

    Buffers that lead to the same whatever the other does are one.

    :param table: which end each pair of buffers leads to, own buffers by rows
    :param worth: what each end is worth to the own side
    """

    def __init__(
        self, ends: Sequence[tuple[Position, bool]], table: NDArray[np.int32], worth: Vector
    ) -> None:
        self.ends = ends
        self.worth = worth
        self._whole = table
        self.rows = _distinct(table)
        self.columns = _distinct(np.ascontiguousarray(table.T))
        self.table = np.ascontiguousarray(table[np.ix_(self.rows, self.columns)])

    @cached_property
    def payoff(self) -> Matrix:
        """Return what each pair of buffers is worth to the own side."""
        return self.worth[self.table]

    def sure_win(self) -> int | None:
        """Return a row that wins whatever the other side does."""
        sure = np.flatnonzero(self.payoff.min(axis=1) >= 1.0)
        return int(sure[0]) if len(sure) else None

    def row_of(self, buffer: int) -> int:
        """Return the row of a buffer, or of the one that means the same."""
        same = (self._whole[self.rows] == self._whole[buffer]).all(axis=1)
        return int(np.argmax(same))

    def answers_to_idling(self) -> Vector:
        """Return what each row is worth when the other side does nothing."""
        return self.worth[self._whole[self.rows, _IDLE_FIRST[0]]]

    def with_noise(self, noise: Vector) -> TurnGame:
        """Return the same turn judged wrongly. Ends of the game are judged right."""
        is_over = np.array([position in VALUE_OF for position, _ in self.ends])
        wrong = np.clip(self.worth + noise, -0.99, 0.99)
        worth = np.where(is_over, self.worth, wrong).astype(np.float32)
        return TurnGame(self.ends, self._whole, worth)


_IDLE_FIRST = sorted(range(BUFFERS), key=lambda buffer: -buffer_text(buffer, False).count("I"))
"""All buffers, those with the most idling first: of several that mean the same the quietest is
taken."""


def _distinct(table: NDArray[np.int32]) -> list[int]:
    """Return the rows that differ, one of each kind."""
    first_rows: dict[bytes, int] = {}
    for row in _IDLE_FIRST:
        first_rows.setdefault(table[row].tobytes(), row)
    return list(first_rows.values())


def balance(payoff: Matrix, guess: Vector | None, trust: float) -> tuple[Vector, Vector, float]:
    """Return both sides' mixed strategies by regret matching+, and what the row player is sure of.

    The column player plays `guess` with the probability `trust` and is free otherwise. Averages are
    weighted by round (Tammelin, 2014).
    """
    rows, columns = payoff.shape
    across = np.ascontiguousarray(payoff.T)
    regret = np.zeros(rows, np.float32)
    regrets = np.zeros(columns, np.float32)
    sums = np.zeros(rows, np.float32)
    other_sums = np.zeros(columns, np.float32)
    mine = np.full(rows, 1 / rows, np.float32)
    theirs = np.full(columns, 1 / columns, np.float32)
    fixed = payoff @ guess * np.float32(trust) if guess is not None else np.zeros(rows, np.float32)
    free = np.float32(1 - trust)
    for number in range(1, _ROUNDS + 1):
        gain = fixed + free * (payoff @ theirs)
        # regret matching+: each side answers the other's mix of this round
        mine = _matched(regret, gain - mine @ gain)
        loss = across @ mine
        theirs = _matched(regrets, theirs @ loss - loss)
        sums += number * mine
        other_sums += number * theirs
    mine = sums / sums.sum()
    theirs = other_sums / other_sums.sum()
    return mine, theirs, float((across @ mine).min())


def _matched(regret: Vector, more: Vector) -> Vector:
    """Add to the regrets, in place, none below zero. Play in proportion to them."""
    np.maximum(regret + more, 0, out=regret)
    total = regret.sum()
    shares = np.full_like(regret, 1 / len(regret))
    if total > 1e-9:
        shares = regret / total
    return shares


def _without_rare(mix: Vector) -> Vector:
    """Return a mixed strategy without what is hardly ever played, which is noise of the
    approximation."""
    return np.where(mix < 0.003, 0, mix).astype(np.float32)


def _soft(value: Vector, temperature: float) -> Vector:
    """Return a choice that is the likelier the better.

    `temperature` is how little a difference matters.
    """
    weights = np.exp((value - value.max()) / temperature)
    return np.asarray(weights / weights.sum(), np.float32)


def _kinds_of_player(game: TurnGame, balanced: Vector) -> list[Vector]:
    """Return what players of several kinds would play as the other side, over the distinct
    columns.
    """
    payoff = -game.payoff
    columns = payoff.shape[1]
    idle = payoff[0]  # the first row is idling: see `_IDLE_FIRST`
    naive = payoff.mean(axis=0)
    beginner = _soft(-payoff.mean(axis=1), 0.05)
    expects_beginner = payoff.T @ beginner
    careful = payoff.min(axis=0)
    return [
        np.full(columns, 1 / columns, np.float32),
        balanced,
        _soft(naive, 0.01),
        _soft(naive, 0.05),
        _soft(idle, 0.02),
        _soft(expects_beginner, 0.01),
        _soft(0.75 * expects_beginner + 0.25 * naive, 0.05),
        _soft(careful, 0.02),
        _soft(payoff.max(axis=0), 0.05),
    ]


@dataclass(frozen=True)
class Plan:
    """A mixed strategy, what the equilibrium is sure of, the kinds of player that were thought of,
    the reason, and what the other side is thought to play.
    """

    mix: Vector
    worth: float
    kinds: list[Vector]
    reason: str
    answer: Vector


# ---- what a position is worth --------------------------------------------------------------------


class Judge:
    """What positions are worth to South, by a table or, without one, by who is nearer to bringing a
    flag home.
    """

    def __init__(self, turns: Turns, table: NDArray[np.int16] | None) -> None:
        self._turns = turns
        self._table = table

    def worth(self, position: Position) -> float:
        """Return the worth from -1, lost, to 1, won."""
        if self._table is not None:
            south, north, south_flag, north_flag = position
            # `CARRIED` is the first index of a flag
            return int(self._table[south, north, south_flag + 1, north_flag + 1]) / SCALE
        # without a table: who is fewer steps from bringing a flag home
        ahead = self._steps_home(position, 1) - self._steps_home(position, 0)
        return 0.9 * math.tanh(0.22 * ahead)

    def _steps_home(self, position: Position, seat: int) -> float:
        """Return how many steps a seat needs to bring the flag home when nobody hinders it."""
        robot = position[seat]
        flag = position[3 - seat]
        base = self._turns.bases[seat]
        if flag == CARRIED:
            steps = float(self._distances[robot][base])
        else:
            steps = self._distances[robot][flag] + self._distances[flag][base] + 0.5
        bars = position[2 + seat] == base and self._turns.blocks
        return steps + (2 if bars else 0)

    def grabbed(self, position: Position) -> float:
        """Return who has the other's flag or is near it, as somebody sees it who counts steps
        alone."""
        points = 0.0
        for seat, sign in ((0, 1), (1, -1)):
            flag = position[3 - seat]
            goal = self._turns.bases[seat] if flag == CARRIED else flag
            carries = 10 if flag == CARRIED else 0
            points += sign * (carries - self._distances[position[seat]][goal])
        return points / 20

    @cached_property
    def _distances(self) -> list[list[int]]:
        """Return steps between squares. Far where no way leads."""
        return [self._distances_from(square) for square in range(len(self._turns.squares))]

    def _distances_from(self, square: int) -> list[int]:
        unreached = len(self._turns.squares)
        distances = [unreached] * unreached
        distances[square] = 0
        todo = [square]
        for at in todo:
            for to in self._turns.ways[at]:
                if to != CARRIED and distances[to] == unreached and to != square:
                    distances[to] = distances[at] + 1
                    todo.append(to)
        return distances


def _judge_of(turns: Turns, options: OutbufferedOptions) -> Judge:
    table = None
    if options.board == STANDARD_MAP and TABLE.is_file():
        with np.load(TABLE, allow_pickle=False) as tables:
            table = tables["blocks" if options.own_flag_blocks_base else "standard"]
    return Judge(turns, table)


def _noise(seed: int, position: Position, visits: int, number: int, size: float) -> Vector:
    """Return how wrongly each end is judged: the same for the same game, position and how often it
    was met."""
    rng = Random(f"{seed} {position} {visits}")
    return np.array([rng.gauss(0, size) for _ in range(number)], np.float32)
