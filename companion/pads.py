"""How the keys of a pad become an action: pure, so that lamps and refusals can depend on nothing secret."""

from __future__ import annotations

from dataclasses import dataclass

from companion.errors import Illegal, Malformed, Refusal
from companion.kit import Seat
from companion.ports import Cue, PadKey, Press
from companion.records import HandIn, TakeBack
from companion.session import Session


@dataclass(frozen=True)
class PadStep:
    """What a key does: a longer or shorter draft with its cue, or an input for the table.

    `draft` are the order keys pressed so far, `count` how many orders they make.
    """

    draft: tuple[str, ...]
    count: int = 0
    cue: Cue | None = None
    record: HandIn | TakeBack | None = None


def press_order(session: Session, seat: Seat, draft: tuple[str, ...], press: Press) -> PadStep:
    """What a key means while orders are collected; raises `Malformed` or `Illegal` for a key that is refused.

    Keys add orders, back takes one away (held: all), ready hands in; once sealed, back takes the action back.
    """
    grammar = session.playing.pad(session.state, seat)
    if press.key is PadKey.BACK and seat in session.sealed:
        return PadStep(draft, record=None if press.held else TakeBack(seat, session.moment))
    if grammar is None or seat not in session.awaited:
        raise Illegal(Refusal.NOT_TO_ACT, "No order is wanted of this pad now")
    if press.key is PadKey.BACK:
        shorter = () if press.held else draft[:-1]
        cue = Cue.KEYS_CLEARED if press.held else Cue.KEY_BACK
        return PadStep(shorter, grammar.count(shorter), cue)
    if press.held:
        return PadStep(draft, grammar.count(draft))
    if press.key is PadKey.READY:
        text = grammar.text(draft)
        if text is None:
            raise Malformed("Something is missing")
        return PadStep((), record=HandIn(seat, session.moment, text))
    if not grammar.accepts(draft, press.key):
        raise Malformed("This key is not taken now")
    longer = (*draft, str(press.key))
    return PadStep(longer, grammar.count(longer), Cue.KEY_TAKEN)
