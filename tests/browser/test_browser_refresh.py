"""Every page after every scripted refresh: no drawing is missing, nothing scrolls sideways, nothing jumps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, until
from tour import SIZES, Stop, Tour, cdp, dress, touring, visit

from companion.games import GAMES

pytestmark = pytest.mark.browser

WIDTHS = (320, 390, 768, 1024, 1366, 1920, 2560)
MOST_SHIFT = 0.05
_MISSING = """
const missing = [...document.querySelectorAll('use')].map(use => use.getAttribute('href'))
  .filter(href => href !== '#' && !document.getElementById(href.slice(1)));
return [...new Set(missing)].map(href => `no drawing ${href}`);
"""
_WIDE = """
const wide = document.scrollingElement.scrollWidth;
if (wide <= innerWidth) return [];
const far = [...document.querySelectorAll('body *')].filter(each => each.getBoundingClientRect().right > innerWidth + 1 && !each.closest('svg'));
return [`${wide} px wide in ${innerWidth}: ${far.slice(0, 3).map(each => each.tagName + '.' + each.className).join(', ')}`];
"""
_HEARD = "document.addEventListener('shown', () => { window.heard = true })"
_EVENING = """
const strip = document.querySelector('.strip');
for (let number = 0; number < 30; number++) strip.append(strip.firstElementChild.cloneNode(true));
"""
_SHIFT = """
const [done] = arguments;
new PerformanceObserver(list => {
  const entries = list.getEntries().filter(each => !each.hadRecentInput);
  const worst = entries.sort((one, other) => other.value - one.value)[0];
  const node = worst?.sources?.[0]?.node;
  done([entries.reduce((sum, each) => sum + each.value, 0), node ? `${node.nodeName}.${node.className ?? ''}` : '']);
}).observe({ type: 'layout-shift', buffered: true });
setTimeout(() => done([0, '']), 400);
"""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=_HEARD)
        yield opened


def heard(window: WebDriver, stop: Stop) -> None:
    """Wait until the page's stream has said how things stand: what it shows now, scripts have put there."""
    script = "return !document.body.dataset.live || window.heard === true"
    until(f"the stream of {stop.name}", lambda: window.execute_script(script))


def faults(window: WebDriver, tour: Tour, stop: Stop) -> list[str]:
    """What is wrong with a page once its stream has begun."""
    size = SIZES["screen"] if stop.name.endswith("-screen") or stop.name in ("workbench", "camera") else PHONE
    dress(window, size, "light")
    visit(window, tour, stop)
    heard(window, stop)
    found: list[str] = list(window.execute_script(_MISSING))
    shift, what = window.execute_async_script(_SHIFT)
    if shift > MOST_SHIFT:
        found.append(f"shifts by {shift:.2f}: {what}")
    for width in WIDTHS:
        cdp(
            window,
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        found += window.execute_script(_WIDE)
    return found


@pytest.mark.parametrize("game", GAMES)
def test_every_page_is_whole_after_its_refresh(game: str, window: WebDriver) -> None:
    """Pages that belong to no game are looked at along with the first."""
    told: dict[str, list[str]] = {}
    is_first = game == next(iter(GAMES))
    with touring() as tour:
        for stop in tour.stops((game,)):
            if (stop.name.startswith(game) or is_first) and (wrong := faults(window, tour, stop)):
                told[stop.name] = wrong
    assert not told, "\n".join(f"{name}: {'; '.join(wrong)}" for name, wrong in told.items())


def test_every_scene_of_a_replay_has_its_drawings(window: WebDriver) -> None:
    with touring() as tour:
        for stop in tour.stops(("outbuffered",)):
            if stop.name == "replay":
                dress(window, PHONE, "light")
                visit(window, tour, stop)
                places = int(window.execute_script("return document.querySelector('.replay').dataset.places"))
                for place in range(1, places):
                    window.execute_script("document.getElementById('next').click()")
                    until("the scene", lambda place=place: window.current_url.endswith(f"?at={place}"))
                    until("its drawings", lambda: window.execute_script(_MISSING) == [])
            if stop.name == "camera":
                visit(window, tour, stop)
                heard(window, stop)
                window.execute_script(_EVENING)
                assert window.execute_script(_WIDE) == []
                break


@pytest.mark.parametrize("trouble", [False, True])
def test_the_camera_page_has_its_drawings_and_advice_without_a_board(window: WebDriver, trouble: bool) -> None:
    with touring() as tour:
        tour.client.send("/host", f"key={tour.companion.host_key}".encode())
        if trouble:
            tour.companion.album.trouble = "The disk is full."
        dress(window, SIZES["tablet"], "light")
        visit(window, tour, Stop("camera", "/camera"))
        heard(window, Stop("camera", "/camera"))
        assert window.execute_script(_MISSING) == []
        advice = window.find_element("id", "camera-advice").text
        assert advice.strip(), "what helps is never empty"


_HIDDEN = """
scrollTo(0, document.scrollingElement.scrollHeight);
return [...document.querySelectorAll('.elsewhere a, .elsewhere button, .st a')].filter(each => {
  each.scrollIntoView({ block: 'nearest' });
  const [{ left, top, width, height }] = each.getClientRects();
  const hit = document.elementFromPoint(left + width / 2, top + height / 2);
  return !each.contains(hit);
}).map(each => each.innerText);
"""


@pytest.mark.parametrize("size", [(390, 844), (768, 1024), (1024, 768), (1366, 768)])
def test_no_link_of_the_hosts_page_stays_under_the_sign(window: WebDriver, size: tuple[int, int]) -> None:
    with touring() as tour:
        tour.client.send("/host", f"key={tour.companion.host_key}".encode())
        tour.table.new_game("outbuffered", {}, 7)
        dress(window, size, "light")
        visit(window, tour, Stop("host", "/host"))
        heard(window, Stop("host", "/host"))
        assert window.execute_script(_HIDDEN) == []
        cut = "return [...document.querySelectorAll('.nav, .nav *')].filter(each => each.scrollHeight > each.clientHeight + 2 && getComputedStyle(each).overflowY !== 'visible').length"
        assert window.execute_script(cut) == 0, "the index scrolls inside"
