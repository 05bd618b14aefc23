"""Resolve a combat and explain it: TRAPs, BOUNCEs, sums, WILDs, powers, damage, card moves.

This module knows only the two stacks, so that the full game, the referee of real cards and the
command line can share it. It computes how many cards the lane deck owes, not whether the deck has
them. Source: the rulebook's sections "Combat" and "The Wild Modifier". Differences of the hackmud
edition follow the rulings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from companion.core.errors import Malformed
from companion.core.event_cues import CueLamps, EventCue
from companion.core.i18n import joined, say, say_n
from companion.core.kit import Seat
from companion.games.binmat.cards import (
    BOUNCE,
    BREAK,
    CARD_TEXTS,
    NUMBERS,
    TRAP,
    WILD,
    Cards,
    cards_text,
)
from companion.games.events import CommonEvent, EventKind, Highlight, Look
from companion.games.screen import Headline, Tally
from companion.games.turn_log import TurnLog

_COMBAT = EventCue(
    "combat",
    "E5 60 A5 60 E5 60 A5 60",
    for_both=True,
    lamps=CueLamps.ORDER_LAMPS,
    words=say("Combat"),
)
_COMBATS = Highlight("blade", lambda n: say_n("{n} combat", "{n} combats", n), 3)
_DAMAGES = Highlight("burst", lambda n: say_n("{n} breach", "{n} breaches", n), 4)


class BinmatEvent(EventKind):
    """Card actions, and the parts of a combat."""

    DRAW = "draw"
    RESHUFFLE = "reshuffle"
    PLAY_DOWN = "play_down"
    PLAY_UP = "play_up"
    DISCARD = "discard"
    PASS = "pass"
    HAND_LOST = "hand_lost"
    DONE = "done"
    COMBAT = "combat", Look(), _COMBAT, _COMBATS
    REVEAL = "reveal"
    TRAP = "trap"
    TRAP_IDLE = "trap_idle"
    SUM = "sum"
    REPELLED = "repelled"
    DAMAGE = "damage", Look(), None, _DAMAGES
    DUE = "due"
    KEPT = "kept"
    MOVED = "moved"


DEFENDER = Seat.SOUTH
ATTACKER = Seat.NORTH
ROLES = {DEFENDER: say("defender"), ATTACKER: say("attacker")}
"""Name of each seat's role. Where a player's name is known, it replaces the role, but not in names
of piles.
"""
_TRAPS = say("Traps")


# ---- sentences about turns and combats, for several modules --------------------------------------


BOUNCES = say("The combat bounces: no damage.")
TURNS_OVER = say("All turns are over.")
RUN_DRY = say("A lane deck has run dry.")
"""The two usual ends of a game."""


def declares(role: str, lane: int | None) -> str:
    """Say that a combat begins. `lane` is None if it is not known."""
    if lane is None:
        return say("{role!c} declares combat.", role=role)
    return say("{role!c} declares combat in lane {lane}.", role=role, lane=lane)


def draws(role: str, card: str | None, lane: int) -> str:
    """Say that a card is drawn. `card` is None unless it lay open."""
    if card is None:
        return say("{role!c} draws a card from lane {lane}.", role=role, lane=lane)
    return say(
        "{role!c} draws {card} from lane {lane}.", role=role, card=CARD_TEXTS[card], lane=lane
    )


def passes(role: str) -> str:
    """Say that a side passes."""
    return say("{role!c} passes.", role=role)


def to_lane_discard(role: str, cards: Cards) -> str:
    """Say that cards of a stack go to the lane discard."""
    return say_n(
        "{role!c}’s {cards} goes to the lane discard.",
        "{role!c}’s {cards} go to the lane discard.",
        len(cards),
        role=role,
        cards=cards_text(cards),
    )


def to_attacker_discard(role: str, cards: Cards) -> str:
    """Say that cards of a stack go to the attacker discard."""
    return say_n(
        "{role!c}’s {cards} goes to the attacker discard.",
        "{role!c}’s {cards} go to the attacker discard.",
        len(cards),
        role=role,
        cards=cards_text(cards),
    )


def sum_reason(
    numbers: tuple[int, ...], lifts: tuple[tuple[str, int], ...], total: int, power: int
) -> str | None:
    """Return an explanation of a stack's sum and power, clause by clause.

    Return None for a single number card that is a power of two. `lifts` has each WILD with the sum
    after it.
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
    if clauses:
        return say("{clauses}.", clauses=joined(", ", clauses))
    return None


# ---- combat -------------------------------------------------------------------------------------


