"""From a picture to a layout: which face lies on which square, and which squares cannot be told.

A first picture is read as a whole, later ones only where they differ from what was read before; several looks at a
still table vote. A wrong entry is worse than an unknown one.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from companion.core.errors import ConfigError
from companion.core.grid import Square
from companion.core.i18n import joined, say
from companion.core.kit import Kit
from companion.core.ports import Advice, Frame, Reading, Weakness
from vision.detection.marker_scan import Scanner
from vision.detection.markers import Luma
from vision.detection.motion import Motion
from vision.detection.rectified_search import RectifiedSearch
from vision.pieces.placing import misprinted_size
from vision.pose.lens_tuner import LensTuner
from vision.pose.locator import BoardLocator
from vision.pose.optics import LENSES, Lens
from vision.pose.pose import Pose, flat
from vision.reading.detect import detect
from vision.reading.judge import judge
from vision.reading.locate import locate
from vision.reading.look import NO_SQUARES, Budget, Look, Memory
from vision.reading.mirror import Mirror, mirrored
from vision.reading.motion import motion
from vision.reading.place import place
from vision.reading.vote import vote

_ALONE = Budget(closer=48, shaded=60)
"""For a single picture, which no other one follows."""


def board_reader(
    kits: Mapping[str, Kit], model: str = "webcam", frames: int = 3, *, thorough: bool = False
) -> BoardReader:
    """Return a reader of boards for one camera.

    `kits` are the kits by game, `model` the camera's name among `LENSES`; `frames` still pictures have to agree;
    `thorough` takes more time for each picture. Raises `ConfigError` for an unknown model.
    """
    if model not in LENSES:
        raise ConfigError(
            say("[camera] model “{model}” is unknown: expected one of {known}", model=model, known=", ".join(LENSES))
        )
    scanner, locator = Scanner(thorough=thorough), BoardLocator(LENSES[model])
    return BoardReader(Memory(dict(kits), scanner, RectifiedSearch(), locator, Motion(), frames))


class BoardReader:
    """Reads frames of one camera; safe to call `use` from another thread. `board_reader` puts one together."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._mirror = Mirror()
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._asked: tuple[Kit | None] | None = None

    @property
    def problem(self) -> str:
        """Why no board was found in the last frame, as a sentence; empty when nothing is known to be wrong."""
        if self._mirror.is_inverted:
            return say("The board is printed white on black: print it again, black on white")
        return self.memory.locator.problem

    @property
    def is_stirred(self) -> bool:
        """Whether something moved in the last frame."""
        return not self.memory.still_frames

    @property
    def is_mirrored(self) -> bool:
        """Whether the camera mirrors its pictures, as webcams do for whoever looks at himself."""
        return self._mirror.is_mirrored

    def as_read(self, frame: Frame) -> Frame:
        """Return the frame as it is read: a mirrored one turned back. `pose` holds in that."""
        return self._mirror.as_read(frame)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to do about the last picture although a board was read in it; empty when nothing."""
        found = []
        if self.memory.locator.twin:
            found.append(Advice(say("Put the second board away"), say("The same board is seen twice."), Weakness.TWIN))
        if self._is_vague:
            why = say("Two corners are hidden, so the position of the farther squares is uncertain.")
            found.append(Advice(say("Show a third corner of the board"), why, Weakness.CUT))
        if (size := self._misprinted) is not None:
            why = say("The pieces have {percent} % of the size that this board asks for.", percent=round(100 * size))
            found.append(Advice(say("Print board and pieces at 100 %"), why, Weakness.SMALL))
        return tuple(found)

    @property
    def note(self) -> str:
        """What else there is to say of the last picture in which a board was read, as sentences; mostly empty."""
        twin, vague, misprint, mirror = self.memory.locator.twin, "", "", ""
        if self._is_vague:
            vague = say("Two corners of the board are hidden: show a third one, so that every square can be read")
        if self._misprinted:
            misprint = say("Board and pieces do not have the same scale: print both at 100 %")
        if self.is_mirrored:
            mirror = say("The camera mirrors its picture, and the companion turns it back")
        return joined(". ", (twin, vague, misprint, mirror))

    @property
    def _is_vague(self) -> bool:
        """Whether the last pose was too unsure for some square in view, for want of corners."""
        memory = self.memory
        pose, vague = memory.pose, memory.vague
        if pose is None or vague is None or vague[0] is not pose or memory.kit is None or pose.markers > 2:
            return False
        board, size = memory.kit.board, np.array(pose.size) - 1
        seen = pose.to_px(flat(np.array([board.centre_mm(square) for square in vague[1]]).reshape(-1, 2)))
        return bool(((seen >= 0) & (seen <= size)).all(axis=1).any())

    @property
    def _misprinted(self) -> float | None:
        """Size of the pieces by that which the board asks for, where it is another one; else None."""
        last = self.memory.last
        return misprinted_size(last.pieces.placed) if last is not None and last.pieces is not None else None

    @property
    def lens(self) -> Lens:
        """The camera's lens as far as the board has told it."""
        return self.memory.locator.lens

    @property
    def learned(self) -> LensTuner:
        """What the board's corners have told about the lens so far, and how surely."""
        return self.memory.locator.learned

    @property
    def pose(self) -> Pose | None:
        """Where the board was in the last frame that was read; None when there was none."""
        return self.memory.pose

    @property
    def kit(self) -> Kit | None:
        """The kit whose board was in view last; None when there was none."""
        return self.memory.kit

    @property
    def sureness(self) -> Mapping[Square, float]:
        """How surely each square was read last: 1 a marker that decodes or an empty square, 0 unknown, between the two
        a marker's correlation with its print. Of another board or none: empty."""
        last = self.memory.last
        return last.sureness if last is not None else {}

    def use_lens(self, lens: Lens, exact: bool = False) -> None:
        """Go on with another camera and its lens; an exact one is not refined. Waits for the reader."""
        with self._lock:
            self.memory.locator.use_lens(lens, exact)
            self._mirror.begin()
            self.memory = replace(self.memory, pose=None, last=None, settled=None, latest=None, votes=())

    def use(self, kit: Kit | None) -> None:
        """Prefer this kit, and read its game's corner markers as this board; None: whichever board lies there.

        It holds from the next frame on and never waits for the reader.
        """
        with self._asking:
            self._asked = (kit,)

    def read(self, frame: Frame, *, glance: bool = False) -> Reading:
        """Return what is known after this frame.

        A frame that shows nothing new costs a comparison and no reading; at a `glance` so does one in which something
        moves, and the first one after it: a hand that only rests goes on.
        """
        with self._lock:
            if self._asked is not None:
                self._restart()
            frame = self.as_read(frame)
            look = self._through(Look(frame.luma, may_glance=glance))
            if look.is_known:
                return self._known(frame)
            if look.told.game is not None:
                self._mirror.sees_board()
            elif self._mirror.turns_round(frame.luma, self.memory):
                self.memory = replace(self.memory, votes=(), motion=Motion(), last=None, settled=None)
                look = self._through(Look(mirrored(frame.luma)))
            return self._reading(look, frame)

    def read_picture(self, luma: Luma) -> Reading:
        """Return what a single (height, width) picture says, without any frame before or after it."""
        with self._lock:
            self._restart()
            self.memory = replace(self.memory, motion=Motion())
            look = self._through(Look(luma, _ALONE))
            if look.vote.game is None and (turned := self._mirror.turned_picture(luma, self.memory)) is not None:
                self.memory = replace(self.memory, motion=Motion())
                look = self._through(Look(turned, _ALONE))
            told = look.vote.seen, look.vote.unknown, look.vote.beside, look.vote.strangers
            return Reading(*told, game=look.vote.game, fans=look.vote.fans, markers=look.vote.markers)

    # ---- inside ----

    def _through(self, look: Look) -> Look:
        """Take a picture through the six stages."""
        memory = self.memory
        for stage in (motion, detect, locate, place, judge, vote):
            look, memory = stage(look, memory)
            if look.is_known:
                break
        self.memory = memory
        return look

    def _restart(self) -> None:
        """Forget the board and all that was worked out for it, and prefer the kit that was asked for."""
        with self._asking:
            kit = self._asked[0] if self._asked is not None else self.memory.active
            self._asked = None
        self.memory.locator.forget()
        memory = replace(self.memory, active=kit, kit=None, squares=None, cards=None, placer=None, under=None)
        memory = replace(memory, vague=None, last=None, votes=(), agreed=None, settled=None, latest=None)
        self.memory = replace(memory, foreign=NO_SQUARES, bare=None, resigned=NO_SQUARES, times={})

    def _known(self, frame: Frame) -> Reading:
        """Return what is known without reading a frame."""
        settled, latest = self.memory.settled, self.memory.latest
        look = settled or latest
        assert look is not None
        return replace(self._reading(look, frame), quiet=settled is not None)

    def _reading(self, look: Look, frame: Frame) -> Reading:
        told = look.told
        return Reading(
            told.seen,
            told.unknown,
            told.beside,
            told.strangers,
            look.quiet,
            told.game,
            frame.at_s,
            frame.number,
            told.fans,
            told.markers,
            self.memory.foreign & told.unknown,
        )
