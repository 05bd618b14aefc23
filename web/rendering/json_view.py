"""The view as plain JSON, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

import msgspec

from companion.core.grid import Square
from companion.core.i18n import translate_for_json
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


def to_builtins(value: object) -> Any:
    """Convert a value to JSON types, as msgspec does, with sentences in the current language."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=translate_for_json)


def to_json(value: object) -> Any:
    """Convert a part of a view to JSON types: squares become text such as `c3`, sets are sorted."""
    if isinstance(value, Square):
        return str(value)
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if isinstance(value, frozenset):
        return [to_json(item) for item in sorted(value)]
    return to_builtins(value)


def build_answer(answer_type: type[Answer], *sources: object, **values: object) -> Answer:
    """Return an answer of a type in `web.rendering.answers`, with exactly its fields.

    A field is taken from `values` if its name is there. Otherwise it is taken from the first source
    that has an attribute of that name, and converted to JSON types. The `values` are used as they
    are, so they must be JSON types already.
    """
    answer = {}
    for name in answer_type.__annotations__:
        if name in values:
            answer[name] = values[name]
        else:
            source = next(source for source in sources if hasattr(source, name))
            answer[name] = to_json(getattr(source, name))
    return cast("Answer", answer)


def view_json(view: TableView) -> ViewJson:
    """Convert a view to JSON types, with squares as `c3` and seats as `south` and `north`.

    Most fields of `ViewJson` are attributes of the view or of one of its parts, and have the same
    name there. The others are given below as named values: their name or their form differs.
    """
    turn = view.turn
    board = view.board
    instructions = [
        build_answer(InstructionJson, instruction.move, instruction, done=instruction.move.is_done)
        for instruction in turn.instructions
    ]
    seats = {}
    for seat in SEATS:
        seat_view = view.seats[seat]
        side = seat_view.side
        seats[seat] = build_answer(
            SeatJson,
            seat_view,
            side=side.name if side else None,
            awaited=seat_view.is_awaited,
            entered=seat_view.entered_count,
            coached=seat_view.is_coached,
        )
    return build_answer(
        ViewJson,
        *(view, turn, board, view.own, view.time, view.match, view.devices, view.fairness),
        turn=turn.number,
        stage_title=turn.title,
        told=turn.headline.index if turn.headline else None,
        steps=turn.stage_count,
        opened=to_json(turn.revealed_orders),
        tableau=to_builtins(board.card_ui),
        standing=to_json(board.board_ui),
        watched=board.is_seen_by_camera,
        suggested=board.suggested_game,
        back=to_json(view.own.take_back_moment),
        laid=to_json(view.own.laid_action),
        choices=to_json(view.own.possible_actions),
        back_wanted=to_json(view.match.undo_requester),
        layout=plain_layout(board.layout),
        expected=plain_layout(board.target),
        fans=plain_layout(board.fans),
        panel=view.devices.panel_notice,
        why_not=build_answer(ReasonJson, board.broken_rule) if board.broken_rule else None,
        instructions=instructions,
        seats=seats,
        sealed={seat: view.seats[seat].receipt for seat in SEATS},
        chance=chance_json(view.fairness.chance),
        can_disclose=False,
    )


def chance_json(chance: ChanceView | None) -> ChanceJson | None:
    """Convert the source of chance to JSON types.

    `seed` becomes text, because many programs would round such a large number.
    """
    if chance is None:
        return None
    opened: OpenedChanceJson | None = None
    if chance.opened:
        parts = chance.opened.contributions
        opened = build_answer(
            OpenedChanceJson,
            chance.opened,
            chance,
            contributions={seat: part.value for seat, part in parts.items()},
            text=chance.opened.seed_text,
            seed=f"{chance.seed:064x}",
        )
    return build_answer(ChanceJson, chance, words=to_json(chance.description), opened=opened)
