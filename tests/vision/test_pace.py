"""A reader on a machine that is too slow for every picture."""

from __future__ import annotations

import pytest

from vision.watcher import GLANCE_READINGS, MOVEMENT_PAUSE_SHARE, Pace


def test_a_machine_in_time_reads_every_picture() -> None:
    pace = Pace(0.1)
    for number in range(100):
        assert pace.record(number * 0.1 + 0.02, 0.02, True) == pytest.approx(
            MOVEMENT_PAUSE_SHARE * 0.02
        )
        assert not pace.is_glance_only(number * 0.1 + 0.03)


def test_a_slow_machine_only_glances_at_hands() -> None:
    pace = Pace(0.1)
    assert pace.record(10.0, 0.2, True) == pytest.approx(0.1)
    assert pace.is_glance_only(10.0 + 0.2 * GLANCE_READINGS - 0.01)
    assert not pace.is_glance_only(10.0 + 0.2 * GLANCE_READINGS + 0.01)


def test_a_resting_board_is_read_without_pause() -> None:
    pace = Pace(0.1)
    assert pace.record(10.0, 0.3, False) == 0.0
    assert not pace.is_glance_only(10.1)


def test_a_slow_machine_glances_at_the_next_hand() -> None:
    pace = Pace(0.1)
    pace.record(10.0, 0.2, True)
    pace.record(11.0, 0.01, False)
    assert pace.is_glance_only(20.0)
    pace.record(20.01, 0.01, True)
    assert pace.is_glance_only(20.01 + 0.2 * GLANCE_READINGS - 0.02)
    assert not pace.is_glance_only(20.01 + 0.2 * GLANCE_READINGS + 0.02), (
        "a hand that stays is looked at after all"
    )
    pace.record(22.0, 0.02, True)
    pace.record(22.1, 0.01, False)
    assert not pace.is_glance_only(22.2), "the machine has time again"
