"""Sentences about turns and combats that several modules share.

A role is `attacker` or `defender`. Cards come as displayed text.
"""

from __future__ import annotations

from companion.core.i18n import joined, say, say_n
from companion.games.binmat.cards import CARD_TEXTS, Cards, cards_text

ATTACKER = say("attacker")
DEFENDER = say("defender")
"""Names of the roles. Where a player's name is known, it replaces the role, but not in names of
piles.
"""
BOUNCES = say("The combat bounces: no damage.")
TURNS_OVER = say("All turns are over.")
RUN_DRY = say("A lane deck has run dry.")
"""The two usual ends of a game."""


def declares(role: str, lane: int | None) -> str:
    """Say that a combat begins. `lane` is None if it is not known."""
    if lane is None:
        return say("{role!c} declares combat.", role=role)
    return say("{role!c} declares combat in lane {lane}.", role=role, lane=lane)


def draws(role: str, card: str | None, lane: int) -> str:
    """Say that a card is drawn. `card` is None unless it lay open."""
    if card is None:
        return say("{role!c} draws a card from lane {lane}.", role=role, lane=lane)
    return say(
        "{role!c} draws {card} from lane {lane}.", role=role, card=CARD_TEXTS[card], lane=lane
    )


def passes(role: str) -> str:
    """Say that a side passes."""
    return say("{role!c} passes.", role=role)


def to_lane_discard(role: str, cards: Cards) -> str:
    """Say that cards of a stack go to the lane discard."""
    return say_n(
        "{role!c}’s {cards} goes to the lane discard.",
        "{role!c}’s {cards} go to the lane discard.",
        len(cards),
        role=role,
        cards=cards_text(cards),
    )


def to_attacker_discard(role: str, cards: Cards) -> str:
    """Say that cards of a stack go to the attacker discard."""
    return say_n(
        "{role!c}’s {cards} goes to the attacker discard.",
        "{role!c}’s {cards} go to the attacker discard.",
        len(cards),
        role=role,
        cards=cards_text(cards),
    )


def sum_reason(
    numbers: tuple[int, ...], lifts: tuple[tuple[str, int], ...], total: int, power: int
) -> str | None:
    """Return an explanation of a stack's sum and power, clause by clause.

    Return None for a single number card that is a power of two. `lifts` has each WILD with the sum
    after it.
    """
    clauses = []
    if len(numbers) > 1:
        clauses.append(f"{' + '.join(map(str, numbers))} = {sum(numbers)}")
    elif numbers and lifts:
        clauses.append(str(numbers[0]))
    for place, (card, lifted) in enumerate(lifts):
        counts_two = not numbers and place == 0
        if counts_two:
            clauses.append(say("{card} counts 2", card=card))
        else:
            clauses.append(say("{card} lifts it to {sum}", card=card, sum=lifted))
    if total and not power:
        clauses.append(say("{sum} is not a power of two", sum=total))
    elif not total:
        clauses.append(say("No card counts"))
    if clauses:
        return say("{clauses}.", clauses=joined(", ", clauses))
    return None
