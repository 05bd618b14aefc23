"""Who keeps the hidden cards of a game at two tables: the fold of what both have told, in one order.

It plays the game with every card by the ordinary rules. What a table tells that is no order goes on to the other one;
of an order each is told what its seat may know. The shuffle comes from a secret to which the dealer is bound before
either table gives its part; both are opened when the game is over. A table that tells what does not fit has left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from companion.core.errors import CompanionError, Malformed
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.games import game_named
from companion.games.mixins import DealtGame, TimedGame, dealt_game
from companion.table.chance.fairness import Contribution, FairChance, commitment_of
from companion.table.remote.dealt import unfitting
from companion.table.remote.messages import (
    Answered,
    Asked,
    CardsDealt,
    CardsOpened,
    ChanceGiven,
    ClockHeld,
    DrawOffered,
    GameLeft,
    OrderDealt,
    OrderOpened,
    OrderUncovered,
    RemoteMessage,
    StepShown,
    TimeIsOver,
)
from companion.table.session import chance, receipt

_NOTHING: Mapping[Seat, tuple[RemoteMessage, ...]] = dict.fromkeys(SEATS, ())


@dataclass(frozen=True)
class _Given:
    """An order as its table has given it."""

    tick: int
    seat: Seat
    action: str
    salt: str = ""
    spent_s: float = 0.0
    at: float = 0.0
    by_time: bool = False


@dataclass(frozen=True)
class Dealer:
    """One game as its dealer has it. `sent` is all that each seat's table is to be told, `heard` how much it has told.

    `number` is the game's; `asked` are the seats that wait for an answer.
    """

    game: DealtGame[Any, Any]
    options: Any
    number: int
    secret: str
    given: Mapping[Seat, str] = field(default_factory=dict)
    heard: Mapping[Seat, int] = field(default_factory=lambda: dict.fromkeys(SEATS, 0))
    sent: Mapping[Seat, tuple[RemoteMessage, ...]] = field(default_factory=lambda: dict(_NOTHING))
    state: Any = None
    orders: tuple[_Given, ...] = ()
    asked: frozenset[Seat] = frozenset()
    to_show: int = 0
    """So often a table has to say that it shows a part of the last turn."""
    is_over: bool = False

    @property
    def _seed(self) -> int:
        given = {seat: Contribution(value, "order") for seat, value in self.given.items()}
        return FairChance(commitment_of(self.secret), self.secret, given).seed

    @property
    def _tick(self) -> int:
        return len(self.orders) + 1

    def hear(self, seat: Seat, message: RemoteMessage | None) -> Dealer:
        """The game after what a seat's table has told next; None is what cannot be read."""
        after = replace(self, heard={**self.heard, seat: self.heard[seat] + 1})
        if self.is_over:
            return after
        try:
            return after._take(seat, message)
        except CompanionError:
            return after._tell(SEATS, GameLeft())._open()

    def _take(self, seat: Seat, message: RemoteMessage | None) -> Dealer:
        match message:
            case ChanceGiven() if seat not in self.given:
                both = replace(self, given={**self.given, seat: message.value})
                return both._deal() if len(both.given) == len(SEATS) else both
            case OrderOpened() if message.salt:
                given = _Given(message.tick, seat, message.action, message.salt, message.spent_s, message.at)
                return self._carry_out(given)
            case TimeIsOver() if self.state is not None and isinstance(self.game, TimedGame):
                action = self.game.on_timeout(self.state, seat)
                if action is None:
                    return self._tell((seat.other,), message)
                return self._carry_out(_Given(message.tick, seat, self.game.format(action), by_time=True))
            case StepShown():
                told = replace(self._tell((seat.other,), message), to_show=max(0, self.to_show - 1))
                return told._open() if self.to_show == 1 else told
            case ClockHeld() | DrawOffered():
                return self._tell((seat.other,), message)
            case Asked():
                return replace(self, asked=self.asked | {seat})._tell((seat.other,), message)
            case Answered() if seat.other in self.asked:
                told = replace(self, asked=frozenset())._tell((seat.other,), message)
                return told._open() if message.is_agreed else told
            case GameLeft():
                return self._tell((seat.other,), message)._open()
        raise unfitting()

    def _deal(self) -> Dealer:
        dealt = replace(self, state=self.game.setup(self.options, chance(self._seed, 0)))
        for seat in SEATS:
            dealt = dealt._tell((seat,), CardsDealt(dict(self.game.packed(self.game.seen_by(dealt.state, seat)))))
        return dealt

    def _carry_out(self, order: _Given) -> Dealer:
        """An order that must be legal now, by every card."""
        game, state = self.game, self.state
        if state is None or order.tick != self._tick:
            raise unfitting()
        action = game.parse(order.action)
        if game.format(action) != order.action:
            raise unfitting()
        game.require(state, {order.seat: action})
        step = game.apply(state, {order.seat: action}, chance(self._seed, self._tick))
        after = step.state
        told = replace(self, state=after, orders=(*self.orders, order))
        for seat in SEATS:
            told = told._tell((seat,), self._seen(seat, order, after))
        if not game.outcome(after):
            return told
        return replace(told, to_show=len(SEATS) * len(step.stages)) if step.stages else told._open()

    def _seen(self, seat: Seat, order: _Given, after: Any) -> OrderDealt:
        """An order as a seat may know it."""
        game = self.game
        action = order.action if seat is order.seat else game.told_text(order.action)
        return OrderDealt(
            order.tick,
            order.seat,
            action,
            receipt(f"{self.number}.{order.tick}", order.seat, order.action, order.salt),
            dict(game.packed(game.seen_after(self.state, seat, game.parse(order.action), after))),
            dict(game.packed(game.seen_by(after, seat))),
            order.salt if action == order.action else "",
            order.spent_s,
            order.at,
            order.by_time,
        )

    def _open(self) -> Dealer:
        """It is over: everything is told to both."""
        game, opened = self.game, replace(self, is_over=True)
        if len(self.given) < len(SEATS):
            return opened
        for seat in SEATS:
            kept_back = tuple(
                OrderUncovered(each.tick, each.action, each.salt)
                for each in self.orders
                if each.seat is not seat and game.told_text(each.action) != each.action
            )
            opened = opened._tell((seat,), CardsOpened(self.secret, dict(self.given), kept_back))
        return opened

    def _tell(self, seats: tuple[Seat, ...], message: RemoteMessage) -> Dealer:
        return replace(self, sent={**self.sent, **{seat: (*self.sent[seat], message) for seat in seats}})


def dealer_of(game: str, options: Mapping[str, Any], number: int, secret: str) -> Dealer:
    """The dealer of a game that begins; raises `Malformed` for one in which nothing is dealt."""
    rules = game_named(game)
    chosen = rules.options(options)
    dealt = dealt_game(rules, chosen)
    if dealt is None:
        raise Malformed(say("Nothing is dealt in {game}", game=rules.title))
    return Dealer(dealt, chosen, number, secret)
