"""What level 3 of Outbuffered loses to a perfect opponent, who knows its mixed strategy in every turn and answers best.

Both are judged by the solved table. The opponent gives nothing away, so that the bot is never repaid for what it risks.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np

from companion.bots.outbuffered import DISCOUNT, SCALE, TABLE, OutbufferedBot, balance
from companion.bots.outbuffered.turns import BUFFERS, VALUE_OF, Turns, buffer_number, buffer_text
from companion.core.kit import SEATS
from companion.games import game_named
from companion.games.outbuffered.board import STANDARD_MAP

PERFECT_GAMES, PERFECT_TURNS = 20, 30
MOST_LOST_A_TURN = 0.03
"""So much of a won game at most, on average over all turns."""


@dataclass(frozen=True)
class Losses:
    """Of each turn: how much less the strategy is sure of than the equilibrium, from 0 to 2 (a game won and lost)."""

    turns: tuple[float, ...]
    games: int

    @property
    def mean(self) -> float:
        """What a turn loses on average."""
        return sum(self.turns) / max(1, len(self.turns))


def losses(games: int, sample: int) -> Losses:
    """Play so many games, seats in turn, each to its end or for `PERFECT_TURNS` turns."""
    found: list[float] = []
    for number in range(games):
        found += _game(number, sample)
    return Losses(tuple(found), games)


def _game(number: int, sample: int) -> list[float]:
    game, rng = game_named("outbuffered"), Random(f"perfect/{sample}/{number}")
    turns, me = Turns(STANDARD_MAP, False), number % 2
    with np.load(TABLE, allow_pickle=False) as tables:
        table = tables["standard"]
    seat, is_turned = SEATS[me], game.options({}).directions == "seat"
    bot = OutbufferedBot(seat, {}, 3, 1000 * sample + number)
    state = game.setup(game.options({}), rng)
    found: list[float] = []
    while game.to_act(state) and len(found) < PERFECT_TURNS:
        view = game.view(state, seat)
        ends, whole = turns.turn(turns.position(view))
        worth = [
            VALUE_OF[at]
            if at in VALUE_OF
            else DISCOUNT * table[at[0], at[1], at[2] + 1, at[3] + 1] / SCALE
            for at, _ in ends
        ]
        payoff = np.array(worth, np.float32)[whole]
        if me:
            payoff = np.ascontiguousarray(-payoff.T)
        mix = np.zeros(BUFFERS, np.float32)
        for text, share in bot.strategy(view).items():
            mix[buffer_number(text, is_turned and me == 1)] += share
        _, _, sure = balance(payoff, None, 0.0)
        gains = payoff.T @ mix
        reply = int(np.argmin(gains))
        found.append(max(0.0, sure - float(gains[reply])))
        texts = {
            seat: bot.choose(view).action,
            seat.other: buffer_text(reply, is_turned and me == 0),
        }
        step = game.apply(state, {each: game.parse(text) for each, text in texts.items()}, rng)
        state = step.state
        bot.see(game.view(state, seat), ())
    return found
