"""The table: one owner of the state, one queue in, one stream of views out.

Inputs (a phone's or a pad's action, the board as the camera sees it, time, the host's word) are handled one after the
other by one thread. An accepted input is in the journal, synced, before `view` or any cue shows its effect.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from companion.core.clock import Clock
from companion.core.config import TableSettings
from companion.core.kit import Seat
from companion.core.ports import Closeable
from companion.table.actions.devices import Devices
from companion.table.actions.lobby import Lobby
from companion.table.actions.rounds import Rounds
from companion.table.actions.tile_orders import TileOrders
from companion.table.actions.turns import Turns
from companion.table.board_follower import BoardFollower
from companion.table.chance.chance_keeper import ChanceKeeper
from companion.table.listeners import Listeners, OnAlarms, OnKit, OnLamps, OnRows, OnSignal
from companion.table.mailbox import Mailbox
from companion.table.notices import Notices
from companion.table.pipeline import WRITE_AGAIN_S, Pipeline
from companion.table.ports import ForgetfulChoices, LastChoices, RecordJournal
from companion.table.records import (
    Abandon,
    Disclose,
    FreeSeat,
    HandIn,
    MoveSeat,
    OfferDraw,
    Pause,
    Resign,
    Resume,
    ShowCard,
    StageDone,
    TakeBack,
    TakeSeat,
)
from companion.table.remote.remote_table import RemoteTable
from companion.table.seats.coaching import Coaching
from companion.table.seats.hints import Hints
from companion.table.seats.lessons import GuidedGames
from companion.table.seats.machine_seats import MachineSeats
from companion.table.seats.pad_input import PadInput
from companion.table.seats.seating import Seating
from companion.table.session import Phase
from companion.table.table_view import Progress, TableView
from companion.table.views import progress_of, view_of


class Table(Closeable):
    """What seats and the host say to the table, its view, and its parts: devices, machines, lessons, hints and more.

    Every method may be called from any thread; those that change something wait for the answer and raise. What they ask
    for is done in the table's own thread by its parts: the pipeline accepts and shows, the others decide what.

    `start` runs that thread; without it (tests, fast simulation) the caller's thread does the work and `step` lets time
    and queued events take effect. `close` may be called twice.
    """

    def __init__(
        self,
        journal: RecordJournal,
        clock: Clock,
        settings: TableSettings | None = None,
        choices: LastChoices | None = None,
    ) -> None:
        self._clock = clock
        self.choices = choices or ForgetfulChoices()
        self._owner = Mailbox("table", self._let_time_pass)
        self._listeners = Listeners(clock)
        self._pipeline = Pipeline(journal, clock, self._owner, self._listeners, settings or TableSettings())
        self._seating = Seating(self._pipeline)
        self._chance = ChanceKeeper(self._pipeline, journal)
        self._lobby = Lobby(self._pipeline, self._seating, self._chance, self.choices)
        self._turns = Turns(self._pipeline)
        self._board = BoardFollower(self._pipeline)
        self._tiles = TileOrders(self._pipeline)
        self.machines = MachineSeats(self._pipeline, self._owner)
        self.hints = Hints(self._pipeline)
        self.coaching = Coaching(self._pipeline, self._owner)
        self.remote = RemoteTable(self._pipeline, self._owner)
        self._lobby.play_again = self.remote.play_again
        self.notices = Notices(self._pipeline, self._owner, self._lobby)
        self.rounds = Rounds(self._pipeline, self._owner, self._lobby)
        self.lessons = GuidedGames(self._pipeline, self._owner, self._lobby)
        pads = PadInput(self._pipeline, self._turns, self._lobby, self._seating, tiles=self._tiles)
        self.devices = Devices(self._owner, self._board, self._tiles, pads)

    # ---- looking ---------------------------------------------------------------------------------------------------

    def view(self, viewer: Seat | None = None) -> TableView:
        """What a viewer may know now."""
        return view_of(self._pipeline.live, viewer)

    def progress(self) -> Progress:
        """How far the game has come; cheaper than a view."""
        return progress_of(self._pipeline.live)

    @property
    def version(self) -> int:
        """Counts every change that a page could show."""
        return self._pipeline.live.version

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until the table has changed since `version`, at most so long; answers the newest version."""
        return self._listeners.wait(version, timeout_s)

    def when_changed(self, call: Callable[[], None]) -> None:
        """Have this called after every change that a page could show, whichever thread makes it; it must not block."""
        self._listeners.when_changed(call)

    def seat_nonce(self, seat: Seat) -> str | None:
        """What the token of whoever sits there must carry; None: the seat is free. For the pages' guard only."""
        return self._seating.nonce(seat)

    def connect(
        self,
        on_signal: OnSignal | None = None,
        on_lamps: OnLamps | None = None,
        on_kit: OnKit | None = None,
        on_alarms: OnAlarms | None = None,
        on_round: Callable[[], None] | None = None,
        *,
        on_rows: OnRows | None = None,
    ) -> None:
        """Tell an adapter about cues, steady lamps (with trouble or not), the kit on the table, and alarms to come.

        `on_round` is called after every round of the table's loop, at least ten times a second; `on_rows` when rows of
        order tiles are to be read. What is called must not block.
        """

        def add() -> None:
            if on_signal:
                self._listeners.hear_signals(on_signal)
            if on_lamps:
                self._listeners.hear_lamps(on_lamps, self._pipeline.live, self._pipeline.in_trouble)
            if on_kit:
                self._listeners.hear_kit(on_kit, self._pipeline.session.kit)
            if on_alarms:
                self._listeners.hear_alarms(on_alarms)
            if on_rows:
                self._listeners.hear_rows(on_rows)
            if on_round:
                self._owner.on_round = on_round

        self._owner.now(add)

    @property
    def waiting(self) -> int:
        """How many inputs wait for the table's thread."""
        return self._owner.waiting

    @property
    def settings(self) -> TableSettings:
        """The table's settings as they hold now."""
        return self._pipeline.settings

    def use(self, settings: TableSettings) -> None:
        """Go by other settings from now on; every page is drawn anew."""

        def change() -> None:
            self._pipeline.settings = settings
            self._pipeline.publish(self._pipeline.live)

        self._owner.ask(change)

    @property
    def remote_seat(self) -> Seat | None:
        """The seat whose player sits at another table; None: both play at this one."""
        remote = self._pipeline.session.remote
        return remote.seat if remote else None

    @property
    def remembered(self) -> str | None:
        """The game that the host started last, or None."""
        return self._pipeline.live.remembered

    @property
    def is_open(self) -> bool:
        """May anybody at the table act for the seat on turn, as on a chess clock? A press counts at once then."""
        return self._pipeline.session.is_open

    def now_s(self) -> float:
        """The monotonic time by which clocks run and inputs are stamped."""
        return self._clock.monotonic_s()

    # ---- the loop --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Run the owner thread."""
        self._owner.start()

    def step(self) -> None:
        """Handle everything that is queued and due, in the caller's thread."""
        self._owner.step()

    def close(self) -> None:
        """Stop the thread; what is accepted is on disk already."""
        self._owner.close()
        self._listeners.close()

    # ---- the host's and the seats' words -------------------------------------------------------------------------

    def take_seat(self, seat: Seat, name: str, door: str = "phone") -> str:
        """Sit down; answers the nonce for the seat's token. Raises `Illegal` when the seat is taken."""
        record = TakeSeat(seat, name, secrets.token_urlsafe(18), door)
        self._owner.ask(lambda: self._pipeline.accept(record))
        return record.nonce

    def free_seat(self, seat: Seat, sitting: str | None = None) -> None:
        """Make a seat free; what it has sealed stays sealed.

        `sitting`: who is meant, by `SeatView.sitting`; raises `Stale` where somebody else sits there by now.
        """
        self._owner.ask(lambda: self._seating.accept_for(seat, sitting, FreeSeat(seat)))

    def show_card(self, seat: Seat, card: str, sitting: str | None = None) -> None:
        """Whoever sits there shows a player's card, or takes it away (empty); `sitting` as for `free_seat`."""
        self._owner.ask(lambda: self._seating.accept_for(seat, sitting, ShowCard(seat, card)))

    def swap_seats(self, sittings: Mapping[Seat, str] | None = None) -> None:
        """Let both sides change places, between two games; raises `Illegal` while one is on; `sittings` as above."""
        self._owner.ask(lambda: self._seating.swap(sittings or {}))

    def host_starts(self, game: str, options: Mapping[str, Any], seed: int | None = None) -> None:
        """Start a game as the host has chosen, and remember the choice; raises `Malformed`."""
        self._owner.ask(lambda: self._lobby.begin_chosen(game, options, seed))

    def play_by(self, seat: Seat, door: str, sitting: str | None = None) -> None:
        """Whoever sits there goes on by `pad` or `phone`, with the same token; `sitting` as for `free_seat`."""
        self._owner.ask(lambda: self._seating.accept_for(seat, sitting, MoveSeat(seat, door)))

    def move_to_phone(self, seat: Seat) -> str:
        """Go on by phone for a seat that its pad has opened. Return the nonce for its token.

        Raises `Illegal` for a seat that is not open.
        """
        return self._owner.ask(lambda: self._seating.move_to_phone(seat))

    def new_game(self, game: str, options: Mapping[str, Any] | None = None, seed: int | None = None) -> None:
        """Start a game with its set-up; raises `Malformed` for unknown games and options."""
        self._owner.ask(lambda: self._lobby.begin(game, options or {}, seed))

    def rematch(self, swap: bool = False) -> None:
        """The same game with the same options once more; the match goes on. `swap`: with sides changed, where that can
        be (`TableView.can_swap`).
        """
        self._owner.ask(lambda: self._lobby.rematch(swap))

    def confirm(self, by: str, moment: str, stage: int, force: bool = False) -> None:
        """Somebody says that the board is as it should be, in the set-up or after a stage.

        While the camera sees the board and disagrees, only `force` overrules it; otherwise raises `Illegal`.
        """
        self._owner.ask(lambda: self._turns.confirm(by, moment, stage, force))

    def hand_in(self, seat: Seat, moment: str, action: str, salt: str = "", at_s: float | None = None) -> str:
        """Seal a seat's action; answers the receipt. The same order sent once more is answered once more.

        `at_s` is when it came in, by `now_s`: an action within its turn counts, however late the table hears of it.
        """
        stamp_s = self._stamp(at_s)
        order = HandIn(seat, moment, action, salt, now_s=stamp_s)
        return self._owner.ask(lambda: self._pipeline.hand_in(order))

    def lay_tiles(self, seat: Seat, moment: str, is_ready: bool) -> None:
        """A seat's order tiles lie behind its wall, or no longer; when everybody is ready, the camera reads them."""
        self._owner.ask(lambda: self._tiles.ready(seat, moment, is_ready))

    def act(self, moment: str, action: str, at_s: float | None = None) -> None:
        """Anybody at the table acts for the seat on turn, where the game is as open as a chess clock."""
        stamp_s = self._stamp(at_s)
        self._owner.ask(lambda: self._turns.act(moment, action, stamp_s))

    def take_back(self, seat: Seat, moment: str, at_s: float | None = None) -> None:
        """Get a sealed action back, or the last turn where nobody has learned anything by it."""
        stamp_s = self._stamp(at_s)
        self._owner.ask(lambda: self._pipeline.accept(TakeBack(seat, moment, stamp_s)))

    def pause(self, by: str, at_s: float | None = None) -> None:
        """Stop the clock of the turn; `by` is a seat, `host` or `table`."""
        stamp_s = self._stamp(at_s)
        self._owner.ask(lambda: self._pipeline.accept_in_time(stamp_s, Pause(by, stamp_s)))

    def resume(self, by: str) -> None:
        """Let the clock of the turn go on."""
        self._owner.ask(lambda: self._pipeline.accept(Resume(by, self._clock.monotonic_s())))

    def undo(self, moment: str | None = None) -> None:
        """Take the last turn back: the host's word, or anybody's (who names the moment) where the game is open."""
        self._owner.ask(lambda: self._turns.undo(moment))

    def resign(self, seat: Seat) -> None:
        """A seat gives up."""
        self._owner.ask(lambda: self._pipeline.accept(Resign(seat)))

    def offer_draw(self, seat: Seat) -> None:
        """Offer a draw, or accept the other's offer."""
        self._owner.ask(lambda: self._pipeline.accept(OfferDraw(seat)))

    def abandon(self) -> None:
        """The host ends the game without a result."""
        self._owner.ask(lambda: self._pipeline.accept(Abandon()))

    def disclose(self, by: str) -> None:
        """A game that is over cannot be taken back any more, and everything in it may be told."""
        self._owner.ask(lambda: self._pipeline.accept(Disclose(by)))

    def help(self, is_wanted: bool, reasons: bool = False) -> None:
        """Somebody at the table asks what can be done now, or has read it: the table screen and the voice tell it.

        `reasons`: why the machine did what it did last, instead.
        """
        self._owner.ask(lambda: self._turns.help(is_wanted, reasons))

    def redraw(self) -> None:
        """Something beside the table that its pages show has changed."""
        self._owner.tell(lambda: self._pipeline.publish(self._pipeline.live))

    def _stamp(self, at_s: float | None) -> float:
        """When an input counts: when it came in, but never in the future."""
        now_s = self._clock.monotonic_s()
        return now_s if at_s is None else min(at_s, now_s)

    # ---- time ------------------------------------------------------------------------------------------------------

    def _let_time_pass(self) -> float:
        """Do what is due by now; answers in how many seconds the next thing may be due."""
        session, now_s = self._pipeline.session, self._clock.monotonic_s()
        self._seating.close_seats()
        self._tiles.keep()
        self._listeners.send_put_off()
        if not self._pipeline.may_write:
            return WRITE_AGAIN_S
        shown_s = now_s - self._pipeline.live.stage_since_s
        reading_time_s = self._pipeline.reading_time_s
        if session.is_shown_here and session.phase is Phase.STAGES:
            pass  # the other table's board does not show it yet
        elif session.phase is Phase.STAGES and not session.has_moves:
            if shown_s >= reading_time_s and not self._pipeline.live.problems:
                self._pipeline.accept(StageDone(session.moment, session.stage, "clock", now_s))
        elif session.phase is Phase.STAGES:
            self._board.tick_off()
        elif session.phase is Phase.OVER and shown_s >= 2 * reading_time_s and self._lobby.must_replay:
            self._lobby.rematch()
        elif self._pipeline.live.early is not None:
            self._board.settle_early_press()
        elif not self._owner.has_work and (time_out := self._pipeline.time_out(now_s)):
            self._pipeline.accept(time_out)  # whatever came in before is heard first: it may have been in time
        self._pipeline.note_clock()
        return self._pipeline.timekeeper.pause_s(self._pipeline.session, now_s)
