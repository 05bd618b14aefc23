"""How a turn of the full game is carried out: the action, what it sets off, and who has won.

Events say only what everybody may know: a face-down card is a card, a drawn card has a name where it lay open.
Source: the rulebook's sections "Drawing a Card" to "Win Conditions", and the rulings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from companion.games.base import Event, Outcome, Stage, Step
from companion.games.binmat.cards import BOUNCE, BREAK, SHOWN, Cards, listed
from companion.games.binmat.combat import ATTACKER, DEFENDER, ROLES, Combat, Fight, resolve
from companion.games.binmat.orders import ATTACKER_PILE, COMBAT, DISCARD, DOWN, DRAW, ORDERS, UP, Order
from companion.games.binmat.state import LANES, State, can_draw
from companion.kit import SEATS, Seat


def play(state: State, action: str, rng: Random) -> Step[State]:
    """Carry out a legal action of the seat that has the turn; `rng` shuffles."""
    turn = _Turn(state, rng)
    turn.run(ORDERS[action])
    after = turn.state_after()
    return Step(after, tuple(turn.events), turn.stages())


def is_reversible(state: State, action: str) -> bool:
    """Has nobody learned anything by this action that was not shown by choice, and did it not end the game?"""
    order = ORDERS[action]
    seat, lane = state.seat, order.lane
    if order.letter == UP:
        if order.card[0] == BREAK:
            return False
        if seat is ATTACKER and (state.is_hackmud or (state.defence[lane] and not state.is_up[lane])):
            return False
    elif order.letter == "-":
        if _costs_hand(state):
            return False
    elif order.letter != DOWN:
        return False
    return play(state, action, Random(0)).state.outcome is None


def _costs_hand(state: State) -> bool:
    """Would a pass now cost cards?"""
    seat = SEATS.index(state.seat)
    return state.is_hackmud and state.passes[seat] > 0 and bool(state.hands[seat])


class _Turn:
    """The position while a turn is carried out, and what happened so far."""

    def __init__(self, state: State, rng: Random) -> None:
        self.before, self.rng = state, rng
        self.seat = state.seat
        self.index = SEATS.index(self.seat)
        self.role = ROLES[self.seat]
        self.decks, self.are_open, self.discards = list(state.decks), list(state.are_open), list(state.discards)
        self.defence, self.is_up, self.attack = list(state.defence), list(state.is_up), list(state.attack)
        self.attacker_deck, self.attacker_discard = state.attacker_deck, state.attacker_discard
        self.hands = list(state.hands)
        self.outcome: Outcome | None = None
        self.events: list[Event] = []
        self.combat: Combat | None = None

    def run(self, order: Order) -> None:
        """The action, then the win checks."""
        letter = order.letter
        if letter == DRAW:
            self._draw(order.lane)
        elif letter == DOWN:
            self._play_down(order.card, order.lane)
        elif letter == UP:
            self._play_up(order.card, order.lane)
        elif letter == COMBAT:
            self.say("combat", f"{self.role} declares combat in lane {order.lane}.", rule="combat")
            self._fight(order.lane)
        elif letter == DISCARD:
            self._discard(order.card, order.lane)
        else:
            self._pass()

    def state_after(self) -> State:
        """The position after the turn, its outcome decided."""
        before = self.before
        passes = list(before.passes)
        passes[self.index] = passes[self.index] + 1 if self.events[0].kind == "pass" else 0
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
            self.outcome,
        )
        if self.outcome is None and (reason := _defender_wins(after)):
            self._end(DEFENDER, reason)
            return replace(after, outcome=self.outcome)
        return after

    def say(
        self, kind: str, text: str, seat: Seat | None = None, why: str | None = None, rule: str | None = None
    ) -> None:
        """Add an event, of the seat whose turn it is unless another is named."""
        self.events.append(Event(kind, text, seat or self.seat, why=why, rule=rule))

    def _end(self, winner: Seat, reason: str) -> None:
        self.outcome = Outcome(frozenset({winner}), reason)
        self.say("won", reason, winner, rule="winning")

    # ---- drawing ----------------------------------------------------------------------------------------------

    def _draw(self, lane: int) -> None:
        if lane == ATTACKER_PILE:
            self._draw_from_attacker_deck()
            self.say("draw", "Attacker draws a card from the attacker deck.", rule="drawing")
            return
        if not self.decks[lane] and not self.discards[lane]:
            self.say("draw", f"Attacker draws from lane {lane}, which is empty.", rule="reshuffle")
            self._end(ATTACKER, f"Lane {lane} has no card left to draw: the attacker wins.")
            return
        known = self._top_in_sight(lane)
        self._draw_from_lane(lane, self.index)
        self.say("draw", f"{self.role} draws {known or 'a card'} from lane {lane}.", rule="drawing")

    def _top_in_sight(self, lane: int) -> str | None:
        """The top card of a lane deck as people read it, where it lies open."""
        deck = self.decks[lane]
        return SHOWN[deck[0]] if deck and self.are_open[lane] else None

    def _draw_from_lane(self, lane: int, hand: int) -> None:
        """One card into a hand; an empty deck takes its discard pile first."""
        if not self.decks[lane]:
            self.decks[lane], self.discards[lane] = self._shuffled(self.discards[lane]), ()
            self.are_open[lane] = self.are_open[lane] and self.before.is_hackmud
            self.say("reshuffle", f"Lane {lane}’s discard pile becomes its deck.", rule="reshuffle")
        card, *rest = self.decks[lane]
        self.decks[lane] = tuple(rest)
        self.hands[hand] += (card,)

    def _draw_from_attacker_deck(self) -> None:
        if not self.attacker_deck:
            self.attacker_deck, self.attacker_discard = self._shuffled(self.attacker_discard), ()
            self.say("reshuffle", "The attacker discard becomes the attacker deck.", rule="reshuffle")
        card, *rest = self.attacker_deck
        self.attacker_deck = tuple(rest)
        self.hands[1] += (card,)

    def _shuffled(self, pile: Cards) -> Cards:
        """A pile shuffled; how it lay before does not matter."""
        cards = sorted(pile)
        self.rng.shuffle(cards)
        return tuple(cards)

    # ---- playing ----------------------------------------------------------------------------------------------

    def _take(self, card: str) -> None:
        self.hands[self.index] = tuple([other for other in self.hands[self.index] if other != card])

    def _play_down(self, card: str, lane: int) -> None:
        self._take(card)
        stacks = self.attack if self.seat is ATTACKER else self.defence
        stacks[lane] += (card,)
        self.say("play_down", f"{self.role} plays a card face down in lane {lane}.", rule=self._playing())

    def _play_up(self, card: str, lane: int) -> None:
        self._take(card)
        text = f"{self.role} plays {SHOWN[card]} face up in lane {lane}."
        if card[0] == BREAK:
            (self.attack if self.seat is ATTACKER else self.defence)[lane] += (card,)
            self.say("play_up", text, why="A BREAK face up begins combat at once.", rule="break-up")
            self._fight(lane)
        elif self.seat is DEFENDER:
            self.defence[lane] += (card,)
            self.say("play_up", text, why="The stack lies face up.", rule=self._playing())
        elif self.before.is_hackmud:
            self.attack[lane] = (card,)
            self.say("play_up", text, why="A BOUNCE face up begins combat at once.", rule="bounce-up")
            self._fight(lane)
        else:
            self.say("play_up", text, rule="bounce-up")
            self._bounce(card, lane)

    def _playing(self) -> str:
        return "playing-attacker" if self.seat is ATTACKER else "playing-defender"

    def _bounce(self, card: str, lane: int) -> None:
        """A BOUNCE on an empty stack by the rulebook: no combat, but the defender stack turns up."""
        stack = self.defence[lane]
        if stack and not self.is_up[lane]:
            self.say("reveal", f"Defender opens {listed(stack)}.", DEFENDER, rule="bounce-up")
        back = tuple([other for other in stack if other[0] == BOUNCE])
        kept = tuple([other for other in stack if other[0] != BOUNCE])
        if back:
            verb = "goes" if len(back) == 1 else "go"
            self.say("moved", f"Defender’s {listed(back)} {verb} to the attacker discard.", DEFENDER, rule="bounce-up")
        self.attacker_discard += back
        self.defence[lane], self.is_up[lane] = kept, bool(kept)
        self.discards[lane] += (card,)
        self.say("moved", f"Attacker’s {SHOWN[card]} goes to the lane discard.", rule="bounce-up")

    # ---- combat -----------------------------------------------------------------------------------------------

    def _fight(self, lane: int) -> None:
        fight = Fight(self.attack[lane], self.defence[lane], self.seat, self.is_up[lane])
        combat = self.combat = resolve(fight, self.before.options.edition)
        self.events += combat.events
        self.attack[lane], self.defence[lane], self.is_up[lane] = (), combat.defender, bool(combat.defender)
        self.attacker_discard += combat.to_attacker_discard
        self.discards[lane] += combat.to_lane_discard
        if combat.due:
            self._pay(lane, combat.due)

    def _pay(self, lane: int, due: int) -> None:
        """The lane deck gives the cards that damage has cost; only the hackmud edition reshuffles for it."""
        known, paid = self._top_in_sight(lane), 0
        while paid < due and (self.decks[lane] or (self.before.is_hackmud and self.discards[lane])):
            self._draw_from_lane(lane, 1)
            paid += 1
        if paid:
            more = paid - 1 if known else paid
            named = f"{known} and " if known and more else known or ""
            hidden = f"{more} {'more ' if known else ''}card{'s' if more > 1 else ''}" if more else ""
            self.say("draw", f"Attacker draws {named}{hidden} from lane {lane}.", ATTACKER, rule="damage")
        if paid < due:
            self._end(ATTACKER, f"Lane {lane} owes {due} and has only {paid}: the attacker wins.")

    # ---- discarding and passing -------------------------------------------------------------------------------

    def _discard(self, card: str, lane: int) -> None:
        self._take(card)
        if self.seat is DEFENDER:
            self.discards[lane] += (card,)
            self.say("discard", f"Defender discards {SHOWN[card]} to lane {lane}.", rule="discarding")
            return
        self.attacker_discard += (card,)
        text = f"Attacker discards {SHOWN[card]} and draws two from the attacker deck."
        self.say("discard", text, rule="discarding")
        self._draw_from_attacker_deck()
        self._draw_from_attacker_deck()

    def _pass(self) -> None:
        self.say("pass", f"{self.role} passes.", rule="turns")
        if not _costs_hand(self.before):
            return
        lost, self.hands[self.index] = self.hands[self.index][::-1], ()
        text = f"{self.role} loses the hand: {listed(lost)}."
        self.say("hand_lost", text, why="It is the second pass in a row, or a further one.", rule="passing")
        if self.seat is ATTACKER:
            self.attacker_discard += lost
            return
        for card in lost:
            smallest = min(LANES, key=lambda lane: len(self.discards[lane]))
            self.discards[smallest] += (card,)

    # ---- stages -----------------------------------------------------------------------------------------------

    def stages(self) -> tuple[Stage, ...]:
        """A combat step by step; what led to it belongs to the first step, what followed to the last."""
        if self.combat is None:
            return ()
        steps = self.combat.steps
        before = next(at for at, event in enumerate(self.events) if event is steps[0].events[0])
        after = before + sum(len(step.events) for step in steps)
        groups: list[Sequence[Event]] = [step.events for step in steps]
        groups[0] = (*self.events[:before], *groups[0])
        groups[-1] = (*groups[-1], *self.events[after:])
        return tuple(
            Stage(step.title, {}, tuple(events), None, step.tallies) for step, events in zip(steps, groups, strict=True)
        )


def _defender_wins(state: State) -> str | None:
    """Why the defender has won after a turn, or None."""
    if state.turns_left == 0:
        return f"All {state.options.turns} turns are over: the defender wins."
    if state.hands[1] or any(state.attack) or any(can_draw(state, lane) for lane in LANES):
        return None
    return "The attacker has no card and no lane to draw from: the defender wins."
