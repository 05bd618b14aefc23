"""The game contract: what the table, the pages, the pads and the camera ask a game, and nothing else.

A game is pure: no I/O, no clock, no global state, no randomness of its own. States, actions and events are frozen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.grid import Square
from companion.core.i18n import listed, say, translate
from companion.core.kit import Kit, Layout, Seat, Side
from companion.games.aids import Extras
from companion.games.events import CommonEvent, EventKind
from companion.games.pads import PadGrammar
from companion.games.screen import (
    Badge,
    BoardUi,
    CardUi,
    ChessClock,
    Play,
    Possible,
    Tally,
    Tell,
    UnitOrder,
)

if TYPE_CHECKING:
    from companion.games.lesson import Lesson

S = TypeVar("S")
A = TypeVar("A")
View = Mapping[str, Any]
"""What somebody may know, in plain JSON."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened.

    `text` is the sentence, `why` the reason, `rule` the paragraph it follows.

    `square` is where, `to` where it leads. `edge` is the direction (files, ranks) in which a move was refused.
    """

    kind: EventKind
    text: str
    seat: Seat | None = None
    square: str | None = None
    to: str | None = None
    edge: tuple[int, int] | None = None
    why: str | None = None
    rule: str | None = None


class Order(msgspec.Struct, frozen=True):
    """One revealed command of a seat: its letter in the notation and the drawings that show it.

    `drawing` is how the owner ordered it, `on_board` where it leads on a picture with South below, `initial` the letter
    that players read in their own language. Empty: the notation's.
    """

    letter: str
    drawing: str
    on_board: str
    initial: str = ""


@dataclass(frozen=True)
class Stage:
    """A part of a turn that hands carry out before the next one is shown.

    `expected` is the layout after it. None when the board is not to be checked any more. `tallies` are sums to be
    shown with it. `todo` says what hands do where no moves on squares do (cards): the seat and a sentence each.
    `tells` are read one after another, the worst last; `badges` stand on the pieces after it.
    """

    title: str
    orders: Mapping[Seat, Order]
    events: tuple[Event, ...]
    expected: Layout | None
    tallies: tuple[Tally, ...] = ()
    todo: tuple[tuple[Seat, str], ...] = ()
    tells: tuple[Tell, ...] = ()
    badges: Mapping[Square, Badge] = field(default_factory=dict)


@dataclass(frozen=True)
class Step(Generic[S]):
    """What `apply` answers: the next state, all events, and the stages in which hands follow."""

    state: S
    events: tuple[Event, ...]
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The end: the winning seats (none: a draw) and why, as a sentence."""

    winners: frozenset[Seat]
    reason: str


@dataclass(frozen=True)
class OptionRow:
    """One option on the set-up page: its name, a sentence, and labelled choices (the first is the
    default).

    `free_text` allows another text than the choices. The sentence then says how it is written.
    """

    name: str
    title: str
    sentence: str
    choices: tuple[tuple[str, Any], ...]
    house_rule: bool = False
    free_text: bool = False


@dataclass(frozen=True)
class Preset:
    """A way to begin a game with one tap: what the key says, and the options behind it."""

    label: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Example:
    """A picture to a paragraph: a part of a game played from its beginning, so that it cannot show
    what is not.

    `actions` are its decisions in notation, those of both seats as `SOUTH | NORTH`. The picture is of the last one,
    up to and with its `stage`, counted from 0. Only `files` and `ranks` from a1 on are drawn. 0: all. Without a
    `caption` it has the sentences of that stage.
    """

    actions: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    stage: int = 0
    files: int = 0
    ranks: int = 0
    caption: str = ""


@dataclass(frozen=True)
class Illustration:
    """An example as it is drawn: the board before, what goes where from square to square, events and sums.

    `ways` are faces of a stack with the squares they leave and reach (None: beside the board).
    """

    kit: Kit
    layout: Layout
    after: Layout
    ways: tuple[tuple[tuple[str, ...], Square | None, Square | None], ...]
    events: tuple[Event, ...]
    tallies: tuple[Tally, ...]
    caption: str


@dataclass(frozen=True)
class Rule:
    """A paragraph of the rules page, perhaps with a picture.

    `id` is what events and refusals refer to.
    """

    id: str
    title: str
    text: str
    example: Example | None = None


