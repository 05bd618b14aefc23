"""Value of a state of Kahmate: chances of a try, possession, ground, pieces down, and cards.

Values are in points for the seat on turn, and a try, which wins the game, is worth `TRY` points.
The value of a state is the mean of `TRY` and of its static value, weighted by the chance of a try
in this turn. The static value is the sum of the other terms. The weights were chosen by hand, and
matches (`tests/bench/bots`) judge all of them together.

Squares and pieces are numbers (see `companion.games.kahmate.board`). Seats are 0 (South) and 1
(North). A piece is down for some turns after it has lost a face-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from companion.bots.kahmate.moves import steps_apart
from companion.bots.mixed_strategies import solve_matrix_game
from companion.games.kahmate.board import (
    BALL_RANK,
    CLEAR_LEAD,
    FILES,
    GOAL_LINE_RANKS,
    NEIGHBOURS,
    ROLE_OF,
    SEAT_OF,
    SPEED,
    SQUARE_COUNT,
    TEAMS,
    file_of,
    rank_of,
    ranks_ahead,
    squares_between,
)
from companion.games.kahmate.moves import may_pass, movable_pieces
from companion.games.kahmate.state import FULL_HAND, NO_PIECE, State

# Cards that a seat still has, as numbers of pips.
Hand = tuple[int, ...]


class FaceOffResults(NamedTuple):
    """A value or a chance for each result of a face-off, for the side that attacks."""

    clear_win: float
    """The attack wins by a lead of more than `CLEAR_LEAD`."""
    narrow_win: float
    """The attack wins by a smaller lead."""
    loss: float
    """The attack loses."""


# Value of a try, which decides the game. All other weights are small beside it.
TRY = 1000.0

# Value of one more pip on the cards in hand.
PIP = 4.0

# Value of having the ball, without the ground that it has gained.
_POSSESSION = 75.0

# Cost of a piece that is down for one turn. A second turn costs half as much again.
_DOWN_COST = 14.0

# Cost of an opponent between the ball and the goal line.
_OPPONENT_AHEAD_COST = 3.0

# Factor of `_OPPONENT_AHEAD_COST` for an opponent in front of the carrier, at most one file to the
# side.
_IN_FRONT_FACTOR = 1.6

# Value of each team-mate to whom the carrier can pass.
_SUPPORT = 6.0

# Value of reaching a loose ball first, about half of the value of having the ball.
_FIRST_AT_BALL = 35.0

# Value of each turn by which a loose ball is reached before the other side, up to two turns.
_TURN_AHEAD = 6.0

# Value of taking the ball in the middle of the board from the other side, a bit more than
# `_POSSESSION`.
_TACKLED_BALL = 80.0

# Share of the value of a tackled ball that is won if it is only loose after the tackle.
_LOOSE_SHARE = 0.55

# Value of each rank that the ball has gained from the middle of the board.
_RANK_GAINED = 7.0

# Additional value of ground beyond the middle. It is multiplied by the square of the number of
# ranks.
_FAR_GROUND = 2.5

# Assumed price of a pip that is played in a face-off, as a share of what a win is worth.
_PIP_PRICE = 0.05

# Number of rounds of regret matching for one face-off. More rounds take longer. With fewer rounds
# the strategies are farther from equilibrium.
_CARD_ROUNDS = 40

# Maximum assumed chance that a face-off or a turn ends as expected. It makes plans with several
# face-offs count less, and makes the bot defend against a try that is nearly certain.
_MAX_CHANCE = 0.99


# ---- cards ---------------------------------------------------------------------------------------


def random_cards_win_chance(attack: Hand, defence: Hand, strength_lead: int) -> float:
    """Return the attack's chance to win if both play random cards until there is no tie."""
    leads = [
        attack_card + strength_lead - defence_card
        for attack_card in attack
        for defence_card in defence
    ]
    wins = sum(lead > 0 for lead in leads)
    losses = sum(lead < 0 for lead in leads)
    return wins / (wins + losses) if wins + losses else 0.5


