"""Two services at one hub begin a game for both tables on their hosts' pages."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hub_tools import joined_services
from internals import app_of, session_of
from service import Client
from tour_hub import PairTour, open_pair_tour
from waiting import until

from companion.core.errors import Stale
from companion.core.kit import Seat
from companion.hub import pair_client
from companion.service.app import Companion


def host(companion: Companion) -> tuple[FlaskClient, dict[str, str]]:
    return app_of(companion.server).test_client(), {"X-Host-Key": companion.host_key}


def at_two_tables(companions: list[Companion]) -> bool:
    return all(session_of(each.table).remote for each in companions)


@pytest.fixture(autouse=True)
def answers_may_be_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer than people do: how busy this machine is must not decide."""
    monkeypatch.setattr(pair_client, "ANSWER_TIMEOUT_S", 60.0)


def test_two_hosts_begin_a_game_by_code(tmp_path: Path) -> None:
    with joined_services(tmp_path) as (south, north):
        browser, key = host(south)
        other, other_key = host(north)
        page = browser.get("/host/hub/game", headers=key).text
        assert "BINMAT needs one deck of cards: it cannot be played at two tables." in page
        form = {"game": "outbuffered", "seat": "south", "name": " Mara "}
        offer = "/api/host/hub/offer"
        assert browser.post(offer, json=form).status_code == 403
        assert browser.post(offer, json=form | {"seat": "west"}, headers=key).status_code == 400
        assert browser.post(offer, json=form, headers=key).status_code == 200
        code = south.hub.offered_code
        shown = f"{code[:3]}-{code[3:]}"
        assert (
            f"Code for the other owner: {shown}" in browser.get("/host/hub/game", headers=key).text
        )
        assert shown in browser.get("/host", headers=key).text
        browser.post("/api/host/hub/withdraw", json={}, headers=key)
        take = "/api/host/hub/take"
        gone = other.post(take, json={"code": code}, headers=other_key)
        assert gone.status_code == 409
        code = browser.post(offer, json=form, headers=key).get_json()["code"]
        taken = {"code": f" {code.upper()} ", "name": "Jonas"}
        assert other.post(take, json=taken, headers=other_key).status_code == 200
        until("the game begins", lambda: at_two_tables([south, north]))
        for client, name in ((browser, "Jonas"), (other, "Mara")):
            sits = f"{name} plays at the other table."
            until(sits, lambda client=client, sits=sits: sits in client.get("/join").text)
        assert "Offer this game" not in browser.get("/host/hub/game", headers=key).text
        left = browser.post("/api/host/hub/leave", json={}, headers=key)
        assert left.get_json()["error"]["message"] == "A game at two tables is on: end it first"
        assert south.hub.is_member
        freed = browser.post("/api/host/free-seat", json={"seat": "north"}, headers=key)
        assert "is played at the other table" in freed.get_json()["error"]["message"]


def _is_right(tables: PairTour) -> bool:
    """Confirm what South's hands have to do, unless its camera was quicker; does no page ask for it
    any more?
    """
    south = tables.tables[Seat.SOUTH].table
    view = south.view()
    with contextlib.suppress(Stale):
        south.confirm("host", view.moment, view.turn.stage, force=True)
    return not any(b"/confirm" in tables.client.send(path)[1] for path in ("/seat/south", "/host"))


def test_no_page_offers_the_other_tables_part() -> None:
    """Its clock, its seat, and hands that have nothing to do until it has done its part.

    Nor is the chance of such a game held against what this table told its phones before.
    """
    not_on = {
        "tables-outbuffered-join": ("/seat/north", "/pass"),
        "tables-kahmate-setup-north": ("/resume",),
        "tables-outbuffered-waits-south": ("/take-back",),
        "tables-scouts-waits-south": ("/pause",),
        "tables-outbuffered-host": ("/seat/north/card",),
        "tables-scouts-setup-south": ("/resume",),
        "tables-scouts-host": ("Start again with these options",),
        "tables-kahmate-over-south": ('"is_here": true',),
    }
    with open_pair_tour() as tables:
        for stop in tables.stops(("outbuffered", "scouts", "kahmate")):
            client = Client(tables.client.url) if stop.is_guest else stop.client or tables.client
            page = client.send(stop.path, None, {"Accept": "text/html"})[1].decode()
            assert not [each for each in not_on.pop(stop.name, ()) if each in page], stop.name
            if stop.name == "tables-scouts-stages-watch":
                until("its board to be right and no page to ask", partial(_is_right, tables))
            if not not_on:
                break
    assert not not_on
