"""The text log of hackmud's game: what its lines say, and how a game played here is written in it.

A turn is a line with its number, one or more lines with what a player did, and after a combat lines of the system:

    `V015` `n------`
    a0 c1
    `n--` c1 / 3# @^ / 4% 6&
    `n--` a@ / 6& xa
    `n--` 0 2 - / 3# @^ x1

Turns count up from 0, the defender has the even ones. Players are `d0` … `df` and `a0` … `af`. After the first slash
stands what follows: cards and the place they go to, `h` and a player for a hand, `x0` … `x5` and `xa` for a discard
pile, `d0` … `d5` and `a0` … `a5` for a stack. A card is `X` when nobody may see it and has a `u` behind it when it lay
face up. Combat shows both stacks, bottom first; then the cards that TRAPs took (`a@`, `d@`) and the BOUNCEs that left
(`a?`, `d?`), all in one line each; at last both powers, the damage (`-`: repelled or bounced), the attacker stack, the
defender's cards, and the cards drawn. Backticks with a letter after them are the game's colours and are ignored.
Source: logs of games played in hackmud, and notes of its players on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from companion.core.errors import Malformed
from companion.core.kit import SEATS, Seat
from companion.games.base import Step
from companion.games.binmat.cards import BOUNCE, BREAK, CARDS, SUITS, VALUES, Cards
from companion.games.binmat.combat import ATTACKER, DEFENDER, Combat, Fight, resolve, sum_of
from companion.games.binmat.orders import ATTACKER_PILE, COMBAT, DISCARD, DOWN, DRAW, ORDERS, UP, CardAction
from companion.games.binmat.state import HIDDEN, State

MANY = "…"
"""Stands for cards that a line leaves out."""

SIDES = {DEFENDER: "d", ATTACKER: "a"}
PLACES = "012345a"
"""How lanes 0 to 5 and, as number 6, the attacker's pile are written."""


@dataclass(frozen=True)
class Header:
    """The number of a turn, from 0."""

    turn: int


@dataclass(frozen=True)
class Part:
    """Cards that a line shows together and where they go, such as `ha0`; the place is empty when it is not shown.

    A card may be `X` or `MANY`; `ups` says which lay face up.
    """

    cards: Cards = ()
    place: str = ""
    ups: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Move:
    """What a player did: `letter` and `lane` as in `CardAction`; the card may be `X`, a bare value, or empty."""

    player: str
    letter: str
    card: str = ""
    lane: int = -1
    parts: tuple[Part, ...] = ()

    @property
    def seat(self) -> Seat:
        """The player's side."""
        return ATTACKER if self.player[0] == "a" else DEFENDER

    @property
    def text(self) -> str:
        """The move as the log has it, without what follows."""
        if self.letter == "-":
            return f"{self.player} --"
        return f"{self.player} {self.letter}{self.card}{PLACES[self.lane]}"

    @property
    def known_card(self) -> str:
        """The card, taken from what follows where the operation leaves it open."""
        shown = self.parts[0].cards[0] if self.parts and self.parts[0].cards else ""
        return shown if self.card and self.card not in CARDS and shown in CARDS else self.card


@dataclass(frozen=True)
class CombatStacks:
    """Both stacks of a combat, bottom first."""

    lane: int
    attacker: Part
    defender: Part


@dataclass(frozen=True)
class Sprung:
    """Cards that TRAPs took (`a@`, `d@`) or BOUNCEs that left (`a?`, `d?`)."""

    what: str
    part: Part


@dataclass(frozen=True)
class Result:
    """Powers and damage of a combat, None for `-`, and where the cards went."""

    attack: int
    defence: int
    damage: int | None
    parts: tuple[Part, ...]


Line = Header | Move | CombatStacks | Sprung | Result


# ---- reading ---------------------------------------------------------------------------------------------------------

_LONGEST = 1000
"""Characters of a line; all 78 cards and their places need some 300."""

