"""What the screens of a game show beside its board, and how its actions are tapped.

Plain values: games return them, and pages draw them. A game of pieces returns a `BoardUi` from
`Game.board_ui`, a game of cards a `CardUi` from `Game.card_ui`, and both are made of the parts
above them. `Play` says how an action is tapped. `Tally` and `Headline` belong to the stages of a
turn.

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
    """The sum of a seat in a fight, shown part by part as it builds up."""

    seat: Seat
    parts: tuple[tuple[str, str], ...]
    """Pairs of a part and its value, such as a card and `5`."""
    total: str
    """Sum of the parts. If it is empty, only the parts are shown."""
    worth: str = ""
    """What the sum counts for, in words such as “power 3”."""
    ladder: tuple[int, ...] = ()
    """Row of numbers on which the sum is shown, such as 2 4 8 16 32."""
    reached: int = 0
    """How many numbers of the `ladder` are filled, from the left."""
    is_greater: bool = False
    """Whether this sum counts for more than the other side's."""
    lost: frozenset[str] = frozenset()
    """Parts that the seat loses, which are crossed out."""


@dataclass(frozen=True)
class Headline:
    """A sentence for both sides on what happened, read while nobody has to act.

    `square`, `lost`, `left` and `most` are for the scene `hit` in a game with hit points.
    """

    text: str
    """The sentence, in at most 40 characters. It calls people by their sides."""
    scene: Literal["", "bump", "hit", "taken", "sums"] = ""
    """Picture that is drawn large and shown twice as long. Empty if the sentence is enough.

    It shows a blocked move (`bump`), a hit (`hit`), something that a piece takes (`taken`), or the
    tallies of a fight (`sums`).
    """
    faces: tuple[str, ...] = ()
    """Pieces in the picture, from left to right. If one acts on another, it is the first."""
    square: Square | None = None
    """Square of the piece that is hit, which is the last of `faces`. None if several are hit."""
    lost: int = 0
    """Hit points that the hit has cost, summed over all pieces that are hit."""
    left: int = 0
    """Hit points that the piece on `square` still has."""
    most: int = 0
    """Hit points with which that piece began the game."""


# ---- games of pieces -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ChessClock:
    """The time control of a game in which each seat has its own clock."""

    seconds: float
    """Time of each seat for the whole game."""
    increment_s: float = 0.0
    """Time that a seat gains by each of its turns."""


@dataclass(frozen=True)
class Badge:
    """A small label on a piece, such as its hit points."""

    text: str = ""
    share: float | None = None
    """The number in `text` as a part of its full value, from 0 to 1. None if it has none.

    With it the piece is drawn smaller, to leave room for the number below it.
    """


@dataclass(frozen=True)
class ChoiceKey:
    """A key on a page. It is a play of its own, such as the end of a turn, or begins one."""

    name: str
    """Name by which `Play.key` and `CardChoice.key` refer to this key."""
    label: str
    hint: str = ""
    """When the key can be used, as a sentence."""
    is_main: bool = False
    """Whether the key is drawn large."""
    is_final: bool = False
    """Whether the key ends the game, so that the page asks for confirmation."""


@dataclass(frozen=True)
class Play:
    """A legal action as taps: a key where one is needed, then a piece and its target."""

    text: str
    """The action in notation."""
    squares: tuple[Square, ...]
    """All squares of the path, or those that a placed piece covers."""
    label: str
    """The action in at most 40 characters, such as “Jump c1 to e3”."""
    key: str = ""
    """Name of the `ChoiceKey` that begins the play, or empty."""
    taps: tuple[Square, ...] = ()
    """Squares to tap in order, if they are not the first and the last of `squares`.

    A square one rank off the board stands for the goal there. Read `touches` for the squares of any
    play.
    """
    meets: tuple[Square, ...] = ()
    """Squares of the path on which a piece of the other side can stop it."""
    is_by_hand: bool = True
    """Whether the board shows the action. False for one such as the end of a turn."""

    @property
    def touches(self) -> tuple[Square, ...]:
        """Return the squares to tap in order: `taps`, or the first and the last of `squares`."""
        if self.taps or len(self.squares) < 2:
            return self.taps or self.squares
        return self.squares[0], self.squares[-1]


