"""Helpers: limit processes to a share of one core by the kernel's control groups (v1 or v2).

In each period of some milliseconds the kernel lets the group run for its quota of time, and then
holds all of its threads until the next period.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from companion.core.ports import Closeable

# Period in which the group may use its quota. Short, so that a held thread waits for a few
# milliseconds only.
PERIOD_US = 5_000
# The smallest quota that the kernel accepts (`min_bw_quota_period_us` in `kernel/sched/core.c`).
# For a share that would need less, the period is made longer.
MIN_QUOTA_US = 1_000
# Number of attempts to remove a group, and the pause in seconds after each: its killed processes
# need some time to end.
_REMOVALS = 50
_REMOVAL_PAUSE_S = 0.02


class NoQuota(Exception):
    """No quota of processor time can be set on this machine. The message says why."""


class CpuQuota(Closeable):
    """A control group whose processes together get `share` of one core.

    It is a context manager. Its `close` kills the processes that are still in the group, and may be
    called twice. Raises `NoQuota` if the group cannot be made.
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

    def limited(self, command: Sequence[str]) -> list[str]:
        """Return a command that joins the group and then becomes the given command.

        The shell gets the group's file as `$0` and the command as `$@`.
        """
        return [
            "/bin/sh",
            "-c",
            'echo $$ >"$0" && exec "$@"',
            str(self._folder / "cgroup.procs"),
            *command,
        ]

    def close(self) -> None:
        """Kill all processes of the group, and remove it."""
        for _ in range(_REMOVALS):
            if not self._folder.exists():
                return
            with contextlib.suppress(OSError):
                for process in (self._folder / "cgroup.procs").read_text(encoding="ascii").split():
                    os.kill(int(process), 9)
                self._folder.rmdir()
            time.sleep(_REMOVAL_PAUSE_S)


def _parent() -> Path:
    """Return the folder of the control groups that limit processor time.

    With version 1 of control groups, that is the folder of the controller `cpu`. With version 2,
    it is the root folder, where the controller `cpu` has to be switched on for new groups.
    """
    root = Path("/sys/fs/cgroup")
    if (root / "cpu/cpu.cfs_quota_us").exists() or (root / "cpu/cgroup.procs").exists():
        return root / "cpu"
    with contextlib.suppress(OSError):
        (root / "cgroup.subtree_control").write_text("+cpu", encoding="ascii")
    return root
