"""The camera on the page Health with a fake eye: who may look, what is told, what is drawn into its picture."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient
from web_fixtures import HOST_KEY, Place, error_of, open_place, page_of

from companion.core.grid import Square
from companion.core.kit import Kit, Seat
from companion.core.ports import (
    Advice,
    BoardSeen,
    CameraOffer,
    CameraState,
    CameraStatus,
    Frame,
    Outline,
    Reading,
    SettledFrame,
    SquareSeen,
    Weakness,
)
from companion.games import GAMES
from companion.table.session import Phase
from companion.table.views import turn_title
from web.features import CameraRoom

ELSEWHERE = {"REMOTE_ADDR": "192.0.2.44"}
KIT = GAMES["outbuffered"].kit(GAMES["outbuffered"].options({}))
SCOUTS = GAMES["scouts"].kit(GAMES["scouts"].options({}))


def seen(kit: Kit = KIT, *advice: Advice, **squares: SquareSeen) -> BoardSeen:
    """A board, 10 px a mm, on which all squares are empty and well seen but those that are named."""
    board = kit.board
    each = tuple(
        replace(
            squares.get(str(square), SquareSeen(square, (), True, 1.0, (), 6.04)),
            corners_px=corners_of(*board.centre_mm(square)),
        )
        for square in board.squares
        if square not in board.holes
    )
    reading = Reading({}, quiet=True, game=kit.game, beside=("lime flag",))
    return BoardSeen(7, (1920, 1080), corners_of(100, 100), kit, reading, each, advice, 512.0, 34.6)


def corners_of(x: float, y: float) -> Outline:
    return tuple(
        (10 * (x + right), 10 * (y + down))
        for right, down in ((-20, -20), (20, -20), (20, 20), (-20, 20))
    )


@dataclass
class FakeEye:
    """Shows what it is told to show, and remembers what was asked of it."""

    shown: BoardSeen | None = field(default_factory=seen)
    blind: tuple[Advice, ...] = ()
    frames: tuple[SettledFrame, ...] = ()
    locked: tuple[bool | None, bool | None] | None = (True, False)
    offers: tuple[CameraOffer, ...] = (
        CameraOffer("picamera", "Pi camera"),
        CameraOffer("usb:C920", "C920 <b>"),
    )
    chosen: str = "picamera"
    asked: list[object] = field(default_factory=list)

    def number(self) -> int:
        return 7

    def picture(self) -> bytes | None:
        self.asked.append("picture")
        return b"\xff\xd8picture"

    def blind_advice(self) -> tuple[Advice, ...]:
        return self.blind

    def board(self, frame: int | None = None) -> BoardSeen | None:
        self.asked.append("board")
        return self.shown

    def settled(self) -> tuple[SettledFrame, ...]:
        return self.frames

    def settled_picture(self, frame: int, width_px: int) -> bytes | None:
        return f"{frame} {width_px}".encode() if frame == 3 else None

    def photograph(self) -> bytes | None:
        return None

    def cameras(self) -> tuple[CameraOffer, ...]:
        return self.offers

    def source(self) -> str:
        return self.chosen

    def name(self) -> str:
        return "Pi camera"

    def choose(self, source: str) -> None:
        self.asked.append(source)

    def locks(self) -> tuple[bool | None, bool | None] | None:
        return self.locked

    def lock(self, focus: bool | None = None, exposure: bool | None = None) -> None:
        self.asked.append((focus, exposure))


@dataclass
class FakeAlbum:
    """Photographs of two turns of game 1."""

    trouble: str = ""

    def moments(self, game: int) -> tuple[str, ...]:
        return ("1.0", "1.1") if game == 1 else ()

    def photograph(self, game: int, moment: str) -> bytes | None:
        return b"\xff\xd8turn" if moment in self.moments(game) else None


@dataclass
class Room:
    """A place with a camera page: what a test needs at hand."""

    place: Place
    eye: FakeEye
    album: FakeAlbum

    def host(self, **where: str) -> FlaskClient:
        browser = self.place.browser()
        browser.post("/host", data={"key": HOST_KEY})
        if where:
            browser.environ_base.update(where)
        return browser

    def fragment(self, browser: FlaskClient | None = None) -> str:
        """What the page's stream sends first."""
        with (browser or self.host()).get("/live/health", buffered=False) as answer:
            text = ""
            for part in answer.response:
                text += part if isinstance(part, str) else part.decode()
                if text.count("\n\n") >= 2:
                    break
        return re.sub(r"^data: ", "", text, flags=re.M)


