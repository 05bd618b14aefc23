"""The service from start to end: begun anew when it is told to, with the settings file read again."""

from __future__ import annotations

import gc
import logging
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from companion.core.config import Settings, retired_settings
from companion.core.errors import CompanionError, JournalError, SystemTrouble
from companion.core.i18n import joined, say
from companion.core.resources import save_memory
from companion.maintenance.releases.releases import TOLD
from companion.maintenance.settings.trial import PROBATION_S, SettingsTrial
from companion.service.systemd import Manager, ManagerNotifier, Word

if TYPE_CHECKING:
    from companion.service.app import Companion

log = logging.getLogger(__name__)

RESTART = signal.SIGUSR1
"""What begins the service anew: sent by the settings page, or by `kill -USR1`."""

MALLOC = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"}
"""The service's units say so, too: each of a hundred threads would keep freed memory for itself, 20 MB in a night."""


def run(
    settings_of: Callable[[], Settings], path: Path, simulate: bool | None, greet: Callable[[Companion, bool], None]
) -> None:
    """Run the table until SIGTERM or SIGINT; `greet` is told of every start, and whether it is the first.

    A backup that waits is taken back before anything is opened. Settings with which the service cannot begin are told
    on the pages, and those of before are used again: nobody has to find a keyboard. What a page has written is on trial
    until the service was well for a while (`companion.maintenance.settings.trial`).
    """
    save_memory()
    # Blocked before libraries start threads of their own: an end waits until main asks for it, in no other thread and
    # inside no lock.
    ends = {signal.SIGTERM, signal.SIGINT, RESTART}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    from companion.service.app import Companion  # noqa: PLC0415 - brings camera and web libraries, which other commands spare

    def begin(settings: Settings) -> tuple[Companion, ManagerNotifier]:
        companion = Companion(settings, simulate, settings_path=path, restart=lambda: os.kill(os.getpid(), RESTART))
        try:
            return companion, ManagerNotifier(companion, manager)  # ready before the greeting, which asks for the Wi-Fi
        except BaseException:
            companion.close()
            raise

    manager = Manager()
    trial = SettingsTrial(path)
    before: Settings | None = None
    trouble = ""
    while True:
        begun_s = time.monotonic()
        try:
            settings, told, waits = _settled(settings_of, path)
            if put_back := trial.starting():
                trouble, settings = put_back, settings_of()
            companion, attendant = begin(settings)
        except Exception as error:
            if isinstance(error, JournalError):
                trial.excuse()  # the games are at fault, whatever the settings say
            elif put_back := trial.put_back(_why(error)):
                trouble = put_back  # the file is the one of before: once more
                continue
            if before is None or not isinstance(error, CompanionError):
                manager.tell(STATUS=_why(error))
                raise
            settings, told, waits = before, "", ""
            companion, attendant = begin(settings)
            trouble = say("The new settings cannot be used, so the previous ones are in use: {why}", why=error.message)
        with companion:
            with attendant:
                _tell(companion, joined(" ", (trouble, waits)), told, _put_back(settings))
                _tell_retired(companion, path)
                trouble = ""
                greet(companion, before is None)
                spare_collections()
                is_over = _awaited(ends, trial, companion, begun_s) != RESTART
            if is_over:
                manager.show(Word.STOPPING)
                manager.tell(STOPPING="1", STATUS="Ends; the game is kept")
                return
            manager.tell(STATUS="Restarts")
        before = settings


def _tell(companion: Companion, trouble: str, told: str, put_back: str) -> None:
    """Say at the start what has happened to settings, games and releases; faults on the pages, too."""
    if fault := joined(" ", (trouble, put_back)):
        companion.table.notice("upkeep", fault)
    companion.upkeep.done = told
    companion.found[:0] = [sentence for sentence in (trouble, told, put_back) if sentence]


def _tell_retired(companion: Companion, path: Path) -> None:
    """Say which settings of the file are no longer used; the settings page and the doctor say it, too."""
    for sentence in retired_settings(path):
        log.warning("%s: %s", path, sentence)
        companion.found.append(sentence)


def _awaited(ends: set[signal.Signals], trial: SettingsTrial, companion: Companion, begun_s: float) -> int:
    """Wait for a signal. Settings on trial stay if all is well after a while, or when somebody ends it in good time."""
    while trial.is_on:
        got = signal.sigtimedwait(ends, PROBATION_S)
        is_quick = time.monotonic() - begun_s < PROBATION_S  # not one that systemd ends because it came up too late
        if (got is None or is_quick) and not companion.vitals.late():
            trial.proven()
        if got is not None:
            return got.si_signo
    return signal.sigwait(ends)


def _why(error: Exception) -> str:
    return error.message if isinstance(error, CompanionError) else f"{type(error).__name__}: {error}"


def spare_collections() -> None:
    """Leave what the service is made of out of later garbage collections: going through it takes 50 to 150 ms."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _put_back(settings: Settings) -> str:
    """That a new release did not come up and the old one was taken again, if so; told once."""
    state = settings.journal_path.parent
    if not (state / TOLD).exists():
        return ""
    from companion.maintenance.releases.update import switched_back_words  # noqa: PLC0415 - hardly ever needed

    return switched_back_words(state)


def _settled(settings_of: Callable[[], Settings], path: Path) -> tuple[Settings, str, str]:
    """The settings once a backup that waits has been taken back, what was done, and why it still waits."""
    from companion.maintenance.backup import apply_staged  # noqa: PLC0415 - brings the games, which other commands spare

    settings = settings_of()
    try:
        told = apply_staged(settings, path)
    except SystemTrouble as error:  # what can be played is played
        return settings, "", error.message
    return (settings_of() if told else settings), told, ""
