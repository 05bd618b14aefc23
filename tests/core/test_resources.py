"""Memory is given back in quiet moments, and what a board with little memory does without."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings
from companion.core.resources import is_small_machine
from companion.maintenance import housekeeping
from companion.table.session import Phase

# ---- quiet moments -----------------------------------------------------------------------------------------------------


class Progress:
    """What housekeeping asks of the table."""

    number, moment, phase = 0, "", Phase.LOBBY


def test_memory_is_given_back_between_two_games_and_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[int] = []
    monkeypatch.setattr(housekeeping, "give_back", lambda: given.append(progress.number))
    progress, clock = Progress(), FakeClock()
    house = housekeeping.Housekeeping.__new__(housekeeping.Housekeeping)
    table = SimpleNamespace(progress=lambda: progress)
    vars(house).update(
        _table=table, _clock=clock, _given_back=None, _give_back_s=clock.monotonic_s() + 30
    )
    for number, phase in (
        (0, Phase.LOBBY),
        (1, Phase.SETUP),
        (1, Phase.ORDERS),
        (1, Phase.STAGES),
        (1, Phase.OVER),
    ):
        progress.number, progress.phase = number, phase
        house.give_back()
        house.give_back()
    assert given == [0, 1, 1], "in the lobby, at the set-up and at the end"
    progress.number, progress.phase = 2, Phase.ORDERS
    for _ in range(7):
        clock.advance(10)
        house.give_back()
    assert given[3:] == [2, 2]


# ---- boards with little memory ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "is_small"),
    [
        ("MemTotal:         427068 kB\nMemFree: 1 kB\n", True),
        ("MemTotal:         517000 kB\n", True),
        ("MemTotal:         945364 kB\n", False),
        ("MemTotal:        3884392 kB\n", False),
        ("nothing of it\n", False),
    ],
)
def test_a_small_board_is_told_by_its_memory(tmp_path: Path, told: str, is_small: bool) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text(told)
    assert is_small_machine(tmp_path) is is_small


def test_a_small_board_takes_small_pictures_unless_the_settings_say_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("companion.core.config.is_small_machine", lambda: True)
    assert CameraSettings().size_px == (1280, 720)
    assert CameraSettings().is_small
    assert CameraSettings(size="1920x1080").size_px == (1920, 1080)
    assert not CameraSettings(size="1920x1080").is_small
    monkeypatch.setattr("companion.core.config.is_small_machine", lambda: False)
    assert CameraSettings().size_px == (1920, 1080)
