"""Test how the board reader reads fans of open cards on rendered tables of BINMAT.

A fan may lack cards and have `UNREAD` in their place, but never a wrong card or a wrong order.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from bench.reading.fans import FanTally, render_hard_tables
from reading_tools import KITS, render_table

from companion.core.clock import FakeClock
from companion.core.grid import Square
from companion.core.kit import Layout
from companion.core.ports import Reading
from vision.cards.fans import UNREAD, OpenCard, order_fan
from vision.detection.markers import Luma
from vision.pose.pose import rectangle_corners_mm
from vision.reading.board_reader import make_board_reader
from vision.simulation.pieces import BACK
from vision.simulation.table import RenderedCamera, SimulatedTable
from vision.simulation.view import CameraView

KIT = KITS["binmat"]
CARDS = KIT.deck.cards if KIT.deck else ()
VIEW = CameraView(width=1920, height=1080, tilt_deg=25.0)
# Zones of South (rank 1) and of North (rank 2).
C1, C2, D1 = Square(2, 0), Square(2, 1), Square(3, 0)
# A card is named by its value and its suit. Fans are listed from the bottom to the top.
TWO_FANS: Layout = {C1: ("4^", "9^", "9#"), C2: ("7&", "*!")}


@pytest.fixture(scope="module")
def table() -> SimulatedTable:
    return render_table(KIT, VIEW)


def read(table: SimulatedTable) -> Reading:
    return make_board_reader({KIT.game: KIT}).read_picture(table.render_luma())


def piece_id(table: SimulatedTable, card: str) -> int:
    return next(piece.id for piece in table.pieces() if piece.face == card)


@pytest.mark.slow
def test_no_fan_of_cards_is_read_wrongly() -> None:
    """Read twelve tables, two of each way to lay a fan. `make bench ARGS=reading` reads sixty."""
    fans = FanTally()
    for shown in render_hard_tables(KIT, 12, seed=7):
        reading = make_board_reader({KIT.game: KIT}).read_picture(shown.luma)
        fans.add(shown, reading, KIT.board.squares)
    assert fans.wrong == []
    assert fans.readable >= 6, "hardly any fan can be read"
    figures = f"{fans.readable_right} of {fans.readable} were read"
    assert fans.readable_right >= 0.99 * fans.readable, figures


def test_eight_cards_fill_a_zone(table: SimulatedTable) -> None:
    deck = KIT.deck
    assert deck is not None
    stack = tuple(card.name for card in deck.cards[:8])
    table.set_up({C1: stack, C2: tuple(card.name for card in deck.cards[20:28])})
    assert read(table).fans[C1] == stack


def test_a_card_reads_the_same_upside_down(table: SimulatedTable) -> None:
    table.set_up(TWO_FANS)
    table.turn(piece_id(table, "9^"), 180.0)
    table.turn(piece_id(table, "*!"), 180.0)
    reading = read(table)
    assert (dict(reading.fans), reading.unknown) == (TWO_FANS, frozenset())
    assert not reading.seen
    assert not reading.strangers


def test_a_card_with_hidden_marker_is_left_out(table: SimulatedTable) -> None:
    """A card of which no marker is visible may be missing in its fan, but the others are right."""
    table.set_up(TWO_FANS)
    # the second card hides most of the marker of the first one
    table.nudge(piece_id(table, "9^"), 0.0, -10.0)
    reading = read(table)
    assert reading.fans[C1] == TWO_FANS[C1][1:]
    assert reading.fans[C2] == TWO_FANS[C2]


def scratch(table: SimulatedTable, luma: Luma, zone: Square, face: str, ends: str = "near") -> None:
    """Draw a thin line through a card's marker near its seat, or through those at both ends."""
    card = next(piece for piece in table.pieces() if piece.face == face)
    # 1 is the upper right marker, -1 the lower left one. South's cards have rank 0, North's rank 1.
    for end in (1, -1) if ends == "both" else (2 * zone.rank - 1,):
        # the middle of this marker
        x = card.x_mm + end * 22.25
        y = card.y_mm + end * 34.75
        line = table.to_px(np.array([[x - 8.0, y], [x + 8.0, y]])).round().astype(int)
        cv2.line(luma, line[0].tolist(), line[1].tolist(), 215, 1, cv2.LINE_AA)


def test_a_scratched_marker_is_read_or_counted() -> None:
    """Scratch the lowest card of each fan, whose other marker is hidden.

    The scratch cuts the outline of the marker, so no quadrangle is found there. The card is still
    read, or at least there is an `X` in its place.
    """
    table = render_table(KIT, replace(VIEW, width=1280, height=720, tilt_deg=20.0))
    names = [card.name for card in CARDS]
    # four cards in each zone
    layout = {zone: tuple(names[4 * n : 4 * n + 4]) for n, zone in enumerate(KIT.board.squares)}
    table.set_up(layout)
    luma = table.render_luma().copy()
    for zone, cards in layout.items():
        scratch(table, luma, zone, cards[0])
    reading = make_board_reader({KIT.game: KIT}).read_picture(luma)
    assert not reading.unknown
    for zone, cards in layout.items():
        assert reading.fans[zone] in {cards, (UNREAD, *cards[1:])}


