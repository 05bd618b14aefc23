"""The rules at speed: random games without an error, through the engine's bytes or the rules themselves."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from companion.games import GAMES
from companion.games.base import Game
from companion.games.engine import Engine
from companion.games.scouts import perft

LEAST_RATE = 2000.0
"""Requests a second that a bot may count on."""
LEAST_SHARE = 0.5
"""Positions a second beside python-chess's perft."""
ONE_IN = {"outbuffered": 1, "scouts": 50}
"""Of 100,000 games so few are played: 2,000 of a long one; 20,000 of all that are not named."""
MAX_DECISIONS = 2000
"""Where no rule ends a game, it is left after so many."""
PLAYOUTS = 200
DEPTH = 3


def bench_rules(games: int) -> bool:
    """Play random games of everything and print what came of them; answers whether each kept its bound."""
    good = True
    for name, game in GAMES.items():
        few = max(1, games // ONE_IN.get(name, 5))
        editions = [row.choices for row in game.option_rows if row.name == "edition"]
        if not editions:
            good &= _engine_games(game, few)
            _playouts(game, max(1, PLAYOUTS * games // 100_000))
        for _, edition in editions[0] if editions else ():
            good &= _games_to_the_end(game, {"edition": edition}, few, name)
    return _positions() and good


def _engine_games(game: Game[Any, Any], games: int) -> bool:
    """Random games through the engine's own bytes; no reply may be an error. The peer is `json` on the same lines."""
    engine, rng, turns, unfinished, drawing_s = Engine(game), Random(1), 0, 0, 0.0
    reply, request = b"", b""
    began_s = time.perf_counter()
    for number in range(games):
        reply = engine.answer(b'{"new": {"seed": %d}}' % number)
        first = turns
        while (due := game.to_act(engine.state)) and turns < first + MAX_DECISIONS:
            before_s = time.perf_counter()
            actions = {seat: game.random_action(engine.state, seat, rng) for seat in due}
            texts = {seat: game.format(action) for seat, action in actions.items()}
            if any(game.parse(text) != actions[seat] for seat, text in texts.items()):
                print(f"{game.name}: what is written as {texts} is not read back as it was")
                return False
            request = json.dumps({"apply": texts}).encode()
            drawing_s += time.perf_counter() - before_s
            reply = engine.answer(request)
            if reply.startswith(b'{"error"'):
                print(f"{game.name}: {request!r} was answered {reply!r}")
                return False
            turns += 1
        unfinished += bool(due)
    took_s = time.perf_counter() - began_s - drawing_s
    rate = (turns + games) / took_s
    open_ends = f", {unfinished:,} left after {MAX_DECISIONS:,}" if unfinished else ""
    print(
        f"{game.name}: {games:,} random games, {turns:,} turns{open_ends}, no error; {rate:,.0f} requests a second, "
        f"{1 / rate / _json_s(request, reply, 20_000):.1f} x the time of json.loads + json.dumps of the same lines",
        flush=True,
    )
    return rate >= LEAST_RATE


def _playouts(game: Game[Any, Any], games: int) -> None:
    """How fast the rules alone play at random, the drawing of actions included."""
    options, turns = game.options({}), 0
    began_s = time.perf_counter()
    for number in range(games):
        rng = Random(number)
        state, first = game.setup(options, rng), turns
        while (due := game.to_act(state)) and turns < first + MAX_DECISIONS:
            state = game.apply(state, {seat: game.random_action(state, seat, rng) for seat in due}, rng).state
            turns += 1
    took_s = time.perf_counter() - began_s
    print(
        f"{game.name}: {games / took_s:,.0f} random playouts a second, {turns / took_s:,.0f} turns a second", flush=True
    )


def _positions() -> bool:
    """Positions a second of Scouts after the set-up and of python-chess, both counted to the same depth."""
    try:
        import chess  # noqa: PLC0415 - a yardstick that only the bench needs
    except ImportError:
        print("scouts: no yardstick: pip install chess")
        return False

    def chess_perft(board: chess.Board, depth: int) -> int:
        if depth == 1:
            return board.legal_moves.count()
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += chess_perft(board, depth - 1)
            board.pop()
        return total

    game, rng = GAMES["scouts"], Random(0)
    state = game.setup(game.options({}), rng)
    for text in ("@a1", "@a10", "@c1", "@c10", "@d1", "@d10", "@f1", "@f10", "@h1", "@h10"):
        (seat,) = game.to_act(state)
        state = game.apply(state, {seat: game.parse(text)}, rng).state
    own, own_s = _timed(lambda: perft(state, DEPTH))
    peer, peer_s = _timed(lambda: chess_perft(chess.Board(), DEPTH))
    share = own / own_s / (peer / peer_s)
    verdict = "ok" if share >= LEAST_SHARE else "TOO SLOW"
    print(
        f"scouts: {own:,} positions at depth {DEPTH}, {own / own_s:,.0f} a second, {share:.2f} x python-chess's perft "
        f"({peer:,} positions, {peer / peer_s:,.0f} a second; at least {LEAST_SHARE})  {verdict}",
        flush=True,
    )
    return share >= LEAST_SHARE


def _timed(count: Callable[[], int]) -> tuple[int, float]:
    """What it answers, and the seconds it took: the best of three."""
    times = []
    for _ in range(3):
        began_s = time.perf_counter()
        answer = count()
        times.append(time.perf_counter() - began_s)
    return answer, min(times)


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
