"""Seats for remote phones, at the table itself: invitations, what is said of them, and whose time their way takes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from inside import session_of
from table_tools import Played

from companion.core.clock import FakeClock
from companion.core.errors import Illegal
from companion.core.kit import SEATS, Seat
from companion.storage.journal import Journal
from companion.table.records import TakeSeat
from companion.table.seats.far_seats import Invitation
from companion.table.session import FAR, Phase

INVITATION = Invitation("abcdefgh", "http://hub.example/")


def test_an_invitation_is_taken_once(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal:
        table = Played(journal, FakeClock()).table
        table.far.invite(Seat.NORTH, INVITATION)
        assert table.far.seat_of("abcdefgh") is Seat.NORTH
        assert INVITATION.link == "http://hub.example/abcdefgh"
        for seat, code in ((Seat.SOUTH, "abcdefgh"), (Seat.NORTH, "abcdefgj"), (Seat.NORTH, "")):
            with pytest.raises(Illegal, match="This invitation is over"):
                table.far.take(seat, "Ines", code)
        table.far.take(Seat.NORTH, "Ines", "abcdefgh")
        assert table.far.seat_of("abcdefgh") is None
        with pytest.raises(Illegal, match="free the seat first"):
            table.far.invite(Seat.NORTH, INVITATION)
        table.close()
        again = Played(journal, FakeClock()).table
        assert again.far.is_far(Seat.NORTH)
        assert not again.far.is_far(Seat.SOUTH)
        again.far.line_is("", ())
        again.step()
        assert [str(each) for each in again.view().devices.notices] == [
            "North plays remotely, but that phone is not connected now."
        ]
        again.far.line_is("", {Seat.NORTH})
        again.step()
        assert not again.view().devices.notices
        again.close()


@pytest.mark.parametrize("delay_s", [0.0, 1.5])
def test_the_way_of_an_order_is_charged_to_nobody(tmp_path: Path, delay_s: float) -> None:
    clock, rng = FakeClock(), Random(3)
    with Journal(tmp_path / "journal.sqlite") as journal:
        played = Played(journal, clock)  # type: ignore[arg-type] # a journal without a file of its own is as good
        table = played.table
        table.take_seat(Seat.SOUTH, "Mara")
        table.far.invite(Seat.NORTH, INVITATION)
        table.far.take(Seat.NORTH, "Ines", "abcdefgh")
        assert any(isinstance(entry.record, TakeSeat) and entry.record.door == FAR for entry in journal.entries(0))
        table.far.line_is("", SEATS)
        table.new_game("scouts", {})

        def left_s() -> float:
            now_s, clocks = clock.monotonic_s(), table.view().time.clocks
            return sum(
                one.left_s if one.due_s is None else one.due_s - now_s for one in (clocks[seat] for seat in SEATS)
            )

        heard = 0
        while heard < 8:
            session = session_of(table)
            if session.phase is not Phase.ORDERS:
                table.confirm("host", session.moment, session.stage, force=True)
                continue
            (seat,) = session.awaited
            action = session.playing.format(session.playing.random_action(session.state, seat, rng))
            running = session.countdown is not None and session.countdown.since_s is not None
            before_s = left_s() if running else 0.0
            clock.advance(10)
            if seat is Seat.SOUTH or not running:
                table.hand_in(seat, session.moment, action)
                continue
            table.hand_in(seat, session.moment, action, at_s=clock.monotonic_s() - delay_s)
            heard += 1
            assert left_s() == pytest.approx(before_s - 10 + delay_s)
        table.close()
