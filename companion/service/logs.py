"""Where the log goes: to systemd's journal with fields, or as plain lines to standard error.

No order, key, cookie, body, query or name of a person is ever logged. `log_fields` gives a line its
event and fields: `log.info("Ready", extra=log_fields("ready", seconds=1.2))`. In the journal each
field can be searched: `journalctl -u companion EVENT=game_begun`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import sys
import threading
from collections.abc import Mapping

from companion.core.errors import format_trace
from companion.core.log_fields import log_fields

log = logging.getLogger(__name__)
# Socket of systemd's journal, the log of the machine (not the table's journal of games).
JOURNAL_SOCKET = "/run/systemd/journal/socket"
# Priorities of syslog, by Python's levels.
PRIORITIES = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}
# Maximum size of a value in bytes. Longer text is cut, because a datagram that is too large is
# lost as a whole. Linux accepts datagrams of some 200 kB by default.
MAX_VALUE_BYTES = 60_000

# Name of this program in systemd's journal.
_IDENTIFIER = "tabletop-companion"


class PlainFormatter(logging.Formatter):
    """Formats a record as `WARNING text event=… name=…`.

    The trace of an error follows on its own lines.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of one record."""
        fields = _fields_text(_fields_of(record))
        return f"{record.levelname} {record.getMessage()}{fields}{_format_error(record)}"


class JournalHandler(logging.Handler):
    """Sends each record with its fields to systemd's journal.

    A record that the journal does not accept at once is dropped, so that the log never delays the
    service. Making a handler raises `OSError` if there is no journal.
    """

    def __init__(self, path: str = JOURNAL_SOCKET) -> None:
        super().__init__()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record.

        A record whose arguments do not match its text, as some libraries make them, is dropped.
        """
        with contextlib.suppress(OSError, TypeError, ValueError):
            self._socket.send(encode_datagram(record))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
        super().close()


def encode_datagram(record: logging.LogRecord) -> bytes:
    """Return a record in the native protocol of systemd's journal.

    Each field is a line `NAME=value` of the datagram. If the value has several lines, the name
    stands on a line of its own, then come the value's length as eight bytes, and the value
    (systemd.io/JOURNAL_NATIVE_PROTOCOL).
    """
    message = f"{record.getMessage()}{_format_error(record)}"
    fields = {name.upper(): str(value) for name, value in _fields_of(record).items()}
    lines = {
        "MESSAGE": message,
        "PRIORITY": str(PRIORITIES.get(record.levelno, 6)),
        "SYSLOG_IDENTIFIER": _IDENTIFIER,
        "LOGGER": record.name,
        "THREAD_NAME": record.threadName or "",
        **fields,
    }
    return b"".join(_encode_field(name, value) for name, value in lines.items())


def _format_error(record: logging.LogRecord) -> str:
    """Return the trace of a record's error. Empty if the record has no error.

    The error's message is included only if it comes from the operating system. Any other message
    might contain a player's order, which is secret.
    """
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return ""
    message = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
    return f"{message}\n{format_trace(error).rstrip()}"


def _encode_field(name: str, value: str) -> bytes:
    text = value.encode(errors="replace")[:MAX_VALUE_BYTES]
    if b"\n" in text:
        return b"%b\n%b%b\n" % (name.encode(), len(text).to_bytes(8, "little"), text)
    return b"%b=%b\n" % (name.encode(), text)


def _fields_of(record: logging.LogRecord) -> Mapping[str, object]:
    fields = getattr(record, "log_fields", None)
    return fields if isinstance(fields, dict) else {}


def _fields_text(fields: Mapping[str, object]) -> str:
    return "".join(f" {name}={_value_text(value)}" for name, value in fields.items())


def _value_text(value: object) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    needs_quotes = not text or " " in text or '"' in text
    return '"' + text.replace('"', "'") + '"' if needs_quotes else text


def logs_to_journal() -> bool:
    """Return whether standard error goes to systemd's journal.

    In that case systemd has set `JOURNAL_STREAM` to the device and inode of standard error
    (systemd.exec(5)).
    """
    device, _, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        status = os.fstat(2)  # standard error
        return (int(device), int(inode)) == (status.st_dev, status.st_ino)
    except (OSError, ValueError):
        return False


def set_up_logging(verbose: bool) -> None:
    """Set up logging, before anything is logged. A second call does nothing."""
    root = logging.getLogger()
    if root.handlers:
        return  # already set up
    handler: logging.Handler | None = None
    if logs_to_journal():
        # If the journal's socket cannot be used, the plain lines on standard error reach it, too.
        with contextlib.suppress(OSError):
            handler = JournalHandler()
    if handler is None:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(PlainFormatter())
    root.addHandler(handler)
    # If True, Python would print each record that it fails to write, secrets included, to standard
    # error.
    logging.raiseExceptions = False
    root.setLevel(logging.INFO if verbose or logs_to_journal() else logging.WARNING)
    logging.getLogger("waitress").addFilter(_without_path)
    threading.excepthook = _log_thread_death


def _without_path(record: logging.LogRecord) -> bool:
    """Remove the address of a failed request from a record of the web server.

    The address may contain a code. The trace of the error stays in the record.
    """
    if record.args and record.exc_info:
        record.args = ("a page",)
    return True


def _log_thread_death(death: threading.ExceptHookArgs) -> None:
    """Log an uncaught error that has ended a thread, without its message (see `_format_error`)."""
    if death.exc_value is None or death.exc_type is SystemExit:
        return
    name = death.thread.name if death.thread else "?"
    error = (death.exc_type, death.exc_value, death.exc_traceback)
    log.critical(
        "The thread %s has died", name, exc_info=error, extra=log_fields("thread_died", of=name)
    )


def set_level(level: str, verbose: bool) -> None:
    """Set the log level, for systemd's journal and for a verbose console.

    Any other console only gets warnings.

    :param level: the setting `[log] level`
    """
    if verbose or logs_to_journal():
        logging.getLogger().setLevel(level.upper())
