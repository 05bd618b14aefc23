"""Test what a full disk stops at a table, and how old games are removed.

The table has a real journal. The free space is a number that the tests set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from history_tools import random_game
from internals import database_of, journal_of, simulate_full_disk
from table_tools import TableRig, open_table_rig, seat_both

from companion.archive.history import History
from companion.archive.photographs import PhotographAlbum
from companion.core.config import HistorySettings
from companion.core.errors import JournalError
from companion.core.kit import Seat
from companion.maintenance.housekeeping import QUIET_S, Housekeeping
from companion.storage.disk_space import DiskLevel, DiskSpace
from companion.storage.journal import Journal
from companion.table.records import SEATS_GAME

# ---- a full disk ---------------------------------------------------------------------------------


def grow_journal(rig: TableRig) -> None:
    """Enter orders and take them back until the file would have to grow."""
    for _ in range(60):
        rig.hand_in(Seat.SOUTH, "UUS", "x" * 64)
        rig.table.take_back(Seat.SOUTH, rig.view.moment)


def test_a_full_disk_refuses_inputs_until_freed(tmp_path: Path) -> None:
    """An input that cannot be stored is refused, and has no effect at the table."""
    with open_table_rig(tmp_path) as rig:
        seat_both(rig)
        rig.begin()
        journal = journal_of(rig.table)

        # The disk is full. What is shown is still what is stored.
        simulate_full_disk(journal)
        refusal = r"could not be saved \(database or disk is full\): nothing has changed\. Free"
        with pytest.raises(JournalError, match=refusal):
            grow_journal(rig)
        view = rig.table.view(Seat.SOUTH)
        assert "disk is full" in view.devices.notices[0]
        stored = journal.restore()
        assert bool(stored.sealed) == (view.own.sealed is not None), "what is shown must be stored"

        # Once there is room again, inputs are accepted and the notice goes.
        database_of(journal).execute("PRAGMA max_page_count=1000000")
        if view.own.sealed:
            rig.table.take_back(Seat.SOUTH, view.moment)
        grow_journal(rig)
        assert rig.view.devices.notices == ()


def test_a_filling_disk_stops_photographs_first(tmp_path: Path) -> None:
    free_bytes = 10**9
    space = DiskSpace(tmp_path, count_free=lambda _: free_bytes)
    space.measure()
    assert space.warning == ""
    # Photographs stop below 64 MB, and games below 24 MB. Each level ends a quarter above its limit
    # (80 MB and 30 MB), so that it does not change with every file.
    for megabytes, level, takes_photographs, may_begin in (
        (63, DiskLevel.SHORT, False, True),
        (70, DiskLevel.SHORT, False, True),
        (23, DiskLevel.FULL, False, False),
        (27, DiskLevel.FULL, False, False),
        (31, DiskLevel.SHORT, False, True),
        (90, DiskLevel.PLENTY, True, True),
    ):
        free_bytes = megabytes * 1_000_000
        state = space.measure(), space.allows_photographs, space.allows_new_game
        assert state == (level, takes_photographs, may_begin), megabytes


def test_a_full_disk_is_reported_and_stops_games(tmp_path: Path) -> None:
    free_bytes = 10**9
    with open_housekeeping(tmp_path, count_free=lambda _: free_bytes) as (
        rig,
        housekeeper,
        album,
        _,
    ):
        # With 5 MB left, the running game can be finished, without photographs.
        rig.begin()
        free_bytes = 5_000_000
        housekeeper.run_round()
        rig.table.step()
        assert rig.view.devices.notices == (housekeeper.disk_space.warning,)
        rig.hand_in_both("UUS", "UUS")
        rig.finish_stages()
        with pytest.raises(OSError, match="No space left"):
            album.store(1, "1.1", b"picture")

        # No other game can begin until there is room again.
        rig.table.resign(Seat.SOUTH)
        for begin in (rig.table.rematch, lambda: rig.table.begin_for_owner("arena", {})):
            with pytest.raises(JournalError, match="The disk is full: no game can start"):
                begin()
        free_bytes = 10**9
        housekeeper.run_round()
        rig.table.step()
        assert rig.view.devices.notices == ()
        rig.table.rematch()


def test_a_full_disk_slows_repeated_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the table would try to end the turn at every heartbeat, and fill the log."""
    attempts = 0

    def refuse(*_: object) -> None:
        nonlocal attempts
        attempts += 1
        raise JournalError("full")

    with open_table_rig(tmp_path) as rig:
        rig.table.new_game("binmat", {"way": "referee", "seconds": 5}, 1)
        rig.table.resume("host")
        rig.wait(1)
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", refuse)
            versions = {rig.table.version}
            # For 10 s the disk refuses every write. In this time two turns of 5 s should end. After
            # a refusal, the table waits for 2 s before it tries again.
            for _ in range(100):
                rig.wait(0.1)
                versions.add(rig.table.version)
            assert attempts <= 4
            assert len(versions) <= 2, "pages must not be drawn again if nothing has changed"
        # Then both turns end, and the third one begins.
        for _ in range(3):
            rig.wait(1)
        assert rig.view.turn.number == 3
        assert rig.view.devices.notices == ()