class Edition(StrEnum):
    """The two rule sets."""

    RULEBOOK = "rulebook"
    HACKMUD = "hackmud"


@dataclass(frozen=True)
class Fight:
    """The two stacks of a lane before a combat, bottom first.

    Raises `Malformed` if a card appears twice.

    `initiator` started the combat, and his TRAPs act first. `defender_open` says whether the
    defender stack lay face up before. If so, its TRAPs do not spring. `attacker_open` has the
    attacker cards that lay face up before (hackmud edition). A card played face up that starts the
    combat is the top of its stack and counts in neither. The attacker stack may be empty only in
    the hackmud edition, and only if the defender stack is not. `lane` is None if it is not known.
    """

    attacker: Cards
    defender: Cards
    initiator: Seat = ATTACKER
    defender_open: bool = False
    attacker_open: frozenset[str] = frozenset()
    lane: int | None = None

    def __post_init__(self) -> None:
        both = self.attacker + self.defender
        if len(set(both)) < len(both):
            twice = next(card for card in both if both.count(card) > 1)
            raise Malformed(say("{card} appears twice: there is one of each card", card=twice))


@dataclass(frozen=True)
class Sum:
    """The sum of a stack: each card with what it adds, the total, and the attack power.

    `lifts` has each WILD with the sum after it.
    """

    parts: tuple[tuple[str, str], ...]
    total: int
    power: int
    lifts: tuple[tuple[str, int], ...] = ()


def sum_of(stack: Cards) -> Sum:
    """Return the sum and attack power of a stack: number cards first, then WILDs one by one.

    Other cards add nothing. Without number cards the first WILD counts 2.

    >>> sum_of(("5&", "3%", ">+")).power, sum_of(("*&", "*%")).total, sum_of(("4^", "2#")).power
    (3, 4, 0)
    """
    parts = []
    wilds = []
    lifts = []
    rest = []
    total = 0
    for card in stack:
        number = NUMBERS.get(card)
        if number is not None:
            total += number
            parts.append((CARD_TEXTS[card], str(number)))
        elif card[0] == WILD:
            wilds.append(card)
        else:
            rest.append((CARD_TEXTS[card], "0"))
    # each WILD lifts the sum to the next higher power of two ("The Wild Modifier")
    for card in wilds:
        counts_two = total == 0
        total = 2 if counts_two else 1 << total.bit_length()
        parts.append((CARD_TEXTS[card], "2" if counts_two else say("to {sum}", sum=total)))
        lifts.append((CARD_TEXTS[card], total))
    return Sum((*parts, *rest), total, power_of(total), tuple(lifts))


def power_of(total: int) -> int:
    """Return the attack power of a sum: the exponent of a power of two, 0 for every other sum.

    An empty stack has the sum 0 and therefore the power 0.

    >>> [power_of(total) for total in (0, 2, 4, 6, 8, 256)]
    [0, 1, 2, 0, 3, 8]
    """
    # a power of two has exactly one bit set
    if total and not total & (total - 1):
        return total.bit_length() - 1
    return 0


