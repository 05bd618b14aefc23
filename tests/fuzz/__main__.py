"""`python -m fuzz`: run generated cases over all targets, on all cores, and print the results.

The cases of each target are divided into batches, which processes run side by side. Each batch has
a seed of its own, with which it can be repeated.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from multiprocessing import get_context

from fuzz import every_target
from fuzz.running import Result, Target, run_batch

# Timeout of a batch. The process then prints where it hangs and ends, so that the run fails.
BATCH_TIMEOUT_S = 900.0


def main() -> int:
    """Run all batches, print failures and a table, and return the exit status: 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument(
        "--cases", type=int, default=10_000, help="number of cases of all targets together (10,000)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the first batch; each further batch adds one"
    )
    parser.add_argument("--only", default="", help="names of targets, separated by commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    known = {target.name: target for target in every_target()}
    names = options.only.split(",") if options.only else list(known)
    if not known.keys() >= set(names):
        parser.error(f"known are {', '.join(known)}")
    targets = [known[name] for name in names]
    began_at_s, results = time.perf_counter(), list[Result]()
    batches = zip(count(options.seed), make_batches(targets, options.cases), strict=False)
    jobs = [(target.name, seed, examples) for seed, (target, examples) in batches]
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        for result in pool.map(run_job, jobs):
            results.append(result)
            for failure in result.failures:
                print(f"FAILED {failure.sentence()}", flush=True)
    return _report(results, options.seed, time.perf_counter() - began_at_s)


def make_batches(targets: list[Target], cases: int) -> Iterator[tuple[Target, int]]:
    """Yield batches: a target, and the number of its examples.

    Each target gets its share of all cases. Targets take turns, so that an interrupted run has
    tried each of them.
    """
    total_share = sum(target.share for target in targets)
    remaining = {
        target.name: max(1, round(cases * target.share / total_share)) for target in targets
    }
    while any(remaining.values()):
        for target in targets:
            if examples := min(target.batch, remaining[target.name]):
                remaining[target.name] -= examples
                yield target, examples


def run_job(job: tuple[str, int, int]) -> Result:
    """Run a batch: the name of its target, its seed, and the number of its examples."""
    name, seed, examples = job
    faulthandler.dump_traceback_later(BATCH_TIMEOUT_S, exit=True)
    target = next(target for target in every_target() if target.name == name)
    result = run_batch(target, seed, examples)
    faulthandler.cancel_dump_traceback_later()
    return result


def _report(results: list[Result], seed: int, seconds: float) -> int:
    """Print a table of the results, and return the exit status."""
    print(f"{'target':<14} {'cases':>9} {'batches':>7}  most frequent results")
    for name in dict.fromkeys(result.target for result in results):
        batches = [result for result in results if result.target == name]
        cases = sum(result.cases for result in batches)
        tally = sum((result.tally for result in batches), Counter())
        counts = ", ".join(f"{word} {count:,}" for word, count in tally.most_common(9))
        print(f"{name:<14} {cases:>9,} {len(batches):>7}  {counts}")
    total = sum(result.cases for result in results)
    last_seed = seed + len(results) - 1
    print(f"{total:,} cases in {seconds:.0f} s, seeds {seed} to {last_seed}")
    failures = sum(len(result.failures) for result in results)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
