"""Helpers: random games for tests of the history, from the rules alone or played at a table."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from internals import session_of
from table_tools import follow_instructions

from companion.archive.game_file import GameFile, PlayedAction, PlayedTurn
from companion.core.clock import FakeClock
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.games.base import plain_outcome
from companion.table.chance.fairness import turn_random
from companion.table.session import Phase, receipt_of
from companion.table.table import Table

# Every game, with the options that these tests play it with.
GAME_OPTIONS: Mapping[str, dict[str, Any]] = {
    "outbuffered": {},
    "scouts": {},
    "arena": {},
    "kahmate": {},
    "binmat": {"way": "full"},
}


def random_game(
    name: str, seed: int, max_turns: int, players: dict[Seat, str] | None = None, begun: float = 0.0
) -> GameFile:
    """Make the file of a game of random actions, without a table.

    If the game is not over after `max_turns` turns, South resigns. `begun` is the Unix time of its
    beginning.
    """
    game = GAMES[name]
    options = GAME_OPTIONS[name]
    rng = Random(seed)
    state = game.setup(game.options(options), turn_random(seed, 0))
    turns: list[PlayedTurn] = []
    while game.outcome(state) is None and len(turns) < max_turns:
        tick = len(turns) + 1
        moment = f"7.{tick}"  # a moment begins with the number of its game, for which any will do
        actions = {
            seat: game.random_action(state, seat, rng) for seat in sorted(game.to_act(state))
        }
        sealed_actions = {}
        for seat, action in actions.items():
            text = game.format(action)
            salt = f"{rng.getrandbits(64):x}"
            sealed_actions[seat] = PlayedAction(text, salt, receipt_of(moment, seat, text, salt))
        turns.append(PlayedTurn(moment, sealed_actions))
        state = game.apply(state, actions, turn_random(seed, tick)).state
    outcome = plain_outcome(game.outcome(state)) or {
        "winners": ["north"],
        "reason": f"{game.sides[Seat.SOUTH].name.capitalize()} resigns.",
    }
    return GameFile(
        name, dict(options), seed, tuple(turns), outcome, players=players or {}, begun=begun
    )


def play(
    table: Table, clock: FakeClock, name: str, turns: int, seed: int = 1, end: str = "resign"
) -> None:
    """Play some turns of random actions at a table on a fake clock.

    After the last turn, `end` decides: with `resign` South resigns, with `abandon` the owner ends
    the game, and with any other word the game goes on. A game may also be over before.
    """
    rng = Random(seed)
    game = GAMES[name]
    table.new_game(name, GAME_OPTIONS[name], seed)
    while turns:
        session = session_of(table)
        if session.phase is Phase.OVER:
            return
        clock.advance(2.0)
        view = table.view()
        if session.phase in (Phase.SETUP, Phase.STAGES):
            table.confirm("host", view.moment, view.turn.stage)
        elif session.paused_by:
            table.resume("host")
        else:
            for seat in [seat for seat in SEATS if seat in session.awaited_seats]:
                clock.advance(1.0 + SEATS.index(seat))
                table.hand_in(
                    seat, session.moment, game.format(game.random_action(session.state, seat, rng))
                )
            turns -= 1
    follow_instructions(table)
    if end == "resign" and table.view().phase is not Phase.OVER:
        table.resign(Seat.SOUTH)
    elif end == "abandon":
        table.abandon()
