"""The beats of a reveal: the order in which its events are shown and heard, and their tones.

In beat 0 pieces slide that hands move. Each further beat shows events of one kind. Pieces that were
hit slide after the last of them.
`web/static/live.js` animates the marks of a board beat by beat, and plays the tones.
"""

from __future__ import annotations

from collections.abc import Sequence

from companion.games.base import Event
from companion.games.events import Reach


def assign_beats(events: Sequence[Event]) -> tuple[int, ...]:
    """Return the beat of each event, counted from 1, or 0 if it is neither drawn nor heard."""
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

    Each has the number of its beat, then notes with their milliseconds. `·40` is a pause of 40 ms.
    """
    tones = [
        f"{beat} {event.kind.cue.tone}"
        for event, beat in zip(events, assign_beats(events), strict=True)
        if event.kind.cue and beat
    ]
    # equal tones in one beat sound once
    return "|".join(dict.fromkeys(tones))