class Combat(TurnLog):
    """A combat from the open cards to the damage. It is resolved as soon as it is made.

    Each of `stages` is one part of the explanation. Raises `Malformed` if the edition allows no
    combat of these stacks.
    """

    def __init__(self, fight: Fight, edition: Edition) -> None:
        super().__init__()
        if not fight.attacker and edition is Edition.RULEBOOK:
            raise Malformed(say("Combat needs at least one card in the attacker stack"))
        if not fight.attacker and not fight.defender:
            raise Malformed(say("Combat needs a card in one of the two stacks"))
        self.fight = fight
        self.edition = edition
        self.stacks = {ATTACKER: fight.attacker, DEFENDER: fight.defender}
        """What is left of the stacks, bottom first. Only the defender's outlasts the combat."""
        self.trapped: Cards = ()
        """Cards that TRAPs have taken, in order."""
        self.sums: dict[Seat, Sum] = {}
        """Sum of each stack. Empty if the combat bounced."""
        self.damage = 0
        self.due = 0
        """Number of cards that the lane deck owes the attacker's hand."""
        self.to_attacker_discard: Cards = ()
        self.to_lane_discard: Cards = ()
        self._reveal()
        self._spring_traps()
        # checked after the TRAPs, which may have removed a BOUNCE (ruling)
        if any(card[0] == BOUNCE for stack in self.stacks.values() for card in stack):
            self._bounce()
        else:
            self._compare()

    @property
    def defender(self) -> Cards:
        """Return what is left of the defender stack, which lies face up afterwards."""
        return self.stacks[DEFENDER]

    def _reveal(self) -> None:
        for seat, stack in self.stacks.items():
            parts = {"role": ROLES[seat], "cards": cards_text(stack)}
            if not stack:
                text = say("{role!c} has no stack here.", **parts)
            elif seat is DEFENDER and self.fight.defender_open:
                text = say("{role!c}’s {cards} lay face up before.", **parts)
            else:
                text = say("{role!c} opens {cards}.", **parts)
            self.add(BinmatEvent.REVEAL, seat, text, "combat")
        self.add_stage(say("Cards open"), None)

    def _spring_traps(self) -> None:
        """Spring the TRAPs that are now turned up, the initiator's first.

        Each one takes the top card of the other stack.
        """
        for seat in (self.fight.initiator, self.fight.initiator.other):
            # a TRAP that the other side's TRAPs have already taken does not act
            for card in self.stacks[seat]:
                if card[0] == TRAP:
                    self._spring(seat, card)
        if self.fresh_events:
            self.add_stage(_TRAPS, None)

    def _spring(self, seat: Seat, card: str) -> None:
        """Apply one TRAP to the other stack, or explain why it does nothing."""
        fight = self.fight
        other = seat.other
        parts = {"role": ROLES[seat], "card": CARD_TEXTS[card]}
        kind = BinmatEvent.TRAP_IDLE
        # a defender stack has one face, but attacker cards lie open one by one
        if fight.defender_open if seat is DEFENDER else card in fight.attacker_open:
            text = say("{role!c}’s {card} does nothing.", **parts)
            why = say("It lay face up before the combat.")
        elif not self.stacks[other]:
            text = say("{role!c}’s {card} takes nothing.", **parts)
            why = say("{role!c} has no card left in this lane.", role=ROLES[other])
        else:
            kind = BinmatEvent.TRAP
            taken = self.stacks[other][-1:]
            self.stacks[other] = self.stacks[other][:-1]
            self.trapped += taken
            parts["taken"] = cards_text(taken)
            why = say("It was the top card of the other stack.")
            if seat is ATTACKER:
                self.to_attacker_discard += taken
                text = say("{role!c}’s {card} takes {taken} to the attacker discard.", **parts)
            else:
                self.to_lane_discard += taken
                text = say("{role!c}’s {card} takes {taken} to the lane discard.", **parts)
        self.add(kind, seat, text, "traps", why=why)

    # ---- where cards go --------------------------------------------------------------------------

    def _to_lane_discard(self, cards: Cards, rule: str) -> None:
        """Move attacker cards to the lane discard, in the given order."""
        if cards:
            text = to_lane_discard(ROLES[ATTACKER], cards)
            self.add(BinmatEvent.MOVED, ATTACKER, text, rule)
            self.to_lane_discard += cards

    def _to_attacker_discard(self, seat: Seat, cards: Cards, rule: str) -> None:
        """Move cards of a seat's stack to the attacker discard, in the given order."""
        if cards:
            text = to_attacker_discard(ROLES[seat], cards)
            self.add(BinmatEvent.MOVED, seat, text, rule)
            self.to_attacker_discard += cards

    def _keep_stack(self, rule: str) -> None:
        """Report the cards that stay in the defender stack."""
        if self.defender:
            cards = cards_text(self.defender)
            text = say("{role!c} keeps {cards}, face up.", role=ROLES[DEFENDER], cards=cards)
            self.add(BinmatEvent.KEPT, DEFENDER, text, rule)

    def _bounce(self) -> None:
        """Move BOUNCEs to the opponent's discard, other attacker cards to the attacker discard."""
        attacker_bounces, others = split_bounces(self.stacks[ATTACKER])
        defender_bounces, self.stacks[DEFENDER] = split_bounces(self.defender)
        why = say("{role!c} has a BOUNCE.", role=ROLES[ATTACKER if attacker_bounces else DEFENDER])
        if attacker_bounces and defender_bounces:
            why = say("Both stacks hold a BOUNCE.")
        self.add(CommonEvent.BOUNCE, None, BOUNCES, "bounce", why=why)
        self._to_lane_discard(attacker_bounces, "bounce")
        self._to_attacker_discard(ATTACKER, others, "bounce")
        self._to_attacker_discard(DEFENDER, defender_bounces, "bounce")
        self._keep_stack("bounce")
        self.add_stage(say("Bounce"), None)

    # ---- sums and damage -------------------------------------------------------------------------

    def _compare(self) -> None:
        self.sums = {seat: sum_of(stack) for seat, stack in self.stacks.items()}
        tallies = []
        for seat, stack_sum in self.sums.items():
            self._report_sum(seat, stack_sum)
            tallies.append(_tally(seat, stack_sum, stack_sum.power > self.sums[seat.other].power))
        self.add_stage(say("Powers"), None, tallies=tuple(tallies))
        attack = self.sums[ATTACKER].power
        defence = self.sums[DEFENDER].power
        # an attack of equal power gets through
        if attack < defence:
            self._repel(attack, defence)
        else:
            self._strike(attack, defence)

    def _report_sum(self, seat: Seat, stack_sum: Sum) -> None:
        """Report the sum and power of a stack, and explain them."""
        stack = self.stacks[seat]
        text = say(
            "{role!c} has {total}: power {power}.",
            role=ROLES[seat],
            total=stack_sum.total,
            power=stack_sum.power,
        )
        why: str | None = say("The stack is empty.")
        if stack:
            numbers = tuple([NUMBERS[card] for card in stack if card in NUMBERS])
            why = sum_reason(numbers, stack_sum.lifts, stack_sum.total, stack_sum.power)
        self.add(BinmatEvent.SUM, seat, text, "wild" if stack_sum.lifts else "power", why=why)

    def _repel(self, attack: int, defence: int) -> None:
        why = say("Power {power} is less than power {other}.", power=attack, other=defence)
        text = say("{role!c} holds the lane.", role=ROLES[DEFENDER])
        self.add(BinmatEvent.REPELLED, DEFENDER, text, "damage", why=why)
        self._to_lane_discard(self.stacks[ATTACKER], "damage")
        self._keep_stack("damage")
        self.add_stage(say("Outcome"), None)

    def _strike(self, attack: int, defence: int) -> None:
        self.damage, why = self._damage(attack, defence)
        text = say("{role!c} does no damage.", role=ROLES[ATTACKER])
        if self.damage:
            text = say("{role!c} does {damage} damage.", role=ROLES[ATTACKER], damage=self.damage)
        self.add(BinmatEvent.DAMAGE, ATTACKER, text, "damage", why=why)
        # damage removes the top cards of the defender stack, and the lane deck owes the rest
        kept = max(0, len(self.defender) - self.damage)
        lost = self.defender[kept:]
        self.stacks[DEFENDER] = self.defender[:kept]
        self._to_attacker_discard(DEFENDER, lost[::-1], "damage")
        self.due = self.damage - len(lost)
        if self.due:
            text = say_n("The lane deck owes {n} card.", "The lane deck owes {n} cards.", self.due)
            why = say("{role!c} has no card left in this lane.", role=ROLES[DEFENDER])
            self.add(BinmatEvent.DUE, ATTACKER, text, "damage", why=why)
        self._to_attacker_discard(ATTACKER, self.stacks[ATTACKER], "damage")
        self._keep_stack("damage")
        self.add_stage(say("Damage"), None)

    def _damage(self, attack: int, defence: int) -> tuple[int, str]:
        """Return the damage of an attack that is not weaker, and its formula in words."""
        no_power = say("Both powers are 0.")
        # an attacker stack that was empty, or that TRAPs emptied, does no damage (ruling)
        if not self.stacks[ATTACKER]:
            if self.fight.attacker:
                return 0, say("{role!c} has lost all cards to TRAPs.", role=ROLES[ATTACKER])
            return 0, no_power
        breakers = [
            seat for seat, stack in self.stacks.items() if any(card[0] == BREAK for card in stack)
        ]
        if self.edition is Edition.RULEBOOK:
            # only the attacker's BREAK counts, and the defender's power is ignored
            if ATTACKER in breakers:
                parts = {"role": ROLES[ATTACKER], "power": attack}
                return attack, say("{role!c} has a BREAK: damage is the power, {power}.", **parts)
        elif attack == 0:
            # this attack is not weaker, so the other power is 0 as well
            return 0, no_power
        elif breakers:
            # a BREAK in either stack counts, and the size of the defender stack is the minimum
            size = len(self.defender)
            return max(attack, size), say_n(
                "{role!c} has a BREAK: the larger of power {power} and {other}’s {n} card.",
                "{role!c} has a BREAK: the larger of power {power} and {other}’s {n} cards.",
                size,
                role=ROLES[breakers[0]],
                other=ROLES[DEFENDER],
                power=attack,
            )
        # consequently 0 against 0 does 1 damage in the rulebook edition (ruling)
        damage = attack - defence + 1
        parts = {"power": attack, "other": defence, "damage": damage}
        return damage, say("{power} against {other}: {damage} damage", **parts)


