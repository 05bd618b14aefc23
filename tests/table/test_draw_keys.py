"""A draw by pad: left and right, pressed together and held, offer one and accept one, and enter
nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from table_tools import Played

from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey, Press, SeatLamps, TurnLamp
from companion.table.listeners import TableListener
from companion.table.seats.pads import TOGETHER_S
from companion.table.session import Phase

SOUTH, NORTH = SEATS


@pytest.fixture
def pads(played: Played) -> Played:
    for seat in SEATS:
        played.table.play_by(seat, "pad")
    played.begin()
    return played


def test_both_keys_held_offer_a_draw_and_accept_one(pads: Played) -> None:
    lamps: dict[Seat, SeatLamps] = {}
    pads.table.connect(TableListener(on_lamps=lambda shown, _: lamps.update(shown)))
    reach(pads, SOUTH)
    assert pads.view.match.draw_offer is SOUTH
    words = "Purple offers a draw. Lime accepts by holding left and right on the pad, or plays on."
    assert pads.view.match.offer == words
    assert pads.cues[-1] == "offer"
    assert {shown.turn for shown in lamps.values()} == {TurnLamp.OFFERED}
    reach(pads, SOUTH)
    assert pads.view.phase is Phase.ORDERS, "nobody accepts his own offer"
    reach(pads, NORTH)
    assert pads.view.match.outcome is not None
    assert pads.view.match.outcome.reason == "A draw."
    assert pads.cues[-1] == "tie"


def test_what_was_entered_stays_entered(pads: Played) -> None:
    pads.press(SOUTH, "U")
    reach(pads, SOUTH)
    assert pads.view.seats[SOUTH].entered == 1
    pads.press(SOUTH, "S", "U", "ready")
    pads.hand_in(NORTH, "III")
    assert pads.view.turn.orders[0][SOUTH].letter == "U", "as without an offer"
    assert pads.view.match.draw_offer is None, "the reveal ends the offer"


def test_anything_else_offers_nothing(pads: Played) -> None:
    reach(pads, SOUTH, gap_s=TOGETHER_S + 0.1)
    reach(pads, SOUTH, PadKey.LEFT, PadKey.A)
    reach(pads, SOUTH, PadKey.LEFT)
    reach(pads, NORTH, PadKey.RIGHT)
    assert pads.view.match.draw_offer is None


def reach(played: Played, seat: Seat, *keys: PadKey, gap_s: float = 0.1) -> None:
    """Keys of a pad go down one after the other, and are held."""
    presses = []
    for key in keys or (PadKey.LEFT, PadKey.RIGHT):
        presses.append(Press(seat, key, played.clock.monotonic_s()))
        played.table.press(presses[-1])
        played.clock.advance(gap_s)
    played.clock.advance(1.0)
    for press in presses:
        played.table.press(replace(press, held=True))
    for press in presses:
        played.table.release(press)
