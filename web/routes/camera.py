"""The camera's pictures: the live picture for the owner, and photographs of turns for everybody.

The live picture may show somebody's hand of cards, so no seat and no spectator receives it.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flask import Response
from werkzeug.exceptions import NotFound, ServiceUnavailable

from companion.core.i18n import joined, say
from companion.core.ports import Advice, BoardSeen, CameraState
from companion.table.views import photograph_title
from web.context import PageContext
from web.features import CameraFeature
from web.rendering.answers import PhotographJson, PhotographsJson
from web.rendering.camera_overlay import square_words
from web.routes.api.body import ShortText
from web.routes.route import TableRouteGroup, get, host_only, post

if TYPE_CHECKING:
    from vision.diagnosis import BoardEye

# Minimum interval in seconds between two measurements of the board.
MEASURE_INTERVAL_S = 1.5
# Maximum number of unread squares that are named. If there are more, only their number is given.
MAX_NAMED_SQUARES = 4
# Width and height that a page reserves for the live picture before the first one arrives.
FRAME_PX = (960, 540)


@dataclass(frozen=True)
class CameraReport:
    """How well the camera sees the board, as pages show it."""

    state: CameraState
    sentence: str
    is_well: bool = False
    """Whether nothing has to be done about the camera."""
    advice: str = ""
    """The one thing to do about it, empty if there is nothing to do."""
    board: BoardSeen | None = None
    """The reading of the board, None if no board is seen."""
    frames_per_s: float = 0.0
    """Pictures per second, 0 if unknown."""


class CameraReports:
    """Makes reports on the camera. Thread-safe.

    Measuring the board takes long. So a report is kept for `MEASURE_INTERVAL_S`, and all viewers of
    a page share it.
    """

    def __init__(self, page_context: PageContext) -> None:
        self.page_context = page_context
        self._lock = threading.Lock()
        self._last_measured_at_s = -MEASURE_INTERVAL_S
        self._frame_number = 0
        self._report = CameraReport(CameraState.NO_BOARD, say("No board is seen."))

    @property
    def board_eye(self) -> BoardEye | None:
        """What reads the board in the camera's pictures, or None without a camera."""
        camera = self.page_context.features.camera
        return camera.board_eye if camera else None

    def current(self) -> CameraReport:
        """Return the current report. The board is measured at most every `MEASURE_INTERVAL_S`."""
        status = self.page_context.table.view().devices.camera
        if self.board_eye is None or status.state is CameraState.NONE:
            sentence = status.sentence or say("No camera: confirm by hand")
            return CameraReport(CameraState.NONE, sentence, is_well=True)
        if status.state is CameraState.TROUBLE:
            return CameraReport(status.state, status.sentence)
        with self._lock:
            now_s = self.page_context.clock.monotonic_s()
            if now_s - self._last_measured_at_s >= MEASURE_INTERVAL_S:
                # if too many requests wait for the worker already, keep the last report
                with contextlib.suppress(ServiceUnavailable):
                    self._report = self._measure(self.board_eye, status.state, now_s)
            return self._report

    def _measure(self, board_eye: BoardEye, state: CameraState, now_s: float) -> CameraReport:
        """Return a new report on a camera that works. `state` is the state of the camera."""
        board = self.page_context.worker.run(board_eye.board)
        frame_number = board_eye.latest_number()
        age_s = now_s - self._last_measured_at_s
        # the rate is the mean since the last report, which says nothing if that was long ago
        is_recent = self._frame_number and age_s < 10 * MEASURE_INTERVAL_S
        frames_per_s = (frame_number - self._frame_number) / age_s if is_recent else 0.0
        self._last_measured_at_s = now_s
        self._frame_number = frame_number
        advice = board.advice if board else board_eye.advice_without_board()
        return replace(_judge_board(state, board, advice), frames_per_s=frames_per_s)


