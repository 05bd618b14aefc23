"""What the screens of a game show beside its board, and how its actions are tapped.

These are values without methods that do anything: a game returns them, and pages draw them. A game
of pieces returns a `BoardUi` from `Game.board_ui`, a game of cards a `CardUi` from `Game.card_ui`,
and both are made of the parts above them. `Play` says how an action is tapped. `Tally` and
`Headline` belong to the stages of a turn.

Every value is public, or for the one viewer for whom the game was asked. Texts are sentences for
people, made by `say` if the game is translated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from companion.core.grid import Square
from companion.core.kit import Seat


@dataclass(frozen=True)
class Tally:
    """The sum of a seat in a fight, shown part by part as it builds up.

    `parts` are pairs of a part and its value, such as a card and `5`. `total` is their sum, and
    without one only the parts are shown. `worth` says in words what the sum counts for, such as
    “power 3”. `ladder` is a row of numbers (2 4 8 16 …), of which the first `reached` are filled.
    `is_greater` marks the greater of two sums. `lost` holds the parts that the seat loses.
    """

    seat: Seat
    parts: tuple[tuple[str, str], ...]
    total: str
    worth: str = ""
    ladder: tuple[int, ...] = ()
    reached: int = 0
    is_greater: bool = False
    lost: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Headline:
    """A sentence for both sides on what happened, read while nobody has to act.

    `text` has at most 40 characters and calls people by their sides. `scene` names a picture that
    is drawn large and shown twice as long. It is empty if the sentence is enough. `faces` are the
    pieces in it from left to right, where the first acts on the second.

    In a hit, the last of `faces` is on `square`. It has just lost `lost` hit points, has `left` of
    them now, and began with `most`.
    """

    text: str
    scene: Literal["", "bump", "hit", "taken", "sums"] = ""
    faces: tuple[str, ...] = ()
    square: Square | None = None
    lost: int = 0
    left: int = 0
    most: int = 0


# ---- games of pieces -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ChessClock:
    """Time control: the seconds of each seat for the whole game, and those that each of its turns
    adds.
    """

    seconds: float
    increment_s: float = 0.0


@dataclass(frozen=True)
class Badge:
    """A small label on a piece: a text such as `18`, and a bar filled to a share from 0 to 1."""

    text: str = ""
    share: float | None = None


@dataclass(frozen=True)
class ChoiceKey:
    """A key on a page. It is a play of its own, such as the end of a turn, or begins one.

    A play refers to it by `name`. `hint` says when it can be used. `is_main` makes it large.
    `is_final` marks a key that ends the game and asks for confirmation.
    """

    name: str
    label: str
    hint: str = ""
    is_main: bool = False
    is_final: bool = False


@dataclass(frozen=True)
class Play:
    """A legal action as taps: a key where one is needed, then a piece and its target.

    `text` is the notation and `label` a text of at most 40 characters, such as “Jump c1 to e3”.
    `squares` are all squares of the path, or those that a placed piece covers. `key` is the name of
    the `ChoiceKey` that begins the play, or empty. `meets` are the squares of the path on which a
    piece of the other side can stop it.
    """

    text: str
    squares: tuple[Square, ...]
    label: str
    key: str = ""
    taps: tuple[Square, ...] = ()
    """Squares to tap in order, if they are not the first and the last square.

    A square beyond the last rank stands for the goal.
    """
    meets: tuple[Square, ...] = ()
    is_by_hand: bool = True
    """Whether the board shows the action. False for one such as the end of a turn."""

    @property
    def touches(self) -> tuple[Square, ...]:
        """Return the squares to tap, in order."""
        return self.taps or (
            self.squares if len(self.squares) < 2 else (self.squares[0], self.squares[-1])
        )


@dataclass(frozen=True)
class Unit:
    """A piece with an order of its own: its name in the notation, its square, and a short note."""

    name: str
    square: Square
    note: str = ""


@dataclass(frozen=True)
class OrderKind:
    """An order for a unit: its letter in the notation, its label, and whether a direction follows.

    `drawing` is shown over the unit or, with a direction, over the edge to the target square.
    """

    letter: str
    label: str
    drawing: str
    has_direction: bool = False


@dataclass(frozen=True)
class Direction:
    """A direction on the board: its letter, its name, its step (files, ranks) and its drawing.

    The drawing is the one for a board with South below. `initial` is the letter in the players'
    language, or empty if it is that of the notation.
    """

    letter: str
    label: str
    step: tuple[int, int]
    drawing: str
    initial: str = ""


@dataclass(frozen=True)
class OrderSheet:
    """A sheet with one order for each piece of a seat. Together they are one action.

    In notation that is `1:N 2:aE 3:D`, in the sequence of `units`. A unit without an order is left
    out. `nothing` is the order of the first unit if no unit has one.
    """

    units: tuple[Unit, ...]
    kinds: tuple[OrderKind, ...]
    directions: tuple[Direction, ...]
    nothing: str = "-"


@dataclass(frozen=True)
class UnitOrder:
    """A revealed order of a piece: its notation, words and a drawing.

    `order` is None before the reveal. On a picture with South below, the drawing is turned
    clockwise by `degrees`. Without a drawing the piece does nothing.
    """

    unit: str
    order: str | None = None
    words: str = ""
    drawing: str = ""
    degrees: int = 0


@dataclass(frozen=True)
class Placing:
    """Pieces that a seat places freely as one action: `R@b1 R@d1 …`, in the order of `pieces`.

    Each piece is a pair of its letter and the name of its face. `squares` are those that are
    allowed. `proposal` has a square for each piece, with which the page starts.
    """

    pieces: tuple[tuple[str, str], ...]
    squares: tuple[Square, ...]
    proposal: tuple[Square, ...]


@dataclass(frozen=True)
class Duellist:
    """One side of a face-off: its piece and square, what the piece does, and its strengths.

    The side's sum is that of its `strengths` and its secret card.
    """

    face: str
    square: Square
    text: str
    strengths: tuple[int, ...]


@dataclass(frozen=True)
class Duel:
    """A face-off for which both seats still owe a secret card."""

    sides: Mapping[Seat, Duellist]
    hint: str = ""
    """The rule behind it, such as the effect of a difference of more than 2."""


@dataclass(frozen=True)
class HandCard:
    """A card of a hand that everybody sees: its value, which is also its notation, and whether it
    is spent.
    """

    value: str
    is_spent: bool = False


@dataclass(frozen=True)
class BoardUi:
    """What a viewer sees beside the board of a game with pieces, and the controls for acting.

    `sign` says in at most 40 characters what the table waits for, and `hint` gives the reason or
    rule. `facts` are a few words on each seat, such as “play 2 of 2”. `open_action` is the action
    that anybody at the table may take for the seat on turn, as on a chess clock, or empty. `badges`
    are labels on pieces. `hands` are the public cards of each seat. `keys` are plays or begin them.

    `sheet`, `placing` and `duel` are ways of acting. Each is present while the viewer may use it,
    and at most one at a time.
    """

    sign: str
    hint: str = ""
    open_action: str = ""
    facts: Mapping[Seat, str] = field(default_factory=dict)
    kept: Mapping[Seat, tuple[str, ...]] = field(default_factory=dict)
    """Faces that each seat still has beside the board."""
    plays: Mapping[Seat, tuple[bool, ...]] = field(default_factory=dict)
    """For each play of the seat on turn, whether it has been made."""
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    hands: Mapping[Seat, tuple[HandCard, ...]] = field(default_factory=dict)
    keys: tuple[ChoiceKey, ...] = ()
    sheet: OrderSheet | None = None
    placing: Placing | None = None
    duel: Duel | None = None


@dataclass(frozen=True)
class Possible:
    """One answer to “What can I do now?”: a drawing if there is one, a word, and its effect.

    `result` is the effect in a few words. `squares` are its start or target squares. `is_barred`
    marks an option that would be refused or have no effect now.
    """

    drawing: str
    word: str
    result: str
    squares: tuple[Square, ...] = ()
    is_barred: bool = False


# ---- games of cards and counters: what their screens show ----------------------------------------


@dataclass(frozen=True)
class Count:
    """The big counter of a table screen: `number` of `total` are left, such as 63 of 110 turns.

    `label` says what is counted, such as “turns left”.
    """

    number: int
    total: int
    label: str


# Cards in a pile from bottom to top. None for a card of which the viewer sees only the back.
Pile = tuple[str | None, ...]


@dataclass(frozen=True)
class Lane:
    """A lane between the seats: the stack of each seat, the deck between them, and the discard pile
    of the lane.
    """

    name: str
    north: Pile
    deck: Pile
    south: Pile
    discard: Pile


@dataclass(frozen=True)
class CardChoice:
    """A legal action in notation, and its taps: a key, then a card and a lane where needed."""

    text: str
    key: str
    card: str | None = None
    lane: str | None = None


@dataclass(frozen=True)
class CardEntry:
    """A form in which somebody enters the face-up cards of both seats by taps.

    It is for real cards, which people hold. The action is the text `NORTH CARDS / SOUTH CARDS`. A
    prefix `LANE: ` is possible where `zones` are known. The lane is the file of its zones, counted
    from 0 at South's left.

    A card is its value and its suit, without a space. If the stack of `open_seat` was face up
    before, each of its cards carries the suffix `open_mark`. With `marks_single` single cards of
    the other seat may carry it. With `may_be_empty` North may have no cards.
    """

    values: tuple[str, ...]
    suits: tuple[str, ...]
    zones: Mapping[Seat, Square]
    """Square where the camera sees each seat's cards. Empty while no lane is known."""
    open_seat: Seat | None = None
    open_mark: str = ""
    marks_single: bool = False
    may_be_empty: bool = False