# ---- old games -----------------------------------------------------------------------------------


@contextmanager
def open_housekeeping(
    folder: Path,
    count_free: Callable[[Path], int] = lambda _: 10**9,
    has_reliable_date: Callable[[], bool] = lambda: True,
    **settings: object,
) -> Iterator[tuple[TableRig, Housekeeping, PhotographAlbum, History]]:
    """Open a table with its housekeeping, photographs and history."""
    with open_table_rig(folder) as rig:
        journal = journal_of(rig.table)
        clock = rig.clock
        space = DiskSpace(folder, count_free)
        album = PhotographAlbum(
            folder / "photographs", has_disk_space=lambda: space.allows_photographs
        )
        history = History(
            journal,
            folder / "history",
            clock,
            find_current_game=lambda: rig.table.progress().number,
            album=album,
            paint=lambda *_: b"picture",
        )
        with Housekeeping(
            rig.table,
            journal,
            history,
            space,
            clock=clock,
            settings=HistorySettings(**settings),  # type: ignore[arg-type] # as the test says
            has_reliable_date=has_reliable_date,
        ) as housekeeper:
            yield rig, housekeeper, album, history


def play_games(rig: TableRig, album: PhotographAlbum, games: int, apart_s: float = 0.0) -> None:
    """Play games with a photograph each, and let so many seconds pass after each of them."""
    for _ in range(games):
        rig.begin()
        album.store(rig.table.progress().number, f"{rig.table.progress().number}.1", b"picture")
        rig.table.abandon()
        rig.clock.advance(apart_s)


def test_old_games_are_removed_while_nobody_plays(tmp_path: Path) -> None:
    """Removing takes time, in which no player should have to wait."""
    with open_housekeeping(tmp_path, keep="games", games=2) as (rig, housekeeper, album, history):
        # The settings keep 2 games. There are 25, and an imported one.
        play_games(rig, album, 25)
        journal = journal_of(rig.table)
        number = history.import_game(msgspec.json.encode(random_game("arena", 1, 2)))
        pages_before = database_of(journal).execute("PRAGMA page_count").fetchone()[0]

        # Nothing is removed soon after somebody has played, or while a game is on.
        housekeeper.run_round()
        assert len(journal.games()) == 25, "no game must be removed soon after somebody has played"
        rig.begin()
        for _ in range(2):
            housekeeper.run_round()
            rig.wait(QUIET_S + 1)
        assert len(journal.games()) == 26, "no game must be removed while a game is on"

        # After a quiet time, one round removes one game. Game 26 is the imported one, which stays.
        rig.table.abandon()
        housekeeper.run_round()
        rig.wait(QUIET_S + 1)
        for _ in range(25):
            housekeeper.run_round()
        assert journal.games() == [25, 27]
        assert album.games() == (25,)
        assert [line.number for line in history.lines()] == [27, number, 25]
        assert all(journal.is_game_intact(game) for game in (SEATS_GAME, 25, 27))
        pages = database_of(journal).execute("PRAGMA page_count").fetchone()[0]
        assert pages < pages_before, "the file must shrink"


def test_games_are_removed_by_reliable_dates(tmp_path: Path) -> None:
    """A machine that does not know the date must not remove games for their age."""
    day_s = 86_400.0
    has_reliable_date = True
    with open_housekeeping(
        tmp_path, has_reliable_date=lambda: has_reliable_date, keep="days", days=3
    ) as (
        rig,
        housekeeper,
        album,
        _,
    ):
        play_games(rig, album, 5, apart_s=day_s)
        housekeeper.run_round()
        rig.wait(QUIET_S + 1)

        # A clock that says 1970, or one that says 2033 but is not reliable, makes no game old.
        rig.clock.set_wall(1000.0)
        for _ in range(5):
            housekeeper.run_round()
        has_reliable_date = False
        rig.clock.set_wall(2_000_000_000.0)
        for _ in range(5):
            housekeeper.run_round()
        has_reliable_date = True
        assert journal_of(rig.table).games() == [1, 2, 3, 4, 5]

        # With the right date, the settings keep the games of three days.
        rig.clock.set_wall(1_700_000_000.0 + rig.clock.monotonic_s())
        for _ in range(5):
            housekeeper.run_round()
        # The third game began three days and a minute ago.
        assert journal_of(rig.table).games() == [4, 5]
