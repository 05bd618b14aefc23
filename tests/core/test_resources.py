"""Test that memory is given back regularly, and that small boards take small pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from internals import journal_of
from table_tools import open_table_rig

from companion.archive.history import History
from companion.core.config import CameraSettings, HistorySettings
from companion.core.resources import is_small_machine
from companion.maintenance import housekeeping
from companion.storage.disk_space import DiskSpace

# ---- memory --------------------------------------------------------------------------------------


def test_memory_is_given_back_twice_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed_phases: list[str] = []
    with open_table_rig(tmp_path) as rig:
        table = rig.table
        monkeypatch.setattr(
            housekeeping, "trim_memory", lambda: trimmed_phases.append(table.progress().phase)
        )
        history = History(journal_of(table), None, rig.clock, find_current_game=lambda: 0)
        with housekeeping.Housekeeping(
            table,
            journal_of(table),
            history,
            DiskSpace(tmp_path),
            clock=rig.clock,
            settings=HistorySettings(),
        ) as housekeeper:
            housekeeper.trim_memory_if_due()
            assert trimmed_phases == [], "memory must not be given back at once"
            rig.begin()
            for _ in range(7):
                rig.clock.advance(10)
                housekeeper.trim_memory_if_due()
            # twice in the 70 s that follow, during a game
            assert trimmed_phases == ["orders", "orders"]


# ---- boards with little memory -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meminfo", "is_small"),
    [
        ("MemTotal:         517000 kB\n", True),
        ("MemTotal:         945364 kB\n", False),
        ("nothing of it\n", False),
    ],
)
def test_a_small_board_is_recognised_by_memory(
    tmp_path: Path, meminfo: str, is_small: bool
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(meminfo)
    assert is_small_machine(tmp_path) is is_small


def test_small_boards_take_small_pictures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("companion.core.config.is_small_machine", lambda: True)
    assert CameraSettings().size_px == (1280, 720)
    assert CameraSettings().is_small
    assert CameraSettings(size="1920x1080").size_px == (1920, 1080)
    assert not CameraSettings(size="1920x1080").is_small
    monkeypatch.setattr("companion.core.config.is_small_machine", lambda: False)
    assert CameraSettings().size_px == (1920, 1080)
