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
from vision.detection.motion import Stir
from vision.detection.rectified_search import RectifiedSearch
from vision.pieces.changed_blocks import ChangedBlocks
from vision.pieces.frame_reader import FrameReader
from vision.pieces.mirror_watch import MirrorWatch, mirrored
from vision.pieces.object_watch import ObjectWatch
from vision.pieces.square_judge import Budget
from vision.pieces.voting import Votes
from vision.pose.lens_tuner import LensTuner
from vision.pose.locator import BoardLocator
from vision.pose.optics import LENSES, Lens
from vision.pose.pose import Pose, flat

_ALONE = Budget(closer=24, shaded=16)
"""For a single picture, which no other one follows."""
_SAME_PX = 2.0
"""Poses that differ by less are one."""


def board_reader(
    kits: Mapping[str, Kit], model: str = "webcam", frames: int = 3, *, thorough: bool = False
) -> BoardReader:
    """A reader of boards for one camera.

    `kits` are the kits by game, `model` the camera's name among `LENSES`; `frames` still pictures have to agree;
    `thorough` takes more time for each picture. Raises `ConfigError` for an unknown model.
    """
    if model not in LENSES:
        raise ConfigError(
            say("[camera] model “{model}” is unknown: expected one of {known}", model=model, known=", ".join(LENSES))
        )
    reader = FrameReader(kits, BoardLocator(LENSES[model]), Scanner(thorough=thorough), RectifiedSearch())
    return BoardReader(reader, MirrorWatch(reader), ChangedBlocks(), ObjectWatch(reader), Votes(frames))


