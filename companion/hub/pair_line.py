"""One table's end of a game at two tables: what its journal has to tell goes to the hub, what the
other told to it.

Each message has a subject of its own, by its number, which JetStream takes once: whatever is
killed, cut or repeated, each is there once, and the other table asks for the next one by the number
that its own journal has come to.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Any

import msgspec
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.errors import APIError, NotFoundError

from companion import __version__
from companion.core.clock import Clock
from companion.core.errors import CompanionError, Illegal, JournalError, Malformed, Refusal
from companion.core.i18n import say
from companion.core.kit import Seat
from companion.hub.loop_thread import line_time_s
from companion.hub.membership import session_id
from companion.hub.pairing import (
    Pair,
    PairAgain,
    PairAnswer,
    PairLook,
    PairOffer,
    PairQuestion,
    PairTake,
    PairWish,
    PairWithdrawal,
    SessionClaim,
    kit_mark,
    read_answer,
    require_same,
)
from companion.hub.subjects import (
    PAIRS,
    SEQUENCE,
    WRONG_SEQUENCE,
    message_subject,
    near_subject,
    news_subject,
    wish_subject,
)
from companion.storage.journal import Journal
from companion.table.records import NewGame
from companion.table.remote.messages import GameLeft, encode_message
from companion.table.remote.remote_table import (
    REMATCH_HERE,
    REMATCH_THERE,
    RemoteBeginning,
    RemoteProgress,
    progress_of_remote,
    require_playable,
)
from companion.table.table import Table

log = logging.getLogger(__name__)
ANSWERS_S = 5.0
WRITTEN_S = 0.05
LOOK_S, NEAR_S, GONE_S = 2.0, 10.0, 30.0
"""Intervals in seconds at which a game that is on is looked at though nothing has woken us, and at
which each table says that it is there. Seconds of silence after which a table is gone."""
CLAIM_S = 10.0
"""Seconds between two claims that this machine is the table."""
_LOOK_BACK = 20
"""Number of games among which the last one at two tables is looked for: it may have something to
tell still."""
CLONED = say(
    "Another machine is connected to the hub as this table. On one of the two run “companion hub "
    "leave”, and join "
    "again."
)
_OLDER = say(
    "This table’s journal is older than what the other table knows: this game cannot go on."
)
_UNFIT = say("What the other table sends does not fit this game: it cannot go on")


class SessionTaken(CompanionError, RuntimeError):
    """The hub talks with another machine that has this table's identity, such as a copied card."""

    kind = "session_taken"


@dataclass(eq=False)
class _Wish:
    """What a host waits for."""

    wish: PairWish
    answer: Future[PairAnswer] = field(default_factory=Future)


async def kept_message(stream: JetStreamContext, subject: str) -> bytes | None:
    """Return the message that the hub keeps under a subject of pairs. None where there is none."""
    try:
        return (await stream.get_msg(PAIRS, subject=subject, direct=True)).data or b""
    except NotFoundError:
        return None


