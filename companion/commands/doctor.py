"""`companion doctor`: what is wrong with camera, pins, disk, clock and network, and what to do about it."""

from __future__ import annotations

import math
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum

from companion.app import addresses
from companion.clock import RealClock
from companion.config import Settings
from companion.errors import CameraError, PanelError
from companion.ports import Camera, Frame
from hardware.panel import panel_reason
from hardware.voice import ESPEAK
from vision.camera import cameras, open_camera
from vision.lenses import LensShelf
from vision.sight import BLACK_WORDS, is_black

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
    yield from _camera(settings)
    yield _pins(settings)
    yield _voice(settings)
    yield _disk(settings)
    yield _clock()
    yield from _network(settings)


def _camera(settings: Settings) -> Iterator[Finding]:
    if settings.camera.source == "none":
        yield Finding("camera", Grade.NOTE, "Switched off in the settings: play goes by taps.")
        return
    opened = ""
    try:
        with closing(open_camera(settings.camera, RealClock())) as camera:
            opened = camera.name
            frame = camera.frame()
            lens = _lens_words(settings, camera)
    except CameraError as error:
        missing = settings.camera.source == "auto" and not cameras()
        words = error.message if opened else f"{error.message.rstrip('.')}. Without a camera play goes by taps."
        yield Finding("camera", Grade.NOTE if missing else Grade.FAIL, words)
    else:
        yield _picture(opened, frame)
        yield Finding("lens", Grade.OK, lens)
    others = [each for each in cameras() if each.source != settings.camera.source]
    if settings.camera.source != "auto" or len(others) > 1:
        for each in others:
            yield Finding(
                "camera", Grade.OK, f"{each.name} is connected: to use it, [camera] source = “{each.source}”."
            )


def _picture(name: str, frame: Frame | None) -> Finding:
    """What the first picture shows."""
    if frame is None:
        return Finding("camera", Grade.FAIL, f"{name} gives no picture: check the cable, restart the Pi.")
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


def _voice(settings: Settings) -> Finding:
    by = settings.voice.by
    if by == "off":
        return Finding("voice", Grade.NOTE, "Switched off in the settings.")
    if by != "screen" and shutil.which(ESPEAK):
        return Finding("voice", Grade.OK, f"{ESPEAK} speaks{' unless a table screen does' if by == 'auto' else ''}.")
    if by == "machine":
        return Finding("voice", Grade.NOTE, f"{ESPEAK} is not installed: sudo apt install {ESPEAK}.")
    return Finding("voice", Grade.OK, "Table screens speak, after a tap on “Sound on”; the kiosk at once.")


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
