"""The game contract: everything that the rest of the program needs from a game.

A game is a subclass of `Game`. It is pure: no I/O, no clock, no global state and no random numbers
of its own. States, actions and events are frozen, so one instance serves all tables and threads.

How the table plays a game:

1. Set-up. `options` parses the chosen options, `kit` says what lies on the table, and `setup`
   returns the first state.
2. Orders. `to_act` names the seats that owe an action. One seat alone has the turn and acts openly.
   If both owe one, each action is sealed, that is stored but shown to nobody, until both are in. An
   action arrives in notation, from keys (`pad`), taps (`plays`), or what the camera sees. `parse`
   reads it, and `check` refuses it if it is not legal.
3. Reveal. `apply` carries out the actions of all these seats. It returns a `Step`: the next state,
   everything that happened, and the stages of the turn.
4. Stages. The table shows one stage after the other. Players move the pieces, and the camera
   compares the board with the layout that the stage expects. A step without stages skips this
   phase.
5. The table returns to 2 with the next state. When `to_act` is empty, the game is over, and
   `outcome` says how it ended.

A game with phases of its own, such as a set-up by hand or a duel, keeps the phase in its state.
Every method answers for the state that it is given: what `to_act`, `pad` or `board_ui` return may
differ from one phase to the next.

What a game must have is abstract in `Game`. Everything else is optional: its default means “no” or
“nothing”, so the table calls the same methods of every game. `companion selfplay --check GAME`
lists what a game lacks. Each group of optional members is a mixin:

- `BoardMixin`: the camera checks the board, reads actions from it, and names a broken rule.
- `PadMixin`: actions are entered with the keys of a pad.
- `ScreenMixin`: screens show cards, sums, sheets of orders and other things beside the board.
- `ClockMixin`: a decision or a seat has limited time.
- `ChanceMixin`: something is drawn at random, or stays hidden until the end.
- `TextMixin`: a guided first game, player aids, and who is ahead.

The values that these methods return are here and in the modules beside this one: `events`, `pads`,
`screen`, `aids`, `lesson` and `tools`. From version 1.0 on, the names in this module stay as they
are (docs/stability.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar, cast

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

# The types of a game's states and actions. Each game chooses its own: see `Game`.
S = TypeVar("S")
A = TypeVar("A")
# What one viewer may know, as plain JSON.
View = Mapping[str, Any]


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened in a game. Pages show it, the voice reads it, and replays list it."""

    kind: EventKind
    text: str
    """Sentence for people that says what happened."""
    seat: Seat | None = None
    """Side that the event concerns. None if it concerns both or neither."""
    square: str | None = None
    """Square where it happened, such as `c4`."""
    to: str | None = None
    """Square that it points to, such as the target of a move."""
    edge: tuple[int, int] | None = None
    """Direction (files, ranks) from `square` of a move that was blocked."""
    why: str | None = None
    """Reason as a second sentence, such as the obstacle of a move."""
    rule: str | None = None
    """Id of the `Rule` that the event follows from."""


class Order(msgspec.Struct, frozen=True):
    """One revealed order of a seat."""

    letter: str
    """Letter in the notation."""
    drawing: str
    """Name of the drawing of the order as its owner gave it, where up is away from the owner."""
    on_board: str
    """Name of its drawing for a picture of the board with South below."""
    initial: str = ""
    """Letter in the players' language, or empty if it is `letter`."""


@dataclass(frozen=True)
class Stage:
    """A part of a turn that players carry out on the board before the next part is shown."""

    title: str
    orders: Mapping[Seat, Order]
    """Orders that this stage reveals."""
    events: tuple[Event, ...]
    expected: Layout | None
    """Layout after the stage, or None if the board is not checked then."""
    tallies: tuple[Tally, ...] = ()
    """Sums that are shown with the stage."""
    todo: tuple[tuple[Seat, str], ...] = ()
    """A seat and a sentence for each task that is no move on squares, such as one with cards."""
    headlines: tuple[Headline, ...] = ()
    """Sentences that are read in order, the most important one last."""
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    """Labels on the pieces after the stage."""


