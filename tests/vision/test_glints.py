"""A reflection on a bare square hides nothing that could lie there; one that may hide a marker leaves it unknown."""

from random import Random

import cv2
import numpy as np
import pytest

from companion.core.grid import Square
from companion.core.kit import DICTIONARY
from companion.games import GAMES
from vision.detection.markers import Luma, dictionary_of, marker_modules
from vision.detection.veiled_markers import veiled_markers
from vision.pieces.board_reader import BoardReader, board_reader
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

KIT = GAMES["kahmate"].kit(GAMES["kahmate"].options({}))
PLACE = Square(3, 5)
FACE = KIT.faces[3].name


def with_glint(
    table: SimulatedTable, reader: BoardReader, radius_mm: float
) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """The table in dim light, and a lamp that shines back from the middle of `PLACE`, not so bright that it is white."""
    luma = table.render_luma()
    assert reader.pose is not None
    centre = reader.pose.to_px(np.array([[*KIT.board.centre_mm(PLACE), 0.0]]))[0]
    radius = radius_mm * reader.pose.px_per_mm(*KIT.board.centre_mm(PLACE))
    rows, columns = np.mgrid[: luma.shape[0], : luma.shape[1]]
    away = np.hypot(columns - centre[0], rows - centre[1])
    veil = 110 * np.clip((radius - away) / 3 + 0.5, 0, 1)
    return np.asarray((luma + veil).clip(0, 255), np.uint8)


@pytest.mark.parametrize(("radius_mm", "is_told"), [(4.0, True), (7.0, True), (12.0, False)])
def test_a_bare_square_with_a_small_reflection_is_empty(radius_mm: float, is_told: bool) -> None:
    table = SimulatedTable(KIT, View(width=1920, height=1080, light=0.45, tilt_deg=20.0))
    table.set_up({})
    reader = board_reader({KIT.game: KIT})
    assert PLACE not in reader.read_picture(table.render_luma()).unknown
    reading = reader.read_picture(with_glint(table, reader, radius_mm))
    assert reading.seen == {}
    assert (PLACE not in reading.unknown) is is_told


@pytest.mark.parametrize("radius_mm", [2.0, 4.0, 6.0, 9.0])
def test_no_piece_hides_behind_a_reflection(radius_mm: float) -> None:
    table = SimulatedTable(KIT, View(width=1920, height=1080, light=0.45, tilt_deg=20.0))
    face = KIT.faces[0].name
    table.set_up({PLACE: (face,)})
    reader = board_reader({KIT.game: KIT})
    reader.read_picture(table.render_luma())
    reading = reader.read_picture(with_glint(table, reader, radius_mm))
    assert PLACE in reading.unknown or reading.seen.get(PLACE) == face


def with_reflection(luma: Luma, middle: tuple[float, float], axes: tuple[float, float], degrees: float) -> Luma:
    """A picture with an ellipse of light that adds 190 of 255 in it and fades at its rim."""
    glow = np.zeros(luma.shape, np.float32)
    cv2.ellipse(glow, (middle, (2 * axes[0], 2 * axes[1]), degrees), (190.0,), -1)
    return np.asarray((luma + cv2.GaussianBlur(glow, (0, 0), 0.2 * min(axes) + 1)).clip(0, 255), np.uint8)


@pytest.fixture(scope="module")
def dim() -> tuple[Luma, tuple[float, float], float]:
    """A table in little light with one piece on `PLACE`, where in the picture its marker is, and how large, px."""
    table = SimulatedTable(KIT, View(width=1920, height=1080, light=0.2, tilt_deg=20.0, noise=2.0))
    table.set_up({PLACE: (FACE,)})
    print_ = next(print_ for print_ in table.prints() if PLACE in print_.squares)
    x, y = print_.corners_px.mean(axis=0)
    return table.render_luma(), (float(x), float(y)), 7 * print_.module_px


@pytest.mark.parametrize(
    ("across", "down", "axes", "degrees"),
    [
        (-0.6, 0.0, (0.12, 0.4), 70.0),
        (0.0, -0.6, (0.2, 0.5), 20.0),
        (0.0, 0.6, (0.2, 0.5), 110.0),
        (0.6, -0.6, (0.2, 0.5), 70.0),
        (0.6, 0.0, (0.12, 0.4), 110.0),
        (-0.6, 0.6, (0.2, 0.5), 70.0),
    ],
)
def test_a_marker_of_which_a_reflection_hides_a_part_is_read_from_the_rest(
    dim: tuple[Luma, tuple[float, float], float],
    across: float,
    down: float,
    axes: tuple[float, float],
    degrees: float,
) -> None:
    luma, (x, y), side = dim
    middle, size = (x + across * side, y + down * side), (axes[0] * side, axes[1] * side)
    reading = board_reader({KIT.game: KIT}).read_picture(with_reflection(luma, middle, size, degrees))
    assert reading.seen == {PLACE: FACE}


def test_no_reflection_makes_one_marker_another() -> None:
    """Every marker of the dictionary in grey light, under reflections that hide next to nothing or nearly all of it."""
    rng, side, right = Random("veiled"), 44, 0
    everything = range(len(dictionary_of(DICTIONARY).bytesList))
    for marker in everything:
        view = np.full((140, 140), 90, np.uint8)
        left, top = rng.randrange(30, 66), rng.randrange(30, 66)
        print_ = cv2.resize(marker_modules(marker), (side, side), interpolation=cv2.INTER_AREA)
        view[top : top + side, left : left + side] = 20 + 70 * (np.rot90(print_, rng.randrange(4)) > 0)
        middle = left + rng.uniform(0, side), top + rng.uniform(0, side)
        lit = with_reflection(view, middle, (rng.uniform(3, 12), rng.uniform(6, 24)), rng.uniform(0, 180))
        told = [sighting.marker for sighting in veiled_markers(lit, side, everything)]
        assert told in ([], [marker])
        assert not list(veiled_markers(lit, side, set(everything) - {marker}))
        right += told == [marker]
    assert right >= 40
