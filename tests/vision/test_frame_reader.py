"""What is looked at again and what is not, how few looks settle a board, and things that are no pieces."""

import weakref
from dataclasses import replace
from random import Random
from typing import Any

import cv2
import numpy as np
import pytest
from bench.reading.scenery import changed_view
from bench.reading.scenes import layout_of

from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.kit import Kit, Layout
from companion.core.ports import Frame, Reading
from companion.games import GAMES
from companion.printing.printed_kit import printed_table
from vision.detection.markers import MarkerFinder, boxes_of, without_shadows
from vision.detection.rectified_search import lost_corners
from vision.detection.stillness import BLOCK_PX, Background
from vision.pieces.regions import blocks_over, squares_under
from vision.pose.pose import flat
from vision.reading import detect, judge
from vision.reading.board_reader import board_reader
from vision.reading.look import Vote
from vision.reading.motion import compare, mark_read
from vision.reading.vote import settled_by
from vision.simulation.render import camera_pose
from vision.simulation.table import RenderedCamera
from vision.simulation.view import View

ARENA: Kit = GAMES["arena"].kit(GAMES["arena"].options({}))
A1, B2, B7, C3, E5, H8 = (Square.parse(name) for name in ("a1", "b2", "b7", "c3", "e5", "h8"))
LAYOUT: Layout = {
    A1: ("petrol robot 1",),
    C3: ("petrol robot 2",),
    H8: ("coral robot 3",),
}


class Seen:
    """A rendered table at 1080p, its camera and a reader."""

    def __init__(self, kit: Kit = ARENA, layout: Layout = LAYOUT, **view: Any) -> None:
        self.kit = kit
        self.table = printed_table(kit, changed_view(View(width=1920, height=1080), view))
        self.table.set_up(layout)
        self.camera = RenderedCamera(self.table, FakeClock())
        self.reader = board_reader({kit.game: kit})

    def read(self, frames: int = 1) -> Reading:
        for _ in range(frames - 1):
            self.reader.read(self.camera.frame())
        return self.reader.read(self.camera.frame())

    def piece(self, face: str) -> int:
        return next(p.id for p in self.table.pieces() if p.face == face)


def faces(layout: Layout) -> dict[Square, str]:
    return {square: names[-1] for square, names in layout.items()}


# ---- what is looked at -------------------------------------------------------------------------------------------


def test_after_one_piece_has_moved_only_squares_near_it_are_judged_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = Seen()
    seen.read(4)
    judged: list[set[Square]] = []
    whole = judge.empty_among

    def spy(bare: Any, board: Any, shot: Any, squares: Any) -> set[Square]:
        judged.append(set(squares))
        return whole(bare, board, shot, squares)

    monkeypatch.setattr(judge, "empty_among", spy)
    monkeypatch.setattr(detect, "_in_all", lambda *_: pytest.fail("the whole picture was searched"))
    seen.table.move_to(seen.piece("petrol robot 2"), E5)
    reading = seen.read()
    assert reading.seen == {A1: "petrol robot 1", E5: "petrol robot 2", H8: "coral robot 3"}
    assert C3 not in reading.unknown
    squares = set[Square]().union(*judged)
    assert C3 in squares
    assert len(squares) < 20, f"of 81: {sorted(map(str, squares))}"


