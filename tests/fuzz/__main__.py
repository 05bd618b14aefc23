"""`python -m fuzz`: so many generated cases over all targets, on all cores; counts, seeds and
failures are printed.
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

# Time after which a batch counts as hanging. Its process then says where it stands, and ends.
LATE_S = 900.0


def main() -> int:
    """Run; 1 when anything failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="of all targets (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="of the first batch; then one more")
    parser.add_argument("--only", default="", help="names of targets, with commas")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    known = {target.name: target for target in every_target()}
    names = options.only.split(",") if options.only else list(known)
    if not known.keys() >= set(names):
        parser.error(f"known are {', '.join(known)}")
    targets = [known[name] for name in names]
    began_s, results = time.perf_counter(), list[Result]()
    batches = zip(count(options.seed), batches_of(targets, options.cases), strict=False)
    asked = [(target.name, seed, examples) for seed, (target, examples) in batches]
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        for result in pool.map(run_named, asked):
            results.append(result)
            for failure in result.failures:
                print(f"FAILED {failure.sentence()}", flush=True)
    return _report(results, options.seed, time.perf_counter() - began_s)


def batches_of(targets: list[Target], cases: int) -> Iterator[tuple[Target, int]]:
    """Yield batches of at most as many examples as a target takes at a time, by its share of all
    cases.
    """
    whole = sum(target.share for target in targets)
    left = {target.name: max(1, round(cases * target.share / whole)) for target in targets}
    while any(left.values()):
        for target in targets:
            if examples := min(target.batch, left[target.name]):
                left[target.name] -= examples
                yield target, examples


def run_named(asked: tuple[str, int, int]) -> Result:
    """Run a batch of the target of this name, with a seed and so many examples."""
    name, seed, examples = asked
    faulthandler.dump_traceback_later(LATE_S, exit=True)
    target = next(each for each in every_target() if each.name == name)
    result = run_batch(target, seed, examples)
    faulthandler.cancel_dump_traceback_later()
    return result


def _report(results: list[Result], seed: int, seconds: float) -> int:
    """Print the table and the failures; answers the exit status."""
    print(f"{'target':<14} {'cases':>9} {'batches':>7}  what came of them")
    for name in dict.fromkeys(result.target for result in results):
        own = [result for result in results if result.target == name]
        cases = sum(result.cases for result in own)
        tally = sum((result.tally for result in own), Counter())
        words = ", ".join(f"{word} {count:,}" for word, count in tally.most_common(9))
        print(f"{name:<14} {cases:>9,} {len(own):>7}  {words}")
    total = sum(result.cases for result in results)
    last = seed + len(results) - 1
    print(f"{total:,} cases in {seconds:.0f} s, seeds {seed} to {last}")
    failures = sum(len(result.failures) for result in results)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
