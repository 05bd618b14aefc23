"""What the settings page and the check page ask of the installation, from any thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from companion.core.config import PanelSettings, Settings
from companion.core.event_cues import EventCue
from companion.core.kit import Seat
from companion.core.ports import Cue


class Upkeep(Protocol):
    """Settings, backup, restore and reset of a running service."""

    path: Path
    """The settings file, which need not exist yet."""
    can_restart: bool
    done: str
    """What this start has restored or deleted, in words; empty: nothing."""

    def running(self) -> Settings:
        """What the service goes by now."""

    def ordered(self) -> Mapping[str, object]:
        """What the command line has set for this run, by dotted name."""

    def on_file(self) -> tuple[Settings, str]:
        """What the file says, and a mark of it for `change`; raises `ConfigError`."""

    def put_back(self) -> str:
        """That settings of the page were put back, and why; empty: they were not."""

    def change(self, changes: Mapping[str, object], seen: str) -> None:
        """Write values into the file and go by those that work at once.

        Settings with which the service would not come up are refused, and those that a page may not write. Raises
        `Stale` when the file has changed since, `ConfigError`, `SystemTrouble`; then nothing is written.
        """

    def restart(self) -> None:
        """Begin anew in a moment; only where `can_restart`."""

    def backup(self, photographs: bool, target: IO[bytes]) -> str:
        """Write a backup; answers a sentence on what is in it. Raises `CompanionError`."""

    def restore(self, source: Path) -> str:
        """Check a backup and lay it ready for the next start; answers what is in it. Raises `Malformed`."""

    def staged(self) -> bool:
        """Does something wait for the next start?"""

    def unstage(self) -> None:
        """What waits for the next start is not done."""

    def reset(self, games: bool) -> None:
        """Settings as delivered, both seats free, a game that is on ended; `games`: all go at the next start."""


@dataclass(frozen=True)
class Trial:
    """A check of the panel: `down` are the keys that are pressed, `tried` those that have been, `lit` the lamps.

    `left_s`: so long it goes on by itself; 0: none is on.
    """

    left_s: float
    down: frozenset[str]
    tried: frozenset[str]
    lit: frozenset[str]


class PanelCheck(Protocol):
    """Keys, lamps and tones tried out one by one; meanwhile keys have no effect on the table."""

    buttons: tuple[str, ...]
    lamps: tuple[str, ...]
    has_buzzer: bool

    def begin(self) -> None:
        """Begin, or begin anew: nothing is tried out yet."""

    def renew(self) -> None:
        """Somebody still looks: without this it ends within seconds."""

    def end(self) -> None:
        """Lamps show the table's state again, keys count again."""

    def light(self, lamp: str, on: bool) -> None:
        """Light a lamp, or darken it; raises KeyError for one that there is not."""

    def play(self, cue: Cue | EventCue, seats: frozenset[Seat]) -> None:
        """Sound and show a cue."""

    def trial(self) -> Trial:
        """How it stands now."""


@dataclass(frozen=True)
class CheckRoom:
    """What the check page shows; `panel` None: there is none, and `why_not` says why and what to do.

    `broker` answers how the connection to the broker of the house is; empty: none is wanted.
    """

    settings: PanelSettings
    panel: PanelCheck | None
    why_not: str
    is_simulated: bool
    broker: Callable[[], str] = lambda: ""
