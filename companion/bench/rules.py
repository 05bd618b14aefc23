"""The rules at speed: random games without an error, through the engine's bytes or the rules themselves."""

from __future__ import annotations

import json
import time
from collections import Counter
from random import Random
from typing import Any

from companion.engine import Engine
from companion.games import GAMES
from companion.games.base import Game
from companion.kit import SEATS

LEAST_RATE = 2000.0
"""Requests a second that a bot may count on."""
CARD_GAMES_SHARE = 5
"""Games with a turn after the other are longer: so many times fewer of them, 20,000 of 100,000."""


def bench_rules(games: int) -> bool:
    """Play random games of everything and print what came of them; answers whether each kept its bound."""
    good = True
    for name, game in GAMES.items():
        if len(game.to_act(game.setup(game.options({}), Random(0)))) > 1:
            good &= _engine_games(game, games)
            continue
        editions = [row.choices for row in game.option_rows if row.name == "edition"]
        for _, edition in editions[0] if editions else (("", None),):
            good &= _games_to_the_end(game, {"edition": edition} if edition else {}, games // CARD_GAMES_SHARE, name)
    return good


def _engine_games(game: Game[Any, Any], games: int) -> bool:
    """Sealed orders through the engine's own bytes; no reply may be an error. The peer is `json` on the same lines."""
    engine, rng, turns, lines = Engine(game), Random(1), 0, 0
    engine.answer(b'{"new": {}}')
    legal = {seat: json.loads(engine.answer(b'{"legal": "%s"}' % seat.encode()))["legal"] for seat in SEATS}
    began_s = time.perf_counter()
    for number in range(games):
        reply = engine.answer(b'{"new": {"seed": %d}}' % number)
        lines += 1
        while not reply.startswith(b'{"to_act":[]'):
            orders = {seat: rng.choice(legal[seat]) for seat in SEATS}
            request = b'{"apply": {"south": "%s", "north": "%s"}}' % tuple(orders[s].encode() for s in SEATS)
            reply = engine.answer(request)
            if reply.startswith(b'{"error"'):
                print(f"{game.name}: {request!r} was answered {reply!r}")
                return False
            turns += 1
            lines += 1
    took_s = time.perf_counter() - began_s
    peer_s = _json_s(b'{"apply": {"south": "UUS", "north": "IRS"}}', reply, 20_000)
    rate = lines / took_s
    print(
        f"{game.name}: {games} random games, {turns} turns, no error; {rate:,.0f} requests a second, "
        f"{1 / rate / peer_s:.1f} x the time of json.loads + json.dumps of the same lines",
        flush=True,
    )
    return rate >= LEAST_RATE


def _games_to_the_end(game: Game[Any, Any], options: dict[str, Any], games: int, name: str) -> bool:
    """Random games, turn after turn, until a condition of the rules ends each; prints how they ended."""
    read = game.options(options)
    ends: Counter[str] = Counter()
    turns = 0
    began_s = time.perf_counter()
    for number in range(games):
        rng = Random(number)
        state = game.setup(read, rng)
        while due := game.to_act(state):
            (seat,) = due
            state = game.apply(state, {seat: rng.choice(list(game.legal_actions(state, seat)))}, rng).state
            turns += 1
        outcome = game.outcome(state)
        if outcome is None:
            print(f"{name}: game {number} has no end")
            return False
        winner = " and ".join(sorted(game.sides[each].name for each in outcome.winners))
        ends[winner or "nobody"] += 1
    took_s = time.perf_counter() - began_s
    told = ", ".join(f"{winner} won {number:,}" for winner, number in ends.most_common())
    words = " ".join(str(value) for value in options.values())
    print(
        f"{name} {words}: {games:,} random games, {turns:,} turns, {1000 * took_s / max(1, games):.1f} ms each: {told}"
    )
    return sum(ends.values()) == games


def _json_s(request: bytes, reply: bytes, times: int) -> float:
    """Seconds that the standard library takes to decode a request and encode a reply."""
    plain = json.loads(reply)
    began_s = time.perf_counter()
    for _ in range(times):
        json.loads(request)
        json.dumps(plain)
    return (time.perf_counter() - began_s) / times
