"""A log is read: it is replayed as far as cards can be seen, and every combat is worked out anew.

Where the log and the rules differ it is said, and the reading goes on with what the log says. Where cards that matter
are hidden, or the log begins in the middle, that is said, too, and only what can be checked is checked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from companion.core.errors import Illegal, Malformed
from companion.core.kit import Seat
from companion.games.base import Outcome, plain_outcome
from companion.games.binmat.cards import CARDS, Cards
from companion.games.binmat.combat import ATTACKER, DEFENDER, ROLES, Edition
from companion.games.binmat.logs.ledger import Ledger, any_position, words_of
from companion.games.binmat.logs.notation import (
    MANY,
    PLACES,
    CombatStacks,
    Header,
    Line,
    LoggedCombat,
    Move,
    Part,
    Result,
    Sprung,
    parse_line,
    starts_combat,
)
from companion.games.binmat.logs.recount import Account, judge
from companion.games.binmat.orders import DISCARD, DOWN, DRAW, UP, check_order
from companion.games.binmat.state import HIDDEN, LANES, BinmatOptions, can_draw


class FindingKind(StrEnum):
    """What a finding is."""

    DIFFERS = "differs"
    UNCHECKED = "unchecked"
    UNREAD = "unread"


@dataclass(frozen=True)
class LogFinding:
    """Something about a line (from 1) of the log: it differs from the rules, cannot be checked, or cannot be read."""

    line: int
    turn: int | None
    kind: FindingKind
    text: str


@dataclass(frozen=True)
class LogReport:
    """What a log came to. `agree`, `differ`, `unchecked` count combats.

    `ledger` is where all cards lie at the end, None when the log could not be followed from its beginning. `outcome`
    is how the game ended by the rules, None when it is not over or not known.
    """

    findings: tuple[LogFinding, ...]
    turns: int
    moves: int
    agree: int
    differ: int
    unchecked: int
    ledger: Ledger | None
    outcome: Outcome | None

    @property
    def is_right(self) -> bool:
        """Does nothing differ from the rules?"""
        return not any(finding.kind is FindingKind.DIFFERS for finding in self.findings)

    def plain(self) -> dict[str, Any]:
        """All of it in plain JSON."""
        return {
            "agrees": self.is_right,
            "turns": self.turns,
            "moves": self.moves,
            "combats": {"agree": self.agree, "differ": self.differ, "unchecked": self.unchecked},
            "findings": [
                {"line": each.line, "turn": each.turn, "kind": str(each.kind), "text": each.text}
                for each in self.findings
            ],
            "followed": self.ledger is not None,
            "state": self.ledger.plain() if self.ledger else None,
            "outcome": plain_outcome(self.outcome),
        }


def read_log(lines: Iterable[str], edition: Edition = Edition.HACKMUD, turns: int | None = None) -> LogReport:
    """Read a log against the rules of an edition, for a game of so many turns.

    None: as many as the edition has; in the hackmud edition a log that goes on longer tells the number itself.
    """
    return _Reader(BinmatOptions(edition=edition, turns=turns or USUAL_TURNS), turns is not None).read(lines)


USUAL_TURNS = 110
"""Of a game, by the rulebook; some recorded games of hackmud had more."""

_Tail = list[CombatStacks | Sprung | Result]


class _Reader:
    """A log while it is read. `followed`: the ledger is right, because every turn so far could be read."""

    def __init__(self, options: BinmatOptions, has_limit: bool) -> None:
        self.options = options
        self.has_limit = has_limit or options.edition is Edition.RULEBOOK
        self.ledger, self.followed = Ledger(), True
        self.findings: list[LogFinding] = []
        self.combats = Counter[str]()
        self.turn: int | None = None
        self.turns = self.moves = self.at = 0
        self.move: Move | None = None
        self.tail: _Tail = []
        self.players: set[str] = set()
        self.passes = Counter[str]()
        self.outcome: Outcome | None = None
        self.is_over_told = False
        self.short: LogFinding | None = None

    def read(self, lines: Iterable[str]) -> LogReport:
        """All lines, one after the other."""
        for number, text in enumerate(lines, start=1):
            try:
                line = parse_line(text)
            except Malformed as error:
                self.tell(FindingKind.UNREAD, error.message, number)
                continue
            if line is not None:
                self._line(number, line)
        self._finish_move()
        self._close_turn()
        self._close_log()
        return LogReport(
            tuple(sorted(self.findings, key=lambda finding: finding.line)),
            self.turns,
            self.moves,
            self.combats["agree"],
            self.combats["differ"],
            self.combats["unchecked"],
            self.ledger if self.followed else None,
            self.outcome if self.followed else None,
        )

    def tell(self, kind: FindingKind, text: str, line: int | None = None) -> None:
        """Add a finding on the move at hand, or on another line."""
        if line is None:
            line = self.at
            text = f"{self.move.text}: {text}" if self.move else text
        self.findings.append(LogFinding(line, self.turn, kind, text))

    def _differs(self, text: str) -> None:
        self.tell(FindingKind.DIFFERS, text)

    def _lose(self, why: str, line: int | None = None) -> None:
        """From here on the ledger is not right any more."""
        if self.followed:
            self.followed = False
            self.tell(FindingKind.UNCHECKED, f"{why}; from here on hands, decks and stacks are not followed", line)

    # ---- lines and turns ---------------------------------------------------------------------------------------------

    def _line(self, number: int, line: Line) -> None:
        if isinstance(line, Header):
            self._finish_move()
            self._open_turn(number, line.turn)
        elif isinstance(line, Move):
            self._finish_move()
            if self.turn is None:
                self._lose("no number of a turn stands before the first move", number)
            self.move, self.at, self.tail = line, number, []
        elif self.move is None:
            self.tell(FindingKind.UNREAD, "This line of the system belongs to no move", number)
        else:
            self.tail.append(line)

    def _open_turn(self, number: int, turn: int) -> None:
        self._close_turn()
        before, self.turn = self.turn, turn
        if before is None:
            if turn:
                self._lose("the log begins here", number)
        else:
            if not self.players:
                self._lose(f"turn {before} before it has no move that can be read", number)
            if turn != before + 1:
                self.tell(FindingKind.DIFFERS, f"it follows turn {before}, expected turn {before + 1}", number)
                self._lose("turns are missing or out of order", number)
        if self.has_limit and turn >= self.options.turns:
            count = self.options.turns
            self.tell(FindingKind.DIFFERS, f"the game has {count} turns, the last is turn {count - 1}", number)
        self.players.clear()
        self.turns += 1

    def _close_turn(self) -> None:
        """The defender may have won by the turn that ends."""
        if self.turn is None or self.outcome or not self.followed:
            return
        if self.has_limit and self.turn + 1 >= self.options.turns:
            self._end(DEFENDER, f"All {self.options.turns} turns are over: the defender wins.")
        elif self.players and not self.ledger.attacker_has_cards():
            state = self.ledger.state(self.options, ATTACKER, ())
            if not any(can_draw(state, lane) for lane in LANES):
                self._end(DEFENDER, "The attacker has no card and no lane to draw from: the defender wins.")

    def _close_log(self) -> None:
        """A game that lasted to the usual number of turns or beyond ended with its last one."""
        if self.turn is not None and self.turn + 1 >= self.options.turns and not self.outcome and self.followed:
            self._end(DEFENDER, f"All {self.turn + 1} turns are over: the defender wins.")

    def _end(self, winner: Seat, reason: str) -> None:
        self.outcome = Outcome(frozenset({winner}), reason)

    # ---- moves -------------------------------------------------------------------------------------------------------

    def _finish_move(self) -> None:
        """The move at hand is complete with the lines that followed it."""
        if self.move is None:
            return
        move, self.moves = self.move, self.moves + 1
        self._check_turn(move)
        self._check_legal(move)
        account = self._account()
        self._carry_out(move)
        self._check_combat(move, account)
        self.passes[move.player] = self.passes[move.player] + 1 if move.letter == "-" else 0
        self.move = None

    def _check_turn(self, move: Move) -> None:
        if self.turn is not None:
            due = ATTACKER if self.turn % 2 else DEFENDER
            if move.seat is not due:
                self._differs(f"turn {self.turn} is the {ROLES[due]}’s")
            if move.player in self.players:
                self._differs(f"{move.player} has acted in turn {self.turn} already")
        self.players.add(move.player)
        if self.outcome and self.followed and not self.is_over_told:
            self.is_over_told = True
            self._differs(f"the game was over before. {self.outcome.reason}")
        if self.short:
            self.findings.append(self.short)
            self.short = None

    def _check_legal(self, move: Move) -> None:
        """Do the rules allow the action? Where the position is not known: do they allow it in any?"""
        card = _for_rules(move)
        if card is None or move.letter == "-":
            return
        state = self.ledger.state(self.options, move.seat, (card,) if card else ())
        refusal = None
        for position in (state,) if self.followed else any_position(state):
            try:
                check_order(position, move.seat, f"{move.letter}{card}{PLACES[move.lane]}")
            except Illegal as error:
                refusal = error.message
            else:
                return
        self._differs(f"the rules refuse it. {refusal}")

    def _carry_out(self, move: Move) -> None:
        """What the move itself does to the cards; combat comes later."""
        place, hand = PLACES[move.lane], f"h{move.player}"
        if move.letter == DRAW:
            ((card,),) = self._parts(move, [(1, hand)])
            self._draw(move, place, card)
        elif move.letter in (DOWN, UP):
            stack = f"{move.player[0]}{place}"
            ((card,),) = self._parts(move, [(1, stack)])
            self._from_hand(move, card, stack)
            self._turn_up(move, stack)
        elif move.letter == DISCARD and move.seat is ATTACKER:
            (card,), drawn = self._parts(move, [(1, f"x{place}"), (2, hand)])
            self._from_hand(move, card, f"x{place}")
            self._pay("la", drawn, hand)
        elif move.letter == DISCARD:
            ((card,),) = self._parts(move, [(1, f"x{place}")])
            self._from_hand(move, card, f"x{place}")
        else:
            self._parts(move, [])
            if move.letter == "-" and self.passes[move.player] and self.options.edition is Edition.HACKMUD:
                self.ledger.lose_hand(move.player)

    def _parts(self, move: Move, expected: list[tuple[int, str]]) -> list[Cards]:
        """The cards that the move shows for each place, `X` where it shows none; says what is wrong with them."""
        for extra in move.parts[len(expected) :]:
            self._differs(f"nothing goes to {extra.place or 'another place'} by it")
        found = []
        for at, (count, place) in enumerate(expected):
            part = move.parts[at] if at < len(move.parts) else Part((MANY,), place)
            if part.place not in ("", place):
                self._differs(f"its cards go to {place}, the log says {part.place}")
            named = tuple([card for card in part.cards if card != MANY])
            if len(named) > count or (len(named) < count and MANY not in part.cards):
                self._differs(f"{count} card{'s' if count > 1 else ''} go to {place}, the log shows {len(named)}")
            found.append((named + (HIDDEN,) * count)[:count])
        return found

    def _from_hand(self, move: Move, shown: str, place: str) -> None:
        """A card leaves the hand for a stack or a discard pile."""
        if HIDDEN not in (move.card, shown) and not shown.startswith(move.card):
            self._differs(f"it names {move.card}, but {shown} goes to {place}")
        card = move.card if move.card in CARDS else shown
        if self.followed:
            hand = self.ledger.cards(f"h{move.player}")
            if card == HIDDEN and len(hand) == 1:
                (card,) = hand
            if complaint := self.ledger.take(f"h{move.player}", card):
                self._differs(f"{card} cannot come from the hand: {complaint}")
            self.ledger.put(place, [card])

    def _turn_up(self, move: Move, stack: str) -> None:
        """A card played face up that begins no combat lies open; so does the defender's stack with it."""
        if not self.followed or move.letter != UP or starts_combat(move.seat, UP, move.known_card):
            return
        *_, card = cards = self.ledger.cards(stack)
        if move.seat is ATTACKER and card != HIDDEN:
            self.ledger.attack_up.add(card)
        elif move.seat is DEFENDER and (card != HIDDEN or len(cards) == 1):
            self.ledger.is_up[move.lane] = True

    def _draw(self, move: Move, place: str, card: str) -> None:
        if not self.followed:
            return
        if self.ledger.cards(f"l{place}") or self.ledger.cards(f"x{place}"):
            self._pay(f"l{place}", (card,), f"h{move.player}")
        elif move.parts and move.parts[0].cards:
            self._differs("there was no card to draw")
        elif move.seat is ATTACKER and place != "a" and self.options.edition is Edition.HACKMUD:
            self._end(ATTACKER, f"Lane {place} has no card left to draw: the attacker wins.")

    def _pay(self, deck: str, cards: Cards, hand: str) -> None:
        """A deck gives cards to a hand."""
        if not self.followed:
            return
        for card in cards:
            if complaint := self.ledger.draw(deck, card):
                self._differs(f"{card} cannot come from {words_of(deck)}: {complaint}")
            self.ledger.put(hand, [card])

    # ---- combat ------------------------------------------------------------------------------------------------------

    def _account(self) -> Account | None:
        """The lines of the system after the move, put together; says which come twice or before the stacks."""
        shown = [line for line in self.tail if isinstance(line, CombatStacks)]
        results = [line for line in self.tail if isinstance(line, Result)]
        if len(shown) > 1 or len(results) > 1:
            self._differs("the log tells more than one combat of it")
        if not shown:
            if self.tail:
                self._differs("a combat has a result, but no stacks are shown")
            return None
        sprung = tuple([line for line in self.tail if isinstance(line, Sprung)])
        return Account(shown[0], sprung, results[0] if results else None)

    def _check_combat(self, move: Move, account: Account | None) -> None:
        card = move.known_card
        begins = starts_combat(move.seat, move.letter, card)
        if account is None:
            if begins:
                self._unchecked("the log does not show its stacks")
                self._lose("nobody can tell what the combat did")
        elif not begins and card != HIDDEN:
            self._differs("no combat begins by it, but the log shows one")
            self._lose("nobody can tell what the combat did")
        else:
            self._fight(move, account)

    def _unchecked(self, why: str) -> None:
        self.combats["unchecked"] += 1
        self.tell(FindingKind.UNCHECKED, f"the combat is not checkable: {why}")

    def _fight(self, move: Move, account: Account) -> None:
        ledger = self.ledger if self.followed else None
        verdict = judge(account, move, ledger, self.options.edition)
        said = len(self.findings)
        for text in verdict.differences:
            self._differs(text)
        tale = verdict.tale
        if self.followed:
            agreed = tale if not verdict.differences else None
            self._clear_stacks(move.lane, agreed.moves(move.lane) if agreed else account.moves())
        self._pay_damage(move, account, tale)
        if any(finding.kind is FindingKind.DIFFERS for finding in self.findings[said:]):
            self.combats["differ"] += 1
        elif verdict.unchecked:
            self._unchecked(verdict.unchecked)
        else:
            self.combats["agree"] += 1

    def _clear_stacks(self, lane: int, moves: Iterable[Part]) -> None:
        """Cards leave the stacks of a lane; what cannot be told ends the following."""
        attacker, defender = self.ledger.pile(f"a{lane}").cards, self.ledger.pile(f"d{lane}").cards
        self.ledger.attack_up.difference_update(attacker)
        lost = False
        for part in moves:
            for card in part.cards:
                stack = next((stack for stack in (attacker, defender) if card in stack), None)
                if stack is None or card == HIDDEN or not part.place:
                    lost = True
                else:
                    stack.remove(card)
                    self.ledger.put(part.place, [card])
        self.ledger.is_up[lane] = bool(defender)
        if lost or attacker:
            self._lose("nobody can tell where all cards of the combat went")

    def _pay_damage(self, move: Move, account: Account, tale: LoggedCombat | None) -> None:
        """The lane deck gives what it owes; says where the log shows another number of cards."""
        drawn, lane = account.drawn(), move.lane
        given = tuple([card for card in drawn.cards if card != MANY])
        due = tale.due if tale else len(given)
        left = len(self.ledger.cards(f"l{lane}"))
        if self.options.edition is Edition.HACKMUD:
            left += len(self.ledger.cards(f"x{lane}"))
        owed = min(due, left) if self.followed else due
        if account.result is None or MANY in drawn.cards:
            given = (given + (HIDDEN,) * owed)[:owed]
        elif len(given) != owed:
            text = f"cards drawn: the log says {len(given)}, the rules say {owed}"
            if self.followed or len(given) > owed:
                self._differs(text)
            else:  # the lane deck may have been empty: then the attacker has won, and nothing follows
                self.short = LogFinding(self.at, self.turn, FindingKind.DIFFERS, f"{move.text}: {text}")
        self._pay(f"l{lane}", given, drawn.place or f"h{move.player if move.seat is ATTACKER else 'a0'}")
        if self.followed and tale and due > left:
            self._end(ATTACKER, f"Lane {lane} owes {due} and has only {left}: the attacker wins.")


def _for_rules(move: Move) -> str | None:
    """A card that stands for the move's when the rules are asked, empty where it has none; None: they cannot be."""
    card = move.known_card
    if card == HIDDEN:
        return "2&" if move.letter == DOWN else None
    return f"{card}&" if len(card) == 1 else card
