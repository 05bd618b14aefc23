"""How loud the table is: the voice that says what happens, and the hours of silence and dim
lamps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from companion.core.clock import Clock
from companion.core.config import Settings, VoiceSettings
from companion.core.i18n import best_language, translate
from companion.core.ports import Closeable, Utterance
from companion.speech.announcer import Announcer
from companion.speech.quiet_hours import is_quiet
from companion.table.follower import Follower
from companion.table.table import Table

LOOK_S = 1.0
"""How often the clock on the wall is looked at."""


class Voice(Protocol):
    """The machine's own voice."""

    @property
    def is_there(self) -> bool:
        """Return whether it can speak."""

    def say(self, text: str, language: str) -> None:
        """Speak a sentence, without waiting."""

    def hush(self) -> None:
        """Stop speaking."""

    def change(self, settings: VoiceSettings) -> None:
        """Set another volume and speed."""


class SpeechPolicy(Closeable):
    """Follows a table and the clock on the wall; a context manager, and `close` may be called
    twice.

    `voice` is the machine's, None: it has none. `set_silent` (None: there is no panel) is told
    whether to be silent, at once and whenever that changes. Without `start` nothing happens by
    itself: `step` does what is due. It is what screens that speak ask
    (`companion.core.ports.Spoken`).
    """

    def __init__(
        self,
        table: Table,
        settings: Settings,
        clock: Clock,
        set_silent: Callable[[bool], None] | None = None,
        voice: Voice | None = None,
    ) -> None:
        self._table = table
        self._settings = settings
        self._clock = clock
        self._set_silent = set_silent
        self._voice = voice
        self._announcer = Announcer(lambda: table.version, table.view, clock.wall_s())
        self._announcer.everything = settings.voice.says == "everything"
        self._is_silent: bool | None = None
        self._spoken = 0
        self.screens = 0
        self.screen_may_speak = False
        """Whether the settings and the hour let a screen speak."""
        self.quiet_until: str | None = None
        """When the quiet hours end that hold now. Empty: never. None: none hold."""
        self._lock = threading.Lock()
        self._follower = Follower(table, "speech", self.step, LOOK_S)
        self._settle()
        # what was noted before the start is not said any more
        self._spoken = max(
            (announcement.number for announcement in self._announcer.recent()), default=0
        )

    # ---- what screens ask, from any thread ----

    @property
    def volume(self) -> float:
        """Return the voice's loudness from 0 to 1."""
        return self._settings.voice.volume

    @property
    def speed(self) -> float:
        """Return the voice's speed, where 1 is a calm talker's."""
        return self._settings.voice.speed

    def recent(self) -> tuple[Utterance, ...]:
        """Return the last sentences, oldest first."""
        return self._announcer.recent()

    def screen_speaks(self, speaks: bool) -> None:
        """Note that a screen has begun to speak, or has ended."""
        with self._lock:
            self.screens += 1 if speaks else -1

    # ---- settings and time ----

    def change(self, settings: Settings) -> None:
        """Take other settings of voice, quiet hours and panel, at once."""
        self._settings = settings
        self._announcer.everything = settings.voice.says == "everything"
        self._settle()
        if self._voice:
            self._voice.change(settings.voice)
            if not self._machine_speaks():
                self._voice.hush()

    def step(self) -> None:
        """Do what is due: quiet hours that begin or end, sentences that were not said yet."""
        self._settle()
        fresh = [
            announcement
            for announcement in self._announcer.recent()
            if announcement.number > self._spoken
        ]
        if not fresh:
            return
        # what nobody speaks counts as said: later it would be old news
        self._spoken = fresh[-1].number
        if self._voice and self._machine_speaks():
            language = best_language((self._settings.table.language,))
            for announcement in fresh:
                self._voice.say(translate(announcement.text, language), language)

    def start(self) -> None:
        """Step by itself after every change of the table."""
        self._follower.start()

    def close(self) -> None:
        """End the thread."""
        self._follower.close()

    # ---- inside ----

    def _machine_speaks(self) -> bool:
        """Return whether it is the machine that speaks. A screen that does goes first."""
        by = self._settings.voice.by
        return self.quiet_until is None and (
            by == "machine" or (by == "auto" and self.screens == 0)
        )

    def _settle(self) -> None:
        """Look at the clock on the wall, and tell the panel whether to be silent, where that has
        changed.
        """
        hours = self._settings.quiet
        quiet = is_quiet(hours, self._clock.wall_s())
        # hours that begin when they end last for ever
        self.quiet_until = None if not quiet else hours.end if hours.begin != hours.end else ""
        self.screen_may_speak = self._settings.voice.by in ("auto", "screen") and not quiet
        is_silent = self._settings.panel.silent or quiet
        if is_silent != self._is_silent:
            self._is_silent = is_silent
            if self._set_silent:
                self._set_silent(is_silent)
            if self._voice and quiet:
                self._voice.hush()
