"""Controls beside the board in a game of pieces: clocks, plays that can be tapped, sheets and
placings.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from companion.core.i18n import say, translate
from companion.core.kit import Kit, Seat
from companion.games.screen import ChoiceKey, Placing, Play
from companion.table.table_view import ClockView, TableView
from web.rendering.json_view import plain, plain_json
from web.rendering.pieces import piece, side_class
from web.templating.phrases import tenths

# Remaining seconds below which a clock shows tenths, as in `web/static/live.js`.
_TENTHS_BELOW_S = 30.0


def clock_words(clock: ClockView) -> str:
    """Return the text of a clock: `6:42`, or `9.3` in the last 30 seconds."""
    if clock.left_s < _TENTHS_BELOW_S:
        return tenths(clock.left_s)
    whole = int(clock.left_s)
    return f"{whole // 60}:{whole % 60:02}"


# ---- for scripts ---------------------------------------------------------------------------------


def plain_plays(plays: Iterable[Play]) -> list[list[Any]]:
    """Return plays as lists for a script: notation, squares, label, key, taps, and the pieces met
    with their squares.
    """
    return [
        plain((play.text, play.squares, play.label, play.key, play.touches, play.meets))
        for play in plays
    ]


def plain_keys(view: TableView, keys: Iterable[ChoiceKey]) -> list[dict[str, Any]]:
    """Return the keys that begin plays. Without clocks, as in a lesson, "Press your clock" becomes
    "End turn".
    """
    entries: list[dict[str, Any]] = plain_json(tuple(keys))
    for key in entries:
        if key["label"] == translate(say("Press your clock")) and not view.time.clocks:
            key["label"] = translate(say("End turn"))
    return entries


def plain_placing(kit: Kit, seat: Seat, placing: Placing) -> dict[str, Any]:
    """Return the pieces to be placed with their drawings, their possible squares and their first
    squares.
    """
    # 3 px below the middle of its key, where the drawing looks centred
    centre = 3j
    pieces = [
        {"letter": letter, "face": face, "drawn": piece(kit, face, centre)}
        for letter, face in placing.pieces
    ]
    return {**plain(placing), "pieces": pieces, "side": side_class(kit, seat)}


# ---- words ---------------------------------------------------------------------------------------


def sentences(text: str) -> tuple[str, str]:
    """Split a text in the current language into its first sentence and the rest."""
    first, stop, rest = translate(text).partition(". ")
    return (f"{first}{stop.strip()}", rest)
