"""OpenSpiel's Monte Carlo tree search as a rival, with our rules behind it and our own opponent's processor time.

OpenSpiel is no dependency: after `pip install open_spiel` the bench plays it as well. A turn in which both act
at once is searched as one after the other, as OpenSpiel's own `convert_to_turn_based` does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from random import Random
from typing import Any

from numpy.random import RandomState

from companion.core.kit import SEATS, Seat
from companion.games.base import Game

BUDGETS_S: Mapping[str, float] = {"outbuffered": 0.02, "scouts": 0.02}
"""Processor time of a decision, by game: what level 3 takes on average."""
_LONGEST = 40
"""A playout is broken off after so many decisions, as a tie."""
_UCT_C = 1.4
_OVER = -4


def has_open_spiel() -> bool:
    """Is it installed?"""
    return find_spec("open_spiel") is not None


class MctsRival:
    """One player for one game; as many playouts as its budget of processor time holds."""

    def __init__(self, budget_s: float) -> None:
        self._budget_s, self._playout_s = budget_s, budget_s / 4

    def __call__(self, game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
        """The notation of the action that was tried most often."""
        mcts = import_module("open_spiel.python.algorithms.mcts")
        drawn = RandomState(rng.getrandbits(31))
        playouts = max(2, round(self._budget_s / self._playout_s))
        evaluator = mcts.RandomRolloutEvaluator(1, drawn)
        search = mcts.MCTSBot(_Described(), _UCT_C, playouts, evaluator, random_state=drawn)
        root, began_s = TurnState(game, state, rng, first=seat), time.thread_time()
        found = search.step(root)
        self._playout_s = (time.thread_time() - began_s) / playouts
        return root.text_of(found)


class _Described:
    """What OpenSpiel's search asks of a game before it begins."""

    def __init__(self) -> None:
        kinds = import_module("pyspiel").GameType
        self.reward_model = kinds.RewardModel.TERMINAL
        self.dynamics = kinds.Dynamics.SEQUENTIAL

    def get_type(self) -> _Described:
        """Sequential, with a result at the end."""
        return self

    def max_utility(self) -> float:
        """What a win is worth."""
        return 1.0


class TurnState:
    """A state of one of our games as OpenSpiel's search asks for it; `first`: who decides first where both are due."""

    def __init__(self, game: Game[Any, Any], state: Any, rng: Random, first: Seat) -> None:
        self._game, self._state, self._rng, self._first = game, state, rng, first
        self._sealed: dict[Seat, Any] = {}
        self._decisions = 0
        self._actions: list[Any] | None = None

    def clone(self) -> TurnState:
        """The same state, to be played on by itself."""
        other = TurnState(self._game, self._state, self._rng, self._first)
        other._sealed, other._decisions, other._actions = dict(self._sealed), self._decisions, self._actions
        return other

    def _seat(self) -> Seat | None:
        due = [seat for seat in self._game.to_act(self._state) if seat not in self._sealed]
        return self._first if self._first in due else due[0] if due else None

    def current_player(self) -> int:
        """The seat that is to decide, South 0."""
        seat = self._seat()
        return _OVER if seat is None else SEATS.index(seat)

    def is_terminal(self) -> bool:
        """Is it over, or broken off?"""
        return self._decisions >= _LONGEST or not self._game.to_act(self._state)

    def is_chance_node(self) -> bool:
        """Nothing is drawn between two decisions."""
        return False

    def legal_actions(self, _player: int | None = None) -> list[int]:
        """The places of the legal actions in their list."""
        return list(range(len(self._legal())))

    def _legal(self) -> list[Any]:
        if self._actions is None:
            seat = self._seat()
            self._actions = list(self._game.legal_actions(self._state, seat)) if seat else []
        return self._actions

    def text_of(self, action: int) -> str:
        """The notation of an action."""
        return self._game.format(self._legal()[action])

    def apply_action(self, action: int) -> None:
        """Decide; the turn is played once everybody has."""
        seat = self._seat()
        if seat is None:
            raise ValueError("the game is over")
        self._sealed[seat] = self._legal()[action]
        self._actions, self._decisions = None, self._decisions + 1
        if self._seat() is None:
            self._state = self._game.apply(self._state, self._sealed, self._rng).state
            self._sealed = {}

    def returns(self) -> list[float]:
        """1 for who has won, -1 for who has lost."""
        outcome = self._game.outcome(self._state)
        if outcome is None or len(outcome.winners) != 1:
            return [0.0, 0.0]
        return [1.0, -1.0] if Seat.SOUTH in outcome.winners else [-1.0, 1.0]
