"""The real service as a process, and real browsers in front of it."""

from __future__ import annotations

import contextlib
import http.cookiejar
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import reaper
from run_folder import share_templates
from selenium import webdriver
from selenium.common.exceptions import (
    NoSuchElementException,
    StaleElementReferenceException,
    WebDriverException,
)
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

from companion.core.network import host_key_text
from companion.storage.journal import Journal

PHONE = (390, 844)
WALL = (1920, 1080)
PATIENCE_S = 60.0
# Longest pause between two looks at what takes long: each look costs a browser as much as a page.
MAX_PAUSE_S = 0.25


def until(
    what: str, look: Callable[[], Any], timeout_s: float = PATIENCE_S, pause_s: float = 0.02
) -> Any:
    """Wait for something true in another process; a failing test says what never came.

    A part of a page that is gone or not there yet while the next page comes is none that is true.
    """
    pause = threading.Event()
    end_s = time.monotonic() + timeout_s
    while True:
        with contextlib.suppress(NoSuchElementException, StaleElementReferenceException):
            if answer := look():
                return answer
        if time.monotonic() > end_s:
            pytest.fail(f"{what} did not happen within {timeout_s:.0f} s")
        pause.wait(pause_s)
        pause_s = min(1.3 * pause_s, MAX_PAUSE_S)


class Service:
    """A service at its address, and what only its host may do."""

    url: str
    host_key: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def host(self, door: str, **body: Any) -> None:
        """What only the host may do."""
        headers = {"Content-Type": "application/json", "X-Host-Key": self.host_key}
        status, answer, _ = Client(self.url).send(
            f"/api/host/{door}", json.dumps(body).encode(), headers
        )
        assert status == 200, answer

    def new_game(self, game: str, **options: Any) -> None:
        """Start a game with options."""
        self.host("new-game", game=game, options=options, seed=7)


