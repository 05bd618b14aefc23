"""The line to a broker: one thread that connects, tells the newest state, listens for commands, and tries again.

Nobody waits for it. Of each topic it holds the newest words only, and of what happens the last few messages; every
connection begins afresh and tells all that is retained once more, so that nothing grows while the broker is away.
"""

from __future__ import annotations

import contextlib
import logging
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from companion.core.config import MqttSettings
from companion.core.errors import CompanionError, trace_of
from companion.core.i18n import say
from companion.mqtt.broker import (
    IN_FLIGHT,
    UNREADABLE,
    Refused,
    connect,
    flies,
    is_older,
    make_client,
    refusal,
    why_lost,
)

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage, MQTTMessageInfo
    from paho.mqtt.reasoncodes import ReasonCode

log = logging.getLogger(__name__)

FIRST_S, MOST_S = 1.0, 60.0
"""So long it waits after a first failure, and at most: the pause doubles each time."""
ANSWER_S = 10.0
"""So long a broker that is connected may take to say whether it lets us in."""
LOOK_S = 0.02
"""At most so often the owner looks for what is new."""
ROUND_S = 0.1
"""So often something is told in the long run; what changes meanwhile is told as it is then."""
BURST_S = 0.3
"""After so long a silence several rounds may follow at once: a cue comes a moment after the state it is about."""
REST_S = 1.0
"""Without any change it looks up so often."""
STALE_S = 10.0
"""What happened is not told any more after so long: it is no news."""
EVENTS = 32
"""So many wait at most; the oldest go."""
MAX_COMMAND = 64
"""Longer ones are none of ours, bytes."""
GOODBYE_S = 1.0
JOIN_S = 3.0


@dataclass(frozen=True)
class Hooks:
    """What the line calls, all in its own thread.

    `on_round`: at most every `LOOK_S`, before anything is told. `on_command`: a topic and what came there. `on_state`:
    the connection is there, or is not any more. `on_lost`: a try has failed.
    """

    on_round: Callable[[], None] = lambda: None
    on_command: Callable[[str, bytes], None] = lambda _topic, _payload: None
    on_state: Callable[[bool], None] = lambda _connected: None
    on_lost: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Presence:
    """What says that we are there: a retained topic and its two payloads."""

    topic: str
    here: bytes
    gone: bytes


@dataclass
class _Connection:
    """What is known of one connection and goes with it."""

    began_s: float
    is_open: bool = False
    refused: str = ""
    told: dict[str, bytes] = field(default_factory=dict)
    flying: dict[str, MQTTMessageInfo] = field(default_factory=dict)
    news: list[MQTTMessageInfo] = field(default_factory=list)


