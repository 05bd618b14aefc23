"""A view in plain JSON: what programs get where people get a page."""

from __future__ import annotations

from typing import cast

from companion.core.kit import SEATS, Seat
from companion.games.base import plain_layout, plain_outcome
from companion.table.chance.game_chance import ChanceView
from companion.table.state import Instruction
from companion.table.table_view import TableView
from web.rendering.answers import (
    ChanceJson,
    InstructionJson,
    OpenedChanceJson,
    OutcomeJson,
    SeatJson,
    ViewJson,
)
from web.rendering.piece_controls import plain_json, plain_reason, plain_standing, plain_ui


def plain_view(view: TableView) -> ViewJson:
    """Return everything a viewer may know, squares as `c3` and seats as `south` and `north`."""
    board = view.board
    return {
        "version": view.version,
        "viewer": view.viewer,
        "phase": view.phase,
        "moment": view.moment,
        "game": view.game,
        "title": view.title,
        "turn": view.turn.number,
        "stage": view.turn.stage,
        "stage_title": view.turn.title,
        "told": view.turn.headline.number if view.turn.headline else None,
        "steps": view.turn.steps,
        "sign": {
            "text": view.sign.text,
            "small": view.sign.small,
            "seats": sorted(view.sign.seats),
        },
        "layout": plain_layout(board.layout),
        "expected": plain_layout(board.target),
        "unknown": [str(square) for square in sorted(board.unknown)],
        "instructions": [_instruction(instruction) for instruction in view.turn.instructions],
        "problems": [plain_ui(problem) for problem in board.problems],
        "seats": {seat: _seat(view, seat) for seat in SEATS},
        "sealed": {seat: view.seats[seat].receipt for seat in SEATS},
        "orders": plain_json(view.turn.orders),
        "events": plain_json(view.turn.events),
        "opened": plain_json(view.turn.opened),
        "back": view.own.back,
        "tallies": plain_json(view.turn.tallies),
        "tableau": plain_json(board.tableau),
        "clock": plain_json(view.time.clock),
        "clocks": plain_json(view.time.clocks),
        "standing": plain_standing(board.standing) if board.standing else None,
        "why_not": plain_reason(board.why_not),
        "laid": view.own.laid,
        "fans": {str(square): list(cards) for square, cards in sorted(board.fans.items())},
        "is_open": view.turn.is_open,
        "score": list(view.match.score),
        "outcome": cast("OutcomeJson | None", plain_outcome(view.match.outcome)),
        "draw_offer": view.match.draw_offer,
        "back_wanted": view.match.back_wanted,
        "can_undo": view.match.can_undo,
        "log": list(view.match.log),
        "camera": {"state": view.devices.camera.state, "sentence": view.devices.camera.sentence},
        "watched": board.watched,
        "tiles_ready": None if board.tiles_ready is None else sorted(board.tiles_ready),
        "panel": view.devices.panel,
        "suggested": board.suggested,
        "choices": list(view.own.choices),
        "notices": list(view.devices.notices),
        "chance": plain_chance(view.fairness.chance),
        "next_commitment": view.fairness.next_commitment,
        "can_disclose": view.fairness.can_disclose,
    }


def plain_chance(chance: ChanceView | None) -> ChanceJson | None:
    """Return where chance comes from.

    `seed` is text, as programs lose digits of so large a number.
    """
    if chance is None:
        return None
    return {
        "number": chance.number,
        "commitment": chance.commitment,
        "chosen": chance.chosen,
        "words": chance.words,
        "opened": _opened(chance),
    }


def _opened(chance: ChanceView) -> OpenedChanceJson | None:
    opened = chance.opened
    if opened is None:
        return None
    return {
        "secret": opened.secret,
        "contributions": {seat: part.value for seat, part in opened.contributions.items()},
        "text": opened.text,
        "seed": f"{chance.seed:064x}",
        "faults": list(chance.faults),
    }


def _instruction(instruction: Instruction) -> InstructionJson:
    move = instruction.move
    return {
        "faces": list(move.faces),
        "origin": _name(move.origin),
        "target": _name(move.target),
        "seat": instruction.seat,
        "text": instruction.text,
        "done": move.done,
    }


def _seat(view: TableView, seat: Seat) -> SeatJson:
    sitter = view.seats[seat]
    return {
        "name": sitter.name,
        "door": sitter.door,
        "side": sitter.side.name if sitter.side else None,
        "awaited": sitter.awaited,
        "sealed_at": sitter.sealed_at,
        "entered": sitter.entered,
        "coached": sitter.coached,
    }


def _name(square: object) -> str | None:
    return None if square is None else str(square)