def split_bounces(stack: Cards) -> tuple[Cards, Cards]:
    """Return the BOUNCEs of a stack, and its other cards."""
    bounces = tuple([card for card in stack if card[0] == BOUNCE])
    return bounces, tuple([card for card in stack if card[0] != BOUNCE])


# ---- what a turn shows of a combat ---------------------------------------------------------------


def add_combat(turn: TurnLog, combat: Combat) -> None:
    """Add the events of a combat to a turn.

    TRAPs get a stage of their own, while the cards that they take are still on the screen.
    """
    for part in combat.stages:
        turn.events += part.events
        if part.title == _TRAPS:
            turn.headlines = [Headline(event.text, "sums") for event in part.events]
            taken = frozenset(CARD_TEXTS[card] for card in combat.trapped)
            tallies = tuple(replace(tally, lost=taken) for tally in _cards_of(combat.fight))
            turn.add_stage(_stage_title(combat), None, tallies=tallies)


def add_result(turn: TurnLog, combat: Combat, **more: Any) -> None:
    """Add the stage with the powers, the cards that are lost, and the events up to now.

    `more` holds other fields of `Stage`.
    """
    # attacker cards that did damage are not crossed out, although they are discarded too
    lost = {
        DEFENDER: combat.fight.defender,
        ATTACKER: () if combat.damage else combat.fight.attacker,
    }
    crossed_out = {
        seat: frozenset(CARD_TEXTS[card] for card in cards if card not in combat.defender)
        for seat, cards in lost.items()
    }
    # show the powers, or only the cards if a BOUNCE prevented the sums
    sums = next((part.tallies for part in combat.stages if part.tallies), _cards_of(combat.fight))
    tallies = tuple(replace(tally, lost=crossed_out[tally.seat]) for tally in sums)
    headline = Headline(BOUNCES, "bump")
    if combat.sums:
        headline = Headline(_headline(combat), "sums")
    turn.headlines = [headline]
    turn.add_stage(_stage_title(combat), tallies=tallies, **{"expected": None, **more})


