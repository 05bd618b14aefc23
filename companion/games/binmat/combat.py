"""How a combat ends and why: TRAPs, BOUNCEs, sums, WILDs, powers, damage, and where each card goes.

It knows two stacks and nothing else, so that the full game, the referee of real cards and the command
line all use it: how many cards the lane deck owes is its answer, whether the deck has them is not its business.
Source: the rulebook's sections "Combat" and "The Wild Modifier". The differences of the hackmud edition as ruled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import msgspec

from companion.core.errors import Malformed
from companion.core.i18n import joined, plain_words, say, say_n
from companion.core.kit import Layout, Seat
from companion.games.base import Event, Stage
from companion.games.binmat import sentences
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
from companion.games.binmat.events import BinmatEvent
from companion.games.events import CommonEvent
from companion.games.screen import Headline, Tally

DEFENDER, ATTACKER = Seat.SOUTH, Seat.NORTH
ROLES = {DEFENDER: sentences.DEFENDER, ATTACKER: sentences.ATTACKER}
"""How a seat is called."""


class Edition(StrEnum):
    """Which of the two rule sets is played."""

    RULEBOOK = "rulebook"
    HACKMUD = "hackmud"


@dataclass(frozen=True)
class Fight:
    """Two stacks of a lane, bottom first, as they meet.

    Raises `Malformed` when no combat can be of them.

    `initiator` is who started the combat: his TRAPs act first. `defender_open`: the defender stack lay face up before,
    so that none of its TRAPs is turned up now. `attacker_open`: the cards of the attacker stack that lay face up
    before (hackmud edition). A card played face up that starts the combat is the top of its stack and in neither. The
    attacker stack is empty only in the hackmud edition, and then the defender's is not.
    """

    attacker: Cards
    defender: Cards
    initiator: Seat = ATTACKER
    defender_open: bool = False
    attacker_open: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        both = self.attacker + self.defender
        if len(set(both)) < len(both):
            twice = next(card for card in both if both.count(card) > 1)
            raise Malformed(say("{card} appears twice: there is one of each card", card=twice))

    def lay_open(self, seat: Seat, card: str) -> bool:
        """Return whether this card of a seat's stack lay face up before the combat."""
        return self.defender_open if seat is DEFENDER else card in self.attacker_open


@dataclass(frozen=True)
class Trap:
    """One TRAP that acted: whose, which card, and what it took from the top of the other stack.

    None: nothing left.
    """

    seat: Seat
    card: str
    taken: str | None


@dataclass(frozen=True)
class Sum:
    """What a stack comes to: each card with what it adds, the total, and its attack power.

    `lifts` are its WILDs with the sum after each.
    """

    parts: tuple[tuple[str, str], ...]
    total: int
    power: int
    lifts: tuple[tuple[str, int], ...] = ()


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
    first. It lies face up if there is a card in it. `due`: cards that the lane deck owes the attacker's hand.
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
        """Return the events of all steps."""
        return tuple(event for step in self.steps for event in step.events)


def resolve(fight: Fight, edition: Edition) -> Combat:
    """Work a combat out, step by step.

    Raises `Malformed` when the edition knows no combat of these stacks.
    """
    if not fight.attacker and edition is Edition.RULEBOOK:
        raise Malformed(say("Combat needs at least one card in the attacker stack"))
    if not fight.attacker and not fight.defender:
        raise Malformed(say("Combat needs a card in one of the two stacks"))
    return _Combat(fight, edition).run()


def sum_of(stack: Cards) -> Sum:
    """Return sum and attack power of a stack: number cards, then WILDs one by one.

    Other cards add nothing.

    Without number cards the first WILD is a 2.

    >>> sum_of(("5&", "3%", ">+")).power, sum_of(("*&", "*%")).total, sum_of(("4^", "2#")).power
    (3, 4, 0)
    """
    parts, wilds, lifts, rest, total = [], [], [], [], 0
    for card in stack:
        number = NUMBERS.get(card)
        if number is not None:
            total += number
            parts.append((CARD_TEXTS[card], str(number)))
        elif card[0] == WILD:
            wilds.append(card)
        else:
            rest.append((CARD_TEXTS[card], "0"))
    for card in wilds:
        counts_two = total == 0
        total = 2 if counts_two else 1 << total.bit_length()
        parts.append((CARD_TEXTS[card], "2" if counts_two else sentences.lifted_to(total)))
        lifts.append((CARD_TEXTS[card], total))
    return Sum((*parts, *rest), total, power_of(total), tuple(lifts))


