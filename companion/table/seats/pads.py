"""Handle the pads' keys and the table's button, which do the same as taps on a page.

A key that is held is reported twice: first as a press, and again with `is_held` once it counts as
held. The Back key is reported a third time after two seconds, with `is_long`. All these reports
have the time of the first one. Callers of `handle_press` hold the table's lock (see `TableStore`).
"""

from __future__ import annotations

import secrets
from dataclasses import replace

import msgspec

from companion.core.errors import CompanionError, Illegal, Refusal, Stale, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Cue, PadKey, Press, Signal, signal_to
from companion.games.pads import Draft
from companion.table import lobby, turns
from companion.table.lesson_progress import lesson_step_index
from companion.table.records import HandIn, Pause, Resume, SkipLesson, TakeBack, TakeSeat, Undo
from companion.table.seats.pad_draft import effect_of_press
from companion.table.seats.seating import open_to_phone
from companion.table.session import BOTH, Phase
from companion.table.state import NO_DRAFT, CountedDraft
from companion.table.store import TableStore


def handle_press(store: TableStore, press: Press) -> None:
    """Handle a key that is pressed or held.

    A refusal raises nothing, but is signalled by a cue. If holding a key is refused, there is no
    cue, because pressing it has already had an effect or a cue.
    """
    try:
        if press.is_long:
            _open_seat(store, press)
        elif press.seat is None:
            _handle_table_button(store, press)
        elif press.seat not in store.session.seats:
            store.accept(TakeSeat(press.seat, "", secrets.token_urlsafe(18), "pad"))
        elif not store.session.is_played_here(press.seat):
            # The seat may also be played at another table.
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("The machine plays this seat"))
        else:
            _handle_key(store, press)
    except CompanionError:
        if not press.is_held:
            seats = frozenset({press.seat}) if press.seat else BOTH
            store.listeners.send_signals(Signal(Cue.KEY_REFUSED, seats))


def _open_seat(store: TableStore, press: Press) -> None:
    """Open a pad's seat to a phone, after its Back key was held for two seconds."""
    if press.seat is not None and press.key is PadKey.BACK:
        open_to_phone(store, press.seat)
        store.listeners.send_signals(signal_to(press.seat, Cue.SEAT_TAKEN))


def _handle_table_button(store: TableStore, press: Press) -> None:
    """Handle the table's one button: ready, or the shared key of a chess clock."""
    session = store.session
    if session.paused_by:
        _handle_key(store, replace(press, key=PadKey.READY))
    elif session.is_open:
        _handle_shared_key(store, press)
    # The press arrives when the button is released, which may be after the stage has changed.
    elif press.at_s < store.live.stage_since_s:
        raise Stale(say("That step is already done"))
    elif session.phase is not Phase.ORDERS:
        _handle_key(store, replace(press, key=PadKey.READY))
    elif not press.is_held:
        raise wrong_phase(say("Orders are due"))


def _handle_shared_key(store: TableStore, press: Press) -> None:
    """Act for the seat on turn, or if the key is held, take its press back or pause the clock."""
    session = store.session
    # The press ended the turn before the key counted as held. Holding it undoes that.
    if press.is_held and session.last_turn.completed_at_s == press.at_s:
        store.accept(Undo())
    elif press.is_held:
        store.accept(Pause("table", press.at_s))
    elif all(map(session.is_played_here, session.awaited_seats)):
        (seat,) = session.awaited_seats
        _handle_order_key(store, seat, replace(press, key=PadKey.READY))


def _handle_key(store: TableStore, press: Press) -> None:
    """Do what a key means now: in a lesson, with a paused clock, or in the current phase."""
    session = store.session
    by = press.seat or "table"
    is_tapped_ready = press.key is PadKey.READY and not press.is_held
    is_held_back = press.key is PadKey.BACK and press.is_held
    if is_held_back and lesson_step_index(session) is not None:
        store.accept(SkipLesson(by, store.now_s()))
    elif session.paused_by and is_tapped_ready:
        store.accept(Resume(by, store.now_s()))
    elif session.phase is Phase.ORDERS and press.seat is not None:
        _handle_order_key(store, press.seat, press)
    elif session.phase in (Phase.SETUP, Phase.STAGES):
        if press.key is PadKey.READY:
            _confirm_or_read_on(store, by, press)
    elif session.phase is Phase.OVER and is_tapped_ready:
        lobby.rematch(store, swap=True)
    elif (
        session.phase is Phase.LOBBY and not press.is_held and press.key in (PadKey.READY, PadKey.A)
    ):
        # Ready begins the game, A its lesson.
        lobby.begin_by_key(store, is_guided=press.key is PadKey.A)


