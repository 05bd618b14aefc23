"""Tests of an old phone as the camera, through Flask's client with a whole companion in process.

They cover who may send pictures, what the phone gets in return, and how it is led past its
browser's warning about the certificate.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from PIL import Image
from simulated_room import local_settings
from web_fixtures import SALT, page_text, single_spaced

from companion.core.clock import FakeClock
from companion.core.config import PanelSettings
from companion.core.kit import SEATS
from companion.games import GAMES
from companion.printing.printed_kit import printed_table
from companion.service.app import Companion
from web.app import create_phone_app

# A browser elsewhere on the network, and what two phones say of themselves.
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.9"}
ANDROID = {"User-Agent": "Mozilla/5.0 (Linux; Android 14)"}
IPHONE = {"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0)"}
GAME = GAMES["outbuffered"]


@dataclass
class Room:
    """A companion without threads, and the two applications that it serves.

    `main` has the pages of the table. `secure`, over HTTPS on a port of its own, has only those of
    the phone.
    """

    companion: Companion
    clock: FakeClock
    main: Flask
    secure: Flask

    def code(self) -> str:
        """Return the code for the next phone, as the owner's page shows it."""
        return self.companion.phone_server.phone_camera.pairing.code()

    def phone(self, code: str = "") -> FlaskClient:
        """Return the browser of a phone. With a code, it is paired as the camera."""
        browser = self.secure.test_client()
        browser.environ_base.update(ELSEWHERE)
        if code:
            assert browser.post("/api/eye/pair", json={"code": code}).status_code == 200
        return browser

    def host(self) -> FlaskClient:
        browser = self.main.test_client()
        browser.environ_base.update(ELSEWHERE)
        browser.post("/host", data={"key": self.companion.host_key})
        return browser

    def send(self, phone: FlaskClient, picture: bytes) -> Any:
        """Send a picture that was taken 20 ms ago. Return the answer."""
        path = f"/api/eye/picture?taken_ms={1000 * self.clock.monotonic_s() - 20}"
        return phone.post(path, data=picture, content_type="image/jpeg")

    def film(self, phone: FlaskClient, board: Any) -> dict[str, Any]:
        """Send six pictures of a board, each with other noise, and let the companion read them.

        Return the fields of all answers. A later field replaces an earlier one of the same name.
        """
        answer: dict[str, Any] = {}
        for seed in range(6):
            noise = np.random.default_rng(seed).integers(-3, 4, board.shape)
            answer |= self.send(phone, jpeg_of(board + noise)).json
            self.companion.step()
            self.clock.advance(0.1)
        return answer


def jpeg_of(luma: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.clip(luma, 0, 255).astype(np.uint8)).save(file, "JPEG", quality=85)
    return file.getvalue()


@pytest.fixture(scope="module")
def board() -> Any:
    """The board at the beginning of a game, as a phone sees it."""
    options = GAME.options({})
    world = printed_table(GAME.kit(options))
    world.set_up(GAME.expected(GAME.setup(options, Random(0))) or {})
    picture = Image.fromarray(world.render_luma()).resize((1280, 720))
    return np.asarray(picture, np.int16)


@contextmanager
def room_in(folder: Path) -> Iterator[Room]:
    clock = FakeClock()
    settings = local_settings(folder, panel=PanelSettings(enabled="no"))
    with Companion(settings, simulate=False, clock=clock, threads=False) as companion:
        main = companion.server.app
        yield Room(
            companion, clock, main, create_phone_app(main, companion.phone_server.phone_camera)
        )


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with room_in(tmp_path) as room:
        yield room


