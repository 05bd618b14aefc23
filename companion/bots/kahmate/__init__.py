"""The opponent for Kahmate: own rounds and the other side's reply by search, cards by mixed
strategies.

A face-off is a matrix game of the cards in hand. What is at stake is what the board is worth after
it. So that two opponents never pass for ever, what was there before and doing nothing lose worth
with every quiet round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from random import Random
from typing import Any

from companion.bots.base import (
    Bot,
    Choice,
    Verdict,
    expected_reply,
    reasons_of,
    second_best,
    share_of_game,
)
from companion.bots.kahmate.moves import (
    EMPTY,
    END,
    FULL,
    KICK,
    PASS,
    RUN,
    TACKLE,
    Hand,
    Meeting,
    Play,
    Position,
    position_of,
    tackles,
)
from companion.bots.kahmate.search import STRENGTHS, Candidate, Search, values_of
from companion.bots.kahmate.worth import PIP, TRY, lead_of, plain_odds
from companion.bots.mixed_strategies import solve
from companion.core.i18n import listed, say
from companion.core.kit import SEATS, Seat
from companion.games.kahmate.board import (
    AHEAD,
    AREA,
    CLEAR_LEAD,
    FILES,
    IN_GOAL,
    NAMES,
    NUMBERS,
    RANKS,
    TEAMS,
    behind,
)

_FORMATIONS = ("b2 g2 c2 e2 d2 f2", "c2 f2 d1 e2 d2 b2", "b2 f2 c1 d2 e2 g2")
"""Where South puts R R B T F S. North and the mirrored ones are made of them."""
_LETTERS = "RRBTFS"
_FILE_NAMES = "abcdefgh"
_CARD_ROUNDS = {1: 4, 2: 40, 3: 160}
_STRAY = 0.06
"""Chance of any card at all, for each card of a face-off: two that reason alike would tie for
ever."""
_WORDS = {
    "try": say("This scores."),
    RUN: say("The run gains ground, or covers it."),
    PASS: say("The pass gives the ball to somebody with more room."),
    "kick": say("The kick puts the ball where a team-mate gets to it first."),
    TACKLE: say("The tackle is worth the risk."),
    END: say("Nothing better is left in this turn."),
    "card": say("Cards that vary cannot be predicted."),
    "placed": say("This covers the whole width, with the fastest piece near the ball."),
}


class KahmateBot(Bot):
    """One player of Kahmate. See `Bot`."""

    def __init__(self, seat: Seat, options: Mapping[str, Any], level: int, seed: int) -> None:
        super().__init__(seat, options, level, seed)
        self.rng = Random(f"{seed} {seat}")  # two with one seed do not draw alike
        self._seed = seed
        self._me = SEATS.index(seat)
        self._met: Counter[tuple[object, ...]] = Counter()
        self._cards = 0
        self._play: Play | None = None
        self._target: tuple[str, int] | None = None
        """The last run or pass that was announced: its kind, and where it leads."""

    def see(self, view: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:
        """Remember positions, and where a run or a pass leads that waits for cards."""
        for event in events:
            if event.get("kind") in (RUN, PASS):
                self._target = (str(event["kind"]), NUMBERS.get(str(event.get("to")), IN_GOAL))
        if view.get("phase") == "round":
            self._cards = 0
            if not view["ran"]:
                self._met[position_of(view).key()] += 1

    def choose(self, view: Mapping[str, Any]) -> Choice:
        """Return a placing, a card, or a play."""
        if view["phase"] == "placing":
            return self._placing()
        position = position_of(view)
        if view["phase"] == "face-off":
            return self._card(view, position)
        self._cards = 0
        return self._round(view, position)

    def judge(self, view: Mapping[str, Any], action: str) -> Verdict:
        """Compare the best round with the best one that begins with this play.

        Cards against the matrix.
        """
        choice = self.choose(view)
        if view["phase"] == "placing" or action == choice.action:
            return Verdict(choice, 0.0)
        position = position_of(view)
        if view["phase"] == "face-off":
            return Verdict(choice, self._card_loss(view, position, int(action)))
        search = Search(STRENGTHS[self.level], self._seed)
        best, tried = search.judged(position, action)
        choice = Choice(str(best.first), search.nodes, _lines(search, position, best))
        return Verdict(choice, None if tried is None else share_of_game(best.value - tried, TRY))

    def _placing(self) -> Choice:
        squares = [
            (_FILE_NAMES.index(name[0]), int(name[1]))
            for name in self.rng.choice(_FORMATIONS).split()
        ]
        if self.rng.random() < 0.5:
            squares = [(FILES - 1 - file, rank) for file, rank in squares]
        if self._me == 1:
            squares = [(file, RANKS + 1 - rank) for file, rank in squares]
        placings = [
            f"{letter}@{_FILE_NAMES[file]}{rank}"
            for letter, (file, rank) in zip(_LETTERS, squares, strict=True)
        ]
        return Choice(" ".join(placings), 1, (str(_WORDS["placed"]),))

    def _round(self, view: Mapping[str, Any], position: Position) -> Choice:
        quiet = int(view["quiet"])
        search = Search(STRENGTHS[self.level], self._seed, quiet, dict(self._met))
        best = search.best(position)
        self._play = best.first
        nodes = search.nodes  # what is looked at only to be told is no part of the search
        return Choice(str(best.first), nodes, _lines(search, position, best))

    # ---- cards -----------------------------------------------------------------------------------

    def _card(self, view: Mapping[str, Any], position: Position) -> Choice:
        """Return a card by the mixed strategy of the face-off's matrix."""
        duel = self._duel(view, position)
        self._cards += 1
        # a share of pure chance, so that two alike do not tie for ever
        stray = min(0.6, _STRAY * self._cards) / len(duel.hand)
        weights = [(share if share > 0.01 else 0.0) + stray for share in duel.mix]
        card = self.rng.choices(duel.hand, weights)[0]
        likeliest = max(range(len(duel.reply)), key=duel.reply.__getitem__)
        answer = say("Card {value}", value=str(duel.other_hand[likeliest]))
        reply = expected_reply([answer], duel.reply[likeliest])
        nodes = len(duel.hand) * len(duel.other_hand) * _CARD_ROUNDS[self.level]
        return Choice(str(card), nodes, (_WORDS["card"], reply))

    def _card_loss(self, view: Mapping[str, Any], position: Position, card: int) -> float:
        """Return how much worse a card is than the best one against the other side's mixed
        strategy, as a share of a game."""
        duel = self._duel(view, position)
        gains = [sum(map(mul, row, duel.reply)) for row in duel.payoff]
        return share_of_game(max(gains) - gains[duel.hand.index(card)], TRY)

    def _duel(self, view: Mapping[str, Any], position: Position) -> _Duel:
        """Return the face-off that is on as a matrix game of cards."""
        face_off = view["face_off"]
        attackers = [position.board[NUMBERS[name]] for name in face_off["attackers"]]
        defender = position.board[NUMBERS[face_off["defender"]]]
        stake = values_of(position, self._waiting(position, face_off["kind"], attackers, defender))
        attack = position.hands[position.seat]
        defence = position.hands[1 - position.seat]
        payoff = _card_matrix(attack, defence, lead_of(attackers, defender), stake)
        mix, reply = solve(payoff, _CARD_ROUNDS[self.level])
        if self._me == position.seat:
            return _Duel(attack, defence, mix, reply, payoff)
        turned = [[-value for value in column] for column in zip(*payoff, strict=True)]
        return _Duel(defence, attack, reply, mix, turned)

    def _waiting(
        self, position: Position, kind: str, attackers: Sequence[int], defender: int
    ) -> Play:
        """Return the play that waits for cards: the own one, the one announced, or else the
        likeliest."""
        if kind == TACKLE:
            for play in tackles(position):
                if set(play.movers) == set(attackers):
                    return play
        own = self._play
        if own and position.seat == self._me:
            is_own = own.kind == kind and own.movers == tuple(attackers)
            if is_own and any(meeting.defender == defender for meeting in own.meetings):
                return own
        target = self._target[1] if self._target and self._target[0] == kind else None
        return _likely(position, kind, attackers[0], defender, target)


