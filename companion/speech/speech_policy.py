"""Who speaks the table's sentences, the machine or a screen, and when nobody does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Protocol

from companion.core.clock import Clock
from companion.core.config import QuietSettings, Settings, VoiceSettings
from companion.core.i18n import best_language, translate
from companion.core.ports import Closeable, Utterance
from companion.speech.announcer import Announcer
from companion.table.follower import Follower
from companion.table.table import Table

# Maximum interval in seconds between two steps, so that quiet hours begin and end on time.
_MAX_STEP_INTERVAL_S = 1.0


def is_quiet(hours: QuietSettings, wall_s: float, zone: tzinfo | None = None) -> bool:
    """Return whether a Unix time is within the quiet hours.

    `zone` is the time zone, or None for the machine's own. Quiet hours may include midnight. They
    follow local time, so they are an hour shorter or longer in a night in which the clocks change.

    >>> from datetime import UTC
    >>> [is_quiet(QuietSettings("22:00", "08:00"), hour * 3600.0, UTC) for hour in (21, 22, 31, 32)]
    [False, True, True, False]
    """
    if not hours.begin or not hours.end:
        return False
    now = datetime.fromtimestamp(wall_s, zone).strftime("%H:%M")
    if hours.begin < hours.end:
        return hours.begin <= now < hours.end
    return now >= hours.begin or now < hours.end


class Voice(Protocol):
    """The machine's own voice: the port behind which `hardware/voice.py` runs a speech program."""

    @property
    def is_installed(self) -> bool:
        """Return whether the speech program is installed."""

    def say(self, text: str, language: str) -> None:
        """Queue a sentence and return at once."""

    def hush(self) -> None:
        """Stop speaking, and drop the sentences that are queued."""

    def change(self, settings: VoiceSettings) -> None:
        """Set another volume and speed."""


class SpeechPolicy(Closeable):
    """Speaks what happens at a table, except in quiet hours.

    The service opens one for its table, starts it and closes it. `start` begins a thread that calls
    `step` after every change of the table. `close` ends it and may be called twice.

    `voice` is the machine's, or None if it has none. `set_silent` silences the panel. It is called
    at once and at every change, and is None without a panel. Screens that speak ask from their own
    threads, by the port `companion.core.ports.Spoken`.
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
        says_everything = settings.voice.says == "everything"
        self._announcer = Announcer(
            lambda: table.version, table.view, clock.wall_s(), says_everything
        )
        self._is_silent: bool | None = None
        self._last_spoken = 0
        """Number of the last sentence that was spoken, or that nobody spoke."""
        self.screens = 0
        """Number of screens that speak."""
        self.screen_may_speak = False
        """Whether the settings and the hour let a screen speak."""
        self.quiet_until: str | None = None
        """Time at which the present quiet hours end. Empty for never, None outside of quiet
        hours.
        """
        self._lock = threading.Lock()
        self._follower = Follower(table, "speech", self.step, _MAX_STEP_INTERVAL_S)
        self._check_hours()
        # Have the announcer go past what happened before the start, which would be old news.
        self._announcer.recent()

    # ---- what screens ask, from any thread ----

    @property
    def volume(self) -> float:
        """Return the volume of the voice from 0 to 1."""
        return self._settings.voice.volume

    @property
    def speed(self) -> float:
        """Return the speed of the voice, where 1 is a calm speaker's."""
        return self._settings.voice.speed

    def recent(self) -> tuple[Utterance, ...]:
        """Return the last sentences, oldest first."""
        return self._announcer.recent()

    def screen_speaks(self, speaks: bool) -> None:
        """Note that a screen has started or stopped to speak."""
        with self._lock:
            self.screens += 1 if speaks else -1

    # ---- settings and time ----

    def change(self, settings: Settings) -> None:
        """Use other settings of voice, quiet hours and panel, at once."""
        self._settings = settings
        self._announcer.says_everything = settings.voice.says == "everything"
        self._check_hours()
        if self._voice:
            self._voice.change(settings.voice)
            if not self._machine_may_speak():
                self._voice.hush()

    def step(self) -> None:
        """Do what is due: start or end quiet hours, speak new sentences."""
        self._check_hours()
        language = best_language((self._settings.table.language,))
        for utterance in self._announcer.recent():
            if utterance.number <= self._last_spoken:
                continue
            # What nobody speaks counts as spoken, because later it would be old news.
            self._last_spoken = utterance.number
            if self._voice and self._machine_may_speak():
                self._voice.say(translate(utterance.text, language), language)

    def start(self) -> None:
        """Run `step` after every change of the table."""
        self._follower.start()

    def close(self) -> None:
        """End the thread."""
        self._follower.close()

    # ---- helpers ----

    def _machine_may_speak(self) -> bool:
        """Return whether the machine may speak now. With `auto` a speaking screen comes first."""
        if self.quiet_until is not None:
            return False
        speaker = self._settings.voice.by
        return speaker == "machine" or (speaker == "auto" and self.screens == 0)

    def _check_hours(self) -> None:
        """Check the wall clock, and tell the panel when silence begins or ends."""
        hours = self._settings.quiet
        is_quiet_now = is_quiet(hours, self._clock.wall_s())
        if not is_quiet_now:
            self.quiet_until = None
        else:
            # Quiet hours that begin when they end never end.
            self.quiet_until = hours.end if hours.begin != hours.end else ""
        self.screen_may_speak = self._settings.voice.by in ("auto", "screen") and not is_quiet_now
        is_silent = self._settings.panel.silent or is_quiet_now
        if is_silent != self._is_silent:
            self._is_silent = is_silent
            if self._set_silent:
                self._set_silent(is_silent)
            if self._voice and is_quiet_now:
                self._voice.hush()
