"""How a combat ends and why: TRAPs, BOUNCEs, sums, WILDs, powers, damage, and where each card goes.

It knows two stacks and nothing else, so that the full game, the referee of real cards, the log reader and the command
line all use it: how many cards the lane deck owes is its answer, whether the deck has them is not its business.
Source: the rulebook's sections "Combat" and "The Wild Modifier"; the differences of the hackmud edition as ruled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from companion.errors import Malformed
from companion.games.base import Event
from companion.games.binmat.cards import BOUNCE, BREAK, MODIFIERS, NUMBERS, SHOWN, TRAP, WILD, Cards, listed
from companion.games.screen import Tally
from companion.kit import Seat
from companion.languages import plain_words

DEFENDER, ATTACKER = Seat.SOUTH, Seat.NORTH
ROLES = {DEFENDER: "Defender", ATTACKER: "Attacker"}
"""How a seat is called at the beginning of a sentence."""

_PILES = {DEFENDER: "lane discard", ATTACKER: "attacker discard"}


class Edition(StrEnum):
    """Which of the two rule sets is played."""

    RULEBOOK = "rulebook"
    HACKMUD = "hackmud"


@dataclass(frozen=True)
class Fight:
    """Two stacks of a lane, bottom first, as they meet; raises `Malformed` when no combat can be of them.

    `initiator` is who started the combat: his TRAPs act first. `defender_open`: the defender stack lay face up before,
    so that none of its TRAPs is turned up now. No attacker stack ever holds an open TRAP: the attacker plays only
    BOUNCE and BREAK face up. A card played face up that starts the combat is the top of its stack.
    """

    attacker: Cards
    defender: Cards
    initiator: Seat = ATTACKER
    defender_open: bool = False

    def __post_init__(self) -> None:
        if not self.attacker:
            raise Malformed("Combat needs at least one card in the attacker stack")
        both = self.attacker + self.defender
        if len(set(both)) < len(both):
            twice = next(card for card in both if both.count(card) > 1)
            raise Malformed(f"{twice} is there twice: there is one of each card")


@dataclass(frozen=True)
class Trap:
    """One TRAP that acted: whose, which card, and what it took from the top of the other stack; None: nothing left."""

    seat: Seat
    card: str
    taken: str | None


@dataclass(frozen=True)
class Sum:
    """What a stack comes to: each card with what it adds, the total, and its attack power."""

    parts: tuple[tuple[str, str], ...]
    total: int
    power: int


@dataclass(frozen=True)
class CombatStep:
    """One part of the reasoning, to be shown by itself."""

    title: str
    events: tuple[Event, ...]
    tallies: tuple[Tally, ...] = ()


@dataclass(frozen=True)
class Combat:
    """Everything that a combat decided. The attacker stack is always gone afterwards.

    `attack` and `defence` are None when the combat was bounced. `defender` is the defender stack afterwards, bottom
    first; it lies face up if there is a card in it. `due`: cards that the lane deck owes the attacker's hand.
    """

    fight: Fight
    edition: Edition
    steps: tuple[CombatStep, ...]
    traps: tuple[Trap, ...]
    bounced: bool
    attack: Sum | None
    defence: Sum | None
    damage: int
    due: int
    defender: Cards
    to_attacker_discard: Cards
    to_lane_discard: Cards

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of all steps."""
        return tuple(event for step in self.steps for event in step.events)


def resolve(fight: Fight, edition: Edition) -> Combat:
    """Work a combat out, step by step."""
    return _Combat(fight, edition).run()