def _stage_title(combat: Combat) -> str:
    lane = combat.fight.lane
    return say("Combat") if lane is None else say("Lane {lane}", lane=lane)


def _tally(seat: Seat, stack_sum: Sum, is_greater: bool) -> Tally:
    """Return a sum for the screen, with the row 2 4 8 16 32 filled up to its power."""
    # the row goes at least to 32, so that it shows how far a weak sum falls short
    ladder = tuple(2**power for power in range(1, max(5, stack_sum.power) + 1))
    worth = say("power {power}", power=stack_sum.power)
    return Tally(
        seat, stack_sum.parts, str(stack_sum.total), worth, ladder, stack_sum.power, is_greater
    )


def _cards_of(fight: Fight) -> tuple[Tally, ...]:
    """Return the cards of both stacks for the screen, without sums."""
    stacks = {ATTACKER: fight.attacker, DEFENDER: fight.defender}
    return tuple(
        Tally(seat, tuple((CARD_TEXTS[card], "") for card in stack), "")
        for seat, stack in stacks.items()
    )


def _headline(combat: Combat) -> str:
    """Return the result of a combat without a bounce, in at most 40 characters."""
    lane = combat.fight.lane
    attack = combat.sums[ATTACKER]
    defence = combat.sums[DEFENDER]
    if attack.power < defence.power:
        parts = {"total": defence.total, "other": attack.total, "side": ROLES[DEFENDER]}
        if lane is None:
            return say("{total} beats {other}. {side!c} holds the lane.", **parts)
        return say("{total} beats {other}. {side!c} holds lane {lane}.", **parts, lane=lane)
    # the cards that the defender stack has lost, without those that the lane deck owes
    hits = combat.damage - combat.due
    side = ROLES[DEFENDER]
    if not combat.damage:
        result = say("No damage.")
    elif not hits:
        side = ROLES[ATTACKER]
        result = say_n(
            "{side!c} draws {n} card.", "{side!c} draws {n} cards.", combat.due, side=side
        )
    elif not combat.defender:
        result = say("{side!c} loses the stack.", side=side)
    else:
        result = say_n("{side!c} loses {n} card.", "{side!c} loses {n} cards.", hits, side=side)
    totals = {"total": attack.total, "other": defence.total}
    comparison = say("{total} against {other}.", **totals)
    if attack.power > defence.power:
        comparison = say("{total} beats {other}.", **totals)
    return joined(" ", (comparison, result))
