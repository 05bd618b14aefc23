"""The finale of a game: how it ended, its turning point, and the score of the evening.

The last turn of a game may still be undone while its finale is shown. So the finale has only what
everybody at the table may know by then: boards, open cards, reported events and receipts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter

from companion.archive.played_games import NOBODY, Ending, Finale, GameLine, TurningPoint
from companion.archive.replay import Replay
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Seat
from companion.games.base import Event
from companion.games.events import CommonEvent

# Hour of the local time at which an evening ends, instead of midnight.
_EVENING_END_H = 5


def build_finale(replay: Replay, evening: Iterable[GameLine]) -> Finale:
    """Return the finale of the game of a replay.

    `evening` are the lines of all games of the same evening, including this one.
    """
    line = replay.line
    evening = tuple(evening)
    turn = last_lead_change(replay.leads, line.winners)
    return Finale(
        number=line.number,
        kit=replay.kit,
        turns=replay.turns[-1].turn_number if replay.turns else 0,
        winners=line.winners,
        names=_display_names(replay),
        ending_words=replay.game.how_it_ended(replay.final_state)
        if replay.outcome
        else line.reason,
        turning_point=_turning_point(replay, turn, line.winners[0]) if turn else None,
        has_valid_receipts=not replay.trouble,
        evening_score=count_evening_wins(line, evening),
        coached=coached_in_evening(line, evening),
    )


def last_lead_change(leads: Sequence[float], winners: Sequence[Seat]) -> int | None:
    """Return the turn after which the winner kept the lead, if the other side had led before.

    `leads` are South's leads at the start and after each turn, so a turn is also an index in them.
    Return None if there is no single winner, if the other side never led, or if the winner did not
    lead at the end. Return None as well if the winner took the lead only in the last turn: that is
    the end of the game, not a turning point.

    >>> last_lead_change((0, 1, -2, 0, 3, 4), (Seat.SOUTH,))
    4
    >>> last_lead_change((0, 2, 1), (Seat.NORTH,))
    >>> last_lead_change((0, -1, -1, -5, -4, -9), (Seat.NORTH,))
    """
    if len(winners) != 1 or not leads:
        return None
    # North leads where South's lead is negative
    sign = 1 if winners[0] is Seat.SOUTH else -1
    # go back from the end, as far as the winner led
    turn = len(leads)
    while turn and leads[turn - 1] * sign > 0:
        turn -= 1
    was_behind = any(lead * sign < 0 for lead in leads[:turn])
    return turn if was_behind and turn < len(leads) - 1 else None


def turns_to_review(leads: Sequence[float], winners: Sequence[Seat]) -> tuple[int, ...]:
    """Return the turns that are worth a review, in ascending order.

    They are the turning point, and for each seat the turn in which its lead fell most.

    >>> turns_to_review((0, 1, -2, 0, 3, 4), (Seat.SOUTH,))
    (2, 4)
    """
    if len(leads) < 2:
        return ()
    swings = [after - before for before, after in itertools.pairwise(leads)]
    # South lost most in the lowest swing below 0, North in the highest above 0
    worst_swings = (min(0, *swings), max(0, *swings))
    turns = {swings.index(worst) + 1 for worst in worst_swings if worst}
    if turn := last_lead_change(leads, winners):
        turns.add(turn)
    return tuple(sorted(turns))


def evening_of(time_s: float) -> date:
    """Return the local date of the evening to which a Unix time belongs.

    The hours before 5 o'clock belong to the evening of the day before.
    """
    local_time = datetime.fromtimestamp(time_s, UTC).astimezone()
    return (local_time - timedelta(hours=_EVENING_END_H)).date()


def count_evening_wins(line: GameLine, evening: Iterable[GameLine]) -> Mapping[Seat, float] | None:
    """Return how often each player has beaten the other in an evening, by the seats of this game.

    All games between the two count, whoever sat where. A draw counts as half a win for each. Return
    None if a player has no name or was forgotten, or if both have the same name.
    """
    players = _player_names(line)
    if players is None:
        return None
    # counted in halves, so that a draw gives one to each
    halves: Counter[str] = Counter()
    for game, game_players in _games_between(players, evening):
        if game.ending is Ending.WON:
            halves.update({game_players[winner]: 2 for winner in game.winners})
        elif game.ending is Ending.TIE:
            halves.update(game_players.values())
    return {seat: halves[name] / 2 for seat, name in players.items()}


def coached_in_evening(line: GameLine, evening: Iterable[GameLine]) -> tuple[Seat, ...]:
    """Return the seats whose players asked the coach in any game of theirs of this evening."""
    players = _player_names(line) or {}
    coached_names = {
        game_players[seat]
        for game, game_players in _games_between(players, evening)
        for seat in game.coached
    }
    return tuple(
        seat for seat in SEATS if seat in line.coached or players.get(seat) in coached_names
    )


def _games_between(
    players: Mapping[Seat, str], evening: Iterable[GameLine]
) -> Iterator[tuple[GameLine, Mapping[Seat, str]]]:
    """Yield the games between the same two people that were played here, with the names by seat.

    It does not matter who sat where. Games without a result are included.
    """
    for game in evening:
        game_players = _player_names(game)
        if not game_players or game.is_imported:
            continue
        if {*game_players.values()} == {*players.values()}:
            yield game, game_players


def _player_names(line: GameLine) -> dict[Seat, str] | None:
    """Return the last players' names without regard to case, by seat.

    None unless both are known and different.
    """
    names = {seat: player.name.casefold() for seat, player in line.last_players.items()}
    are_distinct = len(set(names.values()) - {"", NOBODY}) == len(SEATS)
    return names if are_distinct else None


def _display_names(replay: Replay) -> dict[Seat, str]:
    """Return how each seat is called: by its last player's name, or else by its side."""
    names = {seat: say("{side!c}", side=replay.game.sides[seat].name) for seat in SEATS}
    for seat, player in replay.line.last_players.items():
        if player.name:
            names[seat] = Verbatim(player.name)
    return names


def _turning_point(replay: Replay, turn: int, winner: Seat) -> TurningPoint:
    """Return the turn in which the game turned, with its most memorable event.

    Among equally memorable events, take an action of the winner or a loss of the other side.
    """
    past = replay.turns[turn - 1]

    def is_for_winner(event: Event) -> bool:
        # either an action of the winner or a loss of the other side
        return (event.seat is winner) is not event.kind.is_loss

    # `False` sorts before `True`, so the events that are for the winner come last. Among equals,
    # `_memorable_event` prefers the last one.
    event = _memorable_event(sorted(past.step.events, key=is_for_winner))
    return TurningPoint(past.turn_number, past.last_scene, event.text if event else "")


def _memorable_event(events: Sequence[Event]) -> Event | None:
    """Return the most memorable event of a turn: the end of the game, or the weightiest highlight.

    Among equals the last one counts. Without a highlight, return the last event that is reported.
    """
    if ends := [event for event in events if event.kind in (CommonEvent.WON, CommonEvent.TIE)]:
        return ends[-1]
    # newest first, because `max` returns the first among equal weights
    weighted = [
        (event.kind.highlight.weight, event) for event in reversed(events) if event.kind.highlight
    ]
    if not weighted:
        return next((event for event in reversed(events) if event.kind.look.is_told), None)
    _, most_memorable = max(weighted, key=itemgetter(0))
    return most_memorable
