"""The bot for Kahmate: a beam search for turns (`search`), and mixed strategies for cards.

In a face-off, each side secretly plays one of its cards. That is a matrix game of the cards in
hand, solved by regret matching. A quiet turn is one without a face-off. To keep two bots from
passing the ball forever, repetitions cost points, and idle turns cost more points the longer it has
been quiet.
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
from companion.bots.kahmate.evaluation import PIP, TRY, FaceOffEnds, card_matrix, strength_ahead
from companion.bots.kahmate.moves import key_of, state_of
from companion.bots.kahmate.search import STRENGTHS, SURE_TRY, Candidate, Search
from companion.bots.mixed_strategies import solve
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

# Start squares of South's R R B T F S. North's and mirrored ones are derived from them.
_FORMATIONS = ("b2 g2 c2 e2 d2 f2", "c2 f2 d1 e2 d2 b2", "b2 f2 c1 d2 e2 g2")

# Number of rounds of regret matching for a face-off, by level. Fewer: weaker cards.
_CARD_ROUNDS = {1: 4, 2: 40, 3: 160}

# Added probability of a random card, for each card that this seat has played in a face-off. Without
# it two equal bots would tie forever. Chosen by eye: higher ends ties sooner, lower plays
# better cards.
_RANDOM_CARD_SHARE = 0.06

# Maximum probability that is added, so that even after many ties the better cards are likelier.
_MAX_RANDOM_CARD_SHARE = 0.6

# Minimum share of a card to be played. Smaller shares are noise of the approximation.
_MIN_CARD_SHARE = 0.01

# Assumed value in points of a face-off: what it wins, and what it loses. Near the value of having
# the ball, which most of them decide.
_STAKE = 80.0

# Main reason for a turn, by its first play.
_REASONS: Mapping[type[Action], str] = {
    Run: say("The run gains ground, or covers it."),
    Pass: say("The pass gives the ball to somebody with more room."),
    Kick: say("The kick puts the ball where a team-mate gets to it first."),
    Tackle: say("The tackle is worth the risk."),
    EndTurn: say("Nothing better is left in this turn."),
}
_SCORES = say("This scores.")


class KahmateBot(Bot):
    """Plays a seat of Kahmate. It remembers which positions its game has seen."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self.rng = Random(f"{seed} {seat}")  # bots with the same seed differ
        # how often each position was on the board before any run of a turn, by `key_of`
        self._visits: Counter[tuple[object, ...]] = Counter()
        # number of cards of this seat in the present face-off
        self._cards_played = 0

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Remember the position if no piece has run in the present turn."""
        if view.get("phase") == "round":
            self._cards_played = 0
            if not view["ran"]:
                self._visits[key_of(state_of(view))] += 1

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return a placement, a card, or a play."""
        if view["phase"] == "placing":
            return self._placement()
        if view["phase"] == "face-off":
            return self._card(_CardGame(self.seat, view, self.level))
        self._cards_played = 0
        state = state_of(view)
        search = Search(
            STRENGTHS[self.level],
            self.seed,
            int(view["quiet"]),
            dict(self._visits),
        )
        best = search.find_best(state)
        nodes = search.nodes  # positions evaluated for the reasons do not count
        return Choice(str(best.first.action), nodes, _reason_lines(search, state, best))

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float | None:  # noqa: ARG002
        """Return the lead of the best turn over the best one that begins with this play.

        For a card it is the lead of the best card in the matrix of the face-off.
        """
        if view["phase"] == "placing":
            return 0.0
        if view["phase"] == "face-off":
            game = _CardGame(self.seat, view, self.level)
            gains = [sum(map(mul, row, game.other_mix)) for row in game.payoff]
            return share_of_game(max(gains) - gains[game.hand.index(int(action))], TRY)
        state = state_of(view)
        parsed = parse(action)
        plan = plan_action(state, parsed) if isinstance(parsed, BallPlay) else None
        points = Search(STRENGTHS[self.level], self.seed).loss(state, plan)
        return None if points is None else share_of_game(points, TRY)

    def _placement(self) -> Choice:
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

    def _card(self, game: _CardGame) -> Choice:
        """Return a card drawn from the mixed strategy of the face-off."""
        self._cards_played += 1
        random_share = min(_MAX_RANDOM_CARD_SHARE, _RANDOM_CARD_SHARE * self._cards_played)
        chance_each = random_share / len(game.hand)
        weights = [
            (share if share > _MIN_CARD_SHARE else 0.0) + chance_each for share in game.own_mix
        ]
        card = self.rng.choices(game.hand, weights)[0]
        share = max(game.other_mix)
        likeliest = game.other_hand[game.other_mix.index(share)]
        reply = reply_sentence([say("Card {value}", value=str(likeliest))], share)
        nodes = len(game.hand) * len(game.other_hand) * _CARD_ROUNDS[self.level]
        return Choice(str(card), nodes, (say("Cards that vary cannot be predicted."), reply))


class _CardGame:
    """A face-off as a matrix game of cards, valued in points for one seat."""

    def __init__(self, seat: Seat, view: Mapping[str, Any], level: int) -> None:
        state = state_of(view)
        face_off = view["face_off"]
        attackers = [state.board[SQUARE_NUMBERS[name]] for name in face_off["attackers"]]
        ahead = strength_ahead(attackers, state.board[SQUARE_NUMBERS[face_off["defender"]]])
        # the seat on turn attacks
        attack = state.cards[state.seat]
        defence = state.cards[1 - state.seat]
        payoff = card_matrix(attack, defence, ahead, FaceOffEnds(_STAKE, _STAKE, -_STAKE), PIP)
        sides = list(zip((attack, defence), solve(payoff, _CARD_ROUNDS[level]), strict=True))
        # for the defender the sides are swapped
        if seat is not SEATS[state.seat]:
            payoff = [[-value for value in column] for column in zip(*payoff, strict=True)]
            sides.reverse()
        # value for this seat of each pair of cards, own cards by rows
        self.payoff = payoff
        # cards of this seat and of the other one, each with a mixed strategy: a share for each card
        (self.hand, self.own_mix), (self.other_hand, self.other_mix) = sides


def _reason_lines(search: Search, state: State, best: Candidate) -> tuple[str, ...]:
    """Return the reasons for a turn: its odds, the best answer, and the second best turn."""
    if best.value >= SURE_TRY:
        return (_SCORES,)
    odds = answer = ""
    if best.has_face_off:
        percent = round(100 * best.odds)
        odds = say("The chance to win the face-off is {percent} %.", percent=percent)
    after = best.ends[0].after
    if after is not None and search.strength.replies:
        action, plan = search.find_reply(after).first
        answer = reply_sentence([build_play(after, action, plan).label])
    second_words = []
    loss = 0.0
    others = (candidate for candidate in search.ranked if candidate.first != best.first)
    if second := next(others, None):
        second_words = [build_play(state, *second.first).label]
        loss = max(0.0, best.value - second.value) / TRY
    reason = _REASONS[type(best.first.action)]
    return without_empty(reason, odds, answer, second_best_sentence(second_words, loss))
