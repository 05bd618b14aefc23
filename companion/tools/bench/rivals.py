"""Yardsticks of the bench of opponents: players by rule of thumb that look one turn ahead, one for each game.

They see the state of a game, and use nothing of it that their seat does not know.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from companion.core.kit import SEATS, Seat
from companion.games.arena.board import DIRECTIONS
from companion.games.arena.state import State as ArenaState
from companion.games.base import Game, View
from companion.games.binmat.cards import BREAK
from companion.games.binmat.combat import ATTACKER, sum_of
from companion.games.kahmate.state import State as KahmateState
from companion.games.kahmate.state import dump as kahmate_plain
from companion.games.outbuffered.turn import State as OutbufferedState
from companion.games.scouts.board import NAMES, SQUARES, squares_in
from companion.games.scouts.moves import chain_text, dashes, has_play, movers, shortest
from companion.games.scouts.state import Position, moved
from companion.games.scouts.state import State as ScoutsState

Rival = Callable[[Game[Any, Any], Any, Seat, Random], str]
"""Answers the notation of a legal action of the seat."""

_WIN = 1e6


def random_player(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Any legal action."""
    return game.format(game.random_action(state, seat, rng))


# ---- Outbuffered ----------------------------------------------------------------------------------------------------

_SAMPLED = 8


def greedy_outbuffered(game: Game[Any, Any], state: OutbufferedState, seat: Seat, rng: Random) -> str:
    """The orders that do best on average against some orders drawn at random."""
    answers = ["".join(rng.choices("UDLRIS", k=3)) for _ in range(_SAMPLED)]
    best, best_value = "", -_WIN
    for letters in itertools.product("UDLRIS", repeat=3):
        text = "".join(letters)
        value = rng.random() / 100
        for answer in answers:
            after = game.apply(state, {seat: text, seat.other: answer}, rng).state
            value += _outbuffered_value(after, seat)
        if value > best_value:
            best, best_value = text, value
    return best


def _outbuffered_value(state: OutbufferedState, seat: Seat) -> float:
    """Near the other's flag, and home with it."""
    if state.outcome:
        return 100.0 * ((seat in state.outcome.winners) - (seat.other in state.outcome.winners))
    value = 0.0
    for side, sign in ((SEATS.index(seat), 1.0), (1 - SEATS.index(seat), -1.0)):
        robot, flag = state.robots[side], state.flags[1 - side]
        goal = flag or state.ground.bases[side]
        way = abs(robot.file - goal.file) + abs(robot.rank - goal.rank)
        value += sign * (-way + (0 if flag else 10))
    return value


# ---- Scouts ---------------------------------------------------------------------------------------------------------


def greedy_scouts(game: Game[Any, Any], state: ScoutsState, seat: Seat, rng: Random) -> str:
    """The first play of the pair of plays that brings the own scouts farthest beyond the other's."""
    position = state.position
    if position.to_place or not has_play(position):
        return str(rng.choice([text for text in game.legal_actions(state, seat) if text[0] in "@."]))
    best, best_value = "", -_WIN
    for text, after in _scouts_plays(position):
        value = _scouts_value(after)
        if not after.is_won and after.due:
            value = max((_scouts_value(last) for _, last in _scouts_plays(after)), default=value)
        value += rng.random() / 100
        if value > best_value:
            best, best_value = text, value
    return best


def _scouts_plays(position: Position) -> list[tuple[str, Position]]:
    found = []
    for square in squares_in(movers(position)):
        name, origin = NAMES[square], 1 << square
        found += [
            (f"{name}-{NAMES[target]}", moved(position, origin, 1 << target))
            for target in squares_in(dashes(position, square))
        ]
        found += [(chain_text(chain), moved(position, origin, 1 << chain[-1])) for chain in shortest(position, square)]
    return found


def _scouts_value(position: Position) -> float:
    """How far all scouts have come, those on the way home counted double, those beneath others halved."""
    if position.is_won:
        return _WIN / 2
    value = 0.0
    groups = (
        (position.own, position.intel, position.seat, 1.0),
        (position.own_low, position.low_intel, position.seat, 0.5),
        (position.foe, position.intel, 1 - position.seat, -1.0),
        (position.foe_low, position.low_intel, 1 - position.seat, -0.5),
    )
    for mask, turned, side, sign in groups:
        for square in squares_in(mask):
            ahead = SQUARES[square].rank if side == 0 else 9 - SQUARES[square].rank
            value += sign * (9 + 2 * (9 - ahead) if turned >> square & 1 else ahead)
    return value


# ---- Robot Arena ----------------------------------------------------------------------------------------------------


def greedy_arena(game: Game[Any, Any], state: ArenaState, seat: Seat, rng: Random) -> str:  # noqa: ARG001
    """Every robot for itself: hit the weakest neighbour, blow up when that pays, otherwise go to the nearest enemy."""
    side = SEATS.index(seat)
    ground, taken = state.ground, {robot.place for robot in state.robots[side]}
    enemies = {robot.place: robot.points for robot in state.robots[1 - side]}
    orders = []
    for robot in state.robots[side]:
        ahead = ground.ahead[robot.place]
        near = [(enemies[place], way) for way, place in enumerate(ahead) if place in enemies]
        around = [place for place in ground.around[robot.place] if place in enemies]
        if robot.points <= state.options.attack * len(near) and len(around) > 1:
            orders.append(f"{robot.number}:X")
        elif near:
            orders.append(f"{robot.number}:a{DIRECTIONS[min(near)[1]]}")
        else:
            ways = [
                (_arena_way(state, place, enemies), rng.random(), way, place)
                for way, place in enumerate(ahead)
                if place is not None and place not in taken
            ]
            if not ways:
                orders.append(f"{robot.number}:D")
                continue
            _, _, way, place = min(ways)
            taken.add(place)
            orders.append(f"{robot.number}:{DIRECTIONS[way]}")
    return " ".join(orders)


