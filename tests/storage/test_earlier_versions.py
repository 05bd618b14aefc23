"""Records that earlier versions wrote still decode, and the table opens with them."""

from __future__ import annotations

from pathlib import Path

import msgspec
from table_tools import playing

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.table.records import AnyRecord


def write(folder: Path, game: int, *records: str) -> None:
    """Keep records as an earlier version wrote them."""
    with Journal(folder / "journal.sqlite") as journal:
        for text in records:
            journal.append(game, [msgspec.json.decode(text, type=AnyRecord)], at=1.0)


def test_a_remote_phones_seat_is_a_phones(tmp_path: Path) -> None:
    write(tmp_path, 0, '{"is":"take_seat","seat":"north","name":"Ines","nonce":"n","door":"far"}')
    with playing(tmp_path) as played:
        seat = played.view.seats[Seat.NORTH]
        assert (seat.name, seat.door) == ("Ines", "phone")
        played.table.free_seat(Seat.NORTH, seat.sitting)
        assert played.view.seats[Seat.NORTH].name is None


def test_clocks_that_lost_lines_stopped_can_start(tmp_path: Path) -> None:
    with playing(tmp_path) as played:
        for side in Seat:
            played.table.take_seat(side, "")
        played.table.new_game("binmat", {"way": "referee"})
        played.table.resume("south")
        now_s = played.clock.monotonic_s()
    write(tmp_path, 1, f'{{"is":"pause","by":"line","now_s":{now_s}}}')
    with playing(tmp_path, FakeClock()) as played:
        assert played.view.time.clock
        assert played.view.time.clock.paused == "restart"
        played.table.resume("north")
        assert not played.view.time.clock.paused
