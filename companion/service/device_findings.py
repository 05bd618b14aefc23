"""The doctor's findings about devices, games, journal and settings."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from companion.core.config import CameraSettings, VoiceSettings, retired_settings
from companion.core.i18n import Verbatim, joined, say, say_n
from companion.core.ports import CameraState, CameraStatus
from companion.diagnostics.findings import Finding, Grade
from companion.games.plugins import plugin_games
from companion.maintenance.settings.last_good import LastGoodSettings
from companion.storage.journal import Journal
from hardware.panel import Panel
from hardware.voice import ESPEAK
from vision.watcher import Watcher


def board_camera(status: CameraStatus, name: str | None) -> Finding:
    """Return the state of the table's camera. `name` is None if the table has none."""
    if name is None or status.state is CameraState.NONE:
        text = status.sentence or say("There is none: you play by tapping.")
        return Finding("camera", Grade.NOTE, text)
    grades = {
        CameraState.SEES_BOARD: Grade.OK,
        CameraState.NO_BOARD: Grade.NOTE,
        CameraState.TROUBLE: Grade.WARN,
    }
    sentence = status.sentence
    if not sentence.endswith("."):
        sentence = joined("", (sentence, "."))
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
    """Yield oddities of the camera, and what the reading leaves out on a slow machine."""
    for sentence in (watcher.link.oddity, watcher.pace.sentence) if watcher else ():
        if sentence:
            yield Finding("camera", Grade.NOTE, sentence)


def pads(panel: Panel | None, is_simulated: bool) -> Iterator[Finding]:
    """Yield the state of the pins that the table uses."""
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
        text = say("{keys} and {lamps} are in use.", keys=keys, lamps=lamps)
        yield Finding("pins", Grade.OK, text)


def voice(settings: VoiceSettings) -> Finding:
    """Return whose voice announces what happens."""
    if settings.by == "off":
        return Finding("voice", Grade.NOTE, say("Switched off in the settings."))
    if settings.by != "screen" and shutil.which(ESPEAK):
        text = say("{program} speaks.", program=ESPEAK)
        if settings.by == "auto":
            text = say("{program} speaks unless a table screen does.", program=ESPEAK)
        return Finding("voice", Grade.OK, text)
    if settings.by == "machine":
        text = say("{program} is not installed: sudo apt install {program}.", program=ESPEAK)
        return Finding("voice", Grade.NOTE, text)
    text = say("Table screens speak, after a tap on “Sound on”; the kiosk at once.")
    return Finding("voice", Grade.OK, text)


def journal_finding(journal: Journal) -> Finding:
    """Return the size of the journal and its notice."""
    text = say_n(
        "The journal holds {n} game in {size} MB.",
        "The journal holds {n} games in {size} MB.",
        len(journal.games()),
        size=round(journal.path.stat().st_size / 1e6, 1),
    )
    if journal.notice:
        return Finding("journal", Grade.WARN, joined(" ", (text, journal.notice)))
    return Finding("journal", Grade.OK, text)


def settings_findings(path: Path) -> Iterator[Finding]:
    """Yield whether the last good settings were restored, and settings that are no longer used."""
    if notice := LastGoodSettings(path).notice():
        yield Finding("settings", Grade.WARN, notice)
    for sentence in retired_settings(path):
        yield Finding("settings", Grade.NOTE, sentence)


def games_from_outside() -> Iterator[Finding]:
    """Yield the games of other packages, and which of them cannot be used."""
    for game in plugin_games():
        name, package = Verbatim(game.name), Verbatim(game.package)
        if not game.trouble:
            text = say("The game “{game}” comes from {package}.", game=name, package=package)
            yield Finding("games", Grade.OK, text)
            continue
        text = say(
            "The game “{game}” from {package} is not loaded: {trouble}. Repair or uninstall that "
            "package.",
            game=name,
            package=package,
            trouble=Verbatim(game.trouble.rstrip(".")),
        )
        yield Finding("games", Grade.WARN, text)
