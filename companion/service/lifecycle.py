"""The service from start to end: restarts, the proof that settings work, and reports to systemd.

One process runs one `Companion` after another. A restart, as the settings page asks for it, closes
the present one, reads the settings file again and opens the next one.
"""

from __future__ import annotations

import gc
import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from companion.core.config import Settings, retired_setting_notices
from companion.core.errors import CompanionError, JournalError, SystemTrouble
from companion.core.i18n import joined
from companion.core.ports import Closeable
from companion.core.resources import tune_allocator
from companion.maintenance.settings.last_good import SUCCESS_AFTER_S, LastGoodSettings
from companion.service.systemd import LampWord, ServiceManager
from companion.table.listeners import TableListener

if TYPE_CHECKING:
    from companion.service.app import Companion
    from companion.table.table import Table

log = logging.getLogger(__name__)

# The signal that restarts the service, sent by the settings page or by `kill -USR1`.
RESTART = signal.SIGUSR1

# Interval in seconds at which the watchdog is fed and the status is updated, unless systemd wants
# it more often.
REPORT_INTERVAL_S = 2.0


class _Preparation(NamedTuple):
    """The settings for a start, and what was done before it. Both sentences may be empty."""

    settings: Settings
    success: str
    """Sentence on what was restored or deleted."""
    trouble: str
    """Sentence on why a staged restore or deletion could not be carried out and still waits."""


def run_service(
    load_settings: Callable[[], Settings],
    path: Path,
    simulate: bool | None,
    greet: Callable[[Companion, bool], None],
) -> None:
    """Run the table until SIGTERM or SIGINT, and restart it at every `RESTART`.

    Each start has these steps:

    1. Count it as failed, until it succeeds. After three failed starts this step restores the last
       settings that worked (`LastGoodSettings`).
    2. Carry out a restore or a deletion that is staged, before anything is opened.
    3. Open the `Companion`, tell systemd that it is ready, and greet.
    4. After `SUCCESS_AFTER_S`, or if somebody ends the service sooner, record the settings as
       working, unless a loop hangs.
    5. Wait for a signal. `RESTART` begins the next start, and any other signal ends the process.

    Raises whatever made a start fail.

    :param load_settings: reads the settings file, and applies the options of the command line
    :param path: path of the settings file
    :param simulate: as in `Companion`
    :param greet: called at every start, with whether it is the first start of this process
    """
    tune_allocator()
    # Block the signals before libraries start threads. Then only the main thread receives them,
    # when it asks for them, and never inside a lock.
    end_signals = {signal.SIGTERM, signal.SIGINT, RESTART}
    signal.pthread_sigmask(signal.SIG_BLOCK, end_signals)
    from companion.service.app import Companion  # noqa: PLC0415 - brings camera and web libraries, which other commands do without

    manager = ServiceManager()
    last_good = LastGoodSettings(path)
    is_first = True
    while True:
        began_at_s = time.monotonic()
        try:
            # The start counts as failed until `record_success` or `reset_count` clears the count.
            last_good.count_start()
            prepared = _carry_out_staged(load_settings, path)
            # Remember the content of the settings file. Somebody may edit the file before this
            # start has proved that its settings work.
            tried_settings = last_good.content()
            companion = Companion(
                prepared.settings,
                simulate,
                settings_path=path,
                restart=lambda: os.kill(os.getpid(), RESTART),
            )
        except Exception as error:
            if isinstance(error, JournalError):
                last_good.reset_count()  # the journal is at fault, not the settings
            manager.notify(STATUS=_reason(error))
            raise
        with companion:
            # Report readiness before the greeting, which asks for the Wi-Fi.
            with SystemdReporter(companion, manager):
                _report_start(companion, prepared, last_good.notice())
                greet(companion, is_first)
                freeze_objects()
                early_signal = signal.sigtimedwait(end_signals, SUCCESS_AFTER_S)
                was_ended_early = early_signal is not None
                if _have_settings_worked(companion, began_at_s, was_ended_early):
                    last_good.record_success(tried_settings)
                signal_number = (
                    early_signal.si_signo if early_signal else signal.sigwait(end_signals)
                )
            if signal_number != RESTART:
                manager.set_lamp_word(LampWord.STOPPING)
                manager.notify(STOPPING="1", STATUS="Ends; the game is kept")
                return
            manager.notify(STATUS="Restarts")
        is_first = False


def _have_settings_worked(companion: Companion, began_at_s: float, was_ended_early: bool) -> bool:
    """Return whether the service has run well enough to prove its settings.

    They are not proved if a loop is late. Otherwise there are three cases:

    - No signal came for `SUCCESS_AFTER_S`: that is long enough.
    - A signal came, and not even `SUCCESS_AFTER_S` have passed since the start began. Then a person
      has ended a service that worked.
    - A signal came after a slow start. It may come from systemd, because the start took too long,
      so the settings are not proved.

    :param began_at_s: monotonic time at which this start began
    :param was_ended_early: whether a signal came before the service had run for `SUCCESS_AFTER_S`
    """
    was_quick = time.monotonic() - began_at_s < SUCCESS_AFTER_S
    return (was_quick or not was_ended_early) and not companion.health.late_loops()


