"""What the squares of one board show: a piece, whose marker tells which, bare paper, or neither: such one is unknown.

A marker's place tells the square, the print tells that one is empty; a second look from straight above reads markers
that the first has missed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.detection.markers import Luma, Sighting
from vision.detection.rectified_search import RectifiedSearch
from vision.pieces.empty_squares import EmptySquares
from vision.pieces.hindsight import Hindsight
from vision.pieces.placing import Placed, Placer, faces_on_squares
from vision.pieces.snapshots import Snapshot
from vision.pieces.square_cells import AT_A_GLANCE
from vision.pieces.voting import Vote
from vision.pose.pose import Pose

_CLEARLY = 0.85
"""A marker that does not decode and correlates so well with a print is that one without doubt."""
_FEW = 6
"""A glance will do when it leaves no more squares without a verdict."""
_HALF_A_TAG = 0.5
"""A piece's marker is seen at most so much of its side beside where it would be on the board's plane."""


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
    light: frozenset[Square] = frozenset()
    """Squares that were looked at closely without anything on them that is as dark as a marker."""


@dataclass(frozen=True, eq=False)
class Located:
    """A (height, width) picture and where its board is. Of the `vague` squares the pose is not sure enough to say that
    nothing lies there, of the `unconfirmed` ones not even which they are; `shaded` says whether bare squares are told
    also under shadows with edges, `at_a_glance` whether it is the first one of this board, and no large one."""

    luma: Luma
    pose: Pose
    vague: frozenset[Square]
    unconfirmed: frozenset[Square]
    shaded: bool
    at_a_glance: bool = False


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
        self._empties, self._hindsight = EmptySquares(kit.board), Hindsight()
        self._glance = EmptySquares(kit.board, AT_A_GLANCE)
        self._placer: tuple[Pose, Placer] | None = None
        self._shot: tuple[EmptySquares, Snapshot, frozenset[Square]] | None = None
        self.sureness: Mapping[Square, float] = {}
        """How surely each square was read last."""

    def learn(self) -> None:
        """Remember how the squares that were empty in the last picture look; it was a still one."""
        if self._shot is not None:
            empties, shot, empty = self._shot
            empties.learn(shot, empty)

    def covered(self, luma: Luma, seen: LastLook, squares: Collection[Square]) -> frozenset[Square]:
        """Which of these squares are covered by what shows no marker."""
        bodies = self._placer_of(seen.pose).bodies(seen.placed, squares)
        shot = self._empties.snapshot(luma, seen.pose, (), bodies, squares)
        covered = self._empties.covered_among(shot, squares)
        return frozenset(covered - self._closer.marked(self.kit, seen.pose, luma, covered))

    def with_hindsight(self, look: Vote, seen: LastLook) -> Vote:
        """With what the picture before would have told, had it been asked as closely."""
        told = self._hindsight.empty_before(self._empties, seen.pose, seen.empty)
        return replace(look, empty_before=told) if told else look

    def judge(
        self, picture: Located, sightings: tuple[Sighting, ...], part: Part | None = None, *, closely: bool
    ) -> tuple[Vote, LastLook]:
        """Which pieces lie where, and which squares are empty; of all squares, or of those of a `part` alone. `closely`
        reads once more what lies on squares that are neither."""
        kit, placer = self.kit, self._placer_of(picture.pose)
        pieces = _pieces(placer, sightings, picture)
        rest = {s for s in kit.board.squares if s not in pieces.seen and s not in kit.board.holes}
        asked = frozenset(rest) if part is None else part.asked | _concerned(placer, pieces.placed, part)
        ask = rest & asked
        empties, empty, shot, light = self._empties, set[Square](), None, frozenset[Square]()
        if ask:
            shaded = picture.shaded and not closely
            empties, shot, empty = self._bare(picture, pieces, ask, whole=part is None, shaded=shaded)
        if shot is not None and closely and ask - empty:
            pieces, more, light = self._look_closer(picture, pieces, empties, shot, ask - empty)
            empty = (empty | more) - pieces.doubtful - set(pieces.seen)
        self._shot = (empties, shot, frozenset(empty)) if shot is not None else None
        if shot is not None and not picture.shaded:
            self._hindsight.note(picture.pose, shot, ask - empty - pieces.doubtful - picture.vague - set(pieces.seen))
        if part is not None:
            empty |= part.before.empty - ask - pieces.doubtful - set(pieces.seen)
        unknown = frozenset(s for s in rest if s not in pieces.seen and s not in empty) | pieces.doubtful
        tag_px = part.before.tag_px if part else _tag_px(kit, picture.pose)
        look = LastLook(
            kit, picture.pose, pieces.sightings, pieces.placed, frozenset(empty), unknown, asked, tag_px, light
        )
        return self._vote(pieces, look), look

    def _bare(
        self, picture: Located, pieces: _Pieces, ask: set[Square], *, whole: bool, shaded: bool
    ) -> tuple[EmptySquares, Snapshot, set[Square]]:
        """Which of these squares are bare, and the view that tells it: one for a glance where that will do."""
        clear = ask - pieces.doubtful - picture.vague
        if picture.at_a_glance:
            shot = self._snapshot(self._glance, picture, pieces, ask, whole=whole)
            empty = self._glance.empty_among(shot, clear, shaded=shaded)
            if len(ask - empty) <= _FEW:
                return self._glance, shot, empty
        shot = self._snapshot(self._empties, picture, pieces, ask, whole=whole)
        return self._empties, shot, self._empties.empty_among(shot, clear, shaded=shaded)

    def _snapshot(
        self, empties: EmptySquares, picture: Located, pieces: _Pieces, squares: set[Square], *, whole: bool = False
    ) -> Snapshot:
        """These squares of a picture; `whole`: all of the board's, as it has to be the first time."""
        corners = [s.marker for s in pieces.sightings if s.marker in self.kit.board.corners]
        every = whole or not empties.has_looked
        asked = self.kit.board.squares if every and not whole else squares
        bodies = self._placer_of(picture.pose).bodies(pieces.placed, asked)
        return empties.snapshot(picture.luma, picture.pose, corners, bodies, None if every else squares)

    def _plain(self, pose: Pose, empties: EmptySquares, shot: Snapshot, missing: set[Square]) -> frozenset[Square]:
        """Those of these squares on which no marker can lie, for they show nothing dark; of squares so far aside that a
        marker on a piece would be seen half beside its square, none."""
        kit, plain = self.kit, empties.plain_among(shot, missing)
        eye, height = pose.eye_mm, max([1.0, *(face.height_mm for face in kit.faces)])
        most = _HALF_A_TAG * kit.tag_mm * (eye[2] / height - 1)
        return frozenset(square for square in plain if math.dist(eye[:2], kit.board.centre_mm(square)) <= most)

    def _look_closer(
        self, picture: Located, pieces: _Pieces, empties: EmptySquares, shot: Snapshot, missing: set[Square]
    ) -> tuple[_Pieces, set[Square], frozenset[Square]]:
        """The pieces with those that are read from straight above on squares which nothing accounts for, which of these
        are empty after all, and on which nothing is as dark as a marker."""
        bare, plain = set[Square](), self._plain(picture.pose, empties, shot, missing)
        for thoroughly in (False, True):
            more = self._read_closer(picture, pieces, missing - plain, thoroughly=thoroughly)
            if not more:
                break
            better = {sighting.marker for sighting in more}
            every = (*(s for s in pieces.sightings if s.marker not in better), *more)
            pieces = _pieces(self._placer_of(picture.pose), every, picture)
            missing = missing - set(pieces.seen)
            if not missing:
                break
            # What these pieces hide is no longer taken for something that lies there.
            shot = self._snapshot(empties, picture, pieces, missing)
            bare |= empties.empty_among(shot, missing - pieces.doubtful - picture.vague, shaded=False)
            missing = missing - bare
            if not missing:
                break
        rest = missing - pieces.doubtful - picture.vague
        if picture.at_a_glance:
            rest -= empties.unlined_among(shot, rest)  # the next picture is asked about these
        bare |= empties.shaded_among(shot, rest) if picture.shaded else set()
        return pieces, bare, self._closer.light | plain

    def _read_closer(
        self, picture: Located, pieces: _Pieces, missing: set[Square], *, thoroughly: bool
    ) -> tuple[Sighting, ...]:
        """Markers on these squares that no other look has found."""
        # What does not lie as a marker should may have been seen badly.
        shaky = {p.sighting.marker for p in pieces.placed if not (p.fits and p.sure)} - set(pieces.strangers)
        known = {sighting.marker for sighting in pieces.sightings} - shaky
        return self._closer.look(self.kit, picture.pose, picture.luma, known, missing, thoroughly=thoroughly)

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
