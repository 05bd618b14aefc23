"""`companion hub`: a hub of many tables on this machine, and this table's way to one: `hub join`, `hub leave`.

`hub offer` and `hub play` begin one game at two tables of a hub.
`hub tournament` and `hub export` are in `league.py`.
"""

from __future__ import annotations

import argparse
import gc
import ipaddress
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from companion.cli.hub.league import add_league
from companion.cli.running import ask_running, host_key_of
from companion.core.config import Settings, WebSettings, is_page_path
from companion.core.errors import JournalInUse, SystemTrouble
from companion.core.i18n import LANGUAGES
from companion.core.kit import SEATS, Seat
from companion.core.network import host_key_text, shown_code
from companion.core.resources import save_memory
from companion.storage.journal import Journal

FOLDER = "~/.local/share/tabletop-hub"
PORT, NATS_PORT = 8500, 4222
MIN_MB, MOST_MB = 64, 1_000_000
"""For what tables say. 0 would be no bound at all to NATS."""
COLLECT_S = 600.0
"""All objects are gone through so often for garbage: for 100 ms and more nobody hears the tables meanwhile."""
SWITCH_S = 0.0005
"""So soon a thread that draws lets another one on that has something to send."""


def _delay(text: str) -> float:
    try:
        if 0 <= (seconds := float(text)) <= 3600:
            return seconds
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a delay: give seconds from 0 to 3600")


def _megabytes(text: str) -> int:
    if text.isdecimal() and MIN_MB <= (megabytes := int(text)) <= MOST_MB:
        return megabytes
    raise argparse.ArgumentTypeError(
        f"{text!r} is not an amount: give megabytes from {MIN_MB} to {MOST_MB:,}"
    )


def add_hub(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_settings: Callable[[argparse.ArgumentParser], None],
    settings_of: Callable[[argparse.Namespace], Settings],
    port: Callable[[str], int],
) -> None:
    """Add `companion hub` with its options, and its commands for a table."""
    command = commands.add_parser(
        "hub", help="run a hub of many tables; hub join, hub leave: of this table"
    )
    _add_hub_options(command, port)
    parts = command.add_subparsers(metavar="COMMAND")
    for part in (*_add_membership(parts, settings_of), *_add_pairing(parts, settings_of)):
        add_settings(part)
        part.add_argument(
            "--port",
            type=port,
            help="port of the running companion, if not the one in the settings",
        )
    add_league(parts, Path(FOLDER))
    key = parts.add_parser("host-key", help="show the key of the hub's host")
    key.add_argument(
        "--folder", type=Path, default=Path(FOLDER), metavar="DIR", help="where the hub keeps all"
    )
    key.set_defaults(run=_print_host_key)


def _add_hub_options(command: argparse.ArgumentParser, port: Callable[[str], int]) -> None:
    """Add what the hub itself takes."""
    add = command.add_argument
    add("--folder", type=Path, default=Path(FOLDER), metavar="DIR", help="where the hub keeps all")
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
    add("--delay", type=_delay, metavar="SECONDS", help="how much later spectators see everything")
    add("--language", choices=("auto", *LANGUAGES), default="auto", help="of the wall")
    add(
        "--keep-mb",
        type=_megabytes,
        default=2048,
        metavar="N",
        help="so much of the disk for what tables say",
    )
    add("--certificate", default="", metavar="FILE", help="PEM file, for HTTPS and TLS")
    add("--key", default="", metavar="FILE", help="its key")
    command.set_defaults(run=_run)


def _add_membership(
    parts: Any, settings_of: Callable[[argparse.Namespace], Settings]
) -> Iterator[Any]:
    """Yield the commands by which a table joins a hub and leaves it."""
    join = parts.add_parser(
        "join", help="let this table join a hub, by the code on the hub's screen"
    )
    join.add_argument("address", help="of the hub's pages, such as hub.local:8500")
    join.add_argument("code", help="on the hub's screen")
    join.add_argument("--names", action="store_true", help="show the players' names at the hub")
    join.add_argument(
        "--ca", default="", metavar="FILE", help="the certificate that the hub's is signed by"
    )
    join.set_defaults(run=lambda options: _join(options, settings_of(options)))
    yield join
    leave = parts.add_parser("leave", help="let this table leave its hub")
    leave.set_defaults(run=lambda options: _leave(settings_of(options)))
    yield leave


def _add_pairing(
    parts: Any, settings_of: Callable[[argparse.Namespace], Settings]
) -> Iterator[Any]:
    """Yield the commands for a game at two tables."""
    offer = parts.add_parser(
        "offer", help="offer a game for two tables; answers a code for the other host"
    )
    offer.add_argument(
        "game", help="such as outbuffered; with the options with which it was started here last"
    )
    offer.add_argument(
        "--seat",
        choices=[*map(str, SEATS)],
        default=Seat.SOUTH,
        help="the side played here (south)",
    )
    offer.set_defaults(run=lambda options: _offer(options, settings_of(options)))
    play = parts.add_parser("play", help="play the game that another table offers")
    play.add_argument("code", help="that the other host was told")
    play.set_defaults(run=lambda options: _play(options, settings_of(options)))
    for part in (offer, play):
        part.add_argument(
            "--player", default="", metavar="NAME", help="name that the other table sees"
        )
        yield part
    withdraw = parts.add_parser("withdraw", help="offer no game any more")
    withdraw.set_defaults(run=lambda options: _withdraw(settings_of(options)))
    yield withdraw


