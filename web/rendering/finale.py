"""The end of a game as pages show it: who has won, and what each page says of it."""

from __future__ import annotations

from dataclasses import dataclass

from companion.archive.played_games import Finale
from companion.core.i18n import say, say_n
from companion.core.kit import SEATS, Seat
from companion.table.table_view import TableView


@dataclass(frozen=True)
class EndWords:
    """Who has won, for a viewer, and how."""

    text: str
    small: str


def end_words(view: TableView, finale: Finale | None, reader: Seat | None) -> EndWords | None:
    """Return the words for a seat, or for everybody (None). None while there is no end, or nothing is known of it."""
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
    return EndWords(text, "" if is_said else finale.how)


def again_words(view: TableView) -> str:
    """Return what is said beside the key for the same game once more."""
    if any(view.seats[seat].door == "remote" for seat in SEATS):
        return say("once both tables want it")
    if any(view.seats[seat].door == "pad" for seat in SEATS):
        return say("or press Ready")
    return say("sides swapped") if view.match.can_swap else say("same sides")


def length_of(finale: Finale) -> str:
    """Return how long the game was."""
    return say_n("{n} turn", "{n} turns", finale.turns)


def score_words(score: float) -> str:
    """Return a score in which draws are halves.

    >>> [score_words(score) for score in (2.0, 0.5, 1.5)]
    ['2', '½', '1½']
    """
    whole = int(score)
    return f"{whole or ''}½" if score != whole else str(whole)
