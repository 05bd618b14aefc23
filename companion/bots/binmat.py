"""An opponent for BINMAT: it deals the hidden cards at random many times and plays each deal out.

Playouts follow rules of thumb. The opponent remembers which cards the other side was seen to draw.
It tries the most promising legal actions in rounds, and each round keeps the better half
(sequential halving: Karnin, Koren and Somekh, 2013). All actions of a round are tried on the same
deals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

from companion.bots.base import Bot, Choice, reasons_of, second_best
from companion.bots.binmat_rules import (
    ATTACKS,
    DEFENDS,
    PASS,
    VALUES,
    Action,
    Table,
    cards_shown,
    damage_of,
    power,
    power_of,
    random_deals,
    state_of,
)
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.binmat.actions import ACTION_PARTS, ATTACKER_PILE, legal_actions
from companion.games.binmat.cards import BOUNCE, BREAK, CARD_TEXTS, TRAP
from companion.games.binmat.screen import command_word
from companion.games.binmat.state import HIDDEN, LANES, State
from companion.games.binmat.turn import play

_DONE = "."
"""Action that ends a turn with real cards, where the program only counts turns."""
_CHECKS = 6
"""Number of deals on which an action must win at once to count as a sure win."""
_PRIOR = (0.05, 0.15)
"""Weight of one point of the rules of thumb, where 1 is a win in every playout, for defender and
attacker.
"""
_MAX_PLAYOUT_TURNS = 110
"""Maximum number of turns of a playout. A longer one counts as undecided."""
_SURE = 100.0
_UNSEEN_POWER = 1.6
"""Assumed power of a face-down defender stack in the rules of thumb."""


@dataclass(frozen=True)
class Strength:
    """Parameters of a level: number of actions, deals of each round, and noise."""

    tried: int
    deals: tuple[int, ...]
    noise: float


STRENGTHS = {
    1: Strength(0, (), 9.0),
    2: Strength(5, (2, 3), 1.8),
    3: Strength(16, (16, 32, 64), 0.0),
}


class BinmatBot(Bot):
    """Plays a seat of BINMAT. With real cards it can only end its turn."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._strength = STRENGTHS[level]
        self._index = SEATS.index(seat)
        self._tops: list[str] = []
        self._held: set[str] = set()

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Remember which cards lay open and are now in the other side's hand."""
        if "lanes" in view:
            self._remember(state_of(view))

    def _remember(self, state: State) -> None:
        self._held |= set(self._tops)
        self._held -= cards_shown(state)
        decks = zip(state.decks, state.decks_open, strict=True)
        self._tops = [deck[0] for deck, is_open in decks if deck and is_open]

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return the action with the best result in the playouts."""
        if "lanes" not in view:
            return Choice(_DONE, 1)
        state = state_of(view)
        self._remember(state)
        rng = Random(f"{self.seed}/{state.turns_left}")
        deals = random_deals(state, self._index, self._held, rng)
        texts = legal_actions(state, self.seat)
        # an action that wins at once on every sampled deal is taken as a sure win
        samples = list(islice(deals, _CHECKS))
        for text in texts:
            ends = (play(sample, text, Random(0)).state.outcome for sample in samples)
            if all(end and self.seat in end.winners for end in ends):
                return Choice(text, _CHECKS * len(texts), (say("This wins at once."),))
        table = Table(state)
        points = {text: points_of(table, ACTION_PARTS[text]) + self._noise(text) for text in texts}
        ranked = sorted(texts, key=points.__getitem__, reverse=True)
        best = ranked[0]
        nodes = len(texts)
        lines: tuple[str, ...] = ()
        if self._strength.tried and len(ranked) > 1:
            candidates = _distinct_actions(table, ranked)[: self._strength.tried]
            best, played, lines = self._best_by_halving(deals, rng, candidates, points)
            nodes += played
        return Choice(best, nodes, (_reason(table, ACTION_PARTS[best]), *lines))

    def _noise(self, text: str) -> float:
        """Return the noise of the evaluation for this kind of action, fixed for the whole game."""
        letter, card, _ = ACTION_PARTS[text]
        kind = (letter, card[:1])
        return self._strength.noise * Random(f"{self.seed}/{kind}").uniform(-1, 1)

    def _best_by_halving(
        self,
        deals: Iterator[State],
        rng: Random,
        candidates: list[str],
        points: Mapping[str, float],
    ) -> tuple[str, int, tuple[str, ...]]:
        """Return the best candidate, the number of playouts, and the reasons."""
        nodes = done = 0
        scores = dict.fromkeys(candidates, 0.0)
        second = None
        for round_deals in self._strength.deals:
            for deal in islice(deals, round_deals):
                seed = rng.random()
                for text in candidates:
                    scores[text] += self._playout(deal, text, seed)
            nodes += round_deals * len(candidates)
            done += round_deals
            values = {}
            for text in candidates:
                values[text] = scores[text] / done + _PRIOR[self._index] * points[text]
            candidates = sorted(candidates, key=values.__getitem__, reverse=True)
            second = candidates[1] if len(candidates) > 1 else None
            # sequential halving: only the better half stays
            candidates = candidates[: (len(candidates) + 1) // 2]
            if len(candidates) == 1:
                break
        best = candidates[0]
        less = ""
        if second:
            lead = max(0.0, scores[best] - scores[second])
            less = second_best([_words(second)], lead / done)
        words = say(
            "It was tried out in {games} games in which what is hidden was dealt at random.",
            games=done,
        )
        return best, nodes, reasons_of(words, less)

    def _playout(self, deal: State, text: str, seed: float) -> float:
        """Return the result of a playout for this seat, 0 to 1, after an action on a deal."""
        rng = Random(seed)
        whole = deal.turns_left
        end = whole - _MAX_PLAYOUT_TURNS
        table = Table(play(deal, text, rng).state)
        while table.winner is None and table.left > end:
            move = attacker_move if table.acts == ATTACKS else defender_move
            table.play(move(table, rng), rng)
        if table.winner is None:
            return 0.5
        # an early win of the attacker counts more
        won = 0.75 + 0.25 * table.left / whole if table.winner == ATTACKS else 0.0
        return won if self._index == ATTACKS else 1.0 - won


def _words(text: str) -> str:
    """Return an action in words."""
    _, card, lane = ACTION_PARTS[text]
    word = command_word(text)
    if lane not in LANES:
        return word
    if not card:
        return say("{key}, lane {lane}", key=word, lane=str(lane))
    return say(
        "{key}: {card}, lane {lane}",
        key=word,
        card=CARD_TEXTS[card],
        lane=str(lane),
    )


def _distinct_actions(table: Table, ranked: list[str]) -> list[str]:
    """Return the actions without equivalent ones.

    Actions are equivalent if only the suit differs, or the lane and both lanes are the same.
    """
    distinct: dict[tuple[object, ...], str] = {}
    for text in ranked:
        letter, card, lane = ACTION_PARTS[text]
        place: tuple[object, ...] = (lane,)
        if lane in LANES:
            deck = table.decks[lane]
            piles = len(deck), tuple(deck[-1:]), len(table.discards[lane])
            stacks = tuple(table.attack[lane]), tuple(table.defence[lane])
            place = (*stacks, table.defence_up[lane], *piles)
        distinct.setdefault((letter, card[:1], *place), text)
    return list(distinct.values())


# ---- rules of thumb ------------------------------------------------------------------------------


def points_of(table: Table, action: Action) -> float:
    """Return how promising an action looks to the seat on turn, by rules of thumb."""
    points = _attack_points if table.acts == ATTACKS else _defence_points
    return points(table, action)


def _cards_left(table: Table, lane: int) -> int:
    """Return how many cards a lane can still lose."""
    return len(table.decks[lane]) + (len(table.discards[lane]) if table.is_hackmud else 0)


def _is_combat(action: Action) -> bool:
    letter, card, _ = action
    return letter == "c" or (letter == "u" and card[0] == BREAK)


def _attack_points(table: Table, action: Action) -> float:
    letter, card, lane = action
    if letter == "-":
        return -10.0
    hand = table.hands[ATTACKS]
    if lane == ATTACKER_PILE:
        if letter == "d":
            return 2.5 - 0.5 * len(hand)
        return -6.0
    wall = table.defence[lane]
    deck = _cards_left(table, lane)
    if letter == "d":
        return 5.0 - 0.15 * deck - 0.5 * len(hand)
    before = table.attack[lane]
    mine = [*before, card] if card else before
    strength = power(mine)
    if _is_combat(action):
        is_seen = HIDDEN not in wall
        theirs = float(power(wall)) if is_seen else _UNSEEN_POWER
        damage = 0
        if strength >= theirs:
            damage = damage_of(
                mine,
                strength,
                wall,
                int(theirs),
                table.is_hackmud,
            )
        if damage > deck + len(wall):
            return 50.0
        points = 2.0 * damage - 0.2 * deck if strength else -8.0
        return points - (0.0 if is_seen else 1.0)
    points = 2.5 + 1.5 * (strength - power(before)) - 0.25 * (deck + 2 * len(wall))
    if card[0] in (TRAP, BOUNCE):
        points -= 1.5
    if not deck and not wall:
        points += 20.0
    return points


def _defence_points(table: Table, action: Action) -> float:
    letter, card, lane = action
    if letter in "-x":
        return 0.0 if letter == "-" else -4.0
    wall = table.defence[lane]
    deck = _cards_left(table, lane)
    hand = table.hands[DEFENDS]
    if letter == "d":
        points = 4.0 - 0.6 * len(hand) + 0.15 * deck
        return points if wall or deck > 4 else points - 8.0
    if _is_combat(action):
        return -6.0
    gain = power([*wall, card]) - power(wall)
    threat = len(table.attack[lane])
    if not wall:
        points = 5.0 + 0.5 * max(0, 13 - deck) + gain + 1.5 * threat
        if card[0] == BOUNCE:
            return points - 1.0
        return points
    points = 1.5 * gain + 1.0 * threat
    if card[0] == TRAP and not table.defence_up[lane]:
        points += 1.0
    return points - 3.0 if gain < 0 else points


def attacker_move(table: Table, rng: Random) -> Action:
    """Return the attacker's action in a playout: the one that gains most per turn.

    It compares drawing, combat, and building a stack for a later combat.
    """
    hand = table.hands[ATTACKS]
    random = rng.random
    room = max(0.0, 1.2 - 0.15 * len(hand))
    best = PASS
    most = -9.0
    if table.attacker_deck or table.attacker_discard:
        best = ("d", "", ATTACKER_PILE)
        most = 0.4 * room + 0.3 * random()
    breaks = [card for card in hand if card[0] == BREAK]
    attractions = []
    for lane in LANES:
        wall = table.defence[lane]
        mine = table.attack[lane]
        cards_left = _cards_left(table, lane) + len(wall)
        weight = _lane_weight(cards_left)
        attractions.append(weight + 0.4 * random() - 0.12 * len(wall))
        if not wall and cards_left:
            value = weight + room + 0.3 * random()
            if value > most:
                best = ("d", "", lane)
                most = value
        if not mine:
            continue
        strength = power(mine)
        theirs = _wall_power(table, lane, random)
        if strength < theirs:
            continue
        damage = damage_of(
            mine,
            strength,
            wall,
            theirs,
            table.is_hackmud,
        )
        if damage > cards_left:
            return ("c", "", lane)
        value = weight * damage + 0.3 * random()
        if value > most:
            best = ("c", "", lane)
            most = value
        if wall and breaks and weight * strength > most:
            best = ("u", breaks[0], lane)
            most = weight * strength
    if hand:
        goal = attractions.index(max(attractions))
        card, value = _best_build(
            table,
            goal,
            bool(breaks),
            rng,
        )
        if card and value > most:
            return ("p", card, goal)
    return best


def _lane_weight(cards_left: int) -> float:
    """Return the weight of one card of a lane, which is higher the fewer are left."""
    return 1 + 6 / (cards_left + 1)


def _wall_power(table: Table, lane: int, random: Callable[[], float]) -> int:
    """Return the power that the attacker of a playout assumes for a defender stack."""
    wall = table.defence[lane]
    if not wall:
        return 0
    if table.defence_up[lane]:
        return power(wall)
    return max(0, int(random() * 5.5 - 1.5))


def _best_build(table: Table, lane: int, has_break: bool, rng: Random) -> tuple[str | None, float]:
    """Return the best card to play in a lane, and its gain per turn.

    Considers one or two cards and the turn of the combat.
    """
    wall = table.defence[lane]
    mine = table.attack[lane]
    cards_left = _cards_left(table, lane) + len(wall)
    weight = _lane_weight(cards_left)
    theirs = _wall_power(table, lane, rng.random)
    before = sum([VALUES[card] for card in mine])
    # with a BREAK the damage is the whole power, otherwise the difference plus one
    less = 0 if has_break and wall else theirs - 1
    cards = [(card, VALUES[card]) for card in table.hands[ATTACKS] if card[0] != BREAK]
    best = None
    most = -9.0
    for index, (card, number) in enumerate(cards):
        # one card and the combat take two turns, two cards and the combat three
        builds = [(before + number, 2)]
        builds += [(before + number + other, 3) for _, other in cards[:index]]
        for total, turns in builds:
            strength = power_of(total)
            if strength >= theirs:
                damage = strength - less
                value = _SURE if damage > cards_left else weight * damage / turns
                if value > most:
                    best = card
                    most = value
    return best, most


def defender_move(table: Table, rng: Random) -> Action:
    """Return the defender's action in a playout."""
    hand = table.hands[DEFENDS]
    if hand and (play := _build_wall(table, hand, rng)):
        return play
    lanes = [lane for lane in LANES if table.decks[lane] or table.discards[lane]]
    if lanes and len(hand) < 8:
        return ("d", "", max(lanes, key=lambda lane: len(table.decks[lane]) + 3 * rng.random()))
    return PASS


