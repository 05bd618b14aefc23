"""Hooks and fixtures of all tests.

Hooks choose the order in which files of tests run. A fixture fails each test that leaves a thread,
file, camera or pin open.
"""

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
from hypothesis import settings
from run_folder import make_run_folder

from companion.diagnostics import probes

# None of these files has examples, and the doctest plugin cannot import several modules of one
# name.
collect_ignore_glob = ["**/conftest.py", "conftest.py"]
# Examples of hypothesis have no deadline, because only tests about time measure time. They are the
# same in every run, so that a run that fails means a fault of its commit. `make fuzz` searches with
# random examples. Importing hypothesis searches all objects, so it has to come before
# `pytest_collection_finish` freezes them.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("fixed")
# Timeout in seconds for the end of everything that a test has closed, on a very busy machine.
CLOSING_TIMEOUT_S = 60.0
# Parts of the paths of files that may stay open.
PATHS_THAT_MAY_STAY_OPEN = (
    "/dev/null",
    "/dev/urandom",
    "/dev/pts",
    "/dev/tty",
    "(deleted)",
    ".hypothesis",
    "/memfd:",
)
# Marks of tests that take long or wait much, in the order in which they run.
HEAVY_MARKS = ("long", "slow", "browser")
# Folders of tests that only compute, or write a file and close it at once. They can leak nothing.
FOLDERS_WITHOUT_LEAKS = {
    Path(__file__).with_name(name) for name in ("archive", "core", "games", "printing")
}
# The folder of tests that compute all the time. Tests with browsers and services mostly wait.
COMPUTING_FOLDER = "vision"


class DoctestFilter:
    """Plugin that collects doctests only from files with a prompt.

    Importing all other files only to search them would take each worker seconds.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[Any], list[Any]]:
        collectors = yield
        has_prompt = file_path.suffix != ".py" or b">>> " in file_path.read_bytes()
        return [node for node in collectors if has_prompt or not isinstance(node, DoctestModule)]


def stagger_imports(config: pytest.Config) -> None:
    """Let each worker of a run of all tests begin its imports at another folder.

    So each file is compiled by one worker, and the others find it compiled.
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
    stagger_imports(config)
    config.pluginmanager.register(DoctestFilter())


def pytest_sessionfinish() -> None:
    if service := sys.modules.get("service"):
        service.close_browsers()


def open_files() -> set[str]:
    """Return the paths of the files and devices that this process has open.

    Those of `PATHS_THAT_MAY_STAY_OPEN` are left out, and so are sockets and pipes, which libraries
    open and close at any time.
    """
    paths = set()
    for number in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{number}"
        try:
            kind = os.stat(path).st_mode
            target = os.readlink(path)
        except OSError:
            continue
        if (stat.S_ISREG(kind) or stat.S_ISCHR(kind)) and not any(
            part in target for part in PATHS_THAT_MAY_STAY_OPEN
        ):
            paths.add(target)
    return paths


def open_count() -> int:
    """Return the number of files, sockets and pipes that this process has open."""
    return len(os.listdir("/proc/self/fd"))


def open_pins() -> set[int]:
    """Return the ids of gpiozero's devices that are not closed. This searches all objects."""
    return {id(item) for item in gc.get_objects() if isinstance(item, Device) and not item.closed}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files with tests marked `long` first. Then alternate between files marked `slow` or
    `browser` and files that compute. Run the light files last.

    So no worker is left with a long file at the end, and the workers never all wait at once.
    """
    items.sort(key=lambda item: item.path)  # the same for all workers, wherever they have begun
    heaviest: dict[Path, int] = {}  # index in HEAVY_MARKS of each file's heaviest mark
    for item in items:
        weight = next(
            (index for index, mark in enumerate(HEAVY_MARKS) if item.get_closest_marker(mark)),
            len(HEAVY_MARKS),
        )
        heaviest[item.path] = min(weight, heaviest.get(item.path, weight))
    heavy = sorted(
        (path for path, weight in heaviest.items() if 0 < weight < len(HEAVY_MARKS)),
        key=heaviest.__getitem__,
    )
    light = [path for path, weight in heaviest.items() if weight == len(HEAVY_MARKS)]
    computing = [path for path in light if COMPUTING_FOLDER in path.parts]
    # long files have rank 0, the two kinds that alternate share 0 to 1, other light files have 2
    ranks = {path: (index + 1) / len(heavy) for index, path in enumerate(heavy)}
    ranks |= {path: (index + 1) / len(computing) for index, path in enumerate(computing)}
    ranks |= {path: 2.0 for path in light if path not in ranks}
    items.sort(key=lambda item: ranks.get(item.path, 0.0))


def pytest_collection_finish() -> None:
    """Exclude modules and test functions from garbage collection, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, an open file or a device, or a pin in tests of panels."""
    if FOLDERS_WITHOUT_LEAKS.intersection(request.path.parents):
        yield
        return
    checks_pins = request.module is not None and request.module.__name__.startswith("test_panel")
    threads = set(threading.enumerate())
    files = open_files()
    count = open_count()
    pins = open_pins() if checks_pins else set()
    factory = Device.pin_factory
    yield
    assert not checks_pins or open_pins() <= pins, "a gpiozero device is still open"
    assert Device.pin_factory is factory, "gpiozero's global pin factory was changed"
    for thread in set(threading.enumerate()) - threads:
        thread.join(CLOSING_TIMEOUT_S)
    leaked = {thread.name for thread in threading.enumerate() if thread not in threads}
    assert not leaked, f"threads still run: {', '.join(sorted(leaked))}"
    if open_count() > count:
        # close what only the collector can close now, and not in the middle of another test
        gc.collect()
    end_s = time.monotonic() + CLOSING_TIMEOUT_S
    while (still_open := open_files() - files) and time.monotonic() < end_s:
        time.sleep(0.01)  # a service of several tests may have a file open for a moment
    assert not still_open, f"still open: {', '.join(sorted(still_open))}"


@pytest.fixture(autouse=True)
def allow_games_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only made-up machines warn of games that are kept in memory.

    Tests keep their own games below /tmp, which is in memory on many machines.
    """
    original = probes.is_lost_at_power_off

    def is_lost_on_made_up_machine(machine: probes.Machine, folder: Path) -> bool:
        return machine.root != Path("/") and original(machine, folder)

    monkeypatch.setattr(probes, "is_lost_at_power_off", is_lost_on_made_up_machine)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of skipped tests for each reason."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.getreports("skipped"))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
