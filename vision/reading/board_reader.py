"""From a picture to a layout: which face lies on which square, and which squares cannot be told.

A first picture is read as a whole, later ones only where they differ from what was read before;
several looks at a still table vote. A wrong entry is worse than an unknown one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.errors import ConfigError
from companion.core.grid import Square
from companion.core.i18n import joined, say
from companion.core.kit import Kit
from companion.core.ports import Advice, Frame, Reading, Weakness
from vision.detection.markers import Luma
from vision.detection.stillness import Background
from vision.pose.lens_tuner import LensTuner
from vision.pose.optics import LENSES, Lens
from vision.pose.pose import Pose
from vision.reading.detect import detect, shows_board
from vision.reading.judge import judge
from vision.reading.locate import forget_board, locate, with_lens
from vision.reading.look import Budget, Look, Memory, Vote
from vision.reading.motion import motion
from vision.reading.place import misprinted_size, place
from vision.reading.vote import vote

_ALONE = Budget(closer=48, shaded=60)
"""For a single picture, which no other one follows."""
_TURN_FRAMES = 6
"""Of so many pictures without a board one is tried in its mirror image."""

Colours = Callable[[], NDArray[np.uint8] | None]


@dataclass(frozen=True, eq=False)
class BoardDetails:
    """What is known of the board in the last picture, beside the reading itself."""

    lens: Lens
    """The camera's lens as far as the board has told it."""
    kit: Kit | None = None
    """The kit whose board was in view last; None when there was none."""
    pose: Pose | None = None
    """Where the board was; None when there was none."""
    sureness: Mapping[Square, float] = field(default_factory=dict)
    """How surely each square was read.

    1 is a marker that decodes or an empty square, 0 unknown, between the two a marker's correlation
    with its print. Of another board or none: empty.
    """
    problem: str = ""
    """Why no board was found, as a sentence; empty when nothing is known to be wrong."""
    advice: tuple[Advice, ...] = ()
    """What to do about the picture although a board was read in it."""
    note: str = ""
    """What else there is to say of it, as sentences; mostly empty."""


def board_reader(
    kits: Mapping[str, Kit], model: str = "webcam", frames: int = 3, *, thorough: bool = False
) -> BoardReader:
    """Return a reader of boards for one camera.

    `kits` are the kits by game, `model` the camera's name among `LENSES`; `frames` still pictures
    have to agree; `thorough` takes more time for each picture. Raises `ConfigError` for an unknown
    model.
    """
    if model not in LENSES:
        raise ConfigError(
            say(
                "[camera] model “{model}” is unknown: expected one of {known}",
                model=model,
                known=", ".join(LENSES),
            )
        )
    return BoardReader(Memory(dict(kits), with_lens(LENSES[model]), frames, thorough))


