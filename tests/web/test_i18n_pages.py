"""Every page in a language that nobody speaks: what stands in no brackets there, no Spaniard could
read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient
from internals import session_of
from setup_tools import open_service_rig
from test_camera_page import KIT, board_seen, room_in
from web_fixtures import HOST_KEY, WebRig, open_workbench_rig
from words_tools import brackets, untranslated_in_json, untranslated_on_page

from companion.core.kit import SEATS, Seat
from companion.core.network import Wifi
from companion.core.ports import (
    CameraState,
    CameraStatus,
    PadKey,
    Press,
    Reading,
    SquareSeen,
    Weakness,
)
from companion.games import GAMES
from companion.table.board_check import top_faces
from companion.table.session import Phase
from vision.readability import advise_without_board
from web.features import TableEquipment

__all__ = ["brackets"]

TOML_ERROR = "Expected ']' at the end of a table declaration (at end of document)"
SITTERS = ("Mara", "Tomás")
MACHINES = ("Pip", "Bo", "Zeno")
BROKER = ("⟧Tabletop⟦", "⟧tabletop⟦", "⟧localhost⟦", "⟧homeassistant⟦")
# Texts that are no sentences of the project: names of people, the Wi-Fi, cameras and brokers, how
# a stream begins, errors of others.
NAMES = (
    *SITTERS,
    *MACHINES,
    "Mesa",
    "ab:12345",
    "Pi camera",
    "C920 <b>",
    "retry: 1000",
    "No pins here.",
    "Photographs cannot be kept.",
    TOML_ERROR,
    *BROKER,
)
# Pages with a name in their address. Those without are found by themselves.
NAMED_PAGES = ("/join/south", *(f"/rules/{name}" for name in GAMES), "/nowhere", "/seat/north")
LIVE_PAGES = ("/", "/watch", "/seat/south", "/seat/north", "/host", "/workbench")
DATA = ("/api/view", "/api/seat/south/view", "/api/seat/south/plays", "/api/seat/north/view")
PLAYED_PAGES = ("/history", "/history/1", "/history/1/scene/1", "/api/history")
TURNS = 3

# Page and text of everything that was not translated.
Strays = set[tuple[str, str]]


@pytest.fixture
def rig(tmp_path: Path, brackets: None) -> Iterator[WebRig]:
    equipment = TableEquipment(lambda: Wifi("Mesa", "ab:12345"), None, True)
    with open_workbench_rig(tmp_path, equipment=equipment) as rig:
        yield rig


def pages_of(rig: WebRig) -> list[str]:
    """Return every page of this installation by its address, but no streams, files or findings."""
    paths = {
        rule.rule
        for rule in rig.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and not rule.arguments
    }
    return sorted(
        path for path in paths if "/live" not in path and "." not in path and path != "/api/doctor"
    )


def in_brackets(browser: FlaskClient) -> FlaskClient:
    """Return a browser that asks for another language and gets all answers in it."""
    browser.set_cookie("language", "es")
    return browser


def look(browser: FlaskClient, strays: Strays, *paths: str) -> None:
    """Fetch pages and note what was not translated on them."""
    for path in paths:
        answer = browser.get(path, headers={"Accept": "text/html,*/*;q=0.1"}, follow_redirects=True)
        text = answer.text
        assert answer.status_code != 500, path
        if answer.mimetype == "application/json":
            strays |= {(path, stray) for stray in untranslated_in_json(json.loads(text))}
        elif answer.mimetype == "text/html":
            strays |= {(path, stray) for stray in untranslated_on_page(text, NAMES)}


def browser_with_seats(rig: WebRig) -> FlaskClient:
    """Return a browser with both seats and the host's key."""
    browser = in_brackets(rig.browser())
    for seat, name in zip(SEATS, SITTERS, strict=True):
        browser.post(f"/api/seat/{seat}/take", json={"name": name})
    browser.post("/host", data={"key": HOST_KEY})
    return browser


# ---- pages that do not follow a game -------------------------------------------------------------


def test_pages_without_a_game_are_translated(rig: WebRig) -> None:
    strays: Strays = set()
    stranger = in_brackets(rig.browser())
    look(stranger, strays, *pages_of(rig), *NAMED_PAGES)
    for path in ("/join/south", "/host"):
        answer = stranger.post(path, data={"name": "x" * 99, "key": "wrong"})
        strays |= {(path, stray) for stray in untranslated_on_page(answer.text)}
    browser = browser_with_seats(rig)
    look(stranger, strays, "/join/north", "/seat/south")
    look(browser, strays, *pages_of(rig), *NAMED_PAGES, *DATA)
    rig.table.set_camera_status(CameraStatus(CameraState.TROUBLE))
    rig.table.set_panel_notice("")
    rig.table.step()
    games = [f"/host?game={name}" for name in GAMES]
    look(browser, strays, "/", "/host", *games)
    assert not strays


@pytest.mark.parametrize("with_panel", [True, False])
def test_settings_and_check_are_translated(
    tmp_path: Path, brackets: None, with_panel: bool
) -> None:
    strays: Strays = set()
    with open_service_rig(tmp_path, "[table]\nreading_time_s = 4.0\n", with_panel) as service:
        browser = in_brackets(service.host)
        look(in_brackets(service.browser()), strays, "/settings", "/host/health")
        look(browser, strays, "/settings", "/host/health", "/host")
        if with_panel:
            browser.post("/api/check/begin", json={})
            look(browser, strays, "/host/health")
        service.path.write_text("[table", encoding="utf-8")
        look(browser, strays, "/settings")
    assert not strays


