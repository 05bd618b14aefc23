"""HTTPS: one thread decrypts for the web server, which knows no TLS itself.

The thread runs an event loop of the standard library. For each connection to a client (the outer
end) it makes a socket pair. The web server gets one end of the pair at once, and the loop keeps the
other (the inner end). The loop decrypts what comes from the outer end and writes it to the inner
end, and encrypts the other way round. So a client that never starts a handshake is just an idle
connection to the web server.

Programs on this machine may connect without TLS: the table screen in a kiosk, watchdogs, the
command line. Other requests without TLS are redirected to `https`.

The owner may give the table a certificate. Without one the table makes its own, because browsers
allow the camera only on HTTPS pages. Phones do not trust such a certificate, and each shows a
warning once.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from companion.core.errors import SystemTrouble
from companion.core.files import MAX_TEXT_BYTES, expand_path, read_file
from companion.core.i18n import say
from web.security.host_names import parse_host
from web.security.rate_limit import parse_address

# Timeout in seconds for a handshake, or for a request without TLS.
HANDSHAKE_TIMEOUT_S = 10.0
# Timeout in seconds for the end of a TLS connection.
CLOSE_TIMEOUT_S = 2.0
# Maximum number of bytes that are copied at once.
CHUNK_BYTES = 64 * 1024
# Validity of the table's own certificate in days. iPhones accept at most 825 (support.apple.com,
# HT210176).
CERTIFICATE_DAYS = 800
# Age in seconds from which the certificate is renewed when the table starts. This is late, because
# after each renewal every phone shows the warning again. It still leaves 200 days, because a table
# may run for months without a restart.
RENEW_AFTER_S = 600 * 24 * 3600.0
# Timeout in seconds for making a certificate.
OPENSSL_TIMEOUT_S = 30.0
# First byte of a TLS handshake (RFC 8446, 5.1).
_TLS_GREETING = b"\x16"
# Start of an HTTP request without TLS: a line with its path, other headers, and its `Host` header.
_PLAIN_REQUEST = re.compile(
    rb"(?:GET|HEAD) (?P<path>/[\x21-\x7e]*) HTTP/1\.[01]\r\n"
    rb"(?:[^\r\n]+\r\n)*?(?i:host):[ \t]*(?P<host>[^\r\n]+?)[ \t]*\r\n"
)

# Both directions of one connection: the reader and the writer.
StreamPair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class BadCertificate(SystemTrouble):
    """The certificate or its key cannot be used."""

    kind = "certificate"


def certificate_context(certificate: str, key: str) -> ssl.SSLContext:
    """Load a certificate and its key from these files.

    Raises `BadCertificate`, whose message names the file.
    """
    for path in (certificate, key):
        try:
            # try to read it first, because OpenSSL would read a device or a pipe without end
            read_file(path, MAX_TEXT_BYTES)
        except OSError as error:
            why = error.strerror or str(error)
            raise BadCertificate(
                say("{file} of [web] cannot be read: {why}", file=path, why=why)
            ) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # the web server speaks nothing newer
    context.set_alpn_protocols(["http/1.1"])

    def no_password() -> str:
        raise BadCertificate(
            say(
                "{file} of [web] is locked with a password: save it without one, readable only by "
                "the companion",
                file=key,
            )
        )

    try:
        context.load_cert_chain(expand_path(certificate), expand_path(key), no_password)
    except (ssl.SSLError, ValueError):
        raise BadCertificate(
            say(
                "{certificate} and {key} of [web] are not a certificate and its key in PEM format",
                certificate=certificate,
                key=key,
            )
        ) from None
    return context


class NoCertificate(SystemTrouble):
    """The table cannot make a certificate."""

    kind = "certificate"


def own_certificate(folder: Path, hosts: Iterable[str]) -> ssl.SSLContext:
    """Return the TLS context with the table's own certificate, which is made or renewed if needed.

    `hosts` are the names and addresses that phones use. The certificate is renewed only when it is
    old, and not when these change. Raises `NoCertificate` if no certificate can be made, and
    `BadCertificate` if the certificate in the folder is damaged.
    """
    certificate = folder / "own-certificate.pem"
    key = folder / "own-key.pem"
    if not (key.is_file() and _is_fresh(certificate)):
        _make_certificate(certificate, key, hosts)
    return certificate_context(str(certificate), str(key))


def _is_fresh(certificate: Path) -> bool:
    """Return whether the certificate exists and is recent.

    A certificate from the future is not: it was made while the machine's clock was wrong.
    """
    try:
        age_s = time.time() - certificate.stat().st_mtime
    except OSError:
        return False
    return 0 <= age_s < RENEW_AFTER_S


def _make_certificate(certificate: Path, key: Path, hosts: Iterable[str]) -> None:
    names = ",".join(f"{'IP' if parse_address(host) else 'DNS'}:{host}" for host in hosts)
    options = f"-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days {CERTIFICATE_DAYS}"
    command = ["openssl", "req", *options.split(), "-keyout", str(key), "-out", str(certificate)]
    command += ["-subj", "/CN=Tabletop Companion", "-addext", f"subjectAltName={names}"]
    command += ["-addext", "extendedKeyUsage=serverAuth"]
    try:
        # the umask protects the key, because openssl itself writes the file
        subprocess.run(
            command, capture_output=True, check=True, timeout=OPENSSL_TIMEOUT_S, umask=0o077
        )
    except FileNotFoundError:
        raise NoCertificate(
            say("The table cannot make a certificate: sudo apt install openssl")
        ) from None
    except (OSError, subprocess.SubprocessError) as error:
        raise NoCertificate(
            say("The table cannot make a certificate: {error}", error=str(error))
        ) from None


class TlsTerminator:
    """The thread that terminates TLS for one `Server`, which closes it.

    `close` ends all connections and may be called twice.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tls", daemon=True)
        self._thread.start()

    def unwrap(self, outer_end: socket.socket, is_local: bool) -> socket.socket:
        """Return the server's end, with the decrypted data of a connection. Thread-safe.

        `is_local` permits a connection without TLS.
        """
        server_end, inner_end = socket.socketpair()

        def begin() -> None:
            task = self._loop.create_task(self._serve(outer_end, inner_end, is_local))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        try:
            self._loop.call_soon_threadsafe(begin)
        except RuntimeError:  # the loop is closed
            outer_end.close()
            inner_end.close()
        return server_end

    def close(self) -> None:
        """End all connections and the thread."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._cancel_all())
        self._loop.close()

    async def _cancel_all(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the loop closes transports in its next iteration

    async def _serve(
        self, outer_end: socket.socket, inner_end: socket.socket, is_local: bool
    ) -> None:
        """Serve one connection from its first byte to its end."""
        outer_end.setblocking(False)
        ends: list[StreamPair] = []
        try:
            async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
                # a handshake begins with a byte that begins no request without TLS
                is_tls = await self._first_byte(outer_end) == _TLS_GREETING
                ends.append(await self._open_streams(outer_end, self._context if is_tls else None))
                if not is_tls and not is_local:
                    await _send_to_https(*ends[0])
                    return
            ends.append(await asyncio.open_connection(sock=inner_end, limit=CHUNK_BYTES))
            await _relay(*ends)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # The phone has hung up, or was too slow (TimeoutError). Or it speaks no supported TLS,
            # or does not trust the certificate (both SSLError).
            pass
        finally:
            # abort without a TLS shutdown, which would wait for a phone that is gone
            for _, writer in ends:
                # in Python 3.11, a TLS transport that is closed twice raises this error
                with contextlib.suppress(AttributeError):
                    writer.transport.abort()
            if not ends:
                outer_end.close()
            inner_end.close()

    async def _first_byte(self, conn: socket.socket) -> bytes:
        """Wait for the first byte, and return it without taking it out of the connection.

        Return an empty text if the connection ends before.
        """
        ready = self._loop.create_future()
        self._loop.add_reader(conn, _set_ready, ready)
        try:
            await ready
            return conn.recv(1, socket.MSG_PEEK)
        finally:
            self._loop.remove_reader(conn)

    async def _open_streams(
        self, conn: socket.socket, context: ssl.SSLContext | None
    ) -> StreamPair:
        """Return the streams of a connection, after the handshake if it uses TLS."""
        reader = asyncio.StreamReader(limit=CHUNK_BYTES, loop=self._loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self._loop)
        transport, _ = await self._loop.connect_accepted_socket(
            lambda: protocol,
            conn,
            ssl=context,
            ssl_handshake_timeout=HANDSHAKE_TIMEOUT_S if context else None,
            ssl_shutdown_timeout=CLOSE_TIMEOUT_S if context else None,
        )
        return reader, asyncio.StreamWriter(transport, protocol, reader, self._loop)


def _set_ready(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


async def _send_to_https(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Redirect a request without TLS to its `https` address, or refuse it if it has none (400)."""
    head = await reader.readuntil(b"\r\n\r\n")
    url = https_address(head)
    text = b"These pages come by https only.\n"
    lines = [
        b"HTTP/1.1 307 Temporary Redirect" if url else b"HTTP/1.1 400 Bad Request",
        b"Content-Type: text/plain",
        b"Content-Length: %d" % len(text),
        b"Connection: close",
    ]
    if url:
        lines.append(b"Location: " + url)
    writer.write(b"\r\n".join([*lines, b"", text]))
    await writer.drain()
    writer.close()
    await writer.wait_closed()