@contextmanager
def room_in(folder: Path, eye: FakeEye | None) -> Iterator[Room]:
    shown, album = eye or FakeEye(), FakeAlbum()
    with open_place(folder, camera=CameraRoom(eye, album)) as place:
        place.table.camera_is(CameraStatus(CameraState.SEES_BOARD, "The camera sees the board"))
        place.table.step()
        yield Room(place, shown, album)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with room_in(tmp_path, FakeEye()) as opened:
        yield opened


LOOKING = (
    "/host/health", "/live/health", "/camera/frame.jpg", "/camera/settled/3", "/camera/settled/3.jpg",
)  # fmt: skip


@pytest.mark.parametrize("path", LOOKING)
def test_the_live_picture_is_for_the_host_alone(room: Room, path: str) -> None:
    """Somebody's cards may be in it: no seat and no spectator gets it."""
    for browser in (room.place.browser(), room.place.sit("south"), room.place.sit("north")):
        answer = browser.get(path)
        assert answer.status_code == 403
        assert b"\xff\xd8" not in answer.data
    assert room.eye.asked == []


def test_the_host_looks(room: Room) -> None:
    picture = room.host(**ELSEWHERE).get("/camera/frame.jpg")
    assert (picture.mimetype, picture.data) == ("image/jpeg", b"\xff\xd8picture")
    assert picture.headers["Cache-Control"] == "no-store"


def test_a_frame_is_encoded_once_for_all_who_look(room: Room) -> None:
    for _ in range(5):
        room.host().get("/camera/frame.jpg")
    assert room.eye.asked.count("picture") == 1


def test_the_board_is_measured_at_most_so_often(room: Room) -> None:
    for _ in range(4):
        room.fragment()
    assert room.eye.asked.count("board") == 1
    room.place.clock.advance(2)
    room.fragment()
    assert room.eye.asked.count("board") == 2


# ---- what the page says --------------------------------------------------------------------------------------------------


def test_a_good_view(room: Room) -> None:
    room.eye.shown = seen(
        a1=SquareSeen(Square(0, 0), ("purple robot",), True, 1.0, (), 9.9),
        c4=SquareSeen(Square(2, 3), ("lime robot",), True, 0.78, (), 6.0),
    )
    page = room.fragment()
    assert "<span>Every square is sharp and bright</span>" in page
    assert 'aria-label="purple robot a1, lime robot c4 (78 %)"' in page
    assert page.count('class="line"') == 1 + 2, "around the board and each piece"
    assert page.count('<circle class="plate') == 12, (
        "ten dots on free squares, two plates with a symbol"
    )
    assert 'href="#robot-s"' in page


def test_what_is_not_read_is_under_the_shutter(room: Room) -> None:
    room.eye.shown = seen(b2=SquareSeen(Square(1, 1), (), False, 0.0, (), 7.0))
    page = room.fragment()
    assert "<span>Not read: b2</span>" in page
    assert page.count('class="unread"') == 1


