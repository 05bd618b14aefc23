"""The made-up game goes through table, pages and kit without a line about it anywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy import Toy
from web_fixtures import open_place

from companion.core.kit import SEATS, Seat
from companion.games import GAMES


def test_a_whole_game_on_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GAMES, "toy", Toy())
    with open_place(tmp_path) as place:
        browser = place.browser()
        for seat in SEATS:
            assert browser.post(f"/api/seat/{seat}/take", json={"name": seat}).status_code == 200
        assert "Toy race" in browser.get("/").get_data(as_text=True)
        assert browser.post("/api/seat/south/start", json={"game": "toy"}).status_code == 200
        view = browser.get("/api/view").get_json()
        browser.post(
            "/api/seat/south/confirm", json={"moment": view["moment"], "stage": 0, "force": False}
        )
        for turn in range(5):
            view = browser.get("/api/view").get_json()
            assert view["phase"] == ("orders" if turn < 3 else "over")
            for page in ("/", "/watch", "/seat/south", "/seat/north", "/rules/toy"):
                assert browser.get(page).status_code == 200
            if view["phase"] == "orders":
                seat = SEATS[turn % 2]
                assert place.table.view().sign.seats == {seat}
                refused = browser.post(
                    f"/api/seat/{seat.other}/hand-in",
                    json={"moment": view["moment"], "action": "2", "salt": "0"},
                )
                assert refused.status_code == 409
                taken = browser.post(
                    f"/api/seat/{seat}/hand-in",
                    json={"moment": view["moment"], "action": "2", "salt": "0"},
                )
                assert taken.status_code == 200, taken.get_data(as_text=True)
        assert view["outcome"]["winners"] == [Seat.SOUTH]
        assert '<h1 class="result">south wins</h1>' in browser.get("/").get_data(as_text=True)
