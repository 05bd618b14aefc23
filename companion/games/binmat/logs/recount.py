"""A combat of a log beside the same combat by the rules: where they differ, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from companion.core.errors import Malformed
from companion.games.binmat.cards import BOUNCE, TRAP, Cards
from companion.games.binmat.combat import ATTACKER, Edition, Fight, resolve
from companion.games.binmat.logs.ledger import Ledger, words_of
from companion.games.binmat.logs.notation import (
    MANY,
    CombatStacks,
    LoggedCombat,
    Move,
    Part,
    Result,
    Sprung,
    pile_of,
    told,
    told_bounce,
)
from companion.games.binmat.orders import UP
from companion.games.binmat.state import HIDDEN

_NAMES = {
    "a@": "the attacker’s TRAPs took",
    "d@": "the defender’s TRAPs took",
    "a?": "BOUNCEs of the attacker",
    "d?": "BOUNCEs of the defender",
}


@dataclass(frozen=True)
class Account:
    """What the log says of a combat: the lines of the system, each at most once but for `sprung`."""

    shown: CombatStacks
    sprung: tuple[Sprung, ...] = ()
    result: Result | None = None

    def taken(self, what: str) -> Cards:
        """The cards of the lines `a@`, `d@`, `a?` or `d?`."""
        return tuple([card for each in self.sprung if each.what == what for card in each.part.cards])

    def drawn(self) -> Part:
        """The cards that went to a hand, and the hand; empty when none are shown."""
        return next((part for part in self._results() if self._is_hand(part)), Part())

    def moves(self) -> list[Part]:
        """All cards that left the stacks, with their places."""
        return [*(each.part for each in self.sprung), *(part for part in self._results() if not self._is_hand(part))]

    def _results(self) -> tuple[Part, ...]:
        return self.result.parts if self.result else ()

    def _is_hand(self, part: Part) -> bool:
        """Is it a hand? Cards without a place that were in no stack have been drawn."""
        stacks = self.shown.attacker.cards + self.shown.defender.cards
        return part.place.startswith("h") or (not part.place and not set(part.cards) & set(stacks))


@dataclass(frozen=True)
class CombatCheck:
    """What the rules say to a combat: where the log differs, why it could not be checked (or empty), their account."""

    differences: tuple[str, ...]
    unchecked: str = ""
    tale: LoggedCombat | None = None


def judge(account: Account, move: Move, ledger: Ledger | None, edition: Edition) -> CombatCheck:
    """Work the combat that a move began out; the ledger, if there is one that is right, learns the stacks."""
    seat, card, played = move.seat, move.known_card, move.letter == UP
    attacker, defender = account.shown.attacker.cards, account.shown.defender.cards
    found = list(_unlike_stacks(account.shown, move, ledger))
    marks = account.shown.defender.ups[: -1 if played and seat is not ATTACKER else None]
    before = list(zip(attacker, account.shown.attacker.ups, strict=True))[: -1 if played and seat is ATTACKER else None]
    is_up = ledger.is_up[move.lane] if ledger else bool(marks) and all(marks)
    found += _unlike_faces(marks, is_up, before, ledger.attack_up if ledger and edition is Edition.HACKMUD else None)
    if {HIDDEN, MANY} & {*attacker, *defender}:
        return CombatCheck(tuple(found), "cards that matter are hidden")
    lay_open = frozenset(each for each, up in before if up)
    if edition is Edition.RULEBOOK and (traps := [each for each in lay_open if each[0] == TRAP]):
        return CombatCheck(tuple(found), f"the attacker’s {min(traps)} lay face up, which these rules do not know")
    if played and card[0] == BOUNCE and attacker and edition is Edition.RULEBOOK:
        tale = told_bounce(attacker[-1], defender)
    else:
        try:
            tale = told(resolve(Fight(attacker, defender, seat, is_up, lay_open), edition), move.lane)
        except Malformed as error:
            return CombatCheck((*found, error.message), "it cannot be worked out")
    found += differences(account, tale, move.lane)
    missing = tale.powers is not None and account.result is None
    return CombatCheck(tuple(found), "the log does not show its result" if missing else "", tale)


def _unlike_stacks(shown: CombatStacks, move: Move, ledger: Ledger | None) -> Iterator[str]:
    """Where the stacks of the log are another lane's, not those that the ledger knows, or without the card played."""
    attacker, defender = shown.attacker.cards, shown.defender.cards
    if shown.lane != move.lane:
        yield f"the log shows the stacks of lane {shown.lane}"
    for place, stack in ((f"a{move.lane}", attacker), (f"d{move.lane}", defender)):
        if ledger and MANY not in stack and (complaint := ledger.show(place, stack)):
            yield f"{words_of(place)}: the log shows {_listed(stack)}, {complaint}"
    card, top = move.known_card, (attacker if move.seat is ATTACKER else defender)[-1:]
    is_known = move.letter == UP and HIDDEN not in (card, *top) and MANY not in top
    if is_known and not (top and top[0].startswith(card)):
        yield f"{card} does not lie on top of the stack"


