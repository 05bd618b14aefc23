"""The time line of a replay: keys for memorable moments, and a curve of who is ahead.

It is as wide as the page. A scene is the board after a stage of a turn, and has its place on the
line by its index in the replay, 0 for the start of the game.
"""

from __future__ import annotations

from dataclasses import dataclass

from companion.archive.finale import last_lead_change
from companion.archive.replay import Replay
from companion.core.i18n import say, with_heading
from web.rendering.svg import xy

# Minimum distance between the middles of two keys.
_MIN_KEY_DISTANCE_PX = 52
# Class of keys and minimum width of the line on a phone, a tablet and larger screens.
_WIDTHS_PX = (("s", 230), ("m", 560), ("l", 880))
# Weight of the turning point of a game, above all other moments.
_TURNING_WEIGHT = 9
# Weight of the end of a game, above all moments but the turning point.
_END_WEIGHT = 8


@dataclass
class HighlightKey:
    """A key on the line, which leads to a scene."""

    scene_index: int
    x_percent: float
    """Position on the line, in percent of its width."""
    drawing: str
    """Name of the drawing on the key."""
    words: str
    weight: int
    """How memorable the moment is. If there is no room for all keys, the heavier ones are shown."""
    width_class: str = ""
    """Class of the narrowest line with room for the key. Empty if no line has room."""


def highlight_keys(replay: Replay) -> list[HighlightKey]:
    """Return the keys for the memorable moments of a game in order, at most one per scene."""
    keys: dict[int, HighlightKey] = {}
    last_index = replay.scene_count - 1

    def add(scene_index: int, drawing: str, words: str, weight: int) -> None:
        previous = keys.get(scene_index)
        # a scene has one key only, that of its most memorable moment
        if previous is None or previous.weight < weight:
            x_percent = 100 * scene_index / max(last_index, 1)
            keys[scene_index] = HighlightKey(scene_index, x_percent, drawing, words, weight)

    for highlighted in replay.highlights:
        kind = highlighted.event.kind.highlight
        if kind:
            title = say("Turn {number}", number=replay.turns[highlighted.turn - 1].turn_number)
            words = with_heading(title, highlighted.event.text)
            add(highlighted.scene_index, kind.drawing, words, kind.weight)
    turning_point = last_lead_change(replay.leads, replay.line.winners)
    if turning_point:
        words = say(
            "Turn {number}: the turning point.", number=replay.turns[turning_point - 1].turn_number
        )
        add(replay.turns[turning_point - 1].last_scene, "turning", words, _TURNING_WEIGHT)
    if last_index:
        add(last_index, "home", replay.line.reason or say("The end"), _END_WEIGHT)
    return _assign_widths([keys[scene_index] for scene_index in sorted(keys)])


def _assign_widths(keys: list[HighlightKey]) -> list[HighlightKey]:
    """Set the narrowest line on which each key has room, heavy keys before light ones."""
    heaviest_first = sorted(keys, key=lambda key: (-key.weight, key.scene_index))
    for width_class, width_px in _WIDTHS_PX:
        min_distance_percent = 100 * _MIN_KEY_DISTANCE_PX / width_px
        # a wider line shows the keys of the narrower ones, and adds those that fit between them
        for key in heaviest_first:
            distances = [
                abs(key.x_percent - other.x_percent) for other in keys if other.width_class
            ]
            if not key.width_class and min(distances, default=100) >= min_distance_percent:
                key.width_class = width_class
    return keys


def lead_path(replay: Replay) -> str:
    """Return the curve of who is ahead as path data, in a box of 1000 x 100 with 0 at mid-height.

    Where South is ahead, the curve is above the middle. The path is empty if nobody knows who is
    ahead, or if that never changes.
    """
    leads = replay.leads
    if len(set(leads)) < 2:
        return ""
    scene_width = 1000 / max(replay.scene_count - 1, 1)
    # there is a lead for the start, and one for the end of each turn
    scenes = [0, *(turn.last_scene for turn in replay.turns)]
    # The largest lead nearly fills its half of the box. Negative, because y points down.
    lead_height = -46 / max(map(abs, leads))
    points = [
        complex(scene_width * scene_index, lead_height * lead)
        for scene_index, lead in zip(scenes, leads, strict=True)
    ]
    return "L".join(xy(point, ".4g") for point in points)
