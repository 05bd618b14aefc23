"""An opponent's process gives way to its table: it comes last for the processor, and first when memory runs out."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
import sys
from pathlib import Path

NICENESS = 10
SLICE_NS = 100_000_000
"""So long an opponent would compute at a time (the kernel's own maximum): whoever wakes up and asks for less goes
first, at once (Linux 6.12 and newer, "PREEMPT_SHORT"), so that no lamp waits for the end of its slice."""
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""The kernel's number of that call where programs have 64 bits; Python has no function for it."""
_FIRST_TO_GO = 800
"""Of 1,000: how gladly the kernel ends a process when memory runs out."""


def give_way(pid: int, memory_bytes: int) -> None:
    """Lower a process's priority and bound its private memory; what the system refuses is left as it is.

    :param pid: of this user's; its later children and threads take it over
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, max(NICENESS, os.getpriority(os.PRIO_PROCESS, pid)))
    # A session of its own may be a group of its own, outside of which niceness is nothing.
    for name, value in (("autogroup", NICENESS), ("oom_score_adj", _FIRST_TO_GO)):
        with contextlib.suppress(OSError):
            Path(f"/proc/{pid}/{name}").write_text(str(value))
    call = _SCHED_SETATTR.get(os.uname().machine)
    if call and sys.maxsize > 1 << 32:
        with contextlib.suppress(OSError):
            nice = os.getpriority(os.PRIO_PROCESS, pid)
            # size, SCHED_OTHER, flags, nice, priority, slice, deadline, period
            wanted = struct.pack("=IIQiIQQQ", 48, 0, 0, nice, 0, SLICE_NS, 0, 0)
            ctypes.CDLL(None).syscall(call, pid, wanted, 0)
    with contextlib.suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
