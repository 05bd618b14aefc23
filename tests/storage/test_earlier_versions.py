"""Test that records of earlier versions still decode, and that the table opens with them."""

from __future__ import annotations

from pathlib import Path

import msgspec
from table_tools import open_table_rig

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.table.records import SEATS_GAME, AnyRecord


def append_records(folder: Path, game: int, *records: str) -> None:
    """Append records to a journal as an earlier version wrote them."""
    with Journal(folder / "journal.sqlite") as journal:
        for text in records:
            journal.append(game, [msgspec.json.decode(text, type=AnyRecord)], at=1.0)


def test_a_remote_phones_seat_becomes_a_phones(tmp_path: Path) -> None:
    # An earlier version had the door "far" for a phone that came through a hub.
    append_records(
        tmp_path,
        SEATS_GAME,
        '{"is":"take_seat","seat":"north","name":"Ines","nonce":"n","door":"far"}',
    )
    with open_table_rig(tmp_path) as rig:
        seat = rig.view.seats[Seat.NORTH]
        assert (seat.name, seat.door) == ("Ines", "phone")
        rig.table.free_seat(Seat.NORTH, seat.sitting)
        assert rig.view.seats[Seat.NORTH].name is None


def test_a_clock_paused_by_a_lost_connection_resumes(tmp_path: Path) -> None:
    with open_table_rig(tmp_path) as rig:
        for seat in Seat:
            rig.table.take_seat(seat, "")
        rig.table.new_game("binmat", {"way": "referee"})
        rig.table.resume("south")
        now_s = rig.clock.monotonic_s()
    # In an earlier version, "line" meant that a remote phone could not be reached.
    append_records(tmp_path, 1, f'{{"is":"pause","by":"line","now_s":{now_s}}}')
    with open_table_rig(tmp_path, FakeClock()) as rig:
        assert rig.view.time.clock
        assert rig.view.time.clock.paused == "restart"
        rig.table.resume("north")
        assert not rig.view.time.clock.paused
