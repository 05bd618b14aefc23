"""Rows of order tiles: read in many lights and from many places, never wrongly; and pictures that
do not show them.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from reading_tools import render_table

from companion.core.clock import FakeClock
from companion.core.kit import SEATS, RowFault, RowSeen, RowsWanted, Seat
from companion.core.ports import Frame
from companion.games import GAMES
from vision.cameras.lens_pattern import charuco_board
from vision.pose.pose import Pose
from vision.reading.board_reader import board_reader
from vision.simulation.table import RenderedCamera
from vision.simulation.tile_rows import LaidTile, RowOrigin
from vision.simulation.view import CameraView, default_view
from vision.tiles.board_only import black_out
from vision.tiles.tile_reader import AGREEING_PICTURES, MAX_PICTURES, TileReader, TileWatch

GAME = GAMES["outbuffered"]
OPTIONS = GAME.options({"tiles": True})
KIT = GAME.kit(OPTIONS)
SPEC = KIT.order_tiles
SOUTH, NORTH = Seat.SOUTH, Seat.NORTH
PLAIN = default_view(KIT)


class Table:
    """A rendered table whose orders lie as tiles, with a reader that has found its board."""

    def __init__(self, view: CameraView = PLAIN, south: str = "UUS", north: str = "LDI") -> None:
        self.world = render_table(KIT, view)
        self.world.set_up(GAME.expected(GAME.setup(OPTIONS, Random(0))) or {})
        self.world.lay_tiles(SOUTH, south)
        self.world.lay_tiles(NORTH, north)
        self.camera = RenderedCamera(self.world, FakeClock())
        self.reader = board_reader({KIT.game: KIT})
        self.reader.use(KIT)

    def frame(self, frames: int = 1) -> Frame:
        """Read so many frames, and return the last one."""
        for _ in range(frames):
            frame = self.camera.frame()
            self.reading = self.reader.read(frame)
        return frame

    def pose(self) -> Pose:
        assert self.reader.pose is not None
        return self.reader.pose

    def rows(self) -> dict[Seat, RowSeen]:
        return TileReader(KIT).read(self.frame(3).luma, self.reader.pose, SEATS)

    def row(self, seat: Seat) -> RowSeen:
        return self.rows()[seat]

    def lay(self, seat: Seat, *tiles: LaidTile) -> None:
        assert self.world.rows
        self.world.rows.laid[seat] = tiles
        self.world.hold_hand(None)


def well(letters: str, seat: Seat = SOUTH) -> list[LaidTile]:
    return [
        LaidTile(seat, letter, *SPEC.place_centre_mm(place)) for place, letter in enumerate(letters)
    ]


# ---- reading -------------------------------------------------------------------------------------


def test_no_id_means_two_things() -> None:
    own = [marker for row in SPEC.rows.values() for marker in row]
    own += [marker for orders in SPEC.orders.values() for marker in orders.values()]
    assert len(own) == len(set(own)) == 20
    others = set[int]()
    for game in GAMES.values():
        kit = game.kit(game.options({}))
        others |= {*kit.board.corners, *(marker for face in kit.faces for marker in face.markers)}
        others |= {card.marker for card in kit.deck.cards} if kit.deck else set()
    assert not others & set(own)
    assert not {*others, *own} & set(np.ravel(charuco_board().getIds()).tolist())


VIEWS = {
    "from South": PLAIN,
    "from above": replace(PLAIN, tilt_deg=3),
    "from North": replace(PLAIN, turn_deg=180),
    "a wide lens": replace(PLAIN, focal_ratio=0.62, k1=-0.12),
    "dim": replace(PLAIN, light=0.4, noise=4.0),
    "small": replace(PLAIN, width=1280, height=720, turn_deg=90, tilt_deg=20),
}


@pytest.mark.parametrize("name", VIEWS)
def test_rows_are_read_in_many_lights(name: str) -> None:
    rng = Random(f"rows {name}")
    right = 0
    for number in range(3):
        texts = {seat: "".join(rng.choices("UDLRSI", k=3)) for seat in SEATS}
        rows = Table(replace(VIEWS[name], seed=100 + number), *texts.values()).rows()
        for seat, row in rows.items():
            assert row.fault or row.text == texts[seat], "a row is never read wrongly"
            right += row.text == texts[seat]
    assert right >= 5


def test_rows_are_found_wherever_the_walls_stand() -> None:
    table = Table()
    assert table.world.rows
    for x, turn in ((-25.0, 8.0), (30.0, -12.0)):
        origin = table.world.rows.row_origins[SOUTH]
        table.world.rows.row_origins[SOUTH] = RowOrigin(
            KIT.board.width_mm / 2 + x, origin.y_mm, turn
        )
        table.world.hold_hand(None)
        assert table.row(SOUTH).text == "UUS"


# ---- faults --------------------------------------------------------------------------------------


FIRST, SECOND, THIRD = well("UDL")
FAULTS: dict[str, tuple[list[LaidTile], set[RowFault], int | None]] = {
    "none": ([FIRST, SECOND], {RowFault.MISSING}, 3),
    "a gap": ([SECOND, THIRD], {RowFault.MISSING}, 1),
    "turned": ([FIRST, THIRD, replace(SECOND, turn_deg=40.0)], {RowFault.ASKEW}, 2),
    "the other's": ([FIRST, SECOND, replace(THIRD, seat=NORTH)], {RowFault.FOREIGN}, 3),
    "shifted": ([FIRST, replace(SECOND, y_mm=SECOND.y_mm + 14), THIRD], {RowFault.ASKEW}, 2),
    "two": (
        [FIRST, SECOND, THIRD, LaidTile(SOUTH, "S", SECOND.x_mm + 4, SECOND.y_mm + 27)],
        {RowFault.DOUBLED},
        2,
    ),
    "upside down": (
        [FIRST, replace(SECOND, turn_deg=180.0), THIRD],
        {RowFault.ASKEW, RowFault.MISSING},
        2,
    ),
    "another row": (well("UDL", NORTH), {RowFault.FOREIGN}, 1),
}


def test_what_is_wrong_is_named_with_its_place() -> None:
    table = Table()
    for tiles, faults, place in FAULTS.values():
        table.lay(SOUTH, *tiles)
        row = table.row(SOUTH)
        assert row.fault in faults, tiles
        assert (row.place, row.text) == (place, ""), tiles
    spare = [LaidTile(SOUTH, letter, 80.0 + 32 * place, 20.0) for place, letter in enumerate("IS")]
    table.lay(SOUTH, *well("UDL"), *spare)
    assert table.row(SOUTH).text == "UDL"


def test_a_second_or_missing_wall_is_named() -> None:
    table, tiles = Table(), TileReader(KIT)
    both = np.vstack([table.frame(3).luma, Table(south="SSS").frame().luma])
    row = tiles.read(both, table.reader.pose, [SOUTH])[SOUTH]
    assert row.fault is RowFault.TWO_STRIPS
    assert tiles.read(both, None, [NORTH])[NORTH].fault is RowFault.NO_BOARD
    assert table.world.rows
    table.world.rows.row_origins[SOUTH] = RowOrigin(-5000.0, -5000.0, 0.0)
    table.world.hold_hand(None)
    assert table.row(SOUTH).fault is RowFault.NO_STRIP


def test_a_printed_row_hides_its_text() -> None:
    assert "UUS" not in repr(RowSeen("UUS")) + f"{RowSeen('UUS')}"


# ---- several pictures ----------------------------------------------------------------------------


def test_several_new_pictures_must_agree() -> None:
    table, watch = Table(), TileWatch(KIT)
    frame = table.frame(3)
    watch.request(RowsWanted(1, frozenset(SEATS), 10.0))
    pose = table.reader.pose
    assert watch.read_picture(frame.luma, 9.9, pose) is None
    answers = [
        watch.read_picture(frame.luma, 10.0 + number, pose) for number in range(AGREEING_PICTURES)
    ]
    assert answers[:-1] == [None] * (AGREEING_PICTURES - 1)
    assert answers[-1]
    texts = {seat: row.text for seat, row in answers[-1].rows.items()}
    assert texts == {SOUTH: "UUS", NORTH: "LDI"}
    assert watch.read_picture(frame.luma, 20.0, pose) is None, "it is answered once"
    pictures = []
    for letters in ("UUU", "DDD"):
        table.world.lay_tiles(SOUTH, letters)
        pictures.append(table.frame().luma)
    watch.request(RowsWanted(2, frozenset({SOUTH}), 0.0))
    answers = [
        watch.read_picture(pictures[number % 2], number, pose) for number in range(MAX_PICTURES)
    ]
    assert answers[:-1] == [None] * (MAX_PICTURES - 1)
    assert answers[-1]
    assert answers[-1].rows[SOUTH].fault is RowFault.MISSING, "they never agree"


# ---- pictures of the board alone -----------------------------------------------------------------


def test_only_the_board_is_shown() -> None:
    table, board = Table(), KIT.board
    frame, pose = table.frame(3), table.pose()
    shown = black_out(frame, board, pose)
    rows, columns = np.mgrid[0 : PLAIN.height : 4, 0 : PLAIN.width : 4]
    points = pose.to_plane(np.column_stack([columns.ravel(), rows.ravel()]))
    # well outside of the printed board, with its strips
    low = np.array([-6.0, -board.strip_mm - 6])
    high = np.array([board.width_mm + 6, board.height_mm + board.strip_mm + 6])
    is_out = ((points < low) | (points > high)).any(axis=1).reshape(rows.shape)
    assert not shown.luma[::4, ::4][is_out].any()
    assert (shown.luma[::4, ::4][~is_out] > 0).mean() > 0.9
    assert frame.luma[::4, ::4][is_out].any(), "the camera itself sees more"
    assert shown.colours
    tint = shown.colours()
    assert tint is not None
    assert (tint[is_out] == 128).all()


@pytest.mark.parametrize("moved", [{"shift_mm": (6, 0)}, {"board_turn_deg": 3}, {}])
def test_a_bumped_camera_shows_nothing(
    moved: dict[str, Any],
) -> None:
    table = Table()
    table.frame(3)
    pose = table.reader.pose
    table.world.set_view(replace(PLAIN, **moved))
    shown = black_out(table.camera.frame(), KIT.board, pose)
    assert shown.luma.any() == (not moved)


def test_no_reading_of_the_board_hears_of_tiles() -> None:
    """Their markers are of ids that whoever reads a board does not know."""
    for south, north in (("UDL", "RSI"), ("RSI", "UDL")):
        table = Table(south=south, north=north)
        table.rows()
        reading = table.reading
        assert (reading.strangers, reading.beside, reading.unknown) == ((), (), frozenset())
        assert reading.quiet
