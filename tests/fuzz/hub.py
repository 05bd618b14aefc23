"""Fuzz targets of a hub: wild requests to its pages, and messages that no real table sends.

A hub follows many tables. It has players' cards and tournaments (`companion.league`).
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock
from urllib.parse import quote

from flask import Flask
from hub_room import open_hub_pages, open_league, played_records, room_of_twelve
from hypothesis import strategies as st
from msgspec.structs import replace
from werkzeug.routing import Rule

from companion.core.clock import FakeClock
from companion.core.errors import CompanionError, Malformed
from companion.games import GAMES
from companion.league.league import League
from companion.league.tournament import PairingSystem
from companion.league.tournament_rules import new_tournament
from companion.table.public.messages import PublicState, decode_record, decode_state, encode_public
from fuzz.running import Probe, Target
from fuzz.texts import JSON, ODD_NUMBERS, ODD_TEXTS, change_values
from web.hub.room import HubRoom
from web.security import rate_limit

# Key of the owner of the hub, as `hub_room.open_hub_pages` has it.
HOST_KEY = "abcde-fghij"
# Short enough for a name. Pages must not contain it as it is.
SCRIPT = "<script>alert"
# Values that fields of forms really have, and what is nearly right.
_ACTIONS = (
    "enter withdraw pair unpair decide move end make forget count void "
    "1 2 #1 south north draw swiss"
)
_WORDS = (
    ODD_TEXTS
    | st.just(SCRIPT)
    | st.sampled_from(
        [
            *_ACTIONS.split(),
            "knockout",
            "round_robin",
            "scouts/0",
            "binmat/9",
            f"scouts/{'9' * 5000}",
        ]
    )
)
# Names of all fields in forms, queries and bodies.
_FIELD_NAMES = """
    act away board boards card code do entrant entry game halves key language match minutes name
    names number numbers people person reason result round rounds seconds seat settings shown
    system table tables tournament value verdict void what words
"""
_FIELDS = tuple(_FIELD_NAMES.split())
_MAIN_PAGES = [
    "/",
    "/watch",
    "/standings",
    "/tournaments",
    "/tournament/1",
    "/host",
    "/host/people",
    "/card",
]
# Pages that show what tables have sent.
_PAGES_OF_TABLES = [
    "/",
    "/watch/3",
    "/overlay/3",
    "/host",
    "/host/people",
    "/results.csv",
    "/standings",
]


class FuzzedHub:
    """The pages of a hub with twelve tables, some players' cards and a tournament.

    Their two visitors are a stranger (`nobody`) and the owner (`host`).
    """

    def __init__(self, app: Flask, room: HubRoom, league: League, clock: FakeClock) -> None:
        self.app, self.room, self.league, self.clock = app, room, league, clock
        self.people = {"nobody": app.test_client(), "host": app.test_client()}
        self.people["host"].post("/host", data={"key": HOST_KEY})
        self.card = league.cards.create("Ann")
        tournament = league.tournaments.add(
            new_tournament("Cup", PairingSystem.SWISS, "scouts", {}, rounds=3, minutes=0)
        )
        for name in ("Bo", "Cid", "Dot"):
            league.tournaments.enter(tournament.id, league.cards.create(name).number)

    def ask(self, role: str, method: str, path: str, **content: Any) -> str:
        """Send a request, and return the status of its answer.

        Check what must hold for every answer: it is no crash, contains no script that was sent, and
        tells a stranger no secret.
        """
        answer = self.people[role].open(
            path, method=method, environ_base={"REMOTE_ADDR": "192.0.2.5"}, **content
        )
        is_stream = answer.mimetype == "text/event-stream"
        page = b"" if is_stream else answer.get_data()
        answer.close()
        assert answer.status_code < 500, f"{method} {path}: {answer.status_code}"
        assert b"Traceback" not in page
        assert SCRIPT.encode() not in page, "the page contains a script that was sent"
        if role == "nobody":
            for secret in (HOST_KEY, self.card.code):
                assert secret.encode() not in page + str(answer.headers).encode(), (
                    f"the answer of {path} contains {secret}"
                )
        return str(answer.status_code)

    def finish(self) -> None:
        """Check that the main pages still answer, for which they read the file of the league."""
        for path in _MAIN_PAGES:
            for role in self.people:
                assert self.ask(role, "GET", path) in {"200", "403"}, path


@contextmanager
def open_hub(folder: Path) -> Iterator[FuzzedHub]:
    """Open the pages of a hub without a network.

    The owner may send more requests in a second than usual, because cases follow each other faster
    than any person's requests. `test_flood` tests that limit.
    """
    clock = FakeClock()
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(rate_limit, "MEMBER_RATE", rate_limit.STRANGER_RATE))
        room = room_of_twelve(clock)
        league = stack.enter_context(open_league(folder, clock, "id12"))
        yield FuzzedHub(
            stack.enter_context(open_hub_pages(room, clock, league=league)), room, league, clock
        )


# ---- requests to pages ---------------------------------------------------------------------------


def _address(rule: Rule) -> st.SearchStrategy[str]:
    """Return addresses that match a rule of Flask, with variable parts that are sometimes right."""
    fixed_parts = re.split(r"<[^<>]*>", rule.rule)
    values = st.sampled_from(["0", "1", "2", "13", "9" * 30, "watch", "overlay", "json"]) | _WORDS
    parts = st.lists(values, min_size=len(fixed_parts) - 1, max_size=len(fixed_parts) - 1)

    def fill(chosen: list[str]) -> str:
        words = [quote(word.encode("utf-8", "replace"), safe="") for word in chosen]
        address = "".join(itertools.chain(*zip(fixed_parts, [*words, ""], strict=True)))
        # the test client would take what follows two slashes for a host
        return "/" + address.lstrip("/")

    return parts.map(fill)


def _requests(app: Flask) -> st.SearchStrategy[Any]:
    """Return requests to all addresses but streams and files.

    A request has a role, a method, a path, and the arguments of `FuzzedHub.ask` for its content.
    """
    form = st.dictionaries(st.sampled_from(_FIELDS) | ODD_TEXTS, _WORDS, max_size=8)
    body = (
        st.dictionaries(
            st.sampled_from(_FIELDS), JSON | st.lists(st.integers(0, 14)) | _WORDS, max_size=8
        )
        | JSON
    )

    def requests_to(rule: Rule, method: str) -> st.SearchStrategy[Any]:
        content = {"query_string": st.dictionaries(st.sampled_from(_FIELDS), _WORDS, max_size=2)}
        if method == "POST" and rule.rule.startswith("/api/"):
            content = {"json": body}
        elif method == "POST":
            content = {"data": form}
        return st.tuples(
            st.sampled_from(["nobody", "host"]),
            st.just(method),
            _address(rule),
            st.fixed_dictionaries(content),
        )

    strategies = [
        requests_to(rule, method)
        for rule in app.url_map.iter_rules()
        if not rule.rule.startswith(("/live", "/static"))
        for method in {"GET", "POST"} & (rule.methods or set())
    ]
    return st.one_of(strategies)


@contextmanager
def requests(folder: Path, _seed: int) -> Iterator[Probe]:
    """Send requests to every address of a hub's pages, with forms and bodies of every kind."""
    with open_hub(folder) as hub:

        def check(case: Any) -> tuple[str, int]:
            hub.clock.advance(1.0)
            role, method, path, content = case
            return hub.ask(role, method, path, **content), 1

        yield Probe(_requests(hub.app), check, hub.finish)


