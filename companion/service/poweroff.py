"""The machine switched off by its table button: what is asked of whom, and what people are told."""

from __future__ import annotations

from functools import partial

from companion.core.clock import Clock
from companion.core.i18n import say
from companion.service.systemd import Manager
from companion.table.table import Table
from hardware.panel import Panel
from hardware.power import PowerActions, PowerKey


def power_key(
    table: Table, panel: Panel, clock: Clock, *, simulated: bool, has_lamp: bool, threads: bool
) -> PowerKey:
    """Return what stands between a panel's table button and the table.

    In simulation it only says what it would do.

    `has_lamp`: a system lamp tells when the cord may be pulled.
    """

    def switch_off() -> tuple[bool, str]:
        if simulated:
            return False, say(
                "Simulation: here the machine would switch off, and the game would be kept."
            )
        if Manager().switch_off():
            if has_lamp:
                return True, say(
                    "Switching off: the game is kept. Pull the plug once the system lamp is dark."
                )
            return True, say(
                "Switching off: the game is kept. Wait half a minute before you pull the plug."
            )
        return False, say(
            "The machine cannot be switched off from here: the service is not installed."
        )

    actions = PowerActions(
        play=table.press,
        is_at_once=lambda: table.is_open,
        signal=panel.signal,
        tell=partial(table.notice, "power"),
        switch_off=switch_off,
    )
    return PowerKey(clock, lambda: "table" in panel.down, actions, threads=threads)
