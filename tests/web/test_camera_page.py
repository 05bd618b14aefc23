"""Tests of the camera's part of the page Health, through Flask's client with a fake eye.

They cover who may see the live picture, what the page says and draws, photographs of turns, and the
camera's settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from camera_page_tools import KIT, Room, board_seen, room_in
from security_tools import stranger
from web_fixtures import page_text

from companion.core.grid import Square
from companion.core.ports import Advice, CameraState, CameraStatus, SquareSeen, Weakness


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with room_in(tmp_path) as room:
        yield room


PICTURE_PATHS = ("/host/health", "/live/health", "/camera/frame.jpg")


@pytest.mark.parametrize("path", PICTURE_PATHS)
def test_only_the_owner_sees_the_live_picture(room: Room, path: str) -> None:
    """Seats and spectators must not see it, because it may show somebody's cards."""
    for browser in (room.rig.browser(), room.rig.sit("south")):
        assert browser.get(path).status_code == 403
    assert not room.eye.mock_calls
    picture = room.host().get("/camera/frame.jpg")
    assert (picture.data, picture.headers["Cache-Control"]) == (b"\xff\xd8picture", "no-store")


# ---- what the page says --------------------------------------------------------------------------


def test_health_draws_the_board_and_gives_advice(room: Room) -> None:
    purple = SquareSeen(Square(0, 0), ("purple robot",), is_known=True, certainty=1.0)
    lime = SquareSeen(Square(2, 3), ("lime robot",), is_known=True, certainty=0.78)
    # all is well: the drawing has the board and both pieces, one of which is read with doubt
    room.eye.board.return_value = board_seen(a1=purple, c4=lime)
    page = room.fragment()
    assert "<span>Every square is sharp and bright</span>" in page
    assert 'aria-label="purple robot a1, lime robot c4 (78 %)"' in page
    assert page.count('class="line"') == 1 + 2, (
        "the board and both pieces must have one outline each"
    )
    assert 'href="#robot-s"' in page

    # a lamp is reflected: one square is read all the same, another is not
    lamp = Advice("Move the lamp", "It is reflected on b2 and c3.", Weakness.GLARE)
    weak = SquareSeen(Square(1, 1), (), is_known=True, certainty=1.0, weak=(Weakness.GLARE,))
    unread = SquareSeen(Square(2, 2), (), is_known=False, certainty=0.0)
    room.eye.board.return_value = board_seen(KIT, lamp, b2=weak, c3=unread)
    # more than the interval at which the board is measured
    room.rig.clock.advance(2)
    page = room.fragment()
    assert '<div class="sign"><span>Move the lamp</span></div>' in page
    assert "<span>It is reflected on b2 and c3.</span>" in page
    assert (page.count('class="plate weak"'), page.count('class="unread"')) == (1, 1)

    # no board is seen, because it is dark
    room.eye.board.return_value = None
    room.eye.advice_without_board.return_value = (
        Advice("Switch on a lamp", "The whole picture is dark.", Weakness.DARK),
    )
    room.rig.clock.advance(2)
    assert "<span>Switch on a lamp</span>" in room.fragment()


def test_camera_trouble_is_named_on_health(room: Room) -> None:
    sentence = "USB camera 0 has stopped sending pictures: check its plug and cable"
    room.rig.table.set_camera_status(CameraStatus(CameraState.TROUBLE, sentence))
    room.rig.table.step()
    page = room.fragment()
    assert "Photographs cannot be kept." in page
    assert f"<span>{sentence}</span>" in page
    assert "<b>Camera</b><span>Has a problem</span>" in page
    assert '<svg class="seen"' not in page, "an old drawing must not look like a new one"
    assert room.host().get("/camera/frame.jpg").status_code == 404, (
        "an old picture must not be sent as a live one"
    )


# ---- photographs of turns ------------------------------------------------------------------------


def test_everybody_sees_photographs_of_turns(room: Room) -> None:
    room.rig.start_game()
    browser = stranger(room.rig)
    first, second = browser.get("/api/photographs").json["photographs"]
    assert first == {"game": 1, "moment": "1.0", "title": "Set-up"}
    assert browser.get(f"/api/photograph/1/{second['moment']}").data == b"\xff\xd8turn"
    for missing in ("1/1.9", "2/1.1", "1/..%2f..%2fjournal"):
        assert browser.get(f"/api/photograph/{missing}").status_code == 404


# ---- the camera's settings -----------------------------------------------------------------------


def test_the_owner_locks_and_chooses_the_camera(room: Room) -> None:
    # the page has keys that would change the present state: the focus is held, the exposure is not
    host = room.host()
    page = room.fragment(host)
    assert re.search(r'aria-pressed="true"[^>]*data-body=\'{"focus":false}\'>Hold focus', page)
    assert re.search(r'aria-pressed="false"[^>]*data-body=\'{"exposure":true}\'>Hold exp', page)

    # only a camera that is offered can be chosen, and only known settings can be changed
    for route, body, status in (
        ("lock", {"focus": False}, 200),
        ("choose", {"source": "usb:C920"}, 200),
        ("choose", {"source": "/etc/passwd"}, 404),
        ("lock", {"zoom": 2}, 400),
    ):
        assert host.post(f"/api/camera/{route}", json=body).status_code == status
    room.eye.link.lock.assert_called_once_with(False, None)
    room.eye.link.choose.assert_called_once_with("usb:C920")

    # the page marks the camera in use, and escapes the names of cameras
    whole_page = page_text(host, "/host/health")
    assert re.search(
        r'aria-pressed="true" data-post="/api/camera/choose"[^>]*>Pi camera<', whole_page
    )
    assert "C920 &lt;b&gt;" in whole_page
