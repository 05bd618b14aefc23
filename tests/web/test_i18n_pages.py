"""Tests that every sentence on the pages can be translated, through Flask's client.

The pages are shown in a pseudo-language that puts each translated sentence in brackets. Text that
stands outside brackets was never given to the translation. Tests collect such text in a set,
`untranslated`, which has to stay empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from camera_page_tools import KIT, board_seen, room_in
from flask.testing import FlaskClient
from internals import session_of
from setup_tools import open_service_rig
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

# A message of the library that reads the settings file.
TOML_ERROR = "Expected ']' at the end of a table declaration (at end of document)"
PLAYERS = ("Mara", "Tomás")
MACHINES = ("Pip", "Bo", "Zeno")
# Default settings of a broker. The pseudo-language puts sentences that no catalogue has in reversed
# brackets.
BROKER = ("⟧Tabletop⟦", "⟧tabletop⟦", "⟧localhost⟦", "⟧homeassistant⟦")
# Texts that are not sentences of the project: names of people, of the Wi-Fi, of cameras and of
# brokers, the first line of a stream, errors of libraries.
NAMES = (
    *PLAYERS,
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
# Pages with a variable in their address. `pages_of` finds all others.
NAMED_PAGES = ("/join/south", *(f"/rules/{name}" for name in GAMES), "/nowhere", "/seat/north")
# Pages that follow the game, their data for programs, and pages of a game that is over.
LIVE_PAGES = ("/", "/watch", "/seat/south", "/seat/north", "/host", "/workbench")
DATA = ("/api/view", "/api/seat/south/view", "/api/seat/south/plays", "/api/seat/north/view")
PLAYED_PAGES = ("/history", "/history/1", "/history/1/scene/1", "/api/history")
# Number of turns that are played of each game.
TURNS = 3

# Path and text of everything that was not translated.
Untranslated = set[tuple[str, str]]


# A table with Wi-Fi, pads and a workbench. Every language but English is the pseudo-language.
@pytest.fixture
def rig(tmp_path: Path, brackets: None) -> Iterator[WebRig]:
    equipment = TableEquipment(lambda: Wifi("Mesa", "ab:12345"), None, True)
    with open_workbench_rig(tmp_path, equipment=equipment) as rig:
        yield rig


def pages_of(rig: WebRig) -> list[str]:
    """Return the paths of all pages without a variable, except streams, files and the doctor's."""
    paths = {
        rule.rule
        for rule in rig.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and not rule.arguments
    }
    return sorted(
        path for path in paths if "/live" not in path and "." not in path and path != "/api/doctor"
    )


def in_brackets(browser: FlaskClient) -> FlaskClient:
    """Make a browser ask for Spanish, which is the pseudo-language here, and return it."""
    browser.set_cookie("language", "es")
    return browser


def fetch(browser: FlaskClient, untranslated: Untranslated, *paths: str) -> None:
    """Fetch pages and add their untranslated texts to `untranslated`."""
    for path in paths:
        answer = browser.get(path, headers={"Accept": "text/html,*/*;q=0.1"}, follow_redirects=True)
        text = answer.text
        assert answer.status_code != 500, path
        if answer.mimetype == "application/json":
            untranslated |= {
                (path, sentence) for sentence in untranslated_in_json(json.loads(text))
            }
        elif answer.mimetype == "text/html":
            untranslated |= {(path, sentence) for sentence in untranslated_on_page(text, NAMES)}


def browser_with_seats(rig: WebRig) -> FlaskClient:
    """Return a browser that has both seats and has entered the owner key."""
    browser = in_brackets(rig.browser())
    for seat, name in zip(SEATS, PLAYERS, strict=True):
        browser.post(f"/api/seat/{seat}/take", json={"name": name})
    browser.post("/host", data={"key": HOST_KEY})
    return browser


# ---- pages that do not follow a game -------------------------------------------------------------


