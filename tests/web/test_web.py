"""Tests of the pages and the API of a table, through Flask's client.

They cover joining, who may act for a seat, how requests are refused, and that no answer shows a
sealed order to anybody else.

The rig plays Outbuffered, where an action is three orders: `U`, `D`, `L` and `R` are steps, `I`
waits, and `S` shoots.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest
from web_fixtures import HOST_KEY, SALT, WebRig, error_of, page_text, view_of

from companion.core.kit import Seat

# ---- draws ---------------------------------------------------------------------------------------


def test_the_other_seat_is_asked_about_a_draw(rig: WebRig) -> None:
    south = rig.sit("south")
    north = rig.sit("north")
    rig.start_game()
    south.post("/api/seat/south/draw", json={})
    for browser, path, words in (
        (north, "/seat/north", "Purple offers a draw</span>"),
        (north, "/", "<b>Purple offers a draw.</b>"),  # for a player at a pad
        (south, "/seat/south", ">Withdraw the draw</button>"),
    ):
        assert words in page_text(browser, path)
    north.post("/api/seat/north/draw", json={})
    outcome = view_of(rig)["outcome"]
    assert (outcome["winners"], outcome["reason"]) == ([], "A draw.")


# ---- joining -------------------------------------------------------------------------------------


def test_the_short_address_joins_and_leads_back(rig: WebRig) -> None:
    phone = rig.browser()
    other_phone = rig.browser()

    # nobody sits there: the short address leads to the form
    for typed in ("/s", "/S", "/s/"):
        assert phone.get(typed).location == "/join/south"
    assert "Sit down" in page_text(phone, "/join/south")
    page = phone.post("/join/south", data={"name": "x" * 25})
    assert page.status_code == 400
    assert "at most 24 printable characters" in page.text

    # the phone sits down, under a name that HTML has to escape: the address leads to its seat
    answer = phone.post("/join/south", data={"name": "<img>"})
    assert (answer.status_code, answer.location) == (303, "/seat/south")
    assert phone.get("/s").location == "/seat/south"

    # another phone learns who sits there, and what it can do about that
    for path, status in (("/seat/south", 403), ("/join/south", 409)):
        page = other_phone.get(path)
        assert page.status_code == status
        assert "&lt;img&gt; sits here, on another phone." in page.text
        assert "ask the owner to free the seat" in page.text
    assert other_phone.post("/join/south", data={}).status_code == 409
    for path in ("/", "/watch", "/join", "/seat/south"):
        assert "<img>" not in other_phone.get(path).text


# ---- who may act ---------------------------------------------------------------------------------

# Routes of a seat that other browsers may use, too: to fill it, or to replace who sits there.
OPEN_SEAT_ROUTES = {"take", "machine", "machine-leaves", "go-on"}


def test_only_its_own_browser_acts_for_a_seat(rig: WebRig) -> None:
    rig.sit("south")
    north = rig.sit("north")
    paths = [rule.rule for rule in rig.app.url_map.iter_rules() if "POST" in rule.methods]
    routes = {path.rpartition("/")[2] for path in paths if path.startswith("/api/seat/")}
    assert routes > OPEN_SEAT_ROUTES
    for route in routes - OPEN_SEAT_ROUTES:
        answer = north.post(f"/api/seat/south/{route}", json={})
        assert (answer.status_code, error_of(answer)["reason"]) == (403, "not_your_seat"), route
    assert rig.browser().get("/api/seat/south/view").status_code == 403


def test_the_next_player_never_sees_the_sealed_order(rig: WebRig) -> None:
    """An order is known to the person who sealed it. The next one can only take it back."""
    # Mara seals an order and leaves the seat
    south = rig.sit("south", "Mara")
    moment = rig.start_game()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "RLI", "salt": "5a17"})
    south.post("/api/seat/south/leave", json={})

    # Eve sits down there: no answer shows her Mara's order or its salt
    next_player = rig.sit("south", "Eve")
    assert next_player.post("/api/seat/south/mine", json={}).json == {"action": None, "orders": []}
    for path in ("/seat/south", "/api/seat/south/view"):
        page = next_player.get(path).text
        assert "RLI" not in page
        assert "5a17" not in page

    # Eve takes the order back, to hand in one of her own
    body = {"moment": moment}
    assert next_player.post("/api/seat/south/take-back", json=body).status_code == 200


def test_a_forged_cookie_opens_nothing(rig: WebRig) -> None:
    """Try invalid values, and valid cookies under another name.

    All cookies are signed with one key. So the value of a cookie has to say for what it is valid.
    """
    south = rig.browser()
    forger = rig.browser()
    south.post("/join/south", data={"name": "south"})
    rig.sit("north")
    valid = [rig.cookie(south, name) for name in ("names", "seat_south")]
    forged = ["", "south", "WyJzb3V0aCIsIngiXQ.bad", "null", "é", "%00" * 40]
    for value in forged + [cookie.value for cookie in valid if cookie]:
        for name in ("seat_north", "host", "pass"):
            forger.set_cookie(rig.app.extensions["auth"].cookie_name(name), value)
        for seat in Seat:
            assert forger.get(f"/api/seat/{seat}/view").status_code == 403
        assert forger.post("/api/host/abandon", json={}).status_code == 403


def test_the_owner_key_allows_five_wrong_guesses(rig: WebRig) -> None:
    host = rig.browser()

    def enter(key: str) -> str:
        return host.post("/host", data={"key": key}).text

    # after five wrong keys even the right one has to wait
    assert "Enter the owner’s key" in page_text(host, "/host")
    for _ in range(5):
        assert "That is not the owner’s key" in enter("nope")
    assert "wait 30 seconds" in enter(HOST_KEY)

    # after half a minute the right key opens the owner's page, in any spelling
    rig.clock.advance(31)
    enter(" ABCDE FGHIJ ")
    assert "House rules" in page_text(host, "/host")

    # the owner may now begin and end games
    body = {"game": "outbuffered", "options": {"turn_limit": 20}}
    assert host.post("/api/host/new-game", json=body).status_code == 200
    assert host.post("/api/host/abandon", json={}).status_code == 200
    refused = host.post("/api/host/new-game", json={**body, "options": {"turns": 1}})
    assert (refused.status_code, "turns" in error_of(refused)["message"]) == (400, True)


# ---- errors --------------------------------------------------------------------------------------


def test_browsers_get_error_pages_and_programs_json(rig: WebRig) -> None:
    """Addresses under `/api/` are for programs, even if a browser asks for HTML."""
    browser = rig.browser()
    page = browser.get("/nowhere", headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status_code, page.mimetype) == (404, "text/html")
    for words in ("There is no such page", ">Table screen</a>", ">Take a seat</a>", ">Rules</a>"):
        assert words in page.text
    answer = browser.get("/api/nowhere", headers={"Accept": "text/html"})
    assert (answer.status_code, error_of(answer)["kind"]) == (404, "http_404")
    assert error_of(browser.get("/api/seat/south/hand-in"))["kind"] == "http_405"
    for path in ("/seat/west", "/rules/chess", "/workbench"):
        assert browser.get(path).status_code == 404


def test_an_unexpected_error_reveals_no_order(
    rig: WebRig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The table fails with an error that has the order in its text. Answer and log must not."""
    south = rig.sit("south")
    moment = rig.start_game()

    def fail(*arguments: object) -> None:
        raise RuntimeError(arguments)

    monkeypatch.setattr(rig.table, "hand_in", fail)
    answer = south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "UUS"})
    assert answer.status_code == 500
    assert "UUS" not in answer.text
    assert "api.hand_in failed: RuntimeError" in caplog.text
    assert "UUS" not in caplog.text


