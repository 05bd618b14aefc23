"""Tests of a hub's pages, through Flask's client on a fake clock.

They cover the wall, the spectators' pages with and without a delay, the overlay, and what the hub's
owner can do. Most pages show a room of twelve tables, each in the middle of a real game.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any
from weakref import ref

import msgspec
import pytest
from flask import Flask
from hub_room import (
    ELSEWHERE,
    OWNER_HEADERS,
    RecordingHost,
    open_hub_pages,
    played_records,
    room_of_twelve,
    text_of,
)

from companion.core.clock import FakeClock
from companion.table.public.messages import PublicState, PublicView, encode_public
from companion.table.seats.staff_call import Call
from web.hub.host import TABLE_CODE_S
from web.hub.room import SILENCE_TIMEOUT_S, HubRoom, HubTable, Notifier, TimedRecord


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="module")
def room(clock: FakeClock) -> HubRoom:
    return room_of_twelve(clock)


@pytest.fixture(scope="module")
def host() -> RecordingHost:
    return RecordingHost()


@pytest.fixture(scope="module")
def app(room: HubRoom, clock: FakeClock, host: RecordingHost) -> Iterator[Flask]:
    with open_hub_pages(room, clock, host) as app:
        yield app


def html_of(app: Flask, path: str, **more: Any) -> str:
    """Return the HTML of a page in English, as a new browser gets it."""
    answer = app.test_client().get(path, headers={"Accept-Language": "en"}, **more)
    assert answer.status_code == 200, answer.status
    return answer.text


def room_of_one(clock: FakeClock, delay_s: float = 0) -> HubRoom:
    """Return the room of a hub with one table, `a`, which has the number 1."""
    room = HubRoom("", clock, delay_s=delay_s)
    room.add(HubTable("a", 1, ""))
    return room


# ---- the wall ------------------------------------------------------------------------------------


def test_the_wall_shows_every_tables_game_and_people(app: Flask) -> None:
    html = html_of(app, "/")
    text = text_of(html[html.index('<main id="live"') :])
    for part in ("Tuesday club", "12 tables", "Mara", "Finished", "12 Free", "By the window"):
        assert part in text
    assert html.count('class="board"') == 10
    assert "Table 7 is calling" in text
    assert "7 It is calling." in text


def test_the_hubs_key_and_code_stay_secret(app: Flask) -> None:
    """No page shows the owner key. Only the hub's own screen shows the code for tables."""
    browser = app.test_client()
    code = app.extensions["table_join_code"].code
    for path in ("/", "/host", "/watch", "/card", "/standings"):
        for headers in ({}, OWNER_HEADERS):
            assert "abcde-fghij" not in browser.get(path, headers=headers).text, path
    shown = f"{code[:3]}-{code[3:]}"
    assert shown in html_of(app, "/")
    far = html_of(app, "/", environ_overrides=ELSEWHERE)
    assert shown not in far
    assert code not in far


def test_a_silent_table_is_named_until_it_returns() -> None:
    clock = FakeClock()
    room = room_of_one(clock)
    room.receive_state("a", PublicState("1.0.0"))
    with open_hub_pages(room, clock) as app:
        # the table has just sent its state: it is connected and free
        assert "Sit down at table 1" in text_of(html_of(app, "/"))

        # it falls silent: the wall says so, and no settings can be sent to it
        clock.advance(SILENCE_TIMEOUT_S + 1)
        room.step()
        text = text_of(html_of(app, "/"))
        assert "Table 1: It is silent." in text
        assert "Not connected" in text
        change = {"numbers": [1], "values": {"table.theme": "dark"}}
        refused = app.test_client().post("/api/hub/settings", json=change, headers=OWNER_HEADERS)
        assert "Not connected: table 1." in refused.get_json()["error"]["message"]

        # it returns, and the hub itself has trouble now
        room.receive_state("a", PublicState("1.0.0", {}, Call.COMING))
        room.set_trouble("The hub’s disk is full.")
        clock.advance(1)
        room.step()
        text = text_of(html_of(app, "/"))
        for part in ("Somebody is coming", "The hub’s disk is full."):
            assert part in text
        assert "Not connected" not in text
        assert app.test_client().get("/health").status_code == 503


# ---- spectators ----------------------------------------------------------------------------------


def test_a_table_is_watched_by_its_number(app: Flask) -> None:
    browser = app.test_client()

    # table 1 has a short address and a page
    assert browser.get("/1").headers["Location"] == "/watch/1"
    assert browser.get("/watch/99").status_code == 404
    html = html_of(app, "/watch/1", environ_overrides=ELSEWHERE)
    assert "Mara" in html
    assert 'data-live="/live/watch/1"' in html

    # there is a list of all tables, and table 12 is free
    assert text_of(html_of(app, "/watch")).count("Table ") >= 12
    assert "No game is on yet" in text_of(html_of(app, "/watch/12"))

    # the streams of the page and of the overlay send the board at once
    for path in ("/live/watch/1", "/live/overlay/1"):
        with browser.get(path, buffered=False) as stream:
            assert next(stream.response) == b"retry: 1000\n\n"
            assert b'class="board"' in next(stream.response)


