"""A folder that version 1.0 has left, with a game on, is opened by the real service: nothing in it
is lost.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from service import Client, ServiceProcess, service_process
from table_tools import playing

from companion.core.kit import Seat
from companion.storage.journal import Journal
from companion.table.records import HandIn

# Written by version 1.0 in simulation: five games by self-play, and a sixth that was on when the
# process was killed.
WRITTEN = Path(__file__).parents[1] / "journal_of_1_0"
GAMES = ["outbuffered", "scouts", "arena", "kahmate", "binmat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("old") / "state"
    shutil.copytree(WRITTEN, folder)
    return folder


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[ServiceProcess]:
    with service_process(
        folder, "--settings", str(folder / "owner.toml"), "--state-dir", str(folder), "--simulate"
    ) as service:
        yield service


def test_the_game_that_was_on_goes_on_and_its_order_stays_sealed(service: ServiceProcess) -> None:
    view = Client(service.url).get("/api/view")
    assert (view["game"], view["phase"], view["moment"]) == ("outbuffered", "orders", "6.3")
    assert view["seats"]["north"]["sealed_at"], "North's order was in when the process was killed"
    assert view["seats"]["south"]["awaited"]
    assert view["orders"] == []
    assert "damaged" not in "".join(service.output_lines)


def test_every_finished_game_is_listed_and_told(service: ServiceProcess) -> None:
    client = Client(service.url)
    _, page, _ = client.send("/history")
    for number, game in enumerate(GAMES, start=1):
        assert f"/history/{number}" in page.decode()
        told = client.get(f"/history/{number}.json")
        assert (told["game"], bool(told["turns"]), bool(told["outcome"])) == (game, True, True)


def test_the_sealed_order_is_opened_with_the_other_one(tmp_path: Path) -> None:
    shutil.copytree(WRITTEN, tmp_path, dirs_exist_ok=True)
    with playing(tmp_path) as played:
        played.table.hand_in(Seat.SOUTH, "6.3", "UUS", "salt")
        orders = played.table.view().turn.orders
        assert [orders[step][Seat.NORTH].letter for step in range(1)] == ["U"]
        played.finish_stages()
        assert played.table.view().moment == "6.4"


def test_nothing_of_the_journal_is_lost_and_the_head_file_goes(
    service: ServiceProcess, folder: Path
) -> None:
    assert not (folder / "journal.sqlite-head").exists()
    with Journal(folder / "journal.sqlite", read_only=True) as journal:
        assert journal.games() == [1, 2, 3, 4, 5, 6]
        assert all(journal.is_game_intact(game) for game in (0, *journal.games()))
        sealed = [entry.record for entry in journal.entries(6) if isinstance(entry.record, HandIn)]
        assert sealed[-1].action == "URS"
    assert not list(folder.glob("journal.damaged*"))
