"""What every test is held to: no thread, file, camera or pin stays open behind it."""

from __future__ import annotations

import gc
import os
import stat
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from gpiozero import Device
from hypothesis import settings  # here: on its first import it looks through all objects, which frozen ones escape

settings.register_profile("untimed", deadline=None)  # no test times anything but what is about time
settings.load_profile("untimed")
GRACE_S = 5.0
NOISE = ("/dev/null", "/dev/urandom", "/dev/pts", "/dev/tty", "(deleted)", ".hypothesis", "/memfd:")


def open_files() -> set[str]:
    """Regular files and devices that this process holds open; sockets and pipes come and go by themselves."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{number}"
        try:
            kind, target = os.stat(path).st_mode, os.readlink(path)
        except OSError:
            continue
        if (stat.S_ISREG(kind) or stat.S_ISCHR(kind)) and not any(word in target for word in NOISE):
            found.add(target)
    return found


def open_count() -> int:
    """How many files, sockets and pipes this process holds open."""
    return len(os.listdir("/proc/self/fd"))


def open_pins() -> set[int]:
    """Identities of gpiozero's devices that nobody has closed; looking for them takes a while."""
    return {id(each) for each in gc.get_objects() if isinstance(each, Device) and not each.closed}


def pytest_collection_finish() -> None:
    """Leave modules and test functions out of every later garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, an open file, a device or (in the panel's tests) a pin behind."""
    about_pins = request.module is not None and request.module.__name__.startswith("test_panel")
    threads, files, count = set(threading.enumerate()), open_files(), open_count()
    pins = open_pins() if about_pins else set()
    yield
    assert not about_pins or open_pins() <= pins, "a gpiozero device is still open"
    for thread in set(threading.enumerate()) - threads:
        thread.join(GRACE_S)
    left = {thread.name for thread in threading.enumerate() if thread not in threads}
    assert not left, f"threads still run: {', '.join(sorted(left))}"
    if open_count() > count:
        gc.collect()  # what a test leaves to the collector would else close its files in the middle of another test
    kept = open_files() - files
    assert not kept, f"still open: {', '.join(sorted(kept))}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what was not tested, and why."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.getreports("skipped"))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