def power_of(total: int) -> int:
    """Return the attack power of a sum: the exponent of a power of two, 0 for every other sum and
    for an empty stack.

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
        opened = (
            sentences.opens(ROLES[ATTACKER], fight.attacker)
            if fight.attacker
            else sentences.has_no_stack(ROLES[ATTACKER])
        )
        events = [Event(BinmatEvent.REVEAL, opened, ATTACKER, rule="combat")]
        if not fight.defender:
            text = sentences.has_no_stack(ROLES[DEFENDER])
            events.append(Event(BinmatEvent.REVEAL, text, DEFENDER, rule="combat"))
        elif open_before:
            text = say(
                "{role!c}’s {cards} lay face up before.",
                role=ROLES[DEFENDER],
                cards=cards_text(fight.defender),
            )
            events.append(Event(BinmatEvent.REVEAL, text, DEFENDER, rule="combat"))
        else:
            text = sentences.opens(ROLES[DEFENDER], fight.defender)
            events.append(Event(BinmatEvent.REVEAL, text, DEFENDER, rule="combat"))
        self.steps.append(CombatStep(sentences.CARDS_OPEN, tuple(events)))

    def _spring_traps(self) -> None:
        """Carry out the TRAPs that are turned up now, the initiator's first.

        Each takes the card played last from the other stack.
        """
        events: list[Event] = []
        for seat in (self.fight.initiator, self.fight.initiator.other):
            mine, theirs = (
                (self.attacker, self.defender)
                if seat is ATTACKER
                else (self.defender, self.attacker)
            )
            for card in [card for card in mine if card[0] == TRAP]:
                if self.fight.lay_open(seat, card):
                    text = say(
                        "{role!c}’s {card} does nothing.", role=ROLES[seat], card=CARD_TEXTS[card]
                    )
                    events.append(
                        Event(BinmatEvent.TRAP_IDLE, text, seat, why=sentences.LAY_UP, rule="traps")
                    )
                else:
                    events.append(self._spring(seat, card, theirs))
        if events:
            self.steps.append(CombatStep(sentences.TRAPS, tuple(events)))

    def _spring(self, seat: Seat, card: str, theirs: list[str]) -> Event:
        role = ROLES[seat]
        if not theirs:
            self.traps.append(Trap(seat, card, None))
            why = say("{role!c} has no card left in this lane.", role=ROLES[seat.other])
            text = say("{role!c}’s {card} takes nothing.", role=role, card=CARD_TEXTS[card])
            return Event(BinmatEvent.TRAP_IDLE, text, seat, why=why, rule="traps")
        taken = theirs.pop()
        self.traps.append(Trap(seat, card, taken))
        (self.to_attacker_discard if seat is ATTACKER else self.to_lane_discard).append(taken)
        text = sentences.trap_takes(role, card, taken)
        return Event(BinmatEvent.TRAP, text, seat, why=sentences.TOP_CARD, rule="traps")

    def _bounce(self) -> None:
        """Move BOUNCEs to the opponent's discard, the rest of the attacker stack to the attacker discard."""
        thrown = [card for card in self.attacker if card[0] == BOUNCE]
        rest = [card for card in self.attacker if card[0] != BOUNCE]
        back = [card for card in self.defender if card[0] == BOUNCE]
        self.defender = [card for card in self.defender if card[0] != BOUNCE]
        self.attacker = []
        self.to_lane_discard += thrown
        self.to_attacker_discard += rest + back
        why = sentences.bounced_by(bool(thrown), bool(back))
        events = [Event(CommonEvent.BOUNCE, sentences.BOUNCES, why=why, rule="bounce")]
        if thrown:
            events.append(_to_lane_discard(thrown, "bounce"))
        if rest:
            events.append(_to_attacker_discard(ATTACKER, rest, "bounce"))
        if back:
            events.append(_to_attacker_discard(DEFENDER, back, "bounce"))
        self.steps.append(
            CombatStep(sentences.BOUNCE_STEP, (*events, *self._stack_stays("bounce")))
        )

    def _compare(self) -> None:
        self.attack, self.defence = sum_of(tuple(self.attacker)), sum_of(tuple(self.defender))
        mine, theirs = self.attack.power, self.defence.power
        events = tuple(
            _said_sum(seat, stack, its)
            for seat, stack, its in (
                (ATTACKER, self.attacker, self.attack),
                (DEFENDER, self.defender, self.defence),
            )
        )
        tallies = (
            tally_of(ATTACKER, self.attack, mine > theirs),
            tally_of(DEFENDER, self.defence, theirs > mine),
        )
        self.steps.append(CombatStep(sentences.POWERS, events, tallies))
        if mine < theirs:
            self._repel(mine, theirs)
        else:
            self._strike(mine, theirs)

    def _repel(self, mine: int, theirs: int) -> None:
        why = say("Power {power} is less than power {other}.", power=mine, other=theirs)
        events = [Event(BinmatEvent.REPELLED, sentences.HOLDS, DEFENDER, why=why, rule="damage")]
        if self.attacker:
            events.append(_to_lane_discard(self.attacker, "damage"))
        self.to_lane_discard += self.attacker
        self.attacker = []
        self.steps.append(CombatStep(sentences.OUTCOME, (*events, *self._stack_stays("damage"))))

    def _strike(self, mine: int, theirs: int) -> None:
        self.damage, why = self._damage(mine, theirs)
        events = [
            Event(
                BinmatEvent.DAMAGE,
                sentences.does_damage(self.damage),
                ATTACKER,
                why=why,
                rule="damage",
            )
        ]
        hits = min(self.damage, len(self.defender))
        if hits:
            lost = self.defender[: -hits - 1 : -1]
            del self.defender[-hits:]
            self.to_attacker_discard += lost
            events.append(_to_attacker_discard(DEFENDER, lost, "damage"))
        self.due = self.damage - hits
        if self.due:
            why = say("{role!c} has no card left in this lane.", role=ROLES[DEFENDER])
            events.append(
                Event(BinmatEvent.DUE, sentences.owes(self.due), ATTACKER, why=why, rule="damage")
            )
        if self.attacker:
            events.append(_to_attacker_discard(ATTACKER, self.attacker, "damage"))
        self.to_attacker_discard += self.attacker
        self.attacker = []
        self.steps.append(CombatStep(sentences.DAMAGE, (*events, *self._stack_stays("damage"))))

    def _damage(self, mine: int, theirs: int) -> tuple[int, str]:
        """Return the damage value of an attack that is not weaker, and its formula in words."""
        if not self.attacker:
            return 0, sentences.TRAPPED_ALL if self.fight.attacker else sentences.NO_POWER
        in_attack = any(card[0] == BREAK for card in self.attacker)
        if self.edition is Edition.RULEBOOK:
            if in_attack:
                return mine, say(
                    "{role!c} has a BREAK: damage is the power, {power}.",
                    role=ROLES[ATTACKER],
                    power=mine,
                )
        elif mine == 0:
            return 0, sentences.NO_POWER
        elif in_attack or any(card[0] == BREAK for card in self.defender):
            size = len(self.defender)
            return max(mine, size), sentences.break_counts_cards(in_attack, mine, size)
        return mine - theirs + 1, sentences.differ(mine, theirs)

    def _stack_stays(self, rule: str) -> tuple[Event, ...]:
        """Return the sentence on a defender stack that stays."""
        if not self.defender:
            return ()
        text = say(
            "{role!c} keeps {cards}, face up.",
            role=ROLES[DEFENDER],
            cards=cards_text(tuple(self.defender)),
        )
        return (Event(BinmatEvent.KEPT, text, DEFENDER, rule=rule),)


