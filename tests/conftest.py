"""What every test is held to: no thread, file, camera or pin stays open behind it."""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from gpiozero import Device
from hypothesis import (
    settings,
)  # here: on its first import it looks through all objects, which frozen ones escape
from jinja2 import Environment
from werkzeug.routing import Rule

from companion.diagnostics import probes

collect_ignore_glob = ["**/conftest.py", "conftest.py"]
"""Nothing here is an example: several of one name could not be read as modules of examples."""
# no test times anything but what is about time
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("fixed")  # a red run means a fault of this commit; `make fuzz` searches
GRACE_S = 60.0
"""Seconds in which what a test has closed must be gone, however busy the machine is."""
NOISE = ("/dev/null", "/dev/urandom", "/dev/pts", "/dev/tty", "(deleted)", ".hypothesis", "/memfd:")
IN_MEMORY = "/dev/shm"
ROOM_BYTES = 2_000_000_000
"""Free memory from which on tests keep their files there."""
WEIGHTS = ("long", "slow", "browser")
"""Markers of what takes long or waits much, in the order in which they are begun."""
COMPUTING = "vision"
"""The folder of tests that compute all the time, while those with browsers and services wait."""
SHARED = "COMPANION_TESTS_FOLDER"
"""Names the folder of a run in the environment."""


def is_room_in_memory() -> bool:
    """May tests' files lie in memory? A `TMPDIR` that somebody has chosen stays."""
    return (
        "TMPDIR" not in os.environ
        and os.access(IN_MEMORY, os.W_OK)
        and shutil.disk_usage(IN_MEMORY).free >= ROOM_BYTES
    )


def open_folder(config: pytest.Config) -> None:
    """Begin the folder of this run, in memory where there is enough of it; workers find it in their
    environment.

    In it lies what tests, their services and browsers leave behind, and what services have compiled
    of templates, for the next one. Everything is written and synced as ever; only nobody waits for
    a disk.
    """
    if SHARED in os.environ:
        return
    if is_room_in_memory():
        folder = tempfile.mkdtemp(prefix="companion-", dir=IN_MEMORY)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        os.environ["PYTEST_DEBUG_TEMPROOT"] = (
            IN_MEMORY  # files of tests that fail are kept beyond this run
        )
    else:
        folder = tempfile.mkdtemp(prefix="companion-")
    os.environ[SHARED] = folder
    os.environ.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # to compile everything anew takes each worker fifteen seconds
    sys.dont_write_bytecode = False
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def compile_templates_once() -> None:
    """Have all applications of a process share what Jinja makes of a file of templates: each test
    opens a new one.
    """
    compiled: dict[tuple[str, str | None, str], Any] = {}
    plainly = Environment.compile

    def compile_once(
        self: Environment,
        source: Any,
        name: str | None = None,
        filename: str | None = None,
        **how: Any,
    ) -> Any:
        if filename is None or how or not isinstance(source, str):
            return plainly(self, source, name, filename, **how)
        key = source, name, filename
        if key not in compiled:
            compiled[key] = plainly(self, source, name, filename)
        return compiled[key]

    Environment.compile = compile_once  # type: ignore[method-assign]


def compile_addresses_once() -> None:
    """Have all applications of a process share what Werkzeug makes of an address: else half of what
    each test opens.
    """
    compiled: dict[tuple[str, str | None, bool | None], dict[str, Any]] = {}
    plainly = Rule.compile

    def compile_once(self: Rule) -> None:
        key = self.rule, self.subdomain, self.merge_slashes
        if self.defaults or self.host:
            return plainly(self)
        if key not in compiled:
            before = dict(vars(self))
            plainly(self)
            compiled[key] = {
                name: value for name, value in vars(self).items() if value is not before.get(name)
            }
        vars(self).update(compiled[key])
        return None

    Rule.compile = compile_once  # type: ignore[method-assign] # for tests alone


def draw_tables_once() -> None:
    """Have all rendered cameras of a process share the last pictures of an empty table: many tests
    look at the same.
    """
    table = sys.modules.get("vision.simulation.table")
    if table is None:
        return
    drawn: deque[tuple[tuple[Any, ...], Any]] = deque(maxlen=6)
    plainly = table.build_stage

    def draw_once(*seen: Any) -> Any:
        stage = next((stage for key, stage in tuple(drawn) if key == seen), None)
        if stage is None:
            stage = plainly(*seen)
            drawn.append((seen, stage))
        return stage

    table.build_stage = draw_once  # type: ignore[attr-defined] # a module's own function


def write_numbers_once() -> None:
    """Have ReportLab keep how it writes numbers: that is a third of all printing, and kits have the
    same shapes.
    """
    accel = sys.modules.get("reportlab.lib.rl_accel")
    if accel is None:
        return
    plainly = accel.fp_str
    kept = lru_cache(maxsize=30_000)(plainly)

    def write_once(*numbers: Any) -> Any:
        return plainly(*numbers) if isinstance(numbers[0], (list, tuple)) else kept(*numbers)

    for name, module in list(sys.modules.items()):
        if name.startswith("reportlab.") and getattr(module, "fp_str", None) is plainly:
            module.fp_str = write_once  # type: ignore[attr-defined] # a module's own function


def print_kits_once() -> None:
    """Have all processes of a run share the kits that are printed for rendered cameras: each takes
    seconds.
    """
    printed = sys.modules.get("companion.printing.printed_kit")
    if printed is None:
        return
    plainly = printed.printed_kit

    @lru_cache(maxsize=8)
    def take(path: Path) -> Any:
        return pickle.loads(path.read_bytes())

    def print_once(kit: Any) -> Any:
        name = hashlib.sha256(repr(kit).encode()).hexdigest()
        path = Path(os.environ[SHARED]) / f"kit-{name}"
        if not path.exists():
            own = path.with_suffix(f".{os.getpid()}")
            own.write_bytes(pickle.dumps(plainly(kit)))
            own.rename(path)  # whole at once: others may look for it
        return take(path)

    printed.printed_kit = print_once  # type: ignore[attr-defined] # a module's own function


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
    open_folder(config)
    begin_apart(config)
    compile_templates_once()
    compile_addresses_once()
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
    draw_tables_once()
    print_kits_once()
    write_numbers_once()
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