@dataclass(frozen=True)
class Step(Generic[S]):
    """The result of `apply`: the next state, all events of the turn, and its stages on the board.

    The events of the stages are also in `events`. The name is part of the published contract. In
    sentences for people, “step” never means this: there it is one pair of orders within a turn.
    """

    state: S
    events: tuple[Event, ...]
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The end of a game."""

    winners: frozenset[Seat]
    """Seats that have won, none for a draw."""
    reason: str
    """Sentence that says why the game ended."""
    short: str = ""
    """The reason in at most 24 characters, for the page at the end. If empty, `reason` is shown."""

    def event(self, rule: str) -> Event:
        """Return the last event of the game, a win or a draw, with the id of the rule behind it."""
        winner = next(iter(self.winners), None)
        kind = CommonEvent.WON if winner else CommonEvent.TIE
        return Event(kind, self.reason, winner, rule=rule)


@dataclass(frozen=True)
class OptionRow:
    """One option on the set-up page."""

    name: str
    """Field of the game's `Options`."""
    title: str
    sentence: str
    """Explanation of what the option changes, in one or two sentences."""
    choices: tuple[tuple[str, Any], ...]
    """Pairs (label, value) to choose from. The first one is the default."""
    house_rule: bool = False
    """Whether the option departs from the printed rules."""
    free_text: bool = False
    """Whether other values are allowed. The sentence then describes their format."""


def figures(*numbers: int) -> tuple[tuple[str, int], ...]:
    """Return `OptionRow.choices` whose labels are the numbers themselves.

    >>> figures(5, 10)
    (('5', 5), ('10', 10))
    """
    return tuple((str(number), number) for number in numbers)


@dataclass(frozen=True)
class Preset:
    """A one-tap start of a game."""

    label: str
    """Text on its key."""
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Example:
    """An illustration of a paragraph of the rules.

    It is given as a short game and played by the rules, so that the picture cannot contradict them.
    """

    actions: tuple[str, ...]
    """Decisions of the game in notation, written `SOUTH | NORTH` where both seats act."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the game."""
    stage: int = 0
    """Stage of the last decision after which the picture is taken, counted from 0."""
    files: int = 0
    """Number of files from a on that the picture shows. 0 for all."""
    ranks: int = 0
    """Number of ranks from 1 on that the picture shows. 0 for all."""
    caption: str = ""
    """Text below the picture. If it is empty, the sentences of that stage."""


@dataclass(frozen=True)
class Rule:
    """A paragraph of the rules page, with an optional picture."""

    id: str
    """Name by which events and refusals refer to it."""
    title: str
    text: str
    example: Example | None = None


class Drawn(StrEnum):
    """The moment at which a game first draws something at random."""

    NEVER = "never"
    SETUP = "setup"
    """Before anybody acts, as for a shuffled deck. More draws may follow later."""
    PLAY = "play"
    """Not before the first actions are revealed, as for a die."""


# A number of turns as an option. 0 means no limit.
Limit = Annotated[int, msgspec.Meta(ge=0, le=1000)]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of a game's options. Every field has a default."""


# ---- what a game may have ------------------------------------------------------------------------


# Top face of each square where the camera sees one.
FacesSeen = Mapping[Square, str]


