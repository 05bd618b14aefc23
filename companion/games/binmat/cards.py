"""The 78 cards: their notation, and how they are written and parsed.

A card is a plain `str` of its value and its suit: `5&`, `a#` (ten), `>+` (BREAK). Source: the
rulebook's section "The Binmat Deck".
"""

from __future__ import annotations

from collections.abc import Mapping

from companion.core.errors import Malformed
from companion.core.i18n import Verbatim, say

Cards = tuple[str, ...]

SUITS = "&%+!^#"
VALUES = "23456789a@*?>"
MODIFIERS = "@*?>"
TRAP, WILD, BOUNCE, BREAK = tuple(MODIFIERS)

DECK: Cards = tuple(value + suit for suit in SUITS for value in VALUES)
"""All cards, suit by suit. The index of a card gives its marker."""

CARDS = frozenset(DECK)
NUMBERS: Mapping[str, int] = {
    value + suit: number for suit in SUITS for number, value in enumerate(VALUES[:9], start=2)
}
"""Value of each number card. Modifiers are not included."""

CARD_TEXTS: Mapping[str, str] = {card: card.replace("a", "10") for card in DECK}
"""Displayed text of each card: `10&` for `a&`."""
_SPELLINGS: Mapping[str, str] = {text: card for card, text in CARD_TEXTS.items()}


def parse_card(text: str) -> str:
    """Return `text` if it is a card such as `5&`. Raises `Malformed` otherwise.

    >>> parse_card("a#")
    'a#'
    """
    if text not in CARDS:
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
    cards = tuple(_SPELLINGS.get(word) or parse_card(word) for word in text.split())
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
