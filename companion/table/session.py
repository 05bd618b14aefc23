"""One game at the table as a value: what `companion.table.reducer` folds from the records of its
journal.
"""

from __future__ import annotations

import hashlib
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
from companion.games.base import Drawn, Event, Game, Outcome, Stage
from companion.games.lesson import Lesson, LessonStep
from companion.table.chance.fairness import FairChance
from companion.table.clocks.countdown import Bank, Countdown
from companion.table.records import GameOptions, Score
from companion.table.remote.messages import REMOTE, RemoteGame

BOTH = frozenset(SEATS)
MACHINE = "machine"
"""The door of a seat that a program plays."""
ABANDONED = Outcome(frozenset(), say("The owner ended the game."))
"""How a game ends that the host ends: nobody has won, and it does not count."""


class Phase(StrEnum):
    """Where a table stands. `ORDERS`: actions are collected; `STAGES`: hands follow what was
    revealed.
    """

    LOBBY = "lobby"
    SETUP = "setup"
    ORDERS = "orders"
    STAGES = "stages"
    OVER = "over"


# ---- the session ---------------------------------------------------------------------------------


IDLE_TURNS = 4
"""How many turns in a row nobody took, two of each side, before the clock stops."""


@dataclass(frozen=True)
class Sitter:
    """Who sits at a seat, and through which door (`phone`, `pad`, `machine` or `remote`).

    `card` is the player's card of a hub that was shown; empty: none.
    """

    name: str
    nonce: str
    door: str
    card: str = ""


@dataclass(frozen=True)
class Sealed:
    """An action handed in. `receipt` is public at once, the rest after the reveal.

    `owner` is the nonce of whoever sat there: who takes the seat later may take the action back,
    but never see it.
    """

    action: str
    salt: str
    at: float
    receipt: str
    owner: str = ""


@dataclass(frozen=True)
class Turn:
    """A turn that was revealed: what was sealed, and what came of it.

    `acted_s` is the monotonic time of what completed it; `by_time`: that was the clock, nobody
    acted; `due_s` is when its time ran out, or would have (None: never). `number` is its number as
    the game counts; 0: it was part of the set-up.
    """

    moment: str
    sealed: Mapping[Seat, Sealed]
    stages: tuple[Stage, ...]
    events: tuple[Event, ...]
    acted_s: float = 0.0
    by_time: bool = False
    due_s: float | None = None
    number: int = 0


