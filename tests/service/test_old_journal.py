"""Test that the service continues a game of version 1.0 from its folder, and loses nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from flask.testing import FlaskClient
from internals import app_of
from table_tools import open_table_rig

from companion.core.config import load_settings
from companion.core.kit import Seat
from companion.service.app import Companion
from companion.storage.journal import Journal
from companion.table.records import HandIn

# Written by version 1.0 in simulation: five games by self-play, and a sixth in which North had
# handed in its orders when the process was killed. The sixth is Outbuffered at moment 6.3, which is
# the third decision of game 6. North's orders were URS: up, right, shoot.
FOLDER_OF_1_0 = Path(__file__).parents[1] / "journal_of_1_0"
# The five games that were played to their ends, in order.
GAMES = ["outbuffered", "scouts", "arena", "kahmate", "binmat"]
NORTH_ORDERS = "URS"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder that all tests share."""
    folder = tmp_path_factory.mktemp("old") / "state"
    shutil.copytree(FOLDER_OF_1_0, folder)
    return folder


@pytest.fixture(scope="module")
def companion(folder: Path) -> Iterator[Companion]:
    settings = msgspec.structs.replace(load_settings(folder / "owner.toml"), state_dir=str(folder))
    with Companion(settings, simulate=True, threads=False) as companion:
        yield companion


@pytest.fixture(scope="module")
def browser(companion: Companion) -> FlaskClient:
    return app_of(companion.server).test_client()


def test_a_game_of_version_1_0_continues(companion: Companion, browser: FlaskClient) -> None:
    view = browser.get("/api/view").json
    assert view
    assert (view["game"], view["phase"], view["moment"]) == ("outbuffered", "orders", "6.3")
    assert view["seats"]["north"]["sealed_at"], "North's sealed orders must be kept"
    assert view["seats"]["south"]["awaited"]
    # No order is revealed yet.
    assert view["orders"] == []
    assert "damaged" not in "".join(companion.notes)


def test_every_finished_game_has_a_page(browser: FlaskClient) -> None:
    page = browser.get("/history").text
    for number, game in enumerate(GAMES, start=1):
        assert f"/history/{number}" in page
        file = browser.get(f"/history/{number}.json").json
        assert file
        assert (file["game"], bool(file["turns"]), bool(file["outcome"])) == (game, True, True)


def test_orders_sealed_by_version_1_0_are_opened(tmp_path: Path) -> None:
    shutil.copytree(FOLDER_OF_1_0, tmp_path, dirs_exist_ok=True)
    with open_table_rig(tmp_path) as rig:
        rig.table.hand_in(Seat.SOUTH, "6.3", "UUS", "salt")
        # Only the first of the three orders is shown at once.
        orders = rig.table.view().turn.orders
        assert orders[0][Seat.NORTH].letter == NORTH_ORDERS[0]
        rig.finish_stages()
        assert rig.table.view().moment == "6.4"


@pytest.mark.usefixtures("companion")
def test_the_journal_loses_no_game_or_order(folder: Path) -> None:
    assert not (folder / "journal.sqlite-head").exists()
    with Journal(folder / "journal.sqlite", read_only=True) as journal:
        # Game 0 has the inputs that belong to no game, such as taking a seat.
        assert journal.games() == [1, 2, 3, 4, 5, 6]
        assert all(journal.is_game_intact(game) for game in (0, *journal.games()))
        sealed = [entry.record for entry in journal.entries(6) if isinstance(entry.record, HandIn)]
        assert sealed[-1].action == NORTH_ORDERS
    assert not list(folder.glob("journal.damaged*"))
