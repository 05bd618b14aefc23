"""Test in a browser that a join code moves from a QR code's address into the form.

The code proves that a person is at the table. The address must not keep it, because people send
addresses to others. The code is behind the address's `#`, so the browser does not send it, either.
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
    """Scan a code, and open another page for joining, which must have the code, too.

    Then use the code when it is out of date. A refused code must be cleared.
    """
    with (
        service_on_still_clock(tmp_path, join="code") as (companion, url),
        browser(PHONE) as window,
    ):
        # Otherwise this machine's browser would count as its own screen, which needs no code.
        monkeypatch.setattr("web.security.auth.OWN_ADDRESSES", ())
        assert companion.join_code
        code = companion.join_code.current()

        def code_in_form() -> str:
            return str(window.find_element(By.ID, "code").get_attribute("value"))

        # The address of South's QR code leads to the form for South, and loses the code.
        window.get(f"{url}/s#{code}")
        until("the code in the form", lambda: code_in_form() == code)
        assert window.current_url == f"{url}/join/south"
        window.get(f"{url}/join")
        until("the code on the next page", lambda: code_in_form() == code)

        # A new game has a new code, so the old one is refused and cleared.
        companion.table.new_game("scouts", seed=1)
        window.get(f"{url}/join/south")
        until("the old code in the form", lambda: code_in_form() == code)
        window.find_element(By.CSS_SELECTOR, "form.join .go").click()
        # read by one script, because an element of the previous page could be gone meanwhile
        page_text = "return document.body?.innerText ?? ''"
        until("the refusal", lambda: "That is not the code" in window.execute_script(page_text))
        assert code_in_form() == ""

        # People may type the new code, in capitals as well.
        window.find_element(By.ID, "code").send_keys(companion.join_code.current().upper())
        window.find_element(By.CSS_SELECTOR, "form.join .go").click()
        until("the seat", lambda: window.current_url == f"{url}/seat/south")
        assert companion.table.view().seats[Seat.SOUTH].name is not None
