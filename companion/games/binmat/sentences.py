"""What is told of turns and combats, sentence by sentence.

A role is `attacker` or `defender`, cards come as people read them.

Random playouts tell the same again and again: what has few variants is remembered.
"""

from __future__ import annotations

from functools import lru_cache

from companion.core.i18n import joined, say, say_n
from companion.games.binmat.cards import CARD_TEXTS, Cards, cards_text

_remembered = lru_cache(maxsize=4096)

ATTACKER, DEFENDER = say("attacker"), say("defender")
"""The roles: where a player's name is known it is said instead. Piles keep their names."""
FROM_ATTACKER_DECK = say("{role!c} draws a card from the attacker deck.", role=ATTACKER)
ATTACKER_RESHUFFLE = say("The attacker discard becomes the attacker deck.")
BREAK_BEGINS = say("A BREAK face up begins combat at once.")
BOUNCE_BEGINS = say("A BOUNCE face up begins combat at once.")
LIES_UP = say("The stack lies face up.")
CARD_LIES_UP = say("It stays face up in the stack.")
PASSED_AGAIN = say("It is the second pass in a row, or a later one.")
CANNOT_DRAW = say("{role!c} has no card, and no lane to draw from.", role=ATTACKER)
LAY_UP = say("It lay face up before the combat.")
TOP_CARD = say("It was the top card of the other stack.")
BOUNCES = say("The combat bounces: no damage.")
HOLDS = say("{role!c} holds the lane.", role=DEFENDER)
IS_EMPTY = say("The stack is empty.")
TRAPPED_ALL = say("{role!c} has lost all cards to TRAPs.", role=ATTACKER)
NO_POWER = say("Both powers are 0.")

# Titles of the parts of a combat.
CARDS_OPEN, TRAPS, BOUNCE_STEP = say("Cards open"), say("Traps"), say("Bounce")
POWERS, OUTCOME, DAMAGE = say("Powers"), say("Outcome"), say("Damage")

# ---- turns -----------------------------------------------------------------------------------------------------------


@_remembered
def declares(role: str, lane: int | None) -> str:
    """Say that combat begins. The lane may not be known."""
    if lane is None:
        return say("{role!c} declares combat.", role=role)
    return say("{role!c} declares combat in lane {lane}.", role=role, lane=lane)


@_remembered
def draws(role: str, card: str | None, lane: int) -> str:
    """Say that a card is drawn, by name where it lay open."""
    if card is None:
        return say("{role!c} draws a card from lane {lane}.", role=role, lane=lane)
    return say(
        "{role!c} draws {card} from lane {lane}.", role=role, card=CARD_TEXTS[card], lane=lane
    )


@_remembered
def is_paid(card: str | None, others: int, lane: int) -> str:
    """Say that a lane deck gives what damage has cost: the card that lay open, if one did, and
    others."""
    if card is None:
        return say_n(
            "{role!c} draws {n} card from lane {lane}.",
            "{role!c} draws {n} cards from lane {lane}.",
            others,
            role=ATTACKER,
            lane=lane,
        )
    if not others:
        return draws(ATTACKER, card, lane)
    return say_n(
        "{role!c} draws {card} and {n} more card from lane {lane}.",
        "{role!c} draws {card} and {n} more cards from lane {lane}.",
        others,
        role=ATTACKER,
        card=CARD_TEXTS[card],
        lane=lane,
    )


def lacks(lane: int, due: int, paid: int) -> str:
    """Return why the attacker has won: a lane deck has too few cards."""
    return say("Lane {lane} owes {due} and has only {paid}.", lane=lane, due=due, paid=paid)


@_remembered
def reshuffles(lane: int) -> str:
    """Say that an empty lane deck is made anew."""
    return say("Lane {lane}’s discard pile becomes its deck.", lane=lane)


@_remembered
def plays_down(role: str, lane: int) -> str:
    """Say that a card is played that nobody else sees."""
    return say("{role!c} plays a card face down in lane {lane}.", role=role, lane=lane)


@_remembered
def plays_up(role: str, card: str, lane: int) -> str:
    """Say that a card is played openly."""
    return say(
        "{role!c} plays {card} face up in lane {lane}.", role=role, card=CARD_TEXTS[card], lane=lane
    )


@_remembered
def discards(role: str, card: str, lane: int) -> str:
    """Say that a card is discarded. The attacker draws for it."""
    if role == "attacker":
        return say(
            "{role!c} discards {card} and draws two from the attacker deck.",
            role=role,
            card=CARD_TEXTS[card],
        )
    return say(
        "{role!c} discards {card} to lane {lane}.", role=role, card=CARD_TEXTS[card], lane=lane
    )


