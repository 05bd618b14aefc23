"""A draw by pad: left and right, pressed together and held on mock pins, offer one and accept one, and enter nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from setup_tools import Kept, kept

from companion.core.kit import SEATS, Seat
from companion.core.ports import Cue, Signal, TurnLamp
from companion.table.listeners import TableListener
from companion.table.seats.draw_keys import TOGETHER_S
from companion.table.session import Phase
from hardware.debounce import HOLD_S

SOUTH, NORTH = SEATS


class Pads:
    """Two people at their pads, with the cues that they hear and the lamps that they see."""

    def __init__(self, place: Kept) -> None:
        self.place, self.table = place, place.table
        self.signals: list[Signal] = []
        self.lamps: dict[Seat, TurnLamp] = {}
        self.table.connect(
            TableListener(
                on_signal=self.signals.append,
                on_lamps=lambda shown, _: self.lamps.update(
                    {seat: each.turn for seat, each in shown.items()}
                ),
            )
        )

    def down(self, *buttons: str, after_s: float = 0.1) -> None:
        for button in buttons:
            self.place.hands.press(button)
            self.let_pass(after_s)

    def up(self, *buttons: str) -> None:
        for button in buttons:
            self.place.hands.release(button)
            self.let_pass(0.1)

    def let_pass(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.05)):
            self.place.clock.advance(0.05)
            self.place.panel.step()
        self.table.step()

    def reach(self, seat: Seat) -> None:
        """Left and right of a pad, together, for as long as it takes, and let go."""
        self.down(f"{seat}_left", f"{seat}_right")
        self.let_pass(HOLD_S)
        self.up(f"{seat}_left", f"{seat}_right")

    @property
    def cues(self) -> list[object]:
        return [signal.cue for signal in self.signals]


@pytest.fixture
def pads(tmp_path: Path) -> Iterator[Pads]:
    with kept(tmp_path) as place:
        place.finger("south_ready")
        place.finger("north_ready")
        begin(place, "outbuffered")
        yield Pads(place)


def begin(place: Kept, game: str) -> None:
    place.table.new_game(game, {}, 1)
    if place.table.view().phase is Phase.SETUP:
        place.table.confirm("host", place.table.view().moment, 0)


def test_both_keys_held_offer_a_draw_and_accept_one(pads: Pads) -> None:
    pads.reach(SOUTH)
    view = pads.table.view()
    assert view.match.draw_offer is SOUTH
    words = "Purple offers a draw. Lime accepts by holding left and right on the pad, or plays on."
    assert view.match.offer == words
    assert pads.cues[-1] is Cue.OFFER
    assert pads.lamps == {SOUTH: TurnLamp.OFFERED, NORTH: TurnLamp.OFFERED}
    assert words in pads.place.browser().get("/").get_data(as_text=True)
    pads.reach(SOUTH)
    assert pads.table.view().phase is Phase.ORDERS, "nobody accepts his own offer"
    pads.reach(NORTH)
    view = pads.table.view()
    assert view.match.outcome is not None
    assert view.match.outcome.reason == "A draw."
    assert pads.cues[-1] is Cue.TIE


def test_what_was_entered_stays_entered(pads: Pads) -> None:
    pads.place.finger("south_up")
    pads.reach(SOUTH)
    assert pads.table.view(SOUTH).seats[SOUTH].entered == 1
    for button in ("south_a", "south_up", "south_ready"):
        pads.place.finger(button)
    pads.table.hand_in(NORTH, pads.table.view().moment, "III")
    view = pads.table.view()
    assert view.turn.orders[0][SOUTH].letter == "U", "as without an offer"
    assert view.match.draw_offer is None, "the reveal ends the offer"


@pytest.mark.parametrize(
    ("first", "gap_s", "second"),
    [
        ("south_left", TOGETHER_S + 0.1, "south_right"),
        ("south_left", 0.1, "north_right"),
        ("south_left", 0.1, "south_a"),
    ],
)
def test_anything_else_offers_nothing(pads: Pads, first: str, gap_s: float, second: str) -> None:
    pads.down(first, after_s=gap_s)
    pads.down(second)
    pads.let_pass(HOLD_S * 2)
    assert pads.table.view().match.draw_offer is None
    pads.up(first, second)
