"""Test the owner's pages of two services that play one game over a hub."""

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


def owner_client(companion: Companion) -> tuple[FlaskClient, dict[str, str]]:
    """Return a client of the service, and the header with its owner key."""
    return app_of(companion.server).test_client(), {"X-Host-Key": companion.host_key}


def both_play_remotely(companions: list[Companion]) -> bool:
    """Return whether a game at two tables is on at both of them."""
    return all(session_of(companion.table).remote for companion in companions)


@pytest.fixture(autouse=True)
def long_answer_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a hub take a minute to answer, so that no request fails because the computer is busy."""
    monkeypatch.setattr(pair_client, "ANSWER_TIMEOUT_S", 60.0)


def test_two_owners_begin_a_game_by_code(tmp_path: Path) -> None:
    with joined_services(tmp_path) as (south, north):
        client, key = owner_client(south)
        other_client, other_key = owner_client(north)
        page = client.get("/host/hub/game", headers=key).text
        assert "BINMAT needs one deck of cards: it cannot be played at two tables." in page

        # South's owner offers a game and gets a code. The page shows it in two groups of letters.
        form = {"game": "outbuffered", "seat": "south", "name": " Mara "}
        offer = "/api/host/hub/offer"
        assert client.post(offer, json=form).status_code == 403
        assert client.post(offer, json=form | {"seat": "west"}, headers=key).status_code == 400
        assert client.post(offer, json=form, headers=key).status_code == 200
        code = south.hub.offered_code
        shown = f"{code[:3]}-{code[3:]}"
        assert (
            f"Code for the other owner: {shown}" in client.get("/host/hub/game", headers=key).text
        )
        assert shown in client.get("/host", headers=key).text

        # after a withdrawal the code is worth nothing
        client.post("/api/host/hub/withdraw", json={}, headers=key)
        accept = "/api/host/hub/take"
        withdrawn = other_client.post(accept, json={"code": code}, headers=other_key)
        assert withdrawn.status_code == 409

        # North's owner accepts a second offer, whose code may be typed in capitals and with spaces
        code = client.post(offer, json=form, headers=key).get_json()["code"]
        acceptance = {"code": f" {code.upper()} ", "name": "Jonas"}
        assert other_client.post(accept, json=acceptance, headers=other_key).status_code == 200
        until("the game begins", lambda: both_play_remotely([south, north]))
        for page_client, remote_name in ((client, "Jonas"), (other_client, "Mara")):
            sentence = f"{remote_name} plays at the other table."
            until(
                f"the page says “{sentence}”",
                lambda c=page_client, sentence=sentence: sentence in c.get("/join").text,
            )

        # what owners cannot do during such a game
        assert "Offer this game" not in client.get("/host/hub/game", headers=key).text
        leaving = client.post("/api/host/hub/leave", json={}, headers=key)
        assert leaving.get_json()["error"]["message"] == "A game at two tables is on: end it first"
        assert south.hub.is_member
        freeing = client.post("/api/host/free-seat", json={"seat": "north"}, headers=key)
        assert "is played at the other table" in freeing.get_json()["error"]["message"]


def _confirm_stage(tables: PairTour) -> bool:
    """Confirm South's stage, unless its camera did so first.

    Return whether no page asks for the confirmation any more.
    """
    south = tables.tables[Seat.SOUTH].table
    view = south.view()
    with contextlib.suppress(Stale):
        south.confirm("host", view.moment, view.turn.stage, force=True)
    return not any(b"/confirm" in tables.client.send(path)[1] for path in ("/seat/south", "/host"))


def test_no_page_offers_the_other_tables_part() -> None:
    """A page has no keys for the other table's seat or clock, and none for a stage that waits for
    the other table. It has none for a rematch either, because the tables have to agree on that.
    """
    # what the page at each stop of the tour must not contain
    forbidden_by_stop = {
        "tables-outbuffered-join": ("/seat/north", "/pass"),
        "tables-kahmate-setup-north": ("/resume",),
        "tables-outbuffered-waits-south": ("/take-back",),
        "tables-scouts-waits-south": ("/pause",),
        "tables-outbuffered-host": ("/seat/north/card",),
        "tables-scouts-setup-south": ("/resume",),
        "tables-scouts-host": ("Start again with these options",),
        "tables-kahmate-over-south": ("/rematch",),
    }
    with open_pair_tour() as tables:
        for stop in tables.stops(("outbuffered", "scouts", "kahmate")):
            client = Client(tables.client.url) if stop.is_guest else stop.client or tables.client
            page = client.send(stop.path, None, {"Accept": "text/html"})[1].decode()
            assert not [text for text in forbidden_by_stop.pop(stop.name, ()) if text in page], (
                stop.name
            )
            if stop.name == "tables-scouts-stages-watch":
                until(
                    "the stage is confirmed and no page asks for it",
                    partial(_confirm_stage, tables),
                )
            if not forbidden_by_stop:
                break
    assert not forbidden_by_stop, "the tour did not reach these stops"