@dataclass(frozen=True)
class Session:
    """The table's public and secret state. Never hand one to a page: `views` filters it for a
    viewer.
    """

    seats: Mapping[Seat, Sitter] = field(default_factory=dict)
    number: int = 0
    game: Game[Any, Any] | None = None
    options: Any = None
    raw_options: GameOptions = field(default_factory=dict)
    seed: int = 0
    """What chance is drawn from."""
    chance: FairChance | None = None
    """Where the seed comes from; None: somebody chose it, or an older version of the program drew
    it."""
    is_chosen: bool = False
    """Did the host choose the seed?"""
    is_guided: bool = False
    """Did this game begin with a lesson?"""
    is_alone: bool = False
    """Has the guide left before the lesson was over?"""
    is_disclosed: bool = False
    """Is it over for good, so that everything that was hidden may be told?"""
    commitment: str = ""
    """What binds the table to the chance of the next game; empty: nothing yet."""
    state: Any = None
    phase: Phase = Phase.LOBBY
    tick: int = 0
    sealed: Mapping[Seat, Sealed] = field(default_factory=dict)
    stage: int = 0
    turns: tuple[Turn, ...] = ()
    board: Layout | None = None
    """What should lie on the board before the current stage is carried out; None: the board is not
    checked."""
    put_back: Layout = field(default_factory=dict)
    """What lies on the board in a set-up that puts a turn back; empty in one that begins a game."""
    outcome: Outcome | None = None
    score: Score = (0, 0, 0)
    draw_offer: Seat | None = None
    back_wanted: Seat | None = None
    """Who wants the last turn back and waits for the other's yes."""
    back_since_s: float = 0.0
    """The monotonic time since when."""
    coached: frozenset[Seat] = frozenset()
    """Who has asked the coach in this game."""
    countdown: Countdown | None = None
    """The clock of the decision that is due; None: it may take as long as it likes."""
    bank: Bank | None = None
    """What each seat has left on its chess clock, of which `countdown` is the one that runs; None:
    there is none."""
    paused: str = ""
    """Who has stopped the clock; empty: nobody."""
    turns_before_resume: int = 0
    """How many turns had been taken when the clock last went on after a stop."""
    has_reverted: bool = False
    """Was the action of this turn taken back once already?"""
    remote: RemoteGame | None = None
    """What is known of the table at which the other seat is played; None: both are played here."""
    before: Session | None = None
    """The session in which the last turn was taken, for taking it back; its clock stands still at
    that time."""

    @property
    def moment(self) -> str:
        """Return what an action must name to be in time. It changes with every turn alone."""
        return f"{self.number}.{self.tick}"

    @property
    def turn_due(self) -> int:
        """Return the number of the turn for which actions are collected, as the game counts.

        0: it is still being set up.
        """
        number = self.game.turn_number(self.state) if self.game and self.state is not None else None
        return len(self.turns) + 1 if number is None else number

    @property
    def _lesson(self) -> Lesson | None:
        """Return the lesson while its guide is here."""
        return self.game.lesson if self.game and self.is_guided and not self.is_alone else None

    @property
    def lesson_number(self) -> int | None:
        """Return the number of the step of the lesson that is on, counted from 0.

        None: no guide is here (any more).
        """
        lesson = self._lesson
        if lesson is None or self.is_between:
            return None
        # while a turn is shown, the step that asked for it is still on
        number = len(self.turns) - (self.phase is Phase.STAGES)
        return number if number < len(lesson.steps) else None

    @property
    def has_just_learned(self) -> bool:
        """Return whether the first decision is due that a lesson has led up to."""
        lesson = self._lesson
        if lesson is None or self.phase is not Phase.ORDERS:
            return False
        return len(self.turns) == len(lesson.steps)

    @property
    def lesson_step(self) -> LessonStep | None:
        """Return the step of the lesson that is on. None: no guide is here."""
        lesson, number = self._lesson, self.lesson_number
        return lesson.steps[number] if lesson and number is not None else None

    def asked_of(self, seat: Seat) -> str | None:
        """Return the one action that the lesson wants of a seat now, in notation.

        None: it may do as it likes.
        """
        if not self.is_guided or self.phase is not Phase.ORDERS:
            return None
        step = self.lesson_step
        return step.orders.get(seat) if step else None

    @property
    def is_between(self) -> bool:
        """Return whether no game is on."""
        return self.phase in (Phase.LOBBY, Phase.OVER)

    @property
    def draws(self) -> Drawn:
        """Return since when the game on the table draws something from its seed."""
        drawn = self.game.drawn(self.options) if self.game else None
        return drawn or Drawn.NEVER

    @property
    def rng(self) -> Random:
        """Return the chance of the turn that is due.

        A turn that was taken back draws the same once more.
        """
        # older versions counted by ticks, which also number what was taken back
        counts_turns = self.chance is not None or self.is_chosen
        return chance(self.seed, len(self.turns) + 1 if counts_turns else self.tick)

    @property
    def is_opened(self) -> bool:
        """Return whether everybody may see where chance came from.

        When the game is over and nothing hidden can be of use any more.
        """
        if self.phase is not Phase.OVER or self.game is None:
            return False
        return self.is_disclosed or not self.game.hides(self.options)

    @property
    def kit(self) -> Kit | None:
        """Return what lies on the table, or None in the lobby."""
        return self.game.kit(self.options) if self.game else None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Return the stages of the turn that was revealed last."""
        return self.turns[-1].stages if self.turns else ()

    @property
    def opened_turns(self) -> tuple[Turn, ...]:
        """Return the turns of which every stage has been shown: only their orders may be told."""
        # the last stage shows the rest of both orders
        hidden = self.phase is Phase.STAGES and self.stage + 1 < len(self.stages)
        return self.turns[:-1] if hidden else self.turns

    @property
    def target(self) -> Layout | None:
        """Return what should lie on the board when hands are done. None: nobody checks now."""
        if self.phase is Phase.STAGES:
            return self.stages[self.stage].expected
        if self.game is None or self.phase is not Phase.ORDERS or self.game.is_checked(self.state):
            return self.board
        return None  # an action waits to be decided

    @property
    def awaited(self) -> frozenset[Seat]:
        """Return who still has to hand in an action.

        A seat at another table has once its order is sealed there, unless nothing but that order is
        waited for.
        """
        if self.phase is not Phase.ORDERS or self.game is None:
            return frozenset()
        due = self.game.to_act(self.state) - set(self.sealed)
        return due - {self.remote.seat} or due if self.remote and self.remote.bound else due

    @property
    def awaits_tiles(self) -> bool:
        """Return whether orders that are due may lie as tiles."""
        return (
            self.phase is Phase.ORDERS and self.kit is not None and self.kit.order_tiles is not None
        )

    @property
    def has_moves(self) -> bool:
        """Return whether a hand has anything to do for the current stage."""
        if self.phase is Phase.STAGES and self.stages[self.stage].todo:
            return True
        return self.target is not None and (self.board or {}) != self.target

    @property
    def idle_since_s(self) -> float | None:
        """Return since when the clock runs for nobody: time ran out for both seats twice in a row.

        None: somebody plays.
        """
        # whoever lets the clock go on is there: the count begins anew
        last = self.turns[self.turns_before_resume :][-IDLE_TURNS:]
        if self.phase is not Phase.ORDERS or self.countdown is None or self.remote is not None:
            return None
        is_idle = len(last) == IDLE_TURNS and all(turn.by_time for turn in last)
        return self.countdown.since_s if is_idle else None

    @property
    def is_open(self) -> bool:
        """Return whether anybody at the table may act for the seat on turn, as on a chess clock."""
        return bool(self.open_actions)

    @property
    def open_actions(self) -> frozenset[str]:
        """Return what anybody at the table may do for the seat on turn, where that seat is at this
        table.
        """
        if self.game is None or not any(map(self.is_here, self.awaited)):
            return frozenset()
        if cards := self.game.card_ui(self.state, None):
            return frozenset(choice.text for choice in cards.choices)
        pieces = self.game.board_ui(self.state, None)
        return frozenset({pieces.open_action}) if pieces and pieces.open_action else frozenset()

    @property
    def is_tie_to_replay(self) -> bool:
        """Return whether this is the end of a game whose tie is played again."""
        if self.game is None or self.outcome is None or not self.game.replays_ties or self.remote:
            return False
        return not self.outcome.winners and self.outcome == self.game.outcome(self.state)

    @property
    def is_void(self) -> bool:
        """Return whether no result of this game counts: a lesson, an ended game, a draw played
        again.
        """
        return self.is_guided or self.is_tie_to_replay or self.outcome == ABANDONED

    @property
    def can_swap(self) -> bool:
        """Return whether both sides can change places by a key.

        Not where somebody plays by a pad, or elsewhere: that stays there.
        """
        doors = {sitter.door for sitter in self.seats.values()}
        return self.is_between and bool(doors) and not doors & {"pad", REMOTE}

    def at_home(self) -> Session:
        """Return the lobby, with those who sit here: nothing of the last game, and nobody of
        another table.

        It needs no record of its own: whatever follows a game folds the same from its end.
        """
        seats = {seat: sitter for seat, sitter in self.seats.items() if sitter.door != REMOTE}
        return Session(seats=seats, commitment=self.commitment)

    def is_left_for_home(self, before: Session) -> bool:
        """Return whether nobody looks back on this game: it was ended, or a seat changed hands
        since.

        At two tables the other one is still to be told how it ended.
        """
        if self.remote is not None:
            return False
        # a nonce is a person, so that two who change places are the same two
        sitters = {sitter.nonce for sitter in self.seats.values()}
        has_changed = sitters != {sitter.nonce for sitter in before.seats.values()}
        return self.outcome == ABANDONED or (before.phase is Phase.OVER and has_changed)

    def is_machines(self, seat: Seat) -> bool:
        """Return whether a program plays this seat.

        Not where people deal the cards themselves: it cannot know its own.
        """
        sitter = self.seats.get(seat)
        if sitter is None or sitter.door != MACHINE:
            return False
        return self.game is None or not self.game.is_dealt_by_hand(self.options)

    def is_remote(self, seat: Seat) -> bool:
        """Return whether this seat is played at another table.

        Not once the game is over: then anybody may sit down.
        """
        return self.remote is not None and seat is self.remote.seat and self.phase is not Phase.OVER

    def is_gone(self, seat: Seat) -> bool:
        """Return whether this seat was played at another table, in a game that is over."""
        return self.phase is Phase.OVER and seat in self.seats and self.seats[seat].door == REMOTE

    def is_here(self, seat: Seat) -> bool:
        """Return whether a person at this table plays this seat, or nobody yet."""
        is_elsewhere = self.remote is not None and self.is_remote(seat)
        return not (is_elsewhere or self.is_machines(seat))

    @property
    def is_shown_here(self) -> bool:
        """Return whether this table has said that its board shows the step that is on."""
        return self.remote is not None and (self.remote.is_shown_here or bool(self.remote.asked))

    def require_now(self, moment: str) -> None:
        """Raise `Stale` unless this is the moment that is due."""
        if moment != self.moment:
            raise turn_is_over()

    def hands_for(self, seat: Seat) -> Seat:
        """Return whose hands move this seat's pieces: its own or those of whoever sits opposite."""
        return seat if self.is_here(seat) or not self.is_here(seat.other) else seat.other

    def sealed_at(self, seat: Seat, moment: str) -> Sealed | None:
        """Return what a seat has handed in for a moment, sealed or revealed already."""
        if moment == self.moment and seat in self.sealed:
            return self.sealed[seat]
        for turn in self.turns:
            if turn.moment == moment:
                return turn.sealed.get(seat)
        return None

    def has_counted(self, seat: Seat, moment: str, action: str) -> bool:
        """Return whether this end of a turn by the chess clock has counted, if need be for a later
        moment.
        """
        if self.bank is None:
            return False
        # the turns from that moment on, as long as this seat alone has the turn
        later = dropwhile(lambda turn: turn.moment != moment, self.turns)
        own = takewhile(lambda turn: seat in turn.sealed, later)
        return any(turn.sealed[seat].action == action for turn in own)

    @property
    def playing(self) -> Game[Any, Any]:
        """Return the game. Raises `Illegal` when none is chosen."""
        if self.game is None:
            raise Illegal(Refusal.NO_GAME, say("No game is on: choose one first"))
        return self.game


