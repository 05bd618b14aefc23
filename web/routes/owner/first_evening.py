"""The first evening: four questions that a new owner is asked once, each on a page of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Response, make_response, redirect, render_template, request
from werkzeug.exceptions import NotFound

from companion.maintenance.upkeep import Upkeep
from companion.printing.kit_printer import PAPERS
from web.routes.camera import FRAME_PX, CameraReports
from web.routes.route import TableRouteGroup, ask_for_key, form, get, host_only, host_page
from web.security.auth import is_own_screen
from web.server.sse import Audience
from web.static_files import redirect_in_language

# The questions in their order, by the names of their templates. The number of a page in addresses
# is its place here, counted from 1: `/host/first/1` asks for the language, `/host/first/4` for the
# seats.
PAGES = ("language", "camera", "print", "seats")


@dataclass
class FirstEveningPages(TableRouteGroup):
    """The routes under `/host/first`.

    Until the questions are answered, the machine's own screen needs no owner key, because it shows
    the key anyway.
    """

    name = "first"
    upkeep: Upkeep
    camera_reports: CameraReports

    @get("/host/first/<int:number>", inner_guard=host_page)
    def page(self, number: int) -> Any:
        """Show one of the four pages. Raises `NotFound` for any other number.

        The first browser on the machine's own screen thereby becomes the owner's.
        """
        if not 1 <= number <= len(PAGES):
            raise NotFound
        is_new = is_own_screen() and self.page_context.is_first_evening
        if not is_new and not self._auth.is_host():
            return ask_for_key("/host")
        name = PAGES[number - 1]
        page = render_template(
            f"first_{name}.html",
            number=number,
            pages=len(PAGES),
            live="/live/first" if name == "camera" else "",
            report=self.camera_reports.current() if name == "camera" else None,
            size=FRAME_PX,
            papers=PAPERS,
            table=self.upkeep.running.table,
        )
        answer = make_response(page)
        if is_new:
            self._auth.set_host_cookie(answer)
        return answer

    @get("/live/first", guard=host_only)
    def live(self) -> Response:
        """Stream the changing part of the camera's page."""

        def draw() -> str:
            return render_template(
                "_first_camera.html",
                report=self.camera_reports.current(),
                # the number of the page "camera" in `PAGES`
                number=2,
                pages=len(PAGES),
            )

        return self._streams.stream_redrawn(draw, Audience.SEAT)

    @form("/host/first/language", guard=host_only)
    def language(self, code: str) -> Response:
        """Set the language of the table and of this browser. Raises `NotFound`."""
        answer = redirect_in_language("/host/first/1", code)
        self._change({"table.language": code})
        return answer

    @form("/host/first/seats", guard=host_only)
    def seats(self, turn: str) -> Any:
        """Turn the table by a quarter (`table`), or else swap the sides."""
        table = self.upkeep.running.table
        if turn == "table":
            self._change({"table.upright": not table.upright})
        else:
            self._change({"table.tip_south": "left" if table.tip_south == "right" else "right"})
        return redirect("/host/first/4", 303)

    @form("/host/first/done", guard=host_only)
    def done(self) -> Any:
        """End the questions for good, and return to the table screen.

        If the questions began at the kiosk's table screen, return to that one.
        """
        self.upkeep.end_first_evening()
        return redirect("/?kiosk" if "kiosk" in request.cookies else "/", 303)

    def _change(self, values: dict[str, Any]) -> None:
        self.upkeep.change(values, self.upkeep.read_file().digest)
