"""From a picture to a layout: which face lies on which square, and which squares cannot be told.

Every picture is read on its own (corner markers, pose, piece markers, empty squares); a second look at the board from
straight above reads what the first missed; several still pictures vote. A wrong entry is worse than an unknown one.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from companion.errors import ConfigError
from companion.grid import Square
from companion.kit import Kit, Layout
from companion.ports import Frame, Reading
from vision.cards import CardReader, agreed_fans
from vision.locate import BoardLocator
from vision.markers import Found, Luma, MarkerFinder, Sighting, best_guess, sharpened
from vision.motion import NOWHERE, Motion
from vision.placing import body_mm, faces_on_squares, place_pieces
from vision.pose import LENSES, Lens, Maps, Points, Pose, flat
from vision.squares import EmptySquares

_RETRY_FRAMES = 10
"""After so many still frames squares that stayed unknown are looked at again."""
_SAME_PX = 2.0
"""Poses that differ by less are one."""


@dataclass(frozen=True)
class _Look:
    """What a single picture says."""

    game: str | None
    seen: Mapping[Square, str]
    markers: Mapping[Square, int] = field(default_factory=dict, kw_only=True)
    unknown: frozenset[Square]
    beside: tuple[str, ...] = ()
    strangers: tuple[int, ...] = ()
    fans: Layout = field(default_factory=dict)
    stirred: bool = False
    """Zones of cards are unknown because something moved in them: it has no vote once all is still."""


class BoardReader:
    """Reads frames of one camera; safe to call `use` from another thread.

    `kits` are the kits by game, `model` the camera's name among `LENSES`; `frames` still pictures have to agree;
    `thorough` takes more time for each picture.
    """

    def __init__(
        self, kits: Mapping[str, Kit], model: str = "webcam", frames: int = 3, *, thorough: bool = False
    ) -> None:
        if model not in LENSES:
            raise ConfigError(f"[camera] model “{model}” is unknown: expected one of {', '.join(LENSES)}")
        self._defaults = dict(kits)
        self._active: Kit | None = None
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._frames = frames
        self._finder, self._close_finder = MarkerFinder(thorough=thorough), MarkerFinder(close=True)
        self._locator = BoardLocator(LENSES[model])
        self._motion = Motion()
        self._votes: deque[_Look] = deque(maxlen=frames)
        self._settled: Reading | None = None
        self._since_look = 0
        self._kit: Kit | None = None
        self._pose: Pose | None = None
        self._empties: EmptySquares | None = None
        self._cards: CardReader | None = None
        self._views: tuple[Pose, dict[float, Maps]] | None = None
        self._asked: tuple[Kit | None] | None = None

    @property
    def problem(self) -> str:
        """Why no board was found in the last frame, as a sentence; empty when nothing is known to be wrong."""
        return self._locator.problem

    @property
    def lens(self) -> Lens:
        """The camera's lens as far as the board has told it."""
        return self._locator.lens

    @property
    def pose(self) -> Pose | None:
        """Where the board was in the last frame that was read; None when there was none."""
        return self._pose

    def use(self, kit: Kit | None) -> None:
        """Prefer this kit, and read its game's corner markers as this board; None: whichever board lies there.

        It holds from the next frame on and never waits for the reader.
        """
        with self._asking:
            self._asked = (kit,)

    def read(self, frame: Frame) -> Reading:
        """What is known after this frame. A frame that shows nothing new costs a comparison and no reading."""
        with self._lock:
            if self._asked is not None:
                self._restart()
            stir = self._motion.see(frame.luma)
            self._since_look += 1
            settled = self._settled
            if settled is not None and not stir.moving and not stir.drifted:
                due = bool(settled.unknown) and self._since_look >= _RETRY_FRAMES
                if not due:
                    return replace(settled, at_s=frame.at_s, frame=frame.number)
            return self._read_anew(frame, stir.moving, stir.places)

    def read_picture(self, luma: Luma) -> Reading:
        """What a single (height, width) picture says, without any frame before or after it."""
        with self._lock:
            self._restart()
            look = self._look(luma, still=True)
            told = look.seen, look.unknown, look.beside, look.strangers
            return Reading(*told, game=look.game, fans=look.fans, markers=look.markers)

    # ---- over frames ----

    def _restart(self) -> None:
        with self._asking:
            if self._asked is not None:
                self._active = self._asked[0]
            self._asked = None
        self._settled, self._kit, self._empties = None, None, None
        self._votes.clear()
        self._locator.forget()

    def _read_anew(self, frame: Frame, moving: bool, places: Points) -> Reading:
        before = self._pose
        look = self._look(frame.luma, still=not moving, moving_px=places)
        before = self._pose if _agree(self._pose, before) else before
        self._motion.mark_read()
        self._since_look = 0
        stirred = bool(self._votes) and self._votes[-1].stirred
        if moving or stirred or self._pose is not before:  # what was read with a worse pose has no vote
            self._votes.clear()
            self._settled = None
        self._votes.append(look)
        joined, agreed = _vote(self._votes)
        quiet = agreed and len(self._votes) == self._frames
        reading = Reading(
            joined.seen,
            joined.unknown,
            joined.beside,
            joined.strangers,
            quiet,
            joined.game,
            frame.at_s,
            frame.number,
            joined.fans,
            joined.markers,
        )
        self._settled = reading if quiet else None
        return reading

    # ---- one picture ----

    def _look(self, luma: Luma, still: bool, moving_px: Points = NOWHERE) -> _Look:
        size = (luma.shape[1], luma.shape[0])
        found = self._finder.find(luma)
        kit = self._kit_in_view(found)
        if kit is None:
            return self._blind()
        pose = self._locator.locate(kit, found.sightings, size)
        if pose is not None and still and not kit.deck:
            pose = self._locator.align(luma, kit.board)
        self._pose = pose
        if pose is None:
            return self._blind()
        if kit.deck:
            return self._card_look(luma, kit, pose, found, moving_px)
        if kit is not self._kit or self._empties is None:
            self._kit, self._empties = kit, EmptySquares(kit.board)
        placed, strangers = place_pieces(kit, pose, found.sightings)
        corners = [s.marker for s in found.sightings if s.marker in kit.board.corners]
        shot = self._empties.snapshot(luma, pose, corners, (body_mm(kit, pose, p) for p in placed))
        seen, markers, doubtful = faces_on_squares(placed)
        rest = [s for s in kit.board.squares if s not in seen and s not in kit.board.holes]
        empty = {s for s in rest if s not in doubtful and self._empties.is_empty(shot, s)}
        if still and len(empty) < len(rest):
            more = self._second_look(kit, pose, luma, found, set(rest) - empty)
            if more:
                placed, strangers = place_pieces(kit, pose, found.sightings + more)
                seen, markers, doubtful = faces_on_squares(placed)
                empty -= doubtful | set(seen)
        if still:
            self._empties.learn(shot, empty)
        beside = sorted(p.face.name for p in placed if p.squares == {None})
        unknown = frozenset(s for s in rest if s not in seen and s not in empty) | doubtful
        return _Look(kit.game, seen, unknown, tuple(beside), strangers, markers=markers)

    def _card_look(self, luma: Luma, kit: Kit, pose: Pose, found: Found, moving_px: Points) -> _Look:
        """What a picture of a board of cards says."""
        if self._cards is None or self._cards.kit is not kit:
            self._kit, self._cards = kit, CardReader(kit)
        cards = self._cards.read(luma, pose, moving_px)
        times = Counter(sighting.marker for sighting in found.sightings)
        own = {*kit.board.corners, *self._cards.markers}
        strangers = {m for m in times if m not in own} | {m for m in kit.board.corners if times[m] > 1}
        strangers |= set(cards.strangers)
        beside, stirred = cards.beside, bool(len(moving_px))
        return _Look(kit.game, {}, cards.unknown, beside, tuple(sorted(strangers)), cards.fans, stirred)

    def _blind(self) -> _Look:
        """No board in view: nothing is known of any square."""
        squares = self._active.board.squares if self._active else ()
        return _Look(None, {}, frozenset(squares))

    def _kit_in_view(self, found: Found) -> Kit | None:
        """The kit whose corner markers are seen most, the active one in doubt; the last one when none is seen."""
        seen = {sighting.marker for sighting in found.sightings}
        kits = dict(self._defaults)
        if self._active is not None:
            kits[self._active.game] = self._active
        best = max(kits.values(), key=lambda k: (len(seen & set(k.board.corners)), k is self._active), default=None)
        if best is None or not seen & set(best.board.corners):
            return self._kit
        return best

    def _second_look(
        self, kit: Kit, pose: Pose, luma: Luma, found: Found, open_squares: set[Square]
    ) -> tuple[Sighting, ...]:
        """Markers that only the view from straight above shows, plain or sharpened, or by their likeness."""
        if self._views is None or self._views[0] is not pose:
            self._views = pose, {height: _view_at(kit, pose, height) for height in _heights(kit)}
        known = {sighting.marker for sighting in found.sightings}
        more: dict[int, Sighting] = {}
        for height, maps in self._views[1].items():
            view = maps.rectify(luma)
            wanted = {m for face in kit.faces if face.height_mm == height for m in face.markers} - known - set(more)
            for picture in (view, sharpened(view)):
                hits = self._close_finder.find(picture)
                guesses = _guesses(kit, maps, picture, hits, wanted=wanted, open_squares=open_squares)
                for sighting in (*hits.sightings, *guesses):
                    if sighting.marker in wanted and sighting.marker not in more:
                        corners = flat(maps.to_board(sighting.corners_px), height)
                        more[sighting.marker] = Sighting(sighting.marker, pose.to_px(corners))
        return tuple(more.values())


