"""Ends what a run of the tests has begun when the run itself is gone, however it ended: also after
a SIGKILL.

`python tests/reaper.py` reads process ids, one a line. When its standard input ends, so has the
run. Then it kills each of these processes, with all that they have begun.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

DRIVER = "chromedriver"
_RUNNING: list[subprocess.Popen[str]] = []


def watch(pid: int) -> None:
    """Have a process killed when this one ends. The reaper begins with the first."""
    if not _RUNNING:
        command = [sys.executable, __file__]
        # A session of its own: Ctrl-C is for the tests alone.
        _RUNNING.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)
        )
    pipe = _RUNNING[0].stdin
    assert pipe is not None
    pipe.write(f"{pid}\n")
    pipe.flush()


def stop() -> None:
    """End the reaper, and with it whatever it still watches."""
    while _RUNNING:
        reaper = _RUNNING.pop()
        if reaper.stdin:
            reaper.stdin.close()
        reaper.wait()


def family(pid: int) -> Iterator[int]:
    """Yield a process and all that it has begun, the youngest first."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                yield from family(int(child))
    yield pid


def is_driver(pid: int) -> bool:
    """Tell whether the process is still a browser's driver: its number may be somebody else's by
    now.
    """
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == DRIVER
    except OSError:
        return False


def main() -> None:
    """Wait until the run has ended, then kill."""
    watched = [int(line) for line in sys.stdin]
    for pid in filter(is_driver, watched):
        for each in list(family(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)


if __name__ == "__main__":
    main()
