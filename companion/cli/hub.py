"""`companion hub`: runs a hub for many tables on this machine. `hub join` and `hub leave` connect
this table to a hub.

`hub offer` and `hub play` start one game at two tables of a hub. Tournaments are made on the hub's
pages.
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
    Commands,
    add_command,
    add_port_of_running,
    number,
    port,
    settings_of,
)
from companion.cli.running import ask_running, refusal_in
from companion.core.config import WebSettings, require_web
from companion.core.errors import ConfigError, JournalInUse, SystemTrouble
from companion.core.i18n import LANGUAGES
from companion.core.kit import SEATS, Seat
from companion.core.network import host_key_text, shown_code
from companion.core.resources import save_memory
from companion.diagnostics.own_pages import IS_HUB, ask_address
from companion.storage.journal import Journal

PORT, NATS_PORT = 8500, 4222
FOLDER = "~/.local/share/tabletop-hub"
COLLECT_S = 600.0
"""Interval in seconds of full garbage collections. One takes 100 ms or more, during which the hub
serves no table.
"""
SWITCH_S = 0.0005
"""Switch interval of Python's threads in seconds. It is short, so that a thread with something to
send need not wait long for one that draws.
"""


def add_hub(commands: Commands) -> None:
    """Add `companion hub` with its options, and its subcommands for a table."""
    about = "run a hub of many tables; hub join, hub leave: of this table"
    hub = add_command(commands, "hub", _run, about)
    add_folder(hub)
    add = hub.add_argument
    add("--name", help="what the room is called")
    add("--host", default="0.0.0.0", help="address to listen on")
    add("--port", type=port, default=PORT, help=f"port of the pages (as delivered {PORT})")
    add("--nats-port", type=port, default=NATS_PORT, help=f"port for tables ({NATS_PORT})")
    add("--names", action="append", default=[], metavar="NAME", help="further names of the pages")
    add(
        "--proxies", action="append", default=[], metavar="ADDRESS", help="proxies in front of them"
    )
    add("--path", default="", metavar="PATH", help="under which a proxy shows them, such as /hub")
    add("--viewers", type=int, default=1000, metavar="N", help="spectators at once")
    delay = number("delay in seconds", 0, 3600, float)
    add("--delay", type=delay, metavar="SECONDS", help="how much later spectators see everything")
    add("--language", choices=("auto", *LANGUAGES), default="auto", help="of the wall")
    # NATS would take 0 as no limit
    megabytes = number("size in megabytes", 64, 1_000_000)
    about = "so much of the disk for what tables say"
    add("--keep-mb", type=megabytes, default=2048, metavar="N", help=about)
    add("--certificate", default="", metavar="FILE", help="PEM file, for HTTPS and TLS")
    add("--key", default="", metavar="FILE", help="its key")
    parts = hub.add_subparsers(metavar="COMMAND")
    _add_membership(parts)
    _add_pairing(parts)
    let_in = add_command(parts, "let-in", _let_in, "let a table in that has joined")
    let_in.add_argument("number", type=int, help="of the table, as the wall shows it")
    key = add_command(parts, "host-key", _host_key, "show the key of the hub's host")
    for part in (let_in, key):
        add_folder(part)


def add_folder(command: argparse.ArgumentParser) -> None:
    """Add `--folder`."""
    about = "where the hub keeps all"
    command.add_argument("--folder", type=Path, default=Path(FOLDER), metavar="DIR", help=about)


def _add_membership(parts: Commands) -> None:
    """Add the commands by which a table joins a hub and leaves it."""
    about = "let this table join a hub, by the code on the hub's screen"
    join = add_command(parts, "join", _join, about, has_settings=True)
    join.add_argument("address", help="of the hub's pages, such as hub.local:8500")
    join.add_argument("code", help="on the hub's screen")
    join.add_argument("--names", action="store_true", help="show the players' names at the hub")
    join.add_argument(
        "--ca", default="", metavar="FILE", help="the certificate that the hub's is signed by"
    )
    leave = add_command(parts, "leave", _leave, "let this table leave its hub", has_settings=True)
    for part in (join, leave):
        add_port_of_running(part)


def _add_pairing(parts: Commands) -> None:
    """Add the commands for a game at two tables."""
    about = "offer a game for two tables; answers a code for the other host"
    offer = add_command(parts, "offer", _offer, about, has_settings=True)
    offer.add_argument(
        "game", help="such as outbuffered; with the options with which it was started here last"
    )
    offer.add_argument(
        "--seat",
        choices=[*map(str, SEATS)],
        default=Seat.SOUTH,
        help="the side played here (south)",
    )
    about = "play the game that another table offers"
    play = add_command(parts, "play", _play, about, has_settings=True)
    play.add_argument("code", help="that the other host was told")
    about = "name that the other table sees"
    for part in (offer, play):
        part.add_argument("--player", default="", metavar="NAME", help=about)
    withdraw = add_command(
        parts, "withdraw", _withdraw, "offer no game any more", has_settings=True
    )
    for part in (offer, play, withdraw):
        add_port_of_running(part)


def _run(options: argparse.Namespace) -> None:
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
        keep_mb=options.keep_mb,
        language=options.language,
    )
    save_memory()  # before a thousand threads start
    sys.setswitchinterval(SWITCH_S)
    over = threading.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda *_: over.set())
    with Hub(settings) as hub:
        wall, code = hub.urls()[0], hub.door.code
        place = wall.split("//")[1].rstrip("/")
        print(f"The wall:  {wall}")
        print("Host key:  companion hub host-key")  # the key itself would stay in a log
        print(f"Code to join:  {shown_code(code)}  (for one table; the wall shows the next one)")
        print(f"On each table:  companion hub join {place} {code}")
        print("Ctrl-C ends the hub.", flush=True)
        # Cyclic garbage is collected rarely: objects of an event are freed with their last
        # reference.
        gc.freeze()
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, 1_000_000)
        while not over.wait(COLLECT_S):
            gc.collect()


def _web_settings(options: argparse.Namespace) -> WebSettings:
    """Return the settings of the hub's pages. Raises `ConfigError` for options that do not fit."""
    fields = {name: value for name, value in vars(options).items() if name in WEB_FIELDS}
    try:
        web = msgspec.convert(fields, WebSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(str(error)) from None
    require_web(web, "companion hub")
    return web


WEB_FIELDS = ("host", "port", "viewers", "names", "proxies", "path", "certificate", "key")
"""Options that are settings of the pages."""


def _host_key(options: argparse.Namespace) -> None:
    from companion.hub_server.folder import existing_folder  # noqa: PLC0415 - brings what only a hub needs

    print(host_key_text(existing_folder(options.folder).now.host_key))


def _let_in(options: argparse.Namespace) -> None:
    """Ask the hub on this machine to admit a table. Raises `SystemTrouble`."""
    from companion.hub_server.folder import ADDRESS_FILE, existing_folder  # noqa: PLC0415 - brings what only a hub needs

    folder = existing_folder(options.folder)
    key = host_key_text(folder.now.host_key)
    body = {"number": options.number}
    try:
        address = (folder.folder / ADDRESS_FILE).read_text().strip()
        status, content = ask_address(address, IS_HUB, "/api/hub/let-in", key, body)
    except OSError:
        raise SystemTrouble(
            "The hub does not run on this machine: start it with companion hub"
        ) from None
    if status != 200:
        raise SystemTrouble(f"The hub refuses: {refusal_in(content)}")
    print(f"Table {options.number} is let in.")


def _join(options: argparse.Namespace) -> None:
    from companion.hub.joining import join_with  # noqa: PLC0415 - brings what only a hub needs
    from companion.hub.membership import membership_path, write_membership  # noqa: PLC0415

    settings, address, code = settings_of(options), options.address, options.code
    # the running companion may have another working directory
    ca = str(Path(options.ca).expanduser().resolve()) if options.ca else ""
    try:
        with Journal(settings.journal_path) as journal:
            member = join_with(journal, address, code, names=options.names, ca=ca)
            write_membership(membership_path(settings), member)
    except JournalInUse:
        wish = {"address": address, "code": code, "names": options.names, "ca": ca}
        ask_running(settings, "/api/host/hub/join", wish)
        print("This table has joined the hub; its host has to let it in.")
    else:
        print(
            f"This table has joined the hub as number {member.number}; it sends once the hub's "
            "host has let it in."
        )


def _leave(options: argparse.Namespace) -> None:
    settings = settings_of(options)
    try:
        with Journal(settings.journal_path):
            settings.journal_path.with_name("hub.json").unlink(missing_ok=True)
    except JournalInUse:
        ask_running(settings, "/api/host/hub/leave", {})
    print("This table belongs to no hub.")


def _offer(options: argparse.Namespace) -> None:
    wish = {"game": options.game, "seat": options.seat, "name": options.player}
    code = ask_running(settings_of(options), "/api/host/hub/offer", wish)["code"]
    print(f"Code for the other host:  {shown_code(code)}")
    print(f"There:  companion hub play {code}")


def _play(options: argparse.Namespace) -> None:
    wish = {"code": options.code, "name": options.player}
    ask_running(settings_of(options), "/api/host/hub/take", wish)
    print("The game begins at both tables.")


def _withdraw(options: argparse.Namespace) -> None:
    ask_running(settings_of(options), "/api/host/hub/withdraw", {})
    print("No game is offered any more.")
