"""Helpers: limit processes to a share of one core by the kernel's control groups (v1 or v2)."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from companion.core.ports import Closeable

# Period in which the group may use its quota.
PERIOD_US = 5_000
# The smallest quota that the kernel takes (`min_bw_quota_period_us` in `kernel/sched/core.c`).
# For less, the period is made longer.
MIN_QUOTA_US = 1_000
_TRIES = 50


class NoQuota(Exception):
    """This machine lets us set no quota. The message says why."""


class CpuQuota(Closeable):
    """A control group whose processes together get `share` of one core.

    It is a context manager. `close` may be called twice, and kills the processes that are still in
    the group. Raises `NoQuota`.
    """

    def __init__(self, share: float) -> None:
        self.period_us = max(PERIOD_US, round(MIN_QUOTA_US / share))
        self._quota_us = round(share * self.period_us)
        self._folder = _parent() / f"companion-bench-{os.getpid()}"
        try:
            self._folder.mkdir()
            self._limit()
        except OSError as error:
            self.close()
            raise NoQuota(
                f"no quota of processor time can be set here ({error}): run it as root"
            ) from None

    def _limit(self) -> None:
        """Set the quota, and a high weight, so that other processes do not take from the quota."""
        if (self._folder / "cpu.max").exists():
            self._write("cpu.max", f"{self._quota_us} {self.period_us}")
            self._write("cpu.weight", "10000")
            return
        self._write("cpu.shares", "262144")
        self._write("cpu.cfs_period_us", str(self.period_us))
        self._write("cpu.cfs_quota_us", str(self._quota_us))

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="ascii")

    def holding(self, command: Sequence[str]) -> list[str]:
        """Return a command that joins the group and then becomes the given command."""
        return [
            "/bin/sh",
            "-c",
            'echo $$ >"$0" && exec "$@"',
            str(self._folder / "cgroup.procs"),
            *command,
        ]

    def close(self) -> None:
        """Kill all processes of the group, and remove it."""
        for _ in range(_TRIES):
            if not self._folder.exists():
                return
            with contextlib.suppress(OSError):
                for process in (self._folder / "cgroup.procs").read_text(encoding="ascii").split():
                    os.kill(int(process), 9)
                self._folder.rmdir()
            time.sleep(0.02)


def _parent() -> Path:
    """Return the folder in which groups with a share of the processor can be made."""
    root = Path("/sys/fs/cgroup")
    if (root / "cpu/cpu.cfs_quota_us").exists() or (root / "cpu/cgroup.procs").exists():
        return root / "cpu"
    with contextlib.suppress(OSError):
        (root / "cgroup.subtree_control").write_text("+cpu", encoding="ascii")
    return root
