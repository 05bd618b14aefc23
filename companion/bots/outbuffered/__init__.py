"""The opponent for Outbuffered: each turn is a matrix game of 216 by 216 buffers.

Pairs of buffers are valued by the position after the turn. Level 3 looks these values up in a table
that `tests/bench/bots/solve.py` computed. It plays close to the equilibrium. By a bounded amount it
deviates towards the best answer to what people tend to play (a restricted Nash response: Johanson,
Zinkevich and Bowling, 2007). Level 2 plays the best answer to a beginner. Level 1 is that beginner.
Both have a noise in their evaluation that is fixed for a game. On boards without a table,
the value of a position is the game's own lead: who is nearer to bringing a flag home.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from companion.bots.base import Bot, Choice, expected_reply, reasons_of, second_best
from companion.bots.outbuffered.turn_game import TurnGame, Vector, balance, likely_mix, soft
from companion.bots.outbuffered.turns import (
    BUFFERS,
    VALUE_OF,
    Position,
    Turns,
)
from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Seat
from companion.games.outbuffered import Outbuffered
from companion.games.outbuffered.board import NORTH, STANDARD_MAP
from companion.games.outbuffered.turn import OutbufferedOptions, lead

TABLE = Path(__file__).parents[1] / "outbuffered.npz"
SCALE = 30_000
"""Value of a won position in the table, which holds integers."""
DISCOUNT = 0.98
"""Discount factor of a position's value for each turn, so that early wins are worth more."""
_NOISE = {1: 2.4, 2: 0.10, 3: 0.0}
_MIN_PLAYED_SHARE = 0.003
"""Minimum share of a buffer to be played. Smaller shares are noise of the approximation."""
_TRUST = (0.95, 0.7, 0.4)
"""Levels of trust in the guess of the other side's buffer.

Each resulting strategy is mixed with the equilibrium until its risk is small enough.
"""
_MAX_RISK = 0.025
"""Maximum cost of a turn against a perfect player, as a share of a game, to exploit a weak one."""
_GAME = Outbuffered()
_WINS = say("This wins whatever the other side does.")
_BALANCED = say("Orders that vary leave the other side no good answer.")
_BEST = say("This looks best against what most people do here.")


