"""Players of BINMAT by rules of thumb."""

from __future__ import annotations

from random import Random
from typing import Any

from companion.core.kit import Seat
from companion.games.base import Game, View
from companion.games.binmat.cards import BREAK
from companion.games.binmat.combat import ATTACKER, sum_of

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