def sum_of(stack: Cards) -> Sum:
    """Sum and attack power of a stack: number cards, then WILDs one by one; other cards add nothing.

    Without number cards the first WILD is a 2.

    >>> sum_of(("5&", "3%", ">+")).power, sum_of(("*&", "*%")).total, sum_of(("4^", "2#")).power
    (3, 4, 0)
    """
    parts, lifts, rest, total = [], [], [], 0
    for card in stack:
        number = NUMBERS.get(card)
        if number is not None:
            total += number
            parts.append((SHOWN[card], str(number)))
        elif card[0] == WILD:
            lifts.append(card)
        else:
            rest.append((SHOWN[card], "0"))
    for card in lifts:
        counts_two = total == 0
        total = 2 if counts_two else 1 << total.bit_length()
        parts.append((SHOWN[card], "2" if counts_two else f"to {total}"))
    return Sum((*parts, *rest), total, power_of(total))


def power_of(total: int) -> int:
    """The attack power of a sum: the exponent of a power of two, 0 for every other sum and for an empty stack.

    >>> [power_of(total) for total in (0, 2, 4, 6, 8, 256)]
    [0, 1, 2, 0, 3, 8]
    """
    return total.bit_length() - 1 if total and not total & (total - 1) else 0


@dataclass
class _Combat:
    """A combat while it is worked out."""

    fight: Fight
    edition: Edition
    steps: list[CombatStep] = field(default_factory=list)
    traps: list[Trap] = field(default_factory=list)
    to_attacker_discard: list[str] = field(default_factory=list)
    to_lane_discard: list[str] = field(default_factory=list)
    attack: Sum | None = None
    defence: Sum | None = None
    damage: int = 0
    due: int = 0

    def run(self) -> Combat:
        fight = self.fight
        self.attacker, self.defender = list(fight.attacker), list(fight.defender)
        self._reveal()
        self._spring_traps()
        bounced = any(card[0] == BOUNCE for card in (*self.attacker, *self.defender))
        if bounced:
            self._bounce()
        else:
            self._compare()
        return Combat(
            fight,
            self.edition,
            tuple(self.steps),
            tuple(self.traps),
            bounced,
            self.attack,
            self.defence,
            self.damage,
            self.due,
            tuple(self.defender),
            tuple(self.to_attacker_discard),
            tuple(self.to_lane_discard),
        )

    def _reveal(self) -> None:
        fight, open_before = self.fight, self.fight.defender_open
        events = [Event("reveal", f"Attacker opens {listed(fight.attacker)}.", ATTACKER, rule="combat")]
        if not fight.defender:
            events.append(Event("reveal", "Defender has no stack here.", DEFENDER, rule="combat"))
        elif open_before:
            text = f"Defender’s {listed(fight.defender)} lay open before."
            events.append(Event("reveal", text, DEFENDER, rule="combat"))
        else:
            events.append(Event("reveal", f"Defender opens {listed(fight.defender)}.", DEFENDER, rule="combat"))
        self.steps.append(CombatStep("Cards open", tuple(events)))

    def _spring_traps(self) -> None:
        """TRAPs turned up now, the initiator's first; each takes the card played last from the other stack."""
        events: list[Event] = []
        for seat in (self.fight.initiator, self.fight.initiator.other):
            mine, theirs = (self.attacker, self.defender) if seat is ATTACKER else (self.defender, self.attacker)
            if seat is DEFENDER and self.fight.defender_open:
                events += [
                    Event(
                        "trap_idle",
                        f"Defender’s {SHOWN[card]} does nothing.",
                        seat,
                        why="It lay face up before the combat.",
                        rule="traps",
                    )
                    for card in mine
                    if card[0] == TRAP
                ]
                continue
            events += [self._spring(seat, card, theirs) for card in mine if card[0] == TRAP]
        if events:
            self.steps.append(CombatStep("Traps", tuple(events)))

    def _spring(self, seat: Seat, card: str, theirs: list[str]) -> Event:
        role = ROLES[seat]
        if not theirs:
            self.traps.append(Trap(seat, card, None))
            why = f"{ROLES[seat.other]} has no card left in this lane."
            return Event("trap_idle", f"{role}’s {SHOWN[card]} takes nothing.", seat, why=why, rule="traps")
        taken = theirs.pop()
        self.traps.append(Trap(seat, card, taken))
        (self.to_attacker_discard if seat is ATTACKER else self.to_lane_discard).append(taken)
        text = f"{role}’s {SHOWN[card]} takes {SHOWN[taken]} to the {_PILES[seat]}."
        return Event("trap", text, seat, why="It was the top card of the other stack.", rule="traps")

    def _bounce(self) -> None:
        """BOUNCEs go to the opponent's discard, the rest of the attacker stack to the attacker discard."""
        thrown = [card for card in self.attacker if card[0] == BOUNCE]
        rest = [card for card in self.attacker if card[0] != BOUNCE]
        back = [card for card in self.defender if card[0] == BOUNCE]
        self.defender = [card for card in self.defender if card[0] != BOUNCE]
        self.attacker = []
        self.to_lane_discard += thrown
        self.to_attacker_discard += rest + back
        holder = "Both stacks hold" if thrown and back else f"The {'attacker' if thrown else 'defender'} stack holds"
        events = [Event("bounce", "The combat bounces: no damage.", why=f"{holder} a BOUNCE.", rule="bounce")]
        if thrown:
            events.append(_moved(ATTACKER, thrown, "lane discard", "bounce"))
        if rest:
            events.append(_moved(ATTACKER, rest, "attacker discard", "bounce"))
        if back:
            events.append(_moved(DEFENDER, back, "attacker discard", "bounce"))
        self.steps.append(CombatStep("Bounce", (*events, *self._kept("bounce"))))

    def _compare(self) -> None:
        self.attack, self.defence = sum_of(tuple(self.attacker)), sum_of(tuple(self.defender))
        mine, theirs = self.attack.power, self.defence.power
        events = tuple(
            _said_sum(seat, stack, its)
            for seat, stack, its in ((ATTACKER, self.attacker, self.attack), (DEFENDER, self.defender, self.defence))
        )
        tallies = (tally_of(ATTACKER, self.attack, mine > theirs), tally_of(DEFENDER, self.defence, theirs > mine))
        self.steps.append(CombatStep("Powers", events, tallies))
        if mine < theirs:
            self._repelled(mine, theirs)
        else:
            self._strike(mine, theirs)

    def _repelled(self, mine: int, theirs: int) -> None:
        why = f"Power {mine} is less than power {theirs}."
        events = [Event("repelled", "Defender holds the lane.", DEFENDER, why=why, rule="damage")]
        if self.attacker:
            events.append(_moved(ATTACKER, self.attacker, "lane discard", "damage"))
        self.to_lane_discard += self.attacker
        self.attacker = []
        self.steps.append(CombatStep("Outcome", (*events, *self._kept("damage"))))

    def _strike(self, mine: int, theirs: int) -> None:
        self.damage, why = self._damage(mine, theirs)
        events = [Event("damage", f"Attacker does {self.damage or 'no'} damage.", ATTACKER, why=why, rule="damage")]
        hits = min(self.damage, len(self.defender))
        if hits:
            lost = self.defender[: -hits - 1 : -1]
            del self.defender[-hits:]
            self.to_attacker_discard += lost
            events.append(_moved(DEFENDER, lost, "attacker discard", "damage"))
        self.due = self.damage - hits
        if self.due:
            cards = "1 card" if self.due == 1 else f"{self.due} cards"
            text = f"Lane deck owes the attacker {cards}."
            events.append(Event("due", text, ATTACKER, why="The defender stack is empty.", rule="damage"))
        if self.attacker:
            events.append(_moved(ATTACKER, self.attacker, "attacker discard", "damage"))
        self.to_attacker_discard += self.attacker
        self.attacker = []
        self.steps.append(CombatStep("Damage", (*events, *self._kept("damage"))))

    def _damage(self, mine: int, theirs: int) -> tuple[int, str]:
        """The damage value of an attack that is not weaker, and its formula in words."""
        if not self.attacker:
            return 0, "TRAPs have emptied the attacker stack."
        in_attack = any(card[0] == BREAK for card in self.attacker)
        if self.edition is Edition.RULEBOOK:
            if in_attack:
                return mine, f"A BREAK in the attacker stack: damage is its power, {mine}."
        elif mine == 0:
            return 0, "Both powers are 0."
        elif in_attack or any(card[0] == BREAK for card in self.defender):
            size = len(self.defender)
            where = "attacker" if in_attack else "defender"
            cards = "1 defender card" if size == 1 else f"{size} defender cards"
            return max(mine, size), f"A BREAK in the {where} stack: the larger of power {mine} and {cards}."
        return mine - theirs + 1, f"Powers {mine} and {theirs} differ by {mine - theirs}, and one more."

    def _kept(self, rule: str) -> tuple[Event, ...]:
        """The sentence on a defender stack that stays."""
        if not self.defender:
            return ()
        return (Event("kept", f"Defender keeps {listed(tuple(self.defender))}, face up.", DEFENDER, rule=rule),)


