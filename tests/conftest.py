"""What every test is held to: no thread, file, camera or pin stays open behind it."""

from __future__ import annotations

import gc
import os
import stat
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from gpiozero import Device
from hypothesis import (
    settings,
)  # here: on its first import it looks through all objects, which frozen ones escape
from run_folder import make_run_folder

from companion.diagnostics import probes

# None of these files has examples, and the doctest plugin cannot import several modules of one
# name.
collect_ignore_glob = ["**/conftest.py", "conftest.py"]
# no test times anything but what is about time
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("fixed")  # a red run means a fault of this commit; `make fuzz` searches
# Seconds until everything that a test has closed must be gone, however busy the machine is.
GRACE_S = 60.0
NOISE = ("/dev/null", "/dev/urandom", "/dev/pts", "/dev/tty", "(deleted)", ".hypothesis", "/memfd:")
# Marks of tests that take long or wait much, in the order in which they begin.
WEIGHTS = ("long", "slow", "browser")
# The folder of tests that compute all the time, while those with browsers and services wait.
COMPUTING = "vision"


class ExamplesWhereSomeAre:
    """Looks for examples only in files with a prompt: to go through all that others contain takes
    each worker seconds.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[Any], list[Any]]:
        found = yield
        has_prompt = file_path.suffix != ".py" or b">>> " in file_path.read_bytes()
        return [each for each in found if has_prompt or not isinstance(each, DoctestModule)]


def begin_apart(config: pytest.Config) -> None:
    """Have each worker of a whole run begin to import at another folder: all files are compiled
    once, not by everyone.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or config.args != config.getini("testpaths"):
        return
    tests, *others = config.args
    paths = sorted(Path(tests).iterdir())
    parts = [
        str(path) for path in paths if path.match("test_*.py") or any(path.glob("**/test_*.py"))
    ]
    first = (
        len(parts) * int(worker.removeprefix("gw")) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    )
    config.args = [*parts[first:], *parts[:first], *others]


def pytest_configure(config: pytest.Config) -> None:
    make_run_folder(config)
    begin_apart(config)
    config.pluginmanager.register(ExamplesWhereSomeAre())


def pytest_sessionfinish() -> None:
    if service := sys.modules.get("service"):
        service.close_browsers()


def open_files() -> set[str]:
    """Regular files and devices that this process holds open; sockets and pipes come and go by
    themselves.
    """
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin the longest first, then in turn what takes long or waits for a browser and what
    computes; the light ones last.

    So no worker has a long file before it when the others are through, and never do all of them
    wait at once.
    """
    items.sort(key=lambda item: item.path)  # the same for all workers, wherever they have begun
    heaviest: dict[Path, int] = {}
    for item in items:
        weight = next(
            (place for place, mark in enumerate(WEIGHTS) if item.get_closest_marker(mark)),
            len(WEIGHTS),
        )
        heaviest[item.path] = min(weight, heaviest.get(item.path, weight))
    heavy = sorted(
        (path for path, weight in heaviest.items() if 0 < weight < len(WEIGHTS)),
        key=heaviest.__getitem__,
    )
    light = [path for path, weight in heaviest.items() if weight == len(WEIGHTS)]
    computing = [path for path in light if COMPUTING in path.parts]
    begun = {path: (place + 1) / len(heavy) for place, path in enumerate(heavy)}
    begun |= {path: (place + 1) / len(computing) for place, path in enumerate(computing)}
    begun |= {path: 2.0 for path in light if path not in begun}
    items.sort(key=lambda item: begun.get(item.path, 0.0))


def pytest_collection_finish() -> None:
    """Leave modules and test functions out of every later garbage collection, and collect more
    rarely.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, an open file, a device or (in the panel's tests) a pin
    behind.
    """
    about_pins = request.module is not None and request.module.__name__.startswith("test_panel")
    threads, files, count = set(threading.enumerate()), open_files(), open_count()
    pins, factory = open_pins() if about_pins else set(), Device.pin_factory
    yield
    assert not about_pins or open_pins() <= pins, "a gpiozero device is still open"
    assert Device.pin_factory is factory, "the panel must leave gpiozero's global pins alone"
    for thread in set(threading.enumerate()) - threads:
        thread.join(GRACE_S)
    left = {thread.name for thread in threading.enumerate() if thread not in threads}
    assert not left, f"threads still run: {', '.join(sorted(left))}"
    if open_count() > count:
        # what a test leaves to the collector would else close its files in the middle of another
        # test
        gc.collect()
    end_s = time.monotonic() + GRACE_S
    while (kept := open_files() - files) and time.monotonic() < end_s:
        time.sleep(0.01)  # a service that outlives the test may have one open for a moment
    assert not kept, f"still open: {', '.join(sorted(kept))}"


@pytest.fixture(autouse=True)
def games_may_be_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests keep their games below /tmp, which is memory on many machines: only made-up machines
    are told of it.
    """
    true = probes.is_lost_at_power_off

    def of_made_up_machines(machine: probes.Machine, folder: Path) -> bool:
        return machine.root != Path("/") and true(machine, folder)

    monkeypatch.setattr(probes, "is_lost_at_power_off", of_made_up_machines)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what was not tested, and why."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.getreports("skipped"))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
