"""The pages through Flask's own client: who may do what, what is refused and how, and that nothing secret leaks."""

from __future__ import annotations

import gzip
import hashlib
import re

import pytest
from web_fixtures import HOST_KEY, SALT, Place, error_of

from companion.core.kit import Seat
from companion.games import GAMES

PUBLIC = ("/", "/watch", "/join", "/rules/", "/rules/outbuffered", "/host", "/s", "/nowhere")


# ---- a turn through the doors ----------------------------------------------------------------------------------------


def test_a_whole_turn_with_receipts_that_anybody_can_check(place: Place) -> None:
    south, north, anybody = place.sit("south", "Mara"), place.sit("north"), place.browser()
    assert south.post("/api/seat/south/start", json={"game": "outbuffered"}).status_code == 200
    setup = anybody.get("/api/view").get_json()
    assert setup["phase"] == "setup"
    assert setup["expected"] == {
        "a1": ["purple robot"],
        "b1": ["purple flag"],
        "b4": ["lime flag"],
        "c4": ["lime robot"],
    }
    assert {i["text"] for i in setup["instructions"]} >= {"Purple: robot to a1"}
    confirm = {"moment": setup["moment"], "stage": 0, "force": False}
    assert north.post("/api/seat/north/confirm", json=confirm).status_code == 200
    moment = anybody.get("/api/view").get_json()["moment"]
    order = {"moment": moment, "action": "UUS", "salt": SALT}
    receipt = south.post("/api/seat/south/hand-in", json=order).get_json()["receipt"]
    assert receipt == hashlib.sha256(f"{moment} south UUS {SALT}".encode()).hexdigest()
    assert anybody.get("/api/view").get_json()["sealed"] == {"south": receipt, "north": None}
    assert south.post("/api/seat/south/hand-in", json=order).get_json()["receipt"] == receipt
    assert north.post("/api/seat/north/hand-in", json={**order, "action": "LID"}).status_code == 200
    for stage in range(3):
        view = anybody.get("/api/view").get_json()
        assert (view["phase"], view["stage"], len(view["opened"])) == (
            "stages",
            stage,
            2 if stage == 2 else 0,
        )
        done = {"moment": moment, "stage": stage, "force": True}
        assert south.post("/api/seat/south/confirm", json=done).status_code == 200
    opened = anybody.get("/api/view").get_json()["opened"]
    for one in opened:
        text = f"{one['moment']} {one['seat']} {one['action']} {one['salt']}"
        assert one["receipt"] == hashlib.sha256(text.encode()).hexdigest()
        assert text in anybody.get("/watch").get_data(as_text=True)


def test_an_order_can_be_taken_back_and_a_stale_one_is_refused(place: Place) -> None:
    south, moment = place.sit("south"), place.to_orders()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "UUS"})
    again = south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "DDD"})
    assert (again.status_code, error_of(again)["message"]) == (
        409,
        "Your order is already sealed: take it back first",
    )
    assert south.post("/api/seat/south/take-back", json={"moment": moment}).status_code == 200
    late = south.post("/api/seat/south/hand-in", json={"moment": "0.0", "action": "UUS"})
    assert (late.status_code, error_of(late)["kind"]) == (409, "stale")


def test_resign_then_a_rematch_keeps_the_match(place: Place) -> None:
    south = place.sit("south")
    place.to_orders()
    assert south.post("/api/seat/south/resign", json={}).status_code == 200
    assert "Purple resigns." in south.get("/seat/south").get_data(as_text=True)
    assert south.post("/api/seat/south/rematch", json={}).status_code == 200
    assert south.get("/api/view").get_json()["score"] == [0, 1, 0]


def test_the_other_seat_is_asked_about_a_draw(place: Place) -> None:
    south, north = place.sit("south"), place.sit("north")
    place.to_orders()
    south.post("/api/seat/south/draw", json={})
    asked = north.get("/seat/north").get_data(as_text=True)
    assert "Purple offers a draw</span>" in asked
    assert ">Keep playing</button>" in asked
    assert "<b>Purple offers a draw.</b>" in north.get("/").get_data(as_text=True), (
        "whoever plays by pad sees it, too"
    )
    own = south.get("/seat/south").get_data(as_text=True)
    assert "You offer a draw." in own
    assert ">Withdraw the draw</button>" in own
    assert ">Offer a draw</button>" not in own, "once is enough"
    north.post("/api/seat/north/draw", json={})
    assert north.get("/api/view").get_json()["outcome"] == {"winners": [], "reason": "A draw."}


# ---- joining -----------------------------------------------------------------------------------------------------------