# ---- messages of tables --------------------------------------------------------------------------


@contextmanager
def tables(folder: Path, seed: int) -> Iterator[Probe]:
    """Send changed records and states of real games. Pages must show whatever the hub accepts."""
    rng = Random(seed)
    messages: list[Any] = [
        json.loads(encode_public(record))
        for game in sorted(GAMES)
        for record in played_records(game, 4, seed)
    ]
    state = PublicState("1.0.0", health="", wrong=("Turn it",))
    messages += [json.loads(encode_public(state))] * 8
    squares = sorted(
        {square for message in messages for square in message.get("view", {}).get("layout", ())}
    )
    replacements = st.lists(
        JSON
        | ODD_TEXTS
        | ODD_NUMBERS
        | st.just(SCRIPT)
        | st.sampled_from([*squares, "", "south", "over", "orders", 1e18, -1]),
        min_size=4,
        max_size=9,
    )
    with open_hub(folder) as hub:
        numbers = itertools.count(100_000)

        def check(case: Any) -> tuple[str, int]:
            message, change_seed, values, probability = case
            changed = change_values(message, Random(change_seed), values, probability)
            payload = json.dumps(changed).encode("utf-8", "replace")
            try:
                if "view" in message:  # a record, else a state
                    # a hub ignores a record that is not newer than the one before
                    number = next(numbers)
                    record = replace(decode_record(payload), epoch=number, entry=number)
                    hub.league.results.process_record("id3", record, hub.clock.wall_s(), number)
                    hub.room.receive_record("id3", record, 0.0)
                else:
                    hub.room.receive_state("id3", decode_state(payload))
            except Malformed:
                return "refused", 1
            except CompanionError as error:
                return type(error).__name__, 1
            return hub.ask("host", "GET", rng.choice(_PAGES_OF_TABLES)), 1

        yield Probe(
            st.tuples(
                st.sampled_from(messages),
                st.integers(0, 2**32),
                replacements,
                st.sampled_from([0.01, 0.03, 0.1]),
            ),
            check,
            hub.finish,
        )


TARGETS = (
    Target("hub-requests", share=0.03, batch=600, open_probe=requests),
    Target("hub-tables", share=0.03, batch=600, open_probe=tables),
)