# ---- secrecy -------------------------------------------------------------------------------------


def test_a_sealed_order_is_sent_only_on_demand(rig: WebRig) -> None:
    """A page has no sealed order: it asks for the order while its player holds a key down."""
    south = rig.sit("south")
    north = rig.sit("north")
    moment = rig.start_game()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "UIS"})
    own_action = south.post("/api/seat/south/mine", json={}).json
    drawings = [order["drawing"] for order in own_action["orders"]]
    assert (own_action["action"], drawings) == ("UIS", ["order-up", "order-idle", "order-shoot"])
    assert north.post("/api/seat/south/mine", json={}).status_code == 403
    for path in ("/seat/south", "/api/seat/south/view"):
        assert "UIS" not in south.get(path).text


def test_a_plan_is_drawn_for_the_current_moment(rig: WebRig) -> None:
    """A plan shows where the orders entered so far lead.

    There is none for another moment, or for an action that is sealed already.
    """
    south = rig.sit("south")
    moment = rig.start_game()

    def plan(at_moment: str) -> Any:
        return south.post("/api/seat/south/plan", json={"moment": at_moment, "entered": "UR"})

    answer = plan(moment)
    assert answer.headers["Cache-Control"] == "no-store"
    # a circle with a number for each of the two orders
    assert answer.json["svg"].count("<circle") == 2
    assert plan("0.0").json == {"svg": ""}
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "UUS"})
    assert plan(moment).json == {"svg": ""}


