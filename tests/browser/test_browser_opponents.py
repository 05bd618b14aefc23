"""One person with one laptop: from the lobby to a sealed order and on to the second turn, against the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.remote.webdriver import WebDriver
from served import served
from service import Client, Served, browser, tap, until
from window_tools import no_errors

pytestmark = pytest.mark.browser
LAPTOP = (1440, 900)


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[tuple[Served, WebDriver]]:
    with served(tmp_path) as service, browser(LAPTOP) as window:
        window.get(service.url)
        yield service, window


def test_a_character_is_picked_on_the_table_screen_and_sent_away(
    laptop: tuple[Served, WebDriver],
) -> None:
    service, window = laptop
    client = Client(service.url)
    client.post("/api/seat/south/take", name="Mara")
    tap(window, ".machines [data-post]")
    until("Pip sits", lambda: client.get("/api/view")["seats"]["north"]["name"] == "Pip")
    tap(window, ".machines [data-body*=Zeno]")
    until("Zeno sits", lambda: client.get("/api/view")["seats"]["north"]["name"] == "Zeno")
    tap(window, ".machines [data-post$=machine-leaves]")
    until("it is gone", lambda: client.get("/api/view")["seats"]["north"]["name"] is None)
    no_errors(window)


ENGINE = """
import json, sys
for line in sys.stdin:
    name = next(iter(json.loads(line)))
    reply = {"new": {"ready": True}, "choose": {"action": "UII", "nodes": 1, "why": []}}.get(name, {"ok": True})
    print(json.dumps(reply), flush=True)
"""


def test_a_program_from_outside_is_picked_and_hands_in(tmp_path: Path) -> None:
    """It is offered beside the three characters, by its name, and plays like them."""
    program = tmp_path / "ada.py"
    program.write_text(ENGINE)
    engine = f"Ada={sys.executable} {program}"
    with served(tmp_path, engines=(engine,)) as service, browser(LAPTOP) as window:
        client = Client(service.url)
        client.post("/api/seat/south/take", name="Mara")
        window.get(service.url)
        tap(window, ".machines [data-post]")
        names = "return [...document.querySelectorAll('.machines .wkey b')].map(each => each.textContent)"
        four = ["Pip", "Bo", "Zeno", "Ada"]
        until("four keys", lambda: window.execute_script(names) == four)
        tap(window, ".machines [data-body*=Ada]")
        until("Ada sits", lambda: client.get("/api/view")["seats"]["north"]["name"] == "Ada")
        client.post("/api/seat/south/start", game="outbuffered")
        until("its receipt", lambda: client.get("/api/view")["seats"]["north"]["sealed_at"])
        no_errors(window)
