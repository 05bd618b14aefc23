"""Actions of the full game of BINMAT: their notation, which are legal, and why others are not.

In the full game the program deals, and every action is sent to it. The other way to play is with
real cards, where the program only counts turns and resolves combats (see `real_cards.py`).

An action is its notation, a `str`: the letter of its kind, the card if there is one, and the lane:

- `d3` draws from the deck of lane 3, and `da` from the attacker deck.
- `p8&3` plays 8& face down in lane 3, and `u8&3` face up.
- `c3` declares combat in lane 3.
- `x8&3` discards 8& to lane 3, and `x8&a` to the attacker discard (hackmud edition).
- `--` is a pass.

`ACTION_PARTS` takes an action apart. A card is a value and a suit (see `cards.py`), so `card[0]` is
its value. Source: the rulebook's sections "Drawing a Card" and "Playing a Card", and the rulings.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from companion.core.errors import Illegal, Malformed
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.binmat.cards import BOUNCE, BREAK, CARD_TEXTS, DECK, Cards
from companion.games.binmat.events import ATTACKER, DEFENDER
from companion.games.binmat.state import State, can_draw

PASS = "--"
# Letter of each kind of action, with which its notation begins.
DRAW = "d"
PLAY_DOWN = "p"
PLAY_UP = "u"
COMBAT = "c"
DISCARD = "x"
_PLAYS = (PLAY_DOWN, PLAY_UP)
# Value of `ActionParts.lane` for the attacker deck and its discard pile.
ATTACKER_PILE = 6
# Character of each lane in the notation, by its number. The last one is that of `ATTACKER_PILE`.
_LANE_CHARACTERS = "012345a"


class ActionParts(NamedTuple):
    """The parts of an action: its kind, the card, and the lane."""

    kind: str
    """`DRAW`, `PLAY_DOWN`, `PLAY_UP`, `COMBAT`, `DISCARD`, or `-` for a pass."""
    card: str = ""
    """Card that is played or discarded, else empty."""
    lane: int = -1
    """Lane from 0 to 5 or `ATTACKER_PILE`, and -1 for a pass."""


def _all_action_parts() -> dict[str, ActionParts]:
    """Return the parts of every action by its notation. Plays and combats need one of the lanes."""
    parts = {PASS: ActionParts("-")}
    for lane, character in enumerate(_LANE_CHARACTERS):
        kinds_without_card = [DRAW]
        kinds_with_card = [DISCARD]
        if lane != ATTACKER_PILE:
            kinds_without_card.append(COMBAT)
            kinds_with_card += _PLAYS
        for kind in kinds_without_card:
            parts[kind + character] = ActionParts(kind, "", lane)
        for kind in kinds_with_card:
            parts |= {kind + card + character: ActionParts(kind, card, lane) for card in DECK}
    return parts


# The parts of every action that can be written, legal or not, by its notation.
ACTION_PARTS: Mapping[str, ActionParts] = _all_action_parts()

# Sentence on the expected form, by the first letter of a text that is no action.
_EXPECTED_FORMS = {
    DRAW: say("d needs a lane from 0 to 5, or a for the attacker deck, such as d3"),
    COMBAT: say("c needs a lane from 0 to 5, such as c3"),
    PLAY_DOWN: say("p needs a card and a lane from 0 to 5, such as p8&3 (a is 10)"),
    PLAY_UP: say("u needs a card and a lane from 0 to 5, such as u>+2 (a is 10)"),
    DISCARD: say(
        "x needs a card and a lane from 0 to 5, or a for the attacker discard, such as x8&3"
    ),
}


def parse_action(text: str) -> str:
    """Return the action of a notation. Raises `Malformed` with the expected form."""
    # A ten may also be written as it is displayed.
    if text[:1] in (PLAY_DOWN, PLAY_UP, DISCARD) and text[1:3] == "10":
        text = f"{text[0]}a{text[3:]}"
    if text in ACTION_PARTS:
        return text
    expected = _EXPECTED_FORMS.get(
        text[:1],
        say("An action is d3 or da, p8&3, u>+2, c3, -- or, in the hackmud edition, x8&3 or x8&a"),
    )
    raise Malformed(expected)


# ---- legal actions and refusals ------------------------------------------------------------------


class Reason(StrEnum):
    """Why the rules do not allow an action. Programs read it, people read the message."""

    # A deck and its discard pile are both empty.
    NOTHING_TO_DRAW = "nothing_to_draw"
    # A defender stack blocks the lane deck for the attacker.
    LANE_DEFENDED = "lane_defended"
    # The defender may not do this.
    ATTACKER_ONLY = "attacker_only"
    NOT_IN_HAND = "not_in_hand"
    # The card must be played with its other face up.
    WRONG_FACE = "wrong_face"
    # A BREAK needs a card below it.
    STACK_EMPTY = "stack_empty"
    # A BOUNCE goes face up only on an empty stack.
    STACK_NOT_EMPTY = "stack_not_empty"
    # The stack shows a BREAK already.
    BREAK_LIES_OPEN = "break_lies_open"
    # Combat needs an attacker stack.
    NO_ATTACKER_STACK = "no_attacker_stack"
    # Only the hackmud edition has this action.
    OTHER_EDITION = "other_edition"
    # This side discards to another pile.
    OTHER_PILE = "other_pile"
    # Only a game with real cards has this action.
    REAL_CARDS_ONLY = "other_way"


def legal_actions(state: State, seat: Seat) -> list[str]:
    """Return all legal actions of the seat on turn.

    Draws come first, then plays by card, combats and discards. The pass is last.
    """
    hand = state.hands[seat.number]
    lanes = _LANE_CHARACTERS[:ATTACKER_PILE]
    candidates = [DRAW + lane for lane in _LANE_CHARACTERS]
    candidates += [kind + card + lane for card in hand for lane in lanes for kind in _PLAYS]
    candidates += [COMBAT + lane for lane in lanes]
    candidates += [DISCARD + card + lane for card in hand for lane in _LANE_CHARACTERS]
    legal = [text for text in candidates if _refusal(state, seat, ACTION_PARTS[text]) is None]
    return [*legal, PASS]


def check_action(state: State, seat: Seat, action: str) -> None:
    """Raise `Illegal` with the reason and the rule unless the action is legal.

    The message names only the card that was sent, and reveals nothing that its sender cannot see.
    """
    parts = ACTION_PARTS.get(action)
    if parts is None:
        raise Illegal(
            Reason.REAL_CARDS_ONLY,
            say("The full game has no such action: draw, play, declare combat or pass"),
            "turns",
        )
    refusal = _refusal(state, seat, parts)
    if refusal:
        raise refusal


def _refusal(state: State, seat: Seat, parts: ActionParts) -> Illegal | None:
    """Return why an action is not legal, or None if it is."""
    kind = parts.kind
    if kind == DRAW:
        return _draw_refusal(state, seat, parts.lane)
    if kind == COMBAT:
        return _combat_refusal(state, seat, parts.lane)
    if kind in _PLAYS:
        return _missing_card_refusal(state, seat, parts.card) or _play_refusal(state, seat, parts)
    if kind == DISCARD:
        return _discard_refusal(state, seat, parts)
    return None


def has_combat_stack(state: State, lane: int) -> bool:
    """Return whether the lane has a stack to declare combat with.

    It needs an attacker stack. In the hackmud edition a defender stack is enough.
    """
    return bool(state.attacker_stacks[lane] or (state.is_hackmud and state.defender_stacks[lane]))


def _draw_refusal(state: State, seat: Seat, lane: int) -> Illegal | None:
    """Return why a seat may not draw (rulebook, "Drawing a Card"), or None if it may.

    The defender draws from any lane, the attacker from undefended lanes and the attacker deck.
    """
    if lane == ATTACKER_PILE:
        if seat is DEFENDER:
            return Illegal(
                Reason.ATTACKER_ONLY,
                say("Only the attacker draws from the attacker deck"),
                "drawing",
            )
        if state.attacker_deck or state.attacker_discard:
            return None
        return Illegal(
            Reason.NOTHING_TO_DRAW,
            say("The attacker deck and its discard pile are empty"),
            "reshuffle",
        )
    if seat is ATTACKER:
        may_draw = can_draw(state, lane)
    else:
        may_draw = bool(state.decks[lane] or state.discards[lane])
    if may_draw:
        return None
    if seat is ATTACKER and state.defender_stacks[lane]:
        return Illegal(
            Reason.LANE_DEFENDED,
            say(
                "A defender stack lies in front of the deck of lane {lane}: draw from a lane "
                "without one",
                lane=lane,
            ),
            "drawing",
        )
    return Illegal(
        Reason.NOTHING_TO_DRAW,
        say("The deck and the discard pile of lane {lane} are empty", lane=lane),
        "reshuffle",
    )


def _combat_refusal(state: State, seat: Seat, lane: int) -> Illegal | None:
    """Return why a seat may not declare combat (rulebook, "Combat", and rulings), or None."""
    if seat is DEFENDER and state.is_hackmud:
        return Illegal(
            Reason.ATTACKER_ONLY,
            say("Only the attacker declares combat in the hackmud edition"),
            "combat",
        )
    if has_combat_stack(state, lane):
        return None
    if state.is_hackmud:
        text = say("Lane {lane} has no stack: combat needs one", lane=lane)
    else:
        text = say("Lane {lane} has no attacker stack: combat needs one", lane=lane)
    return Illegal(Reason.NO_ATTACKER_STACK, text, "combat")


def _missing_card_refusal(state: State, seat: Seat, card: str) -> Illegal | None:
    if card in state.hands[seat.number]:
        return None
    return Illegal(
        Reason.NOT_IN_HAND,
        say("{card} is not in your hand", card=CARD_TEXTS[card]),
        f"playing-{'attacker' if seat is ATTACKER else 'defender'}",
    )


def _play_refusal(state: State, seat: Seat, parts: ActionParts) -> Illegal | None:
    """Return why a card of the hand may not be played (rulebook, "Playing a Card"), or None."""
    is_attacker = seat is ATTACKER
    stack = (state.attacker_stacks if is_attacker else state.defender_stacks)[parts.lane]
    if parts.card[0] == BREAK and not stack:
        return Illegal(
            Reason.STACK_EMPTY,
            say(
                "Your stack in lane {lane} is empty: a BREAK needs a card below it", lane=parts.lane
            ),
            "break-up",
        )
    if is_attacker:
        return _attacker_play_refusal(state, parts, stack)
    return _defender_play_refusal(state, parts, stack)


def _attacker_play_refusal(state: State, parts: ActionParts, stack: Cards) -> Illegal | None:
    """Return why the attacker may not play a card with this face.

    Every card may be played face down. The hackmud edition also allows every card face up, except
    that a BOUNCE needs an empty stack (ruling).
    """
    is_face_up = parts.kind == PLAY_UP
    value = parts.card[0]
    if is_face_up and value == BOUNCE and stack:
        return Illegal(
            Reason.STACK_NOT_EMPTY,
            say(
                "Your stack in lane {lane} is not empty: a BOUNCE goes face up only on an empty "
                "one",
                lane=parts.lane,
            ),
            "bounce-up",
        )
    if is_face_up and value not in (BOUNCE, BREAK) and not state.is_hackmud:
        return Illegal(
            Reason.WRONG_FACE,
            say("The attacker plays only BOUNCE and BREAK face up"),
            "playing-attacker",
        )
    return None


def _defender_play_refusal(state: State, parts: ActionParts, stack: Cards) -> Illegal | None:
    """Return why the defender may not play a card with this face.

    A card takes the face of its stack. A BREAK may also be played face up, which begins combat.
    """
    lane = parts.lane
    is_stack_open = state.is_defender_open[lane]
    if parts.kind == PLAY_DOWN:
        if not is_stack_open:
            return None
        return Illegal(
            Reason.WRONG_FACE,
            say("Your stack in lane {lane} lies face up: play face up there", lane=lane),
            "playing-defender",
        )
    if parts.card[0] != BREAK:
        # All cards of a stack have one face, which the first card decides in the hackmud edition
        # (ruling).
        if is_stack_open or (state.is_hackmud and not stack):
            return None
        return Illegal(
            Reason.WRONG_FACE,
            say("Your stack in lane {lane} does not lie face up: play face down there", lane=lane),
            "playing-defender",
        )
    if not state.attacker_stacks[lane]:
        return Illegal(
            Reason.NO_ATTACKER_STACK,
            say("Lane {lane} has no attacker stack to fight: a BREAK face up needs one", lane=lane),
            "break-up",
        )
    if is_stack_open and any(card[0] == BREAK for card in stack):
        return Illegal(
            Reason.BREAK_LIES_OPEN,
            say("A BREAK lies face up in your stack in lane {lane} already", lane=lane),
            "break-up",
        )
    return None


def _discard_refusal(state: State, seat: Seat, parts: ActionParts) -> Illegal | None:
    """Return why a seat may not discard a card, which only the hackmud edition allows (rulings).

    The defender discards to a lane. The attacker discards to the attacker discard and draws two.
    """
    if not state.is_hackmud:
        return Illegal(
            Reason.OTHER_EDITION,
            say("Cards are discarded only in the hackmud edition"),
            "discarding",
        )
    if seat is DEFENDER and parts.lane == ATTACKER_PILE:
        return Illegal(
            Reason.OTHER_PILE,
            say("The defender discards to a lane: expected 0 to 5 after the card"),
            "discarding",
        )
    if seat is ATTACKER and parts.lane != ATTACKER_PILE:
        return Illegal(
            Reason.OTHER_PILE,
            say("The attacker discards to the attacker discard: expected a after the card"),
            "discarding",
        )
    if refusal := _missing_card_refusal(state, seat, parts.card):
        return refusal
    if seat is ATTACKER and not (state.attacker_deck or state.attacker_discard):
        return Illegal(
            Reason.NOTHING_TO_DRAW,
            say(
                "The attacker deck and its discard pile are empty: there is nothing to draw for it"
            ),
            "discarding",
        )
    return None
