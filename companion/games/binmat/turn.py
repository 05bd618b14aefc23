"""Turns of the full game of BINMAT: the action, its consequences, and the end of the game.

Events contain only what everybody may know. A face-down card is just a card, and a drawn card is
named only if it lay open. Source: the rulebook's sections "Drawing a Card" to "Win Conditions", and
the rulings.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from companion.core.i18n import say, say_n
from companion.core.kit import Seat
from companion.games.base import Step
from companion.games.binmat import actions
from companion.games.binmat.actions import ACTION_PARTS, ATTACKER_PILE, ActionParts
from companion.games.binmat.cards import (
    BOUNCE,
    BREAK,
    CARD_TEXTS,
    Cards,
    cards_text,
    separate_bounces,
)
from companion.games.binmat.combat import Combat, CombatSetup, add_combat, add_result_stage
from companion.games.binmat.events import (
    ATTACKER,
    DEFENDER,
    LANE_RUN_DRY,
    ROLES,
    TURNS_OVER,
    BinmatEvent,
    attacker_discard_text,
    declaration_text,
    draw_text,
    lane_discard_text,
    pass_text,
)
from companion.games.binmat.state import LANES, State, can_draw
from companion.games.turn_log import TurnLog


def carry_out(state: State, action: str, rng: Random) -> Step[State]:
    """Carry out a legal action of the seat on turn. `rng` shuffles the cards of a reshuffle."""
    turn = _Turn(state, rng)
    turn.carry_out_action(ACTION_PARTS[action])
    after = turn.finish()
    if turn.combat:
        add_result_stage(turn, turn.combat)
    return turn.build_step(after)


# Events that reveal no hidden card. A card that its owner plays face up does not count.
_REVEAL_NOTHING = {
    BinmatEvent.PLAY_DOWN,
    BinmatEvent.PLAY_UP,
    BinmatEvent.CARDS_DISCARDED,
    BinmatEvent.PASS,
}


def is_reversible(state: State, action: str) -> bool:
    """Return whether an action reveals no hidden card and does not end the game."""
    # An action that shuffles reveals a card and so cannot be taken back. For all other actions the
    # random numbers do not matter.
    step = carry_out(state, action, Random(0))
    return step.state.outcome is None and all(
        event.kind in _REVEAL_NOTHING for event in step.events
    )


class _Turn(TurnLog):
    """The position while a turn is carried out: the fields of `State`, in mutable lists.

    `carry_out` makes one for each turn. It calls `carry_out_action`, which moves the cards and
    reports the events, and then `finish`.
    """

    def __init__(self, state: State, rng: Random) -> None:
        super().__init__()
        self.state_before = state
        """The position before the turn."""
        self.rng = rng
        self.seat = state.seat
        self.seat_number = self.seat.number
        """Index of the seat on turn in pairs such as `hands`."""
        self.role = ROLES[self.seat]
        self.decks = list(state.decks)
        self.discards = list(state.discards)
        self.is_deck_open = list(state.is_deck_open)
        self.is_defender_open = list(state.is_defender_open)
        self.defender_stacks = list(state.defender_stacks)
        self.attacker_stacks = list(state.attacker_stacks)
        self.attacker_deck = state.attacker_deck
        self.attacker_discard = state.attacker_discard
        self.hands = list(state.hands)
        self.open_attacker_cards = set(state.open_attacker_cards)
        self.combat: Combat | None = None
        """The combat of this turn, if there was one."""

    def carry_out_action(self, parts: ActionParts) -> None:
        """Carry out the action of the turn, with its events."""
        match parts.kind:
            case actions.DRAW:
                self._draw(parts.lane)
            case actions.PLAY_DOWN:
                self._play_face_down(parts.card, parts.lane)
            case actions.PLAY_UP:
                self._play_face_up(parts.card, parts.lane)
            case actions.COMBAT:
                text = declaration_text(self.role, parts.lane)
                self.add_event(BinmatEvent.COMBAT, self.seat, text, "combat")
                self._resolve_combat(parts.lane)
            case actions.DISCARD:
                self._discard(parts.card, parts.lane)
            case _:
                self._pass()

    def finish(self) -> State:
        """Count the turn, end the game if the defender has won, and return the next state."""
        before = self.state_before
        passes = list(before.passes)
        has_passed = self.events[0].kind is BinmatEvent.PASS
        # Any other action resets the count of passes.
        passes[self.seat_number] = passes[self.seat_number] + 1 if has_passed else 0
        after = replace(
            before,
            decks=tuple(self.decks),
            is_deck_open=tuple(self.is_deck_open),
            discards=tuple(self.discards),
            defender_stacks=tuple(self.defender_stacks),
            is_defender_open=tuple(self.is_defender_open),
            attacker_stacks=tuple(self.attacker_stacks),
            attacker_deck=self.attacker_deck,
            attacker_discard=self.attacker_discard,
            hands=(self.hands[0], self.hands[1]),
            turns_left=before.turns_left - 1,
            passes=(passes[0], passes[1]),
            open_attacker_cards=frozenset(self.open_attacker_cards),
        )
        # A win of the attacker during the turn takes precedence.
        if self.outcome is None and (reason := _why_defender_wins(after)):
            short = "" if after.turns_left else TURNS_OVER
            self.end_game(DEFENDER, reason, "winning", short)
        return replace(after, outcome=self.outcome)

    # ---- drawing ---------------------------------------------------------------------------------

    def _draw(self, lane: int) -> None:
        """Draw a card from a lane or from the attacker deck (rulebook, "Drawing a Card")."""
        if lane == ATTACKER_PILE:
            self._draw_from_attacker_deck()
            text = say("{role!c} draws a card from the attacker deck.", role=self.role)
            self.add_event(BinmatEvent.DRAW, self.seat, text, "drawing")
            return
        # Only an attacker in the hackmud edition may draw here, and wins by it (ruling).
        if not self.decks[lane] and not self.discards[lane]:
            text = say(
                "{role!c} draws from lane {lane}, which is empty.", role=self.role, lane=lane
            )
            self.add_event(BinmatEvent.DRAW, self.seat, text, "reshuffle")
            text = say("Lane {lane} has no card left to draw.", lane=lane)
            self.end_game(ATTACKER, text, "winning", LANE_RUN_DRY)
            return
        # Read before the draw: everybody has seen a card that lay open.
        open_card = self._open_top_card(lane)
        self._draw_from_lane(lane, self.seat)
        text = draw_text(self.role, open_card, lane)
        self.add_event(BinmatEvent.DRAW, self.seat, text, "drawing")

    def _open_top_card(self, lane: int) -> str | None:
        """Return the top card of a lane deck if it lies open, else None."""
        deck = self.decks[lane]
        if deck and self.is_deck_open[lane]:
            return deck[0]
        return None

    def _draw_from_lane(self, lane: int, seat: Seat) -> None:
        """Move the top card of a lane deck, refilled if it is empty, to the hand of a seat."""
        # A reshuffled deck lies face up only in the hackmud edition (ruling).
        if not self.decks[lane] and not self.state_before.is_hackmud:
            self.is_deck_open[lane] = False
        text = say("Lane {lane}’s discard pile becomes its deck.", lane=lane)
        deck, self.discards[lane] = self._refill(self.decks[lane], self.discards[lane], text)
        self.decks[lane] = deck[1:]
        self.hands[seat.number] += deck[:1]

    def _draw_from_attacker_deck(self) -> None:
        """Move the top card of the attacker deck, refilled if empty, to the attacker's hand."""
        text = say("The attacker discard becomes the attacker deck.")
        deck, self.attacker_discard = self._refill(self.attacker_deck, self.attacker_discard, text)
        self.attacker_deck = deck[1:]
        self.hands[ATTACKER.number] += deck[:1]

    def _refill(self, deck: Cards, discard: Cards, text: str) -> tuple[Cards, Cards]:
        """Return a deck and its discard pile. The pile is shuffled into the deck if that is empty.

        `text` reports the shuffle.
        """
        if deck:
            return deck, discard
        # Sorted, so that the result does not depend on the order of the discard pile.
        cards = sorted(discard)
        self.rng.shuffle(cards)
        self.add_event(BinmatEvent.RESHUFFLE, self.seat, text, "reshuffle")
        return tuple(cards), ()

    # ---- playing ---------------------------------------------------------------------------------

    @property
    def _stacks(self) -> list[Cards]:
        """The stacks of the seat on turn, by lane."""
        if self.seat is ATTACKER:
            return self.attacker_stacks
        return self.defender_stacks

    @property
    def _playing_rule(self) -> str:
        """The id of the rule on how this seat plays a card."""
        if self.seat is ATTACKER:
            return "playing-attacker"
        return "playing-defender"

    def _remove_from_hand(self, card: str) -> None:
        hand = self.hands[self.seat_number]
        self.hands[self.seat_number] = tuple(held for held in hand if held != card)

    def _play_face_down(self, card: str, lane: int) -> None:
        """Play a card face down onto the stack of the seat on turn (rulebook, "Playing a Card")."""
        self._remove_from_hand(card)
        self._stacks[lane] += (card,)
        text = say("{role!c} plays a card face down in lane {lane}.", role=self.role, lane=lane)
        self.add_event(BinmatEvent.PLAY_DOWN, self.seat, text, self._playing_rule)

    def _play_face_up(self, card: str, lane: int) -> None:
        """Play a card face up (rulebook, "Playing a Card").

        A BREAK begins combat at once. A BOUNCE of the attacker opens the defender stack, and begins
        combat only in the hackmud edition.
        """
        self._remove_from_hand(card)
        rule = self._playing_rule
        why = None
        begins_combat = False
        is_bounce = self.seat is ATTACKER and card[0] == BOUNCE
        if card[0] == BREAK:
            rule = "break-up"
            why = say("A BREAK face up begins combat at once.")
            begins_combat = True
        elif is_bounce:
            rule = "bounce-up"
            begins_combat = self.state_before.is_hackmud
            if begins_combat:
                why = say("A BOUNCE face up begins combat at once.")
        elif self.seat is ATTACKER:
            why = say("It stays face up in the stack.")
            self.open_attacker_cards.add(card)
        else:
            why = say("The stack lies face up.")
            self.is_defender_open[lane] = True
        text = say(
            "{role!c} plays {card} face up in lane {lane}.",
            role=self.role,
            card=CARD_TEXTS[card],
            lane=lane,
        )
        self.add_event(BinmatEvent.PLAY_UP, self.seat, text, rule, why=why)
        # This BOUNCE goes straight to the lane discard, not onto the stack.
        if is_bounce and not begins_combat:
            self._turn_up_defender_by_bounce(card, lane)
            return
        self._stacks[lane] += (card,)
        if begins_combat:
            self._resolve_combat(lane)

    def _turn_up_defender_by_bounce(self, bounce: str, lane: int) -> None:
        """Turn the defender stack face up, because the attacker has played a BOUNCE face up.

        It begins no combat. The BOUNCEs of the defender go to the attacker discard, and the one
        that was played goes to the lane discard.
        """
        stack = self.defender_stacks[lane]
        defender = ROLES[DEFENDER]
        if stack and not self.is_defender_open[lane]:
            text = say("{role!c} opens {cards}.", role=defender, cards=cards_text(stack))
            self.add_event(BinmatEvent.REVEAL, DEFENDER, text, "bounce-up")
        defender_bounces, remaining = separate_bounces(stack)
        if defender_bounces:
            text = attacker_discard_text(defender, defender_bounces)
            self.add_event(BinmatEvent.CARDS_DISCARDED, DEFENDER, text, "bounce-up")
        self.attacker_discard += defender_bounces
        self.defender_stacks[lane] = remaining
        # An emptied stack is face down again (ruling).
        self.is_defender_open[lane] = bool(remaining)
        self.discards[lane] += (bounce,)
        text = lane_discard_text(self.role, (bounce,))
        self.add_event(BinmatEvent.CARDS_DISCARDED, self.seat, text, "bounce-up")

    # ---- combat ----------------------------------------------------------------------------------

    def _resolve_combat(self, lane: int) -> None:
        """Resolve the combat of a lane (rulebook, "Combat"), and move its cards."""
        attacker_stack = self.attacker_stacks[lane]
        # TRAPs that lay open before the combat do not spring.
        setup = CombatSetup(
            attacker_stack,
            self.defender_stacks[lane],
            initiator=self.seat,
            is_defender_open=self.is_defender_open[lane],
            open_attacker_cards=frozenset(self.open_attacker_cards.intersection(attacker_stack)),
            lane=lane,
        )
        combat = self.combat = Combat(setup, self.state_before.options.edition)
        add_combat(self, combat)
        self.attacker_stacks[lane] = ()
        self.defender_stacks[lane] = combat.defender_stack
        # Cards that survive a combat stay face up (ruling).
        self.is_defender_open[lane] = bool(combat.defender_stack)
        self.open_attacker_cards.difference_update(attacker_stack)
        self.attacker_discard += combat.to_attacker_discard
        self.discards[lane] += combat.to_lane_discard
        if combat.cards_owed:
            self._pay_from_lane_deck(lane, combat.cards_owed)

    def _pay_from_lane_deck(self, lane: int, cards_owed: int) -> None:
        """Move the cards that a lane deck owes to the attacker's hand.

        Only the hackmud edition reshuffles the discard pile for this. A deck that has too few cards
        loses the game for the defender.
        """
        open_card = self._open_top_card(lane)
        may_reshuffle = self.state_before.is_hackmud
        paid = 0
        while paid < cards_owed and (self.decks[lane] or (may_reshuffle and self.discards[lane])):
            self._draw_from_lane(lane, ATTACKER)
            paid += 1
        if paid:
            self.add_event(
                BinmatEvent.DRAW, ATTACKER, _payment_text(open_card, paid, lane), "damage"
            )
        if paid < cards_owed:
            parts = {"lane": lane, "due": cards_owed, "paid": paid}
            text = say("Lane {lane} owes {due} and has only {paid}.", **parts)
            self.end_game(ATTACKER, text, "winning", LANE_RUN_DRY)

    # ---- discarding and passing ------------------------------------------------------------------

    def _discard(self, card: str, lane: int) -> None:
        """Discard a card of the hand. The attacker then draws two (hackmud edition)."""
        self._remove_from_hand(card)
        parts = {"role": self.role, "card": CARD_TEXTS[card], "lane": lane}
        text = say("{role!c} discards {card} to lane {lane}.", **parts)
        if self.seat is ATTACKER:
            text = say("{role!c} discards {card} and draws two from the attacker deck.", **parts)
        self.add_event(BinmatEvent.DISCARD, self.seat, text, "discarding")
        if self.seat is DEFENDER:
            self.discards[lane] += (card,)
            return
        self.attacker_discard += (card,)
        self._draw_from_attacker_deck()
        self._draw_from_attacker_deck()

    def _pass(self) -> None:
        """Pass. From the second pass in a row it costs the hand (hackmud edition)."""
        self.add_event(BinmatEvent.PASS, self.seat, pass_text(self.role), "turns")
        # The newest card goes first (ruling).
        lost_cards = self.hands[self.seat_number][::-1]
        costs_hand = self.state_before.is_hackmud and self.state_before.passes[self.seat_number] > 0
        if not costs_hand or not lost_cards:
            return
        self.hands[self.seat_number] = ()
        text = say(
            "{role!c} loses the hand: {cards}.", role=self.role, cards=cards_text(lost_cards)
        )
        why = say("It is the second pass in a row, or a later one.")
        self.add_event(BinmatEvent.HAND_LOST, self.seat, text, "passing", why=why)
        if self.seat is ATTACKER:
            self.attacker_discard += lost_cards
            return
        for card in lost_cards:
            # Among equally small piles, the pile of the lowest lane gets the card (ruling).
            smallest = min(LANES, key=lambda lane: len(self.discards[lane]))
            self.discards[smallest] += (card,)