def _moved(seat: Seat, cards: list[str], pile: str, rule: str) -> Event:
    """Cards of a seat's stack go to a pile, in the order in which they leave."""
    verb = "goes" if len(cards) == 1 else "go"
    text = f"{ROLES[seat]}’s {listed(tuple(cards))} {verb} to the {pile}."
    return Event("moved", text, seat, rule=rule)


def _said_sum(seat: Seat, stack: list[str], its: Sum) -> Event:
    """A stack's sum in words, WILDs one by one."""
    text = f"{ROLES[seat]} has {its.total}: power {its.power}."
    if not stack:
        return Event("sum", text, seat, why="The stack is empty.", rule="power")
    numbers = [adds for card, adds in its.parts if card[0] not in MODIFIERS]
    lifts = [
        f"{card} counts 2" if adds == "2" else f"{card} lifts it {adds}" for card, adds in its.parts if card[0] == WILD
    ]
    words = list(lifts)
    if len(numbers) > 1:
        words.insert(0, f"{' + '.join(numbers)} = {sum(map(int, numbers))}")
    elif numbers and lifts:
        words.insert(0, numbers[0])
    if its.total and not its.power:
        words.append(f"{its.total} is no power of two")
    elif not its.total:
        words.append("No card counts")
    return Event("sum", text, seat, why=f"{', '.join(words)}." if words else None, rule="wild" if lifts else "power")


