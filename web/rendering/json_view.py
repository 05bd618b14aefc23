"""The view as plain JSON, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

import msgspec

from companion.core.grid import Square
from companion.core.i18n import plain_words
from companion.core.kit import SEATS
from companion.games.base import plain_layout
from companion.table.chance.game_chance import ChanceView
from companion.table.table_view import TableView
from web.rendering.answers import (
    ChanceJson,
    InstructionJson,
    OpenedChanceJson,
    ReasonJson,
    SeatJson,
    ViewJson,
)

Answer = TypeVar("Answer")


def plain_json(value: object) -> Any:
    """Convert a value to JSON types, with sentences in the current language."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=plain_words)


def plain(value: object) -> Any:
    """Convert a part of a view to JSON types, with squares as `c3` and sets sorted."""
    if isinstance(value, Square):
        return str(value)
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, frozenset):
        return [plain(item) for item in sorted(value)]
    return plain_json(value)


def answer_of(kind: type[Answer], *sources: object, **made: object) -> Answer:
    """Return an answer of a declared type: only its own fields, in JSON types.

    A field is what was `made` for it, or else the attribute of that name of the first source that
    has one.
    """
    answer = {}
    for name in kind.__annotations__:
        if name in made:
            answer[name] = made[name]
        else:
            source = next(source for source in sources if hasattr(source, name))
            answer[name] = plain(getattr(source, name))
    return cast("Answer", answer)


def plain_view(view: TableView) -> ViewJson:
    """Convert a view to JSON types, with squares as `c3` and seats as `south` and `north`."""
    turn = view.turn
    board = view.board
    instructions = [
        answer_of(InstructionJson, instruction.move, instruction, done=instruction.move.is_done)
        for instruction in turn.instructions
    ]
    seats = {}
    for seat in SEATS:
        seat_view = view.seats[seat]
        side = seat_view.side
        seats[seat] = answer_of(
            SeatJson,
            seat_view,
            side=side.name if side else None,
            awaited=seat_view.is_awaited,
            entered=seat_view.entered_count,
            coached=seat_view.is_coached,
        )
    return answer_of(
        ViewJson,
        *(view, turn, board, view.own, view.time, view.match, view.devices, view.fairness),
        turn=turn.number,
        stage_title=turn.title,
        told=turn.headline.index if turn.headline else None,
        steps=turn.stage_count,
        opened=plain(turn.revealed_orders),
        tableau=plain_json(board.card_ui),
        standing=plain(board.board_ui),
        watched=board.is_seen_by_camera,
        suggested=board.suggested_game,
        back=plain(view.own.take_back_moment),
        laid=plain(view.own.laid_action),
        choices=plain(view.own.possible_actions),
        back_wanted=plain(view.match.undo_requester),
        layout=plain_layout(board.layout),
        expected=plain_layout(board.target),
        fans=plain_layout(board.fans),
        panel=view.devices.panel_notice,
        why_not=answer_of(ReasonJson, board.broken_rule) if board.broken_rule else None,
        instructions=instructions,
        seats=seats,
        sealed={seat: view.seats[seat].receipt for seat in SEATS},
        chance=plain_chance(view.fairness.chance),
        can_disclose=False,
    )


def plain_chance(chance: ChanceView | None) -> ChanceJson | None:
    """Convert the source of chance to JSON types.

    `seed` is text, because programs lose digits of such a large number.
    """
    if chance is None:
        return None
    opened: OpenedChanceJson | None = None
    if chance.opened:
        parts = chance.opened.contributions
        opened = answer_of(
            OpenedChanceJson,
            chance.opened,
            chance,
            contributions={seat: part.value for seat, part in parts.items()},
            seed=f"{chance.seed:064x}",
        )
    return answer_of(ChanceJson, chance, opened=opened)
