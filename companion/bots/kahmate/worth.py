"""What a position of Kahmate is worth: chances of a try, possession, ground, who lies, which cards
are left.

Worths are points seen by the seat on turn. A try is `TRY` points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from companion.bots.kahmate.moves import ATTACK, DEFENCE, EMPTY, FILE, FULL, RANK, Hand, Position
from companion.games.kahmate.board import (
    AREA,
    CLEAR_LEAD,
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
_POSSESSION, _LYING, _BEHIND_BALL, _SUPPORT, _FIRST_AT_BALL = 75.0, 14.0, 3.0, 6.0, 35.0
_SUREST = 0.99
"""Maximum chance that a face-off or a round comes out as expected.

So what takes several is told apart, and what nothing helps against is still made hard.
"""


# ---- cards -----------------------------------------------------------------------------------------------------------


def solve(payoff: Sequence[Sequence[float]], rounds: int) -> tuple[list[float], list[float]]:
    """Return both sides' mixed strategies for a small matrix, rows wanting much and columns little,
    by regret matching+."""
    rows, columns = len(payoff), len(payoff[0])
    regret, regrets = [0.0] * rows, [0.0] * columns
    sums, other_sums = [0.0] * rows, [0.0] * columns
    mine, theirs = [1 / rows] * rows, [1 / columns] * columns
    for number in range(1, rounds + 1):
        # rows answer the columns' mix, then columns answer the new mix of rows
        gain = [sum(map(float.__mul__, line, theirs)) for line in payoff]
        mean = sum(map(float.__mul__, gain, mine))
        regret = [max(0.0, r + g - mean) for r, g in zip(regret, gain, strict=True)]
        mine = _shares(regret)
        loss = [
            sum(m * line[column] for m, line in zip(mine, payoff, strict=True))
            for column in range(columns)
        ]
        mean = sum(map(float.__mul__, loss, theirs))
        regrets = [max(0.0, r + mean - lost) for r, lost in zip(regrets, loss, strict=True)]
        theirs = _shares(regrets)
        # later rounds weigh more in the average
        sums = [s + number * m for s, m in zip(sums, mine, strict=True)]
        other_sums = [s + number * t for s, t in zip(other_sums, theirs, strict=True)]
    return _shares(sums), _shares(other_sums)


def _shares(weights: list[float]) -> list[float]:
    total = sum(weights)
    if total <= 1e-12:
        return [1 / len(weights)] * len(weights)
    return [weight / total for weight in weights]


def plain_odds(attack: Hand, defence: Hand, ahead: int) -> float:
    """Return how likely the attack wins when both draw any card and play on after a tie."""
    wins = losses = 0
    for one in attack:
        for other in defence:
            wins += one + ahead > other
            losses += one + ahead < other
    return wins / (wins + losses) if wins + losses else 0.5


@lru_cache(maxsize=4096)
def odds(attack: Hand, defence: Hand, ahead: int) -> tuple[float, float, float]:
    """Return how likely the attack wins by more than 2, by less, and loses, when both play their
    cards well.

    :param ahead: the attack's strengths without cards, minus the defence's
    """
    # after a tie the next cards decide, as if drawn at random
    tie = 2 * plain_odds(attack, defence, ahead) - 1
    payoff = [
        [_outcome(one + ahead - other, tie) - 0.05 * (one - other) for other in defence]
        for one in attack
    ]
    mine, theirs = solve(payoff, 40)
    by_much = by_little = again = 0.0
    for one, share in zip(attack, mine, strict=True):
        for other, other_share in zip(defence, theirs, strict=True):
            lead, chance = one + ahead - other, share * other_share
            by_much += chance * (lead > CLEAR_LEAD)
            by_little += chance * (0 < lead <= CLEAR_LEAD)
            again += chance * (lead == 0)
    by_little += again * (tie + 1) / 2
    return by_much, by_little, max(0.0, 1 - by_much - by_little)


def _outcome(lead: int, tie: float) -> float:
    return 1.0 if lead > 0 else -1.0 if lead < 0 else tie


def chance_of(
    position: Position, attackers: Sequence[int], defender: int
) -> tuple[float, float, float]:
    """Return the odds of the seat on turn in a face-off of those pieces."""
    seat = position.seat
    ahead = sum(ATTACK[piece] for piece in attackers) - DEFENCE[defender]
    return odds(position.hands[seat], position.hands[1 - seat], ahead)


def _wins(position: Position, attacker: int, defender: int, before: float) -> float:
    """Return how likely a face-off is won on a way that is as likely as `before`.

    Below 1 there was a face-off on it.
    """
    attack, defence = position.hands[position.seat], position.hands[1 - position.seat]
    if before < 1 and len(attack) == 1:
        attack = defence = FULL
    by_much, by_little, _ = odds(attack, defence, ATTACK[attacker] - DEFENCE[defender])
    return min(_SUREST, by_much + by_little)


# ---- chances of a try ------------------------------------------------------------------------------------------------


def try_chance(position: Position) -> float:
    """Return how likely the seat on turn can score in what is left of its round, by its best way of
    runs and passes.

    Kicks and ways by more than two runners are not looked at.
    """
    seat, goal = position.seat, OWN_LINE[1 - position.seat]
    able = position.able()
    # who is too far from the goal line cannot score in this round
    runners = [piece for piece in able if abs(goal - RANK[position.places[piece]]) < SPEED[piece]]
    if not runners:
        return 0.0
    carrier = position.carrier
    if carrier != EMPTY and SEAT_OF[carrier] != seat:
        return 0.0
    held = _passed_on(position, carrier) if carrier != EMPTY else {}
    best = 0.0
    for runner in runners:
        by_itself, fetching = _to_goal(position, runner, goal)
        best = max(best, by_itself * held.get(runner, 0.0), fetching)
        if best >= 0.999:
            return 1.0
        if by_itself > best and len(position.ran) == 0:
            best = max(best, by_itself * _brought(position, runner, able, held))
    return best


def _passed_on(position: Position, carrier: int) -> dict[int, float]:
    """Return how likely each team-mate gets the ball by passes alone."""
    ahead = 1 if position.seat == 0 else -1
    held = {carrier: 1.0}
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
    back = (RANK[start] - RANK[end]) * (1 if position.seat == 0 else -1)
    if (
        not 1 <= back <= PASS_REACH
        or abs(FILE[start] - FILE[end]) > PASS_REACH
        or position.down[taker]
    ):
        return 0.0
    for square in squares_between(start, end):
        other = position.board[square]
        if other != EMPTY and not position.down[other] and SEAT_OF[other] != position.seat:
            chance *= _wins(position, giver, other, chance)
    return chance


def _to_goal(position: Position, runner: int, goal: int) -> tuple[float, float]:
    """Return how likely a runner gets into goal with the ball, and by fetching a loose one on its
    way."""
    with_ball, fetched = reach(position, runner)
    line = range(goal * 8, goal * 8 + 8)
    last = SPEED[runner] - 1
    return max(with_ball[last][at] for at in line), max(fetched[last][at] for at in line)


def reach(position: Position, runner: int) -> tuple[list[list[float]], list[list[float]]]:
    """Return how likely a runner gets to each square within so many steps: any way, and by fetching
    a loose ball.

    The outer lists are by steps, from 0 to the runner's speed.
    """
    board, down, seat, ball = position.board, position.down, position.seat, position.ball
    carrier = position.carrier
    loose = ball if carrier == EMPTY else EMPTY
    forbidden = ball if carrier != EMPTY and SEAT_OF[carrier] != seat else EMPTY
    free = [0.0] * AREA
    free[position.places[runner]] = 1.0
    bringing = [0.0] * AREA
    if loose != EMPTY:
        bringing[loose] = free[loose]
    # chances by number of steps: reached in any way, and reached with a ball fetched on the way
    frees, bringings = [free], [bringing]
    edge = {position.places[runner]}
    for _ in range(SPEED[runner]):
        free, bringing, further = free[:], bringing[:], set()
        for square in edge:
            chance, brought = frees[-1][square], bringings[-1][square]
            for to in STEPS[square]:
                if to == forbidden:
                    continue
                other, factor = board[to], 1.0
                # a standing opponent in the way costs a face-off
                if other != EMPTY and not down[other] and SEAT_OF[other] != seat:
                    factor = _wins(position, runner, other, chance)
                if chance * factor > free[to]:
                    free[to] = chance * factor
                    further.add(to)
                now = (chance if to == loose else brought) * factor
                if now > bringing[to]:
                    bringing[to] = now
                    further.add(to)
        frees.append(free)
        bringings.append(bringing)
        edge = further
    return frees, bringings


def _brought(position: Position, runner: int, able: list[int], held: dict[int, float]) -> float:
    """Return how likely a team-mate runs with the ball to where it can pass to the runner."""
    best, end = 0.0, position.places[runner]
    ahead = 8 if position.seat == 0 else -8
    # squares from which a pass reaches the runner
    spots = [
        end + ahead * ranks + aside
        for ranks in (1, 2)
        for aside in range(-min(2, FILE[end]), min(2, 7 - FILE[end]) + 1)
    ]
    spots = [spot for spot in spots if 0 <= spot < AREA]
    for mate in able:
        near = 3 + SPEED[mate] >= abs(RANK[position.places[mate]] - RANK[end])
        if mate == runner or not near or (held and mate not in held):
            continue
        frees, bringings = reach(position, mate)
        chances, factor = (frees[-1], held[mate]) if held else (bringings[-1], 1.0)
        for spot in spots:
            if position.board[spot] in (EMPTY, mate) and chances[spot] * factor > best:
                best = max(best, _passed(position, mate, spot, runner, chances[spot] * factor))
    return best


# ---- worth -----------------------------------------------------------------------------------------------------------


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
            points += (-_LYING if SEAT_OF[piece] == seat else _LYING) * (1 if rounds == 1 else 1.5)
    carrier = position.carrier
    if carrier == EMPTY:
        return points + _loose_worth(position)
    owner = SEAT_OF[carrier]
    own = _carried_worth(position, carrier, owner)
    if owner == seat:
        return points + own
    gain, chance = _tackled(position, carrier)
    if RANK[position.ball] == OWN_LINE[seat]:  # a step from a try, which a tackle alone prevents
        points -= (1 - chance) * (_SUREST * TRY - own)
    return points - own + gain


def _ground(rank: int, seat: int) -> float:
    """Return what it is worth to have the ball on that rank."""
    gained = rank if seat == 0 else max(OWN_LINE) - rank
    return 7.0 * (gained - 5) + 2.5 * max(0, gained - 5) ** 2


def _carried_worth(position: Position, carrier: int, owner: int) -> float:
    """Return what having the ball there is worth to its owner."""
    ahead = 1 if owner == 0 else -1
    rank, file = RANK[position.ball], FILE[position.ball]
    points = _POSSESSION + _ground(rank, owner)
    for piece in TEAMS[1 - owner]:
        square = position.places[piece]
        if not position.down[piece] and (RANK[square] - rank) * ahead > 0:
            points -= _BEHIND_BALL * (1.6 if abs(FILE[square] - file) <= 1 else 1.0)
    for piece in TEAMS[owner]:
        square = position.places[piece]
        back = (rank - RANK[square]) * ahead
        if piece != carrier and not position.down[piece]:
            if 1 <= back <= PASS_REACH and abs(FILE[square] - file) <= PASS_REACH:
                points += _SUPPORT
            points -= 1.5 * max(0, back - 3)
    return points + 5.0 * (DEFENCE[carrier] + SPEED[carrier] - 3)


def _tackled(position: Position, carrier: int) -> tuple[float, float]:
    """Return what the seat on turn may hope for from tackling the carrier, by its two strongest
    pieces that are near, and how likely the carrier loses the ball.
    """
    at = position.ball
    # strongest tacklers first; a weak second one is no use
    near = sorted(
        (
            ATTACK[piece]
            for piece in position.able()
            if abs(RANK[position.places[piece]] - RANK[at])
            + abs(FILE[position.places[piece]] - FILE[at])
            <= SPEED[piece]
        ),
        reverse=True,
    )
    if not near:
        return 0.0, 0.0
    strength = near[0] + max(0, near[1] if len(near) > 1 else 0)
    by_much, by_little, _ = odds(
        position.hands[position.seat],
        position.hands[1 - position.seat],
        strength - DEFENCE[carrier],
    )
    rank = RANK[at]
    gain = (by_much + 0.55 * by_little) * (
        0.8 * _POSSESSION + 0.5 * _ground(rank, 1 - position.seat) + 20.0
    )
    return gain, by_much + by_little


def _loose_worth(position: Position) -> float:
    """Return who is first at a ball that lies free, and on whose side it lies."""
    seat, ball = position.seat, position.ball
    times = [9.0, 9.0]
    for piece, square in enumerate(position.places):
        steps = abs(RANK[square] - RANK[ball]) + abs(FILE[square] - FILE[ball])
        owner = SEAT_OF[piece]
        # rounds that a piece needs to the ball, rounded up
        need = -(-steps // SPEED[piece]) + 0.1 * steps / SPEED[piece]
        if position.down[piece]:
            need += position.down[piece] if owner == seat else position.down[piece] - 0.4
        times[owner] = min(times[owner], need)
    lead = times[1 - seat] - times[seat]
    first = _FIRST_AT_BALL if lead >= -0.05 else -_FIRST_AT_BALL
    return first + 6.0 * max(-2.0, min(2.0, lead)) + 0.5 * _ground(RANK[ball], seat)