def test_joining_by_the_short_address_and_coming_back(place: Place) -> None:
    phone = place.browser()
    assert phone.get("/s").location == "/join/south"
    for typed in ("/S", "/s/", "/S/"):
        assert phone.get(typed).location == "/join/south"
    assert "Sit down" in phone.get("/join/south").get_data(as_text=True)
    answer = phone.post("/join/south", data={"name": "Mara"})
    assert (answer.status_code, answer.location) == (303, "/seat/south")
    assert phone.get("/s").location == "/seat/south"
    assert phone.get("/seat/south").status_code == 200


def test_a_taken_seat_says_so_and_offers_a_way_on(place: Place) -> None:
    place.sit("south", "Mara")
    other = place.browser()
    for path, status in (("/seat/south", 403), ("/join/south", 409)):
        page = other.get(path)
        assert page.status_code == status
        text = page.get_data(as_text=True)
        assert "Mara sits here, on another phone." in text
        assert "Watch instead" in text
        assert "ask the owner to free the seat" in text
    assert other.post("/join/south", data={}).status_code == 409


def test_a_bad_name_is_refused_with_the_reason_and_a_wild_one_is_escaped(place: Place) -> None:
    phone = place.browser()
    page = phone.post("/join/south", data={"name": "x" * 25})
    assert page.status_code == 400
    assert "at most 24 printable characters" in page.get_data(as_text=True)
    place.sit("south", "<img src=x>")
    for path in ("/", "/watch", "/join", "/seat/south"):
        assert "<img" not in phone.get(path).get_data(as_text=True)


def test_one_browser_can_hold_both_seats(place: Place) -> None:
    both = place.sit("south")
    both.post("/api/seat/north/take", json={})
    assert both.get("/seat/south").status_code == both.get("/seat/north").status_code == 200


# ---- guards ------------------------------------------------------------------------------------------------------------

SEAT_DOORS = (
    "hand-in",
    "take-back",
    "confirm",
    "resign",
    "draw",
    "start",
    "rematch",
    "leave",
    "plan",
    "mine",
)


@pytest.mark.parametrize("door", SEAT_DOORS)
def test_a_seat_is_only_for_the_browser_that_took_it(place: Place, door: str) -> None:
    place.sit("south")
    north = place.sit("north")
    answer = north.post(f"/api/seat/south/{door}", json={})
    assert (answer.status_code, error_of(answer)["reason"]) == (403, "not_your_seat")
    assert place.browser().get("/api/seat/south/view").status_code == 403


def test_a_cookie_is_worthless_once_the_seat_was_freed(place: Place) -> None:
    old = place.sit("south", "Mara")
    host = {"X-Host-Key": HOST_KEY}
    assert old.post("/api/host/free-seat", json={"seat": "south"}, headers=host).status_code == 200
    assert old.get("/seat/south").location == "/join/south"
    place.sit("south", "Jo")
    assert old.get("/seat/south").status_code == 403


def test_who_takes_a_seat_over_never_sees_what_was_sealed_there(place: Place) -> None:
    south, later = place.browser(), place.browser()
    south.post("/api/seat/south/take", json={"name": "Mara"})
    moment = place.to_orders()
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "RLI", "salt": "5a17"})
    south.post("/api/seat/south/leave", json={})
    later.post("/api/seat/south/take", json={"name": "Eve"})
    assert later.post("/api/seat/south/mine", json={}).get_json() == {"action": None, "orders": []}
    page = later.get("/seat/south").get_data(as_text=True)
    assert 'id="look"' not in page
    for sent in (page, later.get("/api/seat/south/view").get_data(as_text=True)):
        assert "RLI" not in sent
        assert "5a17" not in sent
    assert later.post("/api/seat/south/take-back", json={"moment": moment}).status_code == 200
    later.post("/api/seat/south/hand-in", json={"moment": moment, "action": "III", "salt": "1"})
    assert later.post("/api/seat/south/mine", json={}).get_json()["action"] == "III"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "south",
        "WyJzb3V0aCIsIngiXQ.bad",
        "eyJzZWF0Ijoic291dGgifQ.x.y",
        "null",
        "é",
        "%00" * 40,
    ],
)
def test_a_forged_cookie_opens_nothing(place: Place, value: str) -> None:
    place.sit("south")
    forger = place.browser()
    forger.set_cookie("seat_south", value)
    forger.set_cookie("host", value)
    assert forger.get("/seat/south").status_code == 403
    assert forger.post("/api/host/undo", json={}).status_code == 403


