"""The beats of a reveal: in which order its events are shown and heard, and their tones.

A reveal runs in three parts. In beat 0 the pieces that hands will move slide to their new squares.
Each further beat shows and sounds events of one kind. After the last beat, pieces that were hit
slide to where they have to go. `web/static/live.js` animates the marks of a board beat by beat, and
plays the tones.
"""

from __future__ import annotations

from collections.abc import Sequence

from companion.games.base import Event
from companion.games.events import Reach


def assign_beats(events: Sequence[Event]) -> tuple[int, ...]:
    """Return the beat of each event, counted from 1, or 0 for one without drawing and tone."""
    beats = []
    last_kind = None
    beat = 0
    for event in events:
        if not _is_shown(event):
            beats.append(0)
            continue
        # consecutive events of one kind share a beat
        if event.kind is not last_kind:
            beat += 1
        last_kind = event.kind
        beats.append(beat)
    return tuple(beats)


def _is_shown(event: Event) -> bool:
    """Return whether an event is drawn or heard."""
    look = event.kind.look
    return bool(
        event.edge or event.kind.cue or look.around or look.swells or look.reach is not Reach.NONE
    )


def encode_tones(events: Sequence[Event]) -> str:
    """Encode the tones of all beats for `live.js`, such as `1 A5 120 ·40 A4 60|2 A4 60`.

    Bars separate the tones. Each begins with its beat, and then has notes with their milliseconds.
    `·40` is a pause of 40 ms.
    """
    tones = [
        f"{beat} {event.kind.cue.tone}"
        for event, beat in zip(events, assign_beats(events), strict=True)
        if event.kind.cue and beat
    ]
    # several events of one beat may have the same tone, which must sound once only
    return "|".join(dict.fromkeys(tones))
