"""In which beat of the reveal what is shown and heard."""

from __future__ import annotations

from companion.games.base import Event
from companion.games.events import CommonEvent
from companion.games.outbuffered.events import OutbufferedEvent
from web.rendering.board_picture import beats_of, tones_of


def test_beats_follow_the_order_of_events_and_like_ones_share_one() -> None:
    kinds = (
        CommonEvent.MOVE,
        CommonEvent.BOUNCE,
        CommonEvent.BOUNCE,
        CommonEvent.SHOT,
        OutbufferedEvent.FLAG_TAKEN,
    )
    events = [Event(kind, "…", square="a1") for kind in kinds]
    assert beats_of(events) == (0, 1, 1, 2, 3)
    assert tones_of(events) == (
        "1 A5 120 ·40 A4 60|2 E6 40 ·60 A4 160|3 E5 120 ·40 A5 40 ·40 E6 40"
    ), "two bounces sound as one"
    assert (beats_of(()), tones_of(())) == ((), "")