def _run(options: argparse.Namespace) -> int:
    try:
        from companion.hub_server.app import Hub, HubSettings  # noqa: PLC0415 - brings what only a hub needs
    except ImportError:
        raise SystemTrouble(
            "The programs for a hub are not installed: pip install 'tabletop-companion[hub]'"
        ) from None
    if bool(options.certificate) != bool(options.key):
        raise SystemTrouble("Give both --certificate and --key, or neither")
    for proxy in options.proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise SystemTrouble(f"--proxies: {proxy} is not an address or a network") from None
    if not is_page_path(options.path):
        raise SystemTrouble(f"--path: {options.path} is not a path such as /hub")
    try:
        web = msgspec.convert(
            {
                "host": options.host,
                "port": options.port,
                "viewers": options.viewers,
                "names": options.names,
                "proxies": options.proxies,
                "path": options.path,
                "certificate": options.certificate,
                "key": options.key,
            },
            WebSettings,
        )
    except msgspec.ValidationError as error:
        raise SystemTrouble(str(error)) from None
    settings = HubSettings(
        folder=options.folder.expanduser(),
        web=web,
        name=options.name,
        delay_s=options.delay,
        nats_host=options.host,
        nats_port=options.nats_port,
        keep_mb=options.keep_mb,
        language=options.language,
    )
    save_memory()  # before a thousand threads are begun
    sys.setswitchinterval(SWITCH_S)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with Hub(settings) as hub:
        print(f"The wall:  {hub.urls()[0]}")
        print("Host key:  companion hub host-key")  # the key itself would stay in a log
        print(
            f"Code to join:  {shown_code(hub.door.code)}  (for one table; the wall shows the next one)"
        )
        print(
            f"On each table:  companion hub join {hub.urls()[0].split('//')[1].rstrip('/')} {hub.door.code}"
        )
        print("Ctrl-C ends the hub.", flush=True)
        _rest(over)
    return 0


def _rest(over: threading.Event) -> None:
    """Look for garbage in circles seldom: what comes with an event goes with its last reference."""
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 1_000_000)
    while not over.wait(COLLECT_S):
        gc.collect()


def _print_host_key(options: argparse.Namespace) -> int:
    from companion.hub_server.folder import FILE, HubFolder  # noqa: PLC0415 - brings what only a hub needs

    folder = options.folder.expanduser()
    if not (folder / FILE).exists():
        raise SystemTrouble(f"No hub has run in {folder}: name its folder with --folder")
    print(host_key_text(HubFolder(folder).now.host_key))
    return 0


def _join(options: argparse.Namespace, settings: Settings) -> int:
    from companion.hub.joining import join  # noqa: PLC0415 - brings what only a hub needs
    from companion.hub.membership import membership_path, write_membership  # noqa: PLC0415
    from companion.storage.outbox import Outbox  # noqa: PLC0415

    ca = str(Path(options.ca).expanduser().resolve()) if options.ca else ""
    wish = {"address": options.address, "code": options.code, "names": options.names, "ca": ca}
    try:
        with Journal(settings.journal_path) as journal:
            start = Outbox(journal).start()
            name = socket.gethostname().partition(".")[0]
            member = join(
                options.address, options.code, name, names=options.names, ca=ca, start=start
            )
            write_membership(membership_path(settings), member)
    except JournalInUse:
        ask_running(settings.web, host_key_of(settings), "/api/host/hub/join", wish)
        print("This table has joined the hub; its host has to let it in.")
        return 0
    print(
        f"This table has joined the hub as number {member.number}; it sends once the hub's host has let it in."
    )
    return 0


def _leave(settings: Settings) -> int:
    try:
        with Journal(settings.journal_path):
            settings.journal_path.with_name("hub.json").unlink(missing_ok=True)
    except JournalInUse:
        ask_running(settings.web, host_key_of(settings), "/api/host/hub/leave", {})
    print("This table belongs to no hub.", file=sys.stdout)
    return 0


def _offer(options: argparse.Namespace, settings: Settings) -> int:
    wish = {"game": options.game, "seat": options.seat, "name": options.player}
    answer = ask_running(settings.web, host_key_of(settings), "/api/host/hub/offer", wish)
    print(f"Code for the other host:  {shown_code(answer['code'])}")
    print(f"There:  companion hub play {answer['code']}")
    return 0


def _play(options: argparse.Namespace, settings: Settings) -> int:
    wish = {"code": options.code, "name": options.player}
    ask_running(settings.web, host_key_of(settings), "/api/host/hub/take", wish)
    print("The game begins at both tables.")
    return 0


def _withdraw(settings: Settings) -> int:
    ask_running(settings.web, host_key_of(settings), "/api/host/hub/withdraw", {})
    print("No game is offered any more.")
    return 0
