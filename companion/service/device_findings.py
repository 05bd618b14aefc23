"""The doctor's look at what is connected, asked of the running service: it has camera and pins open already."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from companion.core.config import CameraSettings, VoiceSettings
from companion.core.i18n import joined, say, say_n
from companion.core.ports import CameraState, CameraStatus
from companion.diagnostics.findings import Finding, Grade
from hardware.panel import Panel
from hardware.voice import ESPEAK
from vision.watcher import Watcher


def board_camera(status: CameraStatus, name: str | None) -> Finding:
    """Return how the camera is that the table watches with. `name` None: it watches with none."""
    if name is None or status.state is CameraState.NONE:
        return Finding(
            "camera", Grade.NOTE, status.sentence or say("There is none: you play by tapping.")
        )
    grades = {
        CameraState.SEES_BOARD: Grade.OK,
        CameraState.NO_BOARD: Grade.NOTE,
        CameraState.TROUBLE: Grade.WARN,
    }
    sentence = (
        status.sentence if status.sentence.endswith(".") else joined("", (status.sentence, "."))
    )
    text = say("{name!c}: {sentence}", name=name, sentence=sentence)
    return Finding("camera", grades[status.state], text)


def profile(settings: CameraSettings) -> Iterator[Finding]:
    """Yield what a machine with little memory does without."""
    if settings.is_small:
        text = say(
            "This machine has little memory: pictures are {size}, and fewer still frames are kept. "
            "[camera] size sets another size.",
            size="1280 x 720",
        )
        yield Finding("profile", Grade.NOTE, text)


def remarks(watcher: Watcher | None) -> Iterator[Finding]:
    """Yield what is odd about the camera, and what of the reading gives way on a slow machine."""
    for sentence in (watcher.link.oddity, watcher.pace.sentence) if watcher else ():
        if sentence:
            yield Finding("camera", Grade.NOTE, sentence)


def pads(panel: Panel | None, is_simulated: bool) -> Iterator[Finding]:
    """Yield how the pins are that the table uses."""
    if panel is None:
        yield Finding("pins", Grade.NOTE, say("No pads: phones do everything."))
        return
    if panel.problems:
        yield Finding("pins", Grade.WARN, joined(" ", panel.problems))
    elif is_simulated:
        yield Finding("pins", Grade.OK, say("The panel is simulated."))
    else:
        keys = say_n("{n} key", "{n} keys", len(panel.buttons))
        lamps = say_n("{n} lamp", "{n} lamps", len(panel.lamps))
        yield Finding(
            "pins", Grade.OK, say("{keys} and {lamps} are in use.", keys=keys, lamps=lamps)
        )


def voice(settings: VoiceSettings) -> Finding:
    """Return who says aloud what happens."""
    if settings.by == "off":
        return Finding("voice", Grade.NOTE, say("Switched off in the settings."))
    if settings.by != "screen" and shutil.which(ESPEAK):
        if settings.by == "auto":
            return Finding(
                "voice",
                Grade.OK,
                say("{program} speaks unless a table screen does.", program=ESPEAK),
            )
        return Finding("voice", Grade.OK, say("{program} speaks.", program=ESPEAK))
    if settings.by == "machine":
        text = say("{program} is not installed: sudo apt install {program}.", program=ESPEAK)
        return Finding("voice", Grade.NOTE, text)
    return Finding(
        "voice", Grade.OK, say("Table screens speak, after a tap on “Sound on”; the kiosk at once.")
    )
