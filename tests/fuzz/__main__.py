"""`python -m fuzz`: so many generated cases over all targets, on all cores; counts, seeds and failures are printed."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from fuzz import every_target
from fuzz.running import LONGEST, Failure, Result, Target, place_of, run_batch

LOOK_S, TELL_S = 5.0, 60.0
LATE_S = 900.0
"""A batch that takes longer hangs: that is a failure like any other."""
_FORK = get_context("fork")


@dataclass(frozen=True, eq=False)
class Job:
    """A batch in a process of its own: what it breaks, leaks or hangs in ends with it."""

    target: str
    seed: int
    process: BaseProcess
    answer: Connection
    began_s: float

    def is_late(self) -> bool:
        """Has it come to nothing, by hanging or by dying?"""
        return time.perf_counter() - self.began_s > LATE_S or not (
            self.process.is_alive() or self.answer.poll()
        )

    def end(self) -> Result:
        """What it came to."""
        try:
            result: Result = self.answer.recv() if self.answer.poll() else self._lost()
        except EOFError:
            result = self._lost()
        self.answer.close()
        self.process.kill()
        self.process.join()
        return result

    def _lost(self) -> Result:
        self.process.join(1)
        code = self.process.exitcode
        trouble = "hangs" if code is None else f"the process died, status {code}"
        return Result(
            self.target, self.seed, failures=[Failure(self.target, self.seed, trouble, "not known")]
        )


def _begin(target: Target, seed: int, count: int) -> Job:
    ours, theirs = _FORK.Pipe(duplex=False)

    def work() -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries say of broken pictures
        try:
            theirs.send(run_batch(target, seed, count))
        except BaseException as error:
            trouble = f"the batch broke off: {place_of(error)}: {error}"[:LONGEST]
            theirs.send(
                Result(
                    target.name, seed, failures=[Failure(target.name, seed, trouble, "not known")]
                )
            )

    process = _FORK.Process(target=work)
    process.start()
    theirs.close()
    return Job(target.name, seed, process, ours, time.perf_counter())


def main() -> int:
    """Run; 1 when anything failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument(
        "--cases", type=int, default=100_000, metavar="N", help="over all targets (100,000)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="of the first batch; the next are S + 1, …"
    )
    parser.add_argument(
        "--only",
        default="",
        metavar="NAMES",
        help="of targets, with commas; N is then theirs alone",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="J")
    parser.add_argument(
        "--minutes", type=float, default=1e9, metavar="M", help="begin no batch after so long"
    )
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name]
    targets = [target for target in every_target() if not names or target.name in names]
    if not targets:
        parser.error(f"known are {', '.join(target.name for target in every_target())}")
    whole, began_s = sum(target.share for target in targets), time.perf_counter()
    left = {target.name: options.cases * target.share / whole for target in targets}
    results: dict[str, list[Result]] = {target.name: [] for target in targets}
    seed, running, told_s = options.seed, {}, began_s
    while True:
        while len(running) < options.jobs and (
            due := [target for target in targets if left[target.name] > 0]
        ):
            target = max(due, key=lambda each: left[each.name] / each.share)
            rate = _cases_an_example(results[target.name])
            count = max(1, min(target.batch, round(left[target.name] / rate)))
            running[_begin(target, seed, count)] = target.name
            left[target.name] -= count * rate
            seed += 1
        if time.perf_counter() - began_s > 60 * options.minutes:
            left = dict.fromkeys(left, 0.0)
        if not running:
            break
        wait([job.answer for job in running], timeout=LOOK_S)
        for job in [job for job in running if job.answer.poll() or job.is_late()]:
            result = job.end()
            results[running.pop(job)].append(result)
            for failure in result.failures:
                print(f"FAILED {failure.sentence()}", flush=True)
        if time.perf_counter() - told_s >= TELL_S:
            told_s = time.perf_counter()
            done = [result for each in results.values() for result in each]
            failures = sum(len(result.failures) for result in done)
            cases = sum(result.cases for result in done)
            print(f"{told_s - began_s:6.0f} s  {cases:>9,} cases  {failures} failures", flush=True)
    return _report(
        [result for each in results.values() for result in each],
        options.seed,
        time.perf_counter() - began_s,
    )


def _cases_an_example(results: list[Result]) -> float:
    """How many requests or events one generated example has been so far."""
    examples = sum(sum(result.tally.values()) for result in results)
    return max(1.0, sum(result.cases for result in results) / examples) if examples else 1.0


def _report(results: list[Result], seed: int, seconds: float) -> int:
    """Print the table and the failures; answers the exit status."""
    print(f"{'target':<10} {'cases':>9} {'batches':>7} {'a second':>8}  what came of them")
    for name in dict.fromkeys(result.target for result in results):
        own = [result for result in results if result.target == name]
        cases, busy_s = sum(result.cases for result in own), sum(result.seconds for result in own)
        tally = sum((result.tally for result in own), Counter())
        said = ", ".join(f"{word} {count:,}" for word, count in tally.most_common(9))
        print(f"{name:<10} {cases:>9,} {len(own):>7} {cases / max(busy_s, 1e-9):>8,.0f}  {said}")
    total = sum(result.cases for result in results)
    failures = {failure.trouble for result in results for failure in result.failures}
    print(
        f"{total:,} cases in {seconds:.0f} s ({total / seconds:,.0f} a second), seeds {seed} to {seed + len(results) - 1}"
    )
    print(f"{len(failures)} kinds of failure" if failures else "no failure")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
