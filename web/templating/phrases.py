"""Phrases of several pages: names, times, numbers, receipts, and the state of devices."""

from __future__ import annotations

import re
import time
from typing import Any

from companion.archive.played_games import Finale
from companion.core.i18n import Said, decimal_mark, joined, say, say_n
from companion.core.kit import SEATS, Seat, Side
from companion.core.ports import CameraState
from companion.games.base import Game
from companion.table.prompts.sign import Sign
from companion.table.table_view import TableView

PLAIN_SIDES = {
    Seat.SOUTH: Side(say("South"), "ink", "#1B1814", "disc"),
    Seat.NORTH: Side(say("North"), "bare", "#1B1814", "diamond"),
}
"""Sides of the seats while no game is on."""


def side_of(view: TableView, seat: Seat) -> Side:
    """Return the side of a seat, a plain one while no game is on."""
    return view.seats[seat].side or PLAIN_SIDES[seat]


def clock_words(at_s: float) -> str:
    """Format a Unix time in the machine's time zone, such as `18:05:30`."""
    return time.strftime("%H:%M:%S", time.localtime(at_s))


def groups(receipt: str) -> list[str]:
    """Split a receipt into groups of four letters, to be read aloud."""
    return re.findall(".{1,4}", receipt)


def first_up(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text.capitalize() if isinstance(text, Said) else text[:1].upper() + text[1:]


def rule_words(game: Game[Any, Any], rule: str) -> str:
    """Return number and title of a paragraph of the rules."""
    for number, paragraph in enumerate(game.rules, start=1):
        if paragraph.id == rule:
            return say("Rule {number}, {title}", number=number, title=paragraph.title)
    return say("Rules")


def tip_of(view: TableView, south: str) -> str:
    """Return the side to which the tip of the sign points on the table screen.

    It is `left`, `right` or `both`, or empty if the sign addresses no seat.
    """
    seats = view.sign.seats
    if len(seats) == 2:
        return "both"
    if not seats:
        return ""
    other = "right" if south == "left" else "left"
    return south if Seat.SOUTH in seats else other


def device_words(view: TableView) -> str:
    """Describe the state of camera and pads in one line."""
    card_ui = view.board.tableau
    # No camera reads cards without lanes, so only problems are mentioned.
    is_read = (
        card_ui is None or bool(card_ui.lanes) or view.devices.camera.state is CameraState.TROUBLE
    )
    camera = {
        CameraState.NONE: say("No camera: confirm by hand."),
        CameraState.SEES_BOARD: say("Camera sees the board."),
        CameraState.NO_BOARD: say("Camera sees no board."),
        CameraState.TROUBLE: say("Camera has a problem."),
    }[view.devices.camera.state]
    parts = ((view.devices.camera.sentence or camera) if is_read else "", view.devices.panel)
    sentences = []
    for part in filter(None, parts):
        sentences.append(part if part.endswith(".") else joined("", (part, ".")))
    return joined(" ", sentences)


MAX_DIGITS = 9


def whole_number(text: str) -> int | None:
    """Parse a whole number of at most nine digits, or return None for anything else.

    >>> [whole_number(text) for text in ("12", "007", "", "-1", "²", "9" * 5000)]
    [12, 7, None, None, None, None]
    """
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def tenths(number: float) -> str:
    """Format a number with one decimal in the current language."""
    return f"{number:.1f}".replace(".", decimal_mark())


# ---- the end of a game ----


def end_words(view: TableView, finale: Finale | None, reader: Seat | None) -> Sign | None:
    """Return the winner and the reason as a sign, for a seat or for everybody (None).

    None if the game is not over or its finale is unknown.
    """
    if finale is None or view.match.outcome is None:
        return None
    winners = view.match.outcome.winners
    if len(winners) != 1:
        text = say("A draw")
    elif reader in winners:
        text = say("You win")
    else:
        text = say("{name} wins", name=finale.names[next(iter(winners))])
    is_said = finale.how == say("A draw.")
    return Sign(text, "" if is_said else finale.how)


def again_words(view: TableView) -> str:
    """Return the text beside the key for a rematch."""
    if any(view.seats[seat].door == "remote" for seat in SEATS):
        return say("once both tables want it")
    if any(view.seats[seat].door == "pad" for seat in SEATS):
        return say("or press Ready")
    return say("sides swapped") if view.match.can_swap else say("same sides")


def length_of(finale: Finale) -> str:
    """Return the length of a game in turns."""
    return say_n("{n} turn", "{n} turns", finale.turns)


def score_words(score: float) -> str:
    """Format a score in which draws count as halves.

    >>> [score_words(score) for score in (2.0, 0.5, 1.5)]
    ['2', '½', '1½']
    """
    whole = int(score)
    return f"{whole or ''}½" if score != whole else str(whole)