def _unlike_faces(
    marks: Sequence[bool], is_up: bool, before: Iterable[tuple[str, bool]], attack_up: Collection[str] | None
) -> Iterator[str]:
    """Where the log marks cards as face up or down that lay the other way; `attack_up`: the attacker's, where known."""
    if any(up != is_up for up in marks):
        yield f"the log marks defender cards face {'down' if is_up else 'up'} that lay face {'up' if is_up else 'down'}"
    for each, up in before:
        if attack_up is not None and each not in (HIDDEN, MANY) and up != (each in attack_up):
            yield f"the log marks the attacker’s {each} face {'up' if up else 'down'}, it lay the other way"


def alike(shown: Cards, expected: Cards) -> bool:
    """May cards of a log be these? Order does not matter, `X` stands for any card, `MANY` for any number of them."""
    named = Counter(card for card in shown if card not in (HIDDEN, MANY))
    hidden = Counter(expected)[HIDDEN]
    if (named - Counter(expected)).total() > hidden:
        return False
    return MANY in shown or len(shown) == len(expected)


def differences(account: Account, tale: LoggedCombat, lane: int) -> list[str]:
    """Where the log of a combat differs from the rules' account of it; what the log does not show is no difference."""
    found = []
    for what, expected in tale.sprung.items():
        if not alike(account.taken(what), expected):
            found.append(f"{_NAMES[what]}: {_versus(account.taken(what), expected)}")
        place = pile_of(what, lane)
        for each in account.sprung:
            if each.what == what and each.part.place not in ("", place):
                found.append(f"{_NAMES[what]}: the log sends them to {each.part.place}, the rules to {place}")
    result = account.result
    if result is None:
        return found
    if tale.powers is None:
        return [*found, "the log shows powers, by the rules it is no combat"]
    if not (tale.is_bounced and (result.attack, result.defence) == (0, 0)):
        for role, said, ruled in zip(("attack", "defence"), (result.attack, result.defence), tale.powers, strict=True):
            if said != ruled:
                found.append(f"{role} power: the log says {said}, the rules say {ruled}")
    if (result.damage or 0) != tale.damage:
        found.append(f"damage: the log says {result.damage or 'none'}, the rules say {tale.damage or 'none'}")
    return found + _misplaced(result, tale, lane)


def _misplaced(result: Result, tale: LoggedCombat, lane: int) -> list[str]:
    """Cards of the stacks that the log's result sends elsewhere than the rules."""
    ruled = {"xa": tale.hits, f"x{lane}": ()}
    ruled[tale.rest_place] = tale.rest + ruled[tale.rest_place]
    said: dict[str, Cards] = dict.fromkeys(ruled, ())
    for part in result.parts:
        place = part.place or _likely(part.cards, ruled)
        if not place.startswith("h"):
            said[place] = said.get(place, ()) + part.cards
    return [
        f"cards to {place}: {_versus(cards, ruled.get(place, ()))}"
        for place, cards in said.items()
        if not alike(cards, ruled.get(place, ()))
    ]


def _likely(cards: Cards, ruled: dict[str, Cards]) -> str:
    """Where cards without a place probably went: where the rules send the first of them, else to a hand."""
    return next((place for place, those in ruled.items() if cards and cards[0] in those), "h")


def _versus(said: Cards, ruled: Cards) -> str:
    return f"the log says {_listed(said)}, the rules say {_listed(ruled)}"


def _listed(cards: Iterable[str]) -> str:
    return " ".join(cards) or "none"
