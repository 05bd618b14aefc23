"""Helpers: a hub's room of twelve tables without a network, its pages and a league.

A hub knows its tables from the records that they send. Here games are played at tables in this
process, and their records are given to the room at once. Each table but the last has played a part
of a game.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, cast

from flask import Flask
from internals import league_file_of, session_of
from run_folder import templates_folder
from table_tools import TableRig

from companion.core.clock import Clock, FakeClock
from companion.core.config import WebSettings
from companion.core.i18n import say, sentence_to_json
from companion.core.kit import SEATS, Seat
from companion.games import GAMES
from companion.league.league import League
from companion.league.league_file import put_result
from companion.league.results import GameResult, ReportedPlayer, StoredResult
from companion.storage.journal import Journal
from companion.storage.outbox import Outbox
from companion.table.public.messages import PublicRecord, PublicState
from companion.table.seats.staff_call import Call
from companion.table.session import Phase
from web.features import SiteConfig
from web.hub.app import create_hub_app
from web.hub.host import JoinedTable
from web.hub.room import HubRoom, HubTable

# A browser elsewhere on the network.
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.50"}
# The owner key of the hub.
HUB_KEY = "abcde-fghij"
# Headers of a request by the hub's owner.
OWNER_HEADERS = {"X-Host-Key": HUB_KEY}
# Names of the people at the tables, two for each.
NAMES = [
    "Mara", "Jonas", "Ines", "Theo", "Lea", "Olaf", "Sami", "Ruth", "Kofi", "Anna", "Yuki",
    "Paul", "Nora", "Ben", "Luis", "Emma", "Ada", "Max", "Eva", "Finn", "Mila", "Hugo",
]  # fmt: skip
# The game of each table, from table 1 to 12, and the number of decisions made there.
TABLE_GAMES = (
    ("outbuffered", 3), ("outbuffered", 2), ("outbuffered", 9), ("kahmate", 5),
    ("scouts", 4), ("arena", 2), ("outbuffered", 4), ("binmat", 6),
    ("kahmate", 9), ("scouts", 19), ("arena", 1), ("", 0),
)  # fmt: skip
# Number of the table whose game is over.
FINISHED_TABLE = 3


class RecordingHost:
    """A fake of what a hub's owner can do: it only records the calls of its methods."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        """The method and the arguments of each call."""

    def __getattr__(self, method: str) -> Callable[..., None]:
        return lambda *arguments: self.calls.append((method, *arguments))

    def join(self, name: str, key: str) -> JoinedTable:
        self.calls.append(("join", name, key))
        return JoinedTable("0" * 16, 1, ("nats://:4222",))


@cache
def played_records(
    game: str, decisions: int, seed: int = 1, is_resigned: bool = False
) -> tuple[PublicRecord, ...]:
    """Play a game at a table by random decisions, and return the records that it sends to a hub.

    After `decisions` the game stops in the middle of a turn, where North resigns if `is_resigned`.
    Without a game (an empty text) the table sends what it sends before its first game.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal(Path(folder) / "journal.sqlite") as journal,
    ):
        rig = TableRig(journal, FakeClock())
        with rig.table:
            if game:
                rng = Random(seed)
                rig.table.new_game(game, {}, seed=seed)
                while decisions and (view := rig.table.view()).phase is not Phase.OVER:
                    if view.time.clock and view.time.clock.paused:
                        rig.table.resume("host")
                    elif view.phase is Phase.ORDERS:
                        session = session_of(rig.table)
                        for seat in sorted(session.awaited_seats):
                            action = GAMES[game].random_action(session.state, seat, rng)
                            rig.table.hand_in(seat, session.moment, str(action))
                        decisions -= 1
                    elif decisions:
                        rig.table.confirm("host", view.moment, view.turn.stage, force=True)
            if is_resigned:
                rig.table.resign(Seat.NORTH)
        outbox = Outbox(journal)
        records = []
        outbox.seek(0)
        while record := outbox.next():
            records.append(record)
            outbox.note_sent()
        return tuple(records)


def room_of_twelve(clock: Clock) -> HubRoom:
    """Make the room of twelve tables, as `fill_room` describes it."""
    room = HubRoom("Tuesday club", clock)
    fill_room(room)
    return room


def fill_room(room: HubRoom) -> None:
    """Add the twelve tables to a room.

    Table 3 is over and table 12 is free. Table 4 has a health notice, table 6 a name of its own,
    and table 7 calls the staff.
    """
    for number, (game, decisions) in enumerate(TABLE_GAMES, start=1):
        name = f"id{number}"
        room.add(HubTable(name, number, "By the window" if number == 6 else ""))
        for record in played_records(
            game, decisions, seed=number, is_resigned=number == FINISHED_TABLE
        ):
            room.receive_record(name, record)
        # two names for each table, from the first on
        names = dict(zip(SEATS, NAMES[2 * number - 2 :], strict=False)) if game else {}
        call = Call.CALLED if number == 7 else Call.NONE
        health = sentence_to_json(say("The card is nearly full.")) if number == 4 else ""
        room.receive_state(name, PublicState("1.0.0", names, call, health))


def store_result(
    league: League,
    south: int,
    north: int,
    winner: Seat | None,
    game: str = "scouts",
    at_s: float = 0.0,
) -> None:
    """Store a result as if a table had sent it. `south` and `north` are numbers of people."""
    league_file_of(league).write(put_result(make_result(south, north, winner, game, at_s)))
    league_file_of(league).notify()


def make_result(
    south: int, north: int, winner: Seat | None, game: str = "scouts", at_s: float = 0.0
) -> StoredResult:
    """Return the result of a game between the people with these numbers. None won in a draw."""
    result = GameResult(
        table="a" * 16,
        key=f"{at_s}-{south}-{north}",
        game=game,
        options={},
        began_s=at_s,
        ended_s=at_s,
        south=ReportedPlayer(),
        north=ReportedPlayer(),
        winner=winner,
        entry=7,
        mark="0123456789ab",
    )
    return StoredResult(result, south, north)


@contextmanager
def open_league(
    folder: Path, clock: Clock, *tables: str, when_changed: Callable[[], None] = lambda: None
) -> Iterator[League]:
    """Open a league with a file in this folder, and with tables of these names, always free."""
    with League(folder, clock, lambda: tables, when_changed) as league:
        yield league


@contextmanager
def open_hub_pages(
    room: HubRoom, clock: Clock, host: Any = None, league: League | None = None, **web: Any
) -> Iterator[Flask]:
    """Open the application that shows a room, and a league or, without one, an empty league.

    `web` has settings of its pages.
    """
    if league is None:
        with (
            tempfile.TemporaryDirectory() as folder,
            open_league(Path(folder), clock) as own,
            open_hub_pages(room, clock, host, own, **web) as app,
        ):
            yield app
        return
    site = SiteConfig(
        WebSettings(**web),
        lambda: ("http://192.0.2.7:8500/",),
        b"k" * 32,
        HUB_KEY,
        template_cache=templates_folder(),
    )
    app = create_hub_app(room, league, cast(Any, host or RecordingHost()), clock, site)
    try:
        yield app
    finally:
        app.extensions["streams"].close()


def text_of(html: str) -> str:
    """Return the text of a page without tags, with one blank between words."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())
