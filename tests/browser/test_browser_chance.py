"""Fair chance in a real browser: a phone gives by itself, keeps what it gave, and says whether it was used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chance_tools import NORTHS, give, place_pieces, pledge_at, recomputed, to_placing
from inside import journal_of, session_of
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from service import PHONE, browser, until
from web_fixtures import Place, open_place

from companion.core.kit import Seat
from companion.table.chance.fairness import Contribution, FairChance, commitment_of
from companion.table.records import NewGame, Resign
from web.server.server import serve

pytestmark = pytest.mark.browser


@contextmanager
def at_a_phone(folder: Path) -> Iterator[tuple[Place, WebDriver, str]]:
    """South's phone, which has sat down and given; North gave by another one."""
    with open_place(folder) as place, serve(place.app, "127.0.0.1", 0) as server, browser(PHONE) as window:
        server.start()
        url = f"http://127.0.0.1:{server.port}"
        window.get(f"{url}/join")
        window.find_element(By.CSS_SELECTOR, 'button[formaction="/join/south"]').click()
        until("South's part", lambda: place.table.view().fairness.pledge.given.get(Seat.SOUTH) == "phone")  # type: ignore[union-attr] # a game is offered
        assert give(place.sit("north"), "north", pledge_at(place), NORTHS) == 200
        yield place, window, url


def verdicts(window: WebDriver) -> dict[str, str]:
    """What the page's script says of each part, once it has said something of the whole."""
    script = """return Object.fromEntries([...document.querySelectorAll('[data-part]')]
        .map(each => [each.dataset.part, each.textContent]))"""
    return dict(until("the verdict", lambda: (found := window.execute_script(script)).get("all") and found))


def test_a_phone_gives_and_checks_that_it_was_used(tmp_path: Path) -> None:
    with at_a_phone(tmp_path) as (place, window, url):
        mine = window.execute_script("return Object.entries(localStorage).find(([name]) => name.startsWith('chance:'))")
        assert mine[0] == f"chance:0:{pledge_at(place)}:south"
        assert len(mine[1]) == 64
        place.table.new_game("kahmate")
        to_placing(place)
        place_pieces(place)
        place.table.resign(Seat.NORTH)
        fits = {
            "all": "everything matches",
            "commitment": "matches",
            "seed": "matches",
            "south": "yours was used",
            "north": "",
        }
        assert verdicts(window) == fits, "on the seat's own page"
        opened = place.browser().get("/api/view").get_json()["chance"]["opened"]
        assert opened["contributions"]["south"] == mine[1]
        assert recomputed(opened)[1] == opened["seed"]
        window.get(f"{url}/history/1")
        assert verdicts(window) == fits, "and on the replay's"
        place.table.redraw()
        window.get(f"{url}/seat/south")
        given = place.table.view().fairness.pledge
        until("its part for the next game", lambda: given and place.table.view().fairness.pledge.given.get(Seat.SOUTH))  # type: ignore[union-attr] # a game is offered
        assert not [line for line in window.get_log("browser") if line["level"] == "SEVERE"]


def forge(place: Place, number: int, fair: FairChance) -> None:
    """A game in the journal whose chance somebody has changed."""
    journal_of(place.table).append(number, NewGame("kahmate", number, chance=fair), 5.0)
    journal_of(place.table).append(number, Resign(Seat.SOUTH), 6.0)


def test_a_forged_history_is_called_one(tmp_path: Path) -> None:
    with at_a_phone(tmp_path) as (place, window, url):
        pledge = session_of(place.table).pledge
        assert pledge is not None
        secret = journal_of(place.table).key("chance").hex()
        parts = dict(pledge.contributions)
        other = {**parts, Seat.SOUTH: Contribution("11" * 32, "phone")}
        forge(place, 1, FairChance(commitment_of("00" * 32), "00" * 32, parts))
        forge(place, 2, FairChance(pledge.commitment, secret, other))
        forge(place, 3, FairChance(pledge.commitment, "00" * 32, parts))
        place.table.new_game("outbuffered")
        said = {}
        for number in (1, 2, 3):
            window.get(f"{url}/history/{number}")
            said[number] = verdicts(window)
            assert said[number]["all"] == "does not match", number
        assert said[1]["south"] == "this phone was told another commitment"
        assert said[2]["south"] == "this phone gave another one"
        for number in (1, 2):
            assert (said[number]["commitment"], said[number]["seed"]) == ("matches", "matches"), (
                "only the phone can know"
            )
        assert said[3]["commitment"] == "does not match"
        assert "The secret does not match the commitment" in window.find_element(By.CSS_SELECTOR, ".refused").text
