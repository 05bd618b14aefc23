"""The pages of a hub: the wall, its host, spectators with and without a delay, the overlay; in every language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hub_room import NoHub, hub_pages, played_records, room_of_twelve

from companion.core.clock import FakeClock
from companion.table.public.messages import PublicState, PublicView
from companion.table.seats.staff_call import Call
from companion.table.session import Phase
from web.hub.host import CODE_S
from web.hub.room import SILENT_S, Room, RoomTable

FAR = {"REMOTE_ADDR": "192.0.2.50"}
KEY = {"X-Host-Key": "abcde-fghij"}


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="module")
def room(clock: FakeClock) -> Room:
    return room_of_twelve(clock)


@pytest.fixture(scope="module")
def host() -> NoHub:
    return NoHub()


@pytest.fixture(scope="module")
def app(room: Room, clock: FakeClock, host: NoHub) -> Iterator[Flask]:
    with hub_pages(room, clock, host) as app:
        yield app


def page(app: Flask, path: str, language: str = "en", **more: Any) -> str:
    answer = app.test_client().get(path, headers={"Accept-Language": language}, **more)
    assert answer.status_code == 200, answer.status
    return answer.text


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


# ---- the wall ----


def test_the_wall_shows_every_table_with_its_game_and_its_people(app: Flask) -> None:
    html = page(app, "/")
    told = words(html[html.index('<main id="live"') :])
    for part in ("Tuesday club", "12 tables", "Mara", "Finished", "12 Free", "By the window"):
        assert part in told
    assert html.count('class="board"') == 10
    assert "Table 7 is calling" in told
    assert "7 It is calling." in told


def test_the_host_key_is_on_no_page_of_a_hub(app: Flask) -> None:
    browser = app.test_client()
    for path in ("/", "/host", "/watch", "/card", "/standings"):
        for headers in ({}, KEY):
            assert "abcde-fghij" not in browser.get(path, headers=headers).text, path


def test_the_code_is_on_the_hubs_own_screen_alone(app: Flask) -> None:
    code = app.extensions["door"].code
    shown = f"{code[:3]}-{code[3:]}"
    assert shown in page(app, "/")
    far = page(app, "/", environ_overrides=FAR)
    assert shown not in far
    assert code not in far


def test_a_table_that_falls_silent_is_said_and_comes_back() -> None:
    clock = FakeClock()
    room = Room("", clock)
    room.put(RoomTable("a", 1, ""))
    room.state("a", PublicState("1.0.0", clock.wall_s()))
    with hub_pages(room, clock) as app:
        assert "Sit down at table 1" in words(page(app, "/"))
        clock.advance(SILENT_S + 1)
        room.step()
        assert "Table 1: It is silent." in words(page(app, "/"))
        assert "Not connected" in words(page(app, "/"))
        clock.advance(1)
        room.state("a", PublicState("1.0.0", clock.wall_s(), {}, Call.COMING))
        assert "Not connected" not in words(page(app, "/"))
        assert "Somebody is coming" in words(page(app, "/"))
        room.is_in_trouble("The hub’s disk is full.")
        clock.advance(1)
        room.step()
        assert "The hub’s disk is full." in words(page(app, "/"))
        assert app.test_client().get("/health").status_code == 503


# ---- watching ----


def test_a_table_is_watched_by_its_number(app: Flask, room: Room) -> None:
    assert app.test_client().get("/1").headers["Location"] == "/watch/1"
    assert app.test_client().get("/watch/99").status_code == 404
    assert app.test_client().get("/99").status_code == 404
    html = page(app, "/watch/1", environ_overrides=FAR)
    assert "Mara" in html
    assert 'class="board"' in html
    assert 'data-live="/live/watch/1"' in html
    assert words(page(app, "/watch")).count("Table ") >= 12
    assert "No game is on yet" in words(page(app, "/watch/12"))


@pytest.mark.parametrize("path", ["/live/watch/1", "/live/overlay/1"])
def test_a_watched_table_is_streamed(app: Flask, path: str) -> None:
    with app.test_client().get(path, buffered=False) as stream:
        chunks = iter(stream.response)
        assert next(chunks) == b"retry: 1000\n\n"
        assert 'class="board"' in next(chunks).decode()


def test_the_overlay_shows_board_orders_and_names(app: Flask) -> None:
    html = page(app, "/overlay/1")
    assert 'class="wall overlay"' in html
    told = words(html)
    for part in ("Mara", "Jonas", "Outbuffered, turn 3", "Step 1 of 3", "0 : 0"):
        assert part in told
    assert html.count('class="shut"') == 4  # of six orders two are open


def test_spectators_see_everything_so_much_later_and_nothing_sooner() -> None:
    clock = FakeClock()
    room = Room("", clock, delay_s=60)
    room.put(RoomTable("a", 1, ""))
    records = played_records("outbuffered", 2, 1)
    with hub_pages(room, clock) as app:
        assert "Nothing to see yet" in page(app, "/watch/1")
        for record in records:
            room.record("a", record)
            clock.advance(1)
        room.step()
        assert "Nothing to see yet" in page(app, "/watch/1")
        delayed = room.delayed("a")
        assert delayed is not None
        seen = []
        for _ in range(80 + len(records)):
            clock.advance(1)
            room.step()
            if delayed.shown and (not seen or delayed.shown.record.entry != seen[-1]):
                seen.append(delayed.shown.record.entry)
                assert room.now_s() - delayed.shown.came_s >= 60
        assert seen == [record.entry for record in records]
        assert "1 minute late." in words(page(app, "/watch/1"))
        room.use_delay(0)
        assert "late" not in words(page(app, "/watch/1"))


def test_a_spectator_who_is_late_sees_every_event_in_its_order() -> None:
    """The last sixteen of them; whoever comes, or comes back after long, begins with the newest."""
    room = Room("", FakeClock())
    room.put(RoomTable("a", 1, ""))
    delayed = room.delayed("a")
    assert delayed is not None
    (record, *_) = played_records("outbuffered", 1, 1)
    records = [msgspec.structs.replace(record, entry=entry) for entry in range(1, 21)]
    for record in records:
        room.record("a", record)

    def seen(version: int) -> list[int]:
        return [shown.record.entry for _, shown in delayed.since(version) if shown]

    entries = [record.entry for record in records]
    assert delayed.version == 20
    assert (seen(17), seen(20)) == (entries[-3:], [])
    assert (seen(1), seen(-1)) == (entries[-16:], entries[-1:])
    room.remove("a")
    assert [version for version, _ in delayed.since(19)] == [20, 21], "and that the table is gone"


def test_what_comes_twice_or_from_before_changes_nothing() -> None:
    clock = FakeClock()
    room = Room("", clock)
    room.put(RoomTable("a", 1, ""))
    records = played_records("outbuffered", 2, 1)
    for record in (*records, records[0], records[-1]):
        room.record("a", record)
    shown = room.table(1)
    assert shown is not None
    assert shown.shown is not None
    assert shown.shown.record == records[-1]
    room.record("nobody", records[0])
    room.state("nobody", PublicState("1", 0.0))
    room.refuse_unread("nobody")
    assert len(room.tables()) == 1


@pytest.mark.parametrize(
    "view",
    [
        PublicView(Phase.ORDERS, game="chess", title="Chess", layout={"a1": ("king",)}),
        PublicView(Phase.ORDERS, game="outbuffered", layout={"z99": ("king",)}),
        PublicView(Phase.ORDERS, game="arena", options={"map": "nonsense" * 10}),
        PublicView(Phase.STAGES, game="scouts", moves=({"faces": ("x",), "origin": "a1"},)),  # type: ignore[arg-type]
    ],
)
def test_an_unknown_view_breaks_no_page(view: PublicView) -> None:
    clock = FakeClock()
    room = Room("", clock)
    room.put(RoomTable("a", 1, ""))
    record = msgspec.structs.replace(
        played_records("outbuffered", 1, 1)[-1],
        view=msgspec.json.decode(msgspec.json.encode(view), type=PublicView),
    )
    room.record("a", record)
    with hub_pages(room, clock) as app:
        for path in ("/", "/watch", "/watch/1", "/overlay/1"):
            page(app, path)


# ---- the host ----


def test_the_hosts_page_asks_for_the_key(app: Flask) -> None:
    browser = app.test_client()
    assert browser.get("/host").status_code == 403
    assert "That is not the hub’s key" in browser.post("/host", data={"key": "wrong"}).text
    assert browser.post("/host", data={"key": "abcde-fghij"}).status_code == 303
    html = browser.get("/host").text
    assert '<use href="#bell"/></svg>It is calling.' in html
    for part in ("It is calling.", "The card is nearly full.", "By the window", "1.0.0"):
        assert part in words(html)


@pytest.mark.parametrize(
    ("door", "body", "asked"),
    [
        ("answer", {"number": 7, "say": "coming"}, ("answer", 7, "coming")),
        ("remove", {"number": 3}, ("remove", 3)),
        ("rename", {"number": 3, "name": " By  the door "}, ("rename", 3, "By the door")),
        ("let-in", {"number": 3}, ("let_in", 3)),
        ("close", {"numbers": [3, 4], "is_closed": True}, ("close_tables", [3, 4], True)),
        (
            "settings",
            {"numbers": [3], "values": {"table.coach": "never"}},
            ("change_settings", [3], {"table.coach": "never"}),
        ),
        ("delay", {"seconds": 30}, ("use_delay", 30.0)),
    ],
)
def test_what_the_host_wants_is_done_and_nobody_else_may(
    app: Flask, host: NoHub, door: str, body: dict[str, Any], asked: tuple[Any, ...]
) -> None:
    browser: FlaskClient = app.test_client()
    assert browser.post(f"/api/hub/{door}", json=body, environ_overrides=FAR).status_code == 403
    assert asked not in host.asked
    assert browser.post(f"/api/hub/{door}", json=body, headers=KEY).status_code == 200
    assert host.asked[-1] == asked
    assert browser.post(f"/api/hub/{door}", json={"more": 1}, headers=KEY).status_code == 400
    if "number" in body:
        assert (
            browser.post(f"/api/hub/{door}", json={**body, "number": 99}, headers=KEY).status_code
            == 404
        )


def test_a_code_is_good_for_one_table_and_ten_minutes(clock: FakeClock) -> None:
    room = Room("", clock)
    with hub_pages(room, clock) as app:
        door, browser = app.extensions["door"], app.test_client()

        def join(code: str, key: str = f"U{'A' * 55}") -> int:
            wish = {"code": code, "key": key, "name": "x", "version": "1"}
            return browser.post("/api/hub/join", json=wish, environ_overrides=FAR).status_code

        first = door.code
        assert [join(first), join(first)] == [200, 403]
        second = door.code
        assert join(second, "no key") == 400
        clock.advance(CODE_S)
        assert join(second) == 403
        old = door.code
        new = browser.post("/api/hub/new-code", json={}, headers=KEY).get_json()["code"]
        assert (join(old), join(new)) == (403, 200)


def test_guessing_the_code_soon_helps_nobody(app: Flask) -> None:
    browser = app.test_client()
    wish = {"code": "zzzzzz", "key": f"U{'A' * 55}"}
    answers = [
        browser.post("/api/hub/join", json=wish, environ_overrides={"REMOTE_ADDR": "192.0.2.77"})
        for _ in range(8)
    ]
    assert "Too many wrong codes" in answers[-1].get_json()["error"]["message"]
