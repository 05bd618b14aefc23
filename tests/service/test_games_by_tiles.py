"""Test Outbuffered with orders that lie on the table as tiles, in simulation.

A row of three tiles is a seat's action: U, D, L and R move, I waits, S shoots. The camera reads the
rows, but neither row may appear in anything that people can see before both are revealed.
"""

from __future__ import annotations

import io
import json
import logging
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from simulated_room import SimulatedRoom

from companion.core.kit import SEATS, Seat
from companion.core.ports import PadKey, Press
from companion.table.session import Phase
from web.rendering.json_view import view_json

SOUTH, NORTH = SEATS
WITH_TILES = {"tiles": True}


class TileRoom(SimulatedRoom):
    """A simulated table at which both seats are taken and give their orders by tiles."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for seat, name in zip(SEATS, ("Mara", "Jonas"), strict=True):
            self.table.take_seat(seat, name)

    def begin(self, **options: object) -> None:
        """Begin a game with tiles, and let the camera see that its pieces are set up."""
        self.table.new_game("outbuffered", WITH_TILES | options, seed=7)
        self.look_at_new_game()

    def set_ready(self, *seats: Seat) -> None:
        """Say for these seats, or for both, that their tiles are laid."""
        for seat in seats or SEATS:
            self.table.set_tiles_ready(seat, self.table.view().moment, True)


@contextmanager
def open_room(folder: Path) -> Iterator[TileRoom]:
    folder.mkdir(exist_ok=True)
    room = TileRoom(folder)
    with closing(room.companion):
        yield room


def revealed_actions(room: TileRoom) -> dict[Seat, str]:
    """Return the action of each seat in the turn that was revealed last."""
    return {order.seat: order.action for order in room.table.view().turn.revealed_orders}


# ---- playing -------------------------------------------------------------------------------------


def test_tiles_and_hands_play_a_whole_game(tmp_path: Path) -> None:
    """Play with tiles and pieces alone, until somebody wins or the limit of four turns ends it."""
    rng = Random(5)
    laid_rows = []
    with open_room(tmp_path) as room:
        room.begin(turn_limit=4)
        while room.table.view().phase is Phase.ORDERS:
            # Both seats lay random tiles, which the camera reads.
            rows = {seat: "".join(rng.choices("UDLRIS", k=3)) for seat in SEATS}
            for seat, row in rows.items():
                room.world.lay_tiles(seat, row)
            room.set_ready()
            room.look()
            laid_rows.append(rows)
            # Hands move the pieces.
            room.follow()
        assert room.table.view().phase is Phase.OVER
        assert revealed_actions(room) == laid_rows[-1]
        # One turn would prove little: tiles have to be laid and read again and again.
        assert 3 <= len(laid_rows) <= 4


def test_a_pad_key_withdraws_ready_tiles(tmp_path: Path) -> None:
    with open_room(tmp_path) as room:
        for seat in SEATS:
            room.table.change_door(seat, "pad")
        room.begin()
        room.world.lay_tiles(SOUTH, "UIR")
        room.world.lay_tiles(NORTH, "LLL")
        # South is ready with its tiles until it enters an order by a key. Once it has taken that
        # order back, it can be ready again.
        for key, ready_seats in (
            (PadKey.READY, {SOUTH}),
            (PadKey.UP, set()),
            (PadKey.BACK, set()),
            (PadKey.READY, {SOUTH}),
        ):
            room.table.press(Press(SOUTH, key, room.clock.monotonic_s()))
            room.look(1)
            assert room.table.view().board.tiles_ready == ready_seats

        # When North, which is lime, is ready as well, the turn is revealed.
        assert room.sign() == "Waiting for lime"
        room.table.press(Press(NORTH, PadKey.READY, room.clock.monotonic_s()))
        room.look()
        assert room.table.view().phase is Phase.STAGES


def test_missing_tiles_are_named_and_phones_override_tiles(tmp_path: Path) -> None:
    with open_room(tmp_path) as room:
        # South, which is purple, has laid only two tiles. North stays ready, and nothing is sealed
        # until both rows are complete.
        room.begin()
        room.world.lay_tiles(NORTH, "LIS")
        room.world.lay_tiles(SOUTH, "UU")
        room.set_ready()
        room.look()
        view = room.table.view()
        assert str(view.sign.text) == "Purple: tile 3 is missing or covered"
        assert view.phase is Phase.ORDERS
        assert view.board.tiles_ready == {NORTH}, "a seat whose tiles are complete must stay ready"
        assert not any(seat.receipt for seat in view.seats.values())

        # With a third tile of South the turn is played.
        room.world.lay_tiles(SOUTH, "DUD")
        room.set_ready(SOUTH)
        room.look()
        assert room.table.view().phase is Phase.STAGES
        room.follow()

        # In the next turn South hands in another action by phone, which counts instead of its
        # tiles.
        room.world.lay_tiles(SOUTH, "UUU")
        room.set_ready(SOUTH)
        room.table.hand_in(SOUTH, room.table.view().moment, "RRR")
        assert room.table.view().board.tiles_ready == set()
        assert room.table.view().phase is Phase.ORDERS
        room.set_ready(NORTH)
        room.look()
        room.follow()
        assert revealed_actions(room) == {SOUTH: "RRR", NORTH: "LIS"}


# ---- secrets -------------------------------------------------------------------------------------


def visible_content(room: TileRoom) -> dict[str, object]:
    """Return all pictures and views that people can see, by the place where they see them."""
    eye = room.eye
    board = eye.board()
    lumas = {look.number: look.frame.luma.tobytes() for look in eye.settled_frames()}
    tints = {
        look.number: look.frame.colours().tobytes()
        for look in eye.settled_frames()
        if look.frame.colours
    }
    with zipfile.ZipFile(io.BytesIO(room.companion.support_zip())) as bundle:
        pictures = {name: bundle.read(name) for name in bundle.namelist() if name.endswith(".png")}
    views = {
        str(viewer): json.dumps(view_json(room.table.view(viewer)), default=str)
        for viewer in (None, *SEATS)
    }
    photographs = {
        moment: room.companion.album.photograph(1, moment)
        for moment in room.companion.album.moments(1)
    }
    return {
        "live": eye.picture(),
        "reading": repr(board.reading) if board else None,
        "lumas": lumas,
        "tints": tints,
        "photograph": eye.photograph(),
        "album": photographs,
        "workbench": room.world.jpeg(),
        "pieces": repr(room.world.pieces()),
        "bundle": pictures,
        "views": views,
    }


def content_during_turn(folder: Path, south: str, north: str) -> list[dict[str, object]]:
    """Return what people can see at eight points of a turn, from its start until South is ready.

    :param south: South's row of tiles
    :param north: North's row of tiles
    """
    contents = []
    with open_room(folder) as room:
        # Point 1: no tiles lie on the table.
        room.begin()
        contents.append(visible_content(room))

        # Point 2: both rows lie there.
        room.world.lay_tiles(SOUTH, south)
        room.world.lay_tiles(NORTH, north)
        room.look()
        contents.append(visible_content(room))

        # Points 3 to 6: the camera was bumped, so that the board has to be found again. Until then
        # the program does not know which part of a picture it must hide.
        room.world.set_view(replace(room.world.view, shift_mm=(25.0, 10.0), board_turn_deg=6.0))
        for _ in range(4):
            room.look(1)
            contents.append(visible_content(room))

        # Point 7: the camera was tilted.
        room.world.set_view(replace(room.world.view, tilt_deg=30.0))
        room.look(1)
        contents.append(visible_content(room))

        # Point 8: South is ready, so its row is read, but the turn is not revealed.
        room.look()
        room.set_ready(SOUTH)
        room.look(2)
        contents.append(visible_content(room))
    return contents


def test_visible_content_does_not_depend_on_tiles(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two games that differ only in their tiles look the same until the reveal, to the last byte.

    So nothing that people can see depends on a tile.
    """
    # Without randomness the two games are the same but for their tiles.
    monkeypatch.setattr("secrets.token_urlsafe", lambda *_: "the-same")
    caplog.set_level(logging.DEBUG)
    first = content_during_turn(tmp_path / "first", "UDL", "RSI")
    second = content_during_turn(tmp_path / "second", "SSI", "DUU")
    assert len(first) == len(second) == 8
    for point, (content, other_content) in enumerate(zip(first, second, strict=True), start=1):
        for place in content:
            assert content[place] == other_content[place], (point, place)

    # The comparison would prove nothing if there were no pictures at all.
    assert any(content["photograph"] for content in first), "a photograph must show the board"

    # The log is another place where a row could be read.
    for row in ("UDL", "RSI", "SSI", "DUU"):
        assert row not in caplog.text
