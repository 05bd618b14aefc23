"""The thread that watches the board: grabs, reads, paces itself, and gets over every trouble of the camera."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable

from companion.clock import Clock
from companion.errors import CameraError
from companion.kit import Kit
from companion.ports import Camera, CameraState, CameraStatus, Frame, Reading
from vision.reader import BoardReader

_LOG = logging.getLogger(__name__)
_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)
_SILENCE_S = 3.0
"""A camera that gives no picture for so long is in trouble."""
_GONE_S = 1.0
"""A board that is out of sight for less, behind an arm or a cup, is not said to be gone."""


class Watcher:
    """Calls `on_reading` with every reading and `on_status` whenever the camera's state changes.

    Both are called in the watcher's thread (or in that of whoever calls `step`) and should only put things into a
    queue. After trouble the camera is opened again after 0.5, 1, 2, 5, 10, 10 … seconds.
    """

    def __init__(  # noqa: PLR0917 - six collaborators, in the order in which the app names them
        self,
        open_camera: Callable[[], Camera],
        reader: BoardReader,
        clock: Clock,
        fps: float,
        on_reading: Callable[[Reading], None],
        on_status: Callable[[CameraStatus], None],
    ) -> None:
        self._open_camera = open_camera
        self._reader = reader
        self._clock = clock
        self._period_s = 1 / fps
        self._on_reading = on_reading
        self._on_status = on_status
        self._camera: Camera | None = None
        self._status: CameraStatus | None = None
        self._failures = 0
        self._next_s = clock.monotonic_s()
        self._last_frame_s: float | None = None
        self._board_s: float | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def use(self, kit: Kit | None) -> None:
        """Tell the reader which board is played; from any thread."""
        self._reader.use(kit)

    # ---- the thread ----

    def start(self) -> None:
        """Begin to watch in a thread of its own; a second call does nothing."""
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="board-watcher", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop, and give the camera back; may be called twice. A camera that hangs is left to its time-out."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=2 * _SILENCE_S)
            if self._thread.is_alive():
                _LOG.warning("the camera does not answer: its thread is left behind")
                return
            self._thread = None
        self._drop_camera()

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.step()
            except Exception as error:  # whatever happens, the table must hear of it and the watch go on
                _LOG.exception("the board cannot be read")
                self._in_trouble(f"The board cannot be read: {error}: see the log")
            self._stop.wait(max(0.0, self._next_s - self._clock.monotonic_s()))

    # ---- one frame ----

    def step(self) -> Reading | None:
        """Do one frame, without waiting for its time; None when the camera gave none or is still in its pause."""
        now = self._clock.monotonic_s()
        if self._camera is None and now < self._next_s:
            return None
        self._next_s = now + self._period_s
        try:
            frame = self._grab()
        except CameraError as error:
            self._in_trouble(error.message)
            return None
        if frame is None:
            return None
        reading = self._reader.read(frame)
        if reading.game is not None:
            self._board_s = now
        status = _status_of(reading, self._reader.problem)
        if status.state is CameraState.SEES_BOARD or self._board_s is None or now - self._board_s >= _GONE_S:
            self._say(status)
        self._on_reading(reading)
        return reading

    def _grab(self) -> Frame | None:
        """The next frame, opening the camera if need be; raises `CameraError`, also after a long silence."""
        if self._camera is None:
            self._camera = self._open_camera()
            self._last_frame_s = self._clock.monotonic_s()
        frame = self._camera.frame()
        now = self._clock.monotonic_s()
        silent_s = now - (now if self._last_frame_s is None else self._last_frame_s)
        if frame is None:
            if silent_s >= _SILENCE_S:
                raise CameraError(
                    f"The camera {self._camera.name} has sent no picture for {silent_s:.0f} s: check its cable"
                )
            return None
        self._last_frame_s = now
        self._failures = 0
        return frame

    def _in_trouble(self, sentence: str) -> None:
        self._drop_camera()
        self._board_s = None
        pause_s = _PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)]
        self._failures += 1
        self._next_s = self._clock.monotonic_s() + pause_s
        self._say(CameraStatus(CameraState.TROUBLE, sentence))

    def _drop_camera(self) -> None:
        camera, self._camera = self._camera, None
        if camera is not None:
            # A device that is gone cannot be closed properly; the trouble has been told already.
            with contextlib.suppress(CameraError):
                camera.close()

    def _say(self, status: CameraStatus) -> None:
        if status != self._status:
            self._status = status
            self._on_status(status)


def _status_of(reading: Reading, problem: str) -> CameraStatus:
    if reading.game is not None:
        return CameraStatus(CameraState.SEES_BOARD, "The camera sees the board")
    sentence = problem or "The camera sees no board: put it down with all four corner markers in the picture"
    return CameraStatus(CameraState.NO_BOARD, sentence)
