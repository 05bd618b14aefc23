"""Actions of the full game: their notation, which of them are legal, and why others are not.

Source: the rulebook's sections "Drawing a Card" and "Playing a Card", and the rulings.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from companion.core.errors import Illegal, Malformed
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.binmat.cards import BOUNCE, BREAK, CARD_TEXTS, DECK
from companion.games.binmat.combat import ATTACKER, DEFENDER
from companion.games.binmat.state import LANES, State, can_draw

PASS = "--"
DRAW, DOWN, UP, COMBAT, DISCARD = "dpucx"
ATTACKER_PILE = 6
"""Value of `CardAction.lane` for the attacker deck and its discard pile, written `a`."""
_PLACES = "012345a"


class CardAction(NamedTuple):
    """The parts of an action: its letter (`-` for a pass), the card, and the lane.

    The lane is -1 for a pass.
    """

    letter: str
    card: str = ""
    lane: int = -1


def _orders() -> dict[str, CardAction]:
    """Return every action that can be written, by its notation."""
    orders = {PASS: CardAction("-")}
    orders |= {f"{DRAW}{place}": CardAction(DRAW, "", _PLACES.index(place)) for place in _PLACES}
    orders |= {f"{COMBAT}{lane}": CardAction(COMBAT, "", lane) for lane in LANES}
    for card in DECK:
        orders |= {
            f"{face}{card}{lane}": CardAction(face, card, lane)
            for face in (DOWN, UP)
            for lane in LANES
        }
        orders |= {
            f"{DISCARD}{card}{place}": CardAction(DISCARD, card, _PLACES.index(place))
            for place in _PLACES
        }
    return orders


ORDERS: Mapping[str, CardAction] = _orders()
"""Every action by its notation. The notation itself is used as the action."""

_EXPECTED = {
    DRAW: say("d needs a lane from 0 to 5, or a for the attacker deck, such as d3"),
    COMBAT: say("c needs a lane from 0 to 5, such as c3"),
    DOWN: say("p needs a card and a lane from 0 to 5, such as p8&3 (a is 10)"),
    UP: say("u needs a card and a lane from 0 to 5, such as u>+2 (a is 10)"),
    DISCARD: say(
        "x needs a card and a lane from 0 to 5, or a for the attacker discard, such as x8&3"
    ),
}


def parse_order(text: str) -> str:
    """Return the action of a notation. Raises `Malformed` with the expected form."""
    if text[:1] in (DOWN, UP, DISCARD) and text[1:3] == "10":
        text = f"{text[0]}a{text[3:]}"  # a ten as it is displayed
    if text in ORDERS:
        return text
    expected = _EXPECTED.get(
        text[:1],
        say("An action is d3 or da, p8&3, u>+2, c3, -- or, in the hackmud edition, x8&3 or x8&a"),
    )
    raise Malformed(expected)


class Reason(StrEnum):
    """Why the rules do not allow an action."""

    NOTHING_TO_DRAW = "nothing_to_draw"
    LANE_DEFENDED = "lane_defended"
    ATTACKER_ONLY = "attacker_only"
    NOT_IN_HAND = "not_in_hand"
    WRONG_FACE = "wrong_face"
    STACK_EMPTY = "stack_empty"
    STACK_NOT_EMPTY = "stack_not_empty"
    BREAK_LIES_OPEN = "break_lies_open"
    NO_ATTACKER_STACK = "no_attacker_stack"
    OTHER_EDITION = "other_edition"
    OTHER_PILE = "other_pile"
    OTHER_WAY = "other_way"


_Refusal = tuple[Reason, str, str] | None


def legal(state: State, seat: Seat) -> list[str]:
    """Return all legal actions of the seat on turn.

    Draws come first, then plays by card, combats and discards. The pass is last.
    """
    hand = state.hands[seat.number]
    texts = [f"{DRAW}{place}" for place in _PLACES]
    texts += [f"{face}{card}{lane}" for card in hand for lane in LANES for face in (DOWN, UP)]
    texts += [f"{COMBAT}{lane}" for lane in LANES]
    texts += [f"{DISCARD}{card}{place}" for card in hand for place in _PLACES]
    return [*(text for text in texts if _refusal(state, seat, ORDERS[text]) is None), PASS]


def check_order(state: State, seat: Seat, action: str) -> None:
    """Raise `Illegal` with the reason and the rule unless the action is legal.

    The message names only the card that was sent, and reveals nothing that its sender cannot see.
    """
    order = ORDERS.get(action)
    if order is None:
        text = say("The full game has no such action: draw, play, declare combat or pass")
        raise Illegal(Reason.OTHER_WAY, text, "turns")
    if refusal := _refusal(state, seat, order):
        raise Illegal(*refusal)


def _refusal(state: State, seat: Seat, order: CardAction) -> _Refusal:
    """Return the reason, message and rule that forbid this action, or None if it is legal."""
    match order.letter:
        case "d":
            return _draw_refusal(state, seat, order.lane)
        case "c":
            return _combat_refusal(state, seat, order.lane)
        case "p" | "u":
            return _hand_refusal(state, seat, order) or _play_refusal(state, seat, order)
        case "x":
            return _discard_refusal(state, seat, order)
    return None


def may_fight(state: State, lane: int) -> bool:
    """Return whether the lane has a stack to declare combat with.

    It needs an attacker stack. In the hackmud edition a defender stack is enough.
    """
    return bool(state.attack[lane] or (state.is_hackmud and state.defence[lane]))


def _draw_refusal(state: State, seat: Seat, lane: int) -> _Refusal:
    if lane == ATTACKER_PILE:
        if seat is DEFENDER:
            return (
                Reason.ATTACKER_ONLY,
                say("Only the attacker draws from the attacker deck"),
                "drawing",
            )
        if state.attacker_deck or state.attacker_discard:
            return None
        return (
            Reason.NOTHING_TO_DRAW,
            say("The attacker deck and its discard pile are empty"),
            "reshuffle",
        )
    has_cards = bool(state.decks[lane] or state.discards[lane])
    if can_draw(state, lane) if seat is ATTACKER else has_cards:
        return None
    if seat is ATTACKER and state.defence[lane]:
        text = say(
            "A defender stack lies in front of the deck of lane {lane}: draw from a lane without "
            "one",
            lane=lane,
        )
        return Reason.LANE_DEFENDED, text, "drawing"
    text = say("The deck and the discard pile of lane {lane} are empty", lane=lane)
    return Reason.NOTHING_TO_DRAW, text, "reshuffle"


def _combat_refusal(state: State, seat: Seat, lane: int) -> _Refusal:
    if seat is DEFENDER and state.is_hackmud:
        return (
            Reason.ATTACKER_ONLY,
            say("Only the attacker declares combat in the hackmud edition"),
            "combat",
        )
    if may_fight(state, lane):
        return None
    if state.is_hackmud:
        text = say("Lane {lane} has no stack: combat needs one", lane=lane)
    else:
        text = say("Lane {lane} has no attacker stack: combat needs one", lane=lane)
    return Reason.NO_ATTACKER_STACK, text, "combat"


def _hand_refusal(state: State, seat: Seat, order: CardAction) -> _Refusal:
    if order.card in state.hands[seat.number]:
        return None
    return (
        Reason.NOT_IN_HAND,
        say("{card} is not in your hand", card=CARD_TEXTS.get(order.card, order.card)),
        f"playing-{'attacker' if seat is ATTACKER else 'defender'}",
    )


def _play_refusal(state: State, seat: Seat, order: CardAction) -> _Refusal:
    lane = order.lane
    value = order.card[0]
    is_down = order.letter == DOWN
    stack = (state.attack if seat is ATTACKER else state.defence)[lane]
    if value == BREAK and not stack:
        text = say("Your stack in lane {lane} is empty: a BREAK needs a card below it", lane=lane)
        return Reason.STACK_EMPTY, text, "break-up"
    if seat is ATTACKER:
        if value == BOUNCE and not is_down and stack:
            text = say(
                "Your stack in lane {lane} is not empty: a BOUNCE goes face up only on an empty "
                "one",
                lane=lane,
            )
            return Reason.STACK_NOT_EMPTY, text, "bounce-up"
        if is_down or value in (BOUNCE, BREAK) or state.is_hackmud:
            return None
        text = say("The attacker plays only BOUNCE and BREAK face up")
        return Reason.WRONG_FACE, text, "playing-attacker"
    is_up = state.defence_up[lane]
    if is_down and is_up:
        text = say("Your stack in lane {lane} lies face up: play face up there", lane=lane)
        return Reason.WRONG_FACE, text, "playing-defender"
    # all cards of a stack have one face, and only in the hackmud edition may the first be face up
    # (ruling)
    if is_down or (value != BREAK and (is_up or (state.is_hackmud and not stack))):
        return None
    if value != BREAK:
        text = say(
            "Your stack in lane {lane} does not lie face up: play face down there", lane=lane
        )
        return Reason.WRONG_FACE, text, "playing-defender"
    if not state.attack[lane]:
        text = say(
            "Lane {lane} has no attacker stack to fight: a BREAK face up needs one", lane=lane
        )
        return Reason.NO_ATTACKER_STACK, text, "break-up"
    if is_up and any(card[0] == BREAK for card in stack):
        text = say("A BREAK lies face up in your stack in lane {lane} already", lane=lane)
        return Reason.BREAK_LIES_OPEN, text, "break-up"
    return None


def _discard_refusal(state: State, seat: Seat, order: CardAction) -> _Refusal:
    if not state.is_hackmud:
        return (
            Reason.OTHER_EDITION,
            say("Cards are discarded only in the hackmud edition"),
            "discarding",
        )
    if seat is DEFENDER and order.lane == ATTACKER_PILE:
        text = say("The defender discards to a lane: expected 0 to 5 after the card")
        return Reason.OTHER_PILE, text, "discarding"
    if seat is ATTACKER and order.lane != ATTACKER_PILE:
        text = say("The attacker discards to the attacker discard: expected a after the card")
        return Reason.OTHER_PILE, text, "discarding"
    if refusal := _hand_refusal(state, seat, order):
        return refusal
    if seat is ATTACKER and not (state.attacker_deck or state.attacker_discard):
        text = say(
            "The attacker deck and its discard pile are empty: there is nothing to draw for it"
        )
        return Reason.NOTHING_TO_DRAW, text, "discarding"
    return None