def face_off_matrix(
    attack: Hand, defence: Hand, strength_lead: int, values: FaceOffResults, pip_value: float
) -> list[list[float]]:
    """Return the payoff matrix of a face-off for the attack, including the value of the cards.

    Rows are cards of the attack and columns cards of the defence. After a tie, both sides are
    assumed to play random cards.

    :param strength_lead: as `strength_lead_of` returns it
    :param values: value of each result of the face-off for the attack
    :param pip_value: value of a pip that stays in hand
    """
    rows = []
    for attack_card in attack:
        row = []
        for defence_card in defence:
            lead = attack_card + strength_lead - defence_card
            if lead > CLEAR_LEAD:
                value = values.clear_win
            elif lead > 0:
                value = values.narrow_win
            elif lead < 0:
                value = values.loss
            else:
                chance = random_cards_win_chance(
                    _hand_without(attack, attack_card),
                    _hand_without(defence, defence_card),
                    strength_lead,
                )
                value = chance * values.narrow_win + (1 - chance) * values.loss
            row.append(value - pip_value * (attack_card - defence_card))
        rows.append(row)
    return rows


def _hand_without(hand: Hand, card: int) -> Hand:
    """Return a hand after a card is played. After the last card it is full again."""
    return tuple(other_card for other_card in hand if other_card != card) or FULL_HAND


@lru_cache(maxsize=4096)
def face_off_chances(attack: Hand, defence: Hand, strength_lead: int) -> FaceOffResults:
    """Return the chance of each result of a face-off if both sides play their mixed strategies.

    :param strength_lead: as `strength_lead_of` returns it
    """
    values = FaceOffResults(1.0, 1.0, -1.0)
    payoff = face_off_matrix(attack, defence, strength_lead, values, _PIP_PRICE)
    attack_strategy, defence_strategy = solve_matrix_game(payoff, _CARD_ROUNDS)
    clear_win = narrow_win = tie = 0.0
    for attack_card, attack_chance in zip(attack, attack_strategy, strict=True):
        for defence_card, defence_chance in zip(defence, defence_strategy, strict=True):
            lead = attack_card + strength_lead - defence_card
            chance = attack_chance * defence_chance
            if lead > CLEAR_LEAD:
                clear_win += chance
            elif lead > 0:
                narrow_win += chance
            elif lead == 0:
                tie += chance
    narrow_win += tie * random_cards_win_chance(attack, defence, strength_lead)
    return FaceOffResults(clear_win, narrow_win, max(0.0, 1 - clear_win - narrow_win))


def strength_lead_of(attackers: Sequence[int], defender: int) -> int:
    """Return the attackers' strength without cards, minus the defender's."""
    return sum(ROLE_OF[piece].attack for piece in attackers) - ROLE_OF[defender].defence


def chances_of(state: State, attackers: Sequence[int], defender: int) -> FaceOffResults:
    """Return the chance of each result of a face-off in which the seat on turn attacks."""
    attack = state.cards[state.seat]
    defence = state.cards[1 - state.seat]
    return face_off_chances(attack, defence, strength_lead_of(attackers, defender))


def _win_chance(state: State, attacker: int, defender: int) -> float:
    """Return the assumed chance of the seat on turn to win a face-off, at most `_MAX_CHANCE`."""
    chances = chances_of(state, (attacker,), defender)
    return min(_MAX_CHANCE, chances.clear_win + chances.narrow_win)


# ---- chances of a try ----------------------------------------------------------------------------


def try_chance(state: State) -> float:
    """Return the chance of the seat on turn to score in the rest of its turn.

    This is the chance of the best run after any passes. Kicks and sequences with more than one
    runner are ignored.
    """
    seat = state.seat
    goal_rank = GOAL_LINE_RANKS[1 - seat]
    # pieces too far from the goal line cannot score in this turn
    runners = [
        piece
        for piece in movable_pieces(state)
        if abs(goal_rank - rank_of(state.piece_squares[piece])) < SPEED[piece]
    ]
    carrier = state.carrier
    if not runners or state.opposing_carrier != NO_PIECE:
        return 0.0
    ball_chances = _pass_chances(state, carrier) if carrier != NO_PIECE else {}
    goal_squares = slice(goal_rank * FILES, (goal_rank + 1) * FILES)
    best = 0.0
    for runner in runners:
        # the last step enters the goal
        by_any_path, with_fetched_ball = reach_chances(state, runner, SPEED[runner] - 1)
        run_chance = max(by_any_path[goal_squares])
        pass_chance = ball_chances.get(runner, 0.0)
        best = max(best, run_chance * pass_chance, *with_fetched_ball[goal_squares])
    return best


