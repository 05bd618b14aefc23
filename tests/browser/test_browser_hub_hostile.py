"""A table that tells a hub markup instead of names, titles and sentences: it stays text on every page of the hub."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hub_room import hub_pages, league_of, played_records
from selenium.webdriver.remote.webdriver import WebDriver
from service import WALL, browser, until

from companion.core.clock import RealClock
from companion.core.kit import Seat
from companion.league.tournament import System
from companion.table.public.messages import (
    PublicRecord,
    PublicState,
    encode_public,
    read_record,
    read_state,
)
from companion.table.seats.staff_call import Call
from web.hub.room import Room, RoomTable
from web.server.server import serve

pytestmark = pytest.mark.browser

MARKUP = "\"'><img src=x id=owned>"
SCRIPT = '</script></style></title></textarea></svg>"\'><svg onload="owned=1"><img src=x id=owned onerror="owned=1">'
"""What is longer than a name may be."""
_KEPT = {"phase", "game", "call", "camera"}
"""What has to be a word of its own; anything else may be any text."""
_OWNED = """
return [...document.querySelectorAll('#owned, [onload], [onerror], [src=x], script:not([src])')]
  .filter(Boolean).map(each => each.outerHTML ?? String(each))"""
GAMES = ("outbuffered", "arena", "kahmate", "scouts", "binmat")


def hostile(value: Any, text: str, name: str = "") -> Any:
    """The same message with this in the place of every text that may be any."""
    if isinstance(value, dict) and "say" not in value:
        return {key: hostile(each, text, key) for key, each in value.items()}
    if isinstance(value, list):
        return [hostile(each, text, name) for each in value]
    return text if isinstance(value, str | dict) and name not in _KEPT else value


def hostile_record(record: PublicRecord, entry: int) -> PublicRecord:
    """A record that every hub takes, with markup wherever it may be."""
    message, text = json.loads(encode_public(record)), f"{entry}{SCRIPT}"
    plain = message["view"] | dict.fromkeys(("title", "step", "sign", "why", "result"), "")
    view = hostile(plain, text) | {
        name: plain[name] for name in ("winners", "options", "layout") if name in plain
    }
    part = {"say": "{a}", "many": "", "parts": {"a": {"typed": text}}}
    view["happened"] = [text, {"typed": text}, part]
    message |= {"what": text, "entry": entry, "cards": {"south": text}, "view": view}
    return read_record(json.dumps(message).encode())


def hostile_state(number: int) -> PublicState:
    """The same of how a table is."""
    text = f"{number}{SCRIPT}"
    state = PublicState(
        text, RealClock().wall_s(), dict.fromkeys(Seat, text), Call.CALLED, text, text, notices=(text,), wrong=(text,),
        follows=text, answers=1, answer=text,
    )  # fmt: skip
    return read_state(encode_public(state))


@dataclass
class HostileRoom:
    """A hub whose tables, people and tournament are all called by markup."""

    room: Room
    address: str
    paths: list[str]


@pytest.fixture
def hostile_room(tmp_path: Path) -> Iterator[HostileRoom]:
    clock = RealClock()
    room = Room(SCRIPT, clock)
    for number, game in enumerate(GAMES, start=1):
        room.put(RoomTable(f"id{number}", number, SCRIPT))
        for entry, record in enumerate(played_records(game, 3, number), start=1):
            room.record(f"id{number}", hostile_record(record, entry))
        room.state(f"id{number}", hostile_state(number))
    with ExitStack() as stack:
        league = stack.enter_context(league_of(tmp_path, clock, "id1", "id2"))
        people = [league.cards.make(MARKUP) for _ in range(4)]
        cup = league.tournaments.new(
            MARKUP, System.SWISS, "scouts", {}, rounds=2, minutes=0, team_size=1
        )
        for person in people:
            league.tournaments.enter(cup.id, [person.number])
        league.tournaments.pair_round(cup.id)
        app = stack.enter_context(hub_pages(room, clock, league=league))
        server = stack.enter_context(serve(app, "127.0.0.1", 0))
        server.start()
        paths = sorted(
            {
                rule.rule.replace("<int:number>", "1")
                .replace("<any(watch, overlay):page>", page)
                .replace("<game>", "scouts")
                for rule in app.url_map.iter_rules()
                for page in ("watch", "overlay")
                if "GET" in (rule.methods or ())
                and not rule.rule.startswith(("/static", "/live", "/1"))
            }
        )
        yield HostileRoom(
            room, f"http://127.0.0.1:{server.port}", [*paths, *(f"/watch/{n}" for n in range(2, 6))]
        )


def test_markup_of_a_table_stays_text_on_every_page_and_stream(hostile_room: HostileRoom) -> None:
    room, address = hostile_room.room, hostile_room.address
    with browser(WALL) as window:
        window.get(f"{address}/host")
        window.find_element("id", "key").send_keys("abcde-fghij")
        window.find_element("css selector", "button.go").click()
        window.get_log("browser")  # type: ignore[attr-defined] # Chrome has it; that the key was asked for is one
        for path in hostile_room.paths:
            window.get(address + path)
            assert window.execute_script(_OWNED) == [], path
        for path in ("/", "/watch/1", "/overlay/1", "/host"):
            window.get(address + path)
            follow(window, room, path)
        said = [each["message"] for each in window.get_log("browser")]  # type: ignore[attr-defined] # Chrome has it
        assert not [each for each in said if "Content Security Policy" in each or "owned" in each]


def follow(window: WebDriver, room: Room, path: str) -> None:
    """What the table tells next comes by the page's stream."""
    table, live = room.table(1), "return document.querySelector('#live').innerHTML"
    assert table
    assert table.shown
    entry, before = table.shown.record.entry + 1, window.execute_script(live)
    room.record("id1", hostile_record(table.shown.record, entry))
    room.state("id1", hostile_state(entry))
    until("it is shown", lambda: (room.step(), window.execute_script(live))[1] != before)
    assert window.execute_script(_OWNED) == [], path
