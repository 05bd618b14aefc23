"""Hooks and fixtures of all tests.

Hooks choose the order in which the files of tests run, so that workers seldom wait. A fixture fails
each test that leaves a thread, a file, a camera or a pin open.
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

# The doctest plugin must not collect these files: it cannot import several modules of one name, and
# none of them has an example.
collect_ignore_glob = ["**/conftest.py", "conftest.py"]
# Examples of hypothesis have no deadline, because only tests about time measure time. They are the
# same in every run, so that a run that fails means a fault of its commit. `make fuzz` searches with
# random examples. Hypothesis is imported here, before `pytest_collection_finish` freezes all
# objects, because its import searches all of them.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("fixed")
# Timeout in seconds for the end of everything that a test has closed, on a very busy machine.
CLOSING_TIMEOUT_S = 60.0
# Parts of the paths of files that may stay open: devices, deleted files and files in memory, which
# libraries keep, and the examples of hypothesis.
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
# Folders of tests that only compute, or write a file and close it at once. They can leave nothing
# open, and looking for that would take much of their time.
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

    So most files are compiled by one worker only, and the others find them compiled.
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
    # the same files and folders, but beginning at another one
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
    for descriptor in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{descriptor}"
        try:
            kind = os.stat(path).st_mode
            target = os.readlink(path)
        except OSError:  # another thread has just closed it
            continue
        is_file_or_device = stat.S_ISREG(kind) or stat.S_ISCHR(kind)
        may_stay_open = any(part in target for part in PATHS_THAT_MAY_STAY_OPEN)
        if is_file_or_device and not may_stay_open:
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
    """Sort the tests by their files, so that the workers are busy until the end.

    1. Files with a test marked `long` come first, so that none is left for the end.
    2. Files with a test marked `slow` or `browser`, which mostly wait, alternate with files that
       compute. So some workers compute while others wait.
    3. All other files come last.
    """
    items.sort(key=lambda item: item.path)  # the same for all workers, wherever they have begun
    # index in HEAVY_MARKS of each file's heaviest mark, or their number if it has none
    heaviest: dict[Path, int] = {}
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
    """Exclude modules and test functions from garbage collection, and collect less often.

    They live until the end of the run, so searching them again and again would only take time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, a file or a device open.

    Pins are looked for only in tests of panels, because `open_pins` searches all objects.
    """
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
        # The garbage collector may have to close something. Let it do so now, because in the middle
        # of another test it would look like a fault of that test.
        gc.collect()
    deadline_s = time.monotonic() + CLOSING_TIMEOUT_S
    while (still_open := open_files() - files) and time.monotonic() < deadline_s:
        time.sleep(0.01)  # a service of several tests may have a file open for a moment
    assert not still_open, f"still open: {', '.join(sorted(still_open))}"


@pytest.fixture(autouse=True)
def allow_games_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only made-up machines warn that games are kept in memory, and lost without power.

    Tests keep their own games below /tmp, which is in memory on many machines. Without this
    fixture, the warning would depend on the machine that runs the tests.
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