def _payment_text(open_card: str | None, paid: int, lane: int) -> str:
    """Return the sentence on cards that a lane deck gives for damage.

    `open_card` is the first of them if it lay open, which is named. The others are only counted.
    """
    parts = {"role": ROLES[ATTACKER], "lane": lane}
    if open_card is None:
        return say_n(
            "{role!c} draws {n} card from lane {lane}.",
            "{role!c} draws {n} cards from lane {lane}.",
            paid,
            **parts,
        )
    if paid == 1:
        return draw_text(ROLES[ATTACKER], open_card, lane)
    return say_n(
        "{role!c} draws {card} and {n} more card from lane {lane}.",
        "{role!c} draws {card} and {n} more cards from lane {lane}.",
        paid - 1,
        card=CARD_TEXTS[open_card],
        **parts,
    )


def _why_defender_wins(state: State) -> str | None:
    """Return why the defender has won after a turn, or None (rulebook, "Win Conditions").

    All turns are over, or the attacker has no card in hand and stacks and no lane to draw from.
    """
    if state.turns_left == 0:
        return say("All {turns} turns are over.", turns=state.options.turns)
    # Cards in the attacker deck do not count for the attacker (ruling).
    if (
        state.hands[ATTACKER.number]
        or any(state.attacker_stacks)
        or any(can_draw(state, lane) for lane in LANES)
    ):
        return None
    return say("{role!c} has no card, and no lane to draw from.", role=ROLES[ATTACKER])
