"""One person with one laptop: from the lobby to a sealed order and on to the second turn, against
the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from served import served
from service import Client, browser, tap, until
from window_tools import no_errors, texts_of

pytestmark = pytest.mark.browser
CHARACTERS = ["Pip", "Bo", "Zeno", "Ada"]


ENGINE = """
import json, sys
for line in sys.stdin:
    name = next(iter(json.loads(line)))
    reply = {"new": {"ready": True}, "choose": {"action": "UII", "nodes": 1, "why": []}}.get(name, {"ok": True})
    print(json.dumps(reply), flush=True)
"""


def test_a_character_is_picked_sent_away_and_a_program_plays(tmp_path: Path) -> None:
    """A program from outside is offered beside the three characters, by its name, and plays like
    them.
    """
    program = tmp_path / "ada.py"
    program.write_text(ENGINE)
    engine = f"Ada={sys.executable} {program}"
    with served(tmp_path, engines=(engine,)) as service, browser((1440, 900)) as window:
        client = Client(service.url)

        def sits(name: str | None) -> None:
            until(f"{name} sits", lambda: client.get("/api/view")["seats"]["north"]["name"] == name)

        client.post("/api/seat/south/take", name="Mara")
        window.get(service.url)
        tap(window, ".machines [data-post]")
        sits("Pip")
        until("four keys", lambda: texts_of(window, ".machines .wkey b") == CHARACTERS)
        tap(window, ".machines [data-post$=machine-leaves]")
        sits(None)
        tap(window, ".machines [data-post]")
        sits("Pip")
        tap(window, ".machines [data-body*=Ada]")
        sits("Ada")
        client.post("/api/seat/south/start", game="outbuffered")
        until("its receipt", lambda: client.get("/api/view")["seats"]["north"]["sealed_at"])
        no_errors(window)