def test_headers_limit_scripts_and_caching(rig: WebRig) -> None:
    """Browsers cache no page, and static files only under the address of this version."""
    browser = rig.browser()
    for path in ("/", "/join/south", "/api/view", "/nowhere"):
        headers = browser.get(path).headers
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"
    address = re.search(r'href="(/static/[^"]+wall\.css)"', browser.get("/").text)
    assert address
    assert "immutable" in browser.get(address[1]).headers["Cache-Control"]
    assert browser.get("/static/old/wall.css").headers["Cache-Control"] == "no-cache"
    assert browser.get("/static/old/..%2fapp.py").status_code == 404


def test_a_failed_page_offers_another_try(rig: WebRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that could not be drawn loads itself again. A form offers to send its fields again."""

    def time_out(*_: object, **__: object) -> None:
        raise TimeoutError

    browser = rig.browser()
    accept = {"Accept": "text/html"}
    for name in ("view", "take_seat"):
        monkeypatch.setattr(rig.table, name, time_out)
    page = browser.get("/watch?name=x", headers=accept).text
    assert "The table is busy: try again" in page
    assert 'data-again="5"' in page, "the page must load itself again"
    page = browser.post("/join/south", data={"name": 'Mara "M"'}, headers=accept).text
    assert '<input type="hidden" name="name" value="Mara &#34;M&#34;">' in page
    assert "data-again" not in page, "the form must not load itself and lose what was entered"


def test_anybody_can_check_receipts(rig: WebRig) -> None:
    """A receipt is the SHA-256 of moment, seat, action and salt, which the last stage shows."""
    seats = {seat: rig.sit(seat) for seat in Seat}
    moment = rig.start_game()

    def hand_in(seat: Seat, action: str) -> Any:
        body = {"moment": moment, "action": action, "salt": SALT}
        return seats[seat].post(f"/api/seat/{seat}/hand-in", json=body).json

    # Others see only the receipt of South's action. Handing in the same again changes nothing.
    receipt = hashlib.sha256(f"{moment} south UUS {SALT}".encode()).hexdigest()
    for _ in range(2):
        assert hand_in(Seat.SOUTH, "UUS")["receipt"] == receipt
    assert view_of(rig)["sealed"] == {"south": receipt, "north": None}

    # the turn is revealed in three stages, and the actions are opened with the last one
    hand_in(Seat.NORTH, "LID")
    for stage in range(3):
        view = view_of(rig)
        assert (view["phase"], view["stage"], bool(view["opened"])) == ("stages", stage, stage == 2)
        body = {"moment": moment, "stage": stage, "force": True}
        seats[Seat.SOUTH].post("/api/seat/south/confirm", json=body)

    # anybody can compute both receipts from what the page shows
    opened = view_of(rig)["opened"]
    page = page_text(rig.browser(), "/watch")
    assert len(opened) == 2
    for action in opened:
        text = f"{action['moment']} {action['seat']} {action['action']} {action['salt']}"
        assert action["receipt"] == hashlib.sha256(text.encode()).hexdigest()
        assert text in page
