"""Test `Pace`, which decides what a slow machine reads while hands move on the board.

Each call of `record` notes one reading: when it ended, how long it took, and whether something
moved. It returns the pause before the next picture. All numbers are in seconds. Pictures are due
every 0.1 s, so a machine that takes 0.2 s to read one is slow.
"""

from __future__ import annotations

import pytest

from vision.watcher import GLANCE_READINGS, MOVEMENT_PAUSE_SHARE, Pace


def test_a_fast_machine_reads_every_picture() -> None:
    pace = Pace(0.1)
    for picture in range(100):
        assert pace.record(picture * 0.1 + 0.02, 0.02, is_moving=True) == pytest.approx(
            MOVEMENT_PAUSE_SHARE * 0.02
        )
        assert not pace.is_glance_only(picture * 0.1 + 0.03)


def test_a_slow_machine_only_glances_at_hands() -> None:
    """After a reading of 0.2 s, it only glances for as long as some readings would take."""
    pace = Pace(0.1)
    assert pace.record(10.0, 0.2, is_moving=True) == pytest.approx(0.1)
    assert pace.is_glance_only(10.0 + 0.2 * GLANCE_READINGS - 0.01)
    assert not pace.is_glance_only(10.0 + 0.2 * GLANCE_READINGS + 0.01)


def test_a_resting_board_is_read_without_pause() -> None:
    pace = Pace(0.1)
    assert pace.record(10.0, 0.3, is_moving=False) == 0.0
    assert not pace.is_glance_only(10.1)


def test_a_slow_machine_glances_at_the_next_hand() -> None:
    # a hand moved, reading that was slow, and then the hand left
    pace = Pace(0.1)
    pace.record(10.0, 0.2, is_moving=True)
    pace.record(11.0, 0.01, is_moving=False)

    # so the first picture of the next movement is only glanced at, and those that follow
    assert pace.is_glance_only(20.0)
    pace.record(20.01, 0.01, is_moving=True)
    assert pace.is_glance_only(20.01 + 0.2 * GLANCE_READINGS - 0.02)

    # a picture is read at last, although the hand stays
    assert not pace.is_glance_only(20.01 + 0.2 * GLANCE_READINGS + 0.02)

    # that reading took only 0.02 s, so the machine is fast again, and the next movement is read
    pace.record(22.0, 0.02, is_moving=True)
    pace.record(22.1, 0.01, is_moving=False)
    assert not pace.is_glance_only(22.2)
