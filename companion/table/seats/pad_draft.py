"""Turns the keys of a pad into an order. The functions are pure, so that lamps and refusals depend
on nothing secret.
"""

from __future__ import annotations

from dataclasses import dataclass

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Cue, PadKey, Press
from companion.games.pads import PadGrammar
from companion.table.records import HandIn, TakeBack
from companion.table.session import Session
from companion.table.ways_back import may_revert


@dataclass(frozen=True)
class PadStep:
    """The effect of a key: a longer or shorter draft with its cue, or input for the table.

    `draft` has the order keys pressed so far, `count` is the number of orders they make.
    """

    draft: tuple[str, ...]
    count: int = 0
    cue: Cue | None = None
    records: tuple[HandIn | TakeBack, ...] = ()


def press_order(session: Session, seat: Seat, draft: tuple[str, ...], press: Press) -> PadStep:
    """Return the effect of a key while orders are collected.

    Keys add orders, back removes one (held: all), ready hands in. Once sealed, back takes the
    action back. Only a key that completes or removes an order makes a sound, because the number of
    keys of an order would reveal it.

    Raises `Malformed` or `Illegal` for a refused key.
    """
    is_ready, is_back = press.key is PadKey.READY, press.key is PadKey.BACK
    if is_back and (taken_back := _take_back(session, seat, draft, press)):
        return taken_back
    grammar = session.playing.pad(session.state, seat)
    is_order_key = (
        is_ready and grammar is not None and grammar.ready_is_key and seat in session.awaited
    )
    if is_ready and press.held and not is_order_key:
        return _held_ready(session, seat, draft, press)
    # A press from before the time-out belongs to the turn that is over.
    moment = _moment_of(session, seat, press) if session.last_turn.by_time else session.moment
    if grammar is None or (seat not in session.awaited and moment == session.moment):
        raise Illegal(Refusal.NOT_TO_ACT, say("No order is needed from this pad now"))
    if is_back:
        return _shorten(grammar, draft, press)
    if press.held and not is_order_key:
        return PadStep(draft, grammar.count(draft))
    if is_ready and (press.held or not is_order_key or not grammar.accepts(draft, press.key)):
        text = grammar.text(draft)
        if text is None:
            raise Malformed(say("Something is missing"))
        return PadStep((), records=(HandIn(seat, moment, text),))
    return _lengthen(session, seat, moment, (grammar, draft), press)


def _take_back(
    session: Session, seat: Seat, draft: tuple[str, ...], press: Press
) -> PadStep | None:
    """Return the step that takes an action back. None if back has another effect."""
    if seat in session.sealed:
        moment = session.moment
    elif not draft and seat is may_revert(session) and session.before:
        moment = session.before.moment
    else:
        return None
    return PadStep(draft, records=() if press.held else (TakeBack(seat, moment, press.at_s),))


def _shorten(grammar: PadGrammar, draft: tuple[str, ...], press: Press) -> PadStep:
    """Remove the last key, or all of them if back is held."""
    if press.held:
        return PadStep((), grammar.count(()), Cue.KEYS_CLEARED)
    shorter = draft[:-1]
    is_heard = grammar.count(shorter) < grammar.count(draft) or not draft
    return PadStep(shorter, grammar.count(shorter), Cue.KEY_BACK if is_heard else None)


def _lengthen(
    session: Session,
    seat: Seat,
    moment: str,
    entered: tuple[PadGrammar, tuple[str, ...]],
    press: Press,
) -> PadStep:
    """Add a key to the draft, or hand in the action that it completes."""
    grammar, draft = entered
    if not grammar.accepts(draft, press.key):
        raise Malformed(say("This key has no use now"))
    longer = (*draft, str(press.key))
    asked = session.asked_of(seat)
    # In a lesson every key must lead to the order that is asked for.
    if asked is not None and longer != grammar.spell(asked)[: len(longer)]:
        raise Illegal(Refusal.LESSON, say("The lesson asks for another key"))
    text = grammar.text(longer)
    if text is not None and grammar.is_at_once(longer):
        return PadStep((), records=(HandIn(seat, moment, text),))
    has_grown = grammar.count(longer) > grammar.count(draft)
    return PadStep(longer, grammar.count(longer), Cue.KEY_TAKEN if has_grown else None)


def _moment_of(session: Session, seat: Seat, press: Press) -> str:
    """Return the moment of a press by its own time: that of the last turn, if its time ran out
    after the press.
    """
    turn = session.last_turn
    if seat in turn.sealed and turn.due_s is not None and press.at_s <= turn.due_s:
        return turn.moment
    return session.moment


def _held_ready(session: Session, seat: Seat, draft: tuple[str, ...], press: Press) -> PadStep:
    """Take back what pressing ready did, and hand in what holding it means, for the same turn and
    time.
    """
    grammar = session.playing.pad(session.state, seat)
    unchanged = PadStep(draft, grammar.count(draft) if grammar else 0)
    earlier = session.before
    if earlier is None or seat is not may_revert(session):
        return unchanged
    earlier_grammar = session.playing.pad(earlier.state, seat)
    action = earlier_grammar.held_ready if earlier_grammar else ""
    # Only the press that ended the last turn counts, which has the same time.
    if not action or session.last_turn.acted_s != press.at_s:
        return unchanged
    back = TakeBack(seat, earlier.moment, press.at_s)
    return PadStep((), records=(back, HandIn(seat, earlier.moment, action)))
