"""Reports the status of the camera to people: it sees a board, sees none, or what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable

from companion.core.i18n import joined, say
from companion.core.ports import CameraState, CameraStatus

_NONE_YET = say(
    "There is no camera: connect one and it will be used; without one you play by tapping"
)
# Seconds for which a board may be out of sight, behind an arm or a cup, before it is reported as
# missing.
_MISSING_AFTER_S = 1.0


class CameraStatusReporter:
    """Puts what the watcher finds into a sentence, and reports every change once to `on_status`.

    `expected` returns whether a camera that was never there is a fault. Any thread may call.
    """

    def __init__(
        self, on_status: Callable[[CameraStatus], None], expected: Callable[[], bool]
    ) -> None:
        self._on_status, self._expected = on_status, expected
        self.is_expected = False
        """Whether a missing camera is a fault, because one has worked or was chosen."""
        self._status: CameraStatus | None = None
        # When a board was last read. None before the first, and after a fault.
        self._board_seen_s: float | None = None
        self._lock = threading.Lock()

    def report_board(self, note: str, light: str, now_s: float) -> None:
        """Report that a board was read.

        `note` and `light` are sentences about the picture, or empty.
        """
        self._board_seen_s = now_s
        self.is_expected = True
        self._report(
            CameraStatus(
                CameraState.SEES_BOARD,
                joined(". ", (say("The camera sees the board"), note, light)),
            )
        )

    def report_no_board(self, problem: str, light: str, now_s: float) -> None:
        """Report that there was no board in the picture. `problem` says why, or is empty.

        People hear of it once no board was read for a second, or at once if none was read before.
        """
        self.is_expected = True
        if self._board_seen_s is None or now_s - self._board_seen_s >= _MISSING_AFTER_S:
            sentence = problem or say(
                "The camera sees no board: put it down with all four corner markers in the picture"
            )
            self._report(CameraStatus(CameraState.NO_BOARD, joined(". ", (sentence, light))))

    def report_fault(self, sentence: str) -> None:
        """Report that the camera has failed, or that there is none and none is expected."""
        self._board_seen_s = None
        if self.is_expected or self._expected():
            self._report(CameraStatus(CameraState.TROUBLE, sentence))
        else:
            self._report(CameraStatus(CameraState.NONE, _NONE_YET))

    def _report(self, status: CameraStatus) -> None:
        with self._lock:
            if status != self._status:
                self._status = status
                self._on_status(status)
