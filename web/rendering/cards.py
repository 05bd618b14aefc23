"""Cards, counters and clocks on pages: the ring of turns and seconds, stacks, fans and keys.

A game of cards has lanes. In a lane each side has a stack, and between them lies a deck. A fan is
the open cards of a hand, as the camera reads them.

The ring shows how many turns are left (its ticks) and how many seconds (its sweep). `_cards.html`
draws it, 720 units wide with its centre at (0, 0). `_lanes_picture.html` and `_lanes_sign.html`
draw lanes. To render these templates, Flask needs an application context.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from flask import render_template
from markupsafe import Markup

from companion.core.i18n import joined, say, say_n, with_heading
from companion.core.kit import SEATS, Card, Kit, Seat
from companion.games.screen import CardUi, ChoiceKey, Count, Lane, Pile
from companion.table.table_view import TableView
from web.rendering.svg import xy

# Maximum number of ticks of a ring. More would run together.
MAX_TICKS = 120
# Maximum limit in seconds whose ring has a mark for each second. A longer limit has twelve parts.
MAX_SECOND_MARKS_S = 30
# Maximum number of cards in one column of a stack. A stack has one column or two.
MAX_COLUMN_CARDS = 4


# ---- the ring ------------------------------------------------------------------------------------


def spokes(directions: Iterable[float], inner: float, outer: float) -> str:
    """Return radial strokes as one SVG path.

    The strokes point in these `directions`, which are fractions of a full turn clockwise from the
    top. They reach from the radius `inner` to the radius `outer`.
    """
    parts = []
    for direction in directions:
        # for `cmath` an angle of 0 points to the right, which is a quarter turn after the top
        spoke = cmath.rect(1, math.tau * (direction - 0.25))
        parts.append(f"M{xy(inner * spoke, '.1f')}L{xy(outer * spoke, '.1f')}")
    return "".join(parts)


def second_marks(limit_s: float) -> tuple[float, ...]:
    """Return the marks on the ring of a clock, as fractions of a full turn.

    There is a mark where each second of the limit begins. Limits above `MAX_SECOND_MARKS_S` have
    twelve equal parts instead.
    """
    if limit_s > MAX_SECOND_MARKS_S:
        return tuple(part / 12 for part in range(12))
    return tuple(second / limit_s for second in range(math.ceil(limit_s)))


class Ticks(NamedTuple):
    """The ticks of a counter around the ring, as SVG paths."""

    remaining: int
    """Number of ticks that are not spent."""
    others: str
    """Path of the remaining ticks except `now`."""
    now: str
    """Path of the last remaining tick."""
    just_spent: str
    """Path of the tick that was spent most recently."""
    spent: str
    """Path of the ticks that were spent before."""


def ticks(count: Count) -> Ticks:
    """Return the ticks of a counter, such as the turns of a game.

    There is one tick for each step of the counter. A counter of more than `MAX_TICKS` steps has
    `MAX_TICKS` ticks, each of which stands for several steps.
    """
    total = min(count.total, MAX_TICKS)
    # rounded up, so that the last tick goes with the last step
    remaining = math.ceil(count.number * total / count.total)
    directions = [index / total for index in range(total)]
    # Inner and outer radii of the strokes. The tick that is spent next and the one that was spent
    # last are the longest, and ticks that were spent earlier are the shortest.
    return Ticks(
        remaining,
        others=spokes(directions[: max(remaining - 1, 0)], 322, 350),
        now=spokes(directions[:remaining][-1:], 312, 358),
        just_spent=spokes(directions[remaining : remaining + 1], 312, 358),
        spent=spokes(directions[remaining + 1 :], 331, 337),
    )


# ---- cards ---------------------------------------------------------------------------------------


def cards_of(kit: Kit | None) -> Mapping[str, Card]:
    """Return the cards of a kit by name."""
    return {card.name: card for card in kit.deck.cards} if kit and kit.deck else {}


def card_text(kit: Kit | None, name: str) -> str:
    """Return a card's printed text, such as `10&` for `a&`, or an unknown name unchanged."""
    card = cards_of(kit).get(name)
    return f"{card.value}{card.suit}" if card else name


class VisibleCard(NamedTuple):
    """A card of a stack as a viewer sees it."""

    text: str
    """What is printed on it. Empty for a card back."""
    is_secret: bool
    """Whether the card is face down, and this viewer knows it but spectators do not."""


