"""Helpers: run the real service as a process, lend real browsers, and act in them as people do.

Most tests run the service in their own process instead (`in_process.py`), which is faster.
"""

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
# Timeout of every wait, for a computer that is very busy.
PATIENCE_S = 60.0
# Longest pause between two checks of a condition. Each check costs a browser as much as a page.
MAX_PAUSE_S = 0.25


def until(
    what: str, condition: Callable[[], Any], timeout_s: float = PATIENCE_S, pause_s: float = 0.02
) -> Any:
    """Check the condition until it returns something true, and return that.

    After the timeout, fail with `what`, a noun phrase for what did not happen. If the condition
    raises that an element is missing or gone, the next page is probably loading, so check again.
    The pauses between two checks grow from `pause_s` to `MAX_PAUSE_S`.

    Tests without a browser use `waiting.until`, which does not need Selenium.
    """
    pause = threading.Event()
    deadline_s = time.monotonic() + timeout_s
    while True:
        with contextlib.suppress(NoSuchElementException, StaleElementReferenceException):
            if answer := condition():
                return answer
        if time.monotonic() > deadline_s:
            pytest.fail(f"{what} did not happen within {timeout_s:.0f} s")
        pause.wait(pause_s)
        pause_s = min(1.3 * pause_s, MAX_PAUSE_S)


class Service:
    """A running service: its address, and requests that only its owner may make."""

    url: str
    host_key: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post_as_host(self, action: str, **body: Any) -> None:
        """Post JSON to an address below `/api/host/`, and require success."""
        headers = {"Content-Type": "application/json", "X-Host-Key": self.host_key}
        status, answer, _ = Client(self.url).send(
            f"/api/host/{action}", json.dumps(body).encode(), headers
        )
        assert status == 200, answer

    def new_game(self, game: str, **options: Any) -> None:
        """Start a game with options. Its seed is always the same."""
        self.post_as_host("new-game", game=game, options=options, seed=7)


class ServiceProcess(Service):
    """A process of `companion play` with these arguments, and with its state in a folder.

    The constructor returns once the service answers requests. `reading_time_s` is its setting for
    how long words stay on the table screen.
    """

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
        """The lines that it has printed until it was ready."""
        assert self._process.stdout is not None
        # the line that says how to end it comes last, when it answers requests
        for line in self._process.stdout:
            self.output_lines.append(line.rstrip())
            if line.startswith("Ctrl-C"):
                break
        text = "\n".join(self.output_lines)
        address = re.search(r"Table screen\s+(http://\S+?)/\s", text)
        assert address, f"the service did not start: {text} {self.log}"
        self.url = address[1]
        # the owner key is printed only to a terminal
        with Journal(folder / "journal.sqlite", read_only=True) as journal:
            self.host_key = format_host_key(journal.key("host"))

    @property
    def log(self) -> str:
        """The content of its log so far."""
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

    def kill(self) -> None:
        """End it by SIGKILL, as a power cut would end it."""
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
    """Run the service as a process of its own until the end of the block."""
    service = ServiceProcess(folder, *arguments, reading_time_s=reading_time_s)
    try:
        yield service
    finally:
        service.close()


def wait(seconds: float) -> None:
    """Let real time pass, for other processes."""
    threading.Event().wait(seconds)


class Client:
    """An HTTP client in place of a browser. It keeps cookies, so it can have a seat."""

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
        """Send a request, which is a POST if it has a body.

        Return status, body and headers of the answer, also of a refusal.
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
        """Get a path, require success, and return the answer's JSON."""
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


# Gives pages a clock that a test can move on, so that no test waits while a key rests.
_MOVABLE_CLOCK = """
(() => {
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  performance.now = () => now() + aheadMs;
  window.passRest = ms => { aheadMs += ms; };
})();
"""
# Defines a function that returns whether a key takes taps now. If not, it moves the page's clock
# on, so that the key's rest is over at the next call. The pages of a second tab do not have this
# clock, so there the rest takes its real time.
IS_RESTED = """
const isRested = key => {
  const restMs = window.remainingRestMs?.(key) ?? 0;
  window.passRest?.(restMs);
  return restMs === 0;
};
"""


def tap(window: WebDriver, selector: str) -> None:
    """Wait until a key is shown and its rest is over, then tap it.

    A key rests, that is, ignores taps, just after it has appeared under a finger or replaced
    another key. One script finds and clicks it, because the page may be redrawn at any moment.
    """
    script = (
        f"{IS_RESTED} const key = document.querySelector(arguments[0]);"
        " if (!key || !isRested(key)) return false; key.click(); return true"
    )
    until(f"the key {selector}", lambda: window.execute_script(script, selector))