def _agree(pose: Pose | None, before: Pose | None) -> bool:
    """Do two poses put the board in the same place of the picture?"""
    if pose is before or pose is None or before is None:
        return pose is before
    if pose.size != before.size:
        return False
    middle = before.to_plane(np.array([pose.size]) / 2)[0]
    around = flat(middle + np.array([[-100.0, -100.0], [100.0, -100.0], [100.0, 100.0], [-100.0, 100.0]]))
    return bool(np.abs(pose.to_px(around) - before.to_px(around)).max() < _SAME_PX)


def _heights(kit: Kit) -> list[float]:
    return sorted({face.height_mm for face in kit.faces}, reverse=True)


def _view_at(kit: Kit, pose: Pose, height_mm: float) -> Maps:
    """The board from straight above at the height of a piece's marker: 48 px a square or 44 px a marker, if more."""
    board = kit.board
    scale = max(48 / board.pitch_mm, 44 / kit.tag_mm)
    room = kit.tag_mm / 2
    high = (board.width_mm + room, board.height_mm + room)
    return pose.plane_maps((-room, -room), high, height_mm, scale)


def _guesses(
    kit: Kit, maps: Maps, picture: Luma, hits: Found, *, wanted: Iterable[int], open_squares: set[Square]
) -> list[Sighting]:
    """Quadrangles of a tag's size on squares that are not accounted for, and what they most likely are."""
    side = kit.tag_mm * maps.scale
    found = []
    for quad in hits.rejected:
        sides = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)
        if sides.min() < 0.8 * side or sides.max() > 1.2 * side:
            continue
        x, y = maps.to_board(quad.mean(axis=0)[None])[0]
        if kit.board.square_at(x, y) in open_squares:
            guess = best_guess(picture, quad, wanted)
            if guess is not None:
                found.append(guess)
    return found


def _vote(looks: Iterable[_Look]) -> tuple[_Look, bool]:
    """What several pictures of a still table say together, and whether none contradicts another.

    A face read once counts against unknown (a marker does not decode by chance); against "empty" or another face it
    makes the square unknown.
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
        else:
            unknown.add(square)
            agreed = agreed and not pieces
    beside = max((look.beside for look in all_looks), key=len)
    strangers = set.intersection(*(set(look.strangers) for look in all_looks))
    fans, torn = agreed_fans([look.fans for look in all_looks], unknown)
    hidden = frozenset(unknown | torn)
    return _Look(last.game, seen, hidden, beside, tuple(sorted(strangers)), fans, markers=markers), agreed and not torn