def turn_is_over() -> Stale:
    """Return the refusal of what belongs to a turn before."""
    return Stale(say("That turn is over: look at the page again"))


Advance = tuple[Session, tuple[Signal, ...]]
"""The session after a record, and the cues that announce it."""


def named_sides(game: Game[Any, Any] | None, names: Mapping[Seat, str]) -> Mapping[str, str]:
    """Return who plays each side, by the side's word.

    Two of one name are told apart by their sides.
    """
    people: dict[str, str] = {}
    if game is None or len(set(names.values())) < len(names):
        return people
    for seat, name in names.items():
        if name:
            people[str(game.sides[seat].name)] = Verbatim(name)
    return people


def receipt(moment: str, seat: Seat, action: str, salt: str) -> str:
    """Return the SHA-256 of `"MOMENT SEAT ACTION SALT"` in UTF-8, as 64 hexadecimal digits.

    Everyone can check it after the reveal.

    >>> receipt("1.1", Seat.SOUTH, "UUS", "00")[:8]
    '6b5ecad5'
    """
    return hashlib.sha256(f"{moment} {seat} {action} {salt}".encode()).hexdigest()


def chance(seed: int, place: int) -> Random:
    """Return the chance of one turn, counted from 1 (0: the set-up): the same for the live game and
    for its replay.

    In games of older versions `place` is the tick of the turn's moment, which also counts what was
    taken back.
    """
    return Random(f"{seed}/{place}")


def chosen_words(game: Game[Any, Any], options: Any, is_chosen: bool) -> str:
    """Return what of a game's chance was chosen by the host, as a sentence.

    Empty: nothing, or nothing is drawn in it.
    """
    is_drawn = (game.drawn(options) or Drawn.NEVER) is not Drawn.NEVER
    return game.chosen(options) or (game.seed_chosen if is_chosen and is_drawn else "")


def event_signals(events: tuple[Event, ...]) -> tuple[Signal, ...]:
    """Return the cues of what happened."""
    signals = []
    for event in events:
        if event.kind.cue:
            signals.append(Signal(event.kind.cue, frozenset({event.seat} if event.seat else BOTH)))
    return tuple(signals)


def stage_signals(session: Session) -> tuple[Signal, ...]:
    """Return the cues of the stage that is shown now: its number, what happened in it, whose hands
    are wanted.
    """
    stage = session.stages[session.stage]
    happened = event_signals(stage.events)
    if session.has_moves and not happened:
        happened = (Signal(Cue.HANDS_WANTED, BOTH),)
    return (Signal(Cue.STEP, BOTH, session.stage + 1), *happened)
