"""The workbench, in simulation only: a rendered table with pieces to drag, and a panel with keys to
press.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from flask import (
    Response,
    jsonify,
    make_response,
    render_template,
)
from msgspec import Meta
from werkzeug.exceptions import NotFound

from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.i18n import say, translate
from companion.core.kit import Seat
from companion.core.ports import PanelView
from web.context import PageContext
from web.features import Workbench
from web.rendering.answers import WorkbenchJson, WorldJson
from web.routes.api.body import Body, Text
from web.routes.route import get, post
from web.server.sse import Audience, message

LOOK_S = 0.02
"""Polling interval of the buzzer in seconds, as long as the shortest tone."""
LAMPS_S, WORLD_S = 0.1, 0.2

Px = Annotated[float, Meta(ge=-100_000, le=100_000)]


class Put(Body, frozen=True):
    """Move a piece to a square, or to a point of the picture."""

    id: int
    square: Text | None = None
    x: Px | None = None
    y: Px | None = None


class Flip(Body, frozen=True):
    """Flip a piece to its next face."""

    id: int


class Hand(Body, frozen=True):
    """A hand over a square, or null for no hand."""

    square: Text | None


class Tiles(Body, frozen=True):
    """Order tiles behind a seat's wall, by their letters from left to right."""

    seat: Seat
    letters: Text


class Finger(Body, frozen=True):
    """A key of the panel."""

    button: Text


@dataclass
class _StreamState:
    """The latest values that a stream has sent, and when."""

    shown: int = -1
    crc: int = 0
    lamps: dict[str, float] = field(default_factory=dict)
    tone_hz: float | None = None
    world_s: float = -1.0
    lamps_s: float = -1.0


class Bench:
    """The routes under `/workbench`."""

    name = "bench"

    def __init__(self, page_context: PageContext, workbench: Workbench) -> None:
        self._page_context = page_context
        self._world = workbench.world
        self._hands = workbench.hands
        self._hand: Square | None = None

    # ---- looking ----

    @get("/workbench")
    def page(self) -> str:
        """Show the workbench."""
        return render_template(
            "workbench.html",
            live="/workbench/live",
            buttons=frozenset(self._hands.buttons()),
            size=self._world.size_px(),
            view=self._page_context.table.view(),
        )

    @get("/workbench/frame.jpg")
    def frame(self) -> Response:
        """Return the camera's current picture."""
        picture = make_response(self._page_context.worker.make(self._world.jpeg))
        picture.mimetype = "image/jpeg"
        return picture

    @get("/workbench/state", answer=WorkbenchJson)
    def state(self) -> Response:
        """Return pieces, squares, hand, lamps and tone."""
        return jsonify(
            {
                **self._world_now(),
                **_panel_words(self._hands.view()),
                "buttons": self._hands.buttons(),
            }
        )

    @get("/workbench/live")
    def live(self) -> Response:
        """Stream the fragment, the world (`event: world`) and the panel (`event: panel`)."""
        news = partial(self._news, _StreamState())
        return self._page_context.streams.hold(news, partial(time.sleep, LOOK_S), Audience.TABLE)

    def _news(self, sent: _StreamState) -> str:
        """Return the changes since the last call as messages."""
        news, now_s = "", time.monotonic()
        panel = self._hands.view()
        # lamps dim in many steps and can be delayed, but tones cannot
        dims = now_s - sent.lamps_s >= LAMPS_S and panel.lamps != sent.lamps
        if dims or panel.tone_hz != sent.tone_hz:
            sent.lamps, sent.tone_hz, sent.lamps_s = dict(panel.lamps), panel.tone_hz, now_s
            news += message(json.dumps(_panel_words(panel)), "panel")
        if now_s - sent.world_s >= WORLD_S:
            sent.world_s = now_s
            if self._page_context.table.version != sent.shown:
                sent.shown = self._page_context.table.version
                news += message(self._page_context.fragment("workbench", None))
            world = self._world_now()
            if world["frame"] != sent.crc:
                sent.crc = world["frame"]
                news += message(json.dumps(world), "world")
        return news

    def _world_now(self) -> dict[str, Any]:
        """Return all positions in the picture in pixels. `frame` changes whenever they do."""
        pieces = [
            {
                "id": piece.id,
                "face": translate(piece.face),
                "square": str(piece.square) if piece.square else None,
                "outline": [[round(x, 1), round(y, 1)] for x, y in piece.outline_px],
            }
            for piece in self._world.pieces()
        ]
        kit = self._page_context.table.view().kit
        squares = {str(s): self._world.square_px(s) for s in kit.board.squares} if kit else {}
        board = {name: [round(x), round(y)] for name, (x, y) in squares.items()}
        hand = str(self._hand) if self._hand else None
        world = {"size": self._world.size_px(), "pieces": pieces, "squares": board, "hand": hand}
        # a checksum of the scene, which is sent again only when this changes
        return {**world, "frame": zlib.crc32(json.dumps(world).encode())}

    # ---- hands ----

    @post("/workbench/piece", body=Put, answer=WorldJson)
    def piece(self, body: Put) -> Response:
        """Put a piece on a square or at a point."""
        if body.square is not None:
            square = self._square(body.square)
            self._with_piece(lambda: self._world.move_to(body.id, square))
        elif body.x is not None and body.y is not None:
            x_px, y_px = body.x, body.y
            self._with_piece(lambda: self._world.drag_to(body.id, x_px, y_px))
        else:
            raise Malformed(say("Say where: a square, or x and y in the picture"))
        return jsonify(self._world_now())

    @post("/workbench/flip", body=Flip, answer=WorldJson)
    def flip(self, body: Flip) -> Response:
        """Flip a piece."""
        self._with_piece(lambda: self._world.flip(body.id))
        return jsonify(self._world_now())

    @post("/workbench/tidy", answer=WorldJson)
    def tidy(self) -> Response:
        """Put all pieces where the table expects them."""
        view = self._page_context.table.view()
        if view.kit is not None and view.board.target is not None:
            self._world.set_up(view.board.target, by_hand=True)
        return jsonify(self._world_now())

    @post("/workbench/hand", body=Hand, answer=WorldJson)
    def hand(self, body: Hand) -> Response:
        """Hold a hand over a square, or remove it."""
        text = body.square
        self._hand = self._square(text) if text is not None else None
        self._world.hold_hand(self._hand)
        return jsonify(self._world_now())

    @post("/workbench/tiles", body=Tiles)
    def tiles(self, body: Tiles) -> None:
        """Lay order tiles behind a wall. No answer reveals them."""
        self._world.lay_tiles(body.seat, body.letters.upper())

    @post("/workbench/press", body=Finger)
    def press(self, body: Finger) -> None:
        """Press a key and hold it down."""
        self._hands.press(self._button(body))

    @post("/workbench/release", body=Finger)
    def release(self, body: Finger) -> None:
        """Release a key."""
        self._hands.release(self._button(body))

    # ---- inside ----

    def _button(self, body: Finger) -> str:
        if body.button not in self._hands.buttons():
            raise NotFound
        return body.button

    def _with_piece(self, act: Callable[[], None]) -> None:
        try:
            act()
        except KeyError:
            raise NotFound from None

    def _square(self, text: str) -> Square:
        kit = self._page_context.table.view().kit
        square = Square.parse(text)
        if kit is not None and square not in kit.board.squares:
            raise Malformed(say("{square} is not on this board", square=square))
        return square


def _panel_words(panel: PanelView) -> dict[str, Any]:
    return {"lamps": dict(panel.lamps), "tone": panel.tone_hz}
