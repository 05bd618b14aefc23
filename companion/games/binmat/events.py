"""The kinds of events of BINMAT, the roles of the seats, and sentences that several modules use."""

from __future__ import annotations

from companion.core.event_cues import CueLamps, EventCue
from companion.core.i18n import say, say_n
from companion.core.kit import Seat
from companion.games.binmat.cards import CARD_TEXTS, Cards, cards_text
from companion.games.events import EventKind, Highlight, Look

_COMBAT_CUE = EventCue(
    "combat",
    "E5 60 A5 60 E5 60 A5 60",
    for_both=True,
    lamps=CueLamps.ORDER_LAMPS,
    words=say("Combat"),
)
_COMBAT_HIGHLIGHT = Highlight("blade", lambda n: say_n("{n} combat", "{n} combats", n), 3)
_DAMAGE_HIGHLIGHT = Highlight("burst", lambda n: say_n("{n} breach", "{n} breaches", n), 4)


class BinmatEvent(EventKind):
    """Events of card actions, and of the parts of a combat.

    A combat that a BOUNCE ends is `CommonEvent.BOUNCE`.
    """

    DRAW = "draw"
    RESHUFFLE = "reshuffle"
    PLAY_DOWN = "play_down"
    PLAY_UP = "play_up"
    DISCARD = "discard"
    PASS = "pass"
    # A second pass in a row costs the hand (hackmud edition).
    HAND_LOST = "hand_lost"
    # Real cards: the program counts the turn, but does not see the action.
    TURN_DONE = "done"
    COMBAT = "combat", Look(), _COMBAT_CUE, _COMBAT_HIGHLIGHT
    # A stack is turned face up.
    REVEAL = "reveal"
    # A TRAP takes a card.
    TRAP = "trap"
    # A TRAP takes nothing.
    TRAP_IDLE = "trap_idle"
    # The sum and the power of a stack.
    SUM = "sum"
    # The attack is weaker than the defence.
    REPELLED = "repelled"
    DAMAGE = "damage", Look(), None, _DAMAGE_HIGHLIGHT
    # The damage exceeds the defender stack, so the lane deck owes the rest.
    CARDS_OWED = "due"
    # What is left of the defender stack stays in the lane.
    STACK_KEPT = "kept"
    # Cards of a stack go to a discard pile.
    CARDS_DISCARDED = "moved"


DEFENDER = Seat.SOUTH
ATTACKER = Seat.NORTH
# Name of each seat's role. Where a player's name is known, pages show it instead, except in names
# of piles such as “attacker deck”.
ROLES = {DEFENDER: say("defender"), ATTACKER: say("attacker")}


# ---- sentences about turns and combats -----------------------------------------------------------


COMBAT_BOUNCES = say("The combat bounces: no damage.")
# Short form of the defender's usual win, for the page at the end.
TURNS_OVER = say("All turns are over.")
# Short form of the attacker's win, for the page at the end.
LANE_RUN_DRY = say("A lane deck has run dry.")


def declaration_text(role: str, lane: int | None) -> str:
    """Return the sentence that a side declares combat. `lane` is None if it is not known."""
    if lane is None:
        return say("{role!c} declares combat.", role=role)
    return say("{role!c} declares combat in lane {lane}.", role=role, lane=lane)


def draw_text(role: str, card: str | None, lane: int) -> str:
    """Return the sentence that a side draws from a lane deck. `card` is None unless it lay open."""
    if card is None:
        return say("{role!c} draws a card from lane {lane}.", role=role, lane=lane)
    return say(
        "{role!c} draws {card} from lane {lane}.", role=role, card=CARD_TEXTS[card], lane=lane
    )


def pass_text(role: str) -> str:
    """Return the sentence that a side passes."""
    return say("{role!c} passes.", role=role)


def lane_discard_text(role: str, cards: Cards) -> str:
    """Return the sentence that cards of a side's stack go to the lane discard."""
    return say_n(
        "{role!c}’s {cards} goes to the lane discard.",
        "{role!c}’s {cards} go to the lane discard.",
        len(cards),
        role=role,
        cards=cards_text(cards),
    )


def attacker_discard_text(role: str, cards: Cards) -> str:
    """Return the sentence that cards of a side's stack go to the attacker discard."""
    return say_n(
        "{role!c}’s {cards} goes to the attacker discard.",
        "{role!c}’s {cards} go to the attacker discard.",
        len(cards),
        role=role,
        cards=cards_text(cards),
    )
