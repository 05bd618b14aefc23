"""An opponent for BINMAT: what it cannot see is dealt out again and again, and each deal is played on by thumb rules.

It remembers which cards the other side was seen to draw. Of the legal actions the most promising ones are tried, in
rounds of which each keeps the better half (sequential halving: Karnin, Koren and Somekh, 2013); all actions of a round
are tried on the same deals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from companion.bots.base import Bot, Choice, Verdict
from companion.bots.binmat_rules import (
    ATTACKER_PILE,
    ATTACKS,
    PASS,
    Action,
    Hidden,
    Table,
    cards_shown,
    damage_of,
    dealt,
    power,
    table_of,
)
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.binmat.cards import BOUNCE, BREAK, TRAP
from companion.games.binmat.state import HIDDEN, LANES

_DONE = "."
"""What ends a turn where cards lie on the table and the program only counts."""
_CHECKS = 6
"""On so many deals an action has to win at once to be sure."""
_PRIOR = (0.05, 0.15)
"""What a point by rule of thumb counts beside a game won in every playout, for the defender and the attacker."""
_LONGEST = 110
"""Turns of a playout; a game of more turns is left undecided there."""
_UNSEEN_POWER = 1.6
"""What a wall face down is taken to be worth by a rule of thumb."""


@dataclass(frozen=True)
class Strength:
    """A level as data: how many actions are tried, on how many deals a round, and how much its judgement is bent."""

    tried: int
    deals: tuple[int, ...]
    noise: float


STRENGTHS = {1: Strength(0, (), 6.0), 2: Strength(8, (6, 10), 0.3), 3: Strength(12, (8, 16, 32), 0.0)}


class BinmatBot(Bot):
    """Plays a seat of BINMAT; where people hold the cards it can only say that its turn is done."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._strength, self._index, self._seed = STRENGTHS[level], SEATS.index(seat), seed
        self._bent: dict[tuple[str, str], float] = {}
        self._tops: list[str] = []
        self._held: set[str] = set()

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Which cards lay open and are with the other side now."""
        if "lanes" in view:
            self._remember(table_of(view, self._index)[0])

    def _remember(self, table: Table) -> None:
        shown = cards_shown(table)
        self._held |= set(self._tops)
        self._held -= shown
        self._tops = [deck[-1] for deck, is_open in zip(table.decks, table.are_open, strict=True) if deck and is_open]

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """The action that does best in the playouts."""
        if "lanes" not in view:
            return Choice(_DONE, 1)
        table, hidden = table_of(view, self._index)
        self._remember(table)
        rng = Random(f"{self._seed}/{table.left}")
        actions = table.legal()
        deals = [dealt(table, hidden, self._held, rng) for _ in range(_CHECKS)]
        for action in actions:
            if action[0] in "cdu" and all(_wins(deal, action, self._index) for deal in deals):
                return Choice(text_of(action), _CHECKS * len(actions), (say("This wins at once."),))
        points = {action: points_of(table, action) + self._noise(action) for action in actions}
        ranked = sorted(actions, key=lambda action: points[action], reverse=True)
        best, nodes = ranked[0], len(actions)
        if self._strength.tried and len(ranked) > 1:
            best, played = self._tried(table, hidden, {action: points[action] for action in ranked}, rng)
            nodes += played
        return Choice(text_of(best), nodes, (_reason(table, best),))

    def judge(self, view: Mapping[str, Any], action: str) -> Verdict:
        """Compare the best action with this one in playouts of the same deals."""
        choice = self.choose(view)
        if "lanes" not in view or action == choice.action:
            return Verdict(choice, 0.0)
        table, hidden = table_of(view, self._index)
        known = {text_of(each): each for each in table.legal()}
        if action not in known or not self._strength.deals:
            return Verdict(choice, None)
        best, tried, rng = known[choice.action], known[action], Random(f"{self._seed}/{table.left}/judge")
        better, deals = 0.0, sum(self._strength.deals)
        for _ in range(deals):
            deal, seed = dealt(table, hidden, self._held, rng), rng.random()
            better += self._playout(deal.copy(), best, Random(seed)) - self._playout(deal.copy(), tried, Random(seed))
        return Verdict(choice, min(1.0, max(0.0, better / deals)))

    def _noise(self, action: Action) -> float:
        """How much its judgement of such actions is bent, fixed for a game."""
        kind = (action[0], action[1][:1])
        if kind not in self._bent:
            self._bent[kind] = self._strength.noise * Random(f"{self._seed}/{kind}").uniform(-1, 1)
        return self._bent[kind]

    def _tried(
        self, table: Table, hidden: list[Hidden], points: Mapping[Action, float], rng: Random
    ) -> tuple[Action, int]:
        """The action that does best in playouts and by its points, which come best first; and how many there were."""
        left, nodes = _apart(table, list(points))[: self._strength.tried], 0
        scores = dict.fromkeys(left, 0.0)
        order = {action: place for place, action in enumerate(left)}
        done = 0
        for round_deals in self._strength.deals:
            for _ in range(round_deals):
                deal, seed = dealt(table, hidden, self._held, rng), rng.random()
                for action in left:
                    scores[action] += self._playout(deal.copy(), action, Random(seed))
                    nodes += 1
            done += round_deals
            judged = {action: scores[action] / done + _PRIOR[self._index] * points[action] for action in left}
            left.sort(key=lambda action: (-judged[action], order[action]))
            left = left[: max(1, (len(left) + 1) // 2)]
            if len(left) == 1:
                break
        return left[0], nodes

    def _playout(self, table: Table, action: Action, rng: Random) -> float:
        """How well a deal ends for this seat after an action, 0 to 1; the attacker's early win counts more."""
        whole, end = table.left, table.left - _LONGEST
        table.play(action, rng)
        while table.winner is None and table.left > end:
            table.play(attacker_move(table, rng) if table.acts == ATTACKS else defender_move(table, rng), rng)
        if table.winner is None:
            return 0.5
        won = 0.75 + 0.25 * table.left / whole if table.winner == ATTACKS else 0.0
        return won if self._index == ATTACKS else 1.0 - won


