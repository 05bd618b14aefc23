"""Test the table's lock: which caller gets it first, and which calls a closed table refuses."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from internals import session_of, store_of
from service import until
from table_tools import TableRig, open_table_rig

from companion.core.clock import FakeClock
from companion.core.errors import Stale
from companion.core.kit import Seat
from companion.core.ports import CameraState, CameraStatus, PadKey, Press, Reading, Signal
from companion.storage.journal import Journal
from companion.table.listeners import TableListener
from companion.table.table import Table


def test_a_closed_table_refuses_people_but_no_devices(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        rig.table.close()
        # A page learns that its input was refused. A device goes on as if nothing had happened.
        with pytest.raises(Stale):
            rig.table.take_seat(Seat.SOUTH, "Mara")
        rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
        rig.table.handle_reading(Reading({}))
        rig.table.press(Press(Seat.SOUTH, PadKey.UP, 1.0))
        rig.table.redraw()
        assert session_of(rig.table).seats == {}


def test_a_waiting_press_comes_before_a_time_out(tmp_path: Path) -> None:
    clock = FakeClock()
    with Journal(tmp_path / "journal.sqlite") as journal, Table(journal, clock) as table:
        for seat in Seat:
            table.take_seat(seat, seat.title(), "pad")
        table.new_game("binmat", {"way": "referee", "seconds": 5.0}, seed=1)
        table.resume("host")
        (seat,) = session_of(table).awaited_seats

        # A press 0.1 s before the end of the turn waits for the lock while the time runs out.
        with store_of(table).hold():
            table.start()
            press = Press(seat, PadKey.READY, clock.monotonic_s() + 4.9)
            thread = threading.Thread(target=table.press, args=(press,))
            thread.start()
            until("the press waits", lambda: store_of(table).waiting_caller_count)
            clock.advance(6.0)
        thread.join()
        assert session_of(table).turns[0].is_timed_out is False


def test_a_failing_listener_stops_no_device(
    rig: TableRig, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Signal) -> None:
        raise RuntimeError("the listener is broken")

    rig.table.connect(TableListener(on_signal=fail))
    rig.table.set_camera_status(CameraStatus(CameraState.TROUBLE, "The camera is gone"))
    assert "an input failed, the rest goes on" in caplog.text
