"""What a first picture costs, of which nothing is known, with any number of a kit's pieces on the table.

Pieces that are not there must not be searched for: each board is read with none of its pieces, with all of them, and
with every number between, the others not in the picture; and once more with a sheet over one corner marker, when the
printed lines have to tell where the board is. The peer is OpenCV's `ArucoDetector` with its defaults, on the
same picture, in the same process, in one thread.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from companion.core.kit import Kit
from companion.core.ports import Frame
from companion.tools.bench.reading.corners import cover_corner
from companion.tools.bench.reading.peers import peers
from companion.tools.bench.reading.pictures import Verdict
from companion.tools.bench.reading.scenes import default_kits, layout_of
from vision.pieces.board_reader import board_reader
from vision.simulation.render import camera_pose
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

MOST = 1.2
"""Times what the peer takes, also with a corner marker hidden."""
TIMES = 5
_TRIES = 20
_FAR_MM = 3000.0
"""So far aside nothing is in the picture."""


@dataclass(frozen=True)
class FirstPicture:
    """One board, so many of its corner markers `hidden`: by number of pieces what a first picture cost, in times of
    what the peer took, and how many of the pieces were read."""

    game: str
    hidden: int
    ratios: dict[int, float]
    read: int
    pieces: int

    def verdict(self) -> Verdict:
        """The dearest picture keeps the bound, and every piece is read."""
        dearest = max(self.ratios, key=lambda number: self.ratios[number])
        told = f"{min(self.ratios.values()):.2f} to {self.ratios[dearest]:.2f} x ArUco's defaults, most with {dearest} "
        told += f"pieces (at most {MOST}); {self.read} of {self.pieces} pieces read"
        holds = self.ratios[dearest] <= MOST and self.read == self.pieces
        what = "a hidden corner" if self.hidden else "any pieces"
        return Verdict(f"{self.game}: first picture, {what}", holds, told)


def bench_first(step: int = 1, times: int = TIMES, say: Callable[[str], None] = print) -> list[FirstPicture]:
    """Measure the boards that have pieces, with every `step`-th number of them."""
    found = []
    for kit in (kit for kit in default_kits().values() if kit.deck is None):
        for hidden in (0, 1):
            numbers = sorted({*range(0, len(kit.pieces) + 1, step), len(kit.pieces)})
            parts = {number: _first(kit, number, times, hidden) for number in numbers}
            ratios = {number: ratio for number, (ratio, _) in parts.items()}
            found.append(FirstPicture(kit.game, hidden, ratios, sum(read for _, read in parts.values()), sum(numbers)))
            what = ", a corner hidden" if hidden else ""
            say(
                f"{kit.game}: first picture{what}, by pieces: {', '.join(f'{n}: {r:.2f} x' for n, r in ratios.items())}"
            )
    return found


def _first(kit: Kit, number: int, times: int, hidden: int) -> tuple[float, int]:
    """The median cost of a first picture with so many pieces on the board and so many corner markers hidden, and how
    many of the pieces were read."""
    table, rng = _table(kit, number), Random(f"{kit.game}-{number}-hidden")
    covered = rng.sample(kit.board.corners, hidden)
    reader_s, peer_s, read = list[float](), list[float](), 0
    peer = peers()[0]
    for _ in range(times):
        luma, reader = table.render_luma(), board_reader(default_kits())
        for marker in covered:
            cover_corner(luma, camera_pose(kit, table.view), kit, marker, rng)
        began_s = time.process_time()
        reading = reader.read(Frame(luma, 0.0, 1))
        between_s = time.process_time()
        peer.find(luma)
        reader_s.append(between_s - began_s)
        peer_s.append(time.process_time() - between_s)
        read = len(set(reading.markers.values()))
    return statistics.median(reader_s) / statistics.median(peer_s), read


def _table(kit: Kit, number: int) -> SimulatedTable:
    """A board with so many pieces on it and no others in the picture, its corner markers and all pieces in sight."""
    few = replace(kit, pieces=kit.pieces[: max(1, number)])
    for attempt in range(_TRIES):
        rng = Random(f"{kit.game}-{number}-{attempt}")
        table = SimulatedTable(few, View(width=1920, height=1080, tilt_deg=25.0))
        if number:
            table.set_up(layout_of(few, rng, 1.0, 1.0))
        else:
            for piece in table.pieces():
                table.nudge(piece.id, _FAR_MM, 0.0)
        if all(print_.shown >= 1.0 for print_ in table.prints() if print_.face is None or print_.squares):
            break
    return table