def _pass_chances(state: State, carrier: int) -> dict[int, float]:
    """Return the chance of the carrier and each team-mate to get the ball by passes alone."""
    chances = {carrier: 1.0}
    # passes go back, so start with the foremost piece
    foremost_first = sorted(
        TEAMS[state.seat], key=lambda piece: ranks_ahead(state.piece_squares[piece], 0, state.seat)
    )
    for passer in foremost_first:
        if passer not in chances or state.turns_to_miss[passer]:
            continue
        for receiver in foremost_first:
            chance = _pass_chance(state, passer, receiver, chances[passer])
            if chance > chances.get(receiver, 0.0):
                chances[receiver] = chance
    return chances


def _pass_chance(state: State, passer: int, receiver: int, chance: float) -> float:
    """Return the chance that the receiver gets the ball by this pass, or 0 if it is not allowed.

    :param chance: chance that the passer has the ball
    """
    start = state.piece_squares[passer]
    end = state.piece_squares[receiver]
    if state.turns_to_miss[receiver] or not may_pass(state.seat, start, end):
        return 0.0
    # each standing opponent on the way costs a face-off
    for square in squares_between(start, end):
        piece = state.board[square]
        if state.is_standing_opponent(piece):
            chance *= _win_chance(state, passer, piece)
    return chance


def reach_chances(state: State, runner: int, steps: int) -> tuple[list[float], list[float]]:
    """Return the chance of a runner to reach each square within `steps`, in two lists.

    The first list is for any path, the second for paths that fetch a loose ball. Both are indexed
    by square. The chance is that of the likeliest path, which has to win the face-offs on its way.
    """
    start = state.piece_squares[runner]
    loose_ball = state.loose_ball
    # the other side's carrier is tackled and never run into (ruling)
    forbidden = state.opposing_ball
    by_any_path = [0.0] * SQUARE_COUNT
    by_any_path[start] = 1.0
    with_fetched_ball = [0.0] * SQUARE_COUNT
    if loose_ball == start:
        with_fetched_ball[start] = 1.0
    improved = {start}
    # each round extends the paths of the one before by a step
    for _ in range(steps):
        by_any_path_before = by_any_path
        with_ball_before = with_fetched_ball
        by_any_path = by_any_path[:]
        with_fetched_ball = with_fetched_ball[:]
        improved_before = improved
        improved = set()
        for square in improved_before:
            chance = by_any_path_before[square]
            for target in NEIGHBOURS[square]:
                if target == forbidden:
                    continue
                piece = state.board[target]
                step_chance = 1.0
                # a standing opponent in the way costs a face-off
                if state.is_standing_opponent(piece):
                    step_chance = _win_chance(state, runner, piece)
                new_chance = chance * step_chance
                if new_chance > by_any_path[target]:
                    by_any_path[target] = new_chance
                    improved.add(target)
                chance_with_ball = chance if target == loose_ball else with_ball_before[square]
                chance_with_ball *= step_chance
                if chance_with_ball > with_fetched_ball[target]:
                    with_fetched_ball[target] = chance_with_ball
                    improved.add(target)
    return by_any_path, with_fetched_ball


# ---- value ---------------------------------------------------------------------------------------


def value_of(state: State) -> float:
    """Return the value of a state for the seat on turn, at the beginning of its turn."""
    points = _static_value(state)
    chance = min(_MAX_CHANCE, try_chance(state))
    return points + chance * (TRY - points)


def _static_value(state: State) -> float:
    """Return the static value of a state: cards, pieces down, and who has or gets the ball."""
    seat = state.seat
    points = PIP * (sum(state.cards[seat]) - sum(state.cards[1 - seat]))
    for piece, turns in enumerate(state.turns_to_miss):
        if turns:
            loss = _DOWN_COST if turns == 1 else 1.5 * _DOWN_COST
            points += -loss if SEAT_OF[piece] == seat else loss
    carrier = state.carrier
    if carrier == NO_PIECE:
        return points + _loose_value(state)
    owner = SEAT_OF[carrier]
    possession = _possession_value(state, carrier, owner)
    if owner == seat:
        return points + possession
    gain, tackle_chance = _tackle_gain(state, carrier)
    # on the goal line of the seat on turn, only a tackle can prevent a try
    if rank_of(state.ball) == GOAL_LINE_RANKS[seat]:
        points -= (1 - tackle_chance) * (_MAX_CHANCE * TRY - possession)
    return points - possession + gain