def _confirm_or_read_on(store: TableStore, by: str, press: Press) -> None:
    """Confirm that hands are done, or show the next headline.

    If the camera disagrees, this is refused. Holding the key then overrules the camera.
    """
    session = store.session
    headline = store.live.headline
    if headline:
        if not press.is_held:
            turns.read_headline(store, by, session.moment, session.stage_index, headline.index)
    # Holding the key overrules the camera only if the press that began it was refused. If that
    # press has ended another stage or started the clock, holding the key on has no effect.
    elif not press.is_held or store.refused_stage_key == session.stage_key:
        store.refused_stage_key = session.stage_key
        turns.confirm(store, by, session.moment, session.stage_index, force=press.is_held)


def _handle_order_key(store: TableStore, seat: Seat, press: Press) -> None:
    """Enter, change, hand in or take back an action with the keys of a pad.

    The draft is in the table's state until it is handed in.
    """
    session = store.session
    live = store.live
    # An action that lies on the board is handed in as it is.
    laid_action = live.laid_actions.get(seat)
    is_tapped_ready = press.key is PadKey.READY and not press.is_held
    if is_tapped_ready and laid_action and seat in session.awaited_seats:
        turns.hand_in(store, HandIn(seat, session.moment, laid_action, now_s=press.at_s))
        return
    draft = live.drafts.get(seat, NO_DRAFT).keys
    if session.may_use_tiles and _handle_tile_key(store, seat, press, has_draft=bool(draft)):
        return
    effect = effect_of_press(session, seat, draft, press)
    for record in effect.records:
        if isinstance(record, TakeBack):
            _take_back_to_pad(store, record)
            continue
        # If the action before was taken back, the moment is another one now.
        moment = record.moment if len(effect.records) == 1 else store.session.moment
        turns.hand_in(store, msgspec.structs.replace(record, moment=moment))
    if not effect.records:
        count = _set_draft(store, seat, effect.draft)
        if effect.cue:
            store.publish(store.live, (signal_to(seat, effect.cue, count),))


def _take_back_to_pad(store: TableStore, record: TakeBack) -> None:
    """Take a seat's action back, and put the keys of a sealed one into the pad's draft again."""
    session = store.session
    seat = record.seat
    sealed = session.own_sealed_action(seat)
    grammar = session.require_game().pad(session.state, seat)
    store.accept(record)
    if sealed and grammar:
        _set_draft(store, seat, grammar.spell(sealed.action))
        store.publish(store.live)


def _set_draft(store: TableStore, seat: Seat, keys: Draft) -> int:
    """Set a seat's draft without publishing it, and return the number of its orders."""
    live = store.live
    session = store.session
    grammar = session.require_game().pad(session.state, seat)
    draft = CountedDraft(keys, grammar.count(keys) if grammar else 0)
    store.live = replace(live, drafts={**live.drafts, seat: draft})
    return draft.count


def _handle_tile_key(store: TableStore, seat: Seat, press: Press, *, has_draft: bool) -> bool:
    """Note that a seat's tiles are ready (Ready without a draft), or no longer (any other key).

    Return whether that is all that the key does.
    """
    session = store.session
    if press.is_held or seat not in session.awaited_seats:
        return False
    if press.key is PadKey.READY and not has_draft:
        turns.set_tiles_ready(store, seat, session.moment)
        return True
    were_ready = seat in store.live.tiles.ready_seats
    if were_ready:
        turns.set_tiles_ready(store, seat, session.moment, is_ready=False)
    return were_ready and press.key is PadKey.BACK