class OutbufferedBot(Bot):
    """Plays a seat of Outbuffered. See `Bot`."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self.rng = Random(f"{seed} {seat}")  # opponents with the same seed differ
        self._options = OutbufferedOptions(**options)
        self._turns = Turns(self._options)
        self._me = SEATS.index(seat)
        self._visits: Counter[Position] = Counter()
        self._table = None
        if self._options.board == STANDARD_MAP and TABLE.is_file():
            name = "blocks" if self._options.own_flag_blocks_base else "standard"
            with np.load(TABLE, allow_pickle=False) as tables:
                self._table = tables[name]

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return the buffer for this turn."""
        position = self._turns.position(view)
        self._visits[position] += 1
        game = self._game(position, view)
        if (sure := game.sure_win()) is not None:
            return Choice(BUFFERS[game.rows[sure]], len(BUFFERS), (_WINS,))
        if self.level == 3:
            return self._equilibrium(game)
        return self._guess(position, game)

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float:  # noqa: ARG002
        """Compare the values of buffers against the equilibrium."""
        game = self._game(self._turns.position(view), view)
        _, theirs, _ = balance(game.payoff, None, 0.0)
        gains = game.payoff @ theirs
        row = game.row_of(BUFFERS.index(action))
        # values range from -1 to 1, so half the difference is a share of a game
        return max(0.0, float(gains.max() - gains[row]) / 2)

    def _reason_lines(
        self, game: TurnGame, row: int, answer: Vector, reason: str
    ) -> tuple[str, ...]:
        """Return the reasons for this row: the likeliest answer, and the second best row."""
        column = int(np.argmax(answer))
        likeliest = _GAME.commands(BUFFERS[game.columns[column]])
        reply = expected_reply([joined(", ", likeliest)], float(answer[column]))
        gains = game.payoff @ answer
        if len(gains) == 1:
            return reasons_of(reason, reply)
        others = np.array(gains)
        others[row] = -np.inf
        second = int(np.argmax(others))
        words = joined(", ", _GAME.commands(BUFFERS[game.rows[second]]))
        less = second_best([words], float(gains[row] - others[second]) / 2)
        return reasons_of(reason, reply, less)

    # ---- what a turn leads to --------------------------------------------------------------------

    def _game(self, position: Position, view: Mapping[str, Any]) -> TurnGame:
        """Return the turn as a matrix game of the own side.

        Values shrink near a turn limit at which the game is a draw.
        """
        ends, table = self._turns.turn(position)
        options = self._options
        turns_left = options.turn_limit - int(view["turn"]) if options.turn_limit else math.inf
        quiet = options.quiet_limit - int(view["quiet"]) - 1 if options.quiet_limit else math.inf
        values = []
        for end, is_eventful in ends:
            value = VALUE_OF.get(end)
            if value is None:
                quiet_left = (options.quiet_limit or math.inf) if is_eventful else quiet
                value = DISCOUNT * self._value(end)
                value *= 1 - 0.75 ** min(turns_left, quiet_left)
            values.append(value)
        if self._me == NORTH:
            return TurnGame(ends, np.ascontiguousarray(table.T), -np.array(values, np.float32))
        return TurnGame(ends, table, np.array(values, np.float32))

    def _value(self, position: Position) -> float:
        """Return the value of a position for South, from -1 (lost) to 1 (won)."""
        if self._table is not None:
            south, north, south_flag, north_flag = position
            # index 0 of a flag is `CARRIED`, which is -1
            return int(self._table[south, north, south_flag + 1, north_flag + 1]) / SCALE
        return 0.9 * math.tanh(0.22 * lead(self._turns.state(position)))

    # ---- level 3 ---------------------------------------------------------------------------------

    def _equilibrium(self, game: TurnGame) -> Choice:
        """Return a buffer drawn from a strategy near the equilibrium.

        The strategy deviates towards the best answer to what people tend to play.
        """
        mine, theirs, value = balance(game.payoff, None, 0.0)
        guess = likely_mix(game, theirs)
        best = mine
        reason = _BALANCED
        answer = theirs
        best_gain = float(mine @ game.payoff @ guess)
        # deviate towards the guess as far as the risk allows
        for trust in _TRUST:
            leaning, _, safe = balance(game.payoff, guess, trust)
            # mix with the equilibrium so that the risk is at most `_MAX_RISK`
            share = np.float32(min(1.0, _MAX_RISK / max(1e-6, value - safe)))
            mixed = share * leaning + (1 - share) * mine
            gain = float(mixed @ game.payoff @ guess)
            if gain > best_gain:
                best = mixed
                reason = _BEST
                answer = guess
                best_gain = gain
        shares = np.where(best < _MIN_PLAYED_SHARE, 0, best)
        row = self.rng.choices(range(len(shares)), shares.tolist())[0]
        why = self._reason_lines(game, row, answer, reason)
        return Choice(BUFFERS[game.rows[row]], len(BUFFERS) ** 2, why)

    # ---- levels 1 and 2 --------------------------------------------------------------------------

    def _guess(self, position: Position, game: TurnGame) -> Choice:
        """Return the best answer to the assumed play of the other side, with a noise in the values.

        The noise depends only on the game, the position, and the number of times it occurred.
        """
        rng = Random(f"{self.seed} {position} {self._visits[position]}")
        noise = [rng.gauss(0, _NOISE[self.level]) for _ in game.ends]
        game = game.with_noise(np.array(noise, np.float32))
        anything = np.full(len(game.columns), 1 / len(game.columns), np.float32)
        if self.level == 1:
            # assume that the other side idles half of the time, which is the first column
            answer = 0.5 * anything
            answer[0] += 0.5
            nodes = len(BUFFERS)
        else:
            beginner = soft(-game.payoff.mean(axis=0), 0.06)
            answer = 0.75 * beginner + 0.25 * anything
            nodes = len(BUFFERS) ** 2
        row = int(np.argmax(game.payoff @ answer))
        why = self._reason_lines(game, row, answer, _BEST)
        return Choice(BUFFERS[game.rows[row]], nodes, why)
