"""The code to sit down on a phone: from the QR code's address into the form, and out of the address
at once.
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
    with (
        service_on_still_clock(tmp_path, join="code") as (companion, url),
        browser(PHONE) as window,
    ):
        # the phone is not the machine's own screen
        monkeypatch.setattr("web.security.auth.OWN_ADDRESSES", ())
        assert companion.join_code
        code = companion.join_code.current()

        def typed() -> str:
            return str(window.find_element(By.ID, "code").get_attribute("value"))

        window.get(f"{url}/s#{code}")
        until("the code in the form", lambda: typed() == code)
        assert window.current_url == f"{url}/join/south"
        window.get(f"{url}/join")
        until("the code on the next page", lambda: typed() == code)
        companion.table.new_game("scouts", {}, 1)
        window.get(f"{url}/join/south")
        until("the code of before", lambda: typed() == code)
        window.find_element(By.CSS_SELECTOR, "form.join .go").click()
        # at once: a part of the page before would be gone when it is read
        shown = "return document.body?.innerText ?? ''"
        until("the refusal", lambda: "That is not the code" in window.execute_script(shown))
        assert typed() == ""
        window.find_element(By.ID, "code").send_keys(companion.join_code.current().upper())
        window.find_element(By.CSS_SELECTOR, "form.join .go").click()
        until("the seat", lambda: window.current_url == f"{url}/seat/south")
        assert companion.table.view().seats[Seat.SOUTH].name is not None