def test_pages_without_a_game_are_translated(rig: WebRig) -> None:
    untranslated: Untranslated = set()

    # a stranger's pages, also after a name that is too long and a wrong key
    stranger = in_brackets(rig.browser())
    fetch(stranger, untranslated, *pages_of(rig), *NAMED_PAGES)
    for path in ("/join/south", "/host"):
        answer = stranger.post(path, data={"name": "x" * 99, "key": "wrong"})
        untranslated |= {(path, sentence) for sentence in untranslated_on_page(answer.text)}

    # the pages of both players and of the owner, and those of a stranger who comes too late
    browser = browser_with_seats(rig)
    fetch(stranger, untranslated, "/join/north", "/seat/south")
    fetch(browser, untranslated, *pages_of(rig), *NAMED_PAGES, *DATA)

    # pages while the camera has trouble, and the set-up of each game
    rig.table.set_camera_status(CameraStatus(CameraState.TROUBLE))
    rig.table.set_panel_notice("")
    rig.table.step()
    games = [f"/host?game={name}" for name in GAMES]
    fetch(browser, untranslated, "/", "/host", *games)
    assert not untranslated


@pytest.mark.parametrize("with_panel", [True, False])
def test_settings_and_health_are_translated(
    tmp_path: Path, brackets: None, with_panel: bool
) -> None:
    untranslated: Untranslated = set()
    with open_service_rig(tmp_path, "[table]\nreading_time_s = 4.0\n", with_panel) as service:
        browser = in_brackets(service.host)
        fetch(in_brackets(service.browser()), untranslated, "/settings", "/host/health")
        fetch(browser, untranslated, "/settings", "/host/health", "/host")
        if with_panel:
            browser.post("/api/check/begin", json={})
            fetch(browser, untranslated, "/host/health")
        service.path.write_text("[table", encoding="utf-8")
        fetch(browser, untranslated, "/settings")
    assert not untranslated


def test_pages_of_shared_phones_and_pads_are_translated(rig: WebRig) -> None:
    untranslated: Untranslated = set()
    phone = in_brackets(rig.browser())
    stranger = in_brackets(rig.browser())

    # one phone takes both seats
    fetch(phone, untranslated, "/pass")
    phone.post("/pass", data=dict(zip(SEATS, PLAYERS, strict=True)))
    fetch(phone, untranslated, "/pass", "/join")

    # a game begins: South's page is opened, before and after South has handed in
    moment = rig.start_game()
    fetch(phone, untranslated, "/pass", "/seat/south")
    phone.post("/pass/open", data={"seat": "south"})
    fetch(phone, untranslated, "/seat/south", "/join/south")
    rig.table.hand_in(Seat.SOUTH, moment, "UII")
    fetch(phone, untranslated, "/pass")
    phone.post("/pass/open", data={"seat": "south"})
    fetch(phone, untranslated, "/seat/south")

    # South goes on at a pad
    phone.post("/api/seat/south/by-pad", json={})
    fetch(phone, untranslated, "/seat/south")
    fetch(stranger, untranslated, "/join", "/join/south")

    # the key Back, held for two seconds, releases the pad's seat for a phone
    rig.table.press(
        Press(Seat.SOUTH, PadKey.BACK, rig.clock.monotonic_s(), is_held=True, is_long=True)
    )
    rig.table.step()
    fetch(stranger, untranslated, "/seat/south", "/")

    # both have handed in: the turn is revealed
    rig.table.hand_in(Seat.NORTH, moment, "III")
    fetch(phone, untranslated, "/pass")
    assert not untranslated


def test_the_camera_on_health_is_translated(tmp_path: Path, brackets: None) -> None:
    untranslated: Untranslated = set()
    luma = np.zeros((90, 160), np.uint8)
    # one square for each weakness, of which the first three are not read
    weak = {
        str(square): SquareSeen(square, (KIT.faces[0].name,), place > 2, 0.8, (weakness,))
        for place, (weakness, square) in enumerate(zip(Weakness, KIT.board.squares, strict=False))
    }
    board = board_seen(KIT, *advise_without_board(luma), **weak)
    with room_in(tmp_path) as room:
        browser = in_brackets(room.host())
        for seen in (board, board_seen(), None):
            room.eye.board.return_value = seen
            state = CameraState.SEES_BOARD if seen else CameraState.NO_BOARD
            room.rig.table.set_camera_status(CameraStatus(state))
            room.rig.table.step()
            # more than the interval at which the board is measured
            room.rig.clock.advance(9)
            fetch(browser, untranslated, "/host/health")
            untranslated |= {
                ("live", sentence)
                for sentence in untranslated_on_page(room.fragment(browser), NAMES)
            }
    assert not untranslated


