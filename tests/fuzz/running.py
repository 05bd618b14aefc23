"""Run a batch of generated cases over a target, and collect its failures.

A *target* is a part of the program that reads what others send. For each *batch* of cases it is
opened anew, as a *probe*: that generates cases (by hypothesis) and checks each of them. A failed
case does not end the batch.
"""

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
# Maximum number of characters that are printed of a case or an error.
MAX_TEXT_LENGTH = 1500


@dataclass
class Probe:
    """An open target, with what generates its cases and what checks them."""

    cases: SearchStrategy[Any]
    """Generates the cases."""
    check: Callable[[Any], tuple[str, int]]
    """Checks one case, and raises an error if it shows a fault. Returns a word for how the case
    ended, such as `refused`, and the number of requests or events in it. Both are counted."""
    finish: Callable[[], None] = lambda: None
    """Checks what must hold at the end of a batch, and raises an error if it does not."""


@dataclass(frozen=True)
class Target:
    """A part of the program that reads what others send."""

    name: str
    share: float
    """Its share of all cases of a run, from 0 to 1."""
    batch: int
    """Number of cases in one batch."""
    open_probe: Callable[[Path, int], AbstractContextManager[Probe]]
    """Opens the target for one batch, with a folder for its files and the seed of the batch."""


@dataclass(frozen=True)
class Failure:
    """A case that has shown a fault."""

    target: str
    """The name of the target."""
    seed: int
    """The seed of the batch."""
    fault: str
    case: str

    def sentence(self) -> str:
        """Return the failure as a sentence, with the command that reproduces it."""
        command = f"python -m fuzz --only {self.target} --seed {self.seed}"
        return f"{self.target}, seed {self.seed} ({command}): {self.fault}\n    with {self.case}"


@dataclass
class Result:
    """The result of a batch."""

    target: str
    seed: int
    cases: int = 0
    """Number of requests or events in all cases."""
    tally: Counter[str] = field(default_factory=Counter)
    """How often cases ended in each way, by the word for it."""
    failures: list[Failure] = field(default_factory=list)


class ErrorCollector(logging.Handler):
    """Collects logged errors, because some inputs fail in a thread whose errors no answer shows."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, unless it reports that a journal is damaged, which some targets do."""
        if record.name != "companion.storage.opening":
            self.messages.append(record.getMessage())

    def raise_collected(self) -> None:
        """Raise AssertionError if anything was logged since the last call."""
        messages, self.messages = self.messages, []
        assert not messages, f"logged: {messages[0][:MAX_TEXT_LENGTH]}"


@contextmanager
def watch_log() -> Iterator[ErrorCollector]:
    """Collect the errors of the log, and print nothing of it, until the end of the block."""
    errors, root = ErrorCollector(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers, root.level = [errors], logging.ERROR
    try:
        yield errors
    finally:
        root.handlers, root.level = handlers, level


def refusal_result(error: CompanionError) -> tuple[str, int]:
    """Return what `Probe.check` returns for a case that was refused.

    Check that it has a message.
    """
    assert error.message, "a refusal without a message"
    return error.kind, 1


def place_of(error: BaseException) -> str:
    """Return the type of an error, and the lines that led to it. One fault has one such place."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in reversed(frames)
        if "/fuzz/" not in frame.filename
    ]
    return f"{type(error).__name__} at {' < '.join(lines[:4]) or str(error)[:200]}"


def run_batch(target: Target, batch_seed: int, case_count: int) -> Result:
    """Open a target, run so many cases over it, and return the result."""
    result = Result(target.name, batch_seed)
    # no power cut is tested here, so the files may lie in memory, which is faster
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(dir=memory, prefix="fuzz-") as folder,
        watch_log() as errors,
        target.open_probe(Path(folder), batch_seed) as probe,
    ):
        _run_cases(probe, result, case_count, errors)
        try:
            probe.finish()
            errors.raise_collected()
        except Exception as error:
            fault = f"at the end: {place_of(error)}: {error}"[:MAX_TEXT_LENGTH]
            result.failures.append(Failure(target.name, batch_seed, fault, "all cases"))
    return result


def _run_cases(probe: Probe, result: Result, case_count: int, errors: ErrorCollector) -> None:
    """Run the cases of a batch, and count them in its result. Keep one failure of each place."""
    places: set[str] = set()

    @seed(result.seed)
    @settings(
        max_examples=case_count,
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
                fault = f"{place}: {error}"[:MAX_TEXT_LENGTH]
                result.failures.append(
                    Failure(result.target, result.seed, fault, repr(case)[:MAX_TEXT_LENGTH])
                )
        result.cases += size
        result.tally[word] += 1

    check_case()
