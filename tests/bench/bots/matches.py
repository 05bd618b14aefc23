"""Helpers: play one game between a bot and a rival in this process.

A bot gets the view of its seat alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import msgspec

from bench.bots.rivals import rival_of
from companion.bots import bot_for
from companion.core.i18n import translate_for_json
from companion.core.kit import SEATS, Seat
from companion.games import game_named

# Number that deals and seeds are made from. Number 0 was used for tuning.
SAMPLE = 1
# Number of decisions after which a game without an end counts as a draw.
MAX_DECISIONS = 1000


@dataclass(frozen=True)
class Pairing:
    """A match of a bot and a rival, with the bounds for the bot's share of wins."""

    game: str
    level: int
    """The bot's level."""
    rival: int | str
    """Another level, or the name of a player by rule of thumb."""
    seat: Seat | None
    """The bot's seat. None: both seats in turn."""
    bar: float
    """Smallest lower bound of the 95 % interval."""
    most: float = 1.0
    """Largest upper bound of the 95 % interval."""

    @property
    def name(self) -> str:
        """Name by which it is chosen and printed: `kahmate 3 v 2`, `binmat 3 v greedy as south`."""
        role = f" as {self.seat}" if self.seat else ""
        return f"{self.game} {self.level} v {self.rival}{role}"


def play_game(pairing: Pairing, number: int) -> int:
    """Play one game of a match. Return 1 if the bot won, -1 if it lost, 0 for a draw.

    The games 2n and 2n + 1 have the same deal, with the seats swapped.
    """
    game = game_named(pairing.game)
    rng = Random(f"{pairing.game}/{SAMPLE}/{number // 2}")
    seat, seed = pairing.seat or SEATS[number % 2], 100_000 * SAMPLE + number
    state, chance = game.setup(game.options({}), rng), Random(seed)
    bots = {seat: bot_for(pairing.game, seat, {}, pairing.level, seed)}
    rival = None
    if isinstance(pairing.rival, int):
        bots[seat.other] = bot_for(pairing.game, seat.other, {}, pairing.rival, seed + 1)
    else:
        rival = rival_of(pairing.rival, pairing.game)
    for _ in range(MAX_DECISIONS):
        if not (due := game.to_act(state)):
            break
        texts = {}
        for side in sorted(due):
            if side in bots:
                texts[side] = bots[side].choose(game.view(state, side)).action
            elif rival is not None:
                texts[side] = rival(game, state, side, chance)
        actions = {side: game.parse(text) for side, text in texts.items()}
        game.require(state, actions)
        step = game.apply(state, actions, rng)
        state = step.state
        events = [msgspec.to_builtins(event, enc_hook=translate_for_json) for event in step.events]
        for side, bot in bots.items():
            bot.see(game.view(state, side), events)
    outcome = game.outcome(state)
    winners = outcome.winners if outcome else frozenset()
    return 0 if len(winners) > 1 else (seat in winners) - (seat.other in winners)
