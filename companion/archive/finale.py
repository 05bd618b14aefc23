"""The end of a game for those who were there: where it turned, what each side did best, the score of the evening.

All of it is worked out of what everybody at the table may know the moment a game is over, because the last turn may
still be taken back: boards, open cards, events that were told, and receipts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from companion.archive.played_games import NOBODY, Ending, Finale, GameLine, Still
from companion.archive.retelling import Retelling
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.games.base import Event
from companion.games.events import CommonEvent, EventKind

_MORNING_H = 5
"""An evening ends at this hour, not at midnight."""
_MAX_COUNTS = 3
_CAME_TO_NOTHING = frozenset({CommonEvent.IDLE, CommonEvent.MISS, CommonEvent.BOUNCE})


def finale_of(told: Retelling, evening: Iterable[GameLine]) -> Finale:
    """Return the end of a game. `evening` are the games of its evening, itself among them."""
    line, turns, evening = told.line, len(told.turns), tuple(evening)
    counted = told.turns[-1].counted if turns else 0
    turn = turning_point(told.leads, line.winners)
    turning = _turned(told, turn, line.winners[0]) if turn else None
    can_tell = [number for number in range(1, turns + 1) if _memorable(told.events_of(number))]
    framed = turn or max(can_tell, default=turns)
    return Finale(
        number=line.number,
        kit=told.kit,
        turns=counted,
        winners=line.winners,
        names=_names(told),
        headline=_headline(told),
        counts=_counts(told),
        stills=tuple(
            turning if turning and number == turn else _still(told, number) for number in _shown(framed, can_tell)
        ),
        turning=turning,
        best={seat: _still(told, best, _deeds(told, best, seat)) for seat in SEATS if (best := _best(told, seat))},
        proofs=told.proofs,
        fits=not told.trouble,
        evening=score_of(line, evening),
        has_replay=line.has_replay,
        coached=coached_in(line, evening),
    )


def turning_point(leads: Sequence[float], winners: Sequence[Seat]) -> int | None:
    """Return the turn after which the winner led to the end.

    None: nobody has won alone, or the winner did not lead.

    Where the winner never was behind, it is the turn but the last by which the lead grew most.

    >>> turning_point((0, 1, -2, 0, 3, 4), (Seat.SOUTH,)), turning_point((0, 2, 1), (Seat.NORTH,))
    (4, None)
    >>> turning_point((0, -1, -1, -5, -4, -9), (Seat.NORTH,))
    3
    """
    if len(winners) != 1 or not leads:
        return None
    sign = 1 if winners[0] is Seat.SOUTH else -1
    since = len(leads)
    while since and leads[since - 1] * sign > 0:
        since -= 1
    if not 0 < since < len(leads):
        return None
    if any(lead * sign < 0 for lead in leads[:since]):
        return since
    return max(range(since, len(leads) - 1), key=lambda turn: (leads[turn] - leads[turn - 1]) * sign, default=since)


def turns_to_review(leads: Sequence[float], winners: Sequence[Seat]) -> tuple[int, ...]:
    """Return the turns after which it is worth asking what would have been better, in their order.

    They are the turning point, and the turn in which each seat lost most.

    >>> turns_to_review((0, 1, -2, 0, 3, 4), (Seat.SOUTH,))
    (2, 4)
    """
    if len(leads) < 2:
        return ()
    swings = [after - before for before, after in itertools.pairwise(leads)]
    found = {swings.index(worst) + 1 for worst in (min(swings), max(swings)) if worst}
    return tuple(sorted(found | ({turn} if (turn := turning_point(leads, winners)) else set())))


def best_turn(leads: Sequence[float], seat: Seat, turns: Iterable[int]) -> int | None:
    """Return the first of some turns after which a seat led most, or was least behind.

    None: there are none.

    >>> best_turn((0, -1, 2, 2, -3), Seat.SOUTH, range(1, 4)), best_turn((0, 1), Seat.NORTH, ())
    (2, None)
    """
    sign = 1 if seat is Seat.SOUTH else -1
    return max(turns, key=lambda turn: leads[turn] * sign, default=None)


def _best(told: Retelling, seat: Seat) -> int | None:
    """Return the best turn but the last in which a seat did what people remember, else by which it
    got ahead."""
    leads, sign = told.leads, 1 if seat is Seat.SOUTH else -1
    if not leads:
        return None
    own = {turn: _deeds(told, turn, seat) for turn in range(1, len(told.turns))}
    deeds = [turn for turn, events in own.items() if any(event.kind.highlight for event in events)]
    gains = [turn for turn, events in own.items() if events and sign * (leads[turn] - leads[turn - 1]) > 0]
    return best_turn(leads, seat, deeds or gains)


def _deeds(told: Retelling, turn: int, seat: Seat) -> list[Event]:
    """Return what a seat did in a turn, without what came to nothing and what it lost."""
    own = [event for event in told.events_of(turn) if event.seat is seat and not event.kind.is_loss]
    return [event for event in own if event.kind not in _CAME_TO_NOTHING]


def evening_of(at: float) -> date:
    """Return the day to which somebody who is still up counts a time (Unix time)."""
    return (datetime.fromtimestamp(at, UTC).astimezone() - timedelta(hours=_MORNING_H)).date()


def score_of(line: GameLine, evening: Iterable[GameLine]) -> Mapping[Seat, int] | None:
    """Return how many games of an evening each of the two has won against the other, whatever the
    game and the side.

    None: one of them has no name, or both have the same.
    """
    pair = _pair(line)
    if pair is None:
        return None
    wins: Counter[str] = Counter()
    for other in evening:
        sides = _pair(other)
        if sides and {*sides.values()} == {*pair.values()} and other.ending is Ending.WON and not other.is_imported:
            wins.update(sides[winner] for winner in other.winners)
    return {seat: wins[name] for seat, name in pair.items()}


def coached_in(line: GameLine, evening: Iterable[GameLine]) -> tuple[Seat, ...]:
    """Return the seats whose players asked the coach in this game, or in one of the evening's that
    counts in its score."""
    pair = _pair(line) or {}
    names = {
        sides[seat]
        for other in evening
        if (sides := _pair(other)) and {*sides.values()} == {*pair.values()}
        for seat in other.coached
    }
    return tuple(seat for seat in SEATS if seat in line.coached or pair.get(seat) in names)


def _pair(line: GameLine) -> dict[Seat, str] | None:
    """Return the names of both who sat there last, as they are told apart."""
    names = {seat: sitters[-1].name.casefold() for seat, sitters in line.players.items() if sitters}
    told_apart = len(set(names.values()) - {"", NOBODY}) == len(SEATS)
    return names if told_apart else None


def _names(told: Retelling) -> dict[Seat, str]:
    last = {seat: sitters[-1].name for seat, sitters in told.line.players.items() if sitters}
    sides = told.game.sides
    return {seat: Verbatim(last[seat]) if last.get(seat) else say("{side!c}", side=sides[seat].name) for seat in SEATS}


def _headline(told: Retelling) -> str:
    winners = told.line.winners
    if len(winners) != 1:
        return say("Nobody wins.")
    name = _names(told)[winners[0]]
    return told.game.triumph(name, told.end) if told.outcome() else say("{name} wins.", name=name)


def _counts(told: Retelling) -> tuple[str, ...]:
    """Return how often the things happened that people remember, those that weigh most first."""
    counted: Counter[EventKind] = Counter(each.event.kind for each in told.highlights)
    kinds = sorted((kind.highlight.weight, kind) for kind in counted if kind.highlight)
    weighty = [kind for _, kind in reversed(kinds)][:_MAX_COUNTS]
    return tuple(kind.highlight.counted(counted[kind]) for kind in weighty if kind.highlight)


def _shown(turn: int, turns: Iterable[int]) -> tuple[int, ...]:
    """Return the three turns of the tableau, of those that can be told: before the framed one,
    this, and the last.

    Fewer in a short game. `turn` is 0 where none was played.

    >>> _shown(4, (1, 2, 4, 9)), _shown(9, (7, 8, 9)), _shown(1, (1, 3, 5)), _shown(1, (1,)), _shown(0, ())
    ((2, 4, 9), (7, 8, 9), (1, 3, 5), (1,), ())
    """
    told = sorted({*turns, turn} - {0})
    before, after = [each for each in told if each < turn], [each for each in told if each > turn]
    if not after:
        return tuple(told[-3:])
    return tuple(sorted({*(before[-1:] or after[:1]), turn, after[-1]}))


def _turned(told: Retelling, turn: int, winner: Seat) -> Still:
    """Return the turn in which the game turned.

    Of things remembered alike, what the winner did or the other side lost.
    """
    events = told.events_of(turn)
    return _still(told, turn, sorted(events, key=lambda event: (event.seat is winner) is not event.kind.is_loss))


def _still(told: Retelling, turn: int, events: Sequence[Event] = ()) -> Still:
    """Return a turn when what people remember of it (or of some of its events) happened.

    Hidden hands stay so.
    """
    past = told.turns[turn - 1]
    events = events or told.events_of(turn)
    event = _memorable(events)
    scenes = [told.scene(place) for place in range(past.first, past.last + 1)]
    scene = next((each for each in scenes if event in each.events), scenes[-1])
    squares = [each.to or each.square for each in (event, *reversed(events)) if each]
    ways = [str(target) for _, target in scene.moves]
    return Still(
        replace(scene, hands={}, facts={}),
        past.counted,
        told.photograph(turn),
        event.text if event else "",
        next(filter(None, [*squares[:1], *ways[-1:], *squares]), ""),
    )


def _memorable(events: Sequence[Event]) -> Event | None:
    """Return the last of what people remember most of a turn, above all how it ended.

    Else the last thing that is told.
    """
    if ends := [event for event in events if event.kind in (CommonEvent.WON, CommonEvent.TIE)]:
        return ends[-1]
    weighed = [(event.kind.highlight.weight, event) for event in events if event.kind.highlight]
    if not weighed:
        return next((event for event in reversed(events) if event.kind.look.is_told), None)
    return max(reversed(weighed), key=lambda each: each[0])[1]
