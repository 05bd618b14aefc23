"""`companion doctor`: what is wrong with the machine, camera, pins, disk, clock and network, and what to do about it.

A companion that runs has camera and pins open: it is asked itself. Otherwise everything is looked at from here.
"""

from __future__ import annotations

import http.client
import json
import math
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from companion.core.clock import RealClock
from companion.core.config import Settings, WebSettings
from companion.core.errors import CameraError, ConfigError, JournalError, PanelError
from companion.core.network import addresses, bracketed, from_here, host_key_text
from companion.core.ports import Camera, Frame
from companion.diagnostics import machine as machinery
from companion.diagnostics import network
from companion.diagnostics.certificate import certificate, validity
from companion.diagnostics.findings import EXIT_STATUS, Finding, Grade, worst
from companion.diagnostics.games import games_from_outside
from companion.diagnostics.probes import Machine
from companion.mqtt.connection import examine_broker
from companion.service.device_findings import profile, voice
from companion.service.settings_finding import settings_findings
from companion.service.support_bundle import make_bundle
from companion.storage.journal import Journal
from hardware.panel import panel_reason
from vision.cameras.blank_detector import BLACK_WORDS, is_black
from vision.cameras.catalogue import cameras, open_camera
from vision.cameras.lenses import LensShelf
from web.security.tls import BadCertificate, certificate_context

__all__ = ["Finding", "Grade", "ask_service", "examine", "report"]

HELLO_S = 3.0
"""Timeout in seconds for a running companion to say that it is one.

Whatever else listens there may say nothing at all.
"""
ANSWER_S = 15.0
"""Timeout in seconds for looking at everything."""


def report(settings: Settings, as_json: bool = False, path: Path | None = None) -> int:
    """Look, or have the running companion look, and print what was found. Return the exit status.

    `path` is the settings file.
    """
    findings: list[Finding] = []
    for finding in _all(settings, path):
        findings.append(finding)
        if not as_json:
            print(f"{finding.grade:<5} {finding.topic:<8} {finding.text}", flush=True)
    if as_json:
        plain = [
            {"topic": finding.topic, "grade": finding.grade, "text": str(finding.text)}
            for finding in findings
        ]
        print(json.dumps({"worst": worst(findings), "findings": plain}, ensure_ascii=False))
    return EXIT_STATUS[worst(findings)]


def _all(settings: Settings, path: Path | None) -> Iterable[Finding]:
    findings = ask_service(settings)
    if findings is not None:
        return findings
    return chain(settings_findings(path) if path else (), examine(settings))


def save_bundle(settings: Settings, target: Path, path: Path | None = None) -> int:
    """Write a support bundle: the running companion's own, or else what can be found out from here."""
    key = _host_key(settings)
    bundle = (
        _fetch(settings, "/host/health/bundle.zip", {"X-Host-Key": key}, ANSWER_S) if key else None
    )
    if bundle is None:
        bundle = make_bundle(_all(settings, path), private=[str(settings.journal_path.parent)])
    try:
        target.write_bytes(bundle)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror}") from None
    print(f"{target}: no order, name, key or address is in it. Look into it before you send it.")
    return 0


# ---- the running companion -------------------------------------------------------------------------------------------


def ask_service(settings: Settings) -> tuple[Finding, ...] | None:
    """Return what the companion that runs with these settings finds. None: none does.

    Where its journal, and in it the host key, may not be read, only what everybody may know is told.
    """
    health = fetch(settings, "/health", {})
    if health is None or "uptime_s" not in health:
        return None
    running = f"A companion runs here, version {health['version']}, for {health['uptime_s']:.0f} s: {health['status']}."
    key = _host_key(settings)
    report = fetch(settings, "/api/doctor", {"X-Host-Key": key}, ANSWER_S) if key else None
    if report is None or "findings" not in report:
        advice = "Its journal cannot be read from here, so it tells no more: use sudo."
        machine = machinery.thorough_look(Machine(), settings.journal_path.parent)
        grade = Grade.FAIL if health["status"] == "failing" else Grade.NOTE
        return (Finding("service", grade, f"{running} {advice}"), *machine)
    findings = (
        Finding(entry["topic"], Grade(entry["grade"]), entry["text"])
        for entry in report["findings"]
    )
    return (Finding("service", Grade.OK, running), *findings)


def _host_key(settings: Settings) -> str:
    """Return the key of the host. Empty where the journal may not be read."""
    try:
        with closing(Journal(settings.journal_path, read_only=True)) as journal:
            return host_key_text(journal.key("host"))
    except JournalError:
        return ""


