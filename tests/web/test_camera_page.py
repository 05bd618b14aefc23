"""The camera on the page Health with a fake eye: who may look, what is told, what is drawn into its
picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from flask.testing import FlaskClient
from web_fixtures import WebRig, open_web_rig, page_text

from companion.core.grid import Square
from companion.core.kit import Kit
from companion.core.ports import (
    Advice,
    BoardSeen,
    CameraOffer,
    CameraState,
    CameraStatus,
    Outline,
    Reading,
    SquareSeen,
    Weakness,
)
from companion.games import GAMES
from web.features import CameraFeature

ELSEWHERE = {"REMOTE_ADDR": "192.0.2.44"}
KIT = GAMES["outbuffered"].kit(GAMES["outbuffered"].options({}))


def board_seen(kit: Kit = KIT, *advice: Advice, **squares: SquareSeen) -> BoardSeen:
    """Return a board, 10 px per mm, whose squares are empty and well seen except those that are
    named.
    """
    board = kit.board
    each = tuple(
        replace(
            squares.get(str(square), SquareSeen(square, (), True, 1.0, ())),
            corners_px=corners_of(*board.centre_mm(square)),
        )
        for square in board.squares
        if square not in board.holes
    )
    reading = Reading({}, quiet=True, game=kit.game, beside=("lime flag",))
    return BoardSeen((1920, 1080), corners_of(100, 100), kit, reading, each, advice)


def corners_of(x: float, y: float) -> Outline:
    return tuple(
        (10 * (x + right), 10 * (y + down))
        for right, down in ((-20, -20), (20, -20), (20, 20), (-20, 20))
    )


def fake_eye() -> Mock:
    """An eye that shows a good board, with two cameras."""
    eye = Mock()
    eye.latest_number.return_value = 7
    eye.picture.return_value = b"\xff\xd8picture"
    eye.advice_without_board.return_value = ()
    eye.board.return_value = board_seen()
    offers = (CameraOffer("picamera", "Pi camera"), CameraOffer("usb:C920", "C920 <b>"))
    eye.cameras.return_value = offers
    eye.source.return_value = "picamera"
    eye.link.locks = (True, False)
    return eye


def fake_album() -> Mock:
    """Photographs of two turns of game 1."""
    album = Mock(trouble="Photographs cannot be kept.")
    album.moments = lambda game: ("1.0", "1.1") if game == 1 else ()
    album.photograph = lambda game, moment: (
        b"\xff\xd8turn" if moment in album.moments(game) else None
    )
    return album


@dataclass
class Room:
    """A place with a camera page: what a test needs at hand."""

    place: WebRig
    eye: Mock

    def host(self) -> FlaskClient:
        return self.place.host()

    def fragment(self, browser: FlaskClient | None = None) -> str:
        """Return what the page's stream sends first."""
        with (browser or self.host()).get("/live/health", buffered=False) as answer:
            text = ""
            for part in answer.response:
                text += part if isinstance(part, str) else part.decode()
                if text.count("\n\n") >= 2:
                    break
        return re.sub(r"^data: ", "", text, flags=re.M)


@contextmanager
def room_in(folder: Path) -> Iterator[Room]:
    eye = fake_eye()
    with open_web_rig(folder, camera=CameraFeature(eye, fake_album())) as rig:
        rig.table.set_camera_status(
            CameraStatus(CameraState.SEES_BOARD, "The camera sees the board")
        )
        rig.table.step()
        yield Room(rig, eye)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with room_in(tmp_path) as room:
        yield room


LOOKING = ("/host/health", "/live/health", "/camera/frame.jpg")


@pytest.mark.parametrize("path", LOOKING)
def test_the_live_picture_is_for_the_host_alone(room: Room, path: str) -> None:
    """Somebody's cards may be in it: no seat and no spectator gets it."""
    for browser in (room.place.browser(), room.place.sit("south")):
        assert browser.get(path).status_code == 403
    assert not room.eye.mock_calls
    picture = room.host().get("/camera/frame.jpg")
    assert (picture.data, picture.headers["Cache-Control"]) == (b"\xff\xd8picture", "no-store")


