"""The session: the state of seats and game as a value.

`companion.table.reducer` folds it from the journal's records.

The words of this package, which other modules use without explaining them:

- seat: South or North, opposite each other at the board. Its player is a person or a program.
- side: how a seat looks in one game, with a name such as `purple`.
- door: what a player plays by: `phone`, `pad`, `machine` (a program) or `remote` (another table).
- open game: one in which anybody at the table may act for the seat on turn, as on a chess clock.
- pad: eight keys and four lamps of a seat, beside the board.
- nonce: random text that is made when somebody takes a seat. The token of the player's phone (a
  cookie, see `web/security/auth.py`) carries it, so the tokens of earlier players are void.
- owner: whoever looks after the table and has its key. Records and addresses say `host`.
- notation: how an action is written in records and receipts, the same in every language.
- turn of both: a turn in which both seats act at once, without seeing each other's action. In a
  turn of one seat, only the seat on turn acts.
- sealed: an action is sealed when it is handed in. It is then in the journal, but nobody sees it
  until all seats that have to act have handed in. Its receipt is a hash that is public at once.
- stage: a part of a revealed turn. Pages show one at a time, and hands carry it out on the board.
- headline: a sentence on what happened in a stage. It is shown before the instructions to hands.
- sheet: the orders of one seat's pieces, in games that give each piece an order.
- moment: the id of the decision that is due, such as `3.2`. It is the number of the game and the
  tick. An input names the moment that it is for, so one that comes too late is refused.
- tick: a number that counts the decisions of a game. A turn that is taken back counts too.
- sign: the one sentence that says what the table waits for.
- cue: what sounds and lights up when something happens. A signal is a cue with its seats.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import dropwhile, takewhile
from random import Random
from typing import Any

from companion.core.errors import Illegal, Refusal, Stale
from companion.core.i18n import Verbatim, say
from companion.core.kit import SEATS, Kit, Layout, Seat
from companion.core.ports import Cue, Signal
from companion.games.base import Event, Game, Outcome, Stage
from companion.table.chance.fairness import FairChance, stream_number, turn_random
from companion.table.clocks.countdown import ChessClocks, Countdown
from companion.table.records import GameOptions, Score
from companion.table.remote.messages import REMOTE, RemoteGame

BOTH = frozenset(SEATS)
# Who looks at the table: the player of a seat, or everybody (None).
Viewer = Seat | None
# The door of a seat that a program plays.
MACHINE = "machine"
# The outcome of a game that the owner ends: nobody wins, and it does not count.
ABANDONED = Outcome(frozenset(), say("The owner ended the game."))


class Phase(StrEnum):
    """The phase of a table.

        LOBBY ──> SETUP ──> ORDERS <──> STAGES ──> OVER ──> LOBBY

    In `SETUP` hands put the pieces in place, in `ORDERS` actions are collected, and in `STAGES`
    hands carry out the revealed turn. `SETUP` is left out if no board has to be set up, `STAGES` if
    a turn has none. A turn that is undone leads back to `ORDERS`, over `SETUP` if pieces have to be
    put back. A game can be ended in any phase.
    """

    LOBBY = "lobby"
    SETUP = "setup"
    ORDERS = "orders"
    STAGES = "stages"
    OVER = "over"


# Phases in which no game is running.
BETWEEN_GAMES = (Phase.LOBBY, Phase.OVER)
# Number of timed-out turns in a row, two of each side, after which the clock is stopped.
IDLE_TURNS = 4


@dataclass(frozen=True)
class Player:
    """The player of a seat, a person or a program."""

    name: str
    """Name as typed. Empty for a guest."""
    nonce: str
    """Random text that the token of the player's phone carries, and nobody else's."""
    door: str
    """What the player plays by: `phone`, `pad`, `machine` or `remote`."""
    card: str = ""
    """Id of the player's card at a hub. Empty if none was shown."""


@dataclass(frozen=True)
class SealedAction:
    """An action that was handed in.

    Its receipt is public at once. Everything else is public after the reveal.
    """

    action: str
    """The action in notation."""
    salt: str
    """Random text that makes the receipt unguessable."""
    at: float
    """Unix time in seconds at which it was handed in."""
    receipt: str
    """SHA-256 of the action with its salt (see `receipt_of`)."""
    nonce: str = ""
    """Nonce of the player who handed it in. A later player of the seat may take the action back,
    but never see it.
    """


