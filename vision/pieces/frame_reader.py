"""What a single picture says, and what is remembered of it, so that the next need be looked at only where it differs.

The corner markers give the pose, the pose places the pieces' markers, the print tells empty squares; a second look
from straight above reads what the first has missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.cards.reader import CardReader, card_reader
from vision.detection.marker_scan import Scanner, area_of, boxes_of, is_large
from vision.detection.markers import Found, Luma, Sighting
from vision.detection.motion import NOWHERE, Blocks
from vision.detection.rectified_search import RectifiedSearch
from vision.pieces.placing import misprinted_size
from vision.pieces.regions import SquaresUnder, grown, touched_by, with_markers
from vision.pieces.square_judge import Budget, LastLook, Located, Part, SquareJudge
from vision.pieces.tags import tags_of
from vision.pieces.vague_squares import vague_squares
from vision.pieces.voting import Vote
from vision.pose.locator import BoardLocator
from vision.pose.pose import Points, Pose, corner_points_mm, flat, nearest_pose, rough_pose

_UNMOVED_PX = 0.3
"""A corner marker that is found this close to where it was has not moved."""
_PART = 0.35
"""When more than this share of the picture would be looked at again, all of it is."""


class FrameReader:
    """Looks at the pictures of one camera, one after the other.

    `kits` are the kits by game, of which `use` says the one to prefer; the `scanner` finds markers, the `closer` search
    those that it misses, the `locator` tells where the board is.
    """

    def __init__(
        self, kits: Mapping[str, Kit], locator: BoardLocator, scanner: Scanner, closer: RectifiedSearch
    ) -> None:
        self._kits = dict(kits)
        self._active: Kit | None = None
        self._scanner, self._closer = scanner, closer
        self._judge: SquareJudge | None = None
        self._cards: CardReader | None = None
        self._vague: tuple[Pose, frozenset[Square]] | None = None
        self._under: SquaresUnder | None = None
        self._shaded = True
        self.budget = Budget()
        self.locator = locator
        self.kit: Kit | None = None
        """The kit whose board was in view last."""
        self.pose: Pose | None = None
        """Where the board was in the last picture."""
        self.seen: LastLook | None = None
        """What the last look rests on; None: look at all of the next picture."""
        self.looked: Blocks | None = None
        """Which part of the last picture was looked at; None: all of it."""
        self.resigned: frozenset[Square] = frozenset()
        """Unknown squares of which no more is to be learned for the time being."""

    @property
    def misprinted(self) -> float | None:
        """Size of the pieces by that which the board asks for, where it is another one; else None."""
        return misprinted_size(self.seen.placed) if self.seen is not None else None

    @property
    def waiting(self) -> frozenset[Square]:
        """Unknown squares that the last picture's budget left for the next one."""
        return self._judge.waiting if self._judge is not None and self.seen is not None else frozenset()

    @property
    def sureness(self) -> Mapping[Square, float]:
        """How surely each square was read last."""
        return self._judge.sureness if self._judge is not None and self.seen is not None else {}

    def use(self, active: Kit | None) -> None:
        """Prefer this kit from now on, and forget the board and all that was worked out for it."""
        self._active = active
        self.kit, self.seen, self._judge, self._cards = None, None, None, None
        self._vague, self._under = None, None
        self.locator.forget()

    @property
    def vague(self) -> bool:
        """Was the last pose too unsure for some square in view?"""
        pose, vague = self.pose, self._vague
        if pose is None or vague is None or vague[0] is not pose or self.kit is None or pose.markers > 2:
            return False
        board, size = self.kit.board, np.array(pose.size) - 1
        seen = pose.to_px(flat(np.array([board.centre_mm(square) for square in vague[1]]).reshape(-1, 2)))
        return bool(((seen >= 0) & (seen <= size)).all(axis=1).any())

    def shows_board(self, luma: Luma) -> bool:
        """Are two corner markers or more of one board in a picture, at a quick look?"""
        ids = {sighting.marker for sighting in self._at_a_quick_look(luma).sightings}
        return any(len(ids & set(kit.board.corners)) >= 2 for kit in self._kits.values())

    def shows_board_in_place(self, luma: Luma) -> bool:
        """Are they those of the board that was in view last, where they were then?"""
        size = (luma.shape[1], luma.shape[0])
        kit, found = self.kit, self._at_a_quick_look(luma)
        return kit is not None and self.locator.is_in_place(_corners(kit, found), size)

    def _at_a_quick_look(self, luma: Luma) -> Found:
        return self._scanner.quickly(luma) or self._scanner.whole(luma)

    def learn(self) -> None:
        """Remember how the squares that were empty in the last picture look; it was a still one."""
        if self._judge is not None and self.seen is not None:
            self._judge.learn()

    def covered(self, luma: Luma, squares: Collection[Square]) -> frozenset[Square]:
        """Which of these squares of the board that was seen last are covered by what shows no marker."""
        if self.seen is None or self._judge is None or not squares:
            return frozenset()
        return self._judge.covered(luma, self.seen, squares)

    def look(
        self,
        luma: Luma,
        still: bool,
        moving_px: Points = NOWHERE,
        blocks: Blocks | None = None,
        *,
        shaded: bool = True,
    ) -> Vote:
        """What a (height, width) picture says: of all of it, or, when these `blocks` alone have changed since the
        last one, of what may have changed with them. `moving_px` are (N, 2) places where something moves; `shaded`:
        tell bare squares also under shadows with edges.
        """
        self._shaded = shaded
        if blocks is not None and self.seen is not None:
            look = self._look_in_parts(luma, self.seen, blocks, still)
            if look is not None:
                self.looked = grown(blocks)  # next to them things have changed too little to count
                return look
        self.looked = None
        self.resigned = frozenset()
        look = self._look_at_all(luma, still, moving_px)
        if look.game is None:
            self.seen = None
        return look

    def _look_at_all(self, luma: Luma, still: bool, moving_px: Points) -> Vote:
        size = (luma.shape[1], luma.shape[0])
        kit, found, is_full = self._find(luma)
        if kit is None:
            self.pose = None if not found.sightings else self.pose
            return self._blind()
        pose = self.locator.locate(kit, found.sightings, size)
        if pose is not None:
            pose = self.locator.align(luma, kit.board)
        self.pose = pose
        if pose is None:
            return self._blind()
        if kit.deck:
            self.seen = None
            return self._card_look(luma, kit, pose, found, moving_px)
        picture = self._located(luma, kit, pose)
        if self._judge is None or kit is not self.kit:
            self.kit, self._judge, self._cards = kit, SquareJudge(kit, self._closer), None
        look, self.seen = self._judge.judge(picture, found.sightings, closely=still)
        if still and not is_full and not _all_pieces(kit, look.ids):
            # Half the size does not show small markers.
            more = _others(self._scanner.whole(luma).sightings, self.seen.sightings)
            if more:
                look, self.seen = self._judge.judge(picture, (*self.seen.sightings, *more), closely=False)
        return look

    def _find(self, luma: Luma) -> tuple[Kit | None, Found, bool]:
        """Find the kit in view and the markers: in half the size first, in full where that shows too few corners.

        The last value tells whether it was done in full.
        """
        quick, before = self._scanner.quickly(luma), self.pose.markers if self.pose else 0
        least = 2 if is_large(luma) else max(3, before)
        kit = self._kit_in_view(quick) if quick else None
        if quick is not None and kit is not None and len(_corners(kit, quick)) >= least:
            return kit, self._with_corners(luma, kit, quick), False
        found = self._scanner.whole(luma)
        kit = self._kit_in_view(found)
        if kit is None or len(_corners(kit, found)) < 2:
            more = self._scanner.with_effort(luma).sightings
            found = Found((*found.sightings, *_others(more, found.sightings)), found.rejected)
            kit = self._kit_in_view(found)
        return kit, self._with_corners(luma, kit, found) if kit else found, True

    def _with_corners(self, luma: Luma, kit: Kit, found: Found) -> Found:
        """Add corner markers that the picture does not show by itself, when there is one at least to go by."""
        corners = _corners(kit, found)
        if not 1 <= len(corners) < len(kit.board.corners):
            return found
        points_mm = np.vstack([corner_points_mm(kit.board, marker) for marker in corners])
        size = (luma.shape[1], luma.shape[0])
        solve = rough_pose if len(corners) > 2 else nearest_pose
        pose = solve(points_mm, np.vstack(list(corners.values())), self.locator.lens, size)
        more = self._closer.corners(kit.board, pose, luma, corners) if pose else ()
        found = replace(found, sightings=found.sightings + more)
        # A single corner says little about where the others are: a second one tells better.
        return self._with_corners(luma, kit, found) if more and len(corners) == 1 else found

    def _look_in_parts(self, luma: Luma, seen: LastLook, blocks: Blocks, still: bool) -> Vote | None:
        """Look only where something has changed; None when that does not do."""
        if self.locator.is_rough or self._judge is None:
            return None
        kit, pose, board = seen.kit, seen.pose, seen.kit.board
        tag_px = seen.tag_px
        wide = grown(blocks)
        touched = touched_by(wide, seen.sightings)
        boxes = boxes_of(with_markers(wide, touched), 0.5 * tag_px, luma)
        if area_of(boxes) > _PART * luma.size:
            return None
        found = self._scanner.parts(luma, boxes, 0.4 * tag_px).sightings
        lost = {id(sighting) for sighting in touched}
        kept = [sighting for sighting in seen.sightings if id(sighting) not in lost]
        new = tuple(s for s in found if not any(_same(s, other) for other in kept))
        if any(s.marker in k.board.corners for s in new for k in self._kits.values() if k is not kit):
            return None
        before = {s.marker: s for s in touched if s.marker in board.corners}
        is_held = any(s.marker in board.corners for s in kept) and not any(
            s.marker in board.corners and not _unmoved(s, before.get(s.marker)) for s in new
        )
        if not is_held and self.locator.locate(kit, (*kept, *new), (luma.shape[1], luma.shape[0])) is not pose:
            return None
        if self._under is None or self._under.pose is not pose:
            self._under = SquaresUnder(kit, pose)
        paper, standing = self._under.at(blocks)
        asked = paper | (standing - seen.empty)
        asked |= {
            square
            for piece in seen.placed
            if id(piece.sighting) in lost
            for square in piece.squares
            if square is not None
        }
        picture, part = self._located(luma, kit, pose), Part(frozenset(asked), seen, self.resigned)
        look, self.seen = self._judge.judge(picture, (*kept, *new), part, closely=True)
        if not still:
            self.resigned -= self.seen.asked
        return look

    def _located(self, luma: Luma, kit: Kit, pose: Pose) -> Located:
        return Located(luma, pose, self._vague_squares(kit, pose), self.locator.unconfirmed, self._shaded, self.budget)

    def _vague_squares(self, kit: Kit, pose: Pose) -> frozenset[Square]:
        """The squares of which the pose is not sure enough to say that nothing lies there."""
        if self._vague is None or self._vague[0] is not pose:
            self._vague = pose, self.locator.unconfirmed | vague_squares(kit.board, pose)
        return self._vague[1]

    def _card_look(self, luma: Luma, kit: Kit, pose: Pose, found: Found, moving_px: Points) -> Vote:
        """What a picture of a board of cards says."""
        if self._cards is None or self._cards.kit is not kit:
            self.kit, self._cards, self._judge = kit, card_reader(kit), None
        cards = self._cards.read(luma, pose, moving_px)
        times = Counter(sighting.marker for sighting in found.sightings)
        own = {*kit.board.corners, *self._cards.markers}
        strangers = {m for m in times if m not in own} | {m for m in kit.board.corners if times[m] > 1}
        strangers |= set(cards.strangers)
        beside, stirred = cards.beside, bool(len(moving_px))
        vague = self._vague_squares(kit, pose) & set(self._cards.zones)
        fans = {zone: cards for zone, cards in cards.fans.items() if zone not in vague}
        return Vote(kit.game, {}, cards.unknown | vague, beside, tuple(sorted(strangers)), fans, stirred=stirred)

    def _blind(self) -> Vote:
        """No board in view: nothing is known of any square."""
        squares = self._active.board.squares if self._active else ()
        return Vote(None, {}, frozenset(squares))

    def _kit_in_view(self, found: Found) -> Kit | None:
        """The kit whose corner markers are seen most, the active one in doubt; the last one when none is seen."""
        seen = {sighting.marker for sighting in found.sightings}
        kits = dict(self._kits)
        if self._active is not None:
            kits[self._active.game] = self._active
        best = max(kits.values(), key=lambda k: (len(seen & set(k.board.corners)), k is self._active), default=None)
        if best is None or not seen & set(best.board.corners):
            return self.kit
        return best


def _corners(kit: Kit, found: Found) -> dict[int, Points]:
    """Places (4, 2) of the board's corner markers that were found, by id."""
    return {s.marker: s.corners_px for s in found.sightings if s.marker in kit.board.corners}


def _all_pieces(kit: Kit, ids: frozenset[int]) -> bool:
    """Tell whether a marker of each piece is among these."""
    return all(any(marker in ids for _, marker in tag) for tag in tags_of(kit))


def _same(one: Sighting, other: Sighting) -> bool:
    """Are these one marker in one place?"""
    return one.marker == other.marker and bool(np.abs(one.centre_px - other.centre_px).max() < other.side_px / 2)


def _unmoved(now: Sighting, before: Sighting | None) -> bool:
    """Is a marker where it was?"""
    return before is not None and bool(np.abs(now.corners_px - before.corners_px).max() <= _UNMOVED_PX)


def _others(sightings: Iterable[Sighting], known: Collection[Sighting]) -> tuple[Sighting, ...]:
    """Those whose markers are not known yet."""
    ids = {sighting.marker for sighting in known}
    return tuple(sighting for sighting in sightings if sighting.marker not in ids)