def _ground_value(rank: int, seat: int) -> float:
    """Return the value for a seat of having the ball on this rank (from 0).

    It is 0 in the middle, where the ball begins, and negative on the seat's own half.
    """
    ranks_from_home = rank if seat == 0 else max(GOAL_LINE_RANKS) - rank
    gained = ranks_from_home - BALL_RANK
    return _RANK_GAINED * gained + _FAR_GROUND * max(0, gained) ** 2


def _possession_value(state: State, carrier: int, owner: int) -> float:
    """Return the value of carrying the ball, for the seat that has it."""
    file = file_of(state.ball)
    points = _POSSESSION + _ground_value(rank_of(state.ball), owner)
    # opponents in the way cost points, team-mates that can take a pass are worth some
    for piece, square in enumerate(state.piece_squares):
        if state.turns_to_miss[piece]:
            continue
        ranks_behind_ball = ranks_ahead(square, state.ball, owner)
        if SEAT_OF[piece] != owner:
            if ranks_behind_ball < 0:
                is_in_front = abs(file_of(square) - file) <= 1
                points -= _OPPONENT_AHEAD_COST * (_IN_FRONT_FACTOR if is_in_front else 1.0)
        elif piece != carrier:
            if may_pass(owner, state.ball, square):
                points += _SUPPORT
            # a team-mate that a usual run of 3 steps cannot bring up to the ball is no support
            points -= 1.5 * max(0, ranks_behind_ball - 3)
    # a strong or fast carrier is worth more than a regular piece, whose defence is 0 and speed 3
    return points + 5.0 * (ROLE_OF[carrier].defence + SPEED[carrier] - 3)


def _tackle_gain(state: State, carrier: int) -> tuple[float, float]:
    """Return the expected gain of tackling the carrier, and the chance that it loses the ball.

    The tacklers are the two strongest pieces within reach.
    """
    seat = state.seat
    ball = state.ball
    attacks = [
        ROLE_OF[piece].attack
        for piece in movable_pieces(state)
        if steps_apart(state.piece_squares[piece], ball) <= SPEED[piece]
    ]
    if not attacks:
        return 0.0, 0.0
    attacks.sort(reverse=True)
    # a second piece with a negative strength would not take part
    strength = attacks[0] + sum(max(0, attack) for attack in attacks[1:2])
    clear_win, narrow_win, _ = face_off_chances(
        state.cards[seat], state.cards[1 - seat], strength - ROLE_OF[carrier].defence
    )
    # what a clear win gains: the ball, and half of the ground that the other side loses with it
    ball_value = _TACKLED_BALL + 0.5 * _ground_value(rank_of(ball), 1 - seat)
    # after a narrow win the ball is only loose
    gain = (clear_win + _LOOSE_SHARE * narrow_win) * ball_value
    return gain, clear_win + narrow_win


def _loose_value(state: State) -> float:
    """Return the value of a loose ball: who reaches it first, and on which half it lies."""
    seat = state.seat
    ball = state.ball
    # number of turns that each seat needs to reach the ball (9 is more than any piece needs)
    turns_to_ball = [9.0, 9.0]
    for piece, square in enumerate(state.piece_squares):
        steps = steps_apart(square, ball)
        owner = SEAT_OF[piece]
        turns_to_miss = state.turns_to_miss[piece]
        # whole turns, and a tenth of the exact number, so that the nearer of two pieces is first
        turns = ceil(steps / SPEED[piece]) + 0.1 * steps / SPEED[piece]
        # a piece that is down waits, and one of the other side slightly less
        if turns_to_miss:
            turns += turns_to_miss if owner == seat else turns_to_miss - 0.4
        turns_to_ball[owner] = min(turns_to_ball[owner], turns)
    lead = turns_to_ball[1 - seat] - turns_to_ball[seat]
    # the seat on turn is first if both need nearly the same time
    points = _FIRST_AT_BALL if lead >= -0.05 else -_FIRST_AT_BALL
    # a lead of more than two turns is worth no more
    points += _TURN_AHEAD * max(-2.0, min(2.0, lead))
    return points + 0.5 * _ground_value(rank_of(ball), seat)