def test_a_cookie_of_ours_in_the_place_of_another_opens_nothing(place: Place) -> None:
    """All are signed with one key, and whose names are kept chooses what stands in one of them."""
    south, thief = place.browser(), place.browser()
    south.post("/join/south", data={"name": "south"})
    place.sit("north")
    names, seat = (place.cookie(south, name) for name in ("names", "seat_south"))
    assert names
    assert seat
    for value in (names.value, seat.value):
        for name in (
            "seat_north",
            "host",
            "pass",
            *(["seat_south"] if value == names.value else []),
        ):
            thief.set_cookie(place.app.extensions["guard"].cookie_name(name), value)
        for path in ("/api/seat/south/view", "/api/seat/north/view"):
            assert thief.get(path).status_code == 403, path
        assert thief.post("/api/host/abandon", json={}).status_code == 403


def test_the_host_key_is_typed_as_people_type_and_guessing_is_slow(place: Place) -> None:
    host = place.browser()
    assert "Enter the owner’s key" in host.get("/host").get_data(as_text=True)
    for _ in range(5):
        assert "That is not the owner’s key" in host.post("/host", data={"key": "nope"}).get_data(
            as_text=True
        )
    assert "wait 30 seconds" in host.post("/host", data={"key": HOST_KEY}).get_data(as_text=True)
    place.clock.advance(31)
    assert host.post("/host", data={"key": " ABCDE FGHIJ "}).status_code == 303
    page = host.get("/host").get_data(as_text=True)
    assert "House rules" in page
    assert (
        host.post(
            "/api/host/new-game", json={"game": "outbuffered", "options": {"turn_limit": 20}}
        ).status_code
        == 200
    )
    assert host.post("/api/host/abandon", json={}).status_code == 200
    bad = host.post("/api/host/new-game", json={"game": "outbuffered", "options": {"turns": 1}})
    assert (bad.status_code, "turns" in error_of(bad)["message"]) == (400, True)


def test_the_host_confirms_and_takes_back(place: Place) -> None:
    host, key = place.browser(), {"X-Host-Key": HOST_KEY}
    moment = place.to_orders()
    for seat in (Seat.SOUTH, Seat.NORTH):
        place.table.hand_in(seat, moment, "UUU")
    body = {"moment": moment, "stage": 0, "force": True}
    assert host.post("/api/host/confirm", json=body, headers=key).status_code == 200
    assert host.post("/api/host/undo", json={}, headers=key).status_code == 200
    assert place.table.view().phase == "setup"
    assert host.post("/api/host/undo", json={}).status_code == 403


# ---- bad input ---------------------------------------------------------------------------------------------------------


def test_errors_are_pages_for_people_and_json_for_programs(place: Place) -> None:
    browser = place.browser()
    page = browser.get("/nowhere", headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status_code, page.mimetype) == (404, "text/html")
    text = page.get_data(as_text=True)
    assert "There is no such page" in text
    assert [text.count(f">{name}</a>") for name in ("Table screen", "Take a seat", "Rules")] == [
        1,
        1,
        1,
    ]
    answer = browser.get("/api/nowhere", headers={"Accept": "text/html"})
    assert (answer.status_code, error_of(answer)["kind"]) == (404, "http_404")
    assert error_of(browser.get("/api/seat/south/hand-in"))["kind"] == "http_405"
    assert browser.get("/seat/west").status_code == browser.get("/rules/chess").status_code == 404
    assert browser.get("/workbench").status_code == 404


def test_an_unexpected_error_tells_nobody_what_was_sent(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    south, moment = place.sit("south"), place.to_orders()

    def fail(*sent: object) -> None:
        raise RuntimeError(sent)

    monkeypatch.setattr(place.table, "hand_in", fail)
    answer = south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "UUS"})
    assert answer.status_code == 500
    assert "UUS" not in answer.get_data(as_text=True)
    assert "api.hand_in failed: RuntimeError" in caplog.text
    assert "UUS" not in caplog.text


