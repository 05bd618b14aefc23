"""The messages to a broker, topic by topic, as JSON.

They contain only what everybody at the table may know.

All topics begin with the one in the settings. All messages are retained except those on `event`, so
that the broker gives the last one to whoever subscribes later. docs/interfaces.md, "Topics", lists
the topics.

The sign is the one sentence that says what the table waits for. A cue is what sounds and lights
when something happens. The door of a seat is how it is played, such as `phone` or `machine`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from companion.core.drawings import SIGN_COLOUR
from companion.core.i18n import translate
from companion.core.kit import SEATS, Seat
from companion.core.ports import CameraState, Cue, Signal
from companion.games import event_cues
from companion.table.chance.game_chance import ChanceView
from companion.table.seats.staff_call import Call, StaffBell
from companion.table.session import Phase
from companion.table.table_view import TableView

# Topics on which the table publishes.
AVAILABILITY = "availability"
STATE = "state"
TURN = "turn"
CLOCK = "clock"
SEATS_TAKEN = "seats"
DEVICES = "devices"
EVENT = "event"
STAFF = "staff"
# Topics to which the table subscribes: answers to the staff call, and pausing the clock.
STAFF_SET = "staff/set"
PAUSED_SET = "paused/set"

# Retained topics, which are cleared when MQTT is switched off.
RETAINED = (AVAILABILITY, STATE, TURN, CLOCK, SEATS_TAKEN, DEVICES, STAFF)

# Colour of the turn while the table waits for both seats: the sign's yellow.
BOTH_COLOUR = SIGN_COLOUR
# Colour of the turn while it waits for no seat, and of a seat without a game.
NEUTRAL_COLOUR = "#FFFFFF"

# Public cues of the table: those that lamps and tones show to everybody. The cues of the keys of a
# pad are left out, because they would tell what a seat enters. The cues of the events of games are
# published as well, see `event_types`.
PUBLIC_CUES = (
    Cue.SEAT_TAKEN, Cue.ORDERS_WANTED, Cue.SEALED, Cue.TAKEN_BACK, Cue.REVEAL, Cue.STEP,
    Cue.HANDS_WANTED, Cue.BOARD_AGREES, Cue.BOARD_WRONG, Cue.TURN_PASSES, Cue.TIME_OUT, Cue.PAUSED,
    Cue.RESUMED, Cue.OFFER, Cue.WON,
    Cue.TIE, Cue.TROUBLE,
)  # fmt: skip

# Events of the staff call, by the state that it changes to.
STAFF_EVENTS = {
    Call.CALLED: "staff_called",
    Call.COMING: "staff_coming",
    Call.NONE: "staff_done",
}


def event_types() -> tuple[str, ...]:
    """Return the names of all events on the topic `event`."""
    return (*map(str, (*PUBLIC_CUES, *event_cues())), *STAFF_EVENTS.values())


def state_message(view: TableView, language: str) -> Mapping[str, Any]:
    """Return the game, its progress, and the text of the sign."""
    south, north, ties = view.match.score
    outcome = view.match.outcome if view.phase is Phase.OVER else None
    return {
        "phase": view.phase.value,
        "paused": bool(view.time.clock and view.time.clock.paused),
        "game": view.game,
        "title": translate(view.title, language),
        "turn": view.turn.number if view.game else 0,
        "step": translate(view.turn.title, language),
        "sign": translate(view.sign.text, language),
        "why": translate(view.sign.small, language),
        "waiting_for": sorted(view.sign.seats),
        "winners": sorted(outcome.winners) if outcome else [],
        "result": translate(outcome.reason, language) if outcome else "",
        "score": {"south": south, "north": north, "ties": ties},
        "chance": _chance_fields(view.fairness.chance, language),
    }


def _chance_fields(chance: ChanceView | None, language: str) -> Mapping[str, Any] | None:
    if chance is None:
        return None
    return {
        "words": translate(chance.description, language),
        "is_chosen": bool(chance.chosen),
        "commitment": chance.commitment,
    }


def turn_message(view: TableView, language: str) -> Mapping[str, Any]:
    """Return the seats that the table waits for, or after a game the winners.

    Also return a colour for a lamp that shows whose turn it is.
    """
    seats = view.sign.seats
    if view.phase is Phase.OVER:
        seats = view.match.outcome.winners if view.match.outcome else frozenset()
    whose_turn = "none"
    side = None
    colour = NEUTRAL_COLOUR
    if len(seats) == 1:
        (seat,) = seats
        whose_turn = seat.value
        side = view.seats[seat].side
        colour = side.rgb if side else NEUTRAL_COLOUR
    elif seats:
        whose_turn = "both"
        colour = BOTH_COLOUR
    return {
        "seat": whose_turn,
        "side": translate(side.name, language) if side else "",
        "colour": colour,
        "rgb": list(bytes.fromhex(colour[1:])),
    }


def clock_message(view: TableView, now_s: float, wall_s: float) -> Mapping[str, Any]:
    """Return the clock: its time left now, and when it runs out.

    The message is not repeated while the clock runs, because subscribers can count down by
    themselves. `now_s` is the table's monotonic time, and `wall_s` the Unix time of the same
    moment.
    """
    clock = view.time.clock
    seats_left_s = {
        seat.value: seat_clock.left_at_s(now_s) for seat, seat_clock in view.time.clocks.items()
    }
    if clock is None:
        return {
            "runs": False,
            "left_s": None,
            "limit_s": None,
            "ends_at": None,
            "seats": seats_left_s,
        }
    ends_at = None
    if clock.due_s is not None:
        # Convert the table's monotonic time to Unix time.
        ends_s = wall_s + clock.due_s - now_s
        ends_at = datetime.fromtimestamp(round(ends_s, 1), UTC).isoformat()
    return {
        "runs": clock.due_s is not None,
        "left_s": clock.left_at_s(now_s),
        "limit_s": round(clock.limit_s, 1),
        "ends_at": ends_at,
        "seats": seats_left_s,
    }


def seats_message(view: TableView, language: str, with_names: bool) -> Mapping[str, Any]:
    """Return which seats are taken, and which have handed in.

    With `with_names` the players' names are included.
    """
    seats: dict[str, Any] = {
        "taken": sum(seat_view.name is not None for seat_view in view.seats.values())
    }
    for seat in SEATS:
        seat_view = view.seats[seat]
        seats[seat.value] = {
            "taken": seat_view.name is not None,
            "by": seat_view.door,
            "side": translate(seat_view.side.name, language) if seat_view.side else "",
            "colour": seat_view.side.rgb if seat_view.side else NEUTRAL_COLOUR,
            "awaited": seat_view.is_awaited,
            # a seat gets a receipt when it has handed in
            "handed_in": seat_view.receipt is not None,
        }
        if with_names:
            seats[seat.value]["name"] = seat_view.name or ""
    return seats


def devices_message(view: TableView, language: str) -> Mapping[str, Any]:
    """Return the state of camera and pads, and the notices, in the words of the pages."""
    devices, camera = view.devices, view.devices.camera
    return {
        "camera": camera.state.value,
        "camera_words": translate(camera.sentence, language),
        "pads": translate(devices.panel_notice, language),
        "trouble": camera.state is CameraState.TROUBLE or bool(devices.notices),
        "notices": [translate(notice, language) for notice in devices.notices],
    }


def staff_message(bell: StaffBell, language: str) -> Mapping[str, Any]:
    """Return the state of the staff call, and its caller."""
    return {
        "call": bell.call.value,
        "by": bell.caller,
        "words": translate(bell.sentence(), language),
    }


def cue_event(signal: Signal, view: TableView, language: str) -> Mapping[str, Any] | None:
    """Return the event of a signal, with the text of the sign.

    Return None if the cue of the signal is not published.
    """
    if isinstance(signal.cue, Cue) and signal.cue not in PUBLIC_CUES:
        return None
    return _event_message(str(signal.cue), signal.seats, view, language)


def staff_event(call: Call, caller: str, view: TableView, language: str) -> Mapping[str, Any]:
    """Return the event of a staff call that was made, answered or ended."""
    return {**_event_message(STAFF_EVENTS[call], frozenset(), view, language), "by": caller}


def encode_json(content: Mapping[str, Any]) -> bytes:
    """Return compact JSON in UTF-8."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _event_message(
    kind: str, seats: frozenset[Seat], view: TableView, language: str
) -> Mapping[str, Any]:
    return {
        "event_type": kind,
        "seats": sorted(seats),
        "sign": translate(view.sign.text, language),
        "happened": [translate(event.text, language) for event in view.turn.events],
        "game": view.game,
        "turn": view.turn.number if view.game else 0,
    }
