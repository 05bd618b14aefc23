"""Remote phones at the hub: codes of seats that are offered, and what such phones ask on its way to a table and back.

Nothing of it is written anywhere. What a phone and its table say to each other passes through the memory of the hub.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from companion import __version__
from companion.core import i18n
from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.core.network import new_code, plain_code
from companion.core.ports.far import FarAnswer, FarRequest, LineBusy, LineDown
from companion.hub.far import (
    KEEP_S,
    MOST_FOLLOWED,
    FarCall,
    FarEnd,
    FarKeep,
    FarOpened,
    FarStop,
    packed_call,
    read_far_answer,
    read_far_wish,
)
from companion.hub.pairing import require_version
from companion.hub.subjects import far_subject, told_far_subject
from web.security.join_code import EACH, EVERYBODY
from web.security.rate_limit import Guesses

LENGTH = 8
"""Letters of a code: 31 to the eighth are 850 thousand millions, of which all strangers together try five a second."""
MOST_EACH = 24
"""So many answers of one table are waited for at once."""
MOST_PENDING = 48
"""So many pieces of an answer wait to be sent on; a phone that does not read loses its page, and loads it anew."""
NO_RESPONDERS = "503"

Publish = Callable[[str, bytes, str], bool]
"""Sends a message with the subject of its answer; False: there is no line to NATS."""


class FarDesk:
    """May be used by any thread; `version` and `wait` are for streams, which follow all pieces that come."""

    def __init__(self, clock: Clock, publish: Publish, url: Callable[[], str]) -> None:
        self._publish = publish
        self._url = url
        self._codes: dict[str, tuple[str, Seat]] = {}
        self._guesses = Guesses(EACH, clock.monotonic_s, EVERYBODY)
        self._calls: dict[str, PhoneAnswer] = {}
        self._changed = threading.Condition()
        self._listeners: list[Callable[[], None]] = []
        self._kept_s = 0.0
        self.version = 0

    # ---- what tables want ----

    def on_wish(self, table: str, payload: bytes) -> bytes:
        """What the hub answers to a table's wish about its seats."""
        try:
            return msgspec.json.encode(self._answer(table, payload))
        except CompanionError as error:
            return msgspec.json.encode(FarOpened(refused=i18n.packed(error.message)))

    def _answer(self, table: str, payload: bytes) -> FarOpened:
        wish = read_far_wish(payload)
        with self._changed:
            others = {code: place for code, place in self._codes.items() if place != (table, wish.seat)}
            if isinstance(wish, FarEnd):
                self._codes = others
                return FarOpened()
            is_known = bool(wish.code) and wish.code not in others
            if not is_known:
                require_version(wish.version, __version__)
            if not self._url():
                raise Illegal(Refusal.WRONG_PHASE, say("This hub does not accept remote phones."))
            code = wish.code if is_known else new_code(LENGTH)
            self._codes = {**others, code: (table, wish.seat)}
            require_version(wish.version, __version__)  # who has this link is led to where it says so
        return FarOpened(code, self._url())

    def forget(self, table: str) -> None:
        """A table has left the hub."""
        with self._changed:
            self._codes = {code: place for code, place in self._codes.items() if place[0] != table}
            calls = [call for call in self._calls.values() if call.table == table]
        for call in calls:
            call.fail()

    def on_cut(self) -> None:
        """The line to NATS is down: what was asked is not answered any more."""
        with self._changed:
            calls = list(self._calls.values())
        for call in calls:
            call.fail()

    # ---- what phones want ----

    def find(self, typed: str, address: str) -> tuple[str, Seat, str] | None:
        """Table, seat and code of what somebody has typed; None: no seat is offered under it. Raises `Illegal`."""
        given, found = plain_code(typed), None

        def fits() -> bool:
            nonlocal found
            for code, place in tuple(self._codes.items()):
                if hmac.compare_digest(code.encode(), given.encode()):
                    found = (*place, code)
            return found is not None

        if self._guesses.check(address, fits) is None:
            raise Illegal(Refusal.JOIN_CODE, say("Too many wrong codes: wait a minute"))
        return found

    def ask(self, table: str, request: FarRequest) -> PhoneAnswer:
        """Ask a table for a phone; raises `LineDown` where it is not there."""
        call = PhoneAnswer(table, self._over, self._stirred)
        with self._changed:
            if sum(each.table == table for each in self._calls.values()) >= MOST_EACH:
                raise LineBusy(say("The table is busy: try again"))
            self._calls[call.id] = call
        message = packed_call(FarCall(call.id, __version__, request))
        if not self._publish(far_subject(table), message, told_far_subject(table, call.id)):
            self._over(call)
            raise not_heard()
        return call

    # ---- what tables answer, in the line's thread ----

    def on_told(self, subject: str, payload: bytes, status: str) -> bool:
        """A piece of an answer has come, or that there is nobody to give one; False: it is none."""
        _, table, name = subject.split(".")
        call = self._calls.get(name)
        if status == NO_RESPONDERS:
            if call is not None and call.table == table:
                call.fail(not_heard())
            return True
        try:
            answer = read_far_answer(payload)
        except Malformed:
            if call is not None and call.table == table:
                call.fail()
            return False
        if call is not None and call.table == table:
            call.take(answer)
        return True

    def step(self) -> None:
        """Now and then: tell tables which of their pages are still followed."""
        now_s = time.monotonic()
        if now_s - self._kept_s < KEEP_S:
            return
        self._kept_s = now_s
        with self._changed:
            followed: dict[str, list[str]] = {}
            for call in self._calls.values():
                followed.setdefault(call.table, []).append(call.id)
        for table, names in followed.items():
            self._publish(far_subject(table), packed_call(FarKeep(tuple(names[:MOST_FOLLOWED]))), "")

    # ---- for streams ----

    def wait(self, version: int, timeout_s: float) -> int:
        """Wait until a piece has come since `version`, at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: self.version != version, timeout_s)
            return self.version

    def when_changed(self, call: Callable[[], None]) -> None:
        """Have this called whenever a piece has come."""
        self._listeners.append(call)

    def _stirred(self) -> None:
        with self._changed:
            self.version += 1
            self._changed.notify_all()
        for listener in self._listeners:
            listener()

    def _over(self, call: PhoneAnswer) -> None:
        with self._changed:
            is_open = self._calls.pop(call.id, None) is not None
        if is_open and not call.is_whole:
            self._publish(far_subject(call.table), packed_call(FarStop(call.id)), "")


class PhoneAnswer:
    """An answer on its way; `close` may be called twice."""

    def __init__(self, table: str, when_over: Callable[[PhoneAnswer], None], when_news: Callable[[], None]) -> None:
        self.id = secrets.token_hex(16)
        self.table = table
        self.is_whole = False
        self._when_over = when_over
        self._when_news = when_news
        self._news = threading.Condition()
        self._pieces: deque[FarAnswer] = deque()
        self._number = 0
        self._error: LineDown | None = None

    def next(self, timeout_s: float) -> FarAnswer:
        """The next piece; raises `LineDown` where none comes."""
        with self._news:
            self._news.wait_for(lambda: self._pieces or self._error, timeout_s)
            if self._pieces:
                return self._pieces.popleft()
            raise self._error or LineDown(_UNKNOWN)

    def pending(self) -> Iterable[FarAnswer]:
        """What has come, without waiting; raises `LineDown` where the line broke."""
        with self._news:
            pieces, error = list(self._pieces), self._error
            self._pieces.clear()
        if not pieces and error:
            raise error
        return pieces

    def take(self, answer: FarAnswer) -> None:
        """A piece has come; one is missing before it, or too many wait: then it is over."""
        with self._news:
            if self._error or self.is_whole:
                return
            if answer.number != self._number or len(self._pieces) >= MOST_PENDING:
                self._error = LineDown(_UNKNOWN)
            else:
                self._number += 1
                self.is_whole = answer.is_last
                self._pieces.append(answer)
            self._news.notify_all()
        self._when_news()

    def fail(self, error: LineDown | None = None) -> None:
        """Nothing more comes."""
        with self._news:
            self._error = self._error or error or LineDown(_UNKNOWN)
            self._news.notify_all()
        self._when_news()

    def close(self) -> None:
        """Nobody waits for the rest."""
        self._when_over(self)


_UNKNOWN = say("The table does not answer. Once it is back, this page shows whether your last action arrived.")


def not_heard() -> LineDown:
    """What is said where the table cannot have heard anything."""
    return LineDown(say("The line to the table is down. What you just did has not arrived there."))
