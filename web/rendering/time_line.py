"""The time line of a replay: keys for memorable moments, and a curve of who is ahead.

It is as wide as the page. Positions along it are percentages of its width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from companion.archive.finale import last_lead_change
from companion.archive.replay import Replay
from companion.core.i18n import say, with_heading
from web.rendering.svg import xy

# Minimum distance between two keys.
_KEY_PX = 52
# Class of keys and minimum width of the line on a phone, a tablet and larger screens.
_WIDTHS_PX = (("s", 230), ("m", 560), ("l", 880))
# Weight of the turning point. It and the end rank above all other moments.
_TURNING = 9
# Weight of the end.
_END = 8


@dataclass(frozen=True)
class MarkedMoment:
    """A key on the line: its scene, position in percent, drawing and label.

    `width` is the class of the narrowest line with room for it, or empty if no line has room.
    """

    place: int
    at: float
    drawing: str
    words: str
    weight: int
    width: str = ""


def marked_moments(replay: Replay) -> list[MarkedMoment]:
    """Return the memorable moments of a game in order, at most one per scene."""
    moments: dict[int, MarkedMoment] = {}
    last = replay.scene_count - 1

    def mark(place: int, drawing: str, words: str, weight: int) -> None:
        # keep the moment with the largest weight in a scene
        if place not in moments or moments[place].weight < weight:
            moments[place] = MarkedMoment(place, 100 * place / max(last, 1), drawing, words, weight)

    for moment in replay.highlights:
        kind = moment.event.kind.highlight
        if kind:
            title = say("Turn {number}", number=replay.turns[moment.turn - 1].counted)
            mark(moment.place, kind.drawing, with_heading(title, moment.event.text), kind.weight)
    turn = last_lead_change(replay.leads, replay.line.winners)
    if turn:
        words = say("Turn {number}: the turning point.", number=replay.turns[turn - 1].counted)
        mark(replay.turns[turn - 1].last, "turning", words, _TURNING)
    if last:
        mark(last, "home", replay.line.reason or say("The end"), _END)
    return _assign_widths([moments[place] for place in sorted(moments)])


def _assign_widths(marks: Sequence[MarkedMoment]) -> list[MarkedMoment]:
    """Set the narrowest line on which each moment has room. Moments of large weight come first."""
    widths: dict[int, str] = {}
    weightiest_first = sorted(marks, key=lambda mark: (-mark.weight, mark.place))
    for width, pixels in _WIDTHS_PX:
        # minimum distance of two keys, in percent of this width
        room = 100 * _KEY_PX / pixels
        # a wider line shows the keys of a narrower one and adds what fits
        for mark in weightiest_first:
            others = [other.at for other in marks if other.place in widths]
            if mark.place not in widths and all(abs(mark.at - at) >= room for at in others):
                widths[mark.place] = width
    return [replace(mark, width=widths.get(mark.place, "")) for mark in marks]


def lead_path(replay: Replay) -> str:
    """Return the curve of who is ahead as path data, in a box of 1000 x 100 with 0 at mid-height.

    South is above the middle and North below. The path is empty if the lead is unknown or constant.
    """
    leads = replay.leads
    if len(set(leads)) < 2:
        return ""
    step = 1000 / max(replay.scene_count - 1, 1)
    places = [0, *(turn.last for turn in replay.turns)]
    # the largest lead nearly fills its half, and y points down, where North is
    height = -46 / max(map(abs, leads))
    points = [complex(step * at, height * lead) for at, lead in zip(places, leads, strict=True)]
    return "L".join(xy(point, ".4g") for point in points)
