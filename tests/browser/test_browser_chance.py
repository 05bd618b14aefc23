"""Test in a browser that the page itself verifies the chance of a game that is over.

Before a game, the table publishes a commitment: the SHA-256 of its secret. Afterwards it publishes
the secret. The page's script then checks that the secret fits the commitment, and that the seed of
all chance was made of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chance_tools import play_first_actions
from internals import journal_of
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, until
from table_tools import follow_instructions
from web_fixtures import WebRig, open_web_rig
from window_tools import serve

from companion.core.kit import Seat
from companion.table.chance.fairness import FairChance, commitment_of
from companion.table.records import NewGame, Resign

pytestmark = pytest.mark.browser


@contextmanager
def open_phone_at_seat(folder: Path) -> Iterator[tuple[WebRig, WebDriver, str]]:
    """Take South's seat with a phone. Yield the rig, the phone, and the address of the pages."""
    with (
        open_web_rig(folder) as rig,
        serve(rig.app) as url,
        browser(PHONE) as window,
    ):
        window.get(f"{url}/join")
        window.find_element(By.CSS_SELECTOR, 'button[formaction="/join/south"]').click()
        until("the seat", lambda: window.current_url.endswith("/seat/south"))
        yield rig, window, url


def verdicts(window: WebDriver) -> dict[str, str]:
    """Wait until the page's script has a verdict on the whole. Return its verdicts on all parts."""
    script = """return Object.fromEntries([...document.querySelectorAll('[data-part]')]
        .map(part => [part.dataset.part, part.textContent]))"""
    until("the verdict on the whole", lambda: window.execute_script(script).get("all"))
    return dict(window.execute_script(script))


def test_a_phone_checks_the_chance_of_a_game(tmp_path: Path) -> None:
    """Resign a game of Kahmate. The seat's page and the replay's must find that all matches."""
    with open_phone_at_seat(tmp_path) as (rig, window, url):
        rig.table.new_game("kahmate")
        follow_instructions(rig.table)
        play_first_actions(rig)
        rig.table.resign(Seat.NORTH)
        expected = {"all": "everything matches", "commitment": "matches", "seed": "matches"}
        assert verdicts(window) == expected, "wrong verdicts on the seat's page"
        window.get(f"{url}/history/1")
        assert verdicts(window) == expected, "wrong verdicts on the page of the replay"
        assert not [line for line in window.get_log("browser") if line["level"] == "SEVERE"]


def test_a_forged_secret_does_not_match(tmp_path: Path) -> None:
    """Write a game to the journal whose commitment was made of another secret.

    The page must find that they do not match, although the table itself says nothing.
    """
    with open_phone_at_seat(tmp_path) as (rig, window, url):
        forged = FairChance(commitment_of("11" * 32), "00" * 32)
        journal_of(rig.table).append(1, [NewGame("kahmate", 1, chance=forged)], 5.0)
        journal_of(rig.table).append(1, [Resign(Seat.SOUTH)], 6.0)
        rig.table.new_game("outbuffered")  # so that the forged game is over, and can be replayed
        window.get(f"{url}/history/1")
        texts = verdicts(window)
        assert texts["all"] == "does not match"
        assert texts["commitment"] == "does not match"
        assert (
            "The secret does not match the commitment"
            in window.find_element(By.CSS_SELECTOR, ".refused").text
        )
