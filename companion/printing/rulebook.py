"""The pictures in the rules of a game: examples that the game itself plays, and the board at the
start.

This module draws nothing. `illustrate` says what a picture shows, and the web pages draw it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from random import Random
from typing import Any, NamedTuple

from companion.core.grid import Square
from companion.core.i18n import joined
from companion.core.kit import SEATS, Board, Kit, Layout
from companion.games.base import Event, Example, Game, Stage
from companion.games.screen import Tally
from companion.table.board_check import HandMove, hand_moves


class Illustration(NamedTuple):
    """What the picture of an example shows."""

    kit: Kit
    """The kit, with only that part of the board which is drawn."""
    before: Layout
    after: Layout
    """The layouts before and after the last action. Without an action, both are the start."""
    moves: tuple[HandMove, ...]
    """Moves of hands from one layout to the other."""
    events: tuple[Event, ...]
    tallies: tuple[Tally, ...]
    """Sums that the last action has made, such as the strength of an attack."""
    caption: str


@lru_cache(maxsize=8)
def illustrations(game: Game[Any, Any]) -> Mapping[str, Illustration]:
    """Return the pictures of a game's rules by the ids of their paragraphs. Cached."""
    return {rule.id: illustrate(game, rule.example) for rule in game.rules if rule.example}


def illustrate(game: Game[Any, Any], example: Example) -> Illustration:
    """Play an example and return what its picture shows.

    Without actions, both layouts are the board at the start. Otherwise they are the layouts before
    and after the last action, of which stages after `Example.stage` are left out.

    Raises `Malformed`, `Illegal` or ValueError if the game cannot play it as written.
    """
    before, all_stages = _play_example(game, example)
    kit = game.kit(game.options(example.options))
    # what the last action has done, as far as the example shows it
    stages = all_stages[: example.stage + 1]
    layouts = [stage.expected for stage in stages if stage.expected is not None]
    after = layouts[-1] if layouts else before
    last_events = stages[-1].events if stages else ()
    sentences = [event.text for event in last_events if event.kind.look.is_told]

    # leave out what is beyond the part of the board that is drawn
    is_shown = partial(_is_shown, example=example)
    moves = [
        move
        for move in hand_moves(kit, before, after)
        if is_shown(move.origin) and is_shown(move.target)
    ]
    return Illustration(
        replace(kit, board=_crop_board(kit.board, example)),
        {square: faces for square, faces in before.items() if is_shown(square)},
        {square: faces for square, faces in after.items() if is_shown(square)},
        tuple(moves),
        tuple(event for stage in stages for event in stage.events),
        # a tally without a total shows cards, not a sum
        tuple(tally for stage in stages for tally in stage.tallies if tally.total),
        example.caption or joined(" ", sentences),
    )


def _play_example(game: Game[Any, Any], example: Example) -> tuple[Layout, tuple[Stage, ...]]:
    """Play an example. Return the layout before the last action, and the stages of that action."""
    rng = Random(0)
    state = game.setup(game.options(example.options), rng)
    before = game.expected(state) or {}
    stages: tuple[Stage, ...] = ()
    for text in example.actions:
        seats = [seat for seat in SEATS if seat in game.to_act(state)]
        # actions of both seats are written in one text, South's first
        parts = text.split(" | ") if len(seats) > 1 else [text]
        actions = {seat: game.parse(part) for seat, part in zip(seats, parts, strict=True)}
        game.require(state, actions)
        before = game.expected(state) or {}
        step = game.apply(state, actions, rng)
        state = step.state
        stages = step.stages
    return before, stages


def _is_shown(square: Square | None, example: Example) -> bool:
    """Return whether an example shows a square. It always shows None, which is beside the board."""
    if square is None:
        return True
    files = example.files or square.file + 1
    ranks = example.ranks or square.rank + 1
    return square.file < files and square.rank < ranks


def _crop_board(board: Board, example: Example) -> Board:
    """Return the part of a board that an example shows."""
    ranks = example.ranks or board.ranks
    return replace(
        board,
        files=example.files or board.files,
        ranks=ranks,
        marks=tuple(mark for mark in board.marks if _is_shown(mark.square, example)),
        holes=frozenset(hole for hole in board.holes if _is_shown(hole, example)),
        # the far goal is behind the last rank, so a part without that rank does not show it
        has_goals=board.has_goals and ranks == board.ranks,
    )