def _build_wall(table: Table, hand: list[str], rng: Random) -> Action | None:
    """Return a card for a lane without a stack, or for a stack that it strengthens."""
    bare = [lane for lane in LANES if not table.defence[lane]]
    if bare:
        dangers = [
            _cards_left(table, lane) - 4 * len(table.attack[lane]) + 2 * rng.random()
            for lane in bare
        ]
        lane = bare[dangers.index(min(dangers))]
        card = _best_card(hand, [], rng)
        is_urgent = len(hand) > 2 or table.attack[lane] or _cards_left(table, lane) < 9
        if card and (is_urgent or rng.random() < 0.6):
            return ("p", card, lane)
    for lane in LANES:
        wall = table.defence[lane]
        if not wall or not (table.attack[lane] or len(hand) > 5):
            continue
        card = _best_card(hand, wall, rng)
        if card:
            before = power(wall)
            if power([*wall, card]) > before or (before == 0 and len(hand) > 3):
                return ("p", card, lane)
    return None


def _best_card(hand: list[str], stack: list[str], rng: Random) -> str | None:
    """Return the card that adds most power to a stack, or None.

    BREAKs are kept in hand.
    """
    best = None
    most = -9.0
    before = sum([VALUES[card] for card in stack])
    for card in hand:
        if card[0] == BREAK:
            continue
        value = power_of(before + VALUES[card]) + 0.5 * rng.random()
        if card[0] in (BOUNCE, TRAP):
            value -= 0.8
        if value > most:
            best = card
            most = value
    return best


def _reason(table: Table, action: Action) -> str:
    """Return the reason for an action in a sentence that reveals no card."""
    letter, _, lane = action
    if letter == "d":
        return say("This draws where it costs least.")
    if _is_combat(action):
        return say("This fights where the stack is strong enough, as far as one can tell.")
    if letter in "pu":
        if table.acts == ATTACKS:
            return say("This builds where the fewest cards are left.")
        return say("This strengthens the lane that is in the greatest danger.")
    if lane < 0:
        return say("Nothing that can be done would help.")
    return say("This trades in a card of no use.")
