"""The service's health: `/health` for machines, the doctor's page and the support bundle for the host."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Response, jsonify, make_response, render_template, request

from companion.core.i18n import say, say_n
from companion.diagnostics.findings import Finding, Grade, HealthRoom, Status, worst
from web.context import PageContext
from web.rendering.answers import FindingsJson, HealthJson
from web.routes.host import ask_for_key
from web.routes.route import get, host_only

TOPICS: Mapping[str, str] = {
    "service": say("Service"),
    "camera": say("Camera"),
    "lens": say("Lens"),
    "pins": say("Pads"),
    "voice": say("Voice"),
    "machine": say("Machine"),
    "warmth": say("Temperature"),
    "power": say("Power"),
    "disk": say("Disk"),
    "journal": say("Games played"),
    "clock": say("Machine’s clock"),
    "network": say("Network"),
    "https": say("HTTPS"),
    "wifi": say("Wi-Fi"),
    "versions": say("Versions"),
}
"""What the doctor's topics are called."""


class HealthPages:
    """The routes."""

    name = "health"

    def __init__(self, page_context: PageContext, room: HealthRoom) -> None:
        self._page_context = page_context
        self._room = room

    # ---- for machines --------------------------------------------------------------------------------------------

    @get("/health", answer=HealthJson)
    def health(self) -> Response:
        """Is the service alive? 200, or 503 when it cannot go on; nothing of any game, nothing secret."""
        state = self._room.state()
        answer = jsonify(
            ok=state.status is not Status.FAILING,
            status=state.status,
            version=state.version,
            uptime_s=round(state.uptime_s, 1),
            late={name: round(age_s, 1) for name, age_s in state.late.items()},
            journal=state.journal,
            camera=state.camera,
            pins=state.pins,
            disk_free_mb=state.disk_free_mb,
            machine=state.machine,
        )
        answer.status_code = 503 if state.status is Status.FAILING else 200
        return answer

    # ---- for the host --------------------------------------------------------------------------------------------

    @get("/doctor", asks=host_only)
    def doctor(self) -> Response:
        """Everything that was looked at, the worst first, and what to do."""
        if not self._page_context.guard.is_host(request):
            return ask_for_key("/doctor")
        found = self._room.examine()
        grave = [each for each in found if each.grade in (Grade.FAIL, Grade.WARN)]
        grave.sort(key=lambda each: each.grade is not Grade.FAIL)
        page = render_template(
            "doctor.html",
            sign=sign_of(found),
            grave=grave,
            rest=[(topic, _about(found, topic)) for topic in _topics(found) if _about(found, topic)],
            topics=TOPICS,
        )
        return make_response(page)

    @get("/api/doctor", guard=host_only, answer=FindingsJson)
    def findings(self) -> Response:
        """The same for `companion doctor`."""
        found = self._room.examine()
        plain = [{"topic": each.topic, "grade": each.grade, "text": each.text} for each in found]
        return jsonify(worst=worst(found), findings=plain)

    @get("/doctor/bundle.zip", guard=host_only)
    def bundle(self) -> Response:
        """Return the support bundle, to be saved."""
        answer = make_response(self._page_context.worker.make(self._room.bundle))
        answer.mimetype = "application/zip"
        answer.headers["Content-Disposition"] = 'attachment; filename="companion-support.zip"'
        return answer


def sign_of(found: tuple[Finding, ...]) -> str:
    """The one line that says how it is."""
    fails = sum(each.grade is Grade.FAIL for each in found)
    warns = sum(each.grade is Grade.WARN for each in found)
    if fails:
        return say_n("{n} thing does not work", "{n} things do not work", fails)
    if warns:
        return say_n("{n} thing needs attention soon", "{n} things need attention soon", warns)
    if notes := sum(each.grade is Grade.NOTE for each in found):
        return say_n("Nothing is broken; {n} thing to know", "Nothing is broken; {n} things to know", notes)
    return say("All is well")


def _topics(found: tuple[Finding, ...]) -> list[str]:
    return list(dict.fromkeys(each.topic for each in found))


def _about(found: tuple[Finding, ...], topic: str) -> list[Finding]:
    """What is right or merely to be known of a topic."""
    return [each for each in found if each.topic == topic and each.grade in (Grade.OK, Grade.NOTE)]
