"""`python -m fuzz`: so many generated cases over all targets, on all cores; counts, seeds and failures are printed."""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from multiprocessing import get_context

from fuzz import every_target
from fuzz.running import LONGEST, Failure, Result, Target, place_of, run_batch

LATE_S = 900.0
"""A batch that takes longer hangs, and its process ends."""


def main() -> int:
    """Run; 1 when anything failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument(
        "--cases", type=int, default=10_000, metavar="N", help="examples of all targets (10,000)"
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
    options = parser.parse_args()
    names = [name for name in options.only.split(",") if name]
    targets = [target for target in every_target() if not names or target.name in names]
    if not targets:
        parser.error(f"known are {', '.join(target.name for target in every_target())}")
    began_s, results = time.perf_counter(), list[Result]()
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        batches = {
            pool.submit(run_named, target.name, seed, examples): (target.name, seed)
            for seed, (target, examples) in zip(
                count(options.seed), batches_of(targets, options.cases), strict=False
            )
        }
        for batch in as_completed(batches):
            try:
                result = batch.result()
            except BrokenProcessPool:
                name, seed = batches[batch]
                lost = Failure(name, seed, "a process of these batches died or hung", "not known")
                result = Result(name, seed, failures=[lost])
            results.append(result)
            for failure in result.failures:
                print(f"FAILED {failure.sentence()}", flush=True)
    return _report(results, options.seed, time.perf_counter() - began_s)


def batches_of(targets: list[Target], cases: int) -> Iterator[tuple[Target, int]]:
    """Yield batches of at most as many examples as a target takes at a time, by its share of all cases."""
    whole = sum(target.share for target in targets)
    left = {target.name: max(1, round(cases * target.share / whole)) for target in targets}
    while any(left.values()):
        for target in targets:
            if examples := min(target.batch, left[target.name]):
                left[target.name] -= examples
                yield target, examples


def run_named(name: str, seed: int, examples: int) -> Result:
    """Run a batch of the target of this name, in a process of the pool."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what libraries say of broken pictures
    faulthandler.dump_traceback_later(LATE_S, exit=True)
    target = next(each for each in every_target() if each.name == name)
    try:
        return run_batch(target, seed, examples)
    except Exception as error:
        trouble = f"the batch broke off: {place_of(error)}: {error}"[:LONGEST]
        return Result(name, seed, failures=[Failure(name, seed, trouble, "not known")])
    finally:
        faulthandler.cancel_dump_traceback_later()


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