class BoardMixin(Generic[S, A]):
    """The part of the contract for the camera. Without `expected` the board is not checked.

    Three ways lead from the board to an action. If one seat is on turn, it may make one of its
    `plays` by hand, and the table recognises it by `layouts_by_hand`. If both seats owe an action,
    `laid_out` reads it from the pieces. In a game with real cards, `laid_open` reads it from them.

    The four names side by side:

    - `as_laid`: from an action to the single layout just after the action.
    - `layouts_by_hand`: from an action to all layouts that show it. `as_laid` is the first.
    - `laid_out`: from the pieces on the board to a sealed action, such as a set-up.
    - `laid_open`: from face-up cards to an action.
    """

    def expected(self, state: S) -> Layout | None:
        """Return the faces on each square, or None if the board is not checked."""

    def is_checked(self, state: S) -> bool:
        """Return whether the board must match `expected` now.

        False while players may already have moved pieces for an action that is not decided yet,
        such as a move that leads into a duel.
        """
        return self.expected(state) is not None

    def as_laid(self, state: S, seat: Seat, action: A, step: Step[S]) -> Layout | None:
        """Return the layout just after a legal action was made by hand, before its consequences.

        An example is a piece on its new square, beside a captured one that nobody has removed yet.
        `step` is the result of `apply`. None stands for the layout after its first stage, or after
        the step if it has no stages.
        """

    def layouts_by_hand(self, state: S, seat: Seat, action: A, step: Step[S]) -> tuple[Layout, ...]:
        """Return the layouts by which the camera recognises a legal action that was made by hand.

        They are the layout just after the action (`as_laid`) and the layouts after each stage.
        """
        stages = [stage.expected for stage in step.stages]
        # Without stages only the next state follows.
        first = stages[0] if stages else self.expected(step.state)
        after_action = self.as_laid(state, seat, action, step) or first
        return tuple(layout for layout in (after_action, *stages) if layout is not None)

    def laid_out(self, state: S, seat: Seat, seen: FacesSeen) -> A | None:
        """Return the action of a seat that its pieces on the board show, while both seats owe one.

        An example is a set-up that is laid openly. None if the pieces show no complete action. The
        seat confirms the action with the key ready.
        """

    def laid_open(self, state: S, fans: Layout, before: Layout) -> A | None:
        """Return the action that the face-up cards show, or None if they show no complete one.

        `fans` holds the face-up cards of each zone of the board, from the bottom to the top.
        `before` holds those that were face up when this decision became due.
        """

    def why_not(self, state: S, seat: Seat, seen: FacesSeen) -> Illegal | None:
        """Return the refusal of what the seat on turn has tried to do by moving pieces.

        The table asks when the board matches neither `expected` nor a legal action. The refusal is
        returned, not raised. Its message has at most two sentences, and the first says what is not
        allowed. Its `square` is the obstacle. None if the change is not an attempt at a single
        play.
        """


class PadMixin(Generic[S]):
    """How a seat gives its orders with the keys of a pad, or with the same keys on a phone.

    In `plan` and `possible`, `entered` is the draft: the notation of the orders so far.
    """

    def pad(self, state: S, seat: Seat) -> PadGrammar | None:
        """Return the grammar by which a seat enters its action with keys. None if it cannot."""

    def plan(self, state: S, seat: Seat, entered: str) -> tuple[Square | None, ...] | None:
        """Return the square that each entered order would reach if nobody interfered.

        The square is None for an order that leads off the board or into a wall. Only the seat
        itself may see the plan. A game without plans returns None.
        """

    def possible(self, state: S, seat: Seat, entered: str) -> Iterable[Possible] | None:
        """Return what a seat can do after the orders of its draft, for “What can I do now?”.

        Override it if the effect of an order depends on the state. With None, each control of the
        game is explained by its word of `help_words`.
        """


class ScreenMixin(Generic[S, A]):
    """What screens show beside or instead of the board.

    A game overrides `card_ui` or `board_ui`, or neither, but not both.
    """

    def card_ui(self, state: S, seat: Seat | None) -> CardUi | None:
        """Return what a viewer (None for everybody) sees of a card game."""
        return self.tableau(state, seat)

    def board_ui(self, state: S, seat: Seat | None) -> BoardUi | None:
        """Return what a viewer (None for everybody) sees beside the board of a game with pieces."""
        return self.standing(state, seat)

    def opened(
        self, state: S, actions: Mapping[Seat, A], stages: Sequence[Stage], stage: int
    ) -> Mapping[Seat, tuple[UnitOrder, ...]] | None:
        """Return the orders of each seat's pieces, as far as the stages up to `stage` reveal them.

        `state` is the position before the turn, and `stage` an index into `stages`. The method is
        for games in which a seat fills in an order sheet for several pieces (`BoardUi.sheet`).
        """

    # Kept for games written for version 1.0, which override these two.

    def tableau(self, state: S, seat: Seat | None) -> CardUi | None:
        """Return the `card_ui` of a game written for version 1.0."""

    def standing(self, state: S, seat: Seat | None) -> BoardUi | None:
        """Return the `board_ui` of a game written for version 1.0."""


