"""A phone that is gone: who is told, and who may go on instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from web_fixtures import Place, error_of, open_place, page_text

from companion.core.kit import Seat
from web.context import GONE_AFTER_S, Presence
from web.features import Welcome

ELSEWHERE = {"REMOTE_ADDR": "192.0.2.44"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(tmp_path, welcome=Welcome(has_pads=True)) as place:
        yield place


def goes(place: Place) -> str:
    """Seat South, begin a game, and let nothing follow the seat for long. Return the sitting."""
    south = place.sit("south", "Ann")
    place.to_orders()
    presence: Presence = place.app.extensions["presence"]
    with south.get("/live/seat/south", buffered=False):
        for _ in range(3):
            place.clock.advance(GONE_AFTER_S)
            presence.update()
        assert Seat.SOUTH not in presence.gone_seats, "a phone that follows is there"
    place.clock.advance(GONE_AFTER_S)
    presence.update()
    assert Seat.SOUTH in presence.gone_seats
    place.table.step()
    return place.table.view().seats[Seat.SOUTH].sitting


def test_a_seat_without_a_stream_is_marked(place: Place) -> None:
    north = place.sit("north", "Ben")
    goes(place)
    for browser, path in ((place.browser(), "/"), (north, "/seat/north")):
        assert "Ann: the phone is gone" in page_text(browser, path)
    assert "Ben: the phone is gone" not in page_text(north, "/seat/north"), (
        "one’s own page is there"
    )


@pytest.mark.parametrize(("by", "door"), [("pad", "pad"), ("machine", "machine"), ("phone", "")])
def test_the_game_goes_on_without_it(place: Place, by: str, door: str) -> None:
    sitting = goes(place)
    answer = place.browser().post("/api/seat/south/go-on", json={"by": by, "sitting": sitting})
    assert answer.status_code == 200
    assert place.table.view().seats[Seat.SOUTH].door == door
    place.app.extensions["presence"].update()
    answer = place.browser().post("/api/seat/south/go-on", json={"by": by, "sitting": sitting})
    assert error_of(answer)["message"] == "That phone is back."


def test_nobody_gets_a_sealed_order_that_way(place: Place) -> None:
    north = place.sit("north", "Ben")
    sitting = goes(place)
    place.table.hand_in(Seat.SOUTH, place.table.view().moment, "UII")

    def go_on(browser: FlaskClient, by: str) -> Any:
        body = {"by": by, "sitting": sitting}
        return browser.post("/api/seat/south/go-on", json=body, environ_overrides=ELSEWHERE)

    for by in ("machine", "phone"):
        message = error_of(go_on(north, by))["message"]
        assert "the owner can let somebody else sit down" in message
    assert go_on(place.host(), "phone").status_code == 200
