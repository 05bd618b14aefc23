"""Test what is read in single pictures, such as photographs, and how it is answered as JSON."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from bench.reading.costs import photographs_folder
from reading_tools import KITS, render_table

from companion.core.errors import Malformed
from companion.core.grid import Square
from vision.detection.markers import best_guess, marker_modules
from vision.still_pictures import read_images

OUTBUFFERED = {"outbuffered": KITS["outbuffered"]}
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
    """Each marker has to be found where it is, and nothing else may be taken for a marker."""
    for name, truth in load_truth().items():
        (answer,) = read_images([PHOTOGRAPHS / name], OUTBUFFERED, truth["dict"])

        # a photograph may show the same marker several times, so markers are counted
        found = Counter(marker["id"] for marker in answer["markers"])
        assert not Counter(truth["ids"]) - found, f"{name}: a marker is missing"
        allowed = {*truth["ids"], *truth["also_visible"]}
        assert set(found) <= allowed, f"{name}: a marker is not in the picture"

        # where the middles are known, one marker is within 3 px of each
        middles = [np.mean(marker["corners"], axis=0) for marker in answer["markers"]]
        for centre in truth["centers"] or ():
            assert min(np.abs(middle - centre).max() for middle in middles) < 3


def test_a_picture_is_answered_as_plain_json(tmp_path: Path) -> None:
    """Each file gets its own answer, also one that is damaged or missing."""
    # a picture of a flag on b2 and a hand over c4, a damaged picture, and a missing one
    table = render_table(KITS["outbuffered"])
    table.set_up({B2: ("lime flag",)})
    table.hold_hand(C4)
    (tmp_path / "1.jpg").write_bytes(table.jpeg())
    (tmp_path / "2.png").write_bytes(b"damaged")
    of_table, of_damaged, of_missing = read_images(
        [tmp_path, str(tmp_path / "gone.png")], OUTBUFFERED
    )

    # the answer is plain JSON, which is the same after a round trip
    assert json.loads(json.dumps(of_table)) == of_table
    assert (of_table["board"], of_table["size"], of_table["layout"]) == (
        "outbuffered",
        [1280, 720],
        {"b2": "lime flag"},
    )

    # the square under the hand is unknown, and a sentence says so
    assert "c4" in of_table["unknown"]
    assert of_table["problems"][0].startswith("Not certain what lies on ")
    assert "c4" in of_table["problems"][0]

    # Corner markers have the ids 0 to 3, and the lime flag has 23. The arm hides corner marker 2.
    ids = {marker["id"] for marker in of_table["markers"]}
    assert ids >= {0, 1, 3, 23}

    # the other two answers only say what is wrong with the file
    assert "2.png: is not a picture that can be read" in of_damaged["problems"][0]
    assert "gone.png: cannot be read" in of_missing["problems"][0]


def test_open_cards_are_answered(tmp_path: Path) -> None:
    """The cards of a fan are listed from the bottom to the top."""
    kit = KITS["binmat"]
    table = render_table(kit)
    table.set_up({C1: ("4^", "9^")})
    cv2.imwrite(str(tmp_path / "cards.png"), table.render_luma())
    (answer,) = read_images([tmp_path / "cards.png"], {kit.game: kit})
    assert answer["fans"] == {str(C1): ["4^", "9^"]}


def test_a_picture_without_a_board_is_reported(tmp_path: Path) -> None:
    """The picture shows a single marker that is not a corner of a board, and not even readable."""
    picture = np.full((400, 400), 220, np.uint8)
    picture[100:250, 100:250] = cv2.resize(
        marker_modules(20), (150, 150), interpolation=cv2.INTER_NEAREST
    )
    # a light ribbon across the marker spoils its modules
    picture[160:180, 90:260] = 200
    cv2.imwrite(str(tmp_path / "a.png"), picture)
    (answer,) = read_images([tmp_path / "a.png"], OUTBUFFERED)
    assert answer["board"] is None
    assert answer["problems"][0].startswith(
        "No board: none of its corner markers is in the picture"
    )
    assert "No marker can be read: go closer, focus, and avoid glare" in answer["problems"]


def test_an_unknown_dictionary_is_refused() -> None:
    with pytest.raises(
        Malformed, match="“DICT_9X9” is not a marker dictionary: expected one like DICT_6X6_250"
    ):
        list(read_images([], OUTBUFFERED, "DICT_9X9"))


# ---- blurred markers -----------------------------------------------------------------------------


def test_a_blurred_marker_is_recognised_by_likeness() -> None:
    """Guess what marker 21 is, which is too blurred to decode, in each of its four orientations."""
    corners = np.array([[20, 20], [83, 20], [83, 83], [20, 83]], dtype=np.float64)
    for turns in range(4):
        picture = np.full((104, 104), 230, np.uint8)
        picture[20:84, 20:84] = cv2.resize(
            np.rot90(marker_modules(21), turns), (64, 64), interpolation=cv2.INTER_NEAREST
        )
        blurred = np.asarray(cv2.GaussianBlur(picture, (0, 0), 4.5), np.uint8)

        # the guess is the right candidate, and its corners begin with the marker's own first one
        found = best_guess(blurred, corners, (20, 21, 22, 23))
        assert found is not None
        assert found.marker == 21
        assert np.allclose(found.corners_px, np.roll(corners, turns, axis=0))

        # none of the other candidates is similar enough
        assert best_guess(blurred, corners, (20, 22, 23)) is None

    # a grey patch is similar to no marker at all
    assert best_guess(np.full((104, 104), 128, np.uint8), corners, (20, 21)) is None
