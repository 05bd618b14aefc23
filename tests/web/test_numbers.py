"""Numbers of more digits than Python reads: an address, a form or a header may have them, and nothing falls over."""

from __future__ import annotations

from pathlib import Path

import pytest
from hub_room import hub_pages, league_of
from web_fixtures import HOST_KEY, open_place

from companion.core.clock import FakeClock
from companion.games import GAMES
from web.hub.room import Room

LONG = "9" * 5000


@pytest.mark.parametrize("game", GAMES)
def test_no_option_of_a_printed_kit_takes_one(game: str, tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        for row in GAMES[game].option_rows:
            answer = place.browser().get(f"/kit/{game}.pdf?{row.name}={LONG}")
            assert answer.status_code == 400, row.name


def test_a_host_page_leaves_it_out(tmp_path: Path) -> None:
    with open_place(tmp_path) as place:
        host = place.browser()
        host.post("/host", data={"key": HOST_KEY})
        answer = host.post("/host/start", data={"game": "outbuffered", "turn_limit": LONG})
        assert answer.status_code < 500


def test_a_tournament_takes_its_game_without_it(tmp_path: Path) -> None:
    clock = FakeClock()
    with (
        league_of(tmp_path, clock) as league,
        hub_pages(Room("R", clock), clock, league=league) as app,
    ):
        wish = {"name": "x", "system": "swiss", "game": f"scouts/{LONG}"}
        assert (
            app.test_client()
            .post("/host/tournaments", data=wish, headers={"X-Host-Key": "abcde-fghij"})
            .status_code
            == 303
        )
