"""A key that asks for something long says that it is at work, until the answer is there."""

from __future__ import annotations

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from service import until
from tour import Stop, open_table_tour, visit

pytestmark = pytest.mark.browser
KEY = "#scouts .get a"


def test_a_key_says_that_it_is_working(window: WebDriver) -> None:
    with open_table_tour() as tour:
        visit(window, tour, Stop("kit", "/kit"))
        # it stays here
        window.execute_script("document.addEventListener('click', event => event.preventDefault())")
        until(
            "the script",
            lambda: window.execute_script(f"document.querySelector('{KEY}').click(); return 1"),
        )
        until("working", lambda: "working" in window.find_element("css selector", KEY).text)
        token = window.execute_script(
            f"return new URL(document.querySelector('{KEY}').href).searchParams.get('wait')"
        )
        assert token
        window.execute_script("document.cookie = `made=${arguments[0]}; path=/`", token)
        until(
            "done", lambda: window.find_element("css selector", KEY).text == "Kit\nPDF to cut out"
        )