@dataclass(frozen=True)
class CardUi:
    """What a viewer may see of a game of cards and counters, and the controls for acting.

    `count` is the big counter. `acting` names the side that acts. `piles` are those beside the
    lanes, by name. `facts` are a few words on each seat. `hands` holds the viewer's own cards by
    name and the other's as backs. `choices` are the legal actions of the viewer. For the viewer
    None they are those that anybody at the table may take for the seat on turn. `keys` are the keys
    of these choices. `entry` asks for face-up cards.
    """

    count: Count | None = None
    acting: str = ""
    lanes: tuple[Lane, ...] = ()
    piles: Mapping[str, Pile] = field(default_factory=dict)
    hands: Mapping[Seat, Pile] = field(default_factory=dict)
    facts: Mapping[Seat, str] = field(default_factory=dict)
    keys: tuple[ChoiceKey, ...] = ()
    choices: tuple[CardChoice, ...] = ()
    entry: CardEntry | None = None
    sign: str = ""
    """What is due, in at most 40 characters. If empty, the table uses its own words."""
    hint: str = ""
    pad_hint: str = ""
    """The hint for a seat that plays with a pad’s keys. Empty if it is the same for all."""
    wants_both: bool = False
    """Whether both seats have something to do with the cards, although only one reports it."""
