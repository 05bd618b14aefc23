"""Browsers that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser
from tour import cdp
from window_tools import Windows, three_windows


@pytest.fixture(scope="module")
def windows() -> Iterator[Windows]:
    """Two phones and the table screen."""
    with three_windows() as opened:
        yield opened


@pytest.fixture(scope="module")
def window() -> Iterator[WebDriver]:
    """A phone whose network can be changed."""
    with browser(PHONE) as opened:
        cdp(opened, "Network.enable")
        yield opened
