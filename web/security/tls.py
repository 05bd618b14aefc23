"""HTTPS with an own certificate: one thread unwraps connections and hands what is inside to the web server.

The web server knows no TLS, so the standard library's event loop speaks it: of every connection it keeps the outer end
and gives the server one end of a pair of sockets. The machine itself may still ask without TLS (the table screen in a
kiosk, watchdogs, the command line); anybody else who does is sent to the `https` address.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

from companion.core.errors import SystemTrouble
from companion.core.files import MAX_TEXT, expanded, read_file
from companion.core.i18n import say
from web.security.host_names import asked_host
from web.security.rate_limit import OWN_ADDRESSES

HANDSHAKE_S = 10.0
"""So long a phone may take to shake hands, or to ask without TLS."""
CLOSE_S = 2.0
PIECE = 64 * 1024
_TLS_HELLO = b"\x16"
_ASKED = re.compile(rb"(?:GET|HEAD) (/[!-~]*) HTTP/1\.[01]\r\n")
_HOSTS = re.compile(rb"\r\nhost[ \t]*:[ \t]*([^\r\n]*?)[ \t]*(?=\r\n)", re.IGNORECASE)

Address = tuple[Any, ...]
HandOver = Callable[[socket.socket, Address, str, bool], None]
"""Gives the web server a connection: its socket, whose it is, the own address, and whether it came by TLS."""


class BadCertificate(SystemTrouble):
    """The certificate or its key cannot be used."""

    kind = "certificate"


def certificate_context(certificate: str, key: str) -> ssl.SSLContext:
    """How connections are secured with two PEM files; raises `BadCertificate` that says which one is wrong and why."""
    for path in (certificate, key):
        try:
            read_file(path, MAX_TEXT)  # OpenSSL would read whatever has this name, and for ever
        except OSError as error:
            why = error.strerror or str(error)
            raise BadCertificate(say("{file} of [web] cannot be read: {why}", file=path, why=why)) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])

    def no_password() -> str:
        raise BadCertificate(
            say(
                "{file} of [web] is locked with a password: save it without one, readable only by the companion",
                file=key,
            )
        )

    try:
        context.load_cert_chain(expanded(certificate), expanded(key), no_password)
    except (ssl.SSLError, ValueError):
        raise BadCertificate(
            say(
                "{certificate} and {key} of [web] are not a certificate and its key in PEM format",
                certificate=certificate,
                key=key,
            )
        ) from None
    return context


class TlsListener:
    """The thread that speaks TLS; `close` ends all connections and may be called twice.

    `hand_over` is called in that thread, `turn_away` with the address of whoever did not get in.
    """

    def __init__(self, context: ssl.SSLContext, hand_over: HandOver, turn_away: Callable[[str], None]) -> None:
        self._context = context
        self._hand_over = hand_over
        self._turn_away = turn_away
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="tls", daemon=True)
        self._thread.start()

    def welcome(self, conn: socket.socket, address: Address, own_address: str) -> None:
        """Somebody has connected; from any thread."""

        def begin() -> None:
            task = self._loop.create_task(self._serve(conn, address, own_address))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        try:
            self._loop.call_soon_threadsafe(begin)
        except RuntimeError:  # closed
            conn.close()
            self._turn_away(address[0])

    def close(self) -> None:
        """End every connection and the thread."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the next round

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _serve(self, conn: socket.socket, address: Address, own_address: str) -> None:
        """One connection from its first byte to its end."""
        conn.setblocking(False)
        is_in = False
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                first = await self._peek(conn)
                if first != _TLS_HELLO:
                    if address[0] in OWN_ADDRESSES:
                        self._hand_over(conn, address, own_address, False)
                        is_in = True
                    elif first:
                        await self._send_away(conn)
                    return
                outer = await self._secured(conn)
            with contextlib.ExitStack() as unless_in:
                unless_in.callback(outer[1].transport.abort)
                near, far = socket.socketpair()
                unless_in.callback(near.close)
                unless_in.callback(far.close)
                inner = await asyncio.open_connection(sock=far, limit=PIECE)
                unless_in.callback(inner[1].transport.abort)
                self._hand_over(near, address, own_address, True)
                unless_in.pop_all()
            is_in = True
            await _join(outer, inner)
        except (OSError, ssl.SSLError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a phone that hangs up, speaks no TLS that we know, or does not trust the certificate
        finally:
            if not is_in:
                conn.close()
                self._turn_away(address[0])

    async def _peek(self, conn: socket.socket) -> bytes:
        """The first byte, left where it is; empty: there will be none."""
        ready = self._loop.create_future()
        self._loop.add_reader(conn, _happened, ready)
        try:
            await ready
            return conn.recv(1, socket.MSG_PEEK)
        finally:
            self._loop.remove_reader(conn)

    async def _secured(self, conn: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The connection without its wrapping, once hands are shaken."""
        reader = asyncio.StreamReader(limit=PIECE, loop=self._loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self._loop)
        transport, _ = await self._loop.connect_accepted_socket(
            lambda: protocol,
            conn,
            ssl=self._context,
            ssl_handshake_timeout=HANDSHAKE_S,
            ssl_shutdown_timeout=CLOSE_S,
        )
        return reader, asyncio.StreamWriter(transport, protocol, reader, self._loop)

    async def _send_away(self, conn: socket.socket) -> None:
        """Answer a request without TLS by the address to ask instead."""
        reader, writer = await asyncio.open_connection(sock=conn, limit=PIECE)
        try:
            asked = await reader.readuntil(b"\r\n\r\n")
            path, hosts = _ASKED.match(asked), _HOSTS.findall(asked)
            if path and len(hosts) == 1 and asked_host(hosts[0].decode("latin-1")):
                head = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: https://" + hosts[0] + path[1]
            else:
                head = b"HTTP/1.1 400 Bad Request"
            text = b"These pages come by https only.\n"
            kind = b"\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(text)
            writer.write(head + kind + text)
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        finally:
            writer.transport.abort()  # at once: the number of the socket belongs to the next connection


def _happened(what: asyncio.Future[None]) -> None:
    if not what.done():
        what.set_result(None)


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _join(one: Ends, other: Ends) -> None:
    """Carry bytes both ways until one side has ended."""
    ways = [asyncio.ensure_future(_carry(one[0], other[1])), asyncio.ensure_future(_carry(other[0], one[1]))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        for _, writer in (one, other):
            writer.close()
        for _, writer in (one, other):
            with contextlib.suppress(OSError, ssl.SSLError, TimeoutError):
                await writer.wait_closed()
        await asyncio.gather(*ways, return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry bytes one way; a side that does not read holds the other one back."""
    while piece := await reader.read(PIECE):
        writer.write(piece)
        await writer.drain()
