"""An opponent's process gives way to its table: it comes last for the processor, and first when memory runs out."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

NICENESS = 10
SLICE_NS = 100_000_000
"""Slice of an opponent (the kernel's own maximum): whoever wakes up and asks for less goes
first, at once (Linux 6.12 and newer, "PREEMPT_SHORT"), so that no lamp waits for the end of its slice."""
LETS_IN_S, ASIDE_S = 0.0005, 0.00005
"""Interval at which a computing opponent lets others in, and how long it sleeps. Who has just had more than a fair
share of the processor does not go first when it wakes up: without this it waits for the kernel's next tick, for
instance 4 ms. `sched_yield` would cost it a whole slice (seen on Linux 6.18): beside a busy program it hardly ran."""
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""The kernel's number of that call where programs have 64 bits. Python has no function for it."""
MAX_TASKS = 1000
"""Maximum number of the user's processes and threads before an opponent can begin no more: fewer than the
service may have (`TasksMax`), so that the table always gets its own."""
_FIRST_TO_GO = 800
"""Of 1,000: how gladly the kernel ends a process when memory runs out."""


def give_way(pid: int, memory_bytes: int) -> None:
    """Lower a process's priority and bound its memory and children.

    What the system refuses is left as it is.

    :param pid: of this user's. Its later children and threads take it over
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
            attributes = struct.pack("=IIQiIQQQ", 48, 0, 0, nice, 0, SLICE_NS, 0, 0)
            ctypes.CDLL(None).syscall(call, pid, attributes, 0)
    for limit, most in ((resource.RLIMIT_DATA, memory_bytes), (resource.RLIMIT_NPROC, MAX_TASKS)):
        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, limit, (most, most))


@contextlib.contextmanager
def letting_in() -> Iterator[None]:
    """Let this process step aside for a moment again and again.

    Only in a program's main thread.

    The signal's handler stays: one that comes late, without it, would end the process.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    is_over = False

    def let_in(*_: object) -> None:
        time.sleep(ASIDE_S)
        if not is_over:
            signal.setitimer(signal.ITIMER_REAL, LETS_IN_S)

    signal.signal(signal.SIGALRM, let_in)
    signal.setitimer(signal.ITIMER_REAL, LETS_IN_S)
    try:
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
