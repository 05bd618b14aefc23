"""Messages for somebody at a terminal.

`companion play` starts with what was found, the addresses, and QR codes. Other commands announce
what they are about to do.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import segno

from companion.core.kit import SEATS
from companion.core.network import format_code, seat_url

if TYPE_CHECKING:
    from companion.service.app import Companion


def format_greeting(companion: Companion, on_terminal: bool) -> str:
    """Return the greeting of a companion that has just started.

    A greeting for a terminal shows the owner key, the code to join, and QR codes. The QR code of
    the Wi-Fi contains its password. Any other greeting shows none of these, because other people
    may read a file or a log.

    :param on_terminal: whether the greeting goes to a terminal
    """
    first, *others = companion.urls()
    wifi = companion.wifi()
    code = ""
    owner_key = f"its key: {companion.key_command}"
    if on_terminal:
        code = companion.join_code.current() if companion.join_code else ""
        owner_key = f"owner key {companion.host_key}"
    rows = [
        ("Table screen", first),
        *(("", url) for url in others),
        ("Phones join", f"{first}join"),
    ]
    rows += [(f"{seat.title()} sits down", seat_url(first, seat)) for seat in SEATS]
    if companion.simulation is not None:
        rows.append(("Workbench", f"{first}workbench"))
    rows.append(("Owner’s page", f"{first}host   {owner_key}"))
    if code:
        rows.append(
            ("Code to sit", f"{format_code(code)}   until a game begins or a seat is freed")
        )
    if wifi:
        rows.append(("Wi-Fi", wifi.name))
    lines = [*companion.notes, "", *(f"{name:<15} {text}" for name, text in rows), ""]
    if on_terminal and wifi:
        lines += ["Scan this first, to join the Wi-Fi:", format_qr_code(wifi.qr_text)]
    if on_terminal:
        # A browser does not send the part after `#` to a server, so the code gets into no log.
        join_url = f"{first}join#{code}" if code else f"{first}join"
        lines += ["Scan to join:", format_qr_code(join_url)]
    lines.append("Ctrl-C ends it; the game is kept.")
    return "\n".join(lines)


def format_qr_code(text: str) -> str:
    """Return a QR code in half-block characters, dark on light for a terminal."""
    out = io.StringIO()
    segno.make(text, error="m", micro=False).terminal(out, compact=True)
    return out.getvalue().rstrip("\n")


def announce(step: str) -> None:
    """Print what a command is about to do, if somebody watches at a terminal.

    The line goes to standard error, so that standard output holds only the command's result.
    """
    if sys.stderr.isatty():
        print(step, file=sys.stderr, flush=True)
