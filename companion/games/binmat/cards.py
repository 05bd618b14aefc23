"""The 78 cards of BINMAT: their notation, their text for people, and the parsing of both.

A card is a `str` of two characters, its value and its suit: `5&`, `a#` (a ten), `>+` (a BREAK).
So `card[0]` is its value and `card[1]` its suit. In this package an open card is one that lies face
up. Source: the rulebook's section "The Binmat Deck".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from companion.core.errors import Malformed
from companion.core.i18n import Verbatim, say

# Cards of a hand, pile or stack. The field that holds them states their order.
Cards = tuple[str, ...]

SUITS = "&%+!^#"
# Values of a suit: the numbers 2 to 10, where `a` is 10, and the four modifiers.
VALUES = "23456789a@*?>"

# Values of the four modifiers, and what they do. `combat.py` carries out their rules in a combat,
# and `turn.py` the rules of a card that is played face up.

# Takes the top card of the other stack, if it lay face down before: `Combat._spring_trap`.
TRAP = "@"
# Lifts the sum of its own stack to the next power of two: `combat.sum_stack`.
WILD = "*"
# Ends a combat without damage, and goes to the other side's discard: `Combat._end_by_bounce`. In
# the rulebook edition the attacker may also play it face up on an empty stack. That begins no
# combat but turns the defender stack face up: `turn.py`, `_turn_up_defender_by_bounce`. In the
# hackmud edition it begins combat.
BOUNCE = "?"
# In the attacker stack, makes the attacker's whole power the damage: `Combat._damage_and_formula`.
# In the hackmud edition it does so in either stack, and a larger defender stack makes the damage
# larger still. Played face up, it begins combat.
BREAK = ">"

# All cards, suit by suit. The index of a card gives its marker.
DECK: Cards = tuple(value + suit for suit in SUITS for value in VALUES)

# Value of each number card. Modifiers are not included.
CARD_NUMBERS: Mapping[str, int] = {
    value + suit: number for suit in SUITS for number, value in enumerate(VALUES[:9], start=2)
}

# Displayed text of each card: `10&` for `a&`.
CARD_TEXTS: Mapping[str, str] = {card: card.replace("a", "10") for card in DECK}

_CARD_OF_TEXT: Mapping[str, str] = {text: card for card, text in CARD_TEXTS.items()}


def parse_card(text: str) -> str:
    """Return `text` if it is a card such as `5&`. Raises `Malformed` otherwise.

    >>> parse_card("a#")
    'a#'
    """
    if text not in CARD_TEXTS:
        message = say(
            "“{text}” is not a card: expected a value of {values} (a is 10) and a suit of {suits}, "
            "as in 5&",
            text=Verbatim(text),
            values=" ".join(VALUES),
            suits=" ".join(SUITS),
        )
        raise Malformed(message)
    return text


def parse_cards(text: str) -> Cards:
    """Return the cards of a text such as `10& 3% >+`, separated by spaces.

    A ten may also be written `a&`. Raises `Malformed` for anything else, and for a card that is
    named twice.
    """
    cards = tuple(_CARD_OF_TEXT.get(word) or parse_card(word) for word in text.split())
    for card in cards:
        if cards.count(card) > 1:
            raise Malformed(say("{card} is named twice: there is one of each card", card=card))
    return cards


def cards_text(cards: Cards) -> str:
    """Return cards as displayed text, separated by spaces.

    >>> cards_text(("a&", "3%"))
    '10& 3%'
    """
    return " ".join([CARD_TEXTS[card] for card in cards])


def separate_bounces(stack: Sequence[str]) -> tuple[Cards, Cards]:
    """Return the BOUNCEs of a stack, and its other cards.

    >>> separate_bounces(("5&", "?%", "?#"))
    (('?%', '?#'), ('5&',))
    """
    bounces = tuple([card for card in stack if card[0] == BOUNCE])
    return bounces, tuple([card for card in stack if card[0] != BOUNCE])