def test_what_people_typed_is_translated_nowhere(rig: WebRig) -> None:
    # the players' names are words that the catalogue translates elsewhere
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
    """Let the camera read the expected board, without what lies on `missing` of its squares."""
    view = rig.table.view()
    if view.kit is None or view.kit.deck or not view.board.target:
        return
    shown = dict(islice(top_faces(view.board.target).items(), missing, None))
    rig.table.set_camera_status(CameraStatus(CameraState.SEES_BOARD))
    rig.table.handle_reading(Reading(shown, game=view.game, at_s=rig.clock.monotonic_s()))
    rig.table.step()


def act(rig: WebRig, seat: Seat) -> None:
    """Hand in the first legal action of a seat at the table itself."""
    session = session_of(rig.table)
    action = next(iter(session.require_game().legal_actions(session.state, seat)))
    rig.table.hand_in(seat, session.moment, session.require_game().format(action))


def play_turns(rig: WebRig, browser: FlaskClient, untranslated: Untranslated) -> None:
    """Play some turns of the game, and fetch its pages in each of their states.

    The last seat that is awaited acts first, so that pages are also seen with one action sealed.
    """
    # before the first turn, the clock waits for somebody to start it
    view = rig.table.view()
    if view.time.clock and view.time.clock.paused:
        fetch(browser, untranslated, *LIVE_PAGES)
        rig.table.resume("host")
    for turn in range(TURNS):
        # all pages in the first turn, and in later ones table screen, spectators and seats
        pages = (*LIVE_PAGES, *DATA) if turn == 0 else LIVE_PAGES[:4]
        while (view := rig.table.view()).phase is Phase.ORDERS:
            fetch(browser, untranslated, *pages)
            awaited = [seat for seat in SEATS if view.seats[seat].is_awaited]
            act(rig, awaited[-1])
            if len(awaited) == 1:
                break
        # hands carry out the stages of the turn
        while (view := rig.table.view()).phase is Phase.STAGES:
            fetch(browser, untranslated, *pages[:3])
            rig.table.confirm("host", view.moment, view.turn.stage, force=True)


@pytest.mark.parametrize("name", GAMES)
def test_the_pages_of_each_game_are_translated(name: str, rig: WebRig) -> None:
    untranslated: Untranslated = set()
    browser = browser_with_seats(rig)

    # the set-up, at first without the camera, then with two pieces missing
    rig.table.new_game(name, {}, 1)
    view = rig.table.view()
    if view.phase is Phase.SETUP:
        fetch(browser, untranslated, *LIVE_PAGES, *DATA)
        show_board_to_camera(rig, missing=2)
        fetch(browser, untranslated, "/", "/seat/south", "/api/view")
        rig.table.confirm("host", view.moment, view.turn.stage, force=True)

    # some turns, then a piece that is missing on the board, and the offer of a draw
    play_turns(rig, browser, untranslated)
    if rig.table.view().phase is Phase.ORDERS:
        show_board_to_camera(rig, missing=1)
        fetch(browser, untranslated, "/", "/seat/south", "/seat/north", "/api/view")
        rig.table.offer_draw(Seat.SOUTH)
        fetch(browser, untranslated, *LIVE_PAGES)

    # the game is over, and has a replay
    if rig.table.view().phase is not Phase.OVER:
        rig.table.resign(Seat.SOUTH)
    fetch(browser, untranslated, *LIVE_PAGES, *DATA, *PLAYED_PAGES)
    assert not untranslated
