"""Tests of the workbench of a simulated table, through Flask's client.

Its page shows a rendered table with pieces to drag, and a panel with keys to press.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from web_fixtures import WebRig, open_workbench_rig


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[WebRig]:
    with open_workbench_rig(tmp_path) as rig:
        rig.start_game()
        # put all pieces where the game expects them
        rig.browser().post("/workbench/tidy", json={})
        yield rig


def test_the_page_has_picture_pads_and_phones(rig: WebRig) -> None:
    page = " ".join(rig.browser().get("/workbench").text.split())
    assert re.search(r'viewBox="0 0 \d+ \d+"', page)
    assert 'data-button="south_up" aria-label="South: Up">' in page
    assert 'href="/s"' in page
    picture = rig.browser().get("/workbench/frame.jpg")
    assert (picture.mimetype, picture.data[:2]) == ("image/jpeg", b"\xff\xd8")


def test_a_piece_moves_to_squares_and_points(rig: WebRig) -> None:
    """A piece can be put on a square, or at any point of the picture, in pixels."""
    browser = rig.browser()
    before = browser.get("/workbench/state").json
    piece = next(piece for piece in before["pieces"] if piece["face"] == "purple robot")
    assert piece["square"] == "a1"

    def piece_after(route: str, **body: object) -> dict[str, object]:
        pieces = browser.post(f"/workbench/{route}", json=body).json["pieces"]
        return next(dict(moved) for moved in pieces if moved["id"] == piece["id"])

    # to a square, then into a corner of the picture where no square is, then back to its place
    assert piece_after("piece", id=piece["id"], square="c4")["square"] == "c4"
    assert piece_after("piece", id=piece["id"], x=1.0, y=1.0)["square"] is None
    assert browser.get("/workbench/state").json["frame"] != before["frame"]
    assert piece_after("tidy") == piece


@pytest.mark.parametrize(
    ("route", "body", "status"),
    [
        ("piece", {"id": 99, "square": "a1"}, 404),
        ("piece", {"id": 1, "square": "d1"}, 400),
        ("piece", {"id": 1}, 400),
        ("piece", {"id": 1, "x": 1e300, "y": 0}, 400),
        ("hand", {"square": "z9"}, 400),
        ("press", {"button": "east_up"}, 404),
    ],
)
def test_invalid_requests_change_nothing(
    rig: WebRig, route: str, body: object, status: int
) -> None:
    browser = rig.browser()
    before = browser.get("/workbench/state").json
    assert browser.post(f"/workbench/{route}", json=body).status_code == status
    assert browser.get("/workbench/state").json == before


def test_the_stream_sends_only_what_changes(rig: WebRig) -> None:
    """The stream sends panel, fragment and world first, and the world after a piece has moved."""
    browser = rig.browser()
    with browser.get("/workbench/live", buffered=False) as stream:
        chunks = iter(stream.response)
        assert next(chunks) == b"retry: 1000\n\n"
        first = next(chunks).decode()
        for words in ("event: panel", 'id="bench-sign"', "event: world"):
            assert words in first
        (piece, *_) = browser.get("/workbench/state").json["pieces"]
        browser.post("/workbench/piece", json={"id": piece["id"], "square": "c4"})
        event = next(chunks).decode()
        assert event.startswith("event: world\ndata: ")
        assert json.loads(event.split("data: ")[1])["pieces"]
        assert "panel" not in event
