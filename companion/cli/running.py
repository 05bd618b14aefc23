"""How a command asks the companion that is running on this machine, and `companion host-key`."""

from __future__ import annotations

import argparse
import http.client
import json
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from companion.core.config import Settings, WebSettings
from companion.core.errors import JournalInUse, SystemTrouble
from companion.core.network import from_here, host_key_text
from companion.storage.journal import Journal

ANSWERS_S = 20.0


def ask_running(web: WebSettings, key: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Ask something of the companion that is running.

    Return its JSON. Raises `SystemTrouble` where it refuses.
    """
    host = from_here(web.host)
    line: http.client.HTTPConnection
    if web.certificate and host not in ("127.0.0.1", "::1", "localhost"):
        # This machine itself, whatever name its certificate bears.
        line = http.client.HTTPSConnection(
            host,
            web.port,
            timeout=ANSWERS_S,
            context=ssl._create_unverified_context(),
        )
    else:
        line = http.client.HTTPConnection(host, web.port, timeout=ANSWERS_S)
    refused = ""
    answer: dict[str, Any] = {}
    try:
        line.request("GET", "/health")
        # whatever else listens there is not told the key
        float(json.loads(line.getresponse().read())["uptime_s"])
        headers = {"Content-Type": "application/json", "X-Host-Key": key}
        line.request("POST", path, json.dumps(body).encode(), headers)
        response = line.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            refused = str(answer["error"]["message"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        raise SystemTrouble(
            f"A companion is running, but does not answer on port {web.port}: name its port with --port"
        ) from None
    finally:
        line.close()
    if refused:
        raise SystemTrouble(f"The companion that is running refuses: {refused}")
    return answer


def add_host_key(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_of: Callable[[argparse.Namespace], Settings],
    port: Callable[[str], int],
) -> None:
    """Add `companion host-key` with its options."""
    command = commands.add_parser("host-key", help="show the host key, or change it")
    add_settings(command)
    command.add_argument(
        "--new",
        action="store_true",
        help="make a new key: everybody has to enter it to be the host again",
    )
    command.add_argument(
        "--port", type=port, help="port of the running companion, if not the one in the settings"
    )
    command.set_defaults(run=lambda options: _host_key(options, settings_of(options)))


def _host_key(options: argparse.Namespace, settings: Settings) -> int:
    now = host_key_of(settings)
    if options.new:
        try:
            with Journal(settings.journal_path) as journal:
                now = host_key_text(journal.renew_key("host"))
        except JournalInUse:
            now = change_running(settings.web, now)
    print(now)
    return 0


def change_running(web: WebSettings, key: str) -> str:
    """Have the companion that is running change its host key.

    Return the new one. Raises `SystemTrouble`.
    """
    return str(ask_running(web, key, "/api/host/new-key", {})["host_key"])


def host_key_of(settings: Settings) -> str:
    """Return the host key of the installation, also beside a running service."""
    with Journal(settings.journal_path, read_only=True) as journal:
        return host_key_text(journal.key("host"))