def test_the_overlay_shows_board_orders_and_names(app: Flask) -> None:
    html = html_of(app, "/overlay/1")
    assert 'class="wall overlay"' in html
    text = text_of(html)
    for part in ("Mara", "Jonas", "Outbuffered, turn 3", "Step 1 of 3", "0 : 0"):
        assert part in text
    # in step 1 of 3, one of each side's three orders is revealed, so two of each are still hidden
    assert html.count('class="shut"') == 4


def test_spectators_see_every_record_after_the_delay() -> None:
    """With a delay of 60 s, every record of a game appears exactly 60 s after it was received.

    When the delay is switched off, a record that waits appears at once.
    """
    clock = FakeClock()
    room = room_of_one(clock, delay_s=60)
    records = played_records("outbuffered", decisions=2, seed=1)
    feed = room.feed("a")
    with open_hub_pages(room, clock) as app:
        # receive a record each second, which takes less than the delay: nothing appears yet
        began_at_s = room.now_s()
        for record in records:
            room.receive_record("a", record)
            clock.advance(1)
        room.step()
        assert "Nothing to see yet" in html_of(app, "/watch/1")
        assert "1 minute late." in text_of(html_of(app, "/"))

        # note when each record appears: that of second n at 60 + n seconds
        shown = []
        while len(shown) < len(records):
            room.step()
            if feed.version > len(shown) and feed.latest:
                shown.append((feed.latest.record.entry, room.now_s() - began_at_s))
            clock.advance(1)
        assert shown == [(record.entry, 60.0 + second) for second, record in enumerate(records)]
        for path in ("/watch/1", "/overlay/1"):
            assert "1 minute late." in text_of(html_of(app, path)), path

        # another delay is named at once
        room.set_delay(90)
        assert "90 seconds late." in text_of(html_of(app, "/watch/1"))

        # without a delay, a new record appears at once
        room.receive_record("a", msgspec.structs.replace(records[-1], entry=1000))
        room.set_delay(0)
        room.step()
        assert feed.latest
        assert feed.latest.record.entry == 1000
        assert "late" not in text_of(html_of(app, "/watch/1"))


def test_waiting_records_are_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for three records and a few bytes, so the oldest five of eight are dropped."""
    clock = FakeClock()
    room = room_of_one(clock, delay_s=60)
    (record, *_) = played_records("outbuffered", 1, 1)
    monkeypatch.setattr("web.hub.room.MAX_WAITING_BYTES", 3 * len(encode_public(record)) + 9)
    for entry in range(1, 9):
        room.receive_record("a", msgspec.structs.replace(record, entry=entry))
    clock.advance(60)
    room.step()
    shown = [timed.record.entry for _, timed in room.feed("a").records_after(0) if timed]
    assert shown == [6, 7, 8]


def test_a_late_spectator_sees_every_record_in_order() -> None:
    """A feed keeps the last sixteen records for spectators who are late.

    Without a delay, each record that is received is one more version.
    """
    room = room_of_one(FakeClock())
    feed = room.feed("a")
    (record, *_) = played_records("outbuffered", 1, 1)
    for entry in range(1, 21):
        room.receive_record("a", msgspec.structs.replace(record, entry=entry))

    # Four spectators: one is three versions late, one is up to date, one is so late that the first
    # records are no longer there, and one has just come.
    for version, expected in ((17, [18, 19, 20]), (20, []), (1, [*range(5, 21)]), (-1, [20])):
        shown = [timed.record.entry for _, timed in feed.records_after(version) if timed]
        assert shown == expected

    # the table is removed, which is one more version
    room.remove("a")
    assert [version for version, _ in feed.records_after(19)] == [20, 21], (
        "spectators must learn that the table is gone"
    )


def test_a_record_and_its_version_change_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the feed in another thread while a record is being shown, just before its version.

    The reader must wait for the lock, and then get the record together with its version.
    """
    room = room_of_one(FakeClock())
    feed = room.feed("a")
    newest: list[tuple[int, TimedRecord | None]] = []
    reader = Thread(target=lambda: newest.extend(feed.records_after(-1)))

    def read_meanwhile() -> None:
        reader.start()
        # without a lock, the reader would be done by then
        reader.join(0.1)
        Notifier.notify(feed)

    monkeypatch.setattr(feed, "notify", read_meanwhile)
    room.receive_record("a", played_records("outbuffered", 1, 1)[0])
    reader.join()
    assert newest == [(1, feed.latest)]


