"""Fans of cards that are hard to read: no fan may be accepted that is not the one there.

Hands push cards together until markers are cut or gone, leave gaps, turn cards and whole fans, lay one card across
others, and let fans reach beyond their zones and out of the picture. A zone is *right* when its cards are told in their
order, *refused* when it is unknown or holds an `X`, *short* when nothing but cards is missing, which its count shows to
people, and *wrong* when a card is told that is not there, or another order.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.bars import FIRST_RATIO
from bench.reading.card_scenes import share_outside, views
from bench.reading.costs import aruco
from bench.reading.ground_truth import prints_of
from bench.reading.pictures import Verdict
from bench.reading.scenes import default_kits
from companion.core.grid import Square
from companion.core.kit import CARD_DICTIONARY, Deck, Kit, Layout, Seat
from companion.core.ports import Reading
from companion.printing.printed_kit import printed_table
from vision.cards.fans import UNREAD, OpenCard, marker_places, on_cards
from vision.pose.pose import Points, rectangle_corners_mm, square_corners_mm
from vision.reading.board_reader import board_reader
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

SEED, PICTURES = 918_273, 60
"""Held out: nothing was tuned on pictures of this seed."""
EASY = "easy"
LEAST_RIGHT = 0.97
"""Of the easy fans that can be read, at least so many are accepted."""
MOST = FIRST_RATIO.most
"""Times what `ArucoDetector` takes with its defaults: the most that a first picture of hard fans may cost."""
_CORNERS = 2
"""With fewer corner markers in sight nobody can say where a board lies."""
_PICTURES_A_VIEW = 3
_WHITE_MM = 1.0
"""A marker shows when so much white round it does, too."""
_WITHIN_MM = 6.0
"""The middle of a card lies this far within its zone, at least."""

Laid = tuple[float, float, float]
"""A card: how far aside and along the fan its middle lies, mm, and its turn, degrees."""


def _even(deck: Deck, number: int, rng: Random) -> list[Laid]:
    """As people lay fans: each card a step further, none quite straight."""
    along, laid = 0.0, list[Laid]()
    for _ in range(number):
        laid.append((rng.uniform(-2, 2), along, rng.uniform(-3, 3) + 180 * (rng.random() < 0.3)))
        along += deck.step_mm + rng.uniform(0, 4)
    return laid


def _pushed(laid: list[Laid], place: int, by_mm: float) -> list[Laid]:
    """The fan with all cards from one place on pushed along."""
    return [(x, y + (by_mm if n >= place else 0.0), turn) for n, (x, y, turn) in enumerate(laid)]


def _clipped(deck: Deck, number: int, rng: Random) -> list[Laid]:
    """One card or two of which the next one leaves 3 to 15 mm."""
    laid = _even(deck, number, rng)
    for place in rng.sample(range(1, number), min(number - 1, rng.choice((1, 1, 2)))):
        laid = _pushed(laid, place, rng.uniform(3, 15) - (laid[place][1] - laid[place - 1][1]))
    return laid


def _gap(deck: Deck, number: int, rng: Random) -> list[Laid]:
    """A card that is pushed under the next one, so that a gap is left where it should lie."""
    laid, place = _even(deck, number, rng), rng.randrange(1, number)
    return [
        (x, y + (rng.uniform(2, 14) if n == place else 0.0), turn)
        for n, (x, y, turn) in enumerate(laid)
    ]


def _uneven(deck: Deck, number: int, rng: Random) -> list[Laid]:
    """Steps of 5 to 30 mm."""
    along, laid = 0.0, list[Laid]()
    for x, _, turn in _even(deck, number, rng):
        laid.append((x, along, turn))
        along += rng.uniform(5, 30)
    return laid


def _askew(deck: Deck, number: int, rng: Random) -> list[Laid]:
    """Each card turned by up to 14 degrees and as many millimetres to a side as fit, some of them clipped."""
    laid = _clipped(deck, number, rng) if rng.random() < 0.5 else _even(deck, number, rng)
    return [(rng.uniform(-7, 7), y, turn + rng.uniform(-11, 11)) for _, y, turn in laid]


def _across(deck: Deck, number: int, rng: Random) -> list[Laid]:
    """The last card lies across the others."""
    laid = _even(deck, number, rng)
    x, y, _ = laid[-1]
    return [*laid[:-1], (x, y - rng.uniform(0, 25), rng.choice((-1, 1)) * rng.uniform(50, 90))]


HABITS: dict[str, Callable[[Deck, int, Random], list[Laid]]] = {
    EASY: _even,
    "clipped": _clipped,
    "gap": _gap,
    "uneven": _uneven,
    "askew": _askew,
    "across": _across,
}


@dataclass(frozen=True, eq=False)
class HardTable:
    """A picture and its truth: the `fans` from the bottom to the top, what each one is an example of, and which of them
    can be read: every card shows a whole marker, the zone lies in the picture, and so do two corner markers of the
    board at least."""

    luma: NDArray[np.uint8]
    fans: Layout
    habits: dict[Square, str]
    readable: frozenset[Square]


def hard_tables(kit: Kit, number: int, seed: int) -> Iterator[HardTable]:
    """So many pictures of tables with a fan in most zones, in every light and from everywhere."""
    assert kit.deck is not None
    rng = Random(seed)
    table, ways = printed_table(kit), views(kit, rng)
    for count in range(number):
        if count % _PICTURES_A_VIEW == 0:
            table.look(_beyond_the_edge(kit, next(ways), rng) if rng.random() < 0.3 else next(ways))
        names = [card.name for card in kit.deck.cards]
        rng.shuffle(names)
        fans, habits = dict[Square, tuple[str, ...]](), dict[Square, str]()
        places = dict[str, tuple[float, float, float]]()
        for zone in kit.board.squares:
            if rng.random() < 0.7:
                habits[zone] = rng.choice(sorted(HABITS))
                laid = _in_zone(kit, kit.deck, zone, habits[zone], rng)
                fans[zone] = tuple(names.pop() for _ in laid)
                places.update(zip(fans[zone], laid, strict=True))
        _lay(table, fans, places)
        yield _told(table, kit.deck, fans, habits)


def _beyond_the_edge(kit: Kit, view: View, rng: Random) -> View:
    """The same view with the board pushed until a side of it is at the edge of the picture, or out of it."""
    far = rng.uniform(0.02, 0.12)
    x, y = rng.choice(((0.0, 1.0), (0.0, -1.0), (1.0, 0.0), (-1.0, 0.0)))
    return replace(
        view, shift_mm=(x * far * kit.board.width_mm, y * far * kit.board.height_mm), fill=0.97
    )


def _in_zone(
    kit: Kit, deck: Deck, zone: Square, habit: str, rng: Random
) -> list[tuple[float, float, float]]:
    """A fan that is laid in one zone: x and y in board mm and the turn of each card."""
    board, (x, middle) = kit.board, kit.board.centre_mm(zone)
    away = -1.0 if deck.zones.get(Seat.NORTH) == zone.rank else 1.0
    for attempt in range(400):
        number = rng.randint(2, max(2, 7 - attempt // 60))
        laid = HABITS[habit](deck, number, rng)
        bend = (
            math.radians(rng.uniform(-30, 30) * 0.99**attempt)
            if habit != EASY and rng.random() < 0.25
            else 0.0
        )
        start = (board.depth_mm - deck.height_mm) / 2 - rng.uniform(-12 if habit != EASY else 0, 8)
        sine, cosine = math.sin(bend), math.cos(bend)
        cards = []
        for aside, along, turn in laid:
            up = away * (along - start)
            cards.append(
                (
                    x + aside * cosine - up * sine,
                    middle + aside * sine + up * cosine,
                    turn + math.degrees(bend),
                )
            )
        room = board.square_mm / 2 - _WITHIN_MM, board.depth_mm / 2 - _WITHIN_MM
        if all(abs(cx - x) < room[0] and abs(cy - middle) < room[1] for cx, cy, _ in cards):
            return cards
    return []


def _lay(
    table: SimulatedTable, fans: Layout, places: dict[str, tuple[float, float, float]]
) -> None:
    table.set_up(fans)
    for piece in table.pieces():
        if piece.face in places:
            x, y, turn = places[piece.face]
            table.nudge(piece.id, x - piece.x_mm, y - piece.y_mm)
            table.turn(piece.id, turn)


def _told(table: SimulatedTable, deck: Deck, fans: Layout, habits: dict[Square, str]) -> HardTable:
    """The picture, and what of every card it shows."""
    pieces = [piece for piece in table.pieces() if piece.square is not None]
    size, grown = (deck.width_mm, deck.height_mm), 1 + 2 * _WHITE_MM / deck.marker_mm
    outlines = [
        rectangle_corners_mm(p.x_mm, p.y_mm, *size, math.radians(p.turn_deg)) for p in pieces
    ]
    whole = set[str]()
    for number, piece in enumerate(pieces):
        above = outlines[number + 1 :]
        card = OpenCard(
            piece.face, piece.x_mm, piece.y_mm, math.radians(piece.turn_deg), (), outlines[number]
        )
        marks = on_cards([card], marker_places(deck))[0]
        white = [mark.mean(axis=0) + (mark - mark.mean(axis=0)) * grown for mark in marks]
        if any(share_outside(mark, above) == 1 for mark in white):
            whole.add(piece.face)
    readable = frozenset[Square]()
    if _shown_corners(table, outlines) >= _CORNERS:
        readable = frozenset(
            z for z, cards in fans.items() if whole.issuperset(cards) and _is_in_picture(table, z)
        )
    return HardTable(table.render_luma(), fans, habits, readable)


def _shown_corners(table: SimulatedTable, outlines: Sequence[Points]) -> int:
    """How many corner markers of the board are in the picture with no card on them."""
    board = table.kit.board
    side = board.corner_mm + 2 * _WHITE_MM
    in_picture = {print_.marker for print_ in prints_of(table) if print_.shown == 1}
    places = {
        marker: board.corner_centres_mm[marker] for marker in board.corners if marker in in_picture
    }
    return sum(
        share_outside(square_corners_mm(*place, side), outlines) == 1 for place in places.values()
    )


def _is_in_picture(table: SimulatedTable, zone: Square) -> bool:
    board = table.kit.board
    corners = rectangle_corners_mm(*board.centre_mm(zone), board.square_mm, board.depth_mm, 0.0)
    pixels = table.to_px(corners)
    return bool((pixels >= 0).all() and (pixels <= np.array(table.size_px()) - 1).all())


# ---- judging -----------------------------------------------------------------------------------------------------


@dataclass
class FanTally:
    """Zones with fans, by habit: `right`, `refused`, `wrong`, and `short`: read, and short of a card."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    shown: int = 0
    """Easy fans that can be read ..."""
    shown_right: int = 0
    """... and those of them that were accepted."""
    bare_wrong: int = 0
    """Zones without a card in which cards were told."""
    ms: list[float] = field(default_factory=list)
    peer_ms: list[float] = field(default_factory=list)

    def of(self, outcome: str) -> int:
        """The zones of this outcome, of all habits."""
        return sum(count for (_, what), count in self.counts.items() if what == outcome)

    @property
    def wrong(self) -> int:
        """All zones of which something false was accepted."""
        return self.of("wrong") + self.bare_wrong

    def add(self, table: HardTable, reading: Reading, zones: tuple[Square, ...]) -> list[str]:
        """Count one reading; answers sentences on what was accepted wrongly."""
        faults = []
        for zone in zones:
            real, told = table.fans.get(zone, ()), reading.fans.get(zone, ())
            if not real:
                self.bare_wrong += bool(told) and zone not in reading.unknown
                continue
            outcome = _outcome(told, real, unknown=reading.game is None or zone in reading.unknown)
            self.counts[table.habits[zone], outcome] += 1
            if outcome == "wrong":
                faults.append(
                    f"{zone} ({table.habits[zone]}): {' '.join(told) or 'nothing'} instead of {' '.join(real)}"
                )
            if table.habits[zone] == EASY and zone in table.readable:
                self.shown += 1
                self.shown_right += outcome == "right"
        return faults

    def rows(self) -> Iterator[str]:
        """The table for people."""
        yield f"{'fans':<10} {'right':>6} {'refused':>8} {'wrong':>6} {'short':>6}"
        for habit in HABITS:
            told = (self.counts[habit, what] for what in ("right", "refused", "wrong", "short"))
            yield "{:<10} {:>6} {:>8} {:>6} {:>6}".format(habit, *told)

    def plain(self) -> dict[str, object]:
        """For JSON."""
        by_habit = {
            habit: {
                what: self.counts[habit, what] for what in ("right", "refused", "wrong", "short")
            }
            for habit in HABITS
        }
        ms, peer_ms = (round(statistics.median(times), 2) for times in (self.ms, self.peer_ms))
        return {"habits": by_habit, "wrong": self.wrong, "ms": ms, "peer_ms": peer_ms}

    def verdicts(self) -> list[Verdict]:
        """No fan wrong, and those that are easy are read."""
        share = self.shown_right / max(1, self.shown)
        told = (
            f"{self.wrong} of {sum(self.counts.values())} zones accepted wrongly (none allowed), "
        )
        told += f"{self.of('right')} right, {self.of('refused')} refused, {self.of('short')} short of a card"
        easy = f"{self.shown_right} of {self.shown} that can be read accepted ({share:.1%}, at least {LEAST_RIGHT:.0%})"
        cost = statistics.median(self.ms) / statistics.median(self.peer_ms)
        dear = f"{cost:.2f} x ArUco's defaults (at most {MOST})"
        return [
            Verdict("hard fans of cards: first picture", cost <= MOST, dear),
            Verdict("hard fans of cards", not self.wrong, told),
            Verdict("easy fans of cards among them", share >= LEAST_RIGHT, easy),
        ]


