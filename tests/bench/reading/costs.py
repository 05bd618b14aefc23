"""Costs: still and changed frames, a read from nothing, memory; and photographs.

Costs are processor time, as ratios to OpenCV's `ArucoDetector` with its defaults on the same 1080p frame.
"""

from __future__ import annotations

import json
import os
import statistics
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from bench.bars import CHANGED_RATIO, FIRST_RATIO, STILL_RATIO
from bench.reading.pictures import Verdict
from bench.reading.scenes import default_kits
from companion.core.kit import DICTIONARY, Kit
from companion.core.ports import Frame
from companion.printing.printed_kit import printed_table
from vision.cameras.files import load_luma
from vision.detection.markers import Luma, dictionary_of
from vision.reading.board_reader import board_reader
from vision.simulation.view import View
from vision.still_pictures import read_images

MOST = {"still": STILL_RATIO.most, "changed": CHANGED_RATIO.most, "full": FIRST_RATIO.most}
"""By kind of frame: the most that it may cost."""
FRAMES = 30
_NUDGE_MM = 3.0
_SETTLING = 8


@dataclass(frozen=True)
class Costs:
    """Milliseconds a frame with one game's board (medians), and the memory that a reader holds after all of them.

    `full`: everything is read from nothing; `changed`: one piece lies elsewhere on its square; `still`: nothing moves;
    `settling`: nothing moves any more, and the board is not settled yet. `peer_ms`: OpenCV's defaults.
    """

    game: str
    full_ms: float
    changed_ms: float
    settling_ms: float
    still_ms: float
    peer_ms: float
    memory_mb: float

    def verdicts(self) -> list[Verdict]:
        """The judgement of each kind of frame."""
        found = []
        for kind, most in MOST.items():
            ms = getattr(self, f"{kind}_ms")
            told = f"{ms:6.2f} ms, {ms / self.peer_ms:.3f} x ArUco's {self.peer_ms:.1f} ms (at most {most:.3f})"
            found.append(Verdict(f"{self.game}: {kind} frame", ms <= most * self.peer_ms, told))
        return found

    def sentence(self) -> str:
        """What has no bound."""
        return (
            f"{self.game}: a frame until the board is settled {self.settling_ms:.2f} ms "
            f"({self.settling_ms / self.peer_ms:.2f} x), memory of the reader {self.memory_mb:.1f} MB"
        )


def aruco(dictionary: str = DICTIONARY) -> Callable[[Luma], list[int]]:
    """Return OpenCV's `ArucoDetector` with its defaults, as a function that answers the ids in a picture."""
    detector = cv2.aruco.ArucoDetector(dictionary_of(dictionary))

    def find(luma: Luma) -> list[int]:
        ids = detector.detectMarkers(luma)[1]
        return [] if ids is None else [int(number) for number in np.ravel(ids)]

    return find


def bench_costs(frames: int = FRAMES, say: Callable[[str], None] = print) -> list[Costs]:
    """Measure with the board of every game that has pieces."""
    found = [_costs(kit, frames) for kit in default_kits().values() if kit.deck is None]
    for costs in found:
        say(costs.sentence())
    return found


