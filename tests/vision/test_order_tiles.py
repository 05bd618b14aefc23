"""Test the reading of order tiles, which players of OUTBUFFERED lay in rows behind printed walls.

Rows are read on rendered tables and never wrongly. Pictures for people show only the board, so that
nobody sees the tiles.
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
from vision.reading.board_reader import make_board_reader
from vision.simulation.table import RenderedCamera
from vision.simulation.tile_rows import LaidTile, RowOrigin
from vision.simulation.view import CameraView, default_view
from vision.tiles.board_only import black_out
from vision.tiles.tile_reader import AGREEING_PICTURES, MAX_PICTURES, TileReader, TileWatch

GAME = GAMES["outbuffered"]
OPTIONS = GAME.options({"tiles": True})
KIT = GAME.kit(OPTIONS)
SPEC = KIT.order_tiles
SOUTH = Seat.SOUTH
NORTH = Seat.NORTH
DEFAULT_VIEW = default_view(KIT)


class TileRig:
    """A rendered table with a row of tiles for each seat, and a reader of its board.

    A row is written as the letters of its tiles, from the first to the last: U, D, L and R for
    up, down, left and right, S for shoot and I for wait.
    """

    def __init__(
        self, view: CameraView = DEFAULT_VIEW, south: str = "UUS", north: str = "LDI"
    ) -> None:
        self.world = render_table(KIT, view)
        self.world.set_up(GAME.expected(GAME.setup(OPTIONS, Random(0))) or {})
        self.world.lay_tiles(SOUTH, south)
        self.world.lay_tiles(NORTH, north)
        self.camera = RenderedCamera(self.world, FakeClock())
        self.reader = make_board_reader({KIT.game: KIT})
        self.reader.use(KIT)

    def frame(self, frames: int = 1) -> Frame:
        """Let the board reader read this number of frames, and return the last one."""
        for _ in range(frames):
            frame = self.camera.frame()
            self.reading = self.reader.read(frame)
        return frame

    def pose(self) -> Pose:
        assert self.reader.pose is not None
        return self.reader.pose

    def read_rows(self) -> dict[Seat, RowSeen]:
        return TileReader(KIT).read(self.frame(3).luma, self.reader.pose, SEATS)

    def read_row(self, seat: Seat) -> RowSeen:
        return self.read_rows()[seat]

    def lay(self, seat: Seat, *tiles: LaidTile) -> None:
        assert self.world.rows
        self.world.rows.laid[seat] = tiles
        self.render_again()

    def move_wall(self, seat: Seat, origin: RowOrigin) -> None:
        """Move a seat's wall and its row to another place."""
        assert self.world.rows
        self.world.rows.row_origins[seat] = origin
        self.render_again()

    def render_again(self) -> None:
        """Discard the rendered picture, as every change of the table does."""
        self.world.hold_hand(None)


def tiles_in_place(letters: str, seat: Seat = SOUTH) -> list[LaidTile]:
    """Return the tiles of a row, each in the middle of its place."""
    return [
        LaidTile(seat, letter, *SPEC.place_centre_mm(place)) for place, letter in enumerate(letters)
    ]


# ---- reading -------------------------------------------------------------------------------------


def test_no_marker_id_has_two_meanings() -> None:
    """Compare the ids of tiles with those of boards, pieces, cards and the page of `calibrate`."""
    tile_ids = [marker for row in SPEC.rows.values() for marker in row]
    tile_ids += [marker for orders in SPEC.orders.values() for marker in orders.values()]
    assert len(tile_ids) == len(set(tile_ids)) == 20
    kit_ids = set[int]()
    for game in GAMES.values():
        kit = game.kit(game.options({}))
        kit_ids |= {*kit.board.corners, *(marker for face in kit.faces for marker in face.markers)}
        kit_ids |= {card.marker for card in kit.deck.cards} if kit.deck else set()
    assert not kit_ids & set(tile_ids)
    assert not {*kit_ids, *tile_ids} & set(np.ravel(charuco_board().getIds()).tolist())


VIEWS = {
    "from South": DEFAULT_VIEW,
    "from above": replace(DEFAULT_VIEW, tilt_deg=3),
    "from North": replace(DEFAULT_VIEW, turn_deg=180),
    "a wide lens": replace(DEFAULT_VIEW, focal_ratio=0.62, k1=-0.12),
    "dim": replace(DEFAULT_VIEW, light=0.4, noise=4.0),
    "small": replace(DEFAULT_VIEW, width=1280, height=720, turn_deg=90, tilt_deg=20),
}


