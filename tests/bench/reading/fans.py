"""Measure how badly laid fans of cards are read. No card may be reported that is not there.

Cards are pushed together until their markers are partly or wholly hidden, and they are turned. Fans
reach beyond their zones and out of the picture. Each way to lay a fan badly is one of `HABITS`.

A zone is *wrong* if the reader reports a card that is not there, or the cards in another order. It
is not wrong if the reader does not know it, or reports that it could not read a card (`X`) or fewer
cards than there are, because people notice that by the count. The fans of the habit `easy` have to
be read right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from statistics import median

import numpy as np
from numpy.typing import NDArray
from table_pictures import rendered_table

from bench.bars import FIRST_PICTURE_BAR
from bench.reading.costs import aruco_finder
from bench.reading.ground_truth import prints_of
from bench.reading.pictures import print_verdict
from bench.reading.scenes import default_kits
from companion.core.grid import Square
from companion.core.kit import CARD_DICTIONARY, Deck, Kit, Layout, Seat
from companion.core.ports import Reading
from vision.cards.fans import UNREAD
from vision.pose.pose import rectangle_corners_mm
from vision.reading.board_reader import make_board_reader
from vision.simulation.table import SimulatedTable
from vision.simulation.view import CameraView, Shadow, default_view

# Seed of the measured pictures. The reader was not tuned with them.
SEED = 918_273
PICTURES = 60
QUICK_PICTURES = 6
EASY = "easy"
# Least share of the readable easy fans that are accepted.
MIN_RIGHT = 0.97
# Number of corner markers in sight that are needed to locate a board.
_MIN_CORNERS = 2
# Number of pictures that are taken of each view.
_PICTURES_A_VIEW = 3
# Least distance from the middle of a card to the edge of its zone.
_MIN_EDGE_MM = 6.0

# Where a card lies in its fan: its middle, across and along the fan in mm, and its turn in degrees.
# Once the fan lies in its zone: x and y of the middle in mm of the board, and the turn.
CardPlace = tuple[float, float, float]


def _lay_evenly(deck: Deck, card_count: int, rng: Random) -> list[CardPlace]:
    """Lay a fan of cards as people do: each one step further, none quite straight."""
    along_mm, cards = 0.0, list[CardPlace]()
    for _ in range(card_count):
        cards.append(
            (rng.uniform(-2, 2), along_mm, rng.uniform(-3, 3) + 180 * (rng.random() < 0.3))
        )
        along_mm += deck.step_mm + rng.uniform(0, 4)
    return cards


def _push_along(cards: list[CardPlace], first: int, push_mm: float) -> list[CardPlace]:
    """Push cards along the fan, from the one with the index `first` on."""
    return [
        (x, y + (push_mm if index >= first else 0.0), turn)
        for index, (x, y, turn) in enumerate(cards)
    ]


def _lay_clipped(deck: Deck, card_count: int, rng: Random) -> list[CardPlace]:
    """Cover one or two cards by the next one, so that only 3 to 15 mm of them can be seen."""
    cards = _lay_evenly(deck, card_count, rng)
    for index in rng.sample(range(1, card_count), min(card_count - 1, rng.choice((1, 1, 2)))):
        (_, before_mm, _), (_, along_mm, _) = cards[index - 1 : index + 1]
        cards = _push_along(cards, index, rng.uniform(3, 15) - (along_mm - before_mm))
    return cards


def _lay_with_gap(deck: Deck, card_count: int, rng: Random) -> list[CardPlace]:
    """Push a card under the next one, so that a gap is left where it should lie."""
    cards, index = _lay_evenly(deck, card_count, rng), rng.randrange(1, card_count)
    x, y, turn = cards[index]
    cards[index] = (x, y + rng.uniform(2, 14), turn)
    return cards


def _lay_unevenly(deck: Deck, card_count: int, rng: Random) -> list[CardPlace]:
    """Lay a fan with steps of 5 to 30 mm."""
    along_mm, cards = 0.0, list[CardPlace]()
    for x, _, turn in _lay_evenly(deck, card_count, rng):
        cards.append((x, along_mm, turn))
        along_mm += rng.uniform(5, 30)
    return cards


def _lay_across(deck: Deck, card_count: int, rng: Random) -> list[CardPlace]:
    """Lay the last card across the others."""
    cards = _lay_evenly(deck, card_count, rng)
    x, y, _ = cards[-1]
    return [*cards[:-1], (x, y - rng.uniform(0, 25), rng.choice((-1, 1)) * rng.uniform(50, 90))]


def _lay_askew(deck: Deck, card_count: int, rng: Random) -> list[CardPlace]:
    """Turn each card by up to 14 degrees, and shift it by up to 7 mm.

    Cover some cards of half of the fans.
    """
    cards = (
        _lay_clipped(deck, card_count, rng)
        if rng.random() < 0.5
        else _lay_evenly(deck, card_count, rng)
    )
    return [(rng.uniform(-7, 7), y, turn + rng.uniform(-11, 11)) for _, y, turn in cards]


# Ways to lay a fan, by name. A function is called with the deck, the number of cards and random
# numbers.
HABITS: dict[str, Callable[[Deck, int, Random], list[CardPlace]]] = {
    EASY: _lay_evenly,
    "clipped": _lay_clipped,
    "gap": _lay_with_gap,
    "uneven": _lay_unevenly,
    "askew": _lay_askew,
    "across": _lay_across,
}


@dataclass(frozen=True, eq=False)
class HardTable:
    """A picture of a table with fans, and its ground truth."""

    luma: NDArray[np.uint8]
    fans: Layout
    """The cards in each zone, from bottom to top."""
    easy: frozenset[Square]
    """Zones whose fan has to be read right."""


def render_hard_tables(kit: Kit, picture_count: int, seed: int) -> Iterator[HardTable]:
    """Yield so many pictures of tables with a fan in most zones, in all lights and views."""
    assert kit.deck is not None
    rng = Random(seed)
    table, views = rendered_table(kit), _views(kit, rng)
    for index in range(picture_count):
        if index % _PICTURES_A_VIEW == 0:
            table.set_view(
                _push_to_edge(kit, next(views), rng) if rng.random() < 0.3 else next(views)
            )
        names = [card.name for card in kit.deck.cards]
        rng.shuffle(names)
        habit = sorted(HABITS)[index % len(HABITS)]
        fans, places = dict[Square, tuple[str, ...]](), dict[str, CardPlace]()
        for zone in kit.board.squares:
            if rng.random() < 0.7:
                cards = _fit_fan(kit, kit.deck, zone, habit, rng)
                fans[zone] = tuple(names.pop() for _ in cards)
                places.update(zip(fans[zone], cards, strict=True))
        _lay(table, fans, places)
        corners = [print_ for print_ in prints_of(table) if print_.visible_share == 1]
        is_easy = habit == EASY and len(corners) >= _MIN_CORNERS
        easy = {zone for zone in fans if is_easy and _is_in_picture(table, zone)}
        yield HardTable(table.render_luma(), fans, frozenset(easy))


def _views(kit: Kit, rng: Random) -> Iterator[CameraView]:
    """Yield random views of a board of cards, in all lights and with usual faults of cameras."""
    plain, board = default_view(kit), kit.board
    kinds: tuple[dict[str, object], ...] = (
        {},
        {"light": 0.3, "noise": 4.0},
        {"defocus_px": 1.0},
        {
            "shadow": Shadow(
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


def _push_to_edge(kit: Kit, view: CameraView, rng: Random) -> CameraView:
    """Push the board until one side is at the edge of the picture, or out of it."""
    share = rng.uniform(0.02, 0.12)
    x, y = rng.choice(((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0)))
    return replace(
        view, shift_mm=(x * share * kit.board.width_mm, y * share * kit.board.height_mm), fill=0.97
    )


def _fit_fan(kit: Kit, deck: Deck, zone: Square, habit: str, rng: Random) -> list[CardPlace]:
    """Lay a fan in a zone. Return the place of each card on the board.

    Try fans of fewer and fewer cards until one fits. Return an empty list if none does.
    """
    board, (x, y) = kit.board, kit.board.centre_mm(zone)
    # a fan begins at that end of its zone that is near its seat
    direction = -1.0 if deck.zones.get(Seat.NORTH) == zone.rank else 1.0
    for attempt in range(400):
        card_count = rng.randint(2, max(2, 7 - attempt // 60))
        fan = HABITS[habit](deck, card_count, rng)
        start_mm = (board.depth_mm - deck.height_mm) / 2 - rng.uniform(
            -12 if habit != EASY else 0, 8
        )
        cards = [
            (x + across_mm, y + direction * (along_mm - start_mm), turn)
            for across_mm, along_mm, turn in fan
        ]
        max_x_mm, max_y_mm = board.square_mm / 2 - _MIN_EDGE_MM, board.depth_mm / 2 - _MIN_EDGE_MM
        if all(abs(cx - x) < max_x_mm and abs(cy - y) < max_y_mm for cx, cy, _ in cards):
            return cards
    return []


def _lay(table: SimulatedTable, fans: Layout, places: dict[str, CardPlace]) -> None:
    """Lay the cards on the table, each at its place."""
    table.set_up(fans)
    for piece in table.pieces():
        if piece.face in places:
            x, y, turn = places[piece.face]
            table.nudge(piece.id, x - piece.x_mm, y - piece.y_mm)
            table.turn(piece.id, turn)


def _is_in_picture(table: SimulatedTable, zone: Square) -> bool:
    """Return whether a whole zone is in the picture."""
    board = table.kit.board
    corners = rectangle_corners_mm(*board.centre_mm(zone), board.square_mm, board.depth_mm, 0.0)
    pixels = table.to_px(corners)
    return bool((pixels >= 0).all() and (pixels <= np.array(table.size_px()) - 1).all())


# ---- judging -------------------------------------------------------------------------------------


@dataclass
class FanTally:
    """How many zones of cards were read right and wrong, and at what cost."""

    wrong: list[str] = field(default_factory=list)
    """A sentence for each wrong zone. A zone without a card can be wrong, too."""
    readable: int = 0
    """Number of fans that have to be read right."""
    readable_right: int = 0
    """Number of those that were read right."""
    read_s: list[float] = field(default_factory=list)
    """Processor time of the reader for each picture."""
    peer_s: list[float] = field(default_factory=list)
    """Processor time of the peer (`bench.reading.costs`) for each picture."""

    def add(self, table: HardTable, reading: Reading, zones: tuple[Square, ...]) -> None:
        """Count one reading."""
        for zone in zones:
            actual, reported = table.fans.get(zone, ()), reading.fans.get(zone, ())
            is_refused = reading.game is None or zone in reading.unknown
            # With unread cards the order is unknown, so only cards that are not there are wrong.
            is_part = UNREAD in reported and not set(reported) - set(actual) - {UNREAD}
            # Each search in the iterator goes on after the card found before, so the order counts.
            rest = iter(actual)
            is_in_order = all(card in rest for card in reported)
            if not (is_refused or is_part or is_in_order):
                self.wrong.append(f"{zone}: {reported} instead of {actual}")
            if zone in table.easy:
                self.readable += 1
                self.readable_right += reported == actual and not is_refused


def read_fans(pictures: int, seed: int) -> FanTally:
    """Read `pictures` tables with fans, one picture each."""
    kit = next(kit for kit in default_kits().values() if kit.deck is not None)
    find_markers, tally = aruco_finder(CARD_DICTIONARY), FanTally()
    for table in render_hard_tables(kit, pictures, seed):
        reader = make_board_reader({kit.game: kit})
        began_at_s = time.process_time()
        reading = reader.read_picture(table.luma)
        between_s = time.process_time()
        find_markers(table.luma)
        tally.read_s.append(between_s - began_at_s)
        tally.peer_s.append(time.process_time() - between_s)
        tally.add(table, reading, kit.board.squares)
    return tally


def bench_fans(quick: bool) -> bool:
    """Read fans. Return whether no zone is wrong, and enough of the easy fans are right."""
    tally = read_fans(QUICK_PICTURES if quick else PICTURES, SEED)
    for fault in tally.wrong:
        print(f"    {fault}")
    share = tally.readable_right / max(1, tally.readable)
    figures = f"{len(tally.wrong)} zones wrong (none allowed)"
    good = print_verdict("hard fans of cards", not tally.wrong, figures)
    ratio = median(tally.read_s) / median(tally.peer_s)
    figures = f"{ratio:.2f} (at most {FIRST_PICTURE_BAR.limit:.3g})"
    good &= print_verdict(
        f"hard fans: {FIRST_PICTURE_BAR.name}", ratio <= FIRST_PICTURE_BAR.limit, figures
    )
    figures = f"{tally.readable_right} of {tally.readable} accepted (at least {MIN_RIGHT:.0%})"
    good &= print_verdict("easy fans of cards among them", share >= MIN_RIGHT, figures)
    return good
