"""The outbox: what a table tells a hub, one public message for each entry of the journal.

To make the message of an entry, the outbox folds the entries up to it into a session: it applies
their records one after the other, which gives the state of the table. The message has the public
part of that session. An entry whose record cannot be decoded, because it is damaged or
because a newer version wrote it, has no message.

Messages are never stored: they are made again whenever they are needed. The connection to the hub
(`companion.hub.hub_connection`) does not store how far it has come either. After each connect it
asks the hub which message arrived last, and continues there. So no message is lost in a power cut,
and the hub never gets anything that is not in the journal.
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

    A position lies behind an entry, and is the id of that entry. Position 0 is the beginning of the
    journal. Only one thread may use an outbox. It calls `seek` once, and then `next` and
    `note_sent` in turn.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.epoch = 0
        """Number that goes into every message (see `PublicRecord.epoch`). `seek` sets it."""
        self._position = 0
        # The session after the last entry for which a message was made.
        self._session = Session()
        # Entries that were read from the journal, and for which no message was made yet.
        self._unsent: list[Entry] = []
        # The message that was made last, until `note_sent` says that it has arrived.
        self._pending: PublicRecord | None = None

    def last_position(self) -> int:
        """Return the position after the last entry of the journal. 0 if the journal is empty."""
        rows = self._journal.database.query("SELECT COALESCE(MAX(id), 0) FROM entries")
        return int(rows[0][0])

    def first_position(self) -> int:
        """Return the position before the first entry of the running game, or else of the last game.

        Before the first game of a journal, the position is the beginning of the journal.
        """
        rows = self._journal.database.query(
            "SELECT COALESCE(MIN(id), 1) FROM entries WHERE game = (SELECT MAX(game) FROM entries)"
        )
        return int(rows[0][0]) - 1

    def mark_of(self, entry_id: int) -> str:
        """Return the mark of the entry with this id. Empty if no readable entry has this id.

        The mark shows whether an entry is the same one that the hub has under this id. It is not if
        the journal was replaced by a new one, or by a backup after which the table played on: then
        the ids are used again for other entries, which have other marks. Entries that are also in
        the backup keep their marks.
        """
        entries = self._journal.entries_after(entry_id - 1, limit=1)
        return _entry_mark(entries[0]) if entries and entries[0].id == entry_id else ""

    def seek(self, after: int, epoch: int = 0) -> None:
        """Continue with the first entry after the position `after`.

        The session is folded again as it was at that position. `epoch` goes into all further
        messages.
        """
        self.epoch = epoch
        self._position = after
        self._unsent = []
        self._pending = None
        rows = self._journal.database.query("SELECT MAX(game) FROM entries WHERE id <= ?", (after,))
        game = rows[0][0] or SEATS_GAME
        self._session = Session()
        # The state of the table comes from the entries of its last game, and from those that belong
        # to no game. The latter have the number `SEATS_GAME`, and say who has taken which seat.
        for entry in self._journal.entries(SEATS_GAME, game):
            if entry.id <= after:
                self._apply(entry.record)

    def next(self) -> PublicRecord | None:
        """Return the next message. None if there is no entry that has not been sent.

        Until `note_sent` is called, this returns the same message again.
        """
        if self._pending is None:
            self._unsent = self._unsent or self._journal.entries_after(self._position, _BATCH_SIZE)
            if self._unsent:
                entry = self._unsent.pop(0)
                self._apply(entry.record)
                self._pending = self._message(entry)
        return self._pending

    def note_sent(self) -> None:
        """Note that the message which `next` returned has arrived at the hub."""
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
            game=session.game_number,
            at=round(entry.at, 3),
            view=build_public_view(session, entry.now_s),
            seat=seat,
            cards={owner: player.card for owner, player in session.seats.items() if player.card},
            pair=PublicPair(remote.remote_seat.id, remote.own_seat) if remote else None,
        )

    def _apply(self, record: AnyRecord) -> None:
        """Fold a record into the session, without the names of people, which are never published.

        If the rules of its game have changed since and no longer accept the record, continue with
        an empty table. Its players stay.
        """
        try:
            self._session = fold_record(self._session, _without_names(record))[0]
        except CompanionError:
            game_number = record.number if isinstance(record, NewGame) else 0
            self._session = Session(seats=self._session.seats, game_number=game_number)


def _without_names(record: AnyRecord) -> AnyRecord:
    """Return the record with the word for the seat, such as `South`, in place of a name."""
    if isinstance(record, TakeSeat | MoveSeat):
        return msgspec.structs.replace(record, name=str(SEAT_WORDS[record.seat]))
    if isinstance(record, NewGame) and record.remote:
        remote = msgspec.structs.replace(record.remote, name=str(SEAT_WORDS[record.remote.seat]))
        return msgspec.structs.replace(record, remote=remote)
    return record


def _entry_mark(entry: Entry) -> str:
    """Return the mark of an entry: a digest of its id, game, kind and monotonic time.

    The monotonic time tells apart two entries with the same id in two journals. The content of the
    record is left out: the mark is public, and the record may have a sealed action in it.
    """
    text = f"{entry.id} {entry.game} {entry.record.__struct_config__.tag} {entry.now_s!r}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]
