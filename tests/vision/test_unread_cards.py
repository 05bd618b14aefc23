"""Cards of which nearly nothing is seen are never left out, and what proves nothing makes no fan unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import cv2
import numpy as np
import pytest

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import Reading
from companion.games.binmat import Binmat
from vision.cards.card_view import SCALE, CardView, DarkPrint, dark_print
from vision.cards.fans import Lying, marker_places, on_cards, zones_of
from vision.cards.hidden_lines import SeenLines
from vision.cards.unread import UnreadCards
from vision.pieces.board_reader import board_reader
from vision.pose.pose import Maps, Points, Pose, flat, rectangle_corners_mm
from vision.simulation.render import camera_pose
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

GAME = Binmat()
KIT: Kit = GAME.kit(GAME.options({}))
VIEW = View(width=1920, height=1080, tilt_deg=25.0)
A1, B1, C1, D1 = (Square(file, 0) for file in range(4))
A2, B2, F2 = Square(0, 1), Square(1, 1), Square(5, 1)


@pytest.fixture(scope="module")
def table() -> SimulatedTable:
    return SimulatedTable(KIT, VIEW)


def put(table: SimulatedTable, card: str, x_mm: float, y_mm: float, turn: float = 0.0) -> None:
    """Lay a card so that its middle is there."""
    piece = next(p for p in table.pieces() if p.face == card)
    table.nudge(piece.id, x_mm - piece.x_mm, y_mm - piece.y_mm)
    table.turn(piece.id, turn)


def read(table: SimulatedTable) -> Reading:
    return board_reader({KIT.game: KIT}).read_picture(table.render_luma())


def is_whole(reading: Reading, zone: Square) -> bool:
    """Is a stack accepted as all that lies there?"""
    return zone not in reading.unknown and "X" not in reading.fans.get(zone, ("X",))


@pytest.mark.parametrize("seen_mm", [2.0, 2.6, 3.4])
@pytest.mark.parametrize("turn", [0.0, 3.0])
def test_a_strip_of_a_marker_beside_the_card_above_is_a_card(
    table: SimulatedTable, seen_mm: float, turn: float
) -> None:
    table.set_up({C1: ("4^", "9^")})
    x, y = KIT.board.centre_mm(C1)
    put(table, "4^", x - 2.0, y, turn)
    put(table, "9^", x + 1.0 + seen_mm, y + 1.0, turn)
    assert not is_whole(read(table), C1)


@pytest.mark.parametrize("step_mm", [5.4, 6.0, 7.0])
def test_a_strip_of_a_marker_at_the_outer_line_is_a_card(table: SimulatedTable, step_mm: float) -> None:
    table.set_up({C1: ("4^", "9^")})
    x = KIT.board.centre_mm(C1)[0]
    put(table, "4^", x, 39.0)
    put(table, "9^", x, 39.0 + step_mm)
    assert not is_whole(read(table), C1)


@pytest.mark.parametrize("step_mm", [4.6, 5.5, 6.5])
def test_a_strip_of_print_on_the_face_of_a_card_below_is_a_card(table: SimulatedTable, step_mm: float) -> None:
    """Of the middle card nothing is seen but the upper edge of its marker and its value."""
    table.set_up({C1: ("4^", "9^", "9#")})
    x, y = KIT.board.centre_mm(C1)
    put(table, "4^", x, y)
    put(table, "9^", x, y + 22.0 - step_mm)
    put(table, "9#", x, y + 22.0)
    assert not is_whole(read(table), C1)


@pytest.mark.parametrize("below", [("4^",), ()])
def test_a_strip_of_a_marker_narrower_than_its_rim_is_a_card(table: SimulatedTable, below: tuple[str, ...]) -> None:
    """On a card or on the board: print is darker than edges, so near to one as it may be."""
    table.set_up({C1: (*below, "9^", "9#")})
    x, y = KIT.board.centre_mm(C1)
    for card in below:
        put(table, card, x, y - 5.0)
    put(table, "9^", x, y + 20.0)
    put(table, "9#", x, y + 15.6)
    assert not is_whole(read(table), C1)


def test_print_beyond_the_two_signs_of_a_card_is_that_of_another(table: SimulatedTable) -> None:
    """There a value of two digits would have its suit. One unread card is that of the wide step, one that of the print."""
    table.set_up({C1: ("4^", "9^", "9#")})
    x, y = KIT.board.centre_mm(C1)
    put(table, "4^", x, y - 40.0)
    put(table, "9^", x + 16.0, y + 35.0)
    put(table, "9#", x + 16.0, y + 39.4)
    assert read(table).fans[C1] == ("4^", "X", "X", "9#")


def test_print_between_cards_of_two_zones_may_be_that_of_a_card_of_either(table: SimulatedTable) -> None:
    """A card of one zone shows no more than a strip of its marker, on the face of a card of the other."""
    table.set_up({B1: ("4^",), C1: ("9^", "9#")})
    left, right = KIT.board.centre_mm(B1), KIT.board.centre_mm(C1)
    put(table, "4^", left[0] + 2.0, left[1] - 4.0)
    put(table, "9^", right[0] - 20.0, right[1] + 30.0)
    put(table, "9#", right[0] - 15.6, right[1] + 30.0)
    reading = read(table)
    assert not is_whole(reading, B1)
    assert not is_whole(reading, C1)


def test_a_hidden_line_between_two_zones_is_the_matter_of_that_with_an_unread_card() -> None:
    """Where neither has one it may be that of either."""
    paper = np.full((60, 60), 200, np.uint8)
    maps = Maps(np.zeros((60, 60, 2), np.float32), (0.0, 0.0), (60.0, 60.0), 0.0, 1.0)
    none = np.zeros_like(paper)
    view = CardView(maps, paper, paper, DarkPrint(none, none, none, none), none > 0)
    unread, (x, y) = UnreadCards(KIT, (C1, D1)), KIT.board.centre_mm(C1)
    line = np.column_stack([np.full(9, x + KIT.board.square_mm / 2), y + np.arange(9.0)])
    lines = SeenLines((line,), np.empty((0, 2)))
    assert set(unread.find(view, lines, [], {}, ())) == {C1, D1}
    assert set(unread.find(view, lines, [], {}, {C1})) == set()


def test_a_strip_of_a_marker_over_a_corner_marker_of_the_board_is_a_card(table: SimulatedTable) -> None:
    """What is bright there where the board is black, or dark where it is white, lies on it."""
    table.set_up({A1: ("4^", "9^")})
    x = KIT.board.centre_mm(A1)[0]
    put(table, "4^", x - 1.0, 34.0)
    put(table, "9^", x - 0.5, 38.8)
    assert not is_whole(read(table), A1)


def test_what_reaches_far_out_of_the_paper_may_hide_a_card_there(table: SimulatedTable) -> None:
    table.set_up({F2: ("4^", "9^", "9#")})
    x, y = KIT.board.centre_mm(F2)
    put(table, "4^", x + 21.8, y + 47.0, -26.0)
    put(table, "9^", x + 20.0, y + 43.0, -27.3)
    put(table, "9#", x + 13.0, y + 27.6, -23.0)
    assert not is_whole(read(table), F2)


@pytest.mark.parametrize(("seen_mm", "noise"), [(6.0, 1), *((5.2, noise) for noise in range(1, 13))])
def test_a_strip_of_a_marker_just_on_the_line_at_the_end_is_a_card(seen_mm: float, noise: int) -> None:
    """The line itself goes on beyond both of its ends, a marker does not; whatever the noise of the picture."""
    table = SimulatedTable(KIT, replace(VIEW, seed=noise))
    table.set_up({B2: ("4^", "9^", "9#")})
    x, y = KIT.board.centre_mm(B2)
    put(table, "4^", x + 2.0, y + 59.9 + seen_mm)
    put(table, "9^", x - 0.8, y + 59.9)
    put(table, "9#", x - 1.1, y + 45.1)
    assert not is_whole(read(table), B2)


def test_a_strip_of_a_marker_on_the_lines_between_two_zones_is_a_card(table: SimulatedTable) -> None:
    """As narrow as a rim, and all else of its card and of these lines lies under others."""
    table.set_up({A2: ("a%", ">^"), B2: ("9%", "a+", "7%")})
    put(table, "a%", 17.5, 371.9, 17.9)
    put(table, ">^", 23.3, 363.4, 72.4)
    put(table, "9%", 100.1, 375.9, -3.6)
    put(table, "a+", 104.4, 372.7, -1.9)
    put(table, "7%", 107.5, 352.0, 6.0)
    assert not is_whole(read(table), B2)


# ---- print where nothing is read ---------------------------------------------------------------------------------


LOW, HIGH = (-40.0, -40.0), (KIT.board.width_mm + 40.0, KIT.board.height_mm + 40.0)


def printed(x: float, y: float, wide: float, deep: float, tone: int = 20) -> CardView:
    """The view of white paper with one dark rectangle: its middle, width and depth, mm."""
    width, height = (round((high - low) * SCALE) for low, high in zip(LOW, HIGH, strict=True))
    maps = Maps(np.zeros((height, width, 2), np.float32), LOW, HIGH, 0.3, SCALE)
    even = np.full((height, width), 200, np.uint8)
    ((column, row),) = maps.to_view(np.array([[x - wide / 2, y + deep / 2]])).round().astype(int)
    even[row : row + round(deep * SCALE), column : column + round(wide * SCALE)] = tone
    return CardView(maps, np.full_like(even, 255), even, dark_print(even, SCALE), np.zeros(even.shape, np.bool_))


def unread_in(view: CardView, fans: Mapping[Square, tuple[list[Lying], tuple[str, ...]]]) -> set[Square]:
    """The zones in which something of a card is seen that is none of those that were read."""
    assert KIT.deck is not None
    cards = [card for lying, _ in fans.values() for card in lying]
    lines = SeenLines((), np.empty((0, 2)))
    return set(UnreadCards(KIT, zones_of(KIT.board, KIT.deck)).find(view, lines, cards, fans, ()))


@pytest.mark.parametrize(("off_mm", "is_card"), [(0.8, False), (1.5, True)])
def test_a_corner_marker_may_lie_a_little_beside_its_place(off_mm: float, is_card: bool) -> None:
    x, y = KIT.board.corner_centres_mm[KIT.board.corners[0]]
    side = KIT.board.corner_mm
    assert bool(unread_in(printed(x + side / 2 - 1.5 + off_mm, y, 3.0, side), {})) is is_card


@pytest.mark.parametrize(("in_mm", "is_card"), [(0.8, False), (8.0, True)])
def test_a_broad_piece_of_the_line_at_the_end_of_a_zone_is_no_card(in_mm: float, is_card: bool) -> None:
    """Lines run together there, and with the edges of cards."""
    x = KIT.board.centre_mm(C1)[0]
    assert bool(unread_in(printed(x + 20.0, in_mm, 10.0, 2.2, tone=100), {})) is is_card


@pytest.mark.parametrize(("deep_mm", "is_card"), [(1.3, False), (2.3, True)])
def test_specks_of_less_than_two_square_millimetres_are_no_card(deep_mm: float, is_card: bool) -> None:
    deck, (x, y) = KIT.deck, KIT.board.centre_mm(C1)
    assert deck is not None
    card = Lying("4^", x, y, 0.0, (), rectangle_corners_mm(x, y, deck.width_mm, deck.height_mm, 0.0))
    assert bool(unread_in(printed(x + 24.0, y, 1.1, deep_mm), {C1: ([card], ("4^",))})) is is_card


@pytest.mark.parametrize(("aside_mm", "is_card"), [(0.0, False), (-6.0, True)])
def test_the_outline_of_the_first_card_may_be_as_black_as_print(aside_mm: float, is_card: bool) -> None:
    """Where the edge of a card lies beside it."""
    assert KIT.deck is not None
    x = KIT.board.centre_mm(C1)[0] + KIT.deck.width_mm / 2
    assert bool(unread_in(printed(x + aside_mm, 50.0, 1.5, 4.0), {})) is is_card


def card(name: str, x: float, y: float, number: int) -> Lying:
    """A card that lies straight and shows one of its markers: 0 is the upper right one, 1 the lower left one."""
    deck = KIT.deck
    assert deck is not None
    bare = Lying(name, x, y, 0.0, (), rectangle_corners_mm(x, y, deck.width_mm, deck.height_mm, 0.0))
    return replace(bare, marks=(on_cards([bare], marker_places(deck))[0, number],))


def test_print_where_a_fan_lies_on_a_card_is_not_that_of_the_card() -> None:
    """One card of the fan shows its marker on it, so all of them lie on it."""
    (left, y), right = KIT.board.centre_mm(B1), KIT.board.centre_mm(C1)[0]
    below = card("4^", left, y, 0)
    lower, upper = card("9^", right - 16.0, y - 30.0, 0), card("9#", right - 19.0, y + 14.0, 1)
    value = left + 27.0, y - 35.0
    ink = printed(*value, 2.5, 2.5)
    assert lower.depth_inside(np.array([value])).min() > 2, "it lies where the lower card of the fan has no print"
    assert not unread_in(ink, {B1: ([below], ("4^",))})
    assert unread_in(ink, {B1: ([below], ("4^",)), C1: ([lower, upper], ("9^", "9#"))})


@pytest.mark.parametrize(("aside_mm", "zones"), [(3.0, {B1, C1}), (7.0, {B1})])
def test_print_at_the_edge_of_a_card_may_be_that_of_one_below_it(aside_mm: float, zones: set[Square]) -> None:
    """Also where it shows in the next zone, beside the cards there, which holds an unread card then, too."""
    x, y = KIT.board.centre_mm(C1)
    askew, other = card("9#", x - 15.0, y, 0), card("4^", KIT.board.centre_mm(B1)[0] - 20.0, y, 0)
    edge = float(askew.outline[:, 0].min())
    marker = printed(edge - aside_mm, y, 5.0, 12.0)
    assert unread_in(marker, {C1: ([askew], ("9#",)), B1: ([other], ("4^",))}) == zones


@pytest.mark.parametrize(("wide_mm", "is_card"), [(12.0, True), (5.0, False)])
def test_a_bar_beside_a_card_of_another_fan_is_no_part_of_value_and_suit(wide_mm: float, is_card: bool) -> None:
    """So long a one is the side of a marker; signs that the card cuts off are shorter."""
    x, y = KIT.board.centre_mm(B1)
    below, above = card("a#", x, y, 0), card("9#", x + 45.0, y + 12.0, 1)
    bar = printed(x + 22.75, y - 33.0, wide_mm, 2.0)
    assert bool(unread_in(bar, {B1: ([below], ("a#",)), C1: ([above], ("9#",))})) is is_card


@pytest.mark.parametrize("lies_on_it", [True, False])
def test_what_lies_on_a_card_of_a_fan_may_lie_on_its_others(lies_on_it: bool) -> None:
    """The bar is at the value of one card; it is a lower one of the fan that shows what lies on it."""
    x, y = KIT.board.centre_mm(B1)
    fan = [card("4^", x, y - 20.0, 1), card("a#", x, y, 0)]
    beside = [card("9#", x + 45.0, y + 12.0, 0), card("9^", x + (40.0 if lies_on_it else 75.0), y - 15.0, 1)]
    bar = printed(x + 22.75, y - 33.0, 12.0, 2.0)
    assert bool(unread_in(bar, {B1: (fan, ("4^", "a#")), C1: (beside, ("9^", "9#"))})) is lies_on_it


@pytest.mark.parametrize(("tone", "is_card"), [(20, True), (110, False)])
def test_a_blurred_strip_of_a_marker_is_told_from_an_edge_by_all_of_it(tone: int, is_card: bool) -> None:
    """It is not as black as print, nor as pale as the edge of a card."""
    x, y = KIT.board.centre_mm(C1)
    lower, upper = card("4^", x, y - 40.0, 1), card("9#", x, y, 0)
    sharp = printed(x - 20.0, y - 44.5, 11.0, 1.9, tone)
    even = np.asarray(cv2.GaussianBlur(sharp.even, (0, 0), 2.0), np.uint8)
    view = replace(sharp, even=even, ink=dark_print(even, SCALE))
    assert bool(unread_in(view, {C1: ([lower, upper], ("4^", "9#"))})) is is_card


@pytest.mark.parametrize("is_below", [True, False])
def test_a_strip_over_a_line_of_the_board_that_cards_cover_is_a_card(is_below: bool) -> None:
    """The outline of the first card is not seen through the cards on it, but may look like a strip beside one."""
    deck, (x, y) = KIT.deck, KIT.board.centre_mm(C1)
    assert deck is not None
    line = y - KIT.board.depth_mm / 2 + deck.height_mm
    upper = card("9#", x, line + deck.height_mm / 2, 0)
    lower = [card("4^", x, line, 1)] if is_below else []
    sharp = printed(x - 20.0, line, 11.0, 1.9)
    even = np.asarray(cv2.GaussianBlur(sharp.even, (0, 0), 2.0), np.uint8)
    view = replace(sharp, even=even, ink=dark_print(even, SCALE))
    told = (*(each.name for each in lower), "9#")
    assert bool(unread_in(view, {C1: ([*lower, upper], told)})) is is_below


# ---- the edge of the picture -----------------------------------------------------------------------------------------


def is_in(pose: Pose, points_mm: Points) -> bool:
    pixels = pose.to_px(flat(points_mm))
    return bool((pixels >= 0).all() and (pixels <= np.array(pose.size) - 1).all())


@pytest.fixture(scope="module")
def cut() -> SimulatedTable:
    """The southern corner markers are cut off by the edge of the picture, the zones are not."""
    board = KIT.board
    zone = rectangle_corners_mm(*board.centre_mm(C1), board.square_mm, board.depth_mm, 0.0)
    for shift in np.arange(0.0, 60.0, 1.0):
        for sign in (1.0, -1.0):
            view = replace(VIEW, tilt_deg=5.0, fill=0.97, shift_mm=(0.0, sign * float(shift)))
            pose = camera_pose(KIT, view)
            below, far = (np.array([[board.width_mm / 2, beyond]]) for beyond in (-4.5, -8.5))
            if is_in(pose, zone) and is_in(pose, below) and not is_in(pose, far):
                return SimulatedTable(KIT, view)
    raise AssertionError("no such view")


def test_a_fan_at_the_edge_of_the_picture_is_read_where_its_line_is_seen(cut: SimulatedTable) -> None:
    stacks = {C1: ("4^", "9^"), Square(5, 0): ("7&", "*!"), Square(0, 0): ("2!", "9#")}
    cut.set_up(stacks)
    for zone, stack in stacks.items():
        for card in stack:
            put(cut, card, KIT.board.centre_mm(zone)[0], 49.0 + 17.0 * stack.index(card))
    assert dict(read(cut).fans) == stacks


@pytest.mark.parametrize("lower_mm", [20.0, 26.0])
def test_a_card_that_reaches_out_of_the_picture_hides_the_line(cut: SimulatedTable, lower_mm: float) -> None:
    cut.set_up({C1: ("4^", "9^")})
    x = KIT.board.centre_mm(C1)[0]
    put(cut, "9^", x, 49.0)
    put(cut, "4^", x, 49.0 - lower_mm)
    assert not is_whole(read(cut), C1)
