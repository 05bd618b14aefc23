"""Lessons without a phone, through mock pins and the rendered camera: what a pad cannot give, the sign says, hands do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from inside import session_of
from simulated_room import SimulatedRoom

from companion.core.kit import SEATS, Seat
from companion.table.session import Phase


class Room(SimulatedRoom):
    """Both sit by their pads."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for seat in SEATS:
            self.press(seat, "up")

    def press(self, seat: Seat, *keys: str) -> None:
        """A finger on the pins of a pad."""
        for key in keys:
            self.hands.press(f"{seat}_{key}")
            self.look(1)
            self.hands.release(f"{seat}_{key}")
            self.look(1)

    def begin(self, game: str) -> None:
        self.table.begin_lesson(game)
        self.look()
        if self.table.view().phase is Phase.SETUP:
            self.world.set_up(self.table.view().board.target or {})
            self.look()
        assert self.table.view().phase is Phase.ORDERS

    def hand_moves(self, seat: Seat, text: str) -> None:
        """The piece is moved on the board as this order says."""
        session = session_of(self.table)
        game = session.playing
        action = game.parse(text)
        step = game.apply(session.state, {seat: action}, Random(0))
        laid = game.as_laid(session.state, seat, action, step)
        assert laid is not None, text
        self.world.set_up(laid)
        self.look(6)

    def follow(self) -> None:
        for _ in range(60):
            view = self.table.view()
            if view.phase is not Phase.STAGES:
                return
            if view.board.target is not None:
                self.world.set_up(view.board.target)
            self.look(2)
            if self.table.view().phase is Phase.STAGES and not view.turn.instructions:
                self.press(Seat.SOUTH, "ready")
        raise AssertionError(self.sign())


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Room]:
    opened = Room(tmp_path)
    yield opened
    opened.companion.close()


@pytest.mark.parametrize("name", ["scouts", "kahmate"])
def test_a_lesson_is_played_by_pads_and_hands(at: Room, name: str) -> None:
    at.begin(name)
    by_pad, by_hand = [], []
    while guide := at.table.view().guide:
        for seat, text in guide.step.orders.items():
            grammar = at.table.view(seat).own.pad
            keys = grammar.spell(text) if grammar else ()
            if grammar and grammar.text(keys) == text:
                by_pad.append(text)
                at.press(seat, *keys, *(() if grammar.is_at_once(keys) else ("ready",)))
            else:
                by_hand.append(text)
                assert at.sign().endswith("move as shown here")
                at.hand_moves(seat, text)
        at.follow()
        now = at.table.view().guide
        assert now is None or now.number == guide.number + 1, (guide.step.orders, at.sign())
    assert by_pad
    assert by_hand
    assert at.table.view().phase is Phase.ORDERS


def test_binmat_says_that_its_lesson_needs_a_phone(at: Room) -> None:
    at.begin("binmat")
    assert at.sign() == "Defender: give the order on a phone"
    assert str(at.table.view().sign.small) == "A pad cannot give it: go on by phone, at the same seat."
    moment = at.table.view().moment
    at.press(Seat.SOUTH, "a", "ready")
    assert at.table.view().moment == moment, "no key of a pad is taken for an order"
    at.table.play_by(Seat.SOUTH, "phone")
    at.look()
    assert at.sign() == "Defender: give the order shown here"
    step = at.table.view().guide
    assert step
    at.table.hand_in(Seat.SOUTH, moment, step.step.orders[Seat.SOUTH])
    at.follow()
    assert at.table.view().guide != step


def test_back_held_ends_a_lesson_that_a_pad_cannot_play(at: Room) -> None:
    at.begin("binmat")
    at.hands.press("south_back")
    for _ in range(8):
        at.look(1)
    at.hands.release("south_back")
    at.look()
    assert at.table.view().guide is None