class _Watched:
    """A rendered board with all pieces of a kit that lie on single squares, its reader, and what frames cost."""

    def __init__(self, kit: Kit) -> None:
        squares = [square for square in kit.board.squares if square not in kit.board.holes]
        single = [names[:1] for names in kit.pieces if kit.face(names[0]).size == (1, 1)]
        self.table = printed_table(kit, View(width=1920, height=1080, tilt_deg=30.0))
        self.table.set_up(
            dict(zip(squares[:: max(1, len(squares) // len(single))], single, strict=False))
        )
        self.reader = board_reader(default_kits())
        self._find_markers = aruco()
        self._number = 0

    def frame(self) -> Frame:
        """The next one."""
        self._number += 1
        return Frame(self.table.render_luma(), self._number / 5, self._number)

    def read_ms(self) -> float:
        """What reading the next frame costs."""
        frame = self.frame()
        began_s = time.process_time()
        self.reader.read(frame)
        return (time.process_time() - began_s) * 1000

    def peer_ms(self) -> float:
        """What OpenCV's defaults cost on a picture of the table as it is."""
        luma = self.table.render_luma()
        began_s = time.process_time()
        self._find_markers(luma)
        return (time.process_time() - began_s) * 1000

    def nudge(self, sign: float) -> None:
        """Push one piece on its square."""
        piece = next(piece.id for piece in self.table.pieces() if piece.square is not None)
        self.table.nudge(piece, sign * _NUDGE_MM, 0.0)


def _costs(kit: Kit, frames: int) -> Costs:
    """The peer reads between the frames, so that both meet the same load of the machine."""
    watched = _Watched(kit)
    full, changed, settling, still, peer = (list[float]() for _ in range(5))
    for _ in range(max(3, frames // 2)):
        watched.reader = board_reader(default_kits())
        full.append(watched.read_ms())
        peer.append(watched.peer_ms())
    settling += [watched.read_ms() for _ in range(_SETTLING)][:2]
    for number in range(frames // 2):
        watched.nudge(1.0 if number % 2 else -1.0)
        changed.append(watched.read_ms())
        peer.append(watched.peer_ms())
        settling += [watched.read_ms() for _ in range(_SETTLING)][:2]
    for _ in range(frames):
        still.append(watched.read_ms())
        peer.append(watched.peer_ms())
    full_ms, changed_ms, settling_ms, still_ms, peer_ms = map(
        statistics.median, (full, changed, settling, still, peer)
    )
    return Costs(kit.game, full_ms, changed_ms, settling_ms, still_ms, peer_ms, _memory_mb(kit))


def _memory_mb(kit: Kit) -> float:
    """What a reader keeps after a board has been read, settled, and changed."""
    watched = _Watched(kit)
    frames = [watched.frame() for _ in range(4)]
    watched.nudge(1.0)
    frames += [watched.frame() for _ in range(4)]
    board_reader(default_kits()).read(frames[0])  # what is made once for all readers
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    reader = board_reader(default_kits())
    for frame in frames:
        reader.read(frame)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return held / 1e6


# ---- photographs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Photograph:
    """How many of a photograph's markers were found, by whom, and how many told ids are not there."""

    name: str
    markers: int
    found: dict[str, int]
    false: dict[str, int]

    def verdict(self) -> Verdict:
        """Never less complete than the best peer, and nothing that is not there."""
        own, others = (
            self.found["reader"],
            {who: n for who, n in self.found.items() if who != "reader"},
        )
        told = ", ".join(f"{who} {n}" for who, n in others.items())
        what = f"{own} of {self.markers} markers ({told}), {self.false['reader']} false"
        return Verdict(self.name, own >= max(others.values()) and not self.false["reader"], what)


def photographs_folder() -> Path:
    """Where photographs with a `truth.json` may lie: `COMPANION_PHOTOGRAPHS`, or beside the project."""
    beside = Path(__file__).resolve().parents[4] / "shared" / "images"
    return Path(os.environ.get("COMPANION_PHOTOGRAPHS") or beside)


def bench_photographs(say: Callable[[str], None] = print) -> list[Photograph]:
    """Markers of real photographs, as `companion read --dictionary` tells them, beside the peers."""
    folder = photographs_folder()
    if not (folder / "truth.json").is_file():
        say(
            f"photographs: not measured, there are none in {folder.name}: set COMPANION_PHOTOGRAPHS"
        )
        return []
    found = []
    for name, truth in json.loads((folder / "truth.json").read_text(encoding="utf-8")).items():
        wanted, allowed = Counter(truth["ids"]), set(truth["ids"]) | set(truth["also_visible"])
        (answer,) = read_images([folder / name], {}, truth["dict"])
        told = {"reader": Counter(marker["id"] for marker in answer["markers"])}
        luma = load_luma(folder / name)
        told["ArUco"] = Counter(aruco(truth["dict"])(luma))
        counts = {who: (ids & wanted).total() for who, ids in told.items()}
        false = {
            who: sum(n for marker, n in ids.items() if marker not in allowed)
            for who, ids in told.items()
        }
        found.append(Photograph(name, wanted.total(), counts, false))
    return found