class ClockMixin(Generic[S, A]):
    """The time control of a game. It applies to decisions of a single seat.

    `time_limit` gives each decision its own time, `chess_clock` gives a seat time for the whole
    game. A state may have either, or neither.
    """

    def time_limit(self, state: S) -> float | None:
        """Return the time limit of the present decision in seconds, or None if it has none."""

    def on_timeout(self, state: S, seat: Seat) -> A | None:
        """Return the action for a seat whose `time_limit` has run out.

        With None an alarm sounds, and the seat may still act.
        """

    def chess_clock(self, state: S) -> ChessClock | None:
        """Return the chess clock while it runs for the seat on turn. A seat without time loses."""


class ChanceMixin:
    """What is random or hidden, depending on the options.

    A method that returns a `bool` may return None instead, as its default does. None means no.
    """

    seed_chosen: ClassVar[str] = say("The chance of this game was chosen by the owner.")
    """Notice for everybody if the owner has chosen the seed."""

    def drawn(self, options: Any) -> Drawn | None:
        """Return when `setup` or `apply` first uses its random numbers. None means never."""

    chosen_options: ClassVar[frozenset[str]] = frozenset()
    """Options that fix what is usually drawn or placed, such as `start`."""

    def chosen(self, options: Any) -> str | None:
        """Return a notice for everybody if these options fix what is usually drawn or placed.

        By default there is one if any of `chosen_options` differs from its default, and none (None)
        otherwise.
        """
        for name in self.chosen_options:
            if getattr(options, name) != getattr(type(options)(), name):
                return say("The start of this game was chosen.")
        return None

    def hides(self, options: Any) -> bool | None:
        """Return whether the game hides something from all players until its end.

        An example is a shuffled deck that only the program knows.
        """

    def is_dealt_by_hand(self, options: Any) -> bool | None:
        """Return whether people deal real cards, which the program then does not know."""

    def hidden_options(self, options: Any) -> frozenset[str] | None:
        """Return the options that reveal what is hidden from the seats, such as a chosen deal."""


class TextMixin(Generic[S, A]):
    """Texts on pages and printed sheets for people who learn a game or look back at one."""

    minutes: ClassVar[int] = 20
    """Estimated duration in minutes, used until the game has been played here."""
    how_to_win: ClassVar[tuple[str, ...]] = ()
    """Three captions: what a player does, what is in the way, and how the game is won.

    Each has at most two lines of 17 characters. Their pictures are `win-1` to `win-3` in
    `pictures.svg` beside the game's module.
    """
    help_words: ClassVar[Mapping[str, str]] = {}
    """Effect of each order in a few words, by the English label of the order or its key.

    Answers “What can I do now?”.
    """
    lesson: ClassVar[Lesson | None] = None
    """The guided first game."""

    def extras(self, options: Any) -> Extras | None:
        """Return what is printed besides the kit: player aids, hand cards, order tiles."""

    def lead(self, state: S) -> float | None:
        """Return the lead of South, judged by what everybody may see. Negative if North leads.

        The unit is the game's own, such as hit points or steps. None if nobody can tell.
        """

    def tools(self) -> tuple[Command, ...]:
        """Return the game's commands for the command line.

        Called at every start of the command line, so it should import little.
        """
        return ()

    def turn_number(self, state: S) -> int | None:
        """Return the number of the present turn as the game counts, and 0 during set-up.

        With None the table counts the turns.
        """

    # Kept for games written for version 1.0. Nothing asks for it.

    def examples(self, state: S, seat: Seat) -> Iterable[A] | None:
        """Return sensible first actions."""


# ---- the game ------------------------------------------------------------------------------------


