"""Hooks and fixtures of all tests: the order in which they run, and a check that none of those that
hold something leaves a thread, file, camera or pin open.
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
# Examples have no deadline: only tests about time measure time. They are the same in every run, so
# that a red run means a fault of its commit. `make fuzz` searches with random ones. Importing
# hypothesis looks through all objects, so this has to come before `pytest_collection_finish`
# freezes them.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("fixed")
# Seconds until everything that a test has closed must be gone, however busy the machine is.
GRACE_S = 60.0
# Parts of the paths of open files that are no leaks.
NOISE = ("/dev/null", "/dev/urandom", "/dev/pts", "/dev/tty", "(deleted)", ".hypothesis", "/memfd:")
# Marks of tests that take long or wait much, in the order in which they begin.
WEIGHTS = ("long", "slow", "browser")
# Folders of tests that only compute and write files at once: they hold nothing that could leak.
HOLDING_NOTHING = {
    Path(__file__).with_name(name) for name in ("archive", "core", "games", "printing")
}
# The folder of tests that compute all the time, while those with browsers and services wait.
COMPUTING = "vision"


class DoctestFilter:
    """Plugin that collects doctests only from files with a prompt. Looking through all other files
    takes each worker seconds.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[Any], list[Any]]:
        collectors = yield
        has_prompt = file_path.suffix != ".py" or b">>> " in file_path.read_bytes()
        return [node for node in collectors if has_prompt or not isinstance(node, DoctestModule)]


def stagger_imports(config: pytest.Config) -> None:
    """Let each worker of a whole run begin its imports at another folder, so that each file is
    compiled once and not by every worker.
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
    """Return the regular files and devices that this process has open, without `NOISE`. Sockets
    and pipes are left out: they come and go by themselves.
    """
    paths = set()
    for number in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{number}"
        try:
            kind, target = os.stat(path).st_mode, os.readlink(path)
        except OSError:
            continue
        if (stat.S_ISREG(kind) or stat.S_ISCHR(kind)) and not any(word in target for word in NOISE):
            paths.add(target)
    return paths


def open_count() -> int:
    """Return the number of files, sockets and pipes that this process has open."""
    return len(os.listdir("/proc/self/fd"))


def open_pins() -> set[int]:
    """Return the ids of gpiozero's devices that nobody has closed. The search takes a while."""
    return {id(item) for item in gc.get_objects() if isinstance(item, Device) and not item.closed}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run files with tests marked `long` first. Then alternate between files marked `slow` or
    `browser` and files that compute. Run the light files last.

    So no worker is left with a long file at the end, and the workers never all wait at once.
    """
    items.sort(key=lambda item: item.path)  # the same for all workers, wherever they have begun
    heaviest: dict[Path, int] = {}  # index in WEIGHTS of each file's heaviest mark
    for item in items:
        weight = next(
            (index for index, mark in enumerate(WEIGHTS) if item.get_closest_marker(mark)),
            len(WEIGHTS),
        )
        heaviest[item.path] = min(weight, heaviest.get(item.path, weight))
    heavy = sorted(
        (path for path, weight in heaviest.items() if 0 < weight < len(WEIGHTS)),
        key=heaviest.__getitem__,
    )
    light = [path for path, weight in heaviest.items() if weight == len(WEIGHTS)]
    computing = [path for path in light if COMPUTING in path.parts]
    # 0 for long files, above 0 to 1 for both kinds that alternate, 2 for the other light ones
    ranks = {path: (index + 1) / len(heavy) for index, path in enumerate(heavy)}
    ranks |= {path: (index + 1) / len(computing) for index, path in enumerate(computing)}
    ranks |= {path: 2.0 for path in light if path not in ranks}
    items.sort(key=lambda item: ranks.get(item.path, 0.0))


def pytest_collection_finish() -> None:
    """Exclude modules and test functions from all later garbage collections, and collect less
    often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a thread, an open file, a device or (in the panel's tests) a pin
    behind.
    """
    if HOLDING_NOTHING.intersection(request.path.parents):
        yield
        return
    checks_pins = request.module is not None and request.module.__name__.startswith("test_panel")
    threads, files, count = set(threading.enumerate()), open_files(), open_count()
    pins, factory = open_pins() if checks_pins else set(), Device.pin_factory
    yield
    assert not checks_pins or open_pins() <= pins, "a gpiozero device is still open"
    assert Device.pin_factory is factory, "the panel must leave gpiozero's global pins alone"
    for thread in set(threading.enumerate()) - threads:
        thread.join(GRACE_S)
    leaked = {thread.name for thread in threading.enumerate() if thread not in threads}
    assert not leaked, f"threads still run: {', '.join(sorted(leaked))}"
    if open_count() > count:
        # otherwise the collector would close this test's files in the middle of another test
        gc.collect()
    end_s = time.monotonic() + GRACE_S
    while (still_open := open_files() - files) and time.monotonic() < end_s:
        time.sleep(0.01)  # a service that outlives the test may have one open for a moment
    assert not still_open, f"still open: {', '.join(sorted(still_open))}"


@pytest.fixture(autouse=True)
def allow_games_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warn of games in memory on made-up machines only. Tests keep their own games below /tmp,
    which is memory on many machines.
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
