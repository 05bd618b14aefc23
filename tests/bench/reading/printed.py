"""Pieces as they come out of the printer,: the kit's own sheets, cut out and rendered.

The renderer draws tops of its own; here each scene is read once more with the tops that the printed sheet shows, so
that names, signs and letters in the rims are those that people hold. Needs `pdftoppm` (poppler).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import cv2
import numpy as np

from bench.reading.pictures import READER, Score, Verdict, read_scene
from bench.reading.scenes import kits, scene
from companion.core.kit import DICTIONARY, Kit
from companion.printing.kit_pages.sheets import kit_sheets
from vision.pieces.tags import tags_of, top_mm
from vision.simulation.artwork import Bgr, top_picture

CONDITIONS = (("clean", 4), ("defocus", 2), ("motion", 2), ("low light", 4), ("jpeg", 4), ("small", 2), ("tilt", 3))
"""Each with the severest that `bench.reading.pictures.BOUNDS` asks for."""
LEAST = 0.995
_DPI = 200
_MM = _DPI / 25.4


@dataclass
class Printed:
    """The counts with the renderer's own tops and with the printed ones."""

    drawn: Score
    printed: Score

    def verdict(self) -> Verdict:
        """Printed pieces are read as well as drawn ones, and nothing false is said."""
        holds = self.printed.right_share >= LEAST and not self.printed.wrong_entries and not self.printed.false
        counts = (f"{score.right} of {score.on_board}" for score in (self.printed, self.drawn))
        return Verdict("pieces as printed: readable ones right", holds, "{}, as drawn {}".format(*counts))


def bench_printed(number: int, say: Callable[[str], None]) -> Printed | None:
    """So many scenes of each condition; None where nothing can turn the sheets into pictures."""
    if shutil.which("pdftoppm") is None:
        say("pieces as printed: not measured, apt install poppler-utils")
        return None
    result = Printed(Score("printed", 0, "drawn"), Score("printed", 0, READER))
    for condition, severity in CONDITIONS:
        for index in range(number):
            wanted = scene(f"{condition}-{severity}-{index + 1}")
            result.drawn.add(read_scene(wanted, None, None)[0][0])
            with patch("vision.simulation.pieces.top_picture", _top_as_printed):
                tallies, faults = read_scene(wanted, None, None)
            result.printed.add(tallies[0])
            if faults:
                say(f"    {wanted.name} as printed ({wanted.kit.game}): {'; '.join(faults)}")
    return result


def _top_as_printed(marker: int, *args: Any, **kwargs: Any) -> Bgr:
    top = _printed_tops().get(marker)
    return top_picture(marker, *args, **kwargs) if top is None else top


@cache
def _printed_tops() -> Mapping[int, Bgr]:
    """The top of every piece by its marker, as the sheets of all kits show it."""
    return {marker: top for kit in kits() for marker, top in printed_tops(kit).items()}


def printed_tops(kit: Kit) -> dict[int, Bgr]:
    """The tops of a kit's pieces by their markers, cut out of its printed sheets; each at 200 px an inch."""
    pdf, sheets = kit_sheets(kit)
    sizes = {marker: top_mm(kit, face) for tag in tags_of(kit) for face, marker in tag}
    detector = cv2.aruco.ArucoDetector(cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, DICTIONARY)))
    tops = dict[int, Bgr]()
    with TemporaryDirectory() as folder:
        for number, kind in enumerate(sheets.kinds, start=1):
            if kind != "pieces":
                continue
            page = Path(folder) / f"page-{number}"
            command = ["pdftoppm", "-r", str(_DPI), "-f", str(number), "-l", str(number), "-singlefile", "-", str(page)]
            subprocess.run(command, input=pdf, check=True, capture_output=True)
            picture = cv2.imread(f"{page}.ppm")
            if picture is None:
                raise ValueError(f"page {number} of the kit of {kit.game} is no picture")
            corners, ids, _ = detector.detectMarkers(picture)
            for marker, four in zip(() if ids is None else np.ravel(ids), corners, strict=True):
                if (size := sizes.get(int(marker))) is not None:
                    middle, half = four.reshape(4, 2).mean(axis=0), np.array(size) * _MM / 2
                    (left, upper), (right, lower) = np.rint(middle - half), np.rint(middle + half)
                    top = picture[int(upper) : int(lower), int(left) : int(right)]
                    tops[int(marker)] = np.array(top, dtype=np.uint8)
    return tops