def press_space(window: WebDriver) -> None:
    """Wait until the key that the space bar taps is shown and its rest is over, then press it."""
    script = (
        f"{IS_RESTED} const key = document.querySelector('[data-space]');"
        " return Boolean(key && isRested(key))"
    )
    until("the key of the space bar", lambda: window.execute_script(script))
    window.find_element(By.TAG_NAME, "body").send_keys(" ")


def sit_down(window: WebDriver, service: Service, seat: str, name: str) -> None:
    """Take a seat as people do: open the join page of its QR code, enter a name, and tap once."""
    window.get(f"{service.url}/join/{seat}")
    field = window.find_element(By.NAME, "name")
    field.clear()
    field.send_keys(name)
    window.find_element(By.CSS_SELECTOR, "form.join .go").click()
    until("the seat page", lambda: window.current_url.endswith(f"/seat/{seat}"))


# Commands of the Chrome DevTools Protocol that do not spoil a window for the next test: `_reset`
# undoes their effects, or they have none that lasts.
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
# Commands that bring a window back to the state in which it was started.
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
    """An element of a page. If it is a key, `click` waits until its rest is over."""

    def click(self) -> None:
        """Click it once its rest is over."""
        script = (
            f"{IS_RESTED}"
            " return isRested(arguments[0].closest('a, button, summary') ?? arguments[0])"
        )
        until("the end of the key's rest", lambda: self.parent.execute_script(script, self))
        super().click()


class Window(webdriver.Chrome):
    """A headless Chromium that can be lent to one test after the other.

    It notes what a test changes, so that the change can be undone, or the window thrown away.
    """

    _web_element_cls = PageElement
    is_spoiled = False
    """Whether a test has changed it beyond what can be reset, so that no other test may use it."""
    is_whole = False
    """Whether it is the complete Chromium and not Debian's headless shell."""

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


# Browsers for the next tests. Starting one takes longer than many tests.
_IDLE_WINDOWS: list[Window] = []


@contextmanager
def browser(
    size: tuple[int, int], is_whole: bool = False, is_moving: bool = False
) -> Iterator[Window]:
    """Lend a headless Chromium without a trace of earlier tests until the end of the block.

    If Chromium is not installed, skip the test, or fail it if COMPANION_REQUIRE_BROWSER is set.
    `size` is the page's width and height in CSS pixels. `is_whole` asks for the complete Chromium,
    which only a page behind another tab needs. `is_moving` asks for animations, which only tests of
    animations need. With either of these, a test takes half as long again.
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

    The window's width is not taken from `innerWidth`, because on a phone that grows with the page.
    """
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return int(window.execute_script(script))


# The pages of tests are too short-lived for scripts to be worth optimising. These flags save a
# tenth of the processor time.
_JAVASCRIPT = "--js-flags=--max-lazy,--no-opt,--no-maglev"
# Debian's command of this name starts the shell as a child, which would outlive the command.
HEADLESS_SHELL = "/usr/lib/chromium/chromium-headless-shell"


@contextmanager
def browser_with(*flags: str) -> Iterator[Window]:
    """Start a complete Chromium of a phone's size with more flags, for this block only."""
    window = _start_window(True, flags)
    try:
        width, height = PHONE
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        yield window
    finally:
        window.quit()


def _start_window(is_whole: bool, flags: tuple[str, ...] = ()) -> Window:
    """Start a Chromium with its driver, or skip or fail the test if one is not installed."""
    shell = None if is_whole else shutil.which(HEADLESS_SHELL)
    chromium = shell or shutil.which("chromium")
    driver = shutil.which("chromedriver")
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


# ---- taps on a board -----------------------------------------------------------------------------

# Taps a square, given as file and rank from 0. Returns false if it is covered or not shown. In the
# board's drawing, a square is 100 units wide and the next one begins after `pitch` units. North
# sees the board turned round.
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
    """Tap squares such as `c4` on a seat's page, each once it is visible and not covered."""
    for square in squares:
        until(f"the square {square}", partial(try_to_tap_square, window, square))


def try_to_tap_square(window: WebDriver, square: str) -> bool:
    """Tap a square now. Return False if it is not visible or something covers it."""
    return bool(window.execute_script(_TAP, ord(square[0]) - 97, int(square[1:]) - 1))


def tap_main_key(window: WebDriver, words: str) -> None:
    """Tap a seat's main key, which hands in or ends the turn, once it has these words."""
    key = "#live :is(.act.main .key.go, #commit:not(.off))"
    script = "return document.querySelector(arguments[0])?.innerText ?? ''"
    until(f"the main key “{words}”", lambda: words in window.execute_script(script, key))
    tap(window, key)
