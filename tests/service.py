"""The real service as a process, and real browsers in front of it."""

from __future__ import annotations

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
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service as Driver

PHONE = (390, 844)
WALL = (1920, 1080)
PATIENCE_S = 20.0


def until(what: str, look: Callable[[], Any], timeout_s: float = PATIENCE_S) -> Any:
    """Wait for something true in another process; a failing test says what never came."""
    pause = threading.Event()
    end_s = time.monotonic() + timeout_s
    while True:
        answer = look()
        if answer:
            return answer
        if time.monotonic() > end_s:
            pytest.fail(f"{what} did not happen within {timeout_s:.0f} s")
        pause.wait(0.05)


class Running:
    """`companion play` on a free port, with its state in a folder; `kill` is SIGKILL, `stop` is polite."""

    def __init__(self, folder: Path, *arguments: str, reading_time_s: float = 0.3) -> None:
        settings = folder / "settings.toml"
        settings.write_text(
            f'state_dir = "{folder}"\n[web]\nhost = "127.0.0.1"\n[table]\nreading_time_s = {reading_time_s}\n'
        )
        self._log = (folder / "service.log").open("a+")
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-m", "companion", "-v", "play", "--settings", str(settings), *arguments],
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
        self.host_key = re.search(r"host key (\S+)", text)[1]  # type: ignore[index] # play always prints one

    @property
    def log(self) -> str:
        self._log.flush()
        self._log.seek(0)
        return self._log.read()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        """As if the power was cut for this process alone."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self) -> int:
        """SIGTERM; answers the exit status."""
        if self._process.poll() is None:
            self._process.terminate()
        return self._end()

    def _end(self) -> int:
        status = self._process.wait(timeout=20)
        if self._process.stdout:
            self._process.stdout.close()
        return status

    def close(self) -> None:
        self.stop()
        self._log.close()


@contextmanager
def running(folder: Path, *arguments: str, reading_time_s: float = 0.3) -> Iterator[Running]:
    """The service until the end of the block."""
    service = Running(folder, *arguments, reading_time_s=reading_time_s)
    try:
        yield service
    finally:
        service.close()


class Client:
    """HTTP without a browser; keeps cookies."""

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
        request = urllib.request.Request(self.url + path, body, {"Origin": self.url, **(headers or {})})
        try:
            with self._opener.open(request, timeout=20) as answer:
                return answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), dict(error.headers)

    def get(self, path: str) -> dict[str, Any]:
        status, body, _ = self.send(path)
        assert status == 200, body
        return dict(json.loads(body))

    def post(self, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
        got, answer, _ = self.send(path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        assert got == status, answer
        return dict(json.loads(answer))


@contextmanager
def browser(size: tuple[int, int], dark: bool = False) -> Iterator[webdriver.Chrome]:
    """A headless Chromium of its own; skips without one unless COMPANION_REQUIRE_BROWSER is set."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        if os.environ.get("COMPANION_REQUIRE_BROWSER"):
            pytest.fail("chromium and chromedriver are needed here")
        pytest.skip("chromium or chromedriver is not installed")
    options = Options()
    options.binary_location = chromium
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
        "--hide-scrollbars", "--no-proxy-server", *(["--force-dark-mode"] if dark else []),
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    window = webdriver.Chrome(options=options, service=Driver(driver))
    try:
        width, height = size
        window.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
        )
        yield window
    finally:
        window.quit()
