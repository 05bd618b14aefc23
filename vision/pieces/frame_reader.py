"""What a single picture says, and what is remembered of it, so that the next need be looked at only where it differs.

The corner markers give the pose, the pose places the pieces' markers, the print tells empty squares; a second look
from straight above reads what the first has missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from companion.core.grid import Square
from companion.core.kit import Kit
from vision.cards.reader import CardReader, card_reader
from vision.detection.marker_scan import Scanner, area_of, boxes_of, is_large, is_soft, large_px, on_edges
from vision.detection.markers import Found, Luma, Sighting, is_one_tone, resembles_marker
from vision.detection.motion import BLOCK_PX, NOWHERE, Blocks
from vision.detection.rectified_search import RectifiedSearch
from vision.pieces.regions import SquaresUnder, blocks_over, grown, touched_by, with_markers
from vision.pieces.square_judge import LastLook, Located, Part, SquareJudge
from vision.pieces.tags import tags_of
from vision.pieces.vague_squares import vague_squares
from vision.pieces.voting import Vote
from vision.pose.locator import BoardLocator
from vision.pose.pose import Points, Pose, corner_points_mm, flat, nearest_pose, rough_pose

_UNMOVED_PX = 0.3
"""A corner marker that is found this close to where it was has not moved."""
_LIKE_A_TAG = 0.5, 1.7
"""Sides of what may be a piece's marker, by those of one in the middle of the board."""
_MISSED_SHARE = 0.15
"""When the first look misses more than this share of the markers, and not one alone, the picture is a hard one."""
_CERTAINLY = 1.15
"""A piece may be so much smaller in the picture than the board's smallest corner lets expect."""
_MOST_BESIDE = 12
"""So many places beside the board are looked at more closely: a newspaper is full of what might be one."""
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
        self._edges: dict[int, tuple[Points, Points]] = {}
        self._shaded = True
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
    def sureness(self) -> Mapping[Square, float]:
        """How surely each square was read last."""
        return self._judge.sureness if self._judge is not None and self.seen is not None else {}

    def use(self, active: Kit | None) -> None:
        """Prefer this kit from now on, and forget the board and all that was worked out for it."""
        self._active = active
        self.kit, self.seen, self._judge, self._cards = None, None, None, None
        self._vague, self._under = None, None
        self._edges.clear()
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
                return self._with_hindsight(look)
        self.looked = None
        self.resigned = frozenset()
        look = self._look_at_all(luma, still, moving_px)
        if look.game is None:
            self.seen = None
        return self._with_hindsight(look)

    def _with_hindsight(self, look: Vote) -> Vote:
        """With what the picture before would have told, had it been asked as closely."""
        if not self._shaded or self.seen is None or self._judge is None:
            return look
        return self._judge.with_hindsight(look, self.seen)

    def _look_at_all(self, luma: Luma, still: bool, moving_px: Points) -> Vote:
        size = (luma.shape[1], luma.shape[0])
        kit, found, is_all = self._find(luma, still)
        if kit is None:
            self.pose = None if not found.sightings else self.pose
            return self._blind()
        sightings = self._precise(luma, kit, found.sightings)
        pose = self.locator.locate(kit, sightings, size)
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
            picture = replace(picture, at_a_glance=self._shaded and not is_large(luma))
        look, self.seen = self._judge.judge(picture, sightings, closely=still)
        if still and not _all_pieces(kit, look.ids):
            seen = self.seen.sightings
            like = self._like_markers(self.seen, found)
            is_hard = self._is_hard(luma, self.seen, found, like)
            every = self._scanner.whole(luma).sightings if is_hard and not is_all else ()
            twins = _seen_again(kit, every, seen)
            if twins and self.locator.locate(kit, self._precise(luma, kit, (*seen, *twins)), size) is not pose:
                self.seen, self.pose = None, None
                return self._blind()  # another copy was read; which one counts is told in the next picture
            whole = _others(every, seen)
            slow = self._scanner.with_effort(luma).sightings if is_hard else self._at_unknown(luma, self.seen, like)
            more = (*whole, *_others(slow, (*seen, *whole)))
            if more:
                picture = replace(picture, at_a_glance=False)
                look, self.seen = self._judge.judge(picture, (*seen, *more), closely=False)
        return look

    @staticmethod
    def _is_hard(luma: Luma, seen: LastLook, found: Found, like: Points) -> bool:
        """Did the first look miss markers that a closer one found, is it blurred, or is one of the quadrangles `like`
        pieces' markers, (N, 4, 2), one?

        Then all of it is looked at again, else only the unknown squares are: pieces that are not there are no reason.
        """
        first = {sighting.marker for sighting in found.sightings if sighting.score == 1.0}
        missed = sum(sighting.marker not in first for sighting in seen.sightings)
        if missed > max(_MISSED_SHARE * len(seen.sightings), 1) or is_soft(
            luma, list(_corners(seen.kit, found).values())
        ):
            return True
        return any(resembles_marker(luma, quad) for quad in like)

    @staticmethod
    def _like_markers(seen: LastLook, found: Found) -> Points:
        """(N, 4, 2): quadrangles as large as pieces' markers where none has been found."""
        quads = found.rejected
        sides = np.sqrt(((quads - quads[:, [1, 2, 3, 0]]) ** 2).sum(axis=2))
        is_like = (sides.min(axis=1) >= _LIKE_A_TAG[0] * seen.tag_px) & (
            sides.max(axis=1) <= _LIKE_A_TAG[1] * seen.tag_px
        )
        quads = quads[is_like]
        known = np.array([sighting.centre_px for sighting in seen.sightings]).reshape(-1, 2)
        away = np.abs(quads.mean(axis=1)[:, None] - known).max(axis=2).min(axis=1, initial=np.inf)
        return np.asarray(quads[away >= 0.7 * seen.tag_px])

    def _at_unknown(self, luma: Luma, seen: LastLook, like: Points) -> tuple[Sighting, ...]:
        """Markers on and round the unknown squares that are dark enough which no other look has found, and beside the
        board where something is `like` one, (N, 4, 2): worn and bent ones."""
        board, middles = seen.kit.board, like.mean(axis=1)
        is_beside = [board.square_at(float(x), float(y)) is None for x, y in seen.pose.to_plane(middles, 0.0)]
        printed = (quad for quad in like[np.array(is_beside, bool)] if not is_one_tone(luma, quad))
        beside = [Sighting(-1, quad) for quad in islice(printed, _MOST_BESIDE)]
        unknown = seen.unknown - seen.light
        if not unknown and not beside:
            return ()
        height, width = luma.shape
        shape = -(-height // BLOCK_PX), -(-width // BLOCK_PX)
        blocks = with_markers(blocks_over(seen.kit, seen.pose, unknown, shape), beside)
        more: list[Sighting] = []
        for box in boxes_of(blocks, 0.5 * seen.tag_px, luma):
            slow = self._scanner.parts(luma, [box], 0.4 * seen.tag_px, slowly=True).sightings
            more += _others(slow, (*seen.sightings, *more))
        return tuple(more)

    def _find(self, luma: Luma, still: bool) -> tuple[Kit | None, Found, bool]:
        """The kit in view and the markers; False: perhaps not all of them. A single corner marker of a board that lies
        `still` is worth the time to look for a second one."""
        is_cards = self.kit is not None and self.kit.deck is not None
        if (at_once := self._at_once(luma)) is not None:
            return *at_once, False
        found = self._scanner.whole(luma)
        kit = self._kit_in_view(found)
        if not is_cards and (kit is None or len(_corners(kit, found)) < 2):
            more = self._scanner.with_effort(luma).sightings
            found = Found((*found.sightings, *_others(more, found.sightings)), found.rejected)
            kit = self._kit_in_view(found)
            if still and kit and not kit.deck and len(_corners(kit, found)) == 1:
                more = self._scanner.patiently(luma).sightings
                found = Found((*found.sightings, *_others(more, found.sightings)), found.rejected)
        return kit, self._with_corners(luma, kit, found) if kit else found, True

    def _at_once(self, luma: Luma) -> tuple[Kit, Found] | None:
        """The kit in view and most of its markers, by a quick look; None when that shows too little. Of a kit of cards
        all corner markers of its board, which are all that is looked for in the whole picture then."""
        known = self.kit or self._active
        may_be_cards = any(kit.deck for kit in ((known,) if known else self._kits.values()))
        large = self._scanner.largest(luma) if may_be_cards else None
        kit = self._kit_in_view(large) if large else None
        if large and kit and kit.deck and len(_corners(kit, large)) >= 2:
            found = self._with_corners(luma, kit, large)
            return (kit, found) if len(_corners(kit, found)) == len(kit.board.corners) else None
        if large and kit and _shows_pieces(kit, large, large_px(luma)):
            return kit, self._with_corners(luma, kit, large)
        quick, before = self._scanner.quickly(luma), self.pose.markers if self.pose else 0
        least = 2 if is_large(luma) else max(3, before)
        kit = self._kit_in_view(quick) if quick else None
        if quick is None or kit is None or (kit.deck and large) or len(_corners(kit, quick)) < least:
            return None
        return kit, self._with_corners(luma, kit, quick)

    def _with_corners(self, luma: Luma, kit: Kit, found: Found) -> Found:
        """Add corner markers that the picture does not show by itself, when there are two at least to go by."""
        corners = _corners(kit, found)
        if not 2 <= len(corners) < len(kit.board.corners):
            return found
        points_mm = np.vstack([corner_points_mm(kit.board, marker) for marker in corners])
        size = (luma.shape[1], luma.shape[0])
        solve = rough_pose if len(corners) > 2 else nearest_pose
        pose = solve(points_mm, np.vstack(list(corners.values())), self.locator.lens, size)
        more = self._closer.corners(kit.board, pose, luma, corners) if pose else ()
        return replace(found, sightings=found.sightings + more)

    def _precise(self, luma: Luma, kit: Kit, sightings: Iterable[Sighting]) -> tuple[Sighting, ...]:
        """The same with the board's corner markers where their edges are; one that shows none is left out beside three
        that do."""
        found = tuple(sightings)
        corners = [s for s in found if s.marker in kit.board.corners]
        edges = {id(s): px for s, px in zip(corners, self._edges_of(luma, corners), strict=True)}
        precise = [replace(s, corners_px=px) for s in found if (px := edges.get(id(s))) is not None]
        rough = [s for s in found if id(s) in edges and edges[id(s)] is None] if len(precise) < 3 else []
        return (*(s for s in found if id(s) not in edges), *precise, *rough)

    def _edges_of(self, luma: Luma, corners: Sequence[Sighting]) -> list[Points | None]:
        """As `on_edges` says; a marker that is found where it was has its edges where they were."""
        edges = [self._known_edges(corner) for corner in corners]
        new = [number for number, px in enumerate(edges) if px is None]
        for number, px in zip(new, on_edges(luma, [corners[number].corners_px for number in new]), strict=True):
            edges[number] = px
            if px is not None:
                self._edges[corners[number].marker] = corners[number].corners_px, px
        return edges

    def _known_edges(self, corner: Sighting) -> Points | None:
        known = self._edges.get(corner.marker)
        is_unmoved = known is not None and np.abs(known[0] - corner.corners_px).max() <= _UNMOVED_PX
        return known[1] if known is not None and is_unmoved else None

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
        new = self._precise(luma, kit, (s for s in found if not any(_same(s, other) for other in kept)))
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
        if still and (look.unknown & self.seen.asked) - self.resigned:
            slow = self._scanner.parts(luma, boxes, 0.4 * tag_px, slowly=True).sightings
            more = tuple(s for s in slow if s.marker not in look.ids)
            if more:
                part = Part(self.seen.asked, self.seen, self.resigned)
                look, self.seen = self._judge.judge(picture, (*self.seen.sightings, *more), part, closely=False)
        return look

    def _located(self, luma: Luma, kit: Kit, pose: Pose) -> Located:
        return Located(luma, pose, self._vague_squares(kit, pose), self.locator.unconfirmed, self._shaded)

    def _vague_squares(self, kit: Kit, pose: Pose) -> frozenset[Square]:
        """The squares of which the pose is not sure enough to say that nothing lies there."""
        if self._vague is None or self._vague[0] is not pose:
            self._vague = pose, self.locator.unconfirmed | vague_squares(kit.board, pose)
        return self._vague[1]

    def _card_look(self, luma: Luma, kit: Kit, pose: Pose, found: Found, moving_px: Points) -> Vote:
        """What a picture of a board of cards says."""
        if self._cards is None or self._cards.kit is not kit:
            self.kit, self._cards, self._judge = kit, card_reader(kit), None
        cards = self._cards.read(luma, pose, moving_px, found.small)
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


def _shows_pieces(kit: Kit, found: Found, least_px: float) -> bool:
    """Would markers whose sides are no shorter than `least_px` be all of the board's pieces, by its corners?"""
    corners = [s.side_px for s in found.sightings if s.marker in kit.board.corners]
    return len(corners) > 2 and min(corners) * kit.tag_mm / kit.board.corner_mm >= _CERTAINLY * least_px


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


def _seen_again(kit: Kit, sightings: Iterable[Sighting], known: Collection[Sighting]) -> tuple[Sighting, ...]:
    """Corner markers that are known from elsewhere in the picture."""
    corners = set(kit.board.corners) & {sighting.marker for sighting in known}
    return tuple(s for s in sightings if s.marker in corners and not any(_same(s, other) for other in known))


def _all_pieces(kit: Kit, ids: frozenset[int]) -> bool:
    """Is a marker of each piece among these?"""
    return all(any(marker in ids for _, marker in tag) for tag in tags_of(kit))
