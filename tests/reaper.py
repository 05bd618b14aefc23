"""Kill the browsers of a test run once the run has ended, even if it was ended by SIGKILL.

A run that is killed cannot close its browsers, so a second process does: the reaper. It reads the
process ids of the browsers' drivers from its standard input, one per line. The input ends when the
run ends, however that happens. Then the reaper kills each driver with all its descendants.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Name of the processes that may be killed.
DRIVER = "chromedriver"
# The reaper of this run, or nothing before the first browser.
_RUNNING: list[subprocess.Popen[str]] = []


def watch(pid: int) -> None:
    """Let the reaper kill a driver when this process ends. The first call starts the reaper."""
    if not _RUNNING:
        command = [sys.executable, __file__]
        # a session of its own, so that Ctrl-C does not end the reaper
        _RUNNING.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)
        )
    pipe = _RUNNING[0].stdin
    assert pipe is not None
    pipe.write(f"{pid}\n")
    pipe.flush()


def stop() -> None:
    """End the reaper, which kills whatever it still watches."""
    while _RUNNING:
        reaper = _RUNNING.pop()
        if reaper.stdin:
            reaper.stdin.close()
        reaper.wait()


def process_tree(pid: int) -> Iterator[int]:
    """Yield all descendants of a process, children before their parents, and then the process."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                yield from process_tree(int(child))
    yield pid


def is_driver(pid: int) -> bool:
    """Return whether this process is a browser's driver.

    The driver may have ended, and its id may belong to another process by now.
    """
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == DRIVER
    except OSError:
        return False


def main() -> None:
    """Wait until the run has ended, then kill the drivers that still run."""
    watched = [int(line) for line in sys.stdin]
    for pid in filter(is_driver, watched):
        for member in list(process_tree(pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)


if __name__ == "__main__":
    main()
