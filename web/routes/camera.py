"""The camera page: what the camera sees, how well, and what to do about it. For the host and the machine's own screen.

The live picture shows the table and perhaps somebody's hand of cards, so it is sent to no seat and to no spectator.
Photographs of turns show the board alone; they are for everybody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import (
    Response,
    copy_current_request_context,
    jsonify,
    make_response,
    render_template,
    request,
)
from werkzeug.exceptions import NotFound, ServiceUnavailable

from companion.core.i18n import say, translate
from companion.core.ports import Advice, BoardSeen, CameraOffer, CameraState, Eye, SettledFrame
from companion.table.table_view import TableView
from companion.table.views import turn_title
from web.context import PageContext
from web.features import CameraRoom
from web.rendering.answers import PhotographsJson
from web.rendering.camera_overlay import (
    WEAK_WORDS,
    count_words,
    read_svg,
    square_words,
    weak_places,
    weak_svg,
    weak_symbols,
)
from web.routes.api.body import Body, Text
from web.routes.route import get, host_only, post
from web.security.auth import is_own_screen
from web.server.sse import Audience, message
from web.templating.phrases import clock_words

LOOK_S = 1.0
"""How often a stream looks at what the camera sees, in seconds."""
MEASURE_S = 1.5
"""The board is measured at most so often, however many look."""
SMALL_PX, LARGE_PX = 240, 1920
MOST_TURNS = 40


@dataclass(frozen=True)
class _Measured:
    """The board as it was measured last."""

    at_s: float
    board: BoardSeen | None
    blind: tuple[Advice, ...]


FRAME_PX = (960, 540)
"""The room that a page keeps for the live picture until the first one comes."""
BLIND = (
    (say("Get the whole board into the picture"), say("All four corners with their markers must be seen.")),
    (say("Clear the corners of the board"), say("A partly covered marker cannot be read.")),
    (say("Print the board on matt paper"), say("Shiny or crumpled markers cannot be read.")),
)
"""What helps while no board is seen and nothing is wrong with the picture itself: what to do, and why."""


@dataclass(frozen=True)
class TurnPhotograph:
    """A turn of the game that is on, of which there is a photograph."""

    game: int
    moment: str
    title: str


class LockBody(Body, frozen=True):
    """Lock focus or exposure (true), let it follow (false), or leave it (null)."""

    focus: bool | None = None
    exposure: bool | None = None


class ChooseBody(Body, frozen=True):
    """Use another camera."""

    source: Text


class CameraPage:
    """The routes under `/camera` and of the photographs."""

    name = "camera"

    def __init__(self, page_context: PageContext, room: CameraRoom) -> None:
        self._page_context = page_context
        self._table = page_context.table
        self._guard = page_context.guard
        self._room = room
        self._measuring = threading.Lock()
        self._measured = _Measured(-MEASURE_S, None, ())
        self._pictures: tuple[int, bytes] = (0, b"")

    # ---- looking -----------------------------------------------------------------------------------------------------

    @get("/camera", asks=host_only)
    def page(self) -> Response:
        """The page; the host key is asked for where the live picture is nobody's business."""
        if not self._may_look():
            error = say("The camera’s picture may show somebody’s hand of cards: it is for the host only.")
            return make_response(render_template("host_key.html", error=error), 403)
        is_host = self._guard.is_host(request)
        return make_response(
            render_template(
                "camera.html",
                live="/live/camera",
                offers=self._offers() if is_host else (),
                chosen=self._room.eye.source() if self._room.eye else "",
                phone=self._room.phone,
                symbols=weak_symbols(),
                size=FRAME_PX,
                **self._changing(is_host),
            )
        )

    @get("/live/camera")
    def live(self) -> Response:
        """A stream of the page's fragment, at most once a second and only when something in it has changed."""
        self._require_look()
        is_host = self._guard.is_host(request)
        draw: Callable[[], str] = copy_current_request_context(
            lambda: render_template("_camera.html", **self._changing(is_host))
        )
        shown = ""

        def news() -> str:
            nonlocal shown
            html = draw()
            if html == shown:
                return ""
            shown = html
            return message(html)

        return self._page_context.streams.hold(news, partial(time.sleep, LOOK_S), Audience.SEAT)

    @get("/camera/frame.jpg", asks=host_only)
    def frame(self) -> Response:
        """The last frame; a page pulls one after the other for as long as somebody looks."""
        self._require_look()
        if self._table.progress().camera in (CameraState.TROUBLE, CameraState.NONE):
            raise NotFound  # the last frame is an old one
        return _jpeg(self._page_context.worker.make(self._picture))

    def _picture(self) -> bytes:
        number = self._eye().number()
        if self._pictures[0] != number:
            self._pictures = (number, self._eye().picture() or b"")
        return self._pictures[1]

    @get("/camera/board.jpg", asks=host_only)
    def board_picture(self) -> Response:
        """The board from straight above, as it was measured last."""
        self._require_look()
        board = self._measure().board
        return _jpeg(board.picture if board else b"")

    # ---- settled frames ----------------------------------------------------------------------------------------------

    @get("/camera/settled/<int:number>", asks=host_only)
    def settled(self, number: int) -> str:
        """One settled frame, large, with what was read in it."""
        self._require_look()
        frame = next((each for each in self._settled() if each.number == number), None)
        if frame is None:
            raise NotFound
        board = self._settled_view(number)
        drawing = read_svg(board, f"/camera/settled/{number}/board.jpg") if board else ""
        words = count_words(board) if board else say("No board was seen.")
        return render_template(
            "settled.html", frame=frame, size=frame.frame.luma.shape[::-1], board=board,
            drawing=drawing, words=words, at=self._time_of(frame),
            symbols=weak_symbols(), places=weak_places(board) if board else (), weak_words=WEAK_WORDS,
            name=partial(square_words, board.kit) if board else str,
        )  # fmt: skip

    @get("/camera/settled/<int:number>.jpg", asks=host_only)
    def settled_picture(self, number: int) -> Response:
        """A settled frame; `?small` for a list of them."""
        self._require_look()
        width_px = SMALL_PX if "small" in request.args else LARGE_PX
        return _jpeg(self._page_context.worker.make(lambda: self._eye().settled_picture(number, width_px)))

    @get("/camera/settled/<int:number>/board.jpg", asks=host_only)
    def settled_board(self, number: int) -> Response:
        """The board of a settled frame from straight above."""
        self._require_look()
        board = self._settled_view(number)
        return _jpeg(board.picture if board else b"")

    # ---- photographs, for everybody ----------------------------------------------------------------------------------

    @get("/api/photographs", answer=PhotographsJson)
    def photographs(self) -> Response:
        """The photographs of the game that is on, oldest first."""
        return jsonify(
            photographs=[
                {"game": each.game, "moment": each.moment, "title": each.title} for each in reversed(self._turns())
            ]
        )

    @get("/api/photograph/<int:game>/<moment>")
    def photograph(self, game: int, moment: str) -> Response:
        """The board when a turn was done."""
        return _jpeg(self._room.album.photograph(game, moment))

    # ---- what only the host does -------------------------------------------------------------------------------------

    @post("/api/camera/lock", body=LockBody, guard=host_only)
    def lock(self, body: LockBody) -> None:
        """Lock focus or exposure, or let them follow."""
        self._eye().lock(body.focus, body.exposure)

    @post("/api/camera/choose", body=ChooseBody, guard=host_only)
    def choose(self, body: ChooseBody) -> None:
        """Use another camera, one of those that are offered."""
        source = body.source
        if source not in [offer.source for offer in self._offers()]:
            raise NotFound
        if self._room.phone:
            self._room.phone.pairing.remove()
        self._eye().choose(source)

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _may_look(self) -> bool:
        return is_own_screen(request) or self._guard.is_host(request)

    def _require_look(self) -> None:
        if not self._may_look():
            self._guard.require_host(request)

    def _eye(self) -> Eye:
        if self._room.eye is None:
            raise NotFound
        return self._room.eye

    def _offers(self) -> tuple[CameraOffer, ...]:
        return self._room.eye.cameras() if self._room.eye else ()

    def _settled(self) -> tuple[SettledFrame, ...]:
        return self._room.eye.settled() if self._room.eye else ()

    def _settled_view(self, number: int) -> BoardSeen | None:
        """The board of a settled frame as it was measured then."""
        return self._page_context.worker.make(lambda: self._eye().board(number))

    def _measure(self) -> _Measured:
        """The board, measured anew when the last time is too long ago."""
        now_s, eye = self._page_context.clock.monotonic_s(), self._room.eye
        with self._measuring:
            if eye is not None and now_s - self._measured.at_s >= MEASURE_S:
                try:
                    board = self._page_context.worker.make(eye.board)
                except ServiceUnavailable:
                    return self._measured
                blind = () if board else eye.blind_advice()
                self._measured = _Measured(now_s, board, blind)
            return self._measured

    def _turns(self) -> list[TurnPhotograph]:
        """The turns that were photographed, newest first."""
        progress = self._table.progress()
        found = [
            TurnPhotograph(progress.number, moment, turn_title(moment, progress.turns))
            for moment in self._room.album.moments(progress.number)
        ]
        return found[::-1]

    def _time_of(self, frame: SettledFrame) -> str:
        clock = self._page_context.clock
        return clock_words(clock.wall_s() - (clock.monotonic_s() - frame.frame.at_s))

    def _changing(self, is_host: bool) -> dict[str, Any]:
        """What the parts of the page that change are made of."""
        view, eye = self._table.view(), self._room.eye
        measured = self._measure()
        board = measured.board if view.devices.camera.state is not CameraState.TROUBLE else None
        advice = board.advice if board else measured.blind
        drawing = read_svg(board, f"/camera/board.jpg?{board.frame}") if board else ""
        return {
            "sign": sign_of(view, eye, advice, board),
            "is_good": eye is not None and board is not None and not advice,
            "blind": BLIND,
            "view": view,
            "board": board,
            "advice": advice,
            "drawing": drawing,
            "map": weak_svg(board) if board else "",
            "places": weak_places(board) if board else (),
            "words": count_words(board) if board else say("No board is seen."),
            "weak_words": WEAK_WORDS,
            "settled": [(each, self._time_of(each)) for each in reversed(self._settled())],
            "turns": self._turns()[:MOST_TURNS],
            "trouble": self._room.album.trouble,
            "locks": eye.locks() if eye else None,
            "camera": eye.name() if eye else "",
            "is_host": is_host,
        }


def sign_of(view: TableView, eye: Eye | None, advice: tuple[Advice, ...], board: BoardSeen | None) -> tuple[str, str]:
    """The one line of the page, and the smaller one below: what to do first so that the camera sees well."""
    if eye is None or view.devices.camera.state is CameraState.NONE:
        hint = view.devices.camera.sentence or say("Connect one, and start the companion again.")
        return say("No camera: confirm by hand"), hint
    if view.devices.camera.state is CameraState.TROUBLE:
        return say("The camera has a problem"), view.devices.camera.sentence
    if advice:
        return advice[0].text, advice[0].why
    if board is None:
        todo = translate(view.devices.camera.sentence).partition(":")[2].strip()
        return say("The camera sees no board"), todo[:1].upper() + todo[1:]
    return say("The camera sees the board well"), ""


def _jpeg(picture: bytes | None) -> Response:
    if not picture:
        raise NotFound
    answer = make_response(picture)
    answer.mimetype = "image/jpeg"
    return answer
