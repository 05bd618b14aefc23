"""Tests of a seat whose phone is gone, through Flask's client on a fake clock.

They cover where that is shown, and how the game goes on without the phone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from web_fixtures import WebRig, error_of, open_web_rig, page_text

from companion.core.kit import Seat
from web.context import GONE_AFTER_S, PhonePresence
from web.features import TableEquipment

# A browser elsewhere on the network.
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.44"}


# A table with pads.
@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_web_rig(tmp_path, equipment=TableEquipment(has_pads=True)) as rig:
        yield rig


def lose_souths_phone(rig: WebRig) -> str:
    """Begin a game in which the phone of South, Ann, goes. Return her sitting.

    By the sitting, requests name the person who is gone. A phone counts as gone once no stream of
    its page has been open for `GONE_AFTER_S`.
    """
    south = rig.sit("south", "Ann")
    rig.start_game()
    presence: PhonePresence = rig.app.extensions["presence"]

    # the phone is there as long as its stream is open
    with south.get("/live/seat/south", buffered=False):
        for _ in range(3):
            rig.clock.advance(GONE_AFTER_S)
            presence.update()
        assert Seat.SOUTH not in presence.gone_seats, (
            "a phone with an open stream must not count as gone"
        )

    # its stream is closed now
    rig.clock.advance(GONE_AFTER_S)
    presence.update()
    assert Seat.SOUTH in presence.gone_seats
    rig.table.step()
    return rig.table.view().seats[Seat.SOUTH].sitting


def test_pages_name_the_phone_that_is_gone(rig: WebRig) -> None:
    north = rig.sit("north", "Ben")
    lose_souths_phone(rig)
    for browser, path in ((rig.browser(), "/"), (north, "/seat/north")):
        assert "Ann: the phone is gone" in page_text(browser, path)
    assert "Ben: the phone is gone" not in page_text(north, "/seat/north"), (
        "a seat’s own page must not say that its phone is gone"
    )


@pytest.mark.parametrize(("by", "door"), [("pad", "pad"), ("machine", "machine"), ("phone", "")])
def test_the_game_goes_on_without_the_phone(rig: WebRig, by: str, door: str) -> None:
    """The pad or the machine takes over, or the seat is freed for another phone (no door).

    After that the phone is not gone any more, so it cannot be replaced a second time.
    """
    sitting = lose_souths_phone(rig)
    answer = rig.browser().post("/api/seat/south/go-on", json={"by": by, "sitting": sitting})
    assert answer.status_code == 200
    assert rig.table.view().seats[Seat.SOUTH].door == door
    rig.app.extensions["presence"].update()
    answer = rig.browser().post("/api/seat/south/go-on", json={"by": by, "sitting": sitting})
    assert error_of(answer)["message"] == "That phone is back."


def test_only_the_owner_replaces_a_sealed_seats_player(rig: WebRig) -> None:
    """Whoever took over the seat could see the sealed action, so only the owner may permit it."""
    north = rig.sit("north", "Ben")
    sitting = lose_souths_phone(rig)
    rig.table.hand_in(Seat.SOUTH, rig.table.view().moment, "UII")

    def go_on(browser: FlaskClient, by: str) -> Any:
        body = {"by": by, "sitting": sitting}
        return browser.post("/api/seat/south/go-on", json=body, environ_overrides=ELSEWHERE)

    for by in ("machine", "phone"):
        message = error_of(go_on(north, by))["message"]
        assert "the owner can let somebody else sit down" in message
    assert go_on(rig.host(), "phone").status_code == 200
