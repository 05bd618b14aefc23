"""Helpers: people who play at the machine by its pins, and hands on a board that its camera sees.

The people keep a position of their own by the rules of the game. At each stage they compare the
layout that it leads to with the layout that the table expects.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from appliance.machine import PADS, Machine, MachineError, until
from companion.core.kit import Layout, Seat
from companion.games.outbuffered import Outbuffered
from companion.printing.printed_kit import printed_table
from companion.table.chance.fairness import turn_random

# The key of a pad for each order of Outbuffered, by the order's letter in the notation.
KEYS = {"U": "up", "D": "down", "L": "left", "R": "right", "S": "a", "I": "b"}
TIMEOUT_S = 120.0
PAGES = "http://127.0.0.1:8080"


class Board:
    """A rendered board in front of the machine's camera."""

    def __init__(self, machine: Machine, game: Any) -> None:
        self._machine = machine
        self._world = printed_table(game.kit(game.options({})))

    def lay(self, layout: Layout) -> None:
        """Lay the pieces as in `layout`, the others beside the board. Show that to the camera."""
        self._world.set_up(layout)
        luma = self._world.render_luma()
        self._machine.show_picture(luma.shape[1], luma.shape[0], luma.tobytes())


def fetch_view(machine: Machine) -> dict[str, Any]:
    """Return the public view, fetched inside the machine. It is empty while no page answers."""
    status, text = machine.ask("fetch", f"{PAGES}/api/view")
    return dict(json.loads(text)) if status == 200 else {}


def wait_for_pages(machine: Machine, timeout_s: float) -> dict[str, Any]:
    """Wait for the service, and return its first view."""
    return until("a page", lambda: fetch_view(machine), timeout_s, 0.5)


def host_key(machine: Machine) -> str:
    """Return the owner key that `companion host-key` prints."""
    output = machine.run("companion", "host-key", timeout_s=120)
    key = re.search(r"[a-z2-7]{5}-[a-z2-7]{5}", output)
    if not key:
        raise MachineError(f"companion host-key prints no key: {output}")
    return key[0]


class PadMatch:
    """A game of Outbuffered at two pads and a board that the camera sees.

    `begin` begins it, and `play_turn` plays one turn. `misread` counts the stages at which the
    table expected another layout than the rules say.
    """

    def __init__(self, machine: Machine, rng: Random) -> None:
        self._machine, self._rng, self._game = machine, rng, Outbuffered()
        self._board = Board(machine, self._game)
        self._state = self._game.setup(self._game.options({}), Random(0))
        self.turns = self.misread = self.presses = 0

    def begin(self) -> None:
        """Sit down by a key of each pad, lay the board, and start by the ready key."""
        for seat in PADS:
            self._press(seat, "ready")
        self.until(
            "both seats", lambda now: all(now["seats"][seat]["name"] is not None for seat in PADS)
        )
        self._board.lay({})
        self.until("the board", lambda now: now["suggested"] == "outbuffered")
        self._press("south", "ready")
        self.until("the set-up", lambda now: now["phase"] == "setup")
        self._board.lay(self._game.expected(self._state) or {})
        self.until("the first turn", lambda now: now["phase"] == "orders")

    @property
    def is_over(self) -> bool:
        """Whether somebody has won, by the rules."""
        return self._state.outcome is not None

    def hand_in(self, seat: str) -> str:
        """Hand in three random orders by a seat's pad. Return them as an action in notation.

        Raises `MachineError` if the table does not count three orders.
        """
        action = "".join(self._rng.choices("UDLRIS", weights=(4, 3, 2, 2, 1, 2), k=3))
        before = self.presses
        for letter in action:
            self._press(seat, KEYS[letter])
        if self.presses - before != 3:
            raise MachineError("not three keys were pressed")
        self.until(f"three orders of {seat}", lambda now: now["seats"][seat]["entered"] == 3)
        self._press(seat, "ready")
        return action

    def play_turn(self) -> None:
        """Play a turn: both seats hand in orders, and hands follow all stages."""
        moment = fetch_view(self._machine)["moment"]
        south = self.hand_in("south")
        self.until("the sealed order", lambda now: now["sealed"]["south"])
        self.finish_turn(moment, south, self.hand_in("north"))

    def finish_turn(self, moment: str, south: str, north: str) -> None:
        """Follow the stages of a turn for which both seats have handed in their actions.

        At each stage, compare the layout that the table expects with that of the rules, and then
        lay the pieces as the rules say.
        """
        actions = {Seat.SOUTH: self._game.parse(south), Seat.NORTH: self._game.parse(north)}
        step = self._game.apply(
            self._state, actions, turn_random(0, int(moment.rpartition(".")[2]))
        )
        for number, stage in enumerate(step.stages):
            now = self.until(
                f"stage {number + 1}", lambda now, n=number: self._is_at(now, moment, n)
            )
            if now["phase"] == "stages" and now["moment"] == moment and stage.expected is not None:
                expected = {str(square): list(faces) for square, faces in stage.expected.items()}
                reported = {
                    str(square): list(faces) for square, faces in (now["expected"] or {}).items()
                }
                self.misread += now["stage"] == number and expected != reported
                self._board.lay(stage.expected)
        self._state = step.state
        self.turns += 1
        self.until("the next turn", lambda now: now["phase"] == "over" or now["moment"] != moment)

    @staticmethod
    def _is_at(now: dict[str, Any], moment: str, number: int) -> bool:
        """Return whether the table has reached a stage of this turn, or has passed it."""
        return (
            now["moment"] != moment
            or now["phase"] == "over"
            or (now["phase"] == "stages" and now["stage"] >= number)
        )

    def _press(self, seat: str, *keys: str) -> None:
        self._machine.press(seat, *keys)
        self.presses += len(keys)

    def until(self, what: str, is_reached: Any) -> dict[str, Any]:
        """Wait until `is_reached` is true of the public view, and return that view.

        Raises `MachineError` with what the table says instead.
        """
        last_view: dict[str, Any] = {}

        def condition() -> bool:
            last_view.clear()
            last_view.update(fetch_view(self._machine))
            return bool(last_view) and bool(is_reached(last_view))

        try:
            until(what, condition, TIMEOUT_S)
        except MachineError as error:
            problems = [problem["text"] for problem in last_view.get("problems", ())]
            raise MachineError(
                f"{error}; the sign says {last_view.get('sign')}, "
                f"{problems}, {last_view.get('camera')}"
            ) from None
        return last_view