class Drawn(StrEnum):
    """When a game draws something by chance."""

    NEVER = "never"
    SETUP = "setup"
    """Before anybody acts, such as a deck that is shuffled, and perhaps later as well."""
    PLAY = "play"
    """Not before the first turn is revealed."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of a game's options. Every field has a default."""


class Game(ABC, Generic[S, A]):
    """The rules of one game, and only the rules.

    Must be overridden: everything abstract, and the class attributes without a value. May be overridden:
    `presets`, `replays_ties`, and whatever has a default, which says "no board, no pad, no sketch". Games of cards and
    games with clocks inherit from `CardGame`, `TimedGame` or `ChessClockGame`.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    """What it is about, in at most 41 characters."""
    minutes: ClassVar[int] = 20
    """How long it takes, as far as anybody knows before it has been played here."""
    how_to_win: ClassVar[tuple[str, ...]] = ()
    """What one does, what stands in the way, how it ends: a caption each, at most two lines of 17 characters.

    The pictures to them are `win-1` to `win-3` in `pictures.svg` beside the game's module.
    """
    sides: ClassVar[Mapping[Seat, Side]]
    options_type: ClassVar[type[Options]]
    option_rows: ClassVar[tuple[OptionRow, ...]]
    rules: ClassVar[tuple[Rule, ...]]
    events: ClassVar[type[EventKind]] = CommonEvent
    """The kinds of events that this game adds to those of `CommonEvent`."""
    drawings: ClassVar[Mapping[str, str]] = {}
    """Shapes of a game that comes from outside, by name, as those of `companion.core.drawings`."""
    turn_rule: ClassVar[str | None] = None
    """The paragraph that says who acts when. `end_rule`: the one that says how a game ends."""
    end_rule: ClassVar[str | None] = None
    presets: ClassVar[tuple[Preset, ...]] = (Preset("", {}),)
    """The ways to begin it from a seat. The last one is meant when its board lies on the table."""
    help_words: ClassVar[Mapping[str, str]] = {}
    """What comes of each order, by its English word, in a few words: the answer to “What can I do now?”."""
    lesson: ClassVar[Lesson | None] = None
    """The first game with a guide. None: there is none."""
    replays_ties: ClassVar[bool] = False
    """True when a draw is played again from the beginning. The match keeps the count."""
    seed_chosen: ClassVar[str] = say("The chance of this game was chosen by the owner.")
    """What everybody is told when the host has chosen the seed."""

    def options(self, raw: Mapping[str, Any]) -> Any:
        """Return the game's options from plain JSON. Raises `Malformed` naming the option."""
        try:
            return msgspec.convert(dict(raw), self.options_type)
        except msgspec.ValidationError as error:
            raise Malformed(
                say("Option of {game}: {error}", game=self.name, error=str(error))
            ) from None

    @abstractmethod
    def kit(self, options: Any) -> Kit:
        """Return what lies on the table with these options."""

    def extras(self, options: Any) -> Extras:  # noqa: ARG002
        """Return what else is printed: player aids, cards for the hand, tiles."""
        return Extras()

    @abstractmethod
    def setup(self, options: Any, rng: Random) -> S:
        """Return the first state."""

    @abstractmethod
    def to_act(self, state: S) -> frozenset[Seat]:
        """Return who must act: one seat has the turn, several act sealed and at once, nobody: the
        game is over."""

    @abstractmethod
    def legal_actions(self, state: S, seat: Seat) -> Iterable[A]:
        """Return all legal actions of a seat, lazily where there are many."""

    def random_action(self, state: S, seat: Seat, rng: Random) -> A:
        """Return a legal action drawn at random, for tests and self-play.

        Overridden where all would be too many to list.
        """
        return rng.choice(list(self.legal_actions(state, seat)))

    def examples(self, state: S, seat: Seat) -> Iterable[A]:  # noqa: ARG002
        """Return sensible first actions, of which a phone fills in one for who asks.

        Nothing later or where one tap acts.
        """
        return ()

    @abstractmethod
    def check(self, state: S, seat: Seat, action: A) -> None:
        """Raise `Illegal` with reason and rule unless the action is legal."""

    @abstractmethod
    def apply(self, state: S, actions: Mapping[Seat, A], rng: Random) -> Step[S]:
        """Carry out one action of every seat in `to_act`, all of them checked before."""

    @abstractmethod
    def outcome(self, state: S) -> Outcome | None:
        """Return how the game ended, or None."""

    @abstractmethod
    def view(self, state: S, seat: Seat | None) -> View:
        """Return what that seat (None: everybody) may know."""

    @abstractmethod
    def dump(self, state: S) -> View:
        """Return everything the state holds, hidden things too. For the engine protocol."""

    @abstractmethod
    def parse(self, text: str) -> A:
        """Return the action of a notation. Raises `Malformed`."""

    def lead(self, state: S) -> float | None:  # noqa: ARG002
        """Return how far South leads by what everybody can see, in units of its own (below 0:
        North). None: nobody can say."""
        return None

    def how_it_ended(self, state: S) -> str:
        """Return how a game that is over by its rules has ended: a short sentence, beside who has won."""
        outcome = self.outcome(state)
        return outcome.reason if outcome else ""

    def format(self, action: A) -> str:
        """Return the notation of an action."""
        return str(action)

    def drawn(self, options: Any) -> Drawn:  # noqa: ARG002
        """Return when something is drawn from the random numbers that `setup` and `apply` are given."""
        return Drawn.NEVER

    def chosen(self, options: Any) -> str:  # noqa: ARG002
        """Return what is usually drawn and was chosen by these options, as a sentence.

        Empty: nothing.
        """
        return ""

    def hides(self, options: Any) -> bool:  # noqa: ARG002
        """Return whether anything stays hidden to the end of such a game, as cards face down do."""
        return False

    def is_dealt_by_hand(self, options: Any) -> bool:  # noqa: ARG002
        """Return whether people deal cards themselves, so that only their owner knows them."""
        return False

    def hidden_options(self, options: Any) -> frozenset[str]:  # noqa: ARG002
        """Return the options that tell what is hidden from the seats, such as a deal that was
        chosen."""
        return frozenset()

    def commands(self, action: A) -> Iterable[str]:
        """Return what an action orders, a word for each of its commands, to be counted.

        Nothing for what the rules force.
        """
        return (self.format(action),)

    def is_reversible(self, state: S, seat: Seat, action: A) -> bool:  # noqa: ARG002
        """Return whether a seat may take back this action, by which nobody has learned anything."""
        return False

    def expected(self, state: S) -> Layout | None:  # noqa: ARG002
        """Return which faces lie on which square now. None when the board is not checked."""
        return None

    def is_checked(self, state: S) -> bool:  # noqa: ARG002
        """Return False while pieces may also lie where a hand has put them for an action that is not decided yet."""
        return True

    def turn_number(self, state: S) -> int | None:  # noqa: ARG002
        """Return the number of the turn that is due as this game counts. 0: it is still set up.

        None: the table counts.
        """
        return None

    def time_limit(self, state: S) -> float | None:  # noqa: ARG002
        """Return how many seconds the decision that is due may take, from its beginning.

        None: as long as it likes.
        """
        return None

    def chess_clock(self, state: S) -> ChessClock | None:  # noqa: ARG002
        """Return the time while the clock of the seat on turn runs (who has none left, loses).

        None: no clock runs.
        """
        return None

    def tableau(self, state: S, seat: Seat | None) -> CardUi | None:  # noqa: ARG002
        """Return what a viewer (None: everybody) sees of a game of cards.

        None: the board says it all.
        """
        return None

    def standing(self, state: S, seat: Seat | None) -> BoardUi | None:  # noqa: ARG002
        """Return what a viewer (None: everybody) sees of a game of pieces beside its board.

        None: the board says it all.
        """
        return None

    def opened(
        self,
        state: S,  # noqa: ARG002
        actions: Mapping[Seat, A],  # noqa: ARG002
        stages: Sequence[Stage],  # noqa: ARG002
        stage: int,  # noqa: ARG002
    ) -> Mapping[Seat, tuple[UnitOrder, ...]]:
        """Return the orders of each seat's pieces in a turn from this state, as far as its stages
        up to this one open them.

        Nothing where orders are no sheet for several pieces.
        """
        return {}

    def plays(self, state: S, seat: Seat) -> Iterable[Play]:
        """Return the legal actions as a seat taps them, or as hands make them.

        One of several that mean the same.

        Unless overridden they are keys without squares.
        """
        for action in self.legal_actions(state, seat):
            text = self.format(action)
            yield Play(text, (), text, text)

    def as_laid(self, state: S, seat: Seat, action: A, step: Step[S]) -> Layout | None:  # noqa: ARG002
        """Return how the board lies when a hand has just made a legal action, before anything
        follows. None: by no hand.

        `step` is what `apply` answered. Unless overridden it is the layout of the first stage, or that of the end.
        """
        return step.stages[0].expected if step.stages else self.expected(step.state)

    def laid_out(self, state: S, seat: Seat, seen: Mapping[Square, str]) -> A | None:  # noqa: ARG002
        """Return the action of a seat that the board shows while both act at once, such as a set-up
        laid openly. None: none.

        `seen` is the face on top of each square. The seat says yes to it by ready.
        """
        return None

    def why_not(self, state: S, seat: Seat, seen: Mapping[Square, str]) -> Illegal | None:  # noqa: ARG002
        """Return which rule the board breaks that hands of the seat on turn have made of
        `expected`. None: no single play.

        `seen` is the face on top of each square where one is seen. The message is two sentences at most, the first says
        what is no play. `square` is what stands in the way.
        """
        return None

    def pad(self, state: S, seat: Seat) -> PadGrammar | None:  # noqa: ARG002
        """Return how a seat spells its action with keys. None: it does not."""
        return None

    def plan(self, state: S, seat: Seat, entered: str) -> tuple[Square | None, ...]:  # noqa: ARG002
        """Return where each order entered so far would lead if nobody interfered.

        For the owner's eyes only.
        """
        return ()

    def possible(self, state: S, seat: Seat, entered: str) -> Iterable[Possible]:  # noqa: ARG002
        """Return what a seat may do next after the orders that it has planned, where `help_words`
        say too little."""
        return ()

    def require(self, state: S, actions: Mapping[Seat, A]) -> None:
        """Raise `Illegal` unless exactly the seats in `to_act` act, and each legally."""
        due = self.to_act(state)
        if not due:
            raise Illegal(
                Refusal.GAME_OVER, say("The game is over: start a new one"), self.end_rule
            )
        for seat in actions:
            if seat not in due:
                raise Illegal(
                    Refusal.NOT_TO_ACT, say("{seat!c} cannot act now", seat=seat), self.turn_rule
                )
        if missing := due - set(actions):
            text = say(
                "An action from {seats} is missing: all act at once", seats=listed(sorted(missing))
            )
            raise Illegal(Refusal.SEATS_MISSING, text, self.turn_rule)
        for seat, action in actions.items():
            self.check(state, seat, action)


