"""The bench of the hub: its parts one after the other, or one of them alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bench.hub import HUB_KILLS, bench_kills
from bench.hub.load import bench_load
from bench.pairs import bench_pairs
from companion.core.errors import Malformed

PARTS: Mapping[str, Callable[[int], bool]] = {
    "load": lambda _: bench_load(),
    "pairs": lambda kills: bench_pairs(2 * kills),
    "kills": bench_kills,
}
"""By their names: what each does with so many kills, and whether every bound is kept; the timed one comes first."""


def bench_hub(kills: int, only: str = "") -> bool:
    """Measure all of it, or the part of this name; answers whether every bound is kept. Raises `Malformed`."""
    if only and only not in PARTS:
        raise Malformed(f"There is no part {only} (there are {', '.join(PARTS)})")
    kills = min(kills, HUB_KILLS)
    good = True
    for name, measure in PARTS.items():
        if only in ("", name):
            good &= measure(kills)
    return good
