"""Test `Pace`, which decides what a slow machine reads while hands move on the board.

Each `record` is one reading: when it ended, how long it took, and whether something moved. It
returns the pause before the next picture. The numbers of these tests are in seconds.
"""

from __future__ import annotations

import pytest

from vision.watcher import GLANCE_READINGS, MOVEMENT_PAUSE_SHARE, Pace


def test_a_fast_machine_reads_every_picture() -> None:
    pace = Pace(0.1)
    for number in range(100):
        assert pace.record(number * 0.1 + 0.02, 0.02, is_moving=True) == pytest.approx(
            MOVEMENT_PAUSE_SHARE * 0.02
        )
        assert not pace.is_glance_only(number * 0.1 + 0.03)


def test_a_slow_machine_only_glances_at_hands() -> None:
    """A reading takes 0.2 s, but there are pictures every 0.1 s."""
    pace = Pace(0.1)
    assert pace.record(10.0, 0.2, is_moving=True) == pytest.approx(0.1)
    assert pace.is_glance_only(10.0 + 0.2 * GLANCE_READINGS - 0.01)
    assert not pace.is_glance_only(10.0 + 0.2 * GLANCE_READINGS + 0.01)


def test_a_resting_board_is_read_without_pause() -> None:
    pace = Pace(0.1)
    assert pace.record(10.0, 0.3, is_moving=False) == 0.0
    assert not pace.is_glance_only(10.1)


def test_a_slow_machine_glances_at_the_next_hand() -> None:
    pace = Pace(0.1)
    pace.record(10.0, 0.2, is_moving=True)
    pace.record(11.0, 0.01, is_moving=False)
    assert pace.is_glance_only(20.0)
    pace.record(20.01, 0.01, is_moving=True)
    assert pace.is_glance_only(20.01 + 0.2 * GLANCE_READINGS - 0.02)
    # a picture is read at last, although the hand stays
    assert not pace.is_glance_only(20.01 + 0.2 * GLANCE_READINGS + 0.02)
    pace.record(22.0, 0.02, is_moving=True)
    pace.record(22.1, 0.01, is_moving=False)
    # the reading with movement took only 0.02 s, so the machine is fast again
    assert not pace.is_glance_only(22.2)