def _report_start(companion: Companion, prepared: _Preparation, settings_notice: str) -> None:
    """Show what has happened to settings and games before the start.

    Every sentence appears in the greeting. Sentences about trouble also appear on every page, and
    those about success on the settings page. Settings that are no longer used are logged.

    :param settings_notice: sentence that the last settings that worked were restored, or empty
    """
    trouble = joined(" ", (prepared.trouble, settings_notice))
    if trouble:
        companion.table.set_notice("upkeep", trouble)
    companion.upkeep.start_notice = prepared.success
    # These sentences come before the notes on cameras and pins.
    companion.notes[:0] = [sentence for sentence in (trouble, prepared.success) if sentence]
    path = companion.settings_path
    for sentence in retired_setting_notices(path):
        log.warning("%s: %s", path, sentence)
        companion.notes.append(sentence)


def _reason(error: Exception) -> str:
    """Return why a start failed, as a line for the status in systemd."""
    if isinstance(error, CompanionError):
        return error.message
    return f"{type(error).__name__}: {error}"


def freeze_objects() -> None:
    """Exclude the objects of the running service from later garbage collections.

    With them, each collection would stop the table for 50 to 150 ms.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _carry_out_staged(load_settings: Callable[[], Settings], path: Path) -> _Preparation:
    """Carry out a staged restore or deletion, if there is one, and load the settings.

    If the disk refuses, nothing is restored or deleted, and the service starts nevertheless.
    """
    from companion.maintenance.backup import apply_staged  # noqa: PLC0415 - brings the games, which other commands do without

    settings = load_settings()
    try:
        success = apply_staged(settings, path)
    except SystemTrouble as error:
        return _Preparation(settings, success="", trouble=error.message)
    # A backup may have replaced the settings file, so read it again.
    return _Preparation(load_settings() if success else settings, success, trouble="")


# ---- reports to the manager ----------------------------------------------------------------------


class SystemdReporter(Closeable):
    """Reports the state of one companion to systemd, from its own thread.

    A context manager whose `close` may be called twice. Without systemd it does nothing. The
    watchdog is fed only while no loop is late. If the table's loop hangs, systemd kills the process
    and restarts it, and the game continues from the journal.
    """

    def __init__(self, companion: Companion, manager: ServiceManager) -> None:
        self._companion = companion
        self._manager = manager
        self._has_trouble = False
        self._status = ""
        self._stop = threading.Event()
        # Feed the watchdog three times in its interval, so that one late report does no harm.
        self._pause_s = min(REPORT_INTERVAL_S, (manager.watchdog_s or math.inf) / 3)
        self._thread = threading.Thread(target=self._run, name="manager-notifier", daemon=True)
        if manager.has_receiver:
            companion.table.connect(TableListener(on_lamps=self._note_lamps))
            manager.notify(READY="1", **self._update_status())
            self._thread.start()

    def _note_lamps(self, _lamps: object, has_trouble: bool) -> None:
        self._has_trouble = has_trouble

    def _run(self) -> None:
        while not self._stop.wait(self._pause_s):
            fields = self._update_status()
            if fields:
                self._manager.notify(**fields)

    def _update_status(self) -> dict[str, str]:
        """Set the system lamp, and return the fields to report to systemd.

        `WATCHDOG` is among them only if no loop is late, and `STATUS` only if it has changed.
        """
        late = self._companion.health.late_loops()
        own_wifi = self._companion.own_wifi
        word = LampWord.HOTSPOT if own_wifi and own_wifi.hotspot else LampWord.READY
        self._manager.set_lamp_word(LampWord.FAULT if late or self._has_trouble else word)
        fields = {} if late else {"WATCHDOG": "1"}
        status = late_loops_text(late) if late else status_text(self._companion.table)
        if status != self._status:
            self._status = fields["STATUS"] = status
        return fields

    def close(self) -> None:
        """Stop reporting. Wait for a report that is being made."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()


def late_loops_text(late: Mapping[str, float]) -> str:
    """Return which loops are late, as a line for systemd's status.

    :param late: seconds since the last round of each late loop

    >>> late_loops_text({"table": 12.3})
    'Not alive: table, silent for 12 s'
    """
    return "Not alive: " + ", ".join(
        f"{name}, silent for {age_s:.0f} s" for name, age_s in sorted(late.items())
    )


def status_text(table: Table) -> str:
    """Return the table's public sign, in English.

    It reveals nothing that is not on the table screen.
    """
    view = table.view()
    return f"{view.title}: {view.sign.text}" if view.game else view.sign.text