_VALUE, _SUIT = f"[{re.escape(VALUES)}]", f"[{re.escape(SUITS)}]"
_HEADER = re.compile(r"[A-Za-z]?(\d{1,4}) +[A-Za-z]?-{6}", re.ASCII)
_SYSTEM = re.compile(r"[A-Za-z]?-- +(.+)")
_MOVE = re.compile(r"([ad][0-9a-f]) +([^ …]+)(?: *(?:…|\.\.\.))?")
_PASS = re.compile(r"[A-Za-z]?--")
_OPERATION = re.compile(rf"(d)([0-5a])|(c)([0-5])|([pu])({_VALUE}{_SUIT}?|X)([0-5])|(x)({_VALUE}{_SUIT}?|X)([0-5a])")
_TOKEN = re.compile(
    rf" *(?:(?P<card>{_VALUE}{_SUIT}|X)(?P<up>u?)|(?P<many>…|\.\.\.)|(?P<place>x[0-5a]|[ad][0-5]|h[ad][0-9a-f]))"
)
_POWERS = re.compile(r"(\d{1,3}) +(\d{1,3}) +(\d{1,3}|-)", re.ASCII)


def parse_line(text: str) -> Line | None:
    """What a line of a log says, None for an empty one; raises `Malformed` that says what is wrong with it.

    >>> parse_line("a0 d3 / *% ha0")
    Move(player='a0', letter='d', card='', lane=3, parts=(Part(cards=('*%',), place='ha0', ups=(False,)),))
    """
    plain = " ".join(text.replace("`", "").split())
    if not plain:
        return None
    if len(plain) > _LONGEST:
        raise Malformed(f"The line has {len(plain)} characters, a line of a log at most {_LONGEST}")
    if header := _HEADER.fullmatch(plain):
        return Header(int(header[1]))
    head, *rest = (each.strip() for each in plain.split("/"))
    if move := _MOVE.fullmatch(head):
        return _move(move[1], move[2], rest)
    if system := _SYSTEM.fullmatch(head):
        return _system(system[1], rest)
    raise Malformed(f"“{_short(plain)}” is no turn, no move of a player such as a0 d3, and no line of the system")


def _move(player: str, operation: str, rest: list[str]) -> Move:
    parts = tuple(_part(each) for each in rest if each)
    if _PASS.fullmatch(operation):
        return Move(player, "-", parts=parts)
    found = _OPERATION.fullmatch(operation)
    if found is None:
        raise Malformed(
            f"“{_short(operation)}” is no operation: expected one such as d3, da, pX3, u>+2, c3, x8&a or --"
        )
    letter, *more = (each for each in found.groups() if each is not None)
    return Move(player, letter, more[0] if len(more) > 1 else "", PLACES.index(more[-1]), parts)


def _system(head: str, rest: list[str]) -> Line:
    if re.fullmatch("c[0-5]", head):
        stacks = [_part(each) for each in rest] + [Part()] * 2
        if any(part.place for part in stacks) or any(part.cards for part in stacks[2:]):
            raise Malformed(f"After {head} expected the attacker stack, a slash and the defender stack")
        return CombatStacks(int(head[1]), stacks[0], stacks[1])
    if re.fullmatch("[ad][@?]", head):
        if len(rest) != 1:
            raise Malformed(f"After {head} expected a slash, cards and their place")
        return Sprung(head, _part(rest[0]))
    if powers := _POWERS.fullmatch(head):
        damage = None if powers[3] == "-" else int(powers[3])
        return Result(int(powers[1]), int(powers[2]), damage, tuple(_part(each) for each in rest if each))
    raise Malformed(f"“{_short(head)}” is no line of the system: expected one such as c3, a@, d? or 3 0 4")


def _part(text: str) -> Part:
    """Cards and their place; raises `Malformed` at what is neither."""
    cards: list[str] = []
    ups: list[bool] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise Malformed(
                f"“{_short(text[at:].strip())}” is neither a card such as 5& or X nor a place such as ha0, x3 or d2"
            )
        at = token.end()
        if token["place"]:
            if text[at:].strip():
                raise Malformed(f"After the place {token['place']} expected nothing more or a slash")
            return Part(tuple(cards), token["place"], tuple(ups))
        cards.append(token["card"] or MANY)
        ups.append(bool(token["up"]))
    return Part(tuple(cards), "", tuple(ups))