def tally_of(seat: Seat, its: Sum, is_greater: bool) -> Tally:
    """A sum for the screen, with the doubling row 2 4 8 … 256 filled up to its power."""
    ladder = tuple(2**power for power in range(1, max(8, its.power) + 1))
    return Tally(seat, its.parts, str(its.total), f"power {its.power}", ladder, its.power, is_greater)


def plain(combat: Combat) -> dict[str, Any]:
    """A combat in plain JSON: the stacks, every step with its sentences, sums, damage, and where the cards go."""
    fight = combat.fight

    def plain_sum(its: Sum | None) -> dict[str, Any] | None:
        if its is None:
            return None
        return {"parts": [list(part) for part in its.parts], "total": its.total, "power": its.power}

    return {
        "edition": combat.edition,
        "initiator": fight.initiator,
        "defender_open": fight.defender_open,
        "attacker": list(fight.attacker),
        "defender": list(fight.defender),
        "steps": [
            {"title": step.title, "events": [msgspec.to_builtins(event, enc_hook=plain_words) for event in step.events]}
            for step in combat.steps
        ],
        "traps": [{"seat": trap.seat, "card": trap.card, "taken": trap.taken} for trap in combat.traps],
        "bounced": combat.bounced,
        "attack": plain_sum(combat.attack),
        "defence": plain_sum(combat.defence),
        "damage": combat.damage,
        "due": combat.due,
        "defender_after": list(combat.defender),
        "to_attacker_discard": list(combat.to_attacker_discard),
        "to_lane_discard": list(combat.to_lane_discard),
    }
