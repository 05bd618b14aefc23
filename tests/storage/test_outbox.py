"""Test the outbox: what of the journal is sent to a hub, by values.

Every input is sent once and in order, from any position on, and without secrets.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from table_tools import TableRig

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.public.messages import PublicRecord, decode_record, encode_public
from companion.table.session import Phase


def sent_records(journal: Journal, after: int = 0) -> list[PublicRecord]:
    """Return all records that are sent after an input."""
    outbox = Outbox(journal)
    outbox.seek(after)
    records = []
    while record := outbox.next():
        records.append(record)
        outbox.note_sent()
    return records


@pytest.fixture
def rig_and_journal(tmp_path: Path) -> Iterator[tuple[TableRig, Journal]]:
    clock = FakeClock()
    with Journal(tmp_path / "journal.sqlite") as journal:
        rig = TableRig(journal, clock)
        with rig.table:
            yield rig, journal


def play_a_turn(rig: TableRig) -> None:
    rig.table.take_seat(Seat.SOUTH, "Mara")
    rig.table.take_seat(Seat.NORTH, "Jonas")
    rig.begin()
    rig.hand_in_both("URU", "IDS")
    rig.finish_stages()


def test_every_input_is_sent_once_and_in_order(rig_and_journal: tuple[TableRig, Journal]) -> None:
    rig, journal = rig_and_journal
    play_a_turn(rig)
    sent = sent_records(journal)
    assert [record.entry for record in sent] == [entry.id for entry in journal.entries()]
    assert [record.what for record in sent if record.game][:4] == [
        "new_game",
        "begin",
        "hand_in",
        "hand_in",
    ]
    last = sent[-1].view
    assert (last.phase, last.turn, last.moment) == (Phase.ORDERS, 2, rig.table.view().moment)
    assert all(decode_record(encode_public(record)) == record for record in sent)


def test_every_position_gives_the_same_bytes(rig_and_journal: tuple[TableRig, Journal]) -> None:
    rig, journal = rig_and_journal
    play_a_turn(rig)
    rig.table.abandon()
    rig.begin()
    payloads = [encode_public(record) for record in sent_records(journal)]
    for after in range(len(payloads)):
        rest = [encode_public(record) for record in sent_records(journal, after)]
        assert rest == payloads[after:]


def test_a_message_waits_until_it_is_sent(rig_and_journal: tuple[TableRig, Journal]) -> None:
    rig, journal = rig_and_journal
    play_a_turn(rig)
    outbox = Outbox(journal)
    outbox.seek(0)
    first = outbox.next()
    assert first is outbox.next()
    outbox.note_sent()
    second = outbox.next()
    assert first is not None
    assert second is not None
    assert second.entry == first.entry + 1


def test_no_record_contains_a_name(rig_and_journal: tuple[TableRig, Journal]) -> None:
    rig, journal = rig_and_journal
    play_a_turn(rig)
    payloads = b"".join(encode_public(record) for record in sent_records(journal))
    assert b"Mara" not in payloads
    assert b"Jonas" not in payloads


def test_records_begin_with_the_last_game(rig_and_journal: tuple[TableRig, Journal]) -> None:
    rig, journal = rig_and_journal
    assert Outbox(journal).first_position() == 0
    play_a_turn(rig)
    rig.table.abandon()
    rig.begin()
    first = sent_records(journal, Outbox(journal).first_position())[0]
    assert (first.what, first.game) == ("new_game", 2)


def test_journals_that_differ_have_different_marks(tmp_path: Path) -> None:
    marks = []
    for late_s in (0.0, 1.5):
        # the second game begins 1.5 s later
        clock = FakeClock(start_s=10 + late_s)
        with Journal(tmp_path / f"{late_s}.sqlite") as journal:
            rig = TableRig(journal, clock)
            with rig.table:
                rig.begin()
            marks.append([Outbox(journal).mark(number) for number in (1, 2, 99)])
    # there is no input 99
    assert marks[0][2] == marks[1][2] == ""
    assert all(first != second for first, second in zip(marks[0][:2], marks[1][:2], strict=True))
