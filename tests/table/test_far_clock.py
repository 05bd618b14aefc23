"""The clock of a remote phone while the line to it is cut: whose time that is, and who ends the waiting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from inside import journal_of, session_of
from table_tools import Played

from companion.core.clock import FakeClock
from companion.core.errors import Illegal
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.table.seats.far_seats import Invitation
from companion.table.session import Phase

NORTH = {Seat.NORTH}
CUT = "The line to the hub is down: the remote phone is waiting."


class Far(Played):
    """A game with a clock, Scouts as a rule; North is remote, and its phone follows the table."""

    def start(self, game: str = "scouts") -> None:
        table = self.table
        self.line(NORTH)
        table.take_seat(Seat.SOUTH, "Mara")
        table.far.invite(Seat.NORTH, Invitation("abcdefgh", "http://hub.example/"))
        table.far.take(Seat.NORTH, "Ines", "abcdefgh")
        table.new_game(game, {}, seed=1)
        while session_of(table).countdown is None:
            self.act()
        if session_of(table).paused:
            table.resume("south")

    def line(self, there: set[Seat], trouble: str = "") -> None:
        """The line is there, or not; while it is, it has just been heard."""
        if not trouble:
            self.table.far.heard(self.clock.monotonic_s())
        self.table.far.line_is(trouble, there)
        self.table.step()

    def act(self) -> None:
        """Whoever is on turn does something."""
        session = session_of(self.table)
        if session.phase in (Phase.SETUP, Phase.STAGES):
            self.table.confirm("host", session.moment, session.stage, force=True)
            return
        (seat,) = session.awaited
        action = session.playing.random_action(session.state, seat, Random(session.tick))
        self.table.hand_in(seat, session.moment, session.playing.format(action))

    def play_until(self, seat: Seat) -> None:
        """It is this seat's turn, and its clock runs."""
        while not (session_of(self.table).awaited == {seat} and self.running):
            self.act()

    @property
    def running(self) -> bool:
        countdown = session_of(self.table).countdown
        return countdown is not None and countdown.since_s is not None

    def left_s(self, seat: Seat) -> float:
        clock = self.table.view().time.clocks[seat]
        return clock.left_s if clock.due_s is None else clock.due_s - self.clock.monotonic_s()


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    with Journal(tmp_path / "journal.sqlite") as journal:
        played = Far(journal, FakeClock())
        with played.table:
            played.start()
            yield played


def test_the_time_of_a_cut_line_is_charged_to_nobody(far: Far) -> None:
    far.play_until(Seat.NORTH)
    far.wait(5)
    before_s = far.left_s(Seat.NORTH)
    far.line(set())  # it was heard just now
    far.wait(4)
    far.line(set(), CUT)
    sign = far.table.view(Seat.SOUTH).sign
    assert str(sign.text) == "Wait for the connection"
    assert str(sign.small) == "The remote phone cannot be reached. The clock goes on by itself when it is back."
    assert far.left_s(Seat.NORTH) == before_s  # from the line's last sign of life on
    far.wait(3000)
    for by in ("south", "north", "table"):
        with pytest.raises(Illegal, match="only the host can start the clock"):
            far.table.resume(by)
    assert far.left_s(Seat.NORTH) == before_s
    far.line(NORTH)
    assert far.running
    far.wait(2)
    assert far.left_s(Seat.NORTH) == pytest.approx(before_s - 2)


def test_a_phone_that_goes_away_by_itself_spends_its_time(far: Far) -> None:
    far.play_until(Seat.NORTH)
    before_s = far.left_s(Seat.NORTH)
    far.line(set())
    far.wait(60)
    far.line(set())
    assert far.left_s(Seat.NORTH) == pytest.approx(before_s - 60)


def test_a_phone_that_stays_away_when_the_line_is_back_spends_its_time(far: Far) -> None:
    far.play_until(Seat.NORTH)
    before_s = far.left_s(Seat.NORTH)
    far.line(set(), CUT)
    far.wait(100)
    far.line(set())
    far.wait(9)
    assert not far.running
    far.wait(1)
    assert far.running
    far.wait(30)
    assert far.left_s(Seat.NORTH) == pytest.approx(before_s - 30)