def test_the_first_advice_is_the_headline_and_its_reason_stands_below_the_picture(
    room: Room,
) -> None:
    lamp = Advice("Move the lamp", "It is reflected on b2 and c3.", Weakness.GLARE)
    room.eye.shown = seen(
        KIT, lamp, b2=SquareSeen(Square(1, 1), (), True, 1.0, (Weakness.GLARE,), 7.0)
    )
    page = room.fragment()
    assert '<div class="sign"><span>Move the lamp</span></div>' in page
    assert "<span>It is reflected on b2 and c3.</span>" in page
    assert page.count('class="plate weak"') == 1


def test_every_board_is_drawn(room: Room) -> None:
    for game in GAMES.values():
        kit = game.kit(game.options({}))
        faces = ("5&",) if kit.deck else (kit.faces[0].name,)
        room.eye.shown = seen(kit, a1=SquareSeen(Square(0, 0), faces, True, 0.5, (), 3.0))
        room.place.clock.advance(2)
        page = room.fragment()
        assert "(50 %)" in page, kit.game
        assert len(page.encode()) < 60_000


def test_trouble_is_said_in_words(room: Room) -> None:
    sentence = "USB camera 0 has stopped sending pictures: check its plug and cable"
    room.place.table.camera_is(CameraStatus(CameraState.TROUBLE, sentence))
    room.place.table.step()
    page = room.fragment()
    assert f"<span>{sentence}</span>" in page
    assert "<b>Camera</b><span>Has a problem</span>" in page
    assert '<svg class="seen"' not in page, "what was seen before is not now"
    assert room.host().get("/camera/frame.jpg").status_code == 404, "an old picture is not live"


def test_no_board_in_view(room: Room) -> None:
    room.eye.shown = None
    assert "<span>Get the whole board into the picture</span>" in room.fragment()
    room.eye.blind = (Advice("Switch on a lamp", "The whole picture is dark.", Weakness.DARK),)
    room.place.clock.advance(2)
    assert "<span>Switch on a lamp</span>" in room.fragment()


def test_without_a_camera_the_page_says_so(tmp_path: Path) -> None:
    with room_in(tmp_path, None) as room:
        room.place.table.camera_is(CameraStatus(CameraState.NONE))
        room.place.table.step()
        browser = room.host()
        assert browser.get("/host/health").status_code == 200
        assert "No camera: confirm by hand" in room.fragment(browser)
        assert browser.get("/camera/frame.jpg").status_code == 404


# ---- settled frames and turns ------------------------------------------------------------------------------------------


def test_settled_frames_small_and_large(room: Room) -> None:
    luma = np.zeros((72, 128), np.uint8)
    room.place.clock.advance(60)
    frame = SettledFrame(3, Frame(luma, 50.0, 9), Reading({}, quiet=True), (0.8, 0.0), (), {})
    room.eye.frames = (frame, replace(frame, number=4))
    browser = room.host()
    page = room.fragment(browser)
    assert page.index("/camera/settled/4") < page.index("/camera/settled/3"), "the newest first"
    assert browser.get("/camera/settled/3.jpg?small").data == b"3 240"
    assert browser.get("/camera/settled/3.jpg").data == b"3 1920"
    assert browser.get("/camera/settled/9.jpg").status_code == 404
    room.eye.shown = seen(a1=SquareSeen(Square(0, 0), ("purple robot",), True, 0.9, (), 9.9))
    large = page_of(browser, "/camera/settled/3")
    assert 'src="/camera/settled/3.jpg"' in large
    assert re.search(r'<th scope="row">a1</th><td>purple robot</td><td>90 %</td>', large)
    assert browser.get("/camera/settled/9").status_code == 404


def test_photographs_of_turns_are_for_everybody(room: Room) -> None:
    room.place.to_orders()
    browser = room.place.browser()
    told = browser.get("/api/photographs", environ_overrides=ELSEWHERE).get_json()["photographs"]
    assert told == [
        {"game": 1, "moment": "1.0", "title": "Set-up"},
        {"game": 1, "moment": "1.1", "title": "Taken back"},
    ]
    picture = browser.get("/api/photograph/1/1.1", environ_overrides=ELSEWHERE)
    assert (picture.mimetype, picture.data) == ("image/jpeg", b"\xff\xd8turn")
    for path in (
        "/api/photograph/1/1.9",
        "/api/photograph/2/1.1",
        "/api/photograph/1/..%2f..%2fjournal",
    ):
        assert browser.get(path).status_code == 404