def _outcome(told: tuple[str, ...], real: tuple[str, ...], *, unknown: bool) -> str:
    if unknown or (UNREAD in told and not set(told) - set(real) - {UNREAD}):
        return "refused"
    if told == real:
        return "right"
    rest = iter(real)
    return "short" if all(card in rest for card in told) else "wrong"


def bench_fans(
    pictures: int = PICTURES,
    keep: Path | None = None,
    say: Callable[[str], None] = print,
    seed: int = SEED,
) -> FanTally:
    """Read so many tables of hard fans, one picture each; `keep` is a folder for those that were read wrongly."""
    kit = next(kit for kit in default_kits().values() if kit.deck is not None)
    peer, tally = aruco(CARD_DICTIONARY), FanTally()
    for number, table in enumerate(hard_tables(kit, pictures, seed)):
        reader = board_reader({kit.game: kit})
        began_s = time.process_time()
        reading = reader.read_picture(table.luma)
        between_s = time.process_time()
        peer(table.luma)
        tally.ms.append((between_s - began_s) * 1000)
        tally.peer_ms.append((time.process_time() - between_s) * 1000)
        faults = tally.add(table, reading, kit.board.squares)
        for fault in faults:
            say(f"    fans {number}: {fault}")
        if faults and keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            cv2.imwrite(str(keep / f"fans-{number}.png"), table.luma)
    for row in tally.rows():
        say(row)
    return tally