class ServiceProcess(Service):
    """`companion play` on a free port, with its state in a folder; `kill` is SIGKILL, `stop` is
    polite.
    """

    def __init__(self, folder: Path, *arguments: str, reading_time_s: float = 0.3) -> None:
        settings = folder / "settings.toml"
        settings.write_text(
            f'state_dir = "{folder}"\n[web]\nhost = "127.0.0.1"\n[table]\nreading_time_s = '
            f"{reading_time_s}\n"
            '[voice]\nby = "off"\n'
        )
        share_templates(folder)
        self._log = (folder / "service.log").open("a+")
        self._process = subprocess.Popen(
            [
                sys.executable,
                *["-u", "-m", "companion", "-v", "play", "--settings"],
                settings,
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.said: list[str] = []
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        text = "\n".join(self.said)
        found = re.search(r"Table screen\s+(http://\S+?)/\s", text)
        assert found, f"the service did not start: {text} {self.log}"
        self.url = found[1]
        with Journal(
            folder / "journal.sqlite", read_only=True
        ) as journal:  # it is told to a terminal alone
            self.host_key = host_key_text(journal.key("host"))

    @property
    def log(self) -> str:
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

    def kill(self) -> None:
        """As if the power was cut for this process alone."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def begin_anew(self) -> None:
        """As the page asks for it once settings have changed."""
        self._process.send_signal(signal.SIGUSR1)

    def stop(self) -> int:
        """SIGTERM; answers the exit status."""
        if self._process.poll() is None:
            self._process.terminate()
        return self._end()

    def _end(self) -> int:
        status = self._process.wait(timeout=PATIENCE_S)
        if self._process.stdout:
            self._process.stdout.close()
        return status

    def close(self) -> None:
        self.stop()
        self._log.close()


@contextmanager
def service_process(
    folder: Path, *arguments: str, reading_time_s: float = 0.3
) -> Iterator[ServiceProcess]:
    """The service until the end of the block."""
    service = ServiceProcess(folder, *arguments, reading_time_s=reading_time_s)
    try:
        yield service
    finally:
        service.close()


def wait(seconds: float) -> None:
    """Let time pass in the other processes."""
    threading.Event().wait(seconds)


class Client:
    """HTTP without a browser; keeps cookies."""

    timeout_s = PATIENCE_S

    def __init__(self, url: str) -> None:
        self.url = url
        self.jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.jar)
        )

    def send(
        self, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Status, body and headers of the answer, whatever it is."""
        request = urllib.request.Request(
            self.url + path, body, {"Origin": self.url, **(headers or {})}
        )
        try:
            with self._opener.open(request, timeout=self.timeout_s) as answer:
                return answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), dict(error.headers)

    def get(self, path: str) -> dict[str, Any]:
        status, body, _ = self.send(path)
        assert status == 200, body
        return dict(json.loads(body))

    def post(self, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
        got, answer, _ = self.send(
            path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        assert got == status, answer
        return dict(json.loads(answer))


def wait_for_phase(client: Client, phase: str) -> None:
    """Wait until the table is in this phase."""
    until(f"the phase {phase}", lambda: client.get("/api/view")["phase"] == phase)


# ---- what people do in a browser -----------------------------------------------------------------


def sign(window: WebDriver) -> str:
    return str(
        window.execute_script("return document.querySelector('#live .sign')?.innerText ?? ''")
    )


def wait_for_sign(window: WebDriver, words: str) -> None:
    until(f"“{words}” on {window.current_url}", lambda: words in sign(window))


def tap(window: WebDriver, selector: str) -> None:
    """Tap a key once it is there and does not rest; the fragment may be replaced at any moment."""
    script = "const key = document.querySelector(arguments[0]); if (!key || restOf(key)) return false; key.click(); return true"
    until(f"the key {selector}", lambda: window.execute_script(script, selector))


def press_space(window: WebDriver) -> None:
    """The space bar, once its key is there and does not rest."""
    script = (
        "const key = document.querySelector('[data-space]'); return Boolean(key && !restOf(key))"
    )
    until("the key of the space bar", lambda: window.execute_script(script))
    window.find_element(By.TAG_NAME, "body").send_keys(" ")


def sit_down(window: WebDriver, service: Service, seat: str, name: str) -> None:
    """As from the QR code: the join page, a name, one tap."""
    window.get(f"{service.url}/join/{seat}")
    field = window.find_element(By.NAME, "name")
    field.clear()
    field.send_keys(name)
    window.find_element(By.CSS_SELECTOR, "form.join .go").click()
    until("the seat page", lambda: window.current_url.endswith(f"/seat/{seat}"))


# Commands of the Chrome DevTools Protocol whose effects `_is_as_new` undoes, if they have any.
HARMLESS_COMMANDS = {
    "Accessibility.enable",
    "Accessibility.getFullAXTree",
    "DOM.describeNode",
    "Emulation.setDeviceMetricsOverride",
    "Emulation.setEmulatedMedia",
    "Emulation.setTouchEmulationEnabled",
    "Input.dispatchTouchEvent",
    "Network.clearBrowserCookies",
    "Network.emulateNetworkConditions",
    "Network.enable",
    "Network.setCookie",
    "Network.setCookies",
    "Page.captureScreenshot",
    "Page.setWebLifecycleState",
    "Runtime.evaluate",
    "Target.activateTarget",
}
_RESET_COMMANDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Page.setWebLifecycleState", {"state": "active"}),
    ("Accessibility.disable", {}),
    ("Emulation.setEmulatedMedia", {"media": "", "features": []}),
    ("Emulation.setTouchEmulationEnabled", {"enabled": False}),
    (
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
    ),
    ("Network.clearBrowserCookies", {}),
    ("Network.clearBrowserCache", {}),
    ("Network.disable", {}),
    ("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"}),
)


class PageElement(WebElement):
    """A part of a page; a key is clicked once it does not rest, as by somebody who looks first."""

    def click(self) -> None:
        """Click it."""
        script = "return !globalThis.restOf?.(arguments[0].closest('a, button, summary') ?? arguments[0])"
        until("its rest", lambda: self.parent.execute_script(script, self))
        super().click()


class Window(webdriver.Chrome):
    """A headless Chromium that notes whether anything was done to it that the next test would
    find.
    """

    _web_element_cls = PageElement
    is_spoiled = False
    is_whole = False

    def __init__(self, *how: Any, **more: Any) -> None:
        super().__init__(*how, **more)
        self._scripts: list[str] = []

    def execute_cdp_cmd(self, cmd: str, cmd_args: dict[str, Any]) -> Any:
        """One command of Chromium's own protocol."""
        answer = super().execute_cdp_cmd(cmd, cmd_args)
        if cmd == "Page.addScriptToEvaluateOnNewDocument":
            self._scripts.append(answer["identifier"])
        else:
            self.is_spoiled |= cmd not in HARMLESS_COMMANDS
        return answer

    def forget_scripts(self) -> None:
        """Have new pages begin without what tests let run in them."""
        for identifier in self._scripts:
            command = "Page.removeScriptToEvaluateOnNewDocument"
            super().execute_cdp_cmd(command, {"identifier": identifier})
        self._scripts.clear()

    def set_script_timeout(self, time_to_wait: float) -> None:
        """How long a script may take; the next test wants it as it was."""
        self.is_spoiled = True
        super().set_script_timeout(time_to_wait)


# Browsers that nobody uses. Starting one takes as long as many a test.
_IDLE_WINDOWS: list[Window] = []


@contextmanager
def browser(
    size: tuple[int, int], is_whole: bool = False, is_moving: bool = False
) -> Iterator[Window]:
    """A headless Chromium as new, and lent to nobody else; skips without one unless
    COMPANION_REQUIRE_BROWSER is set.

    It may have served another test of this process: what that one has left, such as cookies, is
    gone. A whole one hides a page behind another tab; without its own windows the same browser
    takes a third less time. So does one in which nothing moves, unless that is looked at.
    """
    idle = next((each for each in _IDLE_WINDOWS if each.is_whole == is_whole), None)
    if idle:
        _IDLE_WINDOWS.remove(idle)
    window = idle or _start_window(is_whole)
    try:
        width, height = size
        metrics = {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": size == PHONE,
        }
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        motion = {
            "name": "prefers-reduced-motion",
            "value": "no-preference" if is_moving else "reduce",
        }
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [motion]})
        yield window
    except BaseException:
        window.is_spoiled = True
        raise
    finally:
        if not window.is_spoiled and _reset(window):
            _IDLE_WINDOWS.append(window)
        else:
            window.quit()


