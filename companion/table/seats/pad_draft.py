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
from companion.table.state import DraftKeys
from companion.table.undo import moment_to_take_back, revertible_seat


@dataclass(frozen=True)
class PadStep:
    """The effect of a key: another draft with its cue, or input for the table.

    `draft` has the order keys pressed so far.
    """

    draft: DraftKeys = ()
    cue: Cue | None = None
    records: tuple[HandIn | TakeBack, ...] = ()


def press_order(session: Session, seat: Seat, draft: DraftKeys, press: Press) -> PadStep:
    """Return the effect of a key while orders are collected.

    Keys add orders, back removes one (held: all), ready hands in. Once sealed, back takes the
    action back. Only a key that completes or removes an order makes a sound, because the number of
    keys of an order would reveal it.

    Raises `Malformed` or `Illegal` for a refused key.
    """
    is_ready, is_back = press.key is PadKey.READY, press.key is PadKey.BACK
    sealed_at = moment_to_take_back(session, seat) if is_back else None
    if sealed_at and (seat in session.sealed or not draft):
        back = TakeBack(seat, sealed_at, press.at_s)
        return PadStep(draft, records=() if press.is_held else (back,))
    grammar, is_due = session.playing.pad(session.state, seat), seat in session.awaited
    is_order_key = is_ready and grammar is not None and grammar.ready_is_key and is_due
    if is_ready and press.is_held and not is_order_key:
        return _held_ready(session, seat, draft, press)
    last = session.last_turn
    # A press from before the time-out belongs to the turn that is over.
    is_late = last.is_timed_out and seat in last.sealed and press.at_s <= (last.due_s or 0.0)
    if grammar is None or not (is_due or is_late):
        raise Illegal(Refusal.NOT_TO_ACT, say("No order is needed from this pad now"))
    if is_back:
        return _shorten(grammar, draft, press)
    if press.is_held and not is_order_key:
        return PadStep(draft)
    if is_ready and (press.is_held or not is_order_key or not grammar.accepts(draft, press.key)):
        text = grammar.text(draft)
        if text is None:
            raise Malformed(say("Something is missing"))
        longer, is_complete = draft, True
    else:
        longer = _lengthen(grammar, draft, press, session.lesson_action(seat))
        text = grammar.text(longer)
        is_complete = grammar.is_at_once(longer)
    if text is not None and is_complete:
        moment = last.moment if is_late else session.moment
        return PadStep(records=(HandIn(seat, moment, text, now_s=press.at_s),))
    has_grown = grammar.count(longer) > grammar.count(draft)
    return PadStep(longer, Cue.KEY_TAKEN if has_grown else None)


def _shorten(grammar: PadGrammar, draft: DraftKeys, press: Press) -> PadStep:
    """Remove the last key, or all of them if back is held."""
    if press.is_held:
        return PadStep((), Cue.KEYS_CLEARED)
    is_heard = grammar.count(draft[:-1]) < grammar.count(draft) or not draft
    return PadStep(draft[:-1], Cue.KEY_BACK if is_heard else None)


def _lengthen(grammar: PadGrammar, draft: DraftKeys, press: Press, asked: str | None) -> DraftKeys:
    """Add a key to the draft. In a lesson it must lead to the order that is `asked`."""
    if not grammar.accepts(draft, press.key):
        raise Malformed(say("This key has no use now"))
    longer = (*draft, str(press.key))
    if asked is not None and longer != grammar.spell(asked)[: len(longer)]:
        raise Illegal(Refusal.LESSON, say("The lesson asks for another key"))
    return longer


def _held_ready(session: Session, seat: Seat, draft: DraftKeys, press: Press) -> PadStep:
    """Take back what pressing ready did, and hand in what holding it means, for the same turn and
    time.
    """
    earlier = session.before_turn
    # Only the press that ended the last turn counts, which has the same time.
    is_same = session.last_turn.completed_s == press.at_s and seat is revertible_seat(session)
    grammar = session.playing.pad(earlier.state, seat) if earlier and is_same else None
    if earlier is None or grammar is None or not grammar.held_ready:
        return PadStep(draft)
    back = TakeBack(seat, earlier.moment, press.at_s)
    order = HandIn(seat, earlier.moment, grammar.held_ready, now_s=press.at_s)
    return PadStep(records=(back, order))
