"""The bot for Kahmate: a beam search for turns (`search`), and mixed strategies for cards.

In a face-off, each side secretly plays one of its cards. That is a matrix game of the cards in
hand, solved by regret matching. A quiet turn is one without a face-off. To keep two bots from
passing the ball forever, repetitions cost points. A turn without any play also costs points, and
the more of them the longer no face-off has happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import mul
from random import Random
from typing import Any

from companion.bots.base import (
    Bot,
    Choice,
    reply_sentence,
    second_best_sentence,
    share_of_game,
    without_empty,
)
from companion.bots.kahmate.evaluation import (
    PIP,
    TRY,
    FaceOffResults,
    face_off_matrix,
    strength_lead_of,
)
from companion.bots.kahmate.moves import repetition_key, state_of
from companion.bots.kahmate.search import PARAMETERS_BY_LEVEL, SURE_TRY, CandidateTurn, Search
from companion.bots.mixed_strategies import solve_matrix_game
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.kahmate.actions import (
    Action,
    BallPlay,
    EndTurn,
    Kick,
    Pass,
    Placement,
    Run,
    Tackle,
    parse,
)
from companion.games.kahmate.board import FILES, RANKS, SQUARE_NUMBERS
from companion.games.kahmate.moves import plan_action
from companion.games.kahmate.screen import build_play
from companion.games.kahmate.state import State

# Start squares of South's six pieces: two regular ones, then the big, the tough, the fast and the
# smart one. North's and mirrored ones are derived from them.
_FORMATIONS = ("b2 g2 c2 e2 d2 f2", "c2 f2 d1 e2 d2 b2", "b2 f2 c1 d2 e2 g2")

# Number of rounds of regret matching for a face-off, by level. With fewer rounds the bot chooses
# weaker cards.
_CARD_ROUNDS = {1: 4, 2: 40, 3: 160}

# Probability of a random card, for each card that this seat has played in the present face-off.
# Without random cards two equal bots would tie forever. Chosen by eye: a higher value ends ties
# sooner, and a lower one plays better cards.
_RANDOM_CARD_CHANCE = 0.06

# Maximum probability of a random card, so that even after many ties the better cards are likelier.
_MAX_RANDOM_CARD_CHANCE = 0.6

# Minimum probability with which a card is played. Smaller ones are noise of the approximation.
_MIN_CARD_CHANCE = 0.01

# Assumed value in points of winning a face-off, and cost of losing it. It is near the value of
# having the ball, because most face-offs decide who has it.
_STAKE = 80.0

# Main reason for a turn, by its first play.
_REASONS_BY_PLAY: Mapping[type[Action], str] = {
    Run: say("The run gains ground, or covers it."),
    Pass: say("The pass gives the ball to somebody with more room."),
    Kick: say("The kick puts the ball where a team-mate gets to it first."),
    Tackle: say("The tackle is worth the risk."),
    EndTurn: say("Nothing better is left in this turn."),
}
_SCORES_REASON = say("This scores.")


class KahmateBot(Bot):
    """Plays a seat of Kahmate. It remembers which positions its game has seen."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self.rng = Random(f"{seed} {seat}")  # bots with the same seed differ
        # how often each position was on the board at a moment when no piece had run in the present
        # turn, by `repetition_key`
        self._visits: Counter[tuple[object, ...]] = Counter()
        # number of cards of this seat in the present face-off
        self._cards_played = 0

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Remember the position if no piece has run in the present turn."""
        if view.get("phase") == "round":
            self._cards_played = 0
            if not view["ran"]:
                self._visits[repetition_key(state_of(view))] += 1

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return a placement, a card, or a play."""
        if view["phase"] == "placing":
            return self._choose_placement()
        if view["phase"] == "face-off":
            return self._choose_card(_FaceOffGame(self.seat, view, self.level))
        self._cards_played = 0
        state = state_of(view)
        search = Search(
            PARAMETERS_BY_LEVEL[self.level],
            self.seed,
            int(view["quiet"]),
            self._visits,
        )
        best = search.find_best_turn(state)
        nodes = search.nodes  # positions evaluated for the reasons do not count
        return Choice(str(best.first_play.action), nodes, _reasons(search, state, best))

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float | None:  # noqa: ARG002
        """Return how much better the best turn is than the best one that begins with this play.

        A card is compared with the best card, against the other side's mixed strategy. Placements
        lose nothing.
        """
        if view["phase"] == "placing":
            return 0.0
        if view["phase"] == "face-off":
            game = _FaceOffGame(self.seat, view, self.level)
            card_values = [sum(map(mul, row, game.other_strategy)) for row in game.payoff]
            value = card_values[game.hand.index(int(action))]
            return share_of_game(max(card_values) - value, TRY)
        state = state_of(view)
        play = parse(action)
        plan = plan_action(state, play) if isinstance(play, BallPlay) else None
        points = Search(PARAMETERS_BY_LEVEL[self.level], self.seed).loss(state, plan)
        return None if points is None else share_of_game(points, TRY)

    def _choose_placement(self) -> Choice:
        """Return one of the formations, mirrored with a probability of one half."""
        is_mirrored = self.rng.random() < 0.5
        squares = []
        for name in self.rng.choice(_FORMATIONS).split():
            rank, file = divmod(SQUARE_NUMBERS[name], FILES)
            if is_mirrored:
                file = FILES - 1 - file
            if self.seat is Seat.NORTH:
                rank = RANKS - 1 - rank
            squares.append(rank * FILES + file)
        why = say("This covers the whole width, with the fastest piece near the ball.")
        return Choice(str(Placement(tuple(squares))), 1, (why,))

    def _choose_card(self, game: _FaceOffGame) -> Choice:
        """Return a card drawn from the mixed strategy of the face-off."""
        self._cards_played += 1
        random_chance = min(_MAX_RANDOM_CARD_CHANCE, _RANDOM_CARD_CHANCE * self._cards_played)
        chance_each = random_chance / len(game.hand)
        weights = [
            (chance if chance > _MIN_CARD_CHANCE else 0.0) + chance_each
            for chance in game.own_strategy
        ]
        card = self.rng.choices(game.hand, weights)[0]
        chance = max(game.other_strategy)
        likeliest = game.other_hand[game.other_strategy.index(chance)]
        reply = reply_sentence([say("Card {value}", value=str(likeliest))], chance)
        nodes = len(game.hand) * len(game.other_hand) * _CARD_ROUNDS[self.level]
        return Choice(str(card), nodes, (say("Cards that vary cannot be predicted."), reply))


