"""The other table of one game, from outside: messages that no program of ours sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st
from remote_tools import GAME, HalfTable, MemoryLine, paired

from companion.core.errors import CompanionError, Stale
from companion.core.kit import SEATS
from companion.games import GAMES
from fuzz.endings import replays
from fuzz.hub import changed
from fuzz.running import Probe, Target, refused
from fuzz.texts import ODD_NUMBERS, ODD_TEXTS

BEFORE, AFTER = 150, 12
"""So many things happen at most before a message is changed, and so many after it."""


def _happens(line: MemoryLine, half: HalfTable, rng: Random) -> None:
    """One thing at a table: somebody acts, a message goes or comes, time passes."""
    half.clock.advance(rng.choice((0.01, 0.3, 2.0)))
    match rng.randrange(4):
        case 0:
            with suppress(Stale):
                half.act(rng)
        case 1:
            line.send(half)
        case 2:
            line.deliver(half)
        case _:
            half.table.step()


def _hears(half: HalfTable, payload: bytes) -> str:
    """What a table makes of a message."""
    try:
        half.table.remote.hear(GAME, half.progress.heard + 1, payload)
    except CompanionError as error:
        return refused(error)[0]
    return "taken"


def _is_whole(half: HalfTable) -> None:
    """Everybody is shown a table that its journal leads to again."""
    half.table.step()
    for viewer in (None, *SEATS):
        half.table.view(viewer)
    replays(half.table, half.journal)


def _attack(line: MemoryLine, case: tuple[Any, ...]) -> str:
    """A game comes so far; then one table hears changed messages, and people there go on as far as they can."""
    _, seed, values, often, is_other_kind = case
    rng = Random(seed)
    for _ in range(rng.randrange(BEFORE)):
        _happens(line, rng.choice(line.tables), rng)
    half = rng.choice(line.tables)
    while line.send(line.other(half)):
        pass
    told = line.told(half)[: half.progress.heard + 1]
    if not told:
        return "nothing to be told"
    honest = json.loads(rng.choice(told) if is_other_kind else told[-1])
    honest["number"] = half.progress.heard + 1
    if "tick" in honest["message"] and rng.random() < 0.8:
        honest["message"]["tick"] = half.session.tick
    message = changed(honest["message"], rng, values, often)
    answer = _hears(half, json.dumps({**honest, "message": message}).encode("utf-8", "replace"))
    _is_whole(half)
    for _ in range(AFTER):
        half.clock.advance(1.0)
        with suppress(CompanionError):  # what does not fit what was taken is refused
            half.act(rng)
        with suppress(CompanionError, AssertionError if answer == "taken" else CompanionError):
            line.deliver(half)
        _is_whole(half)
    half.reopen()
    _is_whole(half)
    return answer


@contextmanager
def messages(folder: Path, number: int) -> Iterator[Probe]:
    """Messages of real games, changed: refused with a reason, or taken, and the table stands on its journal."""
    numbers = count()

    def check(case: Any) -> tuple[str, int]:
        place = folder / str(next(numbers))
        with paired(place, case[0]) as line:
            return _attack(line, case), 1

    odd = st.lists(
        ODD_TEXTS | ODD_NUMBERS | st.sampled_from(["south", "", "UUS", 0, -1, 1e18, None, {}, []]),
        min_size=4,
        max_size=9,
    )
    yield Probe(
        st.tuples(
            st.sampled_from(sorted({*GAMES} - {"binmat"})),
            st.integers(0, 2**32),
            odd,
            st.sampled_from([0.0, 0.02, 0.1]),
            st.booleans(),
        ),
        check,
    )


TARGETS = (Target("pair-messages", 0.02, 100, messages),)
