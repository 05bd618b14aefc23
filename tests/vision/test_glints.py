"""Test how the board reader judges squares under the reflection of a lamp, and under glare.

A reflection that is too small to hide a marker leaves an empty square empty. A larger one makes it
unknown.
"""

from dataclasses import replace

import numpy as np
import pytest
from reading_tools import KITS, BoardRig

from companion.core.grid import Square
from companion.core.kit import Layout
from companion.core.ports import Reading
from vision.detection.markers import Luma
from vision.pose.pose import Pose
from vision.reading.board_reader import make_board_reader
from vision.simulation.view import Glare

KIT = KITS["kahmate"]
LIT_SQUARE = Square(3, 5)


def add_reflection(luma: Luma, pose: Pose, radius_mm: float) -> Luma:
    """Return a dim picture with the reflection of a lamp on `LIT_SQUARE`.

    It is a disc that is 110 levels brighter than the rest, but not white. Its edge is 3 px wide.
    """
    centre_mm = np.array([[*KIT.board.centre_mm(LIT_SQUARE), 0.0]])
    x_px, y_px = pose.to_px(centre_mm)[0]
    radius_px = radius_mm * float(pose.px_per_mm(centre_mm)[0])
    rows, columns = np.indices(luma.shape)
    distance_px = np.hypot(columns - x_px, rows - y_px)
    added = 110 * np.clip((radius_px - distance_px) / 3 + 0.5, 0, 1)
    return np.asarray((luma + added).clip(0, 255), np.uint8)


def read_with_reflection(layout: Layout, radius_mm: float) -> Reading:
    """Read a table without a reflection, and return the reading of a second picture with one."""
    rig = BoardRig(KIT, layout, width=1920, height=1080, light=0.45, tilt_deg=20.0)
    luma = rig.table.render_luma()
    assert LIT_SQUARE not in rig.reader.read_picture(luma).unknown
    assert rig.reader.pose is not None
    return rig.reader.read_picture(add_reflection(luma, rig.reader.pose, radius_mm))


@pytest.mark.parametrize(("radius_mm", "is_known"), [(4.0, True), (7.0, True), (12.0, False)])
def test_a_small_reflection_leaves_a_square_empty(radius_mm: float, is_known: bool) -> None:
    reading = read_with_reflection({}, radius_mm)
    assert reading.seen == {}
    assert (LIT_SQUARE not in reading.unknown) is is_known


@pytest.mark.parametrize("radius_mm", [2.0, 4.0, 6.0, 9.0])
def test_a_piece_under_a_reflection_is_not_missed(radius_mm: float) -> None:
    face = KIT.faces[0].name
    reading = read_with_reflection({LIT_SQUARE: (face,)}, radius_mm)
    assert LIT_SQUARE in reading.unknown or reading.seen.get(LIT_SQUARE) == face


def test_a_piece_in_glare_is_not_missed() -> None:
    """Make half of the picture white, and then a large part of the board.

    An empty square is recognised by its printed outline. In glare there is none, so no square may
    be called empty there.
    """
    layout = {
        square: faces[:1] for square, faces in zip(KIT.board.squares[::8], KIT.pieces, strict=False)
    }
    rig = BoardRig(KIT, layout, tilt_deg=20.0)

    # the left half of the picture is white, so perhaps the board is not even found
    luma = rig.table.render_luma()
    luma[:, : luma.shape[1] // 2] = 255
    reading = make_board_reader({KIT.game: KIT}).read_picture(luma)
    assert reading.game is None or set(layout) <= reading.unknown | set(reading.seen)

    # glare on the board, with its corner markers visible
    rig.table.set_view(replace(rig.table.view, glare=Glare(x_mm=60.0, y_mm=150.0, radius_mm=130.0)))
    reading = make_board_reader({KIT.game: KIT}).read_picture(rig.table.render_luma())
    assert reading.game == KIT.game
    assert set(layout) <= reading.unknown | set(reading.seen)