def test_two_scratched_markers_are_one_card() -> None:
    """Lay a single card in each zone, and scratch both of its markers."""
    table = render_table(KIT, replace(VIEW, width=1280, height=720, defocus_px=1.0))
    table.set_up({zone: (card.name,) for zone, card in zip(KIT.board.squares, CARDS, strict=False)})
    luma = table.render_luma().copy()
    for zone, card in zip(KIT.board.squares, CARDS, strict=False):
        scratch(table, luma, zone, card.name, "both")
    reading = make_board_reader({KIT.game: KIT}).read_picture(luma)
    # some cards cannot be read, and none of them counts twice
    assert (UNREAD,) in reading.fans.values()
    assert {len(fan) for fan in reading.fans.values()} == {1}


def test_cards_face_down_are_not_reported(table: SimulatedTable) -> None:
    table.set_up({C1: (BACK, BACK), C2: ("7&",)})
    reading = read(table)
    assert dict(reading.fans) == {C2: ("7&",)}
    assert C1 not in reading.unknown


@pytest.mark.parametrize("light", [1.0, 0.35])
def test_a_zone_under_a_hand_is_unknown(light: float) -> None:
    table = render_table(KIT, replace(VIEW, light=light))
    names = [card.name for card in CARDS]
    # three cards in each zone
    layout = {zone: tuple(names[3 * n : 3 * n + 3]) for n, zone in enumerate(KIT.board.squares)}
    table.set_up(layout)
    for zone in KIT.board.squares[::3]:
        table.hold_hand(zone)
        reading = read(table)
        assert zone in reading.unknown
        # every fan is read completely, has an `X` in it, or is unknown
        for other_zone, cards in layout.items():
            fan = reading.fans.get(other_zone, ())
            assert set(fan) <= {UNREAD, *cards}
            assert fan == cards or UNREAD in fan or other_zone in reading.unknown


def test_the_same_card_twice_is_a_stranger(table: SimulatedTable) -> None:
    """Join the left half of one picture with the right half of another one."""
    pictures = []
    for zone in (C1, Square(5, 0)):
        table.set_up({zone: ("9^",)})
        pictures.append(table.render_luma())
    half = int(np.mean([table.square_px(Square(file, 0))[0] for file in (3, 4)]))
    luma = np.hstack([pictures[0][:, :half], pictures[1][:, half:]])
    reading = make_board_reader({KIT.game: KIT}).read_picture(luma)
    assert KIT.deck is not None
    assert reading.strangers == tuple(card.marker for card in KIT.deck.cards if card.name == "9^")
    assert "9^" not in {card for fan in reading.fans.values() for card in fan}


def test_a_card_between_two_zones_leaves_both_unknown(table: SimulatedTable) -> None:
    table.set_up({C1: ("9^",)})
    table.nudge(piece_id(table, "9^"), KIT.board.pitch_mm / 2, 0.0)
    reading = read(table)
    assert {C1, D1} <= reading.unknown
    assert not reading.fans


def test_a_moved_card_is_read_in_both_fans() -> None:
    table = render_table(KIT, VIEW)
    clock = FakeClock()
    table.set_up(TWO_FANS)
    reader = make_board_reader({KIT.game: KIT})
    with RenderedCamera(table, clock) as camera:
        # the third frame settles the board
        readings = [reader.read(camera.frame()) for _ in range(5)]
        assert [reading.quiet for reading in readings] == [False, False, True, True, True]
        assert dict(readings[-1].fans) == TWO_FANS

        # then the upper card of one fan is moved onto the other fan
        table.move_to(piece_id(table, "9#"), C2)
        readings = [reader.read(camera.frame()) for _ in range(5)]
    assert not readings[0].quiet
    assert {C1, C2} <= readings[0].unknown, "a zone is known while a card moves in it"
    assert dict(readings[-1].fans) == {C1: ("4^", "9^"), C2: ("7&", "*!", "9#")}


@pytest.mark.parametrize(
    ("direction", "distance_mm", "fan"),
    [(1.0, 30.0, ("4^", "9^")), (-1.0, 30.0, ("9^", "4^")), (1.0, 4.0, ("X", "X"))],
)
def test_a_fan_is_ordered_as_seats_lay_it(
    direction: float, distance_mm: float, fan: tuple[str, ...]
) -> None:
    """Lay two cards of which no marker proves which one is on top, 9^ being farther North.

    South's fans grow towards North (`direction` 1), so 9^ is on top. North's grow towards South
    (-1), so 4^ is on top. At a distance of 4 mm it is not certain which one was laid first.
    """
    assert KIT.deck is not None
    cards = []
    for name, y_mm in (("4^", 0.0), ("9^", distance_mm)):
        # the outline of an upright card, and no visible markers
        outline = rectangle_corners_mm(0.0, y_mm, 63.0, 88.0, 0.0)
        cards.append(OpenCard(name, 0.0, y_mm, 0.0, (), outline))
    assert order_fan(cards, direction, KIT.deck) == fan


def test_a_wide_gap_may_hide_a_card(table: SimulatedTable) -> None:
    """Push the second card of a fan under the third one, so that only its edge is visible.

    The gap between the two others is so wide that a card may be hidden there, as it is.
    """
    table.set_up({C1: ("4^", "9^", "9#")})
    table.nudge(piece_id(table, "9^"), 0.0, 16.5)
    fan = read(table).fans[C1]
    assert fan[0] == "4^"
    assert UNREAD in fan