def visible_cards(
    kit: Kit | None, pile: Pile, public_pile: Pile, column_cards: int = MAX_COLUMN_CARDS
) -> tuple[list[VisibleCard], int]:
    """Return the top cards of a stack, bottom first, and the number of cards below them.

    `pile` is the stack as the viewer sees it, and `public_pile` as spectators do. Both have None
    for the back of a card. A stack of more than `column_cards` is drawn in two columns.
    """
    cards = []
    for index, name in enumerate(pile):
        # A card that spectators see, too, is no secret. Stacks of different heights cannot be
        # compared card by card, so all their cards count as seen.
        is_public = len(public_pile) != len(pile) or public_pile[index] is not None
        text = "" if name is None else card_text(kit, name)
        cards.append(VisibleCard(text, is_secret=name is not None and not is_public))
    max_cards = 2 * column_cards if len(cards) > column_cards else column_cards
    # the note "+3" for the cards that are not drawn takes the place of one card
    count_below = len(cards) - max_cards + 1 if len(cards) > max_cards else 0
    return cards[count_below:], count_below


def lane_words(kit: Kit | None, lane: Lane, names: Mapping[Seat, str]) -> str:
    """Describe a lane in sentences, as far as a viewer sees it. `names` are the sides' names."""
    parts: dict[str, object] = {
        "north": names[Seat.NORTH],
        "north_cards": _pile_words(kit, lane.north),
        "south": names[Seat.SOUTH],
        "south_cards": _pile_words(kit, lane.south),
        "deck": _pile_words(kit, lane.deck),
    }
    if not lane.discard:
        return say("{north} {north_cards}, {south} {south_cards}. Deck: {deck}.", **parts)
    return say(
        "{north} {north_cards}, {south} {south_cards}. Deck: {deck}, {number} discarded.",
        number=len(lane.discard),
        **parts,
    )


def _pile_words(kit: Kit | None, pile: Pile) -> str:
    if not pile:
        return say("no card")
    visible = " ".join(card_text(kit, card) for card in pile if card is not None)
    count = say_n("{n} card", "{n} cards", len(pile))
    return joined(" ", (count, f"({visible})")) if visible else count


def read_fans(view: TableView) -> dict[Seat, tuple[str, ...]]:
    """Return the open cards that the camera reads for each seat. `X` is an unreadable card."""
    entry = view.board.card_ui.entry if view.board.card_ui else None
    fans: dict[Seat, tuple[str, ...]] = dict.fromkeys(SEATS, ())
    for seat, zone in entry.zones.items() if entry else ():
        fans[seat] = tuple(view.board.fans.get(zone, ()))
    return fans


# ---- what can be tapped --------------------------------------------------------------------------


def acting_seat(view: TableView) -> Seat | None:
    """Return the seat on turn, or None if no seat or both seats have to act."""
    seats = [seat for seat in SEATS if view.seats[seat].is_awaited]
    return seats[0] if len(seats) == 1 else None


def choices_json(card_ui: CardUi) -> list[list[str | None]]:
    """Return the legal actions as lists for a script: notation, key, card, lane."""
    return [[choice.text, choice.key, choice.card, choice.lane] for choice in card_ui.choices]


def keys_without_card(card_ui: CardUi) -> list[tuple[ChoiceKey, str | None]]:
    """Return the keys that need neither card nor lane.

    Each comes with its action in notation, or with None if its action is not legal now.
    """
    actions = {
        choice.key: choice.text
        for choice in card_ui.choices
        if choice.card is None and choice.lane is None
    }
    return [(key, actions.get(key.name)) for key in card_ui.keys]


def main_action(view: TableView) -> tuple[str, str] | None:
    """Return label and action of the large key, or None if there is nothing to press.

    It confirms the action that the camera reads from cards or pieces on the table. Otherwise it is
    the game's main key, such as the one that ends a turn.
    """
    if view.own.laid_action:
        return say("That is right"), view.own.laid_action
    if view.board.card_ui:
        for key, text in keys_without_card(view.board.card_ui):
            if key.is_main and text:
                return key.label, text
    return None


# ---- small pictures ------------------------------------------------------------------------------


def lanes_sign(kit: Kit) -> Markup:
    """Draw a small icon of a board of lanes. Each lane is a strip with its deck."""
    return Markup(render_template("_lanes_sign.html", lanes=kit.board.files))


def lanes_picture(kit: Kit, lanes: Sequence[Lane]) -> Markup:
    """Draw lanes as columns. A high stack shows its top cards and the number of those below."""
    names = {seat: kit.sides[seat].name for seat in SEATS}
    words = [
        with_heading(say("Lane {lane}", lane=lane.name), lane_words(kit, lane, names))
        for lane in lanes
    ]
    page = render_template("_lanes_picture.html", kit=kit, lanes=lanes, words=joined(" ", words))
    return Markup(page)
