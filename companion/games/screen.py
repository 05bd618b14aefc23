"""What the screens of a game show beside its board, and how its actions are tapped.

All of it is public, or for the eyes of the viewer for whom a game was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from companion.core.grid import Square
from companion.core.kit import Seat


@dataclass(frozen=True)
class Tally:
    """A seat's sum, to be shown as it builds up: its parts with what each adds, the total, and what
    that is worth.

    `ladder` is a row of numbers (2 4 8 16 …) of which the first `reached` are filled. `is_greater`:
    it beats the other. Without a `total` its parts are shown alone. `lost` are those of its parts
    that its seat loses.
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
    """What happened, in one sentence for both sides, to be read while nobody has to do anything.

    `text` has at most 40 characters and calls people by their sides. `scene` is drawn large and
    read for twice the time; empty: the sentence says it all. `faces` are its pieces from left to
    right: who bumps into whom, or who has done something, then to whom. `lost` is what the last of
    them, on `square`, lost of `most` hit points, `left` what it has now.
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
    """Each seat's time for the whole game, in seconds, and what it gets back at the end of each of
    its turns.
    """

    seconds: float
    increment_s: float = 0.0


@dataclass(frozen=True)
class Badge:
    """What is told of the piece on a square: a short text such as `18`, and a bar that is filled to
    a share of 0..1.
    """

    text: str = ""
    share: float | None = None


@dataclass(frozen=True)
class ChoiceKey:
    """A key of a page: it begins a play, such as a pass, or is one, such as the end of a turn.

    `hint` says when it can be used. `is_main` makes it the large one. `is_final` ends the game, so
    it is asked first.
    """

    name: str
    label: str
    hint: str = ""
    is_main: bool = False
    is_final: bool = False


@dataclass(frozen=True)
class Play:
    """A legal action as it is tapped: a piece, then where it goes, after a key where it needs one.

    `text` is the notation, `label` at most 40 characters that say it, such as “Jump c1 to e3”.
    `squares` are all that it leads over, or covers. `meets` are those on the way whose pieces can
    stop it.
    """

    text: str
    squares: tuple[Square, ...]
    label: str
    key: str = ""
    taps: tuple[Square, ...] = ()
    """What is tapped, in its order, where that is not the first and the last square.

    A square beyond the last rank is the goal there.
    """
    meets: tuple[Square, ...] = ()
    is_by_hand: bool = True
    """False for what the board does not show, such as the end of a turn."""

    @property
    def touches(self) -> tuple[Square, ...]:
        """Return the squares that are tapped, in their order."""
        return self.taps or (
            self.squares if len(self.squares) < 2 else (self.squares[0], self.squares[-1])
        )


@dataclass(frozen=True)
class Unit:
    """A piece that gets an order of its own: its name in the notation, where it stands, and a word
    on it.
    """

    name: str
    square: Square
    note: str = ""


@dataclass(frozen=True)
class OrderKind:
    """An order a unit can get: what it adds to the notation, its key, and whether a direction
    follows.

    `drawing` is drawn over the unit or, with a direction, over the edge to the square it leads to.
    """

    letter: str
    label: str
    drawing: str
    has_direction: bool = False


@dataclass(frozen=True)
class Direction:
    """A direction of the board: its letter and name, the step it makes (files, ranks), its drawing
    with South below.

    `initial` is the letter that players read in their own language. Empty: the notation's.
    """

    letter: str
    label: str
    step: tuple[int, int]
    drawing: str
    initial: str = ""


@dataclass(frozen=True)
class OrderSheet:
    """Orders for each of a seat's pieces, one action together: `1:N 2:aE 3:D`, by the order of the
    units.

    A unit without an order is left out. `nothing` is the text of an order that does nothing, for a
    sheet on which no unit has any.
    """

    units: tuple[Unit, ...]
    kinds: tuple[OrderKind, ...]
    directions: tuple[Direction, ...]
    nothing: str = "-"


@dataclass(frozen=True)
class UnitOrder:
    """What a piece was ordered, once everybody may know it: the notation (None: not open yet),
    words and a drawing.

    The drawing is turned clockwise by `degrees` on a picture with South below. Empty: it does
    nothing.
    """

    unit: str
    order: str | None = None
    words: str = ""
    drawing: str = ""
    degrees: int = 0


@dataclass(frozen=True)
class Placing:
    """Pieces that a seat places as it likes, one action together: `R@b1 R@d1 …`, in the order of
    `pieces`.

    Each piece is its letter and its face's name. `proposal` are the squares at which the page
    begins.
    """

    pieces: tuple[tuple[str, str], ...]
    squares: tuple[Square, ...]
    proposal: tuple[Square, ...]


@dataclass(frozen=True)
class Duellist:
    """One side of a face-off: its piece, where, what it does there, and the strengths that
    count.
    """

    face: str
    square: Square
    text: str
    strengths: tuple[int, ...]


@dataclass(frozen=True)
class Duel:
    """A face-off that waits for both seats' secret cards."""

    sides: Mapping[Seat, Duellist]
    hint: str = ""
    """The rule of it, such as what a difference of more than 2 means."""


