"""The bot for Outbuffered: each turn is a matrix game of 216 by 216 buffers.

A buffer is the three orders that a side hands in for a turn. The value of a pair of buffers is that
of the position after the turn. It is looked up in a table that `tests/bench/bots/solve.py` has
computed. On boards without a table, the value is the game's own lead: who is nearer to bringing a
flag home.

Level 3 plays close to the equilibrium. It deviates from it, by a bounded amount, towards the best
response to what people tend to play (restricted Nash response: Johanson, Zinkevich and Bowling,
2007). Level 2 plays the best response to a beginner, and level 1 is that beginner. Levels 1 and 2
add noise to their values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from companion.bots.base import Bot, Choice, reply_sentence, second_best_sentence, without_empty
from companion.bots.outbuffered.turn_game import (
    TurnGame,
    Vector,
    find_equilibrium,
    likely_strategy,
    softmax,
    uniform_strategy,
)
from companion.bots.outbuffered.turns import FINAL_VALUES, Position, TransitionModel
from companion.core.i18n import joined, say
from companion.core.kit import Seat
from companion.games.outbuffered import Outbuffered
from companion.games.outbuffered.board import BUFFERS, NORTH, STANDARD_MAP
from companion.games.outbuffered.turn import OutbufferedOptions, lead

# File with the value of every position on the standard board, for South. It has an array of int16
# for each setting of the option about own flags. The arrays are indexed by the position.
VALUE_TABLE = Path(__file__).parents[1] / "outbuffered.npz"

# Value of a won position in the table, whose values are integers.
TABLE_SCALE = 30_000

# Discount factor of a position's value for each turn, so that early wins are worth more. The table
# was computed with it.
DISCOUNT = 0.98

# Standard deviation of the noise in values from -1 to 1, by level. Matches judge it: each level has
# to beat the one below (`tests/bench/bots`).
_NOISE = {1: 2.4, 2: 0.10, 3: 0.0}

# Minimum probability of a buffer to be played. Smaller ones are noise of the approximation.
_MIN_PLAYED_PROBABILITY = 0.003

# Probabilities that the other side plays as guessed. Level 3 tries one after the other, and takes
# the resulting strategy that does best against the guess. Each strategy is mixed with the
# equilibrium until its risk is small enough. More of them would take longer.
_TRUST_LEVELS = (0.95, 0.7, 0.4)

# Maximum cost of a turn against a perfect player, as a share of a game, to exploit a weak one.
# Chosen by hand: with a higher risk the bot wins faster against beginners, and loses more against
# experts.
_MAX_RISK = 0.025

_RULES = Outbuffered()

# Main reasons for a buffer.
_WINS_REASON = say("This wins whatever the other side does.")
_BALANCED_REASON = say("Orders that vary leave the other side no good answer.")
_BEST_REASON = say("This looks best against what most people do here.")


class OutbufferedBot(Bot):
    """Plays a seat of Outbuffered. It remembers only how often each position has occurred."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self.rng = Random(f"{seed} {seat}")  # bots with the same seed differ
        self._options = OutbufferedOptions(**options)
        self._model = TransitionModel(self._options)
        self._visits: Counter[Position] = Counter()
        # table of values for these options, if there is one
        self._table = None
        if self._options.board == STANDARD_MAP and VALUE_TABLE.is_file():
            name = "blocks" if self._options.own_flag_blocks_base else "standard"
            with np.load(VALUE_TABLE, allow_pickle=False) as tables:
                self._table = tables[name]

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return the buffer for this turn."""
        position = self._model.position(view)
        self._visits[position] += 1
        game = self._turn_game(position, view)
        if (winning_row := game.find_sure_win()) is not None:
            return Choice(BUFFERS[game.rows[winning_row]], len(BUFFERS), (_WINS_REASON,))
        if self.level == 3:
            return self._draw_near_equilibrium(game)
        return self._best_response(position, game)

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float:  # noqa: ARG002
        """Return how much better the best buffer is than this one, as a share of a game.

        Both are valued against the other side's equilibrium strategy.
        """
        game = self._turn_game(self._model.position(view), view)
        expected_payoffs = game.payoff @ find_equilibrium(game.payoff).column_strategy
        row = game.row_of(BUFFERS.index(action))
        # values range from -1 to 1, so half the difference is a share of a game
        return max(0.0, float(expected_payoffs.max() - expected_payoffs[row]) / 2)

    def _reasons(
        self, game: TurnGame, row: int, column_strategy: Vector, main_reason: str
    ) -> tuple[str, ...]:
        """Return the reasons for a row as sentences.

        They also name the other side's likeliest buffer, and the second best row.

        :param column_strategy: expected mixed strategy of the other side
        :param main_reason: sentence that comes first
        """
        column = int(np.argmax(column_strategy))
        likeliest_reply = _RULES.commands(BUFFERS[game.columns[column]])
        reply = reply_sentence([joined(", ", likeliest_reply)], float(column_strategy[column]))
        payoffs = game.payoff @ column_strategy
        if len(payoffs) == 1:
            return without_empty(main_reason, reply)
        other_payoffs = np.array(payoffs)
        other_payoffs[row] = -np.inf
        second_row = int(np.argmax(other_payoffs))
        words = joined(", ", _RULES.commands(BUFFERS[game.rows[second_row]]))
        lead = float(payoffs[row] - other_payoffs[second_row]) / 2
        return without_empty(main_reason, reply, second_best_sentence([words], lead))

    # ---- the turn as a matrix game ---------------------------------------------------------------

    def _turn_game(self, position: Position, view: Mapping[str, Any]) -> TurnGame:
        """Return the turn as a matrix game, valued for the bot's side.

        Values shrink towards 0 near a turn limit, at which the game is a draw.
        """
        successors, table = self._model.turn_successors(position)
        turn_limit = self._options.turn_limit or math.inf
        quiet_limit = self._options.quiet_limit or math.inf
        turns_left = turn_limit - int(view["turn"])
        quiet_turns_left = quiet_limit - int(view["quiet"]) - 1
        values = []
        for after, is_eventful in successors:
            value = FINAL_VALUES.get(after)
            if value is None:
                value = DISCOUNT * self._value(after)
                until_draw = min(turns_left, quiet_limit if is_eventful else quiet_turns_left)
                # assume that a game is decided with a chance of a quarter in each turn that is left
                value *= 1 - 0.75**until_draw
            values.append(value)
        if self.seat.number == NORTH:
            table = np.ascontiguousarray(table.T)
            return TurnGame(successors, table, -np.array(values, np.float32))
        return TurnGame(successors, table, np.array(values, np.float32))

    def _value(self, position: Position) -> float:
        """Return the value of a position for South, from -1 (lost) to 1 (won)."""
        if self._table is not None:
            south_robot, north_robot, south_flag, north_flag = position
            # index 0 of a flag is `CARRIED`, which is -1
            indexes = (south_robot, north_robot, south_flag + 1, north_flag + 1)
            return int(self._table[indexes]) / TABLE_SCALE
        # The lead is in steps. A hyperbolic tangent keeps values below 1. The factors were chosen
        # by eye, so that a lead of 5 steps is most of a win.
        return 0.9 * math.tanh(0.22 * lead(self._model.state(position)))

    # ---- level 3 ---------------------------------------------------------------------------------

    def _draw_near_equilibrium(self, game: TurnGame) -> Choice:
        """Return a buffer drawn from a mixed strategy near the equilibrium.

        The strategy deviates towards the best response to what people tend to play.
        """
        balanced = find_equilibrium(game.payoff)
        guess = likely_strategy(game, balanced.column_strategy)
        strategies = [balanced.row_strategy]
        for trust in _TRUST_LEVELS:
            exploiting = find_equilibrium(game.payoff, guess, trust)
            # mix with the equilibrium so that the risk is at most `_MAX_RISK`
            risk = balanced.guaranteed_value - exploiting.guaranteed_value
            share = np.float32(min(1.0, _MAX_RISK / max(1e-6, risk)))
            strategies.append(share * exploiting.row_strategy + (1 - share) * balanced.row_strategy)
        best = max(strategies, key=lambda strategy: float(strategy @ game.payoff @ guess))
        main_reason = _BEST_REASON
        column_strategy = guess
        if best is balanced.row_strategy:
            main_reason = _BALANCED_REASON
            column_strategy = balanced.column_strategy
        weights = np.where(best < _MIN_PLAYED_PROBABILITY, 0, best)
        row = self.rng.choices(range(len(weights)), weights.tolist())[0]
        why = self._reasons(game, row, column_strategy, main_reason)
        return Choice(BUFFERS[game.rows[row]], len(BUFFERS) ** 2, why)

    # ---- levels 1 and 2 --------------------------------------------------------------------------

    def _best_response(self, position: Position, game: TurnGame) -> Choice:
        """Return the best response to the assumed strategy of the other side, with noisy values.

        The noise depends only on the seed, the position, and the number of times that it occurred.
        """
        # a plain tuple, because a named one would give another text, and so another seed
        rng = Random(f"{self.seed} {tuple(position)} {self._visits[position]}")
        noise = [rng.gauss(0, _NOISE[self.level]) for _ in game.successors]
        game = game.with_noise(np.array(noise, np.float32))
        uniform = uniform_strategy(len(game.columns))
        if self.level == 1:
            # assume that the other side idles half of the time, which is the first column
            column_strategy = 0.5 * uniform
            column_strategy[0] += 0.5
            nodes = len(BUFFERS)
        else:
            # assume a beginner, who in one turn of four does anything
            beginner = softmax(-game.payoff.mean(axis=0), 0.06)
            column_strategy = 0.75 * beginner + 0.25 * uniform
            nodes = len(BUFFERS) ** 2
        row = int(np.argmax(game.payoff @ column_strategy))
        why = self._reasons(game, row, column_strategy, _BEST_REASON)
        return Choice(BUFFERS[game.rows[row]], nodes, why)
