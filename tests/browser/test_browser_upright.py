"""The table screen, upright too: no sentence is cut, none lies on another part or outside."""

from __future__ import annotations

import pytest
import tour as walk
from selenium.webdriver.remote.webdriver import WebDriver
from service import browser

pytestmark = pytest.mark.browser
UPRIGHT, TABLET, LAPTOP = (1080, 1920), (768, 1024), (1366, 768)
CUT = """
const cut = [];
for (const part of document.querySelectorAll('main h1, main h2, main p, main li, main .sign, main small')) {
  if (!part.innerText?.trim() || part.matches('.still') || part.closest('.vh, .board, .log')) continue;
  const range = document.createRange();
  range.selectNodeContents(part);
  const box = range.getBoundingClientRect();
  if (!box.width || !box.height || getComputedStyle(part).visibility === 'hidden') continue;
  let frame = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  for (let outer = part; outer; outer = outer.parentElement) {
    if (outer === document.body || getComputedStyle(outer).overflow === 'visible') continue;
    const edge = outer.getBoundingClientRect();
    frame = { left: Math.max(frame.left, edge.left), top: Math.max(frame.top, edge.top),
      right: Math.min(frame.right, edge.right), bottom: Math.min(frame.bottom, edge.bottom) };
  }
  const out = Math.max(frame.left - box.left, frame.top - box.top, box.right - frame.right, box.bottom - frame.bottom);
  if (out > arguments[0]) cut.push(`${part.tagName}.${part.className} ${Math.round(out)} px: ${part.innerText.slice(0, 60)}`);
}
return cut;
"""
OVER = """
const parts = [...document.querySelectorAll('.g, .seat, .page > .rivals, .ways, .more, .page > .lesson, .lanes, .facts > *, .chance, .page > .sign, .view .board, .wall-ask, .whole-word, #to-seat')]
  .map(part => [part, part.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
const over = [];
for (const [one, here] of parts) for (const [other, there] of parts) {
  if (one === other || one.contains(other) || other.contains(one)) continue;
  const across = Math.min(here.right, there.right) - Math.max(here.left, there.left);
  const along = Math.min(here.bottom, there.bottom) - Math.max(here.top, there.top);
  if (across > arguments[0] && along > arguments[0]) over.push(`${one.className} lies on ${other.className}`);
}
return over;
"""
SLACK_PX = 4
"""Ascenders and descenders reach beyond a line."""


def cut(window: WebDriver) -> list[str]:
    return [each for script in (CUT, OVER) for each in window.execute_script(script, SLACK_PX)]


@pytest.mark.parametrize(
    ("game", "looks"),
    [
        ("outbuffered", (("en", UPRIGHT), ("es", UPRIGHT), ("fr", UPRIGHT), ("fr", TABLET))),
        ("scouts", (("en", UPRIGHT), ("es", UPRIGHT))),
        ("kahmate", (("fr", TABLET), ("fr", LAPTOP))),
        ("binmat", (("fr", UPRIGHT), ("fr", TABLET), ("fr", LAPTOP))),
    ],
)
def test_no_sentence_of_the_table_screen_is_cut(game: str, looks: tuple[tuple[str, tuple[int, int]], ...]) -> None:
    """One walk for each game, read in every language and size at each stop."""
    found = {}
    with walk.touring() as tour, browser(UPRIGHT) as window:
        walk.cdp(window, "Network.enable")
        for stop in tour.stops((game,)):
            for language, size in looks if stop.path == "/" else ():
                walk.dress(window, size, "light")
                walk.visit(window, tour, stop, language)
                found[stop.name, language, size] = cut(window)
    assert len(found) >= 4 * len(looks)
    assert {name: each for name, each in found.items() if each} == {}
