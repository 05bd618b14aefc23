"""Test the photographs of turns: when they are taken, how many are kept, and what a full disk does.

The camera is a stand-in, except for the last part, which uses a service in simulation.
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


class FakeCamera:
    """Gives a picture, or None while the board is not still, and counts the requests."""

    def __init__(self) -> None:
        self.picture: bytes | None = JPEG
        self.requests = 0

    def take(self) -> bytes | None:
        self.requests += 1
        return self.picture


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[TableRig]:
    with open_table_rig(tmp_path) as opened:
        yield opened


def photographer_of(
    rig: TableRig, album: PhotographAlbum, camera: FakeCamera, troubles: list[str]
) -> Photographer:
    return Photographer(rig.table, album, camera.take, rig.clock, troubles.append)


def test_set_up_and_each_turn_are_photographed(rig: TableRig, tmp_path: Path) -> None:
    album = PhotographAlbum(tmp_path / "photographs")
    camera = FakeCamera()
    photographer = photographer_of(rig, album, camera, [])
    photographer.step()

    # The set-up is photographed once it is done.
    seat_both(rig)
    rig.table.new_game("outbuffered", {}, 1)
    photographer.step()
    assert camera.requests == 0, "the set-up must not be photographed before it is done"
    rig.table.confirm("host", "1.0", 0)
    photographer.step()
    assert album.moments(1) == ("1.0",)

    # A turn is photographed when hands have moved its pieces, not when orders are handed in.
    rig.table.hand_in(Seat.SOUTH, "1.1", "UII")
    photographer.step()
    assert camera.requests == 1, "the order of one seat must not be photographed"
    rig.table.hand_in(Seat.NORTH, "1.1", "DII")
    photographer.step()
    assert album.moments(1) == ("1.0",), "hands at work must not be photographed"
    rig.finish_stages()
    photographer.step()
    assert album.moments(1) == ("1.0", "1.1")
    assert album.photograph(1, "1.1") == JPEG
    photographer.step()
    assert camera.requests == 2, "a turn must not be photographed twice"


def test_photographs_wait_briefly_for_a_still_board(rig: TableRig, tmp_path: Path) -> None:
    album = PhotographAlbum(tmp_path / "photographs")
    camera = FakeCamera()
    photographer = photographer_of(rig, album, camera, [])
    rig.begin()
    # The board lies still 5 s after the first turn, but only 60 s after the second one. By then
    # hands may be at the next turn, so there is no photograph of the second.
    for wait_s, moments in ((5, ("1.1",)), (60, ("1.1",))):
        rig.hand_in_both("UII", "DII")
        photographer.step()
        camera.picture = None
        rig.finish_stages()
        photographer.step()
        rig.clock.advance(wait_s)
        camera.picture = JPEG
        photographer.step()
        assert album.moments(1) == moments, (
            "only the turn whose board lay still in time must be photographed"
        )


def test_titles_follow_the_turns_not_the_moments() -> None:
    assert photograph_title("2.0", {}) == "Set-up"
    assert photograph_title("2.5", {"2.1": 1, "2.5": 2}) == "Turn 2"
    assert photograph_title("2.3", {"2.1": 1, "2.5": 2}) == "Taken back"


# ---- the disk ------------------------------------------------------------------------------------


def test_a_full_disk_is_reported_once(rig: TableRig, tmp_path: Path) -> None:
    # A file where the folder should be makes every write fail, like a full disk.
    in_the_way = tmp_path / "photographs"
    in_the_way.write_text("in the way")
    album = PhotographAlbum(in_the_way)
    troubles = list[str]()
    photographer = photographer_of(rig, album, FakeCamera(), troubles)
    rig.begin()
    for turn in range(3):
        # Two photographs have failed, with one report. From now on there is room.
        if turn == 2:
            assert len(troubles) == 1
            assert troubles[0].startswith("Photographs of the turns cannot be kept (")
            assert album.trouble == troubles[0]
            in_the_way.unlink()
        rig.hand_in_both("UII", "DII")
        photographer.step()
        rig.finish_stages()
        photographer.step()
    assert (troubles[1:], album.trouble) == ([""], ""), (
        "the report must go when photographs can be kept again"
    )
    assert len(album.moments(1)) == 1


def test_a_half_written_file_is_no_photograph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut or a full disk must not leave a broken picture for the replay."""
    album = PhotographAlbum(tmp_path)
    album.store(1, "1.0", JPEG)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("companion.archive.photographs.os.fsync", fail)
    with pytest.raises(OSError, match="No space"):
        album.store(1, "1.1", JPEG)
    assert album.moments(1) == ("1.0",)
    assert [path.name for path in (tmp_path / "1").iterdir()] == ["1.0.jpg"]


# Paths, parts of a moment, and a moment with a digit that is not ASCII.
@pytest.mark.parametrize("moment", ["../../secret", "1.0/../../x", "1", "1.x", "", "１.0"])
def test_no_moment_leads_out_of_the_folder(tmp_path: Path, moment: str) -> None:
    """A moment comes from the address of a page, which anybody may type."""
    (tmp_path / "secret.jpg").write_bytes(JPEG)
    album = PhotographAlbum(tmp_path / "photographs")
    album.store(1, moment, JPEG)
    assert not album.folder.exists(), "nothing must be written for such a moment"

    # From the folder of game 1, `../../secret.jpg` is the file above.
    (album.folder / "1").mkdir(parents=True)
    assert album.photograph(1, moment) is None


# ---- the whole companion -------------------------------------------------------------------------


def run_rounds(companion: Companion, clock: FakeClock) -> None:
    """Let the service work for some tenths of a second."""
    for _ in range(6):
        clock.advance(0.1)
        companion.step()


def test_a_game_leaves_its_photographs_for_replay(tmp_path: Path) -> None:
    clock = FakeClock()
    with simulated(tmp_path, clock) as companion:
        table = companion.table
        simulation = companion.simulation
        assert simulation is not None
        table.new_game("outbuffered", {}, 1)
        run_rounds(companion, clock)
        for seat in SEATS:
            table.hand_in(seat, table.view().moment, "UII", "aa")
        # Hands carry out the three stages of the turn.
        for _ in range(3):
            simulation.world.set_up(table.view().board.target or {})
            run_rounds(companion, clock)
            clock.advance(5)
            run_rounds(companion, clock)
        table.abandon()
    set_up, first_turn = (companion.album.photograph(1, moment) for moment in ("1.0", "1.1"))
    assert set_up != first_turn


def test_the_oldest_photographs_make_room(tmp_path: Path) -> None:
    # Twenty photographs of 50 kB fill the limit of 1 MB. Of these 24, the oldest four go.
    for game, ticks in ((1, 6), (2, 6), (3, 12)):
        album = PhotographAlbum(tmp_path, limit_mb=1)  # as after a restart
        for tick in range(ticks):
            album.store(game, f"{game}.{tick}", bytes(50_000))
    assert [len(album.moments(game)) for game in (1, 2, 3)] == [2, 6, 12]
    assert album.moments(1) == ("1.4", "1.5"), "the oldest photographs must be removed"

    # A photograph that fills the limit alone is kept as the newest one.
    album = PhotographAlbum(tmp_path, limit_mb=1)
    album.store(3, "3.12", bytes(990_000))
    assert album.moments(3) == ("3.12",)