class PairLine:
    """Agrees on games and carries their messages.

    Asked from any thread, and from the line's own as it says.
    """

    def __init__(
        self, table: Table, journal: Journal, clock: Clock, own: str, wake: Callable[[], None]
    ) -> None:
        self._table = table
        self._journal = journal
        self._clock = clock
        self._own = own
        self._session = session_id(journal.path)
        self._claim_s = 0.0
        self.is_shared = False
        """Whether another machine has tried to connect as this table."""
        self._wake = wake
        table.remote.when_again(self.again)
        self._wishes: deque[_Wish] = deque()
        self._pair: Pair | None = None
        self._past: RemoteProgress | None = None
        """What there is to be told of a game that is not on the table any more."""
        self._sent = -1
        """Number of our messages at the hub. -1: that is to be asked."""
        self._fault = ""
        self._last_heard_s = 0.0
        self._said_near_s = -NEAR_S
        self._announced = 0
        """Number of the other table's messages at the hub, as far as we were told."""
        self._looked_s = -LOOK_S
        self._news: Subscription | None = None
        self._news_of = ""
        self._shown_trouble = ""
        self._wants_again: bool | None = None
        """Another game is wanted here, with sides changed or not."""
        self._is_again_sent = self._is_again_there = False
        self.code = ""
        """Under which this table offers a game. Empty: it offers none."""

    # ---- from any thread ----

    def offer(self, game: str, options: dict[str, Any], seat: Seat, name: str) -> str:
        """Offer a game of which this table plays a seat. Return the code for the other host.

        Raises a `CompanionError`.
        """
        require_playable(game, options)
        mark = kit_mark(game, options)
        number = self._journal.next_number()
        self.code = self._ask(PairOffer(game, options, seat, __version__, mark, number, name)).code
        self._table.redraw()
        return self.code

    def take(self, code: str, name: str) -> None:
        """Play the game that another table offers under this code. Raises a `CompanionError`."""
        offer = self._ask(PairLook(code)).offer
        if offer is None:
            raise Malformed(say("This message cannot be read: {error}", error="offer"))
        require_same(offer, __version__)
        require_playable(offer.game, offer.options)
        self._ask(PairTake(code, __version__, self._journal.next_number(), name))
        if self._fault:
            raise Illegal(Refusal.WRONG_PHASE, self._fault)

    def again(self, swaps: bool) -> None:
        """Ask for another game of these two tables. Nothing is waited for."""
        self._wants_again = swaps
        self._wake()

    def withdraw(self) -> None:
        """Offer nothing any more. Raises a `CompanionError`."""
        self._ask(PairWithdrawal())
        self.code = ""
        self._table.redraw()

    def _ask(self, wish: PairWish) -> PairAnswer:
        question = _Wish(wish)
        self._wishes.append(question)
        self._wake()
        try:
            return question.answer.result(ANSWERS_S)
        except (TimeoutError, CancelledError):
            question.answer.cancel()
            raise Malformed(say("The hub does not answer")) from None

    # ---- in the line's thread ----

    @property
    def pause_s(self) -> float:
        """Return how long the line may sleep with nothing to wake it."""
        progress = self._table.remote.progress
        is_on = self._pair is not None and progress is not None and not progress.is_over
        return LOOK_S if is_on else NEAR_S

    def connected(self) -> None:
        """Note that the line is there, perhaps again."""
        self._news, self._news_of = None, ""
        self._sent, self._said_near_s, self._looked_s = -1, -NEAR_S, -LOOK_S
        self._is_again_sent = False

    async def claim(self, client: Client) -> None:
        """Tell the hub now and then which machine this is. Raises `SessionTaken` where another one
        is this table.
        """
        if line_time_s() < self._claim_s:
            return
        self._claim_s = line_time_s() + CLAIM_S
        try:
            answer = await self._request(client, SessionClaim(self._session))
        except (Illegal, NatsTimeout, NoRespondersError):
            return  # a hub that knows no claims, or is just being started
        self.is_shared = answer.session == "shared"
        if answer.session == "taken":
            raise SessionTaken(CLONED)

    async def look(self, client: Client) -> None:
        """Ask the hub for our game, and begin it where it is a new one."""
        answer = await self._request(client, PairQuestion())
        self._is_again_there = answer.again
        if answer.code != self.code:
            self.code = answer.code
            self._table.redraw()
        if answer.pair is not None and (self._pair is None or self._pair.id != answer.pair.id):
            self._begin(answer.pair)

    async def exchange(self, client: Client, stream: JetStreamContext) -> None:
        """Ask what was wished for, tell what there is to be told, and hear what there is to be
        heard.
        """
        await self._ask_hub(client)
        pair = self._pair
        if pair is None:
            return
        if self._wants_again is not None and not self._is_again_sent:
            await self._ask_again(client, pair, self._wants_again)
            return
        if self._news_of != pair.id:
            await self._listen(client, pair)
        progress = self._progress(pair)
        if line_time_s() >= self._said_near_s + NEAR_S:
            self._said_near_s = line_time_s()
            await client.publish(near_subject(pair.id, self._own), b"")
        await self._send(stream, pair, progress)
        if progress.heard < self._announced or line_time_s() >= self._looked_s + LOOK_S:
            self._looked_s = line_time_s()
            await self._receive(stream, pair)
        self._show_trouble()

    async def _listen(self, client: Client, pair: Pair) -> None:
        """Hear that there is something to read of this game, and of no other one any more."""
        if self._news:
            await self._news.unsubscribe()
        self._news = await client.subscribe(news_subject(self._own, pair.id, "*"), cb=self._on_news)
        self._news_of = pair.id

    async def _ask_hub(self, client: Client) -> None:
        """Ask each wish that somebody still waits for.

        Where the line breaks, it is asked again on the next one.
        """
        while self._wishes:
            wish = self._wishes[0]
            answer, refusal = PairAnswer(), None
            if not wish.answer.cancelled():
                try:
                    answer = await self._request(client, wish.wish)
                    if isinstance(wish.wish, PairTake) and answer.pair is not None:
                        self._begin(answer.pair)
                except CompanionError as error:
                    refusal = error
            self._wishes.popleft()
            # whoever waited for it has given up
            if not wish.answer.set_running_or_notify_cancel():
                continue
            if refusal:
                wish.answer.set_exception(refusal)
            else:
                wish.answer.set_result(answer)

    async def _ask_again(self, client: Client, pair: Pair, swaps: bool) -> None:
        self._is_again_sent = True
        wish = PairAgain(pair.id, self._journal.next_number(), swaps)
        try:
            answer = await self._request(client, wish)
        except CompanionError as error:
            self._wants_again = None
            log.warning("Hub: no rematch at two tables: %s", error.kind)
            return
        if answer.pair is not None:
            self._begin(answer.pair)

    def broken(self) -> None:
        """Note that the line is cut."""
        self._claim_s = 0.0
        lost = say("The connection to the other table is lost. The game goes on when it is back.")
        self._show_trouble(lost)

    def close(self) -> None:
        """Let nobody wait any longer."""
        while self._wishes:
            self._wishes.pop().answer.cancel()
        self._table.remote.when_again(None)
        self._table.notice("remote", "")

    async def _on_news(self, message: Msg) -> None:
        self._last_heard_s = self._clock.monotonic_s()
        number = message.subject.rpartition(".")[2]
        # a number from outside: believe only one that a game can reach
        if number.isdecimal() and len(number) < 8:
            self._announced = max(self._announced, int(number))
        self._wake()

    async def _request(self, client: Client, wish: PairWish) -> PairAnswer:
        answer = await client.request(
            wish_subject(self._own), msgspec.json.encode(wish), timeout=ANSWERS_S
        )
        return read_answer(answer.data)

    def _begin(self, pair: Pair) -> None:
        """Begin the game that was agreed on.

        Where that cannot be, the other table is told that it was left.
        """
        other, fault = pair.seat_of(self._own).other, ""
        self._past = self._wants_again = None
        self._is_again_sent = self._is_again_there = False
        if self._progress_of(pair.id) is None:
            name = pair.names.get(other, "")
            beginning = RemoteBeginning(
                pair.id, pair.number, pair.game, pair.options, other, name, pair.follows
            )
            try:
                self._table.remote.begin(beginning, self._journal.next_number())
            except JournalError:
                raise
            except CompanionError as error:
                log.warning("Hub: the game at two tables cannot begin: %s", error.kind)
                fault = error.message
        self._pair, self._sent, self._fault = pair, -1, fault
        self._announced, self._looked_s = 0, -LOOK_S
        self._last_heard_s = self._clock.monotonic_s()
        self.code = ""

    def _progress_of(self, game: str) -> RemoteProgress | None:
        """Return what the journal has of a game at two tables, on the table or among the last ones.

        None: nothing.
        """
        progress = self._table.remote.progress
        if progress is not None and progress.game == game:
            return progress
        for number in reversed(self._journal.games()[-_LOOK_BACK:]):
            first = next(iter(self._journal.entries(number)), None)
            record = first.record if first else None
            if isinstance(record, NewGame) and record.remote and record.remote.id == game:
                try:
                    return progress_of_remote(self._journal.fold(number))
                except (
                    CompanionError
                ):  # a game of an earlier version that cannot be folded any more
                    return None
        return None

    def _progress(self, pair: Pair) -> RemoteProgress:
        """Return what there is to be told. Of a game that could not begin, that it was left."""
        progress = self._table.remote.progress
        if progress is not None and progress.game == pair.id:
            return progress
        if self._past is None:
            progress = RemoteProgress(pair.id, (encode_message(pair.id, 1, GameLeft()),), 0, True)
            self._past = self._progress_of(pair.id) or progress
        return self._past

    async def _send(self, stream: JetStreamContext, pair: Pair, progress: RemoteProgress) -> None:
        sent = progress.sent
        if self._sent < 0:
            self._sent = await self._at_hub(stream, pair, sent)
        while self._sent < len(sent) and self._fault != _OLDER:
            subject = message_subject(pair.id, self._own, self._sent + 1)
            try:
                await stream.publish(subject, sent[self._sent], headers={SEQUENCE: "0"})
            except APIError as error:
                if error.err_code != WRONG_SEQUENCE:
                    raise
            self._sent += 1

    async def _at_hub(self, stream: JetStreamContext, pair: Pair, sent: tuple[bytes, ...]) -> int:
        """Return how many of our messages the hub has.

        A journal that was brought back from a backup has another past.
        """
        beyond = message_subject(pair.id, self._own, len(sent) + 1)
        if await kept_message(stream, beyond) is not None:
            self._fault = _OLDER
        # from the newest back: what is there is there without gaps
        for number in range(len(sent), 0, -1):
            payload = await kept_message(stream, message_subject(pair.id, self._own, number))
            if payload is not None:
                if payload != sent[number - 1]:
                    self._fault = _OLDER
                return number
        return 0

    async def _receive(self, stream: JetStreamContext, pair: Pair) -> None:
        other = pair.other_of(self._own)
        while not self._fault:
            progress = self._table.remote.progress
            if progress is None or progress.game != pair.id:
                return
            number = progress.heard + 1
            subject = message_subject(pair.id, other, number)
            payload = await kept_message(stream, subject)
            if payload is None and number <= self._announced:  # it was said, and is being written
                await asyncio.sleep(WRITTEN_S)
                payload = await kept_message(stream, subject)
            if payload is None:
                self._announced = number - 1
                return
            self._last_heard_s = self._clock.monotonic_s()
            try:
                self._table.remote.hear(pair.id, number, payload)
            except JournalError:
                raise
            except CompanionError as error:
                log.warning("Hub: the other table's message %s was refused: %s", number, error.kind)
                self._fault = _UNFIT
            await self._send(stream, pair, self._progress(pair))

    def _show_trouble(self, lost: str = "") -> None:
        """Say at the table what is wrong with the line, or whether another game is wanted. `lost`:
        it is cut.
        """
        sentence = self._trouble(lost)
        if sentence != self._shown_trouble:
            self._shown_trouble = sentence
            self._table.notice("remote", sentence)

    def _trouble(self, lost: str) -> str:
        progress = self._table.remote.progress
        if self._pair is None:
            return ""
        if progress is None:
            return self._fault
        if progress.game != self._pair.id:
            return ""
        if progress.is_over:
            if self._wants_again is not None:
                return REMATCH_HERE
            return REMATCH_THERE if self._is_again_there else ""
        if self._fault or lost:
            return self._fault or lost
        if self._clock.monotonic_s() - self._last_heard_s >= GONE_S:
            return say("The other table is silent. The game goes on when it is back.")
        return ""
