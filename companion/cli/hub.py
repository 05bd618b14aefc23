"""`companion hub` runs a hub, the machine that follows many tables.

Its pages are for a screen on the wall, for spectators and for tournaments. `hub join` and `hub
leave` connect this table to a hub. A game at two tables is made on the tables' own pages.
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import threading
from pathlib import Path

import msgspec

from companion.cli.options import (
    PORT,
    SETTINGS,
    add_commands,
    argument,
    command,
    number_type,
    port_type,
    settings_from_options,
)
from companion.cli.running import ask_running
from companion.core.config import WebSettings, require_valid_web
from companion.core.errors import ConfigError, SystemTrouble
from companion.core.i18n import LANGUAGES
from companion.core.network import format_code, format_host_key
from companion.core.resources import tune_allocator

# Port of the hub's pages. It is not the port of a table (8080), so that both can run on a machine.
PAGES_PORT = 8500
# Port for tables: the usual one of NATS.
NATS_PORT = 4222
# Maximum number of spectators at once, as measured (docs/measurements.md).
MAX_SPECTATORS = 1000
# Options of the command that are also fields of `WebSettings`, the settings of the pages.
WEB_FIELDS = ("host", "port", "names", "proxies", "path", "certificate", "key")

FOLDER = argument(
    "--folder",
    type=Path,
    default=Path("~/.local/share/tabletop-hub"),
    metavar="DIR",
    help="folder in which the hub stores everything",
)
# Interval in seconds between two full garbage collections. A collection takes 100 ms or more,
# during which the hub serves no table.
COLLECTION_INTERVAL_S = 600.0
# Interval in seconds after which Python switches between threads. It is shorter than Python's own 5
# ms, so that a thread that has something to send need not wait long for a thread that draws.
THREAD_SWITCH_INTERVAL_S = 0.0005


def _add_subcommands(parser: argparse.ArgumentParser) -> None:
    """Add the commands of a table, and `host-key` for the hub of this machine."""
    add_commands(parser, (join, leave, host_key))


@command(
    "hub",
    "run a hub of many tables, or connect this table to one (hub join, hub leave)",
    FOLDER,
    argument("--name", help="name of the room"),
    argument("--host", default="0.0.0.0", help="address to listen on"),
    argument(
        "--port",
        type=port_type,
        default=PAGES_PORT,
        help=f"port of the pages ({PAGES_PORT})",
    ),
    argument(
        "--nats-port", type=port_type, default=NATS_PORT, help=f"port for tables ({NATS_PORT})"
    ),
    argument(
        "--names",
        action="append",
        default=[],
        metavar="NAME",
        help="further host name of the pages",
    ),
    argument(
        "--proxies",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="address of a proxy in front of the pages",
    ),
    argument(
        "--path",
        default="",
        metavar="PATH",
        help="path under which a proxy shows the pages, such as /hub",
    ),
    argument(
        "--delay",
        type=number_type("delay in seconds", 0, 3600),
        metavar="SECONDS",
        help="delay with which spectators see everything",
    ),
    argument(
        "--language", choices=("auto", *LANGUAGES), default="auto", help="language of the wall"
    ),
    argument("--certificate", default="", metavar="FILE", help="PEM file, for HTTPS and TLS"),
    argument("--key", default="", metavar="FILE", help="PEM file with the key of the certificate"),
    _add_subcommands,
)
def hub(options: argparse.Namespace) -> None:
    """Run a hub until SIGINT or SIGTERM."""
    try:
        from companion.hub_server.app import Hub  # noqa: PLC0415 - brings what only a hub needs
        from companion.hub_server.folder import HubSettings  # noqa: PLC0415
    except ImportError:
        raise SystemTrouble(
            "The programs for a hub are not installed: pip install 'tabletop-companion[hub]'"
        ) from None
    settings = HubSettings(
        folder=options.folder.expanduser(),
        web=_web_settings(options),
        name=options.name,
        delay_s=options.delay,
        nats_host=options.host,
        nats_port=options.nats_port,
        language=options.language,
    )
    tune_allocator()  # before a thousand threads start
    sys.setswitchinterval(THREAD_SWITCH_INTERVAL_S)
    end = threading.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: end.set())
    with Hub(settings) as running_hub:
        wall_url = running_hub.urls()[0]
        code = running_hub.table_join_code.code
        address = wall_url.split("//")[1].rstrip("/")
        print(f"The wall:  {wall_url}")
        print("Owner key:  companion hub host-key")  # the key itself would stay in a log
        print(f"Code to join:  {format_code(code)}  (for one table; the wall shows the next one)")
        print(f"On each table:  companion hub join {address} {code}")
        print("Ctrl-C ends the hub.", flush=True)
        _wait_with_rare_collections(end)


def _wait_with_rare_collections(end: threading.Event) -> None:
    """Wait for `end`, and run full garbage collections only every `COLLECTION_INTERVAL_S`.

    That is often enough: most objects are freed with their last reference, without a collection.
    """
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 1_000_000)
    while not end.wait(COLLECTION_INTERVAL_S):
        gc.collect()


def _web_settings(options: argparse.Namespace) -> WebSettings:
    """Return the settings of the hub's pages. Raises `ConfigError` for options that do not fit."""
    fields = {name: getattr(options, name) for name in WEB_FIELDS}
    try:
        web = msgspec.convert(fields | {"viewers": MAX_SPECTATORS}, WebSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from None
    require_valid_web(web, "companion hub")
    return web


@command("host-key", "show the key of the hub's owner", FOLDER)
def host_key(options: argparse.Namespace) -> None:
    """Print the owner key of the hub on this machine."""
    from companion.hub_server.folder import open_existing_folder  # noqa: PLC0415 - brings what only a hub needs

    print(format_host_key(open_existing_folder(options.folder).file.owner_key))


@command(
    "join",
    "let this table join a hub, by the code on the hub's screen",
    *SETTINGS,
    argument("address", help="address of the hub's pages, such as hub.local:8500"),
    argument("code", help="code on the hub's screen"),
    argument("--names", action="store_true", help="show the players' names at the hub"),
    argument(
        "--ca",
        default="",
        metavar="FILE",
        help="certificate of the authority that signed the hub's",
    ),
    PORT,
)
def join(options: argparse.Namespace) -> None:
    """Ask the running companion to join a hub."""
    body = {
        "address": options.address,
        "code": options.code,
        "names": options.names,
        # The path is made absolute, because the running companion may have another working
        # directory.
        "ca": str(Path(options.ca).expanduser().resolve()) if options.ca else "",
    }
    ask_running(settings_from_options(options), "/api/host/hub/join", body)
    print("This table has joined the hub. The hub's owner still has to admit it.")


@command("leave", "let this table leave its hub", *SETTINGS, PORT)
def leave(options: argparse.Namespace) -> None:
    """Ask the running companion to leave its hub."""
    ask_running(settings_from_options(options), "/api/host/hub/leave", {})
    print("This table belongs to no hub.")
