"""The workbench of the simulation: a rendered table with pieces to drag, and a panel to press."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from flask import (
    Response,
    render_template,
)
from msgspec import Meta
from werkzeug.exceptions import NotFound

from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.i18n import say, translate
from companion.core.kit import Seat
from companion.core.ports import PanelView
from web.features import SimulationFeature
from web.rendering.answers import WorkbenchJson, WorldJson
from web.rendering.json_view import build_answer
from web.routes.api.body import ShortText
from web.routes.route import TableRouteGroup, get, post
from web.server.sse import Audience, format_event

# Interval in seconds between two looks at the buzzer. It is as long as the shortest tone, so that
# the page misses none.
POLL_INTERVAL_S = 0.02
# Interval in seconds between two looks at the table and its pieces.
WORLD_INTERVAL_S = 0.2

# A coordinate in the camera's picture, in pixels.
Px = Annotated[float, Meta(ge=-100_000, le=100_000)]


@dataclass
class WorkbenchPages(TableRouteGroup):
    """The routes under `/workbench`."""

    name = "bench"
    workbench: SimulationFeature
    # The square over which a simulated hand is held, None without a hand.
    _hand: Square | None = None

    # ---- looking ----

    @get("/workbench")
    def page(self) -> str:
        """Show the workbench."""
        return render_template(
            "workbench.html",
            live="/workbench/live",
            view=self._table.view(),
        )

    @get("/workbench/frame.jpg")
    def frame(self) -> Response:
        """Return the camera's current picture."""
        return Response(self._run_in_worker(self.workbench.world.jpeg), mimetype="image/jpeg")

    @get("/workbench/state")
    def state(self) -> WorkbenchJson:
        """Return pieces, squares, hand, lamps and tone."""
        panel = _panel_json(self.workbench.panel.view())
        buttons = self.workbench.panel.buttons()
        return build_answer(WorkbenchJson, **self._world_now(), **panel, buttons=buttons)

    @get("/workbench/live")
    def live(self) -> Response:
        """Stream fragment, rendered table (`event: world`) and panel (`event: panel`)."""
        sent_version = -1
        sent_frame = 0
        sent_panel: dict[str, Any] = {}
        checked_at_s = -1.0

        def next_messages() -> str:
            """Return the changes since the last call as messages."""
            nonlocal sent_version, sent_frame, sent_panel, checked_at_s
            messages = ""
            now_s = time.monotonic()
            panel = _panel_json(self.workbench.panel.view())
            if panel != sent_panel:
                sent_panel = panel
                messages += format_event(json.dumps(panel), "panel")
            # looking at the table and its pieces takes longer, so it happens less often
            if now_s - checked_at_s < WORLD_INTERVAL_S:
                return messages
            checked_at_s = now_s
            if self._table.version != sent_version:
                sent_version = self._table.version
                messages += format_event(self.page_context.fragment("workbench", None))
            world = self._world_now()
            if world["frame"] != sent_frame:
                sent_frame = world["frame"]
                messages += format_event(json.dumps(world), "world")
            return messages

        return self._streams.stream(
            next_messages, partial(time.sleep, POLL_INTERVAL_S), Audience.TABLE
        )

    def _world_now(self) -> WorldJson:
        """Return all positions in the picture, in pixels. `frame` changes whenever they do."""
        world = self.workbench.world
        pieces = [
            {
                "id": piece.id,
                "face": translate(piece.face),
                "square": str(piece.square) if piece.square else None,
                "outline": [[round(x, 1), round(y, 1)] for x, y in piece.outline_px],
            }
            for piece in world.pieces()
        ]
        kit = self._table.view().kit
        squares = kit.board.squares if kit else ()
        centres = {str(square): world.square_px(square) for square in squares}
        rounded = {name: [round(x), round(y)] for name, (x, y) in centres.items()}
        hand = str(self._hand) if self._hand else None
        positions = {"size": world.size_px(), "pieces": pieces, "squares": rounded, "hand": hand}
        # pages compare positions by their checksum
        return build_answer(
            WorldJson, **positions, frame=zlib.crc32(json.dumps(positions).encode())
        )

    # ---- hands ----

    @post("/workbench/piece")
    def piece(
        self, id: int, square: ShortText | None = None, x: Px | None = None, y: Px | None = None
    ) -> WorldJson:
        """Put a piece on a square or at a point of the picture."""
        if square is not None:
            target = self._require_square(square)
            self._move_piece(lambda: self.workbench.world.move_to(id, target))
        elif x is not None and y is not None:
            self._move_piece(lambda: self.workbench.world.drag_to(id, x, y))
        else:
            raise Malformed(say("Say where: a square, or x and y in the picture"))
        return self._world_now()

    @post("/workbench/flip")
    def flip(self, id: int) -> WorldJson:
        """Flip a piece to its next face."""
        self._move_piece(lambda: self.workbench.world.flip(id))
        return self._world_now()

    @post("/workbench/tidy")
    def tidy(self) -> WorldJson:
        """Put all pieces where the table expects them."""
        view = self._table.view()
        if view.kit is not None and view.board.target is not None:
            self.workbench.world.set_up(view.board.target, by_hand=True)
        return self._world_now()

    @post("/workbench/hand")
    def hand(self, square: ShortText | None) -> WorldJson:
        """Hold a hand over a square, or remove it (null)."""
        self._hand = self._require_square(square) if square is not None else None
        self.workbench.world.hold_hand(self._hand)
        return self._world_now()

    @post("/workbench/tiles")
    def tiles(self, seat: Seat, letters: ShortText) -> None:
        """Lay order tiles behind a seat's wall, from left to right. No answer shows them."""
        self.workbench.world.lay_tiles(seat, letters.upper())

    @post("/workbench/press")
    def press(self, button: ShortText) -> None:
        """Press a key and hold it down."""
        self.workbench.panel.press(self._require_button(button))

    @post("/workbench/release")
    def release(self, button: ShortText) -> None:
        """Release a key."""
        self.workbench.panel.release(self._require_button(button))

    # ---- inside ----

    def _require_button(self, button: str) -> str:
        """Return the name of a button. Raises `NotFound` if there is none of this name."""
        if button not in self.workbench.panel.buttons():
            raise NotFound
        return button

    def _move_piece(self, move: Callable[[], None]) -> None:
        """Call `move`. Raises `NotFound` if there is no such piece."""
        try:
            move()
        except KeyError:
            raise NotFound from None

    def _require_square(self, text: str) -> Square:
        """Parse the name of a square of the board. Raises `Malformed`."""
        kit = self._table.view().kit
        square = Square.parse(text)
        if kit is not None and square not in kit.board.squares:
            raise Malformed(say("{square} is not on this board", square=square))
        return square


def _panel_json(panel: PanelView) -> dict[str, Any]:
    return {"lamps": dict(panel.lamps), "tone": panel.tone_hz}
