"""The workbench with a fake table and fake fingers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from web_fixtures import FakeHands, FakeWorld, Place, open_place

from web.features import Workbench


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


@pytest.fixture
def hands() -> FakeHands:
    return FakeHands()


@pytest.fixture
def place(tmp_path: Path, world: FakeWorld, hands: FakeHands) -> Iterator[Place]:
    with open_place(tmp_path, workbench=Workbench(world, hands)) as opened:
        yield opened


def test_the_page_has_the_picture_the_pads_and_ways_to_the_phones(place: Place) -> None:
    page = " ".join(place.browser().get("/workbench").text.split())
    assert 'viewBox="0 0 640 360"' in page
    assert 'data-button="south_up" aria-label="South: Up">' in page
    assert 'data-button="north_up" aria-label="North: Up" disabled>' in page
    assert 'href="/s"' in page
    picture = place.browser().get("/workbench/frame.jpg")
    assert (picture.mimetype, picture.data) == ("image/jpeg", b"\xff\xd8picture")


def test_pieces_go_to_squares_and_points_and_turn_over(place: Place, world: FakeWorld) -> None:
    place.to_orders()
    browser = place.browser()
    before = browser.get("/workbench/state").json
    assert before["pieces"] == [
        {"id": 3, "face": "purple robot", "square": "a1", "outline": [[10, 10], [20, 10], [20, 20]]}
    ]
    after = browser.post("/workbench/piece", json={"id": 3, "square": "c4"}).json
    assert after["pieces"][0]["square"] == "c4"
    assert after["frame"] != before["frame"]
    browser.post("/workbench/piece", json={"id": 3, "x": 120.0, "y": 40})
    browser.post("/workbench/flip", json={"id": 3})
    assert (world.piece.x_mm, world.piece.y_mm, world.flips) == (12.0, 4.0, 1)
    browser.post("/workbench/tidy", json={})
    assert world.layout == place.table.view().board.target


def test_keys_go_down_and_up_and_lamps_answer(place: Place, hands: FakeHands) -> None:
    browser = place.browser()
    browser.post("/workbench/press", json={"button": "south_up"})
    assert hands.down == {"south_up"}
    hands.tone_hz = 880.0
    state = browser.get("/workbench/state").json
    assert (state["lamps"], state["tone"]) == ({"south_1": 1.0}, 880.0)
    browser.post("/workbench/release", json={"button": "south_up"})
    assert hands.down == set()


@pytest.mark.parametrize(
    ("door", "body", "status"),
    [
        ("piece", {"id": 9, "square": "a1"}, 404),
        ("piece", {"id": 3, "square": "d1"}, 400),
        ("piece", {"id": 3}, 400),
        ("piece", {"id": 3, "x": 1e300, "y": 0}, 400),
        ("hand", {"square": "z9"}, 400),
        ("press", {"button": "east_up"}, 404),
    ],
)
def test_what_is_not_there_is_refused(
    place: Place, world: FakeWorld, door: str, body: object, status: int
) -> None:
    place.to_orders()
    before = world.piece
    assert place.browser().post(f"/workbench/{door}", json=body).status_code == status
    assert world.piece == before


def test_the_stream_tells_panel_page_and_world_and_only_what_changes(
    place: Place, hands: FakeHands
) -> None:
    with place.browser().get("/workbench/live", buffered=False) as stream:
        chunks = iter(stream.response)
        assert next(chunks) == b"retry: 1000\n\n"
        first = next(chunks).decode()
        assert "event: panel" in first
        assert 'id="bench-sign"' in first
        assert "clear all orders" not in first, "there are none"
        assert "event: world" in first
        hands.tone_hz = 440.0
        told = next(chunks).decode()
        assert told.startswith("event: panel\ndata: ")
        assert json.loads(told.split("data: ")[1])["tone"] == 440.0
        assert "world" not in told
