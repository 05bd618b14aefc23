"""`/health`, the page Health, the support bundle, and what is counted and logged of every
request.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from web_fixtures import WebRig, page_text

from companion.diagnostics.findings import Finding, Grade, Status

FOUND = (
    Finding("clock", Grade.OK, "It is 12:00."),
    Finding("power", Grade.WARN, "The voltage is too low now."),
    Finding("disk", Grade.FAIL, "Only 3 MB free."),
    Finding("camera", Grade.NOTE, "There is none."),
)


@pytest.mark.parametrize(
    ("status", "code", "ok"),
    [(Status.OK, 200, True), (Status.DEGRADED, 200, True), (Status.FAILING, 503, False)],
)
def test_a_service_that_cannot_go_on_is_503(
    rig: WebRig, status: Status, code: int, ok: bool
) -> None:
    rig.health.now = replace(rig.health.now, status=status, late={"table": 7.46})
    answer = rig.browser().get("/health")
    assert answer.status_code == code
    assert answer.json == {
        "status": str(status), "ok": ok, "version": "1.2.3", "uptime_s": 61.3,
        "late": {"table": 7.5}, "journal": "ok", "camera": "none",
        "pins": "none", "disk_free_mb": 4321, "machine": "ok",
    }  # fmt: skip


LOCAL = Finding("network", Grade.NOTE, "No network: phones cannot reach the table.")


@pytest.mark.parametrize(
    ("found", "text", "href"),
    [
        (FOUND, "The card needs attention", "/host/health#details"),
        (FOUND[:2], "The power supply is too weak", "/host/health#details"),
        (
            (Finding("pins", Grade.WARN, "GPIO 5."), LOCAL),
            "A pad has a problem",
            "/host/health#wiring",
        ),
        ((LOCAL,), "Phones can’t reach the table", "/settings#wifi"),
        (
            (Finding("broker", Grade.WARN, "It is silent."),),
            "broker needs attention",
            "/host/health#details",
        ),
    ],
)
def test_the_first_advice_leads_to_its_remedy(
    rig: WebRig, found: tuple[Finding, ...], text: str, href: str
) -> None:
    rig.health.findings = found
    assert f'<a class="sign as-key" href="{href}"><span>{text}</span>' in page_text(
        rig.host(), "/host/health"
    )


def test_six_rows_say_how_it_is(rig: WebRig) -> None:
    rig.health.findings = FOUND
    host = rig.host()
    page = page_text(host, "/host/health")
    rows = dict(re.findall(r'<li data-row="(\w+)">(.*?)</li>', page))
    assert list(rows) == ["camera", "phones", "pads", "sound", "storage", "backup"]
    assert '<use href="#cross"/>' in rows["storage"]
    assert "192.0.2.7:8080" in rows["phones"]
    assert "4.3 GB free" in rows["storage"]
    assert 'href="/host/health/bundle.zip"' in page
    assert host.get("/host/health/bundle.zip").data == b"PK bundle"


def test_unknown_free_space_is_not_shown_as_zero(rig: WebRig) -> None:
    rig.health.now = replace(rig.health.now, disk_free_mb=None)
    assert "Free space unknown" in page_text(rig.host(), "/host/health")
    assert rig.browser().get("/health").json["disk_free_mb"] == 0
