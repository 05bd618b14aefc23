"""The reveal as a play: in which beat each event of a stage is shown and heard.

In beat 0 hands' moves slide, all together. Every further beat shows what happened, in its order; events of one kind
that follow each other share one. Who was hit moves home last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from companion.games.base import Event
from companion.games.events import Reach


def beats_of(events: Sequence[Event]) -> tuple[int, ...]:
    """Return the beat of each event, from 1. It is 0 for one that is neither drawn nor heard."""
    beats, last, beat = [], None, 0
    for event in events:
        if not _is_shown(event):
            beats.append(0)
            continue
        beat += event.kind is not last
        last = event.kind
        beats.append(beat)
    return tuple(beats)


def _is_shown(event: Event) -> bool:
    look = event.kind.look
    return bool(
        event.edge or event.kind.cue or look.around or look.swells or look.reach is not Reach.NONE
    )


def tones_of(events: Sequence[Event]) -> str:
    """Return what sounds in which beat, for the script: `1 A5 120 ·40 A4 60|2 …`."""
    heard: Iterable[str] = (
        f"{beat} {event.kind.cue.tone}"
        for event, beat in zip(events, beats_of(events), strict=True)
        if event.kind.cue and beat
    )
    return "|".join(dict.fromkeys(heard))