def test_shared_phones_and_pads_pages_are_translated(rig: WebRig) -> None:
    strays: Strays = set()
    phone, stranger = in_brackets(rig.browser()), in_brackets(rig.browser())
    look(phone, strays, "/pass")
    phone.post("/pass", data=dict(zip(SEATS, SITTERS, strict=True)))
    look(phone, strays, "/pass", "/join")
    moment = rig.start_game()
    look(phone, strays, "/pass", "/seat/south")
    phone.post("/pass/open", data={"seat": "south"})
    look(phone, strays, "/seat/south", "/join/south")
    rig.table.hand_in(Seat.SOUTH, moment, "UII")
    look(phone, strays, "/pass")
    phone.post("/pass/open", data={"seat": "south"})
    look(phone, strays, "/seat/south")
    phone.post("/api/seat/south/by-pad", json={})
    look(phone, strays, "/seat/south")
    look(stranger, strays, "/join", "/join/south")
    rig.table.press(Press(Seat.SOUTH, PadKey.BACK, rig.clock.monotonic_s(), True, True))
    rig.table.step()
    look(stranger, strays, "/seat/south", "/")
    rig.table.hand_in(Seat.NORTH, moment, "III")
    look(phone, strays, "/pass")
    assert not strays


def test_the_camera_on_health_is_translated(tmp_path: Path, brackets: None) -> None:
    strays: Strays = set()
    luma = np.zeros((90, 160), np.uint8)
    weak = {
        str(square): SquareSeen(square, (KIT.faces[0].name,), place > 2, 0.8, (kind,))
        for place, (kind, square) in enumerate(zip(Weakness, KIT.board.squares, strict=False))
    }
    board = board_seen(KIT, *advise_without_board(luma), **weak)
    with room_in(tmp_path) as room:
        browser = in_brackets(room.host())
        for shown in (board, board_seen(), None):
            room.eye.board.return_value = shown
            state = CameraState.SEES_BOARD if shown else CameraState.NO_BOARD
            room.place.table.set_camera_status(CameraStatus(state))
            room.place.table.step()
            room.place.clock.advance(9)
            look(browser, strays, "/host/health")
            strays |= {
                ("live", stray) for stray in untranslated_on_page(room.fragment(browser), NAMES)
            }
    assert not strays


def test_what_people_typed_is_translated_nowhere(rig: WebRig) -> None:
    browser = in_brackets(rig.browser())
    for seat, name in zip(SEATS, ("lime", "purple"), strict=True):
        browser.post(f"/api/seat/{seat}/take", json={"name": name})
    rig.table.new_game("binmat", {}, 1)
    rig.table.resign(Seat.SOUTH)
    for path in ("/", "/watch", "/seat/south", "/history"):
        page = browser.get(path).text
        assert "lime" in page, path
        assert "⟦lime⟧" not in page, path


# ---- games ---------------------------------------------------------------------------------------


def show_board_to_camera(rig: WebRig, missing: int = 0) -> None:
    """Let the camera see the board as it should be, but for some pieces: what lies in their squares
    is gone.
    """
    view = rig.table.view()
    if view.kit is None or view.kit.deck or not view.board.target:
        return
    shown = dict(islice(top_faces(view.board.target).items(), missing, None))
    rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
    rig.table.handle_reading(Reading(shown, game=view.game, at_s=rig.clock.monotonic_s()))
    rig.table.step()


def act(rig: WebRig, seat: Seat) -> None:
    """Hand in a legal action of a seat at the table itself."""
    session = session_of(rig.table)
    action = next(iter(session.require_game().legal_actions(session.state, seat)))
    rig.table.hand_in(seat, session.moment, session.require_game().format(action))


def walk(rig: WebRig, browser: FlaskClient, strays: Strays) -> None:
    """Play some turns of the game, with a look at each of their states."""
    view = rig.table.view()
    if view.time.clock and view.time.clock.paused:
        look(browser, strays, *LIVE_PAGES)
        rig.table.resume("host")
    for turn in range(TURNS):
        pages = (*LIVE_PAGES, *DATA) if turn == 0 else LIVE_PAGES[:4]
        while (view := rig.table.view()).phase is Phase.ORDERS:
            look(browser, strays, *pages)
            due = [seat for seat in SEATS if view.seats[seat].is_awaited]
            act(rig, due[-1])
            if len(due) == 1:
                break
        while (view := rig.table.view()).phase is Phase.STAGES:
            look(browser, strays, *pages[:3])
            rig.table.confirm("host", view.moment, view.turn.stage, force=True)


@pytest.mark.parametrize("name", GAMES)
def test_the_pages_of_a_game_are_translated(name: str, rig: WebRig) -> None:
    strays: Strays = set()
    browser = browser_with_seats(rig)
    rig.table.new_game(name, {}, 1)
    view = rig.table.view()
    if view.phase is Phase.SETUP:
        look(browser, strays, *LIVE_PAGES, *DATA)
        show_board_to_camera(rig, missing=2)
        look(browser, strays, "/", "/seat/south", "/api/view")
        rig.table.confirm("host", view.moment, view.turn.stage, force=True)
    walk(rig, browser, strays)
    if rig.table.view().phase is Phase.ORDERS:
        show_board_to_camera(rig, missing=1)
        look(browser, strays, "/", "/seat/south", "/seat/north", "/api/view")
        rig.table.offer_draw(Seat.SOUTH)
        look(browser, strays, *LIVE_PAGES)
    if rig.table.view().phase is not Phase.OVER:
        rig.table.resign(Seat.SOUTH)
    look(browser, strays, *LIVE_PAGES, *DATA, *PLAYED_PAGES)
    assert not strays