def _short(text: str) -> str:
    """A text that may be long or not printable, for a message."""
    clean = "".join(each if each.isprintable() else "?" for each in text)
    return clean if len(clean) <= 40 else f"{clean[:39]}…"


# ---- what a combat comes to in a log ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoggedCombat:
    """How a log tells a combat: cards by `a@`, `d@`, `a?`, `d?`, the result, and what stays.

    `powers` is None where no result follows: a BOUNCE played face up by the rulebook is no combat. `rest` is the
    attacker stack that goes to `rest_place`, `hits` the defender's cards that damage sends to `xa`, `due` how many
    cards the lane deck owes.
    """

    sprung: dict[str, Cards]
    powers: tuple[int, int] | None = None
    damage: int = 0
    is_bounced: bool = False
    rest: Cards = ()
    rest_place: str = "xa"
    hits: Cards = ()
    due: int = 0

    def moves(self, lane: int) -> list[Part]:
        """Where the cards of both stacks go; what is not in it stays."""
        sprung = [Part(cards, pile_of(what, lane)) for what, cards in self.sprung.items()]
        return [*sprung, Part(self.rest, self.rest_place), Part(self.hits, "xa")]


def pile_of(what: str, lane: int) -> str:
    """The place of the cards of a line `a@`, `d@`, `a?` or `d?`."""
    return "xa" if what in ("a@", "d?") else f"x{lane}"


def told(combat: Combat, lane: int) -> LoggedCombat:
    """A combat of the rules as the log tells it."""
    by_attacker = tuple([trap.taken for trap in combat.traps if trap.taken and trap.seat is ATTACKER])
    by_defender = tuple([trap.taken for trap in combat.traps if trap.taken and trap.seat is DEFENDER])
    attacker = _without(combat.fight.attacker, by_defender)
    defender = _without(combat.fight.defender, by_attacker)
    sprung = {"a@": by_attacker, "d@": by_defender, "a?": (), "d?": ()}
    if combat.bounced:
        sprung["a?"], rest = _bounces(attacker)
        sprung["d?"], left = _bounces(defender)
        return LoggedCombat(sprung, (sum_of(rest).power, sum_of(left).power), is_bounced=True, rest=rest)
    powers = sum_of(attacker).power, sum_of(defender).power
    place = f"x{lane}" if powers[0] < powers[1] else "xa"
    hits = _without(defender, combat.defender)[::-1]
    return LoggedCombat(sprung, powers, combat.damage, False, attacker, place, hits, combat.due)


def told_bounce(card: str, defender: Cards) -> LoggedCombat:
    """A BOUNCE played face up by the rulebook: no combat, but BOUNCEs leave."""
    return LoggedCombat({"a@": (), "d@": (), "a?": (card,), "d?": _bounces(defender)[0]})


def starts_combat(seat: Seat, letter: str, card: str) -> bool:
    """Does the log show the stacks of a lane after this action?"""
    return letter == COMBAT or (letter == UP and (card[:1] == BREAK or (card[:1] == BOUNCE and seat is ATTACKER)))


def _bounces(stack: Cards) -> tuple[Cards, Cards]:
    """The BOUNCEs of a stack, and its other cards."""
    return tuple([card for card in stack if card[0] == BOUNCE]), tuple([card for card in stack if card[0] != BOUNCE])


def _without(stack: Cards, gone: Cards) -> Cards:
    return tuple([card for card in stack if card not in gone])


# ---- writing ---------------------------------------------------------------------------------------------------------

Played = tuple[Seat, str, Step[State]]
"""Who acted, the action, and what came of it."""


def log_of(before: State, plays: Iterable[Played], is_open: bool = True) -> Iterator[str]:
    """The lines of a full game from its first state on; `is_open` names the cards that were hidden in the game, too."""
    for turn, (seat, action, step) in enumerate(plays):
        yield f"`V{turn:03}` `n------`"
        yield from _Turn(before, seat, step.state, is_open).lines(ORDERS[action])
        before = step.state


