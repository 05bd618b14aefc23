"""What single pictures say, and what several of a still table say together.

Three still pictures have to agree. Two are enough where nothing but certain things are new: markers that decode, and
squares that have become empty because what lay on them is read somewhere else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from companion.core.grid import Square
from companion.core.kit import Layout
from vision.cards.fans import agreed_fans


@dataclass(frozen=True)
class Vote:
    """What a single picture says; the fields are those of `companion.core.ports.Reading`."""

    game: str | None
    seen: Mapping[Square, str]
    unknown: frozenset[Square]
    beside: tuple[str, ...] = ()
    strangers: tuple[int, ...] = ()
    fans: Layout = field(default_factory=dict)
    markers: Mapping[Square, int] = field(default_factory=dict)
    stirred: bool = False
    """Zones of cards are unknown because something moved in them: it has no vote once all is still."""
    guessed: frozenset[Square] = frozenset()
    """Squares of `seen` whose marker did not decode and is not clearly the one it resembles most."""
    ids: frozenset[int] = frozenset()
    """All markers in view."""


class Votes:
    """The looks at a table since it last moved; `frames` have to agree."""

    def __init__(self, frames: int) -> None:
        self._frames = frames
        self._looks: deque[Vote] = deque(maxlen=frames)
        self._settled: Vote | None = None

    def forget(self) -> None:
        """Another board."""
        self.begin()
        self._settled = None

    def begin(self) -> None:
        """Something has moved: earlier looks count no more."""
        self._looks.clear()

    @property
    def last_is_stirred(self) -> bool:
        """See `Look.stirred`."""
        return bool(self._looks) and self._looks[-1].stirred

    @property
    def are_few(self) -> bool:
        """May one more look tell more?"""
        return len(self._looks) < self._frames

    def add(self, look: Vote) -> tuple[Vote, bool]:
        """What the looks say together with one more, and whether that is settled."""
        self._looks.append(look)
        joined, agreed = joined_looks(self._looks)
        enough = len(self._looks) == self._frames
        if not enough and len(self._looks) > 1 and self._settled is not None:
            enough = is_certain(joined, self._settled)
        if agreed and enough:
            self._settled = joined
        return joined, agreed and enough


def is_certain(joined: Vote, settled: Vote) -> bool:
    """Is all certain by which looks at a still table differ from what was settled before?"""
    if joined.fans or settled.fans or joined.game is None or joined.game != settled.game:
        return False
    new = {square: m for square, m in joined.markers.items() if settled.markers.get(square) != m}
    gone = {m for s, m in settled.markers.items() if s not in joined.seen and s not in joined.unknown}
    return not joined.guessed & set(new) and gone <= set(new.values())


def joined_looks(looks: Iterable[Vote]) -> tuple[Vote, bool]:
    """What several pictures of a still table say together, and whether none contradicts another.

    A face read once counts against unknown (a marker does not decode by chance); against "empty" or another face it
    makes the square unknown. What was unknown is empty when the last two pictures of three say so.
    """
    all_looks = list(looks)
    last = all_looks[-1]
    if any(look.game != last.game for look in all_looks):
        return last, False
    if len(all_looks) == 1:
        return last, True
    seen, markers, unknown, agreed = {}, {}, set[Square](), True
    for square in {s for look in all_looks for s in (*look.seen, *look.unknown)}:
        pieces = {(look.seen[square], look.markers[square]) for look in all_looks if square in look.seen}
        empty = any(square not in look.seen and square not in look.unknown for look in all_looks)
        if len(pieces) == 1 and not empty:
            seen[square], markers[square] = pieces.pop()
        elif pieces or len(all_looks) < 3 or any(square in look.unknown for look in all_looks[-2:]):
            unknown.add(square)
            agreed = agreed and not pieces
    beside = max((look.beside for look in all_looks), key=len)
    strangers = set.intersection(*(set(look.strangers) for look in all_looks))
    fans, torn = agreed_fans([look.fans for look in all_looks], unknown)
    joined = Vote(
        last.game,
        seen,
        frozenset(unknown | torn),
        beside,
        tuple(sorted(strangers)),
        fans,
        markers,
        guessed=frozenset.intersection(*(look.guessed for look in all_looks)),
        ids=last.ids,
    )
    return joined, agreed and not torn
