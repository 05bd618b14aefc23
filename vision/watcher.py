"""The thread that watches the board: grabs and reads frames, adapts its pace, and recovers from
failures of the camera.

`Watcher` is the thread, and `Pace` says when its next picture is due. A *kit* is what is printed
for one game, and a *reading* is what one frame shows of its board. In some games orders are *tiles*
that lie in rows beside the board, see `vision.tiles`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

import cv2

from companion.core.clock import Clock
from companion.core.errors import CameraError
from companion.core.i18n import say
from companion.core.kit import Kit, RowsSeen, RowsWanted
from companion.core.ports import CameraStatus, Closeable, Frame, Reading
from companion.core.resources import NICE_READING, lower_priority
from vision.cameras.camera_link import CLOSE_TIMEOUT_S, CameraLink, Cameras
from vision.cameras.status_reporter import CameraStatusReporter
from vision.reading.board_reader import BoardReader
from vision.tiles.tile_processor import TileProcessor

log = logging.getLogger(__name__)

# Number of OpenCV threads. More of them busy-wait for work. They cost a tenth to a third more
# processor time for each picture, which a Raspberry Pi needs for its pages.
READING_THREADS = 1

# Time in seconds without an answer after which the camera has stalled. Opening one takes up to
# three seconds.
STALL_S = 5.0

# Maximum interval in seconds between pictures, even if the settings ask for fewer. The health check
# sees by them that the thread is alive.
MAX_PERIOD_S = 10.0

# Minimum pause after a picture in which hands move, as a share of the time that reading it took.
# The pause leaves processor time to pages and pads.
MOVEMENT_PAUSE_SHARE = 0.5

# A machine is slow if it takes longer than this share of the frame period to read a picture in
# which hands move.
MAX_FAST_SHARE = 0.5

# How long a slow machine only glances at pictures in which hands move, as a multiple of the time
# for reading one. By glancing, it notices sooner that the hands have gone. Larger: what is put down
# during a long movement is seen later.
GLANCE_READINGS = 4.0


@dataclass(frozen=True)
class WatchListeners:
    """The callbacks of a watcher.

    All are called in the watcher's thread, and `on_status` also in the one that calls
    `Watcher.report_stall`. They should only queue things.
    """

    on_reading: Callable[[Reading], None] = lambda _: None
    """Gets every reading."""
    on_status: Callable[[CameraStatus], None] = lambda _: None
    """Gets every change of the camera's status."""
    on_frame: Callable[[Frame, Reading], None] = lambda _frame, _reading: None
    """Gets every frame with its reading, before `on_reading`."""
    on_rows: Callable[[RowsSeen], None] = lambda _: None
    """Gets the requested rows of order tiles."""


