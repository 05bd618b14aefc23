"""The code to sit down on a phone: from the QR code's address into the form, and out of the address at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from service import PHONE, browser, until

from companion.core.clock import FakeClock
from companion.core.config import Settings, WebSettings
from companion.core.kit import Seat
from companion.service.app import Companion

pytestmark = pytest.mark.browser


def test_a_scanned_code_fills_the_form_and_leaves_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(
        state_dir=str(tmp_path), web=WebSettings(host="127.0.0.1", port=0, join="code")
    )
    with (
        Companion(settings, simulate=True, clock=FakeClock(), threads=False) as companion,
        browser(PHONE) as window,
    ):
        monkeypatch.setattr(
            "web.security.auth.OWN_ADDRESSES", ()
        )  # the phone is not the machine's own screen
        assert companion.join_code
        code, url = companion.join_code.now(), f"http://127.0.0.1:{companion.server.port}"

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
        shown = "return document.body?.innerText ?? ''"  # at once: a part of the page before would be gone when it is read
        until("the refusal", lambda: "That is not the code" in window.execute_script(shown))
        assert typed() == ""
        window.find_element(By.ID, "code").send_keys(companion.join_code.now().upper())
        window.find_element(By.CSS_SELECTOR, "form.join .go").click()
        until("the seat", lambda: window.current_url == f"{url}/seat/south")
        assert companion.table.view().seats[Seat.SOUTH].name is not None
