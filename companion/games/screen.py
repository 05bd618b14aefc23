"""What the screens of a game show beside its board, and how its actions are tapped.

Plain values: games return them, and pages draw them. A game of pieces returns a `BoardUi` from
`Game.board_ui`, a game of cards a `CardUi` from `Game.card_ui`, and both are made of the parts
above them. `Play` says how an action is tapped. `Tally` and `Headline` belong to the stages of a
turn.

Every value is public, or meant only for the viewer for whom the game was asked. Texts are sentences
for people, made by `say` if the game is translated.
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
    """Pairs (part, value) of texts, such as a card and `5`."""
    total: str
    """Sum of the parts. If it is empty, only the parts are shown."""
    worth: str = ""
    """Strength that the sum gives, in words such as “power 3”. Empty if the sum itself counts."""
    ladder: tuple[int, ...] = ()
    """Numbers of the scale on which the sum is shown, such as 2 4 8 16 32. Empty for no scale."""
    reached: int = 0
    """Number of steps of the `ladder` that are filled, from the left."""
    is_greater: bool = False
    """Whether this sum beats the other side's."""
    lost: frozenset[str] = frozenset()
    """Parts that the seat loses, as named in `parts`. They are crossed out."""


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
    """Faces in the picture, from left to right. If one piece acts on another, it is the first."""
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
    """A key on a page: a whole play, such as the end of a turn, or the beginning of one."""

    name: str
    """Name by which `Play.key` and `CardChoice.key` refer to this key."""
    label: str
    hint: str = ""
    """Sentence that says when the key can be used."""
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
    """All squares of the path in order, or those that a placed piece covers."""
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
        """The squares to tap in order: `taps`, or the first and the last of `squares`."""
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
    """Order that is noted for the first unit if no unit has one. An action is never empty."""


@dataclass(frozen=True)
class UnitOrder:
    """An order of one piece, hidden or revealed."""

    unit: str
    """Name of the piece in the notation."""
    order: str | None = None
    """The order in notation. None while it is hidden."""
    words: str = ""
    """The order in words."""
    drawing: str = ""
    """Drawing of the order. Empty if the piece does nothing."""
    degrees: int = 0
    """Angle in degrees by which the drawing is turned clockwise, with South below."""


@dataclass(frozen=True)
class Placing:
    """A form by which a seat places all its pieces as one action: `R@b1 R@d1 …`."""

    pieces: tuple[tuple[str, str], ...]
    """Pairs of a piece's letter and the name of its face, in the order of the notation."""
    squares: tuple[Square, ...]
    """Squares on which the pieces may be placed."""
    proposal: tuple[Square, ...]
    """Square of each piece when the page opens."""


@dataclass(frozen=True)
class Duellist:
    """One side of a face-off."""

    face: str
    """Name of the face of its piece."""
    square: Square
    text: str
    """A few words on what the piece does."""
    strengths: tuple[int, ...]
    """Numbers that are added to the side's secret card, one for each of its pieces."""


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
    """Whether the card has been played and is no longer in the hand."""


@dataclass(frozen=True)
class BoardUi:
    """What a viewer sees beside the board of a game with pieces, and the controls for acting.

    `sheet`, `placing` and `duel` are ways of acting, at most one at a time. `sheet` and `placing`
    are None unless the viewer may use them, but everybody sees a duel.
    """

    sign: str
    """Sentence in at most 40 characters that says what the table waits for."""
    hint: str = ""
    """Sentence with the reason or the rule behind the sign."""
    open_action: str = ""
    """Action in notation that anybody at the table may take for the seat on turn.

    An example is the end of a turn, as by pressing a chess clock. Empty for none.
    """
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
    """Keys for the viewer, referred to by `Play.key`."""
    sheet: OrderSheet | None = None
    placing: Placing | None = None
    duel: Duel | None = None


@dataclass(frozen=True)
class Possible:
    """One thing that a seat can do now, and its effect. Answers “What can I do now?”."""

    drawing: str
    """Name of a drawing, or empty."""
    word: str
    """Word on the key or the sheet, such as “shoot”."""
    result: str
    """Effect in a few words, such as “to c4”."""
    squares: tuple[Square, ...] = ()
    """Squares on which it starts, or on which it ends."""
    is_barred: bool = False
    """Whether it would be refused, or have no effect, at this moment."""


# ---- games of cards and counters: what their screens show ----------------------------------------


@dataclass(frozen=True)
class Count:
    """The big counter of a table screen, such as 63 of 110 turns left."""

    number: int
    """Number that is left."""
    total: int
    """Number at the start of the game."""
    label: str
    """Words for what is counted, such as “turns left”."""


# Cards in a pile from bottom to top. None is a card whose face the viewer does not see.
Pile = tuple[str | None, ...]


@dataclass(frozen=True)
class Lane:
    """A lane of cards between the seats: each seat's stack, the lane's deck and discard pile."""

    name: str
    """Name of the lane as players call it, such as `0`."""
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
    cards, a slash, South's cards. A card is its value and its suit. If `zones` are known, the text
    begins with their lane, as in `2: 5& 3% / 4^`. Lanes are files, counted from 0 at South's left.
    """

    values: tuple[str, ...]
    suits: tuple[str, ...]
    zones: Mapping[Seat, Square]
    """Square where the camera sees each seat's cards. Empty while no lane is known."""
    open_seat: Seat | None = None
    """Seat whose stack lay face up or face down as a whole before. None if neither seat's did."""
    open_mark: str = ""
    """Suffix of a card that was face up before, on all cards of `open_seat` or on none."""
    marks_single: bool = False
    """Whether single cards of the other seat may have the suffix `open_mark`."""
    may_be_empty: bool = False
    """Whether North's stack may be empty."""


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
    """Hand of each seat, with None for each card that the viewer may not see."""
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
    """Sentence in at most 40 characters that says what is due. If empty, the table has its own."""
    hint: str = ""
    """Sentence with the reason or the rule behind the sign."""
    pad_hint: str = ""
    """The hint for a seat that plays with a pad’s keys. Empty if it is the same for all."""
    wants_both: bool = False
    """Whether both seats have something to do with the cards, although only one reports it."""
