"""The status of the camera for people: it sees the board, it does not, or what is wrong with it."""

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
_GONE_S = 1.0


class CameraReport:
    """Reports every change once to `on_status`.

    `expected` is that of `Cameras`. Any thread may call.
    """

    def __init__(
        self, on_status: Callable[[CameraStatus], None], expected: Callable[[], bool]
    ) -> None:
        self._on_status, self._expected = on_status, expected
        self.is_expected = False
        """Whether a missing camera is a fault, because one has worked or was chosen."""
        self._status: CameraStatus | None = None
        self._board_s: float | None = None
        self._lock = threading.Lock()

    def sees_board(self, note: str, light: str, now_s: float) -> None:
        """Report that a board was read. `note` and `light` are sentences about the picture, or
        empty.
        """
        self._board_s = now_s
        self.is_expected = True
        self._say(
            CameraStatus(
                CameraState.SEES_BOARD,
                joined(". ", (say("The camera sees the board"), note, light)),
            )
        )

    def sees_none(self, problem: str, light: str, now_s: float) -> None:
        """Report that there was no board in the picture. `problem` says why if that is known."""
        self.is_expected = True
        if self._board_s is None or now_s - self._board_s >= _GONE_S:
            sentence = problem or say(
                "The camera sees no board: put it down with all four corner markers in the picture"
            )
            self._say(CameraStatus(CameraState.NO_BOARD, joined(". ", (sentence, light))))

    def is_missed(self, sentence: str) -> None:
        """Report that the camera fails. That is no fault where there never was one."""
        self._board_s = None
        if self.is_expected or self._expected():
            self._say(CameraStatus(CameraState.TROUBLE, sentence))
        else:
            self._say(CameraStatus(CameraState.NONE, _NONE_YET))

    def _say(self, status: CameraStatus) -> None:
        with self._lock:
            if status != self._status:
                self._status = status
                self._on_status(status)
