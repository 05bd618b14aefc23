"""What is said to somebody at a terminal.

At the start of `companion play` what was found, the addresses, and QR codes. Else how far a command has come.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import segno

from companion.core.kit import SEATS
from companion.core.network import Wifi, seat_address, shown_code

if TYPE_CHECKING:
    from companion.service.app import Companion


def greeting_of(companion: Companion, on_terminal: bool) -> str:
    """Return what a companion that has just begun says."""
    return greeting(
        companion.found,
        companion.urls(),
        companion.host_key if on_terminal else "",
        code=companion.join_code.now() if companion.join_code and on_terminal else "",
        simulated=companion.simulation is not None,
        wifi=companion.wifi(),
        on_terminal=on_terminal,
        key_command=companion.key_command,
    )


def greeting(
    found: Sequence[str],
    urls: Sequence[str],
    host_key: str,
    *,
    simulated: bool,
    wifi: Wifi | None,
    on_terminal: bool,
    code: str = "",
    key_command: str = "companion host-key",
) -> str:
    """Return the text for the console.

    The Wi-Fi's password is in its code alone, and codes only go to a terminal.

    An empty `host_key` is not told, because a file or a log is read by others: `key_command` tells it.
    """
    first = urls[0]
    rows = [
        ("Table screen", first),
        *(("", url) for url in urls[1:]),
        ("Phones join", f"{first}join"),
    ]
    rows += [(f"{seat.title()} sits down", seat_address(first, seat)) for seat in SEATS]
    if simulated:
        rows.append(("Workbench", f"{first}workbench"))
    key_words = f"host key {host_key}" if host_key else f"its key: {key_command}"
    rows.append(("Host page", f"{first}host   {key_words}"))
    if code:
        rows.append(("Code to sit", f"{shown_code(code)}   until a game begins or a seat is freed"))
    if wifi:
        rows.append(("Wi-Fi", wifi.name))
    lines = [*found, "", *(f"{name:<14} {text}" for name, text in rows), ""]
    if on_terminal:
        if wifi:
            lines += ["Scan this first, to join the Wi-Fi:", qr_text(wifi.text)]
        lines += ["Scan to join:", qr_text(f"{first}join{f'#{code}' if code else ''}")]
    return "\n".join([*lines, "Ctrl-C ends it; the game is kept."])


def qr_text(text: str) -> str:
    """Return a QR code in half-block characters, dark on light for a terminal."""
    out = io.StringIO()
    segno.make(text, error="m", micro=False).terminal(out, compact=True)
    return out.getvalue().rstrip("\n")


def begin(what: str) -> None:
    """Say what is being done. Programs read the result alone."""
    if sys.stderr.isatty():
        print(what, file=sys.stderr, flush=True)


def count(what: str, done: int, total: int) -> None:
    """Say how far it has come, in one line that is written over until all is done."""
    if sys.stderr.isatty():
        print(
            f"\r{what}: {done} of {total}",
            end="\n" if done == total else "",
            file=sys.stderr,
            flush=True,
        )