def text_of(action: Action) -> str:
    """The notation of an action."""
    if action == PASS:
        return "--"
    letter, card, lane = action
    return f"{letter}{card}{'a' if lane == ATTACKER_PILE else lane}"


def _wins(deal: Table, action: Action, seat: int) -> bool:
    table = deal.copy()
    table.play(action, Random(0))
    return table.winner == seat


def _apart(table: Table, ranked: list[Action]) -> list[Action]:
    """The same without actions that differ in nothing but a suit, or in a lane where all is alike."""
    seen, found = set(), []
    for action in ranked:
        letter, card, lane = action
        place: Any = lane
        if lane in LANES:
            sides = (tuple(table.attack[lane]), tuple(table.defence[lane]), table.is_up[lane])
            place = (*sides, len(table.decks[lane]), tuple(table.decks[lane][-1:]), len(table.discards[lane]))
        if (key := (letter, card[:1], place)) not in seen:
            seen.add(key)
            found.append(action)
    return found


# ---- rules of thumb -------------------------------------------------------------------------------------------------


def points_of(table: Table, action: Action) -> float:
    """How promising an action looks to the seat on turn."""
    return _attack_points(table, action) if table.acts == ATTACKS else _defence_points(table, action)


def _left_in(table: Table, lane: int) -> int:
    """How many cards a lane can still lose."""
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
        damage = damage_of(mine, strength, wall, int(theirs), table.is_hackmud) if strength >= theirs else 0
        if damage > deck + len(wall):
            return 50.0
        return (2.0 * damage - 0.2 * deck if strength else -8.0) - (0.0 if is_seen else 1.0)
    gain = strength - power(table.attack[lane])
    special = 1.5 if card[0] in (TRAP, BOUNCE) else 0.0
    return 2.5 + 1.5 * gain - 0.25 * (deck + 2 * len(wall)) - special + (20.0 if deck + len(wall) == 0 else 0.0)


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
        return 5.0 + 0.5 * max(0, 13 - deck) + gain + 1.5 * threat - (1.0 if card[0] == BOUNCE else 0.0)
    return (
        1.5 * gain
        + 1.0 * threat
        + (1.0 if card[0] == TRAP and not table.is_up[lane] else 0.0)
        - (3.0 if gain < 0 else 0)
    )


