"""Latencies through the doors: from a key to its lamp, from a phone to every screen, from a wrong piece to its name."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from bench.bars import KEY_TO_LAMP_MS, PHONE_TO_SCREENS_MS, WRONG_TO_NAME_S
from bench.figures import Figure, Listener, simulated
from companion.core.config import CameraSettings
from companion.core.kit import Seat
from companion.games import GAMES
from companion.service.app import Companion
from companion.tools.selfplay import Phone

VIEWERS = 3
PRESSES = 200
POSTS = 100
STRAYS = 20


def door_figures() -> Iterator[Figure]:
    """All of them, one after the other."""
    with simulated(fps=CameraSettings().fps) as companion:
        yield _wrong_to_word(companion)
    with simulated(fps=30) as companion, ExitStack() as viewers:
        listeners = [viewers.enter_context(Listener(companion.server.port)) for _ in range(VIEWERS)]
        _sit_down(companion)
        for measure in (_key_to_lamp, _post_to_event):
            yield measure(companion, listeners)


def _sit_down(companion: Companion) -> None:
    table = companion.table
    table.new_game(next(iter(GAMES)), {}, seed=1)
    view = table.view()
    if view.phase == "setup":
        table.confirm("host", view.moment, view.turn.stage, force=True)


def _key_to_lamp(companion: Companion, listeners: Sequence[Listener]) -> Figure:
    """From the edge of a pad's key to the lamp that counts it, through debouncing and table."""
    return Figure(
        "key of a pad -> its lamp",
        _lamps_ms(companion),
        KEY_TO_LAMP_MS.most,
    )


def _lamps_ms(companion: Companion) -> list[float]:
    _press_ready(companion)
    return _presses_ms(companion, PRESSES)


def _press_ready(companion: Companion) -> None:
    """Sit down at the pad."""
    if companion.simulation is not None:
        _press(companion.simulation.hands.press, companion.simulation.hands.release, "south_ready")


def _presses_ms(companion: Companion, presses: int) -> list[float]:
    simulation = companion.simulation
    if simulation is None:
        raise RuntimeError("the bench runs in simulation")
    hands = simulation.hands
    times = []
    for number in range(presses):
        button, lit = ("south_up", number % 2 == 0) if number % 2 == 0 else ("south_back", False)
        began_s = time.monotonic()
        hands.press(button)
        while (hands.view().lamps["south_1"] > 0) != lit:
            if time.monotonic() - began_s > 1:
                break
            time.sleep(0.0002)
        times.append((time.monotonic() - began_s) * 1000)
        hands.release(button)
        time.sleep(0.06)
    return times


def _wrong_to_word(companion: Companion) -> Figure:
    """From a piece put on a wrong square to the sentence that names it, at the camera's default rate."""
    simulation, table = companion.simulation, companion.table
    if simulation is None:
        raise RuntimeError("the bench runs in simulation")
    _sit_down(companion)
    world = simulation.world
    layout = table.view().board.layout
    piece = world.pieces()[-1]
    free = [square for square in world.kit.board.squares if square not in layout]
    times = []
    for number in range(STRAYS):
        world.set_up(layout)
        _wait_for(lambda: table.view().board.watched and not table.view().board.problems)
        began_s = time.monotonic()
        world.move_to(piece.id, free[number % len(free)])
        _wait_for(lambda: bool(table.view().board.problems))
        times.append((time.monotonic() - began_s) * 1000)
    return Figure(
        "piece on a wrong square -> named",
        times,
        1000 * WRONG_TO_NAME_S.most,
    )


def _wait_for(happened: Callable[[], bool]) -> None:
    """Look every 2 ms, at most 5 s."""
    end_s = time.monotonic() + 5
    while not happened() and time.monotonic() < end_s:
        time.sleep(0.002)


def _press(press: Callable[[str], None], release: Callable[[str], None], button: str) -> None:
    press(button)
    time.sleep(0.06)
    release(button)
    time.sleep(0.3)


def _post_to_event(companion: Companion, listeners: Sequence[Listener]) -> Figure:
    """From a phone's POST to the fragment at the last of the other viewers."""
    url = f"http://127.0.0.1:{companion.server.port}"
    phone = Phone(url, Seat.NORTH)
    phone.post("take", {"name": "Bench"})
    moment = companion.table.view().moment
    times = []
    for number in range(POSTS):
        time.sleep(0.05)
        began_s = time.monotonic()
        if number % 2 == 0:
            phone.post("hand-in", {"moment": moment, "action": "III", "salt": f"{number:032x}"})
        else:
            phone.post("take-back", {"moment": moment})
        times.append(
            (max(listener.first_after(began_s) for listener in listeners) - began_s) * 1000
        )
    return Figure(
        "POST of a phone -> event at 3 viewers",
        times,
        PHONE_TO_SCREENS_MS.most,
    )