@dataclass(frozen=True)
class Unit:
    """A piece with an order of its own, on an order sheet."""

    name: str
    """Name of the piece in the notation, such as `1`."""
    square: Square
    note: str = ""
    """A few words on the piece, such as its hit points."""


@dataclass(frozen=True)
class OrderKind:
    """An order that a sheet offers for each unit."""

    letter: str
    """Letter in the notation. It may be empty if a direction follows."""
    label: str
    drawing: str
    """Drawing over the unit or, with a direction, over the edge to the target square."""
    has_direction: bool = False


@dataclass(frozen=True)
class Direction:
    """A direction on the board, for orders of a sheet."""

    letter: str
    """Letter in the notation."""
    label: str
    step: tuple[int, int]
    """The (files, ranks) to the next square, such as (0, 1) for north."""
    drawing: str
    """Drawing of the direction on a board with South below."""
    initial: str = ""
    """Letter in the players' language, or empty if it is `letter`."""


@dataclass(frozen=True)
class OrderSheet:
    """A sheet with one order for each piece of a seat. Together they are one action.

    In notation that is `1:N 2:aE 3:D`, in the sequence of `units`. A unit without an order is left
    out.
    """

    units: tuple[Unit, ...]
    kinds: tuple[OrderKind, ...]
    directions: tuple[Direction, ...]
    nothing: str = "-"
    """Order of the first unit if no unit has one, because an action is never empty."""


@dataclass(frozen=True)
class UnitOrder:
    """An order of one piece, hidden or revealed."""

    unit: str
    """Name of the piece in the notation."""
    order: str | None = None
    """The order in notation. None before the reveal."""
    words: str = ""
    drawing: str = ""
    """Drawing of the order. Empty if the piece does nothing."""
    degrees: int = 0
    """Clockwise turn of the drawing on a picture with South below."""


@dataclass(frozen=True)
class Placing:
    """Pieces that a seat places freely on some squares, as one action: `R@b1 R@d1 …`."""

    pieces: tuple[tuple[str, str], ...]
    """Letter of each piece and the name of its face, in the order of the notation."""
    squares: tuple[Square, ...]
    proposal: tuple[Square, ...]
    """A square for each piece, with which the page starts."""


@dataclass(frozen=True)
class Duellist:
    """One side of a face-off."""

    face: str
    """Name of the face of its piece."""
    square: Square
    text: str
    """What the piece does, in a few words."""
    strengths: tuple[int, ...]
    """Numbers that are added to the side's secret card."""


@dataclass(frozen=True)
class Duel:
    """A face-off for which both seats still owe a secret card."""

    sides: Mapping[Seat, Duellist]
    hint: str = ""
    """The rule behind it, such as the effect of a difference of more than 2."""


@dataclass(frozen=True)
class HandCard:
    """A card of a hand that everybody sees."""

    value: str
    """Value on the card, which is also its notation."""
    is_spent: bool = False


@dataclass(frozen=True)
class BoardUi:
    """What a viewer sees beside the board of a game with pieces, and the controls for acting.

    `sheet`, `placing` and `duel` are ways of acting, at most one at a time. The first two are there
    only for a viewer who may use them, but everybody sees a duel.
    """

    sign: str
    """What the table waits for, in at most 40 characters."""
    hint: str = ""
    """The reason or rule behind the sign."""
    open_action: str = ""
    """Action that anybody at the table may take for the seat on turn, as on a chess clock."""
    facts: Mapping[Seat, str] = field(default_factory=dict)
    """A few words on each seat, such as “play 2 of 2”."""
    kept: Mapping[Seat, tuple[str, ...]] = field(default_factory=dict)
    """Faces of the pieces that each seat still has beside the board."""
    plays: Mapping[Seat, tuple[bool, ...]] = field(default_factory=dict)
    """Marks for the plays of a turn, drawn as small icons of the seat on turn.

    There is one for each play that the seat may make in this turn, in order: True if it has been
    made. `(True, False)` shows that the first of two plays has been made. Not to be confused with
    `Game.plays`, which lists the legal actions.
    """
    badges: Mapping[Square, Badge] = field(default_factory=dict)
    hands: Mapping[Seat, tuple[HandCard, ...]] = field(default_factory=dict)
    """Cards of each seat that everybody sees."""
    keys: tuple[ChoiceKey, ...] = ()
    """Keys for the viewer. Each is a play of its own or begins plays."""
    sheet: OrderSheet | None = None
    placing: Placing | None = None
    duel: Duel | None = None


