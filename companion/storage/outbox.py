"""The outbox: one public message per readable entry of the journal, made each time, never stored.

The connection to the hub (`companion.hub.hub_connection`) stores no position. It asks the hub which
message came last. So nothing is lost in a power cut, and nothing is ever sent that is not in the
journal.
"""

from __future__ import annotations

import hashlib

import msgspec

from companion.core.errors import CompanionError
from companion.core.kit import SEAT_WORDS
from companion.storage.journal import Entry, Journal
from companion.table.public.messages import PublicPair, PublicRecord
from companion.table.public.view import build_public_view
from companion.table.records import (
    SEATS_GAME,
    AnyRecord,
    FreeSeat,
    HandIn,
    MoveSeat,
    NewGame,
    ShowCard,
    TakeSeat,
)
from companion.table.remote.fold import fold_record
from companion.table.session import Session

# Number of entries that are read from the journal at once. More would only take more memory.
_BATCH_SIZE = 64


class Outbox:
    """Makes the messages for the entries after a position in the journal, one after the other.

    A position is the number of the entry before it. One thread uses the outbox: it calls `seek`,
    then `next` and `note_sent` in turn.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.epoch = 0
        """Part of every message, set by the connection to the hub (see `PublicRecord.epoch`)."""
        self._position = 0
        # State of the table after the last entry with a message.
        self._session = Session()
        # Entries that were read from the journal and have no message yet.
        self._unsent: list[Entry] = []
        # The message that has not been sent yet.
        self._pending: PublicRecord | None = None

    def last_number(self) -> int:
        """Return the number of the last entry in the journal, 0 if it is empty."""
        number: int | None = self._journal.database.query("SELECT MAX(id) FROM entries")[0][0]
        return number or 0

    def first_position(self) -> int:
        """Return the position before the first entry of the present or last game."""
        rows = self._journal.database.query(
            "SELECT MIN(id) FROM entries WHERE game = (SELECT MAX(game) FROM entries)"
        )
        first: int | None = rows[0][0]
        return (first or 1) - 1

    def mark(self, number: int) -> str:
        """Return a mark that identifies the entry with this number. Empty if there is none.

        A journal that was replaced has other marks, except for entries from before it split off.
        """
        entries = self._journal.entries_after(number - 1, 1)
        return _entry_mark(entries[0]) if entries and entries[0].id == number else ""

    def seek(self, after: int, epoch: int = 0) -> None:
        """Continue after the entry with the number `after`, with the table as it was then.

        `epoch` goes into all further messages.
        """
        self.epoch = epoch
        self._position = after
        self._unsent = []
        self._pending = None
        rows = self._journal.database.query("SELECT MAX(game) FROM entries WHERE id <= ?", (after,))
        game = rows[0][0] or 0
        self._session = Session()
        for entry in self._journal.entries(SEATS_GAME, game):
            # Records about seats before the game apply to it as well.
            if entry.id <= after:
                self._apply(entry.record)

    def next(self) -> PublicRecord | None:
        """Return the next message, the same one until `note_sent`. None if all have been sent."""
        if self._pending is None:
            self._unsent = self._unsent or self._journal.entries_after(self._position, _BATCH_SIZE)
            if self._unsent:
                entry = self._unsent.pop(0)
                self._apply(entry.record)
                self._pending = self._message(entry)
        return self._pending

    def note_sent(self) -> None:
        """Note that the last message has arrived."""
        if self._pending is not None:
            self._position = self._pending.entry
            self._pending = None

    def _message(self, entry: Entry) -> PublicRecord:
        """Return the message for an entry that has just been applied."""
        record = entry.record
        session = self._session
        remote = session.remote
        seat = None
        if isinstance(record, HandIn | TakeSeat | FreeSeat | MoveSeat | ShowCard):
            seat = record.seat
        return PublicRecord(
            entry=entry.id,
            mark=_entry_mark(entry),
            epoch=self.epoch,
            what=str(record.__struct_config__.tag),
            game=session.number,
            at=round(entry.at, 3),
            view=build_public_view(session, entry.now_s),
            seat=seat,
            cards={taken: player.card for taken, player in session.seats.items() if player.card},
            pair=PublicPair(remote.remote_seat.id, remote.own_seat) if remote else None,
        )

    def _apply(self, record: AnyRecord) -> None:
        """Apply a record to the session, without names."""
        try:
            self._session = fold_record(self._session, _without_names(record))[0]
        except CompanionError:  # the rules have changed: continue with the next game
            number = record.number if isinstance(record, NewGame) else 0
            self._session = Session(seats=self._session.seats, number=number)


def _without_names(record: AnyRecord) -> AnyRecord:
    """Return the record without names of people."""
    if isinstance(record, TakeSeat | MoveSeat):
        return msgspec.structs.replace(record, name=str(SEAT_WORDS[record.seat]))
    if isinstance(record, NewGame) and record.remote:
        remote = msgspec.structs.replace(record.remote, name=str(SEAT_WORDS[record.remote.seat]))
        return msgspec.structs.replace(record, remote=remote)
    return record


def _entry_mark(entry: Entry) -> str:
    """Return a digest of an entry's number, game, kind and monotonic time.

    The monotonic time tells apart the entries of two journals that have the same number. The record
    is left out, because the digest is public and the record may have a sealed action.
    """
    text = f"{entry.id} {entry.game} {entry.record.__struct_config__.tag} {entry.now_s!r}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]
