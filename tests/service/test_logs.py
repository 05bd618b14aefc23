"""Test where log lines go, which fields they have, and that errors are logged without their words.

The words of an error may contain a player's order, which is secret. systemd's journal is a socket
of the test, and the console is a `StringIO`.
"""

from __future__ import annotations

import io
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion.core.errors import JournalError
from companion.core.log_fields import log_fields
from companion.service import logs
from companion.service.logs import JournalHandler, PlainFormatter, encode_datagram

# The words of an error. The order in them, UDS, must never be logged.
ERROR_WORDS = "the order UDS is not valid"


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """What a program sees of systemd's journal: a socket that takes datagrams."""
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(path))
        receiver.settimeout(60)
        monkeypatch.setattr(JournalHandler.__init__, "__defaults__", (str(path),))
        yield receiver


@pytest.fixture
def root_logger(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """The root logger, restored after the test.

    A test first removes the handlers, which are those of pytest.
    """
    root = logging.getLogger()
    level = root.level
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    yield root
    for handler in [
        handler
        for handler in root.handlers
        if type(handler) in (JournalHandler, logging.StreamHandler)
    ]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    logging.getLogger("waitress").filters.clear()


@pytest.fixture
def console(root_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """The output of a process without systemd, whose log goes to the console."""
    output = io.StringIO()
    monkeypatch.setenv("JOURNAL_STREAM", "")
    monkeypatch.setattr(sys, "stderr", output)
    root_logger.handlers.clear()
    logs.set_up_logging(verbose=False)
    return output


def fields_of(datagram: bytes) -> dict[str, str]:
    """Read a datagram as systemd does.

    A field is either a line `NAME=value`, or a line `NAME`, the value's length in eight bytes, the
    value, and a line end.
    """
    fields = {}
    while datagram:
        line, _, rest = datagram.partition(b"\n")
        name, equals_sign, value = line.partition(b"=")
        if equals_sign:
            datagram = rest
        else:
            length = int.from_bytes(rest[:8], "little")
            value = rest[8 : 8 + length]
            datagram = rest[9 + length :]
        fields[name.decode()] = value.decode()
    return fields


def record(
    message: str, *values: object, level: int = logging.WARNING, **fields: object
) -> logging.LogRecord:
    """Return a log record of the event `slow`, with these fields of its own."""
    log_record = logging.LogRecord(
        "web.routes.health", level, "web/routes/health.py", 1, message, values, None
    )
    log_record.__dict__.update(log_fields("slow", **fields) if fields else {})
    return log_record


def error_record() -> logging.LogRecord:
    """Return the log record of an error whose words contain an order."""
    try:
        raise ValueError(ERROR_WORDS)
    except ValueError:
        return logging.LogRecord(
            "table", logging.ERROR, "x.py", 1, "An input failed", (), sys.exc_info()
        )


def test_a_line_has_its_priority_and_fields() -> None:
    assert fields_of(encode_datagram(record("Took %d ms", 1500, route="/join", seconds=1.5))) == {
        "MESSAGE": "Took 1500 ms",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "tabletop-companion",
        "LOGGER": "web.routes.health",
        "THREAD_NAME": threading.current_thread().name,
        "EVENT": "slow",
        "ROUTE": "/join",
        "SECONDS": "1.5",
    }


def test_priorities_are_those_of_syslog() -> None:
    levels = (10, 20, 25, 30, 40, 50)
    datagrams = [encode_datagram(record("x", level=level)) for level in levels]
    priorities = [fields_of(datagram)["PRIORITY"] for datagram in datagrams]
    # debug, information, information, warning, error, critical
    assert priorities == ["7", "6", "6", "4", "3", "2"]


def test_an_error_is_logged_without_its_words() -> None:
    # The kind of the error and the file of its trace are logged, to both places.
    for text in (
        fields_of(encode_datagram(error_record()))["MESSAGE"],
        PlainFormatter().format(error_record()),
    ):
        assert "ValueError" in text
        assert "test_logs.py" in text
        assert "UDS" not in text


def test_an_error_of_the_system_keeps_its_words() -> None:
    # The words of the operating system contain no secret, and help to find the fault.
    try:
        open("/nowhere/at/all")  # noqa: SIM115 - it never opens
    except OSError:
        log_record = logging.LogRecord(
            "x", logging.ERROR, "x.py", 1, "Not kept", (), sys.exc_info()
        )
    assert (
        PlainFormatter()
        .format(log_record)
        .startswith("ERROR Not kept: No such file or directory\nFileNotFoundError")
    )

    # A `JournalError` is an `OSError`, too, but its words are the program's own.
    journal_error = JournalError("The input D7 could not be saved")
    log_record.exc_info = JournalError, journal_error, None
    assert "D7" not in PlainFormatter().format(log_record)


def test_a_journal_that_takes_nothing_blocks_nobody(journal: socket.socket) -> None:
    # Nobody reads while far more is sent than a socket's buffer holds. The rest is dropped.
    handler = JournalHandler()
    for _ in range(2000):
        handler.handle(record("x" * 1000))
    handler.close()
    assert fields_of(journal.recv(1 << 17))["MESSAGE"] == "x" * 1000

    # A record after the end raises nothing.
    handler.handle(record("after the end"))


def test_a_librarys_malformed_line_is_dropped(
    journal: socket.socket, root_logger: logging.Logger, console: io.StringIO
) -> None:
    # The text has room for two values, a number first. Both the journal and the console drop it, so
    # that the value is not printed.
    malformed = record("%d of %s", ERROR_WORDS)
    handler = JournalHandler()
    handler.handle(malformed)
    handler.handle(record("next"))
    handler.close()
    assert fields_of(journal.recv(1 << 17))["MESSAGE"] == "next"
    root_logger.handle(malformed)
    assert console.getvalue() == ""


# ---- setting up ----------------------------------------------------------------------------------


def imitate_systemd(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variable by which systemd says that standard error goes to its journal."""
    status = os.fstat(2)
    monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")


def test_under_systemd_lines_go_to_its_journal(
    root_logger: logging.Logger, journal: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    imitate_systemd(monkeypatch)
    root_logger.handlers.clear()
    logs.set_up_logging(verbose=False)
    logging.getLogger("table").info("Game %d has begun", 7, extra=log_fields("game_begun", game=7))
    sent = fields_of(journal.recv(1 << 17))
    assert (sent["MESSAGE"], sent["EVENT"], sent["GAME"]) == ("Game 7 has begun", "game_begun", "7")
    logs.set_level("error", verbose=False)
    assert root_logger.level == logging.ERROR


@pytest.mark.parametrize("stream", ["", "1:2", "not:numbers", "7"])
def test_without_systemd_lines_go_to_the_console(
    root_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch, stream: str
) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", stream)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    root_logger.handlers.clear()
    logs.set_up_logging(verbose=False)

    # The level of the settings counts only with `-v`.
    assert root_logger.level == logging.WARNING
    logs.set_level("debug", verbose=False)
    assert root_logger.level == logging.WARNING, "the console must be quiet without -v"
    logs.set_level("debug", verbose=True)
    assert root_logger.level == logging.DEBUG

    # A line has its fields as well.
    logging.getLogger("x").warning("Look", extra=log_fields("look"))
    assert sys.stderr.getvalue() == "WARNING Look event=look\n"  # type: ignore[attr-defined] # it is a StringIO


def test_a_thread_that_dies_is_logged_without_words(console: io.StringIO) -> None:
    def fail() -> None:
        raise ValueError(ERROR_WORDS)

    thread = threading.Thread(target=fail, name="eye")
    thread.start()
    thread.join(60)
    output = console.getvalue()
    assert output.startswith(
        "CRITICAL The thread eye has died event=thread_died of=eye\nValueError\n"
    )
    assert "UDS" not in output


def test_the_web_servers_errors_name_no_address(console: io.StringIO) -> None:
    """An address may contain a code to join the table."""
    try:
        raise ValueError(ERROR_WORDS)
    except ValueError:
        logging.getLogger("waitress").exception("Exception while serving %s", "/join/5ecret")
    assert console.getvalue().startswith("ERROR Exception while serving a page\nValueError\n")
    assert "5ecret" not in console.getvalue()
    assert "UDS" not in console.getvalue()
