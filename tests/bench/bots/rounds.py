"""The games of the bench of opponents in rounds over all pairings, so that a look in between tells of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import islice, pairwise

from bench.bots.matches import play_game
from bench.bots.results import Pairing, Played, Results, code_of

FIRST_GAMES, ROUND_GAMES = 2, 10
"""Of each pairing in the first round, a pair with the seats swapped, and up to which multiple in each later one."""
_TOLD_EACH_S = 30.0


class Rounds:
    """What is still to be played of some pairings; `say` is given a line now and then."""

    def __init__(
        self,
        pairings: Sequence[Pairing],
        results: Results,
        sample: int,
        jobs: int,
        say: Callable[[str], None],
    ) -> None:
        self._pairings, self._results, self._sample, self._jobs, self._say = (
            pairings,
            results,
            sample,
            jobs,
            say,
        )
        self._codes = {pairing.name: code_of(pairing) for pairing in pairings}
        self._told_s = time.monotonic()

    def play(self, until_s: float | None) -> None:
        """Play it all, or until then by the monotonic clock; each game is kept as soon as it is over.

        A game that has begun is played to its end.
        """
        missing = self._missing()
        if self._jobs == 1:
            for pairing, number in missing:
                if _is_over(until_s):
                    return
                self._keep(play_game(pairing, self._sample, number, self._codes[pairing.name]))
            return
        with ProcessPoolExecutor(self._jobs) as pool:
            running: set[Future[Played]] = set()
            try:
                while True:
                    free = 0 if _is_over(until_s) else self._jobs - len(running)
                    for pairing, number in islice(missing, free):
                        code = self._codes[pairing.name]
                        running.add(pool.submit(play_game, pairing, self._sample, number, code))
                    if not running:
                        return
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        self._keep(future.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _missing(self) -> Iterator[tuple[Pairing, int]]:
        """Games that the results lack: a pair of each pairing, then up to ten of each, up to twenty, and so on."""
        most = max((pairing.games for pairing in self._pairings), default=0)
        known = {
            pairing.name: set(self._results.of(pairing, self._sample)) for pairing in self._pairings
        }
        ends = [0, FIRST_GAMES, *range(ROUND_GAMES, most + ROUND_GAMES, ROUND_GAMES)]
        for low, high in pairwise(ends):
            for pairing in self._pairings:
                for number in range(low, min(high, pairing.games)):
                    if number not in known[pairing.name]:
                        yield pairing, number

    def _keep(self, played: Played) -> None:
        self._results.add(played)
        if time.monotonic() - self._told_s >= _TOLD_EACH_S:
            self._told_s = time.monotonic()
            self._say(self.progress())

    def progress(self) -> str:
        """How many games are played, and of how many."""
        counts = [
            min(pairing.games, len(self._results.of(pairing, self._sample)))
            for pairing in self._pairings
        ]
        return f"{sum(counts):,} of {sum(pairing.games for pairing in self._pairings):,} games"


def _is_over(until_s: float | None) -> bool:
    return until_s is not None and time.monotonic() >= until_s
