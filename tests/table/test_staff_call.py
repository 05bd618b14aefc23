"""Test the call for staff: who may make it, what it says, and when it is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from companion.core.clock import FakeClock
from companion.core.config import WebSettings
from companion.core.errors import Illegal
from companion.games import GAMES
from companion.storage.journal import Journal
from companion.table.seats.staff_call import Call, StaffBell
from companion.table.table import Table
from web.app import create_app
from web.features import Features, SiteConfig

STRANGER = {"REMOTE_ADDR": "192.0.2.9"}


@pytest.fixture
def bell() -> StaffBell:
    """A bell to which somebody listens."""
    bell = StaffBell()
    bell.set_listening(True)
    return bell


def test_a_call_is_not_repeated_at_once(bell: StaffBell) -> None:
    # North calls. A second call changes nothing until the first one is over.
    bell.ring("north")
    assert (bell.call, bell.caller, bell.sentence()) == (
        Call.CALLED,
        "north",
        "The staff has been called.",
    )
    bell.ring("south")
    assert (bell.caller, bell.number) == ("north", 1)

    # Somebody answers, and the call is ended. Then there is nothing to answer.
    bell.answer()
    assert bell.sentence() == "Somebody is coming."
    bell.cancel()
    assert (bell.call, bell.caller, bell.sentence()) == (Call.NONE, "", "")
    bell.answer()
    assert bell.call is Call.NONE
    bell.ring("south")
    assert bell.number == 2


def test_a_call_without_listener_is_dropped(bell: StaffBell) -> None:
    bell.ring("south")
    bell.set_listening(False)
    assert bell.call is Call.NONE
    with pytest.raises(Illegal, match="ask somebody in person"):
        bell.ring("south")


# ---- on the pages --------------------------------------------------------------------------------


@contextmanager
def open_pages(folder: Path, bell: StaffBell) -> Iterator[FlaskClient]:
    """Open a table with a bell. Yield a browser on the table's own machine."""
    clock = FakeClock()
    with Journal(folder / "journal.sqlite") as journal, Table(journal, clock) as table:
        site = SiteConfig(WebSettings(), lambda: (), b"k", "abcde-fghij")
        app = create_app(table, GAMES, clock, site, Features(staff=bell))
        bell.on_change = table.redraw
        yield app.test_client()


def test_only_people_at_the_table_call(tmp_path: Path, bell: StaffBell) -> None:
    with open_pages(tmp_path, bell) as browser:
        # A stranger in the network is refused. The table's own screen may call.
        for action in ("call", "cancel"):
            refused = browser.post(f"/api/staff/{action}", json={}, environ_base=STRANGER)
            assert refused.status_code == 403
            assert "sit down first" in refused.get_json()["error"]["message"]
        assert browser.post("/api/staff/call", json={}).get_json() == {"call": "called"}
        assert bell.caller == "table"
        bell.cancel()

        # A phone from the same address may call once it has taken a seat.
        phone = browser.application.test_client()
        phone.post("/api/seat/north/take", json={"name": ""}, environ_base=STRANGER)
        assert phone.post("/api/staff/call", json={}, environ_base=STRANGER).status_code == 200
        assert bell.caller == "north"