class CardGame(Game[S, A]):
    """A game of cards and counters: its screens show lanes, hands and piles instead of a board."""

    @abstractmethod
    def tableau(self, state: S, seat: Seat | None) -> CardUi:
        """Return what a viewer (None: everybody) sees."""

    def laid_open(self, state: S, fans: Layout, before: Layout) -> A | None:  # noqa: ARG002
        """Return the action that cards laid open mean, by the zones in which they lie.

        None while they mean none.

        `before` are the cards that lay open when this decision became due.
        """
        return None


class TimedGame(Game[S, A]):
    """A game with a time for each decision."""

    @abstractmethod
    def time_limit(self, state: S) -> float | None:
        """Return how many seconds the decision that is due may take, from its beginning.

        None: as long as it likes.
        """

    def on_timeout(self, state: S, seat: Seat) -> A | None:  # noqa: ARG002
        """Return what happens for a seat whose time is over. None: only the alarm sounds."""
        return None


class ChessClockGame(Game[S, A]):
    """A game in which each seat has its time for the whole game."""

    @abstractmethod
    def chess_clock(self, state: S) -> ChessClock | None:
        """Return the time while the clock of the seat on turn runs (who has none left, loses).

        None: no clock runs.
        """


def plain_layout(layout: Layout | None) -> dict[str, list[str]] | None:
    """Return a layout in plain JSON: `{"c3": ["lime flag", "purple robot"]}`, bottom to top, or
    None."""
    if layout is None:
        return None
    return {str(square): [str(face) for face in faces] for square, faces in sorted(layout.items())}


def plain_outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    """Return an outcome in plain JSON, or None."""
    if outcome is None:
        return None
    return {"winners": sorted(outcome.winners), "reason": translate(outcome.reason)}
