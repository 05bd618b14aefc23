"""How often a panel at rest wakes the processor, on the kernel's simulated pins."""

from __future__ import annotations

import time
from pathlib import Path

from companion.core.clock import RealClock
from companion.core.config import PanelSettings
from companion.core.kit import Seat
from companion.core.ports import Cue, Press, SeatLamps, Signal, TurnLamp
from hardware.panel import Panel

LOOK_S = 5.0


def switches() -> int:
    """How often the threads of this process have been given the processor."""
    told = ((path / "status").read_text() for path in Path("/proc/self/task").iterdir())
    return sum(
        int(line.split()[1])
        for text in told
        for line in text.splitlines()
        if "ctxt_switches" in line
    )


def rate() -> float:
    """So many in a second, but for the one of this thread itself."""
    before = switches()
    time.sleep(LOOK_S)
    return (switches() - before) / LOOK_S


def level(pin: int) -> str:
    """What a simulated line has now."""
    (found,) = Path("/sys/devices/platform").glob(f"gpio-sim.*/gpiochip*/sim_gpio{pin}/value")
    return found.read_text().strip()


presses: list[Press] = []


def press(pin: int, times: int) -> None:
    """Connect a pin to ground and let it go, so often."""
    (line,) = Path("/sys/devices/platform").glob(f"gpio-sim.*/gpiochip*/sim_gpio{pin}/pull")
    for _ in range(times):
        line.write_text("pull-down")
        time.sleep(0.15)
        line.write_text("pull-up")
        time.sleep(0.15)


def main() -> None:
    """Say the rates at rest and lit, what was pressed, and the levels of a lamp at ground, one at 3V3 and the buzzer."""
    with Panel(PanelSettings(), RealClock(), presses.append) as panel:
        print(
            "panel:",
            len(panel.buttons),
            "keys",
            len(panel.lamps),
            "lamps",
            panel.has_buzzer,
            panel.problems,
        )
        print(f"panel at rest: {rate():.0f} switches a second", flush=True)
        press(5, 5)
        press(25, 5)
        print(
            "panel pressed:",
            [(str(each.seat), str(each.key), each.held) for each in presses],
            flush=True,
        )
        panel.show({seat: SeatLamps(frozenset({1, 2, 3}), TurnLamp.ON) for seat in Seat})
        time.sleep(0.5)
        lit = {(level(17), level(14)) for _ in range(200)}
        print(f"panel lit: {rate():.0f} switches a second, lines {sorted(lit)}", flush=True)
        panel.signal(Signal(Cue.TIME_OUT))
        time.sleep(0.05)
        sounds = {level(18) for _ in range(200)}
        panel.show({})
        time.sleep(0.5)
        print(
            "panel tone:",
            sorted(sounds),
            "then",
            sorted({level(18) for _ in range(200)}),
            flush=True,
        )
        dark = {(level(17), level(14)) for _ in range(200)}
        print(f"panel dark again: {rate():.0f} switches a second, lines {sorted(dark)}", flush=True)


if __name__ == "__main__":
    main()