@dataclass(frozen=True)
class Turn:
    """A revealed turn: the sealed actions and their effect."""

    moment: str
    """The moment for which its actions were handed in."""
    sealed: Mapping[Seat, SealedAction]
    """The actions by seat: two in a turn of both, otherwise one."""
    stages: tuple[Stage, ...]
    """The parts of the turn, which hands carry out one after the other."""
    events: tuple[Event, ...]
    """What happened in the whole turn."""
    completed_at_s: float = 0.0
    """Monotonic time at which the last of the actions was handed in."""
    is_timed_out: bool = False
    """Whether the clock ran out and nobody acted."""
    due_s: float | None = None
    """Monotonic time at which the clock ran out or would have run out. None without a limit."""
    number: int = 0
    """Number of the turn by the game's own count, which is 0 during its set-up."""

    @property
    def is_of_one_seat(self) -> bool:
        """Whether only one seat has acted, as in games in which the seats take turns."""
        return len(self.sealed) == 1


# The last turn of a game without any. No key was pressed at its time.
NO_TURN = Turn("", {}, (), (), completed_at_s=-math.inf)
# An empty stage, for while no stage is shown.
NO_STAGE = Stage("", {}, (), None)


# Key that identifies a stage, a set-up or a decision: the number of the game, the tick (second part
# of the moment), the phase and the index of the stage.
StageKey = tuple[int, int, Phase, int]