class Watcher(Closeable):
    """Reads the board with one of these cameras, and calls listeners with each reading.

    It does so `fps` times a second, or less often if reading takes long. One *round* grabs a frame,
    reads it, calls the listeners, and saves what was learned about the lens.

    `start` begins a thread that runs until `close`, which also releases the camera. Tests call
    `step` instead, for one round in their own thread. After a failure the camera is opened again
    after 0.5, 1, 2, 5, 10, 10 … seconds.
    """

    def __init__(
        self,
        cameras: Cameras,
        reader: BoardReader,
        clock: Clock,
        listeners: WatchListeners,
        fps: float = 10.0,
    ) -> None:
        self.link = CameraLink(cameras, clock, reader)
        """The link to the camera, which is open unless it has failed."""
        self.pace = Pace(min(1 / fps, MAX_PERIOD_S))
        self._reporter = CameraStatusReporter(listeners.on_status, cameras.expects_camera)
        self._reader = reader
        self._clock = clock
        self._listeners = listeners
        # Monotonic time at which the next picture is due.
        self._due_at_s = clock.monotonic_s()
        self.last_round_s = self._due_at_s
        """Monotonic time of the thread's last round."""
        # Monotonic time of the request that the camera has not answered yet. None if there is none.
        self._requested_at_s: float | None = None
        # The order tiles beside the board. None for a game without them.
        self._tiles: TileProcessor | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def use(self, kit: Kit | None) -> None:
        """Set the kit that is played. May be called from any thread.

        While a game's orders lie beside its board as tiles, the frames given to listeners show only
        the board.
        """
        self._tiles = TileProcessor(kit, self._reader) if kit and kit.order_tiles else None
        self._reader.use(kit)

    def read_rows(self, wanted: RowsWanted | None) -> None:
        """Request these rows of order tiles, read from the next frames. None withdraws the request.

        May be called from any thread.
        """
        tiles = self._tiles
        if tiles is not None:
            tiles.watch.request(wanted)

    def report_stall(self) -> None:
        """Report the camera as stalled if it has not answered for `STALL_S`.

        The watcher's thread cannot do so, because it waits for the camera. May be called from any
        thread. The health check calls it.
        """
        requested_at_s = self._requested_at_s
        if requested_at_s is None or self._clock.monotonic_s() - requested_at_s < STALL_S:
            return
        self._reporter.report_fault(
            say(
                "The camera has sent no picture for {seconds} s: check its cable",
                seconds=f"{STALL_S:.0f}",
            )
        )

    # ---- the thread ----

    def start(self) -> None:
        """Start the thread that watches. A second call does nothing."""
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="board-watcher", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop the thread and release the camera. A second call does nothing.

        If the camera has stalled, the thread is left behind, and ends when its driver times out.
        """
        self._stop.set()
        self.link.wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=CLOSE_TIMEOUT_S)
            if self._thread.is_alive():
                log.warning("the camera does not answer: its thread is left behind")
                return
            self._thread = None
        self.link.close()

    def _run(self) -> None:
        lower_priority(NICE_READING)
        cv2.setNumThreads(READING_THREADS)
        while not self._stop.is_set():
            try:
                self.step()
            except Exception as error:
                # The table must get a report, and the loop must go on.
                log.exception("the board cannot be read")
                self._handle_failure(
                    say("The board cannot be read: {error}: see the log", error=str(error))
                )
            self.last_round_s = self._clock.monotonic_s()
            self.link.wake.wait(max(0.0, self._due_at_s - self._clock.monotonic_s()))
            self.link.wake.clear()

    # ---- one frame ----

    def step(self) -> Reading | None:
        """Process one frame, even if it is not due yet. Return its reading.

        Returns None if the camera fails, or has failed and is not to be reopened yet.
        """
        if self.link.close_if_switched():
            self._due_at_s = self._clock.monotonic_s()
            self._reporter.was_in_use = True
        now_s = self._clock.monotonic_s()
        if now_s < self._due_at_s and not self.link.is_open:
            return None
        self._due_at_s = now_s + self.pace.period_s

        # Get a frame. Meanwhile another thread may notice that the camera has stalled.
        self._requested_at_s = now_s
        try:
            frame = self.link.grab()
        except CameraError as error:
            self._handle_failure(error.message)
            return None
        finally:
            self._requested_at_s = None

        # Read it, and note how long that took. The next frame is due after a pause.
        tiles = self._tiles
        began_at_s = self._clock.monotonic_s()
        reading = self._reader.read(frame, glance=self.pace.is_glance_only(began_at_s))
        ended_at_s = self._clock.monotonic_s()
        is_moving = self._reader.is_moving
        pause_s = self.pace.record(ended_at_s, ended_at_s - began_at_s, is_moving)
        self._due_at_s = max(self._due_at_s, ended_at_s + pause_s)
        self._notify(frame, reading, tiles, now_s)
        self.link.follow_up(now_s, is_moving or not reading.quiet)
        return reading

    def _notify(
        self, frame: Frame, reading: Reading, tiles: TileProcessor | None, now_s: float
    ) -> None:
        """Call all listeners.

        `on_reading` is called last: when the table gets a reading, the eye has its frame already.
        """
        frame, rows = tiles.process_frame(frame, reading) if tiles else (frame, None)
        self._listeners.on_frame(frame, reading)
        if rows is not None:
            self._listeners.on_rows(rows)
        if reading.game is not None:
            self._reporter.report_board(self._reader.details.note, self.link.light_problem, now_s)
        else:
            self._reporter.report_no_board(
                self._reader.details.problem, self.link.light_problem, now_s
            )
        self._listeners.on_reading(reading)

    def _handle_failure(self, sentence: str) -> None:
        pause_s = self.link.handle_fault()
        self._due_at_s = self._clock.monotonic_s() + pause_s
        self._reporter.report_fault(sentence)


class Pace:
    """Decides when the next picture is due, and whether a slow machine only glances at it.

    A glance checks whether hands still move, and reads nothing if they do. Times are monotonic, in
    seconds. Only the watcher's thread changes a pace.
    """

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        """Time from one picture to the next."""
        # Duration of the last reading during a movement. 0 if the machine is fast enough.
        self._slow_reading_s = 0.0
        # Whether something moved in the last picture.
        self._was_moving = False
        # Until when pictures of the current movement are only glanced at.
        self._glance_until_s = 0.0

    def record(self, ended_at_s: float, duration_s: float, is_moving: bool) -> float:
        """Record how long a picture took, and whether something moved in it.

        Returns the minimum pause in seconds.
        """
        if is_moving:
            was_glance_only = self.is_glance_only(ended_at_s - duration_s)
            if not was_glance_only:
                self._slow_reading_s = (
                    duration_s if duration_s > MAX_FAST_SHARE * self.period_s else 0.0
                )
            # A series of glances begins after each reading, and at the start of a movement.
            if not was_glance_only or not self._was_moving:
                self._glance_until_s = ended_at_s + GLANCE_READINGS * self._slow_reading_s
        self._was_moving = is_moving
        return MOVEMENT_PAUSE_SHARE * duration_s if is_moving else 0.0

    def is_glance_only(self, now_s: float) -> bool:
        """Return whether a picture at this time is only checked for movement."""
        # If nothing moved in the last picture, a movement may begin in this one, with a glance.
        return self._slow_reading_s > 0 and (not self._was_moving or now_s < self._glance_until_s)
