"""What a program that plays a seat is given: the seat's own view of the turn, and nothing else of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from companion.core.i18n import plain_words
from companion.core.kit import SEATS, Seat
from companion.games.base import View
from companion.table.session import Phase, Session

_encode = msgspec.json.Encoder(enc_hook=plain_words).encode


@dataclass(frozen=True)
class MachineTurn:
    """The table as the machine at one seat may know it.

    `view` is what the rules show that seat, `events` those of each turn so far, oldest first. `options` lack what tells
    of hidden things. `is_due`: an action is wanted of it now, and the clock, where there is one, runs; `due_s` is when
    its time is over, by `Table.now_s` (None: it may take as long as it likes).
    """

    seat: Seat
    name: str
    game: str
    number: int
    options: Mapping[str, Any]
    moment: str
    view: View
    events: tuple[tuple[Mapping[str, Any], ...], ...]
    is_due: bool
    due_s: float | None
    asked: str | None = None
    """The one action that a lesson wants of it; None: it chooses."""


def machine_turns(session: Session) -> tuple[MachineTurn, ...]:
    """The turn of every seat that a program plays; none while no game is on."""
    if session.phase not in (Phase.ORDERS, Phase.STAGES):
        return ()
    return tuple(_turn_of(session, seat) for seat in SEATS if session.is_machines(seat))


def _turn_of(session: Session, seat: Seat) -> MachineTurn:
    game = session.playing
    hidden = game.hidden_options(session.options)
    countdown = session.countdown
    has_time = countdown is None or countdown.due_s is not None
    return MachineTurn(
        seat=seat,
        name=session.seats[seat].name,
        game=game.name,
        number=session.number,
        options={name: value for name, value in session.raw_options.items() if name not in hidden},
        moment=session.moment,
        view=msgspec.json.decode(_encode(game.view(session.state, seat))),
        events=tuple(tuple(msgspec.json.decode(_encode(turn.events))) for turn in session.turns),
        is_due=seat in session.awaited and not session.paused and has_time,
        due_s=countdown.due_s if countdown else None,
        asked=session.asked_of(seat),
    )


def action_by_chance(session: Session, seat: Seat) -> str:
    """Any legal action of a seat that is to act, for a machine whose program has failed."""
    game, asked = session.playing, session.asked_of(seat)
    return asked if asked is not None else game.format(game.random_action(session.state, seat, Random()))
