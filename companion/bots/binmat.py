"""An opponent for BINMAT: what it cannot see is dealt out again and again, and each deal is played
on by thumb rules.

It remembers which cards the other side was seen to draw. Of the legal actions the most promising ones are tried, in
rounds of which each keeps the better half (sequential halving: Karnin, Koren and Somekh, 2013). All actions of a round
are tried on the same deals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from companion.bots.base import Bot, Choice, Verdict, next_best, reasons_of
from companion.bots.binmat_rules import (
    ATTACKER_PILE,
    ATTACKS,
    PASS,
    WORTH,
    Action,
    Hidden,
    Table,
    cards_shown,
    cards_unseen,
    damage_of,
    dealt,
    power,
    power_of,
    table_of,
)
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.binmat.cards import BOUNCE, BREAK, CARD_TEXTS, TRAP
from companion.games.binmat.screen import command_word
from companion.games.binmat.state import HIDDEN, LANES

_DONE = "."
"""What ends a turn where cards lie on the table and the program only counts."""
_CHECKS = 6
"""On so many deals an action has to win at once to be sure."""
_PRIOR = (0.05, 0.15)
"""What a point by rule of thumb counts beside a game won in every playout, for the defender and the attacker."""
_LONGEST = 110
"""Turns of a playout. A game of more turns is left undecided there."""
_SURE = 100.0
_UNSEEN_POWER = 1.6
"""What a wall face down is taken to be worth by a rule of thumb."""


@dataclass(frozen=True)
class Strength:
    """A level as data: how many actions are tried, on how many deals a round, and how much its judgement is bent."""

    tried: int
    deals: tuple[int, ...]
    noise: float


STRENGTHS = {
    1: Strength(0, (), 9.0),
    2: Strength(5, (2, 3), 1.8),
    3: Strength(16, (16, 32, 64), 0.0),
}


class BinmatBot(Bot):
    """Plays a seat of BINMAT. Where people hold the cards it can only say that its turn is done."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._strength, self._index, self._seed = STRENGTHS[level], SEATS.index(seat), seed
        self._bent: dict[tuple[str, str], float] = {}
        self._tops: list[str] = []
        self._held: set[str] = set()

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Remember which cards lay open and are with the other side now."""
        if "lanes" in view:
            self._remember(table_of(view, self._index)[0])

    def _remember(self, table: Table) -> None:
        open_cards = cards_shown(table)
        self._held |= set(self._tops)
        self._held -= open_cards
        self._tops = [
            deck[-1]
            for deck, is_open in zip(table.decks, table.are_open, strict=True)
            if deck and is_open
        ]

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return the action that does best in the playouts."""
        if "lanes" not in view:
            return Choice(_DONE, 1)
        table, hidden = table_of(view, self._index)
        self._remember(table)
        rng = Random(f"{self._seed}/{table.left}")
        actions, unseen = table.legal(), cards_unseen(table)
        deals = [dealt(table, hidden, unseen, self._held, rng) for _ in range(_CHECKS)]
        # an action that wins on every deal of a sample is sure
        for action in actions:
            if all(_wins(deal, action, self._index) for deal in deals):
                return Choice(text_of(action), _CHECKS * len(actions), (say("This wins at once."),))
        points = {action: points_of(table, action) + self._noise(action) for action in actions}
        ranked = sorted(actions, key=lambda action: points[action], reverse=True)
        best, nodes = ranked[0], len(actions)
        lines: tuple[str, ...] = ()
        if self._strength.tried and len(ranked) > 1:
            best, played, lines = self._tried(
                table, hidden, {action: points[action] for action in ranked}, rng
            )
            nodes += played
        return Choice(text_of(best), nodes, (_reason(table, best), *lines))

    def judge(self, view: Mapping[str, Any], action: str) -> Verdict:
        """Compare the best action with this one in playouts of the same deals."""
        choice = self.choose(view)
        if "lanes" not in view or action == choice.action:
            return Verdict(choice, 0.0)
        table, hidden = table_of(view, self._index)
        by_text = {text_of(option): option for option in table.legal()}
        if action not in by_text or not self._strength.deals:
            return Verdict(choice, None)
        best, tried, rng = (
            by_text[choice.action],
            by_text[action],
            Random(f"{self._seed}/{table.left}/judge"),
        )
        better, deals, unseen = 0.0, sum(self._strength.deals), cards_unseen(table)
        for _ in range(deals):
            deal, seed = dealt(table, hidden, unseen, self._held, rng), rng.random()
            better += self._playout(deal.copy(), best, Random(seed)) - self._playout(
                deal.copy(), tried, Random(seed)
            )
        return Verdict(choice, min(1.0, max(0.0, better / deals)))

    def _noise(self, action: Action) -> float:
        """Return how much its judgement of such actions is bent, fixed for a game."""
        kind = (action[0], action[1][:1])
        if kind not in self._bent:
            self._bent[kind] = self._strength.noise * Random(f"{self._seed}/{kind}").uniform(-1, 1)
        return self._bent[kind]

    def _tried(
        self, table: Table, hidden: list[Hidden], points: Mapping[Action, float], rng: Random
    ) -> tuple[Action, int, tuple[str, ...]]:
        """Return the action that does best in playouts and by its points, which come best first.

        How many there were. And what they say for it.
        """
        candidates, nodes = _apart(table, list(points))[: self._strength.tried], 0
        scores = dict.fromkeys(candidates, 0.0)
        order = {action: place for place, action in enumerate(candidates)}
        unseen, done = cards_unseen(table), 0
        for round_deals in self._strength.deals:
            for _ in range(round_deals):
                deal, seed = dealt(table, hidden, unseen, self._held, rng), rng.random()
                for action in candidates:
                    scores[action] += self._playout(deal.copy(), action, Random(seed))
                    nodes += 1
            done += round_deals
            judged = {
                action: scores[action] / done + _PRIOR[self._index] * points[action]
                for action in candidates
            }
            candidates.sort(key=lambda action: (-judged[action], order[action]))
            second = candidates[1] if len(candidates) > 1 else None
            # sequential halving: the better half goes on
            candidates = candidates[: max(1, (len(candidates) + 1) // 2)]
            if len(candidates) == 1:
                break
        words = say(
            "It was tried out in {games} games in which what is hidden was dealt at random.",
            games=done,
        )
        less = (
            next_best([_words(second)], max(0.0, scores[candidates[0]] - scores[second]) / done)
            if second
            else ""
        )
        return candidates[0], nodes, reasons_of(words, less)

    def _playout(self, table: Table, action: Action, rng: Random) -> float:
        """Return how well a deal ends for this seat after an action, 0 to 1.

        The attacker's early win counts more.
        """
        whole, end = table.left, table.left - _LONGEST
        table.play(action, rng)
        while table.winner is None and table.left > end:
            table.play(
                attacker_move(table, rng) if table.acts == ATTACKS else defender_move(table, rng),
                rng,
            )
        if table.winner is None:
            return 0.5
        # an early win of the attacker counts more
        won = 0.75 + 0.25 * table.left / whole if table.winner == ATTACKS else 0.0
        return won if self._index == ATTACKS else 1.0 - won


def text_of(action: Action) -> str:
    """Return the notation of an action."""
    if action == PASS:
        return "--"
    letter, card, lane = action
    return f"{letter}{card}{'a' if lane == ATTACKER_PILE else lane}"


def _words(action: Action) -> str:
    """Return an action in words."""
    _, card, lane = action
    word = command_word(text_of(action))
    if lane not in LANES:
        return word
    if not card:
        return say("{key}, lane {lane}", key=word, lane=str(lane))
    return say("{key}: {card}, lane {lane}", key=word, card=CARD_TEXTS[card], lane=str(lane))


def _wins(deal: Table, action: Action, seat: int) -> bool:
    table = deal.copy()
    table.play(action, Random(0))
    return table.winner == seat


def _apart(table: Table, ranked: list[Action]) -> list[Action]:
    """Return the same without actions that differ in nothing but a suit, or in a lane where all is
    alike."""
    keys, distinct = set(), []
    for action in ranked:
        letter, card, lane = action
        place: Any = lane
        if lane in LANES:
            sides = (tuple(table.attack[lane]), tuple(table.defence[lane]), table.is_up[lane])
            place = (
                *sides,
                len(table.decks[lane]),
                tuple(table.decks[lane][-1:]),
                len(table.discards[lane]),
            )
        if (key := (letter, card[:1], place)) not in keys:
            keys.add(key)
            distinct.append(action)
    return distinct


# ---- rules of thumb -------------------------------------------------------------------------------------------------


def points_of(table: Table, action: Action) -> float:
    """Return how promising an action looks to the seat on turn."""
    return (
        _attack_points(table, action) if table.acts == ATTACKS else _defence_points(table, action)
    )


def _left_in(table: Table, lane: int) -> int:
    """Return how many cards a lane can still lose."""
    return len(table.decks[lane]) + (len(table.discards[lane]) if table.is_hackmud else 0)


def _attack_points(table: Table, action: Action) -> float:
    letter, card, lane = action
    if letter == "-":
        return -10.0
    hand = table.hands[ATTACKS]
    if lane == ATTACKER_PILE:
        return 2.5 - 0.5 * len(hand) if letter == "d" else -6.0
    wall, deck = table.defence[lane], _left_in(table, lane)
    if letter == "d":
        return 5.0 - 0.15 * deck - 0.5 * len(hand)
    mine = [*table.attack[lane], card] if card else table.attack[lane]
    is_seen = HIDDEN not in wall
    theirs = float(power(wall)) if is_seen else _UNSEEN_POWER
    strength = power(mine)
    if letter == "c" or (letter == "u" and card[0] == BREAK):
        damage = (
            damage_of(mine, strength, wall, int(theirs), table.is_hackmud)
            if strength >= theirs
            else 0
        )
        if damage > deck + len(wall):
            return 50.0
        return (2.0 * damage - 0.2 * deck if strength else -8.0) - (0.0 if is_seen else 1.0)
    gain = strength - power(table.attack[lane])
    special = 1.5 if card[0] in (TRAP, BOUNCE) else 0.0
    return (
        2.5
        + 1.5 * gain
        - 0.25 * (deck + 2 * len(wall))
        - special
        + (20.0 if deck + len(wall) == 0 else 0.0)
    )


def _defence_points(table: Table, action: Action) -> float:
    letter, card, lane = action
    if letter in "-x":
        return 0.0 if letter == "-" else -4.0
    wall, deck, hand = table.defence[lane], _left_in(table, lane), table.hands[1 - ATTACKS]
    if letter == "d":
        return 4.0 - 0.6 * len(hand) + 0.15 * deck - (0.0 if wall or deck > 4 else 8.0)
    if letter == "c" or (letter == "u" and card[0] == BREAK):
        return -6.0
    gain = power([*wall, card]) - power(wall)
    threat = len(table.attack[lane])
    if not wall:
        return (
            5.0
            + 0.5 * max(0, 13 - deck)
            + gain
            + 1.5 * threat
            - (1.0 if card[0] == BOUNCE else 0.0)
        )
    return (
        1.5 * gain
        + 1.0 * threat
        + (1.0 if card[0] == TRAP and not table.is_up[lane] else 0.0)
        - (3.0 if gain < 0 else 0)
    )


def attacker_move(table: Table, rng: Random) -> Action:
    """Return what the attacker does in a playout: what brings most a turn, a draw, a combat, or a
    stack to be built."""
    hand, random = table.hands[ATTACKS], rng.random
    room = max(0.0, 1.2 - 0.15 * len(hand))
    best, most = PASS, -9.0
    if table.attacker_deck or table.attacker_discard:
        best, most = ("d", "", ATTACKER_PILE), 0.4 * room + 0.3 * random()
    breaks = [card for card in hand if card[0] == BREAK]
    weights = []
    for lane in LANES:
        wall, mine = table.defence[lane], table.attack[lane]
        cards_left = _left_in(table, lane) + len(wall)
        weight = 1 + 6 / (cards_left + 1)
        weights.append(weight + 0.4 * random() - 0.12 * len(wall))
        if not wall and cards_left:
            worth = weight + room + 0.3 * random()
            if worth > most:
                best, most = ("d", "", lane), worth
        if mine:
            strength = power(mine)
            theirs = _wall_power(table, lane, random)
            if strength >= theirs:
                damage = damage_of(mine, strength, wall, theirs, table.is_hackmud)
                if damage > cards_left:
                    return ("c", "", lane)
                worth = weight * damage + 0.3 * random()
                if worth > most:
                    best, most = ("c", "", lane), worth
                if wall and breaks and weight * strength > most:
                    best, most = ("u", breaks[0], lane), weight * strength
    if hand:
        goal = weights.index(max(weights))
        plan, worth = _plan(table, goal, bool(breaks), rng)
        if plan and worth > most:
            return ("p", plan, goal)
    return best


def _wall_power(table: Table, lane: int, random: Callable[[], float]) -> int:
    """Return how strong a playout's attacker takes a wall to be."""
    wall = table.defence[lane]
    if not wall:
        return 0
    return power(wall) if table.is_up[lane] else max(0, int(random() * 5.5 - 1.5))


def _plan(table: Table, lane: int, has_break: bool, rng: Random) -> tuple[str | None, float]:
    """Return the first card of the one or two that bring most a turn in a lane, the combat
    included, and how much."""
    wall, mine = table.defence[lane], table.attack[lane]
    cards_left = _left_in(table, lane) + len(wall)
    weight, theirs = 1 + 6 / (cards_left + 1), _wall_power(table, lane, rng.random)
    before = sum([WORTH[card] for card in mine])
    # a BREAK does damage by the whole power, else by the difference and one
    less = 0 if has_break and wall else theirs - 1
    cards = [(card, WORTH[card]) for card in table.hands[ATTACKS] if card[0] != BREAK]
    best, most = None, -9.0
    for index, (card, worth) in enumerate(cards):
        strength = power_of(before + worth)
        if strength >= theirs:
            damage = strength - less
            value = _SURE if damage > cards_left else weight * damage / 2
            if value > most:
                best, most = card, value
        for _, other in cards[:index]:
            strength = power_of(before + worth + other)
            if strength >= theirs:
                damage = strength - less
                value = _SURE if damage > cards_left else weight * damage / 3
                if value > most:
                    best, most = card, value
    return best, most


def defender_move(table: Table, rng: Random) -> Action:
    """Return what the defender does in a playout."""
    hand = table.hands[1 - ATTACKS]
    if hand:
        bare = [lane for lane in LANES if not table.defence[lane]]
        if bare:
            lane = min(
                bare,
                key=lambda lane: (
                    _left_in(table, lane) - 4 * len(table.attack[lane]) + 2 * rng.random()
                ),
            )
            card = _best_card(hand, [], rng)
            if card and (
                len(hand) > 2
                or table.attack[lane]
                or _left_in(table, lane) < 9
                or rng.random() < 0.6
            ):
                return ("p", card, lane)
        for lane in LANES:
            wall = table.defence[lane]
            if (
                wall
                and (table.attack[lane] or len(hand) > 5)
                and (card := _best_card(hand, wall, rng))
            ):
                before = power(wall)
                if power([*wall, card]) > before or (before == 0 and len(hand) > 3):
                    return ("u" if table.is_up[lane] else "p", card, lane)
    drawn = [lane for lane in LANES if table.decks[lane] or table.discards[lane]]
    if drawn and len(hand) < 8:
        return ("d", "", max(drawn, key=lambda lane: len(table.decks[lane]) + 3 * rng.random()))
    return PASS


def _best_card(hand: list[str], stack: list[str], rng: Random) -> str | None:
    """Return the card that lifts a stack most.

    Towards a power of two where none gets there. BREAKs are kept.
    """
    best, most, before, random = None, -9.0, sum([WORTH[card] for card in stack]), rng.random
    for card in hand:
        value = card[0]
        if value == BREAK:
            continue
        worth = power_of(before + WORTH[card]) + 0.5 * random()
        if value in (BOUNCE, TRAP):
            worth -= 0.8
        if worth > most:
            best, most = card, worth
    return best


def _reason(table: Table, action: Action) -> str:
    """Return why this action, in a sentence that betrays no card."""
    letter, card, lane = action
    if letter == "d":
        return say("This draws where it costs least.")
    if letter == "c" or (letter == "u" and card[0] == BREAK):
        return say("This fights where the stack is strong enough, as far as one can tell.")
    if letter in "pu" and table.acts == ATTACKS:
        return say("This builds where the fewest cards are left.")
    if letter in "pu":
        return say("This strengthens the lane that is in the greatest danger.")
    return (
        say("Nothing that can be done would help.")
        if lane < 0
        else say("This trades in a card of no use.")
    )
