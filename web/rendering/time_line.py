"""The time line of a replay: keys of the moments to remember, and who stood better.

It is as wide as the page; places along it are shares of its width, in percent.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from companion.archive.finale import turning_point
from companion.archive.replay_scenes import Replay
from companion.core.i18n import headed, say
from companion.core.kit import SEATS, Seat
from web.rendering.pieces import side_class

_KEY_PX = 52
"""Least distance of two keys."""
_WIDTHS_PX = (("s", 230), ("m", 560), ("l", 880))
"""Least width of the line on a phone, a tablet and beyond, and the class of keys shown there."""
_TURNING, _END = 9, 8
"""Weights of the turning point and the end, which come before anything else."""
_HEIGHT = 100.0


@dataclass(frozen=True)
class MarkedMoment:
    """A key on the line: the scene that it leads to, where it stands (percent), its drawing, and what it is called.

    `width` is the class of the narrowest line on which there is room for it; empty: on none.
    """

    place: int
    at: float
    drawing: str
    words: str
    weight: int
    width: str = ""


def marked_moments(replay: Replay) -> list[MarkedMoment]:
    """Return what people remember of a game, one key a scene, in its order."""
    moments: dict[int, MarkedMoment] = {}
    last = replay.places - 1

    def mark(place: int, drawing: str, words: str, weight: int) -> None:
        if place not in moments or moments[place].weight < weight:
            moments[place] = MarkedMoment(place, 100 * place / max(last, 1), drawing, words, weight)

    for each in replay.highlights:
        if each.event.kind.highlight:
            kind = each.event.kind.highlight
            mark(each.place, kind.drawing, _titled(replay, each.turn, each.event.text), kind.weight)
    if turn := turning_point(replay.leads, replay.line.winners):
        words = say("Turn {number}: the turning point.", number=replay.turns[turn - 1].counted)
        mark(replay.turns[turn - 1].last, "turning", words, _TURNING)
    if last:
        mark(last, "home", replay.line.reason or say("The end"), _END)
    return _assign_widths(sorted(moments.values(), key=lambda each: each.place))


def _titled(replay: Replay, turn: int, text: str) -> str:
    return headed(say("Turn {number}", number=replay.turns[turn - 1].counted), text)


def _assign_widths(marks: Sequence[MarkedMoment]) -> list[MarkedMoment]:
    """Return the moments with the narrowest line on which each has room, the weightiest first."""
    shown: dict[int, str] = {}
    for width, pixels in _WIDTHS_PX:
        room = 100 * _KEY_PX / pixels
        for each in sorted(marks, key=lambda mark: (-mark.weight, mark.place)):
            there = [mark.at for mark in marks if mark.place in shown]
            if each.place not in shown and all(abs(each.at - at) >= room for at in there):
                shown[each.place] = width
    return [replace(each, width=shown.get(each.place, "")) for each in marks]


def lead_line(replay: Replay) -> Markup:
    """Draw who stood better, South above the middle and North below. Empty: nobody can say."""
    leads = replay.leads
    if len(set(leads)) < 2:
        return Markup()
    last = max(replay.places - 1, 1)
    places = [0, *(turn.last for turn in replay.turns)]
    most = max(map(abs, leads))
    points = [
        (1000 * place / last, -lead / most * 46) for place, lead in zip(places, leads, strict=True)
    ]
    areas = "".join(_area(replay, seat, points) for seat in SEATS)
    line = "M" + "L".join(f"{x:.4g} {y:.4g}" for x, y in points)
    return Markup(
        f'<svg class="lead" viewBox="0 -50 1000 {_HEIGHT:g}" preserveAspectRatio="none" aria-hidden="true">{areas}'
        f'<path class="zero" d="M0 0H1000"/><path class="line" d="{line}"/></svg>'
    )


def _area(replay: Replay, seat: Seat, points: Sequence[tuple[float, float]]) -> str:
    """Draw what lies between the line and the middle on a seat's side."""
    sign = -1 if seat is Seat.SOUTH else 1
    corners: list[tuple[float, float]] = []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        corners.append((x0, y0 if y0 * sign > 0 else 0.0))
        if y0 * y1 < 0:
            corners.append((x0 + (x1 - x0) * y0 / (y0 - y1), 0.0))
        corners.append((x1, y1 if y1 * sign > 0 else 0.0))
    way = "L".join(f"{x:.4g} {y:.4g}" for x, y in dict.fromkeys(corners))
    fill = f'd="M0 0L{way}L{points[-1][0]:.4g} 0z"'
    dots = f'<path {fill} fill="url(#dots)"/>' if seat is Seat.NORTH else ""
    return f'<g class="{side_class(replay.kit, seat)}"><path {fill} fill="currentColor"/>{dots}</g>'
