"""Turns the keys of a pad into orders. The functions are pure: `pads.py` does what they return.

A key's lamp or sound depends on the number of orders entered, never on which ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Cue, PadKey, Press
from companion.games.pads import PadGrammar
from companion.table.lesson_progress import wanted_action
from companion.table.records import HandIn, TakeBack
from companion.table.session import Session
from companion.table.state import DraftKeys
from companion.table.undo import moment_to_take_back, seat_to_take_back


@dataclass(frozen=True)
class PadEffect:
    """The effect of a key: another draft with its cue, or input for the table."""

    draft: DraftKeys = ()
    """The order keys pressed so far, after this one."""
    cue: Cue | None = None
    """What the seat hears. None if nothing."""
    records: tuple[HandIn | TakeBack, ...] = ()
    """Input for the table, in order. With input the draft is over."""


def press_order(session: Session, seat: Seat, draft: DraftKeys, press: Press) -> PadEffect:
    """Return the effect of a key while orders are collected.

    Keys add orders, back removes one (held: all), ready hands in. Once sealed, back takes the
    action back. Only a key that completes or removes an order makes a sound, because the number of
    keys of an order would reveal it.

    Raises `Malformed` or `Illegal` for a refused key.
    """
    is_ready, is_back = press.key is PadKey.READY, press.key is PadKey.BACK
    moment_back = moment_to_take_back(session, seat) if is_back else None
    if moment_back and (seat in session.sealed or not draft):
        take_back = TakeBack(seat, moment_back, press.at_s)
        return PadEffect(draft, records=() if press.is_held else (take_back,))
    grammar, is_due = session.require_game().pad(session.state, seat), seat in session.awaited
    # In some games ready is also one of the keys of which orders consist.
    is_order_key = is_ready and grammar is not None and grammar.ready_is_key and is_due
    if is_ready and press.is_held and not is_order_key:
        return _hold_ready(session, seat, draft, press)
    last = session.last_turn
    # A press from before the time-out belongs to the turn that is over.
    was_in_time = last.is_timed_out and seat in last.sealed and press.at_s <= (last.due_s or 0.0)
    if grammar is None or not (is_due or was_in_time):
        raise Illegal(Refusal.NOT_TO_ACT, say("No order is needed from this pad now"))
    if is_back:
        return _shorten(grammar, draft, press)
    if press.is_held and not is_order_key:
        return PadEffect(draft)
    # Ready hands in, unless it is the next key of an order.
    if is_ready and (press.is_held or not is_order_key or not grammar.accepts(draft, press.key)):
        text = grammar.text(draft)
        if text is None:
            raise Malformed(say("Something is missing"))
        longer, is_complete = draft, True
    else:
        lesson_action = wanted_action(session, seat) if session.is_guided else None
        longer = _lengthen(grammar, draft, press, lesson_action)
        text = grammar.text(longer)
        is_complete = grammar.is_at_once(longer)
    if text is not None and is_complete:
        moment = last.moment if was_in_time else session.moment
        return PadEffect(records=(HandIn(seat, moment, text, now_s=press.at_s),))
    has_grown = grammar.count(longer) > grammar.count(draft)
    return PadEffect(longer, Cue.KEY_TAKEN if has_grown else None)


def _shorten(grammar: PadGrammar, draft: DraftKeys, press: Press) -> PadEffect:
    """Remove the last key, or all of them if back is held."""
    if press.is_held:
        return PadEffect((), Cue.KEYS_CLEARED)
    shorter = draft[:-1]
    has_shrunk = grammar.count(shorter) < grammar.count(draft)
    return PadEffect(shorter, Cue.KEY_BACK if has_shrunk or not draft else None)


def _lengthen(
    grammar: PadGrammar, draft: DraftKeys, press: Press, lesson_action: str | None
) -> DraftKeys:
    """Add a key to the draft. In a lesson it must lead to the lesson's action.

    Raises `Malformed` for a key that fits no order, and `Illegal` for another one in a lesson.
    """
    if not grammar.accepts(draft, press.key):
        raise Malformed(say("This key has no use now"))
    longer = (*draft, str(press.key))
    if lesson_action is not None and longer != grammar.spell(lesson_action)[: len(longer)]:
        raise Illegal(Refusal.LESSON, say("The lesson asks for another key"))
    return longer


def _hold_ready(session: Session, seat: Seat, draft: DraftKeys, press: Press) -> PadEffect:
    """Take back what pressing ready did, and hand in what holding it means, for the same turn and
    time.
    """
    earlier = session.before_turn
    # The press that began this hold has the same time. It must have ended the last turn.
    is_same_press = session.last_turn.completed_s == press.at_s
    if earlier is None or not is_same_press or seat is not seat_to_take_back(session):
        return PadEffect(draft)
    grammar = session.require_game().pad(earlier.state, seat)
    if grammar is None or not grammar.held_ready:
        return PadEffect(draft)
    take_back = TakeBack(seat, earlier.moment, press.at_s)
    order = HandIn(seat, earlier.moment, grammar.held_ready, now_s=press.at_s)
    return PadEffect(records=(take_back, order))
