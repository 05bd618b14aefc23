"""Requests from a command to the companion that runs on this machine, and `companion host-key`.

A request with the owner key (`host` in names and addresses) may do what the owner may do on a page.
The key is in the journal, so only somebody who may read the journal can send such a request.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from companion.cli.options import PORT, SETTINGS, argument, command, settings_from_options
from companion.core.config import Settings
from companion.core.errors import JournalInUse, SystemTrouble
from companion.core.network import format_host_key
from companion.diagnostics.own_pages import local_base_url, send_request
from companion.storage.journal import Journal


def ask_running(settings: Settings, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Send a request with the owner key to the running companion. Return the JSON of its answer.

    Raises `SystemTrouble` if the companion refuses or does not answer.
    """
    key = read_owner_key(settings)
    try:
        status, content = send_request(local_base_url(settings.web), path, key, body)
        answer: dict[str, Any] = json.loads(content)
    except (OSError, ValueError):
        raise SystemTrouble(
            f"No companion answers on port {settings.web.port}: start it, or name its port with "
            "--port"
        ) from None
    if status != 200:
        raise SystemTrouble(f"The companion that is running refuses: {parse_refusal(content)}")
    return answer


def parse_refusal(content: bytes) -> str:
    """Return the message in the answer to a refused request.

    An answer that is not JSON has no message. Then return where to look instead.
    """
    try:
        return str(json.loads(content)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return "its log says more"


@command(
    "host-key",
    "show the owner key, or change it",
    *SETTINGS,
    argument(
        "--new",
        action="store_true",
        help="make a new key: everybody has to enter it to be the owner again",
    ),
    PORT,
)
def host_key(options: argparse.Namespace) -> None:
    settings = settings_from_options(options)
    key = read_owner_key(settings)
    if options.new:
        # While a companion runs, only it may write the journal. So ask it to make the key.
        try:
            with Journal(settings.journal_path) as journal:
                key = format_host_key(journal.renew_key("host"))
        except JournalInUse:
            key = str(ask_running(settings, "/api/host/new-key", {})["host_key"])
    print(key)


def read_owner_key(settings: Settings) -> str:
    """Return the owner key of the installation. The service may be running."""
    with Journal(settings.journal_path, read_only=True) as journal:
        return format_host_key(journal.key("host"))
