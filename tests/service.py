"""The real service as a process, real browsers in front of it, and what people do in them."""

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

from companion.core.network import format_host_key
from companion.storage.journal import Journal

# Sizes of windows: width and height in CSS pixels.
PHONE = (390, 844)
WALL = (1920, 1080)
# Timeout of every wait.
PATIENCE_S = 60.0
# Longest pause between two looks at what takes long: each look costs a browser as much as a page.
MAX_PAUSE_S = 0.25


def until(
    what: str, look: Callable[[], Any], timeout_s: float = PATIENCE_S, pause_s: float = 0.02
) -> Any:
    """Wait until `look` returns something true, and return it. Otherwise fail with `what`.

    While the next page loads, an element may be missing or gone. That counts as not true.
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
    """A service as its people see it: its address, and requests that only its host may make."""

    url: str
    host_key: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post_as_host(self, action: str, **body: Any) -> None:
        """Post to an address below `/api/host/`, and require success."""
        headers = {"Content-Type": "application/json", "X-Host-Key": self.host_key}
        status, answer, _ = Client(self.url).send(
            f"/api/host/{action}", json.dumps(body).encode(), headers
        )
        assert status == 200, answer

    def new_game(self, game: str, **options: Any) -> None:
        """Start a game with options."""
        self.post_as_host("new-game", game=game, options=options, seed=7)


class ServiceProcess(Service):
    """`companion play` as a process of its own on a free port, with its state in a folder."""

    def __init__(self, folder: Path, *arguments: str, reading_time_s: float = 0.3) -> None:
        self.folder = folder
        settings = folder / "settings.toml"
        settings.write_text(
            f'state_dir = "{folder}"\n[web]\nhost = "127.0.0.1"\n'
            f"[table]\nreading_time_s = {reading_time_s}\n"
            '[voice]\nby = "off"\n[camera]\nfps = 5\n'
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
        self.output_lines: list[str] = []
        """What it prints until it is ready."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output_lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        text = "\n".join(self.output_lines)
        address = re.search(r"Table screen\s+(http://\S+?)/\s", text)
        assert address, f"the service did not start: {text} {self.log}"
        self.url = address[1]
        # the key is printed only to a terminal
        with Journal(folder / "journal.sqlite", read_only=True) as journal:
            self.host_key = format_host_key(journal.key("host"))

    @property
    def log(self) -> str:
        """What it has written to its log so far."""
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

    def kill(self) -> None:
        """End it by SIGKILL, as if the power was cut for this process alone."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def restart(self) -> None:
        """Restart it as the settings page does when settings have changed."""
        self._process.send_signal(signal.SIGUSR1)

    def stop(self) -> int:
        """End it by SIGTERM, and return the exit status."""
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
    """Run the service until the end of the block."""
    service = ServiceProcess(folder, *arguments, reading_time_s=reading_time_s)
    try:
        yield service
    finally:
        service.close()


def wait(seconds: float) -> None:
    """Let time pass in other processes."""
    threading.Event().wait(seconds)


class Client:
    """An HTTP client without a browser. It keeps cookies."""

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
        """Send a request (a POST if it has a body). Return the status, body and headers of any
        answer.
        """
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
        """Return the JSON of a successful answer."""
        status, body, _ = self.send(path)
        assert status == 200, body
        return dict(json.loads(body))

    def post(self, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
        """Post JSON, require this status, and return the answer's JSON."""
        headers = {"Content-Type": "application/json"}
        answer_status, answer, _ = self.send(path, json.dumps(body).encode(), headers)
        assert answer_status == status, answer
        return dict(json.loads(answer))


def wait_for_phase(client: Client, phase: str) -> None:
    """Wait until the table is in this phase."""
    until(f"the phase {phase}", lambda: client.get("/api/view")["phase"] == phase)


# ---- what people do in a browser -----------------------------------------------------------------


def sign(window: WebDriver) -> str:
    """Return the text of the sign, the one sentence that says what the table waits for."""
    return str(
        window.execute_script("return document.querySelector('#live .sign')?.innerText ?? ''")
    )


