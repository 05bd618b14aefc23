"""Orders to all pages that follow a table: a few screens, and as many as a table takes."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.bars import PHONE_TO_SCREENS_MS
from bench.processes import LOCAL, memory_mb, running_service
from bench.visitors import Viewers, first_orders, order
from companion.core.kit import SEATS
from companion.tools.selfplay import Phone

VIEWERS = (3, 64)
EVENTS = 30
SPACING_S = 0.25


def bench_streams() -> bool:
    """Measure and print it all, and return whether every bar is kept."""
    is_kept = True
    for viewers in VIEWERS:
        is_kept &= _bench_table(viewers)
    return is_kept


def _bench_table(viewers: int) -> bool:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = f'{LOCAL}viewers = {max(VIEWERS)}\n[camera]\nsource = "none"\n'
        service = stack.enter_context(running_service(folder, settings))
        phones = [Phone(f"http://127.0.0.1:{service.port}", seat) for seat in SEATS]
        moment = first_orders(phones)
        pages = stack.enter_context(Viewers(service.port, ["/live/watch"] * viewers))
        times_ms = []
        for number in range(EVENTS):
            time.sleep(SPACING_S)
            began_s = time.monotonic()
            order(phones[1], moment, number)
            times_ms.append((pages.last_since(began_s) - began_s) * 1000)
        print(f"    {viewers} viewers, {memory_mb(service.pid):.0f} MB", flush=True)
    return PHONE_TO_SCREENS_MS.judge(times_ms)
