"""`companion host-key`: what a person types to become the host, and another one in its place."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from companion.cli.running import ask_running
from companion.core.config import Settings, WebSettings
from companion.core.errors import JournalInUse
from companion.core.network import host_key_text
from companion.storage.journal import Journal


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
        "--new", action="store_true", help="make a new key: everybody has to enter it to be the host again"
    )
    command.add_argument("--port", type=port, help="port of the running companion, if not the one in the settings")
    command.set_defaults(run=lambda options: _host_key(options, settings_of(options)))


def _host_key(options: argparse.Namespace, settings: Settings) -> int:
    path = settings.journal_path
    with Journal(path, read_only=True) as journal:
        now = host_key_text(journal.key("host"))
    if options.new:
        try:
            with Journal(path) as journal:
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
