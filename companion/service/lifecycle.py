"""The service from start to end. On request it restarts and reads the settings file again."""

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
    """What was done before a start. The sentences are empty if there is nothing to say."""

    settings: Settings
    success: str
    """What was restored or deleted."""
    trouble: str
    """Why a restore or a deletion still waits."""


def run_service(
    load_settings: Callable[[], Settings],
    path: Path,
    simulate: bool | None,
    greet: Callable[[Companion, bool], None],
) -> None:
    """Run the table until SIGTERM or SIGINT, and restart it at every `RESTART`.

    `load_settings` reads the settings file, whose path is `path`. `simulate` is as in `Companion`.
    `greet` is called at every start, with whether it is the first.

    A restore or deletion that is staged is carried out before anything is opened. After three
    failed starts the last settings that worked are restored (`LastGoodSettings`). Raises whatever
    made a start fail.
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
        begun_s = time.monotonic()
        try:
            # The start counts as failed until `record_success` or `reset_count` clears the count.
            last_good.count_start()
            prepared = _carry_out_staged(load_settings, path)
            # The settings file as it is now. Somebody may edit it before it has proved to work.
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
                if _have_settings_worked(companion, begun_s, was_ended_early):
                    last_good.record_success(tried_settings)
                number = early_signal.si_signo if early_signal else signal.sigwait(end_signals)
            if number != RESTART:
                manager.set_lamp_word(LampWord.STOPPING)
                manager.notify(STOPPING="1", STATUS="Ends; the game is kept")
                return
            manager.notify(STATUS="Restarts")
        is_first = False


def _have_settings_worked(companion: Companion, begun_s: float, was_ended_early: bool) -> bool:
    """Return whether the service has run well enough to prove its settings.

    A loop that is late proves the opposite. Otherwise there are two cases. Without an early end the
    service has run for `SUCCESS_AFTER_S`, which is enough. An early end is enough if the whole run
    was shorter than that: then somebody has ended the service. After a slow start the signal may
    come from systemd, because its timeout has passed.

    :param begun_s: monotonic time at which this start has begun
    :param was_ended_early: whether a signal has ended the service before `SUCCESS_AFTER_S`
    """
    was_quick = time.monotonic() - begun_s < SUCCESS_AFTER_S
    return (was_quick or not was_ended_early) and not companion.health.late_loops()


def _report_start(companion: Companion, prepared: _Preparation, settings_notice: str) -> None:
    """Show what has happened to settings and games before the start.

    Everything appears in the greeting. Trouble is also a notice on every page, success one on the
    settings page, and settings that are no longer used are logged.

    :param settings_notice: that the last settings that worked were restored, or empty
    """
    trouble = joined(" ", (prepared.trouble, settings_notice))
    if trouble:
        companion.table.set_notice("upkeep", trouble)
    companion.upkeep.start_notice = prepared.success
    # Put both before the notes that are there already.
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

    If the disk refuses, the service starts with the games that are here.
    """
    from companion.maintenance.backup import apply_staged  # noqa: PLC0415 - brings the games, which other commands do without

    settings = load_settings()
    try:
        success = apply_staged(settings, path)
    except SystemTrouble as error:  # play without the backup
        return _Preparation(settings, "", error.message)
    # A backup also brings its own settings.
    return _Preparation(load_settings() if success else settings, success, "")


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
        # Feed the watchdog three times in its interval, so that one late round does no harm.
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

        They are the watchdog's if no loop is late, and the status if it has changed.
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
        """Stop reporting, once a report that is being made is done."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()


def late_loops_text(late: Mapping[str, float]) -> str:
    """Return which loops are late, in words. `late` has the seconds since their last round.

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
