"""Reports the status of the camera to people: it sees a board, sees none, or what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable

from companion.core.i18n import joined, say
from companion.core.ports import CameraState, CameraStatus

_NONE_YET = say(
    "There is no camera: connect one and it will be used; without one you play by tapping"
)
# Time in seconds after which a board that is out of sight, perhaps behind an arm or a cup, is
# reported as missing.
_MISSING_AFTER_S = 1.0


class CameraStatusReporter:
    """Puts what the watcher finds into a sentence, and reports every change once to `on_status`.

    `expects_camera` returns whether it is a fault if no camera was ever in use. It is called only
    then.

    The watcher's thread calls everything here. Another thread may call `report_fault` meanwhile,
    as the health check does when the watcher's thread waits for its camera. A lock ensures that
    `on_status` gets one status after the other.
    """

    def __init__(
        self, on_status: Callable[[CameraStatus], None], expects_camera: Callable[[], bool]
    ) -> None:
        self._on_status = on_status
        self._expects_camera = expects_camera
        self.was_in_use = False
        """Whether a camera has worked before or was chosen, so that a missing one is a fault."""
        # The status that was reported last, guarded by the lock.
        self._status: CameraStatus | None = None
        # When a board was last read. None before the first board, and after a fault.
        self._board_seen_at_s: float | None = None
        self._lock = threading.Lock()

    def report_board(self, note: str, light: str, now_s: float) -> None:
        """Report that a board was read.

        `note` is a sentence about the picture, and `light` one about its light. Both may be empty.
        """
        self._board_seen_at_s = now_s
        self.was_in_use = True
        self._report(
            CameraStatus(
                CameraState.SEES_BOARD,
                joined(". ", (say("The camera sees the board"), note, light)),
            )
        )

    def report_no_board(self, problem: str, light: str, now_s: float) -> None:
        """Report that there was no board in the picture.

        `problem` is a sentence that says why, and `light` one about the light. Both may be empty.
        People hear of a missing board once it was missing for a second, so that an arm above it
        causes no alarm, but at once if no board was read before.
        """
        self.was_in_use = True
        if self._board_seen_at_s is None or now_s - self._board_seen_at_s >= _MISSING_AFTER_S:
            sentence = problem or say(
                "The camera sees no board: put it down with all four corner markers in the picture"
            )
            self._report(CameraStatus(CameraState.NO_BOARD, joined(". ", (sentence, light))))

    def report_fault(self, sentence: str) -> None:
        """Report that the camera has failed, which `sentence` says.

        If no camera was ever in use and none is expected, this is not a fault: report only that
        there is no camera.
        """
        self._board_seen_at_s = None
        if self.was_in_use or self._expects_camera():
            self._report(CameraStatus(CameraState.TROUBLE, sentence))
        else:
            self._report(CameraStatus(CameraState.NONE, _NONE_YET))

    def _report(self, status: CameraStatus) -> None:
        with self._lock:
            if status != self._status:
                self._status = status
                self._on_status(status)
