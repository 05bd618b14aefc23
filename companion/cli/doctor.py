"""`companion doctor`: what is wrong with this machine and its devices, and what to do about it.

A finding is the result of one check, with a grade. While a companion runs, it has camera and pins
open, so the command asks it for its findings. If none runs, the command examines everything itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

from companion.cli.options import write_file
from companion.cli.running import read_owner_key
from companion.core.clock import RealClock
from companion.core.config import Settings, WebSettings
from companion.core.errors import CameraError, JournalError
from companion.core.network import list_addresses
from companion.core.ports import Frame
from companion.diagnostics.findings import (
    EXIT_STATUS,
    Finding,
    Grade,
    fail,
    note,
    ok,
    warn,
    worst_grade,
)
from companion.diagnostics.own_pages import local_base_url, send_request
from companion.diagnostics.probes import Machine
from companion.mqtt.connection import examine_broker
from companion.service.doctor_findings import (
    installation_findings,
    journal_finding,
    settings_findings,
)
from companion.service.support_bundle import make_bundle
from companion.storage.journal import Journal
from hardware.pin_factory import why_no_pins
from vision.cameras.catalogue import list_cameras, open_camera
from vision.cameras.exposure import DARK_SENTENCE, classify_light
from web.security.tls import BadCertificate, certificate_context

# Timeout in seconds for a running companion to identify itself. It is short, because the port may
# belong to another program, which may not answer at all.
HELLO_TIMEOUT_S = 3.0
# Timeout in seconds for a running companion to examine everything, which takes up to some seconds.
CHECKS_TIMEOUT_S = 15.0


def print_findings(settings: Settings, as_json: bool, path: Path) -> int:
    """Print all findings, one per line or as JSON. Return the exit status.

    :param path: the settings file
    """
    findings: list[Finding] = []
    for finding in _all_findings(settings, path):
        findings.append(finding)
        if not as_json:
            print(f"{finding.grade:<5} {finding.topic:<8} {finding.text}", flush=True)
    if as_json:
        entries = [
            {"topic": finding.topic, "grade": finding.grade, "text": str(finding.text)}
            for finding in findings
        ]
        print(json.dumps({"worst": worst_grade(findings), "findings": entries}, ensure_ascii=False))
    return EXIT_STATUS[worst_grade(findings)]


def _all_findings(settings: Settings, path: Path) -> Iterable[Finding]:
    """Return the findings of the running companion, or else examine everything in this process."""
    findings = query_service(settings)
    if findings is not None:
        return findings
    return chain(settings_findings(path), examine(settings))


def save_bundle(settings: Settings, target: Path, path: Path) -> None:
    """Write a support bundle, for somebody who is asked for help.

    The running companion makes it. If none runs, the bundle only has the findings of this command.
    """
    bundle = _ask_owner_page(settings, "/host/health/bundle.zip")
    if bundle is None:
        findings = _all_findings(settings, path)
        bundle = make_bundle(findings, private_texts=[str(settings.journal_path.parent)])
    write_file(target, bundle)
    print(f"{target}: no order, name, key or address is in it. Look into it before you send it.")


# ---- the running companion -----------------------------------------------------------------------


def query_service(settings: Settings) -> tuple[Finding, ...] | None:
    """Return the findings of the companion that runs with these settings. None if none runs.

    The companion tells its findings only to the owner. If this command cannot read the owner key in
    the journal, or if the companion does not answer in time, the only finding is what everybody may
    know: that a companion runs, and its overall state.
    """
    try:
        address = local_base_url(settings.web)
        _, content = send_request(address, "/health", timeout_s=HELLO_TIMEOUT_S)
        health = json.loads(content)
        running = (
            f"A companion runs here, version {health['version']}, "
            f"for {health['uptime_s']:.0f} s: {health['status']}."
        )
    except (OSError, ValueError, LookupError, TypeError):  # nobody, or another program
        return None
    answer = _ask_owner_page(settings, "/api/doctor")
    if answer is None:
        advice = "It tells no more without the owner key, which is in its journal: use sudo."
        grade = Grade.FAIL if health["status"] == "failing" else Grade.NOTE
        return (Finding("service", grade, f"{running} {advice}"),)
    findings = (
        Finding(entry["topic"], Grade(entry["grade"]), entry["text"])
        for entry in json.loads(answer)["findings"]
    )
    return (ok("service", running), *findings)


def _ask_owner_page(settings: Settings, path: str) -> bytes | None:
    """Return the content of a page that only the owner may see.

    None if nobody answers, if the page is refused, or if the owner key cannot be read.
    """
    try:
        key = read_owner_key(settings)
        status, content = send_request(
            local_base_url(settings.web), path, key, timeout_s=CHECKS_TIMEOUT_S
        )
    except OSError:  # `JournalError` is one, too
        return None
    return content if status == 200 else None


# ---- without a running companion -----------------------------------------------------------------


def examine(settings: Settings, machine: Machine | None = None) -> Iterator[Finding]:
    """Examine everything once, while no companion runs.

    :param machine: the machine to examine. Tests replace it
    """
    machine = machine or Machine()
    yield from _camera_findings(settings)
    yield from _pin_findings(settings)
    yield from examine_broker(settings.mqtt)
    yield from _journal_findings(settings)
    yield from _certificate_findings(settings.web)
    yield from installation_findings(settings, machine, list_addresses(settings.web.host))


def _camera_findings(settings: Settings) -> Iterator[Finding]:
    if settings.camera.source == "none":
        yield note("camera", "Switched off in the settings: you play by tapping.")
        return
    try:
        with closing(open_camera(settings.camera, RealClock())) as camera:
            yield _picture_finding(camera.name, camera.frame())
    except CameraError as error:
        # A table without a camera is fine. But if a camera is connected, or named in the settings,
        # it has to work.
        has_none = settings.camera.source == "auto" and not list_cameras()
        words = f"{error.message.rstrip('.')}. Without a camera you play by tapping."
        yield Finding("camera", Grade.NOTE if has_none else Grade.FAIL, words)
    # List the other cameras if the settings name one, or if they leave open which of several is
    # used.
    others = [other for other in list_cameras() if other.source != settings.camera.source]
    if settings.camera.source != "auto" or len(others) > 1:
        for other in others:
            advice = f"to use it, [camera] source = “{other.source}”"
            yield ok("camera", f"{other.name} is connected: {advice}.")


def _picture_finding(name: str, frame: Frame) -> Finding:
    height, width = frame.luma.shape
    if classify_light(frame.luma) == "dark":
        return note("camera", f"{name}, {width} x {height}: {DARK_SENTENCE}.")
    return ok("camera", f"{name}, {width} x {height}.")


def _pin_findings(settings: Settings) -> Iterator[Finding]:
    if settings.panel.enabled == "no":
        yield note("pins", "Switched off in the settings: phones only.")
        return
    reason = why_no_pins()
    if reason is None:
        yield ok("pins", "The pins can be used.")
    else:
        # Missing pins are a failure only if the settings require them.
        grade = Grade.FAIL if settings.panel.enabled == "yes" else Grade.NOTE
        yield Finding("pins", grade, f"{reason} Without pads the phones do everything.")


def _certificate_findings(web: WebSettings) -> Iterator[Finding]:
    if not web.certificate:
        return
    try:
        certificate_context(web.certificate, web.key)
        yield ok("https", "The certificate can be used.")
    except BadCertificate as error:
        yield fail("https", error.message)


def _journal_findings(settings: Settings) -> Iterator[Finding]:
    if settings.journal_path.exists():
        try:
            with Journal(settings.journal_path, read_only=True) as journal:
                yield journal_finding(journal)
        except JournalError as error:
            yield warn("journal", error.message)
