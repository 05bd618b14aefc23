"""A reflection on a bare square hides nothing that could lie there; one that may hide a marker
leaves it unknown.
"""

from dataclasses import replace

import numpy as np
import pytest
from reading_tools import KITS, ReadTable

from companion.core.grid import Square
from companion.core.kit import Layout
from companion.core.ports import Reading
from vision.detection.markers import Luma
from vision.pose.pose import Pose
from vision.reading.board_reader import board_reader
from vision.simulation.view import Glare

KIT = KITS["kahmate"]
PLACE = Square(3, 5)


def with_glint(luma: Luma, pose: Pose, radius_mm: float) -> Luma:
    """Return a table in dim light with a lamp that shines back from `PLACE`, but does not make it
    white.
    """
    middle = np.array([[*KIT.board.centre_mm(PLACE), 0.0]])
    centre, radius = pose.to_px(middle)[0], radius_mm * float(pose.px_per_mm(middle)[0])
    rows, columns = np.indices(luma.shape)
    away = np.hypot(columns - centre[0], rows - centre[1])
    veil = 110 * np.clip((radius - away) / 3 + 0.5, 0, 1)
    return np.asarray((luma + veil).clip(0, 255), np.uint8)


def reading_under(layout: Layout, radius_mm: float) -> Reading:
    """Return the reading of a reader that has seen this table without the lamp."""
    seen = ReadTable(KIT, layout, width=1920, height=1080, light=0.45, tilt_deg=20.0)
    luma = seen.table.render_luma()
    assert PLACE not in seen.reader.read_picture(luma).unknown
    assert seen.reader.pose is not None
    return seen.reader.read_picture(with_glint(luma, seen.reader.pose, radius_mm))


@pytest.mark.parametrize(("radius_mm", "is_told"), [(4.0, True), (7.0, True), (12.0, False)])
def test_a_small_reflection_leaves_a_square_empty(radius_mm: float, is_told: bool) -> None:
    reading = reading_under({}, radius_mm)
    assert reading.seen == {}
    assert (PLACE not in reading.unknown) is is_told


@pytest.mark.parametrize("radius_mm", [2.0, 4.0, 6.0, 9.0])
def test_no_piece_hides_behind_a_reflection(radius_mm: float) -> None:
    face = KIT.faces[0].name
    reading = reading_under({PLACE: (face,)}, radius_mm)
    assert PLACE in reading.unknown or reading.seen.get(PLACE) == face


def test_no_piece_in_glare_is_missing() -> None:
    """Half of the board is burnt out, and with it the outlines that would tell a bare square."""
    layout = {
        square: faces[:1] for square, faces in zip(KIT.board.squares[::8], KIT.pieces, strict=False)
    }
    seen = ReadTable(KIT, layout, tilt_deg=20.0)
    luma = seen.table.render_luma()
    luma[:, : luma.shape[1] // 2] = 255
    reading = board_reader({KIT.game: KIT}).read_picture(luma)
    assert reading.game is None or set(layout) <= reading.unknown | set(reading.seen)
    seen.table.set_view(replace(seen.table.view, glare=Glare(60.0, 150.0, 130.0)))
    reading = board_reader({KIT.game: KIT}).read_picture(seen.table.render_luma())
    assert reading.game == KIT.game
    assert set(layout) <= reading.unknown | set(reading.seen)