@pytest.mark.parametrize("name", VIEWS)
def test_rows_are_read_from_many_views(name: str) -> None:
    """Of six rows with random orders, at least five are read, and none is read wrongly."""
    rng = Random(f"rows {name}")
    right = 0
    for number in range(3):
        texts = {seat: "".join(rng.choices("UDLRSI", k=3)) for seat in SEATS}
        rows = TileRig(replace(VIEWS[name], seed=100 + number), *texts.values()).read_rows()
        for seat, row in rows.items():
            assert row.fault or row.text == texts[seat], "a row is read wrongly"
            right += row.text == texts[seat]
    assert right >= 5


def test_rows_are_found_where_the_walls_are() -> None:
    rig = TileRig()
    assert rig.world.rows
    y_mm = rig.world.rows.row_origins[SOUTH].y_mm
    for x_mm, turn_deg in ((-25.0, 8.0), (30.0, -12.0)):
        rig.move_wall(SOUTH, RowOrigin(KIT.board.width_mm / 2 + x_mm, y_mm, turn_deg))
        assert rig.read_row(SOUTH).text == "UUS"


# ---- faults --------------------------------------------------------------------------------------


FIRST, SECOND, THIRD = tiles_in_place("UDL")
# The tiles of a row, the faults that the reader may report, and at which place it must report them.
FAULTS: dict[str, tuple[list[LaidTile], set[RowFault], int | None]] = {
    "the last is missing": ([FIRST, SECOND], {RowFault.MISSING}, 3),
    "the first is missing": ([SECOND, THIRD], {RowFault.MISSING}, 1),
    "turned": ([FIRST, THIRD, replace(SECOND, turn_deg=40.0)], {RowFault.ASKEW}, 2),
    "one of the other seat": ([FIRST, SECOND, replace(THIRD, seat=NORTH)], {RowFault.FOREIGN}, 3),
    "shifted": ([FIRST, replace(SECOND, y_mm=SECOND.y_mm + 14), THIRD], {RowFault.ASKEW}, 2),
    "two in a place": (
        [FIRST, SECOND, THIRD, LaidTile(SOUTH, "S", SECOND.x_mm + 4, SECOND.y_mm + 27)],
        {RowFault.DOUBLED},
        2,
    ),
    "upside down": (
        [FIRST, replace(SECOND, turn_deg=180.0), THIRD],
        {RowFault.ASKEW, RowFault.MISSING},
        2,
    ),
    "a row of the other seat": (tiles_in_place("UDL", NORTH), {RowFault.FOREIGN}, 1),
}


def test_a_fault_is_reported_with_its_place() -> None:
    rig = TileRig()
    for name, (tiles, faults, place) in FAULTS.items():
        rig.lay(SOUTH, *tiles)
        row = rig.read_row(SOUTH)
        assert row.fault in faults, name
        assert (row.place, row.text) == (place, ""), name


def test_spare_tiles_beside_a_row_are_ignored() -> None:
    rig = TileRig()
    spare = [LaidTile(SOUTH, letter, 80.0 + 32 * place, 20.0) for place, letter in enumerate("IS")]
    rig.lay(SOUTH, *tiles_in_place("UDL"), *spare)
    assert rig.read_row(SOUTH).text == "UDL"


def test_a_second_or_missing_wall_is_reported() -> None:
    # two pictures of the table, one above the other, show two walls of South
    rig = TileRig()
    tiles = TileReader(KIT)
    both = np.vstack([rig.frame(3).luma, TileRig(south="SSS").frame().luma])
    row = tiles.read(both, rig.reader.pose, [SOUTH])[SOUTH]
    assert row.fault is RowFault.TWO_STRIPS

    # without a pose of the board, no row can be read
    assert tiles.read(both, None, [NORTH])[NORTH].fault is RowFault.NO_BOARD

    # South's wall lies 5 m away
    rig.move_wall(SOUTH, RowOrigin(-5000.0, -5000.0, 0.0))
    assert rig.read_row(SOUTH).fault is RowFault.NO_STRIP


