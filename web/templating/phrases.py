"""Phrases that several pages use: sides, times, receipts, rules, numbers, and the end of a game."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Any

from companion.archive.played_games import Finale
from companion.core.i18n import Sentence, decimal_mark, say
from companion.core.kit import Seat, Side
from companion.games.base import Game
from companion.table.prompts.sign import Sign
from companion.table.table_view import TableView

# Sides of the seats while no game is on: name, CSS class and print colour, drawing.
PLAIN_SIDES = {
    Seat.SOUTH: Side(say("South"), "ink", "#1B1814", "disc"),
    Seat.NORTH: Side(say("North"), "bare", "#1B1814", "diamond"),
}
# Maximum number of digits of a typed whole number. Any number of nine digits fits into 32 bits.
MAX_DIGITS = 9


def side_of(view: TableView, seat: Seat) -> Side:
    """Return the side of a seat in the current game, or a plain side while no game is on."""
    return view.seats[seat].side or PLAIN_SIDES[seat]


def time_of_day(unix_s: float) -> str:
    """Format a Unix time in the machine's time zone, such as `18:05:30`."""
    return time.strftime("%H:%M:%S", time.localtime(unix_s))


def date_words(unix_s: float) -> str:
    """Format a Unix time in the machine's time zone, such as `2026-11-28, 18:05`. Empty for 0."""
    if not unix_s:
        return ""
    local = datetime.fromtimestamp(unix_s, UTC).astimezone().replace(tzinfo=None)
    return f"{local:%Y-%m-%d, %H:%M}"


def groups_of_four(receipt: str) -> list[str]:
    """Split a receipt into groups of four digits, so that people can compare it by eye or ear."""
    return re.findall(".{1,4}", receipt)


def upper_first(text: str) -> str:
    """Return a text with its first letter in upper case."""
    # A sentence of the catalogue is not translated yet. Its own method gives it a capital letter in
    # every language.
    return text.capitalize() if isinstance(text, Sentence) else text[:1].upper() + text[1:]


def rule_words(game: Game[Any, Any], rule: str) -> str:
    """Return the number and title of the paragraph of the rules that has the id `rule`.

    For an unknown id the words are only “Rules”.
    """
    for number, paragraph in enumerate(game.rules, start=1):
        if paragraph.id == rule:
            return say("Rule {number}, {title}", number=number, title=paragraph.title)
    return say("Rules")


def parse_whole_number(text: str) -> int | None:
    """Return the whole number that a text of at most nine digits stands for, else None.

    >>> [parse_whole_number(text) for text in ("12", "007", "", "-1", "²", "9" * 5000)]
    [12, 7, None, None, None, None]
    """
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else None


def tenths(number: float) -> str:
    """Format a number with one decimal in the current language."""
    return f"{number:.1f}".replace(".", decimal_mark())


# ---- the end of a game ----


def end_words(finale: Finale, reader: Seat | None) -> Sign:
    """Return the sign at the end of a game: who has won, and in small print how the game ended.

    `reader` is the seat on whose page the sign stands, or None for a page for everybody.
    """
    text = say("A draw")
    if finale.winners == (reader,):
        text = say("You win")
    elif len(finale.winners) == 1:
        text = say("{name} wins", name=finale.names[finale.winners[0]])
    # “A draw” with “A draw.” below it would say the same twice
    is_reason_in_text = finale.ending_words == say("A draw.")
    return Sign(text, "" if is_reason_in_text else finale.ending_words)


def score_words(score: float) -> str:
    """Format a score in which a draw counts as half a point.

    >>> [score_words(score) for score in (2.0, 0.5, 1.5)]
    ['2', '½', '1½']
    """
    whole = int(score)
    return f"{whole or ''}½" if score != whole else str(whole)
