"""Fixtures: windows that the tests of a file share, axe-core, and a tour with two players."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from finger_tools import OWN_CLOCK
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser
from tour import TableTour, cdp, open_table_tour
from window_tools import Windows

from companion.core.kit import SEATS

LAPTOP = (1366, 768)
# Draws animations ten times a second only. Nobody looks at them, and drawing slows other tests.
FEW_FRAMES = (
    "window.requestAnimationFrame = paint => setTimeout(() => paint(performance.now()), 100)"
)
AXE = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def windows() -> Iterator[Windows]:
    """South's phone, North's phone and a table screen, which is the only one with animations.

    The table screen is small, because no graphics card draws its animations.
    """
    with browser(PHONE) as south, browser(PHONE) as north, browser(LAPTOP, is_moving=True) as wall:
        for opened in (south, north, wall):
            cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=FEW_FRAMES)
        yield south, north, wall


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    """A phone whose network can be changed."""
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        yield opened


@pytest.fixture(scope="module")
def own_clock() -> Iterator[WebDriver]:
    """A phone whose pages have a clock of their own, which stands until the test moves it."""
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        cdp(opened, "Page.addScriptToEvaluateOnNewDocument", source=OWN_CLOCK)
        yield opened


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core, a checker of accessibility. Skip the test if it is not installed."""
    if AXE.exists():
        return AXE.read_text(encoding="utf-8")
    if os.environ.get("COMPANION_REQUIRE_BROWSER"):
        pytest.fail("axe-core is needed here: npm ci --prefix tests")
    pytest.skip("axe-core is not installed: npm ci --prefix tests")


@pytest.fixture
def tour() -> Iterator[TableTour]:
    """A tour with Mara as South and Jonas as North."""
    with open_table_tour() as opened:
        for seat, name in zip(SEATS, ("Mara", "Jonas"), strict=True):
            opened.client.post(f"/api/seat/{seat}/take", name=name)
        yield opened
