"""Photographs of turns: taken when hands are done, kept within a limit, harmless when the disk is
full.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated_room import simulated
from table_tools import TableRig, open_table_rig, seat_both

from companion.archive.photographs import PhotographAlbum, Photographer
from companion.core.clock import FakeClock
from companion.core.kit import SEATS, Seat
from companion.service.app import Companion
from companion.table.views import photograph_title

JPEG = b"\xff\xd8" + bytes(998)


class Lens:
    """What the camera shows: a picture, or nothing yet."""

    def __init__(self) -> None:
        self.picture: bytes | None = JPEG
        self.asked = 0

    def take(self) -> bytes | None:
        self.asked += 1
        return self.picture


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[TableRig]:
    with open_table_rig(tmp_path) as opened:
        yield opened


def photographer_of(
    rig: TableRig, folder: PhotographAlbum, lens: Lens, told: list[str]
) -> Photographer:
    return Photographer(rig.table, folder, lens.take, rig.clock, told.append)


def test_set_up_and_turns_are_photographed(rig: TableRig, tmp_path: Path) -> None:
    folder, lens = PhotographAlbum(tmp_path / "photographs"), Lens()
    photographer = photographer_of(rig, folder, lens, [])
    photographer.step()
    seat_both(rig)
    rig.table.new_game("outbuffered", {}, 1)
    photographer.step()
    assert lens.asked == 0, "the set-up is not done"
    rig.table.confirm("host", "1.0", 0)
    photographer.step()
    assert folder.moments(1) == ("1.0",)
    rig.table.hand_in(Seat.SOUTH, "1.1", "UII")
    photographer.step()
    assert lens.asked == 1, "what one seat hands in leaves no trace"
    rig.table.hand_in(Seat.NORTH, "1.1", "DII")
    photographer.step()
    assert folder.moments(1) == ("1.0",), "hands are still at work"
    rig.finish_stages()
    photographer.step()
    assert folder.moments(1) == ("1.0", "1.1")
    assert folder.photograph(1, "1.1") == JPEG
    photographer.step()
    assert lens.asked == 2, "one photograph a turn"


def test_photographs_wait_briefly_for_a_still_board(rig: TableRig, tmp_path: Path) -> None:
    folder, lens = PhotographAlbum(tmp_path / "photographs"), Lens()
    photographer = photographer_of(rig, folder, lens, [])
    rig.begin()
    for wait_s, moments in ((5, ("1.1",)), (60, ("1.1",))):
        rig.turn("UII", "DII")
        photographer.step()
        lens.picture = None
        rig.finish_stages()
        photographer.step()
        rig.clock.advance(wait_s)
        lens.picture = JPEG
        photographer.step()
        assert folder.moments(1) == moments, "later, hands may be at the next turn"


def test_titles_follow_the_turns_not_the_moments() -> None:
    assert photograph_title("2.0", {}) == "Set-up"
    assert photograph_title("2.5", {"2.1": 1, "2.5": 2}) == "Turn 2"
    assert photograph_title("2.3", {"2.1": 1, "2.5": 2}) == "Taken back"


# ---- the disk ------------------------------------------------------------------------------------


def test_a_full_disk_is_reported_once(rig: TableRig, tmp_path: Path) -> None:
    in_the_way = tmp_path / "photographs"
    in_the_way.write_text("a file where the folder should be")
    folder, told = PhotographAlbum(in_the_way), list[str]()
    photographer = photographer_of(rig, folder, Lens(), told)
    rig.begin()
    for turn in range(3):
        if turn == 2:
            assert len(told) == 1
            assert told[0].startswith("Photographs of the turns cannot be kept (")
            assert folder.trouble == told[0]
            in_the_way.unlink()
        rig.turn("UII", "DII")
        photographer.step()
        rig.finish_stages()
        photographer.step()
    assert (told[1:], folder.trouble) == ([""], ""), "it is taken back once they are kept again"
    assert len(folder.moments(1)) == 1


def test_nothing_half_written_is_ever_a_photograph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = PhotographAlbum(tmp_path)
    folder.store(1, "1.0", JPEG)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("companion.archive.photographs.os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        folder.store(1, "1.1", JPEG)
    assert folder.moments(1) == ("1.0",)
    assert [path.name for path in (tmp_path / "1").iterdir()] == ["1.0.jpg"]


@pytest.mark.parametrize("moment", ["../../journal", "1.0/../../x", "1", "1.x", "", "１.0"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, moment: str) -> None:
    (tmp_path / "secret.jpg").write_bytes(JPEG)
    folder = PhotographAlbum(tmp_path / "photographs")
    folder.store(1, moment, JPEG)
    assert folder.photograph(1, moment) is None
    assert not (tmp_path / "photographs").exists()


# ---- the whole companion -------------------------------------------------------------------------


def rounds(companion: Companion, clock: FakeClock, number: int = 6) -> None:
    for _ in range(number):
        clock.advance(0.1)
        companion.step()


def test_a_game_leaves_its_photographs_for_replay(tmp_path: Path) -> None:
    clock = FakeClock()
    with simulated(tmp_path, clock) as companion:
        table, simulation = companion.table, companion.simulation
        assert simulation is not None
        table.new_game("outbuffered", {}, 1)
        rounds(companion, clock)
        for seat in SEATS:
            table.hand_in(seat, table.view().moment, "UII", "aa")
        for _ in range(3):
            simulation.world.set_up(table.view().board.target or {})
            rounds(companion, clock)
            clock.advance(5)
            rounds(companion, clock)
        table.abandon()
    before, after = (companion.album.photograph(1, moment) for moment in ("1.0", "1.1"))
    assert before != after


def test_old_games_make_room(tmp_path: Path) -> None:
    for game, ticks in ((1, 6), (2, 6), (3, 12)):
        folder = PhotographAlbum(tmp_path, limit_mb=1)  # as after a restart
        for tick in range(ticks):
            folder.store(game, f"{game}.{tick}", bytes(50_000))
    assert [len(folder.moments(game)) for game in (1, 2, 3)] == [2, 6, 12]
    assert folder.moments(1) == ("1.4", "1.5"), "the oldest have gone"
    tight = PhotographAlbum(tmp_path, limit_mb=1)
    tight.store(3, "3.12", bytes(990_000))
    assert tight.moments(3) == ("3.12",), "what was just taken stays"