def test_the_room_s_own_clock_runs_on(far: Far) -> None:
    far.play_until(Seat.SOUTH)
    before_s = far.left_s(Seat.SOUTH)
    far.line(set(), CUT)
    far.wait(20)
    assert far.left_s(Seat.SOUTH) == pytest.approx(before_s - 20)
    north_s = far.left_s(Seat.NORTH)
    while session_of(far.table).awaited != {Seat.NORTH}:
        far.act()
    far.wait(50)
    assert not far.running
    assert far.left_s(Seat.NORTH) == north_s


def test_the_host_ends_the_waiting_until_the_line_is_back(far: Far) -> None:
    far.play_until(Seat.NORTH)
    before_s = far.left_s(Seat.NORTH)
    far.line(set(), CUT)
    far.wait(500)
    far.table.resume("host")
    far.wait(30)
    far.line(set(), CUT)
    assert far.running
    assert far.left_s(Seat.NORTH) == pytest.approx(before_s - 30)
    far.line(NORTH)
    far.line(set(), CUT)  # the next time it is waited for again
    assert not far.running


def test_nobody_loses_on_time_by_a_line_that_was_silent(far: Far) -> None:
    asked: list[bool] = []
    far.table.far.ask_line = lambda: asked.append(True)
    far.play_until(Seat.NORTH)
    far.line(NORTH)
    far.wait(1)
    far.wait(3600)  # long over, but nothing was heard of the line since
    assert asked
    assert session_of(far.table).outcome is None
    far.line(set(), CUT)
    assert not far.running
    assert far.left_s(Seat.NORTH) > 590
    far.line(NORTH)
    far.wait(3600)
    far.line(NORTH)
    assert session_of(far.table).outcome is not None  # the line was there


def test_a_seat_that_is_taken_back_waits_for_nobody_s_line(far: Far) -> None:
    far.play_until(Seat.NORTH)
    far.line(set(), CUT)
    far.table.free_seat(Seat.NORTH)
    far.wait(5)
    assert not far.running
    far.table.take_seat(Seat.NORTH, "Theo")
    far.table.resume("north")
    assert far.running


def test_a_press_that_waits_for_the_camera_is_given_again_after_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    with Journal(tmp_path / "journal.sqlite") as journal:
        far = Far(journal, clock)
        with far.table:
            far.start()
            far.play_until(Seat.NORTH)
            session = session_of(far.table)
            action = session.playing.format(session.playing.random_action(session.state, Seat.NORTH, Random(1)))
            far.show(far.table.view().board.layout, quiet=False, game="scouts")
            assert far.table.hand_in(Seat.NORTH, session.moment, ".", "5" * 32) == ""
            assert str(far.table.view(Seat.NORTH).sign.text) == "Take your hands off the board"
    with Journal(tmp_path / "journal.sqlite") as journal:
        again = Far(journal, clock)
        with again.table:
            again.line(NORTH)
            table, after = again.table, session_of(again.table)
            assert (after.awaited, after.state) == ({Seat.NORTH}, session.state)
            assert str(table.view(Seat.NORTH).sign.text) == "Tap “Go on”"
            table.resume("north")
            assert str(table.view(Seat.NORTH).sign.text) == "Play 1 of 2"
            table.hand_in(Seat.NORTH, after.moment, action, "5" * 32)
            assert session_of(table).state != after.state


def test_a_restart_while_the_line_is_cut(tmp_path: Path) -> None:
    clock = FakeClock()
    with Journal(tmp_path / "journal.sqlite") as journal:
        first = Far(journal, clock)
        with first.table:
            first.start()
            first.play_until(Seat.NORTH)
            first.wait(10)
            first.line(set())
            first.line(set(), CUT)
            left_s = first.left_s(Seat.NORTH)
        again = Far(journal_of(first.table), clock)
        with again.table:
            again.wait(100)
            assert again.left_s(Seat.NORTH) == left_s
            again.line(NORTH)
            assert again.running
            assert again.left_s(Seat.NORTH) == left_s


def test_a_turn_of_binmat_waits_as_well(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal:
        far = Far(journal, FakeClock())
        with far.table as table:
            far.start("binmat")
            far.play_until(Seat.NORTH)
            far.line(NORTH)
            moment = session_of(table).moment
            far.line(set(), CUT)
            far.wait(500)
            assert session_of(table).moment == moment  # it would have drawn for it
            far.line(NORTH)
            far.wait(500)
            far.line(NORTH)
            assert session_of(table).moment != moment
