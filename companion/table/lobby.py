"""Between two games: what is played next, with which options, and who changes places."""

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
    """Begins games; every method is called by somebody who holds the table."""

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
        """Is there enough room on the disk for a game?"""
        self.is_closed = False
        """Has the hub's host closed this table?"""
        self.round_game: tuple[str, GameOptions] | None = None
        """The game of a tournament's round that is to be played here, with its options; None:
        any."""
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
        """Start the first game with a guide. Raises `Malformed` for a game that has none."""
        lesson = game_named(game).lesson
        if lesson is None:
            raise Malformed(say("{game} has no lesson", game=game_named(game).title))
        self._require_open()
        record = self._chance.beginning(game, lesson.options, None, (0, 0, 0))
        self._store.accept(msgspec.structs.replace(record, is_guided=True))

    def choose(self, game: str) -> None:
        """Show a game to everybody before it begins.

        Raises `Malformed`, and `Illegal` while one is on.
        """
        name = game_named(game).name
        if self._store.session.phase is not Phase.LOBBY:
            raise wrong_phase(say("A game is on: end it before you start another one"))
        live = replace(self._store.live, chosen=name, stage_since_s=self._store.now_s())
        self._store.publish(live)

    def go_home(self) -> None:
        """Offer all games again. Raises `Illegal` while one is on."""
        if not self._store.session.is_between:
            raise wrong_phase(say("A game is on: end it before you start another one"))
        self._store.go_home()
        self._seating.send_machines_away()

    def begin_chosen(self) -> None:
        """Start the game that was chosen. Raises `Illegal` where none was."""
        chosen = self._store.live.chosen
        if chosen is None:
            raise Illegal(Refusal.NO_GAME, say("No game is on: choose one first"))
        rules, options = game_named(chosen), self._options_of(chosen)
        has_machine = any(sitter.door == MACHINE for sitter in self._store.session.seats.values())
        if has_machine and rules.is_dealt_by_hand(
            rules.options(options)
        ):  # no machine knows cards that people deal
            options = rules.presets[0].options
        self.begin(chosen, options)

    def begin_by_key(self, is_guided: bool = False) -> None:
        """Start the game that is chosen, or lies there, or was the last.

        Raises `Illegal` where there is none.
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
        """Start the game of the tournament's round. Raises `Illegal` where there is none."""
        if self.round_game is None:
            raise Illegal(Refusal.NO_GAME, say("No game of a round is to be played here"))
        self.begin(*self.round_game)

    def rematch(self, swap: bool = False) -> None:
        """Start the same game with the same options once more.

        The match goes on. `swap`: with sides changed, if possible.
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
            # the wins go with the people who change places
            south, north = north, south
        name = session.playing.name
        options = self._options_of(name) if session.is_guided else session.raw_options
        self.begin(name, options, None, (south, north, ties))

    @property
    def must_replay(self) -> bool:
        """Return whether the game is over with a draw that is played again at once."""
        return self.has_room and not self.is_closed and self._store.session.is_tie_to_replay

    def _require_open(self) -> None:
        if self.is_closed:
            raise wrong_phase(say("This table is closed: the hub’s owner can open it again"))
        if not self.has_room:
            raise JournalError(
                say("The disk is full: no game can start. Remove old games or other files first.")
            )

    def _options_of(self, game: str) -> GameOptions:
        """Return the options with which a game begins by a key: as the host chose last, else by its
        last way.
        """
        options = self._choices.options(game)
        if options is not None:
            try:
                game_named(game).options(options)
            except Malformed:  # chosen in an older version of the program
                options = None
        return game_named(game).presets[-1].options if options is None else options
