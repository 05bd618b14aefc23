"""What the squares of one board show: a piece, whose marker tells which, bare paper, or neither: such one is unknown.

A marker's place tells the square, the print tells that one is empty; a second look from straight above reads markers
that the first has missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.detection.markers import Luma, Sighting
from vision.detection.rectified_search import BETTER, PLAIN, RectifiedSearch, Way
from vision.pieces.empty_squares import EmptySquares
from vision.pieces.placing import Placed, Placer, faces_on_squares
from vision.pieces.snapshots import Snapshot
from vision.pieces.voting import Vote
from vision.pose.pose import Pose

_CLEARLY = 0.85
"""A marker that does not decode and correlates so well with a print is that one without doubt."""


@dataclass(frozen=True, eq=False)
class LastLook:
    """What the last look rests on: every marker with its place, and what was judged of the squares."""

    kit: Kit
    pose: Pose
    sightings: tuple[Sighting, ...]
    placed: tuple[Placed, ...]
    empty: frozenset[Square]
    unknown: frozenset[Square]
    asked: frozenset[Square]
    """Which squares it has judged anew."""
    tag_px: float
    """How large a piece's marker is in the middle of the board."""


class Budget(NamedTuple):
    """How many squares are read from above in one picture, and told under shadows with edges.

    The rest waits for the next picture: a hand that rests on a board must not make one cost ten times as much.
    """

    closer: int = 24
    shaded: int = 8


@dataclass(frozen=True, eq=False)
class Located:
    """A (height, width) picture and where its board is. Of the `vague` squares the pose is not sure enough to say that
    nothing lies there, of the `unconfirmed` ones not even which they are; `shaded` says whether bare squares are told
    also under shadows with edges."""

    luma: Luma
    pose: Pose
    vague: frozenset[Square]
    unconfirmed: frozenset[Square]
    shaded: bool
    budget: Budget


@dataclass(frozen=True, eq=False)
class Part:
    """Which squares are judged anew, and the look of which all others keep what it says; `resigned` are those of them
    of which no more is to be learned."""

    asked: frozenset[Square]
    before: LastLook
    resigned: frozenset[Square] = frozenset()


@dataclass(frozen=True, eq=False)
class _Pieces:
    """All markers of a picture, where pieces lie by them, and what that makes of the squares."""

    sightings: tuple[Sighting, ...]
    placed: tuple[Placed, ...]
    strangers: tuple[int, ...]
    seen: Mapping[Square, str]
    markers: Mapping[Square, int]
    doubtful: frozenset[Square]