def test_a_row_hides_its_text_from_logs() -> None:
    assert "UUS" not in repr(RowSeen("UUS")) + f"{RowSeen('UUS')}"


# ---- several pictures ----------------------------------------------------------------------------


def test_rows_are_answered_when_pictures_agree() -> None:
    """Rows are requested from 10.0 s on, so a picture of 9.9 s does not count."""
    rig = TileRig()
    watch = TileWatch(KIT)
    frame = rig.frame(3)
    watch.request(RowsWanted(1, frozenset(SEATS), since_s=10.0))
    pose = rig.reader.pose
    assert watch.read_picture(frame.luma, 9.9, pose) is None

    # the last of enough pictures that agree answers the request
    answers = [
        watch.read_picture(frame.luma, 10.0 + number, pose) for number in range(AGREEING_PICTURES)
    ]
    assert answers[:-1] == [None] * (AGREEING_PICTURES - 1)
    assert answers[-1]
    texts = {seat: row.text for seat, row in answers[-1].rows.items()}
    assert texts == {SOUTH: "UUS", NORTH: "LDI"}

    # a request is answered only once
    assert watch.read_picture(frame.luma, 20.0, pose) is None


def test_pictures_that_never_agree_are_a_fault() -> None:
    """A row that changes from picture to picture is never answered, though each looks faultless."""
    # two pictures with different rows
    rig, watch, pictures = TileRig(), TileWatch(KIT), []
    for letters in ("UUU", "DDD"):
        rig.world.lay_tiles(SOUTH, letters)
        pictures.append(rig.frame(3).luma)
    pose = rig.reader.pose

    # they take turns, until the reader gives up
    watch.request(RowsWanted(2, frozenset({SOUTH}), since_s=0.0))
    answers = [
        watch.read_picture(pictures[number % 2], number, pose) for number in range(MAX_PICTURES)
    ]
    assert answers[:-1] == [None] * (MAX_PICTURES - 1)
    assert answers[-1]
    assert answers[-1].rows[SOUTH].fault is RowFault.MISSING


# ---- pictures of the board alone -----------------------------------------------------------------


def test_people_see_only_the_board() -> None:
    """Neither brightness nor colours show the secret tiles, while the board stays visible."""
    rig = TileRig()
    board = KIT.board
    frame = rig.frame(3)
    pose = rig.pose()
    shown = black_out(frame, board, pose)

    # which of every fourth pixel is more than 6 mm outside the printed board with its strips
    rows, columns = np.mgrid[0 : DEFAULT_VIEW.height : 4, 0 : DEFAULT_VIEW.width : 4]
    points = pose.to_plane(np.column_stack([columns.ravel(), rows.ravel()]))
    low = np.array([-6.0, -board.strip_mm - 6])
    high = np.array([board.width_mm + 6, board.height_mm + board.strip_mm + 6])
    is_out = ((points < low) | (points > high)).any(axis=1).reshape(rows.shape)

    # these pixels are black, the others are not
    assert not shown.luma[::4, ::4][is_out].any()
    assert (shown.luma[::4, ::4][~is_out] > 0).mean() > 0.9
    assert frame.luma[::4, ::4][is_out].any(), "nothing is there to be hidden"

    # their colours, of which there is one for four by four pixels, are grey
    assert shown.colours
    tint = shown.colours()
    assert tint is not None
    assert (tint[is_out] == 128).all()


@pytest.mark.parametrize("moved", [{"shift_mm": (6, 0)}, {"board_turn_deg": 3}, {}])
def test_after_a_bump_people_see_nothing(moved: dict[str, Any]) -> None:
    """The pose is then wrong, so the picture may show tiles. Without a bump it shows the board."""
    rig = TileRig()
    rig.frame(3)
    pose = rig.reader.pose
    rig.world.set_view(replace(DEFAULT_VIEW, **moved))
    shown = black_out(rig.camera.frame(), KIT.board, pose)
    assert shown.luma.any() == (not moved)


def test_a_board_reading_ignores_tiles() -> None:
    """The markers of tiles have ids that the board reader does not search for."""
    for south, north in (("UDL", "RSI"), ("RSI", "UDL")):
        rig = TileRig(south=south, north=north)
        rig.read_rows()
        reading = rig.reading
        assert (reading.strangers, reading.beside, reading.unknown) == ((), (), frozenset())
        assert reading.quiet
