"""Helpers: play one game between a bot and a rival, in this process.

A bot sees only the view of its seat.
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

# Seed of all deals and bots. The bots were tuned with the games of the seed 0.
SAMPLE_SEED = 1
# Number of decisions after which a game without an end counts as a draw.
MAX_DECISIONS = 1000


@dataclass(frozen=True)
class Pairing:
    """A bot and a rival who play a match, with the bounds for the bot's share of wins."""

    game: str
    level: int
    """The bot's level."""
    rival: int | str
    """Another level, or the name of a player by rule of thumb."""
    seat: Seat | None
    """The bot's seat, or None if it has both seats in turn."""
    min_share: float
    """The lower end of the 95 % interval must be at least this."""
    max_share: float = 1.0
    """The upper end of the 95 % interval may be at most this."""

    @property
    def name(self) -> str:
        """The pairing's name for `--only` and the results.

        Examples are `kahmate 3 v 2` and `binmat 3 v greedy as south`.
        """
        role = f" as {self.seat}" if self.seat else ""
        return f"{self.game} {self.level} v {self.rival}{role}"


def play_game(pairing: Pairing, index: int) -> int:
    """Play one game of a match. Return 1 if the bot won, -1 if it lost, 0 for a draw.

    The games with the indices 2n and 2n + 1 have the same deal, with the seats swapped.
    """
    game = game_named(pairing.game)
    # for the deal and all other chance of the game
    rng = Random(f"{pairing.game}/{SAMPLE_SEED}/{index // 2}")
    seat, seed = pairing.seat or SEATS[index % 2], 100_000 * SAMPLE_SEED + index
    state, rival_rng = game.setup(game.options({}), rng), Random(seed)
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
                texts[side] = rival(game, state, side, rival_rng)
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