class BoardReader:
    """Reads frames of one camera.

    `use` may be called from another thread.

    `board_reader` puts one together.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.seen = BoardDetails(memory.located.tuner.lens)
        self.mirror = Mirror()
        """Turns pictures back; `pose` holds in what it answers."""
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._asked: tuple[Kit | None] | None = None

    @property
    def is_stirred(self) -> bool:
        """Whether something moved in the last frame."""
        return not self.memory.still_frames

    @property
    def learned(self) -> LensTuner:
        """What the board's corners have told about the lens so far, and how surely."""
        return self.memory.located.tuner

    @property
    def pose(self) -> Pose | None:
        """Where the board was in the last frame that was read. None when there was none."""
        return self.memory.pose

    def use_lens(self, lens: Lens, exact: bool = False) -> None:
        """Go on with another camera and its lens, which is not refined when it is exact.

        Waits for the reader.
        """
        with self._lock:
            self.mirror = Mirror()
            memory = replace(self.memory, located=with_lens(lens, exact), pose=None, last=None)
            self.memory = replace(memory, settled=None, latest=None, votes=())
            self.seen = BoardDetails(lens)

    def use(self, kit: Kit | None) -> None:
        """Prefer this kit, and read its game's corner markers as this board.

        None: whichever board lies there.

        It holds from the next frame on and never waits for the reader.
        """
        with self._asking:
            self._asked = (kit,)

    def read(self, frame: Frame, *, glance: bool = False) -> Reading:
        """Return what is known after this frame.

        A frame that shows nothing new costs a comparison and no reading; at a `glance` so does one
        in which something moves, and the first one after it: a hand that only rests goes on.
        """
        with self._lock:
            if self._asked is not None:
                self._restart()
            # A mirrored picture is turned first.
            frame = self.mirror.as_read(frame)
            look = self._through(Look(frame.luma, may_glance=glance))
            if look.is_known:
                settled = self.memory.settled
                # What was told last still holds.
                last = settled or self.memory.latest
                assert last is not None
                return self._reading(last.told, frame, quiet=settled is not None)
            self._look_back(look)
            return self._reading(look.told, frame, quiet=look.quiet)

    def read_picture(self, luma: Luma) -> Reading:
        """Return what a single (height, width) picture says, without any frame before or after
        it."""
        with self._lock:
            self._restart()
            self.memory = replace(self.memory, background=Background())
            if self.mirror.is_mirrored:
                luma = mirrored(luma)
            look = self._through(Look(luma, _ALONE))
            self._look_back(look)
            return self._reading(look.vote, Frame(luma, 0.0, 0))

    # ---- inside ----

    def _through(self, picture: Look) -> Look:
        """Take a picture through the six stages, and its mirror image where that shows a board."""
        look, memory = picture, self.memory
        for stage in (motion, detect, locate, place, judge, vote):
            look, memory = stage(look, memory)
            if look.is_known:
                break
        self.memory = memory
        is_blind = not look.is_known and look.told.game is None
        if is_blind and self.mirror.turns_round(picture.luma, memory):
            self.memory = replace(
                memory, votes=(), background=Background(), last=None, settled=None
            )
            return self._through(replace(picture, luma=mirrored(picture.luma)))
        return look

    def _restart(self) -> None:
        """Forget the board and all that was worked out for it, and prefer the kit that was asked
        for."""
        with self._asking:
            # Asked for since the last picture, from another thread.
            kit = self._asked[0] if self._asked is not None else self.memory.active
            self._asked = None
        # What holds of the camera stays: its lens and its noise.
        before = self.memory
        self.memory = Memory(
            before.kits,
            forget_board(before.located),
            before.frames,
            before.thorough,
            before.background,
            active=kit,
        )

    def _reading(self, vote: Vote, frame: Frame, *, quiet: bool = False) -> Reading:
        """Return what is told of a frame."""
        return Reading(
            vote.seen,
            vote.unknown,
            vote.beside,
            vote.strangers,
            quiet,
            vote.game,
            frame.at_s,
            frame.number,
            vote.fans,
            vote.markers,
        )

    def _look_back(self, look: Look) -> None:
        """Remember what there is to say of a picture that was read."""
        located, pose, mirror = self.memory.located, look.pose, self.mirror
        advice, notes = list[Advice](), [located.twin]
        if look.told.game is not None:
            mirror.is_proven = True
            mirror.is_inverted = False
        if located.twin:
            twins = say("The same board is seen twice.")
            advice.append(Advice(say("Put the second board away"), twins, Weakness.TWIN))

        # What lies far from two corners is not certain.
        if pose is not None and pose.markers <= 2 and look.vague:
            vague = say(
                "Two corners are hidden, so the position of the farther squares is uncertain."
            )
            advice.append(Advice(say("Show a third corner of the board"), vague, Weakness.CUT))
            notes.append(
                say(
                    "Two corners of the board are hidden: show a third one, so that every square "
                    "can be read"
                )
            )

        # Pieces that are all too large or too small.
        size = misprinted_size(look.pieces.placed) if look.pieces is not None else None
        if size is not None:
            why = say(
                "The pieces have {percent} % of the size that this board asks for.",
                percent=round(100 * size),
            )
            advice.append(Advice(say("Print board and pieces at 100 %"), why, Weakness.SMALL))
            notes.append(say("Board and pieces do not have the same scale: print both at 100 %"))
        if mirror.is_mirrored:
            notes.append(say("The camera mirrors its picture, and the companion turns it back"))
        problem = located.problem
        if mirror.is_inverted:
            problem = say("The board is printed white on black: print it again, black on white")
        self.seen = BoardDetails(
            located.tuner.lens,
            self.memory.kit,
            self.memory.pose,
            look.sureness,
            problem,
            tuple(advice),
            joined(". ", notes),
        )


# ---- mirrored cameras ----------------------------------------------------------------------------


class Mirror:
    """Remembers which way round one camera's pictures are: webcams mirror them for whoever looks at
    himself.

    A board that was printed white on black is noticed here as well: it cannot be read.
    """

    def __init__(self) -> None:
        self.is_mirrored = self.is_inverted = False
        self.is_proven = False
        """Has a board been read the way round that pictures are taken now?"""
        self._blind = 0
        """Pictures without a board until then."""

    def as_read(self, frame: Frame) -> Frame:
        """Return the frame as it is read: a mirrored one turned back."""
        if not self.is_mirrored:
            return frame
        return replace(frame, luma=mirrored(frame.luma), colours=turned_back(frame.colours))

    def turns_round(self, luma: Luma, memory: Memory) -> bool:
        """Tell after a picture without a board whether its mirror image shows one.

        Then all later ones are turned. Looked at now and then, as it takes as long as the picture
        itself, and never once a board was read: what shows one then is a mirror on the table.
        """
        if self.is_proven:
            return False
        self._blind += 1
        # The first picture without a board, and then now and then.
        is_due = self._blind % _TURN_FRAMES == 1
        if not is_due:
            return False
        if not shows_board(mirrored(luma), memory):
            self.is_inverted = shows_board(255 - luma, memory)
            return False
        self.is_mirrored = not self.is_mirrored
        return True


def mirrored(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a (height, width) picture, or its (height, width, 2) colours, with left and right
    exchanged."""
    return np.asarray(cv2.flip(picture, 1), np.uint8)


def turned_back(colours: Colours | None) -> Colours | None:
    """Return the colours of a mirrored picture turned back, when somebody asks for them."""
    if colours is None:
        return None

    def turned() -> NDArray[np.uint8] | None:
        as_taken = colours()
        return None if as_taken is None else mirrored(as_taken)

    return turned
