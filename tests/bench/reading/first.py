"""What a first picture costs, of which nothing is known, with any number of a kit's pieces on the table.

Pieces that are not there must not be searched for: each board is read with none of its pieces, with all of them, and
with every number between, the others not in the picture; and once more with a sheet over one corner marker, when the
printed lines have to tell where the board is; all of it at 1080p and at 720p. The peer is OpenCV's `ArucoDetector` with
its defaults, on the same picture, in the same process, in one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from random import Random

import numpy as np
from numpy.typing import NDArray

from bench.bars import FIRST_RATIO
from bench.reading.corners import cover_corner
from bench.reading.ground_truth import prints_of
from bench.reading.peers import aruco
from bench.reading.pictures import Verdict
from bench.reading.scenes import default_kits, layout_of
from companion.core.kit import Kit
from companion.core.ports import Frame, Reading
from companion.printing.printed_kit import printed_table
from vision.reading.board_reader import board_reader
from vision.simulation.render import camera_pose
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

TIMES = 5
_TRIES = 20
CARDS_A_ZONE = (0, 1, 5)
SIZES = ((1920, 1080), (1280, 720))
_FAR_MM = 3000.0
"""So far aside nothing is in the picture."""


@dataclass(frozen=True)
class FirstPicture:
    """One board in pictures so many pixels high, so many of its corner markers `hidden`: by number of pieces what a
    first picture cost, in times of what the peer took, and how many of the pieces were read."""

    game: str
    height: int
    hidden: int
    ratios: dict[int, float]
    read: int
    pieces: int

    def verdict(self) -> Verdict:
        """The dearest picture keeps the bound, and every piece is read."""
        dearest = max(self.ratios, key=lambda number: self.ratios[number])
        told = f"{min(self.ratios.values()):.2f} to {self.ratios[dearest]:.2f} x ArUco's defaults, most with {dearest} "
        told += f"pieces (at most {FIRST_RATIO.most:.0f}); {self.read} of {self.pieces} pieces read"
        holds = self.ratios[dearest] <= FIRST_RATIO.most and self.read == self.pieces
        return Verdict(f"{self.game}: first picture at {self.height}p, {self._what}", holds, told)

    @property
    def _what(self) -> str:
        return "a hidden corner" if self.hidden else "any pieces"

    def sentence(self) -> str:
        """The cost by number of pieces."""
        costs = ", ".join(f"{number}: {ratio:.2f} x" for number, ratio in self.ratios.items())
        return f"{self.game}: first picture at {self.height}p, {self._what}: {costs}"


def bench_first(
    step: int = 1, times: int = TIMES, say: Callable[[str], None] = print
) -> list[FirstPicture]:
    """Measure the boards that have pieces, with every `step`-th number of them."""
    found = []
    kits = [kit for kit in default_kits().values() if kit.deck is None]
    for kit, size, hidden in product(kits, SIZES, (0, 1)):
        numbers = sorted({*range(0, len(kit.pieces) + 1, step), len(kit.pieces)})
        parts = {number: _first(kit, size, number, times, hidden) for number in numbers}
        found.append(_told(kit, size, hidden, parts))
        say(found[-1].sentence())
    return found


def bench_first_cards(times: int = TIMES, say: Callable[[str], None] = print) -> list[FirstPicture]:
    """Measure boards of cards without a card, with one in each zone and with a fan of five in each."""
    found = []
    for kit, size in product(
        (kit for kit in default_kits().values() if kit.deck is not None), SIZES
    ):
        parts = {
            number * len(kit.board.squares): _first_cards(kit, size, number, times)
            for number in CARDS_A_ZONE
        }
        found.append(_told(kit, size, 0, parts))
        say(found[-1].sentence())
    return found


def _told(
    kit: Kit, size: tuple[int, int], hidden: int, parts: dict[int, tuple[float, int]]
) -> FirstPicture:
    ratios = {number: ratio for number, (ratio, _) in parts.items()}
    return FirstPicture(
        kit.game, size[1], hidden, ratios, sum(read for _, read in parts.values()), sum(parts)
    )


def _first_cards(kit: Kit, size: tuple[int, int], number: int, times: int) -> tuple[float, int]:
    """What a first picture costs with so many cards in each zone, and how many are read in their places."""
    assert kit.deck is not None
    names = iter([card.name for card in kit.deck.cards])
    fans = (
        {zone: tuple(next(names) for _ in range(number)) for zone in kit.board.squares}
        if number
        else {}
    )
    table = printed_table(kit, _view(size))
    table.set_up(fans)
    luma = table.render_luma()
    ratio, reading = _cost([luma] * times)
    return ratio, sum(len(fan) for zone, fan in fans.items() if reading.fans.get(zone) == fan)


def _first(
    kit: Kit, size: tuple[int, int], number: int, times: int, hidden: int
) -> tuple[float, int]:
    """The median cost of a first picture with so many pieces on the board and so many corner markers hidden, and how
    many of the pieces were read."""
    table, rng = _table(kit, size, number), Random(f"{kit.game}-{number}-hidden")
    covered = rng.sample(kit.board.corners, hidden)
    pictures = []
    for _ in range(times):
        luma = table.render_luma()
        for marker in covered:
            cover_corner(luma, camera_pose(kit, table.view), kit, marker, rng)
        pictures.append(luma)
    ratio, reading = _cost(pictures)
    return ratio, len(set(reading.markers.values()))


def _cost(pictures: Sequence[NDArray[np.uint8]]) -> tuple[float, Reading]:
    """Return the median cost of first pictures, in times of what the peer takes, and what was read in the last."""
    peer, ratios, reading = aruco(), list[float](), Reading({}, frozenset())
    for luma in pictures:
        reader = board_reader(default_kits())
        peer_s = _seconds(partial(peer.find, luma))
        began_s = time.process_time()
        reading = reader.read(Frame(luma, 0.0, 1))
        ratios.append((time.process_time() - began_s) / peer_s)
    return statistics.median(ratios), reading


def _seconds(look: Callable[[], object]) -> float:
    """Return what looking at a picture takes of the processor's time."""
    began_s = time.process_time()
    look()
    return time.process_time() - began_s


def _view(size: tuple[int, int]) -> View:
    return View(width=size[0], height=size[1], tilt_deg=25.0)


def _table(kit: Kit, size: tuple[int, int], number: int) -> SimulatedTable:
    """A board with so many pieces on it and no others in the picture, its corner markers and all pieces in sight."""
    few = replace(kit, pieces=kit.pieces[: max(1, number)])
    for attempt in range(_TRIES):
        rng = Random(f"{kit.game}-{number}-{attempt}")
        table = printed_table(few, _view(size))
        if number:
            table.set_up(layout_of(few, rng, 1.0, 1.0))
        else:
            for piece in table.pieces():
                table.nudge(piece.id, _FAR_MM, 0.0)
        if all(
            print_.shown >= 1.0
            for print_ in prints_of(table)
            if print_.face is None or print_.squares
        ):
            break
    return table
