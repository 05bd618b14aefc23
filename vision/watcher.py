"""The thread that watches the board: grabs, reads, paces itself, and gets over every trouble of the camera."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

import cv2

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.i18n import joined, say
from companion.core.kit import Kit, RowsSeen, RowsWanted
from companion.core.ports import Camera, CameraState, CameraStatus, Frame, Reading
from companion.core.resources import READING, give_way
from vision.cameras.blank_detector import BlankDetector
from vision.cameras.exposure import LightKeeper
from vision.cameras.lenses import LensShelf
from vision.cameras.source import Device, Locks
from vision.pace import Pace
from vision.pieces.board_reader import BoardReader
from vision.tiles.board_only import BoardOnly
from vision.tiles.tile_reader import TileWatch

_LOG = logging.getLogger(__name__)
_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)
_SILENCE_S = 3.0
"""A camera that gives no picture for so long is in trouble."""
READING_THREADS = 1
"""OpenCV's others wait for work by asking again and again: a tenth to a third more processor time for each picture,
which a small board needs for its pages."""
SLOWEST_S = 10.0
"""A picture is read at least so often, however few the settings want: the loop shows that it is alive by it."""
_NONE_YET = say("There is no camera: connect one and it will be used; without one you play by tapping")
_GONE_S = 1.0
"""A board that is out of sight for less, behind an arm or a cup, is not said to be gone."""


@dataclass(frozen=True)
class Cameras:
    """The cameras that may be watched, and what is known of them.

    `open` opens that of the settings, `open_other` another one by its source (None: there is no other). `expected`
    says whether a camera that was never there is a trouble or only none; it is asked when one is missed, where that has
    to be found out. `lenses` keeps what is learned about lenses; `mains_hz` is the frequency of the lamps' mains.
    """

    open: Callable[[], Camera]
    open_other: Callable[[str], Camera] | None = None
    expected: bool | Callable[[], bool] = True
    lenses: LensShelf | None = None
    mains_hz: int = 50


@dataclass(frozen=True)
class WatchListeners:
    """Who is told of what is seen; all are called in the watcher's thread and should only put things into a queue.

    `on_reading` is given every reading, `on_status` how the camera is whenever that changes, `on_look` every frame with
    its reading, `on_read_s` the seconds that the reading took. `on_rows` is given the rows of order tiles that were
    wanted. `on_round` is called after every round of the watcher's own thread.
    """

    on_reading: Callable[[Reading], None] = lambda _: None
    on_status: Callable[[CameraStatus], None] = lambda _: None
    on_look: Callable[[Frame, Reading], None] = lambda _frame, _reading: None
    on_read_s: Callable[[float], None] = lambda _: None
    on_rows: Callable[[RowsSeen], None] = lambda _: None
    on_round: Callable[[], None] = lambda: None


class Watcher:
    """Reads a board `fps` times a second, and tells its listeners; `step` does one round in the caller's thread.

    After trouble the camera is opened again after 0.5, 1, 2, 5, 10, 10 … seconds. `choose`, `lock` and `locks` may be
    used from any thread.
    """

    def __init__(
        self, cameras: Cameras, reader: BoardReader, clock: Clock, listeners: WatchListeners, fps: float = 10.0
    ) -> None:
        self._cameras = cameras
        self._listeners = listeners
        self._reader = reader
        self._clock = clock
        self._expected = cameras.expected
        self.pace = Pace(min(1 / fps, SLOWEST_S))
        self._camera: Camera | None = None
        self._status: CameraStatus | None = None
        self._failures = 0
        self._next_s = clock.monotonic_s()
        self._last_frame_s: float | None = None
        self._board_s: float | None = None
        self._sight = BlankDetector()
        self._light: LightKeeper | None = None
        self._begun = False
        self._which: tuple[str, float] | None = None
        self._asking = threading.Lock()
        self._source: str | None = None
        self._changed = False
        self._wanted: Locks | None = None
        self._locks: Locks | None = None
        self._tiles: tuple[TileWatch, BoardOnly] | None = None
        self._stop, self._wake = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def use(self, kit: Kit | None) -> None:
        """Tell the reader which board is played; from any thread.

        While its orders lie beside it as tiles, no frame that listeners are given shows more than the board.
        """
        self._tiles = (TileWatch(kit), BoardOnly(kit.board)) if kit and kit.order_tiles else None
        self._reader.use(kit)

    def read_rows(self, wanted: RowsWanted | None) -> None:
        """Read these rows of order tiles from the next frames; None: none any more. From any thread."""
        tiles = self._tiles
        if tiles is not None:
            tiles[0].begin(wanted)

    # ---- what the camera page asks for, from any thread ----

    @property
    def camera(self) -> str:
        """The name of the camera that is open; empty when none is."""
        camera = self._camera
        return camera.name if camera else ""

    @property
    def source(self) -> str | None:
        """The source that was chosen last; None: that of the settings."""
        return self._source

    def choose(self, source: str) -> None:
        """Take another camera from the next step on, as `[camera] source` names it; until the next start.

        Raises `CameraError` where there is nothing to choose: the simulated table has one camera.
        """
        if self._cameras.open_other is None:
            raise CameraError(
                say("The simulated table has only this camera: start without --simulate to choose another")
            )
        with self._asking:
            self._source, self._changed, self._wanted = source, True, None
        self._wake.set()

    def lock(self, focus: bool | None = None, exposure: bool | None = None) -> None:
        """Hold focus or exposure (True) or let them follow the picture (False) from the next step on; None: as it is.

        What a camera cannot do is left undone: see `locks`.
        """
        with self._asking:
            before = self._wanted or Locks(None, None)
            self._wanted = Locks(
                before.focus if focus is None else focus, before.exposure if exposure is None else exposure
            )

    @property
    def locks(self) -> Locks | None:
        """(focus, exposure): does it stand still? None for what the camera cannot, and for all when it can neither."""
        return self._locks

    # ---- the thread ----

    def start(self) -> None:
        """Begin to watch in a thread of its own; a second call does nothing."""
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="board-watcher", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop, and give the camera back; may be called twice. A camera that hangs is left to its time-out."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=2 * _SILENCE_S)
            if self._thread.is_alive():
                _LOG.warning("the camera does not answer: its thread is left behind")
                return
            self._thread = None
        self._drop_camera()
        if self._cameras.lenses:
            self._cameras.lenses.save()

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        give_way(READING)
        cv2.setNumThreads(READING_THREADS)
        while not self._stop.is_set():
            try:
                self.step()
            except Exception as error:  # whatever happens, the table must hear of it and the watch go on
                _LOG.exception("the board cannot be read")
                self._in_trouble(say("The board cannot be read: {error}: see the log", error=str(error)))
            self._listeners.on_round()
            self._wake.wait(max(0.0, self._next_s - self._clock.monotonic_s()))
            self._wake.clear()

    # ---- one frame ----

    def step(self) -> Reading | None:
        """Do one frame, without waiting for its time; None when the camera gave none or is still in its pause, or
        when others have to be quick just now."""
        self._change_camera()
        now = self._clock.monotonic_s()
        if self._camera is None and now < self._next_s:
            return None
        self._next_s = now + self.pace.period_s
        if self._camera is not None and (held_s := self.pace.held_s(now)) > 0:
            self._next_s = now + min(held_s, self.pace.period_s)
            return None
        try:
            self._set_locks()
            frame = self._grab()
            if frame is None or not self._is_seeing(frame):
                return None
        except CameraError as error:
            self._in_trouble(error.message)
            return None
        tiles = self._tiles
        begun_s = self._clock.monotonic_s()
        reading = self._reader.read(frame, glance=self.pace.glances(begun_s))
        ended_s = self._clock.monotonic_s()
        self._listeners.on_read_s(ended_s - begun_s)
        self._next_s = max(self._next_s, ended_s + self.pace.read(ended_s, ended_s - begun_s, self._reader.is_stirred))
        rows = None
        if tiles is not None:
            frame, rows = self._beside_tiles(frame, reading, *tiles)
        self._listeners.on_look(frame, reading)
        if rows is not None:
            self._listeners.on_rows(rows)
        if reading.game is not None:
            self._board_s = now
        status = self._status_of(reading)
        if status.state is CameraState.SEES_BOARD or self._board_s is None or now - self._board_s >= _GONE_S:
            self._say(status)
        self._listeners.on_reading(reading)
        if self._cameras.lenses and self._camera:
            self._cameras.lenses.learn(self._camera, self._reader.learned, self._reader.pose, now)
        return reading

    def _beside_tiles(
        self, frame: Frame, reading: Reading, watch: TileWatch, board_only: BoardOnly
    ) -> tuple[Frame, RowsSeen | None]:
        """The frame without what lies beside the board, and the rows of tiles if they were wanted and are read."""
        pose = self._reader.pose if reading.game == watch.kit.game else None
        as_read = self._reader.as_read(frame)
        shown = board_only.shown(as_read, pose)
        return self._reader.as_read(shown), watch.see(as_read.luma, frame.at_s, pose)

    def _change_camera(self) -> None:
        """Give the camera back when another one was chosen."""
        with self._asking:
            changed, self._changed = self._changed, False
        if changed:
            self._drop_camera()
            self._failures, self._next_s, self._expected = 0, self._clock.monotonic_s(), True
            self._sight = BlankDetector()

    def _set_locks(self) -> None:
        """Lock and unlock what other threads have asked for, once a camera is open that can."""
        device = self._camera if isinstance(self._camera, Device) else None
        if device is None:
            return
        with self._asking:
            wanted, self._wanted = self._wanted, None
        if wanted is not None:
            device.lock(wanted.focus, wanted.exposure)
            if self._light and wanted.exposure is not None:
                self._light.held = wanted.exposure

    def _grab(self) -> Frame | None:
        """The next frame, opening the camera if need be; raises `CameraError`, also after a long silence."""
        if self._camera is None:
            self._begun = False
            other = self._cameras.open_other
            self._camera = other(self._source) if self._source and other else self._cameras.open()
            self._last_frame_s = self._clock.monotonic_s()
        frame = self._camera.frame()
        now = self._clock.monotonic_s()
        silent_s = now - (now if self._last_frame_s is None else self._last_frame_s)
        if frame is None:
            if silent_s >= _SILENCE_S:
                raise CameraError(
                    say(
                        "The camera {name} has sent no picture for {seconds} s: check its cable",
                        name=self._camera.name,
                        seconds=f"{silent_s:.0f}",
                    )
                )
            return None
        if not self._begun:
            self._begin(self._camera, now)
            self._begun = True
        self._last_frame_s = now
        return frame

    def _begin(self, camera: Camera, now_s: float) -> None:
        """A camera was opened and has sent its first picture: use its lens, look after its light."""
        self._sight.begin(now_s)
        self._light = LightKeeper(camera, self._cameras.mains_hz) if isinstance(camera, Device) else None
        which = (camera.identity, camera.zoom) if isinstance(camera, Device) else (camera.name, 1.0)
        if (
            self._cameras.lenses and which != self._which
        ):  # the same camera, opened anew, goes on with what it has learned
            self._reader.use_lens(*self._cameras.lenses.lens_of(camera))
        self._which = which

    def _is_seeing(self, frame: Frame) -> bool:
        """Does a real camera see anything? Says so if not; raises `CameraError` when opening it anew may help."""
        device = self._camera
        if isinstance(device, Device):
            now = self._clock.monotonic_s()
            trouble = self._sight.trouble(device.name, frame.luma, now)
            if trouble:
                self._board_s = None
                if self._sight.wants_reopening(now):
                    raise CameraError(trouble)
                self._say(CameraStatus(CameraState.TROUBLE, trouble))
                return False
            if self._light:
                self._light.see(frame.luma, now)
            self._locks = device.locks
        self._failures = 0
        self._expected = True
        return True

    def _status_of(self, reading: Reading) -> CameraStatus:
        light = self._light.sentence if self._light else ""
        if reading.game is not None:
            told = say("The camera sees the board"), self._reader.note, light
            return CameraStatus(CameraState.SEES_BOARD, joined(". ", told))
        sentence = self._reader.problem or say(
            "The camera sees no board: put it down with all four corner markers in the picture"
        )
        return CameraStatus(CameraState.NO_BOARD, joined(". ", (sentence, light)))

    def _in_trouble(self, sentence: str) -> None:
        self._drop_camera()
        self._board_s = None
        pause_s = _PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)]
        self._failures += 1
        self._next_s = self._clock.monotonic_s() + pause_s
        if callable(self._expected):
            self._expected = self._expected()
        if self._expected:
            self._say(CameraStatus(CameraState.TROUBLE, sentence))
        else:
            self._say(CameraStatus(CameraState.NONE, _NONE_YET))

    def _drop_camera(self) -> None:
        camera, self._camera = self._camera, None
        self._light, self._locks = None, None
        if camera is not None:
            if self._cameras.lenses:
                self._cameras.lenses.note(camera, self._reader.learned, self._reader.pose)
            # A device that is gone cannot be closed properly; the trouble has been told already.
            with contextlib.suppress(CameraError):
                camera.close()

    def _say(self, status: CameraStatus) -> None:
        if status != self._status:
            self._status = status
            self._listeners.on_status(status)
