"""How the pages feel on a slow phone: Chromium with its processor slowed four times, timed by its own clocks.

First contentful paint and layout shifts are Chromium's own figures (Performance Timeline); a fragment is timed from its
event to the end of style and layout; a tap from the lifting of the finger (which makes it one) to the frame that shows
the answer, the table's where it is asked: that a key looks pressed meanwhile is none; a step of a replay from its key
to the frame that shows it. The peer is a page of one line from a bare `http.server`, loaded in the same browser.

The games are kept in memory meanwhile where there is such a folder: a disk that is shared stands still for longer than
a page takes. What it takes for a sync is printed beside, and added by whoever taps on that disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from companion.core.errors import Stale
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.service.app import Companion
from companion.table.session import Phase
from companion.tools.bench.figures import Figure, simulated
from companion.tools.selfplay import Phone, Stuck

SLOWER = 4
LOADS = 5
FRAGMENTS = 30
TAPS = 24
TURNS = 3
PAINT_MS = 1000.0
FRAGMENT_MS = 50.0
TAP_MS = 100.0
IN_MEMORY = Path("/dev/shm")
SYNCS = 60
SHIFT = 0.001
"""A page may not move by more than this while fragments arrive (Chromium's layout shift score)."""
PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}

_WATCH = """
window.bench = {shift: 0, fragments: [], taps: [], touched: 0};
new PerformanceObserver(list => list.getEntries().forEach(e => { if (!e.hadRecentInput) bench.shift += e.value; }))
  .observe({type: 'layout-shift', buffered: true});
const handler = Object.getOwnPropertyDescriptor(EventSource.prototype, 'onmessage');
Object.defineProperty(EventSource.prototype, 'onmessage', {set(given) {
  handler.set.call(this, event => {
    const began = performance.now();
    given.call(this, event);
    document.documentElement.getBoundingClientRect();
    bench.fragments.push(performance.now() - began);
  });
}});
addEventListener('pointerup', () => { bench.touched = performance.now(); }, true);
new MutationObserver(changes => {
  if (!bench.touched || changes.every(each => each.attributeName === 'data-busy')) return;
  const began = bench.touched;
  bench.touched = 0;
  requestAnimationFrame(() => { const after = new MessageChannel();
    after.port1.onmessage = () => bench.taps.push(performance.now() - began); after.port2.postMessage(0); });
}).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
"""
_STEP_MS = """
const done = arguments[0], from = performance.now();
new MutationObserver((_, all) => { all.disconnect(); requestAnimationFrame(() => done(performance.now() - from)); })
  .observe(document.getElementById('scene'), {childList: true});
document.getElementById('next').click();
"""


def bench_browser() -> bool:
    """Measure and print it all; answers whether every bound is kept. Without a browser it says so and passes."""
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("no browser: install chromium and chromium-driver to time the pages", flush=True)
        return True
    good = True
    keep_in = str(IN_MEMORY) if os.access(IN_MEMORY, os.W_OK) else None
    with simulated(fps=5, keep_in=keep_in) as companion, _window() as window, _bare_page() as bare:
        peer_ms = statistics.median(_paints(window, bare))
        phones = _two_at_the_table(companion, window)
        for name, path in _pages():
            times = _paints(window, _url(companion) + path)
            figure = Figure(f"first paint of {name}", times, "a bare page", peer_ms, PAINT_MS)
            print(figure.sentence(), flush=True)
            good &= figure.is_met()
        window.get(_url(companion) + "/seat/south")
        swap_ms = _swap_ms(window)
        for name, path in (("a seat", "/seat/south"), ("the table screen", "/")):
            fragments, shift = _fragments(window, _url(companion) + path, companion, phones[1])
            figure = Figure(f"fragment on {name}", fragments, "innerHTML of the same", swap_ms, FRAGMENT_MS)
            is_still = shift <= SHIFT
            print(f"{figure.sentence()}; layout shift {shift:.4f}  {'ok' if is_still else 'IT MOVES'}", flush=True)
            good &= figure.is_met() and is_still
        for name, times in (
            ("tap on a key -> visible", _taps(window, companion)),
            ("a step of the replay -> visible", _steps(window, companion, phones)),
        ):
            figure = Figure(name, times, "a frame", 1000 / 60, TAP_MS)
            print(figure.sentence(), flush=True)
            good &= figure.is_met()
        syncs = sorted(_syncs_ms())
        print(
            f"{'a sync of this disk, not in it':<42} p50 {syncs[SYNCS // 2]:6.2f} ms  worst {syncs[-1]:.2f} ms",
            flush=True,
        )
        return good


def _pages() -> tuple[tuple[str, str], ...]:
    first = next(iter(GAMES))
    return (
        ("the table screen", "/"),
        ("joining", "/join"),
        ("a seat", "/seat/south"),
        ("watching", "/watch"),
        ("the rules", f"/rules/{first}"),
        ("games played", "/history"),
    )


def _url(companion: Companion) -> str:
    return f"http://127.0.0.1:{companion.server.port}"


