"""“What can I do now?”: what a seat may do, in a word each with what comes of it.

For itself or for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from companion.core.grid import Square
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.base import Game
from companion.games.screen import BoardUi, CardUi, Possible


def possibilities(
    game: Game[Any, Any], state: Any, seat: Seat, entered: str = ""
) -> tuple[Possible, ...]:
    """Return what a seat that is to act may do now, for its own eyes.

    `entered`: the orders it has planned before.
    """
    own = game.possible(state, seat, entered)
    return tuple(own or ()) or tuple(_of_keys(game, state, seat, is_public=False))


def public_possibilities(game: Game[Any, Any], state: Any) -> tuple[Possible, ...]:
    """Return what the rules allow whoever is to act, without anything that only a seat may know."""
    due = sorted(game.to_act(state))
    return tuple(_of_keys(game, state, due[0], is_public=True)) if due else ()


def _of_keys(
    game: Game[Any, Any], state: Any, seat: Seat, *, is_public: bool
) -> Iterator[Possible]:
    words = game.help_words
    tableau, standing = game.tableau(state, seat), game.standing(state, seat)
    if tableau:
        yield from _of_cards(tableau, words, is_public=is_public)
    elif standing and standing.sheet:
        for kind in standing.sheet.kinds:
            yield Possible(kind.drawing, kind.label, words.get(str(kind.label), ""))
    elif standing and standing.duel:
        yield Possible("", say("A card"), words.get("A card", ""))
    elif standing and standing.placing:
        yield Possible("", say("Place"), words.get("Place", ""))
    elif standing:
        yield from _of_plays(game, state, seat, standing)
    elif grammar := game.pad(state, seat):
        for key in grammar.keys:
            yield Possible(key.drawing, key.label, words.get(str(key.label), ""))


def _of_cards(tableau: CardUi, words: Any, *, is_public: bool) -> Iterator[Possible]:
    usable = {choice.key for choice in tableau.choices}
    for key in tableau.keys:
        yield Possible(
            "",
            key.label,
            words.get(str(key.label), ""),
            (),
            not is_public and key.name not in usable,
        )


def _of_plays(
    game: Game[Any, Any], state: Any, seat: Seat, standing: BoardUi
) -> Iterator[Possible]:
    """Yield the words of all plays, each once, with the squares on which they begin."""
    labels = {key.name: key.label for key in standing.keys}
    found: dict[str, dict[Square, None]] = {}
    for play in game.plays(state, seat):
        word = next(iter(game.commands(game.parse(play.text))), labels.get(play.key, say("Place")))
        found.setdefault(word, {}).update({} if play.key else dict.fromkeys(play.squares[:1]))
    for word, squares in found.items():
        yield Possible("", word, game.help_words.get(str(word), ""), tuple(squares))