def wait_for_sign(window: WebDriver, words: str) -> None:
    """Wait until the sign contains these words."""
    until(f"“{words}” on {window.current_url}", lambda: words in sign(window))


# Lets a test move a page's clock on, so that no test waits while a key rests.
_MOVABLE_CLOCK = """
(() => {
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  performance.now = () => now() + aheadMs;
  window.passRest = ms => { aheadMs += ms; };
})();
"""
# Tells whether a key takes taps. Otherwise its rest is over when the next script asks, but for a
# page in a second tab, whose clock is the browser's.
IS_RESTED = """
const isRested = key => {
  const restMs = window.remainingRestMs?.(key) ?? 0;
  window.passRest?.(restMs);
  return restMs === 0;
};
"""


def tap(window: WebDriver, selector: str) -> None:
    """Tap a key once it is there, and after its rest.

    A key rests, that is, takes no taps, just after it has come under a finger or replaced another
    one. One script finds and clicks it, because the page may be redrawn at any moment.
    """
    script = (
        f"{IS_RESTED} const key = document.querySelector(arguments[0]);"
        " if (!key || !isRested(key)) return false; key.click(); return true"
    )
    until(f"the key {selector}", lambda: window.execute_script(script, selector))


def press_space(window: WebDriver) -> None:
    """Press the space bar once the key that it stands for is there, and after its rest."""
    script = (
        f"{IS_RESTED} const key = document.querySelector('[data-space]');"
        " return Boolean(key && isRested(key))"
    )
    until("the key of the space bar", lambda: window.execute_script(script))
    window.find_element(By.TAG_NAME, "body").send_keys(" ")


def sit_down(window: WebDriver, service: Service, seat: str, name: str) -> None:
    """Take a seat as after scanning the QR code: open the join page, enter a name, tap once."""
    window.get(f"{service.url}/join/{seat}")
    field = window.find_element(By.NAME, "name")
    field.clear()
    field.send_keys(name)
    window.find_element(By.CSS_SELECTOR, "form.join .go").click()
    until("the seat page", lambda: window.current_url.endswith(f"/seat/{seat}"))


# Commands of the Chrome DevTools Protocol whose effects `_reset` undoes, if they have any.
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
# Commands that put a window back as it was started.
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
    """An element of a page. A key is clicked only after its rest, as people do."""

    def click(self) -> None:
        """Click it after its rest."""
        script = (
            f"{IS_RESTED}"
            " return isRested(arguments[0].closest('a, button, summary') ?? arguments[0])"
        )
        until("its rest", lambda: self.parent.execute_script(script, self))
        super().click()


