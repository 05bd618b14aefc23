"""From a picture to a layout: which face lies on which square, and which squares are unknown.

`BoardReader` runs each picture through the six stages of this package:

1. `motion`: compare the picture with earlier ones. A picture that shows nothing new ends here.
2. `detect`: find markers in the parts that have changed, and the kit whose board is in view.
3. `locate`: find the pose of the board.
4. `place`: find which face lies on which square, or which cards lie open.
5. `judge`: decide which other squares are empty, and which are unknown.
6. `vote`: join the result with those of the pictures before.

What the stages find in one picture is a `Look`, and what is known from earlier pictures is a
`Memory`, see `look.py`. In all stages a wrong entry is worse than an unknown one.
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
from vision.pose.lens_estimate import LensEstimate
from vision.pose.optics import LENSES, Lens
from vision.pose.pose import Pose
from vision.reading.detect import detect, shows_board
from vision.reading.judge import judge
from vision.reading.locate import forget_board, initial_location, locate
from vision.reading.look import Budget, Look, Memory, Vote
from vision.reading.motion import detect_motion
from vision.reading.place import misprint_scale, place
from vision.reading.vote import cast_vote

# Budget for a single picture. As no other picture follows, nothing may wait for the next one: all
# lens models are tried, and the bounds of squares are larger than in a series. They still limit the
# time for a board that is mostly hidden. Chosen by trial on rendered tables.
_SINGLE_BUDGET = Budget(
    closer_squares=48, shaded_failures=60, lens_models=9, has_next_picture=False
)

# Interval, in pictures without a board, at which the mirror image is tried. Each try takes as long
# as a picture. Larger: a mirrored camera shows its first board later.
_MIRROR_INTERVAL = 6

# Returns the colours of a frame, see `Frame.colours`, or None if they are no longer there.
ColourReader = Callable[[], NDArray[np.uint8] | None]


@dataclass(frozen=True, eq=False)
class BoardDetails:
    """Details of the last picture that was read, in addition to the reading. For the pages."""

    lens: Lens
    """The camera's lens, as far as it is known from the board."""
    kit: Kit | None = None
    """The kit whose board was in view last. None if there was none."""
    pose: Pose | None = None
    """Pose of the board. None if there was none."""
    confidence: Mapping[Square, float] = field(default_factory=dict)
    """Confidence of each square, from 0 to 1.

    1 is a marker that decodes or an empty square, 0 is unknown. Values between them are a marker's
    correlation with its print. There are none for a board of cards, or without a board.
    """
    problem: str = ""
    """Why no board was found, as a sentence. Empty if no cause is known. Two boards are reported
    here even if one of them was read.
    """
    advice: tuple[Advice, ...] = ()
    """Advice on how to improve the picture, although a board was read in it."""
    note: str = ""
    """Other remarks on the picture, as sentences. Mostly empty."""


def make_board_reader(
    kits: Mapping[str, Kit], model: str = "webcam", *, thorough: bool = False
) -> BoardReader:
    """Return a reader of boards for one camera.

    `kits` are those whose boards are searched for, by game. `model` is the camera's name in
    `LENSES`. A `thorough` reader spends more time on each picture. Raises `ConfigError` for an
    unknown model.
    """
    if model not in LENSES:
        raise ConfigError(
            say(
                "[camera] model “{model}” is unknown: expected one of {known}",
                model=model,
                known=", ".join(LENSES),
            )
        )
    return BoardReader(Memory(dict(kits), initial_location(LENSES[model]), thorough))