@dataclass(frozen=True)
class _Duel:
    """A face-off as one side sees it: both hands, how likely each card is played, and what each
    pair is worth.
    """

    hand: Hand
    other_hand: Hand
    mix: list[float]
    reply: list[float]
    payoff: list[list[float]]


def _lines(search: Search, position: Position, best: Candidate) -> tuple[str, ...]:
    """Return why this round: how likely its face-off is won, the best answer to that, and what else
    was thought of."""
    if best.value >= TRY - 1:
        return (_WORDS["try"],)
    odds = answer = ""
    if best.dares:
        percent = round(100 * best.odds)
        odds = say("The chance to win the face-off is {percent} %.", percent=percent)
    after = best.ends[0].after
    if after is not None and search.strength.replies:
        answer = expected_reply([_play_words(after, search.answer(after).first)])
    words = []
    less = 0.0
    others = (line for line in search.ranked if str(line.first) != str(best.first))
    if second := next(others, None):
        words = [_play_words(position, second.first)]
        less = max(0.0, best.value - second.value) / TRY
    return reasons_of(_WORDS[best.first.kind], odds, answer, second_best(words, less))


def _play_words(position: Position, play: Play) -> str:
    """Return a play in words."""
    first = play.paths[0][0] if play.paths else IN_GOAL
    # there and back changes nothing
    is_idle = play.kind == RUN and play.end == first and play.ball == position.ball
    if play.kind == END or is_idle:
        return say("End turn")
    start = NAMES[first]
    if play.kind == TACKLE:
        starts = listed(NAMES[path[0]] for path in play.paths)
        return say("Tackle {square} from {starts}", square=NAMES[play.end], starts=starts)
    if play.kind == RUN and play.end == IN_GOAL:
        return say("Run {start} into goal", start=start)
    if play.kind == RUN:
        return say("Run {start} to {end}", start=start, end=NAMES[play.end])
    end = NAMES[play.ball]
    if play.kind == KICK:
        return say("Kick {start} to {end}", start=start, end=end)
    return say("Pass {start} to {end}", start=start, end=end)


