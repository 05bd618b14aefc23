"""The view as plain JSON, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

import msgspec

from companion.core.grid import Square
from companion.core.i18n import plain_words
from companion.core.kit import SEATS
from companion.games.base import plain_layout, plain_outcome
from companion.table.chance.game_chance import ChanceView
from companion.table.table_view import TableView
from web.rendering.answers import BoardUiJson, ChanceJson, OpenedChanceJson, ViewJson


def plain_json(value: object) -> Any:
    """Convert a value to JSON types, with sentences in the current language."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=plain_words)


def plain(value: object) -> Any:
    """Convert a part of a view to JSON types, with squares as `c3` and sets sorted."""
    if isinstance(value, Square):
        return str(value)
    if is_dataclass(value):
        return plain_fields(value, *(field.name for field in fields(value)))
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value)}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, frozenset):
        return [plain(item) for item in sorted(value)]
    return plain_json(value)


def plain_fields(value: object, *names: str) -> dict[str, Any]:
    """Convert some attributes of a value to JSON types, by name."""
    return {name: plain(getattr(value, name)) for name in names}


def plain_view(view: TableView) -> ViewJson:
    """Convert a view to JSON types, with squares as `c3` and seats as `south` and `north`."""
    turn, board = view.turn, view.board
    reason = board.why_not
    answer = {
        **plain_fields(view, "version", "viewer", "phase", "moment", "game", "title"),
        **plain_fields(turn, "stage", "steps", "orders", "events", "opened", "tallies", "is_open"),
        "turn": turn.number,
        "stage_title": turn.title,
        "told": turn.headline.number if turn.headline else None,
        "sign": plain_fields(view.sign, "text", "small", "seats"),
        **plain_fields(board, "unknown", "problems", "watched", "tiles_ready", "suggested"),
        "tableau": plain_json(board.tableau),
        "layout": plain_layout(board.layout),
        "expected": plain_layout(board.target),
        "fans": plain_layout(board.fans),
        "standing": plain_fields(board.standing, *BoardUiJson.__annotations__)
        if board.standing
        else None,
        "why_not": plain_fields(reason, "message", "reason", "rule", "square") if reason else None,
        "instructions": [
            {
                **plain_fields(instruction.move, "faces", "origin", "target", "done"),
                **plain_fields(instruction, "seat", "text"),
            }
            for instruction in turn.instructions
        ],
        "seats": {
            seat: {
                **plain_fields(
                    view.seats[seat],
                    *("name", "door", "awaited", "sealed_at", "entered", "coached"),
                ),
                "side": side.name if (side := view.seats[seat].side) else None,
            }
            for seat in SEATS
        },
        "sealed": {seat: view.seats[seat].receipt for seat in SEATS},
        **plain_fields(view.own, "back", "laid", "choices"),
        **plain_fields(view.time, "clock", "clocks"),
        **plain_fields(view.match, "score", "draw_offer", "back_wanted", "can_undo", "log"),
        "outcome": plain_outcome(view.match.outcome),
        **plain_fields(view.devices, "panel", "notices"),
        "camera": plain_fields(view.devices.camera, "state", "sentence"),
        **plain_fields(view.fairness, "next_commitment", "can_disclose"),
        "chance": plain_chance(view.fairness.chance),
    }
    return cast("ViewJson", answer)


def plain_chance(chance: ChanceView | None) -> ChanceJson | None:
    """Convert the source of chance to JSON types.

    `seed` is text, because programs lose digits of such a large number.
    """
    if chance is None:
        return None
    opened: OpenedChanceJson | None = None
    if chance.opened:
        parts = chance.opened.contributions
        opened = {
            "secret": chance.opened.secret,
            "contributions": {seat: part.value for seat, part in parts.items()},
            "text": chance.opened.text,
            "seed": f"{chance.seed:064x}",
            "faults": list(chance.faults),
        }
    answer = {**plain_fields(chance, "number", "commitment", "chosen", "words"), "opened": opened}
    return cast("ChanceJson", answer)
