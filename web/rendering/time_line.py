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
from web.rendering.svg import ornament, xy

_KEY_PX = 52
"""Least distance of two keys."""
_WIDTHS_PX = (("s", 230), ("m", 560), ("l", 880))
"""Least width of the line on a phone, a tablet and beyond, and the class of keys shown there."""
_TURNING, _END = 9, 8
"""Weights of the turning point and the end, which come before anything else."""


@dataclass(frozen=True)
class MarkedMoment:
    """A key on the line: the scene that it leads to, where it stands (percent), its drawing, and
    what it is called.

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
        # of several in one scene the weightiest stays
        if place not in moments or moments[place].weight < weight:
            moments[place] = MarkedMoment(place, 100 * place / max(last, 1), drawing, words, weight)

    for moment in replay.highlights:
        kind = moment.event.kind.highlight
        if kind:
            title = say("Turn {number}", number=replay.turns[moment.turn - 1].counted)
            mark(moment.place, kind.drawing, headed(title, moment.event.text), kind.weight)
    turn = turning_point(replay.leads, replay.line.winners)
    if turn:
        words = say("Turn {number}: the turning point.", number=replay.turns[turn - 1].counted)
        mark(replay.turns[turn - 1].last, "turning", words, _TURNING)
    if last:
        mark(last, "home", replay.line.reason or say("The end"), _END)
    return _assign_widths([moments[place] for place in sorted(moments)])


def _assign_widths(marks: Sequence[MarkedMoment]) -> list[MarkedMoment]:
    """Return the moments with the narrowest line on which each has room, the weightiest first."""
    widths: dict[int, str] = {}
    weightiest_first = sorted(marks, key=lambda mark: (-mark.weight, mark.place))
    for width, pixels in _WIDTHS_PX:
        # the least distance of two keys, in percent of this width
        room = 100 * _KEY_PX / pixels
        # a wider line keeps the keys of a narrow one and adds what still fits
        for mark in weightiest_first:
            others = [other.at for other in marks if other.place in widths]
            if mark.place not in widths and all(abs(mark.at - at) >= room for at in others):
                widths[mark.place] = width
    return [replace(mark, width=widths.get(mark.place, "")) for mark in marks]


def lead_line(replay: Replay) -> Markup:
    """Draw who stood better, South above the middle and North below. Empty: nobody can say."""
    leads = replay.leads
    if len(set(leads)) < 2:
        return Markup()
    step = 1000 / max(replay.places - 1, 1)
    places = [0, *(turn.last for turn in replay.turns)]
    # the largest lead nearly fills its half; y points down, where North is
    height = -46 / max(map(abs, leads))
    points = [complex(step * at, height * lead) for at, lead in zip(places, leads, strict=True)]
    areas = "".join(_area(replay, seat, points) for seat in SEATS)
    lines = f'<path class="zero" d="M0 0H1000"/><path class="line" d="M{_path(points)}"/>'
    stretched = ' preserveAspectRatio="none"'
    return ornament("lead", "0 -50 1000 100", areas + lines, stretched)


def _area(replay: Replay, seat: Seat, points: Sequence[complex]) -> str:
    """Draw what lies between the line and the middle on a seat's side."""
    # beyond the middle begins the area of the other side
    clip = min if seat is Seat.SOUTH else max
    corners = [complex(points[0].real, clip(points[0].imag, 0.0))]
    for start, end in itertools.pairwise(points):
        if start.imag * end.imag < 0:
            way = end - start
            crossing = start - way * start.imag / way.imag  # where the line crosses the middle
            corners.append(complex(crossing.real, 0))
        corners.append(complex(end.real, clip(end.imag, 0.0)))
    fill = f'd="M0 0L{_path(corners)}L{points[-1].real:.4g} 0z"'
    dots = f'<path {fill} fill="url(#dots)"/>' if seat is Seat.NORTH else ""
    return f'<g class="{side_class(replay.kit, seat)}"><path {fill} fill="currentColor"/>{dots}</g>'


def _path(points: Sequence[complex]) -> str:
    return "L".join(xy(point, ".4g") for point in points)