def https_address(head: bytes) -> bytes:
    """Return the `https` address for a plain request.

    Empty if the request is invalid, or neither GET nor HEAD.

    >>> https_address(b"GET /s?x=1 HTTP/1.1\\r\\nHost: table.local:8443\\r\\n\\r\\n")
    b'https://table.local:8443/s?x=1'
    >>> https_address(b"GET / HTTP/1.1\\nHost: a\\r\\n\\r\\n")
    b''
    """
    request = _PLAIN_REQUEST.match(head)
    if request is None or not parse_host(request["host"].decode("latin-1")):
        return b""
    return b"https://" + request["host"] + request["path"]


async def _relay(outer: StreamPair, inner: StreamPair) -> None:
    """Copy bytes in both directions until one side ends."""
    outer_reader, outer_writer = outer
    inner_reader, inner_writer = inner
    copies = [
        asyncio.ensure_future(_copy(outer_reader, inner_writer)),
        asyncio.ensure_future(_copy(inner_reader, outer_writer)),
    ]
    try:
        # once one side has ended the connection, the other has nobody to talk to
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for copy in copies:
            copy.cancel()
        for writer in (outer_writer, inner_writer):
            writer.close()
        for writer in (outer_writer, inner_writer):
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        await asyncio.gather(*copies, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes in one direction. A receiver that does not read slows down the sender."""
    while chunk := await reader.read(CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()
