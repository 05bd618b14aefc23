"""Players of BINMAT by rules of thumb.

An action in notation is a letter, a card if one is played, and a lane: `d3` draws from the deck of
lane 3 (`da` from the attacker's own deck), `p8&3` plays the card `8&` face down on lane 3, `u>+3`
plays the BREAK `>+` face up there, `c3` begins a combat in lane 3, `x8&3` discards a card, and `--`
passes. The first character of a card is its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

from companion.core.kit import Seat
from companion.games.base import Game, View
from companion.games.binmat.cards import BREAK, Cards
from companion.games.binmat.combat import ATTACKER, sum_stack

# The numbers of points in this module were chosen by hand.

# Points for winning the game.
_WIN = 1000.0
_MAX_PLANNED_CARDS = 3
# Probability that a face-down wall has the power 0, 1, 2 and so on. The three rows are for walls of
# one card, of two, and of more.
_WALL_POWERS = (
    (0.55, 0.15, 0.15, 0.15),
    (0.45, 0.1, 0.15, 0.2, 0.1),
    (0.4, 0.05, 0.15, 0.25, 0.15),
)


def greedy_binmat(game: Game[Any, Any], state: Any, seat: Seat, rng: Random) -> str:
    """Choose the action with the most points by some rules of thumb, from the seat's view alone."""
    view = game.view(state, seat)
    texts: list[str] = list(game.legal_actions(state, seat))
    if seat is ATTACKER:
        return _attacker_action(view, texts, rng)
    return max(texts, key=lambda text: _defender_points(view, text) + rng.random())


def _attacker_action(view: View, texts: Sequence[str], rng: Random) -> str:
    """Choose the legal action of the attacker that promises most points per turn.

    The attacker may draw. For each lane, it may also plan to play up to three cards there, one a
    turn, and then begin a combat, by a BREAK if it has one and the lane has a wall. A plan's points
    are its expected damage, divided by the turns that it takes, and count for its first action.
    Damage counts more in a lane that has few cards left.
    """
    hand = view["hands"]["north"]
    # how welcome another card is: the fewer are in the hand, the more
    room = max(0.0, 1.2 - 0.15 * len(hand))
    best: dict[str, float] = {"--": -9.0, "da": 0.4 * room}
    breaks = [card for card in hand if card[0] == BREAK]
    others = [card for card in hand if card[0] != BREAK]
    plans = [
        cards for size in range(_MAX_PLANNED_CARDS + 1) for cards in combinations(others, size)
    ]
    for lane_number, lane in enumerate(view["lanes"]):
        wall, mine = tuple(lane["defender"]), tuple(lane["attacker"])
        # damage takes these cards from the lane, and wins if it is more than they are
        cards_left = len(lane["deck"]) + len(wall)
        weight = 1 + 6 / (cards_left + 1)
        best[f"d{lane_number}"] = weight + room
        for cards in plans:
            stack = (*mine, *cards)
            if not stack or len(cards) >= view["turns_left"] / 2:
                continue
            for break_card in (None, *breaks[:1]) if wall else (None,):
                damage = _expected_damage(lane, stack, break_card is not None)
                if damage > cards_left:
                    gain = _WIN
                else:
                    gain = weight * damage + room * max(0.0, damage - len(wall)) / 2
                points = gain / (len(cards) + 1) - 0.02 * len(cards)
                if cards:
                    text = f"p{cards[0]}{lane_number}"
                elif break_card:
                    text = f"u{break_card}{lane_number}"
                else:
                    text = f"c{lane_number}"
                best[text] = max(best.get(text, -9.0), points)
    legal = set(texts)
    return max(
        (text for text in best if text in legal),
        key=lambda text: best[text] + rng.random() / 10,
        default=texts[-1],
    )


def _expected_damage(lane: Mapping[str, Any], stack: Cards, has_break: bool) -> float:
    """Estimate the damage of a stack to a lane.

    If the wall lies face down, return the average over the powers that it may have.
    """
    wall, power = tuple(lane["defender"]), sum_stack(stack).power
    if not wall or lane["defender_open"]:
        theirs = sum_stack(wall).power
        if power < theirs:
            return -1.0
        return power if has_break else power - theirs + 1.0
    total = 0.0
    for theirs, probability in enumerate(_WALL_POWERS[min(len(wall), len(_WALL_POWERS)) - 1]):
        hits = power if has_break else power - theirs + 1.0
        total += probability * (hits if power >= theirs else -1.0)
    return total


def _defender_points(view: View, text: str) -> float:
    """Rate an action of the defender.

    Good actions build up walls, above all in lanes without one, or draw cards. Discarding a card,
    and combat, are worse than to pass.
    """
    if text == "--":
        return 0.0
    if text[0] == "x":
        return -50.0
    lane = view["lanes"][int(text[-1])]
    deck, wall, hand = len(lane["deck"]), tuple(lane["defender"]), view["hands"]["south"]
    if text[0] == "d":
        return 4.0 - 0.8 * len(hand) + 0.15 * deck - (0.0 if wall or deck > 4 else 10.0)
    # combat, also by a BREAK that is played face up
    if text[0] == "c" or text[:2] == "u>":
        return -20.0
    # a card is played: by how much it makes the wall stronger, and how many cards attack the lane
    card = text[1:3]
    gain = sum_stack((*wall, card)).power - sum_stack(wall).power
    threat = len(lane["attacker"])
    if not wall:
        # a TRAP or BOUNCE alone is a poor wall
        return (
            5.0 + 0.7 * max(0, 8 - deck) + gain + 2.0 * threat - (3.0 if card[0] in "@?" else 0.0)
        )
    return 2.0 * gain + 1.5 * threat - (3.0 if gain <= 0 else 0.0)
