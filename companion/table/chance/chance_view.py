"""What may be known of a game's chance: the commitment and who has given at once, the rest when the game is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Seat
from companion.games.base import Drawn
from companion.table.chance.fairness import FairChance
from companion.table.chance.pledges import open_pledge
from companion.table.session import Session, chosen_words


@dataclass(frozen=True)
class ChanceView:
    """Where the chance of a game comes from, as everybody may see it.

    `given` says for each seat by what it gave (`phone`, `shared`, `pad`, `table`; empty: it has not). `chosen` is a
    sentence where the host chose something. Without `commitment` an older version has drawn. `opened` comes when the
    game is over, with the `seed` that was played and what does not fit (`faults`).
    """

    number: int
    """The game's; of a chance that seats can give to before a game begins that of the game before."""
    commitment: str = ""
    given: Mapping[Seat, str] | None = None
    is_drawn: bool = False
    chosen: str = ""
    opened: FairChance | None = None
    seed: int = 0
    faults: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[Seat, ...]:
        """The seats that have not given anything."""
        return tuple(seat for seat in SEATS if not self.given or not self.given.get(seat))

    @property
    def words(self) -> str:
        """Where chance comes from, in a sentence or two."""
        if self.chosen and not self.commitment:
            return self.chosen
        if not self.commitment:
            return say("Chance: no commitment (older version).")
        told = [self.chosen, *(say("Chance: no contribution from {seat!c}.", seat=seat) for seat in self.missing)]
        if len(self.missing) == len(SEATS):
            told = [self.chosen, say("Chance: no contribution from South or North.")]
        if self.given and "shared" in self.given.values():
            told.append(say("Chance: one phone contributed for both seats."))
        if not any(told):
            told = [say("Chance is committed, and both seats have contributed.")]
        return joined(" ", told)


def chance_of(session: Session) -> ChanceView | None:
    """The chance of the game on the table; None: there is none in it. That a lesson's start is chosen goes unsaid."""
    if session.game is None:
        return None
    fair = session.chance
    chosen = "" if session.is_guided else chosen_words(session.game, session.options, session.is_chosen)
    if session.draws is Drawn.NEVER or fair is None:
        if session.remote is not None and session.draws is not Drawn.NEVER:
            chosen = joined(" ", filter(None, (chosen, say("Chance comes from both sealed orders."))))
        is_told = chosen or session.draws is not Drawn.NEVER
        return ChanceView(session.number, is_drawn=True, chosen=chosen) if is_told else None
    view = shown(session.number, fair, chosen, session.is_drawn)
    return opened(view, fair, fair.seed) if session.is_opened else view


def pledge_of(session: Session) -> ChanceView | None:
    """What seats can give to now."""
    pledge = open_pledge(session)
    if pledge is None:
        return None
    given = {seat: each.by for seat, each in pledge.contributions.items()}
    return ChanceView(session.number - (not session.is_between), pledge.commitment, given)


def shown(number: int, fair: FairChance, chosen: str, is_drawn: bool) -> ChanceView:
    """A chance whose secret is not told."""
    given = {seat: each.by for seat, each in fair.contributions.items()}
    return ChanceView(number, fair.commitment, given, is_drawn, chosen)


def opened(view: ChanceView, fair: FairChance, seed: int) -> ChanceView:
    """The same with everything told, and what does not fit."""
    return replace(view, opened=fair, seed=seed, faults=tuple(fair.faults(seed)))