class Game(
    BoardMixin[S, A],
    PadMixin[S],
    ScreenMixin[S, A],
    ClockMixin[S, A],
    ChanceMixin,
    TextMixin[S, A],
    ABC,
):
    """The rules of one game, and only the rules. `S` is the type of its states, `A` of its actions.

    A game must define all abstract methods and the class attributes without a value. Everything
    else has a default. The members of the mixins are optional, and their default None means “no” or
    “nothing”. The head of this module explains when the table calls what.

    A docstring of a game's own method says what is special in this game. A method without one does
    what is said here.
    """

    name: ClassVar[str]
    """Name in addresses, files and on the command line: lower-case letters and digits."""
    title: ClassVar[str]
    summary: ClassVar[str]
    """Subject of the game in at most 41 characters."""
    sides: ClassVar[Mapping[Seat, Side]]
    options_type: ClassVar[type[Options]] = Options
    option_rows: ClassVar[tuple[OptionRow, ...]] = ()
    """Rows of the set-up page, one for each field of `options_type` that people may choose."""
    presets: ClassVar[tuple[Preset, ...]] = (Preset("", {}),)
    """One-tap starts from a seat. The last one is the default until the owner has chosen options.

    A machine player cannot play if people deal real cards (`is_dealt_by_hand`). If the last preset
    demands that, a game with a machine player starts with the first preset instead.
    """
    rules: ClassVar[tuple[Rule, ...]]
    turn_rule: ClassVar[str | None] = None
    """Id of the `Rule` on who acts when. Refusals to act out of turn refer to it."""
    end_rule: ClassVar[str | None] = None
    """Id of the `Rule` on how a game ends. Refusals after its end refer to it."""
    events: ClassVar[type[EventKind]] = CommonEvent
    """Event kinds of this game besides those of `CommonEvent`."""
    drawings: ClassVar[Mapping[str, str]] = {}
    """Shapes of a plug-in game by name, in the form of `companion.core.drawings`."""
    replays_ties: ClassVar[bool] = False
    """Whether a draw is replayed from the beginning. The match keeps the score."""

    def options(self, raw: Mapping[str, Any]) -> Any:
        """Return the game's options, parsed from plain JSON.

        Raises `Malformed` for an unknown option, for a value of the wrong type or out of range, and
        for options that `setup` refuses.
        """
        try:
            options = msgspec.convert(dict(raw), self.options_type)
        except msgspec.ValidationError as error:
            raise Malformed(
                say("Option of {game}: {error}", game=self.name, error=str(error))
            ) from None
        # Only `setup` sees faults that no type can express, such as a start square in a wall.
        self.setup(options, Random(0))
        return options

    @abstractmethod
    def kit(self, options: Any) -> Kit:
        """Return the board, pieces and cards for these options."""

    @abstractmethod
    def setup(self, options: Any, rng: Random) -> S:
        """Return the first state. All its random choices come from `rng`."""

    @abstractmethod
    def to_act(self, state: S) -> frozenset[Seat]:
        """Return the seats that owe an action.

        One seat has the turn. If both owe one, their actions are sealed and opened together. Nobody
        acts after the end of the game.
        """

    @abstractmethod
    def legal_actions(self, state: S, seat: Seat) -> Iterable[A]:
        """Return all legal actions of a seat, lazily if there are many."""

    def random_action(self, state: S, seat: Seat, rng: Random) -> A:
        """Return a random legal action, for tests and self-play.

        Override it if there are too many actions to list.
        """
        return rng.choice(list(self.legal_actions(state, seat)))

    def check(self, state: S, seat: Seat, action: A) -> None:
        """Raise `Illegal` with reason and rule unless the action is legal for a seat in `to_act`.

        The caller has checked that the seat is in `to_act`, as `require` does. Override it to name
        the broken rule, or if there are too many actions to list.
        """
        if action not in self.legal_actions(state, seat):
            raise Illegal(Refusal.AGAINST_RULES, say("That cannot be done now"), self.turn_rule)

    @abstractmethod
    def apply(self, state: S, actions: Mapping[Seat, A], rng: Random) -> Step[S]:
        """Carry out one action of every seat in `to_act`. `check` has accepted all of them.

        All random choices come from `rng`. The table may apply the same turn again, for a replay or
        after a restart, and must get the same result.
        """

    def outcome(self, state: S) -> Outcome | None:
        """Return how the game ended, or None while it goes on. By default `state.outcome`."""
        ending: Outcome | None = cast(Any, state).outcome
        return ending

    @abstractmethod
    def view(self, state: S, seat: Seat | None) -> View:
        """Return what a seat (None for everybody) may know of a state.

        It never holds what is hidden from that viewer. A game without secrets extends
        `common_view`.
        """

    def common_view(self, state: S) -> dict[str, Any]:
        """Return the public part of every game's view: seats to act, expected layout, outcome."""
        return {
            "to_act": sorted(self.to_act(state)),
            "expected": plain_layout(self.expected(state)),
            "outcome": plain_outcome(self.outcome(state)),
        }

    def dump(self, state: S) -> View:
        """Return the complete state for the engine protocol. Override it if views hide something.

        It may hold secrets, so it is for programs and tests and never for a viewer.
        """
        return self.view(state, None)

    def parse(self, text: str) -> A:
        """Parse an action from its notation. Raises `Malformed`.

        By default an action is its notation, without any check.
        """
        return cast(A, text)

    def format(self, action: A) -> str:
        """Return the notation of an action."""
        return str(action)

    def plays(self, state: S, seat: Seat) -> Iterable[Play]:
        """Return the legal actions as a seat taps them, or makes them on the board.

        One of several equivalent actions is enough. By default each action is a key and touches no
        squares.
        """
        for action in self.legal_actions(state, seat):
            text = self.format(action)
            yield Play(text, (), text, text)

    def commands(self, action: A) -> Iterable[str]:
        """Return the word of each command in an action, for statistics and help.

        A command without a choice, such as the end of a turn, needs no word.
        """
        return (self.format(action),)

    def how_it_ended(self, state: S) -> str:
        """Return a short sentence on how a finished game ended, shown beside the winner."""
        outcome = self.outcome(state)
        return outcome.short or outcome.reason if outcome else ""

    def is_reversible(self, state: S, seat: Seat, action: A) -> bool | None:
        """Return whether a seat may take back this action after the reveal.

        That is fair only if nobody has learned anything from it. None means no.
        """

    def require(self, state: S, actions: Mapping[Seat, A]) -> None:
        """Raise `Illegal` unless exactly the seats in `to_act` act, and each legally."""
        due = self.to_act(state)
        if not due:
            raise Illegal(
                Refusal.GAME_OVER, say("The game is over: start a new one"), self.end_rule
            )
        # First check who may act, then whether all act, then each action.
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


