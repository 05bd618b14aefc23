"""The pictures in the rules of a game: examples, played by the game itself, and the board at the
start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from companion.core.grid import Square
from companion.core.i18n import joined
from companion.core.kit import SEATS, Kit, Layout
from companion.games.base import Event, Example, Game
from companion.games.screen import Tally
from companion.table.board_check import hand_moves


@dataclass(frozen=True)
class Illustration:
    """The picture of an example: the boards before and after, the moves between squares, events and
    sums.

    `ways` are the faces of a stack with the squares they leave and reach (None: beside the board).
    """

    kit: Kit
    layout: Layout
    after: Layout
    ways: tuple[tuple[tuple[str, ...], Square | None, Square | None], ...]
    events: tuple[Event, ...]
    tallies: tuple[Tally, ...]
    caption: str


@lru_cache(maxsize=8)
def illustrations(game: Game[Any, Any]) -> Mapping[str, Illustration]:
    """Return the pictures of a game's rules by the ids of their paragraphs. Cached."""
    return {rule.id: illustrate(game, rule.example) for rule in game.rules if rule.example}


def illustrate(game: Game[Any, Any], example: Example) -> Illustration:
    """Play an example and return its picture.

    Raises `Malformed`, `Illegal` or IndexError if the game cannot play it as written.
    """
    options = game.options(example.options)
    rng = Random(0)
    kit = game.kit(options)
    state = game.setup(options, rng)
    step = None
    before = game.expected(state) or {}
    for text in example.actions:
        seats = [seat for seat in SEATS if seat in game.to_act(state)]
        parts = text.split(" | ") if len(seats) > 1 else [text]
        actions = {seat: game.parse(part) for seat, part in zip(seats, parts, strict=True)}
        game.require(state, actions)
        before = game.expected(state) or {}
        step = game.apply(state, actions, rng)
        state = step.state
    if step is None or not step.stages:
        return _illustration(kit, example, before, before)
    last = step.stages[example.stage]
    stages = step.stages[: example.stage + 1]
    # the last stage with a layout
    after = next(
        (stage.expected for stage in reversed(stages) if stage.expected is not None), before
    )
    events = tuple(event for stage in stages for event in stage.events)
    # a tally without a total shows cards, not a sum
    tallies = tuple(tally for stage in stages for tally in stage.tallies if tally.total)
    caption = example.caption or joined(
        " ", [event.text for event in last.events if event.kind.look.is_told]
    )
    return replace(
        _illustration(kit, example, before, after), events=events, tallies=tallies, caption=caption
    )


def _illustration(kit: Kit, example: Example, before: Layout, after: Layout) -> Illustration:
    """Return an illustration of the moves from one board to the other, limited to the part that is
    shown.
    """
    board = kit.board
    files = example.files or board.files
    ranks = example.ranks or board.ranks

    def is_shown(square: Square | None) -> bool:
        return square is None or (square.file < files and square.rank < ranks)

    marks = tuple(mark for mark in board.marks if is_shown(mark.square))
    holes = frozenset(filter(is_shown, board.holes))
    # the far goal is behind the last rank, so a part without that rank does not show it
    has_goals = board.has_goals and ranks == board.ranks
    part = replace(
        board,
        files=files,
        ranks=ranks,
        marks=marks,
        holes=holes,
        has_goals=has_goals,
    )
    moves = hand_moves(kit, before, after)
    return Illustration(
        replace(kit, board=part),
        {square: faces for square, faces in before.items() if is_shown(square)},
        {square: faces for square, faces in after.items() if is_shown(square)},
        tuple(
            (m.faces, m.origin, m.target)
            for m in moves
            if is_shown(m.origin) and is_shown(m.target)
        ),
        (),
        (),
        example.caption,
    )