# ---- what the page says --------------------------------------------------------------------------


def test_a_good_view_and_one_with_advice(room: Room) -> None:
    robot = SquareSeen(Square(0, 0), ("purple robot",), True, 1.0, ())
    other = SquareSeen(Square(2, 3), ("lime robot",), True, 0.78, ())
    room.eye.board.return_value = board_seen(a1=robot, c4=other)
    page = room.fragment()
    assert "<span>Every square is sharp and bright</span>" in page
    assert 'aria-label="purple robot a1, lime robot c4 (78 %)"' in page
    assert page.count('class="line"') == 1 + 2, "around the board and each piece"
    assert 'href="#robot-s"' in page
    lamp = Advice("Move the lamp", "It is reflected on b2 and c3.", Weakness.GLARE)
    weak = SquareSeen(Square(1, 1), (), True, 1.0, (Weakness.GLARE,))
    unread = SquareSeen(Square(2, 2), (), False, 0.0, ())
    room.eye.board.return_value = board_seen(KIT, lamp, b2=weak, c3=unread)
    room.place.clock.advance(2)
    page = room.fragment()
    assert '<div class="sign"><span>Move the lamp</span></div>' in page
    assert "<span>It is reflected on b2 and c3.</span>" in page
    assert (page.count('class="plate weak"'), page.count('class="unread"')) == (1, 1)
    room.eye.board.return_value = None
    room.eye.advice_without_board.return_value = (
        Advice("Switch on a lamp", "The whole picture is dark.", Weakness.DARK),
    )
    room.place.clock.advance(2)
    assert "<span>Switch on a lamp</span>" in room.fragment()


def test_trouble_is_reported_in_words(room: Room) -> None:
    sentence = "USB camera 0 has stopped sending pictures: check its plug and cable"
    room.place.table.set_camera_status(CameraStatus(CameraState.TROUBLE, sentence))
    room.place.table.step()
    page = room.fragment()
    assert "Photographs cannot be kept." in page
    assert f"<span>{sentence}</span>" in page
    assert "<b>Camera</b><span>Has a problem</span>" in page
    assert '<svg class="seen"' not in page, "what was seen before is not now"
    assert room.host().get("/camera/frame.jpg").status_code == 404, "an old picture is not live"


# ---- photographs of turns ------------------------------------------------------------------------


def test_photographs_of_turns_are_for_everybody(room: Room) -> None:
    room.place.start_game()
    browser = room.place.browser()
    browser.environ_base.update(ELSEWHERE)
    first, second = browser.get("/api/photographs").json["photographs"]
    assert first == {"game": 1, "moment": "1.0", "title": "Set-up"}
    assert browser.get(f"/api/photograph/1/{second['moment']}").data == b"\xff\xd8turn"
    for missing in ("1/1.9", "2/1.1", "1/..%2f..%2fjournal"):
        assert browser.get(f"/api/photograph/{missing}").status_code == 404


# ---- what only the host does ---------------------------------------------------------------------


def test_the_host_locks_and_chooses(room: Room) -> None:
    host = room.host()
    page = room.fragment(host)
    assert re.search(r'aria-pressed="true"[^>]*data-body=\'{"focus":false}\'>Hold focus', page)
    assert re.search(r'aria-pressed="false"[^>]*data-body=\'{"exposure":true}\'>Hold exp', page)
    for door, body, status in (
        ("lock", {"focus": False}, 200),
        ("choose", {"source": "usb:C920"}, 200),
        ("choose", {"source": "/etc/passwd"}, 404),
        ("lock", {"zoom": 2}, 400),
    ):
        assert host.post(f"/api/camera/{door}", json=body).status_code == status
    room.eye.link.lock.assert_called_once_with(False, None)
    room.eye.link.choose.assert_called_once_with("usb:C920")
    whole = page_text(host, "/host/health")
    assert re.search(r'aria-pressed="true" data-post="/api/camera/choose"[^>]*>Pi camera<', whole)
    assert "C920 &lt;b&gt;" in whole
