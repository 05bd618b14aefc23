"""What is told of turns and combats, sentence by sentence.

A role is `attacker` or `defender`, cards come as people read them.

Random playouts tell the same again and again: what has few variants is remembered.
"""

from __future__ import annotations

from functools import lru_cache

from companion.core.i18n import joined, say, say_n
from companion.games.binmat.cards import SHOWN, Cards, listed

_remembered = lru_cache(maxsize=4096)

FROM_ATTACKER_DECK = say("Attacker draws a card from the attacker deck.")
ATTACKER_RESHUFFLE = say("The attacker discard becomes the attacker deck.")
BREAK_BEGINS = say("A BREAK face up begins combat at once.")
BOUNCE_BEGINS = say("A BOUNCE face up begins combat at once.")
LIES_UP = say("The stack lies face up.")
CARD_LIES_UP = say("It stays face up in the stack.")
PASSED_AGAIN = say("It is the second pass in a row, or a later one.")
CANNOT_DRAW = say("The attacker has no card and no lane to draw from: the defender wins.")
NO_STACK = say("Defender has no stack here.")
NO_ATTACKER_STACK = say("Attacker has no stack here.")
LAY_UP = say("It lay face up before the combat.")
TOP_CARD = say("It was the top card of the other stack.")
BOUNCES = say("The combat bounces: no damage.")
HOLDS = say("Defender holds the lane.")
IS_EMPTY = say("The stack is empty.")
DEFENDER_EMPTY = say("The defender stack is empty.")
TRAPPED_ALL = say("TRAPs have emptied the attacker stack.")
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
    return say("{role!c} draws {card} from lane {lane}.", role=role, card=SHOWN[card], lane=lane)


@_remembered
def is_paid(card: str | None, others: int, lane: int) -> str:
    """Say that a lane deck gives what damage has cost: the card that lay open, if one did, and
    others."""
    if card is None:
        return say_n(
            "Attacker draws {n} card from lane {lane}.",
            "Attacker draws {n} cards from lane {lane}.",
            others,
            lane=lane,
        )
    if not others:
        return say("Attacker draws {card} from lane {lane}.", card=SHOWN[card], lane=lane)
    return say_n(
        "Attacker draws {card} and {n} more card from lane {lane}.",
        "Attacker draws {card} and {n} more cards from lane {lane}.",
        others,
        card=SHOWN[card],
        lane=lane,
    )


def lacks(lane: int, due: int, paid: int) -> str:
    """Return why the attacker has won: a lane deck has too few cards."""
    return say(
        "Lane {lane} owes {due} and has only {paid}: the attacker wins.",
        lane=lane,
        due=due,
        paid=paid,
    )


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
        "{role!c} plays {card} face up in lane {lane}.", role=role, card=SHOWN[card], lane=lane
    )


@_remembered
def discards(role: str, card: str, lane: int) -> str:
    """Say that a card is discarded. The attacker draws for it."""
    if role == "attacker":
        return say(
            "Attacker discards {card} and draws two from the attacker deck.", card=SHOWN[card]
        )
    return say("Defender discards {card} to lane {lane}.", card=SHOWN[card], lane=lane)


@_remembered
def passes(role: str) -> str:
    """Say that nothing is done."""
    return say("{role!c} passes.", role=role)


def loses_hand(role: str, cards: Cards) -> str:
    """Say that passing has cost the hand."""
    return say("{role!c} loses the hand: {cards}.", role=role, cards=listed(cards))


def all_turns_over(turns: int) -> str:
    """Return why the defender has won."""
    return say("All {turns} turns are over: the defender wins.", turns=turns)


# ---- combats ---------------------------------------------------------------------------------------------------------


def opens(role: str, cards: Cards) -> str:
    """Say that a stack is turned up."""
    return say("{role!c} opens {cards}.", role=role, cards=listed(cards))


def to_lane_discard(role: str, cards: Cards) -> str:
    """Return cards of a stack go to the lane discard."""
    return say_n(
        "{role!c}’s {cards} goes to the lane discard.",
        "{role!c}’s {cards} go to the lane discard.",
        len(cards),
        role=role,
        cards=listed(cards),
    )


def to_attacker_discard(role: str, cards: Cards) -> str:
    """Return cards of a stack go to the attacker discard."""
    return say_n(
        "{role!c}’s {cards} goes to the attacker discard.",
        "{role!c}’s {cards} go to the attacker discard.",
        len(cards),
        role=role,
        cards=listed(cards),
    )


@_remembered
def trap_takes(role: str, card: str, taken: str) -> str:
    """Say that a TRAP acts. It takes to its owner's discard pile."""
    if role == "attacker":
        return say(
            "Attacker’s {card} takes {taken} to the attacker discard.",
            card=SHOWN[card],
            taken=SHOWN[taken],
        )
    return say(
        "Defender’s {card} takes {taken} to the lane discard.", card=SHOWN[card], taken=SHOWN[taken]
    )


@_remembered
def bounced_by(in_attack: bool, in_defence: bool) -> str:
    """Return why a combat does no damage."""
    if in_attack and in_defence:
        return say("Both stacks hold a BOUNCE.")
    return (
        say("The attacker stack holds a BOUNCE.")
        if in_attack
        else say("The defender stack holds a BOUNCE.")
    )


@_remembered
def does_damage(damage: int) -> str:
    """Return how much it is."""
    return (
        say("Attacker does {damage} damage.", damage=damage)
        if damage
        else say("Attacker does no damage.")
    )


@_remembered
def owes(cards: int) -> str:
    """Return damage that no stack takes."""
    return say_n(
        "Lane deck owes the attacker {n} card.", "Lane deck owes the attacker {n} cards.", cards
    )


@_remembered
def break_counts_cards(in_attack: bool, power: int, cards: int) -> str:
    """Explain hackmud's damage by a BREAK in the attacker stack, or in the defender stack."""
    if in_attack:
        return say_n(
            "A BREAK in the attacker stack: the larger of power {power} and {n} defender card.",
            "A BREAK in the attacker stack: the larger of power {power} and {n} defender cards.",
            cards,
            power=power,
        )
    return say_n(
        "A BREAK in the defender stack: the larger of power {power} and {n} defender card.",
        "A BREAK in the defender stack: the larger of power {power} and {n} defender cards.",
        cards,
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
    """Two stacks of one power meet."""
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
