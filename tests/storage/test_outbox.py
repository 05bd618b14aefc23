"""Test the outbox: which messages a table sends to its hub, made from its journal.

Every input is sent once and in order, from any position on, and without the names of people.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from internals import database_of, journal_of
from table_tools import TableRig, open_table_rig

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.public.messages import PublicRecord, decode_record, encode_public
from companion.table.session import Phase


def sent_records(journal: Journal, after: int = 0) -> list[PublicRecord]:
    """Return all messages for the entries after this position, 0 for the beginning."""
    outbox = Outbox(journal)
    outbox.seek(after)
    records = []
    while record := outbox.next():
        records.append(record)
        outbox.note_sent()
    return records


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[TableRig]:
    with open_table_rig(tmp_path) as opened:
        yield opened


def play_a_turn(rig: TableRig) -> None:
    """Let Mara and Jonas take the seats, and play the first turn of Outbuffered."""
    rig.table.take_seat(Seat.SOUTH, "Mara")
    rig.table.take_seat(Seat.NORTH, "Jonas")
    rig.begin()
    rig.hand_in_both("URU", "IDS")
    rig.finish_stages()


def test_every_input_is_sent_once_and_in_order(rig: TableRig) -> None:
    play_a_turn(rig)
    journal = journal_of(rig.table)
    sent = sent_records(journal)
    assert [record.entry for record in sent] == [entry.id for entry in journal.entries()]
    kinds_in_game = [record.what for record in sent if record.game]
    assert kinds_in_game[:4] == ["new_game", "begin", "hand_in", "hand_in"]

    # The last message shows the table as it is now: it waits for the orders of turn 2.
    last = sent[-1].view
    assert (last.phase, last.turn, last.moment) == (Phase.ORDERS, 2, rig.table.view().moment)
    assert all(decode_record(encode_public(record)) == record for record in sent)


def test_an_unreadable_entry_does_not_end_the_outbox(rig: TableRig) -> None:
    play_a_turn(rig)
    journal = journal_of(rig.table)
    database_of(journal).execute("UPDATE entries SET record = '{}' WHERE id = 2")
    (entry,) = journal.entries_after(1, limit=1)
    assert entry.id == 3, "a batch of unreadable entries must not look like the end"


def test_every_position_gives_the_same_bytes(rig: TableRig) -> None:
    """A table that has lost its connection anywhere sends the hub what it would have sent."""
    # A game of one turn, which the owner ends, and the beginning of a second one.
    play_a_turn(rig)
    journal = journal_of(rig.table)
    rig.table.abandon()
    rig.begin()
    payloads = [encode_public(record) for record in sent_records(journal)]
    for after in range(len(payloads)):
        rest = [encode_public(record) for record in sent_records(journal, after)]
        assert rest == payloads[after:]


def test_a_message_waits_until_it_is_sent(rig: TableRig) -> None:
    """A message that did not arrive is returned again, so that none is lost."""
    play_a_turn(rig)
    outbox = Outbox(journal_of(rig.table))
    outbox.seek(0)
    first = outbox.next()
    assert first is outbox.next()
    outbox.note_sent()
    second = outbox.next()
    assert first is not None
    assert second is not None
    assert second.entry == first.entry + 1


def test_no_record_contains_a_name(rig: TableRig) -> None:
    """A hub stores all records and shows them to strangers."""
    play_a_turn(rig)
    payloads = b"".join(encode_public(record) for record in sent_records(journal_of(rig.table)))
    assert b"Mara" not in payloads
    assert b"Jonas" not in payloads


def test_records_begin_with_the_last_game(rig: TableRig) -> None:
    """A new hub gets the present game. Before the first game, it gets everything."""
    journal = journal_of(rig.table)
    assert Outbox(journal).first_position() == 0
    play_a_turn(rig)
    rig.table.abandon()
    rig.begin()
    first = sent_records(journal, Outbox(journal).first_position())[0]
    assert (first.what, first.game) == ("new_game", 2)


def test_journals_that_differ_have_different_marks(tmp_path: Path) -> None:
    """Two journals have the same entries 1 and 2, but at other times. Neither has an entry 99."""
    marks = []
    # The game of the second journal begins 1.5 s later.
    for delay_s in (0.0, 1.5):
        clock = FakeClock(start_s=10 + delay_s)
        with Journal(tmp_path / f"{delay_s}.sqlite") as journal:
            rig = TableRig(journal, clock)
            with rig.table:
                rig.begin()
            outbox = Outbox(journal)
            marks.append({entry_id: outbox.mark_of(entry_id) for entry_id in (1, 2, 99)})
    first, second = marks
    assert first[1] != second[1]
    assert first[2] != second[2]
    assert first[99] == second[99] == ""
