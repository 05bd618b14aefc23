"""Test what is read in single pictures, such as photographs, and how it is answered as JSON."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from bench.reading.costs import photographs_folder
from reading_tools import render_table

from companion.core.errors import Malformed
from companion.core.grid import Square
from companion.core.kit import Kit
from companion.games import GAMES
from companion.games.outbuffered import Outbuffered
from vision.detection.markers import best_guess, marker_modules
from vision.still_pictures import read_images

OUTBUFFERED: Kit = Outbuffered().kit(Outbuffered().options({}))
KITS = {"outbuffered": OUTBUFFERED}
B2, C1, C4 = Square(1, 1), Square(2, 0), Square(2, 3)

PHOTOGRAPHS = photographs_folder()


def load_truth() -> dict[str, Any]:
    """Return which markers are in each photograph, or nothing if the folder is missing."""
    truth = PHOTOGRAPHS / "truth.json"
    return json.loads(truth.read_text()) if truth.is_file() else {}


@pytest.mark.skipif(
    not load_truth(), reason="the folder ../shared/images with the photographs is missing"
)
def test_every_marker_of_the_photographs_is_found() -> None:
    for name, truth in load_truth().items():
        (answer,) = read_images([PHOTOGRAPHS / name], KITS, truth["dict"])
        found = Counter(marker["id"] for marker in answer["markers"])
        assert not Counter(truth["ids"]) - found, f"{name}: a marker is missing"
        allowed = {*truth["ids"], *truth["also_visible"]}
        assert set(found) <= allowed, f"{name}: a marker is not in the picture"
        middles = [np.mean(marker["corners"], axis=0) for marker in answer["markers"]]
        for centre in truth["centers"] or ():
            assert min(np.abs(middle - centre).max() for middle in middles) < 3


def test_a_picture_is_answered_as_plain_json(tmp_path: Path) -> None:
    table = render_table(OUTBUFFERED)
    table.set_up({B2: ("lime flag",)})
    table.hold_hand(C4)
    (tmp_path / "1.jpg").write_bytes(table.jpeg())
    (tmp_path / "2.png").write_bytes(b"damaged")
    first, second, third = read_images([tmp_path, str(tmp_path / "gone.png")], KITS)
    assert json.loads(json.dumps(first)) == first
    assert (first["board"], first["size"], first["layout"]) == (
        "outbuffered",
        [1280, 720],
        {"b2": "lime flag"},
    )
    assert "c4" in first["unknown"]
    assert first["problems"][0].startswith("Not certain what lies on ")
    assert "c4" in first["problems"][0]
    ids = {marker["id"] for marker in first["markers"]}
    # the arm hides the corner marker 2
    assert ids >= {0, 1, 3, 23}
    assert "2.png: is not a picture that can be read" in second["problems"][0]
    assert "gone.png: cannot be read" in third["problems"][0]


def test_open_cards_are_answered(tmp_path: Path) -> None:
    kit = GAMES["binmat"].kit(GAMES["binmat"].options({}))
    table = render_table(kit)
    table.set_up({C1: ("4^", "9^")})
    cv2.imwrite(str(tmp_path / "cards.png"), table.render_luma())
    (answer,) = read_images([tmp_path / "cards.png"], {kit.game: kit})
    assert answer["fans"] == {str(C1): ["4^", "9^"]}


def test_a_picture_without_a_board_is_reported(tmp_path: Path) -> None:
    """It shows a single marker, which a ribbon makes unreadable."""
    picture = np.full((400, 400), 220, np.uint8)
    picture[100:250, 100:250] = cv2.resize(
        marker_modules(20), (150, 150), interpolation=cv2.INTER_NEAREST
    )
    picture[160:180, 90:260] = 200  # a ribbon across it
    cv2.imwrite(str(tmp_path / "a.png"), picture)
    (answer,) = read_images([tmp_path / "a.png"], KITS)
    assert answer["board"] is None
    assert answer["problems"][0].startswith(
        "No board: none of its corner markers is in the picture"
    )
    assert "No marker can be read: go closer, focus, and avoid glare" in answer["problems"]


def test_an_unknown_dictionary_is_refused() -> None:
    with pytest.raises(
        Malformed, match="“DICT_9X9” is not a marker dictionary: expected one like DICT_6X6_250"
    ):
        list(read_images([], KITS, "DICT_9X9"))


# ---- blurred markers -----------------------------------------------------------------------------


def test_a_blurred_marker_is_recognised_by_likeness() -> None:
    """The guess is one of the candidates, turned as it lies. It is None if nothing is like it."""
    corners = np.array([[20, 20], [83, 20], [83, 83], [20, 83]], dtype=np.float64)
    for turns in range(4):
        picture = np.full((104, 104), 230, np.uint8)
        picture[20:84, 20:84] = cv2.resize(
            np.rot90(marker_modules(21), turns), (64, 64), interpolation=cv2.INTER_NEAREST
        )
        blurred = np.asarray(cv2.GaussianBlur(picture, (0, 0), 4.5), np.uint8)
        found = best_guess(blurred, corners, (20, 21, 22, 23))
        assert found is not None
        assert found.marker == 21
        assert np.allclose(found.corners_px, np.roll(corners, turns, axis=0))
        assert best_guess(blurred, corners, (20, 22, 23)) is None
    assert best_guess(np.full((104, 104), 128, np.uint8), corners, (20, 21)) is None