class MqttConnection:
    """A context manager around its thread; `close` may be called twice, and lasts `JOIN_S` at most.

    `commands` are the topics that it listens to. Retained messages there are no commands: nobody gives them now.
    `greetings` are topics where also a retained word is heard.
    """

    def __init__(
        self,
        settings: MqttSettings,
        presence: Presence | None,
        hooks: Hooks,
        commands: tuple[str, ...] = (),
        greetings: tuple[str, ...] = (),
    ) -> None:
        self._settings = settings
        self._presence = presence
        self._hooks = hooks
        self._commands = commands
        self._greetings = greetings
        self._lock = threading.Lock()
        self.wanted: dict[str, bytes] = {}
        self.events: deque[tuple[float, str, bytes]] = deque(maxlen=EVENTS)
        self._ends = threading.Event()
        self._settled = threading.Event()
        self._ear, self._mouth = socket.socketpair()
        for end in (self._ear, self._mouth):
            end.setblocking(False)
        self._look_s = self._send_s = 0.0
        self._is_connected = False
        self._sentence = say("Connecting to the broker {host}, port {port}.", host=settings.host, port=settings.port)
        self._version5 = True
        self._is_woken = False
        self._was_open = False
        self._connection = _Connection(0.0)
        self._thread = threading.Thread(target=self._run, name="mqtt", daemon=True)

    # ---- from any thread ----

    @property
    def is_connected(self) -> bool:
        """Does the broker hear us?"""
        return self._is_connected

    @property
    def sentence(self) -> str:
        """How the connection is, and what to do about it."""
        return self._sentence

    @property
    def is_settled(self) -> bool:
        """Has the broker got everything?"""
        return self._settled.is_set()

    def tell(self, told: Mapping[str, bytes], events: Iterable[tuple[str, bytes]] = ()) -> None:
        """Let these topics say so from now on, retained; an empty payload clears one.

        `events` are topics and payloads that are told once, after the state that they have led to.
        """
        now_s = time.monotonic()
        with self._lock:
            news = [(now_s, *event) for event in events]
            if news or any(self.wanted.get(topic) != payload for topic, payload in told.items()):
                self._settled.clear()
                self.wanted.update(told)
                self.events.extend(news)
        self.wake()

    def wake(self) -> None:
        """Something may have changed; returns at once, also after `close`."""
        with contextlib.suppress(OSError):  # it is awake already, or closed
            self._mouth.send(b"!")

    def settle(self, timeout_s: float) -> bool:
        """Wait until the broker has got everything; answers whether it has."""
        return self._settled.wait(timeout_s)

    def start(self) -> None:
        """Connect, and stay connected."""
        self._thread.start()

    def end(self) -> None:
        """Let the thread end by itself."""
        self._ends.set()
        self.wake()

    def close(self) -> None:
        """Say good-bye and end the thread."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)
        elif self._thread.ident is None:
            self._ear.close()
        self._mouth.close()

    # ---- the thread ----

    def _run(self) -> None:
        pause_s = FIRST_S
        while not self._ends.is_set():
            version5 = self._version5
            try:
                self._serve()
            except CompanionError as error:
                if version5 and not self._version5:  # nothing is lost: the broker speaks an older MQTT
                    self._sentence = error.message
                    continue
                self._lost(error.message)
            except (OSError, *UNREADABLE) as error:
                self._lost(why_lost(error, self._settings))
            except Exception as error:
                log.error("MQTT: something unexpected, it is tried again: %s", trace_of(error))
                self._lost(why_lost(error, self._settings))
            if self._was_open:
                pause_s = FIRST_S
            self._rest(pause_s)
            pause_s = min(2 * pause_s, MOST_S)
        self._ear.close()

    def _lost(self, sentence: str) -> None:
        if sentence != self._sentence and not self._ends.is_set():
            log.warning("MQTT: %s", sentence)
        self._sentence = sentence
        self._set_connected(False)
        self._hooks.on_lost()

    def _set_connected(self, is_connected: bool) -> None:
        if is_connected != self._is_connected:
            self._is_connected = is_connected
            self._hooks.on_state(is_connected)

    def _rest(self, seconds: float) -> None:
        """Wait before the next try; what hangs on time goes on meanwhile."""
        end_s = time.monotonic() + seconds
        while not self._ends.is_set() and (left_s := end_s - time.monotonic()) > 0:
            self._listen(None, False, min(left_s, REST_S))
            self._look()

    def _serve(self) -> None:
        """One connection, from its beginning to its end; raises what ended it."""
        self._connection = connection = _Connection(time.monotonic())
        self._was_open = False
        client = make_client(self._settings, self._version5)
        client.on_connect = lambda client, _data, _flags, reason, _properties: self._on_connect(client, reason)
        client.on_message = lambda _client, _data, message: self._hear(message)
        if self._presence:
            client.will_set(self._presence.topic, self._presence.gone, qos=1, retain=True)
        try:
            connect(client, self._settings, self._version5)
            while not self._ends.is_set():
                self._round(client, connection)
            self._say_goodbye(client, connection)
        finally:
            self._set_connected(False)
            sock: Any = client.socket()
            if sock is not None:
                sock.close()

    def _round(self, client: Client, connection: _Connection) -> None:
        now_s = time.monotonic()
        due_s = self._look_s if self._is_woken else now_s + REST_S
        if not self._is_settled_with(connection):
            due_s = min(due_s, max(self._look_s, self._send_s))
        self._exchange(client, max(0.0, due_s - now_s))
        if connection.refused:
            raise Refused(connection.refused)
        if client.socket() is None:
            raise Refused(say("The broker {host} has closed the connection.", host=self._settings.host))
        if not connection.is_open:
            if time.monotonic() - connection.began_s > ANSWER_S:
                raise Refused(say("The broker {host} does not answer.", host=self._settings.host))
            return
        if not self._is_connected:
            self._was_open = True
            host, port = self._settings.host, self._settings.port
            self._sentence = say("Connected to the broker {host}, port {port}.", host=host, port=port)
            log.info("MQTT: %s", self._sentence)
            self._set_connected(True)
        if self._look() and time.monotonic() >= self._send_s and self._send(client, connection):
            self._send_s = max(self._send_s, time.monotonic() - BURST_S) + ROUND_S

    def _look(self) -> bool:
        """Let the owner look at the table, at most every `LOOK_S`; answers whether it was time for that."""
        now_s = time.monotonic()
        if now_s < self._look_s:
            return False
        self._look_s = now_s + LOOK_S
        self._is_woken = False
        try:
            self._hooks.on_round()
        except CompanionError as error:
            log.warning("MQTT: %s", error.kind)
        return True

    def _exchange(self, client: Client, wait_s: float) -> None:
        """Read and write what there is, waiting so long at most."""
        sock: Any = client.socket()
        if sock is None:
            return
        pending = getattr(sock, "pending", None)
        has_more = bool(pending and pending())
        readable, writable = self._listen(sock, client.want_write(), 0.0 if has_more else wait_s)
        if readable or has_more:
            client.loop_read()
        if writable:
            client.loop_write()
        client.loop_misc()

    def _listen(self, sock: Any, wants_write: bool, wait_s: float) -> tuple[bool, bool]:
        """Wait for the socket or for `wake`; answers whether it can be read and written.

        `poll`, because `select` refuses file numbers above 1023, which many viewers may take.
        """
        poll = select.poll()
        poll.register(self._ear, select.POLLIN)
        if sock is not None:
            poll.register(sock, select.POLLIN | (select.POLLOUT if wants_write else 0))
        ready = dict(poll.poll(wait_s * 1000))
        if self._ear.fileno() in ready:
            self._is_woken = True
            with contextlib.suppress(OSError):
                self._ear.recv(4096)
        found = ready.get(sock.fileno(), 0) if sock is not None else 0
        return bool(found & ~select.POLLOUT), bool(found & select.POLLOUT)

    # ---- telling ----

    def _is_settled_with(self, connection: _Connection) -> bool:
        """Has the broker got all? Until then the thread looks again soon."""
        if not connection.is_open:
            return True  # the broker's next word wakes us
        with self._lock:
            is_told = not self.events and connection.told == self.wanted
            is_underway = any(map(flies, (*connection.flying.values(), *connection.news)))
            if is_told and not is_underway:
                self._settled.set()
            return is_told

    def _send(self, client: Client, connection: _Connection) -> bool:
        """Hand over what the broker does not know yet, of each topic one message at a time; was there anything?"""
        flying = {topic: info for topic, info in connection.flying.items() if flies(info)}
        connection.news = [info for info in connection.news if flies(info)]
        with self._lock:
            due = {t: p for t, p in self.wanted.items() if connection.told.get(t) != p and t not in flying}
            fresh_s = time.monotonic() - STALE_S
            while self.events and self.events[0][0] < fresh_s:
                self.events.popleft()
            room = max(0, IN_FLIGHT - len(connection.news))
            news = [self.events.popleft() for _ in range(min(room, len(self.events)))]
        for topic, payload in due.items():
            flying[topic] = client.publish(topic, payload, qos=1, retain=True)
            connection.told[topic] = payload
        connection.news += [client.publish(topic, payload, qos=1) for _, topic, payload in news]
        connection.flying = flying
        return bool(due or news)

    def _say_goodbye(self, client: Client, connection: _Connection) -> None:
        """Be away of one's own accord: nobody waits for the last will."""
        end_s = time.monotonic() + GOODBYE_S
        if connection.is_open and self._presence:
            info = client.publish(self._presence.topic, self._presence.gone, qos=1, retain=True)
            while flies(info) and client.socket() is not None and time.monotonic() < end_s:
                self._exchange(client, 0.05)
        if client.socket() is not None:
            client.disconnect()
            while client.want_write() and client.socket() is not None and time.monotonic() < end_s:
                self._exchange(client, 0.05)

    # ---- hearing ----

    def _on_connect(self, client: Client, reason: ReasonCode) -> None:
        """The broker lets us in, or says why not."""
        connection = self._connection
        if reason.is_failure:
            if is_older(reason):
                self._version5 = False
            connection.refused = refusal(str(reason), self._settings)
            return
        connection.is_open = True
        if self._presence:
            client.publish(self._presence.topic, self._presence.here, qos=1, retain=True)
        for topic in (*self._commands, *self._greetings):
            client.subscribe(topic, qos=1)

    def _hear(self, message: MQTTMessage) -> None:
        """A message from the broker; nothing in it may stop the line."""
        if len(message.payload) > MAX_COMMAND:
            return
        topic = message.topic
        if topic not in self._greetings and (message.retain or topic not in self._commands):
            return
        try:
            self._hooks.on_command(topic, bytes(message.payload))
        except CompanionError as error:
            log.info("MQTT: a command is refused: %s", error.kind)
        except Exception as error:
            log.error("MQTT: a command failed: %s", trace_of(error))

    def again(self, topic: str) -> None:
        """Tell a retained topic once more, as somebody may have missed it; for the hooks, in the line's thread."""
        self._connection.told.pop(topic, None)
