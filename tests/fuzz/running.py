"""A target is opened, given so many generated cases, and asked at the end whether all is well; what
failed is kept.
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

# Number of failures of one batch that are kept. They rarely differ.
MOST_FAILURES = 20
LONGEST = 1500


@dataclass
class Probe:
    """An open target."""

    cases: SearchStrategy[Any]
    """Generates the cases."""
    check: Callable[[Any], tuple[str, int]]
    """Does one case and raises for a fault. Returns a word that is counted, and the number of
    requests or events."""
    finish: Callable[[], None] = lambda: None
    """Checks what must hold at the end."""


@dataclass(frozen=True)
class Target:
    """Something that reads what others send."""

    name: str
    share: float
    """Share of all cases that it gets."""
    batch: int
    """Number of cases in one batch."""
    open: Callable[[Path, int], AbstractContextManager[Probe]]


@dataclass(frozen=True)
class Failure:
    """What went wrong, with which case, and how to see it again."""

    target: str
    seed: int
    trouble: str
    case: str

    def sentence(self) -> str:
        """Return the failure for people."""
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


class Errors(logging.Handler):
    """Collects what the program logs as an error: an input that failed where nobody waits for its
    answer.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the words, but those of a journal that was damaged on purpose and is told to be."""
        if record.name != "companion.storage.opening":
            self.said.append(record.getMessage())

    def raise_them(self) -> None:
        """Raise what was said since the last time."""
        said, self.said = self.said, []
        assert not said, f"logged: {said[0][:LONGEST]}"


@contextmanager
def watch_log() -> Iterator[Errors]:
    """Collect errors in the log as faults, and print nothing of the log."""
    errors, root = Errors(), logging.getLogger()
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
    """Open the target afresh and do so many examples with this seed."""
    result = Result(target.name, number)
    # what is synced is a power cut's affair, not ours
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(dir=shared, prefix="fuzz-") as folder,
        watch_log() as errors,
        target.open(Path(folder), number) as probe,
    ):
        _generate(probe, result, number, count, errors)
        try:
            probe.finish()
            errors.raise_them()
        except Exception as error:
            trouble = f"at the end: {place_of(error)}: {error}"
            result.failures.append(Failure(target.name, number, trouble[:LONGEST], "all of it"))
    return result


def _generate(probe: Probe, result: Result, number: int, count: int, errors: Errors) -> None:
    """Do the examples; what fails is kept and the rest goes on."""
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
            errors.raise_them()
        except Exception as error:
            errors.said.clear()
            word, size = "FAILED", 1
            place = place_of(error)
            if place not in places and len(places) < MOST_FAILURES:
                places.add(place)
                trouble = f"{place}: {error}"[:LONGEST]
                result.failures.append(
                    Failure(result.target, number, trouble, repr(case)[:LONGEST])
                )
        result.cases += size
        result.tally[word] += 1

    check_case()
