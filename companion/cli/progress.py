"""What takes its time, said to somebody at a terminal; programs read the result alone."""

from __future__ import annotations

import sys


def begin(what: str) -> None:
    """Say what is being done, in a line of its own."""
    if sys.stderr.isatty():
        print(what, file=sys.stderr, flush=True)


def count(what: str, done: int, total: int) -> None:
    """Say how far it has come, in one line that is written over until all is done."""
    if sys.stderr.isatty():
        print(f"\r{what}: {done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)
