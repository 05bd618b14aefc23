"""From a refusal on a phone to its paragraph, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from served import served
from service import PHONE, Client, browser, sit_down, too_wide, until
from window_tools import no_errors

pytestmark = pytest.mark.browser

_HAND_IN = """
const [moment, action, done] = arguments;
const script = document.querySelector('script[src$="live.js"]').src.replace('live.js', 'page.js');
import(script).then(({ post }) => post('/api/seat/south/hand-in', { moment, action })).then(done);
"""
_LIT = """
const lit = document.querySelector('section:target');
const plain = [...document.querySelectorAll('main section[tabindex]')].find((each) => each !== lit);
return lit && { id: lit.id, top: lit.getBoundingClientRect().top, text: lit.innerText,
  differs: getComputedStyle(lit).backgroundColor !== getComputedStyle(plain).backgroundColor };
"""


def test_a_refusal_leads_to_its_paragraph_which_is_lit(tmp_path: Path) -> None:
    with served(tmp_path) as service, browser(PHONE) as phone:
        sit_down(phone, service, "south", "Mara")
        service.new_game("scouts")
        service.host(
            "confirm", moment=Client(service.url).get("/api/view")["moment"], stage=0, force=True
        )
        moment = Client(service.url).get("/api/view")["moment"]
        until(
            "the turn",
            lambda: phone.find_elements(By.CSS_SELECTOR, f'#live.orders[data-moment="{moment}"]'),
        )
        phone.execute_async_script(_HAND_IN, moment, "c1-c2")
        words = until(
            "the link",
            lambda: phone.execute_script("return document.querySelector('#said a')?.innerText"),
        )
        assert words == "Rule 2, Setting up"
        phone.execute_script("document.querySelector('#said a').click()")
        lit = until("the paragraph", lambda: phone.execute_script(_LIT))
        assert (lit["id"], lit["differs"]) == ("setting-up", True)
        assert lit["text"].startswith("2Setting up") or lit["text"].startswith("2\nSetting up")
        assert 0 <= lit["top"] < 400, "it is in view"
        assert too_wide(phone) <= 0
        no_errors(phone)
