"""Measure what it costs to read still, changed and first pictures, and how photographs are read.

A cost is the processor time for a picture, divided by the time that the peer takes for the same
picture. The peer is OpenCV's `ArucoDetector` with its default parameters. Pictures are 1080p.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import cv2
import numpy as np

from bench.bars import CHANGED_PICTURE_BAR, FIRST_PICTURE_BAR, STILL_PICTURE_BAR
from bench.reading.pictures import print_verdict
from bench.reading.scenes import default_kits
from companion.core.kit import DICTIONARY, Kit
from companion.core.ports import Frame
from companion.printing.printed_kit import printed_table
from vision.cameras.files import load_luma
from vision.detection.markers import Luma, get_dictionary
from vision.reading.board_reader import make_board_reader
from vision.simulation.view import CameraView
from vision.still_pictures import read_images

# Number of still pictures that are read. Half as many changed and first ones are.
FRAMES = 30
QUICK_FRAMES = 10
# How far a piece is pushed for a changed picture.
_NUDGE_MM = 3.0
# Number of frames after a change until the reader takes pictures for still ones.
_SETTLING_FRAMES = 8


def aruco_finder(dictionary: str = DICTIONARY) -> Callable[[Luma], list[int]]:
    """Return the peer: a function that returns the ids of the markers in a picture."""
    detector = cv2.aruco.ArucoDetector(get_dictionary(dictionary))

    def find(luma: Luma) -> list[int]:
        ids = detector.detectMarkers(luma)[1]
        return [] if ids is None else [int(number) for number in np.ravel(ids)]

    return find


def bench_costs(quick: bool) -> bool:
    """Measure with the board of every game that has pieces. Return whether the bars are kept."""
    good = True
    for kit in default_kits().values():
        if kit.deck is None:
            print(kit.game, flush=True)
            good &= _bench_kit(kit, QUICK_FRAMES if quick else FRAMES)
    return good


def _bench_kit(kit: Kit, frames: int) -> bool:
    """Measure with one board. It has all pieces of the kit that take one square.

    The peer reads each frame just after the reader, so that both meet the same load of the machine.
    """
    squares = [square for square in kit.board.squares if square not in kit.board.holes]
    piece_faces = [names[:1] for names in kit.pieces if kit.face(names[0]).size == (1, 1)]
    spread = squares[:: max(1, len(squares) // len(piece_faces))]
    table = printed_table(kit, CameraView(width=1920, height=1080, tilt_deg=30.0))
    table.set_up(dict(zip(spread, piece_faces, strict=False)))
    piece = next(piece.id for piece in table.pieces() if piece.square is not None)
    find_markers, reader = aruco_finder(), make_board_reader(default_kits())
    peer_s = list[float]()

    def read_s() -> float:
        """Let the reader and the peer read the next frame. Return the reader's processor time."""
        number = len(peer_s) + 1
        frame = Frame(table.render_luma(), number / 5, number)
        began_at_s = time.process_time()
        reader.read(frame)
        between_s = time.process_time()
        find_markers(frame.luma)
        peer_s.append(time.process_time() - between_s)
        return between_s - began_at_s

    # first pictures: each time by a new reader
    first_s, changed_s = list[float](), list[float]()
    for _ in range(max(3, frames // 2)):
        reader = make_board_reader(default_kits())
        first_s.append(read_s())
    # changed pictures: a piece is pushed to and fro
    for index in range(frames // 2):
        for _ in range(_SETTLING_FRAMES):
            read_s()
        table.nudge(piece, _NUDGE_MM if index % 2 else -_NUDGE_MM, 0.0)
        changed_s.append(read_s())
    # still pictures
    for _ in range(_SETTLING_FRAMES):
        read_s()
    still_s = [read_s() for _ in range(frames)]
    good = True
    for bar, times_s in (
        (STILL_PICTURE_BAR, still_s),
        (CHANGED_PICTURE_BAR, changed_s),
        (FIRST_PICTURE_BAR, first_s),
    ):
        ratio = median(times_s) / median(peer_s)
        figures = f"{ratio:.3f} (at most {bar.limit:.3g})"
        good &= print_verdict(bar.name, ratio <= bar.limit, figures)
    return good


# ---- photographs ---------------------------------------------------------------------------------


def photographs_folder() -> Path:
    """Return the folder of the photographs, which also has their ground truth, `truth.json`.

    The environment variable `COMPANION_PHOTOGRAPHS` names it. The default is a folder beside the
    project.
    """
    beside = Path(__file__).resolve().parents[4] / "shared" / "images"
    return Path(os.environ.get("COMPANION_PHOTOGRAPHS") or beside)


def bench_photographs() -> bool:
    """Read real photographs.

    Return whether no marker is wrong, and the peer does not find more right ones. Return True if
    there are no photographs.
    """
    folder, good = photographs_folder(), True
    if not (folder / "truth.json").is_file():
        print("photographs: not measured, there are none (set COMPANION_PHOTOGRAPHS)")
        return good
    for name, truth in json.loads((folder / "truth.json").read_text(encoding="utf-8")).items():
        # markers that must be found, and all that may be reported
        expected, allowed = Counter(truth["ids"]), {*truth["ids"], *truth["also_visible"]}
        (answer,) = read_images([folder / name], {}, truth["dict"])
        own = Counter(marker["id"] for marker in answer["markers"])
        peer = Counter(aruco_finder(truth["dict"])(load_luma(folder / name)))
        right, peer_right = (own & expected).total(), (peer & expected).total()
        figures = f"{right} of {expected.total()} markers (ArucoDetector {peer_right})"
        good &= print_verdict(name, right >= peer_right and set(own) <= allowed, figures)
    return good