@contextmanager
def _window() -> Iterator[Any]:
    """Chromium as a phone with a slow processor and no cache."""
    from selenium import webdriver  # noqa: PLC0415 - only the bench of the pages needs a browser
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--no-proxy-server",
        "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
    ):  # fmt: skip
        options.add_argument(flag)
    window = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        window.execute_cdp_cmd("Network.enable", {})
        window.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
        window.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        window.execute_cdp_cmd("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        window.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})
        yield window
    finally:
        window.quit()


@contextmanager
def _bare_page() -> Iterator[str]:
    """The peer: the address of a page of one line."""

    class Bare(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>bare</title><p>One line</p>")

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Bare) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def _paints(window: Any, url: str) -> list[float]:
    """First contentful paint of some loads, in milliseconds."""
    script = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    times = []
    for _ in range(LOADS):
        window.get(url)
        times.append(float(_soon(lambda: window.execute_script(script))))
    return times


def _two_at_the_table(companion: Companion, window: Any) -> list[Phone]:
    """Both seats taken and orders wanted; the window has South's cookie."""
    phones = [Phone(_url(companion), seat) for seat in SEATS]
    for phone, name in zip(phones, ("Bench", "Peer"), strict=True):
        phone.post("take", {"name": name})
    for cookie in phones[0].cookies:
        told = {"name": cookie.name, "value": cookie.value, "url": _url(companion)}
        window.execute_cdp_cmd("Network.setCookie", told)
    companion.table.new_game(next(iter(GAMES)), {}, seed=1)
    view = companion.table.view()
    companion.table.confirm("host", view.moment, view.turn.stage, force=True)
    return phones


def _fragments(window: Any, url: str, companion: Companion, peer: Phone) -> tuple[list[float], float]:
    """Milliseconds of each fragment while the other seat hands in and takes back, and by how much the page moved."""
    window.get(url)
    _soon(lambda: window.execute_script("return bench.fragments.length"))
    window.execute_script("bench.fragments = []; bench.shift = 0")
    moment = companion.table.view().moment
    for number in range(FRAGMENTS):
        if number % 2 == 0:
            peer.post("hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"})
        else:
            peer.post("take-back", {"moment": moment})
        _soon(lambda wanted=number: window.execute_script("return bench.fragments.length") > wanted)  # type: ignore[misc]
    time.sleep(0.3)  # a shift is told after its frame
    found = window.execute_script("return [bench.fragments, bench.shift]")
    return [float(each) for each in found[0]], float(found[1])


def _swap_ms(window: Any) -> float:
    """The peer: the live part of the page written as HTML once more, laid out."""
    script = """const live = document.getElementById('live'), html = live.innerHTML, began = performance.now();
        for (let i = 0; i < 10; i++) { live.innerHTML = html; document.documentElement.getBoundingClientRect(); }
        return (performance.now() - began) / 10"""
    return max(0.1, float(window.execute_script(script)))


def _taps(window: Any, companion: Companion) -> list[float]:
    """Milliseconds from a finger on a key of the seat to the frame with its answer; some hand in or take back."""
    window.get(f"{_url(companion)}/seat/south")
    _soon(lambda: window.execute_script("return bench.fragments.length"))
    length = int(window.execute_script("return document.querySelectorAll('.slot').length"))
    for number in range(TAPS):
        place = number % (length + 2)
        selector = ".order" if place < length else "#hand-in" if place == length else "[data-post$='take-back']"
        _finger(window, selector)
        _soon(lambda wanted=number: window.execute_script("return bench.taps.length") > wanted)  # type: ignore[misc]
        time.sleep(0.2)
    return [float(each) for each in window.execute_script("return bench.taps")]


def _steps(window: Any, companion: Companion, phones: Sequence[Phone]) -> list[float]:
    """Milliseconds from the key to the frame with the next scene of a game that is over, one by one up to its end."""
    table = companion.table
    for _ in range(TURNS):
        for phone in phones:
            with contextlib.suppress(Stuck):  # what was tapped before is in already
                phone.post("hand-in", {"moment": table.view().moment, "action": "III", "salt": f"{0:032x}"})
        while (view := table.view()).phase is Phase.STAGES:
            with contextlib.suppress(Stale):  # the camera was quicker
                table.confirm("host", view.moment, view.turn.stage, force=True)
    phones[0].post("resign", {})
    window.get(f"{_url(companion)}/history/1?at=0")
    places = int(
        _soon(lambda: window.execute_script("return Number(document.querySelector('.replay').dataset.places)"))
    )
    window.set_script_timeout(10)
    times = []
    for _ in range(places - 1):
        time.sleep(0.2)  # nobody steps more quickly; the next scene is asked for meanwhile
        times.append(float(window.execute_async_script(_STEP_MS)))
    return times


def _syncs_ms() -> Iterator[float]:
    """Milliseconds of syncs of a line each where games would be kept."""
    with tempfile.TemporaryFile() as file:
        for _ in range(SYNCS):
            file.write(b"a line of the journal\n")
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            yield 1000 * (time.perf_counter() - began)


def _finger(window: Any, selector: str) -> None:
    """Touch a key in its middle."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder  # noqa: PLC0415 - as in _window
    from selenium.webdriver.common.actions.interaction import POINTER_TOUCH  # noqa: PLC0415
    from selenium.webdriver.common.actions.pointer_input import PointerInput  # noqa: PLC0415

    key = _soon(lambda: window.execute_script("return document.querySelector(arguments[0])", selector))
    finger = PointerInput(POINTER_TOUCH, "finger")  # type: ignore[no-untyped-call]  # selenium's gap
    touch: Any = ActionBuilder(window, mouse=finger, duration=0)
    touch.pointer_action.move_to(key).pointer_down().pointer_up()
    touch.perform()


def _soon(look: Callable[[], Any]) -> Any:
    """Wait for something true, at most ten seconds; raises TimeoutError."""
    end_s = time.monotonic() + 10
    while not (found := look()):
        if time.monotonic() > end_s:
            raise TimeoutError("the browser did not answer")
        time.sleep(0.01)
    return found
