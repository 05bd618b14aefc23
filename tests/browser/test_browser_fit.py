"""No page scrolls sideways and no key loses its words: on the smallest phone and at twice the text, in every language."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser
from tour import SIZES, Stop, cdp, dress, touring, visit

from companion.games import GAMES

pytestmark = pytest.mark.browser

SMALL = (320, 640)
_BIGGER = """
for (const each of document.querySelectorAll('body *:not(svg *)')) each.dataset.size = parseFloat(getComputedStyle(each).fontSize);
for (const each of document.querySelectorAll('[data-size]')) each.style.fontSize = `${2 * each.dataset.size}px`;
"""
_CUT = """
const found = [], seen = each => each.checkVisibility() && !each.closest('.vh, svg, [hidden]');
const wide = document.scrollingElement.scrollWidth;
if (wide > innerWidth + 1) found.push(`the page is ${wide} px wide`);
for (const each of document.querySelectorAll('button, a.key, .sign, h1, h2, th, label, summary')) {
  if (!seen(each)) continue;
  const box = each.getBoundingClientRect();
  if (!box.width || !each.innerText?.trim()) continue;
  if (each.scrollWidth > each.clientWidth + 2 && each.clientWidth) found.push(`cut: ${each.innerText.trim().slice(0, 40)}`);
}
return found;
"""


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        yield opened


def is_for_hands(stop: Stop) -> bool:
    """The table screen and the workbench are not made for the smallest phone."""
    return not stop.name.endswith("-screen") and stop.name != "workbench"


@pytest.mark.parametrize("game", GAMES)
def test_everything_fits(game: str, window: WebDriver) -> None:
    """Pages that belong to no game are looked at along with the first."""
    found: dict[str, list[str]] = defaultdict(list)
    is_first = game == next(iter(GAMES))
    with touring() as walk:
        for stop in walk.stops((game,)):
            if not stop.name.startswith(game) and not is_first:
                continue
            looks = [(SIZES["screen"], 1, "es"), (SIZES["screen"], 1, "fr")]
            if is_for_hands(stop):
                looks = [(SMALL, 1, "es"), (SMALL, 1, "fr"), (PHONE, 2, "fr")]
            for size, text, language in looks:
                dress(window, size, "light")
                visit(window, walk, stop, language)
                if text == 2:
                    window.execute_script(_BIGGER)
                for each in window.execute_script(_CUT):
                    found[each].append(f"{stop.name} {size[0]} px, {text} x, {language}")
    told = [f"{what}\n    on {', '.join(where[:3])} ({len(where)})" for what, where in found.items()]
    assert not told, "\n".join(told)