def _card_matrix(
    attack: Hand, defence: Hand, ahead: int, stake: tuple[float, float, float]
) -> list[list[float]]:
    """Return what each pair of cards is worth to the attack, the cards' own worth included.

    After a tie any card may come.
    """
    by_much, by_little, loses = stake
    rows = []
    for own in attack:
        row = []
        for other in defence:
            lead = own + ahead - other
            if lead > CLEAR_LEAD:
                value = by_much
            elif lead > 0:
                value = by_little
            elif lead < 0:
                value = loses
            else:
                # a tie: what is left in both hands decides
                own_rest = tuple(card for card in attack if card != own) or FULL
                other_rest = tuple(card for card in defence if card != other) or FULL
                chance = plain_odds(own_rest, other_rest, ahead)
                value = chance * by_little + (1 - chance) * loses
            row.append(value - PIP * (own - other))
        rows.append(row)
    return rows


def _likely(position: Position, kind: str, mover: int, defender: int, target: int | None) -> Play:
    """Return a run or a pass past a defender. Where it leads is a guess when nobody has said it."""
    start = position.places[mover]
    seat = position.seat
    opposite = position.places[defender]
    if kind == PASS:
        mates = [position.places[piece] for piece in TEAMS[seat] if piece != mover]
        end = target if target in mates else min(mates, key=lambda mate: abs(mate - opposite))
        meeting = Meeting(defender, start, opposite)
        return Play(PASS, (mover,), ((start,),), start, end, (meeting,))
    before = opposite - AHEAD[seat]
    beyond = opposite + AHEAD[seat]
    end = target if target is not None else beyond if 0 <= beyond < AREA else IN_GOAL
    if end != IN_GOAL and position.board[end] not in (EMPTY, mover):
        end = start
    stop = before if 0 <= before < AREA and position.board[before] == EMPTY else start
    has_ball = position.ball == start
    ball = end if has_ball or end == IN_GOAL else position.ball
    spilled = behind(stop, seat) if has_ball else position.ball
    return Play(RUN, (mover,), ((start,),), end, ball, (Meeting(defender, stop, spilled),))
