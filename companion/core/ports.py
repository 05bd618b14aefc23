"""What the table and its doors say to each other. Devices stand behind these protocols, chosen once at start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from companion.core.event_cues import EventCue
from companion.core.grid import Square
from companion.core.kit import Kit, Layout, Seat

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


# ---- the board, as the camera sees it -------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """One picture. `luma` is (height, width) uint8; `at_s` the monotonic time of its exposure; `number` counts up.

    `colours` answers Cr and Cb of the same view, (height, width, 2) uint8, smaller than the picture; it may cost
    something, so that it is asked only for what people look at. None: the camera has none.
    """

    luma: NDArray[np.uint8]
    at_s: float
    number: int
    colours: Callable[[], NDArray[np.uint8] | None] | None = None


class Camera(Protocol):
    """A source of frames; `close` may be called twice."""

    name: str

    def frame(self) -> Frame | None:
        """The next picture, waiting for it; None when there will be no more. Raises `CameraError`."""

    def close(self) -> None:
        """Give the device back."""


@dataclass(frozen=True)
class Reading:
    """What the camera knows about the board.

    `seen`: the face on top of each square where a marker is read; squares neither in `seen` nor in `unknown` are
    empty. `unknown`: hidden by a hand, glare or anything else. `beside`: faces read beside the board. `strangers`:
    marker ids that belong to no piece of this game, or to a piece seen twice. `quiet`: nothing moves and `seen` is
    settled over several frames. `game`: the game whose corner markers are seen; None: no board in view. `fans`: on a
    board of cards, the open cards of each zone from the bottom to the top, `X` for one that is there and not read.
    `markers`: the id that was read on each square of `seen`, where a piece shows one: it tells equal faces apart.
    `foreign`: those of `unknown` on which something that is no piece has lain for a while, such as a cup.
    """

    seen: Mapping[Square, str]
    unknown: frozenset[Square] = frozenset()
    beside: tuple[str, ...] = ()
    strangers: tuple[int, ...] = ()
    quiet: bool = False
    game: str | None = None
    at_s: float = 0.0
    frame: int = 0
    fans: Layout = field(default_factory=dict)
    markers: Mapping[Square, int] = field(default_factory=dict)
    foreign: frozenset[Square] = frozenset()

    @property
    def essence(self) -> tuple[object, ...]:
        """What of a reading can change the table: all but the frame's number and time."""
        told = (dict(self.seen), dict(self.fans), dict(self.markers))
        return (*told, self.unknown, self.foreign, self.beside, self.strangers, self.quiet, self.game)


class CameraState(StrEnum):
    """What the pages and lamps say about the camera."""

    NONE = "none"
    SEES_BOARD = "sees_board"
    NO_BOARD = "no_board"
    TROUBLE = "trouble"


@dataclass(frozen=True)
class CameraStatus:
    """The state of the camera and a sentence on what to do about it."""

    state: CameraState
    sentence: str = ""


# ---- pads, lamps and tones -----------------------------------------------------------------------------------


class PadKey(StrEnum):
    """The eight buttons of a pad; `TABLE` is the single button of the table."""

    UP = "up"
    DOWN = "down"
    LEFT = "left"
    RIGHT = "right"
    A = "a"
    B = "b"
    BACK = "back"
    READY = "ready"
    TABLE = "table"


@dataclass(frozen=True)
class Press:
    """A debounced press, stamped at its first edge. `held`: the key has been down for a second (sent once more)."""

    seat: Seat | None
    key: PadKey
    at_s: float
    held: bool = False


class Cue(StrEnum):
    """What lamps and tones announce of the table; the values are the rows of the cue language."""

    AWAKE = "awake"
    SEAT_TAKEN = "seat_taken"
    ORDERS_WANTED = "orders_wanted"
    KEY_TAKEN = "key_taken"
    KEY_TAKEN_FREE = "key_taken_free"
    KEY_REFUSED = "key_refused"
    KEY_BACK = "key_back"
    KEYS_CLEARED = "keys_cleared"
    SEALED = "sealed"
    TAKEN_BACK = "taken_back"
    REVEAL = "reveal"
    STEP = "step"
    HANDS_WANTED = "hands_wanted"
    BOARD_AGREES = "board_agrees"
    BOARD_WRONG = "board_wrong"
    ASKED = "asked"
    TURN_PASSES = "turn_passes"
    TIME_SHORT = "time_short"
    TIME_OUT = "time_out"
    CLOCK_LOW = "clock_low"
    CLOCK_LAST = "clock_last"
    PAUSED = "paused"
    RESUMED = "resumed"
    OFFER = "offer"
    WON = "won"
    TIE = "tie"
    TROUBLE = "trouble"
    OFF_WAIT = "off_wait"
    OFF = "off"