class BoardReader:
    """Reads frames of one camera. `make_board_reader` makes it.

    The watcher's thread calls `read`. Any thread may call `use` and `use_lens`, and may look at
    `details`, an object that is replaced and never changed. The reader holds no thread and no file,
    so it needs no closing.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        """What is known from earlier pictures. Replaced with each picture."""
        self.details = BoardDetails(memory.location.lens_estimate.lens)
        """Details of the last picture that was read."""
        self.mirror = MirrorDetector()
        """Flips mirrored pictures back. `pose` refers to the flipped picture."""
        # Guards `memory`, `details` and `mirror` while a picture is read or the lens is changed.
        self._lock = threading.Lock()
        # Guards `_requested`. It is held only for moments, so that `use` never waits for a picture.
        self._request_lock = threading.Lock()
        # The kit of the last call of `use`, until the next picture takes it. It is in a tuple,
        # because `use` may be called with None. If there was no call, there is no tuple but None.
        self._requested: tuple[Kit | None] | None = None

    @property
    def is_moving(self) -> bool:
        """Whether something moved in the last frame. True before the first one."""
        return not self.memory.still_frames

    @property
    def lens_estimate(self) -> LensEstimate:
        """What is known of the lens from views of the board, with its uncertainty."""
        return self.memory.location.lens_estimate

    @property
    def pose(self) -> Pose | None:
        """Pose of the board in the last frame that was read. None if there was none."""
        return self.memory.pose

    def use_lens(self, lens: Lens, is_calibrated: bool = False) -> None:
        """Switch to another camera and its lens. A calibrated lens is not refined.

        Waits for the reader's lock.
        """
        with self._lock:
            self.mirror = MirrorDetector()
            location = initial_location(lens, is_calibrated)
            self.memory = replace(
                self.memory,
                location=location,
                pose=None,
                reference=None,
                votes=(),
                settled_look=None,
                latest_look=None,
            )
            self.details = BoardDetails(lens)

    def use(self, kit: Kit | None) -> None:
        """Prefer this kit, which may have another board than its game has in `kits`.

        The board with the most corner markers in view is read. If there is a tie, the preferred kit
        wins. With None, no kit is preferred. The next frame is read as if no board had been seen
        before. This never waits until a picture has been read.
        """
        with self._request_lock:
            self._requested = (kit,)

    def read(self, frame: Frame, *, glance: bool = False) -> Reading:
        """Return the reading after this frame.

        A frame that shows nothing new is compared with earlier ones but not read. With `glance`,
        this also holds for a frame in which something moves, and for the first frame after that. A
        hand that rests on the board does not prevent reading.
        """
        with self._lock:
            if self._requested is not None:
                self._restart()
            # Mirrored pictures are flipped first.
            frame = self.mirror.flip_back(frame)
            look = self._run_stages(Look(frame.luma, may_glance=glance))
            if look.is_skipped:
                # The last reading still holds.
                settled = self.memory.settled_look
                last = settled or self.memory.latest_look
                assert last is not None
                return _build_reading(last.joint_vote, frame, is_quiet=settled is not None)
            self._store_details(look)
            return _build_reading(look.joint_vote, frame, is_quiet=look.is_quiet)

    def read_picture(self, luma: Luma) -> Reading:
        """Return the reading of a single (height, width) picture.

        From earlier frames only what is known of the camera is used: its lens, and whether it
        mirrors its pictures.
        """
        with self._lock:
            self._restart()
            self.memory = replace(self.memory, background=Background())
            if self.mirror.is_mirrored:
                luma = flip(luma)
            look = self._run_stages(Look(luma, _SINGLE_BUDGET))
            self._store_details(look)
            return _build_reading(look.vote, Frame(luma, 0.0, 0), is_quiet=False)

    # ---- one picture ----

    def _run_stages(self, picture: Look) -> Look:
        """Run a picture through the six stages, and return the look after the last of them.

        A stage may skip all later ones. Stores the new memory. If only the mirror image of the
        picture shows a board, runs the mirror image through the stages instead.
        """
        look = picture
        memory = self.memory
        for stage in (detect_motion, detect, locate, place, judge, cast_vote):
            look, memory = stage(look, memory)
            if look.is_skipped:
                break
        self.memory = memory
        is_boardless = not look.is_skipped and look.joint_vote.game is None
        if is_boardless and self.mirror.flip_if_mirrored(picture.luma, memory):
            # Earlier pictures were flipped the other way.
            self.memory = replace(
                memory, votes=(), background=Background(), reference=None, settled_look=None
            )
            return self._run_stages(replace(picture, luma=flip(picture.luma)))
        return look

    def _restart(self) -> None:
        """Forget the board and everything derived from it, and prefer the requested kit."""
        with self._request_lock:
            kit = self.memory.active_kit
            if self._requested is not None:
                # Another thread has requested this kit since the last picture.
                (kit,) = self._requested
            self._requested = None
        # What is known of the camera stays: its lens and its noise.
        before = self.memory
        self.memory = Memory(
            kits=before.kits,
            location=forget_board(before.location),
            is_thorough=before.is_thorough,
            background=before.background,
            active_kit=kit,
        )

    def _store_details(self, look: Look) -> None:
        """Store the details of a picture that was read, with advice and notes in sentences."""
        location = self.memory.location
        pose = look.pose
        mirror = self.mirror
        if look.joint_vote.game is not None:
            mirror.is_orientation_known = True
            mirror.is_inverted = False
        advice = list[Advice]()

        # Two copies of the board are in view.
        notes = [location.twin_advice]
        if location.twin_advice:
            twins = say("The same board is seen twice.")
            advice.append(Advice(say("Put the second board away"), twins, Weakness.TWIN))

        # Squares far from the only two corners are uncertain.
        if pose is not None and pose.markers <= 2 and look.vague_squares:
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

        # All pieces are too large or too small.
        size = misprint_scale(look.pieces.placed) if look.pieces is not None else None
        if size is not None:
            why = say(
                "The pieces have {percent} % of the size that this board asks for.",
                percent=round(100 * size),
            )
            advice.append(Advice(say("Print board and pieces at 100 %"), why, Weakness.SMALL))
            notes.append(say("Board and pieces do not have the same scale: print both at 100 %"))

        # The camera mirrors its pictures, or the board is printed in negative.
        if mirror.is_mirrored:
            notes.append(say("The camera mirrors its picture, and the companion turns it back"))
        problem = location.problem
        if mirror.is_inverted:
            problem = say("The board is printed white on black: print it again, black on white")
        self.details = BoardDetails(
            location.lens_estimate.lens,
            kit=self.memory.last_kit,
            pose=self.memory.pose,
            confidence=look.confidence,
            problem=problem,
            advice=tuple(advice),
            note=joined(". ", notes),
        )


def _build_reading(vote: Vote, frame: Frame, *, is_quiet: bool) -> Reading:
    """Return a vote as the reading of a frame."""
    return Reading(
        seen=vote.seen,
        unknown=vote.unknown,
        beside=vote.beside,
        strangers=vote.strangers,
        quiet=is_quiet,
        game=vote.game,
        at_s=frame.at_s,
        frame=frame.number,
        fans=vote.fans,
        markers=vote.markers,
    )


# ---- mirrored cameras ----------------------------------------------------------------------------


class MirrorDetector:
    """Detects whether one camera mirrors its pictures, as webcams do for their users.

    It also notices a board that was printed white on black and therefore cannot be read. A reader
    gets a new detector with each camera.
    """

    def __init__(self) -> None:
        self.is_mirrored = False
        """Whether the camera mirrors its pictures, so that they have to be flipped back."""
        self.is_inverted = False
        """Whether the board in view is printed white on black."""
        self.is_orientation_known = False
        """Whether a board has been read in the current orientation."""
        # Number of pictures without a board, before the first one with a board.
        self._boardless_pictures = 0

    def flip_back(self, frame: Frame) -> Frame:
        """Return the frame as it should be: flipped back if the camera mirrors it, or unchanged."""
        if not self.is_mirrored:
            return frame
        return replace(frame, luma=flip(frame.luma), colours=flip_colours_back(frame.colours))

    def flip_if_mirrored(self, luma: Luma, memory: Memory) -> bool:
        """Flip all later pictures if only the mirror image of this one shows a board.

        `luma` is a picture without a board. Returns whether later pictures are flipped differently
        from now on. Also notes whether the negative of the picture shows a board.

        The check takes as long as reading a picture, so it runs only now and then. It never runs
        after a board has been read, because a mirror image that is seen later is a reflection on
        the table.
        """
        if self.is_orientation_known:
            return False
        self._boardless_pictures += 1
        # Due for the first picture without a board, then at regular intervals.
        if self._boardless_pictures % _MIRROR_INTERVAL != 1:
            return False
        if not shows_board(flip(luma), memory):
            self.is_inverted = shows_board(255 - luma, memory)
            return False
        self.is_mirrored = not self.is_mirrored
        return True


def flip(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the mirror image of a picture (height, width) or of its colours (height, width, 2)."""
    return np.asarray(cv2.flip(picture, 1), np.uint8)


def flip_colours_back(colours: ColourReader | None) -> ColourReader | None:
    """Return a function that reads the colours of a mirrored picture and flips them.

    Returns None if the picture has no colours.
    """
    if colours is None:
        return None

    def read_flipped() -> NDArray[np.uint8] | None:
        as_taken = colours()
        return None if as_taken is None else flip(as_taken)

    return read_flipped
