"""What level 3 of Outbuffered learns about the other player from the positions after each turn."""

from __future__ import annotations

import numpy as np

from companion.bots.outbuffered.turn_game import Matrix, TurnGame, Vector
from companion.bots.outbuffered.turns import Position

MAY_LOSE = 0.025
"""Maximum cost of a turn against a perfect player, as a share of a game, to exploit a weak one."""
MAX_LOST = 0.2
"""Maximum cost of a turn, covered by what the other side has given away."""
_FORGET = 0.95
_CREDIT = 0.2
"""Share of a game that is put at risk before the other side has given anything away."""


class OtherPlayer:
    """Model of the other player, learned from the positions after each turn.

    `given` is what the other side has given away so far, as a share of a game. It limits the risk.
    """

    def __init__(self) -> None:
        self.given = 0.0
        self._trust = np.ones((1, 1))
        """Probability of each kind of player, as a column. All are equal at first."""
        self._pending_turn: tuple[Position, TurnGame, int, Matrix, Vector] | None = None
        self._habits: dict[Position, Vector] = {}

    def may_lose(self) -> float:
        """Return the maximum cost of this turn against a perfect player.

        It grows with what the other side has already given away.
        """
        credit = min(MAY_LOSE, max(0.0, _CREDIT + self.given))
        return min(MAX_LOST, max(0.35 * self.given, credit))

    def guess(self, kinds: Matrix) -> Vector:
        """Return the expected mix of the other side, from the mixes of all kinds by rows."""
        mixed = (self._trust * kinds).sum(axis=0)
        return np.asarray(mixed / mixed.sum(), np.float32)

    def habit(self, position: Position, game: TurnGame) -> Vector:
        """Return what the other side played earlier in this position, at first uniformly."""
        columns = len(game.columns)
        played = self._habits.get(position, np.zeros(columns, np.float32))
        played = played + np.float32(0.3 / columns)
        return np.asarray(played / played.sum(), np.float32)

    def expect(
        self, position: Position, game: TurnGame, row: int, kinds: Matrix, gains: Vector
    ) -> None:
        """Store a turn for `ended_in`. `gains` has what each answer gives away."""
        self._pending_turn = position, game, row, kinds, gains

    def ended_in(self, position: Position) -> None:
        """Learn from the position after a turn.

        Kinds of players that would have led there become more probable.
        """
        if self._pending_turn is None:
            return
        start, game, row, kinds, gains = self._pending_turn
        self._pending_turn = None
        # the answers that lead to the observed position
        is_end = np.array([end == position for end, _ in game.ends])
        same = is_end[game.table[row]]
        if not same.any():
            return
        mixed = self.guess(kinds) * same + 1e-6 * same
        played = np.asarray(mixed / mixed.sum(), np.float32)
        self.given += float(played @ gains)
        habit = self._habits.get(start, np.zeros_like(played))
        self._habits[start] = 0.7 * habit + played
        # update the kinds of players by how well they explain the answer
        fit = 0.9 * kinds[:, same].sum(axis=1, keepdims=True) + 0.1 * same.mean()
        after = self._trust**_FORGET * fit
        self._trust = after / after.sum()