@dataclass(frozen=True)
class Possible:
    """One thing that a seat can do now, and what it leads to. Answers “What can I do now?”."""

    drawing: str
    """Name of a drawing, or empty."""
    word: str
    """Word on the key or the sheet, such as “shoot”."""
    result: str
    squares: tuple[Square, ...] = ()
    """Squares on which it starts or ends."""
    is_barred: bool = False
    """Whether it would be refused or have no effect now."""


# ---- games of cards and counters: what their screens show ----------------------------------------


@dataclass(frozen=True)
class Count:
    """The big counter of a table screen, such as 63 of 110 turns left."""

    number: int
    """How many are left."""
    total: int
    label: str
    """What is counted, such as “turns left”."""


# Cards in a pile from bottom to top. None for a card of which the viewer sees only the back.
Pile = tuple[str | None, ...]


@dataclass(frozen=True)
class Lane:
    """A lane of cards between the seats: each seat's stack, the lane's deck and discard pile."""

    name: str
    north: Pile
    deck: Pile
    south: Pile
    discard: Pile


@dataclass(frozen=True)
class CardChoice:
    """A legal action as taps: a key, then a card and a lane where needed."""

    text: str
    """The action in notation."""
    key: str
    """Name of the `ChoiceKey`."""
    card: str | None = None
    lane: str | None = None


@dataclass(frozen=True)
class CardEntry:
    """A form in which somebody enters the face-up cards of both seats by taps.

    It is for real cards, which people hold. The action is a text such as `5& 3% / 4^`: North's
    cards, a slash, South's cards. A card is its value and its suit. If `zones` are known, a lane
    comes first, as in `2: 5& 3% / 4^`. It is the file of the zones, counted from 0 at South's left.
    """

    values: tuple[str, ...]
    suits: tuple[str, ...]
    zones: Mapping[Seat, Square]
    """Square where the camera sees each seat's cards. Empty while no lane is known."""
    open_seat: Seat | None = None
    """Seat whose stack lies face up or face down as a whole."""
    open_mark: str = ""
    """Suffix of a card that was face up before, on all cards of `open_seat` or on none."""
    marks_single: bool = False
    """Whether single cards of the other seat may carry `open_mark`."""
    may_be_empty: bool = False
    """Whether North may have no cards."""


@dataclass(frozen=True)
class CardUi:
    """What a viewer may see of a game of cards and counters, and the controls for acting."""

    count: Count | None = None
    acting: str = ""
    """Name of the side or the player that acts."""
    lanes: tuple[Lane, ...] = ()
    piles: Mapping[str, Pile] = field(default_factory=dict)
    """Piles beside the lanes, by name."""
    hands: Mapping[Seat, Pile] = field(default_factory=dict)
    """Hand of each seat. Cards that the viewer may not see are backs."""
    facts: Mapping[Seat, str] = field(default_factory=dict)
    """A few words on each seat, such as “hand 3”."""
    keys: tuple[ChoiceKey, ...] = ()
    """Keys of the seat, including those that no choice needs now."""
    choices: tuple[CardChoice, ...] = ()
    """Legal actions of the viewer.

    For the viewer None they are those that anybody at the table may take for the seat on turn.
    """
    entry: CardEntry | None = None
    sign: str = ""
    """What is due, in at most 40 characters. If empty, the table uses its own words."""
    hint: str = ""
    pad_hint: str = ""
    """The hint for a seat that plays with a pad’s keys. Empty if it is the same for all."""
    wants_both: bool = False
    """Whether both seats have something to do with the cards, although only one reports it."""