class _FaceOffGame:
    """A face-off as a matrix game of cards, valued in points for one seat."""

    def __init__(self, seat: Seat, view: Mapping[str, Any], level: int) -> None:
        state = state_of(view)
        face_off = view["face_off"]
        attackers = [state.board[SQUARE_NUMBERS[name]] for name in face_off["attackers"]]
        defender = state.board[SQUARE_NUMBERS[face_off["defender"]]]
        strength_lead = strength_lead_of(attackers, defender)
        # the seat on turn attacks
        attack = state.cards[state.seat]
        defence = state.cards[1 - state.seat]
        values = FaceOffResults(_STAKE, _STAKE, -_STAKE)
        payoff = face_off_matrix(attack, defence, strength_lead, values, PIP)
        strategies = solve_matrix_game(payoff, _CARD_ROUNDS[level])
        sides = list(zip((attack, defence), strategies, strict=True))
        # for the defender the sides are swapped
        if seat is not SEATS[state.seat]:
            payoff = [[-value for value in column] for column in zip(*payoff, strict=True)]
            sides.reverse()
        # payoff matrix for this seat, whose own cards are the rows
        self.payoff = payoff
        # cards of this seat and of the other one, with the probability of each card
        (self.hand, self.own_strategy), (self.other_hand, self.other_strategy) = sides


def _reasons(search: Search, state: State, best: CandidateTurn) -> tuple[str, ...]:
    """Return the reasons for a turn as sentences, with its chance to win, the other side's best
    reply, and the second best turn.
    """
    if best.value >= SURE_TRY:
        return (_SCORES_REASON,)
    odds = reply = ""
    if best.has_face_off:
        percent = round(100 * best.win_chance)
        odds = say("The chance to win the face-off is {percent} %.", percent=percent)
    after = best.ends[0].after
    if after is not None and search.parameters.reply_count:
        action, plan = search.find_reply(after).first_play
        reply = reply_sentence([build_play(after, action, plan).label])
    second_words = []
    loss = 0.0
    others = (candidate for candidate in search.ranked if candidate.first_play != best.first_play)
    if second := next(others, None):
        second_words = [build_play(state, *second.first_play).label]
        loss = max(0.0, best.score - second.score) / TRY
    reason = _REASONS_BY_PLAY[type(best.first_play.action)]
    return without_empty(reason, odds, reply, second_best_sentence(second_words, loss))
