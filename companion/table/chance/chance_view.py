"""What may be known of a game's chance: its commitment at once, the rest when the game is over."""

from __future__ import annotations

from dataclasses import dataclass, replace

from companion.core.i18n import joined, say
from companion.games.base import Drawn
from companion.table.chance.fairness import FairChance
from companion.table.session import Session, chosen_words


@dataclass(frozen=True)
class ChanceView:
    """Where the chance of a game comes from, as everybody may see it.

    `chosen` is a sentence where the host chose something. Without `commitment` an older version has drawn. `opened`
    comes when the game is over, with the `seed` that was played and what does not fit (`faults`).
    """

    number: int
    commitment: str = ""
    chosen: str = ""
    opened: FairChance | None = None
    seed: int = 0
    faults: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Where chance comes from, in a sentence or two."""
        if self.commitment:
            bound = say("The table was bound to its chance before the game began.")
            return joined(" ", (self.chosen, bound)) if self.chosen else bound
        return self.chosen or say("Chance: no commitment (older version).")


def chance_of(session: Session) -> ChanceView | None:
    """Tell the chance of the game on the table. None: there is none in it.

    That a lesson's start is chosen goes unsaid.
    """
    if session.game is None:
        return None
    fair = session.chance
    chosen = "" if session.is_guided else chosen_words(session.game, session.options, session.is_chosen)
    if session.draws is Drawn.NEVER or fair is None:
        if session.remote is not None and session.draws is not Drawn.NEVER:
            chosen = joined(" ", filter(None, (chosen, say("Chance comes from both sealed orders."))))
        is_told = chosen or session.draws is not Drawn.NEVER
        return ChanceView(session.number, chosen=chosen) if is_told else None
    view = ChanceView(session.number, fair.commitment, chosen)
    return opened(view, fair, fair.seed) if session.is_opened else view


def opened(view: ChanceView, fair: FairChance, seed: int) -> ChanceView:
    """Tell everything, and what does not fit."""
    return replace(view, opened=fair, seed=seed, faults=tuple(fair.faults(seed)))
