"""Combat in BINMAT: its resolution, its explanation in events, and the stages that show it.

A combat is the fight of the two stacks of one lane. `Combat` resolves it in these steps:

1. Both stacks are turned face up.
2. TRAPs that lay face down until now spring, those of the initiator first. Each takes the top card
   of the other stack.
3. If a stack still holds a BOUNCE, the combat ends here without damage.
4. The numbers of each stack are added, and each WILD lifts the sum to a power of two. The power of
   a stack is the exponent of its sum: 8 has power 3. Any sum that is no power of two has power 0.
5. If the attacker's power is less than the defender's, the attack is repelled. Otherwise the damage
   is the difference of the powers plus 1, or the attacker's whole power with a BREAK.
6. The defender loses as many cards as the damage says, from the top of the stack. If the stack has
   too few, the lane deck owes the rest to the attacker's hand.

`Combat` knows only the two stacks of a lane, so that the full game, games with real cards and the
command line can share it. It computes how many cards the lane deck owes, but not whether the deck
has them. Source: the rulebook's sections "Combat" and "The Wild Modifier". Differences of the
hackmud edition follow the rulings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from companion.core.errors import Malformed
from companion.core.i18n import joined, say, say_n
from companion.core.kit import Layout, Seat
from companion.games.binmat.cards import (
    BOUNCE,
    BREAK,
    CARD_NUMBERS,
    CARD_TEXTS,
    TRAP,
    WILD,
    Cards,
    cards_text,
    separate_bounces,
)
from companion.games.binmat.events import (
    ATTACKER,
    COMBAT_BOUNCES,
    DEFENDER,
    ROLES,
    BinmatEvent,
    attacker_discard_text,
    lane_discard_text,
)
from companion.games.binmat.state import Edition
from companion.games.events import CommonEvent
from companion.games.screen import Headline, Tally
from companion.games.turn_log import TurnLog

# Title of the stage in which cards are trapped. `add_combat` recognises the stage by it.
_TRAPS_TITLE = say("Traps")


# ---- stacks and sums -----------------------------------------------------------------------------


@dataclass(frozen=True)
class CombatSetup:
    """The two stacks of a lane before a combat, and how the combat began.

    A card or a stack is open if it lay face up before the combat. TRAPs in it do not spring. A card
    that is played face up to begin the combat is the top of its stack, and is not open.

    Raises `Malformed` if a card appears twice.
    """

    attacker_stack: Cards
    """Cards, bottom first.

    It may be empty only in the hackmud edition, and only if the defender stack is not.
    """
    defender_stack: Cards
    """Cards, bottom first."""
    initiator: Seat = ATTACKER
    """Seat that began the combat. Its TRAPs spring first."""
    is_defender_open: bool = False
    """Whether the defender stack was open. All its cards show the same side."""
    open_attacker_cards: frozenset[str] = frozenset()
    """Attacker cards that were open. Only the hackmud edition allows them."""
    lane: int | None = None
    """Number of the lane, or None if it is not known."""

    def __post_init__(self) -> None:
        all_cards = self.attacker_stack + self.defender_stack
        for card in all_cards:
            if all_cards.count(card) > 1:
                raise Malformed(say("{card} appears twice: there is one of each card", card=card))


@dataclass(frozen=True)
class StackSum:
    """The sum of a stack, its attack power, and what each card adds.

    Cards are given as people read them, such as `10&`.
    """

    parts: tuple[tuple[str, str], ...]
    """Pairs of a card and what it adds, such as `("5&", "5")` or `("*%", "to 8")`."""
    total: int
    power: int
    lifts: tuple[tuple[str, int], ...] = ()
    """Pairs of a WILD and the sum to which it lifts the stack."""


def sum_stack(stack: Cards) -> StackSum:
    """Return the sum and attack power of a stack (rulebook, "Combat" and "The Wild Modifier").

    Number cards are added first. Then each WILD lifts the sum to the next power of two. Without
    number cards the first WILD counts 2. Other cards add nothing.

    >>> sum_stack(("5&", "3%", ">+")).power, sum_stack(("4^", "2#")).power
    (3, 0)
    >>> sum_stack(("*&", "*%")).total
    4
    """
    parts = []
    wilds = []
    lifts = []
    idle_parts = []
    total = 0
    for card in stack:
        number = CARD_NUMBERS.get(card)
        if number is not None:
            total += number
            parts.append((CARD_TEXTS[card], str(number)))
        elif card[0] == WILD:
            wilds.append(card)
        else:
            idle_parts.append((CARD_TEXTS[card], "0"))
    # Each WILD lifts the sum to the next higher power of two ("The Wild Modifier").
    for card in wilds:
        counts_two = total == 0
        total = 2 if counts_two else 1 << total.bit_length()
        parts.append((CARD_TEXTS[card], "2" if counts_two else say("to {sum}", sum=total)))
        lifts.append((CARD_TEXTS[card], total))
    return StackSum((*parts, *idle_parts), total, power_of(total), tuple(lifts))


def power_of(total: int) -> int:
    """Return the attack power of a sum: the exponent of a power of two, 0 for every other sum.

    An empty stack has the sum 0 and therefore the power 0.

    >>> [power_of(total) for total in (0, 2, 4, 6, 8, 256)]
    [0, 1, 2, 0, 3, 8]
    """
    # A power of two has exactly one bit set.
    if total and not total & (total - 1):
        return total.bit_length() - 1
    return 0


def explain_sum(stack: Cards, stack_sum: StackSum) -> str | None:
    """Return an explanation of a stack's sum and power, clause by clause.

    Return None if the only number card is a power of two and there is no WILD, since that explains
    itself.
    """
    if not stack:
        return say("The stack is empty.")
    numbers = [CARD_NUMBERS[card] for card in stack if card in CARD_NUMBERS]
    total = stack_sum.total
    clauses = []
    if len(numbers) > 1:
        clauses.append(f"{' + '.join(map(str, numbers))} = {sum(numbers)}")
    elif numbers and stack_sum.lifts:
        clauses.append(str(numbers[0]))
    for index, (card, lifted) in enumerate(stack_sum.lifts):
        counts_two = not numbers and index == 0
        if counts_two:
            clauses.append(say("{card} counts 2", card=card))
        else:
            clauses.append(say("{card} lifts it to {sum}", card=card, sum=lifted))
    if total and not stack_sum.power:
        clauses.append(say("{sum} is not a power of two", sum=total))
    elif not total:
        clauses.append(say("No card counts"))
    if clauses:
        return say("{clauses}.", clauses=joined(", ", clauses))
    return None


# ---- the combat itself ---------------------------------------------------------------------------


class Combat(TurnLog):
    """A combat and its result. The constructor resolves it, as the head of this module describes.

    The attributes hold the result. Each of `stages` is one part of the explanation, with its
    events. Raises `Malformed` if the edition allows no combat between these stacks.
    """

    def __init__(self, setup: CombatSetup, edition: Edition) -> None:
        super().__init__()
        if not setup.attacker_stack and edition is Edition.RULEBOOK:
            raise Malformed(say("Combat needs at least one card in the attacker stack"))
        if not setup.attacker_stack and not setup.defender_stack:
            raise Malformed(say("Combat needs a card in one of the two stacks"))
        self.setup = setup
        self.edition = edition
        self.stacks = {ATTACKER: setup.attacker_stack, DEFENDER: setup.defender_stack}
        """Cards that are left of each stack, bottom first. Only the defender's stay in the lane."""
        self.trapped: Cards = ()
        """Cards that TRAPs have taken, in order."""
        self.sums: dict[Seat, StackSum] = {}
        """Sum of each stack. Empty if a BOUNCE ended the combat."""
        self.damage = 0
        """Number of cards that the defender loses: first those of the stack, then `cards_owed`."""
        self.cards_owed = 0
        """Number of cards that the lane deck owes the attacker's hand."""
        self.to_attacker_discard: Cards = ()
        """Cards that go to the attacker discard, the lowest of them first."""
        self.to_lane_discard: Cards = ()
        """Cards that go to the discard pile of the lane, the lowest of them first."""
        self._reveal()
        self._spring_traps()
        # Checked after the TRAPs, which may have removed a BOUNCE (ruling).
        if any(card[0] == BOUNCE for stack in self.stacks.values() for card in stack):
            self._end_by_bounce()
        else:
            self._compare_powers()

    @property
    def defender_stack(self) -> Cards:
        """What is left of the defender stack, which lies face up afterwards."""
        return self.stacks[DEFENDER]

    def _reveal(self) -> None:
        """Report the cards of both stacks, which are turned face up."""
        for seat, stack in self.stacks.items():
            parts = {"role": ROLES[seat], "cards": cards_text(stack)}
            if not stack:
                text = say("{role!c} has no stack here.", **parts)
            elif seat is DEFENDER and self.setup.is_defender_open:
                text = say("{role!c}’s {cards} lay face up before.", **parts)
            else:
                text = say("{role!c} opens {cards}.", **parts)
            self.add_event(BinmatEvent.REVEAL, seat, text, "combat")
        self.add_stage(say("Cards open"), None)

    def _spring_traps(self) -> None:
        """Spring the TRAPs that are now turned up, the initiator's first.

        Each one takes the top card of the other stack.
        """
        initiator = self.setup.initiator
        for seat in (initiator, initiator.other):
            # A TRAP that the other side's TRAPs have already taken does not act.
            for card in self.stacks[seat]:
                if card[0] == TRAP:
                    self._spring_trap(seat, card)
        if self.events_since_stage:
            self.add_stage(_TRAPS_TITLE, None)

    def _spring_trap(self, seat: Seat, card: str) -> None:
        """Apply one TRAP to the other stack, or explain why it does nothing."""
        other = seat.other
        parts = {"role": ROLES[seat], "card": CARD_TEXTS[card]}
        kind = BinmatEvent.TRAP_IDLE
        # All cards of a defender stack show the same side, but single attacker cards may lie open.
        was_open = card in self.setup.open_attacker_cards
        if seat is DEFENDER:
            was_open = self.setup.is_defender_open
        if was_open:
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
        self.add_event(kind, seat, text, "traps", why=why)

    def _end_by_bounce(self) -> None:
        """End the combat without sums and damage, because a stack holds a BOUNCE.

        BOUNCEs go to the other side's discard pile, and all other attacker cards to the attacker
        discard. The defender keeps the rest of the stack.
        """
        attacker_bounces, other_attacker_cards = separate_bounces(self.stacks[ATTACKER])
        defender_bounces, self.stacks[DEFENDER] = separate_bounces(self.defender_stack)
        why = say("{role!c} has a BOUNCE.", role=ROLES[ATTACKER if attacker_bounces else DEFENDER])
        if attacker_bounces and defender_bounces:
            why = say("Both stacks hold a BOUNCE.")
        self.add_event(CommonEvent.BOUNCE, None, COMBAT_BOUNCES, "bounce", why=why)
        self._discard_to_lane(attacker_bounces, "bounce")
        self._discard_to_attacker(ATTACKER, other_attacker_cards, "bounce")
        self._discard_to_attacker(DEFENDER, defender_bounces, "bounce")
        self._report_kept_stack("bounce")
        self.add_stage(say("Bounce"), None)

    # ---- sums and damage -------------------------------------------------------------------------

    def _compare_powers(self) -> None:
        """Compute and report both sums, then carry out the result of the comparison."""
        self.sums = {seat: sum_stack(stack) for seat, stack in self.stacks.items()}
        tallies = []
        for seat, stack_sum in self.sums.items():
            self._report_sum(seat, stack_sum)
            is_greater = stack_sum.power > self.sums[seat.other].power
            tallies.append(_build_tally(seat, stack_sum, is_greater))
        self.add_stage(say("Powers"), None, tallies=tuple(tallies))
        attack_power = self.sums[ATTACKER].power
        defence_power = self.sums[DEFENDER].power
        # An attack of equal power gets through.
        if attack_power < defence_power:
            self._repel_attack(attack_power, defence_power)
        else:
            self._deal_damage(attack_power, defence_power)

    def _report_sum(self, seat: Seat, stack_sum: StackSum) -> None:
        """Report the sum and power of a stack, and explain them."""
        text = say(
            "{role!c} has {total}: power {power}.",
            role=ROLES[seat],
            total=stack_sum.total,
            power=stack_sum.power,
        )
        why = explain_sum(self.stacks[seat], stack_sum)
        self.add_event(BinmatEvent.SUM, seat, text, "wild" if stack_sum.lifts else "power", why=why)

    def _repel_attack(self, attack_power: int, defence_power: int) -> None:
        """Discard the attacker stack, whose power is less than the defender's."""
        why = say(
            "Power {power} is less than power {other}.", power=attack_power, other=defence_power
        )
        text = say("{role!c} holds the lane.", role=ROLES[DEFENDER])
        self.add_event(BinmatEvent.REPELLED, DEFENDER, text, "damage", why=why)
        self._discard_to_lane(self.stacks[ATTACKER], "damage")
        self._report_kept_stack("damage")
        self.add_stage(say("Outcome"), None)

    def _deal_damage(self, attack_power: int, defence_power: int) -> None:
        """Deal the damage of an attack that is not weaker than the defence.

        The damage is the number of cards that the defender loses. The top cards of the defender
        stack go first. The lane deck owes the rest.
        """
        self.damage, why = self._damage_and_formula(attack_power, defence_power)
        text = say("{role!c} does no damage.", role=ROLES[ATTACKER])
        if self.damage:
            text = say("{role!c} does {damage} damage.", role=ROLES[ATTACKER], damage=self.damage)
        self.add_event(BinmatEvent.DAMAGE, ATTACKER, text, "damage", why=why)
        remaining = max(0, len(self.defender_stack) - self.damage)
        lost_cards = self.defender_stack[remaining:]
        self.stacks[DEFENDER] = self.defender_stack[:remaining]
        # The top card goes first.
        self._discard_to_attacker(DEFENDER, lost_cards[::-1], "damage")
        owed = self.cards_owed = self.damage - len(lost_cards)
        if owed:
            text = say_n("The lane deck owes {n} card.", "The lane deck owes {n} cards.", owed)
            why = say("{role!c} has no card left in this lane.", role=ROLES[DEFENDER])
            self.add_event(BinmatEvent.CARDS_OWED, ATTACKER, text, "damage", why=why)
        self._discard_to_attacker(ATTACKER, self.stacks[ATTACKER], "damage")
        self._report_kept_stack("damage")
        self.add_stage(say("Damage"), None)

    def _damage_and_formula(self, attack_power: int, defence_power: int) -> tuple[int, str]:
        """Return the damage of an attack that is not weaker, and its formula in words.

        Rulebook, "Combat". A BREAK, and in the hackmud edition two powers of 0, change the formula.
        """
        no_power = say("Both powers are 0.")
        # An attacker stack that was empty, or that TRAPs emptied, does no damage (ruling).
        if not self.stacks[ATTACKER]:
            if self.setup.attacker_stack:
                return 0, say("{role!c} has lost all cards to TRAPs.", role=ROLES[ATTACKER])
            return 0, no_power
        seats_with_break = [
            seat for seat, stack in self.stacks.items() if any(card[0] == BREAK for card in stack)
        ]
        is_rulebook = self.edition is Edition.RULEBOOK
        # Rulebook edition: only the attacker's BREAK counts, and the defender's power is ignored.
        if is_rulebook and ATTACKER in seats_with_break:
            parts = {"role": ROLES[ATTACKER], "power": attack_power}
            return attack_power, say("{role!c} has a BREAK: damage is the power, {power}.", **parts)
        # Hackmud edition: this attack is not weaker, so the defender's power is 0 as well.
        if not is_rulebook and attack_power == 0:
            return 0, no_power
        # Hackmud edition: a BREAK in either stack counts, and the stack size is the least damage.
        if not is_rulebook and seats_with_break:
            size = len(self.defender_stack)
            return max(attack_power, size), say_n(
                "{role!c} has a BREAK: the larger of power {power} and {other}’s {n} card.",
                "{role!c} has a BREAK: the larger of power {power} and {other}’s {n} cards.",
                size,
                role=ROLES[seats_with_break[0]],
                other=ROLES[DEFENDER],
                power=attack_power,
            )
        # In the rulebook edition 0 against 0 therefore does 1 damage (ruling).
        damage = attack_power - defence_power + 1
        parts = {"power": attack_power, "other": defence_power, "damage": damage}
        return damage, say("{power} against {other}: {damage} damage", **parts)

    # ---- where cards go --------------------------------------------------------------------------

    def _discard_to_lane(self, cards: Cards, rule: str) -> None:
        """Move attacker cards to the lane discard, in the given order, because of a rule."""
        if cards:
            text = lane_discard_text(ROLES[ATTACKER], cards)
            self.add_event(BinmatEvent.CARDS_DISCARDED, ATTACKER, text, rule)
            self.to_lane_discard += cards

    def _discard_to_attacker(self, seat: Seat, cards: Cards, rule: str) -> None:
        """Move cards of a seat's stack to the attacker discard, in the given order."""
        if cards:
            text = attacker_discard_text(ROLES[seat], cards)
            self.add_event(BinmatEvent.CARDS_DISCARDED, seat, text, rule)
            self.to_attacker_discard += cards

    def _report_kept_stack(self, rule: str) -> None:
        """Report the cards that stay in the defender stack, if any."""
        if self.defender_stack:
            cards = cards_text(self.defender_stack)
            text = say("{role!c} keeps {cards}, face up.", role=ROLES[DEFENDER], cards=cards)
            self.add_event(BinmatEvent.STACK_KEPT, DEFENDER, text, rule)


