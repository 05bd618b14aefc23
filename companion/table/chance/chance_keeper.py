"""What the table does for chance: it commits itself to a secret before a game, and draws from that."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping
from typing import Any

from companion.core.errors import JournalError
from companion.games import game_named
from companion.games.base import Drawn
from companion.table.chance.fairness import FairChance, commitment_of
from companion.table.records import Commit, NewGame
from companion.table.store import TableStore

_CHANCE = "chance"
"""The name under which the journal keeps the secret of the next game's chance."""


class ChanceKeeper:
    """The table's own part in fair chance; every method is called by somebody who holds the table."""

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._journal = store.journal
        with contextlib.suppress(JournalError):  # the next game is not begun without
            self._keep_commitment()
        store.when_accepted(self._commit_anew)

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
        if not self._store.session.commitment:
            self._commit()
        return FairChance(self._store.session.commitment, self._journal.key(_CHANCE).hex())

    def _keep_commitment(self) -> None:
        """Go on with the commitment of before a restart, if its secret is still there."""
        session = self._store.session
        if session.is_between and session.commitment != commitment_of(self._journal.key(_CHANCE).hex()):
            self._commit()

    def _commit_anew(self) -> None:
        """A game is over: the next one's chance is committed to at once."""
        session = self._store.session
        if session.is_between and not session.commitment:
            with contextlib.suppress(JournalError):
                self._commit()

    def _commit(self) -> None:
        """Bind the table to a new secret for the next game, and tell everybody its commitment."""
        secret = self._journal.renew_key(_CHANCE)
        self._store.accept(Commit(commitment_of(secret.hex())))
