"""Tables of cards as people lay them, with their truth: to measure how well they are read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from random import Random

import cv2
import numpy as np
from numpy.typing import NDArray

from companion.core.grid import Square
from companion.core.kit import Deck, Kit, Layout, Seat
from companion.printing.printed_kit import printed_table
from vision.cards.fans import Lying, marker_places, on_cards
from vision.pose.pose import Points, rectangle_corners_mm
from vision.simulation.objects import hand_mm
from vision.simulation.pieces import BACK
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View, default_view

FRAMES_A_VIEW = 10
"""So many pictures are taken from one place with one camera, in one light."""
_HABITS = (
    (0.0, 1.5, 0.0, 2.5),
    (40.0, 1.5, 0.5, 3.0),
    (5.0, 10.0, 4.0, 9.0),
    (2.0, 3.0, 2.0, 14.0),
    (2.0, 3.0, -11.0, 1.0),
)
"""Neat, turned as a whole, card by card, widely spread, too close: degrees of the fan and of a card, least and most
additional step in mm."""
_HOW_OFTEN = (8, 3, 3, 3, 1)
_WHITE_MM = 1.0
"""A marker shows when so much white round it does, too."""

_CLEAR_MM = 8.0
"""So far within its zone lies the middle of a card."""


@dataclass(frozen=True, eq=False)
class Dealt:
    """One picture: `truth` is what lies open in each zone, from the bottom to the top.

    `touched` are the zones over which a hand reaches, `hidden` those with a card that shows no whole marker.
    `complete`: every marker is shown that matters: those of the board, and one at least of every card in the zones that
    are not touched.
    """

    luma: NDArray[np.uint8]
    truth: Layout
    touched: frozenset[Square]
    hidden: frozenset[Square]
    complete: bool


def views(kit: Kit, rng: Random) -> Iterator[View]:
    """Ways to look at a board of cards: from everywhere, in every light, with every ordinary fault of a camera."""
    plain, board = default_view(kit), kit.board
    kinds: tuple[dict[str, object], ...] = (
        {},
        {"light": 0.3, "noise": 4.0},
        {"defocus_px": 1.0},
        {
            "shadow": (
                rng.uniform(0, board.width_mm),
                rng.uniform(0, board.height_mm),
                rng.uniform(60, 200),
                0.45,
            )
        },
        {"gradient": 0.5, "light": 0.8},
        {"noise": 5.0},
        {"motion_px": 2.5, "motion_deg": rng.uniform(0, 180)},
        {"jpeg_quality": 50},
        {"cast_bgr": (0.6, 0.9, 1.1), "light": 0.7},
        {"defocus_px": 0.8, "light": 0.4, "noise": 3.0},
    )
    while True:
        for kind in kinds:
            place = {
                "tilt_deg": rng.uniform(0, 40),
                "turn_deg": rng.choice((0.0, 180.0, rng.uniform(-20, 20))),
                "board_turn_deg": rng.uniform(-6, 6),
                "fill": rng.uniform(0.86, 0.94),
                "k1": rng.uniform(-0.04, 0.0),
                "seed": rng.randrange(1000),
            }
            yield replace(plain, **place, **kind)  # type: ignore[arg-type]  # replace() checks the names itself


def deal(kit: Kit, frames: int, seed: int) -> Iterator[Dealt]:
    """Pictures of so many random tables: stacks of one to eight cards in one to three lanes, and sometimes a hand."""
    if kit.deck is None:
        raise ValueError(f"the kit of {kit.game} has no cards")
    rng = Random(seed)
    table, ways = printed_table(kit), views(kit, rng)
    for number in range(frames):
        if number % FRAMES_A_VIEW == 0:
            table.look(next(ways))
        truth = _lay(table, kit, kit.deck, rng)
        over = rng.choice(kit.board.squares) if rng.random() < 0.25 else None
        table.hold_hand(over)
        hand = None
        if over is not None:
            seat = Seat.SOUTH if over.rank < kit.board.ranks / 2 else Seat.NORTH
            hand = hand_mm(*kit.board.centre_mm(over), seat)
        zones = kit.board.squares if hand is not None else ()
        touched = frozenset(
            z for z in zones if hand is not None and share_outside(_zone_mm(kit, z), [hand]) < 1
        )
        shown = _shown(table, kit.deck)
        hidden = frozenset(zone for zone, share in shown.items() if share < 1)
        complete = hidden <= touched and _shows_corners(table, kit, kit.deck)
        yield Dealt(table.render_luma(), truth, touched, hidden, complete)


# ---- hands that lay cards --------------------------------------------------------------------------------------


def _lay(table: SimulatedTable, kit: Kit, deck: Deck, rng: Random) -> Layout:
    """Lay random stacks, more or less neatly; answers what lies open."""
    names = [card.name for card in deck.cards]
    rng.shuffle(names)
    layout: dict[Square, tuple[str, ...]] = {}
    lanes = rng.sample(range(kit.board.files), rng.choice((1, 1, 2, 3)))
    for file in range(kit.board.files):
        for rank in deck.zones.values():
            if file in lanes:
                layout[Square(file, rank)] = tuple(
                    names.pop() for _ in range(rng.choice((0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8)))
                )
            elif rng.random() < 0.25:
                layout[Square(file, rank)] = (BACK,) * rng.randint(1, 3)
    table.set_up(
        dict(sorted(layout.items(), key=lambda item: BACK not in item[1]))
    )  # what is laid open lies on top
    at = {piece.face: piece for piece in table.pieces()}
    for zone, stack in layout.items():
        if BACK in stack:
            continue
        ids = [at[name].id for name in stack]
        for piece, (x, y, turn) in zip(ids, _places(kit, deck, zone, len(stack), rng), strict=True):
            before = at[stack[ids.index(piece)]]
            table.nudge(piece, x - before.x_mm, y - before.y_mm)
            table.turn(piece, turn)
    return {zone: stack for zone, stack in layout.items() if stack and BACK not in stack}


def _places(
    kit: Kit, deck: Deck, zone: Square, number: int, rng: Random
) -> list[tuple[float, float, float]]:
    """Middles and turns of a fan: neat, turned as a whole, card by card, widely spread, or sloppy."""
    x, middle = kit.board.centre_mm(zone)
    away = -1.0 if deck.zones[Seat.NORTH] == zone.rank else 1.0
    room = kit.board.depth_mm / 2 - _CLEAR_MM
    whole, each, low, high = rng.choices(_HABITS, _HOW_OFTEN)[0]
    for attempt in range(200):
        bend = math.radians(rng.uniform(-whole, whole) * (0.98**attempt))
        back = math.pi if rng.random() < 0.1 else 0.0
        start, along, places = rng.uniform(-4, 6), 0.0, []
        for _ in range(number):
            aside = rng.uniform(-2, 2)
            turn = (
                math.degrees(bend)
                + rng.uniform(-each, each) * 0.98**attempt
                + 180 * (rng.random() < 0.3)
            )
            places.append((aside, along, turn))
            along += deck.step_mm + rng.uniform(low, high * 0.97**attempt)
        length = places[-1][1] if places else 0.0
        first = away * (deck.height_mm - kit.board.depth_mm) / 2
        centre = first + away * (start + length / 2)
        sine, cosine = math.sin(bend + back), math.cos(bend + back)
        laid = []
        for aside, place, turn in places:
            up = away * (place - length / 2)
            laid.append(
                (x + aside * cosine - up * sine, middle + centre + aside * sine + up * cosine, turn)
            )
        if all(
            abs(px - x) < kit.board.square_mm / 2 - _CLEAR_MM and abs(py - middle) < room
            for px, py, _ in laid
        ):
            return laid
    return laid


# ---- what can be seen ------------------------------------------------------------------------------------------


def _shown(table: SimulatedTable, deck: Deck) -> dict[Square, float]:
    """Of each zone with open cards the card whose markers are hidden most: the share that shows of its better one."""
    pieces = [piece for piece in table.pieces() if piece.square is not None]
    size = deck.width_mm, deck.height_mm
    outlines = [
        rectangle_corners_mm(p.x_mm, p.y_mm, *size, math.radians(p.turn_deg)) for p in pieces
    ]
    side = deck.marker_mm + 2 * _WHITE_MM
    shown: dict[Square, float] = {}
    for index, piece in enumerate(pieces):
        if piece.face == BACK or piece.square is None:
            continue
        card = Lying(
            piece.face, piece.x_mm, piece.y_mm, math.radians(piece.turn_deg), (), outlines[index]
        )
        places = [
            _grown(place, side / deck.marker_mm)
            for place in on_cards([card], marker_places(deck))[0]
        ]
        share = max(share_outside(place, outlines[index + 1 :]) for place in places)
        shown[piece.square] = min(share, shown.get(piece.square, 1.0))
    return shown


def _shows_corners(table: SimulatedTable, kit: Kit, deck: Deck) -> bool:
    """Does no card lie on a corner marker of the board, or on the white round it?"""
    size, side = (deck.width_mm, deck.height_mm), kit.board.corner_mm + 2 * _WHITE_MM
    cards = [
        rectangle_corners_mm(p.x_mm, p.y_mm, *size, math.radians(p.turn_deg))
        for p in table.pieces()
    ]
    corners = kit.board.corner_centres_mm.values()
    return all(
        share_outside(rectangle_corners_mm(x, y, side, side, 0.0), cards) == 1 for x, y in corners
    )


def _grown(quad: Points, factor: float) -> Points:
    middle = quad.mean(axis=0)
    return np.asarray(middle + (quad - middle) * factor)


def _zone_mm(kit: Kit, zone: Square) -> Points:
    return rectangle_corners_mm(
        *kit.board.centre_mm(zone), kit.board.square_mm, kit.board.depth_mm, 0.0
    )


def share_outside(one: Points, others: Iterable[Points]) -> float:
    """How much of a convex outline lies in none of the others. Drawn on a raster of 1/8 mm."""
    low = one.min(axis=0) - 1
    shape = np.ceil((np.ptp(one, axis=0) + 2) * 8)[::-1].astype(int)
    mask = np.zeros(shape, np.uint8)
    cv2.fillPoly(mask, [((one - low) * 8).round().astype(np.int32)], 1)
    whole = int(mask.sum())
    for outline in others:
        cv2.fillPoly(mask, [((outline - low) * 8).round().astype(np.int32)], 0)
    return int(mask.sum()) / whole