@pytest.mark.parametrize(
    ("path", "module", "max_kept"), [("/", "wall", 2), ("/watch/1", "spectators", 17)]
)
def test_old_drawings_are_dropped(
    path: str, module: str, max_kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draw 100 changes. The wall keeps one drawing, and a table those of its last 16 records.

    One more drawing may still be in use. Weak references show which drawings are left.
    """

    class Drawing(str):
        __slots__ = ("__weakref__",)

    drawn: list[ref[Drawing]] = []

    def draw(*_: object, **__: object) -> Drawing:
        drawing = Drawing(len(drawn))
        drawn.append(ref(drawing))
        return drawing

    monkeypatch.setattr(f"web.hub.{module}.render_template", draw)
    room = room_of_one(FakeClock())
    with open_hub_pages(room, FakeClock()) as app:
        for _ in range(100):
            room.notify()
            room.feed("a").notify()
            html_of(app, path)
        assert len(drawn) == 200
        assert sum(drawing() is not None for drawing in drawn) <= max_kept


@pytest.mark.parametrize(
    "view",
    [
        {"phase": "orders", "game": "chess", "title": "Chess", "layout": {"a1": ["king"]}},
        {"phase": "orders", "game": "outbuffered", "layout": {"z99": ["king"]}},
        {"phase": "orders", "game": "arena", "options": {"map": "nonsense"}},
    ],
)
def test_an_unknown_view_breaks_no_page(view: dict[str, Any]) -> None:
    """A table may play a game, a layout or options that this hub does not know."""
    clock = FakeClock()
    room = room_of_one(clock)
    record = played_records("outbuffered", 1, 1)[-1]
    room.receive_record(
        "a", msgspec.structs.replace(record, view=msgspec.convert(view, PublicView))
    )
    with open_hub_pages(room, clock) as app:
        for path in ("/", "/watch", "/watch/1", "/overlay/1"):
            html_of(app, path)


# ---- the hub's owner -----------------------------------------------------------------------------


def test_the_owners_page_asks_for_the_key(app: Flask) -> None:
    browser = app.test_client()
    assert browser.get("/host").status_code == 403
    assert "That is not the hub’s key" in browser.post("/host", data={"key": "wrong"}).text
    assert browser.post("/host", data={"key": "abcde-fghij"}).status_code == 303
    html = browser.get("/host").text
    assert '<use href="#bell"/></svg>It is calling.' in html
    for part in ("It is calling.", "The card is nearly full.", "By the window", "1.0.0"):
        assert part in text_of(html)


@pytest.mark.parametrize(
    ("route", "body", "request_to_host"),
    [
        ("answer", {"number": 7, "say": "coming"}, ("answer_call", "id7", "coming")),
        ("remove", {"number": 3}, ("remove", "id3")),
        ("let-in", {"number": 3}, ("admit", "id3")),
        (
            "settings",
            {"numbers": [3], "values": {"table.coach": "never"}},
            ("change_settings", "id3", {"table.coach": "never"}),
        ),
        ("delay", {"seconds": 30}, ("set_delay", 30)),
    ],
)
def test_only_the_owner_commands_the_hub(
    app: Flask,
    host: RecordingHost,
    route: str,
    body: dict[str, Any],
    request_to_host: tuple[Any, ...],
) -> None:
    browser = app.test_client()
    path = f"/api/hub/{route}"
    assert browser.post(path, json=body, environ_overrides=ELSEWHERE).status_code == 403
    assert request_to_host not in host.calls
    assert browser.post(path, json=body, headers=OWNER_HEADERS).status_code == 200
    assert host.calls[-1] == request_to_host
    if "number" in body:
        unknown_table = {**body, "number": 99}
        assert browser.post(path, json=unknown_table, headers=OWNER_HEADERS).status_code == 404


def test_a_code_admits_one_table_in_ten_minutes(clock: FakeClock) -> None:
    """The code on the hub's screen is for one table that is being set up there now."""
    room = HubRoom("", clock)
    with open_hub_pages(room, clock) as app:
        join_code = app.extensions["table_join_code"]
        browser = app.test_client()

        def join(code: str, key: str = f"U{'A' * 55}") -> int:
            request = {"code": code, "key": key, "name": "x", "version": "1"}
            return browser.post(
                "/api/hub/join", json=request, environ_overrides=ELSEWHERE
            ).status_code

        # a code lets one table join, and not a second one
        first = join_code.code
        assert [join(first), join(first)] == [200, 403]

        # the next code expires after ten minutes
        second = join_code.code
        assert join(second, "no key") == 400
        clock.advance(TABLE_CODE_S)
        assert join(second) == 403

        # the owner replaces the code
        old = join_code.code
        new = browser.post("/api/hub/new-code", json={}, headers=OWNER_HEADERS).get_json()["code"]
        assert (join(old), join(new)) == (403, 200)

        # somebody who guesses has to wait
        wrong_code = {"code": "zzzzzz", "key": f"U{'A' * 55}"}
        for _ in range(8):
            answer = browser.post("/api/hub/join", json=wrong_code, environ_overrides=ELSEWHERE)
        assert "Too many wrong codes" in answer.get_json()["error"]["message"]