class _Turn:
    """One turn to be written."""

    def __init__(self, before: State, seat: Seat, after: State, is_open: bool) -> None:
        self.before, self.after, self.seat, self.is_open = before, after, seat, is_open
        self.side = SIDES[seat]
        self.player = f"{self.side}0"

    def lines(self, order: CardAction) -> Iterator[str]:
        """What the player did, and the system's lines."""
        letter, card, lane = order
        place = PLACES[lane] if lane >= 0 else ""
        if letter == DRAW:
            cards = self._new_cards(self.seat)
            yield f"{self.player} d{place}" + (f" / {self._drawn(self.seat, lane, cards)}" if cards else "")
        elif letter == DOWN:
            named = card if self.is_open else HIDDEN
            yield f"{self.player} p{named}{place} / {named} {self.side}{place}"
        elif letter == UP:
            yield f"{self.player} u{card}{place} / {card} {self.side}{place}"
        elif letter == DISCARD:
            drawn = (
                f" / {self._drawn(ATTACKER, ATTACKER_PILE, self._new_cards(ATTACKER, card))}"
                if self.seat is ATTACKER
                else ""
            )
            yield f"{self.player} x{card}{place} / {card} x{place}{drawn}"
        else:
            yield f"{self.player} {'c' + place if letter == COMBAT else '`n--`'}"
        if starts_combat(self.seat, letter, card):
            yield from self._combat(card, lane)

    def _new_cards(self, seat: Seat, gone: str = "") -> Cards:
        """What came into a hand in this turn, in that order."""
        index = SEATS.index(seat)
        kept = _without(self.before.hands[index], (gone,))
        return self.after.hands[index][len(kept) :]

    def _drawn(self, seat: Seat, lane: int, cards: Cards) -> str:
        """Cards drawn and the hand: those that lay open on the lane deck, hidden ones where everything is told.

        The first card of a deck that was shuffled anew is hidden, as hackmud shows it.
        """
        known = len(self.before.decks[lane]) if lane != ATTACKER_PILE and self.before.are_open[lane] else None
        named = [
            card if self.is_open or (known is not None and number != known) else HIDDEN
            for number, card in enumerate(cards)
        ]
        return f"{' '.join(named)} h{SIDES[seat]}0 "

    def _combat(self, card: str, lane: int) -> Iterator[str]:
        before = self.before
        attacker, defender, is_up = before.attack[lane], before.defence[lane], before.is_up[lane]
        if self.seat is ATTACKER:
            attacker += (card,) if card else ()
        else:
            defender += (card,) if card else ()
        if not before.is_hackmud and card[:1] == BOUNCE:
            tale = told_bounce(card, defender)
        else:
            fight = Fight(attacker, defender, self.seat, is_up, before.attack_up.intersection(attacker))
            tale = told(resolve(fight, before.options.edition), lane)
        mine = [each + ("u" if each == card or each in before.attack_up else "") for each in attacker]
        theirs = [each + ("u" if is_up or each == card else "") for each in defender]
        yield f"`n--` c{lane} / {' '.join(mine)} / {' '.join(theirs)}"
        first, second = self.side, "d" if self.side == "a" else "a"
        for what in (f"{first}@", f"{second}@", "a?", "d?"):
            if cards := tale.sprung[what]:
                yield f"`n--` {what} / {' '.join(cards)} {pile_of(what, lane)}"
        if tale.powers is not None:
            yield self._result(tale, tale.powers, card, lane)

    def _result(self, tale: LoggedCombat, powers: tuple[int, int], card: str, lane: int) -> str:
        attack, defence = powers
        damage = tale.damage if tale.damage or not (attack or defence) else "-"
        text = f"`n--` {attack} {defence} {damage} / {' '.join(tale.rest)} {tale.rest_place}"
        if tale.hits:
            text += f" / {' '.join(tale.hits)} xa"
        if cards := self._new_cards(ATTACKER, card):
            text += f" / {self._drawn(ATTACKER, lane, cards)}"
        return text
