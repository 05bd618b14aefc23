"""Turn the keys of a pad into orders. The functions are pure: `pads.py` does what they return.

Keys of orders add to the draft, Back takes away, and Ready hands in. Some details:

- A key that is held arrives twice, first as a press, then as a hold with the time of that press.
  When the hold arrives, the press has already had its effect.
- In some games Ready is also a key of orders (`PadGrammar.ready_is_key`). Then holding it hands in.
- In some games holding Ready is an action of its own (`PadGrammar.held_ready`). It replaces the
  action that the press has handed in.

Lamps and sounds depend on the number of orders entered, never on which ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from companion.core.errors import Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Cue, PadKey, Press
from companion.games.pads import Draft, PadGrammar
from companion.table.lesson_progress import lesson_action_of
from companion.table.records import HandIn, TakeBack
from companion.table.session import Session
from companion.table.undo import moment_to_take_back, seat_to_take_back


@dataclass(frozen=True)
class PadEffect:
    """The effect of a key: another draft with its cue, or records for the table to accept."""

    draft: Draft = ()
    """The keys of orders entered so far, after this one. Ignored if there are records."""
    cue: Cue | None = None
    """What the seat sees and hears. None for nothing."""
    records: tuple[HandIn | TakeBack, ...] = ()
    """Records for the table to accept one after the other."""


def effect_of_press(session: Session, seat: Seat, draft: Draft, press: Press) -> PadEffect:
    """Return the effect of a key while orders are collected.

    Only a key that completes or removes an order makes a sound. If every key did, the other player
    could count the keys of an order, and so find out which order it is.

    Raises `Malformed` or `Illegal` for a refused key.
    """
    if press.key is PadKey.BACK:
        return _effect_of_back(session, seat, draft, press)
    if press.key is PadKey.READY:
        return _effect_of_ready(session, seat, draft, press)
    return _effect_of_order_key(session, seat, draft, press)


def _effect_of_back(session: Session, seat: Seat, draft: Draft, press: Press) -> PadEffect:
    """Take the seat's action back, or remove the last key of the draft.

    Holding Back removes all keys of the draft.
    """
    moment = moment_to_take_back(session, seat)
    if moment and (seat in session.sealed or not draft):
        # Only a press takes an action back. If the key is held, its press may just have removed the
        # last key of the draft.
        take_back = TakeBack(seat, moment, press.at_s)
        return PadEffect(draft, records=() if press.is_held else (take_back,))
    grammar, _ = _grammar_and_moment(session, seat, press)
    if press.is_held:
        return PadEffect((), Cue.KEYS_CLEARED)
    shorter = draft[:-1]
    has_shrunk = grammar.count(shorter) < grammar.count(draft)
    return PadEffect(shorter, Cue.KEY_BACK if has_shrunk or not draft else None)


def _effect_of_ready(session: Session, seat: Seat, draft: Draft, press: Press) -> PadEffect:
    """Hand the draft in, or add Ready to it if that is the next key of an order."""
    pad = session.require_game().pad(session.state, seat)
    is_order_key = pad is not None and pad.ready_is_key and seat in session.awaited_seats
    if press.is_held and not is_order_key:
        return _effect_of_held_ready(session, seat, draft, press)
    grammar, moment = _grammar_and_moment(session, seat, press)
    if is_order_key and not press.is_held and grammar.accepts(draft, press.key):
        return _effect_of_order_key(session, seat, draft, press)
    text = grammar.text(draft)
    if text is None:
        raise Malformed(say("Something is missing"))
    return PadEffect(records=(HandIn(seat, moment, text, now_s=press.at_s),))


def _effect_of_order_key(session: Session, seat: Seat, draft: Draft, press: Press) -> PadEffect:
    """Add a key to the draft, and hand it in if that is complete and the grammar says so.

    Raises `Malformed` for a key that fits no order, and `Illegal` for one that a lesson does not
    ask for.
    """
    grammar, moment = _grammar_and_moment(session, seat, press)
    if press.is_held:
        return PadEffect(draft)
    if not grammar.accepts(draft, press.key):
        raise Malformed(say("This key has no use now"))
    longer = (*draft, str(press.key))
    lesson_action = lesson_action_of(session, seat)
    if lesson_action is not None and longer != grammar.spell(lesson_action)[: len(longer)]:
        raise Illegal(Refusal.LESSON, say("The lesson asks for another key"))
    text = grammar.text(longer)
    if text is not None and grammar.is_at_once(longer):
        return PadEffect(records=(HandIn(seat, moment, text, now_s=press.at_s),))
    has_grown = grammar.count(longer) > grammar.count(draft)
    return PadEffect(longer, Cue.KEY_TAKEN if has_grown else None)


def _grammar_and_moment(session: Session, seat: Seat, press: Press) -> tuple[PadGrammar, str]:
    """Return the pad's grammar, and the moment of the decision to which a press belongs.

    A press that was made before a time-out and arrives after it belongs to the turn that is over.
    Raises `Illegal` if no order is due from this pad.
    """
    grammar = session.require_game().pad(session.state, seat)
    last = session.last_turn
    was_in_time = last.is_timed_out and seat in last.sealed and press.at_s <= (last.due_s or 0.0)
    if grammar is None or not (was_in_time or seat in session.awaited_seats):
        raise Illegal(Refusal.NOT_TO_ACT, say("No order is needed from this pad now"))
    return grammar, last.moment if was_in_time else session.moment


def _effect_of_held_ready(session: Session, seat: Seat, draft: Draft, press: Press) -> PadEffect:
    """Take back what pressing Ready has done, and hand in the action that holding Ready means.

    That action is for the same turn, and counts from the time of the press.
    """
    earlier = session.before_turn
    # The press that began this hold has the same time.
    has_press_ended_turn = session.last_turn.completed_at_s == press.at_s
    if earlier is None or not has_press_ended_turn or seat is not seat_to_take_back(session):
        return PadEffect(draft)
    grammar = session.require_game().pad(earlier.state, seat)
    if grammar is None or not grammar.held_ready:
        return PadEffect(draft)
    take_back = TakeBack(seat, earlier.moment, press.at_s)
    hand_in = HandIn(seat, earlier.moment, grammar.held_ready, now_s=press.at_s)
    return PadEffect(records=(take_back, hand_in))