@dataclass(frozen=True)
class Session:
    """The state of seats and game, with all secrets. The reducer folds it from the journal.

    It never changes. Never give it to a page: `views` filters it for a viewer.
    """

    # ---- the players and their match ----
    seats: Mapping[Seat, Player] = field(default_factory=dict)
    """The players by seat. A free seat is left out."""
    score: Score = (0, 0, 0)
    """The match so far: wins of South, wins of North, ties."""
    coached_seats: frozenset[Seat] = frozenset()
    """Seats that have asked the coach during this game."""

    # ---- the game as it was begun ----
    game_number: int = 0
    """Number of the game in the journal, counted from 1. 0 before the first game."""
    game: Game[Any, Any] | None = None
    """The rules of the game. None in the lobby."""
    options: Any = None
    """The game's options, in a type of the game's own."""
    chosen_options: GameOptions = field(default_factory=dict)
    """The options that were chosen, by name, from which `options` was made."""
    is_guided: bool = False
    """Whether this game began with a lesson. Its progress is in `lesson_progress`."""
    has_left_lesson: bool = False
    """Whether the players have left the lesson to play a normal game."""

    # ---- chance ----
    seed: int = 0
    chance: FairChance | None = None
    """The source of the seed. None if the owner chose it, if an older version of the program drew
    it, if the game uses no chance, or at two tables until the first reveal.
    """
    is_seed_chosen: bool = False
    """Whether the owner has chosen the seed."""
    commitment: str = ""
    """The SHA-256 of the secret from which the chance of the next game comes. Empty if there is no
    such secret yet.
    """

    # ---- how far the game has come ----
    phase: Phase = Phase.LOBBY
    state: Any = None
    """The position, in a type of the game's own."""
    tick: int = 0
    """Second part of the moment, which says when it changes. It never falls during a game, even if
    a turn is taken back.
    """
    sealed: Mapping[Seat, SealedAction] = field(default_factory=dict)
    """Actions that are handed in for the decision that is due, by seat."""
    turns: tuple[Turn, ...] = ()
    """Turns that were revealed and not taken back."""
    stage_index: int = 0
    """Index of the stage that is shown, in the stages of the last turn."""
    outcome: Outcome | None = None
    """How the game ended. None before its end."""

    # ---- the board ----
    layout: Layout | None = None
    """Layout that is expected on the board before the current stage is carried out. None if the
    board is not checked.
    """
    undone_layout: Layout = field(default_factory=dict)
    """Layout from which hands put a turn back, during a set-up for that. Empty in the set-up of a
    new game.
    """

    # ---- taking back, and offers ----
    before_turn: Session | None = None
    """The session just before the last turn was revealed, for taking it back. Its clock is stopped
    at that time. None if there is no such turn.
    """
    has_taken_back: bool = False
    """Whether the action of this turn was already taken back once."""
    undo_requester: Seat | None = None
    """The seat that wants to undo the last turn and waits for the other's consent."""
    undo_requested_at_s: float = 0.0
    """Monotonic time of that request."""
    draw_offer: Seat | None = None

    # ---- the clock ----
    countdown: Countdown | None = None
    """The clock of the decision that is due. None without a time limit."""
    chess_clocks: ChessClocks | None = None
    """The chess clocks of both seats. None in a game without them. `countdown` is the clock of the
    seat on turn.
    """
    paused_by: str = ""
    """Who or what paused the clock: a seat, `host` (the owner), `table`, `restart`, `undo`, `idle`,
    or `start` if it has not been started yet. Empty while it is not paused.
    """
    turns_before_resume: int = 0
    """Number of turns that had been revealed when the clock was last resumed."""

    # ---- the other table ----
    remote: RemoteGame | None = None
    """State of the table at which the other seat is played. None if both are played here."""

    # ---- the moment ------------------------------------------------------------------------------

    @property
    def moment(self) -> str:
        """The moment that an action must name to be in time.

        It is `3.2` for the second decision of game 3. It changes when another decision is due, when
        a turn is taken back, and when the game ends. It stays while the stages of a turn are shown,
        and while one of two seats has handed in.
        """
        return f"{self.game_number}.{self.tick}"

    def require_moment(self, moment: str) -> None:
        """Raise `Stale` unless this is the current moment."""
        if moment != self.moment:
            raise turn_is_over()

    @property
    def stage_key(self) -> StageKey:
        """The key of the shown stage, set-up or decision."""
        return self.game_number, self.tick, self.phase, self.stage_index

    @property
    def is_between_games(self) -> bool:
        """Whether no game is running."""
        return self.phase in BETWEEN_GAMES

    @property
    def is_in_play(self) -> bool:
        """Whether orders are collected, or carried out."""
        return self.phase in (Phase.ORDERS, Phase.STAGES)

    # ---- the game --------------------------------------------------------------------------------

    def require_game(self) -> Game[Any, Any]:
        """Return the game. Raises `Illegal` if none is chosen."""
        if self.game is None:
            raise Illegal(Refusal.NO_GAME, say("No game is on: choose one first"))
        return self.game

    @property
    def kit(self) -> Kit | None:
        """The kit on the table, or None in the lobby."""
        return self.game.kit(self.options) if self.game else None

    @property
    def rng(self) -> Random:
        """A new random generator for the turn that is due.

        A turn that was taken back draws the same again.
        """
        number = stream_number(self.chance, self.is_seed_chosen, len(self.turns) + 1, self.tick)
        return turn_random(self.seed, number)

    # ---- the players -----------------------------------------------------------------------------

    @property
    def seats_here(self) -> dict[Seat, Player]:
        """The players at this table."""
        return {seat: player for seat, player in self.seats.items() if player.door != REMOTE}

    @property
    def doors(self) -> frozenset[str]:
        """The doors of all players."""
        return frozenset(player.door for player in self.seats.values())

    def door_of(self, seat: Seat) -> str:
        """Return the door of a seat's player. Empty if the seat is free."""
        player = self.seats.get(seat)
        return player.door if player else ""

    def nonce_of(self, seat: Seat) -> str | None:
        """Return the nonce of a seat's player, which the player's token must carry.

        None if the seat is free.
        """
        player = self.seats.get(seat)
        return player.nonce if player else None

    def is_machine_seat(self, seat: Seat) -> bool:
        """Return whether a program plays this seat.

        False if people deal the cards themselves, because then a program cannot know its cards.
        """
        player = self.seats.get(seat)
        if player is None or player.door != MACHINE:
            return False
        return self.game is None or not self.game.is_dealt_by_hand(self.options)

    def is_remote(self, seat: Seat) -> bool:
        """Return whether this seat is played at another table.

        False once the game is over, because then anybody may sit down.
        """
        return (
            self.remote is not None
            and seat is self.remote.their_seat
            and self.phase is not Phase.OVER
        )

    def had_remote_player(self, seat: Seat) -> bool:
        """Return whether this seat was played at another table, in a game that is over.

        Anybody may take it then.
        """
        return self.phase is Phase.OVER and self.door_of(seat) == REMOTE

    def is_played_here(self, seat: Seat) -> bool:
        """Return whether a person at this table plays this seat, or could take it."""
        if self.remote is not None and self.is_remote(seat):
            return False
        return not self.is_machine_seat(seat)

    def piece_mover(self, seat: Seat) -> Seat:
        """Return the seat whose player moves this seat's pieces.

        It is this seat itself, or the one opposite if only that has a person at this table.
        """
        is_own = self.is_played_here(seat) or not self.is_played_here(seat.other)
        return seat if is_own else seat.other

    @property
    def can_swap(self) -> bool:
        """Whether the players can swap seats at the press of a key.

        A player at a pad or at another table cannot change places.
        """
        return self.is_between_games and bool(self.seats) and not self.doors & {"pad", REMOTE}

    # ---- the decision that is due ----------------------------------------------------------------

    @property
    def due_turn_number(self) -> int:
        """The number of the turn for which actions are collected, by the game's own count.

        That is 0 during its set-up.
        """
        number = self.game.turn_number(self.state) if self.game and self.state is not None else None
        return len(self.turns) + 1 if number is None else number

    @property
    def awaited_seats(self) -> frozenset[Seat]:
        """The seats that still have to hand in an action.

        A seat at another table is left out once its action is sealed there, although this table
        does not have the action yet. If no other action is missing, this table waits for that seat
        nevertheless.
        """
        if self.phase is not Phase.ORDERS or self.game is None:
            return frozenset()
        due = self.game.to_act(self.state) - set(self.sealed)
        if self.remote and self.remote.sealed_action:
            return due - {self.remote.their_seat} or due
        return due

    @property
    def may_use_tiles(self) -> bool:
        """Whether the orders that are due may be given by tiles."""
        return (
            self.phase is Phase.ORDERS and self.kit is not None and self.kit.order_tiles is not None
        )

    @property
    def is_open(self) -> bool:
        """Whether anybody at the table may act for the seat on turn, as on a chess clock."""
        return bool(self.open_actions)

    @property
    def open_actions(self) -> frozenset[str]:
        """The actions that anybody at the table may take for the seat on turn.

        Empty if that seat is not played here.
        """
        if self.game is None or not any(map(self.is_played_here, self.awaited_seats)):
            return frozenset()
        if cards := self.game.card_ui(self.state, None):
            return frozenset(choice.text for choice in cards.choices)
        pieces = self.game.board_ui(self.state, None)
        return frozenset({pieces.open_action}) if pieces and pieces.open_action else frozenset()

    @property
    def idle_since_s(self) -> float | None:
        """The monotonic time since which the clock has been running for nobody.

        Nobody is playing after two time-outs in a row for each seat. None if somebody is.
        """
        # Somebody who resumes the clock is present, so the count starts again.
        last_turns = self.turns[self.turns_before_resume :][-IDLE_TURNS:]
        if self.phase is not Phase.ORDERS or self.countdown is None or self.remote is not None:
            return None
        is_idle = len(last_turns) == IDLE_TURNS and all(turn.is_timed_out for turn in last_turns)
        return self.countdown.started_at_s if is_idle else None

    # ---- sealed and revealed actions -------------------------------------------------------------

    def own_sealed_action(self, seat: Seat) -> SealedAction | None:
        """Return the sealed action of a seat, but not that of an earlier player of the seat."""
        sealed = self.sealed.get(seat)
        return sealed if sealed and sealed.nonce == self.nonce_of(seat) else None

    def find_sealed_action(self, seat: Seat, moment: str) -> SealedAction | None:
        """Return the action that a seat has handed in for a moment, sealed or already revealed.

        None if there is none, or if that turn was taken back.
        """
        if moment == self.moment and seat in self.sealed:
            return self.sealed[seat]
        for turn in self.turns:
            if turn.moment == moment:
                return turn.sealed.get(seat)
        return None

    def is_repeated_press(self, seat: Seat, moment: str, action: str) -> bool:
        """Return whether this press of the chess clock has already counted.

        It may have counted for this moment, or for a later one of the same seat.
        """
        # The turns since that moment, up to the first one of the other seat.
        turns_since = dropwhile(lambda turn: turn.moment != moment, self.turns)
        own_turns = takewhile(lambda turn: seat in turn.sealed, turns_since)
        return any(turn.sealed[seat].action == action for turn in own_turns)

    @property
    def last_turn(self) -> Turn:
        """The turn that was revealed last, or an empty one."""
        return self.turns[-1] if self.turns else NO_TURN

    @property
    def fully_shown_turns(self) -> tuple[Turn, ...]:
        """The turns of which everything may be shown, because their last stage has been."""
        # Before the last stage, the later orders of both seats are still secret.
        is_last_hidden = self.phase is Phase.STAGES and self.stage_index + 1 < len(self.stages)
        return self.turns[:-1] if is_last_hidden else self.turns

    def own_turn_indices(self, seat: Seat) -> tuple[int, ...]:
        """Return the indices in `turns` of the turns in which a seat's present player has acted.

        Only turns that are fully shown count. The action of an earlier player of this seat stays
        secret.
        """
        nonce = self.nonce_of(seat)
        return tuple(
            index
            for index, turn in enumerate(self.fully_shown_turns)
            if seat in turn.sealed and turn.sealed[seat].nonce == nonce
        )

    @property
    def can_undo(self) -> bool:
        """Whether the last turn can be undone.

        It cannot at two tables, nor once the end of a game has shown everything that it hid.
        """
        if self.before_turn is None or self.game is None or self.remote is not None:
            return False
        return self.phase is not Phase.OVER or not self.game.hides(self.options)

    # ---- stages and hands ------------------------------------------------------------------------

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the turn that was revealed last."""
        return self.last_turn.stages

    @property
    def shown_stage(self) -> Stage:
        """The stage that is shown, or an empty one."""
        return self.stages[self.stage_index] if self.phase is Phase.STAGES else NO_STAGE

    @property
    def expected_layout(self) -> Layout | None:
        """The layout that is expected when hands are done.

        None if nothing is checked now.
        """
        if self.phase is Phase.STAGES:
            return self.shown_stage.expected
        if self.game is None or self.phase is not Phase.ORDERS or self.game.is_checked(self.state):
            return self.layout
        return None

    @property
    def needs_hands(self) -> bool:
        """Whether the current stage gives hands anything to do."""
        if self.shown_stage.todo:
            return True
        expected = self.expected_layout
        return expected is not None and (self.layout or {}) != expected

    @property
    def awaits_other_table(self) -> bool:
        """Whether this table waits for the other one.

        It does so when it has reported that its board is right, and when it has asked a question.
        """
        return self.remote is not None and (
            self.remote.has_reported_stage or bool(self.remote.open_question)
        )

    # ---- the end of a game -----------------------------------------------------------------------

    @property
    def is_tie_to_replay(self) -> bool:
        """Whether the game ended in a draw that is replayed."""
        if self.game is None or self.outcome is None or not self.game.replays_ties or self.remote:
            return False
        return not self.outcome.winners and self.outcome == self.game.outcome(self.state)

    @property
    def is_void(self) -> bool:
        """Whether the game has no result that counts.

        It is then a lesson, a game that the owner has ended, or a draw that is replayed.
        """
        return self.is_guided or self.is_tie_to_replay or self.outcome == ABANDONED

    @property
    def lobby(self) -> Session:
        """The lobby that follows this game.

        It has only the players at this table. The change needs no record in the journal, because
        all records that may follow have the same effect as at the end of the game.
        """
        return Session(seats=self.seats_here, commitment=self.commitment)

    def is_replaced_by_lobby(self, before: Session) -> bool:
        """Return whether the lobby replaces the end of this game.

        It does so if the owner has ended the game, or if another person has taken a seat since the
        session `before`. The end of a game at two tables stays, because the other table may not
        have learned of it yet.
        """
        if self.remote is not None:
            return False
        # A nonce stands for a person, so nothing has changed if two people swap their seats.
        nonces = {player.nonce for player in self.seats.values()}
        has_changed = nonces != {player.nonce for player in before.seats.values()}
        return self.outcome == ABANDONED or (before.phase is Phase.OVER and has_changed)


def turn_is_over() -> Stale:
    """Return the error for input that belongs to an earlier turn."""
    return Stale(say("That turn is over: look at the page again"))


Signals = tuple[Signal, ...]
# What a record does to a session: the next session, and the cues that announce it.
Transition = tuple[Session, Signals]


def player_names_by_side(
    game: Game[Any, Any] | None, names: Mapping[Seat, str]
) -> Mapping[str, str]:
    """Return the name of each side's player, by the side's name, without guests.

    Empty without a game, or if both players have the same name.
    """
    if game is None or len(set(names.values())) < len(names):
        return {}
    names_by_side: dict[str, str] = {}
    for seat, name in names.items():
        if name:
            names_by_side[str(game.sides[seat].name)] = Verbatim(name)
    return names_by_side


def receipt_of(moment: str, seat: Seat, action: str, salt: str) -> str:
    """Return the receipt of an action, which everybody can check after the reveal.

    It is the SHA-256 of `"MOMENT SEAT ACTION SALT"` in UTF-8, as 64 hexadecimal digits.

    >>> receipt_of("1.1", Seat.SOUTH, "UUS", "00")[:8]
    '6b5ecad5'
    """
    return hashlib.sha256(f"{moment} {seat} {action} {salt}".encode()).hexdigest()


def event_signals(events: tuple[Event, ...]) -> Signals:
    """Return the cues of events that have one, for the event's seat or for both."""
    return tuple(
        Signal(event.kind.cue, frozenset({event.seat}) if event.seat else BOTH)
        for event in events
        if event.kind.cue
    )


def stage_signals(session: Session) -> Signals:
    """Return the cues of the current stage: its number, then those of its events.

    If no event has a cue and hands have work, the second cue calls for hands.
    """
    signals = event_signals(session.shown_stage.events)
    if session.needs_hands and not signals:
        signals = (Signal(Cue.HANDS_WANTED, BOTH),)
    return (Signal(Cue.STEP, BOTH, session.stage_index + 1), *signals)
