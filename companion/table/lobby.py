"""The lobby between two games: the next game, its options, and changing sides."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from companion.core.errors import Illegal, JournalError, Malformed, Refusal, wrong_phase
from companion.core.i18n import say
from companion.games import GAMES, game_named
from companion.table.chance.game_chance import ChanceKeeper
from companion.table.last_choices import Choices
from companion.table.records import GameOptions, Score
from companion.table.remote.remote_table import RemoteTable
from companion.table.seats.seating import Seating
from companion.table.session import MACHINE, Phase
from companion.table.store import TableStore


class Lobby:
    """Starts games. Callers of its methods hold the table."""

    def __init__(
        self,
        store: TableStore,
        seating: Seating,
        chance: ChanceKeeper,
        remote: RemoteTable,
        choices: Choices,
    ) -> None:
        self._store = store
        self._seating = seating
        self._chance = chance
        self._remote = remote
        self._choices = choices
        self.has_room = True
        """Whether the disk has enough free space for a game."""
        self.is_closed = False
        """Whether the hub's host has closed this table."""
        self.round_game: tuple[str, GameOptions] | None = None
        """The game and options of a tournament's round at this table. None if there is no such
        round.
        """
        remembered = choices.last if choices.last in GAMES else None
        store.live = replace(store.live, remembered=remembered)

    def begin(
        self,
        game: str,
        options: GameOptions | None = None,
        seed: int | None = None,
        score: Score = (0, 0, 0),
    ) -> None:
        """Start a game with its set-up. Raises `Malformed` for unknown games and options."""
        self._require_open()
        self._store.accept(self._chance.beginning(game, options or {}, seed, score))

    def begin_lesson(self, game: str) -> None:
        """Start the lesson of a game. Raises `Malformed` if the game has none."""
        lesson = game_named(game).lesson
        if lesson is None:
            raise Malformed(say("{game} has no lesson", game=game_named(game).title))
        self._require_open()
        record = self._chance.beginning(game, lesson.options, None, (0, 0, 0))
        self._store.accept(msgspec.structs.replace(record, is_guided=True))

    def choose(self, game: str) -> None:
        """Show a game to everybody before it begins.

        Raises `Malformed` for an unknown game, and `Illegal` during a game.
        """
        name = game_named(game).name
        if self._store.session.phase is not Phase.LOBBY:
            raise wrong_phase(say("A game is on: end it before you start another one"))
        live = replace(self._store.live, chosen=name, stage_since_s=self._store.now_s())
        self._store.publish(live)

    def go_home(self) -> None:
        """Return to the list of all games. Raises `Illegal` during a game."""
        if not self._store.session.is_between:
            raise wrong_phase(say("A game is on: end it before you start another one"))
        self._store.go_home()
        self._seating.send_machines_away()

    def begin_chosen(self) -> None:
        """Start the chosen game. Raises `Illegal` if none is chosen."""
        chosen = self._store.live.chosen
        if chosen is None:
            raise Illegal(Refusal.NO_GAME, say("No game is on: choose one first"))
        rules, options = game_named(chosen), self._options_of(chosen)
        has_machine = any(sitter.door == MACHINE for sitter in self._store.session.seats.values())
        # A machine does not know cards that people deal.
        if has_machine and rules.is_dealt_by_hand(rules.options(options)):
            options = rules.presets[0].options
        self.begin(chosen, options)

    def begin_by_key(self, is_guided: bool = False) -> None:
        """Start the round's game, else the chosen one, else the one whose board is on the table,
        else the last one.

        A lesson is not affected by the round. Raises `Illegal` if there is no such game.
        """
        live = self._store.live
        if self.round_game is not None and not is_guided:
            self.begin(*self.round_game)
            return
        game = live.chosen or live.suggested or live.remembered
        if game is None:
            raise Illegal(Refusal.NO_GAME, say("No board lies on the table"))
        if is_guided:
            self.begin_lesson(game)
        else:
            self.begin(game, self._options_of(game))

    def begin_round(self) -> None:
        """Start the game of the tournament's round. Raises `Illegal` if there is none."""
        if self.round_game is None:
            raise Illegal(Refusal.NO_GAME, say("No game of a round is to be played here"))
        self.begin(*self.round_game)

    def rematch(self, swap: bool = False) -> None:
        """Start the same game with the same options again, as the next game of the match.

        With `swap` the players change sides, if possible.
        """
        session = self._store.session
        if session.phase is not Phase.OVER:
            raise wrong_phase(say("The game is not over yet"))
        if session.remote is not None:
            self._require_open()
            self._remote.play_again(swap)
            return
        south, north, ties = session.score
        if swap and session.can_swap and self.has_room and not self.is_closed:
            self._seating.swap()
            # The wins follow the people who change places.
            south, north = north, south
        name = session.playing.name
        options = self._options_of(name) if session.is_guided else session.raw_options
        self.begin(name, options, None, (south, north, ties))

    @property
    def must_replay(self) -> bool:
        """Return whether the game ended in a draw that is replayed at once."""
        return self.has_room and not self.is_closed and self._store.session.is_tie_to_replay

    def _require_open(self) -> None:
        if self.is_closed:
            raise wrong_phase(say("This table is closed: the hub’s owner can open it again"))
        if not self.has_room:
            raise JournalError(
                say("The disk is full: no game can start. Remove old games or other files first.")
            )

    def _options_of(self, game: str) -> GameOptions:
        """Return the options for starting a game by key: the host's last choice, else its last
        preset.
        """
        options = self._choices.options(game)
        if options is not None:
            try:
                game_named(game).options(options)
            except Malformed:  # chosen in an older version of the program
                options = None
        return game_named(game).presets[-1].options if options is None else options
