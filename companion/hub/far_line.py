"""The table's end of the line to remote phones: what they ask comes by the hub and is answered by the table's pages.

The hub keeps nothing of it. Nothing at the table waits for this: each answer is made in a thread of its own, of which
there are few, and of what comes too often or too late nothing is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateFuture
from typing import Any, TypeVar

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from companion import __version__
from companion.core import i18n
from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Malformed, Refusal, trace_of
from companion.core.i18n import say
from companion.core.kit import SEATS, Seat
from companion.core.ports.far import FarAnswer, FarPages, is_picture
from companion.hub.far import (
    LEASE_S,
    FarCall,
    FarEnd,
    FarKeep,
    FarOpen,
    FarOpened,
    FarStop,
    packed_call,
    read_call,
    read_opened,
)
from companion.hub.subjects import far_subject, far_wish_subject, told_far_subject
from companion.table.public.messages import words
from companion.table.seats.far_seats import Invitation
from companion.table.table import Table

log = logging.getLogger(__name__)
ANSWERS_S, SENDS_S = 5, 5.0
SHORT, FOLLOWED = 4, 6
"""So many short answers are made at a time, and so many pages followed, by all remote phones together."""
MOST_WAITING = 16
BURST, PER_S = 200, 50.0
"""What remote phones may ask, all together: more than fingers do."""
PICTURE_COSTS = 10
"""A picture counts as so many."""
KEPT_IDS = 512
MOST_CREDIT_S = 2.0
"""So much of the time between hub and table is charged to nobody, at most."""
MEASURE_S = 10.0
OTHER_VERSION = 426
"""The status of the answer to a hub of another version."""
_CUT = (NatsError, LateFuture, CancelledError, RuntimeError, OSError)
"""What comes of sending on a line that is cut."""
T = TypeVar("T")


class FarLine:
    """Asked from any thread, and from the line's own as it says; `close` ends every answer."""

    def __init__(
        self, table: Table, clock: Clock, own: str, pages: Callable[[], FarPages | None], wake: Callable[[], None]
    ) -> None:
        self._table = table
        self._wake = wake
        self._clock = clock
        self._own = own
        self._pages = pages
        self._line: tuple[asyncio.AbstractEventLoop, Client] | None = None
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}
        self._known: deque[str] = deque(maxlen=KEPT_IDS)
        self._tokens, self._counted_s = float(BURST), 0.0
        self._credit_s, self._measured_s = 0.0, -MEASURE_S
        self._short = ThreadPoolExecutor(SHORT, "far")
        self._followed = ThreadPoolExecutor(FOLLOWED, "far-live")
        self._is_closed = False
        self._untold: dict[Seat, Invitation] = {}
        """What the hub on this line has not been told yet."""
        table.far.ask_line = self._measure_soon

    # ---- from any thread ----

    def invite(self, seat: Seat) -> Invitation:
        """Offer a free seat to a remote phone; raises a `CompanionError`."""
        self._table.far.require_free(seat)
        line = self._line
        if line is None:
            raise Malformed(say("The hub does not answer"))
        invitation = self._wait(line[0], self._offered(line[1], FarOpen(seat, __version__)))
        self._table.far.invite(seat, invitation)
        return invitation

    def withdraw(self, seat: Seat) -> None:
        """Offer this seat no longer. A hub that is away forgets the code by itself, because the table refuses it."""
        self._table.far.withdraw(seat)
        if self._line is not None:
            loop, client = self._line
            try:
                self._wait(loop, self._request(client, FarEnd(seat)))
            except CompanionError:
                log.info("Hub: it has not heard that an invitation is over")

    @staticmethod
    def _wait(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
        try:
            return _result(loop, work, ANSWERS_S)
        except (LateFuture, CancelledError, NatsTimeout, NatsError, RuntimeError):
            raise Malformed(say("The hub does not answer")) from None

    # ---- in the line's thread ----

    async def connected(self, client: Client) -> None:
        """The line is there, perhaps again: hear what is asked, and tell the hub anew what is offered."""
        self._line = (asyncio.get_running_loop(), client)
        self._measured_s = -MEASURE_S
        self._table.far.heard(self._clock.monotonic_s())
        self._say()  # before a phone's order that has been waiting: else it would find its clock stopped
        await client.subscribe(far_subject(self._own), cb=self._heard)
        await client.flush(ANSWERS_S)  # from now on it is heard
        self._untold = dict(self._table.far.invitations)

    async def step(self, client: Client) -> None:
        """Now and then: measure the line, end what nobody follows any more, and say who is there."""
        await self._tell_anew(client)
        now_s = time.monotonic()
        if now_s - self._measured_s >= MEASURE_S:
            self._measured_s = now_s
            await client.flush(ANSWERS_S)
            self._credit_s = min(MOST_CREDIT_S, time.monotonic() - now_s)
            self._table.far.heard(self._clock.monotonic_s())
        with self._lock:
            for each in self._open.values():
                if now_s - each.kept_s > LEASE_S:
                    each.is_over.set()
        self._say()

    async def _tell_anew(self, client: Client) -> None:
        """A hub that has begun anew does not know what is offered; one that has another code for it makes it over."""
        for seat, known in tuple(self._untold.items()):
            try:
                fresh = await self._offered(client, FarOpen(seat, __version__, known.code))
            except NoRespondersError:
                return  # it is not there yet
            except CompanionError as error:
                log.warning("Hub: a link for a remote phone does not hold now: %s", error)
                fresh = known  # it may again, once hub and table have the same version
            self._untold.pop(seat)
            if fresh != known and self._table.far.invitations.get(seat) == known:
                self._table.far.withdraw(seat)

    def _measure_soon(self) -> None:
        self._measured_s = -MEASURE_S
        self._wake()

    def broken(self) -> None:
        """The line is cut: nobody hears the rest of any answer."""
        self._line = None
        with self._lock:
            for each in self._open.values():
                each.is_over.set()
        self._say(say("The line to the hub is down: the remote phone is waiting."))

    def close(self) -> None:
        """End every answer; may be called twice."""
        self._is_closed = True
        self.broken()
        for pool in (self._short, self._followed):
            pool.shutdown(wait=True, cancel_futures=True)

    def _say(self, trouble: str = "") -> None:
        with self._lock:
            followed = {each.path for each in self._open.values() if not each.is_over.is_set()}
        there = {seat for seat in SEATS if f"/live/seat/{seat}" in followed}
        self._table.far.line_is(trouble, there)

    async def _offered(self, client: Client, wish: FarOpen) -> Invitation:
        answer = await self._request(client, wish)
        if answer.refused:
            raise Illegal(Refusal.WRONG_PHASE, words(answer.refused))
        return Invitation(answer.code, answer.url)

    async def _request(self, client: Client, wish: FarOpen | FarEnd) -> FarOpened:
        answer = await client.request(far_wish_subject(self._own), msgspec.json.encode(wish), timeout=ANSWERS_S)
        return read_opened(answer.data)

    async def _heard(self, message: Msg) -> None:
        now_s, at_s = time.monotonic(), self._clock.monotonic_s() - self._credit_s
        try:
            call = read_call(message.data)
        except Malformed:
            return
        self._table.far.heard(self._clock.monotonic_s())
        with self._lock:
            if isinstance(call, FarStop):
                if found := self._open.get(call.id):
                    found.is_over.set()
                return
            if isinstance(call, FarKeep):
                for each in (self._open[name] for name in call.ids if name in self._open):
                    each.kept_s = now_s
                return
            if self._is_closed or call.id in self._known:
                return  # the same once more
            self._known.append(call.id)
            opened = _Open(call.request.path, now_s)
            is_live = call.request.path.startswith("/live/")
            alike = sum(each.path.startswith("/live/") is is_live for each in self._open.values())
            refused = self._refused(call, now_s, alike >= (FOLLOWED if is_live else MOST_WAITING))
            if not refused:
                self._open[call.id] = opened
        if refused:
            await self._publish(call.id, FarAnswer(status=refused))
            return
        if is_live:
            self._wake()
        try:
            (self._followed if is_live else self._short).submit(self._answer, call, at_s, opened)
        except RuntimeError:  # closed meanwhile
            with self._lock:
                self._open.pop(call.id, None)

    def _refused(self, call: FarCall, now_s: float, is_full: bool) -> int:
        if call.version != __version__:
            return OTHER_VERSION
        self._tokens = min(BURST, self._tokens + (now_s - self._counted_s) * PER_S)
        self._counted_s = now_s
        cost = PICTURE_COSTS if is_picture(call.request.path) else 1
        if is_full or self._tokens < cost:
            return 503
        self._tokens -= cost
        return 0

    async def _publish(self, call: str, answer: FarAnswer) -> None:
        line = self._line
        if line is not None:
            await line[1].publish(told_far_subject(self._own, call), packed_call(answer))

    # ---- in the threads of answers ----

    def _answer(self, call: FarCall, at_s: float, opened: _Open) -> None:
        pages, number, is_done = self._pages(), 0, False
        language = i18n.spoken()
        try:
            if pages is None:
                self._send(call.id, FarAnswer(status=503))
                return
            for answer in pages.answer(call.request, at_s, opened.is_over.is_set):
                if opened.is_over.is_set() and number:
                    break
                self._send(call.id, answer)
                number, is_done = number + 1, answer.is_last
        except _CUT:
            is_done = True  # the line is cut
        except Exception as error:
            log.error("A remote phone could not be answered: %s", trace_of(error))
        finally:
            i18n.speak(language)
            with self._lock:
                self._open.pop(call.id, None)
            self._wake()
        if not is_done:
            with contextlib.suppress(*_CUT):
                self._send(call.id, FarAnswer(number, status=500))

    def _send(self, call: str, answer: FarAnswer) -> None:
        line = self._line
        if line is None:
            raise OSError("cut")
        _result(line[0], self._publish(call, answer), SENDS_S)


def _result(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], most_s: float) -> T:
    """What comes of it in the line's thread."""
    try:
        return asyncio.run_coroutine_threadsafe(work, loop).result(most_s)
    except RuntimeError:
        work.close()  # that thread has ended: it was never begun
        raise


class _Open:
    """An answer on its way: what for, whether nobody waits for it any more, and when the hub last said so."""

    def __init__(self, path: str, kept_s: float) -> None:
        self.path = path
        self.kept_s = kept_s
        self.is_over = threading.Event()
