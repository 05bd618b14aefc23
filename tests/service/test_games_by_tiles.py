"""Outbuffered by tiles alone: a whole game in simulation, and nothing of a row at any door before
both are revealed.
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
TILES = {"tiles": True}


class Room(SimulatedRoom):
    """Both sit down, and orders lie as tiles."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        for seat, name in zip(SEATS, ("Mara", "Jonas"), strict=True):
            self.table.take_seat(seat, name)

    def begin(self, **options: object) -> None:
        self.table.new_game("outbuffered", TILES | options, 7)
        self.look_at_new_game()

    def ready(self, *seats: Seat) -> None:
        for seat in seats or SEATS:
            self.table.set_tiles_ready(seat, self.table.view().moment, True)


@contextmanager
def room(folder: Path) -> Iterator[Room]:
    folder.mkdir(exist_ok=True)
    opened = Room(folder)
    with closing(opened.companion):
        yield opened


# ---- playing -------------------------------------------------------------------------------------


def test_tiles_and_hands_play_a_whole_game(tmp_path: Path) -> None:
    """No phone, no pad: tiles on the table, ready, and pieces that are moved."""
    rng, played = Random(5), []
    with room(tmp_path) as at:
        at.begin(turn_limit=4)
        while at.table.view().phase is Phase.ORDERS:
            texts = {seat: "".join(rng.choices("UDLRIS", k=3)) for seat in SEATS}
            for seat, text in texts.items():
                at.world.lay_tiles(seat, text)
            at.ready()
            at.look()
            played.append(texts)
            at.follow()
        assert at.table.view().phase is Phase.OVER
        assert [
            {each.seat: each.action for each in at.table.view().turn.revealed_orders}
        ] == played[-1:]
        assert 3 <= len(played) <= 4


def test_pads_say_ready_and_back(tmp_path: Path) -> None:
    with room(tmp_path) as at:
        for seat in SEATS:
            at.table.change_door(seat, "pad")
        at.begin()
        at.world.lay_tiles(SOUTH, "UIR")
        at.world.lay_tiles(NORTH, "LLL")
        # Whoever enters orders by keys does not go by tiles.
        for key, ready in (
            (PadKey.READY, {SOUTH}),
            (PadKey.UP, set()),
            (PadKey.BACK, set()),
            (PadKey.READY, {SOUTH}),
        ):
            at.table.press(Press(SOUTH, key, at.clock.monotonic_s()))
            at.look(1)
            assert at.table.view().board.tiles_ready == ready
        assert at.sign() == "Waiting for lime"
        at.table.press(Press(NORTH, PadKey.READY, at.clock.monotonic_s()))
        at.look()
        assert at.table.view().phase is Phase.STAGES


def test_wrong_tiles_are_named_and_phones_count(tmp_path: Path) -> None:
    with room(tmp_path) as at:
        at.begin()
        at.world.lay_tiles(NORTH, "LIS")
        at.world.lay_tiles(SOUTH, "UU")
        at.ready()
        at.look()
        view = at.table.view()
        assert str(view.sign.text) == "Purple: tile 3 is missing or covered"
        assert view.phase is Phase.ORDERS
        assert view.board.tiles_ready == {NORTH}, "who has laid well stays ready"
        assert not any(each.receipt for each in view.seats.values())
        at.world.lay_tiles(SOUTH, "DUD")
        at.ready(SOUTH)
        at.look()
        assert at.table.view().phase is Phase.STAGES
        at.follow()
        at.world.lay_tiles(SOUTH, "UUU")
        at.ready(SOUTH)
        at.table.hand_in(SOUTH, at.table.view().moment, "RRR")
        assert at.table.view().board.tiles_ready == set()
        assert at.table.view().phase is Phase.ORDERS
        at.ready(NORTH)
        at.look()
        at.follow()
        opened = {each.seat: each.action for each in at.table.view().turn.revealed_orders}
        assert opened == {SOUTH: "RRR", NORTH: "LIS"}


# ---- secrets -------------------------------------------------------------------------------------


def everything(at: Room) -> dict[str, object]:
    """Return all that anybody can see: pictures of every kind, and the view of each viewer."""
    eye = at.eye
    board = eye.board()
    lumas = {look.number: look.frame.luma.tobytes() for look in eye.settled_frames()}
    tints = {
        look.number: look.frame.colours().tobytes()
        for look in eye.settled_frames()
        if look.frame.colours
    }
    with zipfile.ZipFile(io.BytesIO(at.companion.support_zip())) as bundle:
        pictures = {name: bundle.read(name) for name in bundle.namelist() if name.endswith(".png")}
    views = {
        str(viewer): json.dumps(view_json(at.table.view(viewer)), default=str)
        for viewer in (None, *SEATS)
    }
    photographs = {
        moment: at.companion.album.photograph(1, moment) for moment in at.companion.album.moments(1)
    }
    return {
        "live": eye.picture(),
        "reading": repr(board.reading) if board else None,
        "lumas": lumas,
        "tints": tints,
        "photograph": eye.photograph(),
        "album": photographs,
        "workbench": at.world.jpeg(),
        "pieces": repr(at.world.pieces()),
        "bundle": pictures,
        "views": views,
    }


def sights_of_turn(folder: Path, south: str, north: str) -> list[dict[str, object]]:
    """Play a turn up to the reveal with these tiles, a bumped camera, a hand and a fault on the
    way.
    """
    sights = []
    with room(folder) as at:
        at.begin()
        sights.append(everything(at))
        at.world.lay_tiles(SOUTH, south)
        at.world.lay_tiles(NORTH, north)
        at.look()
        sights.append(everything(at))
        at.world.set_view(replace(at.world.view, shift_mm=(25.0, 10.0), board_turn_deg=6.0))
        for _ in range(4):
            at.look(1)
            sights.append(everything(at))
        at.world.set_view(replace(at.world.view, tilt_deg=30.0))
        at.look(1)
        sights.append(everything(at))
        at.look()
        at.ready(SOUTH)
        at.look(2)
        sights.append(everything(at))
    return sights


def test_no_door_depends_on_the_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_urlsafe", lambda *_: "the-same")
    caplog.set_level(logging.DEBUG)
    one, other = (
        sights_of_turn(tmp_path / "one", "UDL", "RSI"),
        sights_of_turn(tmp_path / "other", "SSI", "DUU"),
    )
    assert len(one) == len(other) == 8
    for number, (before, after) in enumerate(zip(one, other, strict=True)):
        for door in before:
            assert before[door] == after[door], (number, door)
    assert any(each["photograph"] for each in one), "the board itself is shown"
    for text in ("UDL", "RSI", "SSI", "DUU"):
        assert text not in caplog.text
