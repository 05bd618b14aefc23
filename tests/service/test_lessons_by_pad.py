"""Lessons and the coach without a phone, through mock pins; whole lessons are in tests/browser/test_browser_guided_pads.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated_room import PadRoom

from companion.core.kit import Seat


@pytest.fixture
def at(tmp_path: Path) -> Iterator[PadRoom]:
    opened = PadRoom(tmp_path)
    yield opened
    opened.companion.close()


def test_binmat_says_that_its_lesson_needs_a_phone(at: PadRoom) -> None:
    at.begin("binmat")
    assert at.sign() == "Defender: give the order on a phone"
    assert (
        str(at.table.view().sign.small) == "A pad cannot give it: go on by phone, at the same seat."
    )
    moment = at.table.view().moment
    at.press(Seat.SOUTH, "a", "ready")
    assert at.table.view().moment == moment, "no key of a pad is taken for an order"
    at.table.play_by(Seat.SOUTH, "phone")
    at.look()
    assert at.sign() == "Defender: do what is shown here"
    step = at.table.view().guide
    assert step
    at.table.hand_in(Seat.SOUTH, moment, step.step.orders[Seat.SOUTH])
    at.follow()
    assert at.table.view().guide != step


def test_back_held_ends_a_lesson_that_a_pad_cannot_play(at: PadRoom) -> None:
    at.begin("binmat")
    at.hold("south_back")
    assert at.table.view().guide is None