def fetch(
    settings: Settings, path: str, headers: dict[str, str], timeout_s: float = HELLO_S
) -> dict[str, Any] | None:
    """Return a JSON object of this machine's own pages.

    None: nobody answers with one within `timeout_s`.
    """
    content = _fetch(settings, path, headers, timeout_s)
    try:
        answer = json.loads(content or b"")
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _fetch(
    settings: Settings, path: str, headers: dict[str, str], timeout_s: float
) -> bytes | None:
    """Return what this machine's own pages answer, by HTTP or HTTPS. None: nothing."""
    place = bracketed(from_here(settings.web.host))
    anyone = (
        ssl.create_default_context()
    )  # this machine itself, by an address that no certificate names
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=anyone)
    )
    for scheme in ("http", "https"):
        request = urllib.request.Request(
            f"{scheme}://{place}:{settings.web.port}{path}", headers=headers
        )
        try:
            try:
                answer = opener.open(request, timeout=timeout_s)
            except urllib.error.HTTPError as error:
                answer = error  # it answers, if only that something is wrong
            with answer:
                content: bytes = answer.read()
        except (OSError, http.client.HTTPException):
            continue
        return content
    return None


# ---- from here -------------------------------------------------------------------------------------------------------


def examine(settings: Settings, machine: Machine | None = None) -> Iterator[Finding]:
    """Look at everything once, while no companion runs."""
    machine = machine or Machine()
    yield from _camera(settings)
    yield from profile(settings.camera)
    yield from _pins(settings)
    yield voice(settings.voice)
    yield from examine_broker(settings.mqtt)
    yield from machinery.thorough_look(machine, settings.journal_path.parent)
    yield from journal_finding(settings)
    yield from games_from_outside()
    yield network.port(settings.web.host, settings.web.port)
    yield network.reach(addresses(settings.web.host))
    yield network.name(machine)
    yield from _certificate(settings.web)
    yield from network.wifi(machine)
    yield from network.service(machine)


def _camera(settings: Settings) -> Iterator[Finding]:
    if settings.camera.source == "none":
        yield Finding("camera", Grade.NOTE, "Switched off in the settings: you play by tapping.")
        return
    opened = ""
    try:
        with closing(open_camera(settings.camera, RealClock())) as camera:
            opened = camera.name
            frame = camera.frame()
            lens = _lens_words(settings, camera)
    except CameraError as error:
        missing = settings.camera.source == "auto" and not cameras()
        words = (
            error.message
            if opened
            else f"{error.message.rstrip('.')}. Without a camera you play by tapping."
        )
        yield Finding("camera", Grade.NOTE if missing else Grade.FAIL, words)
    else:
        yield _picture(opened, frame)
        yield Finding("lens", Grade.OK, lens)
    others = [other for other in cameras() if other.source != settings.camera.source]
    if settings.camera.source != "auto" or len(others) > 1:
        for other in others:
            yield Finding(
                "camera",
                Grade.OK,
                f"{other.name} is connected: to use it, [camera] source = “{other.source}”.",
            )


def _picture(name: str, frame: Frame | None) -> Finding:
    """Return what the first picture shows."""
    if frame is None:
        return Finding(
            "camera", Grade.FAIL, f"{name} gives no picture: check the cable, restart the Pi."
        )
    height, width = frame.luma.shape
    if is_black(frame.luma):
        return Finding("camera", Grade.NOTE, f"{name}, {width} x {height}: {BLACK_WORDS}.")
    return Finding("camera", Grade.OK, f"{name}, {width} x {height}.")


def _lens_words(settings: Settings, camera: Camera) -> str:
    lens, exact = LensShelf(settings.lenses_path, settings.camera).lens_of(camera)
    angle = math.degrees(2 * math.atan(0.5 / lens.focal_ratio))
    if exact:
        return f"{angle:.1f} degrees across, measured by companion calibrate."
    return f"About {angle:.0f} degrees across; the board teaches the rest, companion calibrate measures it."


def _pins(settings: Settings) -> Iterator[Finding]:
    """Find out whether the pins can be used."""
    if settings.panel.enabled == "no":
        yield Finding("pins", Grade.NOTE, "Switched off in the settings: phones only.")
        return
    try:
        reason = panel_reason(settings.panel)
    except PanelError as error:
        reason = error.message
    if reason is not None:
        grade = Grade.FAIL if settings.panel.enabled == "yes" else Grade.NOTE
        yield Finding("pins", grade, f"{reason} Without pads the phones do everything.")
        return
    yield Finding("pins", Grade.OK, "The pins can be used.")


def _certificate(web: WebSettings) -> Iterator[Finding]:
    """Find out whether it can be used, and whether phones will take it today."""
    if not web.certificate:
        return
    try:
        served = certificate_context(web.certificate, web.key)
    except BadCertificate as error:
        yield Finding("https", Grade.FAIL, error.message)
    else:
        yield from certificate(validity(served, web.certificate, web.names), RealClock().wall_s())


def journal_finding(settings: Settings) -> Iterator[Finding]:
    """Find out whether the journal is whole."""
    path = settings.journal_path
    if not path.exists():
        return
    try:
        with closing(Journal(path, read_only=True)) as journal:
            number = len(journal.games())
            notice = journal.notice
    except JournalError as error:
        yield Finding("journal", Grade.WARN, error.message)
        return
    size_mb = path.stat().st_size / 1e6
    yield Finding(
        "journal",
        Grade.WARN if notice else Grade.OK,
        f"{number} games in {size_mb:.1f} MB. {notice}".strip(),
    )
