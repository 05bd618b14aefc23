"""Change who plays the seats: free and swap them, and open a pad's seat to a phone.

Callers of the functions hold the table's lock (see `TableStore`). A *sitting* is the id of one
player's stay in a seat (`SeatView.sitting`). Inputs that name it cannot hit the next player by
mistake. The words door, nonce and token are explained in `companion.table.session`.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace

from companion.core.errors import Illegal, Refusal, Stale, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.table.records import FreeSeat, MoveSeat, TakeSeat
from companion.table.session import MACHINE
from companion.table.state import NO_DRAFT
from companion.table.store import TableStore
from companion.table.views import sitting_of

# Seconds for which a pad's seat is open to a phone. `OPEN_SENTENCES` say so, too.
SEAT_OPEN_S = 30.0
# The sentences on every screen while a pad's seat is open.
OPEN_SENTENCES = {
    Seat.SOUTH: say(
        "South’s seat is open for half a minute: the next phone that asks for it gets it."
    ),
    Seat.NORTH: say(
        "North’s seat is open for half a minute: the next phone that asks for it gets it."
    ),
}
# Topic of the notice with these sentences.
_OPEN_SEAT_TOPIC = "open seat"


def swap_seats(store: TableStore, sittings: Mapping[Seat, str] | None = None) -> None:
    """Swap the players of the two seats, between two games.

    `sittings` has the sitting of each player who is to be moved, as the requester saw it. With None
    the players are moved whoever they are.

    Raises `Stale` if one of these players has left the seat, and `Illegal` during a game.
    """
    session = store.session
    for seat, sitting in (sittings or {}).items():
        require_sitting(store, seat, sitting)
    if not session.is_between_games:
        raise wrong_phase(say("A game is on: seats can be changed between games"))
    changed_seats = [
        TakeSeat(seat.other, player.name, player.nonce, player.door, player.card)
        for seat, player in session.seats.items()
    ]
    # Accept all records together. Otherwise a phone could find its seat free in between, and show
    # the page for joining.
    if changed_seats:
        store.accept(*map(FreeSeat, session.seats), *changed_seats)


def free_seat(store: TableStore, seat: Seat, sitting: str | None = None) -> None:
    """Free a seat. Its sealed action stays sealed.

    `sitting` is that of the player who is to be removed, as the requester saw it. With None the
    player is removed whoever it is. Raises `Stale` if the seat has another player by now, or none.
    """
    require_sitting(store, seat, sitting)
    store.accept(FreeSeat(seat))
    free_lone_machines(store)


def free_lone_machines(store: TableStore) -> None:
    """Free the seats of machines between two games, if all people have left."""
    session = store.session
    if session.is_between_games and session.doors == {MACHINE}:
        store.accept(*map(FreeSeat, session.seats))


def open_to_phone(store: TableStore, seat: Seat) -> None:
    """Open a pad's seat to the next phone, and announce it on every screen.

    A seat that was open before is closed. Raises `Illegal` for a seat that no pad plays.
    """
    if store.session.door_of(seat) != "pad":
        raise Illegal(Refusal.SEAT_TAKEN, say("Nobody plays this seat by its pad"))
    store.open_seat = seat
    store.open_seat_until_s = store.now_s() + SEAT_OPEN_S
    store.set_notice(_OPEN_SEAT_TOPIC, OPEN_SENTENCES[seat])


def move_to_phone(store: TableStore, seat: Seat) -> str:
    """Move an open seat to a phone, and return the nonce for the phone's token.

    The pad's draft is dropped. Raises `Illegal` for a closed seat.
    """
    close_seat_if_due(store)
    if seat is not store.open_seat:
        text = say("This seat is not open: hold Back at its pad for two seconds, then try again")
        raise Illegal(Refusal.SEAT_TAKEN, text)
    name = store.session.seats[seat].name
    record = MoveSeat(seat, "phone", secrets.token_urlsafe(18), name)
    store.accept(record)
    store.live = replace(store.live, drafts={**store.live.drafts, seat: NO_DRAFT})
    # Its door is the phone now, so this closes the open seat.
    close_seat_if_due(store)
    return record.nonce


def close_seat_if_due(store: TableStore) -> None:
    """Close the open seat if its time is over, or if it is no longer played by its pad."""
    seat = store.open_seat
    if seat and (store.now_s() >= store.open_seat_until_s or store.session.door_of(seat) != "pad"):
        store.open_seat = None
        store.set_notice(_OPEN_SEAT_TOPIC, "")


def require_sitting(store: TableStore, seat: Seat, sitting: str | None) -> None:
    """Raise `Stale` unless the seat's present player has this sitting.

    With None, any player will do.
    """
    if sitting is not None and sitting != sitting_of(store.session.nonce_of(seat)):
        raise Stale(
            say(
                "Somebody else sits at {seat!c} by now, or nobody: check the page again",
                seat=seat,
            )
        )
