"""The answer to “What can I do now?”: each option of a seat as a word with its effect.

There is an answer for the seat itself and one for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.base import AnyGame
from companion.games.screen import BoardUi, Possible


def possibilities(game: AnyGame, state: Any, seat: Seat, entered: str = "") -> tuple[Possible, ...]:
    """Return the present options of a seat that must act. Only the seat itself may see them.

    `entered` holds the orders that it has planned before.
    """
    own = game.possible(state, seat, entered)
    return tuple(own or ()) or tuple(_of_keys(game, state, seat, is_public=False))


def public_possibilities(game: AnyGame, state: Any) -> tuple[Possible, ...]:
    """Return the options under the rules for the seat that must act, without its secrets."""
    due = sorted(game.to_act(state))
    if due:
        return tuple(_of_keys(game, state, due[0], is_public=True))
    return ()


def _of_keys(game: AnyGame, state: Any, seat: Seat, *, is_public: bool) -> Iterator[Possible]:
    def possible(word: str, drawing: str = "") -> Possible:
        return Possible(drawing, word, game.help_words.get(str(word), ""))

    card_ui = game.card_ui(state, seat)
    board_ui = game.board_ui(state, seat)
    if card_ui:
        usable = {choice.key for choice in card_ui.choices}
        for key in card_ui.keys:
            # Which keys a seat can use now is its secret.
            is_barred = not is_public and key.name not in usable
            yield replace(possible(key.label), is_barred=is_barred)
    elif board_ui and board_ui.sheet:
        for kind in board_ui.sheet.kinds:
            yield possible(kind.label, kind.drawing)
    elif board_ui and board_ui.duel:
        yield possible(say("A card"))
    elif board_ui and board_ui.placing:
        yield possible(say("Place"))
    elif board_ui:
        for word, squares in _words_of_plays(game, state, seat, board_ui).items():
            yield replace(possible(word), squares=tuple(squares))
    elif grammar := game.pad(state, seat):
        for pad_key in grammar.keys:
            yield possible(pad_key.label, pad_key.drawing)


def _words_of_plays(
    game: AnyGame, state: Any, seat: Seat, board_ui: BoardUi
) -> dict[str, dict[Square, None]]:
    """Return the distinct words of all plays, each with its start squares."""
    labels = {key.name: key.label for key in board_ui.keys}
    squares_of: dict[str, dict[Square, None]] = {}
    for play in game.plays(state, seat):
        # Use the word of the command, else that of the key. A play without either is a placing.
        word = next(iter(game.commands(game.parse(play.text))), labels.get(play.key, say("Place")))
        beginnings = squares_of.setdefault(word, {})
        if not play.key:
            beginnings |= dict.fromkeys(play.squares[:1])
    return squares_of