class TurnLamp(StrEnum):
    """Steady patterns of the turn lamp, by rising rank."""

    OFF = "off"
    ON = "on"
    PULSE = "pulse"
    OFFERED = "blink_2000"
    HANDS = "blink_1000"
    LAST = "blink_500"
    WRONG = "blink_400"
    TROUBLE = "two_flashes"


@dataclass(frozen=True)
class SeatLamps:
    """The steady pattern of one seat's four lamps: so many order lamps on, and the turn lamp.

    `order_lamps` lists which of the lamps 1, 2, 3 are on. `entering`: they blink together instead, because a first
    key is entered in a game whose number of orders is free (a count would tell too much). `mark`: these order lamps
    blink instead, the others are dark: the mark of a phone that asks to go on for this pad.
    """

    order_lamps: frozenset[int] = frozenset()
    turn: TurnLamp = TurnLamp.OFF
    entering: bool = False
    mark: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Signal:
    """One cue of the table or of an event, whom it concerns, and a number where it has one (order n, step n)."""

    cue: Cue | EventCue
    seats: frozenset[Seat] = frozenset()
    number: int = 0


@dataclass(frozen=True)
class Alarm:
    """A cue that is due at a monotonic time, unless the clock is stopped before."""

    at_s: float
    signal: Signal


# ---- the camera page: what an eye tells of the camera and the board ------------------------------------------------


class Weakness(StrEnum):
    """What makes a place of the board hard to read."""

    CUT = "cut"
    """It lies outside the picture."""
    GLARE = "glare"
    DARK = "dark"
    BLUR = "blur"
    SMALL = "small"
    """A marker that lies there has too few pixels."""
    TWIN = "twin"
    """Another copy of the board lies in the picture."""


@dataclass(frozen=True)
class SquareSeen:
    """One square as the camera sees it: what is read there, how surely (0..1), and what makes it hard.

    `faces`: as in a layout, empty for a square without a piece; `known` False: nobody can tell what lies there.
    `weak`: worst first. `module_px`: how many pixels a module of a marker lying there has.
    """

    square: Square
    faces: tuple[str, ...]
    known: bool
    sure: float
    weak: tuple[Weakness, ...] = ()
    module_px: float = 0.0


@dataclass(frozen=True)
class Advice:
    """One thing to do about what the camera sees badly, in at most 40 characters, and the reason."""

    text: str
    why: str
    weakness: Weakness


@dataclass(frozen=True)
class BoardSeen:
    """The board in one frame: `frame` is its number, `picture` a JPEG from straight above that shows `area_mm`.

    `area_mm` is (low x, low y, high x, high y) in board mm. `advice` is sorted, the worst first; empty: all is well.
    """

    frame: int
    picture: bytes
    kit: Kit
    reading: Reading
    squares: tuple[SquareSeen, ...]
    area_mm: tuple[float, float, float, float]
    advice: tuple[Advice, ...]
    distance_mm: float
    tilt_deg: float
    note: str = ""
    """What else there is to say of the picture, as sentences without the last full stop."""


@dataclass(frozen=True)
class SettledFrame:
    """A frame in which the board had just come to rest. `number` is that of the eye.

    `lens` is its focal ratio and k1, where it needs them k2 and 1 for a fisheye as well.
    """

    number: int
    frame: Frame
    reading: Reading
    lens: tuple[float, ...]
    outline_px: tuple[tuple[float, float], ...]
    """Around the printed board and what stands on it, in the picture; nothing outside belongs to the game."""
    squares_px: Mapping[Square, tuple[tuple[float, float], ...]]
    """The corners of each square in the picture."""


@dataclass(frozen=True)
class CameraOffer:
    """A camera that could be used: `source` as in the settings, and a name for people."""

    source: str
    name: str