# ---- what a turn shows of a combat ---------------------------------------------------------------


def add_combat(log: TurnLog, combat: Combat) -> None:
    """Add the events of a combat to the log of a turn.

    TRAPs get a stage of their own, which still shows the cards that they take.
    """
    for stage in combat.stages:
        log.events += stage.events
        if stage.title == _TRAPS_TITLE:
            log.headlines = [Headline(event.text, "sums") for event in stage.events]
            trapped = frozenset(CARD_TEXTS[card] for card in combat.trapped)
            tallies = tuple(replace(tally, lost=trapped) for tally in _card_tallies(combat.setup))
            log.add_stage(_stage_title(combat), None, tallies=tallies)


def add_result_stage(
    log: TurnLog,
    combat: Combat,
    expected: Layout | None = None,
    todo: tuple[tuple[Seat, str], ...] = (),
) -> None:
    """Add the last stage of a combat: the powers and the cards that are lost.

    The stage gets the events of the turn since the last stage. `expected` and `todo` are fields of
    `Stage`, for people who move real cards.
    """
    # Attacker cards that did damage are not crossed out, although they are discarded too.
    lost_cards = {
        DEFENDER: combat.setup.defender_stack,
        ATTACKER: () if combat.damage else combat.setup.attacker_stack,
    }
    crossed_out = {
        seat: frozenset(CARD_TEXTS[card] for card in cards if card not in combat.defender_stack)
        for seat, cards in lost_cards.items()
    }
    # Show the powers, or only the cards if a BOUNCE prevented the sums.
    shown = next(
        (part.tallies for part in combat.stages if part.tallies), _card_tallies(combat.setup)
    )
    tallies = tuple(replace(tally, lost=crossed_out[tally.seat]) for tally in shown)
    headline = Headline(COMBAT_BOUNCES, "bump")
    if combat.sums:
        headline = Headline(_result_text(combat), "sums")
    log.headlines = [headline]
    log.add_stage(_stage_title(combat), expected, tallies=tallies, todo=todo)


