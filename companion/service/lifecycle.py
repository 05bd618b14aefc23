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
from companion.maintenance.settings.last_good import WELL_AFTER_S, LastGoodSettings
from companion.service.systemd import Manager, ManagerNotifier, Word

if TYPE_CHECKING:
    from companion.service.app import Companion

log = logging.getLogger(__name__)

RESTART = signal.SIGUSR1
"""What begins the service anew: sent by the settings page, or by `kill -USR1`."""

MALLOC = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0"}
"""The service's units say so, too: each of a hundred threads would keep freed memory for itself, 20 MB in a night."""


def run(
    settings_of: Callable[[], Settings],
    path: Path,
    simulate: bool | None,
    greet: Callable[[Companion, bool], None],
) -> None:
    """Run the table until SIGTERM or SIGINT. `greet` is told of every start, and whether it is the first.

    A backup that waits is restored before anything is opened. If a restart fails with new settings, those of before
    are used again and the pages say why. Three failed starts bring back the last settings that worked.
    """
    save_memory()
    # Blocked before libraries start threads of their own: an end waits until main asks for it, in no other thread and
    # inside no lock.
    ends = {signal.SIGTERM, signal.SIGINT, RESTART}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    from companion.service.app import Companion  # noqa: PLC0415 - brings camera and web libraries, which other commands spare

    def begin(settings: Settings) -> tuple[Companion, ManagerNotifier]:
        companion = Companion(
            settings, simulate, settings_path=path, restart=lambda: os.kill(os.getpid(), RESTART)
        )
        try:
            return companion, ManagerNotifier(
                companion, manager
            )  # ready before the greeting, which asks for the Wi-Fi
        except BaseException:
            companion.close()
            raise

    manager = Manager()
    last_good = LastGoodSettings(path)
    before: Settings | None = None
    trouble = ""
    while True:
        begun_s = time.monotonic()
        try:
            last_good.starting()
            settings, notices, waits = _restore_backup(settings_of, path)
            tried: bytes | None = last_good.content()
            companion, attendant = begin(settings)
        except Exception as error:
            if isinstance(error, JournalError):
                last_good.excuse()  # the games are at fault, whatever the settings say
            if before is None or not isinstance(error, CompanionError):
                manager.tell(STATUS=_why(error))
                raise
            settings, notices, waits, tried = before, "", "", None
            companion, attendant = begin(settings)
            trouble = say(
                "The new settings cannot be used, so the previous ones are in use: {why}",
                why=error.message,
            )
        with companion:
            with attendant:
                _tell(companion, joined(" ", (trouble, waits, last_good.told())), notices)
                _tell_retired(companion, path)
                trouble = ""
                greet(companion, before is None)
                spare_collections()
                got = signal.sigtimedwait(ends, WELL_AFTER_S)
                is_quick = (
                    time.monotonic() - begun_s < WELL_AFTER_S
                )  # nobody ended it because it came up too late
                if tried is not None and (got is None or is_quick) and not companion.vitals.late():
                    last_good.succeeded(tried)
                is_over = (signal.sigwait(ends) if got is None else got.si_signo) != RESTART
            if is_over:
                manager.show(Word.STOPPING)
                manager.tell(STOPPING="1", STATUS="Ends; the game is kept")
                return
            manager.tell(STATUS="Restarts")
        before = settings


def _tell(companion: Companion, trouble: str, told: str) -> None:
    """Say at the start what has happened to settings and games. Trouble is told on the pages, too."""
    if trouble:
        companion.table.notice("upkeep", trouble)
    companion.upkeep.done = told
    companion.found[:0] = [sentence for sentence in (trouble, told) if sentence]


def _tell_retired(companion: Companion, path: Path) -> None:
    """Say which settings of the file are no longer used. The settings page and the doctor say it, too."""
    for sentence in retired_settings(path):
        log.warning("%s: %s", path, sentence)
        companion.found.append(sentence)


def _why(error: Exception) -> str:
    return (
        error.message if isinstance(error, CompanionError) else f"{type(error).__name__}: {error}"
    )


def spare_collections() -> None:
    """Leave what the service is made of out of later garbage collections: going through it takes 50 to 150 ms."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _restore_backup(settings_of: Callable[[], Settings], path: Path) -> tuple[Settings, str, str]:
    """Return the settings once a waiting backup is restored, what was done, and why it still waits."""
    from companion.maintenance.backup import apply_staged  # noqa: PLC0415 - brings the games, which other commands spare

    settings = settings_of()
    try:
        notices = apply_staged(settings, path)
    except SystemTrouble as error:  # what can be played is played
        return settings, "", error.message
    return (settings_of() if notices else settings), notices, ""
