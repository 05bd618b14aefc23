"""The answer to “What can I do now?”: the possibilities of a seat, each a word with its effect.

There is an answer for the seat itself, on its phone, and another answer for everybody, on the table
screen. Most games only declare `Game.help_words`. The possibilities then follow from the controls
that the game offers: keys, an order sheet, or plays on the board.
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
    """Return the possibilities of a seat that must act. Only the seat itself may see them.

    `entered` is its draft in notation.
    """
    named_by_game = tuple(game.possible(state, seat, entered) or ())
    return named_by_game or tuple(_possibilities_by_controls(game, state, seat, is_public=False))


def public_possibilities(game: AnyGame, state: Any) -> tuple[Possible, ...]:
    """Return what everybody may know about the possibilities of a seat that must act.

    If both must act, their possibilities are the same.
    """
    due = sorted(game.to_act(state))
    if due:
        return tuple(_possibilities_by_controls(game, state, due[0], is_public=True))
    return ()


def _possibilities_by_controls(
    game: AnyGame, state: Any, seat: Seat, *, is_public: bool
) -> Iterator[Possible]:
    """Yield one possibility for each control that the game offers to a seat in this state."""

    def possibility(word: str, drawing: str = "") -> Possible:
        return Possible(drawing, word, game.help_words.get(str(word), ""))

    card_ui = game.card_ui(state, seat)
    board_ui = game.board_ui(state, seat)
    if card_ui:
        usable_keys = {choice.key for choice in card_ui.choices}
        for key in card_ui.keys:
            # Which keys a seat can use now is its secret.
            is_barred = not is_public and key.name not in usable_keys
            yield replace(possibility(key.label), is_barred=is_barred)
    elif board_ui and board_ui.sheet:
        for kind in board_ui.sheet.kinds:
            yield possibility(kind.label, kind.drawing)
    elif board_ui and board_ui.duel:
        yield possibility(say("A card"))
    elif board_ui and board_ui.placing:
        yield possibility(say("Place"))
    elif board_ui:
        for word, squares in _starts_by_word(game, state, seat, board_ui).items():
            yield replace(possibility(word), squares=tuple(squares))
    elif grammar := game.pad(state, seat):
        for order_key in grammar.keys:
            yield possibility(order_key.label, order_key.drawing)


def _starts_by_word(
    game: AnyGame, state: Any, seat: Seat, board_ui: BoardUi
) -> dict[str, dict[Square, None]]:
    """Return the distinct words of all plays, each with the start squares of its plays.

    A play that begins with a key adds no square. The inner dictionaries serve as ordered sets.
    """
    labels = {key.name: key.label for key in board_ui.keys}
    starts_by_word: dict[str, dict[Square, None]] = {}
    for play in game.plays(state, seat):
        # Use the word of the command, or else the word of the key. A play without either is a
        # placing.
        fallback = labels.get(play.key, say("Place"))
        word = next(iter(game.commands(game.parse(play.text))), fallback)
        starts = starts_by_word.setdefault(word, {})
        if not play.key:
            starts |= dict.fromkeys(play.squares[:1])
    return starts_by_word