class Eye(Protocol):
    """What the camera page asks, from any thread. Nothing is computed unless it is asked for."""

    def number(self) -> int:
        """The number of the last frame, counted on over all cameras; 0: there was none yet."""

    def picture(self) -> bytes | None:
        """The last frame as a JPEG of at most 960 px; None: there was none yet."""

    def blind_advice(self) -> tuple[Advice, ...]:
        """What may be wrong with the picture while no board is found in it."""

    def board(self, frame: int | None = None) -> BoardSeen | None:
        """The board in the last frame, or in a settled one, its weak places and advice; None: no board is seen."""

    def settled(self) -> tuple[SettledFrame, ...]:
        """The last frames in which the board came to rest, oldest first."""

    def settled_picture(self, frame: int, width_px: int) -> bytes | None:
        """A settled frame as a JPEG of at most that width; None: it is not kept any more."""

    def photograph(self) -> bytes | None:
        """The board alone, from straight above, as a small JPEG; None: it does not lie still in view."""

    def cameras(self) -> tuple[CameraOffer, ...]:
        """All cameras that could be used."""

    def source(self) -> str:
        """Which one is used, as in the settings."""

    def name(self) -> str:
        """The name of the camera that is open; empty: none."""

    def choose(self, source: str) -> None:
        """Use another camera from the next frame on; raises `CameraError` where there is only this one."""

    def locks(self) -> tuple[bool | None, bool | None] | None:
        """Are focus and exposure locked? None, for one or both: this camera cannot be told to."""

    def lock(self, focus: bool | None = None, exposure: bool | None = None) -> None:
        """Lock focus or exposure as they are, or let them follow; None leaves one as it is."""


class Album(Protocol):
    """Photographs of the board, one a turn, by game and moment."""

    trouble: str
    """Why none is kept now, as a sentence; empty: all is well."""

    def moments(self, game: int) -> tuple[str, ...]:
        """The moments of a game of which there is a photograph, oldest first."""

    def photograph(self, game: int, moment: str) -> bytes | None:
        """The board when that turn was done, as JPEG."""


# ---- simulation: the same doors without hardware ---------------------------------------------------------------


@dataclass(frozen=True)
class WorldPiece:
    """A piece on the simulated table: its identity, visible face, place (board mm) and outline in the picture (px)."""

    id: int
    face: str
    x_mm: float
    y_mm: float
    turn_deg: float
    outline_px: tuple[tuple[float, float], ...]
    square: Square | None


class World(Protocol):
    """The simulated table: what hands can do, and the picture that shows it (picture axes: px, x right, y down)."""

    def pieces(self) -> tuple[WorldPiece, ...]:
        """All pieces, the lowest first."""

    def move_to(self, piece: int, square: Square) -> None:
        """Put a piece on the middle of a square, on top of what lies there."""

    def take_off(self, piece: int) -> None:
        """Lay a piece beside the board."""

    def set_up(self, layout: Layout) -> None:
        """Put all pieces as a layout says; the others lie beside the board. Cards are fanned in their zones."""

    def drag_to(self, piece: int, x_px: float, y_px: float) -> None:
        """Put a piece where the picture shows that point of the table."""

    def flip(self, piece: int) -> None:
        """Show the next face of a piece."""

    def hold_hand(self, over: Square | None) -> None:
        """Hold a hand over a square, or take it away."""

    def lay_tiles(self, seat: Seat, letters: str) -> None:
        """Lay order tiles behind a seat's wall, where no picture shows them; raises `Malformed`."""

    def jpeg(self) -> bytes:
        """The camera's picture now, in colour."""

    def size_px(self) -> tuple[int, int]:
        """Width and height of the picture."""

    def square_px(self, square: Square) -> tuple[float, float]:
        """Where the picture shows the middle of a square."""


@dataclass(frozen=True)
class PanelView:
    """What a person sees and hears: brightness 0..1 by lamp name (`south_1`, `south_turn`) and the tone."""

    lamps: Mapping[str, float] = field(default_factory=dict)
    tone_hz: float | None = None


class PanelHands(Protocol):
    """Fingers on the simulated panel; buttons are named `south_up`, `north_ready`, `table`."""

    def press(self, button: str) -> None:
        """Hold a button down. Raises KeyError for an unknown one."""

    def release(self, button: str) -> None:
        """Let a button go."""

    def view(self) -> PanelView:
        """Lamps and tone at this moment."""

    def buttons(self) -> tuple[str, ...]:
        """Names of all wired buttons."""


# ---- what is said aloud ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Utterance:
    """A sentence to be said aloud. `number` counts up, also over restarts of the service."""

    number: int
    text: str


class Spoken(Protocol):
    """What the table says aloud, for a screen that speaks; any thread may ask."""

    @property
    def volume(self) -> float:
        """0..1."""

    @property
    def speed(self) -> float:
        """1 is a calm talker's."""

    def screen_may_speak(self) -> bool:
        """Do the settings and the hour let a screen speak?"""

    def recent(self) -> tuple[Utterance, ...]:
        """The last sentences, oldest first; nothing that somebody at the table may not know."""

    def screen_speaks(self, speaks: bool) -> None:
        """A screen has begun to speak, or has ended."""
