"""The table: what seats, the host and devices say to it, and what may be known of it.

Whoever calls takes the table's lock, so inputs are handled one after the other. An accepted input
is in the journal, synced, before `view` or any cue shows its effect.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from companion.core.clock import Clock
from companion.core.config import TableSettings
from companion.core.kit import Seat
from companion.core.ports import Closeable
from companion.table.board_follower import BoardFollower
from companion.table.chance.game_chance import ChanceKeeper
from companion.table.clocks.deadlines import pause_s, time_out_of
from companion.table.last_choices import Choices
from companion.table.listeners import TableListener
from companion.table.lobby import Lobby
from companion.table.records import (
    Abandon,
    Decline,
    Disclose,
    GameOptions,
    HandIn,
    MoveSeat,
    OfferDraw,
    Pause,
    Resign,
    Resume,
    ShowCard,
    SkipLesson,
    TakeBack,
    TakeSeat,
)
from companion.table.remote.remote_table import RemoteTable
from companion.table.seats.coaching import Coaching
from companion.table.seats.machine_seats import MachineSeats
from companion.table.seats.pads import Pads
from companion.table.seats.seating import Seating
from companion.table.session import Phase, Session, named_sides
from companion.table.state import headline_of
from companion.table.store import WRITE_AGAIN_S, RecordJournal, TableStore
from companion.table.table_view import Progress, TableView
from companion.table.turns import TileOrders, Turns
from companion.table.views import progress_of, view_of

ANSWER_S = 20.0
"""Time in seconds in which the other answers whether the last turn may be taken back; then it is a
no."""

HOME_AFTER_S = 600.0
"""Time in seconds for which the end of a game, or a game that was chosen, is shown to nobody in
particular."""

Topic = Literal["damage", "machines", "memory", "photographs", "power", "remote", "trial", "upkeep"]
"""What a notice may be about: games that are damaged on the disk, opponents whose program fails,
games kept in memory only, photographs, the machine that is switched off, the line to another table,
keys tried out, a restart to come."""


class Table(Closeable):
    """The doors of one table. Every method may be called from any thread.

    What changes something waits for the lock, and raises a `CompanionError` where it is refused.
    What a device or an adapter tells (`saw`, `press`, `notice` and the like) never raises.

    `start` runs the thread that lets time pass; without it (tests, fast simulation) time passes
    with each input and in `step`. `close` may be called twice.
    """

    def __init__(
        self,
        journal: RecordJournal,
        clock: Clock,
        settings: TableSettings | None = None,
        choices: Choices | None = None,
    ) -> None:
        self.choices = choices or Choices()
        self._store = store = TableStore(journal, clock, settings or TableSettings(), self._do_due)
        self._turns = Turns(store)
        self._seating = Seating(store)
        self._board = BoardFollower(store, self._turns)
        self._tiles = TileOrders(store, self._turns)
        self.machines = MachineSeats(store, self._turns)
        self.coaching = Coaching(store)
        self.remote = RemoteTable(store)
        self._lobby = Lobby(store, self._seating, ChanceKeeper(store), self.remote, self.choices)
        self._pads = Pads(store, self._turns, self._lobby, self._seating, self._tiles)
        self.now_s = store.now_s
        self.start, self.step = store.start, store.step
        self.wait = store.listeners.wait
        self.seat_nonce = self._seating.nonce
        # doors that are the act of one part, which says what it does and refuses
        self.swap_seats = store.held(self._seating.swap)
        self.move_to_phone = store.held(self._seating.move_to_phone)
        self.choose = store.held(self._lobby.choose)
        self.go_home = store.held(self._lobby.go_home)
        self.new_game = store.held(self._lobby.begin)
        self.begin_chosen = store.held(self._lobby.begin_chosen)
        self.begin_lesson = store.held(self._lobby.begin_lesson)
        self.begin_round = store.held(self._lobby.begin_round)
        self.rematch = store.held(self._lobby.rematch)
        self.lay_tiles = store.held(self._tiles.ready)
        self.confirm = store.held(self._turns.confirm)
        self.read = store.held(self._turns.read)
        self.ask_back = store.held(self._turns.ask_back)
        self.help = store.held(self._turns.help)
        # and those of devices
        self.saw = store.told(self._board.saw)
        self.camera_is = store.told(self._board.camera_is)
        self.saw_rows = store.told(self._tiles.take_answer)
        self.press = store.told(self._pads.press)
        self.release = store.told(self._pads.release)

    # ---- looking ---------------------------------------------------------------------------------

    def player_names(self) -> Mapping[str, str]:
        """Return who plays each side, by the side's word, for sentences that are shown at this
        table.
        """
        session = self._store.session
        names = {}
        for seat, sitter in session.seats.items():
            names[seat] = sitter.name
        return named_sides(session.game, names)

    def view(self, viewer: Seat | None = None) -> TableView:
        """Return what a viewer may know now."""
        return view_of(self._store.live, viewer)

    def progress(self) -> Progress:
        """Return how far the game has come. Cheaper than a view."""
        return progress_of(self._store.live)

    @property
    def version(self) -> int:
        """Counts every change that a page could show."""
        return self._store.live.version

    def connect(self, listener: TableListener) -> None:
        """Tell an adapter how things are, and from now on what changes."""
        with self._store.hold():
            self._store.listeners.connect(listener, self._store.live, self._store.in_trouble)

    @property
    def round_s(self) -> float:
        """Monotonic time at which the table's thread was last heard."""
        return self._store.round_s

    @property
    def waiting(self) -> int:
        """Return how many callers wait for the table."""
        return self._store.waiting

    @property
    def settings(self) -> TableSettings:
        """Return the table's settings as they hold now."""
        return self._store.settings

    def use(self, settings: TableSettings) -> None:
        """Go by other settings from now on. Every page is drawn anew."""
        with self._store.hold():
            self._store.settings = settings
            self._store.publish(self._store.live)

    @property
    def remembered_game(self) -> str | None:
        """Return the game that the host started last, or None."""
        return self._store.live.remembered

    @property
    def is_open(self) -> bool:
        """Return whether anybody at the table may act for the seat on turn, as on a chess clock.

        A press counts at once then.
        """
        return self._store.session.is_open

    # ---- time ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop the thread. What is accepted is on disk already."""
        self._store.close()

    def _do_due(self) -> float:
        """Do what is due by now. Return in how many seconds the next thing may be due."""
        store = self._store
        now_s = store.now_s()
        if self._seating.open_until_s:
            self._seating.close_seats()
        if store.live.tiles.wanted:
            self._tiles.expire()
        if store.listeners.put_off:
            store.listeners.send_put_off()
        if not store.may_write:
            return WRITE_AGAIN_S
        self._board.look_again()
        session = store.live.session
        shown_s = now_s - store.live.stage_since_s
        # silence is a no, and so is a time from before a restart, when the clock was another one
        if session.back_wanted and not 0 <= now_s - session.back_since_s < ANSWER_S:
            store.accept(Decline(session.back_wanted.other, now_s))
        elif session.phase is Phase.STAGES and session.is_shown_here:
            pass  # the other table's board does not show it yet
        elif session.phase is Phase.STAGES:
            # nothing goes on by itself while the board is wrong
            is_read = now_s >= store.live.headline_due_s and not store.live.problems
            if is_read and headline_of(store.live):
                self._turns.read_on("clock")
        elif (
            session.phase is Phase.OVER
            and shown_s >= 2 * store.settings.reading_time_s
            and self._lobby.must_replay
        ):
            self._lobby.rematch()
        elif shown_s >= HOME_AFTER_S and (session.phase is Phase.OVER or store.live.chosen):
            self._lobby.go_home()
        elif session.countdown and store.live.early is None:
            due_s = session.countdown.due_s
            # who waits may have been in time
            if due_s is not None and now_s >= due_s and not store.waiting:
                self._end_turn(session, now_s)
        if store.live.session.countdown is None:
            return math.inf
        store.note_clock()
        return pause_s(store.live.session, now_s)

    def _end_turn(self, session: Session, now_s: float) -> None:
        """End a turn whose time is over. A clock that runs while nobody acts is stopped."""
        if time_out := time_out_of(session, now_s):
            self._store.accept(time_out)
            # nobody has acted for some turns: this one's clock stands still from its beginning
            if since_s := self._store.session.idle_since_s:
                self._store.accept(Pause("idle", since_s))

    def _stamp(self, at_s: float | None) -> float:
        """Return when an input counts: when it came in, but never in the future."""
        now_s = self.now_s()
        return now_s if at_s is None else min(at_s, now_s)

    # ---- seats -----------------------------------------------------------------------------------

    def take_seat(self, seat: Seat, name: str, door: str = "phone") -> str:
        """Sit down. Return the nonce for the seat's token. Raises `Illegal` when the seat is
        taken.
        """
        record = TakeSeat(seat, name, secrets.token_urlsafe(18), door)
        with self._store.hold():
            self._store.accept(record)
        return record.nonce

    def free_seat(self, seat: Seat, sitting: str | None = None) -> None:
        """Make a seat free. What it has sealed stays sealed.

        `sitting`: who is meant, by `SeatView.sitting`; raises `Stale` where somebody else sits
        there by now.
        """
        with self._store.hold():
            self._seating.require(seat, sitting)
            self._seating.free(seat)

    def show_card(self, seat: Seat, card: str, sitting: str | None = None) -> None:
        """Show a player's card of whoever sits there, or take it away (empty).

        `sitting` as for `free_seat`.
        """
        with self._store.hold():
            self._seating.require(seat, sitting)
            self._store.accept(ShowCard(seat, card))

    def play_by(self, seat: Seat, door: str, sitting: str | None = None) -> None:
        """Go on by `pad` or `phone`, with the same token. `sitting` as for `free_seat`."""
        with self._store.hold():
            self._seating.require(seat, sitting)
            self._store.accept(MoveSeat(seat, door))

    # ---- games -----------------------------------------------------------------------------------

    def host_starts(self, game: str, options: GameOptions, seed: int | None = None) -> None:
        """Start a game as the host has chosen, and remember the choice. Raises `Malformed`."""
        with self._store.hold():
            self._lobby.begin(game, options, seed)
            self.choices.remember(game, options)
            self._store.publish(replace(self._store.live, remembered=game))

    def skip_lesson(self, by: str) -> None:
        """Let the guide leave, and the game go on. Raises `Illegal` where no lesson is on."""
        with self._store.hold():
            self._store.accept(SkipLesson(by, self.now_s()))

    def abandon(self) -> None:
        """End the game without a result, by the host's word."""
        with self._store.hold():
            self._store.accept(Abandon())
            self._seating.send_machines_away()

    def disclose(self, by: str) -> None:
        """Tell everything in a game that is over: it cannot be taken back any more."""
        with self._store.hold():
            self._store.accept(Disclose(by))

    # ---- the turn that is due --------------------------------------------------------------------

    def hand_in(
        self, seat: Seat, moment: str, action: str, salt: str = "", at_s: float | None = None
    ) -> str:
        """Seal a seat's action. Return the receipt. The same order sent once more is answered once
        more.

        `at_s` is when it came in, by `now_s`: an action within its turn counts, however late the
        table hears of it.
        """
        order = HandIn(seat, moment, action, salt, now_s=self._stamp(at_s))
        with self._store.hold():
            return self._turns.hand_in(order)

    def act(self, moment: str, action: str, at_s: float | None = None) -> None:
        """Act for the seat on turn, as anybody at the table may where the game is as open as a
        chess clock.
        """
        stamp_s = self._stamp(at_s)
        with self._store.hold():
            self._turns.act(moment, action, stamp_s)

    def take_back(self, seat: Seat, moment: str, at_s: float | None = None) -> None:
        """Get a sealed action back, or the last turn where nobody has learned anything by it."""
        record = TakeBack(seat, moment, self._stamp(at_s))
        with self._store.hold():
            self._store.accept(record)

    def undo(self, moment: str | None = None) -> None:
        """Take the last turn back: the owner's word, or, at the table screen, after asking whose
        turn it was.

        Whoever is at the table names the moment.
        """
        with self._store.hold():
            self._turns.undo(moment, asks=moment is not None)

    def decline(self, seat: Seat) -> None:
        """Say no to what the other wants, or want it no longer: a draw, the last turn back."""
        with self._store.hold():
            self._store.accept(Decline(seat, self._store.now_s()))

    def pause(self, by: str, at_s: float | None = None) -> None:
        """Stop the clock of the turn. `by` is a seat, `host` or `table`."""
        stamp_s = self._stamp(at_s)
        with self._store.hold():
            self._store.accept_in_time(stamp_s, Pause(by, stamp_s))

    def resume(self, by: str) -> None:
        """Let the clock of the turn go on."""
        with self._store.hold():
            self._store.accept(Resume(by, self.now_s()))

    def resign(self, seat: Seat) -> None:
        """Give up."""
        with self._store.hold():
            self._store.accept(Resign(seat))

    def offer_draw(self, seat: Seat) -> None:
        """Offer a draw, or accept the other's offer."""
        with self._store.hold():
            self._store.accept(OfferDraw(seat))

    # ---- devices and adapters --------------------------------------------------------------------

    def panel_is(self, sentence: str) -> None:
        """Say something about the pads. Empty: nothing."""
        with self._store.hold_for_device():
            self._store.publish(replace(self._store.live, panel=sentence))

    def notice(self, topic: Topic, sentence: str) -> None:
        """Say a standing trouble that stops nothing. Empty: it is over."""
        with self._store.hold_for_device():
            self._store.notices({topic: sentence})

    def wifi_is(self, is_own: bool) -> None:
        """Say whether the table has opened its own Wi-Fi, and draw anew what the pages say of
        it.
        """
        with self._store.hold_for_device():
            self._store.publish(replace(self._store.live, has_own_wifi=is_own))

    def disk_is(self, sentence: str, may_begin: bool) -> None:
        """Say how full the disk is, and whether there is enough room for a game."""
        with self._store.hold_for_device():
            self._lobby.has_room = may_begin
            self._store.notices({"disk": sentence})

    def round_is(self, sentence: str, game: tuple[str, GameOptions] | None) -> None:
        """Say who is to play here in a tournament's round (empty: nobody), and its game with its
        options.
        """
        with self._store.hold_for_device():
            self._lobby.round_game = game
            self._store.publish(replace(self._store.live, round=sentence))

    def close_for(self, sentence: str) -> None:
        """Let no game begin here as long as the pages say this. Empty: the table is open."""
        with self._store.hold_for_device():
            self._lobby.is_closed = bool(sentence)
            self._store.notices({"closed": sentence})

    def redraw(self) -> None:
        """Draw all pages anew: something beside the table that they show has changed."""
        with self._store.hold_for_device():
            self._store.publish(self._store.live)
