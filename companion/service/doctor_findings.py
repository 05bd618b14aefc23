"""The doctor's findings about devices, games, journal, settings and the whole installation.

A finding is the result of one check: a topic, a grade and a sentence
(`companion.diagnostics.findings`). Two callers collect the findings: the running service
(`companion.service.health`), and the command `companion doctor` if no service runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from companion.core.config import Settings, retired_setting_notices
from companion.core.i18n import Verbatim, joined, say, say_n
from companion.core.ports import CameraState, CameraStatus
from companion.diagnostics import machine_checks, network_checks
from companion.diagnostics.findings import Finding, Grade, note, ok, warn
from companion.diagnostics.probes import Machine
from companion.games.plugins import plugin_games
from companion.maintenance.settings.last_good import LastGoodSettings
from companion.storage.journal import Journal
from hardware.panel import Panel


def camera_finding(status: CameraStatus, name: str | None) -> Finding:
    """Grade the state of the table's camera.

    :param name: name of the camera. None if the table has no camera
    """
    if name is None or status.state is CameraState.NONE:
        text = status.sentence or say("There is none: you play by tapping.")
        return note("camera", text)
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


def pad_findings(panel: Panel | None, is_simulated: bool) -> Iterator[Finding]:
    """Yield a finding for the panel's pins.

    It is a warning if a pin cannot be used, and otherwise says how many keys and lamps work.

    :param panel: the panel of the table. None if the table has none
    :param is_simulated: whether the panel has no real pins
    """
    if panel is None:
        yield note("pins", say("No pads: phones do everything."))
        return
    if panel.problems:
        yield warn("pins", joined(" ", panel.problems))
    elif is_simulated:
        yield ok("pins", say("The panel is simulated."))
    else:
        keys = say_n("{n} key", "{n} keys", len(panel.buttons))
        lamps = say_n("{n} lamp", "{n} lamps", len(panel.lamps))
        text = say("{keys} and {lamps} are in use.", keys=keys, lamps=lamps)
        yield ok("pins", text)


def journal_finding(journal: Journal) -> Finding:
    """Report the number of games and the size of the journal.

    It is a warning if the journal has a notice, such as that a damaged file was set aside.
    """
    text = say_n(
        "The journal holds {n} game in {size} MB.",
        "The journal holds {n} games in {size} MB.",
        len(journal.games()),
        size=round(journal.path.stat().st_size / 1e6, 1),
    )
    if journal.notice:
        return warn("journal", joined(" ", (text, journal.notice)))
    return ok("journal", text)


def settings_findings(path: Path) -> Iterator[Finding]:
    """Yield what an owner should know about the settings file.

    It is a warning if the file did not work and the last settings that worked were restored, and a
    note for each setting in it that this version no longer uses.

    :param path: the settings file
    """
    if notice := LastGoodSettings(path).notice():
        yield warn("settings", notice)
    for sentence in retired_setting_notices(path):
        yield note("settings", sentence)


def plugin_findings() -> Iterator[Finding]:
    """Yield a finding for each game of another package: whether it is loaded, or why it is not."""
    for game in plugin_games():
        name, package = Verbatim(game.name), Verbatim(game.package)
        if not game.trouble:
            text = say("The game “{game}” comes from {package}.", game=name, package=package)
            yield ok("games", text)
            continue
        text = say(
            "The game “{game}” from {package} is not loaded: {trouble}. Repair or uninstall that "
            "package.",
            game=name,
            package=package,
            trouble=Verbatim(game.trouble.rstrip(".")),
        )
        yield warn("games", text)


def installation_findings(
    settings: Settings, machine: Machine, addresses: Sequence[str]
) -> Iterator[Finding]:
    """Yield the findings that do not depend on a running service: machine, games and network.

    :param addresses: addresses at which phones reach the table
    """
    yield from machine_checks.run_all_checks(machine, settings.journal_path.parent)
    yield from plugin_findings()
    yield network_checks.check_addresses(addresses)
    yield network_checks.check_local_name(machine)
    yield from network_checks.check_wifi(machine)
