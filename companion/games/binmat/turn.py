"""How a turn of the full game is carried out: the action, what it sets off, and who has won.

Events say only what everybody may know: a face-down card is a card, a drawn card has a name where it lay open.
Source: the rulebook's sections "Drawing a Card" to "Win Conditions", and the rulings.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.base import Event, Outcome, Stage, Step
from companion.games.binmat import sentences
from companion.games.binmat.cards import BOUNCE, BREAK, Cards
from companion.games.binmat.combat import (
    ATTACKER,
    DEFENDER,
    ROLES,
    Combat,
    Fight,
    resolve,
    stages_of,
)
from companion.games.binmat.events import BinmatEvent
from companion.games.binmat.orders import (
    ATTACKER_PILE,
    COMBAT,
    DISCARD,
    DOWN,
    DRAW,
    ORDERS,
    UP,
    CardAction,
)
from companion.games.binmat.state import LANES, State, can_draw
from companion.games.events import EventKind


def play(state: State, action: str, rng: Random) -> Step[State]:
    """Carry out a legal action of the seat that has the turn. `rng` shuffles."""
    turn = _Turn(state, rng)
    turn.run(ORDERS[action])
    after = turn.state_after()
    return Step(after, tuple(turn.events), turn.stages())


def is_reversible(state: State, action: str) -> bool:
    """Return whether nobody learned anything that was not shown by choice, and the game goes on."""
    order = ORDERS[action]
    seat, lane = state.seat, order.lane
    if order.letter == UP:
        if order.card[0] == BREAK:
            return False
        turns_up = state.is_hackmud or (state.defence[lane] and not state.is_up[lane])
        if seat is ATTACKER and order.card[0] == BOUNCE and turns_up:
            return False
    elif order.letter == "-":
        if _costs_hand(state):
            return False
    elif order.letter != DOWN:
        return False
    return play(state, action, Random(0)).state.outcome is None


def _costs_hand(state: State) -> bool:
    """Return whether a pass now would cost cards."""
    seat = SEATS.index(state.seat)
    return state.is_hackmud and state.passes[seat] > 0 and bool(state.hands[seat])


class _Turn:
    """The position while a turn is carried out, and what happened so far."""

    def __init__(self, state: State, rng: Random) -> None:
        self.before, self.rng = state, rng
        self.seat = state.seat
        self.index = SEATS.index(self.seat)
        self.role = ROLES[self.seat]
        self.decks, self.are_open, self.discards = (
            list(state.decks),
            list(state.are_open),
            list(state.discards),
        )
        self.defence, self.is_up, self.attack = (
            list(state.defence),
            list(state.is_up),
            list(state.attack),
        )
        self.attacker_deck, self.attacker_discard = state.attacker_deck, state.attacker_discard
        self.hands, self.attack_up = list(state.hands), set(state.attack_up)
        self.outcome: Outcome | None = None
        self.events: list[Event] = []
        self.combat: Combat | None = None
        self.lane: int | None = None

    def run(self, order: CardAction) -> None:
        """Carry out the action, then the win checks."""
        letter = order.letter
        if letter == DRAW:
            self._draw(order.lane)
        elif letter == DOWN:
            self._play_down(order.card, order.lane)
        elif letter == UP:
            self._play_up(order.card, order.lane)
        elif letter == COMBAT:
            self.add_event(
                BinmatEvent.COMBAT, sentences.declares(self.role, order.lane), rule="combat"
            )
            self._fight(order.lane)
        elif letter == DISCARD:
            self._discard(order.card, order.lane)
        else:
            self._pass()

    def state_after(self) -> State:
        """Return the position after the turn, its outcome decided."""
        before = self.before
        passes = list(before.passes)
        passes[self.index] = (
            passes[self.index] + 1 if self.events[0].kind is BinmatEvent.PASS else 0
        )
        after = State(
            before.options,
            tuple(self.decks),
            tuple(self.are_open),
            tuple(self.discards),
            tuple(self.defence),
            tuple(self.is_up),
            tuple(self.attack),
            self.attacker_deck,
            self.attacker_discard,
            (self.hands[0], self.hands[1]),
            before.turns_left - 1,
            (passes[0], passes[1]),
            frozenset(self.attack_up),
            self.outcome,
        )
        if self.outcome is None and (reason := _defender_wins(after)):
            self._end(DEFENDER, reason)
            return replace(after, outcome=self.outcome)
        return after

    def add_event(
        self,
        kind: EventKind,
        text: str,
        seat: Seat | None = None,
        why: str | None = None,
        rule: str | None = None,
    ) -> None:
        """Add an event, of the seat whose turn it is unless another is named."""
        self.events.append(Event(kind, text, seat or self.seat, why=why, rule=rule))

    def _end(self, winner: Seat, reason: str) -> None:
        self.outcome = Outcome(frozenset({winner}), reason)
        self.events.append(self.outcome.event("winning"))

    # ---- drawing ----------------------------------------------------------------------------------------------

    def _draw(self, lane: int) -> None:
        if lane == ATTACKER_PILE:
            self._draw_from_attacker_deck()
            self.add_event(BinmatEvent.DRAW, sentences.FROM_ATTACKER_DECK, rule="drawing")
            return
        if not self.decks[lane] and not self.discards[lane]:
            text = say(
                "{role!c} draws from lane {lane}, which is empty.", role=self.role, lane=lane
            )
            self.add_event(BinmatEvent.DRAW, text, rule="reshuffle")
            self._end(ATTACKER, say("Lane {lane} has no card left to draw.", lane=lane))
            return
        known = self._top_in_sight(lane)
        self._draw_from_lane(lane, self.index)
        self.add_event(BinmatEvent.DRAW, sentences.draws(self.role, known, lane), rule="drawing")

    def _top_in_sight(self, lane: int) -> str | None:
        """Return the top card of a lane deck, where it lies open."""
        deck = self.decks[lane]
        return deck[0] if deck and self.are_open[lane] else None

    def _draw_from_lane(self, lane: int, hand: int) -> None:
        """Draw one card into a hand. An empty deck takes its discard pile first."""
        if not self.decks[lane]:
            self.decks[lane], self.discards[lane] = self._shuffle(self.discards[lane]), ()
            self.are_open[lane] = self.are_open[lane] and self.before.is_hackmud
            self.add_event(BinmatEvent.RESHUFFLE, sentences.reshuffles(lane), rule="reshuffle")
        card, *rest = self.decks[lane]
        self.decks[lane] = tuple(rest)
        self.hands[hand] += (card,)

    def _draw_from_attacker_deck(self) -> None:
        if not self.attacker_deck:
            self.attacker_deck, self.attacker_discard = self._shuffle(self.attacker_discard), ()
            self.add_event(BinmatEvent.RESHUFFLE, sentences.ATTACKER_RESHUFFLE, rule="reshuffle")
        card, *rest = self.attacker_deck
        self.attacker_deck = tuple(rest)
        self.hands[1] += (card,)

    def _shuffle(self, pile: Cards) -> Cards:
        """Return a shuffled pile. How it lay before does not matter."""
        cards = sorted(pile)
        self.rng.shuffle(cards)
        return tuple(cards)

    # ---- playing ----------------------------------------------------------------------------------------------

    def _take(self, card: str) -> None:
        hand = list(self.hands[self.index])
        hand.remove(card)  # the first of several backs, where nobody here knows them
        self.hands[self.index] = tuple(hand)

    def _play_down(self, card: str, lane: int) -> None:
        self._take(card)
        stacks = self.attack if self.seat is ATTACKER else self.defence
        stacks[lane] += (card,)
        self.add_event(
            BinmatEvent.PLAY_DOWN, sentences.plays_down(self.role, lane), rule=self._playing()
        )

    def _play_up(self, card: str, lane: int) -> None:
        self._take(card)
        text = sentences.plays_up(self.role, card, lane)
        if card[0] == BREAK:
            (self.attack if self.seat is ATTACKER else self.defence)[lane] += (card,)
            self.add_event(BinmatEvent.PLAY_UP, text, why=sentences.BREAK_BEGINS, rule="break-up")
            self._fight(lane)
        elif self.seat is DEFENDER:
            self.defence[lane] += (card,)
            self.is_up[lane] = True
            self.add_event(BinmatEvent.PLAY_UP, text, why=sentences.LIES_UP, rule=self._playing())
        elif card[0] != BOUNCE:
            self.attack[lane] += (card,)
            self.attack_up.add(card)
            self.add_event(
                BinmatEvent.PLAY_UP, text, why=sentences.CARD_LIES_UP, rule=self._playing()
            )
        elif self.before.is_hackmud:
            self.attack[lane] = (card,)
            self.add_event(BinmatEvent.PLAY_UP, text, why=sentences.BOUNCE_BEGINS, rule="bounce-up")
            self._fight(lane)
        else:
            self.add_event(BinmatEvent.PLAY_UP, text, rule="bounce-up")
            self._bounce(card, lane)

    def _playing(self) -> str:
        return "playing-attacker" if self.seat is ATTACKER else "playing-defender"

    def _bounce(self, card: str, lane: int) -> None:
        """Play a BOUNCE on an empty stack by the rulebook: no combat, but the defender stack turns up."""
        stack = self.defence[lane]
        if stack and not self.is_up[lane]:
            self.add_event(
                BinmatEvent.REVEAL,
                sentences.opens(ROLES[DEFENDER], stack),
                DEFENDER,
                rule="bounce-up",
            )
        back = tuple([other for other in stack if other[0] == BOUNCE])
        kept = tuple([other for other in stack if other[0] != BOUNCE])
        if back:
            text = sentences.to_attacker_discard(ROLES[DEFENDER], back)
            self.add_event(BinmatEvent.MOVED, text, DEFENDER, rule="bounce-up")
        self.attacker_discard += back
        self.defence[lane], self.is_up[lane] = kept, bool(kept)
        self.discards[lane] += (card,)
        self.add_event(
            BinmatEvent.MOVED, sentences.to_lane_discard(self.role, (card,)), rule="bounce-up"
        )

    # ---- combat -----------------------------------------------------------------------------------------------

    def _fight(self, lane: int) -> None:
        attack, self.lane = self.attack[lane], lane
        lay_open = frozenset(self.attack_up.intersection(attack))
        fight = Fight(attack, self.defence[lane], self.seat, self.is_up[lane], lay_open)
        combat = self.combat = resolve(fight, self.before.options.edition)
        self.events += combat.events
        self.attack[lane], self.defence[lane], self.is_up[lane] = (
            (),
            combat.defender,
            bool(combat.defender),
        )
        self.attack_up.difference_update(attack)
        self.attacker_discard += combat.to_attacker_discard
        self.discards[lane] += combat.to_lane_discard
        if combat.due:
            self._pay(lane, combat.due)

    def _pay(self, lane: int, due: int) -> None:
        """Take the cards that damage has cost from the lane deck.

        Only the hackmud edition reshuffles for it.
        """
        known, paid = self._top_in_sight(lane), 0
        while paid < due and (self.decks[lane] or (self.before.is_hackmud and self.discards[lane])):
            self._draw_from_lane(lane, 1)
            paid += 1
        if paid:
            text = sentences.is_paid(known, paid - 1 if known else paid, lane)
            self.add_event(BinmatEvent.DRAW, text, ATTACKER, rule="damage")
        if paid < due:
            self._end(ATTACKER, sentences.lacks(lane, due, paid))

    # ---- discarding and passing -------------------------------------------------------------------------------

    def _discard(self, card: str, lane: int) -> None:
        self._take(card)
        if self.seat is DEFENDER:
            self.discards[lane] += (card,)
            self.add_event(
                BinmatEvent.DISCARD, sentences.discards(self.role, card, lane), rule="discarding"
            )
            return
        self.attacker_discard += (card,)
        self.add_event(
            BinmatEvent.DISCARD, sentences.discards(self.role, card, lane), rule="discarding"
        )
        self._draw_from_attacker_deck()
        self._draw_from_attacker_deck()

    def _pass(self) -> None:
        self.add_event(BinmatEvent.PASS, sentences.passes(self.role), rule="turns")
        if not _costs_hand(self.before):
            return
        lost, self.hands[self.index] = self.hands[self.index][::-1], ()
        text = sentences.loses_hand(self.role, lost)
        self.add_event(BinmatEvent.HAND_LOST, text, why=sentences.PASSED_AGAIN, rule="passing")
        if self.seat is ATTACKER:
            self.attacker_discard += lost
            return
        for card in lost:
            smallest = min(LANES, key=lambda lane: len(self.discards[lane]))
            self.discards[smallest] += (card,)

    # ---- stages -----------------------------------------------------------------------------------------------

    def stages(self) -> tuple[Stage, ...]:
        """Return a combat, with what led to it and what followed."""
        if self.combat is None:
            return ()
        told = self.combat.events
        before = next(at for at, event in enumerate(self.events) if event is told[0])
        behind = before + len(told)
        return stages_of(
            self.combat, self.lane, before=self.events[:before], after=self.events[behind:]
        )


def _defender_wins(state: State) -> str | None:
    """Return why the defender has won after a turn, or None."""
    if state.turns_left == 0:
        return sentences.all_turns_over(state.options.turns)
    if state.hands[1] or any(state.attack) or any(can_draw(state, lane) for lane in LANES):
        return None
    return sentences.CANNOT_DRAW
