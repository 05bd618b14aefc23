"""Test the watcher, which reads pictures in a thread, and reports readings and the camera's status.

It recovers from every fault of the camera. Most tests run its steps themselves, in fake time.
"""

import threading
from dataclasses import replace

import cv2
from reading_tools import KITS, render_table

from companion.core.clock import FakeClock
from companion.core.errors import CameraError
from companion.core.ports import Camera, CameraState, CameraStatus, Frame, Reading
from vision.cameras.camera_link import Cameras
from vision.reading.board_reader import make_board_reader
from vision.simulation.table import RenderedCamera
from vision.watcher import READING_THREADS, Watcher, WatchListeners

KIT = KITS["outbuffered"]


class FlakyCamera:
    """A camera that fails while it `is_gone`, and counts how often it is opened and closed."""

    name = "flaky"

    def __init__(self, camera: Camera) -> None:
        self.camera = camera
        self.is_gone = False
        self.closed = 0
        self.opened = 0

    def open(self, _source: str = "") -> Camera:
        self.opened += 1
        if self.is_gone:
            raise CameraError("USB camera 0 is missing: plug it in")
        return self

    def frame(self) -> Frame:
        if self.is_gone:
            raise CameraError("USB camera 0 has stopped sending pictures: check its plug")
        return self.camera.frame()

    def close(self) -> None:
        self.closed += 1


class WatchedCamera:
    """A rendered table, a camera that may fail, and a watcher whose reports are recorded."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.table = render_table(KIT)
        self.camera = FlakyCamera(RenderedCamera(self.table, self.clock))
        self.readings: list[Reading] = []
        self.statuses: list[CameraStatus] = []
        self.reader = make_board_reader({KIT.game: KIT})
        listeners = WatchListeners(self.readings.append, self.statuses.append)
        self.watcher = Watcher(Cameras(self.camera.open), self.reader, self.clock, listeners)

    @property
    def states(self) -> list[CameraState]:
        return [status.state for status in self.statuses]


def test_a_missing_board_is_reported_after_a_second() -> None:
    """Before that, the camera's status stays as it is, since an arm may be in the way."""
    # a board is seen, and then moved 5 m away
    watched = WatchedCamera()
    watched.watcher.step()
    watched.table.set_view(replace(watched.table.view, board_turn_deg=0.0, shift_mm=(5000.0, 0.0)))

    # after 0.9 s, readings show no board, but the status says nothing of it yet
    watched.clock.advance(0.9)
    watched.watcher.step()
    assert watched.readings[-1].game is None
    assert watched.states == [CameraState.SEES_BOARD]

    # after 1.1 s, people are told
    watched.clock.advance(0.2)
    watched.watcher.step()
    assert watched.states == [CameraState.SEES_BOARD, CameraState.NO_BOARD]
    assert "The camera sees no board: put it down" in watched.statuses[-1].sentence


def test_a_lost_camera_is_reopened_after_pauses() -> None:
    """Nobody has to restart anything after a camera was unplugged and plugged in again."""
    # the camera is unplugged, which is reported, and the device is closed
    watched = WatchedCamera()
    watched.watcher.step()
    watched.camera.is_gone = True
    watched.watcher.step()
    assert watched.statuses[-1] == CameraStatus(
        CameraState.TROUBLE, "USB camera 0 has stopped sending pictures: check its plug"
    )
    assert watched.camera.closed == 1

    # it is tried again after ever longer pauses, of at most ten seconds
    for pause_s in (0.5, 1.0, 2.0, 5.0, 10.0, 10.0):
        opened_before = watched.camera.opened
        watched.clock.advance(pause_s - 0.01)
        assert watched.watcher.step() is None
        assert watched.camera.opened == opened_before, f"tried again before {pause_s} s had passed"
        watched.clock.advance(0.02)
        watched.watcher.step()
        assert watched.camera.opened == opened_before + 1

    # the camera is plugged in again
    watched.camera.is_gone = False
    watched.clock.advance(10.0)
    assert watched.watcher.step() is not None
    assert watched.states[-1] is CameraState.SEES_BOARD


def test_another_thread_notices_a_hanging_camera() -> None:
    """The watcher's own thread cannot report a driver that never returns. The health check does."""
    # as long as the camera answers, nothing is reported
    watched = WatchedCamera()
    watched.watcher.step()
    watched.watcher.report_stall()
    assert watched.states == [CameraState.SEES_BOARD]

    # the watcher runs in a thread, which waits for a picture that does not come
    is_hanging = threading.Event()
    may_go_on = threading.Event()
    read_frame = watched.camera.frame

    def hang() -> Frame:
        is_hanging.set()
        assert may_go_on.wait(60)
        return read_frame()

    watched.camera.frame = hang  # type: ignore[method-assign] # a driver that hangs
    thread = threading.Thread(target=watched.watcher.step)
    thread.start()
    assert is_hanging.wait(60)

    # after 4.9 s nothing is reported, after 5.1 s once
    watched.clock.advance(4.9)
    watched.watcher.report_stall()
    assert watched.states == [CameraState.SEES_BOARD]
    watched.clock.advance(0.2)
    for _ in range(3):
        watched.watcher.report_stall()
        watched.clock.advance(2)
    assert watched.states == [CameraState.SEES_BOARD, CameraState.TROUBLE], "it is reported again"
    assert (
        watched.statuses[-1].sentence == "The camera has sent no picture for 5 s: check its cable"
    )

    # the camera answers at last
    may_go_on.set()
    thread.join(60)
    watched.watcher.report_stall()
    assert watched.states[-1] is CameraState.SEES_BOARD


def test_the_thread_survives_an_unexpected_error() -> None:
    """The watcher's thread reports the error. A second `start` and a second `close` do nothing."""
    clock = FakeClock()
    is_reported = threading.Event()
    statuses: list[CameraStatus] = []

    def broken(_source: str) -> Camera:
        raise RuntimeError("no idea")

    def note_status(status: CameraStatus) -> None:
        statuses.append(status)
        is_reported.set()

    with Watcher(
        Cameras(broken), make_board_reader({}), clock, WatchListeners(on_status=note_status)
    ) as watcher:
        watcher.start()
        watcher.start()
        assert is_reported.wait(60)
    watcher.close()
    assert statuses == [
        CameraStatus(CameraState.TROUBLE, "The board cannot be read: no idea: see the log")
    ]
    assert not [thread for thread in threading.enumerate() if thread.name == "board-watcher"]


def test_the_watcher_closes_the_camera_at_its_end() -> None:
    watched = WatchedCamera()
    is_settled = threading.Event()
    # each reading makes the fake time pass, until the board is settled
    listeners = WatchListeners(
        lambda reading: is_settled.set() if reading.quiet else watched.clock.advance(0.01)
    )
    watcher = Watcher(Cameras(watched.camera.open), watched.reader, watched.clock, listeners, 1000)
    cv2.setNumThreads(2)
    with watcher:
        watcher.use(KIT)
        watcher.start()
        assert is_settled.wait(60)
    assert watched.camera.closed == 1
    # more threads of OpenCV would take time from the pages
    assert cv2.getNumThreads() == READING_THREADS == 1
