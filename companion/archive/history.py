"""The history of games: lists, replays, exports, imports and removes them.

Each game is played again once, from its inputs in the journal, and its summary is cached.
Everything is read in the caller's thread. A query holds the journal's lock only for one `SELECT`,
so that the table never waits for a page.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from companion.archive.cache import FileCache
from companion.archive.finale import build_finale, evening_of
from companion.archive.game_file import GameFile, build_game_file
from companion.archive.game_import import check_game, parse_game_file
from companion.archive.game_summary import GameSummary, game_digest, reason_sentence
from companion.archive.photographs import PhotographAlbum
from companion.archive.played_games import (
    NOBODY,
    Ending,
    Finale,
    GameLine,
    SeatedPlayer,
)
from companion.archive.replay import OWNER_ENDED, Replay
from companion.archive.scoresheet import format_score_sheet
from companion.archive.statistics import PlayerStatistics, compute_statistics
from companion.archive.summary_store import SummaryStore, is_imported
from companion.core.clock import Clock
from companion.core.errors import CompanionError, JournalError, Malformed, wrong_phase
from companion.core.files import describe_os_error
from companion.core.i18n import Verbatim, say
from companion.core.kit import Seat
from companion.games import GAMES
from companion.games.base import OptionRow
from companion.storage.journal import Journal
from companion.table.chance.game_chance import chosen_start_sentence
from companion.table.session import MACHINE

# Maximum number of replays in memory.
MAX_REPLAYS = 6
# Maximum number of drawn pictures on disk.
MAX_PICTURES = 40

# Draws a moving picture of a game, and returns the file.
Painter = Callable[[Replay], bytes]


class History:
    """The games of a journal, and imported games. It may be used from any thread.

    A game has a number, and a fingerprint that changes whenever the game does. What is cached of a
    game is stored under both, so that it is never out of date.

    `find_current_game` returns the number of the game on the table, 0 for none. `folder` is where
    summaries and pictures are cached, None for no cache. `album` has the photographs of the board
    after each turn, None if no photographs are taken. `paint` draws a moving picture of a game,
    None if that is not possible here.
    """

    def __init__(
        self,
        journal: Journal,
        folder: Path | None,
        clock: Clock,
        *,
        find_current_game: Callable[[], int] = lambda: 0,
        album: PhotographAlbum | None = None,
        paint: Painter | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._find_current_game = find_current_game
        self._album = album
        self._paint = paint
        self._summaries = SummaryStore(journal, folder)
        pictures = folder / "pictures" if folder else None
        self._pictures = FileCache(pictures, ".picture", MAX_PICTURES)
        self._lock = threading.RLock()
        # Replays by number, fingerprint, and what else they show (see `_replay_of`). The one that
        # was used last is at the end.
        self._replays: OrderedDict[tuple[int, str, object], Replay] = OrderedDict()

    # ---- the list --------------------------------------------------------------------------------

    def count(self) -> int:
        """Return the number of games."""
        return len(self._summaries.fingerprints())

    def lines(self, first: int = 0, limit: int = 50) -> Sequence[GameLine]:
        """Return up to `limit` lines of the list of games from index `first` on, newest first."""
        fingerprints = self._summaries.fingerprints()[first : first + limit]
        return [self._make_line(number, fingerprint) for number, fingerprint in fingerprints]

    def line(self, number: int) -> GameLine | None:
        """Return the line of one game, or None if there is no such game."""
        fingerprint = self._summaries.fingerprint(number)
        return None if fingerprint is None else self._make_line(number, fingerprint)

    def _require_line(self, number: int) -> GameLine:
        """Return the line of one game. Raises `Malformed` if there is no such game."""
        line = self.line(number)
        if line is None:
            raise Malformed(
                say("There is no game {number}: look at the list of games", number=number)
            )
        return line

    def _make_line(self, number: int, fingerprint: str) -> GameLine:
        """Return the line of a game with this fingerprint, made from its summary."""
        summary = self._summaries.summary(number, fingerprint)
        game = GAMES.get(summary.game)
        return GameLine(
            number=number,
            game=summary.game if game else "",
            title=game.title if game else (Verbatim(summary.game) or say("Unknown game")),
            begun=summary.begun,
            length_s=summary.length_s,
            players=self._players(number, summary),
            options=_changed_options(game.option_rows, summary.options) if game else (),
            turns=summary.turns,
            ending=self._ending(number, summary),
            winners=summary.winners,
            reason=reason_sentence(summary),
            is_imported=is_imported(fingerprint),
            chosen=_chosen_text(summary),
            coached=summary.coached,
        )

    def _ending(self, number: int, summary: GameSummary) -> Ending:
        """Return how a game ended, or why it has not."""
        if summary.trouble:
            return Ending.BROKEN
        if not summary.is_over:
            return Ending.ON if number == self._find_current_game() else Ending.UNFINISHED
        if reason_sentence(summary) in OWNER_ENDED:
            return Ending.ABANDONED
        return Ending.WON if summary.winners else Ending.TIE

    def _players(self, number: int, summary: GameSummary) -> dict[Seat, tuple[SeatedPlayer, ...]]:
        """Return the players of a game, with `NOBODY` for a name that was forgotten since."""
        forgotten = self._journal.archive.forgotten_names()

        def name_to_show(name: str) -> str:
            is_forgotten = name and any(hidden.covers(name, number) for hidden in forgotten)
            return NOBODY if is_forgotten else name

        return {
            seat: tuple(SeatedPlayer(name_to_show(name), door) for name, door in sitters)
            for seat, sitters in summary.players.items()
        }

    # ---- replays ---------------------------------------------------------------------------------

    def replay(self, number: int) -> Replay:
        """Return the replay of a finished game.

        Raises `Illegal` if the game is still on or was never finished, and `Malformed` if it does
        not exist or cannot be read.
        """
        line = self._require_line(number)
        if line.ending is Ending.BROKEN:
            raise Malformed(line.reason)
        if not line.has_replay:
            sentence = say("This game was never finished: none of it is shown")
            if line.ending is Ending.ON:
                sentence = say("The game is still on: it is shown when it is over")
            raise wrong_phase(sentence)
        return self._replay_of(line)

    def _replay_of(self, line: GameLine) -> Replay:
        """Return the replay of a game. The caller has to check that the game is over."""
        number = line.number
        photographs = self._album.moments(number) if self._album and not line.is_imported else ()
        # Photographs and names can disappear while the game stays the same, so they are part of
        # the key.
        shown = (len(photographs), *line.players.items())
        key = (number, str(self._summaries.fingerprint(number)), shown)
        with self._lock:
            replay = self._replays.get(key)
            if replay is None:
                replay = self._replays[key] = Replay(line, self.file(number), photographs)
                if len(self._replays) > MAX_REPLAYS:
                    self._replays.popitem(last=False)
            self._replays.move_to_end(key)
        return replay

    def finale(self, number: int) -> Finale | None:
        """Return the finale of a game. None if it is not over or cannot be replayed."""
        line = self.line(number)
        if line is None or not line.has_replay:
            return None
        try:
            return build_finale(self._replay_of(line), self._evening_games(line))
        except CompanionError:  # the rules have changed since then
            return None

    def _evening_games(self, line: GameLine) -> Iterator[GameLine]:
        """Yield the games of the same evening up to this one that were played here, newest first.

        For an imported game, or one without a date, yield only the game itself.
        """
        if line.is_imported or not line.begun:
            yield line
            return
        evening = evening_of(line.begun)
        for number, fingerprint in self._summaries.fingerprints():
            if number > line.number:
                continue
            earlier = self._make_line(number, fingerprint)
            # an imported game may be of any evening, whatever its number
            if earlier.is_imported or not earlier.begun:
                continue
            # games come newest first, so all that follow are from earlier evenings
            if evening_of(earlier.begun) < evening:
                return
            yield earlier

    def file(self, number: int) -> GameFile:
        """Return a finished game as a file, without names of forgotten players.

        Raises `Malformed` if there is no such game, `Illegal` if the game is not over, and another
        `CompanionError` if its rules no longer accept an input.
        """
        line = self._require_line(number)
        last = line.last_players
        players = {seat: player.name for seat, player in last.items() if player.name}
        if line.is_imported:
            return msgspec.structs.replace(self._summaries.imported_game(number), players=players)
        machines = tuple(seat for seat, player in last.items() if player.door == MACHINE)
        session = self._journal.fold(number)
        return build_game_file(session, players, line.begun, machines)

    def as_json(self, number: int) -> bytes:
        """Return the game file as JSON. Raises the same errors as `replay`."""
        self.replay(number)
        return msgspec.json.format(msgspec.json.encode(self.file(number)))

    def as_text(self, number: int) -> str:
        """Return the game in notation. Raises the same errors as `replay`."""
        self.replay(number)
        return format_score_sheet(self.file(number))

    def picture(self, number: int) -> bytes:
        """Return a moving picture of a game, drawn at the first request.

        Raises the same errors as `replay`, and `Malformed` if nothing can be drawn here.
        """
        replay = self.replay(number)
        fingerprint = self._summaries.fingerprint(number) or ""
        cached = self._pictures.get(number, fingerprint)
        if cached is not None:
            return cached
        if self._paint is None:
            raise Malformed(say("Pictures of games cannot be drawn here"))
        picture = self._paint(replay)
        self._pictures.store(number, fingerprint, picture)
        return picture

    # ---- importing, removing, forgetting ---------------------------------------------------------

    def import_game(self, content: bytes) -> int:
        """Replay a game file, check its receipts, and store it. Return its new number.

        Raises `Malformed` if the file is not valid, with a sentence that names the turn, and
        `Illegal` for a game that is here already.
        """
        played = parse_game_file(content)
        check_game(played)
        # compare receipts, because the same game may come with other names
        digest = game_digest(played.game, played.turns)
        for number, fingerprint in self._summaries.fingerprints():
            if self._summaries.summary(number, fingerprint).digest == digest:
                raise wrong_phase(say("This game is here already: number {number}", number=number))
        content = msgspec.json.encode(played)
        return self._journal.archive.add_imported(content, digest, self._clock.wall_s())

    def remove(self, number: int) -> None:
        """Remove a game and its photographs.

        Raises `Malformed` if there is no such game, `Illegal` for the one that lies on the table,
        and `JournalError` if the game, or only its photographs, cannot be removed.
        """
        self._require_line(number)
        if number == self._find_current_game():
            raise wrong_phase(
                say("Game {number} lies on the table: start another one first", number=number)
            )
        self._journal.archive.remove_game(number)
        self._summaries.drop(number)
        self._pictures.remove(number)
        if self._album:
            try:
                self._album.remove(number)
            except OSError as error:
                raise JournalError(
                    say(
                        "The game was removed, but its photographs were not ({error})",
                        error=describe_os_error(error),
                    )
                ) from None

    def forget(self, name: str) -> int:
        """Remove a name from all games so far, and return the number of games that had it.

        The inputs in the journal do not change. Only a salted digest of the name is stored. Raises
        `Malformed` if nobody of that name has played.
        """
        folded_name = name.strip().casefold()
        count = 0
        for line in self.lines(0, self.count()):
            names = {
                player.name.casefold() for players in line.players.values() for player in players
            }
            count += folded_name in names
        if not folded_name or not count:
            raise Malformed(say("Nobody by that name has played here"))
        self._journal.archive.forget_name(name)
        # Remove the pictures of all games, because any of them may show the name.
        self._pictures.remove()
        return count

    # ---- statistics ------------------------------------------------------------------------------

    def statistics(self) -> Sequence[PlayerStatistics]:
        """Return the statistics of each player over all finished games, most games first."""
        oldest_first = reversed(self._summaries.fingerprints())
        return compute_statistics(
            self._make_line(number, fingerprint)
            for number, fingerprint in oldest_first
            if self._summaries.summary(number, fingerprint).is_over
        )


def _chosen_text(summary: GameSummary) -> str:
    """Return a sentence on what was chosen instead of drawn, or an empty string."""
    game = GAMES.get(summary.game)
    if game is None or summary.trouble:
        return ""
    return chosen_start_sentence(game, game.options(summary.options), summary.is_chosen)


def _changed_options(
    rows: Sequence[OptionRow], options: Mapping[str, Any]
) -> tuple[tuple[str, str], ...]:
    """Return the options that differ from the defaults, as titles and choices in words."""
    choices = []
    for row in rows:
        # the first choice is the default
        _, default = row.choices[0]
        chosen = options.get(row.name, default)
        if chosen != default:
            labels = (label for label, value in row.choices if value == chosen)
            choices.append((row.title, next(labels, say("custom"))))
    return tuple(choices)