@_remembered
def passes(role: str) -> str:
    """Say that nothing is done."""
    return say("{role!c} passes.", role=role)


def loses_hand(role: str, cards: Cards) -> str:
    """Say that passing has cost the hand."""
    return say("{role!c} loses the hand: {cards}.", role=role, cards=cards_text(cards))


def all_turns_over(turns: int) -> str:
    """Return why the defender has won."""
    return say("All {turns} turns are over.", turns=turns)


# ---- combats ---------------------------------------------------------------------------------------------------------


def opens(role: str, cards: Cards) -> str:
    """Say that a stack is turned up."""
    return say("{role!c} opens {cards}.", role=role, cards=cards_text(cards))


@_remembered
def has_no_stack(role: str) -> str:
    """Say that a side has no card where combat is."""
    return say("{role!c} has no stack here.", role=role)


def to_lane_discard(role: str, cards: Cards) -> str:
    """Return cards of a stack go to the lane discard."""
    return say_n(
        "{role!c}’s {cards} goes to the lane discard.",
        "{role!c}’s {cards} go to the lane discard.",
        len(cards),
        role=role,
        cards=cards_text(cards),
    )


def to_attacker_discard(role: str, cards: Cards) -> str:
    """Return cards of a stack go to the attacker discard."""
    return say_n(
        "{role!c}’s {cards} goes to the attacker discard.",
        "{role!c}’s {cards} go to the attacker discard.",
        len(cards),
        role=role,
        cards=cards_text(cards),
    )


@_remembered
def trap_takes(role: str, card: str, taken: str) -> str:
    """Say that a TRAP acts. It takes to its owner's discard pile."""
    if role == "attacker":
        return say(
            "{role!c}’s {card} takes {taken} to the attacker discard.",
            role=role,
            card=CARD_TEXTS[card],
            taken=CARD_TEXTS[taken],
        )
    return say(
        "{role!c}’s {card} takes {taken} to the lane discard.",
        role=role,
        card=CARD_TEXTS[card],
        taken=CARD_TEXTS[taken],
    )


@_remembered
def bounced_by(in_attack: bool, in_defence: bool) -> str:
    """Return why a combat does no damage."""
    if in_attack and in_defence:
        return say("Both stacks hold a BOUNCE.")
    return say("{role!c} has a BOUNCE.", role=ATTACKER if in_attack else DEFENDER)


@_remembered
def does_damage(damage: int) -> str:
    """Return how much it is."""
    return (
        say("{role!c} does {damage} damage.", role=ATTACKER, damage=damage)
        if damage
        else say("{role!c} does no damage.", role=ATTACKER)
    )


@_remembered
def owes(cards: int) -> str:
    """Return damage that no stack takes."""
    return say_n("The lane deck owes {n} card.", "The lane deck owes {n} cards.", cards)


@_remembered
def break_counts_cards(in_attack: bool, power: int, cards: int) -> str:
    """Explain hackmud's damage by a BREAK of the attacker, or of the defender."""
    return say_n(
        "{role!c} has a BREAK: the larger of power {power} and {other}’s {n} card.",
        "{role!c} has a BREAK: the larger of power {power} and {other}’s {n} cards.",
        cards,
        role=ATTACKER if in_attack else DEFENDER,
        other=DEFENDER,
        power=power,
    )


@_remembered
def differ(power: int, other: int) -> str:
    """Return the usual damage."""
    return say(
        "{power} against {other}: {damage} damage",
        power=power,
        other=other,
        damage=power - other + 1,
    )


@_remembered
def is_worth(power: int) -> str:
    """Return what a sum is worth."""
    return say("power {power}", power=power)


def level(totals: dict[str, object]) -> str:
    """Say that two stacks of one power meet."""
    return say("{total} against {other}.", **totals)


@_remembered
def lifted_to(total: int) -> str:
    """Return what a WILD adds."""
    return say("to {sum}", sum=total)


@_remembered
def comes_to(role: str, total: int, power: int) -> str:
    """Return what a stack counts."""
    return say("{role!c} has {total}: power {power}.", role=role, total=total, power=power)


@_remembered
def sum_reason(
    numbers: tuple[int, ...], lifts: tuple[tuple[str, int], ...], total: int, power: int
) -> str | None:
    """Return why a stack with cards counts so much, clause by clause. None: it is one number card.

    `lifts` are its WILDs with the sum after each.
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
    return say("{clauses}.", clauses=joined(", ", clauses)) if clauses else None
