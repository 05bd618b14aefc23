"""The end of a game as pages show it: its words for the winner, the other one and everybody else, and its pictures."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from re import sub

from markupsafe import Markup

from companion.archive.played_games import Finale, Still
from companion.core.grid import Square
from companion.core.i18n import joined, say, say_n, translate
from companion.core.kit import SEATS, Seat
from companion.table.table_view import TableView
from web.rendering.board import board_part
from web.rendering.board_picture import BoardPicture
from web.rendering.cards import combat_picture, lanes_picture


@dataclass(frozen=True)
class EndWords:
    """The sign's two lines, and the moment that this viewer is shown: its picture, and what it is called."""

    text: str
    small: str
    moment: Still | None = None
    moment_title: str = ""


def end_words(view: TableView, finale: Finale | None, reader: Seat | None) -> EndWords | None:
    """The words for a seat, or for everybody (None); None while there is no end, or nothing is known of it."""
    if finale is None or view.match.outcome is None:
        return None
    shown = finale.turning or (finale.stills[-1] if finale.stills else None)
    turned = _turned(shown, shown is finale.turning) if shown else ""
    if reader is None:
        return EndWords(_for_all(view, finale), view.match.outcome.reason, shown, turned)
    if not view.match.outcome.winners:
        return EndWords(say("Nobody won"), say("Nobody minds. Again?"), shown, turned)
    name = view.seats[reader].name
    if reader in view.match.outcome.winners:
        text = say("You win, {name}", name=name) if name else say("You win")
        return EndWords(text, _for_winner(view, finale), shown, turned)
    best = finale.best.get(reader)
    title = say("Your best moment: turn {number}.", number=best.turn) if best else ""
    text = say("Good game, {name}", name=name) if name else say("Good game")
    return EndWords(text, _for_other(view, finale, reader), best, title)


def _turned(still: Still, is_turning: bool) -> str:
    if not still.turn:
        return ""
    if is_turning:
        return say("Turn {number}: the turning point.", number=still.turn)
    return say("Turn {number} was the last one.", number=still.turn)


def _for_winner(view: TableView, finale: Finale) -> str:
    if finale.turning is None and view.match.outcome:
        return view.match.outcome.reason
    return say("Look as if you had planned it all along.")


def _for_other(view: TableView, finale: Finale, seat: Seat) -> str:
    """A joke at a square, at the seat or at the machine, never at a person; none where nothing was played."""
    if not finale.turns and view.match.outcome:
        return view.match.outcome.reason
    if view.seats[seat.other].door == "machine":
        return say("{name} is as surprised as you are.", name=finale.names[seat.other])
    if finale.turning and finale.turning.square:
        return say("{square} owes you an apology.", square=finale.turning.square)
    return say("It was the seat, surely.")


def _for_all(view: TableView, finale: Finale) -> str:
    if view.match.outcome is None or len(view.match.outcome.winners) != 1:
        return say("A draw")
    name = finale.names[next(iter(view.match.outcome.winners))]
    if not finale.turns:
        return say("{name} wins.", name=name)
    return say_n("{name} wins after {n} turn", "{name} wins after {n} turns", finale.turns, name=name)


def again_words(view: TableView) -> str:
    """What the table screen's sign asks for when a game is over."""
    if any(view.seats[seat].door == "remote" for seat in SEATS):
        return say("Rematch: tap it at both tables")
    by_pad = [view.seats[seat].door == "pad" for seat in SEATS]
    if all(by_pad):
        return say("Both: press Ready for the rematch")
    if any(by_pad):
        return say("Once more? Tap it here, or press Ready")
    return say("Once more? Tap it here or on a phone")


def length_of(finale: Finale) -> str:
    """How long the game was."""
    return say_n("After {n} turn", "After {n} turns", finale.turns) if finale.turns else say("Before the first turn")


def tale_of(view: TableView, finale: Finale) -> str:
    """The game in figures, for both, in the viewer’s language; no line ends between a figure and its word."""
    if not finale.turns:
        return ""
    figures = joined(", ", [say_n("{n} turn", "{n} turns", finale.turns), *finale.counts])
    if any(view.seats[seat].door == "machine" for seat in SEATS) or not finale.winners:
        told = joined("", (figures, "."))
    else:
        told = say("{figures}. Take a bow, both of you.", figures=figures)
    return sub(r"(?<=\d) ", "\N{NO-BREAK SPACE}", translate(told))


def still_picture(finale: Finale, still: Still) -> Markup:
    """A turn of a game that is over, drawn: the part of the board where it happened, as South sees it.

    Of a game of cards its combat, else its lanes; nothing where it has neither, because it only kept the time.
    """
    scene = still.scene
    if finale.kit.deck:
        if scene.tallies:
            return combat_picture(finale.kit, scene.tallies)
        return lanes_picture(finale.kit, scene.lanes) if scene.lanes else Markup()
    traces = frozenset(origin for origin, _ in scene.moves)
    picture = BoardPicture(finale.kit, scene.layout, events=scene.events, came_from=traces, badges=scene.badges)
    return board_part(picture, Square.parse(still.square) if still.square else None)


def nearest_tenth(finale: Finale, still: Still) -> int:
    """How far down the board is what a turn's photograph is to show, in tenths: the piece next to the turn's square.

    The photograph is taken after the turn: whoever was hit on its square has gone home. Without a square it is where
    most pieces lie; the middle of an empty board.
    """
    layout = still.scene.layout
    ranks = Counter(each.rank for each in layout)
    square = max(layout, key=lambda each: ranks[each.rank], default=None)
    if still.square and layout:
        file, rank = Square.parse(still.square)
        square = min(layout, key=lambda each: math.hypot(each.file - file, each.rank - rank))
    count = finale.kit.board.ranks
    return round(10 * (count - 0.5 - square.rank) / count) if square else 5
