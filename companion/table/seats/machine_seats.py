"""The seats that programs play, and what these programs may know.

A program that plays or advises a seat receives only what a player of that seat may know.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import msgspec

from companion.core.errors import wrong_phase
from companion.core.i18n import say, translate_for_json
from companion.core.kit import SEATS, Seat
from companion.games.base import View
from companion.table.lesson_progress import lesson_action_of
from companion.table.records import FreeSeat, HandIn, TakeSeat
from companion.table.session import MACHINE, Session, turn_is_over
from companion.table.state import MAX_REASONS
from companion.table.store import TableStore
from companion.table.turns import hand_in

_encode = msgspec.json.Encoder(enc_hook=translate_for_json).encode


@dataclass(frozen=True)
class MachineTurn:
    """One decision, as the machine at one seat may know it."""

    seat: Seat
    name: str
    """Name of the machine player."""
    game: str
    """Name of the game's rules, a key of `companion.games.GAMES`."""
    number: int
    """Number of the game in the journal."""
    options: Mapping[str, Any]
    """The game's options, without those that reveal hidden information."""
    moment: str
    """The id of the decision, such as `3.2`, which the machine's action must name."""
    view: View
    """What the rules show to that seat, as plain JSON values."""
    events: tuple[tuple[Mapping[str, Any], ...], ...]
    """Events of each turn so far, oldest first."""
    is_due: bool
    """Whether the machine has to act now, and its clock is not stopped."""
    due_s: float | None
    """Deadline by `Table.now_s`. None without a time limit, or for an earlier turn."""
    lesson_action: str | None = None
    """The one action that a lesson wants. None if the machine may choose."""


class MachineSeats:
    """Seats machine players, and acts for those that fail. Any thread may call.

    `companion.bots.machine_players` runs the programs. It asks this class for the turns that are
    due.
    """

    def __init__(self, store: TableStore) -> None:
        self._store = store

    def seat_machine(self, seat: Seat, name: str) -> None:
        """Seat a program of this name.

        Raises `Illegal` if the seat is taken, and `Malformed` for a name that cannot be shown.
        """
        self._store.submit(TakeSeat(seat, name, secrets.token_urlsafe(18), MACHINE))

    def unseat_machine(self, seat: Seat) -> None:
        """Free a seat of a program. Raises `Illegal` if no program plays it."""
        with self._store.hold():
            if self._store.session.door_of(seat) != MACHINE:
                raise wrong_phase(say("No machine sits at {seat!c}", seat=seat))
            self._store.accept(FreeSeat(seat))

    def turns(self) -> tuple[MachineTurn, ...]:
        """Return the turn of every seat that a program plays, as that seat may know it.

        Empty while no game is running.
        """
        session = self._store.session
        if not session.is_in_play:
            return ()
        return tuple(machine_turn(session, seat) for seat in SEATS if session.is_machine_seat(seat))

    def store_reasons(self, seat: Seat, moment: str, reasons: tuple[str, ...]) -> None:
        """Store a machine's reasons for the action that it is about to hand in.

        They stay secret until that turn is revealed. A restart loses them, because they are only in
        memory.
        """
        with self._store.hold():
            live = self._store.live
            latest = [*live.machine_reasons.items(), ((seat, moment), reasons)][-MAX_REASONS:]
            self._store.live = replace(live, machine_reasons=dict(latest))

    def act_at_random(self, seat: Seat, moment: str) -> None:
        """Take a random legal action for a machine whose program has failed.

        In a lesson, take the action that the lesson asks for. Raises `Stale` if the machine no
        longer has to act.
        """
        with self._store.hold():
            session = self._store.session
            session.require_moment(moment)
            if seat not in session.awaited_seats or not session.is_machine_seat(seat):
                raise turn_is_over()
            game = session.require_game()
            action = lesson_action_of(session, seat)
            if action is None:
                action = game.format(game.random_action(session.state, seat, Random()))
            hand_in(self._store, HandIn(seat, moment, action, now_s=self._store.now_s()))


def state_after_turns(session: Session, turn_count: int) -> Any:
    """Return the game's position after this number of its turns."""
    while len(session.turns) > turn_count and session.before_turn:
        session = session.before_turn
    return session.state


def to_json_values(value: Any) -> Any:
    """Return a view or events as dicts, lists, strings and numbers, for a program."""
    return msgspec.json.decode(_encode(value))


def machine_turn(session: Session, seat: Seat, turn_index: int | None = None) -> MachineTurn:
    """Return the decision that is due, as a program at this seat may know it.

    With `turn_index`, an index in `Session.turns`, return the decision of that turn instead, as it
    was known then.
    """
    game = session.require_game()
    state = session.state
    moment = session.moment
    if turn_index is not None:
        state = state_after_turns(session, turn_index)
        moment = session.turns[turn_index].moment
    hidden_names = game.hidden_options(session.options) or ()
    options = {
        name: value for name, value in session.chosen_options.items() if name not in hidden_names
    }
    countdown = session.countdown
    has_time = countdown is None or countdown.due_s is not None
    is_due = (
        turn_index is None and seat in session.awaited_seats and not session.paused_by and has_time
    )
    return MachineTurn(
        seat=seat,
        name=session.seats[seat].name,
        game=game.name,
        number=session.game_number,
        options=options,
        moment=moment,
        view=to_json_values(game.view(state, seat)),
        events=tuple(tuple(to_json_values(turn.events)) for turn in session.turns[:turn_index]),
        is_due=is_due,
        due_s=countdown.due_s if countdown and turn_index is None else None,
        lesson_action=lesson_action_of(session, seat),
    )
