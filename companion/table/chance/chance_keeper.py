"""What the table does for chance: it commits itself before a game, takes what seats give, and draws from both."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping
from typing import Any

from companion.core.errors import JournalError
from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey, Press
from companion.games import game_named
from companion.games.base import Drawn
from companion.table.chance.fairness import FairChance, commitment_of, press_value
from companion.table.chance.pledges import open_pledge
from companion.table.pipeline import Pipeline
from companion.table.ports import RecordJournal
from companion.table.records import Commit, Contribute, NewGame

_CHANCE = "chance"
"""The name under which the journal keeps the secret of the next game's chance."""


class ChanceKeeper:
    """The table's own part in fair chance; every method is called by the table's thread."""

    def __init__(self, pipeline: Pipeline, journal: RecordJournal) -> None:
        self._pipeline = pipeline
        self._journal = journal
        with contextlib.suppress(JournalError):  # the next game is not begun without
            self._keep_pledge()
        pipeline.when_accepted(self._pledge_anew)

    def contribute(self, seat: Seat, commitment: str, value: str, by: str) -> None:
        """Take what a seat gives; the same once more changes nothing."""
        pledge = open_pledge(self._pipeline.session)
        given = pledge.contributions.get(seat) if pledge and pledge.commitment == commitment else None
        if given is None or given.value != value:
            self._pipeline.accept(Contribute(seat, commitment, value, by))

    def note_press(self, press: Press) -> None:
        """The first press of a seat's pad is what it gives; the table's button gives for seats that play by a pad."""
        session = self._pipeline.session
        pledge = open_pledge(session)
        if pledge is None or (press.seat is None and press.key is not PadKey.TABLE):
            return
        by = "pad" if press.seat else "table"
        for seat in (press.seat,) if press.seat else SEATS:
            sitter = session.seats.get(seat)
            if seat not in pledge.contributions and sitter is not None and sitter.door == "pad":
                self._pipeline.accept(Contribute(seat, pledge.commitment, press_value(by, press.at_s), by))

    def beginning(
        self, game: str, options: Mapping[str, Any], seed: int | None, score: tuple[int, int, int]
    ) -> NewGame:
        """The record of a game that begins now; raises `Malformed`, `JournalError` when no commitment can be kept."""
        played = game_named(game)
        is_drawn = played.drawn(played.options(options)) is not Drawn.NEVER
        if seed is None and is_drawn:
            return NewGame(game, self._journal.next_number(), 0, dict(options), score, self._fair_chance())
        drawn = secrets.randbits(48) if seed is None else seed
        is_chosen = is_drawn and seed is not None
        return NewGame(game, self._journal.next_number(), drawn, dict(options), score, is_chosen=is_chosen)

    def _fair_chance(self) -> FairChance:
        """Where the chance of a game that begins now comes from; raises `JournalError`."""
        if self._pipeline.session.pledge is None:
            self._commit()
        pledge = self._pipeline.session.pledge
        if pledge is None:
            raise RuntimeError("no commitment after one was made")
        secret = self._journal.key(_CHANCE).hex()
        return FairChance(pledge.commitment, secret, pledge.contributions)

    def _keep_pledge(self) -> None:
        """Go on with the commitment of before a restart, if its secret is still there."""
        session = self._pipeline.session
        if not session.is_between:
            return
        if session.pledge is None or session.pledge.commitment != commitment_of(self._journal.key(_CHANCE).hex()):
            self._commit()

    def _pledge_anew(self) -> None:
        """A game is over: the next one's chance is committed to at once."""
        session = self._pipeline.session
        if session.is_between and session.pledge is None:
            with contextlib.suppress(JournalError):
                self._commit()

    def _commit(self) -> None:
        """Bind the table to a new secret for the next game, and tell everybody its commitment."""
        secret = self._journal.renew_key(_CHANCE)
        self._pipeline.accept(Commit(commitment_of(secret.hex())))
