"""The effects of the pads' keys and the table's button. They do the same as taps on a page."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

import msgspec

from companion.core.errors import CompanionError, Illegal, Refusal, Stale, wrong_phase
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.ports import Cue, PadKey, Press, Signal, signal_to
from companion.table import lobby, turns
from companion.table.records import (
    HandIn,
    OfferDraw,
    Pause,
    Resume,
    SkipLesson,
    TakeBack,
    TakeSeat,
    Undo,
)
from companion.table.seats.pad_draft import press_order
from companion.table.seats.seating import open_to_phone
from companion.table.session import BOTH, Phase
from companion.table.state import NO_DRAFT, Draft, DraftKeys, Question
from companion.table.store import TableStore

DRAW_KEYS = frozenset({PadKey.LEFT, PadKey.RIGHT})
"""Keys that offer a draw when held together. Nobody does that by accident, and no game uses it."""
TOGETHER_S = 1.0
"""Maximum time in seconds between two presses that count as one. It rules out a stuck key."""


@dataclass
class _Down:
    """A key that is down: time and turn of its press, and the draft before it."""

    at_s: float
    moment: str
    draft: DraftKeys
    is_held: bool = False


_Keys = Mapping[tuple[PadKey, bool], Callable[[Press], None]]
"""Effects of keys, by the key and whether it is held."""


class Pads:
    """Handles presses. A refusal is only signalled by a cue. Callers of its methods hold the
    table.
    """

    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._refused_ready: tuple[str, str, int] | None = None
        """The last press of ready that the camera has refused: who pressed, and the step."""
        self._down: dict[Seat | None, dict[PadKey, _Down]] = {}
        orders: _Keys = {(key, is_held): self._order for key in PadKey for is_held in (False, True)}
        hands: _Keys = {(PadKey.READY, False): self._confirm, (PadKey.READY, True): self._overrule}
        self._keys: Mapping[Phase, _Keys] = {
            Phase.LOBBY: {
                (PadKey.READY, False): lambda _: lobby.begin_by_key(store),
                (PadKey.A, False): lambda _: lobby.begin_by_key(store, is_guided=True),
            },
            Phase.SETUP: hands,
            Phase.ORDERS: {
                **orders,
                (PadKey.A, True): self._question,
                (PadKey.B, True): self._question,
            },
            Phase.STAGES: hands,
            Phase.OVER: {(PadKey.READY, False): lambda _: lobby.rematch(store, swap=True)},
        }

    def press(self, press: Press) -> None:
        """Handle a key that is pressed or held."""
        try:
            if press.is_long:
                self._open_seat(press)
            elif press.seat is None:
                self._press_table(press)
            else:
                self._press_pad(press.seat, press)
        except CompanionError:
            # Two keys held together offer a draw, so neither of them is a mistake.
            if not press.held and not self._draw_keys_of(press.seat):
                self._refuse(press.seat)

    def release(self, press: Press) -> None:
        """Handle the release of a key."""
        self._down.get(press.seat, {}).pop(press.key, None)

    def _draw_keys_of(self, seat: Seat | None) -> list[_Down]:
        """Return the two draw keys in the order of their presses, if both were pressed together and
        are down.
        """
        down = self._down.get(seat, {})
        both = sorted((down[key] for key in DRAW_KEYS & down.keys()), key=attrgetter("at_s"))
        return both if len(both) == 2 and both[1].at_s - both[0].at_s <= TOGETHER_S else []

    def _refuse(self, seat: Seat | None) -> None:
        self._store.listeners.send(Signal(Cue.KEY_REFUSED, frozenset({seat}) if seat else BOTH))

    # ---- who presses -----------------------------------------------------------------------------

    def _press_pad(self, seat: Seat, press: Press) -> None:
        session = self._store.session
        if seat not in session.seats:
            self._store.accept(TakeSeat(seat, "", secrets.token_urlsafe(18), "pad"))
            return
        if not session.is_here(seat):
            # The seat may also be played at another table.
            raise Illegal(Refusal.NOT_YOUR_SEAT, say("The machine plays this seat"))
        down = self._down.setdefault(seat, {})
        if not press.held:
            if press.key not in DRAW_KEYS:
                down.clear()
            draft = self._store.live.drafts.get(seat, NO_DRAFT)
            down[press.key] = _Down(press.at_s, session.moment, draft.keys)
        elif press.key in DRAW_KEYS & down.keys():
            down[press.key].is_held = True
            both = self._draw_keys_of(seat)
            if both and all(key.is_held for key in both):
                down.clear()
                self._offer_draw(seat, both[0])
                return
        self._press_key(press)

    def _press_table(self, press: Press) -> None:
        """Handle the table's one button: ready, or the shared key of a chess clock."""
        session = self._store.session
        if session.paused and not press.held:
            self._resume(press)
        elif session.is_open:
            self._press_shared_key(press)
        # The press arrives when the button is released, which may be after the step has changed.
        elif press.at_s < self._store.live.stage_since_s:
            raise Stale(say("That step is already done"))
        elif session.phase is not Phase.ORDERS:
            self._press_key(replace(press, key=PadKey.READY))
        elif not press.held:
            raise wrong_phase(say("Orders are due"))

    def _press_shared_key(self, press: Press) -> None:
        """Act for the seat on turn. Holding the key takes the press back, or pauses the clock."""
        session = self._store.session
        # The same press has ended the turn, but the key is held, so it was not meant.
        if press.held and session.last_turn.acted_s == press.at_s:
            self._store.accept(Undo())
        elif press.held:
            self._store.accept(Pause("table", press.at_s))
        elif all(map(session.is_here, session.awaited)):
            (seat,) = session.awaited
            self._order(replace(press, seat=seat, key=PadKey.READY))

    def _press_key(self, press: Press) -> None:
        """Do what a key means in the current phase, with a paused clock or in a lesson."""
        session = self._store.session
        keys = dict(self._keys[session.phase])
        if session.paused:
            keys[PadKey.READY, False] = self._resume
        if session.lesson_number is not None:
            keys[PadKey.BACK, True] = self._skip_lesson
        if meaning := keys.get((press.key, press.held)):
            meaning(press)

    # ---- what keys mean --------------------------------------------------------------------------

    def _open_seat(self, press: Press) -> None:
        """Open a pad's seat to a phone, after its Back key was held for two seconds."""
        if press.seat is not None and press.key is PadKey.BACK:
            open_to_phone(self._store, press.seat)
            self._store.listeners.send(signal_to(press.seat, Cue.SEAT_TAKEN))

    def _skip_lesson(self, press: Press) -> None:
        self._store.accept(SkipLesson(press.seat or "table", self._store.now_s()))

    def _resume(self, press: Press) -> None:
        self._store.accept(Resume(press.seat or "table", self._store.now_s()))

    def _confirm(self, press: Press) -> None:
        """Confirm that hands are done.

        If the camera disagrees, this is refused. Holding the key then overrules the camera.
        """
        ready = self._ready(press)
        if headline := self._store.live.headline:
            turns.read(self._store, *ready, headline.number)
            return
        # It stays only if `confirm` refuses. Then holding the key overrules it.
        self._refused_ready = ready
        turns.confirm(self._store, *ready)
        self._refused_ready = None

    def _overrule(self, press: Press) -> None:
        """Overrule the camera, after a refused press of the same key."""
        ready = self._ready(press)
        if self._refused_ready == ready:
            self._refused_ready = None
            turns.confirm(self._store, *ready, force=True)

    def _ready(self, press: Press) -> tuple[str, str, int]:
        """Return who presses ready, and for which step."""
        session = self._store.session
        return press.seat or "table", session.moment, session.stage

    def _offer_draw(self, seat: Seat, first: _Down) -> None:
        self._forget_key(seat, first)
        try:
            self._store.accept(OfferDraw(seat))
        except CompanionError:
            self._refuse(seat)

    def _question(self, press: Press) -> None:
        """Ask what can be done now (B), or for the machine's reasons (A), or close the answer."""
        if press.seat is None:
            return
        question: Question = "moves" if press.key is PadKey.B else "reasons"
        turns.show_help(self._store, "" if self._store.live.asked == question else question)
        if key := self._down[press.seat].pop(press.key, None):
            self._forget_key(press.seat, key)

    def _forget_key(self, seat: Seat, key: _Down) -> None:
        """Remove a key from the draft that turns out to be no order."""
        draft = self._store.live.drafts.get(seat, NO_DRAFT)
        if key.moment == self._store.session.moment and key.draft != draft.keys:
            self._set_draft(seat, key.draft)
            self._store.publish(self._store.live)

    # ---- orders ----------------------------------------------------------------------------------

    def _order(self, press: Press) -> None:
        """Enter, change and hand in an action key by key.

        The draft stays here until it is handed in.
        """
        seat, session = press.seat, self._store.session
        if seat is None:
            return
        laid = self._store.live.laid.get(seat)
        if press.key is PadKey.READY and not press.held and laid and seat in session.awaited:
            turns.hand_in(self._store, HandIn(seat, session.moment, laid, now_s=press.at_s))
            return
        draft = self._store.live.drafts.get(seat, NO_DRAFT).keys
        if session.awaits_tiles and self._press_tiles(seat, press, has_draft=bool(draft)):
            return
        step = press_order(session, seat, draft, press)
        for record in step.records:
            if isinstance(record, TakeBack):
                self._take_back(record)
                continue
            # After a take-back, the order is for the new moment.
            moment = record.moment if len(step.records) == 1 else self._store.session.moment
            turns.hand_in(self._store, msgspec.structs.replace(record, moment=moment))
        if not step.records:
            count = self._set_draft(seat, step.draft)
            if step.cue:
                self._store.publish(self._store.live, (signal_to(seat, step.cue, count),))

    def _take_back(self, record: TakeBack) -> None:
        """Take a seat's action back. A sealed one returns to the pad as a draft, key by key."""
        session, seat = self._store.session, record.seat
        sealed, grammar = session.own_sealed(seat), session.playing.pad(session.state, seat)
        self._store.accept(record)
        if sealed and grammar:
            self._set_draft(seat, grammar.spell(sealed.action))
            self._store.publish(self._store.live)

    def _set_draft(self, seat: Seat, keys: DraftKeys) -> int:
        """Set a seat's draft, and show it to nobody. Return the number of its orders."""
        live, session = self._store.live, self._store.session
        grammar = session.playing.pad(session.state, seat)
        draft = Draft(keys, grammar.count(keys) if grammar else 0)
        self._store.live = replace(live, drafts={**live.drafts, seat: draft})
        return draft.count

    def _press_tiles(self, seat: Seat, press: Press, *, has_draft: bool) -> bool:
        """Note that a seat's tiles lie (Ready without a draft), or no longer (any other key).

        Return whether the key has no other effect.
        """
        session, is_ready = self._store.session, seat in self._store.live.tiles.ready
        if press.held or seat not in session.awaited:
            return False
        if press.key is PadKey.READY and not has_draft:
            turns.lay_tiles(self._store, seat, session.moment)
            return True
        if is_ready:
            turns.lay_tiles(self._store, seat, session.moment, is_ready=False)
        return is_ready and press.key is PadKey.BACK
