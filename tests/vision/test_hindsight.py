"""Bare squares in a shadow are settled as soon as others, and are not said to be empty any sooner than they are."""

import pytest

from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.ports import Reading
from companion.games import GAMES
from vision.pieces.board_reader import board_reader
from vision.pieces.empty_squares import EmptySquares
from vision.pieces.hindsight import Hindsight
from vision.pieces.voting import Vote, Votes
from vision.simulation.render import camera_pose
from vision.simulation.table import RenderedCamera, SimulatedTable
from vision.simulation.view import View

KIT = GAMES["outbuffered"].kit(GAMES["outbuffered"].options({}))
B2, B4, C2 = (Square.parse(name) for name in ("b2", "b4", "c2"))
PIECE = "purple robot"
BLIND = View(width=1920, height=1080, tilt_deg=20.0, blind=(36.0, 15.0, 0.4))


class Shaded:
    """A table under a window's blind, a piece on b4, and a reader."""

    def __init__(self) -> None:
        self.table = SimulatedTable(KIT, BLIND)
        self.table.set_up({B4: (PIECE,)})
        self._camera = RenderedCamera(self.table, FakeClock())
        self._reader = board_reader({KIT.game: KIT})

    def read(self, times: int = 1) -> Reading:
        for _ in range(times - 1):
            self._reader.read(self._camera.frame())
        return self._reader.read(self._camera.frame())

    def carry(self, square: Square, by_way_of: tuple[Square, ...]) -> Reading:
        """A hand takes the piece, is over other squares, puts it down and goes: the first picture without it."""
        for place in (B4, *by_way_of):
            self.table.hold_hand(place)
            self.read()
        self.table.move_to(next(p.id for p in self.table.pieces() if p.square == B4), square)
        self.table.hold_hand(square)
        self.read()
        self.table.hold_hand(None)
        return self.read()


@pytest.mark.parametrize("by_way_of", [(), (Square.parse("c1"),)])
def test_a_square_in_a_shadow_is_settled_as_soon_as_the_piece_that_left_it(by_way_of: tuple[Square, ...]) -> None:
    shaded = Shaded()
    assert shaded.read(4).seen == {B4: PIECE}
    first = shaded.carry(C2, by_way_of)
    assert not first.quiet
    assert B4 in first.unknown, "shadows are looked into when nothing moves"
    second = shaded.read()
    assert second.quiet
    assert second.seen == {C2: PIECE}
    assert B4 not in second.unknown


def test_what_another_picture_hid_is_not_empty_in_hindsight() -> None:
    pose, empties, kept = camera_pose(KIT, BLIND), EmptySquares(KIT.board), Hindsight()
    table = SimulatedTable(KIT, BLIND)
    table.set_up({B4: (PIECE,)})
    corners = KIT.board.corners
    hidden = empties.snapshot(table.render_luma(), pose, corners, ())
    table.set_up({})
    bare = empties.snapshot(table.render_luma(), pose, corners, ())
    assert B4 in empties.empty_among(bare, {B4})
    kept.note(pose, hidden, {B2, B4})
    assert kept.empty_before(empties, pose, {B2, B4}) == {B2}
    assert kept.empty_before(empties, pose, {B2, B4}) == frozenset(), "asked once"
    kept.note(pose, hidden, {B4})
    kept.note(pose, bare, {B4})
    assert kept.empty_before(empties, pose, {B4}) == {B4}, "the later picture counts"
    kept.note(pose, bare, {B4})
    kept.note(pose, hidden, ())
    assert kept.empty_before(empties, pose, {B4}) == frozenset(), "what had a verdict later is not asked"
    kept.note(pose, bare, {B2, B4})
    assert kept.empty_before(empties, camera_pose(KIT, BLIND), {B4}) == frozenset(), "the board lies elsewhere"


def test_a_vote_is_amended_by_hindsight_and_no_other() -> None:
    one = Vote("outbuffered", {C2: PIECE}, frozenset({B2, B4}), markers={C2: 10})
    other = Vote("outbuffered", {C2: PIECE}, frozenset(), markers={C2: 10}, empty_before=frozenset({B4}))
    votes = Votes(3)
    votes.add(one)
    assert votes.add(other)[0].unknown == {B2}
    fresh = Votes(3)
    assert fresh.add(other)[0].unknown == frozenset(), "before the first there is none"
