"""What is said aloud."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Utterance:
    """A sentence to be said aloud. `number` counts up, also over restarts of the service."""

    number: int
    text: str


class Spoken(Protocol):
    """What the table says aloud, for a screen that speaks; any thread may ask."""

    @property
    def volume(self) -> float:
        """0..1."""

    @property
    def speed(self) -> float:
        """1 is a calm talker's."""

    @property
    def screen_may_speak(self) -> bool:
        """Do the settings and the hour let a screen speak?"""

    @property
    def quiet_until(self) -> str | None:
        """When the quiet hours end that hold now, such as 08:00; empty: never, None: none hold."""

    def recent(self) -> tuple[Utterance, ...]:
        """The last sentences, oldest first; nothing that somebody at the table may not know."""

    def screen_speaks(self, speaks: bool) -> None:
        """A screen has begun to speak, or has ended."""
