"""A reader on a machine that is too slow for every picture."""

from __future__ import annotations

import pytest

from vision.watcher import GLANCES, REST, Pace


def test_a_machine_in_time_reads_every_picture() -> None:
    pace = Pace(0.1)
    for number in range(100):
        assert pace.read(number * 0.1 + 0.02, 0.02, True) == pytest.approx(REST * 0.02)
        assert not pace.glances(number * 0.1 + 0.03)


def test_while_hands_move_a_slow_machine_mostly_looks_whether_they_have_gone() -> None:
    pace = Pace(0.1)
    assert pace.read(10.0, 0.2, True) == pytest.approx(0.1)
    assert pace.glances(10.0 + 0.2 * GLANCES - 0.01)
    assert not pace.glances(10.0 + 0.2 * GLANCES + 0.01)


def test_a_board_at_rest_is_read_without_a_pause() -> None:
    pace = Pace(0.1)
    assert pace.read(10.0, 0.3, False) == 0.0
    assert not pace.glances(10.1)


def test_a_slow_machine_does_not_read_while_the_next_hand_comes() -> None:
    pace = Pace(0.1)
    pace.read(10.0, 0.2, True)
    pace.read(11.0, 0.01, False)
    assert pace.glances(20.0)
    pace.read(20.01, 0.01, True)
    assert pace.glances(20.01 + 0.2 * GLANCES - 0.02)
    assert not pace.glances(20.01 + 0.2 * GLANCES + 0.02), (
        "a hand that stays is looked at after all"
    )
    pace.read(22.0, 0.02, True)
    pace.read(22.1, 0.01, False)
    assert not pace.glances(22.2), "the machine has time again"