def _judge_board(
    state: CameraState, board: BoardSeen | None, advice: tuple[Advice, ...]
) -> CameraReport:
    """Return a report on the reading of a board, without the number of pictures per second.

    `advice` is what would help the camera, with the most important advice first.
    """
    if advice:
        return CameraReport(state, advice[0].why, advice=advice[0].text, board=board)
    if board is None:
        way_out = say("Get the whole board into the picture")
        return CameraReport(CameraState.NO_BOARD, say("No board is seen."), advice=way_out)
    if not board.reading.quiet:
        return CameraReport(state, say("Something is moving."), is_well=True, board=board)
    unread = [square_words(board.kit, square) for square in board.squares if not square.is_known]
    if unread:
        names = joined(", ", unread) if len(unread) <= MAX_NAMED_SQUARES else str(len(unread))
        return CameraReport(state, say("Not read: {squares}", squares=names), board=board)
    return CameraReport(state, say("Every square is sharp and bright"), is_well=True, board=board)


@dataclass
class CameraPictures(TableRouteGroup):
    """The routes under `/camera`, and the routes of photographs."""

    name = "camera"
    camera: CameraFeature
    # Number of the last frame, and the frame as JPEG.
    _last_jpeg: tuple[int, bytes] = (0, b"")

    # ---- for the owner ---------------------------------------------------------------------------

    @get("/camera/frame.jpg", guard=host_only)
    def frame(self) -> Response:
        """Return the last frame as JPEG. Pages request frames one by one while somebody looks.

        Raises `NotFound` while the camera sends no frames.
        """
        # the last frame would be an old one, which must not look like a live picture
        if self._table.progress().camera in (CameraState.TROUBLE, CameraState.NONE):
            raise NotFound
        return _jpeg(self._run_in_worker(self._newest_jpeg))

    def _newest_jpeg(self) -> bytes:
        """Return the last frame as JPEG, encoded once for all viewers."""
        frame_number = self._require_eye().latest_number()
        last_number, jpeg = self._last_jpeg
        if last_number != frame_number:
            jpeg = self._require_eye().picture() or b""
            self._last_jpeg = (frame_number, jpeg)
        return jpeg

    @post("/api/camera/lock", guard=host_only)
    def lock(self, focus: bool | None = None, exposure: bool | None = None) -> None:
        """Lock focus or exposure (true), make it automatic (false), or leave it as it is (null)."""
        self._require_eye().link.lock(focus, exposure)

    @post("/api/camera/choose", guard=host_only)
    def choose(self, source: ShortText) -> None:
        """Use another camera. Raises `NotFound` for a camera that is not available."""
        if source not in [offer.source for offer in self._require_eye().cameras()]:
            raise NotFound
        # if a phone was the camera, it is not any more
        if self.camera.phone:
            self.camera.phone.pairing.remove()
        self._require_eye().link.choose(source)

    # ---- photographs, for everybody --------------------------------------------------------------

    @get("/api/photographs")
    def photographs(self) -> PhotographsJson:
        """Return the photographs of the current game, oldest first."""
        progress = self._table.progress()
        game = progress.number
        turn_numbers = progress.turn_numbers
        photographs: list[PhotographJson] = [
            {"game": game, "moment": moment, "title": photograph_title(moment, turn_numbers)}
            for moment in self.camera.album.moments(game)
        ]
        return {"photographs": photographs}

    @get("/api/photograph/<int:game>/<moment>", answer="image/jpeg")
    def photograph(self, game: int, moment: str) -> Response:
        """Return the photograph of the board at the end of a turn. Raises `NotFound`."""
        return _jpeg(self.camera.album.photograph(game, moment))

    def _require_eye(self) -> BoardEye:
        """Return what reads the board in pictures. Raises `NotFound` without a camera."""
        if self.camera.board_eye is None:
            raise NotFound
        return self.camera.board_eye


def _jpeg(picture: Any) -> Response:
    """Return a JPEG picture. Raises `NotFound` if there is none."""
    if not picture:
        raise NotFound
    return Response(picture, mimetype="image/jpeg")