def test_a_page_that_could_not_be_made_leads_to_itself(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise TimeoutError

    browser, accept = place.browser(), {"Accept": "text/html"}
    assert "Try again" not in browser.get("/nowhere", headers=accept).get_data(as_text=True)
    monkeypatch.setattr(place.table, "view", late)
    page = browser.get("/watch?name=x", headers=accept).get_data(as_text=True)
    assert "The table is busy: try again" in page
    assert '<a class="key go" href="">Try again</a>' in page
    assert 'data-again="5"' in page, "by itself, too"


def test_a_form_that_could_not_be_taken_is_sent_again_with_what_was_entered(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        raise TimeoutError

    browser, accept = place.browser(), {"Accept": "text/html", "Accept-Language": "fr"}
    monkeypatch.setattr(place.table, "take_seat", late)
    page = browser.post("/join/south", data={"name": 'Mara "M"'}, headers=accept).get_data(
        as_text=True
    )
    assert "La table est occupée" in page
    assert '<input type="hidden" name="name" value="Mara &#34;M&#34;">' in page
    assert "Envoyer de nouveau" in page
    assert "data-again" not in page, "a page that is loaded again would lose it"


def test_what_another_site_sends_is_never_offered_to_be_sent_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From our own page it would count as ours."""

    def late(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(place.table, "take_seat", late)
    for name in ("view", "progress"):
        monkeypatch.setattr(place.table, name, late)
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = place.browser().post(
            "/join/south", data={"name": "Eve"}, headers={"Accept": "text/html", **headers}
        )
        assert answer.status_code == 403
        assert "Eve" not in answer.get_data(as_text=True)


# ---- secrecy -----------------------------------------------------------------------------------------------------------


def test_the_own_order_comes_only_when_its_owner_asks(place: Place) -> None:
    south, north, moment = place.sit("south"), place.sit("north"), place.to_orders()
    assert south.post("/api/seat/south/mine", json={}).get_json() == {"action": None, "orders": []}
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "UIS"})
    mine = south.post("/api/seat/south/mine", json={}).get_json()
    assert mine["action"] == "UIS"
    assert [order["drawing"] for order in mine["orders"]] == [
        "order-up",
        "order-idle",
        "order-shoot",
    ]
    assert north.post("/api/seat/south/mine", json={}).status_code == 403
    for path in ("/seat/south", "/api/seat/south/view"):
        assert "UIS" not in south.get(path).get_data(as_text=True)


def test_the_plan_shows_the_way_to_its_owner_and_travels_in_the_body(place: Place) -> None:
    south, moment = place.sit("south"), place.to_orders()
    body = {"moment": moment, "entered": "UR"}
    answer = south.post("/api/seat/south/plan", json=body)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.get_json()["svg"].count("<circle") == 2
    assert south.get("/api/seat/south/plan").status_code == 405
    assert south.post("/api/seat/south/plan", json={**body, "moment": "0.0"}).get_json() == {
        "svg": ""
    }
    south.post("/api/seat/south/hand-in", json={"moment": moment, "action": "UUS"})
    assert south.post("/api/seat/south/plan", json=body).get_json() == {"svg": ""}


def test_headers_keep_browsers_careful(place: Place) -> None:
    for path in ("/", "/join/south", "/api/view", "/nowhere"):
        headers = place.browser().get(path).headers
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"


def test_static_files_are_kept_under_their_version_only(place: Place) -> None:
    browser = place.browser()
    address = re.search(r'href="(/static/[^"]+wall\.css)"', browser.get("/").get_data(as_text=True))
    assert address
    assert "immutable" in browser.get(address[1]).headers["Cache-Control"]
    assert browser.get("/static/old/wall.css").headers["Cache-Control"] == "no-cache"
    for path in ("/static/old/../app.py", "/static/old/..%2fapp.py", "/static/old/none.css"):
        assert browser.get(path).status_code == 404


def test_static_files_go_over_the_air_packed_where_the_browser_takes_that(place: Place) -> None:
    browser = place.browser()
    address = re.findall(r'href="(/static/[^"]+\.css)"', browser.get("/").get_data(as_text=True))[0]
    plain, packed = (
        browser.get(address),
        browser.get(address, headers={"Accept-Encoding": "br, gzip;q=0.5"}),
    )
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) * 2 < len(plain.data)
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"
    assert plain.headers["ETag"] != packed.headers["ETag"]
    refused = browser.get(address, headers={"Accept-Encoding": "gzip;q=0"})
    page = browser.get("/", headers={"Accept-Encoding": "gzip"})
    assert not {"Content-Encoding"} & {*refused.headers.keys(), *page.headers.keys()}, (
        "a page's size tells no secret"
    )


def test_every_rule_has_an_address_and_every_game_a_page(place: Place) -> None:
    for name, game in GAMES.items():
        page = place.browser().get(f"/rules/{name}").get_data(as_text=True)
        assert all(f'id="{rule.id}"' in page for rule in game.rules)


def test_health_for_watchdogs(place: Place) -> None:
    assert place.browser().get("/health").get_json() == {
        "status": "ok", "ok": True, "version": "1.2.3", "uptime_s": 61.3, "late": {}, "journal": "ok",
        "camera": "none", "pins": "none", "disk_free_mb": 4321, "machine": "ok",
    }  # fmt: skip
