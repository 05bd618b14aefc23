"""The health of the running service: regular checks, loops that are late, and the overall state.

A loop is what one thread does again and again. It is late if its last round is too long ago.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from companion import __version__
from companion.core.errors import JournalError
from companion.core.i18n import say
from companion.core.log_fields import log_fields
from companion.core.network import short_url
from companion.core.ports import CameraState, Closeable
from companion.diagnostics import machine_checks
from companion.diagnostics.findings import (
    Finding,
    Grade,
    Health,
    Status,
    fail,
    note,
    worst_grade,
)
from companion.diagnostics.probes import Machine
from companion.mqtt.connection import broker_finding
from companion.service.doctor_findings import (
    camera_finding,
    installation_findings,
    journal_finding,
    pad_findings,
    settings_findings,
)
from companion.storage.disk_space import MIN_GAME_FREE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

    from companion.core.clock import Clock
    from companion.core.config import Settings
    from companion.maintenance.own_wifi import OwnWifi
    from companion.mqtt.adapter import MqttAdapter
    from companion.storage.journal import Journal
    from companion.table.table import Table
    from hardware.panel import Panel
    from vision.watcher import Watcher

log = logging.getLogger(__name__)
# Names of the loops that must not hang.
TABLE = "table"
JOURNAL = "journal"
CAMERA = "camera"
# Maximum time in seconds between two rounds of a loop. The table's loop has twenty rounds a second
# or more, and the journal is checked every two seconds. The camera's loop has a round for every
# frame. While no camera can be opened, it has one every ten seconds, plus the time that opening
# takes.
MAX_SILENCE_S: Mapping[str, float] = {TABLE: 5.0, JOURNAL: 10.0, CAMERA: 30.0}
# Interval in seconds at which journal and camera are checked. The journal has no thread of its own.
# If it hangs, it stops the thread of these checks. So a round of checks counts as a round of the
# journal's loop.
ROUND_INTERVAL_S = 2.0
# Interval in seconds at which the machine is checked: temperature, voltage, disk.
MACHINE_INTERVAL_S = 60.0
# Words of `Health.camera` by state. Without a camera it is `none`.
_CAMERA_WORDS = {
    CameraState.SEES_BOARD: "ok",
    CameraState.NO_BOARD: "no_board",
    CameraState.TROUBLE: "trouble",
}
# Grades of findings that make the service `DEGRADED`.
_TROUBLE_GRADES = (Grade.WARN, Grade.FAIL)


class ServiceParts(Protocol):
    """The parts of a service whose health is checked. A missing part is None.

    `service.app.Companion` implements it. That class cannot be the type here, because `service.app`
    imports this module.
    """

    clock: Clock
    settings: Settings
    settings_path: Path
    journal: Journal
    table: Table
    panel: Panel | None
    broker: MqttAdapter
    own_wifi: OwnWifi | None

    @property
    def watcher(self) -> Watcher | None:
        """Watcher of the board. None without a camera."""

    @property
    def simulation(self) -> object | None:
        """Simulated table and panel. None if nothing is simulated."""

    def urls(self) -> tuple[str, ...]:
        """Return the addresses of the table screen. The first one is meant for phones."""


class ServiceHealth(Closeable):
    """Watches the health of the running service, for pages, the watchdog and a hub.

    A thread checks journal, camera and machine regularly. The methods may be called from any
    thread, and no method waits for the table's thread. `close` may be called twice.

    :param threads: whether the service has threads. If False, no thread is started and no loop is
        ever late. A test then calls `check_once` for each round of checks
    """

    def __init__(
        self,
        companion: ServiceParts,
        machine: Machine,
        support_zip: Callable[[], bytes],
        threads: bool = True,
    ) -> None:
        self._companion = companion
        self.machine = machine
        self._clock = companion.clock
        self._folder = companion.settings.journal_path.parent
        self.support_zip = support_zip
        """Returns the ZIP file that an owner sends to somebody who helps."""
        # Monotonic times: when the service began, when loops began to be watched, and when the last
        # check of the journal ended.
        self._began_at_s = self._clock.monotonic_s()
        self._watch_began_at_s = self._began_at_s
        self._journal_checked_at_s = self._began_at_s
        # Functions that return the monotonic time of each loop's last round.
        self._loops: dict[str, Callable[[], float]] = {}
        if threads:
            self._loops = {
                TABLE: lambda: companion.table.last_heartbeat_at_s,
                JOURNAL: lambda: self._journal_checked_at_s,
            }
            if watcher := companion.watcher:
                self._loops[CAMERA] = lambda: watcher.last_round_s
        # `ok`, `full` or `unwritable`, as in `Health.journal`.
        self._journal_state = "ok"
        self._free_bytes = machine_checks.find_free_bytes(self._folder)
        # Findings about the machine at its last check.
        self._findings: tuple[Finding, ...] = ()
        # Monotonic time of the machine's last check. The first check is due at once.
        self._machine_checked_at_s = -math.inf
        # Notice on all pages that games are kept in memory only. Empty if games are on a disk.
        self._memory_notice = ""
        self._stop = threading.Event()
        self._thread = (
            threading.Thread(target=self._run, name="health", daemon=True) if threads else None
        )

    # ---- regular checks --------------------------------------------------------------------------

    def start(self) -> None:
        """Start the checks in their own thread.

        All loops count as alive at this moment, although they may not have had a round yet.
        """
        self._watch_began_at_s = self._clock.monotonic_s()
        if self._thread:
            self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(ROUND_INTERVAL_S):
            try:
                self.check_once()
            except Exception:  # one failed check must not end the thread
                log.exception("A check of the machine failed", extra=log_fields("look_failed"))

    def check_once(self) -> None:
        """Check camera and journal, and once a minute the machine."""
        companion = self._companion
        now_s = self._clock.monotonic_s()
        if companion.watcher:
            companion.watcher.report_stall()
        # Ask the journal anything. If it hangs, this call does not return, and the time of the last
        # check stays as it is.
        companion.journal.noted_clock_s("")
        self._journal_checked_at_s = self._clock.monotonic_s()
        self._free_bytes = machine_checks.find_free_bytes(self._folder)
        self._check_journal()
        if now_s - self._machine_checked_at_s >= MACHINE_INTERVAL_S:
            self._machine_checked_at_s = now_s
            self._check_machine()

    def _check_machine(self) -> None:
        """Check the machine. Log a change of its worst finding, and have the pages show it."""
        before = self.worst_finding()
        self._findings = tuple(machine_checks.run_quick_checks(self.machine, self._folder))
        self._report_memory_only()
        worst_finding = self.worst_finding()
        if worst_finding != before:
            sentence = worst_finding or "The machine is well again."
            log.warning("%s", sentence, extra=log_fields("machine"))
            self._companion.table.redraw()

    def _check_journal(self) -> None:
        """Check whether the journal can be written, and log a change.

        `_journal_state` is `full` if there is too little space for a game, and `unwritable` if
        permissions forbid writing, or the last attempt to write has failed.
        """
        database = self._companion.journal.database
        free = self._free_bytes
        if database.is_failing:
            # A trial may show that the disk has recovered. If it fails, `is_failing` stays.
            with suppress(JournalError):
                database.check_writable()
        can_write = os.access(database.path, os.W_OK) and machine_checks.is_writable(self._folder)
        state = "ok"
        if can_write and free is not None and free < MIN_GAME_FREE_BYTES:
            state = "full"
        elif not can_write or database.is_failing:
            state = "unwritable"
        if state != self._journal_state:
            self._journal_state = state
            level = logging.INFO if state == "ok" else logging.WARNING
            fields = log_fields("journal", state=state)
            log.log(level, "The journal’s disk: %s", state, extra=fields)

    def _report_memory_only(self) -> None:
        """Warn on every page if games are kept in memory only, and log a change.

        A simulated table may lose its games, so it has no such warning.
        """
        if self._companion.simulation is not None:
            return
        notice = machine_checks.memory_only_warning(self.machine, self._folder)
        if notice != self._memory_notice:
            self._memory_notice = notice
            self._companion.table.set_notice("memory", notice)
            sentence = notice or "Games are kept on a disk now."
            log.warning("%s", sentence, extra=log_fields("forgetful"))

    def close(self) -> None:
        """End the thread.

        A thread that hangs on a broken disk is left behind after two rounds.
        """
        self._stop.set()
        if self._thread and self._thread.is_alive():
            self._thread.join(timeout=2 * ROUND_INTERVAL_S)

    # ---- what the pages ask ----------------------------------------------------------------------

    def late_loops(self) -> Mapping[str, float]:
        """Return the loops that are late, with the seconds since their last round.

        A loop that has never had a round is late, too, once it has had the time for it. Empty if
        all loops are alive.
        """
        now_s = self._clock.monotonic_s()
        ages_s = {
            name: now_s - max(self._watch_began_at_s, get_last_round_s())
            for name, get_last_round_s in self._loops.items()
        }
        return {name: age_s for name, age_s in ages_s.items() if age_s > MAX_SILENCE_S[name]}

    def health(self) -> Health:
        """Return the present health, from the last checks. No new check is made.

        The service is `FAILING` if a loop is late or the journal cannot be written. It is
        `DEGRADED` if camera or pins are in trouble, the disk is full, or a check of the machine
        warns.
        """
        companion = self._companion
        late = self.late_loops()
        journal = "silent" if JOURNAL in late else self._journal_state
        camera = pins = "none"
        if companion.watcher:
            camera = _CAMERA_WORDS.get(companion.table.progress().camera, "none")
        if companion.panel:
            pins = "trouble" if companion.panel.problems else "ok"
        machine_grade = worst_grade(self._findings)
        status = Status.OK
        if late or journal == "unwritable":
            status = Status.FAILING
        elif "trouble" in (camera, pins) or journal == "full" or machine_grade in _TROUBLE_GRADES:
            status = Status.DEGRADED
        uptime_s = self._clock.monotonic_s() - self._began_at_s
        free_mb = None if self._free_bytes is None else self._free_bytes // 1_000_000
        return Health(
            status=status,
            version=__version__,
            uptime_s=uptime_s,
            late=late,
            journal=journal,
            camera=camera,
            pins=pins,
            disk_free_mb=free_mb,
            machine=machine_grade,
        )

    def worst_finding(self) -> str:
        """Return the worst finding about the machine, as a sentence.

        Empty if no finding is a warning or worse.
        """
        grade = worst_grade(self._findings)
        texts = [finding.text for finding in self._findings if finding.grade is grade]
        return texts[0] if grade in _TROUBLE_GRADES else ""

    def run_checks(self) -> tuple[Finding, ...]:
        """Run all checks, in the caller's thread."""
        return tuple(self._all_findings())

    def _all_findings(self) -> Iterator[Finding]:
        """Yield the findings of all checks: the service, its parts, then the installation."""
        companion = self._companion
        yield from self._late_findings()
        yield from settings_findings(companion.settings_path)
        yield camera_finding(
            companion.table.view().devices.camera,
            companion.watcher.link.camera_name if companion.watcher else None,
        )
        if companion.watcher and companion.watcher.link.oddity:
            yield note("camera", companion.watcher.link.oddity)
        yield from pad_findings(companion.panel, companion.simulation is not None)
        if companion.broker.sentence:
            yield broker_finding(companion.broker.is_connected, companion.broker.sentence)
        yield journal_finding(companion.journal)
        if companion.own_wifi and companion.own_wifi.trouble:
            yield note("network", companion.own_wifi.trouble)
        urls = [short_url(url) for url in companion.urls()]
        yield from installation_findings(companion.settings, self.machine, urls)

    def _late_findings(self) -> Iterator[Finding]:
        """Yield a finding for each loop that is late."""
        symptoms = {
            TABLE: say("The table does not answer"),
            JOURNAL: say("The journal does not answer"),
            CAMERA: say("The camera’s reader does not answer"),
        }
        for name, age_s in self.late_loops().items():
            text = say(
                "{who} for {seconds} s: restart the companion; the game is kept.",
                who=symptoms[name],
                seconds=f"{age_s:.0f}",
            )
            yield fail("service", text)
