"""Sentences that the table speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Utterance:
    """A sentence to be spoken. `number` counts up, also across restarts of the service."""

    number: int
    text: str


class Spoken(Protocol):
    """The spoken sentences, for a screen with a voice. Any thread may use it."""

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
        """End of the current quiet hours, such as 08:00. Empty if they never end, None outside
        quiet hours.
        """

    def recent(self) -> tuple[Utterance, ...]:
        """Return the last sentences, oldest first. None of them is secret from anybody at the
        table.
        """

    def screen_speaks(self, speaks: bool) -> None:
        """Record that a screen has started or stopped speaking."""
