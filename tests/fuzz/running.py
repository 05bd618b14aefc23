"""Targets, and a run of a batch of generated cases over one of them. What fails is kept."""

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

# Most failures of a batch that are kept. They rarely differ.
MAX_FAILURES = 20
# Most characters of a case, or of an error, that are printed.
MAX_TEXT = 1500


@dataclass
class Probe:
    """An open target."""

    cases: SearchStrategy[Any]
    """Generates the cases."""
    check: Callable[[Any], tuple[str, int]]
    """Does one case, and raises for a fault. Returns a word to be counted, and how many requests or
    events the case had."""
    finish: Callable[[], None] = lambda: None
    """Checks what must hold at the end."""


@dataclass(frozen=True)
class Target:
    """A part of the program that reads what others send."""

    name: str
    share: float
    """Share of all cases that it gets."""
    batch: int
    """Number of cases in one batch."""
    open: Callable[[Path, int], AbstractContextManager[Probe]]


@dataclass(frozen=True)
class Failure:
    """What went wrong, with which case."""

    target: str
    seed: int
    trouble: str
    case: str

    def sentence(self) -> str:
        """Return the failure for people, with the command that shows it again."""
        again = f"python -m fuzz --only {self.target} --seed {self.seed}"
        return f"{self.target}, seed {self.seed} ({again}): {self.trouble}\n    with {self.case}"


@dataclass
class Result:
    """What a batch came to."""

    target: str
    seed: int
    cases: int = 0
    tally: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


class ErrorCollector(logging.Handler):
    """Collects logged errors: an input may fail where nobody waits for its answer."""

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
    """Return a refusal as the result of a case. It must say something."""
    assert error.message, "a refusal without a word"
    return error.kind, 1


def place_of(error: BaseException) -> str:
    """Return what an error is and where it was raised. Equal answers mean one fault."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/fuzz/" not in f.filename]
    where = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames[-4:]))
    return f"{type(error).__name__} at {where or str(error)[:200]}"


def run_batch(target: Target, number: int, count: int) -> Result:
    """Open a target, and run so many examples of a seed over it."""
    result = Result(target.name, number)
    # power cuts are not tested here: nothing has to be on a disk
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
            result.failures.append(Failure(target.name, number, trouble[:MAX_TEXT], "all of it"))
    return result


def _generate(
    probe: Probe, result: Result, number: int, count: int, errors: ErrorCollector
) -> None:
    """Run the examples. A failure is kept, and the others go on."""
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
