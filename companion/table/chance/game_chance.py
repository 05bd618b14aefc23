"""The chance of the table's games: the commitment before a game, and what viewers may know of it.

The commitment is published before the game, and its secret when the game is over. Callers of the
functions that work on the table's store hold the table's lock.
"""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass, replace
from typing import Any

from companion.core.errors import JournalError
from companion.core.i18n import joined, say
from companion.games import game_named
from companion.games.base import Drawn, Game
from companion.table.chance.fairness import FairChance, commitment_of
from companion.table.records import Commit, GameOptions, NewGame, Score
from companion.table.session import Phase, Session
from companion.table.store import TableStore

# Name of the journal's key that is the secret of the next game's chance.
_CHANCE_KEY = "chance"


def new_game_record(
    store: TableStore,
    game: str,
    options: GameOptions,
    seed: int | None = None,
    score: Score = (0, 0, 0),
) -> NewGame:
    """Return the record of a game that begins now.

    With `seed` the owner has chosen its chance. Otherwise it comes from the committed secret.
    Raises `Malformed` for unknown games and options, and `JournalError` if no commitment can be
    stored.
    """
    rules = game_named(game)
    # A game whose `drawn` returns None may or may not use chance, so it gets a fair seed. Pages
    # show it as one without chance, see `uses_chance`.
    may_use_chance = rules.drawn(rules.options(options)) is not Drawn.NEVER
    is_chosen = may_use_chance and seed is not None
    chance = _fair_chance(store) if may_use_chance and not is_chosen else None
    if seed is None:
        # With chance the record needs no seed: `FairChance.seed` makes it of the committed secret.
        # A game that says it never draws gets a random one, so that its games differ if it does.
        seed = 0 if may_use_chance else secrets.randbits(48)
    number = store.journal.next_number()
    return NewGame(game, number, seed, dict(options), score, chance, is_chosen=is_chosen)


def _fair_chance(store: TableStore) -> FairChance:
    """Return the source of chance for a game that begins now. Raises `JournalError`."""
    if not store.session.commitment:
        _commit(store)
    return FairChance(store.session.commitment, store.journal.key(_CHANCE_KEY).hex())


def commit_to_next_game(store: TableStore) -> None:
    """Commit to the next game's chance, if no game is running.

    A commitment stays as long as its secret exists. An error of the disk is ignored here. If it
    lasts, the next game cannot begin without a commitment, and the error is shown then.
    """
    session = store.session
    if session.is_between_games:
        with contextlib.suppress(JournalError):
            # A lost or renewed secret no longer matches the published commitment.
            if session.commitment != commitment_of(store.journal.key(_CHANCE_KEY).hex()):
                _commit(store)


def _commit(store: TableStore) -> None:
    """Commit to a new secret for the next game, and publish the commitment."""
    secret = store.journal.renew_key(_CHANCE_KEY)
    store.accept(Commit(commitment_of(secret.hex())))


# ---- what may be known ----


def uses_chance(game: Game[Any, Any], options: Any) -> bool:
    """Return whether people are told that a game draws from its seed.

    They are not told so of a game that does not say whether it draws.
    """
    return (game.drawn(options) or Drawn.NEVER) is not Drawn.NEVER


def chosen_start_sentence(game: Game[Any, Any], options: Any, is_seed_chosen: bool) -> str:
    """Return a sentence that the owner has chosen how the game starts, by an option or a seed.

    A seed does not count if the game draws nothing. Empty if nothing was chosen.
    """
    is_counted = is_seed_chosen and uses_chance(game, options)
    return game.chosen(options) or (game.seed_chosen if is_counted else "")


@dataclass(frozen=True)
class ChanceView:
    """The source of a game's chance, as everybody may see it."""

    number: int
    commitment: str = ""
    """The commitment to the secret. Empty if the owner has chosen the seed, if it will come from
    both sealed actions, or if an older version has drawn it.
    """
    chosen: str = ""
    """A sentence on what the owner has chosen, or on chance at two tables. Empty for neither."""
    opened: FairChance | None = None
    """The source itself with its secret. None until the game is over."""
    seed: int = 0
    """The seed that was played with. 0 until the game is over."""
    faults: tuple[str, ...] = ()
    """What does not match, as sentences. Empty until the game is over."""

    @property
    def description(self) -> str:
        """One or two sentences on where chance comes from."""
        if self.commitment:
            bound = say("The table was bound to its chance before the game began.")
            return joined(" ", (self.chosen, bound)) if self.chosen else bound
        return self.chosen or say("Chance: no commitment (older version).")


def chance_view_of(session: Session) -> ChanceView | None:
    """Return the view of the chance of the game on the table. None if nothing is drawn or chosen.

    The view does not say that the start of a lesson is chosen, because that is so in every lesson.
    """
    game = session.game
    fair = session.chance
    if game is None:
        return None
    has_chance = uses_chance(game, session.options)
    chosen = (
        ""
        if session.is_guided
        else chosen_start_sentence(game, session.options, session.is_seed_chosen)
    )
    if has_chance and fair:
        view = ChanceView(session.game_number, fair.commitment, chosen)
        is_over = session.phase is Phase.OVER
        return reveal_chance(view, fair, fair.seed) if is_over else view
    if has_chance and session.remote:
        both = say("Chance comes from both sealed orders.")
        chosen = joined(" ", filter(None, (chosen, both)))
    return ChanceView(session.game_number, chosen=chosen) if chosen or has_chance else None


def reveal_chance(view: ChanceView, fair: FairChance, seed: int) -> ChanceView:
    """Return the view of a game that is over: with its source, its seed and their faults."""
    return replace(view, opened=fair, seed=seed, faults=tuple(fair.find_faults(seed)))
