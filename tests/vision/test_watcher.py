"""The watcher: paces, passes readings on, and gets over every trouble of the camera."""

import threading
from dataclasses import replace

import cv2
from reading_tools import render_table

from companion.core.clock import FakeClock
from companion.core.errors import CameraError
from companion.core.ports import Camera, CameraState, CameraStatus, Frame, Reading
from companion.games.outbuffered import Outbuffered
from vision.cameras.camera_link import Cameras
from vision.reading.board_reader import board_reader
from vision.simulation.table import RenderedCamera
from vision.watcher import READING_THREADS, Watcher, WatchListeners

KIT = Outbuffered().kit(Outbuffered().options({}))


class Flaky:
    """A camera that fails or works, as told."""

    name = "flaky"

    def __init__(self, inner: Camera) -> None:
        self.inner = inner
        self.mood = "works"
        self.closed = 0
        self.opened = 0

    def open(self, _source: str = "") -> Camera:
        self.opened += 1
        if self.mood == "gone":
            raise CameraError("USB camera 0 is missing: plug it in")
        return self

    def frame(self) -> Frame:
        if self.mood == "gone":
            raise CameraError("USB camera 0 has stopped sending pictures: check its plug")
        return self.inner.frame()

    def close(self) -> None:
        self.closed += 1


class WatchedCamera:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.table = render_table(KIT)
        self.camera = Flaky(RenderedCamera(self.table, self.clock))
        self.readings: list[Reading] = []
        self.statuses: list[CameraStatus] = []
        self.reader = board_reader({KIT.game: KIT})
        listeners = WatchListeners(self.readings.append, self.statuses.append)
        self.watcher = Watcher(Cameras(self.camera.open), self.reader, self.clock, listeners)

    @property
    def states(self) -> list[CameraState]:
        return [status.state for status in self.statuses]


def test_the_watcher_says_when_the_board_is_gone() -> None:
    watched = WatchedCamera()
    watched.watcher.step()
    watched.table.set_view(replace(watched.table.view, board_turn_deg=0.0, shift_mm=(5000.0, 0.0)))
    watched.clock.advance(0.9)
    watched.watcher.step()
    assert watched.readings[-1].game is None
    assert watched.states == [CameraState.SEES_BOARD], "an arm in the way is no news"
    watched.clock.advance(0.2)
    watched.watcher.step()
    assert watched.states == [CameraState.SEES_BOARD, CameraState.NO_BOARD]
    assert "The camera sees no board: put it down" in watched.statuses[-1].sentence


def test_a_lost_camera_is_tried_again() -> None:
    watched = WatchedCamera()
    watched.watcher.step()
    watched.camera.mood = "gone"
    watched.watcher.step()
    assert watched.statuses[-1] == CameraStatus(
        CameraState.TROUBLE, "USB camera 0 has stopped sending pictures: check its plug"
    )
    assert watched.camera.closed == 1
    for pause_s in (0.5, 1.0, 2.0, 5.0, 10.0, 10.0):
        opened_before = watched.camera.opened
        watched.clock.advance(pause_s - 0.01)
        assert watched.watcher.step() is None
        assert watched.camera.opened == opened_before, f"tried again before {pause_s} s had passed"
        watched.clock.advance(0.02)
        watched.watcher.step()
        assert watched.camera.opened == opened_before + 1
    watched.camera.mood = "works"
    watched.clock.advance(10.0)
    assert watched.watcher.step() is not None
    assert watched.states[-1] is CameraState.SEES_BOARD


def test_another_thread_notices_a_hanging_camera() -> None:
    watched = WatchedCamera()
    watched.watcher.step()
    watched.watcher.report_stall()
    assert watched.states == [CameraState.SEES_BOARD]
    asked, goes_on = threading.Event(), threading.Event()
    sent = watched.camera.frame

    def hang() -> Frame:
        asked.set()
        assert goes_on.wait(60)
        return sent()

    watched.camera.frame = hang  # type: ignore[method-assign] # a driver that does not come back
    thread = threading.Thread(target=watched.watcher.step)
    thread.start()
    assert asked.wait(60)
    watched.clock.advance(4.9)
    watched.watcher.report_stall()
    assert watched.states == [CameraState.SEES_BOARD]
    watched.clock.advance(0.2)
    for _ in range(3):
        watched.watcher.report_stall()
        watched.clock.advance(2)
    assert watched.states == [CameraState.SEES_BOARD, CameraState.TROUBLE], "once"
    assert (
        watched.statuses[-1].sentence == "The camera has sent no picture for 5 s: check its cable"
    )
    goes_on.set()
    thread.join(60)
    watched.watcher.report_stall()
    assert watched.states[-1] is CameraState.SEES_BOARD, "it works again"


def test_the_thread_survives_an_error_that_nobody_foresaw() -> None:
    clock, done = FakeClock(), threading.Event()
    statuses: list[CameraStatus] = []

    def broken(_source: str) -> Camera:
        raise RuntimeError("no idea")

    def note_status(status: CameraStatus) -> None:
        statuses.append(status)
        done.set()

    with Watcher(
        Cameras(broken), board_reader({}), clock, WatchListeners(on_status=note_status)
    ) as watcher:
        watcher.start()
        watcher.start()
        assert done.wait(60)
    watcher.close()
    assert statuses == [
        CameraStatus(CameraState.TROUBLE, "The board cannot be read: no idea: see the log")
    ]
    assert not [thread for thread in threading.enumerate() if thread.name == "board-watcher"]


def test_the_watcher_gives_the_camera_back() -> None:
    watched, settled = WatchedCamera(), threading.Event()
    listeners = WatchListeners(
        lambda reading: settled.set() if reading.quiet else watched.clock.advance(0.01)
    )
    watcher = Watcher(Cameras(watched.camera.open), watched.reader, watched.clock, listeners, 1000)
    cv2.setNumThreads(2)
    with watcher:
        watcher.use(KIT)
        watcher.start()
        assert settled.wait(60)
    assert watched.camera.closed == 1
    assert cv2.getNumThreads() == READING_THREADS == 1, (
        "OpenCV's own threads would take time from the pages"
    )
