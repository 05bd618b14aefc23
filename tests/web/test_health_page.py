"""Tests of `/health` for programs and of the owner's page Health, through Flask's client.

The health of the service is a fake that each test sets.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from web_fixtures import WebRig, page_text

from companion.diagnostics.findings import Finding, Grade, Status

# Findings of the doctor, one of each grade.
FINDINGS = (
    Finding("clock", Grade.OK, "It is 12:00."),
    Finding("power", Grade.WARN, "The voltage is too low now."),
    Finding("disk", Grade.FAIL, "Only 3 MB free."),
    Finding("camera", Grade.NOTE, "There is none."),
)


@pytest.mark.parametrize(
    ("status", "code", "ok"),
    [(Status.OK, 200, True), (Status.DEGRADED, 200, True), (Status.FAILING, 503, False)],
)
def test_a_failing_service_answers_503(rig: WebRig, status: Status, code: int, ok: bool) -> None:
    # The table has not reported for 7.46 s. All other values come from the rig's fake.
    rig.health.now = replace(rig.health.now, status=status, late={"table": 7.46})
    answer = rig.browser().get("/health")
    assert answer.status_code == code
    assert answer.json == {
        "status": str(status), "ok": ok, "version": "1.2.3", "uptime_s": 61.3,
        "late": {"table": 7.5}, "journal": "ok", "camera": "none",
        "pins": "none", "disk_free_mb": 4321, "machine": "ok",
    }  # fmt: skip


NO_NETWORK = Finding("network", Grade.NOTE, "No network: phones cannot reach the table.")


@pytest.mark.parametrize(
    ("findings", "text", "href"),
    [
        (FINDINGS, "The card needs attention", "/host/health#details"),
        (FINDINGS[:2], "The power supply is too weak", "/host/health#details"),
        (
            (Finding("pins", Grade.WARN, "GPIO 5."), NO_NETWORK),
            "A pad has a problem",
            "/host/health#wiring",
        ),
        ((NO_NETWORK,), "Phones can’t reach the table", "/settings#wifi"),
        (
            (Finding("broker", Grade.WARN, "It is silent."),),
            "broker needs attention",
            "/host/health#details",
        ),
    ],
)
def test_the_sign_links_to_its_remedy(
    rig: WebRig, findings: tuple[Finding, ...], text: str, href: str
) -> None:
    """The sign names the worst finding, or of several equally bad ones the first."""
    rig.health.findings = findings
    assert f'<a class="sign as-key" href="{href}"><span>{text}</span>' in page_text(
        rig.host(), "/host/health"
    )


def test_six_rows_show_the_state_of_the_service(rig: WebRig) -> None:
    rig.health.findings = FINDINGS
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
