"""Boards with little memory, by what their kernels tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from companion.core.config import CameraSettings
from companion.core.memory import is_small_machine


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


def test_a_machine_that_tells_nothing_has_enough(tmp_path: Path) -> None:
    assert not is_small_machine(tmp_path)


def test_a_small_board_takes_small_pictures_unless_the_settings_say_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("companion.core.config.is_small_machine", lambda: True)
    assert CameraSettings().size_px == (1280, 720)
    assert CameraSettings().is_small
    assert CameraSettings(size="1920x1080").size_px == (1920, 1080)
    assert not CameraSettings(size="1920x1080").is_small
    monkeypatch.setattr("companion.core.config.is_small_machine", lambda: False)
    assert CameraSettings().size_px == (1920, 1080)
