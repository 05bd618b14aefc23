"""The owner's page Health: what the camera sees, problems, and where to solve them.

A finding is one thing that was examined, such as the disk, with a grade and words about it. The
route `/health` is for machines.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, make_response, redirect, render_template

from companion.core.i18n import say
from companion.diagnostics.findings import Finding, Grade, HealthSource, Status, worst_grade
from web.rendering.answers import FindingsJson, HealthJson
from web.rendering.json_view import build_answer, to_builtins
from web.rendering.wiring import panel_wiring
from web.routes.camera import FRAME_PX, CameraReport, CameraReports
from web.routes.owner.check import cue_labels
from web.routes.route import TableRouteGroup, attachment, get, host_only, host_page
from web.server.sse import Audience

# Address of the page.
PAGE_PATH = "/host/health"
# Interval in seconds between two examinations of the machine for an open page. An examination runs
# commands and takes up to some seconds.
EXAMINATION_INTERVAL_S = 20.0
# Age in seconds from which on a backup counts as missing.
OLD_BACKUP_S = 60 * 86400.0

# Grades of findings that are problems, the worst first.
PROBLEM_GRADES = (Grade.FAIL, Grade.WARN)
# Name of each topic of findings, for people.
TOPIC_NAMES: Mapping[str, str] = {
    "service": say("Service"),
    "camera": say("Camera"),
    "lens": say("Lens"),
    "pins": say("Pads"),
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
# What is wrong when a topic has a problem, as the owner would say it.
PROBLEM_SENTENCES: Mapping[str, str] = {
    "camera": say("The camera has a problem"),
    "pins": say("A pad has a problem"),
    "machine": say("The machine is short of memory"),
    "warmth": say("The machine is too hot"),
    "power": say("The power supply is too weak"),
    "disk": say("The card needs attention"),
    "journal": say("Something is wrong with the games"),
    "network": say("Phones can’t reach the table"),
    "https": say("The certificate needs attention"),
    "wifi": say("The Wi-Fi is weak"),
}
# Text and address of the link to a solution, by topic. For all other topics the link leads to the
# details at the end of the page.
SOLUTION_LINKS: Mapping[str, tuple[str, str]] = {
    "pins": (say("See the wiring"), f"{PAGE_PATH}#wiring"),
    "network": (say("Set up Wi-Fi"), "/settings#wifi"),
}


@dataclass(frozen=True)
class FirstAdvice:
    """The most urgent problem, and the link to its solution.

    Without a link the problem is solved at the table itself.
    """

    text: str
    link_text: str = ""
    href: str = ""


@dataclass
class HealthPages(TableRouteGroup):
    """The routes of the page, its stream and the support bundle."""

    name = "health"
    health_source: HealthSource
    camera_reports: CameraReports

    # ---- for machines ----------------------------------------------------------------------------

    @get("/health", answer=HealthJson)
    def health(self) -> tuple[HealthJson, int]:
        """Return the state of the service, with status 503 if it is failing.

        Nothing in it is secret.
        """
        state = self.health_source.health()
        is_ok = state.status is not Status.FAILING
        answer = build_answer(
            HealthJson,
            state,
            ok=is_ok,
            uptime_s=round(state.uptime_s, 1),
            late={name: round(age_s, 1) for name, age_s in state.late.items()},
            disk_free_mb=state.disk_free_mb or 0,
        )
        return answer, 200 if is_ok else 503

    @get("/api/doctor", guard=host_only)
    def findings(self) -> FindingsJson:
        """Return the findings for `companion doctor`."""
        findings = self.health_source.run_checks()
        return {"worst": worst_grade(findings), "findings": to_builtins(findings)}

    # ---- for the owner ---------------------------------------------------------------------------

    @get(PAGE_PATH, guard=host_page)
    def page(self) -> str:
        """Show the page."""
        panel_check = self._features.panel_check
        return render_template(
            "health.html",
            live="/live/health",
            size=FRAME_PX,
            board_eye=self.camera_reports.board_eye,
            wires=panel_wiring(panel_check.settings) if panel_check else (),
            cues=cue_labels().items(),
            is_on=self.page_context.is_game_on,
            **self._changing_values(self.health_source.run_checks()),
        )

    @get("/live/health", guard=host_only)
    def live(self) -> Response:
        """Stream the changing parts of the page."""
        findings = self.health_source.run_checks()
        examined_at_s = time.monotonic()

        def draw() -> str:
            nonlocal findings, examined_at_s
            # the page is drawn every second, but the machine is examined less often
            if time.monotonic() - examined_at_s > EXAMINATION_INTERVAL_S:
                findings = self.health_source.run_checks()
                examined_at_s = time.monotonic()
            return render_template("_health.html", **self._changing_values(findings))

        return self._streams.stream_redrawn(draw, Audience.SEAT)

    @get("/check")
    @get("/doctor")
    @get("/camera")
    def old_address(self) -> Response:
        """Redirect from the addresses of three pages that the page Health has replaced."""
        return make_response(redirect(PAGE_PATH))

    @get("/host/health/bundle.zip", guard=host_only)
    def bundle(self) -> Response:
        """Return the support bundle as a download."""
        bundle = self._run_in_worker(self.health_source.support_zip)
        return attachment(bundle, "application/zip", "companion-support.zip")

    # ---- inside ----------------------------------------------------------------------------------

    def _changing_values(self, findings: tuple[Finding, ...]) -> dict[str, Any]:
        """Return the template values of the parts of the page that the stream changes."""
        report = self.camera_reports.current()
        board_eye = self.camera_reports.board_eye
        grades = list(Grade)
        details: dict[str, list[Finding]] = {}
        # the worst findings come first, and so do the topics that have them
        for finding in sorted(findings, key=lambda finding: -grades.index(finding.grade)):
            details.setdefault(finding.topic, []).append(finding)
        return {
            "report": report,
            "locks": (board_eye.link.locks if board_eye else None) or (None, None),
            "first_advice": first_advice(findings, report),
            "problem_topics": {
                finding.topic for finding in findings if finding.grade in PROBLEM_GRADES
            },
            "urls": () if is_unreachable(findings) else self.page_context.join_urls(),
            "panel_trouble": self._table.view().devices.panel_notice,
            "old_backup_s": self.page_context.clock.wall_s() - OLD_BACKUP_S,
            "details": details.items(),
            "topics": TOPIC_NAMES,
        }


def is_unreachable(findings: tuple[Finding, ...]) -> bool:
    """Return whether phones cannot reach this machine, because it has no network."""
    grades = [finding.grade for finding in findings if finding.topic == "network"]
    return bool(grades) and grades[0] is not Grade.OK


def first_advice(findings: tuple[Finding, ...], report: CameraReport) -> FirstAdvice | None:
    """Return the most urgent problem with its solution, or else the camera's advice, or None."""
    for grade in PROBLEM_GRADES:
        for finding in findings:
            if finding.grade is grade:
                return _advice_about(finding.topic)
    if is_unreachable(findings):
        return _advice_about("network")
    return FirstAdvice(report.advice) if report.advice else None


def _advice_about(topic: str) -> FirstAdvice:
    """Return the problem of a topic, and the link to its solution or to the page's details."""
    name = TOPIC_NAMES.get(topic, topic)
    text = PROBLEM_SENTENCES.get(topic) or say("{thing} needs attention", thing=name)
    return FirstAdvice(
        text, *SOLUTION_LINKS.get(topic, (say("What to do"), f"{PAGE_PATH}#details"))
    )