@dataclass(frozen=True)
class HandCard:
    """A card of a small open hand: its value, and whether it has been played. The choice of a card
    is its value.
    """

    value: str
    is_spent: bool = False


@dataclass(frozen=True)
class BoardUi:
    """What a viewer sees of a game of pieces beside its board, and by which means he acts.

    `sign` says what is awaited in at most 40 characters, `hint` why or by which rule. `facts` are a
    few words on each seat, such as “play 2 of 2”. `open_action` is what anybody at the table may do
    for the seat on turn, as on a chess clock. Empty: nothing. `hands` are the cards of each seat
    that all may see. `keys` begin plays. `sheet`, `placing` and `duel` are there while the viewer
    may act by them.
    """

    sign: str
    hint: str = ""
    open_action: str = ""
    facts: Mapping[Seat, str] = field(default_factory=dict)
    kept: Mapping[Seat, tuple[str, ...]] = field(default_factory=dict)
    """The faces of what each seat still has beside the board."""
    plays: Mapping[Seat, tuple[bool, ...]] = field(default_factory=dict)
    """The plays of the seat on turn, each with whether it has been made."""
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    hands: Mapping[Seat, tuple[HandCard, ...]] = field(default_factory=dict)
    keys: tuple[ChoiceKey, ...] = ()
    sheet: OrderSheet | None = None
    placing: Placing | None = None
    duel: Duel | None = None


@dataclass(frozen=True)
class Possible:
    """Something that can be done: a drawing where it has one, a word, and what comes of it in a few
    words.

    `squares` are where it leads or begins. `is_barred`: it would be refused now, or come to
    nothing.
    """

    drawing: str
    word: str
    result: str
    squares: tuple[Square, ...] = ()
    is_barred: bool = False


# ---- games of cards and counters: what their screens show ----------------------------------------


@dataclass(frozen=True)
class Count:
    """The big number of a table screen: `number` of `total` things are left, such as 63 of 110
    “turns left”.
    """

    number: int
    total: int
    label: str


Pile = tuple[str | None, ...]
"""Cards that lie together, from the bottom to the top. None: the viewer sees only its back."""


@dataclass(frozen=True)
class Lane:
    """A lane between the seats: each seat's stack, the deck between them, and the discard pile
    behind the deck.
    """

    name: str
    north: Pile
    deck: Pile
    south: Pile
    discard: Pile


@dataclass(frozen=True)
class CardChoice:
    """A legal action in notation, and how it is tapped: a key, with a card and a lane where it
    needs them.
    """

    text: str
    key: str
    card: str | None = None
    lane: str | None = None


@dataclass(frozen=True)
class CardEntry:
    """Cards of both seats to be tapped in, one value and one suit each.

    Its text is `NORTH CARDS / SOUTH CARDS`.

    Where `zones` are known `LANE: ` may come first: their file, counted from 0 at South's left.

    A card is `value + suit`. `open_seat` is the seat whose stack may have lain face up before: then
    each of its cards is followed by `open_mark`. Of the other seat single cards may have, where
    `marks_single` says so. North's cards may be none where `may_be_empty` says so.
    """

    values: tuple[str, ...]
    suits: tuple[str, ...]
    zones: Mapping[Seat, Square]
    """Where the camera sees them. Empty while no lane is known."""
    open_seat: Seat | None = None
    open_mark: str = ""
    marks_single: bool = False
    may_be_empty: bool = False


@dataclass(frozen=True)
class CardUi:
    """What a viewer may see of a game of cards and counters, and what he can do.

    `acting` is who acts, by name. `facts` are a few words on each seat. `hands` holds the viewer's
    own cards by name and the other's as backs. `choices` of the viewer None are those that anybody
    at the table may take for the seat on turn. `entry` asks for cards that lie open.
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
    """What is awaited, in at most 40 characters. Empty: the table finds its own words."""
    hint: str = ""
    pad_hint: str = ""
    """The hint for whoever plays by a pad’s keys. Empty: the same for all."""
    wants_both: bool = False
    """Return whether both seats have something to do, though one says that it is done."""