class Window(webdriver.Chrome):
    """A headless Chromium that notes whether a test has changed it for good."""

    _web_element_cls = PageElement
    is_spoiled = False
    """Whether the next test would notice what was done to it."""
    is_whole = False
    """Whether it is the whole Chromium and not Debian's headless shell."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        command = "Page.addScriptToEvaluateOnNewDocument"
        super().execute_cdp_cmd(command, {"source": _MOVABLE_CLOCK})
        self._scripts: list[str] = []
        """Identifiers of the scripts that tests run in new pages."""

    def execute_cdp_cmd(self, cmd: str, cmd_args: dict[str, Any]) -> Any:
        """Run a command of the Chrome DevTools Protocol, and note whether it spoils the window."""
        answer = super().execute_cdp_cmd(cmd, cmd_args)
        if cmd == "Page.addScriptToEvaluateOnNewDocument":
            self._scripts.append(answer["identifier"])
        else:
            self.is_spoiled |= cmd not in HARMLESS_COMMANDS
        return answer

    def forget_scripts(self) -> None:
        """Stop running the scripts of tests in new pages."""
        for identifier in self._scripts:
            command = "Page.removeScriptToEvaluateOnNewDocument"
            super().execute_cdp_cmd(command, {"identifier": identifier})
        self._scripts.clear()

    def set_script_timeout(self, time_to_wait: float) -> None:
        """Change the timeout of scripts, which spoils the window for the next test."""
        self.is_spoiled = True
        super().set_script_timeout(time_to_wait)


# Browsers that nobody uses. Starting one takes as long as many a test.
_IDLE_WINDOWS: list[Window] = []


@contextmanager
def browser(
    size: tuple[int, int], is_whole: bool = False, is_moving: bool = False
) -> Iterator[Window]:
    """Lend a headless Chromium as good as new. Skip the test if there is none, or fail it if
    COMPANION_REQUIRE_BROWSER is set.

    It may have served another test of this process, and nothing of that test is left in it. Ask
    for a whole one only to hide a page behind another tab, and for animations (`is_moving`) only to
    look at them: each costs half as much time again.
    """
    idle = next((window for window in _IDLE_WINDOWS if window.is_whole == is_whole), None)
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
    """Return by how many pixels a page is wider than its window.

    `innerWidth` would not do: on a phone it grows with the page.
    """
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return int(window.execute_script(script))


# A page of a test lives too short for scripts to be worth compiling well: a tenth less processor
# time.
_JAVASCRIPT = "--js-flags=--max-lazy,--no-opt,--no-maglev"
# The command of this name in Debian starts the shell as a child, which would outlive it.
HEADLESS_SHELL = "/usr/lib/chromium/chromium-headless-shell"


@contextmanager
def browser_with(*flags: str) -> Iterator[Window]:
    """Start a whole browser with more flags, as large as a phone, for this block only."""
    window = _start_window(True, flags)
    try:
        width, height = PHONE
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        yield window
    finally:
        window.quit()


def _start_window(is_whole: bool, flags: tuple[str, ...] = ()) -> Window:
    shell = None if is_whole else shutil.which(HEADLESS_SHELL)
    chromium, driver = shell or shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        if os.environ.get("COMPANION_REQUIRE_BROWSER"):
            pytest.fail("chromium and chromedriver are needed here")
        pytest.skip("chromium or chromedriver is not installed")
    options = Options()
    options.binary_location = chromium
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-dev-shm-usage", "--hide-scrollbars", "--no-proxy-server", _JAVASCRIPT, *flags,
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = Driver(driver, popen_kw={"start_new_session": True})
    window = Window(options=options, service=service)
    reaper.watch(service.process.pid)
    window.is_whole = is_whole
    return window


def _reset(window: Window) -> bool:
    """Remove what a test has left in a window. Return False if that fails."""
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
    """End all idle browsers after the last test."""
    while _IDLE_WINDOWS:
        _IDLE_WINDOWS.pop().quit()
    reaper.stop()


# ---- what fingers do on a board ------------------------------------------------------------------

# Taps a square, given as file and rank from 0. Returns whether it could.
_TAP = """
const svg = document.querySelector('#live .view .board[tabindex]');
if (!svg) return false;
const [files, ranks, pitch, turned] = svg.dataset.grid.split(' ').map(Number);
const [file, rank] = arguments;
const at = new DOMPoint(
  (turned ? files - 1 - file : file) * pitch + 50,
  (turned ? rank : ranks - 1 - rank) * pitch + 50
);
const { x, y } = at.matrixTransform(svg.getScreenCTM());
const hit = document.elementFromPoint(x, y);
if (!svg.contains(hit)) return false;
hit.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX: x, clientY: y }));
return true;
"""


def tap_square(window: WebDriver, *squares: str) -> None:
    """Tap squares of the board on a seat's page, each once it is in sight and nothing covers it."""
    for square in squares:
        until(f"the square {square}", partial(try_to_tap_square, window, square))


def try_to_tap_square(window: WebDriver, square: str) -> bool:
    """Tap a square now. Return False if it is not in sight or something covers it."""
    return bool(window.execute_script(_TAP, ord(square[0]) - 97, int(square[1:]) - 1))


def tap_main_key(window: WebDriver, words: str) -> None:
    """Tap the main key once it has these words."""
    key = "#live :is(.act.main .key.go, #commit:not(.off))"
    script = "return document.querySelector(arguments[0])?.innerText ?? ''"
    until(f"the main key “{words}”", lambda: words in window.execute_script(script, key))
    tap(window, key)
