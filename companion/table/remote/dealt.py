"""The fold of a game at two tables whose hidden cards a dealer keeps, who is neither of them.

A table's journal has only what its own seat may know: its order goes to the dealer, and what comes of it comes back as
that seat sees it. The dealer was bound to a secret before; once the game is over it opens it, with what both tables
gave and every order. From that each table plays the whole game again and holds it against all that it was told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from companion.core.errors import CompanionError, Illegal, Malformed, Refusal, Stale
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.base import Step
from companion.games.mixins import DealtGame, TimedGame, dealt_game
from companion.table.chance.fairness import Contribution, FairChance
from companion.table.clocks.countdown import Countdown
from companion.table.records import AnyRecord, Begin, HandIn, TimeOut
from companion.table.remote.messages import CardsDealt, CardsOpened, OrderDealt
from companion.table.remote.remote_game import RemoteGame
from companion.table.session import Advance, Phase, Sealed, Session, Turn, chance, receipt

Fold = Callable[[Session, AnyRecord], Advance]
"""How a record counts in a game at one table."""


def dealt_step(session: Session, actions: Mapping[Seat, Any]) -> Step[Any] | None:
    """What comes of a turn that a dealer has told; None: the rules say it."""
    if session.remote is None or session.remote.dealt is None:
        return None
    return _game(session).told_step(session.state, actions, session.remote.dealt)


def require_cards(session: Session) -> None:
    """Raise `Illegal` while the dealer has not dealt."""
    if session.awaits_dealer and session.phase is Phase.SETUP:
        raise Illegal(Refusal.WRONG_PHASE, say("The hub has not dealt the cards yet"))


def time_out_at_dealer(session: Session, record: TimeOut) -> Session | None:
    """The session while the dealer is to be told that the own time is over; None: nothing is dealt for it."""
    game, countdown, remote = session.playing, session.countdown, session.remote
    if remote is None or not session.awaits_dealer or not isinstance(game, TimedGame) or countdown is None:
        return None
    if record.moment != session.moment or session.phase is not Phase.ORDERS:
        raise Stale(say("That turn is over"))
    action = game.on_timeout(session.state, remote.own)
    if action is None:
        return None
    text = game.format(action)
    sealed = Sealed(text, "", 0.0, receipt(session.moment, remote.own, text, ""))
    return replace(session, sealed={remote.own: sealed}, countdown=Countdown(countdown.limit_s, 0.0))


def stopped(session: Session, now_s: float) -> Session:
    """The same while an order is on its way: no clock runs."""
    return replace(session, countdown=session.countdown.stopped(now_s) if session.countdown else None)


# ---- what the dealer tells ------------------------------------------------------------------------------------------


def hear_cards(session: Session, cards: CardsDealt, now_s: float, fold: Fold) -> Advance:
    """The first state, and the first turn."""
    if session.phase is not Phase.SETUP or not session.awaits_dealer:
        raise unfitting()
    state = _read(session, cards.seen)
    return fold(_marked(replace(session, state=state), state), Begin("table", now_s))


def hear_dealt(session: Session, order: OrderDealt, now_s: float, fold: Fold) -> Advance:
    """An order of either seat, which must be the one that the own seat has given, and fit what is known."""
    game, remote = _game(session), remote_of(session)
    is_due = session.phase is Phase.ORDERS and game.to_act(session.state) == {order.seat}
    if not is_due or order.tick != session.tick:
        raise unfitting()
    before, after = _read(session, order.before), _read(session, order.after)
    opened = receipt(session.moment, order.seat, order.action, order.salt)
    is_whole = opened == order.receipt
    own = session.sealed.get(remote.own)
    is_own = order.seat is remote.own
    if game.seen_by(before, remote.own) != session.state or game.format(game.parse(order.action)) != order.action:
        raise unfitting()
    if is_own and (own is None or not is_whole or (own.action, own.salt) != (order.action, order.salt)):
        raise unfitting()
    if not (is_own or is_whole or (game.told_text(order.action) == order.action and not order.salt)):
        raise unfitting()
    session = with_remote(replace(session, state=before, sealed={}), dealt=after)
    told = _carry_out(session, order, now_s, fold, is_own=is_own)
    turn = told[0].turns[-1]
    sealed = replace(turn.sealed[order.seat], receipt=order.receipt)
    turns = (*told[0].turns[:-1], replace(turn, sealed={order.seat: sealed}))
    return _marked(with_remote(replace(told[0], turns=turns), dealt=None), after), told[1]


def _carry_out(session: Session, order: OrderDealt, now_s: float, fold: Fold, *, is_own: bool) -> Advance:
    """As at one table, by the clock of where the seat is played."""
    countdown = session.countdown
    if order.by_time:
        if countdown is None:
            raise unfitting()
        session = replace(session, countdown=Countdown(countdown.limit_s, 0.0), paused="")
        return fold(session, TimeOut(session.moment, now_s))
    if countdown and not is_own:
        left_s = countdown.left_s - min(countdown.left_s, order.spent_s)
        session = replace(session, countdown=Countdown(countdown.limit_s, left_s), paused="")
    return fold(session, HandIn(order.seat, session.moment, order.action, order.salt, order.at, now_s))


def hear_opened(session: Session, opened: CardsOpened) -> Session:
    """The whole game with every card, if it leads to all that was told; else that is said."""
    remote = remote_of(session)
    if session.phase is not Phase.OVER or not session.is_covered:
        raise unfitting()
    given = {seat: Contribution(value, "order") for seat, value in opened.given.items()}
    fair = FairChance(remote.at.commitment, opened.secret, given)
    own = opened.given.get(remote.own)
    try:
        if set(given) != set(Seat) or own != remote.at.gives or list(fair.faults(fair.seed)):
            return with_remote(session, is_false=True)
        state, turns, mark = _played_again(session, fair.seed, opened)
    except CompanionError:
        return with_remote(session, is_false=True)
    if mark != remote.mark:
        return with_remote(session, is_false=True)
    return replace(session, state=state, turns=turns, chance=fair, seed=fair.seed)


def _played_again(session: Session, seed: int, opened: CardsOpened) -> tuple[Any, tuple[Turn, ...], str]:
    """The last state with every card, the turns with every order, and the mark of what the own seat saw of them.

    Raises a `CompanionError` where an order is another one than was told.
    """
    game, own = _game(session), remote_of(session).own
    orders = {f"{session.number}.{each.tick}": each for each in opened.orders}
    state, turns = game.setup(session.options, chance(seed, 0)), []
    mark = _mark("", game, game.seen_by(state, own))
    for number, turn in enumerate(session.turns, start=1):
        ((seat, sealed),) = turn.sealed.items()
        if order := orders.get(turn.moment):
            if game.told_text(order.action) != sealed.action:
                raise unfitting()
            sealed = replace(sealed, action=order.action, salt=order.salt)
        if receipt(turn.moment, seat, sealed.action, sealed.salt) != sealed.receipt:
            raise unfitting()
        action = game.parse(sealed.action)
        game.require(state, {seat: action})
        step = game.apply(state, {seat: action}, chance(seed, number))
        if step.events != turn.events:
            raise unfitting()
        state = step.state
        turns.append(replace(turn, sealed={seat: sealed}))
        mark = _mark(mark, game, game.seen_by(state, own))
    return state, tuple(turns), mark


# ---- what was told ------------------------------------------------------------------------------------------------


def _marked(session: Session, state: Any) -> Session:
    return with_remote(session, mark=_mark(remote_of(session).mark, _game(session), state))


def _mark(before: str, game: DealtGame[Any, Any], state: Any) -> str:
    """A hash of all states that were told, in their order."""
    told = msgspec.json.encode(game.packed(state), order="deterministic")
    return hashlib.sha256(before.encode() + told).hexdigest()


def _read(session: Session, packed: Mapping[str, Any]) -> Any:
    """A state that was told, of which nothing is known that the own seat may not know."""
    return _game(session).unpacked(session.options, packed)


def _game(session: Session) -> DealtGame[Any, Any]:
    game = dealt_game(session.game, session.options)
    if game is None:
        raise unfitting()
    return game


def remote_of(session: Session) -> RemoteGame:
    """What is known of the other table."""
    if session.remote is None:
        raise RuntimeError("a game at one table")
    return session.remote


def with_remote(session: Session, **changes: object) -> Session:
    """The same with something else known of it."""
    return replace(session, remote=replace(remote_of(session), **changes))  # type: ignore[arg-type] # as of RemoteGame


def unfitting() -> Malformed:
    """The refusal of what does not fit."""
    return Malformed(say("What the other table sends does not fit this game: it cannot go on"))
