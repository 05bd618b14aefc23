"""Test in a browser that a join code moves from a QR code's address into the form.

The address must not keep it, because others may see the address.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from service import PHONE, browser, until
from window_tools import service_on_still_clock

from companion.core.kit import Seat

pytestmark = pytest.mark.browser


def test_a_scanned_code_moves_into_the_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The form keeps the code on other pages, too. A refused code is cleared."""
    with (
        service_on_still_clock(tmp_path, join="code") as (companion, url),
        browser(PHONE) as window,
    ):
        # else this machine's browser counts as its own screen, which needs no code
        monkeypatch.setattr("web.security.auth.OWN_ADDRESSES", ())
        assert companion.join_code
        code = companion.join_code.current()

        def code_in_form() -> str:
            return str(window.find_element(By.ID, "code").get_attribute("value"))

        window.get(f"{url}/s#{code}")
        until("the code in the form", lambda: code_in_form() == code)
        assert window.current_url == f"{url}/join/south"
        window.get(f"{url}/join")
        until("the code on the next page", lambda: code_in_form() == code)
        companion.table.new_game("scouts", {}, 1)  # a new game has a new code
        window.get(f"{url}/join/south")
        until("the old code in the form", lambda: code_in_form() == code)
        window.find_element(By.CSS_SELECTOR, "form.join .go").click()
        # by one script: an element of the previous page could be gone when it is read
        page_text = "return document.body?.innerText ?? ''"
        until("the refusal", lambda: "That is not the code" in window.execute_script(page_text))
        assert code_in_form() == ""
        window.find_element(By.ID, "code").send_keys(companion.join_code.current().upper())
        window.find_element(By.CSS_SELECTOR, "form.join .go").click()
        until("the seat", lambda: window.current_url == f"{url}/seat/south")
        assert companion.table.view().seats[Seat.SOUTH].name is not None
