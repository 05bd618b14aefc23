"""How far the ring of seconds on a page is from the service's clock, in a real browser whose date is minutes wrong."""

from __future__ import annotations

import shutil
import statistics
import time
import urllib.request
from contextlib import ExitStack
from typing import Any

from companion.core.config import CameraSettings
from companion.tools.bench.figures import Figure, Listener, simulated
from companion.tools.bench.turns import WATCHERS

READINGS = 60
RING_MS = 50.0
"""So near to the service's clock lies the ring, in 99 of 100 readings."""
_SETTLE_S = 4.0
"""The page compares the clocks over several round trips first."""
_WRONG_DATE = "const now = Date.now.bind(Date); Date.now = () => now() + 437000;"
_RING = """
const ring = document.querySelector('[data-limit]'), { due, limit } = ring.dataset;
return [due, limit, ring.querySelector('.sweep').getAttribute('stroke-dasharray').split(' ')[0]];
"""


def bench_rings() -> bool:
    """Read a ring again and again, with the camera and the viewers that it is promised for; prints what it measured."""
    with simulated(fps=CameraSettings().fps) as companion, ExitStack() as after:
        window = _browser()
        if window is None:
            print("rings: not measured, selenium, chromium and chromedriver are needed")
            return False
        after.callback(window.quit)
        for _ in range(WATCHERS):
            after.enter_context(Listener(companion.server.port))
        companion.table.new_game("binmat", {"way": "clock", "seconds": 60.0})
        companion.table.resume("host")
        url = f"http://127.0.0.1:{companion.server.port}"
        window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WRONG_DATE})
        window.get(f"{url}/watch")
        time.sleep(_SETTLE_S)
        errors_ms = [_error_ms(window) for _ in range(READINGS)]
        trip_ms = statistics.median(_trip_ms(url) for _ in range(READINGS))
    figure = Figure("ring, date 437 s wrong", errors_ms, "GET /clock", trip_ms, RING_MS)
    print(figure.sentence(), flush=True)
    return figure.is_met()


def _browser() -> Any:
    """A headless Chromium, or None where there is none."""
    try:
        from selenium import webdriver  # noqa: PLC0415 - only the bench and the tests need a browser
    except ImportError:
        return None
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        return None
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


def _error_ms(window: Any) -> float:
    """How far the ring is from the service's clock, which is this machine's monotonic one."""
    before_s = time.monotonic()
    due_s, limit_s, dash = map(float, window.execute_script(_RING))
    after_s = time.monotonic()
    shown_s = due_s - limit_s * dash / 1000
    return max(0.0, before_s - shown_s, shown_s - after_s) * 1000


def _trip_ms(url: str) -> float:
    """The peer: what it takes to ask the service for its time once."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    began_s = time.monotonic()
    with opener.open(f"{url}/clock") as answer:
        answer.read()
    return (time.monotonic() - began_s) * 1000
