"""Test that a hub's pages escape what tables send, with Flask's client.

The program of a table could be tampered with. Here every table sends markup in place of names,
titles and sentences, which must not become a part of a page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hub_room import HUB_KEY, open_hub_pages, open_league, played_records

from companion.core.clock import FakeClock
from companion.core.kit import Seat
from companion.games import GAMES
from companion.league.tournament import PairingSystem
from companion.league.tournament_rules import new_tournament
from companion.table.public.messages import PublicState, decode_record, decode_state, encode_public
from companion.table.seats.staff_call import Call
from web.hub.room import HubRoom, HubTable

# Markup as long as a name may be.
MARKUP = "\"'><img src=x id=owned>"
SCRIPT = f"</script></style></title></textarea></svg>{MARKUP}"
# Fields whose value is one of a few known words. Any other field may hold any text.
FIELDS_OF_WORDS = {"phase", "game", "call", "camera"}


def fill_with_markup(value: Any, name: str = "") -> Any:
    """Return a value with markup wherever it may hold any text. `name` is that of its field."""
    if isinstance(value, dict) and "say" not in value:
        return {key: fill_with_markup(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [fill_with_markup(part, name) for part in value]
    return SCRIPT if isinstance(value, str | dict) and name not in FIELDS_OF_WORDS else value


def encode_with_markup(message: dict[str, Any]) -> bytes:
    """Return a record as a table sends it, with markup wherever a hub accepts it."""
    plain = message["view"] | dict.fromkeys(("title", "step", "sign", "why", "result"), "")
    view = fill_with_markup(plain)
    view |= {name: plain[name] for name in ("winners", "options", "layout") if name in plain}
    part = {"say": "{a}", "many": "", "parts": {"a": {"typed": SCRIPT}}}
    view["happened"] = [SCRIPT, {"typed": SCRIPT}, part]
    hidden = {"what": SCRIPT, "cards": {"south": SCRIPT}, "view": view}
    return json.dumps(message | hidden).encode()


def test_markup_stays_text_on_every_page(tmp_path: Path) -> None:
    """Open all pages of a hub on which something of tables, players or tournaments is shown."""
    # Five tables send a game each, and their state, all full of markup.
    clock = FakeClock()
    room = HubRoom(SCRIPT, clock)
    for number, game in enumerate(GAMES, start=1):
        name = f"id{number}"
        room.add(HubTable(name, number, SCRIPT))
        for record in played_records(game, decisions=3, seed=number):
            message = encode_with_markup(json.loads(encode_public(record)))
            room.receive_record(name, decode_record(message))
        texts = {"notices": (SCRIPT,), "wrong": (SCRIPT,), "follows": SCRIPT, "answer": SCRIPT}
        names = dict.fromkeys(Seat, SCRIPT)
        state = PublicState(SCRIPT, names, Call.CALLED, SCRIPT, **texts)
        room.receive_state(name, decode_state(encode_public(state)))
    with (
        open_league(tmp_path, clock, "id1", "id2") as league,
        open_hub_pages(room, clock, league=league) as app,
    ):
        # Players and a tournament have names of markup.
        rounds = {"rounds": 2, "minutes": 0}
        cup = league.tournaments.add(
            new_tournament(MARKUP, PairingSystem.SWISS, "scouts", {}, **rounds)
        )
        for _ in range(4):
            league.tournaments.enter(cup.id, league.cards.create(MARKUP).number)
        league.tournaments.pair_round(cup.id)
        host = app.test_client()
        host.post("/card/make", data={"name": MARKUP, "shown": "on"})

        # Every page of the hub shows the markup as text.
        paths = [
            "/",
            "/card",
            "/host",
            "/host/people",
            "/host/tournament/1",
            "/tournament/1",
            "/tournaments",
        ]
        paths += [
            "/standings?game=scouts",
            *(f"/watch/{number}" for number in range(1, 6)),
            "/overlay/1",
        ]
        for path in paths:
            answer = host.get(path, headers={"X-Host-Key": HUB_KEY})
            page = answer.get_data(as_text=True)
            assert answer.status_code == 200, path
            assert "<img src=x" not in page, path
            assert "</script></style>" not in page, path
            assert "&lt;img src=x" in page, f"{path} shows no markup, not even as text"