def test_photographs_that_cannot_be_kept_are_told(room: Room) -> None:
    room.album.trouble = (
        "Photographs of the turns cannot be kept (No space left): free some space on the disk."
    )
    assert "cannot be kept (No space left)" in room.fragment()


# ---- what only the host does -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("door", "body"), [("lock", {"focus": True}), ("choose", {"source": "usb:C920"})]
)
def test_only_the_host_changes_something(room: Room, door: str, body: dict[str, object]) -> None:
    for browser in (room.place.browser(), room.place.sit("south")):
        answer = browser.post(f"/api/camera/{door}", json=body)
        assert answer.status_code == 403
        assert error_of(answer)["reason"] == "host_only"
    assert room.eye.asked == []
    answer = room.host().post(
        f"/api/camera/{door}", json=body, headers={"Origin": "http://evil.example"}
    )
    assert answer.status_code == 403
    assert room.eye.asked == []


def test_the_host_locks_and_chooses(room: Room) -> None:
    host = room.host()
    page = room.fragment(host)
    assert re.search(r'aria-pressed="true"[^>]*data-body=\'{"focus":false}\'>Hold focus', page)
    assert re.search(
        r'aria-pressed="false"[^>]*data-body=\'{"exposure":true}\'>Hold exposure', page
    )
    assert host.post("/api/camera/lock", json={"focus": False}).status_code == 200
    assert host.post("/api/camera/choose", json={"source": "usb:C920"}).status_code == 200
    assert host.post("/api/camera/choose", json={"source": "/etc/passwd"}).status_code == 404
    assert host.post("/api/camera/lock", json={"zoom": 2}).status_code == 400
    assert room.eye.asked == ["board", (False, None), "usb:C920"]
    whole = page_of(host, "/host/health")
    assert re.search(r'aria-pressed="true" data-post="/api/camera/choose"[^>]*>Pi camera<', whole)
    assert "C920 &lt;b&gt;" in whole


def test_json_of_the_photographs_is_plain(room: Room) -> None:
    assert json.loads(room.place.browser().get("/api/photographs").data) == {"photographs": []}


def test_a_photograph_names_its_turn_as_the_game_counts_it(room: Room) -> None:
    """In Scouts a turn has several plays, each with a photograph."""
    table = room.place.table
    table.new_game("scouts", {"start": "c6 e2 f1 g1 h1 / c7 c9 e3 g10 h10"}, 1)
    while (view := table.view()).phase in (Phase.SETUP, Phase.STAGES):
        table.confirm("host", view.moment, view.turn.stage, force=True)
    for action in ("c6^c8^c10", ".", "e3^e1", "h10-h9"):
        view = table.view()
        (seat,) = (seat for seat in Seat if view.seats[seat].awaited)
        table.hand_in(seat, view.moment, action)
        while (view := table.view()).phase is Phase.STAGES:
            table.confirm("host", view.moment, view.turn.stage, force=True)
    turns = table.progress().turns
    assert [turn_title(moment, turns) for moment in turns] == [
        "Turn 1",
        "Turn 1",
        "Turn 2",
        "Turn 2",
    ]
    assert table.view().turn.number == 2


@pytest.mark.parametrize(("way", "is_said"), [("full", True), ("referee", False)])
def test_where_cards_are_merely_counted_no_page_speaks_of_the_camera(
    room: Room, way: str, is_said: bool
) -> None:
    seat = room.place.sit("south")
    room.place.table.new_game("binmat", {"way": way})
    assert ("The camera sees the board" in page_of(seat, "/seat/south")) is is_said
