"""Who speaks the table's sentences: the machine, a table screen, or nobody in quiet hours.

What is said is in `companion.speech.announcer`.
"""

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
from companion.table.follower import TableFollower
from companion.table.table import Table

# Maximum interval in seconds between two steps, so that quiet hours begin and end on time.
_MAX_STEP_INTERVAL_S = 1.0


def is_in_quiet_hours(hours: QuietSettings, wall_s: float, zone: tzinfo | None = None) -> bool:
    """Return whether a Unix time is within the quiet hours.

    Quiet hours may include midnight. If they begin at the time at which they end, it is always
    quiet. They follow local time, so they are an hour shorter or longer in a night in which the
    clocks change.

    :param wall_s: the Unix time in seconds
    :param zone: the time zone, or None for the machine's own

    >>> from datetime import UTC
    >>> hours = QuietSettings("22:00", "08:00")
    >>> [is_in_quiet_hours(hours, hour * 3600.0, UTC) for hour in (21, 22, 31, 32)]
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
        """Whether the speech program is installed."""

    def say(self, text: str, language: str) -> None:
        """Queue a sentence and return at once."""

    def hush(self) -> None:
        """Stop speaking, and drop the sentences that are queued."""

    def use_settings(self, settings: VoiceSettings) -> None:
        """Use other settings of volume and speed."""


class SpeechPolicy(Closeable):
    """Decides who speaks, and passes sentences to the machine's voice if the machine does.

    The service opens one for its table, starts it and closes it. `start` begins a thread that calls
    `step` after every change of the table, and at least once a second. `close` ends the thread and
    may be called twice. Table screens with a voice ask from their own threads, by the port
    `companion.core.ports.Spoken`.

    :param set_silent: switches the panel's tones off (True) or on (False). It is called at once,
        and again whenever that changes. None if there is no panel
    :param voice: the machine's voice. None if it has none
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
        # What `set_silent` was called with last. None before the first call.
        self._is_panel_silent: bool | None = None
        # Number of the last sentence that `step` has seen, whether somebody spoke it or nobody.
        self._last_number = 0
        self.speaking_screens = 0
        """Number of screens that speak."""
        self.screen_may_speak = False
        """Whether the settings and the hour let a screen speak."""
        self.quiet_until: str | None = None
        """Time at which the present quiet hours end, such as `08:00`.

        None outside of quiet hours. Empty if they never end.
        """
        self._lock = threading.Lock()
        self._follower = TableFollower(table, "speech", self.step, _MAX_STEP_INTERVAL_S)
        self._update_quiet_hours()
        # The first call returns nothing: what happened before the start would be old news.
        self._announcer.recent()

    # ---- what screens ask, from any thread ----

    @property
    def volume(self) -> float:
        """Volume of the voice from 0 to 1."""
        return self._settings.voice.volume

    @property
    def speed(self) -> float:
        """Speed of the voice. 1 is the speed of a calm speaker."""
        return self._settings.voice.speed

    def recent(self) -> tuple[Utterance, ...]:
        """Return the last sentences, oldest first."""
        return self._announcer.recent()

    def note_speaking_screen(self, has_started: bool) -> None:
        """Record that one more screen has started to speak, or that one has stopped."""
        with self._lock:
            self.speaking_screens += 1 if has_started else -1

    # ---- settings and time ----

    def use_settings(self, settings: Settings) -> None:
        """Use other settings of voice, quiet hours and panel, at once."""
        self._settings = settings
        self._announcer.says_everything = settings.voice.says == "everything"
        self._update_quiet_hours()
        if self._voice:
            self._voice.use_settings(settings.voice)
            if not self._machine_may_speak():
                self._voice.hush()

    def step(self) -> None:
        """Begin or end quiet hours, and have new sentences spoken."""
        self._update_quiet_hours()
        language = best_language((self._settings.table.language,))
        for utterance in self._announcer.recent():
            if utterance.number <= self._last_number:
                continue
            # A sentence that nobody speaks counts as spoken, because later it would be old news.
            self._last_number = utterance.number
            if self._voice and self._machine_may_speak():
                self._voice.say(translate(utterance.text, language), language)

    def start(self) -> None:
        """Run `step` after every change of the table, and every `_MAX_STEP_INTERVAL_S`."""
        self._follower.start()

    def close(self) -> None:
        """End the thread."""
        self._follower.close()

    # ---- helpers ----

    def _machine_may_speak(self) -> bool:
        """Return whether the machine may speak now.

        If the settings leave open who speaks (`auto`), a screen that speaks comes first.
        """
        if self.quiet_until is not None:
            return False
        speaker = self._settings.voice.by
        return speaker == "machine" or (speaker == "auto" and self.speaking_screens == 0)

    def _update_quiet_hours(self) -> None:
        """Begin or end quiet hours by the wall clock. Panel and voice are silent meanwhile."""
        hours = self._settings.quiet
        is_quiet = is_in_quiet_hours(hours, self._clock.wall_s())
        if not is_quiet:
            self.quiet_until = None
        else:
            if self.quiet_until is None and self._voice:
                self._voice.hush()
            # If quiet hours begin at the time at which they end, it is always quiet.
            self.quiet_until = hours.end if hours.begin != hours.end else ""
        self.screen_may_speak = self._settings.voice.by in ("auto", "screen") and not is_quiet
        is_panel_silent = self._settings.panel.silent or is_quiet
        if is_panel_silent != self._is_panel_silent:
            self._is_panel_silent = is_panel_silent
            if self._set_silent:
                self._set_silent(is_panel_silent)
