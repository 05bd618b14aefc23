"""Records that earlier versions wrote still decode, and the table opens with them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from table_tools import playing

from companion.archive.summary import summary_of
from companion.core.clock import FakeClock
from companion.core.errors import Illegal
from companion.core.i18n import unpacked
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.table.records import AnyRecord
from companion.table.session import Phase

DEALT = (
    '{"is":"new_game","game":"binmat","number":1,"options":{"turns":2,"seconds":0},"remote":{"id":"0000000000000000",'
    f'"seat":"north","name":"Jonas","nonce":"n","commitment":"{"9" * 64}","gives":"{"8" * 64}"}}}}',
    '{"is":"remote_said","number":1,"message":{"is":"cards","seen":{"decks":[["X"]],"turns_left":2}},"now_s":1.0}',
    '{"is":"hand_in","seat":"south","moment":"1.1","action":"d4","salt":"0aff","at":2.0,"now_s":2.0}',
    '{"is":"remote_said","number":2,"message":{"is":"order_dealt","tick":1,"seat":"south","action":"d4",'
    f'"receipt":"{"7" * 64}","before":{{}},"after":{{}},"salt":"0aff","at":2.0}},"now_s":3.0}}',
    f'{{"is":"remote_said","number":3,"message":{{"is":"cards_opened","secret":"{"5" * 64}","given":{{}}}},"now_s":4.0}}',
)
"""A game whose cards a hub dealt."""


def write(folder: Path, game: int, *records: str) -> None:
    """Keep records as an earlier version wrote them."""
    with Journal(folder / "journal.sqlite") as journal:
        for text in records:
            journal.append(game, msgspec.json.decode(text, type=AnyRecord), at=1.0)


def test_a_game_that_a_hub_dealt_is_listed_with_a_reason(tmp_path: Path) -> None:
    write(tmp_path, 1, *DEALT)
    with Journal(tmp_path / "journal.sqlite") as journal:
        entries = list(journal.entries(1))
        assert len(entries) == len(DEALT)
        summary = summary_of(entries, None, [])
        assert "A hub dealt the cards of this game" in unpacked(summary.trouble)
        with pytest.raises(Illegal, match="no hub does that any more"):
            journal.fold(1)


def test_the_table_goes_on_after_a_game_that_a_hub_dealt(tmp_path: Path) -> None:
    write(tmp_path, 1, *DEALT)
    with playing(tmp_path) as played:
        assert played.view.phase is Phase.LOBBY
        played.begin()
        assert played.view.moment == "2.1"


def test_a_remote_phones_seat_is_a_phones(tmp_path: Path) -> None:
    write(tmp_path, 0, '{"is":"take_seat","seat":"north","name":"Ines","nonce":"n","door":"far"}')
    with playing(tmp_path) as played:
        seat = played.view.seats[Seat.NORTH]
        assert (seat.name, seat.door) == ("Ines", "phone")
        played.table.free_seat(Seat.NORTH, seat.sitting)
        assert played.view.seats[Seat.NORTH].name is None


def test_a_clock_that_a_lost_line_stopped_can_be_started(tmp_path: Path) -> None:
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