# A game whose states and actions the caller only passes on.
AnyGame = Game[Any, Any]


# ---- helpers for games and their callers ---------------------------------------------------------


def changed_tops(layout: Layout, seen: FacesSeen) -> dict[Square, tuple[str | None, str | None]]:
    """Return the squares whose top face differs from a layout, each with its face before and now.

    A helper for `why_not`. None as a face means that the square is empty.
    """
    tops = {square: faces[-1] for square, faces in layout.items()}
    changes = {}
    for square in sorted({*tops, *seen}):
        before = tops.get(square)
        now = seen.get(square)
        if before != now:
            changes[square] = (before, now)
    return changes


def plain_layout(layout: Layout | None) -> dict[str, list[str]] | None:
    """Return a layout as plain JSON, such as `{"c3": ["lime flag", "purple robot"]}`, or None.

    Faces are listed from bottom to top.
    """
    if layout is None:
        return None
    return {str(square): [str(face) for face in faces] for square, faces in sorted(layout.items())}


def plain_outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    """Return an outcome as plain JSON, or None."""
    if outcome is None:
        return None
    return {"winners": sorted(outcome.winners), "reason": translate(outcome.reason)}


# ---- kept for games written for version 1.0 ------------------------------------------------------


class CardGame(Game[S, A]):
    """Former name of a game with a `card_ui`, for games written for version 1.0."""


class TimedGame(Game[S, A]):
    """Former name of a game with a `time_limit`, for games written for version 1.0."""


class ChessClockGame(Game[S, A]):
    """Former name of a game with a `chess_clock`, for games written for version 1.0."""
