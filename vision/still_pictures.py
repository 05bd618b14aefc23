"""Reads single pictures: returns what lies on the board as plain JSON, with sentences about what
could not be read.

This is the command `companion read`. Each picture is read by itself, with more time than a frame of
a camera.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from companion.core.errors import CameraError
from companion.core.kit import DICTIONARY, Kit
from companion.core.ports import Reading
from vision.cameras.files import expand_folders, load_luma
from vision.detection.markers import (
    THOROUGH,
    Luma,
    MarkerFinder,
    Sighting,
    get_dictionary,
    sharpen,
)
from vision.reading.board_reader import BoardReader, make_board_reader

# Longer side in px up to which a picture is also searched for markers at twice its size. In larger
# pictures, markers are large enough to be found as they are.
_ENLARGE_BELOW_PX = 1000


def read_images(
    paths: Iterable[str | Path], kits: Mapping[str, Kit], dictionary: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield one answer for each picture. Folders stand for the pictures in them.

    `dictionary` names another marker dictionary, such as `DICT_6X6_250`, for photographs that show
    none of the kits' boards. If there is no dictionary of that name, asking for the first answer
    raises `Malformed`. For a file that cannot be read, the answer has a problem.

    An answer has these keys:

    - `file`, and `size` [width, height] in px or null
    - `markers`: [{`id`, `corners` [[x, y], four times] in px}]
    - `board`: a game or null
    - `layout` {square: face}, and `fans` {zone: [cards from the bottom to the top]}
    - `unknown` [squares], `beside` [faces next to the board]
    - `strangers` [ids of markers that belong to no piece, or are there twice]
    - `problems`: [sentences]
    """
    finder = MarkerFinder(dictionary or DICTIONARY, windows=THOROUGH)
    # Raises if the dictionary is unknown.
    get_dictionary(finder.dictionary)
    # Photographs with other markers do not show a board of the kits.
    is_foreign = dictionary not in (None, DICTIONARY)
    for name in paths:
        try:
            files = expand_folders([Path(name)])
        except CameraError as error:
            # A missing file, or a folder that cannot be read.
            yield _empty_answer(str(name), error.message)
            continue
        for path in files:
            try:
                luma = load_luma(path)
            except CameraError as error:
                # A file that is not a picture.
                yield _empty_answer(str(path), error.message)
                continue
            reader = None if is_foreign else make_board_reader(kits, thorough=True)
            yield _read_image(path, luma, finder, reader)


def _empty_answer(name: str, problem: str) -> dict[str, Any]:
    return {
        "file": name,
        "size": None,
        "markers": [],
        "board": None,
        "layout": {},
        "fans": {},
        "unknown": [],
        "beside": [],
        "strangers": [],
        "problems": [problem],
    }


def _read_image(
    path: Path, luma: Luma, finder: MarkerFinder, reader: BoardReader | None
) -> dict[str, Any]:
    """Return the answer for a (height, width) picture. Without a reader it has only its markers."""
    answer = _empty_answer(str(path), "")
    answer["size"] = [luma.shape[1], luma.shape[0]]
    sightings = _find_markers(finder, luma)

    # What lies on the board.
    problems = list[str]()
    if reader is not None:
        reading = reader.read_picture(luma)
        look = reader.memory.latest_look
        if look and not reader.mirror.is_mirrored:
            # Add the markers that were found only in a view from straight above.
            _add_new(sightings, look.sightings)
        answer |= {
            "board": reading.game,
            "layout": {str(square): face for square, face in sorted(reading.seen.items())},
            "fans": {str(zone): list(cards) for zone, cards in sorted(reading.fans.items())},
            "unknown": [str(square) for square in sorted(reading.unknown)],
            "beside": list(reading.beside),
            "strangers": list(reading.strangers),
        }
        problems += _board_problems(reading, reader.details.problem, reader.details.note)
    if not sightings:
        problems.append("No marker can be read: go closer, focus, and avoid glare")
    answer["problems"] = problems

    # All markers, by id and then from the top to the bottom of the picture.
    sightings.sort(key=lambda s: (s.marker, s.corners_px[0, 1], s.corners_px[0, 0]))
    for sighting in sightings:
        corners = sighting.corners_px.round(2).tolist()
        answer["markers"].append({"id": sighting.marker, "corners": corners})
    return answer


def _find_markers(finder: MarkerFinder, luma: Luma) -> list[Sighting]:
    """Return the markers of a picture. Small ones are also searched enlarged and sharpened."""
    sightings = list(finder.find(luma).sightings)
    if max(luma.shape) > _ENLARGE_BELOW_PX:
        return sightings
    larger = np.asarray(cv2.resize(luma, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC), np.uint8)
    for picture in (larger, sharpen(larger)):
        for sighting in finder.find(picture).sightings:
            # The centre of the first pixel is (0, 0) in both sizes.
            corners_px = (sighting.corners_px + 0.5) / 2 - 0.5
            _add_new(sightings, [Sighting(sighting.marker, corners_px)])
    return sightings


def _add_new(sightings: list[Sighting], candidates: Iterable[Sighting]) -> None:
    # The same marker in another place counts as new.
    for candidate in candidates:
        if not any(candidate.is_same(sighting) for sighting in sightings):
            sightings.append(candidate)


def _board_problems(reading: Reading, problem: str, note: str) -> list[str]:
    """Return sentences about what could not be read.

    `problem` is why there is no board, and `note` what else the reader says. Both may be empty.
    """
    if reading.game is None:
        if problem:
            return [problem]
        return ["No board: none of its corner markers is in the picture; show at least two of them"]
    # Known faults first, then what could not be read.
    problems = [note] if note else []
    if reading.unknown:
        names = ", ".join(str(square) for square in sorted(reading.unknown))
        problems.append(
            f"Not certain what lies on {names}: a hand, glare, or a marker that cannot be read"
        )
    if reading.strangers:
        names = ", ".join(map(str, reading.strangers))
        problems.append(
            f"Markers that belong to no piece of this game, or are there twice: {names}"
        )
    return problems