def attacker_move(table: Table, rng: Random) -> Action:
    """What the attacker does in a playout: strike where it pays, otherwise draw or build, whichever looks better."""
    hand, strengths = table.hands[ATTACKS], [power(stack) for stack in table.attack]
    strike = _strike(table, strengths, rng)
    if strike is not None:
        return strike
    best, most = PASS, -99.0
    for lane in LANES:
        if not table.defence[lane] and (table.decks[lane] or table.discards[lane]):
            worth = 5.0 - 0.15 * _left_in(table, lane) - 0.5 * len(hand) + rng.random()
            if worth > most:
                best, most = ("d", "", lane), worth
    if best == PASS and (table.attacker_deck or table.attacker_discard):
        best, most = ("d", "", ATTACKER_PILE), 2.5 - 0.5 * len(hand) + rng.random()
    if hand:
        goal = min(LANES, key=lambda lane: _left_in(table, lane) + 2 * len(table.defence[lane]) + 2 * rng.random())
        if card := _best_card(hand, table.attack[goal], rng):
            gain = power([*table.attack[goal], card]) - strengths[goal]
            room = _left_in(table, goal) + 2 * len(table.defence[goal])
            if 2.5 + 1.5 * gain - 0.25 * room + rng.random() + (20.0 if room == 0 else 0.0) > most:
                return ("p", card, goal)
    return best


def _strike(table: Table, strengths: list[int], rng: Random) -> Action | None:
    """The combat of a playout's attacker, by declaring it or by a BREAK; None: none pays."""
    best, most = None, 1.0
    breaks = [card for card in table.hands[ATTACKS] if card[0] == BREAK]
    for lane, strength in enumerate(strengths):
        mine, wall = table.attack[lane], table.defence[lane]
        if not mine:
            continue
        is_seen = table.is_up[lane] or not wall
        theirs = power(wall) if is_seen else int(rng.random() * 3.2)
        if strength < theirs:
            continue
        deck = _left_in(table, lane)
        damage = damage_of(mine, strength, wall, theirs, table.is_hackmud)
        if damage > deck + len(wall):
            return ("c", "", lane)
        if not strength:
            continue
        worth = 2 * damage - 0.2 * deck - (0 if is_seen else 1) + rng.random()
        if worth > most:
            best, most = ("c", "", lane), worth
        if wall and breaks:
            damage = max(strength, len(wall)) if table.is_hackmud else strength
            worth = 2 * damage - 0.2 * deck - 1 + rng.random()
            if worth > most:
                best, most = ("u", breaks[0], lane), worth
    return best


def defender_move(table: Table, rng: Random) -> Action:
    """What the defender does in a playout."""
    hand = table.hands[1 - ATTACKS]
    if hand:
        bare = [lane for lane in LANES if not table.defence[lane]]
        if bare:
            lane = min(bare, key=lambda lane: _left_in(table, lane) - 4 * len(table.attack[lane]) + 2 * rng.random())
            card = _best_card(hand, [], rng)
            if card and (len(hand) > 2 or table.attack[lane] or _left_in(table, lane) < 9 or rng.random() < 0.6):
                return ("p", card, lane)
        for lane in LANES:
            wall = table.defence[lane]
            if wall and (table.attack[lane] or len(hand) > 5) and (card := _best_card(hand, wall, rng)):
                before = power(wall)
                if power([*wall, card]) > before or (before == 0 and len(hand) > 3):
                    return ("u" if table.is_up[lane] else "p", card, lane)
    drawn = [lane for lane in LANES if table.decks[lane] or table.discards[lane]]
    if drawn and len(hand) < 8:
        return ("d", "", max(drawn, key=lambda lane: len(table.decks[lane]) + 3 * rng.random()))
    return PASS


def _best_card(hand: list[str], stack: list[str], rng: Random) -> str | None:
    """The card that lifts a stack most; towards a power of two where none gets there. BREAKs are kept."""
    best, most = None, -9.0
    for card in hand:
        if card[0] == BREAK:
            continue
        worth = power([*stack, card]) + 0.5 * rng.random() - (0.8 if card[0] in (BOUNCE, TRAP) else 0.0)
        if worth > most:
            best, most = card, worth
    return best


def _reason(table: Table, action: Action) -> str:
    """Why this action, in a sentence that betrays no card."""
    letter, card, lane = action
    if letter == "d":
        return say("This draws where it costs least.")
    if letter == "c" or (letter == "u" and card[0] == BREAK):
        return say("This fights where the stack is strong enough, as far as one can tell.")
    if letter in "pu" and table.acts == ATTACKS:
        return say("This builds where the fewest cards are left.")
    if letter in "pu":
        return say("This strengthens the lane that is in the greatest danger.")
    return say("Nothing that can be done would help.") if lane < 0 else say("This trades in a card of no use.")
