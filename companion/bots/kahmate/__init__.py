"""The opponent for Kahmate: it searches turns and replies, and plays cards by mixed strategies.

A face-off is a matrix game of the cards in hand. To
keep two opponents from passing forever, repetitions and idle turns lose value with every quiet
turn.
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
    expected_reply,
    reasons_of,
    second_best,
    share_of_game,
)
from companion.bots.kahmate.evaluation import PIP, TRY, card_matrix, lead_of
from companion.bots.kahmate.moves import key_of, state_of
from companion.bots.kahmate.search import STRENGTHS, Candidate, Search
from companion.bots.mixed_strategies import solve
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games.kahmate.board import FILES, NUMBERS, RANKS
from companion.games.kahmate.moves import course_of
from companion.games.kahmate.screen import play_of
from companion.games.kahmate.state import (
    Action,
    EndTurn,
    Kick,
    Pass,
    Placement,
    Run,
    State,
    Tackle,
    parse,
)

_FORMATIONS = ("b2 g2 c2 e2 d2 f2", "c2 f2 d1 e2 d2 b2", "b2 f2 c1 d2 e2 g2")
"""Start squares of South's R R B T F S. North's and mirrored ones are derived from them."""
_CARD_ROUNDS = {1: 4, 2: 40, 3: 160}
_RANDOM_CARD_SHARE = 0.06
"""Added probability of a random card, for each card of a face-off. Without it two equal opponents
would tie forever.
"""
_STAKE = 80.0
"""Assumed value of a face-off: what it wins, and what it loses."""
_REASONS: Mapping[type[Action], str] = {
    Run: say("The run gains ground, or covers it."),
    Pass: say("The pass gives the ball to somebody with more room."),
    Kick: say("The kick puts the ball where a team-mate gets to it first."),
    Tackle: say("The tackle is worth the risk."),
    EndTurn: say("Nothing better is left in this turn."),
}
_SCORES = say("This scores.")


class KahmateBot(Bot):
    """Plays a seat of Kahmate. See `Bot`."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self.rng = Random(f"{seed} {seat}")  # opponents with the same seed differ
        self._visits: Counter[tuple[object, ...]] = Counter()
        self._cards = 0

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002
        """Remember the position after a turn."""
        if view.get("phase") == "round":
            self._cards = 0
            if not view["ran"]:
                self._visits[key_of(state_of(view))] += 1

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return a placement, a card, or a play."""
        if view["phase"] == "placing":
            return self._placement()
        if view["phase"] == "face-off":
            return self._card(_Duel(self.seat, view, self.level))
        self._cards = 0
        state = state_of(view)
        search = Search(
            STRENGTHS[self.level],
            self.seed,
            int(view["quiet"]),
            dict(self._visits),
        )
        best = search.best(state)
        nodes = search.nodes  # positions evaluated for the reasons do not count
        return Choice(str(best.first[0]), nodes, _reason_lines(search, state, best))

    def loss(self, view: Mapping[str, Any], action: str, best: str) -> float | None:  # noqa: ARG002
        """Compare the best turn with the best one that begins with this play.

        A card is compared in the matrix of the face-off.
        """
        if view["phase"] == "placing":
            return 0.0
        if view["phase"] == "face-off":
            duel = _Duel(self.seat, view, self.level)
            gains = [sum(map(mul, row, duel.reply)) for row in duel.payoff]
            return share_of_game(max(gains) - gains[duel.hand.index(int(action))], TRY)
        state = state_of(view)
        parsed = parse(action)
        course = None
        if isinstance(parsed, Run | Pass | Kick | Tackle):
            course = course_of(state, parsed)
        less = Search(STRENGTHS[self.level], self.seed).loss(state, course)
        return None if less is None else share_of_game(less, TRY)

    def _placement(self) -> Choice:
        """Return one of the formations, mirrored with a probability of one half."""
        is_mirrored = self.rng.random() < 0.5
        squares = []
        for name in self.rng.choice(_FORMATIONS).split():
            rank, file = divmod(NUMBERS[name], FILES)
            if is_mirrored:
                file = FILES - 1 - file
            if self.seat is Seat.NORTH:
                rank = RANKS - 1 - rank
            squares.append(rank * FILES + file)
        why = say("This covers the whole width, with the fastest piece near the ball.")
        return Choice(str(Placement(tuple(squares))), 1, (why,))

    def _card(self, duel: _Duel) -> Choice:
        """Return a card drawn from the mixed strategy of the face-off."""
        self._cards += 1
        # add some pure chance, so that two equal opponents do not tie forever
        stray = min(0.6, _RANDOM_CARD_SHARE * self._cards) / len(duel.hand)
        weights = [(share if share > 0.01 else 0.0) + stray for share in duel.mix]
        card = self.rng.choices(duel.hand, weights)[0]
        likeliest = max(range(len(duel.reply)), key=duel.reply.__getitem__)
        answer = say("Card {value}", value=str(duel.other_hand[likeliest]))
        reply = expected_reply([answer], duel.reply[likeliest])
        nodes = len(duel.hand) * len(duel.other_hand) * _CARD_ROUNDS[self.level]
        return Choice(str(card), nodes, (say("Cards that vary cannot be predicted."), reply))


class _Duel:
    """A face-off as a matrix game of cards, seen by one seat."""

    def __init__(self, seat: Seat, view: Mapping[str, Any], level: int) -> None:
        state = state_of(view)
        face_off = view["face_off"]
        movers = [state.board[NUMBERS[name]] for name in face_off["attackers"]]
        lead = lead_of(movers, state.board[NUMBERS[face_off["defender"]]])
        self.hand = state.cards[state.seat]
        self.other_hand = state.cards[1 - state.seat]
        self.payoff = card_matrix(
            self.hand,
            self.other_hand,
            lead,
            (_STAKE, _STAKE, -_STAKE),
            PIP,
        )
        self.mix, self.reply = solve(self.payoff, _CARD_ROUNDS[level])
        """Mixed strategies of this seat and of the other one."""
        # the matrix is the attack's, so transpose and negate it for the defence
        if seat is not SEATS[state.seat]:
            self.hand, self.other_hand = self.other_hand, self.hand
            self.mix, self.reply = self.reply, self.mix
            self.payoff = [
                [-value for value in column] for column in zip(*self.payoff, strict=True)
            ]


def _reason_lines(search: Search, state: State, best: Candidate) -> tuple[str, ...]:
    """Return the reasons for a turn: its odds, the best answer, and the second best turn."""
    if best.value >= TRY - 1:
        return (_SCORES,)
    odds = answer = ""
    if best.dares:
        percent = round(100 * best.odds)
        odds = say("The chance to win the face-off is {percent} %.", percent=percent)
    after = best.ends[0].after
    if after is not None and search.strength.replies:
        action, course = search.answer(after).first
        answer = expected_reply([play_of(after, action, course).label])
    words = []
    less = 0.0
    action, _ = best.first
    others = (line for line in search.ranked if line.first != best.first)
    if second := next(others, None):
        words = [play_of(state, *second.first).label]
        less = max(0.0, best.value - second.value) / TRY
    return reasons_of(
        _REASONS[type(action)],
        odds,
        answer,
        second_best(words, less),
    )