@pytest.mark.parametrize("game", ["outbuffered", "scouts", "arena"])
def test_a_first_picture_in_which_all_is_large_is_not_searched_at_its_full_size(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kits = {name: rules.kit(rules.options({})) for name, rules in GAMES.items()}
    monkeypatch.setattr(
        detect, "MarkerFinder", lambda **_: pytest.fail("the whole picture was searched")
    )
    table = printed_table(kits[game], View(width=1280, height=720))
    table.set_up(layout_of(kits[game], Random(game), 1.0, 1.0))
    reading = board_reader(kits).read_picture(table.render_luma())
    assert reading.game == game
    assert len(set(reading.markers.values())) == len(kits[game].pieces)


def test_a_square_is_judged_anew_when_the_hand_leaves_the_piece_that_hides_its_edge() -> None:
    kit = GAMES["kahmate"].kit(GAMES["kahmate"].options({}))
    g6, g7, g9 = map(Square.parse, ("g6", "g7", "g9"))
    seen = Seen(kit, {g6: ("blue tough",), g7: ("pink tough",), g9: ("ball",)})
    seen.table.nudge(seen.piece("pink tough"), 0.0, -2.5)
    seen.read(4)
    seen.table.hold_hand(g9)
    seen.read()
    for face in ("blue tough", "ball"):
        seen.table.move_to(seen.piece(face), g9)
    assert {g6, g7} <= seen.read(3).unknown
    seen.table.hold_hand(None)
    reading = seen.read(3)
    assert reading.quiet
    assert reading.seen == {g7: "pink tough", g9: "ball"}
    assert reading.unknown == frozenset()


def test_a_frame_that_is_all_different_is_looked_at_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = Seen()
    seen.read(4)
    calls: list[object] = []
    quickly = detect.scan_quickly
    monkeypatch.setattr(detect, "scan_quickly", lambda luma: calls.append(luma) or quickly(luma))
    seen.table.hold_view(shift_mm=(9.0, 4.0), board_turn_deg=3.0)
    assert dict(seen.read().seen) == faces(LAYOUT)
    assert len(calls) == 1


def test_a_bump_is_noticed_although_nearly_all_of_a_noisy_picture_moves() -> None:
    """The noise must not be measured by what has moved."""
    seen = Seen(light=0.45, noise=3.0)
    seen.read(4)
    seen.table.hold_view(shift_mm=(-7.8, -3.8))
    assert not seen.read().quiet


@pytest.mark.parametrize("turn", [0.0, 180.0])
def test_a_board_that_is_turned_round_keeps_its_south(turn: float) -> None:
    """The pose comes from the corner markers' ids, not from where they are in the picture."""
    seen = Seen(board_turn_deg=turn)
    assert dict(seen.read(3).seen) == faces(LAYOUT)
    seen.table.hold_view(board_turn_deg=180.0 - turn)
    assert dict(seen.read().seen) == faces(LAYOUT)
    assert seen.read(2).quiet


def test_a_lamp_that_is_switched_on_makes_no_square_unknown() -> None:
    seen = Seen(light=0.6)
    seen.read(4)
    seen.table.hold_view(light=1.0)
    reading = seen.read(3)
    assert reading.quiet
    assert dict(reading.seen) == faces(LAYOUT)
    assert len(reading.unknown) <= 1


def test_bands_of_a_flickering_lamp_are_no_movement() -> None:
    even = np.full((720, 1280), 150, np.uint8)
    rows = (5 * np.sin(np.arange(720) / 60))[:, None].round()
    _, background = compare(Background(), even)
    movement, background = compare(mark_read(background), (even + rows).astype(np.uint8))
    assert not movement.moving
    hand = (even - rows).astype(np.uint8)
    hand[300:420, 500:700] = 90
    movement, _ = compare(background, hand)
    assert movement.moving
    assert movement.places is not None
    assert np.abs(movement.places - (600, 360)).max() <= 104


def test_what_touches_or_hides_a_corner_marker_in_part_bends_neither_pose_nor_lens() -> None:
    kit = GAMES["kahmate"].kit(GAMES["kahmate"].options({}))
    h1 = Square.parse("h1")
    seen = Seen(kit, {h1: ("blue fast",), Square.parse("d6"): ("pink tough",)})
    seen.table.nudge(seen.piece("blue fast"), 0.0, -8.0)
    board = kit.board
    across, along = np.meshgrid(
        np.linspace(0, board.width_mm, 5), np.linspace(0, board.height_mm, 5)
    )
    places = flat(np.column_stack([across.ravel(), along.ravel()]))
    true_px = camera_pose(kit, seen.table.view).to_px(places)
    for hand in ("h1", "a1", "h11", "b1", "a11", "g2", "g1", "c1"):
        seen.table.hold_hand(Square.parse(hand))
        seen.read(2)
        seen.table.hold_hand(None)
        seen.read(2)
        assert seen.reader.pose is not None
        assert np.abs(seen.reader.pose.to_px(places) - true_px).max() < 2.5
    assert abs(seen.reader.seen.lens.k1) < 0.02


def test_blocks_and_squares_belong_together() -> None:
    pose = camera_pose(ARENA, View(width=1920, height=1080, tilt_deg=45.0))
    blocks = blocks_over(ARENA, pose, [E5], (135, 240))
    paper, standing = squares_under(ARENA, pose, blocks)
    assert E5 in paper
    assert paper <= standing
    assert len(standing) <= 12
    (box,) = boxes_of(blocks, 10.0, np.zeros((1080, 1920), np.uint8))
    x, y = pose.to_px(flat(np.array([ARENA.board.centre_mm(E5)])))[0]
    assert box[0].start < y < box[0].stop
    assert box[1].start < x < box[1].stop
    assert (box[0].stop - box[0].start) % BLOCK_PX == 0


# ---- how soon a board is settled -----------------------------------------------------------------------------------


def look(seen: dict[Square, str], markers: dict[Square, int], **more: Any) -> Vote:
    return Vote("arena", seen, more.pop("unknown", frozenset()), markers=markers, **more)


def settled(*looks: Vote) -> list[bool]:
    """After a board with one piece on a1 (marker 54) was settled, is it settled again after each of these looks?"""
    before = look({A1: "one"}, {A1: 54})
    assert [settled_by((before,) * number, None, 3)[1] for number in (1, 2, 3)] == [
        False,
        False,
        True,
    ]
    return [settled_by(looks[: number + 1], before, 3)[1] for number in range(len(looks))]


def test_two_looks_settle_a_piece_that_moved_and_three_one_that_is_gone() -> None:
    moved = look({B2: "one"}, {B2: 54})
    assert settled(moved, moved) == [False, True]
    put = look({A1: "one", B2: "two"}, {A1: 54, B2: 55})
    assert settled(put, put) == [False, True]
    gone = look({}, {})
    assert settled(gone, gone, gone) == [False, False, True]


def test_two_looks_do_not_settle_what_was_told_by_likeness_alone() -> None:
    guessed = look({A1: "one", B2: "two"}, {A1: 54, B2: 55}, guessed=frozenset({B2}))
    assert settled(guessed, guessed, guessed) == [False, False, True]


def test_looks_that_contradict_each_other_settle_nothing() -> None:
    put, other = look({A1: "one", B2: "two"}, {A1: 54, B2: 55}), look({A1: "one"}, {A1: 54})
    assert settled(put, other, put) == [False, False, False]


def test_a_square_that_was_hidden_at_first_is_empty_when_the_last_two_of_three_looks_say_so() -> (
    None
):
    hidden = look({A1: "one"}, {A1: 54}, unknown=frozenset({B2}))
    bare = look({A1: "one"}, {A1: 54})
    looks = (hidden, bare, bare)
    unknown = [settled_by(looks[:number], None, 3)[0].unknown for number in (1, 2, 3)]
    assert unknown == [frozenset({B2}), frozenset({B2}), frozenset()]


# ---- hard markers --------------------------------------------------------------------------------------------------


def test_a_blind_of_sharp_shadows_hides_no_marker() -> None:
    seen = Seen(blind=(70.0, 14.0, 0.65))
    luma = seen.table.render_luma()
    assert dict(seen.reader.read_picture(luma).seen) == faces(LAYOUT)
    plain, evened = (
        len(MarkerFinder().find(picture).sightings) for picture in (luma, without_shadows(luma, 25))
    )
    assert evened > plain


def test_corner_markers_that_are_too_soft_for_the_picture_are_found_from_above() -> None:
    table = printed_table(ARENA, View(width=1920, height=1080, defocus_px=3.5))
    luma, true = table.render_luma(), camera_pose(ARENA, table.view)
    seen = ARENA.board.corners[:2]
    found = lost_corners(ARENA.board, true, luma, seen)
    assert {sighting.marker for sighting in found} == set(ARENA.board.corners[2:])


# ---- how surely, and what is no piece -------------------------------------------------------------------------------


def test_the_reader_tells_how_surely_each_square_was_read() -> None:
    seen = Seen()
    assert seen.reader.seen.sureness == {}
    seen.table.hold_hand(E5)
    reading = seen.read(4)
    sure = seen.reader.seen.sureness
    assert set(sure) == set(ARENA.board.squares) - ARENA.board.holes
    assert sure[A1] == 1.0
    assert sure[E5] == 0.0
    assert E5 in reading.unknown
    assert seen.reader.seen.kit is ARENA


def with_cup(frame: Frame, seen: Seen, square: Square) -> Frame:
    """A round thing, 50 mm high, stands on a square."""
    luma, pose = frame.luma.copy(), camera_pose(seen.kit, seen.table.view)
    x, y = seen.kit.board.centre_mm(square)
    angles = np.linspace(0, 2 * np.pi, 40)
    rim = np.column_stack([x + 13 * np.cos(angles), y + 13 * np.sin(angles)])
    for z_mm, grey in ((0.0, 80), (50.0, 120)):
        cv2.fillPoly(luma, [pose.to_px(flat(rim, z_mm)).astype(np.int32)], grey)
    return replace(frame, luma=luma)


def test_a_cup_is_told_from_a_hand_and_from_an_empty_square() -> None:
    seen = Seen(tilt_deg=20.0)
    assert seen.read(4).unknown == frozenset()
    readings = [seen.reader.read(with_cup(seen.camera.frame(), seen, E5)) for _ in range(16)]
    assert all(E5 in reading.unknown for reading in readings)
    assert readings[4].foreign == frozenset(), "it may still be a hand"
    assert E5 in readings[-1].foreign
    assert readings[-1].foreign <= readings[-1].unknown
    assert readings[-1] != replace(readings[-1], foreign=frozenset())
    assert seen.read(4).foreign == frozenset()


@pytest.mark.parametrize("square", ["a1", "b2", "e5", "h8", "i9"])
def test_a_hand_that_rests_is_no_thing(square: str) -> None:
    seen = Seen(tilt_deg=20.0)
    seen.read(4)
    seen.table.hold_hand(Square.parse(square))
    reading = seen.read(16)
    assert reading.unknown
    assert reading.foreign == frozenset()


def test_a_piece_whose_marker_cannot_be_read_is_no_thing() -> None:
    seen = Seen(tilt_deg=20.0)
    seen.read(4)
    seen.table.hold_hand(None)
    seen.table.move_to(seen.piece("petrol robot 2"), E5)
    pose = camera_pose(ARENA, seen.table.view)

    def damaged(frame: Frame) -> Frame:
        luma = frame.luma.copy()
        x, y = pose.to_px(flat(np.array([ARENA.board.centre_mm(E5)]), 6.0))[0].astype(int)
        luma[y - 9 : y + 9, x - 9 : x + 9] = 230
        return replace(frame, luma=luma)

    readings = [seen.reader.read(damaged(seen.camera.frame())) for _ in range(16)]
    assert all(E5 not in reading.foreign for reading in readings)


def test_where_nothing_has_changed_there_is_no_box() -> None:
    assert boxes_of(np.zeros((135, 240), dtype=bool), 20.0, np.zeros((1080, 1920), np.uint8)) == []


def test_what_was_worked_out_for_cards_goes_with_them() -> None:
    """Where each pixel of a view of cards lies takes some 20 MB."""
    cards = GAMES["binmat"].kit(GAMES["binmat"].options({}))
    table = printed_table(cards, View(width=1280, height=720))
    table.set_up({cards.board.squares[0]: ("9^",)})
    reader = board_reader({cards.game: cards, ARENA.game: ARENA})
    reader.use(cards)
    camera = RenderedCamera(table, FakeClock())
    assert reader.read(camera.frame()).game == "binmat"
    kept = weakref.ref(reader.memory.cards)
    assert kept()._maps is not None
    reader.use(ARENA)
    table.use(ARENA)
    table.set_up(LAYOUT)
    for _ in range(5):
        assert reader.read(camera.frame()).game in ("arena", None)
    assert kept() is None
    assert reader.seen.kit is ARENA


# ---- what a picture may cost -----------------------------------------------------------------------------------------


def test_a_hand_that_rests_is_asked_about_a_few_squares_a_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    shaded = judge.shaded_among

    def spy(board: Any, shot: Any, squares: Any) -> set[Square]:
        asked.append(len(squares))
        return shaded(board, shot, squares)

    monkeypatch.setattr(judge, "shaded_among", spy)
    seen = Seen()
    seen.read(4)
    seen.table.hold_hand(E5)
    reading = seen.read(12)
    assert reading.quiet
    assert len(reading.unknown) > 8
    assert max(asked) <= 8
    assert len(asked) <= 6, "what has been asked in vain is asked again and again"