def _to_lane_discard(cards: list[str], rule: str) -> Event:
    """Return cards of the attacker stack go there, in the order in which they leave."""
    return Event(
        BinmatEvent.MOVED,
        sentences.to_lane_discard(ROLES[ATTACKER], tuple(cards)),
        ATTACKER,
        rule=rule,
    )


def _to_attacker_discard(seat: Seat, cards: list[str], rule: str) -> Event:
    """Return cards of a seat's stack go there, in the order in which they leave."""
    return Event(
        BinmatEvent.MOVED, sentences.to_attacker_discard(ROLES[seat], tuple(cards)), seat, rule=rule
    )


def _said_sum(seat: Seat, stack: list[str], its: Sum) -> Event:
    """Return a stack's sum in words, WILDs one by one."""
    text = sentences.comes_to(ROLES[seat], its.total, its.power)
    if not stack:
        return Event(BinmatEvent.SUM, text, seat, why=sentences.IS_EMPTY, rule="power")
    numbers = tuple([NUMBERS[card] for card in stack if card in NUMBERS])
    why = sentences.sum_reason(numbers, its.lifts, its.total, its.power)
    return Event(BinmatEvent.SUM, text, seat, why=why, rule="wild" if its.lifts else "power")


def tally_of(seat: Seat, its: Sum, is_greater: bool) -> Tally:
    """Return a sum for the screen, with the doubling row 2 4 8 16 32 filled up to its power."""
    ladder = tuple(2**power for power in range(1, max(5, its.power) + 1))
    return Tally(
        seat,
        its.parts,
        str(its.total),
        sentences.is_worth(its.power),
        ladder,
        its.power,
        is_greater,
    )


