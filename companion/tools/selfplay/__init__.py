"""Self-play of whole games, in which simulated people test the whole service.

They send the requests of real phones, press the keys of mock pads, and move pieces on a rendered
board that the camera reads. `companion selfplay` prints a report of each game.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from random import Random

from companion.core.clock import FakeClock
from companion.core.config import Settings, TableSettings, WebSettings
from companion.core.kit import SEATS, Seat
from companion.games import game_named
from companion.service.app import Companion
from companion.tools.selfplay.cards import SimulatedCardGame
from companion.tools.selfplay.people import FRAME_S, Phone, Report, SimulatedPlayer
from companion.tools.selfplay.plays import SimulatedTurnGame


def play_games(name: str, game_count: int, seed: int) -> Iterator[Report]:
    """Play games with the seeds `seed`, `seed + 1` …, and yield a report for each.

    Each game has a new installation in a temporary folder.
    """
    for game_seed in range(seed, seed + game_count):
        yield _play_game(name, game_seed)


def _play_game(name: str, seed: int) -> Report:
    """Play one game on a new installation.

    The seed decides the options, which seats play by a pad instead of a phone, and how people play.
    """
    clock = FakeClock()
    game = game_named(name)
    has_cards = game.kit(game.options({})).deck is not None
    # Only presets in which the table deals the cards. With real cards, somebody would have to deal.
    option_sets = [
        preset.options
        for preset in game.presets
        if not game.is_dealt_by_hand(game.options(preset.options))
    ]
    options = option_sets[seed % len(option_sets)]
    # Cards that only one player may see are shown on phones, so that no seat can play by a pad.
    pad_choices = [()] if has_cards else [(), (Seat.SOUTH,), (Seat.NORTH,), SEATS]
    pad_seats = Random(f"{name}/{seed}").choice(pad_choices)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            state_dir=folder,
            web=WebSettings(host="127.0.0.1", port=0),
            table=TableSettings(reading_time_s=FRAME_S),
        )
        with Companion(settings, simulate=True, clock=clock, threads=False) as companion:
            url = f"http://127.0.0.1:{companion.server.port}"
            players = {}
            for seat in SEATS:
                phone = None if seat in pad_seats else Phone(url, seat)
                players[seat] = SimulatedPlayer(seat, phone, Random(f"{seed}/{seat}"))
            game_class = SimulatedCardGame if has_cards else SimulatedTurnGame
            return game_class(companion, clock, game, seed, options, players).play()
