"""What a director does about a tournament, and what tables report: each answers what it is then, or
raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.i18n import Verbatim, say
from companion.games import game_named
from companion.league.pairing import by_strength, next_matches
from companion.league.people import MAX_TITLE, plain_title
from companion.league.results import KeptResult, is_same_game
from companion.league.tournament import (
    BoardEnd,
    Entrant,
    MatchBoard,
    Place,
    Round,
    System,
    Tournament,
)

MAX_ENTRANTS, MOST_ROUNDS, MOST_MINUTES, MOST_BOARDS = 500, 30, 600, 6
BEFORE_S = 5.0
"""A game that began so little before its round was paired may still be the round's: times of
messages are rough."""
T = TypeVar("T")


def new_tournament(
    number: int,
    name: str,
    system: System,
    game: str,
    options: dict[str, Any],
    *,
    rounds: int,
    minutes: int,
    team_size: int,
) -> Tournament:
    """Make a tournament without anybody. Raises `Malformed`."""
    title = plain_title(name)
    if not title:
        raise Malformed(
            say("Give the tournament a name of at most {number} characters", number=MAX_TITLE)
        )
    # raises what is wrong with the options before anything is made
    game_named(game).options(options)
    for amount, most, what in (
        (rounds, MOST_ROUNDS, say("rounds")),
        (team_size, MOST_BOARDS, say("boards")),
    ):
        if not 1 <= amount <= most:
            raise Malformed(say("There can be 1 to {most} {what}", most=most, what=what))
    if not 0 <= minutes <= MOST_MINUTES:
        raise Malformed(say("A round can have 0 to {most} minutes", most=MOST_MINUTES))
    return Tournament(number, title, system, game, options, rounds, minutes, team_size)


def enter(
    tournament: Tournament, people: Sequence[int], rating: float, team: str = ""
) -> Tournament:
    """Enter somebody, or a team, from the next round on.

    Raises `Illegal`, `Malformed`.
    """
    _require_on(tournament)
    if tournament.rounds and tournament.system is not System.SWISS:
        raise Illegal(
            Refusal.TOO_LATE,
            say("Everybody’s opponents have been drawn: nobody can enter any more"),
        )
    if len(people) != tournament.team_size or len(set(people)) != len(people):
        raise Malformed(
            say("Each entry needs {number} different people", number=tournament.team_size)
        )
    if len(tournament.entrants) >= MAX_ENTRANTS:
        raise Illegal(
            Refusal.TOO_LATE,
            say("There are {number} entries, and no more can be taken", number=MAX_ENTRANTS),
        )
    title = plain_title(team)
    if team.strip() and not title:
        raise Malformed(
            say("Give the team a name of at most {number} characters", number=MAX_TITLE)
        )
    for person in people:
        former = tournament.entrant_of(person)
        if former is not None and former.people == tuple(people) and former.until:
            return _with_entrant(tournament, replace(former, until=0))  # comes back
        if former is not None:
            raise Illegal(
                Refusal.SEAT_TAKEN, say("Player {number} has entered already", number=people[0])
            )
    number = max((other.number for other in tournament.entrants), default=0) + 1
    entrant = Entrant(number, tuple(people), title, rating, since=len(tournament.rounds) + 1)
    return replace(tournament, entrants=(*tournament.entrants, entrant))


def withdraw(tournament: Tournament, number: int) -> Tournament:
    """Withdraw an entrant, who plays no further round. Before the first one it was never there."""
    _require_on(tournament)
    entrant = tournament.entrant(number)
    if not tournament.rounds or entrant.since > len(tournament.rounds):
        others = tuple(other for other in tournament.entrants if other.number != number)
        return replace(tournament, entrants=others)
    return _with_entrant(tournament, replace(entrant, until=len(tournament.rounds)))


def rest(tournament: Tournament, number: int, is_resting: bool) -> Tournament:
    """Note whether an entrant wants a bye of half a point in the next round."""
    _require_on(tournament)
    if tournament.system is not System.SWISS:
        raise Illegal(
            Refusal.WRONG_PHASE, say("Only in the Swiss system can somebody rest for a round")
        )
    entrant, due = tournament.entrant(number), len(tournament.rounds) + 1
    rests = {*entrant.rests, due} if is_resting else {*entrant.rests} - {due}
    return _with_entrant(tournament, replace(entrant, rests=tuple(sorted(rests))))


def pair_round(tournament: Tournament, now_s: float) -> Tournament:
    """Pair the next round. Raises `Illegal` while the one before has open boards."""
    _require_on(tournament)
    _require_decided(tournament)
    number = len(tournament.rounds) + 1
    if tournament.system is System.SWISS and number > tournament.rounds_wanted:
        raise Illegal(Refusal.WRONG_PHASE, say("All rounds have been played: end the tournament"))
    present = [entrant for entrant in tournament.entrants if entrant.is_there(number)]
    if len(present) < 2:
        raise Illegal(Refusal.SEATS_MISSING, say("At least two entries are needed for a round"))
    # the seeds stay as they were drawn for the first round
    if not tournament.order:
        order = tuple(entrant.number for entrant in by_strength(tournament))
        tournament = replace(tournament, order=order)
    ends_s = now_s + tournament.minutes * 60 if tournament.minutes else 0.0
    paired = Round(number, next_matches(tournament), now_s, ends_s)
    return replace(tournament, rounds=(*tournament.rounds, paired))


def unpair_round(tournament: Tournament) -> Tournament:
    """Take the last pairing back, as long as nobody has played by it."""
    _require_on(tournament)
    if tournament.round is None:
        raise Illegal(Refusal.WRONG_PHASE, say("No round has been paired"))
    if any(match.is_played for match in tournament.round.matches):
        raise Illegal(
            Refusal.TOO_LATE, say("Games of this round have been played: its pairings stay")
        )
    rounds = tournament.rounds[:-1]
    # with no round left the seeds are drawn anew
    return replace(tournament, rounds=rounds, order=tournament.order if rounds else ())


def end(tournament: Tournament) -> Tournament:
    """End the tournament. Raises `Illegal` while boards are open."""
    _require_decided(tournament)
    return replace(tournament, is_over=True)


def decide(tournament: Tournament, place: Place, verdict: BoardEnd | None) -> Tournament:
    """Note how a board ended, as the director says, or that it is open again (None).

    Raises `Illegal`.
    """
    _require_on(tournament)
    board = board_at(tournament, place)
    is_last = place[0] == len(tournament.rounds) - 1
    if verdict is None and not is_last:
        raise Illegal(
            Refusal.TOO_LATE, say("Only boards of the round that is on can be opened again")
        )
    if tournament.system is System.KNOCKOUT and not is_last:
        raise Illegal(
            Refusal.TOO_LATE,
            say("The next round was paired with this result: take that pairing back first"),
        )
    # without a key no game that is taken back can open this board again
    return _with_board(tournament, place, replace(board, verdict=verdict, key=""))


def board_at(tournament: Tournament, place: Place) -> MatchBoard:
    """Return the board of a place. Raises `Illegal` where there is none."""
    number, match, board = place
    try:
        # such a place would count from the end
        if min(place) < 0:
            raise IndexError
        return tournament.rounds[number].matches[match].boards[board]
    except IndexError:
        raise Illegal(Refusal.WRONG_PHASE, say("There is no such board")) from None


# ---- tables --------------------------------------------------------------------------------------


def open_boards(tournament: Tournament) -> Iterator[tuple[Place, MatchBoard]]:
    """Yield the boards of the round that is on that have not ended, in their order."""
    for place, board in _current_boards(tournament):
        if board.verdict is None:
            yield place, board


def _current_boards(tournament: Tournament) -> Iterator[tuple[Place, MatchBoard]]:
    if tournament.round is None or tournament.is_over:
        return
    for match_at, match in enumerate(tournament.round.matches):
        for board_at_, board in enumerate(match.boards):
            yield (len(tournament.rounds) - 1, match_at, board_at_), board


def seat(tournament: Tournament, free: Iterable[str]) -> Tournament:
    """Give open boards without a table those that are free, in their order."""
    waiting = [(place, board) for place, board in open_boards(tournament) if not board.table]
    for (place, board), table in zip(waiting, free, strict=False):
        tournament = _with_board(tournament, place, replace(board, table=table))
    return tournament


def move(tournament: Tournament, place: Place, table: str) -> Tournament:
    """Give a board another table (empty: none).

    Raises `Illegal` where it is taken.
    """
    _require_on(tournament)
    board = board_at(tournament, place)
    if table and table in open_tables(tournament):
        raise Illegal(Refusal.SEAT_TAKEN, say("That table has another board of this round"))
    return _with_board(tournament, place, replace(board, table=table))


def open_tables(tournament: Tournament) -> dict[str, Place]:
    """Return the tables that have an open board of the round that is on."""
    return {board.table: place for place, board in open_boards(tournament) if board.table}


def report(tournament: Tournament, kept: KeptResult) -> tuple[Tournament, Place]:
    """Take the result of the board that was paired at its table.

    Raises `Illegal` where it does not fit.

    Whoever has shown no card is taken for whom the table was paired for. Two who have changed sides
    play as they sit.
    """
    result = kept.result
    place = open_tables(tournament).get(result.table)
    current = tournament.round
    if place is None or current is None:
        raise Illegal(Refusal.WRONG_PHASE, say("No open board of the round is at this table"))
    board = board_at(tournament, place)
    if result.at is not None:
        raise Illegal(Refusal.WRONG_PHASE, say("It was played between two tables"))
    if result.game != tournament.game or not is_same_game(
        result.game, result.options, tournament.options
    ):
        raise Illegal(
            Refusal.WRONG_PHASE,
            say("It was played with another game or other options than the round’s"),
        )
    if result.began_s < current.begun_s - BEFORE_S:
        raise Illegal(Refusal.TOO_LATE, say("That game began before the round"))
    south = _who(kept.south, kept.north, board.south, board.north)
    north = _who(kept.north, kept.south, board.north, board.south)
    # as sets: the two may have changed sides
    if {south, north} != {board.south, board.north}:
        raise Illegal(Refusal.NOT_YOUR_SEAT, say("Somebody else sat there than was paired"))
    verdict = BoardEnd.DRAW if result.winner is None else BoardEnd(result.winner)
    is_single_knockout = tournament.system is System.KNOCKOUT and tournament.team_size == 1
    if is_single_knockout and verdict is BoardEnd.DRAW:
        raise Illegal(Refusal.WRONG_PHASE, say("A draw decides nothing here: play once more"))
    played = MatchBoard(south, north, result.table, verdict, result.key)
    return _with_board(tournament, place, played), place


def take_back(tournament: Tournament, key: str, table: str) -> Tournament | None:
    """Return the game that decided a board of the round that is on goes on: it is open again.

    None: it decided none.
    """
    for place, board in _current_boards(tournament):
        if key and (board.key, board.table) == (key, table):
            return _with_board(tournament, place, replace(board, verdict=None, key=""))
    return None


def _who(shown: int | None, across: int | None, paired: int, other: int) -> int:
    """Return who sat at a seat: by the card, else whoever is left, else whom the table was paired
    for."""
    if shown is not None:
        return shown
    if across is not None and across == paired:
        return other
    return paired


# ---- inside --------------------------------------------------------------------------------------


def _require_on(tournament: Tournament) -> None:
    if tournament.is_over:
        raise Illegal(Refusal.GAME_OVER, say("{name} is over", name=Verbatim(tournament.name)))


def _require_decided(tournament: Tournament) -> None:
    if tournament.round is not None and not tournament.round.is_decided:
        raise Illegal(
            Refusal.WRONG_PHASE,
            say("Boards of this round are still open: enter their results first"),
        )


def _with_entrant(tournament: Tournament, entrant: Entrant) -> Tournament:
    entrants = tuple(
        entrant if other.number == entrant.number else other for other in tournament.entrants
    )
    return replace(tournament, entrants=entrants)


def _with_board(tournament: Tournament, place: Place, board: MatchBoard) -> Tournament:
    round_at, match_at, board_at_ = place
    round_ = tournament.rounds[round_at]
    match = round_.matches[match_at]
    match = replace(match, boards=_with_item(match.boards, board_at_, board))
    round_ = replace(round_, matches=_with_item(round_.matches, match_at, match))
    return replace(tournament, rounds=_with_item(tournament.rounds, round_at, round_))


def _with_item(items: Sequence[T], place: int, item: T) -> tuple[T, ...]:
    changed = list(items)
    changed[place] = item
    return tuple(changed)
