"""A reflection on a bare square hides nothing that could lie there; one that may hide a marker leaves it unknown."""

import numpy as np
import pytest

from companion.core.grid import Square
from companion.games import GAMES
from companion.printing.printed_kit import printed_table
from vision.reading.board_reader import BoardReader, board_reader
from vision.simulation.table import SimulatedTable
from vision.simulation.view import View

KIT = GAMES["kahmate"].kit(GAMES["kahmate"].options({}))
PLACE = Square(3, 5)


def with_glint(
    table: SimulatedTable, reader: BoardReader, radius_mm: float
) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """The table in dim light, and a lamp that shines back from the middle of `PLACE`, not so bright that it is white."""
    luma = table.render_luma()
    assert reader.pose is not None
    centre = reader.pose.to_px(np.array([[*KIT.board.centre_mm(PLACE), 0.0]]))[0]
    radius = radius_mm * float(
        reader.pose.px_per_mm(np.array([[*KIT.board.centre_mm(PLACE), 0.0]]))[0]
    )
    rows, columns = np.mgrid[: luma.shape[0], : luma.shape[1]]
    away = np.hypot(columns - centre[0], rows - centre[1])
    veil = 110 * np.clip((radius - away) / 3 + 0.5, 0, 1)
    return np.asarray((luma + veil).clip(0, 255), np.uint8)


@pytest.mark.parametrize(("radius_mm", "is_told"), [(4.0, True), (7.0, True), (12.0, False)])
def test_a_bare_square_with_a_small_reflection_is_empty(radius_mm: float, is_told: bool) -> None:
    table = printed_table(KIT, View(width=1920, height=1080, light=0.45, tilt_deg=20.0))
    table.set_up({})
    reader = board_reader({KIT.game: KIT})
    assert PLACE not in reader.read_picture(table.render_luma()).unknown
    reading = reader.read_picture(with_glint(table, reader, radius_mm))
    assert reading.seen == {}
    assert (PLACE not in reading.unknown) is is_told


@pytest.mark.parametrize("radius_mm", [2.0, 4.0, 6.0, 9.0])
def test_no_piece_hides_behind_a_reflection(radius_mm: float) -> None:
    table = printed_table(KIT, View(width=1920, height=1080, light=0.45, tilt_deg=20.0))
    face = KIT.faces[0].name
    table.set_up({PLACE: (face,)})
    reader = board_reader({KIT.game: KIT})
    reader.read_picture(table.render_luma())
    reading = reader.read_picture(with_glint(table, reader, radius_mm))
    assert PLACE in reading.unknown or reading.seen.get(PLACE) == face


def test_no_piece_in_glare_is_told_to_be_missing() -> None:
    """Half of the board is burnt out, and with it the outlines that would tell a bare square."""
    table = printed_table(KIT, View(tilt_deg=20.0))
    layout = {
        square: KIT.pieces[number][:1]
        for number, square in enumerate(KIT.board.squares[::8][: len(KIT.pieces)])
    }
    table.set_up(layout)
    luma = table.render_luma()
    luma[:, : luma.shape[1] // 2] = 255
    reading = board_reader({KIT.game: KIT}).read_picture(luma)
    told = reading.unknown | set(reading.seen)
    assert reading.game is None or set(layout) <= told
    table.hold_view(glare=(60.0, 150.0, 130.0))
    reading = board_reader({KIT.game: KIT}).read_picture(table.render_luma())
    assert reading.game == KIT.game
    assert set(layout) <= reading.unknown | set(reading.seen)
