"""axe-core finds nothing on any page, in any state, light and dark, at phone, tablet and screen size."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser
from tour import SIZES, THEMES, cdp, dress, touring, visit

from companion.games import GAMES

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """
const done = arguments[0];
axe.run(document, { resultTypes: ['violations'], preload: false, RULES }).then(
  found => done(found.violations.flatMap(v => v.nodes.slice(0, 3).map(
    n => `${v.id}: ${n.html.slice(0, 160)} (${n.any.concat(n.all, n.none).map(c => c.message).join('; ').slice(0, 200)})`))),
  error => done([`axe itself: ${error}`]));
"""
ALL_RULES = _RUN.replace("RULES", "")
OF_COLOURS = _RUN.replace("RULES", "runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }")
"""A theme is other colours and nothing else: of the second one at a size these rules are left to be read."""
_AFAR = """
const done = arguments[0];
const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
const isAfar = each => each.closest('.sign') || parseFloat(getComputedStyle(each).fontSize) >= LEAD * rem - 0.5;
axe.run('#live', { runOnly: { type: 'rule', values: ['color-contrast-enhanced'] }, elementRef: true }).then(
  found => {
    const [read, weak] = ['passes', 'violations'].map(
      kind => found[kind].flatMap(rule => rule.nodes).filter(node => isAfar(node.element)));
    done([read.some(node => node.element.closest('.sign')), weak.map(
      node => `${node.html.slice(0, 160)} (${node.any.map(check => check.message).join('; ').slice(0, 200)})`)]);
  },
  error => done([true, [`axe itself: ${error}`]]));
""".replace("LEAD", "5.2")
"""Contrast AAA of the sign and of everything at least as large as `--w-lead`: what is smaller is for near."""
FULL = {("phone", "light"), ("screen", "dark")}
"""Sizes and themes in which every state is read; pages without states are read in all of them."""


@pytest.fixture(scope="module")
def axe() -> str:
    if AXE.exists():
        return AXE.read_text(encoding="utf-8")
    if os.environ.get("COMPANION_REQUIRE_BROWSER"):
        pytest.fail("axe-core is needed here: npm ci --prefix tests")
    pytest.skip("axe-core is not installed: npm ci --prefix tests")


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        yield opened


def weak_from_afar(window: WebDriver) -> Iterator[tuple[str, str]]:
    """What of the open table screen has not the contrast to be read from four metres, and in which theme."""
    for theme in THEMES:
        dress(window, SIZES["screen"], theme)
        has_read_sign, weak = window.execute_async_script(_AFAR)
        yield from ((theme, each) for each in weak)
        if not has_read_sign:
            yield theme, "the sign was not read at all"


@pytest.mark.parametrize("games", [(name,) for name in GAMES], ids=" ".join)
def test_no_page_has_a_violation(games: tuple[str, ...], axe: str, window: WebDriver) -> None:
    """Every state of one game; pages that belong to no game are read along with the first."""
    is_first = games[0] == next(iter(GAMES))
    found: dict[str, list[str]] = defaultdict(list)
    with touring() as walk:
        for stop in walk.stops(games):
            of_game = stop.name.startswith(games)
            if not of_game and not is_first:
                continue
            visit(window, walk, stop)
            window.execute_script(axe)
            for size in SIZES:
                rules = ALL_RULES
                for theme in (each for each in THEMES if not of_game or (size, each) in FULL):
                    dress(window, SIZES[size], theme)
                    for each in window.execute_async_script(rules):
                        found[each].append(f"{stop.name} {size} {theme}")
                    rules = OF_COLOURS
            if stop.name.endswith("-screen"):
                for theme, each in weak_from_afar(window):
                    found[f"from afar: {each}"].append(f"{stop.name} {theme}")
    told = [f"{what}\n    on {', '.join(where[:4])} ({len(where)})" for what, where in found.items()]
    assert not told, "\n".join(told)
