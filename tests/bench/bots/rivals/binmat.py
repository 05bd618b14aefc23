"""Players of BINMAT by rules of thumb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

from companion.core.kit import Seat
from companion.games.base import Game, View
from companion.games.binmat.cards import BREAK, Cards
from companion.games.binmat.combat import ATTACKER, sum_stack

# The numbers of points below were chosen by hand.
_WIN = 1000.0
_MAX_PLANNED_CARDS = 3
# Probability that a face-down wall has the power 0, 1, 2 and so on, for walls of one, two and more
# cards.
_WALLS = ((0.55, 0.15, 0.15, 0.15), (0.45, 0.1, 0.15, 0.2, 0.1), (0.4, 0.05, 0.15, 0.25, 0.15))


def greedy_binmat(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Choose the action with the most points by some rules of thumb, from the seat's view alone."""
    view = game.view(state, seat)
    texts: list[str] = list(game.legal_actions(state, seat))
    if seat is ATTACKER:
        return _attacker_action(view, texts, rng)
    return max(texts, key=lambda text: _defender_points(view, text) + rng.random())


def _attacker_action(view: View, texts: Sequence[str], rng: Random) -> str:
    """Choose what gains most per turn: to draw, a combat now, or one after up to three cards.

    Damage to a lane counts more if little is left in it.
    """
    hand = view["hands"]["north"]
    room = max(0.0, 1.2 - 0.15 * len(hand))
    best: dict[str, float] = {"--": -9.0, "da": 0.4 * room}
    breaks = [card for card in hand if card[0] == BREAK]
    others = [card for card in hand if card[0] != BREAK]
    plans = [
        cards for size in range(_MAX_PLANNED_CARDS + 1) for cards in combinations(others, size)
    ]
    for number, lane in enumerate(view["lanes"]):
        wall, mine, left = (
            tuple(lane["defender"]),
            tuple(lane["attacker"]),
            len(lane["deck"]) + len(lane["defender"]),
        )
        weight = 1 + 6 / (left + 1)
        best[f"d{number}"] = weight + room
        for cards in plans:
            stack = (*mine, *cards)
            if not stack or len(cards) >= view["turns_left"] / 2:
                continue
            for ending in (None, *breaks[:1]) if wall else (None,):
                damage = _expected_damage(lane, stack, ending is not None)
                gain = (
                    _WIN
                    if damage > left
                    else weight * damage + room * max(0.0, damage - len(wall)) / 2
                )
                value = gain / (len(cards) + 1) - 0.02 * len(cards)
                text = (
                    f"p{cards[0]}{number}"
                    if cards
                    else f"u{ending}{number}"
                    if ending
                    else f"c{number}"
                )
                best[text] = max(best.get(text, -9.0), value)
    legal = set(texts)
    return max(
        (text for text in best if text in legal),
        key=lambda text: best[text] + rng.random() / 10,
        default=texts[-1],
    )


def _expected_damage(lane: Mapping[str, Any], stack: Cards, has_break: bool) -> float:
    """Estimate the damage of a stack to a lane. For a face-down wall, average over its powers."""
    wall, power = tuple(lane["defender"]), sum_stack(stack).power
    if not wall or lane["defender_open"]:
        theirs = sum_stack(wall).power
        if power < theirs:
            return -1.0
        return power if has_break else power - theirs + 1.0
    total = 0.0
    for theirs, share in enumerate(_WALLS[min(len(wall), len(_WALLS)) - 1]):
        hits = power if has_break else power - theirs + 1.0
        total += share * (hits if power >= theirs else -1.0)
    return total


def _defender_points(view: View, text: str) -> float:
    """Rate an action of the defender: build up walls, above all where none are, or draw cards."""
    if text[0] in "-x":
        return -50.0 if text[0] == "x" else 0.0
    lane = view["lanes"][int(text[-1])]
    deck, wall, hand = len(lane["deck"]), tuple(lane["defender"]), view["hands"]["south"]
    if text[0] == "d":
        return 4.0 - 0.8 * len(hand) + 0.15 * deck - (0.0 if wall or deck > 4 else 10.0)
    if text[0] == "c" or text[:2] == "u>":
        return -20.0
    card = text[1:3]
    gain = sum_stack((*wall, card)).power - sum_stack(wall).power
    threat = len(lane["attacker"])
    if not wall:
        return (
            5.0 + 0.7 * max(0, 8 - deck) + gain + 2.0 * threat - (3.0 if card[0] in "@?" else 0.0)
        )
    return 2.0 * gain + 1.5 * threat - (3.0 if gain <= 0 else 0.0)
