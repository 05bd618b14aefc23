"""The game contract: what the table, the pages, the pads and the camera ask a game, and nothing
else.

A game is pure: no I/O, no clock, no global state, no randomness of its own. States, actions and
events are frozen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

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
    Headline,
    Play,
    Possible,
    Tally,
    UnitOrder,
)

if TYPE_CHECKING:
    from companion.games.lesson import Lesson
    from companion.games.tools import Command

S = TypeVar("S")
A = TypeVar("A")
View = Mapping[str, Any]
"""What somebody may know, in plain JSON."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened.

    `text` is the sentence, `why` the reason, `rule` the paragraph it follows.

    `square` is where, `to` where it leads. `edge` is the direction (files, ranks) in which a move
    was refused.
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

    `drawing` is how the owner ordered it, `on_board` where it leads on a picture with South below,
    `initial` the letter that players read in their own language. Empty: the notation's.
    """

    letter: str
    drawing: str
    on_board: str
    initial: str = ""


@dataclass(frozen=True)
class Stage:
    """A part of a turn that hands carry out before the next one is shown.

    `expected` is the layout after it. None when the board is not to be checked any more. `tallies`
    are sums to be shown with it. `todo` says what hands do where no moves on squares do (cards):
    the seat and a sentence each. `headlines` are read one after another, the worst last; `badges`
    stand on the pieces after it.
    """

    title: str
    orders: Mapping[Seat, Order]
    events: tuple[Event, ...]
    expected: Layout | None
    tallies: tuple[Tally, ...] = ()
    todo: tuple[tuple[Seat, str], ...] = ()
    headlines: tuple[Headline, ...] = ()
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

    def event(self, rule: str) -> Event:
        """Return the event that ends the game: who has won, or a draw."""
        winner = next(iter(self.winners), None)
        kind = CommonEvent.WON if winner else CommonEvent.TIE
        return Event(kind, self.reason, winner, rule=rule)


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


def figures(*numbers: int) -> tuple[tuple[str, int], ...]:
    """Return choices of an option that are labelled by what they are.

    >>> figures(5, 10)
    (('5', 5), ('10', 10))
    """
    return tuple((str(number), number) for number in numbers)


@dataclass(frozen=True)
class Preset:
    """A way to begin a game with one tap: what the key says, and the options behind it."""

    label: str
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Example:
    """A picture to a paragraph: a part of a game played from its beginning, so that it cannot show
    what is not.

    `actions` are its decisions in notation, those of both seats as `SOUTH | NORTH`. The picture is
    of the last one, up to and with its `stage`, counted from 0. Only `files` and `ranks` from a1 on
    are drawn. 0: all. Without a `caption` it has the sentences of that stage.
    """

    actions: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    stage: int = 0
    files: int = 0
    ranks: int = 0
    caption: str = ""


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


class BoardMixin(Generic[S, A]):
    """What a game with a board tells the camera. A game that leaves out `expected` is not
    checked.
    """

    def expected(self, state: S) -> Layout | None:
        """Return which faces lie on which square now. None: the board is not checked."""

    def is_checked(self, state: S) -> bool:
        """Return False while pieces may also lie where a hand has put them for an action that is
        not decided yet.
        """
        return self.expected(state) is not None

    def as_laid(self, state: S, seat: Seat, action: A, step: Step[S]) -> Layout | None:
        """Return how the board lies when a hand has just made a legal action, before anything
        follows.

        `step` is what `apply` answered. None: as after its first stage, or at its end.
        """

    def layouts_by_hand(self, state: S, seat: Seat, action: A, step: Step[S]) -> tuple[Layout, ...]:
        """Return how the board may lie when hands have made a legal action: just after it, then
        after each stage.
        """
        stages = [stage.expected for stage in step.stages]
        # without stages nothing follows but the next state
        first = stages[0] if stages else self.expected(step.state)
        laid = self.as_laid(state, seat, action, step) or first
        return tuple(layout for layout in (laid, *stages) if layout is not None)

    def laid_out(self, state: S, seat: Seat, seen: Mapping[Square, str]) -> A | None:
        """Return the action of a seat that the board shows while both act at once, such as a set-up
        laid openly.

        `seen` is the face on top of each square. The seat says yes to it by ready.
        """

    def laid_open(self, state: S, fans: Layout, before: Layout) -> A | None:
        """Return the action that cards laid open mean, by the zones in which they lie.

        `before` are the cards that lay open when this decision became due.
        """

    def why_not(self, state: S, seat: Seat, seen: Mapping[Square, str]) -> Illegal | None:
        """Return which rule the board breaks that hands of the seat on turn have made of
        `expected`. None: no single play.

        `seen` is the face on top of each square where one is seen. The message is two sentences at
        most, the first says what is no play. `square` is what stands in the way.
        """


class PadMixin(Generic[S]):
    """How a seat gives its orders by the keys of a pad, or by the same keys on a phone."""

    def pad(self, state: S, seat: Seat) -> PadGrammar | None:
        """Return how a seat spells its action with keys."""

    def plan(self, state: S, seat: Seat, entered: str) -> tuple[Square | None, ...] | None:
        """Return where each order entered so far would lead if nobody interfered.

        For the owner's eyes only.
        """

    def possible(self, state: S, seat: Seat, entered: str) -> Iterable[Possible] | None:
        """Return what a seat may do next after the orders that it has planned, where `help_words`
        say too little."""


class ScreenMixin(Generic[S, A]):
    """What screens show beside the board, or instead of one."""

    def card_ui(self, state: S, seat: Seat | None) -> CardUi | None:
        """Return what a viewer (None: everybody) sees of a game of cards."""
        return self.tableau(state, seat)

    def board_ui(self, state: S, seat: Seat | None) -> BoardUi | None:
        """Return what a viewer (None: everybody) sees of a game of pieces beside its board."""
        return self.standing(state, seat)

    def tableau(self, state: S, seat: Seat | None) -> CardUi | None:
        """Answer `card_ui` in a game that was written for version 1.0."""

    def standing(self, state: S, seat: Seat | None) -> BoardUi | None:
        """Answer `board_ui` in a game that was written for version 1.0."""

    def opened(
        self, state: S, actions: Mapping[Seat, A], stages: Sequence[Stage], stage: int
    ) -> Mapping[Seat, tuple[UnitOrder, ...]] | None:
        """Return the orders of each seat's pieces in a turn from this state, as far as its stages
        up to this one open them.

        For a game whose orders are a sheet for several pieces.
        """


class ClockMixin(Generic[S, A]):
    """The time of a game in which a decision, or a seat, has only so much."""

    def time_limit(self, state: S) -> float | None:
        """Return how many seconds the decision that is due may take, from its beginning."""

    def on_timeout(self, state: S, seat: Seat) -> A | None:
        """Return what happens for a seat whose time is over. None: only the alarm sounds."""

    def chess_clock(self, state: S) -> ChessClock | None:
        """Return the time while the clock of the seat on turn runs (who has none left, loses)."""


class ChanceMixin:
    """What is left to chance or hidden, by the options."""

    seed_chosen: ClassVar[str] = say("The chance of this game was chosen by the owner.")
    """What everybody is told when the owner has chosen the seed."""

    def drawn(self, options: Any) -> Drawn | None:
        """Return when something is drawn from the random numbers that `setup` and `apply` are
        given.
        """

    def chosen(self, options: Any) -> str | None:
        """Return what is usually drawn and was chosen by these options, as a sentence."""

    def hides(self, options: Any) -> bool | None:
        """Return whether anything stays hidden to the end of such a game, as cards face down do."""

    def is_dealt_by_hand(self, options: Any) -> bool | None:
        """Return whether people deal cards themselves, so that only their owner knows them."""

    def hidden_options(self, options: Any) -> frozenset[str] | None:
        """Return the options that tell what is hidden from the seats, such as a deal that was
        chosen."""


class TextMixin(Generic[S, A]):
    """What pages and printed sheets tell people who learn a game or look back at it."""

    minutes: ClassVar[int] = 20
    """How long it takes, as far as anybody knows before it has been played here."""
    how_to_win: ClassVar[tuple[str, ...]] = ()
    """What one does, what stands in the way, how it ends: a caption each, at most two lines of 17
    characters.

    The pictures to them are `win-1` to `win-3` in `pictures.svg` beside the game's module.
    """
    help_words: ClassVar[Mapping[str, str]] = {}
    """What comes of each order, by its English word, in a few words: the answer to “What can I do
    now?”."""
    lesson: ClassVar[Lesson | None] = None
    """The first game with a guide."""

    def extras(self, options: Any) -> Extras | None:
        """Return what else is printed: player aids, cards for the hand, tiles."""

    def examples(self, state: S, seat: Seat) -> Iterable[A] | None:
        """Return sensible first actions, of which a phone fills in one for who asks.

        Nothing later or where one tap acts.
        """

    def lead(self, state: S) -> float | None:
        """Return how far South leads by what everybody can see, in units of its own (below 0:
        North).
        """

    def tools(self) -> tuple[Command, ...]:
        """Return what it brings to the command line.

        It is asked for whenever the command line is put together, so it should import little.
        """
        return ()

    def turn_number(self, state: S) -> int | None:
        """Return the number of the turn that is due as this game counts. 0: it is still set up.

        None: the table counts.
        """


class Game(
    BoardMixin[S, A],
    PadMixin[S],
    ScreenMixin[S, A],
    ClockMixin[S, A],
    ChanceMixin,
    TextMixin[S, A],
    ABC,
):
    """The rules of one game, and only the rules.

    Must be overridden: everything abstract, and the class attributes without a value. What else
    stands here has a default. The members of the mixins are optional: one that a game leaves out
    answers None: no, or nothing.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    """What it is about, in at most 41 characters."""
    sides: ClassVar[Mapping[Seat, Side]]
    options_type: ClassVar[type[Options]] = Options
    option_rows: ClassVar[tuple[OptionRow, ...]] = ()
    presets: ClassVar[tuple[Preset, ...]] = (Preset("", {}),)
    """The ways to begin it from a seat. The last one is meant when its board lies on the table."""
    rules: ClassVar[tuple[Rule, ...]]
    turn_rule: ClassVar[str | None] = None
    """The paragraph that says who acts when. `end_rule`: the one that says how a game ends."""
    end_rule: ClassVar[str | None] = None
    events: ClassVar[type[EventKind]] = CommonEvent
    """The kinds of events that this game adds to those of `CommonEvent`."""
    drawings: ClassVar[Mapping[str, str]] = {}
    """Shapes of a game that comes from outside, by name, as those of `companion.core.drawings`."""
    replays_ties: ClassVar[bool] = False
    """True when a draw is played again from the beginning. The match keeps the count."""

    def options(self, raw: Mapping[str, Any]) -> Any:
        """Return the game's options from plain JSON.

        Raises `Malformed` naming the option, or for options with which `setup` cannot begin.
        """
        try:
            options = msgspec.convert(dict(raw), self.options_type)
        except msgspec.ValidationError as error:
            raise Malformed(
                say("Option of {game}: {error}", game=self.name, error=str(error))
            ) from None
        self.setup(options, Random(0))
        return options

    @abstractmethod
    def kit(self, options: Any) -> Kit:
        """Return what lies on the table with these options."""

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

    def check(self, state: S, seat: Seat, action: A) -> None:
        """Raise `Illegal` with reason and rule unless the action is legal.

        Overridden where a game says which rule is broken, or where all actions would be too many to
        list.
        """
        if action not in self.legal_actions(state, seat):
            raise Illegal(Refusal.AGAINST_RULES, say("That cannot be done now"), self.turn_rule)

    @abstractmethod
    def apply(self, state: S, actions: Mapping[Seat, A], rng: Random) -> Step[S]:
        """Carry out one action of every seat in `to_act`, all of them checked before."""

    def outcome(self, state: S) -> Outcome | None:
        """Return how the game ended, or None. Unless overridden the `outcome` of the state."""
        ending: Outcome | None = cast(Any, state).outcome
        return ending

    @abstractmethod
    def view(self, state: S, seat: Seat | None) -> View:
        """Return what that seat (None: everybody) may know. An open game adds to `common_view`."""

    def common_view(self, state: S) -> dict[str, Any]:
        """Return what everybody may know of any game: who is to act, what should lie on the board,
        how it ended.
        """
        return {
            "to_act": sorted(self.to_act(state)),
            "expected": plain_layout(self.expected(state)),
            "outcome": plain_outcome(self.outcome(state)),
        }

    def dump(self, state: S) -> View:
        """Return everything the state holds, for the engine protocol. Overridden where a view hides
        something.
        """
        return self.view(state, None)

    def parse(self, text: str) -> A:
        """Return the action of a notation. Raises `Malformed`. Unless overridden an action is its
        notation.
        """
        return cast(A, text)

    def format(self, action: A) -> str:
        """Return the notation of an action."""
        return str(action)

    def plays(self, state: S, seat: Seat) -> Iterable[Play]:
        """Return the legal actions as a seat taps them, or as hands make them.

        One of several that mean the same.

        Unless overridden they are keys without squares.
        """
        for action in self.legal_actions(state, seat):
            text = self.format(action)
            yield Play(text, (), text, text)

    def commands(self, action: A) -> Iterable[str]:
        """Return what an action orders, a word for each of its commands, to be counted.

        Nothing for what the rules force.
        """
        return (self.format(action),)

    def how_it_ended(self, state: S) -> str:
        """Return how a game that is over by its rules has ended: a short sentence, beside who has
        won.
        """
        outcome = self.outcome(state)
        return outcome.reason if outcome else ""

    def is_reversible(self, state: S, seat: Seat, action: A) -> bool | None:
        """Return whether a seat may take back this action, by which nobody has learned anything."""

    def require(self, state: S, actions: Mapping[Seat, A]) -> None:
        """Raise `Illegal` unless exactly the seats in `to_act` act, and each legally."""
        due = self.to_act(state)
        if not due:
            raise Illegal(
                Refusal.GAME_OVER, say("The game is over: start a new one"), self.end_rule
            )
        # first who may act at all, then whether everybody does, then what each does
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
    """The former name of a game with a `card_ui`, for games written for version 1.0."""


class TimedGame(Game[S, A]):
    """The former name of a game with a `time_limit`, for games written for version 1.0."""


class ChessClockGame(Game[S, A]):
    """The former name of a game with a `chess_clock`, for games written for version 1.0."""


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
