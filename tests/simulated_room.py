"""Helpers: the whole program in simulation on a fake clock, and the hands at its rendered table.

`simulated` is the program alone. A `SimulatedRoom` adds people who move pieces before its camera,
and a `PadRoom` people who press keys of pads. Nothing happens until a test advances the clock and
lets the program do a step, as `look` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from internals import session_of
from run_folder import share_templates

from companion.core.clock import FakeClock
from companion.core.config import CameraSettings, Settings, TableSettings, WebSettings
from companion.core.kit import SEATS, Seat
from companion.service.app import Companion
from companion.table.session import Phase


def local_settings(folder: Path, port: int = 0, **sections: Any) -> Settings:
    """Return settings of a table with its state in this folder, which only this machine can reach.

    `sections` replace sections of the settings, such as `table`. The table uses the templates that
    other tests have compiled. If it runs with threads, its camera takes one picture a second,
    because reading more of them would cost as much time as all the rest of a test.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    share_templates(folder)
    web = WebSettings(host="127.0.0.1", port=port)
    camera = CameraSettings(fps=1)
    return Settings(**{"state_dir": str(folder), "web": web, "camera": camera, **sections})


@contextmanager
def simulated(folder: Path, clock: FakeClock | None = None, **sections: Any) -> Iterator[Companion]:
    """Run the whole service without threads in this process, on a clock that only tests advance."""
    settings = local_settings(folder, **sections)
    with Companion(settings, simulate=True, clock=clock or FakeClock(), threads=False) as companion:
        yield companion


class SimulatedRoom:
    """A simulated table, its camera and the hands at it. Close `companion` at the end.

    `world` is what lies on the rendered table, and `hands` are the fingers on its buttons.
    """

    def __init__(self, folder: Path) -> None:
        settings = local_settings(folder, table=TableSettings(reading_time_s=0.1))
        self.clock = FakeClock()
        self.companion = Companion(settings, simulate=True, clock=self.clock, threads=False)
        assert self.companion.simulation
        assert self.companion.eye
        self.table = self.companion.table
        self.eye = self.companion.eye
        self.world = self.companion.simulation.world
        self.hands = self.companion.simulation.hands

    def look(self, count: int = 3) -> None:
        """Let the camera see so many pictures, and let all other parts do their work.

        Three pictures are enough for a change: the reader believes what several pictures show.
        """
        for _ in range(count):
            self.clock.advance(0.2)
            self.companion.step()

    def look_at_new_game(self) -> None:
        """Let the camera see a new game, in small pictures.

        They are read in half the time, and cards and tiles are read just as well in them.
        """
        self.world.set_view(replace(self.world.view, width=1280, height=720))
        self.look()

    def sign(self) -> str:
        """Return the one sentence that says what the table waits for."""
        return str(self.table.view().sign.text)

    def after_stage(self) -> None:
        """Do what people do when they have moved the pieces of a stage. Here they do nothing."""

    def follow(self) -> None:
        """Move the pieces as the stages ask, until the next decision."""
        # far more than the stages and pictures of any turn
        for _ in range(200):
            view = self.table.view()
            if view.phase is not Phase.STAGES:
                return
            if view.board.target is not None:
                self.world.set_up(view.board.target)
            self.look(2)
            self.after_stage()
        raise AssertionError(f"the stages do not end: {self.sign()}")


class PadRoom(SimulatedRoom):
    """A simulated table at which both seats are played by pads."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # a seat is taken by the first press of a key of its pad
        for seat in SEATS:
            self.press(seat, "up")

    def press(self, seat: Seat, *keys: str) -> None:
        """Press and release keys of a pad, by their names such as `up`, one after the other."""
        for key in keys:
            for change in (self.hands.press, self.hands.release):
                change(f"{seat}_{key}")
                self.clock.advance(0.2)
                self.companion.step_keys()

    def hold(self, button: str) -> None:
        """Hold a key, such as `south_back`, for 1.6 seconds."""
        self.hands.press(button)
        for _ in range(8):  # each look takes 0.2 s
            self.look(1)
        self.hands.release(button)
        self.look()

    def begin(self, game: str) -> None:
        """Begin the lesson of a game at both pads, and set up its board if it needs pieces."""
        for seat in SEATS:
            self.table.change_door(seat, "pad")
        self.table.begin_lesson(game)
        self.look_at_new_game()
        if self.table.view().phase is Phase.SETUP:
            self.world.set_up(self.table.view().board.target or {})
            self.look()
        assert self.table.view().phase is Phase.ORDERS

    def hand_moves(self, seat: Seat, text: str) -> None:
        """Move the pieces of an action on the board before anybody has entered it.

        The camera then sees the move, so that the action becomes a laid one.
        """
        session = session_of(self.table)
        game = session.require_game()
        action = game.parse(text)
        step = game.apply(session.state, {seat: action}, Random(0))
        # the first of these layouts is that just after the move
        self.world.set_up(game.layouts_by_hand(session.state, seat, action, step)[0])
        self.look()

    def after_stage(self) -> None:
        """Press “ready” in a stage without pieces to move, whose end the camera cannot see."""
        view = self.table.view()
        if view.phase is Phase.STAGES and not view.turn.instructions:
            self.press(Seat.SOUTH, "ready")
