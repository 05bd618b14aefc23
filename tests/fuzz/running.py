"""Run a batch of generated cases over a target, and collect its failures."""

from __future__ import annotations

import logging
import os
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.strategies import SearchStrategy

from companion.core.errors import CompanionError

# Maximum number of failures of a batch that are kept. Later ones rarely show another fault.
MAX_FAILURES = 20
# Maximum number of characters of a case or an error that are printed.
MAX_TEXT = 1500


@dataclass
class Probe:
    """An open target: what generates its cases, and what checks them."""

    cases: SearchStrategy[Any]
    """Generates the cases."""
    check: Callable[[Any], tuple[str, int]]
    """Checks one case, and raises for a fault. Returns a word for how it ended, which is counted,
    and the number of requests or events in it."""
    finish: Callable[[], None] = lambda: None
    """Checks what must hold at the end of a batch."""


@dataclass(frozen=True)
class Target:
    """A part of the program that reads what others send."""

    name: str
    share: float
    """Its share of all cases of a run, from 0 to 1."""
    batch: int
    """Number of cases in one batch."""
    open: Callable[[Path, int], AbstractContextManager[Probe]]
    """Opens it in a folder, with the seed of the batch."""


@dataclass(frozen=True)
class Failure:
    """A fault, and the case that shows it."""

    target: str
    seed: int
    trouble: str
    case: str

    def sentence(self) -> str:
        """Return the failure as a sentence, with the command that reproduces it."""
        command = f"python -m fuzz --only {self.target} --seed {self.seed}"
        return f"{self.target}, seed {self.seed} ({command}): {self.trouble}\n    with {self.case}"


@dataclass
class Result:
    """The result of a batch."""

    target: str
    seed: int
    cases: int = 0
    tally: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


class ErrorCollector(logging.Handler):
    """Collects logged errors. Some inputs fail in the background, where no answer shows it."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, unless it reports a journal that was damaged on purpose."""
        if record.name != "companion.storage.opening":
            self.messages.append(record.getMessage())

    def raise_collected(self) -> None:
        """Raise AssertionError if anything was logged since the last call."""
        messages, self.messages = self.messages, []
        assert not messages, f"logged: {messages[0][:MAX_TEXT]}"


@contextmanager
def watch_log() -> Iterator[ErrorCollector]:
    """Collect errors in the log as faults, and print nothing of the log."""
    errors, root = ErrorCollector(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers, root.level = [errors], logging.ERROR
    try:
        yield errors
    finally:
        root.handlers, root.level = handlers, level


def refusal_result(error: CompanionError) -> tuple[str, int]:
    """Return a refusal as the result of a case. Check that it has a message."""
    assert error.message, "a refusal without a message"
    return error.kind, 1


def place_of(error: BaseException) -> str:
    """Return the type of an error and where it was raised. Equal answers mean the same fault."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in reversed(frames)
        if "/fuzz/" not in frame.filename
    ]
    return f"{type(error).__name__} at {' < '.join(lines[:4]) or str(error)[:200]}"


def run_batch(target: Target, number: int, count: int) -> Result:
    """Open a target, and run `count` cases of the seed `number` over it."""
    result = Result(target.name, number)
    # no power cut is tested here, so the files may lie in memory, which is faster
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(dir=memory, prefix="fuzz-") as folder,
        watch_log() as errors,
        target.open(Path(folder), number) as probe,
    ):
        _generate(probe, result, number, count, errors)
        try:
            probe.finish()
            errors.raise_collected()
        except Exception as error:
            trouble = f"at the end: {place_of(error)}: {error}"
            result.failures.append(Failure(target.name, number, trouble[:MAX_TEXT], "all cases"))
    return result


def _generate(
    probe: Probe, result: Result, number: int, count: int, errors: ErrorCollector
) -> None:
    """Run the cases. Keep one failure of each place, and go on after it."""
    places: set[str] = set()

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(probe.cases)
    def check_case(case: Any) -> None:
        try:
            word, size = probe.check(case)
            errors.raise_collected()
        except Exception as error:
            errors.messages.clear()
            word, size = "FAILED", 1
            place = place_of(error)
            if place not in places and len(places) < MAX_FAILURES:
                places.add(place)
                trouble = f"{place}: {error}"[:MAX_TEXT]
                result.failures.append(
                    Failure(result.target, number, trouble, repr(case)[:MAX_TEXT])
                )
        result.cases += size
        result.tally[word] += 1

    check_case()
