"""Summary of a game: the figures that the list of games and the statistics need.

It is made from the game's inputs in the journal. They are folded, which means that they are applied
one after the other. The result is the game's session, its state at the table.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from companion.archive.game_file import GameFile, PlayedTurn, build_game_file
from companion.core.clock import EARLIEST_UNIX_S
from companion.core.errors import CompanionError
from companion.core.i18n import say, sentence_from_json, sentence_to_json
from companion.core.kit import SEATS, Seat
from companion.storage.journal import Entry
from companion.table.records import BY_RESTART, FreeSeat, MoveSeat, NewGame, Pause, TakeSeat
from companion.table.remote.fold import fold_record
from companion.table.remote.messages import REMOTE
from companion.table.session import MACHINE, Phase, Session

# Maximum time in seconds that a gap between two inputs counts. A longer one is a break.
MAX_GAP_S = 30 * 60.0


class GameSummary(msgspec.Struct, frozen=True):
    """The figures of a game that the list and the statistics use."""

    game: str
    begun: float
    """Unix time at which it began. 0 if unknown."""
    length_s: float
    """Length without breaks, see `game_length_s`. 0 if unknown."""
    players: dict[Seat, tuple[tuple[str, str], ...]]
    """Everybody who sat at a seat, in order: the name, and the door (how they played, such as
    `phone` or `machine`).
    """
    options: dict[str, Any]
    turns: int
    is_over: bool
    """Whether the game has ended and can be read."""
    winners: tuple[Seat, ...] = ()
    reason: Any = ""
    """How it ended, as a sentence that `companion.core.i18n.sentence_to_json` has packed."""
    trouble: Any = ""
    """Why it cannot be read, as such a sentence. Empty if it can."""
    digest: str = ""
    """Digest that identifies a game that is over, see `game_digest`."""
    is_chosen: bool = False
    """Whether the owner chose the seed."""
    coached: tuple[Seat, ...] = ()
    """Seats that asked the coach."""


def game_digest(game: str, turns: Sequence[PlayedTurn]) -> str:
    """Return a digest that identifies a game, over the moments and receipts of its turns.

    No two games have the same receipts, because each is made with random text of its own.
    """
    turn_values = []
    for turn in turns:
        receipts = [[seat, turn.actions[seat].receipt] for seat in SEATS if seat in turn.actions]
        turn_values.append([turn.moment, receipts])
    return hashlib.sha256(msgspec.json.encode([game, turn_values])).hexdigest()


def game_length_s(entries: Sequence[Entry]) -> float:
    """Return the length of a game in seconds: the sum of the gaps between its inputs.

    A gap of more than `MAX_GAP_S` counts as `MAX_GAP_S`. A gap in which the service did not run
    does not count.
    """
    total_s = 0.0
    for before, after in itertools.pairwise(entries):
        was_off = isinstance(after.record, Pause) and after.record.by == BY_RESTART
        if not was_off:
            total_s += min(max(after.now_s - before.now_s, 0.0), MAX_GAP_S)
    return total_s


def collect_players(
    entries: Sequence[Entry], seat_changes: Sequence[Entry]
) -> dict[Seat, tuple[tuple[str, str], ...]]:
    """Return who sat at each seat during a game, in order, each as a name and a door.

    These are the players at its beginning, and all who joined before its last input. `seat_changes`
    are the inputs of the whole journal that changed seats, oldest first.
    """
    players: dict[Seat, list[tuple[str, str]]] = {seat: [] for seat in SEATS}
    first_id = entries[0].id
    last_id = entries[-1].id
    for entry in seat_changes:
        # whoever sits down after the last input has not played this game
        if entry.id >= last_id:
            break
        match entry.record:
            # leaving a seat counts only before the game began
            case FreeSeat(seat=seat) if entry.id < first_id:
                players[seat] = []
            case TakeSeat(seat=seat) as record:
                players[seat].append((record.name.strip(), record.door))
            case MoveSeat(seat=seat) as record if players[seat]:
                last_name, _ = players[seat][-1]
                players[seat].append((record.name or last_name, record.door))
    # the player at the other table is named in the game's own record
    beginning = entries[0].record
    if isinstance(beginning, NewGame) and beginning.remote:
        players[beginning.remote.seat] = [(beginning.remote.name, REMOTE)]
    # each player once, although somebody may have changed doors and back
    return {seat: tuple(dict.fromkeys(sitters)) for seat, sitters in players.items() if sitters}


def summarise_game(
    entries: Sequence[Entry], damaged_id: int | None, seat_changes: Sequence[Entry]
) -> GameSummary:
    """Return a game's summary, as far as its inputs can be read and its rules still accept them.

    `entries` has the inputs that can be read, at least one. If the first of them does not begin a
    game, the summary's trouble says so. `damaged_id` is the id of the first input that cannot be
    read, None if all can. `seat_changes` has the same meaning as in `collect_players`.
    """
    session = Session()
    trouble: Any = say("Input {number} cannot be read.", number=damaged_id) if damaged_id else ""
    for entry in entries:
        try:
            session, _ = fold_record(session, entry.record)
        except CompanionError as error:
            trouble = say("Its rules have changed since then ({error}).", error=error.message)
            break
    beginning = entries[0].record
    if not isinstance(beginning, NewGame):
        beginning = NewGame("", 0, 0)
        trouble = say("Its beginning cannot be read.")
    outcome = session.outcome if session.phase is Phase.OVER and not trouble else None
    return GameSummary(
        game=beginning.game,
        begun=round(entries[0].at, 3) if entries[0].at >= EARLIEST_UNIX_S else 0.0,
        length_s=round(game_length_s(entries), 1),
        players=collect_players(entries, seat_changes),
        options=beginning.options,
        turns=len(session.turns),
        is_over=outcome is not None,
        winners=tuple(sorted(outcome.winners)) if outcome else (),
        reason=sentence_to_json(outcome.reason) if outcome else "",
        trouble=sentence_to_json(trouble),
        digest=game_digest(beginning.game, build_game_file(session).turns) if outcome else "",
        is_chosen=beginning.is_chosen,
        coached=tuple(sorted(session.coached_seats)),
    )


def summarise_game_file(played: GameFile, reason: str) -> GameSummary:
    """Return the summary of an imported game.

    `reason` is its end as a translatable sentence.
    """
    outcome = played.outcome or {}
    return GameSummary(
        game=played.game,
        begun=played.begun,
        length_s=0.0,
        players={
            seat: ((name, MACHINE if seat in played.machines else ""),)
            for seat, name in played.players.items()
        },
        options=played.options,
        turns=len(played.turns),
        is_over=True,
        winners=tuple(Seat(winner) for winner in outcome.get("winners", ())),
        reason=sentence_to_json(reason),
        digest=game_digest(played.game, played.turns),
        is_chosen=played.is_seed_chosen,
        coached=played.coached,
    )


def reason_sentence(summary: GameSummary) -> str:
    """Return how a game ended, or why it cannot be read, as a sentence. Empty if it is not over."""
    text = sentence_from_json(summary.reason or summary.trouble)
    return text if isinstance(text, str) else ""
