"""Cues: the sound and light for an event in a game, and the notation of their tones.

A game declares the cues of its events together with the events (`companion.games.events`). The
table's own cues, such as "key accepted" or "board correct", are the rows of `hardware/cues.py`.
The panel plays both, and their tones are written in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

# Frequencies of the notes that cues use, in equal temperament at A4 = 440 Hz. There are no lower
# notes, because the piezo buzzer of the panel hardly sounds below A4.
NOTES_HZ = {"A4": 440.0, "E5": 659.26, "A5": 880.0, "C6": 1046.5, "E6": 1318.51, "A6": 1760.0}


class Note(NamedTuple):
    """One note of a tone, or a pause if its name is empty. `ms` is its length in milliseconds."""

    name: str
    ms: float

    @property
    def hz(self) -> float | None:
        """Frequency in Hz, or None for a pause."""
        return NOTES_HZ[self.name] if self.name else None


# Notes and pauses that are played one after another.
Tone = tuple[Note, ...]


@lru_cache(maxsize=256)
def parse_tone(text: str) -> Tone:
    """Parse a tone: notes, each followed by its milliseconds, and `·n` for a pause of n ms.

    Raises ValueError for any other text.

    >>> parse_tone("A5 60 ·40 E6 60")
    (Note(name='A5', ms=60.0), Note(name='', ms=40.0), Note(name='E6', ms=60.0))
    """
    notes = []
    words = iter(text.split())
    for word in words:
        if word.startswith("·"):
            notes.append(Note("", float(word[1:])))
        elif word in NOTES_HZ:
            if not (ms := next(words, "")):
                raise ValueError(f"{word} needs its milliseconds")
            notes.append(Note(word, float(ms)))
        else:
            raise ValueError(f"{word} is no note: known are {', '.join(NOTES_HZ)}")
    return tuple(notes)


class CueLamps(Enum):
    """What an event's cue does to a seat's lamps before they show their lasting state again."""

    NONE = "none"
    ORDER_LAMPS = "order_lamps"  # all order lamps are on for a moment
    TURN_FLASHES = "turn_flashes"  # the turn lamp flashes twice


@dataclass(frozen=True)
class EventCue:
    """The sound of an event, and its effect on the seats' lamps."""

    name: str
    """Name that is sent to the MQTT broker."""
    tone: str
    """Notes and pauses as a text, such as `A5 60 ·40 E6 60`. `parse_tone` reads it."""
    for_both: bool = False
    """Whether the lamps of both seats show the cue, whichever seat it concerns."""
    is_call: bool = False
    """Whether the cue calls people to the table. Then it has the priority of the cues that ask for
    orders. Otherwise it is a part of the reveal.
    """
    lamps: CueLamps = CueLamps.NONE
    words: str = ""
    """Name on the page Health, where it can be tried. Empty if it is not offered there."""

    def __post_init__(self) -> None:
        if not parse_tone(self.tone):
            raise ValueError(f"The cue {self.name} has no note")

    def __str__(self) -> str:
        return self.name
