"""The finale of a game: how it ended, its turning point, and the score of the evening.

All of it comes from what everybody at the table may know as soon as the game is over: boards, open
cards, reported events and receipts. The last turn may still be taken back.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from companion.archive.played_games import NOBODY, Ending, Finale, GameLine, TurningPoint
from companion.archive.replay import Replay
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.games.base import Event
from companion.games.events import CommonEvent

_MORNING_H = 5
"""Hour at which an evening ends, instead of midnight."""


def finale_of(replay: Replay, evening: Iterable[GameLine]) -> Finale:
    """Return the finale of a game. `evening` has all games of its evening, including this one."""
    line, evening = replay.line, tuple(evening)
    turn = turning_point(replay.leads, line.winners)
    return Finale(
        number=line.number,
        kit=replay.kit,
        turns=replay.turns[-1].counted if replay.turns else 0,
        winners=line.winners,
        names=_names(replay),
        ending_words=replay.game.how_it_ended(replay.end) if replay.outcome() else line.reason,
        turning_point=_turning_point(replay, turn, line.winners[0]) if turn else None,
        has_valid_receipts=not replay.trouble,
        evening_score=score_of(line, evening),
        coached=coached_in(line, evening),
    )


def turning_point(leads: Sequence[float], winners: Sequence[Seat]) -> int | None:
    """Return the turn after which the winner kept the lead, if the other side had led before.

    Return None if there is no single winner, or if the lead did not change hands before the end.

    >>> turning_point((0, 1, -2, 0, 3, 4), (Seat.SOUTH,)), turning_point((0, 2, 1), (Seat.NORTH,))
    (4, None)
    >>> turning_point((0, -1, -1, -5, -4, -9), (Seat.NORTH,))
    """
    if len(winners) != 1 or not leads:
        return None
    # leads are South's, so North leads where they are negative
    sign = 1 if winners[0] is Seat.SOUTH else -1
    since = len(leads)
    while since and leads[since - 1] * sign > 0:
        since -= 1
    has_turned = 0 < since < len(leads) - 1 and any(lead * sign < 0 for lead in leads[:since])
    return since if has_turned else None


def turns_to_review(leads: Sequence[float], winners: Sequence[Seat]) -> tuple[int, ...]:
    """Return the turns that are worth a review, in ascending order.

    They are the turning point, and the turn in which each seat lost most.

    >>> turns_to_review((0, 1, -2, 0, 3, 4), (Seat.SOUTH,))
    (2, 4)
    """
    if len(leads) < 2:
        return ()
    swings = [after - before for before, after in itertools.pairwise(leads)]
    # South lost most in the lowest swing below 0, North in the highest above 0
    worst_swings = (min(0, *swings), max(0, *swings))
    numbers = {swings.index(worst) + 1 for worst in worst_swings if worst}
    return tuple(sorted(numbers | ({turn} if (turn := turning_point(leads, winners)) else set())))


def evening_of(at: float) -> date:
    """Return the local date of the evening of a Unix time. The hours before 5 belong to the day
    before.
    """
    return (datetime.fromtimestamp(at, UTC).astimezone() - timedelta(hours=_MORNING_H)).date()


def score_of(line: GameLine, evening: Iterable[GameLine]) -> Mapping[Seat, float] | None:
    """Return each player's wins against the other in an evening, in all games and on either side.

    A draw counts half a game for each. Return None if a player has no name, or both have the same.
    """
    pair = _player_names(line)
    if pair is None:
        return None
    wins: Counter[str] = Counter()
    for other, sides in _counted_games(pair, evening):
        if other.ending is Ending.WON:
            # counted in halves, so that a draw gives one to each
            wins.update({sides[winner]: 2 for winner in other.winners})
        elif other.ending is Ending.TIE:
            wins.update(sides.values())
    return {seat: wins[name] / 2 for seat, name in pair.items()}


def coached_in(line: GameLine, evening: Iterable[GameLine]) -> tuple[Seat, ...]:
    """Return the seats whose players asked the coach in any game of the score."""
    pair = _player_names(line) or {}
    names = {
        sides[seat] for other, sides in _counted_games(pair, evening) for seat in other.coached
    }
    return tuple(seat for seat in SEATS if seat in line.coached or pair.get(seat) in names)


def _counted_games(
    pair: Mapping[Seat, str], evening: Iterable[GameLine]
) -> Iterator[tuple[GameLine, Mapping[Seat, str]]]:
    """Yield the games of the score with each seat's player: those of the same two people, on
    whichever sides they sat.
    """
    for other in evening:
        sides = _player_names(other)
        if sides and {*sides.values()} == {*pair.values()} and not other.is_imported:
            yield other, sides


def _player_names(line: GameLine) -> dict[Seat, str] | None:
    """Return the folded names of the last players, or None unless both are known and different."""
    names = {seat: sitters[-1].name.casefold() for seat, sitters in line.players.items() if sitters}
    are_distinct = len(set(names.values()) - {"", NOBODY}) == len(SEATS)
    return names if are_distinct else None


def _names(replay: Replay) -> dict[Seat, str]:
    last = {seat: sitters[-1].name for seat, sitters in replay.line.players.items() if sitters}
    sides = replay.game.sides
    return {
        seat: Verbatim(last[seat]) if last.get(seat) else say("{side!c}", side=sides[seat].name)
        for seat in SEATS
    }


def _turning_point(replay: Replay, turn: int, winner: Seat) -> TurningPoint:
    """Return the turn in which the game turned, with its most memorable event.

    Among equals, an action of the winner or a loss of the other side comes first.
    """
    past = replay.turns[turn - 1]
    # the last event is preferred, so sort the winner's actions and the other's losses to the end
    events = sorted(
        past.step.events, key=lambda event: (event.seat is winner) is not event.kind.is_loss
    )
    event = _memorable_event(events)
    return TurningPoint(past.counted, past.last, event.text if event else "")


def _memorable_event(events: Sequence[Event]) -> Event | None:
    """Return the most memorable event of a turn: the end of the game, or the weightiest highlight.

    Among equals the last one counts. Without a highlight, return the last event that is reported.
    """
    if ends := [event for event in events if event.kind in (CommonEvent.WON, CommonEvent.TIE)]:
        return ends[-1]
    weighed = [(event.kind.highlight.weight, event) for event in events if event.kind.highlight]
    if not weighed:
        return next((event for event in reversed(events) if event.kind.look.is_told), None)
    # reversed, because `max` returns the first among equal weights
    return max(reversed(weighed), key=lambda weight_and_event: weight_and_event[0])[1]
