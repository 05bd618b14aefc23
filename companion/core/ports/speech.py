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
        """Return the loudness from 0 to 1."""

    @property
    def speed(self) -> float:
        """Return the speed, where 1 is a calm talker's."""

    @property
    def screen_may_speak(self) -> bool:
        """Return whether the settings and the hour let a screen speak."""

    @property
    def quiet_until(self) -> str | None:
        """Return when the quiet hours end that hold now, such as 08:00.

        Empty: never, None: none hold.
        """

    def recent(self) -> tuple[Utterance, ...]:
        """Return the last sentences, oldest first.

        Nothing that somebody at the table may not know.
        """

    def screen_speaks(self, speaks: bool) -> None:
        """Note that a screen has begun to speak, or has ended."""
