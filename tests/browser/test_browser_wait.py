"""Test in a browser that a key shows "working" until its file, which takes long, is there."""

from __future__ import annotations

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import until
from tour import Stop, open_table_tour, visit

pytestmark = pytest.mark.browser
# The key of a PDF file on the page of kits.
KEY = "#scouts .get a"


def test_a_key_shows_that_it_is_working(window: WebDriver) -> None:
    """Tap the key of a file. It says "working" until the browser has got the file.

    A page cannot see a download. So the key's address has a token, which the server puts into the
    cookie `made` along with the file. Here no file is made, and the test sets the cookie instead.
    """
    with open_table_tour() as tour:
        visit(window, tour, Stop("kit", "/kit"))
        # the browser stays on this page, and asks for no file
        window.execute_script("document.addEventListener('click', event => event.preventDefault())")
        until(
            "a click on the key",
            lambda: window.execute_script(f"document.querySelector('{KEY}').click(); return 1"),
        )
        until(
            "the word “working”", lambda: "working" in window.find_element("css selector", KEY).text
        )
        token = window.execute_script(
            f"return new URL(document.querySelector('{KEY}').href).searchParams.get('wait')"
        )
        assert token
        window.execute_script("document.cookie = `made=${arguments[0]}; path=/`", token)
        until(
            "the old words",
            lambda: window.find_element("css selector", KEY).text == "Kit\nPDF to cut out",
        )
