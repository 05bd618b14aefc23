"""Controls beside the board in a game of pieces: clocks, and data for the script of the board.

The script (`board.js`) has to know the moves that can be tapped, their keys, and the pieces to
place at the start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from companion.core.i18n import say, translate
from companion.core.kit import Kit, Seat
from companion.games.screen import ChoiceKey, Placing, Play
from companion.table.table_view import ClockView, TableView
from web.rendering.json_view import to_json
from web.rendering.pieces import draw_piece, side_class
from web.templating.phrases import tenths

# Remaining seconds below which a clock shows tenths, as in `web/static/live.js`.
_TENTHS_BELOW_S = 30.0


def clock_words(clock: ClockView) -> str:
    """Return the text of a clock: `6:42`, or `9.3` in the last 30 seconds.

    It is the time that was left when the clock last started or stopped. In the browser, `live.js`
    counts down from there.
    """
    if clock.left_s < _TENTHS_BELOW_S:
        return tenths(clock.left_s)
    minutes, seconds = divmod(int(clock.left_s), 60)
    return f"{minutes}:{seconds:02}"


# ---- for scripts ---------------------------------------------------------------------------------


def plays_json(plays: Iterable[Play]) -> list[list[Any]]:
    """Return plays (moves that can be tapped) for `board.js`, each as a list.

    The items are the attributes of `Play` in this order, on which `board.js` depends:
    `[text, squares, label, key, touches, meets]`. An example is
    `["b2-b3-c3", ["b2", "b3", "c3"], "Run b2 to c3", "", ["b2", "c3"], []]`.
    """
    return [
        to_json((play.text, play.squares, play.label, play.key, play.touches, play.meets))
        for play in plays
    ]


def keys_json(view: TableView, keys: Iterable[ChoiceKey]) -> list[dict[str, Any]]:
    """Return the keys that begin plays, for `board.js`."""
    if not view.time.clocks:
        # A lesson runs without the clocks of its game, so no key may ask to press a clock. Such a
        # key is known by its label.
        asks_for_clock = say("Press your clock")
        keys = [
            replace(key, label=say("End turn")) if key.label == asks_for_clock else key
            for key in keys
        ]
    entries: list[dict[str, Any]] = to_json(tuple(keys))
    return entries


def placing_json(kit: Kit, seat: Seat, placing: Placing) -> dict[str, Any]:
    """Return what `board.js` needs for placing a seat's pieces at the start.

    That is each piece with its letter and drawing, the possible squares, and a proposal of one
    square for each piece.
    """
    # a little below the middle of its key, where a piece looks centred
    centre = 3j
    pieces = [
        {"letter": letter, "face": face, "drawn": draw_piece(kit, face, centre)}
        for letter, face in placing.pieces
    ]
    return {**to_json(placing), "pieces": pieces, "side": side_class(kit, seat)}


# ---- words ---------------------------------------------------------------------------------------


def split_first_sentence(text: str) -> tuple[str, str]:
    """Split a text in the current language into its first sentence and the rest."""
    first, stop, rest = translate(text).partition(". ")
    return (f"{first}{stop.strip()}", rest)
