"""Sentences that the table speaks, for browsers that speak them instead of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Utterance:
    """A sentence to be spoken. `number` counts up, also across restarts of the service."""

    number: int
    text: str


class Spoken(Protocol):
    """What has been spoken, and how, for a table screen with a voice. Any thread may use it."""

    @property
    def volume(self) -> float:
        """Loudness from 0 to 1."""

    @property
    def speed(self) -> float:
        """Speed, where 1 is that of a calm speaker."""

    @property
    def screen_may_speak(self) -> bool:
        """Whether the settings and the time of day allow a screen to speak."""

    @property
    def quiet_until(self) -> str | None:
        """End of the current quiet hours, such as `08:00`.

        None outside quiet hours. Empty if they never end.
        """

    def recent(self) -> tuple[Utterance, ...]:
        """Return the last sentences, oldest first. Everybody at the table may hear all of them."""

    def note_speaking_screen(self, has_started: bool) -> None:
        """Record that one more screen has started to speak, or that one has stopped."""
