"""What a league's parts share: one lock, one store, one clock, one version."""

from __future__ import annotations

import threading
from collections.abc import Callable

from companion.core.clock import Clock
from companion.league.ports import Changes, LeagueStore


class Ledger:
    """Whatever a part changes is written here, under `lock`, before anybody sees it."""

    def __init__(self, store: LeagueStore, clock: Clock, when_changed: Callable[[], None]) -> None:
        self.store = store
        self.clock = clock
        self.lock = threading.RLock()
        self.writing = threading.Lock()
        """Held, behind the other one, while the disk is waited for: what was decided first is written first."""
        self.version = 0
        """Another one after every change that a page could show."""
        self._when_changed = when_changed

    def write(self, changes: Changes) -> None:
        """Keep all of it, on the disk when this returns, or nothing; raises `SystemTrouble`."""
        with self.writing:
            self.store.write(changes)

    def changed(self) -> None:
        """Pages show something else from now on."""
        self.version += 1
        self._when_changed()
