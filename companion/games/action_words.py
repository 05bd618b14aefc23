"""Actions in words and drawings, in the form in which a seat gives them: keys, taps or a sheet.

Journals and receipts hold an action only in notation. Pages, replays and the coach show it by these
functions, which work for any game. `state` is always the one in which the action was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from companion.core.errors import Illegal, Refusal
from companion.core.grid import Square
from companion.core.i18n import listed, say
from companion.core.kit import SEATS, Seat
from companion.games.base import AnyGame, Stage
from companion.games.pads import Key
from companion.games.screen import CardChoice, CardUi, Play


@dataclass(frozen=True)
class SpelledOrder:
    """One order of an action in words and with its drawing, for people to read."""

    drawing: str
    """Name of the order's drawing, or empty."""
    label: str
    """Initial or notation of the order. With `is_for_unit`, the name of the piece instead."""
    words: str
    """The order in words, without its piece."""
    is_for_unit: bool = False
    """Whether this is the order of one of several pieces on an order sheet."""

    @property
    def full_text(self) -> str:
        """The order in words, with its piece if it has one."""
        if self.is_for_unit:
            return say("{unit}: {order}", unit=self.label, order=self.words)
        return self.words


def spell_action(game: AnyGame, state: Any, seat: Seat, notation: str) -> tuple[SpelledOrder, ...]:
    """Return an action in words and drawings, in the form in which its seat gives it.

    It is the first of these forms that the game offers in this state: a play, an order sheet,
    cards, a duel, placings, or keys of a pad that spell the action. Without any of them the action
    is shown in its notation.
    """
    board_ui = game.board_ui(state, seat)
    words = notation
    if play := find_play(game, state, seat, notation):
        words = play.label
    elif board_ui and board_ui.sheet:
        return tuple(_spell_units(game, state, seat, notation))
    elif card_ui := game.card_ui(state, seat):
        words = _spell_choice(card_ui, notation)
    elif board_ui and board_ui.duel:
        words = say("Card {value}", value=notation)
    elif board_ui and board_ui.placing:
        return tuple(_spell_placing(dict(board_ui.placing.pieces), notation))
    elif (grammar := game.pad(state, seat)) and (draft := grammar.spell(notation)):
        return tuple(
            SpelledOrder(key.drawing, key.initial or key.letter, key.label)
            for key in map(grammar.key, draft)
            if key is not None
        )
    return (SpelledOrder("", notation, words),)


def spell_legal_action(
    game: AnyGame, state: Any, seat: Seat, notation: str
) -> tuple[SpelledOrder, ...]:
    """Return an action in words and drawings, like `spell_action`, but check it first.

    Raises a `CompanionError` if the seat need not act, or if the action is malformed or not legal.
    """
    if seat not in game.to_act(state):
        raise Illegal(
            Refusal.NOT_TO_ACT, say("{side!c} cannot act now", side=game.sides[seat].name)
        )
    game.check(state, seat, game.parse(notation))
    return spell_action(game, state, seat, notation)


def lesson_reminder(game: AnyGame, state: Any, seat: Seat, notation: str) -> str:
    """Return the reply to a seat that gives another action than `notation`, which is due now."""
    words = listed([order.full_text for order in spell_action(game, state, seat, notation)])
    return say("Good for later. Now: {order}.", order=words)


def find_play(game: AnyGame, state: Any, seat: Seat, notation: str) -> Play | None:
    """Return the play with this notation. None if `Game.plays` does not list it.

    Also None with an order sheet, a duel or a placing, which replace taps on squares.
    """
    board_ui = game.board_ui(state, seat)
    if board_ui is None or board_ui.sheet or board_ui.duel or board_ui.placing:
        return None
    return next((play for play in game.plays(state, seat) if play.text == notation), None)


def _spell_units(game: AnyGame, state: Any, seat: Seat, notation: str) -> Iterator[SpelledOrder]:
    """Yield the orders of an order sheet, one for each piece."""
    # Reveal the action in a single stage, as if both seats had given it, and use only the part of
    # this seat.
    stages = (Stage(title="", orders={}, events=(), expected=None),)
    actions = dict.fromkeys(SEATS, game.parse(notation))
    opened = game.opened(state, actions, stages, 0) or {}
    for order in opened.get(seat, ()):
        if order.order is not None:
            yield SpelledOrder(order.drawing, order.unit, order.words, is_for_unit=True)


def _spell_placing(names: Mapping[str, str], notation: str) -> Iterator[SpelledOrder]:
    """Yield one order for each placed piece. `names` has the faces by their letters."""
    for part in notation.split():
        letter, _, square = part.partition("@")
        yield SpelledOrder(
            "", part, say("{piece!c} on {square}", piece=names.get(letter, letter), square=square)
        )


def find_choice(card_ui: CardUi | None, notation: str) -> CardChoice | None:
    """Return the choice with this notation. None if the seat does not give it by taps on cards."""
    if card_ui:
        return next((choice for choice in card_ui.choices if choice.text == notation), None)
    return None


def _spell_choice(card_ui: CardUi, notation: str) -> str:
    """Return the label of a choice's key with the lane, or the notation if it has no key."""
    choice = find_choice(card_ui, notation)
    key = next((key for key in card_ui.keys if choice and key.name == choice.key), None)
    if choice is None or key is None:
        return notation
    if choice.lane is None:
        return key.label
    return say("{key}, lane {lane}", key=key.label, lane=choice.lane)


# Start and end of an arrow. None as the start stands for the seat's only piece, None as the end for
# an order that leads off the board.
Arrow = tuple[Square | None, Square | None]


def build_arrows(game: AnyGame, state: Any, seat: Seat, notation: str) -> tuple[Arrow, ...]:
    """Return the arrows that show an action on the board.

    A play has an arrow for each of its steps, and an order sheet one for each piece. An action of
    any other form has one for its first order, if the game plans it (`Game.plan`). A piece that is
    placed by one tap, and a play without squares, have none.
    """
    if play := find_play(game, state, seat, notation):
        # A piece that is placed has no start.
        if len(play.touches) == 1:
            return ()
        return tuple(pairwise(play.squares))
    ends = game.plan(state, seat, notation) or ()
    board_ui = game.board_ui(state, seat)
    if board_ui and board_ui.sheet:
        # A sheet's notation is `UNIT:ORDER …`, and a unit without an order is left out.
        square_of = {unit.name: unit.square for unit in board_ui.sheet.units}
        starts = [square_of[part.partition(":")[0]] for part in notation.split()]
        # A game without `Game.plan` has no ends, and so no arrows.
        return tuple(zip(starts, ends, strict=False))
    return tuple((None, end) for end in ends[:1])


def pad_keys_at_start(game: AnyGame) -> tuple[Key, ...]:
    """Return the keys of a game's pad at the start of a game with the default options.

    They are those of the first seat that has a pad then. Empty if neither seat has one.
    """
    state = game.setup(game.options({}), Random(0))
    for seat in SEATS:
        if pad := game.pad(state, seat):
            return pad.keys
    return ()
