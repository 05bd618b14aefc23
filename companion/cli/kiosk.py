"""`companion kiosk`: the table screen in a browser that fills the machine's own screen, and starts with the desktop."""

from __future__ import annotations

import argparse
import http.client
import os
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from companion.core.errors import Malformed, SystemTrouble

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--kiosk",
    "--no-first-run",
    "--noerrdialogs",
    "--disable-infobars",
    "--disable-session-crashed-bubble",
    "--disable-features=Translate",
    "--disable-pinch",
    "--overscroll-history-navigation=0",
    "--check-for-update-interval=31536000",
    "--password-store=basic",
    "--ozone-platform-hint=auto",  # Wayland under labwc and wayfire, else X11
    "--autoplay-policy=no-user-gesture-required",  # the voice speaks at once
    "--enable-speech-dispatcher",
)
AGAIN_S, LONGEST_S = 2.0, 30.0
"""After a crash the browser is begun again so much later, each time twice as long."""
HEALTHY_S = 60.0
"""A browser that has run so long begins anew with the shortest wait."""
LOOK_S = 1.0
NAME = "tabletop-companion-kiosk.desktop"


class NoBrowser(SystemTrouble):
    """There is no browser for the kiosk."""

    kind = "kiosk"


def add_kiosk(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """`companion kiosk` with its options."""
    command = commands.add_parser("kiosk", help="the table screen in a browser that fills this machine’s screen")
    command.add_argument(
        "--url", default="http://127.0.0.1:8080/", help="address of the service (http://127.0.0.1:8080/)"
    )
    command.add_argument("--browser", metavar="PROGRAM", help=f"instead of {', '.join(BROWSERS[:2])}")
    task = command.add_mutually_exclusive_group()
    task.add_argument("--print", action="store_true", dest="only_print", help="show the browser’s command only")
    task.add_argument("--install", action="store_true", help="start it with the desktop from now on")
    task.add_argument("--uninstall", action="store_true", help="no longer start it with the desktop")
    command.set_defaults(run=run_kiosk)


def run_kiosk(options: argparse.Namespace) -> int:
    """Run, show, install or remove the kiosk; answers the exit status."""
    if options.uninstall:
        print(uninstall())
        return 0
    page = kiosk_page(options.url)
    if options.install:
        print(install(options.url, options.browser))
        return 0
    command = browser_command(page, find_browser(options.browser))
    if options.only_print:
        print(shlex.join(command))
        return 0
    try:
        keep_open(command, page, wait=time.sleep)
    except KeyboardInterrupt:
        print("The kiosk is closed; the table goes on.")
    return 0


def kiosk_page(url: str) -> str:
    """The address of the table screen for a kiosk; raises `Malformed` for one that is none.

    >>> kiosk_page("http://127.0.0.1:8080")
    'http://127.0.0.1:8080/?screen&kiosk'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise Malformed(f"{url} is not an address: write it like http://127.0.0.1:8080/")
    return f"{parts.scheme}://{parts.netloc}/?screen&kiosk"


def find_browser(wanted: str | None) -> str:
    """The path of a browser; raises `NoBrowser`."""
    found = next((path for name in ([wanted] if wanted else BROWSERS) if (path := shutil.which(name))), None)
    if found is None:
        raise NoBrowser(f"{wanted or 'Chromium'} is not installed: sudo apt install chromium")
    return found


def browser_command(page: str, browser: str) -> list[str]:
    """How the browser is begun: with a profile of its own, so that nobody's tabs come up."""
    profile = Path("~/.local/share/tabletop-companion/kiosk").expanduser()
    return [browser, *FLAGS, f"--user-data-dir={profile}", page]


# ---- running ---------------------------------------------------------------------------------------------------------


def is_served(page: str) -> bool:
    """Does the service answer?"""
    parts = urlsplit(page)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{parts.scheme}://{parts.netloc}/health", timeout=3) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError:
        return True  # it answers, if only that something is wrong: the page says what
    except (OSError, ValueError, http.client.HTTPException):
        return False


def keep_open(
    command: Sequence[str],
    page: str,
    wait: Callable[[float], None],
    served: Callable[[str], bool] = is_served,
    run: Callable[[Sequence[str]], tuple[int, float]] | None = None,
) -> None:
    """Wait for the service, open the browser, and open it again after a crash; ends when somebody closes it.

    `run` answers the browser's exit status and for how many seconds it ran, `wait` lets seconds pass.
    """
    pause_s = AGAIN_S
    while True:
        while not served(page):
            wait(LOOK_S)
        status, lasted_s = (run or _run)(command)
        if status == 0:
            return
        if lasted_s >= HEALTHY_S:
            pause_s = AGAIN_S
        wait(pause_s)
        pause_s = min(2 * pause_s, LONGEST_S)


def _run(command: Sequence[str]) -> tuple[int, float]:
    began_s = time.monotonic()
    status = subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode
    return status, time.monotonic() - began_s


# ---- with the desktop ------------------------------------------------------------------------------------------------


def autostart_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the desktop (labwc, wayfire and X11 of Raspberry Pi OS, and most others) looks for what it starts."""
    return Path(environment.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()) / "autostart" / NAME


def desktop_entry(arguments: Sequence[str]) -> str:
    """The autostart entry that runs a command.

    >>> desktop_entry(["/opt/a b/companion", "kiosk"]).splitlines()[3]
    'Exec="/opt/a b/companion" "kiosk"'
    """
    quoted = " ".join(f'"{_escaped(argument)}"' for argument in arguments)
    return (
        f"[Desktop Entry]\nType=Application\nName=Tabletop Companion\nExec={quoted}\nX-GNOME-Autostart-enabled=true\n"
    )


def _escaped(argument: str) -> str:
    """An argument for the inside of the quotes of an `Exec` line (Desktop Entry Specification)."""
    for character in '\\"`$':
        argument = argument.replace(character, f"\\{character}")
    return argument.replace("\\", "\\\\").replace("%", "%%")


def install(url: str, browser: str | None) -> str:
    """Start the kiosk with the desktop; answers a sentence. Raises `SystemTrouble`."""
    more = ["--browser", browser] if browser else []
    entry = desktop_entry([sys.executable, "-m", "companion", "kiosk", "--url", url, *more])
    path = autostart_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(entry, encoding="utf-8")
    except OSError as error:
        raise SystemTrouble(f"{path}: cannot be written: {error.strerror}") from None
    return f"{path}: the table screen starts with the desktop from the next login on."


def uninstall() -> str:
    """Do not start the kiosk any more; answers a sentence. Raises `SystemTrouble`."""
    path = autostart_file()
    try:
        path.unlink()
    except FileNotFoundError:
        return "The kiosk was not installed."
    except OSError as error:
        raise SystemTrouble(f"{path}: cannot be removed: {error.strerror}") from None
    return f"{path} is removed."