def _arena_way(state: ArenaState, place: int, enemies: Mapping[int, int]) -> int:
    squares = state.ground.squares
    here = squares[place]
    return min(abs(squares[enemy].file - here.file) + abs(squares[enemy].rank - here.rank) for enemy in enemies)


# ---- Kahmate --------------------------------------------------------------------------------------------------------


def greedy_kahmate(game: Game[Any, Any], state: KahmateState, seat: Seat, rng: Random) -> str:
    """The ball as far ahead as one action brings it; cards and the set-up by chance."""
    if state.is_placing or state.course:
        return random_player(game, state, seat, rng)
    best, best_value = ".", -_WIN
    for action in game.legal_actions(state, seat):
        after = game.apply(state, {seat: action}, rng).state
        value = _kahmate_value(after, seat) + rng.random() / 10
        if value > best_value:
            best, best_value = game.format(action), value
    return best


def _kahmate_value(state: KahmateState, seat: Seat) -> float:
    """Who has the ball, how far ahead; a face-off is worth what a fair coin makes of it."""
    if state.outcome:
        return _WIN / 2 if seat in state.outcome.winners else -_WIN / 2
    view = kahmate_plain(state)
    ball = view["ball"]
    forward = 1 if seat is Seat.SOUTH else -1
    value = 0.0
    if ball and ball["square"] != "goal":
        rank = int(ball["square"][1:])
        value += (rank - 6) * forward
        value += 8 if ball["seat"] == seat else -8 if ball["seat"] else 0
    for piece in view["pieces"]:
        if ball and piece["square"] != "goal" and ball["square"] != "goal":
            way = abs(int(piece["square"][1:]) - int(ball["square"][1:]))
            way += abs(ord(piece["square"][0]) - ord(ball["square"][0]))
            value += (-0.1 if piece["seat"] == seat else 0.1) * way
        value += (-0.5 if piece["seat"] == seat else 0.5) * piece["rounds_down"]
    return value


# ---- BINMAT ---------------------------------------------------------------------------------------------------------

_UNKNOWN_POWER = 1.5


def thumb_binmat(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """The action with the most points of a short list of rules of thumb, of what this seat's view shows alone."""
    view = game.view(state, seat)
    value = _attacker_points if seat is ATTACKER else _defender_points
    texts: list[str] = list(game.legal_actions(state, seat))
    return max(texts, key=lambda text: value(view, text) + rng.random())


def _attacker_points(view: View, text: str) -> float:
    """Strike what falls, build powers of two where little is left, draw where nobody stands."""
    if text[0] in "-x":
        return -50.0
    if text == "da":
        return 3.0 - len(view["hands"]["north"])
    lane = view["lanes"][int(text[-1])]
    deck, wall = len(lane["deck"]), lane["defender"]
    is_known = lane["defender_open"] or not wall
    theirs = sum_of(tuple(wall)).power if is_known else _UNKNOWN_POWER
    if text[0] == "d":
        return 5.0 - 0.2 * deck - 0.7 * len(view["hands"]["north"])
    mine: tuple[str, ...] = tuple(lane["attacker"])
    before = sum_of(mine).power
    if text[0] in "pu":
        mine = (*mine, text[1:3])
    power = sum_of(mine).power
    has_break = any(card[0] == BREAK for card in mine)
    damage = (power if has_break else power - theirs + 1) if power >= theirs else 0.0
    if text[0] == "c" or text[:2] == "u>":
        if is_known and damage > deck + len(wall):
            return 1000.0
        return 3.0 * damage - 0.2 * deck if power >= 2 and damage > 1 else -20.0
    if text[0] == "u" or text[1] in "?@":
        return -5.0
    return 3.0 + 2.0 * (power - before) - 0.3 * (deck + 2 * len(wall)) + (40.0 if deck + len(wall) == 0 else 0.0)


def _defender_points(view: View, text: str) -> float:
    """A stack before every lane, the shortest first; powers of two where the attacker builds; draw from the longest."""
    if text[0] in "-x":
        return -50.0 if text[0] == "x" else 0.0
    lane = view["lanes"][int(text[-1])]
    deck, wall, hand = len(lane["deck"]), tuple(lane["defender"]), view["hands"]["south"]
    if text[0] == "d":
        return 4.0 - 0.8 * len(hand) + 0.15 * deck - (0.0 if wall or deck > 4 else 10.0)
    if text[0] == "c" or text[:2] == "u>":
        return -20.0
    card = text[1:3]
    gain = sum_of((*wall, card)).power - sum_of(wall).power
    threat = len(lane["attacker"])
    if not wall:
        return 5.0 + 0.7 * max(0, 8 - deck) + gain + 2.0 * threat - (3.0 if card[0] in "@?" else 0.0)
    return 2.0 * gain + 1.5 * threat - (3.0 if gain <= 0 else 0.0)


GREEDY: Mapping[str, Rival] = {
    "outbuffered": greedy_outbuffered,
    "scouts": greedy_scouts,
    "arena": greedy_arena,
    "kahmate": greedy_kahmate,
    "binmat": thumb_binmat,
}
"""The player by rule of thumb of each game, by its name."""
