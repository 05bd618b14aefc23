"""The service from start to end: begun anew when it is told to, with the settings file read again."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from companion.allocator import save_memory
from companion.care.releases import TOLD
from companion.config import Settings
from companion.errors import CompanionError, SystemTrouble
from companion.languages import say
from companion.notify import Attendant, Manager, Word

if TYPE_CHECKING:
    from companion.app import Companion

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
    """Run the table until SIGTERM or SIGINT; `greet` is told of every start, and whether it is the first.

    A backup that waits is taken back before anything is opened. Settings with which the service cannot begin anew are
    told on the pages, and those of before stay in use: nobody has to find a keyboard.
    """
    save_memory()
    # Blocked before libraries start threads of their own: an end waits until main asks for it, in no other thread and
    # inside no lock.
    ends = {signal.SIGTERM, signal.SIGINT, RESTART}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    from companion.app import Companion  # noqa: PLC0415 - brings camera and web libraries, which other commands spare

    def begin(settings: Settings) -> tuple[Companion, Attendant]:
        companion = Companion(settings, simulate, settings_path=path, restart=lambda: os.kill(os.getpid(), RESTART))
        try:
            return companion, Attendant(companion, manager)  # ready before the greeting, which asks for the Wi-Fi
        except BaseException:
            companion.close()
            raise

    manager = Manager()
    before: Settings | None = None
    while True:
        try:
            settings, told = _settled(settings_of, path)
            companion, attendant = begin(settings)
        except CompanionError as error:
            if before is None:
                manager.tell(STATUS=error.message)
                raise
            settings = before
            companion, attendant = begin(settings)
            trouble = say("The new settings cannot be used, those of before are: {why}", why=error.message)
            companion.table.upkeep_is(trouble)
            told = trouble
        with companion:
            with attendant:
                if put_back := _put_back(settings):
                    companion.table.upkeep_is(put_back)
                companion.found[:0] = [sentence for sentence in (told, put_back) if sentence]
                greet(companion, before is None)
                spare_collections()
                is_over = signal.sigwait(ends) != RESTART
            if is_over:
                manager.show(Word.STOPPING)
                manager.tell(STOPPING="1", STATUS="Ends; the game is kept")
                return
            manager.tell(STATUS="Begins anew")
        before = settings


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
    from companion.care.update import switched_back_words  # noqa: PLC0415 - hardly ever needed

    return switched_back_words(state)


def _settled(settings_of: Callable[[], Settings], path: Path) -> tuple[Settings, str]:
    """The settings once a backup that waits has been taken back, and what was done."""
    from companion.care.backup import apply_staged  # noqa: PLC0415 - brings the games, which other commands spare

    settings = settings_of()
    try:
        told = apply_staged(settings, path)
    except SystemTrouble as error:  # it still waits; what can be played is played
        told = error.message
    return (settings_of(), told) if told else (settings, "")