def stages_of(
    combat: Combat,
    lane: int | None,
    *,
    before: Sequence[Event] = (),
    after: Sequence[Event] = (),
    expected: Layout | None = None,
    todo: tuple[tuple[Seat, str], ...] = (),
) -> tuple[Stage, ...]:
    """Return a combat as it is shown: TRAPs that act, then all the rest at once, with hands' work in the end.

    `before` and `after` are the events that led to it and followed from it.
    """
    title = say("Combat") if lane is None else say("Lane {lane}", lane=lane)
    events = [*before, *combat.events, *after]
    stages = []
    traps = next((step for step in combat.steps if step.title == sentences.TRAPS), None)
    if traps:
        place = events.index(traps.events[-1]) + 1
        headlines = tuple(Headline(event.text, "sums") for event in traps.events)
        taken = frozenset(CARD_TEXTS[trap.taken] for trap in combat.traps if trap.taken)
        cards = tuple(replace(tally, lost=taken) for tally in _cards_of(combat.fight))
        stages = [Stage(title, {}, tuple(events[:place]), None, cards, headlines=headlines)]
        events = events[place:]
    tallies = next((step.tallies for step in combat.steps if step.tallies), _cards_of(combat.fight))
    lost = {
        Seat.SOUTH: combat.fight.defender,
        Seat.NORTH: () if combat.damage else combat.fight.attacker,
    }
    gone = {
        seat: frozenset(CARD_TEXTS[card] for card in cards if card not in combat.defender)
        for seat, cards in lost.items()
    }
    tallies = tuple(replace(tally, lost=gone[tally.seat]) for tally in tallies)
    headline = (
        Headline(sentences.BOUNCES, "bump")
        if combat.bounced
        else Headline(_headline(combat, lane), "sums")
    )
    return (*stages, Stage(title, {}, tuple(events), expected, tallies, todo, (headline,)))


def _cards_of(fight: Fight) -> tuple[Tally, ...]:
    """Return the cards of both stacks for the screen, where they come to no sum."""
    stacks = {ATTACKER: fight.attacker, DEFENDER: fight.defender}
    return tuple(
        Tally(seat, tuple((CARD_TEXTS[card], "") for card in stack), "")
        for seat, stack in stacks.items()
    )


def _headline(combat: Combat, lane: int | None) -> str:
    """Say what came of a combat that was not bounced, for both, in at most 40 letters."""
    mine, theirs = combat.attack or Sum((), 0, 0), combat.defence or Sum((), 0, 0)
    totals: dict[str, object] = {"total": mine.total, "other": theirs.total}
    attacker, defender = ROLES[ATTACKER], ROLES[DEFENDER]
    if mine.power < theirs.power:
        totals = {"total": theirs.total, "other": mine.total, "side": defender}
        if lane is None:
            return say("{total} beats {other}. {side!c} holds the lane.", **totals)
        return say("{total} beats {other}. {side!c} holds lane {lane}.", **totals, lane=lane)
    hits = combat.damage - combat.due
    head = (
        say("{total} beats {other}.", **totals)
        if mine.power > theirs.power
        else sentences.level(totals)
    )
    if not combat.damage:
        return joined(" ", (head, say("No damage.")))
    if combat.due and not hits:
        return joined(
            " ",
            (
                head,
                say_n(
                    "{side!c} draws {n} card.",
                    "{side!c} draws {n} cards.",
                    combat.due,
                    side=attacker,
                ),
            ),
        )
    if not combat.defender:
        return joined(" ", (head, say("{side!c} loses the stack.", side=defender)))
    return joined(
        " ",
        (head, say_n("{side!c} loses {n} card.", "{side!c} loses {n} cards.", hits, side=defender)),
    )


def plain(combat: Combat) -> dict[str, Any]:
    """Return a combat in plain JSON: the stacks, every step with its sentences, sums, damage, and
    where the cards go."""
    fight = combat.fight

    def plain_sum(its: Sum | None) -> dict[str, Any] | None:
        if its is None:
            return None
        return {
            "parts": [[card, str(adds)] for card, adds in its.parts],
            "total": its.total,
            "power": its.power,
        }

    return {
        "edition": combat.edition,
        "initiator": fight.initiator,
        "defender_open": fight.defender_open,
        "attacker": list(fight.attacker),
        "defender": list(fight.defender),
        "steps": [
            {
                "title": step.title,
                "events": [
                    msgspec.to_builtins(event, enc_hook=plain_words) for event in step.events
                ],
            }
            for step in combat.steps
        ],
        "traps": [
            {"seat": trap.seat, "card": trap.card, "taken": trap.taken} for trap in combat.traps
        ],
        "bounced": combat.bounced,
        "attack": plain_sum(combat.attack),
        "defence": plain_sum(combat.defence),
        "damage": combat.damage,
        "due": combat.due,
        "defender_after": list(combat.defender),
        "to_attacker_discard": list(combat.to_attacker_discard),
        "to_lane_discard": list(combat.to_lane_discard),
    }