def overflow_px(window: WebDriver) -> int:
    """By how many pixels a page is wider than its window; a phone's `innerWidth` would grow along
    with the page.
    """
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return int(window.execute_script(script))


# The command of this name in Debian starts the shell as a child, which would outlive it.
HEADLESS_SHELL = "/usr/lib/chromium/chromium-headless-shell"


@contextmanager
def browser_with(*flags: str) -> Iterator[Window]:
    """A whole phone's browser of one's own, started with some flags."""
    window = _start_window(True, flags)
    try:
        width, height = PHONE
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        yield window
    finally:
        window.quit()


def _start_window(is_whole: bool, flags: tuple[str, ...] = ()) -> Window:
    light = None if is_whole else shutil.which(HEADLESS_SHELL)
    chromium, driver = light or shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        if os.environ.get("COMPANION_REQUIRE_BROWSER"):
            pytest.fail("chromium and chromedriver are needed here")
        pytest.skip("chromium or chromedriver is not installed")
    options = Options()
    options.binary_location = chromium
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
        "--hide-scrollbars", "--no-proxy-server", *flags,
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Driver(driver, popen_kw={"start_new_session": True})
    window = Window(options=options, service=service)
    reaper.watch(service.process.pid)
    window.is_whole = is_whole
    return window


def _reset(window: Window) -> bool:
    """Take away what a test has left in a window; False: that cannot be done."""
    try:
        first, *more = window.window_handles
        for handle in more:
            window.switch_to.window(handle)
            window.close()
        window.switch_to.window(first)
        window.forget_scripts()
        window.get("about:blank")
        for command, parameters in _RESET_COMMANDS:
            webdriver.Chrome.execute_cdp_cmd(window, command, parameters)
        window.get_log("browser")
    except (WebDriverException, OSError):
        return False
    return True


def close_browsers() -> None:
    """End all browsers that are kept for the next test; there is none."""
    while _IDLE_WINDOWS:
        _IDLE_WINDOWS.pop().quit()
    reaper.stop()


# ---- what fingers do on a board ------------------------------------------------------------------

_TAP = """
const svg = document.querySelector('#live .view .board[tabindex]');
if (!svg) return false;
const [files, ranks, pitch, turned] = svg.dataset.grid.split(' ').map(Number);
const [file, rank] = arguments;
const at = new DOMPoint((turned ? files - 1 - file : file) * pitch + 50, (turned ? rank : ranks - 1 - rank) * pitch + 50);
const { x, y } = at.matrixTransform(svg.getScreenCTM());
const hit = document.elementFromPoint(x, y);
if (!svg.contains(hit)) return false;
hit.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX: x, clientY: y }));
return true;
"""


def tap_square(window: WebDriver, *squares: str) -> None:
    """Tap squares of the board on a seat's page, where they are seen and nothing covers them."""
    for square in squares:
        until(f"the square {square}", partial(try_to_tap_square, window, square))


def try_to_tap_square(window: WebDriver, square: str) -> bool:
    """The same at once; False: it is not there to be tapped."""
    return bool(window.execute_script(_TAP, ord(square[0]) - 97, int(square[1:]) - 1))


def tap_main_key(window: WebDriver, words: str) -> None:
    """Tap the main key once it says so."""
    key = "#live :is(.act.main .key.go, #commit:not(.off))"
    script = "return document.querySelector(arguments[0])?.innerText ?? ''"
    until(f"the main key “{words}”", lambda: words in window.execute_script(script, key))
    tap(window, key)
