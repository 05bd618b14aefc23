"""Tournament rules: what a director may change, and how results of tables are entered.

The director runs the tournament: enters people, pairs rounds, and decides boards by hand. Each
function that changes something gets a tournament and returns the changed one, or raises `Illegal`
or `Malformed`. `TournamentStore` stores what they return.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from companion.core.errors import Illegal, Malformed, Refusal, does_not_exist, wrong_phase
from companion.core.i18n import Verbatim, say, sentence_to_json
from companion.core.names import is_printable, normalise_name
from companion.games import game_named
from companion.league.pairing import entrants_by_rating, next_matches
from companion.league.results import GameResult, StoredResult, has_same_options
from companion.league.tournament import (
    BoardPlace,
    BoardVerdict,
    Entrant,
    MatchBoard,
    PairingSystem,
    Round,
    Tournament,
)

# Maximum length of a tournament's name, in characters.
MAX_NAME_LENGTH = 48
# Maximum number of entrants. The costs of a Swiss pairing are made for 500 (see
# `companion.league.pairing`).
MAX_ENTRANTS = 500
# Maximum number of rounds.
MAX_ROUNDS = 30
# Maximum number of minutes for a round.
MAX_MINUTES = 600
# Time in seconds by which a game may have begun before its round was paired. Some tolerance is
# needed, because times in messages are approximate.
EARLY_START_S = 5.0

T = TypeVar("T")


def new_tournament(
    name: str,
    system: PairingSystem,
    game: str,
    options: Mapping[str, Any],
    *,
    rounds: int,
    minutes: int,
) -> Tournament:
    """Create a tournament without entrants and without a number.

    Raises `Malformed` for a bad name, option or number of rounds or minutes.
    """
    plain = normalise_name(" ".join(name.split()))
    if not plain or len(plain) > MAX_NAME_LENGTH or not is_printable(plain):
        raise Malformed(
            say("Give the tournament a name of at most {number} characters", number=MAX_NAME_LENGTH)
        )
    # raises before anything is created if an option is invalid
    game_named(game).options(options)
    if not 1 <= rounds <= MAX_ROUNDS:
        raise Malformed(say("There can be 1 to {most} rounds", most=MAX_ROUNDS))
    if not 0 <= minutes <= MAX_MINUTES:
        raise Malformed(say("A round can have 0 to {most} minutes", most=MAX_MINUTES))
    return Tournament(0, plain, system, game, options, rounds, minutes)


def enter(tournament: Tournament, person: int, rating: float) -> Tournament:
    """Enter a person, starting with the next round. An entrant that has withdrawn is reinstated.

    Raises `Illegal` if entries are closed, if the tournament is full, or if the person has entered
    already.
    """
    former = tournament.entrant_of(person)
    if former is None:
        require_open_to_newcomers(tournament)
        number = max((other.number for other in tournament.entrants), default=0) + 1
        entrant = Entrant(number, (person,), rating=rating, first_round=len(tournament.rounds) + 1)
        return replace(tournament, entrants=(*tournament.entrants, entrant))
    _require_open_entries(tournament)
    if not former.last_round:
        raise Illegal(Refusal.SEAT_TAKEN, say("Player {number} has entered already", number=person))
    return _with_entrant(tournament, replace(former, last_round=0))


def require_open_to_newcomers(tournament: Tournament) -> None:
    """Raise `Illegal` if nobody may enter who has not been in the tournament before."""
    _require_open_entries(tournament)
    # earlier versions had teams, and a single person cannot meet one
    if any(len(entrant.people) > 1 for entrant in tournament.entrants):
        raise Illegal(
            Refusal.TOO_LATE, say("This tournament is played in teams: nobody can enter any more")
        )


def _require_open_entries(tournament: Tournament) -> None:
    """Raise `Illegal` if entries are closed or the tournament is full."""
    _require_running(tournament)
    if tournament.rounds and tournament.system is not PairingSystem.SWISS:
        raise Illegal(
            Refusal.TOO_LATE,
            say("Everybody’s opponents have been drawn: nobody can enter any more"),
        )
    if len(tournament.entrants) >= MAX_ENTRANTS:
        raise Illegal(
            Refusal.TOO_LATE,
            say("There are {number} entries, and no more can be taken", number=MAX_ENTRANTS),
        )


def withdraw(tournament: Tournament, entrant_number: int) -> Tournament:
    """Withdraw an entrant from all further rounds.

    An entrant that was in no round is removed. If the entrant has withdrawn already, nothing
    changes.
    """
    _require_running(tournament)
    entrant = tournament.entrant(entrant_number)
    if entrant.last_round:
        return tournament
    if entrant.first_round > len(tournament.rounds):
        others = tuple(other for other in tournament.entrants if other.number != entrant_number)
        return replace(tournament, entrants=others)
    return _with_entrant(tournament, replace(entrant, last_round=len(tournament.rounds)))


def pair_round(tournament: Tournament, now_s: float) -> Tournament:
    """Pair the next round.

    Raises `Illegal` while the previous round has open boards, if no further round can be played, or
    if fewer than two entrants are present. Raises `SystemTrouble` as `next_matches` does.
    """
    _require_running(tournament)
    _require_decided(tournament)
    round_number = len(tournament.rounds) + 1
    if tournament.system is PairingSystem.SWISS and round_number > tournament.rounds_wanted:
        raise wrong_phase(say("All rounds have been played: end the tournament"))
    present = [entrant for entrant in tournament.entrants if entrant.plays_in(round_number)]
    if len(present) < 2:
        raise Illegal(Refusal.SEATS_MISSING, say("At least two entries are needed for a round"))
    # the seeding of the first round applies to the whole tournament
    if not tournament.order:
        order = tuple(entrant.number for entrant in entrants_by_rating(tournament))
        tournament = replace(tournament, order=order)
    ends_s = now_s + tournament.minutes * 60 if tournament.minutes else 0.0
    paired = Round(round_number, next_matches(tournament), now_s, ends_s)
    return replace(tournament, rounds=(*tournament.rounds, paired))


def unpair_round(tournament: Tournament) -> Tournament:
    """Remove the last pairing, so that the next one is as if it had never been.

    Whoever has entered since that pairing will be paired, too, and whoever has withdrawn since then
    will not. Raises `Illegal` if there is no round, or if a game of it has been played.
    """
    _require_running(tournament)
    if tournament.round is None:
        raise wrong_phase(say("No round has been paired"))
    if any(match.is_played for match in tournament.round.matches):
        raise Illegal(
            Refusal.TOO_LATE, say("Games of this round have been played: its pairings stay")
        )
    rounds = tournament.rounds[:-1]
    last = len(rounds)
    entrants = tuple(
        # an entrant who has entered since the pairing plays from this round on, and one who has
        # withdrawn since then played up to `last`
        replace(
            entrant,
            first_round=min(entrant.first_round, last + 1),
            last_round=min(entrant.last_round, last),
        )
        for entrant in tournament.entrants
        # an entrant who has withdrawn and was in no earlier round is removed
        if not entrant.last_round or entrant.first_round <= last
    )
    # without any round left, the next pairing seeds again
    order = tournament.order if rounds else ()
    return replace(tournament, rounds=rounds, order=order, entrants=entrants)


def end(tournament: Tournament) -> Tournament:
    """End the tournament. Raises `Illegal` while boards are open."""
    _require_decided(tournament)
    return replace(tournament, is_over=True)


def set_verdict(
    tournament: Tournament, place: BoardPlace, verdict: BoardVerdict | None
) -> Tournament:
    """Set the director's verdict for a board, or reopen the board with None.

    Only a board of the last round can be reopened. In a knock-out, only a board of the last round
    can get a verdict, because the next round depends on it. Raises `Illegal` for any other board.
    """
    _require_running(tournament)
    board = board_at(tournament, place)
    is_last = place.round_index == len(tournament.rounds) - 1
    if verdict is None and not is_last:
        raise Illegal(
            Refusal.TOO_LATE, say("Only boards of the round that is on can be opened again")
        )
    if tournament.system is PairingSystem.KNOCKOUT and not is_last:
        raise Illegal(
            Refusal.TOO_LATE,
            say("The next round was paired with this result: take that pairing back first"),
        )
    # the key is removed, so that the undoing of a game can no longer reopen this board
    return _with_board(tournament, place, replace(board, verdict=verdict, key="", refused=""))


def board_at(tournament: Tournament, place: BoardPlace) -> MatchBoard:
    """Return the board at a place. Raises `Illegal` if there is none."""
    try:
        # a negative index would count from the end
        if min(place) < 0:
            raise IndexError
        match = tournament.rounds[place.round_index].matches[place.match_index]
        return match.boards[place.board_index]
    except IndexError:
        raise does_not_exist(say("There is no such board")) from None


# ---- tables --------------------------------------------------------------------------------------


def open_boards(tournament: Tournament) -> Iterator[tuple[BoardPlace, MatchBoard]]:
    """Yield the undecided boards of the current round with their places, in order."""
    for place, board in _current_boards(tournament):
        if board.verdict is None:
            yield place, board


def _current_boards(tournament: Tournament) -> Iterator[tuple[BoardPlace, MatchBoard]]:
    """Yield all boards of the current round with their places, in order."""
    if tournament.round is None or tournament.is_over:
        return
    round_index = len(tournament.rounds) - 1
    for match_index, match in enumerate(tournament.round.matches):
        for board_index, board in enumerate(match.boards):
            yield BoardPlace(round_index, match_index, board_index), board


def assign_tables(tournament: Tournament, free_tables: Iterable[str]) -> Tournament:
    """Assign free tables to the open boards that have no table, both in order."""
    waiting = [(place, board) for place, board in open_boards(tournament) if not board.table]
    for (place, board), table_id in zip(waiting, free_tables, strict=False):
        tournament = _with_board(tournament, place, replace(board, table=table_id, refused=""))
    return tournament


def move_board(tournament: Tournament, place: BoardPlace, table_id: str) -> Tournament:
    """Move a board to another table, or to none if `table_id` is empty.

    Raises `Illegal` if the table already has an open board.
    """
    _require_running(tournament)
    board = board_at(tournament, place)
    if table_id and table_id in open_places_by_table(tournament):
        raise Illegal(Refusal.SEAT_TAKEN, say("That table has another board of this round"))
    return _with_board(tournament, place, replace(board, table=table_id, refused=""))


def open_places_by_table(tournament: Tournament) -> dict[str, BoardPlace]:
    """Return the places of the open boards of the current round that have a table, by table."""
    return {board.table: place for place, board in open_boards(tournament) if board.table}


def enter_result(tournament: Tournament, stored: StoredResult) -> Tournament:
    """Enter a result for the board that was paired at its table.

    A player without a card counts as the person who was paired for that seat. If the two players
    have swapped sides, the sides that they have played count. Raises `Illegal` if the result does
    not fit the board.
    """
    result = stored.result
    place = open_places_by_table(tournament).get(result.table)
    current = tournament.round
    if place is None or current is None:
        raise wrong_phase(say("No open board of the round is at this table"))
    board = board_at(tournament, place)
    _require_game_of_round(tournament, current, result)
    south = _player_at(stored.south, stored.north, paired=board.south, opponent=board.north)
    north = _player_at(stored.north, stored.south, paired=board.north, opponent=board.south)
    # compared as sets, because the two may have swapped sides
    if {south, north} != {board.south, board.north}:
        raise Illegal(Refusal.NOT_YOUR_SEAT, say("Somebody else sat there than was paired"))
    verdict = BoardVerdict.DRAW if result.winner is None else BoardVerdict(result.winner)
    match = current.matches[place.match_index]
    needs_winner = tournament.system is PairingSystem.KNOCKOUT and len(match.boards) == 1
    if needs_winner and verdict is BoardVerdict.DRAW:
        raise wrong_phase(say("A draw decides nothing here: play once more"))
    played = MatchBoard(south, north, result.table, verdict, result.key)
    return _with_board(tournament, place, played)


def _require_game_of_round(tournament: Tournament, current: Round, result: GameResult) -> None:
    """Raise `Illegal` unless the game of a result was one of the current round."""
    if result.own_seat is not None:
        raise wrong_phase(say("It was played between two tables"))
    if result.game != tournament.game or not has_same_options(
        result.game, result.options, tournament.options
    ):
        raise wrong_phase(say("It was played with another game or other options than the round’s"))
    if result.began_s < current.begun_s - EARLY_START_S:
        raise Illegal(Refusal.TOO_LATE, say("That game began before the round"))


def note_refusal(tournament: Tournament, table_id: str, reason: str) -> Tournament:
    """Note at the open board of a table why its last result does not count.

    The table must have an open board.
    """
    place = open_places_by_table(tournament)[table_id]
    # packed, so that it can be shown in every language
    board = replace(board_at(tournament, place), refused=sentence_to_json(reason))
    return _with_board(tournament, place, board)


def reopen_board(tournament: Tournament, key: str, table_id: str) -> Tournament:
    """Reopen the board of the current round that this game decided.

    The key and the table identify the game. Call this if the game's result has been withdrawn, or
    has come again and is about to be entered anew. Return the tournament unchanged if the game has
    decided no board.
    """
    for place, board in _current_boards(tournament):
        if key and (board.key, board.table) == (key, table_id):
            return _with_board(tournament, place, replace(board, verdict=None, key=""))
    return tournament


def _player_at(own_card: int | None, other_card: int | None, *, paired: int, opponent: int) -> int:
    """Return the person who sat at a seat, by the cards shown there and at the other seat.

    Without a card at this seat, it was the person `paired` for the seat. But if that person has
    shown a card at the other seat, the two have swapped sides, and it was the `opponent`.
    """
    if own_card is not None:
        return own_card
    return opponent if other_card == paired else paired


# ---- helpers -------------------------------------------------------------------------------------


def _require_running(tournament: Tournament) -> None:
    if tournament.is_over:
        raise Illegal(Refusal.GAME_OVER, say("{name} is over", name=Verbatim(tournament.name)))


def _require_decided(tournament: Tournament) -> None:
    if tournament.round and not tournament.round.is_decided:
        raise wrong_phase(
            say("Boards of this round are still open: enter their results first"),
        )


def _with_entrant(tournament: Tournament, entrant: Entrant) -> Tournament:
    entrants = tuple(
        entrant if other.number == entrant.number else other for other in tournament.entrants
    )
    return replace(tournament, entrants=entrants)


def _with_board(tournament: Tournament, place: BoardPlace, board: MatchBoard) -> Tournament:
    round_ = tournament.rounds[place.round_index]
    match = round_.matches[place.match_index]
    match = replace(match, boards=_with_item(match.boards, place.board_index, board))
    round_ = replace(round_, matches=_with_item(round_.matches, place.match_index, match))
    return replace(tournament, rounds=_with_item(tournament.rounds, place.round_index, round_))


def _with_item(items: Sequence[T], index: int, item: T) -> tuple[T, ...]:
    """Return the items with another one at an index."""
    return (*items[:index], item, *items[index + 1 :])