def _stage_title(combat: Combat) -> str:
    lane = combat.setup.lane
    return say("Combat") if lane is None else say("Lane {lane}", lane=lane)


def _build_tally(seat: Seat, stack_sum: StackSum, is_greater: bool) -> Tally:
    """Return the tally of a sum, whose ladder 2 4 8 16 32 is filled up to its power."""
    # The ladder goes at least to 32. It thus shows how far a weak sum falls short.
    length = max(5, stack_sum.power)
    return Tally(
        seat,
        stack_sum.parts,
        str(stack_sum.total),
        worth=say("power {power}", power=stack_sum.power),
        ladder=tuple(2**power for power in range(1, length + 1)),
        reached=stack_sum.power,
        is_greater=is_greater,
    )


def _card_tallies(setup: CombatSetup) -> tuple[Tally, ...]:
    """Return tallies that show the cards of both stacks without their sums."""
    stacks = {ATTACKER: setup.attacker_stack, DEFENDER: setup.defender_stack}
    return tuple(
        Tally(seat, tuple((CARD_TEXTS[card], "") for card in stack), "")
        for seat, stack in stacks.items()
    )


def _result_text(combat: Combat) -> str:
    """Return the result of a combat that no BOUNCE has ended, in at most 40 characters."""
    lane = combat.setup.lane
    attack_sum = combat.sums[ATTACKER]
    defence_sum = combat.sums[DEFENDER]
    if attack_sum.power < defence_sum.power:
        parts = {"total": defence_sum.total, "other": attack_sum.total, "side": ROLES[DEFENDER]}
        if lane is None:
            return say("{total} beats {other}. {side!c} holds the lane.", **parts)
        return say("{total} beats {other}. {side!c} holds lane {lane}.", **parts, lane=lane)
    # The cards that the defender stack has lost, without those that the lane deck owes.
    stack_losses = combat.damage - combat.cards_owed
    side = ROLES[DEFENDER]
    if not combat.damage:
        result = say("No damage.")
    elif not stack_losses:
        side = ROLES[ATTACKER]
        owed = combat.cards_owed
        result = say_n("{side!c} draws {n} card.", "{side!c} draws {n} cards.", owed, side=side)
    elif not combat.defender_stack:
        result = say("{side!c} loses the stack.", side=side)
    else:
        result = say_n(
            "{side!c} loses {n} card.", "{side!c} loses {n} cards.", stack_losses, side=side
        )
    totals = {"total": attack_sum.total, "other": defence_sum.total}
    comparison = say("{total} against {other}.", **totals)
    if attack_sum.power > defence_sum.power:
        comparison = say("{total} beats {other}.", **totals)
    return joined(" ", (comparison, result))
