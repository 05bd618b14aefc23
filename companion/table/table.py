"""The table: the inputs of seats, owner and devices, and the views of its state.

Every method that changes something takes the table's lock, so inputs are handled one after the
other. An accepted input is in the journal and synced before `view` or a cue shows its effect.

Inputs name their source as `by`: a seat, `host` (the owner), `table` (the table screen or the
table's button), `camera` or `clock`. The words (moment, door, nonce, stage) are explained in
`companion.table.session`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from companion.core.clock import Clock
from companion.core.config import TableSettings
from companion.core.kit import Seat
from companion.core.ports import Closeable
from companion.table import lobby, turns
from companion.table.board_follower import BoardFollower
from companion.table.chance.game_chance import commit_to_next_game
from companion.table.clocks.deadlines import due_time_out
from companion.table.last_choices import LastChoices
from companion.table.listeners import TableListener
from companion.table.records import (
    Abandon,
    Decline,
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
from companion.table.seats import seating
from companion.table.seats.coaching import Coaching
from companion.table.seats.machine_seats import MachineSeats
from companion.table.seats.pads import handle_press
from companion.table.session import Phase, Viewer, player_names_by_side
from companion.table.state import WRITE_ERROR
from companion.table.store import RecordJournal, TableStore
from companion.table.table_view import Progress, TableView
from companion.table.views import progress_of, view_of

# Timeout in seconds for the answer to a request to undo the last turn. No answer counts as no. The
# clock stands still meanwhile. With a shorter timeout, nobody could think about the answer. With a
# longer one, a player who has left would hold the game up.
UNDO_ANSWER_TIMEOUT_S = 20.0

# Seconds after which the lobby replaces the end of a game, or a game that was chosen and not begun.
# With a shorter time, the result would be gone before everybody has seen it. With a longer one, new
# guests would find an old game.
LOBBY_TIMEOUT_S = 600.0

# Topics of notices. Each topic has at most one sentence at a time.
NoticeTopic = Literal[
    "damage",  # damaged games on the disk
    "machines",  # opponents whose program fails
    "memory",  # games that are only in memory
    "photographs",
    "power",  # switching off
    "remote",  # the connection to another table
    "trial",  # the check of the keys
    "upkeep",  # a coming restart
]


class Table(Closeable):
    """The public methods of one table. The service makes it, pages and adapters call it.

    Any thread may call. A method that changes something waits for the lock, and raises a
    `CompanionError` if it is refused. Input of devices and adapters (`handle_reading`, `press`,
    `set_notice` and the like) never raises.

    `start` runs the thread that does what becomes due as time passes. Tests and fast simulations do
    not start it: then this is done after each input and by `step` (see `TableStore`). `close` may
    be called twice.
    """

    def __init__(
        self,
        journal: RecordJournal,
        clock: Clock,
        settings: TableSettings | None = None,
        choices: LastChoices | None = None,
    ) -> None:
        self._store = store = TableStore(
            journal, clock, settings or TableSettings(), self._run_due_tasks, choices
        )
        self._board = BoardFollower(store)
        self.machines = MachineSeats(store)
        self.coaching = Coaching(store)
        self.remote = RemoteTable(store)
        store.on_accepted = (turns.request_rows, commit_to_next_game)
        commit_to_next_game(store)
        self.last_choices = store.last_choices
        self.now_s = store.now_s
        self.start = store.start
        self.step = store.step
        self.wait = store.listeners.wait
        # Public methods that take the lock, and call a function of another module with the store.
        # The docstring of that function says what the method does and raises.
        self.swap_seats = store.as_method(seating.swap_seats)
        self.free_seat = store.as_method(seating.free_seat)
        self.move_to_phone = store.as_method(seating.move_to_phone)
        self.choose_game = store.as_method(lobby.choose_game)
        self.return_to_lobby = store.as_method(lobby.return_to_lobby)
        self.new_game = store.as_method(lobby.begin_game)
        self.begin_for_owner = store.as_method(lobby.begin_for_owner)
        self.begin_chosen = store.as_method(lobby.begin_chosen)
        self.begin_lesson = store.as_method(lobby.begin_lesson)
        self.begin_round = store.as_method(lobby.begin_round)
        self.rematch = store.as_method(lobby.rematch)
        self.confirm = store.as_method(turns.confirm)
        self.read_headline = store.as_method(turns.read_headline)
        self.undo = store.as_method(turns.undo)
        self.request_undo = store.as_method(turns.request_undo)
        self.show_help = store.as_method(turns.show_help)
        self.set_tiles_ready = store.as_method(turns.set_tiles_ready)
        # Public methods for devices, which never raise.
        self.handle_reading = store.as_device_method(self._board.handle_reading)
        self.set_camera_status = store.as_device_method(self._board.set_camera_status)
        self.handle_rows = store.as_device_method(partial(turns.handle_rows, store))
        self.press = store.as_device_method(partial(handle_press, store))

    # ---- views -----------------------------------------------------------------------------------

    def player_names(self) -> Mapping[str, str]:
        """Return the player of each side, by the side's name, for sentences shown at this table."""
        session = self._store.session
        names = {seat: player.name for seat, player in session.seats.items()}
        return player_names_by_side(session.game, names)

    def nonce_of(self, seat: Seat) -> str | None:
        """Return the nonce of a seat's player, which the player's token must carry.

        None if the seat is free.
        """
        return self._store.session.nonce_of(seat)

    def view(self, viewer: Viewer = None) -> TableView:
        """Return what a viewer may see now."""
        return view_of(self._store.live, viewer)

    def progress(self) -> Progress:
        """Return how far the game has come. Cheaper than a view."""
        return progress_of(self._store.live)

    @property
    def version(self) -> int:
        """A number that rises with every change that a page could show."""
        return self._store.live.version

    def connect(self, listener: TableListener) -> None:
        """Notify an adapter of the present state, and of all changes from now on."""
        with self._store.hold():
            self._store.listeners.connect(listener, self._store.live)

    @property
    def last_heartbeat_at_s(self) -> float:
        """The monotonic time of the last heartbeat of the table's thread."""
        return self._store.last_heartbeat_at_s

    @property
    def settings(self) -> TableSettings:
        """The current settings of the table."""
        return self._store.settings

    def use_settings(self, settings: TableSettings) -> None:
        """Use other settings from now on, and redraw all pages."""
        with self._store.hold():
            self._store.settings = settings
            self._store.publish(self._store.live)

    @property
    def remembered_game(self) -> str | None:
        """The game that the owner started last, or None."""
        return self._store.live.remembered_game

    @property
    def is_open(self) -> bool:
        """Whether anybody at the table may act for the seat on turn, as on a chess clock.

        Then a press of the table's button counts at once.
        """
        return self._store.session.is_open

    # ---- time ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop the thread. Accepted records are already on disk."""
        self._store.close()

    def _run_due_tasks(self) -> None:
        """Do what is due by now, such as a time-out, the next headline or the return to the lobby.

        The store calls this at every heartbeat. First the last reading of the board may end a stage
        or hand in an action. Of the tasks after that, only the first one that is due is done: it
        changes the session, and with it what else is due.
        """
        store = self._store
        now_s = store.now_s()
        if store.open_seat:
            seating.close_seat_if_due(store)
        wanted_rows = store.live.tiles.requested_rows
        if wanted_rows and now_s >= wanted_rows.since_s + turns.CAMERA_ANSWER_TIMEOUT_S:
            turns.report_unseen_rows(store, wanted_rows)
        if store.listeners.delayed_signals:
            store.listeners.send_delayed_signals()
        if now_s < store.next_step_at_s:
            return
        self._board.act_on_last_reading()
        session = store.live.session
        stage_age_s = now_s - store.live.stage_since_s
        # No answer means no. After a restart of the machine, the monotonic time of a request may
        # lie in the future. That also counts as no.
        may_answer = 0 <= now_s - session.undo_requested_at_s < UNDO_ANSWER_TIMEOUT_S
        is_over = session.phase is Phase.OVER
        if session.undo_requester and not may_answer:
            store.accept(Decline(session.undo_requester.other, now_s))
        elif session.phase is Phase.STAGES:
            # The table does not continue by itself while the board is wrong, or while it waits for
            # the other table's board.
            is_waiting = store.live.problems or session.awaits_other_table
            headline = store.live.headline
            if headline and now_s >= headline.due_s and not is_waiting:
                turns.show_next_headline(store, "clock")
        elif (
            is_over
            and stage_age_s >= 2 * store.settings.reading_time_s
            and session.is_tie_to_replay
            and store.has_disk_space
        ):
            lobby.rematch(store)
        elif stage_age_s >= LOBBY_TIMEOUT_S and (is_over or store.live.chosen_game):
            lobby.return_to_lobby(store)
        elif (
            session.countdown
            and store.live.early_press is None
            # The input of a waiting caller may have arrived in time.
            and not store.waiting_caller_count
            and (time_out := due_time_out(session, now_s))
        ):
            store.accept(time_out)
            # If nobody has acted for some turns, stop the clock at the beginning of this one.
            if since_s := store.session.idle_since_s:
                store.accept(Pause("idle", since_s))
        if session.countdown:
            store.note_clock()

    def _stamp(self, at_s: float | None) -> float:
        """Return the monotonic time from which an input counts.

        That is the time `at_s` of its arrival, but never one in the future. If it is None, the
        input counts from now.
        """
        now_s = self.now_s()
        return now_s if at_s is None else min(at_s, now_s)

    # ---- seats -----------------------------------------------------------------------------------

    def take_seat(self, seat: Seat, name: str, door: str = "phone") -> str:
        """Seat a player who plays by this door, and return the nonce for the player's token.

        Raises `Illegal` if the seat is taken, and `Malformed` for a name that cannot be shown.
        """
        record = TakeSeat(seat, name, secrets.token_urlsafe(18), door)
        self._store.submit(record)
        return record.nonce

    def show_card(self, seat: Seat, card: str, sitting: str | None = None) -> None:
        """Show a player's card at a seat, by its id at the hub. An empty id removes it.

        `sitting` as for `seating.free_seat`.
        """
        with self._store.hold():
            seating.require_sitting(self._store, seat, sitting)
            self._store.accept(ShowCard(seat, card))

    def change_door(self, seat: Seat, door: str, sitting: str | None = None) -> None:
        """Let the player of a seat continue by `pad` or `phone`, with the same token.

        `sitting` as for `seating.free_seat`.
        """
        with self._store.hold():
            seating.require_sitting(self._store, seat, sitting)
            self._store.accept(MoveSeat(seat, door))

    # ---- games -----------------------------------------------------------------------------------

    def skip_lesson(self, by: str) -> None:
        """Leave the lesson, and continue with the game. Raises `Illegal` without a lesson."""
        self._store.submit(SkipLesson(by, self.now_s()))

    def abandon(self) -> None:
        """End the game without a result, for the owner."""
        with self._store.hold():
            self._store.accept(Abandon())
            seating.free_lone_machines(self._store)

    # ---- the turn that is due --------------------------------------------------------------------

    def hand_in(
        self, seat: Seat, moment: str, action: str, salt: str = "", at_s: float | None = None
    ) -> str:
        """Seal a seat's action, and return its receipt (see `turns.hand_in`).

        `at_s` is the monotonic time at which the action arrived, None for now. An action that
        arrived in time counts, even if another thread held the table until after the time-out.
        """
        record = HandIn(seat, moment, action, salt, now_s=self._stamp(at_s))
        with self._store.hold():
            return turns.hand_in(self._store, record)

    def act(self, moment: str, action: str, at_s: float | None = None) -> None:
        """Act for the seat on turn, in an open game (see `turns.act`)."""
        stamp_s = self._stamp(at_s)
        with self._store.hold():
            turns.act(self._store, moment, action, stamp_s)

    def take_back(self, seat: Seat, moment: str, at_s: float | None = None) -> None:
        """Take back a sealed action, or the last turn if nobody has learned anything from it."""
        self._store.submit(TakeBack(seat, moment, self._stamp(at_s)))

    def decline(self, seat: Seat) -> None:
        """Decline the other seat's offer of a draw or request to undo, or withdraw one."""
        self._store.submit(Decline(seat, self.now_s()))

    def pause(self, by: str, at_s: float | None = None) -> None:
        """Pause the turn's clock."""
        stamp_s = self._stamp(at_s)
        with self._store.hold():
            self._store.accept_stamped(stamp_s, Pause(by, stamp_s))

    def resume(self, by: str) -> None:
        """Resume the turn's clock."""
        self._store.submit(Resume(by, self.now_s()))

    def resign(self, seat: Seat) -> None:
        """Resign for a seat."""
        self._store.submit(Resign(seat))

    def offer_draw(self, seat: Seat) -> None:
        """Offer a draw, or accept the other's offer."""
        self._store.submit(OfferDraw(seat))

    # ---- devices and adapters --------------------------------------------------------------------

    def set_panel_notice(self, sentence: str) -> None:
        """Show a sentence about the pads. An empty one removes it."""
        with self._store.hold_for_device():
            self._store.publish(replace(self._store.live, panel_notice=sentence))

    def set_notice(self, topic: NoticeTopic, sentence: str) -> None:
        """Show a lasting trouble that stops nothing. An empty sentence removes it."""
        with self._store.hold_for_device():
            self._store.set_notice(topic, sentence)

    def set_own_wifi(self, is_own: bool) -> None:
        """Set whether the table has opened its own Wi-Fi, and redraw the pages."""
        with self._store.hold_for_device():
            self._store.publish(replace(self._store.live, has_own_wifi=is_own))

    def report_disk(self, sentence: str, may_begin: bool) -> None:
        """Show how full the disk is, and set whether a game may begin."""
        with self._store.hold_for_device():
            self._store.has_disk_space = may_begin
            # The next write sets the notice again if it fails.
            self._store.set_notice(WRITE_ERROR, "")
            self._store.set_notice("disk", sentence)

    def set_round(self, sentence: str, game: tuple[str, GameOptions] | None) -> None:
        """Set the tournament's round at this table: its players, and its game with options.

        `sentence` names the players. Without a round it is empty, and `game` is None.
        """
        with self._store.hold_for_device():
            self._store.round_game = game
            self._store.publish(replace(self._store.live, round_players=sentence))

    def redraw(self) -> None:
        """Redraw all pages, because something else that they show has changed."""
        with self._store.hold_for_device():
            self._store.publish(self._store.live)
