"""What a position of Kahmate is worth: chances of a try, possession, ground, who lies, which cards
are left.

Worths are points seen by the seat on turn. A try is `TRY` points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from companion.bots.kahmate.moves import (
    ATTACK,
    DEFENCE,
    EMPTY,
    FILE,
    FORWARD,
    FULL,
    RANK,
    Hand,
    Position,
    is_pass,
)
from companion.bots.mixed_strategies import solve
from companion.games.kahmate.board import (
    AREA,
    CLEAR_LEAD,
    FILES,
    OWN_LINE,
    PASS_REACH,
    SEAT_OF,
    SPEED,
    STEPS,
    TEAMS,
    squares_between,
)

TRY = 1000.0
PIP = 4.0
"""What a pip more on the cards in hand is worth."""
_POSSESSION = 75.0
_LYING = 14.0
_BEHIND_BALL = 3.0
_SUPPORT = 6.0
_FIRST_AT_BALL = 35.0
_CARD_PRICE = 0.05
"""What a pip costs within the odds of one face-off, as a share of it."""
_CARD_ROUNDS = 40
"""Rounds of regret matching for the odds of one face-off."""
_CERTAIN = 0.999
_SUREST = 0.99
"""Maximum chance that a face-off or a round comes out as expected.

So what takes several is told apart, and what nothing helps against is still made hard.
"""


# ---- cards ---------------------------------------------------------------------------------------


def plain_odds(attack: Hand, defence: Hand, ahead: int) -> float:
    """Return how likely the attack wins when both draw any card and play on after a tie."""
    leads = [own + ahead - other for own in attack for other in defence]
    wins = sum(lead > 0 for lead in leads)
    losses = sum(lead < 0 for lead in leads)
    return wins / (wins + losses) if wins + losses else 0.5


@lru_cache(maxsize=4096)
def odds(attack: Hand, defence: Hand, ahead: int) -> tuple[float, float, float]:
    """Return how likely the attack wins by more than 2, by less, and loses, when both play their
    cards well.

    :param ahead: the attack's strengths without cards, minus the defence's
    """
    # after a tie the next cards decide, as if drawn at random
    win_after_tie = plain_odds(attack, defence, ahead)
    payoff = []
    for own in attack:
        row = []
        for other in defence:
            lead = own + ahead - other
            value = 2 * win_after_tie - 1 if lead == 0 else 1.0 if lead > 0 else -1.0
            # low cards are better spent
            row.append(value - _CARD_PRICE * (own - other))
        payoff.append(row)
    mine, theirs = solve(payoff, _CARD_ROUNDS)
    by_much = by_little = tie = 0.0
    for own, share in zip(attack, mine, strict=True):
        for other, other_share in zip(defence, theirs, strict=True):
            lead = own + ahead - other
            chance = share * other_share
            if lead > CLEAR_LEAD:
                by_much += chance
            elif lead > 0:
                by_little += chance
            elif lead == 0:
                tie += chance
    by_little += tie * win_after_tie
    return by_much, by_little, max(0.0, 1 - by_much - by_little)


def lead_of(attackers: Sequence[int], defender: int) -> int:
    """Return the attackers' strength without cards, minus the defender's."""
    return sum(ATTACK[piece] for piece in attackers) - DEFENCE[defender]


def chance_of(
    position: Position, attackers: Sequence[int], defender: int
) -> tuple[float, float, float]:
    """Return the odds of the seat on turn in a face-off of those pieces."""
    seat = position.seat
    lead = lead_of(attackers, defender)
    return odds(position.hands[seat], position.hands[1 - seat], lead)


def _wins(position: Position, attacker: int, defender: int, before: float) -> float:
    """Return how likely a face-off is won on a way that is as likely as `before`.

    Below 1 there was a face-off on it.
    """
    attack = position.hands[position.seat]
    defence = position.hands[1 - position.seat]
    if before < 1 and len(attack) == 1:
        attack = defence = FULL
    by_much, by_little, _ = odds(attack, defence, lead_of((attacker,), defender))
    return min(_SUREST, by_much + by_little)


# ---- chances of a try ----------------------------------------------------------------------------


def try_chance(position: Position) -> float:
    """Return how likely the seat on turn can score in what is left of its round, by its best way of
    runs and passes.

    Kicks and ways by more than two runners are not looked at.
    """
    seat = position.seat
    goal = OWN_LINE[1 - position.seat]
    able = position.able()
    # who is too far from the goal line cannot score in this round
    runners = [piece for piece in able if abs(goal - RANK[position.places[piece]]) < SPEED[piece]]
    carrier = position.carrier
    if not runners or (carrier != EMPTY and SEAT_OF[carrier] != seat):
        return 0.0
    held = _passed_on(position, carrier) if carrier != EMPTY else {}
    best = 0.0
    for runner in runners:
        alone, fetching = _to_goal(position, runner, goal)
        best = max(best, alone * held.get(runner, 0.0), fetching)
        if best >= _CERTAIN:
            return 1.0
        if alone > best and not position.ran:
            best = max(best, alone * _brought(position, runner, able, held))
    return best


def _passed_on(position: Position, carrier: int) -> dict[int, float]:
    """Return how likely each team-mate gets the ball by passes alone."""
    ahead = FORWARD[position.seat]
    held = {carrier: 1.0}
    # passes go back: the foremost gives first
    order = sorted(TEAMS[position.seat], key=lambda piece: -ahead * RANK[position.places[piece]])
    for giver in order:
        if giver not in held or position.down[giver]:
            continue
        for taker in order:
            chance = _passed(position, giver, position.places[giver], taker, held[giver])
            if chance > held.get(taker, 0.0):
                held[taker] = chance
    return held


def _passed(position: Position, giver: int, start: int, taker: int, chance: float) -> float:
    """Return how likely a pass from a square arrives, which the giver reaches as likely as
    `chance`. 0: it is not allowed."""
    end = position.places[taker]
    if position.down[taker] or not is_pass(position.seat, start, end):
        return 0.0
    for square in squares_between(start, end):
        other = position.board[square]
        if position.is_opponent(other):
            chance *= _wins(position, giver, other, chance)
    return chance


def _to_goal(position: Position, runner: int, goal: int) -> tuple[float, float]:
    """Return how likely a runner gets into goal with the ball, and by fetching a loose one on its
    way."""
    anyhow, fetched = reach(position, runner, SPEED[runner] - 1)
    line = range(goal * FILES, (goal + 1) * FILES)
    return max(anyhow[square] for square in line), max(fetched[square] for square in line)


def reach(position: Position, runner: int, steps: int) -> tuple[list[float], list[float]]:
    """Return how likely a runner gets to each square within so many steps: any way, and by fetching
    a loose ball."""
    start = position.places[runner]
    ball = position.ball
    carrier = position.carrier
    loose = ball if carrier == EMPTY else EMPTY
    forbidden = ball if carrier != EMPTY and SEAT_OF[carrier] != position.seat else EMPTY
    anyhow = [0.0] * AREA
    anyhow[start] = 1.0
    fetched = [0.0] * AREA
    if loose == start:
        fetched[start] = 1.0
    edge = {start}
    for _ in range(steps):
        before = anyhow
        fetched_before = fetched
        anyhow = anyhow[:]
        fetched = fetched[:]
        further = set()
        for square in edge:
            chance = before[square]
            for to in STEPS[square]:
                if to == forbidden:
                    continue
                other = position.board[to]
                factor = 1.0
                # a standing opponent in the way costs a face-off
                if position.is_opponent(other):
                    factor = _wins(position, runner, other, chance)
                if chance * factor > anyhow[to]:
                    anyhow[to] = chance * factor
                    further.add(to)
                with_ball = (chance if to == loose else fetched_before[square]) * factor
                if with_ball > fetched[to]:
                    fetched[to] = with_ball
                    further.add(to)
        edge = further
    return anyhow, fetched


def _brought(position: Position, runner: int, able: list[int], held: dict[int, float]) -> float:
    """Return how likely a team-mate runs with the ball to where it can pass to the runner."""
    end = position.places[runner]
    seat = position.seat
    best = 0.0
    for mate in able:
        ranks_apart = abs(RANK[position.places[mate]] - RANK[end])
        is_near = ranks_apart <= SPEED[mate] + PASS_REACH + 1
        if mate == runner or not is_near or (held and mate not in held):
            continue
        anyhow, fetched = reach(position, mate, SPEED[mate])
        chances, factor = (anyhow, held[mate]) if held else (fetched, 1.0)
        # from the squares from which a pass reaches the runner
        for spot in range(AREA):
            chance = chances[spot] * factor
            is_free = position.board[spot] in (EMPTY, mate)
            if chance > best and is_free and is_pass(seat, spot, end):
                best = max(best, _passed(position, mate, spot, runner, chance))
    return best


# ---- worth ---------------------------------------------------------------------------------------


def worth(position: Position) -> float:
    """Return what a position at the beginning of a round is worth to the seat on turn."""
    points = quiet_worth(position)
    chance = min(_SUREST, try_chance(position))
    return points + chance * (TRY - points)


def quiet_worth(position: Position) -> float:
    """Return the same without chances of a try in this round."""
    seat = position.seat
    points = PIP * (sum(position.hands[seat]) - sum(position.hands[1 - seat]))
    for piece, rounds in enumerate(position.down):
        if rounds:
            loss = _LYING if rounds == 1 else 1.5 * _LYING
            points += -loss if SEAT_OF[piece] == seat else loss
    carrier = position.carrier
    if carrier == EMPTY:
        return points + _loose_worth(position)
    owner = SEAT_OF[carrier]
    carried = _carried_worth(position, carrier, owner)
    if owner == seat:
        return points + carried
    gain, chance = _tackled(position, carrier)
    if RANK[position.ball] == OWN_LINE[seat]:  # a step from a try, which a tackle alone prevents
        points -= (1 - chance) * (_SUREST * TRY - carried)
    return points - carried + gain


def _ground(rank: int, seat: int) -> float:
    """Return what it is worth to have the ball on that rank."""
    gained = rank if seat == 0 else max(OWN_LINE) - rank
    return 7.0 * (gained - 5) + 2.5 * max(0, gained - 5) ** 2


def _carried_worth(position: Position, carrier: int, owner: int) -> float:
    """Return what having the ball there is worth to its owner."""
    rank = RANK[position.ball]
    file = FILE[position.ball]
    points = _POSSESSION + _ground(rank, owner)
    for piece, square in enumerate(position.places):
        if position.down[piece]:
            continue
        back = (rank - RANK[square]) * FORWARD[owner]
        if SEAT_OF[piece] != owner:
            # opponents between the ball and the goal line
            if back < 0:
                points -= _BEHIND_BALL * (1.6 if abs(FILE[square] - file) <= 1 else 1.0)
        elif piece != carrier:
            if is_pass(owner, position.ball, square):
                points += _SUPPORT
            points -= 1.5 * max(0, back - 3)
    return points + 5.0 * (DEFENCE[carrier] + SPEED[carrier] - 3)


def _tackled(position: Position, carrier: int) -> tuple[float, float]:
    """Return what the seat on turn may hope for from tackling the carrier, by its two strongest
    pieces that are near, and how likely the carrier loses the ball.
    """
    seat = position.seat
    ball = position.ball
    near = [
        ATTACK[piece]
        for piece in position.able()
        if _steps_apart(position.places[piece], ball) <= SPEED[piece]
    ]
    if not near:
        return 0.0, 0.0
    near.sort(reverse=True)
    # a weak second one is no use
    strength = near[0] + sum(max(0, attack) for attack in near[1:2])
    by_much, by_little, _ = odds(
        position.hands[seat], position.hands[1 - seat], strength - DEFENCE[carrier]
    )
    won_ball = 0.8 * _POSSESSION + 0.5 * _ground(RANK[ball], 1 - seat) + 20.0
    return (by_much + 0.55 * by_little) * won_ball, by_much + by_little


def _steps_apart(square: int, other: int) -> int:
    """Return the steps between squares that nobody bars."""
    return abs(RANK[square] - RANK[other]) + abs(FILE[square] - FILE[other])


def _loose_worth(position: Position) -> float:
    """Return who is first at a ball that lies free, and on whose side it lies."""
    seat = position.seat
    ball = position.ball
    times = [9.0, 9.0]
    for piece, square in enumerate(position.places):
        steps = _steps_apart(square, ball)
        owner = SEAT_OF[piece]
        rounds_down = position.down[piece]
        # rounds that a piece needs to the ball, rounded up
        rounds = -(-steps // SPEED[piece]) + 0.1 * steps / SPEED[piece]
        if rounds_down:
            rounds += rounds_down if owner == seat else rounds_down - 0.4
        times[owner] = min(times[owner], rounds)
    lead = times[1 - seat] - times[seat]
    first = _FIRST_AT_BALL if lead >= -0.05 else -_FIRST_AT_BALL
    return first + 6.0 * max(-2.0, min(2.0, lead)) + 0.5 * _ground(RANK[ball], seat)
