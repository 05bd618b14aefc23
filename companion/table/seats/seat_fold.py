"""Change the players of the seats, as a part of the reducer.

Each function that folds a record returns the next session and its cues, or raises.
"""

from __future__ import annotations

from dataclasses import replace

from companion.core.errors import Illegal, Malformed, Refusal, wrong_phase
from companion.core.i18n import say
from companion.core.names import is_printable, normalise_name
from companion.core.ports import Cue, signal_to
from companion.table.records import FreeSeat, MoveSeat, ShowCard, TakeSeat
from companion.table.session import MACHINE, Player, Session, Transition

# Maximum number of characters of a name. Messages between tables have the same bound.
MAX_NAME = 24


def parse_name(text: str) -> str:
    """Return a typed name as it is stored, empty if nothing of it is visible.

    Raises `Malformed` if the name is too long or cannot be displayed.
    """
    name = normalise_name(text)
    if len(name) > MAX_NAME or not is_printable(text.strip()):
        raise Malformed(
            say("A name may have at most {number} printable characters", number=MAX_NAME)
        )
    return name


def _door_of(record: TakeSeat | MoveSeat) -> str:
    """Return the door that a record names.

    In an earlier version a phone could join through a hub, by the door "far". In its journals such
    a seat counts as a phone's. No phone has its cookie any more, so the owner frees it.
    """
    return "phone" if record.door == "far" else record.door


def take_seat(session: Session, record: TakeSeat) -> Transition:
    """Seat a player. Raises `Illegal` if the seat is taken, and `Malformed` for a bad name."""
    if record.seat in session.seats and not session.had_remote_player(record.seat):
        raise Illegal(
            Refusal.SEAT_TAKEN,
            say(
                "{seat!c} is taken: sit down on the other side, or ask the owner to free the seat",
                seat=record.seat,
            ),
        )
    player = Player(parse_name(record.name), record.nonce, _door_of(record), record.card)
    signal = signal_to(record.seat, Cue.SEAT_TAKEN)
    return replace(session, seats={**session.seats, record.seat: player}), (signal,)


def free_seat(session: Session, record: FreeSeat) -> Transition:
    """Free a seat."""
    seats = {seat: player for seat, player in session.seats.items() if seat != record.seat}
    return replace(session, seats=seats), ()


def move_seat(session: Session, record: MoveSeat) -> Transition:
    """Let a phone or a pad continue to play a seat, perhaps with another player.

    Raises `Illegal` if the seat is free.
    """
    player = session.seats.get(record.seat)
    if player is None:
        raise wrong_phase(say("Nobody sits at {seat!c}: take the seat", seat=record.seat))
    name = normalise_name(record.name) or player.name
    moved = Player(name, record.nonce or player.nonce, _door_of(record), player.card)
    signal = signal_to(record.seat, Cue.SEAT_TAKEN)
    return replace(session, seats={**session.seats, record.seat: moved}), (signal,)


def show_card(session: Session, record: ShowCard) -> Transition:
    """Show a player's card at a seat, or remove it.

    Raises `Illegal` if no person sits there, or if the other seat has the card.
    """
    player = session.seats.get(record.seat)
    if player is None or player.door == MACHINE:
        raise wrong_phase(say("Nobody sits at {seat!c}: take the seat", seat=record.seat))
    other_player = session.seats.get(record.seat.other)
    if record.card and other_player is not None and other_player.card == record.card:
        raise wrong_phase(say("This card has been shown at the other seat already"))
    seats = {**session.seats, record.seat: replace(player, card=record.card)}
    return replace(session, seats=seats), ()
