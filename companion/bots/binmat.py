"""The bot for BINMAT: Monte Carlo playouts on random deals of the hidden cards.

The attacker wins by combats that take more cards than a lane has left, the defender by lasting
until the turns run out. A wall is a stack of the defender.

The bot deals the hidden cards at random many times (determinization), tries an action on each deal,
and plays the game out. Both sides of a playout follow rules of thumb. The bot tries the most
promising legal actions in rounds, and each round keeps the better half (sequential halving: Karnin,
Koren and Somekh, 2013). All actions of a round are tried on the same deals. The value of an action
is its mean result, from 0 (every playout is lost) to 1 (every playout is won), plus a little of its
points by the rules of thumb. The bot also remembers which cards the other side was seen to draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

from companion.bots.base import Bot, Choice, second_best_sentence, without_empty
from companion.bots.binmat_rules import (
    ATTACKER_SEAT,
    CARD_VALUES,
    DEFENDER_SEAT,
    PASS_MOVE,
    PlayoutMove,
    PlayoutState,
    damage_of,
    power,
    power_of_sum,
    random_deals,
    state_of,
    visible_cards,
)
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.binmat.actions import (
    ACTION_PARTS,
    ATTACKER_PILE,
    COMBAT,
    DISCARD,
    DRAW,
    PLAY_DOWN,
    PLAY_UP,
    legal_actions,
)
from companion.games.binmat.cards import BOUNCE, BREAK, CARD_TEXTS, TRAP
from companion.games.binmat.screen import command_word
from companion.games.binmat.state import CARDS_PER_LANE, HIDDEN, LANES, State
from companion.games.binmat.turn import carry_out

# Action that ends a turn of a game with real cards, in which the program only counts turns.
_END_TURN = "."

# Number of deals on which an action must win at once to count as a sure win. More deals take
# longer. With fewer deals, luck may look like a sure win.
_SURE_WIN_DEALS = 6

# Weight of one point of the rules of thumb in the value of an action, where 1 is a win in every
# playout. By seat (`Seat.number`): the defender's weight, then the attacker's. They differ because
# the points of the two are on different scales.
_POINT_WEIGHTS = (0.05, 0.15)

# Maximum number of turns of a playout, as many as a game of the usual options has. A longer playout
# counts as undecided.
_MAX_PLAYOUT_TURNS = 110

# Gain, in a playout, of a card after which a combat can win the game. It is above every other gain.
_WINNING_GAIN = 100.0

# Gain of a last resort: a move that is chosen only if there is no other.
_LAST_RESORT_GAIN = -9.0

# Assumed power of a face-down wall in the rules of thumb. Chosen by hand: with a lower power the
# bot attacks more.
_FACE_DOWN_WALL_POWER = 1.6


class BinmatParameters(NamedTuple):
    """Parameters of a level."""

    max_actions: int
    """Maximum number of actions tried in playouts. With 0, the bot takes the action with the most
    points by the rules of thumb.
    """
    deals: tuple[int, ...]
    """Number of deals in each round of playouts."""
    noise: float
    """Maximum change of the points of an action by noise."""


# Parameters by level. Matches judge them: each level has to beat the one below
# (`tests/bench/bots`).
PARAMETERS_BY_LEVEL = {
    1: BinmatParameters(max_actions=0, deals=(), noise=9.0),
    2: BinmatParameters(max_actions=5, deals=(2, 3), noise=1.8),
    3: BinmatParameters(max_actions=16, deals=(16, 32, 64), noise=0.0),
}


class BinmatBot(Bot):
    """Plays a seat of BINMAT. With real cards it can only end its turn."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self._parameters = PARAMETERS_BY_LEVEL[level]
        # cards that lay face up on the lane decks in the last view
        self._open_tops: list[str] = []
        # cards that lay open and are now with the other side, face down in its hand or its stacks
        self._cards_of_other: set[str] = set()

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Remember which cards lay open and are now with the other side."""
        if "lanes" in view:
            self._track_open_cards(state_of(view))

    def _track_open_cards(self, state: State) -> None:
        """Note the cards that the other side was seen to draw, and those that lie open now."""
        # an open card that is no longer visible was drawn by the other side
        self._cards_of_other |= set(self._open_tops)
        self._cards_of_other -= visible_cards(state)
        decks = zip(state.decks, state.is_deck_open, strict=True)
        self._open_tops = [deck[0] for deck, is_open in decks if deck and is_open]

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return an action that wins at once, or the one with the highest value in the playouts.

        A level without playouts takes the action with the most points by the rules of thumb.
        """
        if "lanes" not in view:
            return Choice(_END_TURN, 1)
        state = state_of(view)
        self._track_open_cards(state)
        rng = Random(f"{self.seed}/{state.turns_left}")
        deals = random_deals(state, self.seat.number, self._cards_of_other, rng)
        actions = legal_actions(state, self.seat)
        samples = list(islice(deals, _SURE_WIN_DEALS))
        for action in actions:
            if self._wins_at_once(samples, action):
                return Choice(action, _SURE_WIN_DEALS * len(actions), (say("This wins at once."),))
        playout = PlayoutState(state)
        points = {
            action: rate_move(playout, ACTION_PARTS[action]) + self._noise(action)
            for action in actions
        }
        ranked = sorted(actions, key=points.__getitem__, reverse=True)
        best = ranked[0]
        nodes = len(actions)
        reasons: tuple[str, ...] = ()
        if self._parameters.max_actions and len(ranked) > 1:
            candidates = _distinct_actions(playout, ranked)[: self._parameters.max_actions]
            choice = self._choose_by_halving(deals, rng, candidates, points)
            best = choice.action
            nodes += choice.nodes
            reasons = choice.why
        return Choice(best, nodes, (_reason(playout, ACTION_PARTS[best]), *reasons))

    def _wins_at_once(self, deals: Sequence[State], action: str) -> bool:
        """Return whether an action wins at once on all of these deals."""
        outcomes = (carry_out(deal, action, Random(0)).state.outcome for deal in deals)
        return all(outcome and self.seat in outcome.winners for outcome in outcomes)

    def _noise(self, action: str) -> float:
        """Return the noise of the points for this kind of action, fixed for the whole game."""
        kind, card, _ = ACTION_PARTS[action]
        # the suit and the lane do not matter, so all actions of a kind with one value get equal
        # noise
        noise_key = (kind, card[:1])
        return self._parameters.noise * Random(f"{self.seed}/{noise_key}").uniform(-1, 1)

    def _choose_by_halving(
        self,
        deals: Iterator[State],
        rng: Random,
        candidates: list[str],
        points: Mapping[str, float],
    ) -> Choice:
        """Play the candidates out in rounds, and return the best one. A playout counts as a node.

        :param rng: source of the seeds, one for each deal
        :param points: points of each candidate by the rules of thumb
        """
        nodes = deals_done = 0
        result_sums = dict.fromkeys(candidates, 0.0)
        point_weight = _POINT_WEIGHTS[self.seat.number]
        second = None
        for deal_count in self._parameters.deals:
            for deal in islice(deals, deal_count):
                seed = rng.random()
                for action in candidates:
                    result_sums[action] += self._play_out(deal, action, seed)
            nodes += deal_count * len(candidates)
            deals_done += deal_count
            values = {}
            for action in candidates:
                mean_result = result_sums[action] / deals_done
                values[action] = mean_result + point_weight * points[action]
            candidates = sorted(candidates, key=values.__getitem__, reverse=True)
            second = candidates[1] if len(candidates) > 1 else None
            # sequential halving: only the better half stays
            candidates = candidates[: (len(candidates) + 1) // 2]
            if len(candidates) == 1:
                break
        best = candidates[0]
        comparison = ""
        if second:
            lead = max(0.0, result_sums[best] - result_sums[second])
            comparison = second_best_sentence([_action_in_words(second)], lead / deals_done)
        effort = say(
            "It was tried out in {games} games in which what is hidden was dealt at random.",
            games=deals_done,
        )
        return Choice(best, nodes, without_empty(effort, comparison))

    def _play_out(self, deal: State, action: str, seed: float) -> float:
        """Play a deal out after an action. Return the result for this seat, from 0 to 1."""
        rng = Random(seed)
        min_turns_left = deal.turns_left - _MAX_PLAYOUT_TURNS
        playout = PlayoutState(carry_out(deal, action, rng).state)
        while playout.winner is None and playout.turns_left > min_turns_left:
            choose_move = (
                choose_attacker_move if playout.seat == ATTACKER_SEAT else choose_defender_move
            )
            playout.play(choose_move(playout, rng), rng)
        if playout.winner is None:
            return 0.5
        # an early win of the attacker counts more: 1 in the first turn, 0.75 in the last one
        attacker_result = 0.0
        if playout.winner == ATTACKER_SEAT:
            attacker_result = 0.75 + 0.25 * playout.turns_left / deal.turns_left
        return attacker_result if self.seat is SEATS[ATTACKER_SEAT] else 1.0 - attacker_result


def _action_in_words(action: str) -> str:
    """Return an action in words, such as “Face up: 5&, lane 3”."""
    _, card, lane = ACTION_PARTS[action]
    word = command_word(action)
    if lane not in LANES:
        return word
    if not card:
        return say("{key}, lane {lane}", key=word, lane=str(lane))
    return say("{key}: {card}, lane {lane}", key=word, card=CARD_TEXTS[card], lane=str(lane))


def _distinct_actions(playout: PlayoutState, ranked: list[str]) -> list[str]:
    """Return the first of each set of equivalent actions.

    Actions are equivalent if they differ only in the suit of the card, or in the lane while both
    lanes look the same.
    """
    distinct: dict[tuple[object, ...], str] = {}
    for action in ranked:
        kind, card, lane = ACTION_PARTS[action]
        # equal for lanes that look the same
        lane_key: tuple[object, ...] = (lane,)
        if lane in LANES:
            deck = playout.decks[lane]
            piles = len(deck), tuple(deck[-1:]), len(playout.discards[lane])
            stacks = tuple(playout.attacker_stacks[lane]), tuple(playout.defender_stacks[lane])
            lane_key = (*stacks, playout.is_defender_open[lane], *piles)
        distinct.setdefault((kind, card[:1], *lane_key), action)
    return list(distinct.values())


# ---- rules of thumb ------------------------------------------------------------------------------
#
# There are two sets of them. The points of the legal actions decide which actions are tried in
# playouts. The gains below, which are faster to compute, are the policy of both sides in a playout.
# In each set only the differences between values count. All numbers were chosen by hand, and
# matches (`tests/bench/bots`) judge them together.


def rate_move(playout: PlayoutState, move: PlayoutMove) -> float:
    """Return how promising a move looks to the seat on turn, by rules of thumb."""
    if playout.seat == ATTACKER_SEAT:
        return _rate_attacker_move(playout, move)
    return _rate_defender_move(playout, move)


def _cards_left(playout: PlayoutState, lane: int) -> int:
    """Return how many cards a lane can still lose, besides its wall."""
    return len(playout.decks[lane]) + (len(playout.discards[lane]) if playout.is_hackmud else 0)


def _is_combat(move: PlayoutMove) -> bool:
    kind, card, _ = move
    return kind == COMBAT or (kind == PLAY_UP and card[0] == BREAK)


def _rate_attacker_move(playout: PlayoutState, move: PlayoutMove) -> float:
    """Return the points of an attacker's move. One card of damage is worth 2 points."""
    kind, card, lane = move
    # a pass is worse than anything else, because the attacker loses when the turns run out
    if move == PASS_MOVE:
        return -10.0
    hand = playout.hands[ATTACKER_SEAT]
    if lane == ATTACKER_PILE:
        # the more cards are in hand, the less another one is worth
        if kind == DRAW:
            return 2.5 - 0.5 * len(hand)
        # a discard, only better than a pass
        return -6.0
    wall = playout.defender_stacks[lane]
    cards_left = _cards_left(playout, lane)
    # A draw from a lane is worth more than one from the attacker deck, because it brings the end of
    # the lane nearer.
    if kind == DRAW:
        return 5.0 - 0.15 * cards_left - 0.5 * len(hand)
    before = playout.attacker_stacks[lane]
    attack = [*before, card] if card else before
    attack_power = power(attack)
    if _is_combat(move):
        is_wall_known = HIDDEN not in wall
        wall_power = power(wall) if is_wall_known else _FACE_DOWN_WALL_POWER
        damage = 0
        if attack_power >= wall_power:
            damage = damage_of(attack, attack_power, wall, int(wall_power), playout.is_hackmud)
        # more damage than the lane has cards wins the game, so these points are above all others
        if damage > cards_left + len(wall):
            return 50.0
        # damage counts more in a lane with few cards left. A stack without power would be wasted
        points = 2.0 * damage - 0.2 * cards_left if attack_power else -8.0
        # the assumed power of a face-down wall may be wrong
        return points - (0.0 if is_wall_known else 1.0)
    # a card for a stack: the power that it adds, and less in lanes that can lose many cards
    points = 2.5 + 1.5 * (attack_power - power(before)) - 0.25 * (cards_left + 2 * len(wall))
    # these cards add no power to the stack
    if card[0] in (TRAP, BOUNCE):
        points -= 1.5
    # an empty lane falls to the first combat
    if not cards_left and not wall:
        points += 20.0
    return points


def _rate_defender_move(playout: PlayoutState, move: PlayoutMove) -> float:
    """Return the points of a defender's move. They are on another scale than the attacker's."""
    kind, card, lane = move
    # a pass costs the defender nothing, because the defender wins when the turns run out
    if move == PASS_MOVE:
        return 0.0
    if kind == DISCARD:
        return -4.0
    wall = playout.defender_stacks[lane]
    cards_left = _cards_left(playout, lane)
    hand = playout.hands[DEFENDER_SEAT]
    if kind == DRAW:
        points = 4.0 - 0.6 * len(hand) + 0.15 * cards_left
        # a draw from a short lane without a wall brings its end near
        return points if wall or cards_left > 4 else points - 8.0
    # the defender can begin a combat, too, but it is usually better not to
    if _is_combat(move):
        return -6.0
    gain = power([*wall, card]) - power(wall)
    threat = len(playout.attacker_stacks[lane])  # cards of the attacker in front of the wall
    if not wall:
        # every bare lane needs a wall, the shortest one most
        points = 5.0 + 0.5 * max(0, CARDS_PER_LANE - cards_left) + gain + 1.5 * threat
        return points - 1.0 if card[0] == BOUNCE else points
    # a higher wall is worth more, and most under attack
    points = 1.5 * gain + threat
    # a TRAP works only in a stack that is face down
    if card[0] == TRAP and not playout.is_defender_open[lane]:
        points += 1.0
    # a card can also weaken a wall, if the sum is no power of two any more
    return points - 3.0 if gain < 0 else points


# ---- playout policy ------------------------------------------------------------------------------


def choose_attacker_move(playout: PlayoutState, rng: Random) -> PlayoutMove:
    """Return the attacker's move in a playout: the one that gains most per turn.

    It compares drawing, combat, and building a stack for a later combat. Gains are in cards of
    damage, weighted by lane (`_lane_weight`). Noise of up to 0.4 makes playouts differ.
    """
    hand = playout.hands[ATTACKER_SEAT]
    random = rng.random
    # value of one more card in hand, which is 0 from 8 cards on
    card_value = max(0.0, 1.2 - 0.15 * len(hand))
    # each move that is considered, with its gain
    candidates = [(_LAST_RESORT_GAIN, PASS_MOVE)]
    # a draw from the attacker deck gains less, since it brings no lane nearer to its end
    if playout.attacker_deck or playout.attacker_discard:
        candidates.append((0.4 * card_value + 0.3 * random(), (DRAW, "", ATTACKER_PILE)))
    breaks = [card for card in hand if card[0] == BREAK]
    # how attractive it is to build in each lane: most in one with few cards left and a short wall
    attractions = []
    for lane in LANES:
        wall = playout.defender_stacks[lane]
        attack = playout.attacker_stacks[lane]
        cards_left = _cards_left(playout, lane) + len(wall)
        weight = _lane_weight(cards_left)
        attractions.append(weight + 0.4 * random() - 0.12 * len(wall))
        # a card drawn from a lane is a card of damage, too
        if not wall and cards_left:
            candidates.append((weight + card_value + 0.3 * random(), (DRAW, "", lane)))
        if not attack:
            continue
        attack_power = power(attack)
        wall_power = _assumed_wall_power(playout, lane, random)
        if attack_power < wall_power:
            continue
        damage = damage_of(attack, attack_power, wall, wall_power, playout.is_hackmud)
        if damage > cards_left:
            return (COMBAT, "", lane)
        candidates.append((weight * damage + 0.3 * random(), (COMBAT, "", lane)))
        # with a BREAK the damage is the whole power
        if wall and breaks:
            candidates.append((weight * attack_power, (PLAY_UP, breaks[0], lane)))
    if hand:
        # build only in the most attractive lane
        lane = attractions.index(max(attractions))
        gain, card = _best_building_card(playout, lane, bool(breaks), rng)
        candidates.append((gain, (PLAY_DOWN, card, lane)))
    _, move = max(candidates, key=itemgetter(0))
    return move


def _lane_weight(cards_left: int) -> float:
    """Return the weight of a card of damage to a lane: 7 if no card is left, near 1 if many are."""
    return 1 + 6 / (cards_left + 1)


def _assumed_wall_power(playout: PlayoutState, lane: int, random: Callable[[], float]) -> int:
    """Return the power that the attacker of a playout assumes for a wall.

    For a face-down wall, this is a random guess from 0 to 3.
    """
    wall = playout.defender_stacks[lane]
    if not wall:
        return 0
    if playout.is_defender_open[lane]:
        return power(wall)
    # 0 for nearly half of the random numbers, since a wall of random cards often has no power
    return max(0, int(random() * 5.5 - 1.5))


def _best_building_card(
    playout: PlayoutState, lane: int, has_break: bool, rng: Random
) -> tuple[float, str]:
    """Return the gain per turn of the best card to build with in a lane, and that card.

    It plans to play one or two cards, and then to fight. If no such plan can win a combat, the gain
    is `_LAST_RESORT_GAIN` and the card is empty.
    """
    wall = playout.defender_stacks[lane]
    cards_left = _cards_left(playout, lane) + len(wall)
    weight = _lane_weight(cards_left)
    wall_power = _assumed_wall_power(playout, lane, rng.random)
    before = sum([CARD_VALUES[card] for card in playout.attacker_stacks[lane]])
    # how much the wall reduces the damage: not at all against a BREAK, otherwise by its power minus
    # one (damage = attack power - wall power + 1)
    blocked_damage = 0 if has_break and wall else wall_power - 1
    cards = [(card, CARD_VALUES[card]) for card in playout.hands[ATTACKER_SEAT] if card[0] != BREAK]
    candidates = [(_LAST_RESORT_GAIN, "")]
    for index, (card, value) in enumerate(cards):
        # one card and the combat take two turns, two cards and the combat three
        plans = [(before + value, 2)]
        plans += [(before + value + second_value, 3) for _, second_value in cards[:index]]
        for card_values, turns in plans:
            attack_power = power_of_sum(card_values)
            if attack_power >= wall_power:
                damage = attack_power - blocked_damage
                gain = _WINNING_GAIN if damage > cards_left else weight * damage / turns
                candidates.append((gain, card))
    return max(candidates, key=itemgetter(0))


def choose_defender_move(playout: PlayoutState, rng: Random) -> PlayoutMove:
    """Return the defender's move in a playout: build a wall, draw from a long lane, or pass."""
    hand = playout.hands[DEFENDER_SEAT]
    if hand and (wall_move := _choose_wall_move(playout, hand, rng)):
        return wall_move
    lanes = [lane for lane in LANES if playout.decks[lane] or playout.discards[lane]]
    # more than 8 cards could hardly be played before the game ends
    if lanes and len(hand) < 8:
        lane = max(lanes, key=lambda lane: len(playout.decks[lane]) + 3 * rng.random())
        return (DRAW, "", lane)
    return PASS_MOVE


def _choose_wall_move(playout: PlayoutState, hand: list[str], rng: Random) -> PlayoutMove | None:
    """Return a move that builds or strengthens a wall, or None if no such move is worth a turn."""
    bare_lanes = [lane for lane in LANES if not playout.defender_stacks[lane]]
    if bare_lanes:
        # a lane is safer with more cards left, and less safe by 4 cards for each attacking card
        safeties = [
            _cards_left(playout, lane) - 4 * len(playout.attacker_stacks[lane]) + 2 * rng.random()
            for lane in bare_lanes
        ]
        lane = bare_lanes[safeties.index(min(safeties))]
        card = _best_wall_card(hand, [], rng)
        # a full lane deck has 13 cards
        is_urgent = len(hand) > 2 or playout.attacker_stacks[lane] or _cards_left(playout, lane) < 9
        # if it is not urgent, draw instead in two cases out of five
        if card and (is_urgent or rng.random() < 0.6):
            return (PLAY_DOWN, card, lane)
    for lane in LANES:
        wall = playout.defender_stacks[lane]
        # strengthen a wall only under attack, or with many cards in hand
        if not wall or not (playout.attacker_stacks[lane] or len(hand) > 5):
            continue
        card = _best_wall_card(hand, wall, rng)
        if card:
            # a wall without power may get a card that only promises some
            before = power(wall)
            if power([*wall, card]) > before or (before == 0 and len(hand) > 3):
                return (PLAY_DOWN, card, lane)
    return None


def _best_wall_card(hand: list[str], wall: list[str], rng: Random) -> str | None:
    """Return the card that makes a wall strongest, or None if the hand holds only BREAKs.

    BREAKs stay in hand. A BOUNCE or a TRAP counts 0.8 less, so that it tends to stay in hand, too.
    """
    before = sum([CARD_VALUES[card] for card in wall])

    def value_of(card: str) -> float:
        value = power_of_sum(before + CARD_VALUES[card]) + 0.5 * rng.random()
        return value - 0.8 if card[0] in (BOUNCE, TRAP) else value

    candidates = [card for card in hand if card[0] != BREAK]
    return max(candidates, key=value_of, default=None)


def _reason(playout: PlayoutState, move: PlayoutMove) -> str:
    """Return the reason for a move in a sentence that reveals no card."""
    kind, _, _ = move
    if kind == DRAW:
        return say("This draws where it costs least.")
    if _is_combat(move):
        return say("This fights where the stack is strong enough, as far as one can tell.")
    if kind in (PLAY_DOWN, PLAY_UP):
        if playout.seat == ATTACKER_SEAT:
            return say("This builds where the fewest cards are left.")
        return say("This strengthens the lane that is in the greatest danger.")
    if move == PASS_MOVE:
        return say("Nothing that can be done would help.")
    return say("This trades in a card of no use.")
