"""Pages that follow a table: how long an order takes to the last of 3 and of 64 screens."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from bench.bars import PHONE_TO_SCREENS_MS
from bench.processes import LOCAL, memory_mb, running_service
from bench.visitors import Viewers, first_orders, order
from companion.core.kit import SEATS
from companion.tools.selfplay import Phone

VIEWERS = (3, 64)
ORDERS = 30
SPACING_S = 0.5
SETTINGS = f"""{LOCAL}viewers = {max(VIEWERS)}
[camera]
source = "none"
"""


def bench_streams() -> bool:
    """Measure and print it, and return whether the bar is kept."""
    good = True
    for viewers in VIEWERS:
        with (
            tempfile.TemporaryDirectory() as folder,
            running_service(Path(folder), SETTINGS) as service,
        ):
            phones = [Phone(f"http://127.0.0.1:{service.port}", seat) for seat in SEATS]
            moment = first_orders(phones)
            times_ms = []
            with Viewers(service.port, ["/live/watch"] * viewers) as screens:
                for number in range(ORDERS):
                    time.sleep(SPACING_S)
                    began_s = time.monotonic()
                    order(phones[1], moment, number)
                    times_ms.append((screens.last_since(began_s) - began_s) * 1000)
            print(f"{viewers} viewers, {memory_mb(service.pid):.0f} MB", flush=True)
        good &= PHONE_TO_SCREENS_MS.judge(times_ms)
    return good
