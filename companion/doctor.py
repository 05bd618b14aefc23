"""`companion doctor`: what is wrong with camera, pins, disk, clock and network, and what to do about it."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from companion.app import addresses
from companion.clock import RealClock
from companion.config import Settings
from companion.errors import CameraError, PanelError
from hardware.panel import panel_reason
from vision.camera import open_camera

MIN_FREE_BYTES = 200_000_000
_EARLIEST_UNIX_S = 1_735_689_600  # 1 January 2025: an older clock was never set


class Grade(StrEnum):
    """How serious a finding is; only `FAIL` keeps the companion from running."""

    OK = "ok"
    NOTE = "note"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `text` says what was seen and what to do."""

    topic: str
    grade: Grade
    text: str


def examine(settings: Settings) -> Iterator[Finding]:
    """Look at everything once."""
    yield _camera(settings)
    yield _pins(settings)
    yield _disk(settings)
    yield _clock()
    yield from _network(settings)


def _camera(settings: Settings) -> Finding:
    if settings.camera.source == "none":
        return Finding("camera", Grade.NOTE, "Switched off in the settings: play goes by taps.")
    try:
        camera = open_camera(settings.camera, RealClock())
    except CameraError as error:
        grade = Grade.NOTE if settings.camera.source == "auto" else Grade.FAIL
        return Finding("camera", grade, f"{error.message} Without a camera play goes by taps.")
    try:
        frame = camera.frame()
    except CameraError as error:
        return Finding("camera", Grade.FAIL, error.message)
    finally:
        camera.close()
    if frame is None:
        return Finding("camera", Grade.FAIL, f"{camera.name} gives no picture: check the cable, restart the Pi.")
    height, width = frame.luma.shape
    return Finding("camera", Grade.OK, f"{camera.name}, {width} x {height}.")


def _pins(settings: Settings) -> Finding:
    if settings.panel.enabled == "no":
        return Finding("pins", Grade.NOTE, "Switched off in the settings: phones only.")
    try:
        reason = panel_reason(settings.panel)
    except PanelError as error:
        reason = error.message
    if reason is None:
        return Finding("pins", Grade.OK, "The pins can be used.")
    grade = Grade.FAIL if settings.panel.enabled == "yes" else Grade.NOTE
    return Finding("pins", grade, f"{reason} Without pads the phones do everything.")


def _disk(settings: Settings) -> Finding:
    folder = settings.journal_path.parent
    existing = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if not os.access(existing, os.W_OK):
        return Finding("disk", Grade.FAIL, f"{existing} cannot be written: set state_dir to a folder of yours.")
    free = shutil.disk_usage(existing).free
    if free < MIN_FREE_BYTES:
        return Finding("disk", Grade.FAIL, f"Only {free // 1_000_000} MB free for {folder}: make room.")
    return Finding("disk", Grade.OK, f"{free // 1_000_000} MB free for {folder}.")


def _clock() -> Finding:
    if time.time() < _EARLIEST_UNIX_S:
        return Finding(
            "clock", Grade.NOTE, "The clock was never set: dates in the history will be wrong, games are not."
        )
    return Finding("clock", Grade.OK, time.strftime("It is %Y-%m-%d %H:%M %Z."))


def _network(settings: Settings) -> Iterator[Finding]:
    host, port = settings.web.host, settings.web.port
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            text = f"{host}:{port} cannot be used ({error.strerror}): is a companion running? Or set [web] port."
            yield Finding("port", Grade.FAIL, text)
        else:
            yield Finding("port", Grade.OK, f"{port} is free.")
    found = addresses(host)
    if found == ["127.0.0.1"]:
        yield Finding(
            "network", Grade.NOTE, "No network: phones cannot reach the table. Join a Wi-Fi or open a hotspot."
        )
    else:
        yield Finding("network", Grade.OK, f"Phones reach the table at {', '.join(found)}.")