class SquareJudge:
    """Judges the squares of one kit's board, picture after picture."""

    def __init__(self, kit: Kit, closer: RectifiedSearch) -> None:
        self.kit = kit
        self._closer = closer
        self._empties = EmptySquares(kit.board)
        self._placer: tuple[Pose, Placer] | None = None
        self._times: Counter[Square] = Counter()
        self.waiting: frozenset[Square] = frozenset()
        """Unknown squares that the last picture's budget left for the next one."""
        self._shot: tuple[Snapshot, frozenset[Square]] | None = None
        self.sureness: Mapping[Square, float] = {}
        """How surely each square was read last."""

    def learn(self) -> None:
        """Remember how the squares that were empty in the last picture look; it was a still one."""
        if self._shot is not None:
            self._empties.learn(*self._shot)

    def covered(self, luma: Luma, seen: LastLook, squares: Collection[Square]) -> frozenset[Square]:
        """Which of these squares are covered by what shows no marker."""
        bodies = self._placer_of(seen.pose).bodies(seen.placed, squares)
        shot = self._empties.snapshot(luma, seen.pose, (), bodies, squares)
        covered = self._empties.covered_among(shot, squares)
        return frozenset(covered - self._closer.marked(self.kit, seen.pose, luma, covered))

    def judge(
        self, picture: Located, sightings: tuple[Sighting, ...], part: Part | None = None, *, closely: bool
    ) -> tuple[Vote, LastLook]:
        """Tell which pieces lie where, and which squares are empty; of all squares, or of those of a `part` alone.

        `closely` reads once more what lies on squares that are neither.
        """
        kit, placer = self.kit, self._placer_of(picture.pose)
        pieces = _pieces(placer, sightings, picture)
        rest = {s for s in kit.board.squares if s not in pieces.seen and s not in kit.board.holes}
        asked = frozenset(rest) if part is None else part.asked | _concerned(placer, pieces.placed, part)
        ask = rest & asked
        self.waiting = frozenset()
        if part is None:
            self._times.clear()
        empty, shot = set[Square](), None
        if ask:
            clear = ask - pieces.doubtful - picture.vague
            shot = self._snapshot(picture, pieces, ask, whole=part is None)
            empty = self._empties.empty_among(shot, clear)
        if shot is not None and closely and ask - empty:
            pieces, more = self._look_closer(picture, pieces, shot, ask - empty)
            empty = (empty | more) - pieces.doubtful - set(pieces.seen)
        self._shot = (shot, frozenset(empty)) if shot is not None else None
        if part is not None:
            empty |= part.before.empty - ask - pieces.doubtful - set(pieces.seen)
        unknown = frozenset(s for s in rest if s not in pieces.seen and s not in empty) | pieces.doubtful
        tag_px = part.before.tag_px if part else _tag_px(kit, picture.pose)
        look = LastLook(kit, picture.pose, pieces.sightings, pieces.placed, frozenset(empty), unknown, asked, tag_px)
        return self._vote(pieces, look), look

    def _snapshot(self, picture: Located, pieces: _Pieces, squares: set[Square], *, whole: bool = False) -> Snapshot:
        """Look at these squares of a picture; `whole`: at all of the board's, as it has to be the first time."""
        corners = [s.marker for s in pieces.sightings if s.marker in self.kit.board.corners]
        every = whole or not self._empties.has_looked
        asked = self.kit.board.squares if every and not whole else squares
        bodies = self._placer_of(picture.pose).bodies(pieces.placed, asked)
        return self._empties.snapshot(picture.luma, picture.pose, corners, bodies, None if every else squares)

    def _look_closer(
        self, picture: Located, pieces: _Pieces, shot: Snapshot, missing: set[Square]
    ) -> tuple[_Pieces, set[Square]]:
        """Read from straight above what lies on squares which nothing accounts for, and tell which are empty after all.

        So many squares as the picture's budget has; the others wait for the next one. Returns the pieces with those
        that were read, and the empty squares.
        """
        asked = self._first(missing, picture.budget.closer)
        self._times.update(asked)
        left, bare = missing - asked, set[Square]()
        for ways in (PLAIN, BETTER):
            more = self._read_closer(picture, pieces, asked, ways)
            if not more:
                continue
            better = {sighting.marker for sighting in more}
            every = (*(s for s in pieces.sightings if s.marker not in better), *more)
            pieces = _pieces(self._placer_of(picture.pose), every, picture)
            missing = missing - set(pieces.seen)
            if not missing:
                break
            # What these pieces hide is no longer taken for something that lies there.
            shot = self._snapshot(picture, pieces, missing)
            bare |= self._empties.empty_among(shot, missing - pieces.doubtful - picture.vague)
            missing, asked = missing - bare, asked - set(pieces.seen) - bare
            if not asked:
                break
        rest = missing - pieces.doubtful - picture.vague
        if picture.shaded and rest:
            shaded = self._first(rest, picture.budget.shaded)
            bare |= self._empties.shaded_among(shot, shaded)
            left |= rest - shaded
        self.waiting = frozenset(square for square in (left & missing) - bare if not self._times[square])
        return pieces, bare

    def _first(self, squares: set[Square], number: int) -> set[Square]:
        """Return so many of the squares, those first that were asked least often."""
        return set(sorted(squares, key=lambda square: (self._times[square], square))[:number])

    def _read_closer(
        self, picture: Located, pieces: _Pieces, missing: set[Square], ways: Sequence[Way]
    ) -> tuple[Sighting, ...]:
        """Markers on these squares that no other look has found."""
        # What does not lie as a marker should may have been seen badly.
        shaky = {p.sighting.marker for p in pieces.placed if not (p.fits and p.sure)} - set(pieces.strangers)
        known = {sighting.marker for sighting in pieces.sightings} - shaky
        return self._closer.look(self.kit, picture.pose, picture.luma, known=known, squares=missing, ways=ways)

    def _vote(self, pieces: _Pieces, look: LastLook) -> Vote:
        beside = sorted(p.face.name for p in pieces.placed if p.squares == {None})
        scores = {sighting.marker: sighting.score for sighting in pieces.sightings}
        sure = {square: scores[marker] for square, marker in pieces.markers.items()}
        self.sureness = sure | dict.fromkeys(look.empty, 1.0) | dict.fromkeys(look.unknown, 0.0)
        return Vote(
            self.kit.game,
            pieces.seen,
            look.unknown,
            tuple(beside),
            pieces.strangers,
            markers=pieces.markers,
            guessed=frozenset(square for square, score in sure.items() if score < _CLEARLY),
            ids=frozenset(scores),
        )

    def _placer_of(self, pose: Pose) -> Placer:
        if self._placer is None or self._placer[0] is not pose:
            self._placer = pose, Placer(self.kit, pose)
        return self._placer[1]


def _pieces(placer: Placer, sightings: tuple[Sighting, ...], picture: Located) -> _Pieces:
    placed, strangers = placer.place(sightings)
    seen, markers, doubtful = faces_on_squares(placed, picture.unconfirmed)
    return _Pieces(sightings, tuple(placed), strangers, seen, markers, frozenset(doubtful))


def _tag_px(kit: Kit, pose: Pose) -> float:
    return kit.tag_mm * pose.px_per_mm(kit.board.width_mm / 2, kit.board.height_mm / 2)


def _concerned(placer: Placer, placed: Iterable[Placed], part: Part) -> set[Square]:
    """The squares of pieces that were not seen before, and those in doubt of which such a piece hides a part: it is no
    longer taken for something that lies there."""
    old = {id(piece) for piece in part.before.placed}
    come = [piece for piece in placed if id(piece) not in old]
    own = {square for piece in come for square in piece.squares if square is not None}
    return own | placer.beside(come, part.resigned) if part.resigned else own