class BoardReader:
    """Reads frames of one camera; safe to call `use` from another thread. `board_reader` puts one together."""

    def __init__(
        self, frame_reader: FrameReader, mirror: MirrorWatch, changes: ChangedBlocks, objects: ObjectWatch, votes: Votes
    ) -> None:
        self.frame_reader = frame_reader
        self._mirror, self._changes, self._objects, self._votes = mirror, changes, objects, votes
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._settled: Reading | None = None
        self._last: Reading | None = None
        self._asked: tuple[Kit | None] | None = None
        self._preferred: Kit | None = None

    @property
    def problem(self) -> str:
        """Why no board was found in the last frame, as a sentence; empty when nothing is known to be wrong."""
        if self._mirror.is_inverted:
            return say("The board is printed white on black: print it again, black on white")
        return self.frame_reader.locator.problem

    @property
    def is_stirred(self) -> bool:
        """Did something move in the last frame?"""
        return not self._changes.still_frames

    @property
    def is_mirrored(self) -> bool:
        """Does the camera mirror its pictures, as webcams do for whoever looks at himself?"""
        return self._mirror.is_mirrored

    def as_read(self, frame: Frame) -> Frame:
        """The frame as it is read: a mirrored one turned back. `pose` holds in that."""
        return self._mirror.as_read(frame)

    @property
    def advice(self) -> tuple[Advice, ...]:
        """What to do about the last picture although a board was read in it; empty when nothing."""
        found = []
        if self.frame_reader.locator.twin:
            found.append(Advice(say("Put the second board away"), say("The same board is seen twice."), Weakness.TWIN))
        if self.frame_reader.vague:
            why = say("Two corners are hidden, so the position of the farther squares is uncertain.")
            found.append(Advice(say("Show a third corner of the board"), why, Weakness.CUT))
        if (size := self.frame_reader.misprinted) is not None:
            why = say("The pieces have {percent} % of the size that this board asks for.", percent=round(100 * size))
            found.append(Advice(say("Print board and pieces at 100 %"), why, Weakness.SMALL))
        return tuple(found)

    @property
    def note(self) -> str:
        """What else there is to say of the last picture in which a board was read, as sentences; mostly empty."""
        twin, vague, size = self.frame_reader.locator.twin, "", self.frame_reader.misprinted
        mirrored = say("The camera mirrors its picture, and the companion turns it back") if self.is_mirrored else ""
        if self.frame_reader.vague:
            vague = say("Two corners of the board are hidden: show a third one, so that every square can be read")
        misprint = say("Board and pieces do not have the same scale: print both at 100 %") if size else ""
        return joined(". ", (twin, vague, misprint, mirrored))

    @property
    def lens(self) -> Lens:
        """The camera's lens as far as the board has told it."""
        return self.frame_reader.locator.lens

    @property
    def learned(self) -> LensTuner:
        """What the board's corners have told about the lens so far, and how surely."""
        return self.frame_reader.locator.learned

    def use_lens(self, lens: Lens, exact: bool = False) -> None:
        """Another camera, with this lens from the next frame on; an exact one is not refined. Waits for the reader."""
        with self._lock:
            self.frame_reader.locator.use_lens(lens, exact)
            self._mirror.begin()
            self.frame_reader.pose, self.frame_reader.seen, self._settled, self._last = None, None, None, None
            self._votes.begin()

    @property
    def pose(self) -> Pose | None:
        """Where the board was in the last frame that was read; None when there was none."""
        return self.frame_reader.pose

    @property
    def kit(self) -> Kit | None:
        """The kit whose board was in view last; None when there was none."""
        return self.frame_reader.kit

    @property
    def sureness(self) -> Mapping[Square, float]:
        """How surely each square was read last: 1 a marker that decodes or an empty square, 0 unknown, between the two
        a marker's correlation with its print. Of another board or none: empty."""
        return self.frame_reader.sureness

    def use(self, kit: Kit | None) -> None:
        """Prefer this kit, and read its game's corner markers as this board; None: whichever board lies there.

        It holds from the next frame on and never waits for the reader.
        """
        with self._asking:
            self._asked = (kit,)

    def read(self, frame: Frame, *, glance: bool = False) -> Reading:
        """What is known after this frame. A frame that shows nothing new costs a comparison and no reading; at a
        `glance` so does one in which something moves, and the first one after it: a hand that only rests goes on."""
        with self._lock:
            if self._asked is not None:
                self._restart()
            frame = self.as_read(frame)
            stir = self._changes.see(frame.luma)
            settled = self._settled
            if settled is not None and not stir.moving and not stir.drifted:
                due = self._changes.is_retry_due or not settled.unknown <= self.frame_reader.resigned
                if not (settled.unknown and due):
                    return replace(settled, at_s=frame.at_s, frame=frame.number)
            if glance and self._changes.still_frames <= 1 and stir.changed is not None and self._last is not None:
                self._votes.begin()
                self._settled = None
                return replace(self._last, quiet=False, at_s=frame.at_s, frame=frame.number)
            self._last = reading = self._read_anew(frame, stir)
            if reading.game is not None:
                self._mirror.sees_board()
            elif self._mirror.turns_round(frame.luma):
                self._votes.begin()
                frame = replace(frame, luma=mirrored(frame.luma))
                return self._read_anew(frame, self._changes.see_turned(frame.luma))
            return reading

    def read_picture(self, luma: Luma) -> Reading:
        """What a single (height, width) picture says, without any frame before or after it."""
        with self._lock:
            self._restart()
            self.frame_reader.budget = _ALONE
            look = self.frame_reader.look(luma, still=True)
            if look.game is None and (turned := self._mirror.turned_picture(luma)) is not None:
                look = self.frame_reader.look(turned, still=True)
            told = look.seen, look.unknown, look.beside, look.strangers
            return Reading(*told, game=look.game, fans=look.fans, markers=look.markers)

    # ---- over frames ----

    def _restart(self) -> None:
        with self._asking:
            kit = self._asked[0] if self._asked is not None else self._preferred
            self._asked, self._preferred = None, kit
        self.frame_reader.use(kit)
        self.frame_reader.budget = Budget()
        self._settled = self._last = None
        self._votes.forget()
        self._objects.forget()

    def _read_anew(self, frame: Frame, stir: Stir) -> Reading:
        before, moving = self.frame_reader.pose, stir.moving
        blocks = self._changes.to_read(stir, self.frame_reader.seen, self.frame_reader.resigned)
        look = self.frame_reader.look(
            frame.luma,
            still=not moving or stir.changed is None,
            moving_px=stir.places,
            blocks=blocks,
            shaded=not moving or stir.changed is None,
        )
        pose = self.frame_reader.pose
        before = pose if _agree(pose, before) else before
        if not moving:
            self.frame_reader.learn()
        was_due = self._changes.is_retry_due
        self._changes.mark_read(self.frame_reader.looked)
        # What was read with a worse pose has no vote.
        if moving or self._votes.last_is_stirred or pose is not before:
            self._votes.begin()
            self._settled = None
        joined, quiet = self._votes.add(look)
        if quiet:
            self._objects.look(frame.luma, joined.unknown, self._changes.small, long=not moving and was_due)
        reading = Reading(
            joined.seen,
            joined.unknown,
            joined.beside,
            joined.strangers,
            quiet,
            joined.game,
            frame.at_s,
            frame.number,
            joined.fans,
            joined.markers,
            self._objects.among(joined.unknown),
        )
        self._settled = reading if quiet else None
        if quiet:
            self._changes.settle()
            waiting = joined.unknown if self._votes.are_few else self.frame_reader.waiting
            self.frame_reader.resigned = joined.unknown - waiting
        return reading


def _agree(pose: Pose | None, before: Pose | None) -> bool:
    """Do two poses put the board in the same place of the picture?"""
    if pose is before or pose is None or before is None:
        return pose is before
    if pose.size != before.size:
        return False
    middle = before.to_plane(np.array([pose.size]) / 2)[0]
    around = flat(middle + np.array([[-100.0, -100.0], [100.0, -100.0], [100.0, 100.0], [-100.0, 100.0]]))
    return bool(np.abs(pose.to_px(around) - before.to_px(around)).max() < _SAME_PX)