def test_a_phone_with_the_code_is_the_camera(room: Room, board: Any) -> None:
    stranger = room.phone()
    connection = room.companion.phone_server.phone_camera.connection

    # a phone without the code can send no picture, and a wrong code does not help
    answer = room.send(stranger, jpeg_of(board))
    assert answer.status_code == 403
    assert answer.json["error"]["message"] == "This phone is not the camera any more"
    assert stranger.post("/api/eye/pair", json={"code": "22222222"}).status_code == 403
    assert connection.latest_picture.take(0.0) is None

    # a phone with the code gets the table's time, may send up to 2 MB, and sees what is read
    phone = room.phone(room.code())
    assert room.send(phone, b"").json["now_ms"] == 1000 * room.clock.monotonic_s()
    assert room.send(phone, b"x" * 2_000_001).status_code == 413
    answer = room.film(phone, board)
    assert answer["is_well"]
    assert answer["words"] == "I see the whole board"
    assert answer["wait_ms"] == 250
    assert "purple robot a1, purple flag b1" in answer["drawing"]
    assert "drawing" not in room.send(phone, b"").json, "a drawing must not be sent twice"

    # the HTTPS port has nothing but the phone's page
    for path in ("/", "/api/view", "/host", "/camera/frame.jpg", "/live/table", "/seat/south"):
        assert phone.get(path).status_code == 404, "the phone’s port must not serve this page"


def test_a_new_phone_replaces_the_old_one(room: Room, board: Any) -> None:
    # two phones are paired one after the other: only the second is the camera
    first = room.phone(room.code())
    second = room.phone(room.code())
    assert room.send(first, jpeg_of(board)).status_code == 403
    assert room.send(second, jpeg_of(board)).status_code == 200

    # the owner removes it, once
    assert room.host().post("/api/camera/phone/remove", json={}).status_code == 200
    assert room.send(second, jpeg_of(board)).status_code == 403
    assert room.host().post("/api/camera/phone/remove", json={}).status_code == 404


def test_the_owner_sees_code_and_instructions(room: Room) -> None:
    room.phone(room.code())
    host = room.host()
    stranger = room.main.test_client()
    stranger.environ_base.update(ELSEWHERE)
    assert stranger.get("/live/camera/phone").status_code == 403
    page = page_text(host, "/camera/phone")
    assert "Use an old phone as the camera" in page
    assert 'class="sign" href="/host/health"' in page
    first = page_text(host, "/camera/phone?first")
    assert 'class="sign" href="/host/first/2"' in first, (
        "on the first evening the sign must lead back to its questions"
    )
    assert "Remove the phone" in page_text(host, "/host/health")


@pytest.mark.parametrize(
    ("headers", "words"),
    [(ANDROID, "Tap “Advanced”"), (IPHONE, "Tap “Show Details”"), ({}, "iPhone")],
)
def test_a_phone_is_led_past_the_warning(room: Room, headers: dict[str, str], words: str) -> None:
    browser = room.main.test_client()
    browser.environ_base.update(ELSEWHERE)
    assert browser.get("/eye").status_code == 404, "a stranger must not open the phone’s port"

    # the owner's page has opened the HTTPS port: now its page explains the browser's warning
    address = room.companion.phone_server.open_address()
    page = single_spaced(browser.get(f"/eye/{room.code()}", headers=headers).text)
    assert "Your phone will warn you" in page
    assert words in page
    assert address.startswith("https://")
    assert f'href="{address}eye/{room.code()}"' in page


def test_the_phone_learns_nothing_of_sealed_orders(tmp_path: Path, board: Any) -> None:
    """At two tables that differ only in South's sealed orders, the phones get the same bytes."""

    def answers_at(folder: Path, orders: str) -> list[Any]:
        folder.mkdir()
        with room_in(folder) as room:
            table = room.companion.table
            phone = room.phone(room.code())
            for seat in SEATS:
                table.take_seat(seat, "")
            table.new_game("outbuffered", {}, 1)
            answers: list[Any] = [room.film(phone, board)]
            table.hand_in(SEATS[0], table.view().moment, orders, SALT)
            answers += [room.film(phone, board), phone.get("/eye").data]
            return answers

    assert answers_at(tmp_path / "a", "URS") == answers_at(tmp_path / "b", "DLI")
